//===- SeparateResults.cpp - Each result has memory of its own ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result is made where its user wants it, and a new value where the old one
// is. That takes an operator that makes it, and for nobody else. What comes as
// it is (an argument, a constant, some rows of an input) or goes to several
// places is copied by operators, so that planners see what memory that takes.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Plan/Transforms/Passes.h"

#include "NetworkGraph.h"

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/Plan/IR/Plan.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

namespace espalier::plan {
#define GEN_PASS_DEF_SEPARATERESULTSPASS
#include "espalier/Dialect/Plan/Transforms/Passes.h.inc"
} // namespace espalier::plan

static Value copy(OpBuilder &builder, Value value) {
  return nn::buildElementwise(
      builder, value.getLoc(), value.getType(), value,
      [](OpBuilder &, ValueRange in) -> Value { return in[0]; });
}

static bool comesAsItIs(Value storage) {
  Operation *op = storage.getDefiningOp();
  return !op || op->hasTrait<OpTrait::ConstantLike>() || getSlicedInput(op);
}

namespace {
struct SeparateResultsPass
    : espalier::plan::impl::SeparateResultsPassBase<SeparateResultsPass> {
  using SeparateResultsPassBase::SeparateResultsPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isNetwork(function) || function->hasAttr(kMemoryAttrName))
      return;
    Operation *terminator = function.getBody().front().getTerminator();
    OpBuilder builder(terminator);
    // New values first: a copy of one is a result, and not the other way round.
    SmallVector<unsigned> order;
    for (bool updates : {true, false})
      for (unsigned number = 0; number < terminator->getNumOperands(); ++number)
        if (isUpdate(number) == updates)
          order.push_back(number);
    llvm::DenseSet<Value> taken;
    SmallVector<unsigned> copiedTwice;
    for (unsigned number : order) {
      Value value = terminator->getOperand(number);
      Value storage = storageOf(value);
      if (isa<BlockArgument>(storage) && storage == updatedBy(number))
        continue;
      if (!comesAsItIs(storage) && taken.insert(storage).second)
        continue;
      terminator->setOperand(number, copy(builder, value));
      if (isa<BlockArgument>(storage) && isUpdate(number))
        copiedTwice.push_back(number);
    }
    // All old values are read before a new one is written.
    for (unsigned number : copiedTwice)
      terminator->setOperand(number,
                             copy(builder, terminator->getOperand(number)));
  }

  bool isUpdate(unsigned number) {
    return bool(getOperation().getResultAttr(number, "nn.update"));
  }

  /// The parameter or state that result `number` is the new value of.
  Value updatedBy(unsigned number) {
    func::FuncOp function = getOperation();
    Attribute name = function.getResultAttr(number, "nn.update");
    for (BlockArgument argument : function.getArguments())
      for (StringRef kind : {"nn.param", "nn.state"})
        if (name && function.getArgAttr(argument.getArgNumber(), kind) == name)
          return argument;
    return {};
  }
};
} // namespace
