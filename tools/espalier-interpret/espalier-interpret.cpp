//===- espalier-interpret.cpp - Evaluates model IR directly -----*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// espalier-interpret MODEL.mlir --structures FILE ...; see --help. Options mean
// what they mean to espalier-run, and results have the same names and shapes,
// but float64.
//
//===----------------------------------------------------------------------===//

#include "Files.h"

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Reference/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace espalier;
using interpret::Entry;
using interpret::Options;
using interpret::Port;

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

namespace cl = llvm::cl;

static cl::OptionCategory category("Options of espalier-interpret");

namespace {
struct CommandLine {
  cl::opt<std::string> model{cl::Positional, cl::Required,
                             cl::desc("MODEL.mlir"), cl::cat(category)};
  cl::opt<std::string> entry{
      "entry", cl::value_desc("NAME"), cl::cat(category),
      cl::desc("The function to evaluate; not needed if there is only one")};
  cl::list<std::string> structures{
      "structures", cl::ZeroOrMore, cl::value_desc("[NAME=]FILE"),
      cl::cat(category),
      cl::desc("Structures to evaluate it on; repeatable, with the name of the "
               "graph argument that they are for, if there are several. The "
               "k-th structures of all files belong together")};
  cl::opt<std::string> format{
      "format", cl::value_desc("ptb|sequence|conllu|jsonl"), cl::cat(category),
      cl::desc("Format of the structures; not needed for files that end in "
               ".ptb, .conllu or .jsonl")};
  cl::opt<int64_t> limit{
      "limit", cl::value_desc("N"), cl::init(-1), cl::cat(category),
      cl::desc("Evaluate the first N structures of the file only")};
  cl::opt<std::string> vocabulary{
      "vocabulary", cl::value_desc("FILE"), cl::cat(category),
      cl::desc("Words, one a line; without it a vocabulary is built from all "
               "structures of the file")};
  cl::opt<std::string> saveVocabulary{
      "save-vocabulary", cl::value_desc("FILE"), cl::cat(category),
      cl::desc("Write the vocabulary that was built")};
  cl::list<std::string> inputs{
      "input", cl::value_desc("NAME=FILE.npy"), cl::cat(category),
      cl::desc("An argument that is not a field of the structures; "
               "repeatable")};
  cl::opt<std::string> weights{"weights", cl::value_desc("FILE.safetensors"),
                               cl::cat(category),
                               cl::desc("Parameters by name")};
  cl::opt<uint64_t> randomWeights{
      "random-weights", cl::value_desc("SEED"), cl::cat(category),
      cl::desc("Random parameters; the same as those of espalier-run")};
  cl::opt<std::string> saveWeights{
      "save-weights", cl::value_desc("FILE.safetensors"), cl::cat(category),
      cl::desc("Write the parameters that were used")};
  cl::opt<std::string> output{"output", cl::value_desc("FILE.npz"),
                              cl::cat(category),
                              cl::desc("Write the results, by name")};
};
} // namespace

static LogicalResult reportError(const llvm::Twine &message) {
  llvm::errs() << "espalier-interpret: error: " << message << "\n";
  return failure();
}

/// The format that a file's name tells; empty if it does not.
static std::string guessFormat(StringRef path) {
  for (StringRef format : {"ptb", "conllu", "jsonl"})
    if (path.ends_with(("." + format).str()))
      return format.str();
  return "";
}

/// "FILE" or "NAME=FILE"; a '=' behind a '/' is part of a path.
static FailureOr<interpret::StructureFile>
structureFileOf(StringRef text, const std::string &format) {
  auto [name, path] = text.split('=');
  if (!text.contains('=') || name.contains('/'))
    std::tie(name, path) = std::pair(StringRef(), text);
  else if (name.empty() || path.empty())
    return reportError("--structures expects FILE or NAME=FILE, found '" +
                       text + "'");
  interpret::StructureFile file{name.str(), path.str(),
                                format.empty() ? guessFormat(path) : format};
  if (file.format.empty())
    return reportError("--format is required for '" + path +
                       "': only the extensions .ptb, .conllu and .jsonl tell "
                       "it; expected ptb, sequence, conllu or jsonl");
  return file;
}

static FailureOr<Options> optionsOf(const CommandLine &line) {
  Options options;
  for (StringRef text : line.structures) {
    FailureOr<interpret::StructureFile> file =
        structureFileOf(text, line.format);
    if (failed(file))
      return failure();
    options.structures.push_back(*file);
  }
  options.limit = line.limit;
  if (line.limit.getNumOccurrences() && line.limit < 0)
    return reportError("--limit expects a number of structures, found " +
                       llvm::Twine(line.limit));
  options.model = line.model;
  options.vocabulary = line.vocabulary;
  options.saveVocabulary = line.saveVocabulary;
  if (!options.vocabulary.empty() && !options.saveVocabulary.empty())
    return reportError("--vocabulary excludes --save-vocabulary");
  options.weights = line.weights;
  if (line.randomWeights.getNumOccurrences())
    options.randomWeights = line.randomWeights;
  if (!options.weights.empty() && options.randomWeights)
    return reportError("--weights excludes --random-weights");
  options.saveWeights = line.saveWeights;
  options.output = line.output;
  for (StringRef input : line.inputs) {
    auto [name, file] = input.split('=');
    if (name.empty() || file.empty())
      return reportError("--input expects NAME=FILE.npy, found '" + input +
                         "'");
    if (!options.inputs.emplace(name.str(), file.str()).second)
      return reportError("--input " + name + " is given twice");
  }
  return options;
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

static FailureOr<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  std::string names;
  for (func::FuncOp function : functions) {
    if (function.getName() == name || name.empty())
      return function;
    names += (names.empty() ? "'" : ", '") + function.getName().str() + "'";
  }
  if (names.empty())
    return module.emitError("has no func.func to evaluate");
  return module.emitError("has no entry '")
         << name << "'; expected one of " << names;
}

