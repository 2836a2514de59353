//===- Files.cpp - What the interpreter reads and writes ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Files.h"

#include "graph/Forest.h"
#include "io/File.h"
#include "io/Npy.h"
#include "io/Readers.h"
#include "io/Safetensors.h"
#include "io/Vocabulary.h"
#include "module/Weights.h"
#include "support/Error.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

namespace espalier::interpret {

using reference::Array;

//===----------------------------------------------------------------------===//
// Between the runtime's types and the interpreter's
//===----------------------------------------------------------------------===//

static uint32_t dtypeOf(Port::Element element) {
  switch (element) {
  case Port::Element::f32:
    return ESPALIER_F32;
  case Port::Element::f64:
    return ESPALIER_F64;
  default:
    return ESPALIER_I32;
  }
}

template <typename T>
static std::vector<double> widen(const char *data, int64_t count) {
  std::vector<double> wide(count);
  for (int64_t i = 0; i != count; ++i) {
    // Files that are mapped promise no alignment.
    T element;
    std::copy_n(data + i * sizeof(T), sizeof(T),
                reinterpret_cast<char *>(&element));
    wide[i] = element;
  }
  return wide;
}

static Array arrayOf(const Tensor &tensor) {
  switch (tensor.dtype) {
  case ESPALIER_F32:
    return {tensor.shape, widen<float>(tensor.data, tensor.elements())};
  case ESPALIER_F64:
    return {tensor.shape, widen<double>(tensor.data, tensor.elements())};
  default:
    return {tensor.shape, widen<int32_t>(tensor.data, tensor.elements())};
  }
}

/// Floats as f64, whole numbers as i32.
static Tensor tensorOf(const Array &array, Port::Element element) {
  bool isInteger = dtypeOf(element) == ESPALIER_I32;
  Tensor tensor =
      Tensor::zeros(isInteger ? ESPALIER_I32 : ESPALIER_F64, array.shape);
  if (isInteger)
    std::copy(array.data.begin(), array.data.end(),
              reinterpret_cast<int32_t *>(tensor.mutableData()));
  else
    std::copy(array.data.begin(), array.data.end(),
              reinterpret_cast<double *>(tensor.mutableData()));
  return tensor;
}

static reference::Structures structuresOf(const Forest &forest) {
  reference::Structures structures;
  structures.offsets = forest.structureOffsets;
  const int32_t *children = forest.children.data();
  for (int64_t v = 0; v != forest.vertices(); ++v)
    structures.children.emplace_back(children + forest.childOffsets[v],
                                     children + forest.childOffsets[v + 1]);
  for (const auto &[name, tensor] : forest.fields)
    if (tensor.dtype == ESPALIER_I32 && tensor.shape.size() == 1 &&
        tensor.shape[0] == forest.vertices()) {
      const int32_t *values = tensor.as<int32_t>();
      structures.fields[name].assign(values, values + tensor.elements());
    }
  return structures;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Throws unless `weights` are exactly the parameters, give or take those of
/// other entries.
static void checkWeights(const Entry &entry, const Weights &weights) {
  std::string wrong;
  std::vector<std::string> known = entry.parametersElsewhere;
  for (const Port &port : entry.arguments) {
    if (!port.isParameter)
      continue;
    known.push_back(port.name);
    std::string expected = shapeString(port.shape, dtypeOf(port.element));
    auto found = weights.find(port.name);
    if (found == weights.end()) {
      wrong +=
          format("\n  missing: '%s' (%s)", port.name.c_str(), expected.c_str());
      continue;
    }
    const Tensor &tensor = found->second;
    if (tensor.dtype != dtypeOf(port.element) || tensor.shape != port.shape)
      wrong += format(
          "\n  mismatched: '%s' is %s, expected %s", port.name.c_str(),
          shapeString(tensor.shape, tensor.dtype).c_str(), expected.c_str());
  }
  for (const auto &[name, tensor] : weights)
    if (std::find(known.begin(), known.end(), name) == known.end())
      wrong += format("\n  extra: '%s' (%s)", name.c_str(),
                      shapeString(tensor.shape, tensor.dtype).c_str());
  if (!wrong.empty())
    fail(ESPALIER_INVALID_ARGUMENT, "the weights do not fit entry '%s':%s",
         entry.name.c_str(), wrong.c_str());
}

static Weights makeWeights(const Options &options, const Entry &entry) {
  Weights weights;
  if (!options.weights.empty())
    for (NamedTensor &named : readSafetensors(options.weights))
      weights[named.name] = std::move(named.tensor);
  for (const Port &port : entry.arguments) {
    if (!port.isParameter)
      continue;
    if (port.isState && weights.find(port.name) == weights.end())
      weights[port.name] = Tensor::zeros(dtypeOf(port.element), port.shape);
    else if (port.isState)
      continue;
    else if (options.randomWeights)
      weights[port.name] = randomWeight(port.name, dtypeOf(port.element),
                                        port.shape, *options.randomWeights);
    else if (options.weights.empty())
      fail(ESPALIER_INVALID_ARGUMENT,
           "the entry '%s' has parameters, such as '%s'; give --weights FILE "
           "or --random-weights SEED",
           entry.name.c_str(), port.name.c_str());
  }
  checkWeights(entry, weights);
  return weights;
}

//===----------------------------------------------------------------------===//
// Inputs and fields
//===----------------------------------------------------------------------===//

namespace {
/// The structures of a graph argument: those of the file, and the first of
/// them, which are evaluated.
struct Graph {
  std::string name;
  Forest whole;
  Forest part;
};
} // namespace

/// The first rows of an input, as many as the structures that are evaluated
/// have. An input has a row a vertex or a row a structure of a whole file.
static Tensor firstRows(const std::string &name, Tensor tensor,
                        const std::vector<Graph> &graphs) {
  int64_t rows = tensor.shape.empty() ? -1 : tensor.shape[0], first = -1;
  auto match = [&](int64_t whole, int64_t part) {
    if (rows != whole)
      return;
    if (first >= 0 && first != part)
      fail(ESPALIER_UNSUPPORTED,
           "--limit cannot cut --input %s: its %lld rows may be those of "
           "vertices or of structures, or of one graph or another",
           name.c_str(), (long long)rows);
    first = part;
  };
  std::string expected;
  for (const Graph &graph : graphs) {
    match(graph.whole.vertices(), graph.part.vertices());
    match(graph.whole.structures(), graph.part.structures());
    expected += format("%s%lld rows, one a vertex, or %lld, one a structure",
                       expected.empty() ? "" : ", or ",
                       (long long)graph.whole.vertices(),
                       (long long)graph.whole.structures());
  }
  if (first < 0)
    fail(ESPALIER_INVALID_ARGUMENT, "--input %s has the shape %s, expected %s",
         name.c_str(), shapeString(tensor.shape, tensor.dtype).c_str(),
         expected.c_str());
  tensor.shape[0] = first;
  return tensor;
}

/// The field of that name, of whatever structures have it; null if none have.
static const Tensor *findField(const std::vector<Graph> &graphs,
                               const std::string &name) {
  const Tensor *found = nullptr;
  for (const Graph &graph : graphs) {
    auto field = graph.part.fields.find(name);
    if (field == graph.part.fields.end())
      continue;
    if (found)
      fail(ESPALIER_UNSUPPORTED,
           "the structures of several graphs have a field '%s'; give --input "
           "%s=FILE.npy",
           name.c_str(), name.c_str());
    found = &field->second;
  }
  return found;
}

static Tensor makeInput(const Options &options, const Entry &entry,
                        const Port &port, const std::vector<Graph> &graphs) {
  auto file = options.inputs.find(port.name);
  Tensor tensor;
  if (file != options.inputs.end()) {
    tensor = readNpy(file->second);
    if (port.hasRows() && !graphs.empty())
      tensor = firstRows(port.name, tensor, graphs);
  } else if (const Tensor *field = findField(graphs, port.name)) {
    tensor = *field;
  } else {
    fail(ESPALIER_NOT_FOUND,
         "entry '%s' needs '%s', which is neither among the arguments nor a "
         "field of the structures",
         entry.name.c_str(), port.name.c_str());
  }
  // The number of rows is checked where they are used.
  std::vector<int64_t> expected = port.shape;
  if (port.hasRows() && !tensor.shape.empty())
    expected[0] = tensor.shape[0];
  if (tensor.dtype != dtypeOf(port.element) || tensor.shape != expected)
    fail(ESPALIER_INVALID_ARGUMENT, "'%s' is %s, expected %s%s",
         port.name.c_str(), shapeString(tensor.shape, tensor.dtype).c_str(),
         shapeString({expected.begin() + port.hasRows(), expected.end()},
                     dtypeOf(port.element))
             .c_str(),
         port.hasRows() ? " in every row" : "");
  return tensor;
}

static void checkInputNames(const Options &options, const Entry &entry) {
  for (const auto &[name, file] : options.inputs)
    if (std::none_of(entry.arguments.begin(), entry.arguments.end(),
                     [&name = name](const Port &port) {
                       return !port.isParameter && port.name == name;
                     }))
      fail(ESPALIER_NOT_FOUND,
           "--input %s: the entry '%s' has no such argument", name.c_str(),
           entry.name.c_str());
}

//===----------------------------------------------------------------------===//
// From files to files
//===----------------------------------------------------------------------===//

/// The results as espalier-run shapes them.
static std::vector<NamedTensor> nameResults(const Entry &entry,
                                            const std::vector<Array> &results,
                                            const std::vector<Graph> &graphs) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i != results.size(); ++i) {
    const Port &port = entry.results[i];
    Tensor tensor = tensorOf(results[i], port.element);
    // What is not per row has one value a batch; all structures are one batch.
    // Without structures there is one call.
    if (!port.hasRows() && !graphs.empty())
      tensor.shape.insert(tensor.shape.begin(),
                          graphs.front().part.structures() > 0 ? 1 : 0);
    tensors.push_back({port.name, std::move(tensor)});
  }
  return tensors;
}

