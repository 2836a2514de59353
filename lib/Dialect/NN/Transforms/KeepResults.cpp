//===- KeepResults.cpp - Leaves results of an entry out -------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A model is written with every result that anybody may want; a program that
// wants some of them should not wait for, nor find memory for, the others.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/NN/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace espalier::nn;

namespace espalier::nn {
#define GEN_PASS_DEF_KEEPRESULTSPASS
#include "espalier/Dialect/NN/Transforms/Passes.h.inc"
} // namespace espalier::nn

/// The tensors that are given with every call and that nothing reads.
static llvm::BitVector unusedInputs(func::FuncOp function) {
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty() && isa<TensorType>(argument.getType()) &&
        function.getArgAttr(argument.getArgNumber(), "nn.input"))
      unused.set(argument.getArgNumber());
  return unused;
}

namespace {
struct KeepResultsPass
    : espalier::nn::impl::KeepResultsPassBase<KeepResultsPass> {
  using KeepResultsPassBase::KeepResultsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp function;
    if (!entry.empty())
      function = module.lookupSymbol<func::FuncOp>(entry);
    else if (auto functions = module.getOps<func::FuncOp>(); !functions.empty())
      function = *functions.begin();
    if (!function || function.isExternal()) {
      module.emitOpError("has no entry '") << entry << "' to keep results of";
      return signalPassFailure();
    }

    SmallVector<StringRef> known;
    llvm::BitVector dropped(function.getNumResults());
    for (unsigned r = 0; r < function.getNumResults(); ++r) {
      auto name = function.getResultAttrOfType<StringAttr>(r, "nn.output");
      if (!name)
        continue; // the new value of a parameter
      known.push_back(name.getValue());
      if (!llvm::is_contained(results, name.getValue()))
        dropped.set(r);
    }
    for (const std::string &name : results)
      if (!llvm::is_contained(known, name)) {
        function.emitOpError("has no result '")
            << name << "' to keep; it has " << llvm::join(known, ", ");
        return signalPassFailure();
      }

    llvm::BitVector unused = unusedInputs(function);
    Block &body = function.getBody().front();
    body.getTerminator()->eraseOperands(dropped);
    if (failed(function.eraseResults(dropped)))
      return signalPassFailure();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
    llvm::BitVector needless = unusedInputs(function);
    needless.reset(unused); // nobody asked for
    if (failed(function.eraseArguments(needless)))
      return signalPassFailure();
  }
};
} // namespace
