//===- SplitProducts.cpp - Makes a part of a product eager ----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Papers write [x; h] W where x is pulled and h gathered. As one product it
// runs per task. As x W_x + h W_h the first half depends on no gather: it is
// one large product over all vertices before the first task.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

namespace espalier::vertex {
#define GEN_PASS_DEF_SPLITPRODUCTSPASS
#include "espalier/Dialect/Vertex/Transforms/Passes.h.inc"
} // namespace espalier::vertex

namespace {
/// Pieces of a concatenation that follow one another and are all gathered, or
/// all not.
struct Run {
  bool gathered;
  int64_t row, size;
  SmallVector<Value> pieces;
};

struct SplitProductsPass
    : espalier::vertex::impl::SplitProductsPassBase<SplitProductsPass> {
  void runOnOperation() override {
    for (FuncOp function : getOperation().getOps<FuncOp>())
      run(function);
  }

private:
  static void run(FuncOp function) {
    llvm::DenseSet<Operation *> afterGather;
    SmallVector<nn::MatmulOp> products;
    for (Operation &op : function.getBody().front()) {
      if (op.hasTrait<Gathers>() ||
          llvm::any_of(getReadValues(&op), [&](Value value) {
            return afterGather.contains(value.getDefiningOp());
          }))
        afterGather.insert(&op);
      if (auto product = dyn_cast<nn::MatmulOp>(op))
        products.push_back(product);
    }
    for (nn::MatmulOp product : products) {
      auto concat = product.getInput().getDefiningOp<tensor::ConcatOp>();
      if (!concat || concat.getType().getRank() != 1)
        continue;
      SmallVector<Run> runs;
      int64_t row = 0;
      for (Value piece : concat.getInputs()) {
        int64_t size = cast<RankedTensorType>(piece.getType()).getDimSize(0);
        bool gathered = afterGather.contains(piece.getDefiningOp());
        if (runs.empty() || runs.back().gathered != gathered)
          runs.push_back({gathered, row, 0, {}});
        runs.back().size += size;
        runs.back().pieces.push_back(piece);
        row += size;
      }
      if (runs.size() > 1)
        split(product, runs);
    }
  }

  static void split(nn::MatmulOp product, ArrayRef<Run> runs) {
    OpBuilder builder(product);
    Location loc = product.getLoc();
    auto weight = cast<RankedTensorType>(product.getWeight().getType());
    // What is eager is added up first, so that it is one value in the loop.
    Value eager, path;
    for (const Run &run : runs) {
      Value input = run.pieces.front();
      if (run.pieces.size() > 1)
        input = tensor::ConcatOp::create(
            builder, loc,
            RankedTensorType::get({run.size}, weight.getElementType()),
            /*dim=*/0, run.pieces);
      auto rows = RankedTensorType::get({run.size, weight.getDimSize(1)},
                                        weight.getElementType());
      Value part =
          nn::MatmulOp::create(builder, loc, input,
                               nn::buildSlice(builder, loc, product.getWeight(),
                                              rows, /*dim=*/0, run.row));
      Value &sum = run.gathered ? path : eager;
      sum = sum ? Value(arith::AddFOp::create(builder, loc, sum, part)) : part;
    }
    product.replaceAllUsesWith(
        arith::AddFOp::create(builder, loc, eager, path).getResult());
    product.erase();
    remark::passed(loc,
                   remark::RemarkOpts::name("split").category("split-products"))
        << remark::metric("products", runs.size());
  }
};
} // namespace
