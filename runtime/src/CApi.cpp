//===- CApi.cpp - The C interface -----------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handles are the runtime's objects in a struct of their own. Every function
// runs in `guarded`, which turns exceptions into a status and a message.
//
//===----------------------------------------------------------------------===//
#include "espalier/runtime.h"

#include "graph/Forest.h"
#include "io/Readers.h"
#include "io/Safetensors.h"
#include "io/Vocabulary.h"
#include "module/Module.h"
#include "module/Session.h"
#include "module/Weights.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

using namespace espalier;

struct espalier_module {
  std::unique_ptr<Module> module;
};
struct espalier_weights {
  std::shared_ptr<SharedWeights> shared;
};
struct espalier_structures {
  Forest forest;
};
struct espalier_vocabulary {
  Vocabulary vocabulary;
};
struct espalier_session {
  Session session;
};
struct espalier_result {
  Results results;
};

//===----------------------------------------------------------------------===//
// Failure
//===----------------------------------------------------------------------===//

/// A fixed array, so that reporting a lack of memory needs none.
static thread_local char lastError[8192];

static espalier_status report(espalier_status status, const char *message) {
  size_t length = std::min(std::strlen(message), sizeof(lastError) - 1);
  std::memcpy(lastError, message, length);
  lastError[length] = '\0';
  if (std::strlen(message) > length)
    std::memcpy(lastError + length - 3, "...", 3);
  return status;
}

template <typename Body> static espalier_status guarded(Body body) noexcept {
  try {
    body();
    return ESPALIER_OK;
  } catch (const Error &error) {
    return report(error.code(), error.what());
  } catch (const std::bad_alloc &) {
    return report(ESPALIER_OUT_OF_MEMORY, "out of memory");
  } catch (const std::length_error &) {
    return report(ESPALIER_OUT_OF_MEMORY, "out of memory: a table is too long");
  } catch (const std::exception &error) {
    return report(ESPALIER_INTERNAL, error.what());
  } catch (...) {
    return report(ESPALIER_INTERNAL, "an unknown failure; please report it");
  }
}

/// Fails unless the caller gave `pointer`.
static void require(const void *pointer, const char *what) {
  if (!pointer)
    fail(ESPALIER_INVALID_ARGUMENT, "%s is NULL", what);
}

const char *espalier_last_error(void) { return lastError; }

const char *espalier_status_name(espalier_status status) {
  switch (status) {
  case ESPALIER_OK:
    return "OK";
  case ESPALIER_INVALID_ARGUMENT:
    return "INVALID_ARGUMENT";
  case ESPALIER_NOT_FOUND:
    return "NOT_FOUND";
  case ESPALIER_MALFORMED:
    return "MALFORMED";
  case ESPALIER_INCOMPATIBLE:
    return "INCOMPATIBLE";
  case ESPALIER_OUT_OF_MEMORY:
    return "OUT_OF_MEMORY";
  case ESPALIER_IO_ERROR:
    return "IO_ERROR";
  case ESPALIER_UNSUPPORTED:
    return "UNSUPPORTED";
  case ESPALIER_INTERNAL:
    return "INTERNAL";
  }
  return "unknown status";
}

const char *espalier_runtime_version(void) { return ESPALIER_VERSION; }

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// A view of the caller's tensor.
static Tensor viewOf(const espalier_tensor &tensor, const char *name) {
  if (tensor.dtype < ESPALIER_F32 || tensor.dtype > ESPALIER_I32)
    fail(ESPALIER_INVALID_ARGUMENT,
         "tensor '%s' has unknown element type %u, expected 1 (f32), 2 (f64) "
         "or 3 (i32)",
         name, tensor.dtype);
  if (tensor.rank > 0 && !tensor.shape)
    fail(ESPALIER_INVALID_ARGUMENT, "tensor '%s' of rank %u has no shape", name,
         tensor.rank);
  Tensor view;
  view.dtype = tensor.dtype;
  view.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  view.data = static_cast<const char *>(tensor.data);
  int64_t bytes = (int64_t)dtypeSize(view.dtype);
  bool empty = false;
  for (int64_t extent : view.shape) {
    empty |= extent == 0;
    if (extent < 0 ||
        __builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes))
      fail(ESPALIER_INVALID_ARGUMENT, "tensor '%s' cannot have shape %s", name,
           shapeString(view.shape, view.dtype).c_str());
  }
  if (!view.data && !empty)
    fail(ESPALIER_INVALID_ARGUMENT, "tensor '%s' has no data", name);
  return view;
}