/// Reads the structures of every graph argument of `entry`, in order.
static std::vector<Graph> readGraphs(const Options &options, const Entry &entry,
                                     Vocabulary &vocabulary, bool grow) {
  std::string names;
  for (const std::string &name : entry.graphs)
    names += (names.empty() ? "'" : ", '") + name + "'";
  std::vector<Graph> graphs;
  auto add = [&](const std::string &name, const StructureFile &file) {
    Graph graph{
        name,
        readStructures(file.path, file.format, vocabulary,
                       grow ? ESPALIER_UNSEEN_ADD : ESPALIER_UNSEEN_FAIL),
        {}};
    int64_t count = graph.whole.structures();
    if (options.limit >= 0)
      count = std::min(count, options.limit);
    graph.part = graph.whole.slice(0, count);
    graphs.push_back(std::move(graph));
  };
  const std::vector<StructureFile> &files = options.structures;
  if (files.size() == 1 && files[0].graph.empty() && entry.graphs.size() <= 1) {
    add(entry.graphs.empty() ? "" : entry.graphs[0], files[0]);
    return graphs;
  }
  if (files.empty() && !entry.graphs.empty())
    fail(ESPALIER_INVALID_ARGUMENT,
         "the entry '%s' runs over %s; give --structures FILE",
         entry.name.c_str(), names.c_str());
  for (const StructureFile &file : files)
    if (std::count(entry.graphs.begin(), entry.graphs.end(), file.graph) == 0)
      fail(ESPALIER_INVALID_ARGUMENT,
           "--structures %s: the entry '%s' runs over %s; expected NAME=FILE "
           "with the name of one",
           (file.graph.empty() ? file.path : file.graph).c_str(),
           entry.name.c_str(), names.empty() ? "no graph" : names.c_str());
  for (const std::string &name : entry.graphs) {
    size_t before = graphs.size();
    for (const StructureFile &file : files)
      if (file.graph == name)
        add(name, file);
    if (graphs.size() != before + 1)
      fail(ESPALIER_INVALID_ARGUMENT,
           "the entry '%s' runs over %s; give --structures %s=FILE once",
           entry.name.c_str(), names.c_str(), name.c_str());
  }
  return graphs;
}

