//===- SplitLayers.cpp - Layers a part of the batch at a time -------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No plan is below what one operator reads and writes. Where that is too much,
// operators run for a part of the batch at a time. Which do is decided by
// lib/Planning (SplitOperators.h); this makes the function so, by the cuts that
// operators have:
//
//   rows of the batch   a value of their own for each part
//   sums over it        terms, added up part by part
//   the whole           read by each part as it is
//
// Parts read slices of what was not split, as the images that a network is
// given, and what cannot be split reads its parts side by side again. Batch
// norm is made of operators that can be split first.
//
//===----------------------------------------------------------------------===//

#include "SplitLayers.h"

#include "NetworkGraph.h"

#include "espalier/Dialect/NN/IR/NN.h"
#include "espalier/Dialect/Plan/IR/Plan.h"
#include "espalier/Dialect/Plan/Transforms/Passes.h"
#include "espalier/Planning/SplitOperators.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

namespace espalier::plan {
#define GEN_PASS_DEF_SPLITLAYERSPASS
#include "espalier/Dialect/Plan/Transforms/Passes.h.inc"
} // namespace espalier::plan

using planning::OperatorId;
using planning::TensorId;

/// Makes operators that work on the whole batch, and need more than `limit`
/// bytes, of others that have cuts.
static void expandWholes(func::FuncOp function, int64_t limit) {
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
    auto layer = dyn_cast<nn::LayerOpInterface>(op);
    if (!layer || nn::getCuts(&op).areThere() ||
        nn::getTotalBytes(&op) <= limit)
      continue;
    OpBuilder builder(&op);
    SmallVector<Value> results = layer.buildWithCuts(builder);
    if (results.empty())
      continue;
    op.replaceAllUsesWith(results);
    op.erase();
  }
}

namespace {
class Splitter {
public:
  Splitter(const NetworkGraph &network, const planning::SplitGraph &split)
      : network(network), split(split), function(network.function),
        body(function.getBody().front()), builder(&body, body.end()) {}

