//===- espalier-compile.cpp - Model IR to shared library --------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Plan/Transforms/ExportPlan.h"
#include "espalier/InitAll.h"
#include "espalier/Pipelines/Pipelines.h"
#include "espalier/Planning/CheckPlan.h"
#include "espalier/Target/Library.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"

#include <csignal>

using namespace mlir;
using namespace llvm;

namespace {
enum class Emit { mlir, llvm, obj, so, header };
} // namespace

static cl::OptionCategory category("espalier-compile options");
static cl::opt<std::string> inputPath(cl::Positional, cl::Required,
                                      cl::desc("IN.mlir ('-': standard input)"),
                                      cl::cat(category));
static cl::opt<std::string>
    outputPath("o",
               cl::desc("Output file ('-': standard output; default: the "
                        "input's name with .so or .o, in the working "
                        "directory, and standard output for text)"),
               cl::value_desc("FILE"), cl::cat(category));
static cl::opt<Emit> emitKind(
    "emit", cl::desc("What to write:"), cl::init(Emit::so), cl::cat(category),
    cl::values(clEnumValN(Emit::mlir, "mlir", "IR over rows, after batching"),
               clEnumValN(Emit::llvm, "llvm", "LLVM IR of kernels and tables"),
               clEnumValN(Emit::obj, "obj", "object file"),
               clEnumValN(Emit::so, "so", "shared library (default)"),
               clEnumValN(Emit::header, "header",
                          "C header for programs that link "
                          "the library")));
static cl::opt<std::string>
    targetCPU("target-cpu", cl::init("native"), cl::value_desc("CPU"),
              cl::desc("Processor to generate kernels for, in LLVM's names "
                       "(default: this machine's)"),
              cl::cat(category));
static cl::opt<std::string>
    modelName("name", cl::value_desc("NAME"),
              cl::desc("Name of the model, part of its symbols (default: the "
                       "module's, or the input file's)"),
              cl::cat(category));
static cl::opt<std::string>
    train("train", cl::value_desc("OPTIMISER"),
          cl::desc("Add the entry `train_step`, which trains the loss: sgd, "
                   "momentum, adagrad or adam"),
          cl::cat(category));
static cl::opt<bool>
    gradient("gradient",
             cl::desc("Add the entry `ENTRY.gradient`, which returns the "
                      "gradient of the loss"),
             cl::cat(category));
static cl::opt<std::string>
    loss("loss", cl::value_desc("ENTRY"),
         cl::desc("Entry whose result `loss` is differentiated (default: the "
                  "only one that has such a result)"),
         cl::cat(category));
static cl::list<std::string>
    results("results", cl::value_desc("NAME"), cl::CommaSeparated,
            cl::desc("Results of the first entry that are wanted; the others "
                     "are not computed (default: all)"),
            cl::cat(category));
static cl::list<std::string> trainWithout(
    "train-without", cl::value_desc("PART"), cl::CommaSeparated,
    cl::desc("Leave parts of a training step out: clipping, decay"),
    cl::cat(category));
static cl::opt<std::string> memoryBudget(
    "memory-budget", cl::value_desc("BYTES"),
    cl::desc("Plan layered networks for this much of the device's memory, e.g. "
             "12GiB (default: what the machine has)"),
    cl::cat(category));
static cl::opt<std::string> machine(
    "machine", cl::value_desc("FILE"),
    cl::desc("Plan layered networks for this machine; docs/machines has "
             "some"),
    cl::cat(category));
static cl::opt<std::string>
    planPath("plan-out", cl::value_desc("FILE"),
             cl::desc("Write the memory plan of the layered network, for "
                      "espalier-plan"),
             cl::cat(category));
static cl::list<std::string>
    ablate("ablate", cl::value_desc("OPTIMISATION"), cl::CommaSeparated,
           cl::desc("Switch optimisations off: fusion, specialization, "
                    "recomputation, splitting, hoisting, eager, lazy, sharing, "
                    "in-place, offload, recompute-layers, split-layers, "
                    "select-conv-algorithms"),
           cl::cat(category));

static LogicalResult fail(const Twine &message) {
  WithColor::error(errs(), "espalier-compile") << message << "\n";
  return failure();
}

/// Where to write without -o: text is for reading, the rest goes to the working
/// directory.
static FailureOr<std::string> defaultOutputPath() {
  bool isText = emitKind != Emit::so && emitKind != Emit::obj;
  if (isText)
    return std::string("-");
  if (inputPath == "-")
    return fail("standard input has no name to call the output after; give "
                "-o FILE");
  return (sys::path::stem(inputPath) + (emitKind == Emit::so ? ".so" : ".o"))
      .str();
}

