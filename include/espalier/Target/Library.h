//===- Library.h - From model IR to a shared library ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_TARGET_LIBRARY_H
#define ESPALIER_TARGET_LIBRARY_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>
#include <string>

namespace espalier {

/// What kernels are generated for.
struct TargetProcessor {
  std::unique_ptr<llvm::TargetMachine> machine;
  /// Features that the processor needs, as the runtime checks them, e.g.
  /// "avx2,fma".
  std::string features;
  /// Width of a vector register in bits.
  unsigned vectorBits = 128;
};

/// The processor `cpu` ("native": this machine's), or an error that lists what
/// is known.
llvm::Expected<TargetProcessor> createTargetProcessor(llvm::StringRef cpu);

/// Translates a module of `model.entry` and `llvm.func` to an LLVM module whose
/// exported functions return the tables of espalier/abi.h. `name` is the
/// model's; symbols are prefixed with it. Reports errors and returns null.
std::unique_ptr<llvm::Module>
translateModelToLLVMIR(mlir::ModuleOp module, llvm::LLVMContext &context,
                       llvm::StringRef name, const TargetProcessor &processor);

/// Runs LLVM's optimisation pipeline.
void optimize(llvm::Module &module, llvm::TargetMachine &machine);

/// The object file of `module`.
llvm::SmallVector<char, 0> emitObject(llvm::Module &module,
                                      llvm::TargetMachine &machine);

/// Links an object file into a shared library at `output`, in process, with
/// LLD.
llvm::Error linkSharedLibrary(llvm::StringRef object, llvm::StringRef output,
                              const llvm::Triple &triple);

/// The C header that declares the model for programs that link it.
std::string emitHeader(mlir::ModuleOp module, llvm::StringRef name);

/// `name` with every character that a C identifier cannot have replaced.
std::string getIdentifier(llvm::StringRef name);

} // namespace espalier

#endif // ESPALIER_TARGET_LIBRARY_H
