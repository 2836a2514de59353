//===- Object.cpp - Optimised machine code ----------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Target/Library.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace espalier;

/// Features that the runtime can look for (see Module.cpp there).
static constexpr llvm::StringLiteral kCheckedFeatures[] = {
    "sse3",       "ssse3",       "sse4.1",       "sse4.2",         "popcnt",
    "avx",        "avx2",        "fma",          "f16c",           "bmi",
    "bmi2",       "lzcnt",       "avx512f",      "avx512cd",       "avx512bw",
    "avx512dq",   "avx512vl",    "avx512vnni",   "avx512bf16",     "avx512ifma",
    "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq"};

llvm::Expected<TargetProcessor>
espalier::createTargetProcessor(llvm::StringRef cpu) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();

  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError(message);

  std::string name = cpu.str(), features;
  if (cpu == "native") {
    name = llvm::sys::getHostCPUName().str();
    // A virtual machine may lack what its processor's name promises.
    std::vector<std::string> list;
    for (const auto &feature : llvm::sys::getHostCPUFeatures())
      list.push_back((feature.second ? "+" : "-") + feature.first().str());
    llvm::sort(list);
    features = llvm::join(list, ",");
  }
  // Without a processor, because LLVM itself complains of unknown ones.
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!subtarget->isCPUStringValid(name)) {
    std::string known;
    for (const llvm::SubtargetSubTypeKV &entry :
         subtarget->getAllProcessorDescriptions())
      known += (known.empty() ? "" : ", ") + std::string(entry.Key);
    return llvm::createStringError("unknown processor '" + name +
                                   "'; known are native, " + known);
  }
  subtarget.reset(target->createMCSubtargetInfo(triple, name, features));

  if (triple.isX86() && triple.isArch64Bit() &&
      !subtarget->checkFeatures("+64bit"))
    return llvm::createStringError("processor '" + name +
                                   "' has no 64-bit code, which models are");

  TargetProcessor processor;
  processor.machine.reset(target->createTargetMachine(
      triple, name, features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  for (llvm::StringRef feature : kCheckedFeatures)
    if (triple.isX86() && subtarget->checkFeatures(("+" + feature).str()))
      processor.features +=
          (processor.features.empty() ? "" : ",") + feature.str();
  if (triple.isX86() && subtarget->checkFeatures("+avx512f"))
    processor.vectorBits = 512;
  else if (triple.isX86() && subtarget->checkFeatures("+avx2"))
    processor.vectorBits = 256;
  return processor;
}

void espalier::optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
      .run(module, modules);
}

llvm::SmallVector<char, 0> espalier::emitObject(llvm::Module &module,
                                                llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  machine.addPassesToEmitFile(passes, stream, nullptr,
                              llvm::CodeGenFileType::ObjectFile);
  passes.run(module);
  return object;
}