/// Describes an argument or result; `what` is what messages call it.
static FailureOr<Port> portOf(func::FuncOp function, Type type, StringAttr name,
                              const llvm::Twine &what) {
  if (!name)
    return function.emitOpError()
           << what << " has no name; give it nn.param, nn.input or nn.output";
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !(tensor.hasStaticShape() || nn::isRowsType(type)))
    return function.emitOpError()
           << what << " '" << name.getValue() << "' is " << type
           << "; expects a tensor of static shape, or one whose leading "
              "dimension only is dynamic";
  Port port;
  port.name = name.str();
  port.shape = tensor.getShape().vec();
  if (nn::isRowsType(type))
    port.shape[0] = -1;
  Type element = tensor.getElementType();
  if (element.isF32())
    port.element = Port::Element::f32;
  else if (element.isF64())
    port.element = Port::Element::f64;
  else if (element.isInteger(32))
    port.element = Port::Element::i32;
  else if (element.isInteger(1))
    port.element = Port::Element::i1;
  else
    return function.emitOpError()
           << what << " '" << name.getValue() << "' is " << type
           << "; expects elements of f32, f64, i32 or i1";
  return port;
}

static FailureOr<Entry> describe(func::FuncOp function) {
  Entry entry;
  entry.name = function.getName().str();
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (isa<vertex::GraphType>(type)) {
      auto name = function.getArgAttrOfType<StringAttr>(index, "nn.input");
      entry.graphs.push_back(name ? name.str() : "");
      continue;
    }
    auto parameter = function.getArgAttrOfType<StringAttr>(index, "nn.param");
    auto state = function.getArgAttrOfType<StringAttr>(index, "nn.state");
    auto input = function.getArgAttrOfType<StringAttr>(index, "nn.input");
    FailureOr<Port> port = portOf(function, type,
                                  input       ? input
                                  : parameter ? parameter
                                              : state,
                                  "argument #" + llvm::Twine(index));
    if (failed(port))
      return failure();
    port->isParameter = parameter || state;
    port->isState = bool(state);
    entry.arguments.push_back(*port);
  }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    auto name = function.getResultAttrOfType<StringAttr>(index, "nn.output");
    auto update = function.getResultAttrOfType<StringAttr>(index, "nn.update");
    FailureOr<Port> port = portOf(function, type, name ? name : update,
                                  "result #" + llvm::Twine(index));
    if (failed(port))
      return failure();
    // New values are results as well: nothing is kept here.
    if (!name)
      port->name = "update." + port->name;
    entry.results.push_back(*port);
  }
  for (auto other :
       function->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    for (unsigned index = 0; index != other.getNumArguments(); ++index)
      if (auto name = other.getArgAttrOfType<StringAttr>(index, "nn.param"))
        entry.parametersElsewhere.push_back(name.str());
  return entry;
}

//===----------------------------------------------------------------------===//
// main
//===----------------------------------------------------------------------===//

static LogicalResult run(const CommandLine &line, MLIRContext &context) {
  FailureOr<Options> options = optionsOf(line);
  if (failed(options))
    return failure();

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file =
      openInputFile(line.model, &message);
  if (!file)
    return reportError(message);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(*sources, &context);

  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return failure();
  FailureOr<func::FuncOp> function = findEntry(*module, line.entry);
  if (failed(function))
    return failure();
  FailureOr<Entry> entry = describe(*function);
  if (failed(entry))
    return failure();

  auto evaluate = [&](const std::vector<reference::Structures> &structures,
                      std::vector<reference::Array> arguments)
      -> std::optional<std::vector<reference::Array>> {
    FailureOr<std::vector<reference::Array>> results =
        reference::interpret(*function, structures, std::move(arguments));
    if (failed(results))
      return std::nullopt;
    return std::move(*results);
  };
  if (interpret::run(*options, *entry, evaluate, message))
    return success();
  return message.empty() ? failure() : reportError(message);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  CommandLine line;
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Evaluates model IR directly: one vertex at a time, in float64.\n");

  DialectRegistry registry;
  registry
      .insert<nn::NNDialect, vertex::VertexDialect, arith::ArithDialect,
              func::FuncDialect, math::MathDialect, tensor::TensorDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  return failed(run(line, context));
}