static Tensor copyOf(const espalier_tensor &tensor, const char *name) {
  Tensor view = viewOf(tensor, name);
  Tensor copy = Tensor::uninitialized(view.dtype, view.shape);
  if (view.bytes() > 0)
    std::memcpy(copy.mutableData(), view.data, view.bytes());
  return copy;
}

static espalier_tensor describe(const Tensor &tensor) {
  return {tensor.dtype, (uint32_t)tensor.shape.size(), tensor.shape.data(),
          tensor.data};
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

espalier_status espalier_module_load(const char *path, espalier_module **out) {
  return guarded([&] {
    require(path, "path");
    require(out, "out");
    *out = new espalier_module{Module::load(path)};
  });
}

espalier_status espalier_module_from_model(const espalier_model *model,
                                           espalier_module **out) {
  return guarded([&] {
    require(model, "model");
    require(out, "out");
    *out = new espalier_module{std::make_unique<Module>(model)};
  });
}

const espalier_model *espalier_module_model(const espalier_module *module) {
  return module ? &module->module->model() : nullptr;
}

void espalier_module_destroy(espalier_module *module) { delete module; }

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static espalier_weights *share(const Weights &weights) {
  return new espalier_weights{std::make_shared<SharedWeights>(weights)};
}

espalier_status espalier_weights_open(const char *path,
                                      espalier_weights **out) {
  return guarded([&] {
    require(path, "path");
    require(out, "out");
    Weights weights;
    for (NamedTensor &named : readSafetensors(path))
      weights[named.name] = std::move(named.tensor);
    *out = share(weights);
  });
}

espalier_status espalier_weights_create(const espalier_named_tensor *tensors,
                                        size_t count, espalier_weights **out) {
  return guarded([&] {
    if (count > 0)
      require(tensors, "tensors");
    require(out, "out");
    Weights weights;
    for (size_t i = 0; i < count; ++i) {
      require(tensors[i].name, "a tensor's name");
      if (!weights
               .emplace(tensors[i].name,
                        copyOf(tensors[i].tensor, tensors[i].name))
               .second)
        fail(ESPALIER_INVALID_ARGUMENT, "weight '%s' is given twice",
             tensors[i].name);
    }
    *out = share(weights);
  });
}

espalier_status espalier_weights_random(const espalier_module *module,
                                        const char *entry, uint64_t seed,
                                        espalier_weights **out) {
  return guarded([&] {
    require(module, "module");
    require(out, "out");
    *out = share(randomWeights(module->module->entry(entry), seed));
  });
}

espalier_status espalier_weights_save(const espalier_weights *weights,
                                      const char *path) {
  return guarded([&] {
    require(weights, "weights");
    require(path, "path");
    auto lock = weights->shared->lockToRead();
    std::vector<NamedTensor> tensors;
    for (const auto &[name, weight] : weights->shared->tensors)
      tensors.push_back({name, weight.tensor});
    writeSafetensors(path, tensors);
  });
}

size_t espalier_weights_count(const espalier_weights *weights) {
  if (!weights)
    return 0;
  auto lock = weights->shared->lockToRead();
  return weights->shared->tensors.size();
}

espalier_status espalier_weights_at(const espalier_weights *weights,
                                    size_t index, espalier_named_tensor *out) {
  return guarded([&] {
    require(weights, "weights");
    require(out, "out");
    auto lock = weights->shared->lockToRead();
    const auto &tensors = weights->shared->tensors;
    if (index >= tensors.size())
      fail(ESPALIER_NOT_FOUND, "there is no weight %zu; there are %zu", index,
           tensors.size());
    auto place = std::next(tensors.begin(), (ptrdiff_t)index);
    *out = {place->first.c_str(), describe(place->second.tensor)};
  });
}

void espalier_weights_destroy(espalier_weights *weights) { delete weights; }

//===----------------------------------------------------------------------===//
// Structures
//===----------------------------------------------------------------------===//

espalier_status espalier_structures_create(espalier_structures **out) {
  return guarded([&] {
    require(out, "out");
    *out = new espalier_structures();
  });
}

espalier_status espalier_structures_append(espalier_structures *structures,
                                           int64_t vertices,
                                           const int64_t *offsets,
                                           const int32_t *children) {
  return guarded([&] {
    require(structures, "structures");
    // A count that append refuses is not used to look into the arrays.
    if (vertices > 0 && vertices <= INT32_MAX) {
      require(offsets, "offsets");
      if (offsets[vertices] > offsets[0])
        require(children, "children");
    }
    structures->forest.append(vertices, offsets, children);
  });
}

espalier_status espalier_structures_set_field(espalier_structures *structures,
                                              const char *name,
                                              const espalier_tensor *tensor) {
  return guarded([&] {
    require(structures, "structures");
    require(name, "name");
    require(tensor, "tensor");
    Tensor view = viewOf(*tensor, name);
    int64_t vertices = structures->forest.vertices();
    if (view.shape.empty() || view.shape[0] != vertices)
      fail(ESPALIER_INVALID_ARGUMENT,
           "field '%s' is %s, expected %lld rows, one a vertex", name,
           shapeString(view.shape, view.dtype).c_str(), (long long)vertices);
    structures->forest.fields[name] = copyOf(*tensor, name);
  });
}

int64_t espalier_structures_count(const espalier_structures *structures) {
  return structures ? structures->forest.structures() : 0;
}

int64_t espalier_structures_vertices(const espalier_structures *structures) {
  return structures ? structures->forest.vertices() : 0;
}

espalier_status espalier_structures_slice(const espalier_structures *structures,
                                          int64_t begin, int64_t end,
                                          espalier_structures **out) {
  return guarded([&] {
    require(structures, "structures");
    require(out, "out");
    *out = new espalier_structures{structures->forest.slice(begin, end)};
  });
}

espalier_status
espalier_structures_select(const espalier_structures *structures,
                           const int64_t *numbers, size_t count,
                           espalier_structures **out) {
  return guarded([&] {
    require(structures, "structures");
    require(out, "out");
    if (count > 0)
      require(numbers, "numbers");
    *out = new espalier_structures{
        structures->forest.select(numbers, (int64_t)count)};
  });
}

void espalier_structures_destroy(espalier_structures *structures) {
  delete structures;
}

espalier_status espalier_vocabulary_open(const char *path,
                                         espalier_vocabulary **out) {
  return guarded([&] {
    require(path, "path");
    require(out, "out");
    *out = new espalier_vocabulary{Vocabulary::open(path)};
  });
}

espalier_status espalier_vocabulary_create(espalier_vocabulary **out) {
  return guarded([&] {
    require(out, "out");
    *out = new espalier_vocabulary();
  });
}

espalier_status espalier_vocabulary_save(const espalier_vocabulary *vocabulary,
                                         const char *path) {
  return guarded([&] {
    require(vocabulary, "vocabulary");
    require(path, "path");
    vocabulary->vocabulary.save(path);
  });
}

int64_t espalier_vocabulary_size(const espalier_vocabulary *vocabulary) {
  return vocabulary ? vocabulary->vocabulary.size() : 0;
}

const char *espalier_vocabulary_token(const espalier_vocabulary *vocabulary,
                                      int64_t id) {
  if (!vocabulary || id < 0 || id >= vocabulary->vocabulary.size())
    return nullptr;
  return vocabulary->vocabulary.token((int32_t)id).c_str();
}

void espalier_vocabulary_destroy(espalier_vocabulary *vocabulary) {
  delete vocabulary;
}

espalier_status espalier_structures_read(const char *path, const char *format,
                                         espalier_vocabulary *vocabulary,
                                         int unseen,
                                         espalier_structures **out) {
  return guarded([&] {
    require(path, "path");
    require(format, "format");
    require(vocabulary, "vocabulary");
    require(out, "out");
    if (unseen < ESPALIER_UNSEEN_FAIL || unseen > ESPALIER_UNSEEN_NONE)
      fail(ESPALIER_INVALID_ARGUMENT,
           "unknown treatment %d of unseen tokens, expected 0 (fail), 1 (add) "
           "or 2 (none)",
           unseen);
    *out = new espalier_structures{readStructures(
        path, format, vocabulary->vocabulary, (espalier_unseen)unseen)};
  });
}

int64_t
espalier_structures_unseen_tokens(const espalier_structures *structures) {
  return structures ? structures->forest.unseenTokens : 0;
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

/// More threads than this are a mistake, not a machine.
static constexpr uint32_t kMaxThreads = 1024;

/// What the caller's version of the struct has; the rest is 0.
static espalier_session_options
complete(const espalier_session_options &given) {
  if (given.struct_size == 0 ||
      given.struct_size > sizeof(espalier_session_options))
    fail(ESPALIER_INVALID_ARGUMENT,
         "the session options have struct_size %u, expected at most %zu; set "
         "it to sizeof(espalier_session_options), and use a runtime that is no "
         "older than its header",
         given.struct_size, sizeof(espalier_session_options));
  espalier_session_options options{};
  std::memcpy(&options, &given, given.struct_size);
  return options;
}

static constexpr uint32_t kOptimisations =
    ESPALIER_ELISION | ESPALIER_STREAMING | ESPALIER_SUB_BATCHES |
    ESPALIER_SHARING;

static SessionOptions readOptions(const espalier_session_options &options) {
  if (options.policy != ESPALIER_POLICY_BATCHED &&
      options.policy != ESPALIER_POLICY_SERIAL)
    fail(ESPALIER_INVALID_ARGUMENT,
         "unknown policy %u, expected 0 (batched) or 1 (serial)",
         options.policy);
  if (options.threads > kMaxThreads)
    fail(ESPALIER_INVALID_ARGUMENT, "%u threads, expected at most %u",
         options.threads, kMaxThreads);
  if (options.ablate & ~kOptimisations)
    fail(ESPALIER_INVALID_ARGUMENT,
         "unknown optimisations to leave out: %#x, expected some of %#x",
         options.ablate, kOptimisations);
  SessionOptions result{(espalier_policy)options.policy,
                        std::max(options.threads, 1u), options.profile != 0,
                        options.ablate};
  result.device.kind = options.device ? options.device : "cpu";
  result.device.machineFile = options.machine ? options.machine : "";
  result.device.memoryLimit = options.memory_limit;
  result.device.dry = options.dry != 0;
  return result;
}

espalier_status espalier_session_create(const espalier_module *module,
                                        const espalier_weights *weights,
                                        const espalier_session_options *options,
                                        espalier_session **out) {
  return guarded([&] {
    require(module, "module");
    require(weights, "weights");
    require(out, "out");
    espalier_session_options all =
        options ? complete(*options) : espalier_session_options{};
    *out = new espalier_session{Session(*module->module,
                                        module->module->entry(all.entry),
                                        weights->shared, readOptions(all))};
  });
}

static const Forest &forestOf(const espalier_structures *structures) {
  require(structures, "structures");
  return structures->forest;
}

static Forests forestsOf(const espalier_named_structures *graphs,
                         size_t count) {
  if (count > 0)
    require(graphs, "graphs");
  Forests forests;
  for (size_t i = 0; i < count; ++i) {
    require(graphs[i].name, "a graph's name");
    forests.push_back({graphs[i].name, &forestOf(graphs[i].structures)});
  }
  return forests;
}

static Inputs inputsOf(const espalier_named_tensor *inputs, size_t count) {
  if (count > 0)
    require(inputs, "inputs");
  Inputs arguments;
  for (size_t i = 0; i < count; ++i) {
    require(inputs[i].name, "an input's name");
    arguments.push_back(
        {inputs[i].name, viewOf(inputs[i].tensor, inputs[i].name)});
  }
  return arguments;
}

espalier_status espalier_session_run(espalier_session *session,
                                     const espalier_structures *structures,
                                     const espalier_named_tensor *inputs,
                                     size_t input_count,
                                     espalier_result **out) {
  return guarded([&] {
    require(session, "session");
    require(out, "out");
    *out = new espalier_result{session->session.run(
        forestOf(structures), inputsOf(inputs, input_count))};
  });
}

espalier_status espalier_session_run_graphs(
    espalier_session *session, const espalier_named_structures *graphs,
    size_t graph_count, const espalier_named_tensor *inputs, size_t input_count,
    espalier_result **out) {
  return guarded([&] {
    require(session, "session");
    require(out, "out");
    *out = new espalier_result{session->session.run(
        forestsOf(graphs, graph_count), inputsOf(inputs, input_count))};
  });
}

espalier_status
espalier_session_bytes_needed(espalier_session *session,
                              const espalier_structures *structures,
                              int64_t *out) {
  return guarded([&] {
    require(session, "session");
    require(out, "out");
    *out = session->session.bytesNeeded(forestOf(structures));
  });
}

espalier_status
espalier_session_bytes_needed_graphs(espalier_session *session,
                                     const espalier_named_structures *graphs,
                                     size_t graph_count, int64_t *out) {
  return guarded([&] {
    require(session, "session");
    require(out, "out");
    *out = session->session.bytesNeeded(forestsOf(graphs, graph_count));
  });
}

espalier_status espalier_session_stats(const espalier_session *session,
                                       espalier_stats *out) {
  return guarded([&] {
    require(session, "session");
    require(out, "out");
    uint32_t size = out->struct_size;
    if (size == 0 || size > sizeof(espalier_stats))
      fail(ESPALIER_INVALID_ARGUMENT,
           "the statistics have struct_size %u, expected at most %zu; set it "
           "to sizeof(espalier_stats) before the call, and use a runtime that "
           "is no older than its header",
           size, sizeof(espalier_stats));
    espalier_stats stats = session->session.stats();
    stats.struct_size = size;
    std::memcpy(out, &stats, size);
  });
}

void espalier_session_reset_stats(espalier_session *session) {
  if (session)
    guarded([&] { session->session.resetStats(); });
}

espalier_status espalier_session_write_trace(const espalier_session *session,
                                             const char *path) {
  return guarded([&] {
    require(session, "session");
    require(path, "path");
    session->session.writeTrace(path);
  });
}

void espalier_session_destroy(espalier_session *session) { delete session; }

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

size_t espalier_result_count(const espalier_result *result) {
  return result ? result->results.size() : 0;
}

espalier_status espalier_result_at(const espalier_result *result, size_t index,
                                   espalier_named_tensor *out) {
  return guarded([&] {
    require(result, "result");
    require(out, "out");
    if (index >= result->results.size())
      fail(ESPALIER_NOT_FOUND, "there is no result %zu; the entry has %zu",
           index, result->results.size());
    const NamedTensor &named = result->results[index];
    *out = {named.name.c_str(), describe(named.tensor)};
  });
}

espalier_status espalier_result_tensor(const espalier_result *result,
                                       const char *name, espalier_tensor *out) {
  return guarded([&] {
    require(result, "result");
    require(name, "name");
    require(out, "out");
    std::string known;
    for (const NamedTensor &named : result->results) {
      if (named.name == name) {
        *out = describe(named.tensor);
        return;
      }
      known += (known.empty() ? "'" : ", '") + named.name + "'";
    }
    fail(ESPALIER_NOT_FOUND, "there is no result '%s'; the entry has %s", name,
         known.empty() ? "none" : known.c_str());
  });
}

void espalier_result_destroy(espalier_result *result) { delete result; }