static void print(const Entry &entry, const std::vector<Graph> &graphs,
                  const std::vector<NamedTensor> &results) {
  int64_t vertices = 0;
  for (const Graph &graph : graphs)
    vertices += graph.part.vertices();
  if (graphs.empty())
    std::printf("%s:\n", entry.name.c_str());
  else
    std::printf("%s: %lld structures, %lld vertices\n", entry.name.c_str(),
                (long long)graphs.front().part.structures(),
                (long long)vertices);
  for (const NamedTensor &result : results)
    std::printf("  %s: %s\n", result.name.c_str(),
                shapeString(result.tensor.shape, result.tensor.dtype).c_str());
}

/// Fails now, rather than after a long run, if a file cannot be written.
static void checkOutputs(const Options &options) {
  std::vector<std::string> inputs{options.model, options.vocabulary,
                                  options.weights};
  for (const StructureFile &file : options.structures)
    inputs.push_back(file.path);
  for (const auto &[name, path] : options.inputs)
    inputs.push_back(path);
  std::vector<std::string> outputs{options.output, options.saveVocabulary,
                                   options.saveWeights};
  checkOutputPaths(inputs, outputs);
  for (const std::string &path : outputs)
    if (!path.empty())
      AtomicFile probe(path);
}

static bool runOrThrow(const Options &options, const Entry &entry,
                       const Evaluate &evaluate) {
  checkOutputs(options);
  checkInputNames(options, entry);
  bool grow = options.vocabulary.empty();
  Vocabulary vocabulary =
      grow ? Vocabulary() : Vocabulary::open(options.vocabulary);
  std::vector<Graph> graphs = readGraphs(options, entry, vocabulary, grow);

  Weights weights = makeWeights(options, entry);
  std::vector<Array> arguments;
  for (const Port &port : entry.arguments)
    arguments.push_back(arrayOf(port.isParameter
                                    ? weights.at(port.name)
                                    : makeInput(options, entry, port, graphs)));
  std::vector<reference::Structures> structures;
  for (size_t g = 0; g != entry.graphs.size(); ++g)
    structures.push_back(structuresOf(graphs[g].part));

  std::optional<std::vector<Array>> results =
      evaluate(structures, std::move(arguments));
  if (!results)
    return false;

  if (!options.saveVocabulary.empty())
    vocabulary.save(options.saveVocabulary);
  if (!options.saveWeights.empty()) {
    std::vector<NamedTensor> tensors;
    for (const auto &[name, tensor] : weights)
      tensors.push_back({name, tensor});
    writeSafetensors(options.saveWeights, tensors);
  }
  std::vector<NamedTensor> named = nameResults(entry, *results, graphs);
  if (!options.output.empty())
    writeNpz(options.output, named);
  print(entry, graphs, named);
  return true;
}

bool run(const Options &options, const Entry &entry, const Evaluate &evaluate,
         std::string &error) {
  try {
    return runOrThrow(options, entry, evaluate);
  } catch (const std::bad_alloc &) {
    error = "out of memory";
  } catch (const std::exception &e) {
    error = e.what();
  }
  return false;
}

} // namespace espalier::interpret