/// Whether both are paths of one file, which need not be there.
static bool isSameFile(StringRef a, StringRef b) {
  auto resolve = [](StringRef path) {
    SmallString<128> folder(path), resolved;
    sys::fs::make_absolute(folder);
    sys::path::remove_filename(folder);
    if (sys::fs::real_path(folder, resolved)) {
      sys::path::remove_dots(folder, /*remove_dot_dot=*/true);
      resolved = folder;
    }
    sys::path::append(resolved, sys::path::filename(path));
    return resolved;
  };
  return resolve(a) == resolve(b) || sys::fs::equivalent(a, b);
}

/// Fails if an output would be written over an input or another output.
static LogicalResult checkPaths() {
  SmallVector<StringRef> taken{machine};
  if (inputPath != "-") // is no output's
    taken.push_back(inputPath);
  for (StringRef path : {StringRef(outputPath), StringRef(planPath)}) {
    if (path.empty())
      continue;
    for (StringRef other : taken)
      if (!other.empty() && isSameFile(path, other))
        return fail("'" + path + "' would be written over '" + other +
                    "'; give every output a file of its own");
    taken.push_back(path);
  }
  return success();
}

/// An error that is left in a stream ends the program when the stream does.
static std::error_code writeAll(raw_fd_ostream &stream, StringRef bytes) {
  stream << bytes;
  stream.flush();
  std::error_code error = stream.error();
  stream.clear_error();
  return error;
}

/// Writes `bytes` to `path`: all of them, or nothing.
static LogicalResult writeFile(StringRef path, StringRef bytes) {
  if (path == "-") {
    if (std::error_code error = writeAll(outs(), bytes))
      return fail("cannot write to standard output: " + error.message());
    return success();
  }
  if (sys::fs::is_directory(path))
    return fail("cannot write '" + path + "': it is a directory");
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    return fail("cannot write '" + path + "': it is not a regular file");
  Error error = writeToOutput(path, [&](raw_ostream &stream) -> Error {
    return errorCodeToError(writeAll(cast<raw_fd_ostream>(stream), bytes));
  });
  if (error) {
    // Some of LLVM's messages start with the path themselves.
    std::string reason = toString(std::move(error));
    StringRef rest(reason);
    rest.consume_front(("'" + path + "': ").str());
    return fail("cannot write '" + path + "': " + rest);
  }
  return success();
}

/// `path` is a copy: LLD resets command-line options.
static LogicalResult writeLibrary(std::string path, StringRef object,
                                  const Triple &triple) {
  if (path == "-")
    return fail("a shared library cannot be written to standard output; give "
                "-o FILE");
  // Object and library are made in a folder of their own; only the finished
  // library is moved to its place.
  SmallString<128> folder, objectPath, libraryPath;
  if (std::error_code error =
          sys::fs::createUniqueDirectory("espalier", folder))
    return fail("cannot make a temporary folder: " + error.message());
  sys::path::append(objectPath, folder, "model.o");
  sys::path::append(libraryPath, folder, "model.so");
  auto link = [&]() -> LogicalResult {
    if (failed(writeFile(objectPath, object)))
      return failure();
    // LLD maps what it writes, and a full disk is then a signal, not an error.
    ErrorOr<sys::fs::space_info> space = sys::fs::disk_space(folder);
    if (space && space->available < object.size() + 65536)
      return fail(
          "cannot link in '" + folder + "': " +
          std::make_error_code(std::errc::no_space_on_device).message());
    if (Error error =
            espalier::linkSharedLibrary(objectPath, libraryPath, triple))
      return fail(toString(std::move(error)));
    auto library = MemoryBuffer::getFile(libraryPath);
    if (!library)
      return fail("cannot read the linked library: " +
                  library.getError().message());
    return writeFile(path, (*library)->getBuffer());
  };
  LogicalResult result = link();
  sys::fs::remove_directories(folder);
  return result;
}

/// Writes the plan of the entry that trains or, without one, of the only
/// layered network.
static LogicalResult writePlan(ModuleOp module) {
  func::FuncOp chosen;
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (!espalier::plan::isPlanned(function))
      continue;
    if (!chosen || function.getName() == "train_step")
      chosen = function;
  }
  if (!chosen)
    return fail("there is no plan to write to '" + planPath +
                "': no entry is a layered network, whose tensors all have "
                "static shapes");
  FailureOr<espalier::planning::PlanFile> file =
      espalier::plan::exportPlan(chosen);
  if (failed(file))
    return failure();
  std::string error;
  std::optional<std::string> text = espalier::planning::printPlan(*file, error);
  if (!text)
    return fail("cannot write the plan: " + error);
  return writeFile(planPath, *text);
}

/// Before anything is made of plans, somebody who had no part in them looks at
/// them.
static LogicalResult checkPlans(ModuleOp module) {
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (!espalier::plan::isPlanned(function))
      continue;
    FailureOr<espalier::planning::PlanFile> file =
        espalier::plan::exportPlan(function);
    if (failed(file))
      return failure();
    std::string problem =
        espalier::planning::checkPlan(file->graph, file->plan);
    if (!problem.empty())
      return function.emitError("the plan of @")
             << function.getName() << " is wrong: " << problem;
  }
  return success();
}