  int64_t run() {
    for (Operation &op : body)
      old.push_back(&op);
    for (BlockArgument argument : body.getArguments())
      whole[argument] = argument;
    for (Operation *op : old)
      if (op->hasTrait<OpTrait::ConstantLike>())
        whole[op->getResult(0)] = builder.clone(*op)->getResult(0);
    int64_t count = 0;
    for (auto [number, piece] : llvm::enumerate(split.operators)) {
      Operation *op = network.operatorAt(piece.of);
      if (piece.parts == 1) {
        addWhole(op);
        continue;
      }
      addPart(op, piece, split.graph.operators[number].name);
      count += piece.part == 0;
    }
    Operation *terminator = old.back();
    cloneWhole(terminator);
    for (Operation *op : llvm::reverse(old)) {
      op->dropAllUses();
      op->erase();
    }
    return count;
  }

private:
  Operation *cloneWhole(Operation *op) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, wholeOf(operand));
    return builder.clone(*op, mapping);
  }

  void addWhole(Operation *op) {
    Operation *clone = cloneWhole(op);
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
      whole[from] = to;
  }

  /// All of `value`, of what is made by now.
  Value wholeOf(Value value) {
    if (Value known = whole.lookup(value))
      return known;
    if (auto it = partsOf.find(value); it != partsOf.end())
      return whole[value] = tensor::ConcatOp::create(builder, value.getLoc(),
                                                     /*dim=*/0, it->second);
    Operation *op = value.getDefiningOp();
    Value made = cloneWhole(op)->getResult(0);
    // Others name memory: reshapes and transposes.
    if (getSlicedInput(op))
      whole[value] = made;
    return made;
  }

  /// The rows of `value` that the piece works on.
  Value rowsOf(Value value, const planning::Piece &piece) {
    if (auto it = partsOf.find(value); it != partsOf.end())
      return it->second[piece.part];
    Operation *op = value.getDefiningOp();
    Value known = whole.lookup(value);
    int64_t first = 0;
    if (BlockArgument input = op ? getSlicedInput(op) : BlockArgument()) {
      known = input;
      first = getFirstRow(op);
    }
    if (known) {
      Value &slice = slices[{value, piece.part, piece.parts}];
      if (!slice) {
        auto type = cast<RankedTensorType>(value.getType());
        SmallVector<int64_t> shape(type.getShape());
        shape[0] = piece.rows(type.getDimSize(0));
        slice =
            nn::buildSlice(builder, value.getLoc(), known,
                           RankedTensorType::get(shape, type.getElementType()),
                           0, first + piece.firstRow(type.getDimSize(0)));
      }
      return slice;
    }
    Value viewed = rowsOf(op->getOperand(0), piece);
    int64_t rows = cast<RankedTensorType>(viewed.getType()).getDimSize(0);
    return nn::cloneForRows(builder, op, viewed, rows)->getResult(0);
  }

  void addPart(Operation *op, const planning::Piece &piece,
               const std::string &name) {
    nn::Cuts cuts = nn::getCuts(op);
    SmallVector<Value> operands;
    int64_t rows = 0;
    auto countRows = [&](Value value) {
      rows = piece.rows(cast<RankedTensorType>(value.getType()).getDimSize(0));
    };
    for (auto [cut, operand] : llvm::zip(cuts.operands, op->getOperands()))
      if (cut == nn::Cut::rows) {
        operands.push_back(rowsOf(operand, piece));
        countRows(operand);
      } else {
        operands.push_back(wholeOf(operand));
      }
    for (auto [cut, result] : llvm::zip(cuts.results, op->getResults()))
      if (cut == nn::Cut::rows)
        countRows(result);
    Operation *clone = nn::cloneForRows(builder, op, operands, rows);
    clone->setLoc(NameLoc::get(builder.getStringAttr(name), op->getLoc()));
    for (auto [cut, from, to] :
         llvm::zip(cuts.results, op->getResults(), clone->getResults())) {
      if (cut == nn::Cut::rows) {
        partsOf[from].push_back(to);
        continue;
      }
      Value &sum = whole[from];
      sum = piece.part == 0 ? Value(to) : add(sum, to);
    }
  }

  Value add(Value sum, Value term) {
    return nn::buildElementwise(
        builder, term.getLoc(), sum.getType(), {sum, term},
        [&](OpBuilder &inside, ValueRange in) -> Value {
          return arith::AddFOp::create(inside, term.getLoc(), in[0], in[1]);
        });
  }

  const NetworkGraph &network;
  const planning::SplitGraph &split;
  func::FuncOp function;
  Block &body;
  OpBuilder builder;
  SmallVector<Operation *> old;
  /// By old value: the new one, or its parts; a sum so far is the former.
  llvm::DenseMap<Value, Value> whole;
  llvm::DenseMap<Value, SmallVector<Value>> partsOf;
  llvm::DenseMap<std::tuple<Value, int32_t, int32_t>, Value> slices;
};
} // namespace

FailureOr<int64_t> plan::splitLayers(func::FuncOp function, int64_t limit,
                                     int32_t parts) {
  expandWholes(function, limit);
  FailureOr<NetworkGraph> network = NetworkGraph::read(function);
  if (failed(network))
    return failure();
  planning::SplitGraph split =
      planning::splitOperators(network->graph, limit, parts);
  return Splitter(*network, split).run();
}

namespace {
struct SplitLayersPass
    : espalier::plan::impl::SplitLayersPassBase<SplitLayersPass> {
  using SplitLayersPassBase::SplitLayersPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (!isNetwork(function))
      return;
    if (function->hasAttr(kMemoryAttrName)) {
      function.emitOpError("is planned already, and cannot be split");
      return signalPassFailure();
    }
    if (parts < 1) {
      function.emitOpError("cannot be split into ")
          << int64_t(parts) << " parts";
      return signalPassFailure();
    }
    FailureOr<int64_t> count = splitLayers(function, limit, parts);
    if (failed(count))
      return signalPassFailure();
    remark::passed(function.getLoc(),
                   remark::RemarkOpts::name("split").category("split-layers"))
        << remark::metric("operators", *count)
        << remark::metric("parts", int64_t(parts));
  }
};
} // namespace