static LogicalResult compile() {
  DialectRegistry registry;
  espalier::registerAllDialects(registry);
  MLIRContext context(registry);
  // Diagnostics show the line of the source instead.
  context.printOpOnDiagnostic(false);

  espalier::PipelineOptions options;
  std::pair<StringRef, decltype(options.fuse) *> optimizations[] = {
      {"fusion", &options.fuse},
      {"specialization", &options.specialize},
      {"recomputation", &options.recompute},
      {"splitting", &options.split},
      {"hoisting", &options.hoist},
      {"eager", &options.eager},
      {"lazy", &options.lazy},
      {"sharing", &options.share},
      {"in-place", &options.inPlace},
      {"offload", &options.offload},
      {"recompute-layers", &options.recomputeLayers},
      {"split-layers", &options.splitLayers},
      {"select-conv-algorithms", &options.selectAlgorithms}};
  auto optimizationNames = [&] {
    return llvm::join(llvm::make_first_range(optimizations), ", ");
  };
  for (StringRef name : ablate) {
    auto *known = llvm::find_if(
        optimizations, [&](const auto &entry) { return entry.first == name; });
    if (known == std::end(optimizations))
      return fail("unknown optimisation '" + name + "'; known are " +
                  optimizationNames());
    *known->second = false;
  }
  for (StringRef name : trainWithout) {
    if (name == "clipping")
      options.clip = false;
    else if (name == "decay")
      options.decay = false;
    else
      return fail("unknown part of a training step '" + name +
                  "'; known are clipping, decay");
  }
  if (outputPath.empty()) {
    FailureOr<std::string> path = defaultOutputPath();
    if (failed(path))
      return failure();
    outputPath = *path;
  }
  if (failed(checkPaths()))
    return failure();
  if (!train.empty() && gradient)
    return fail("--train and --gradient exclude each other");
  options.train = train.getValue();
  options.gradient = gradient.getValue();
  options.loss = loss.getValue();
  options.budget = memoryBudget.getValue();
  options.machine = machine.getValue();
  for (const std::string &name : results)
    options.results.push_back(name);
  Expected<espalier::TargetProcessor> processor =
      espalier::createTargetProcessor(targetCPU);
  if (!processor)
    return fail(toString(processor.takeError()));
  options.vectorBits = processor->vectorBits;

  std::string message;
  std::unique_ptr<MemoryBuffer> file = openInputFile(inputPath, &message);
  if (!file)
    return fail(message);
  auto sources = std::make_shared<SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), SMLoc());
  SourceMgrDiagnosticHandler diagnostics(*sources, &context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return failure();

  std::string name = modelName;
  if (name.empty())
    name = module->getSymName().value_or(
        inputPath == "-" ? StringRef("model") : sys::path::stem(inputPath));

  mlir::PassManager manager(&context);
  if (failed(applyPassManagerCLOptions(manager)))
    return failure();
  espalier::buildBatchingPipeline(manager, options);
  if (failed(manager.run(*module)))
    return failure();
  if (failed(checkPlans(*module)))
    return failure();
  if (!planPath.empty() && failed(writePlan(*module)))
    return failure();
  if (emitKind != Emit::mlir) {
    mlir::PassManager lowering(&context);
    if (failed(applyPassManagerCLOptions(lowering)))
      return failure();
    espalier::buildLoweringPipeline(lowering, options);
    if (failed(lowering.run(*module)))
      return failure();
  }

  std::string text;
  raw_string_ostream stream(text);
  if (emitKind == Emit::mlir) {
    module->print(stream);
    return writeFile(outputPath, text);
  }
  LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> translated =
      espalier::translateModelToLLVMIR(*module, llvmContext, name, *processor);
  if (!translated)
    return failure();
  if (emitKind == Emit::header)
    return writeFile(outputPath, espalier::emitHeader(*module, name));
  espalier::optimize(*translated, *processor->machine);
  if (emitKind == Emit::llvm) {
    translated->print(stream, nullptr);
    return writeFile(outputPath, text);
  }
  Triple triple = processor->machine->getTargetTriple();
  auto object = espalier::emitObject(*translated, *processor->machine);
  StringRef bytes(object.data(), object.size());
  if (emitKind == Emit::obj)
    return writeFile(outputPath, bytes);
  return writeLibrary(outputPath.getValue(), bytes, triple);
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  // A file that grows beyond a limit is an error like that of a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  registerAsmPrinterCLOptions();
  registerMLIRContextCLOptions();
  registerPassManagerCLOptions();
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Espalier's compiler: vertex functions and layered networks, ahead of "
      "time\n");
  return failed(compile());
}
