//===- ShareVertices.cpp - Equal vertices are evaluated once --------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which vertices are equal only the runtime finds out. Here it is decided
// whether an entry lets it: whatever the entry computes of a vertex must follow
// from what the vertex pulls and from its children, and what it computes of all
// vertices must count those that share a row.
//
//===----------------------------------------------------------------------===//

#include "WeightedRows.h"

#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

namespace espalier::vertex {
#define GEN_PASS_DEF_SHAREVERTICESPASS
#include "espalier/Dialect/Vertex/Transforms/Passes.h.inc"
} // namespace espalier::vertex

static bool hasRows(ValueRange values) {
  return llvm::any_of(values.getTypes(),
                      [](Type type) { return isRowsType(type); });
}

/// Whether `op`, all of whose rows are the same, reads rows of vertices as far
/// as is known.
static bool readsVertices(Operation *op) {
  return hasRows(op->getOperands()) &&
         llvm::none_of(op->getOperands(), [](Value value) {
           return isRowsType(value.getType()) && isOfStructures(value);
         });
}

/// Why a vertex function does not follow from pulls and children alone, or
/// nothing.
static StringRef whyNotShared(FuncOp function) {
  StringRef reason;
  function.walk([&](Operation *op) {
    if (isa<nn::DropoutOp>(op))
      reason = "dropout is of a row's number, which no two vertices share";
    else if (isa<GatherParentsOp>(op))
      reason = "a vertex function gathers from parents";
  });
  return reason;
}

/// The same for an operator of an entry. Sums by `nn.sum_rows` can be weighted.
static StringRef whyNotShared(Operation *op, SymbolTable &symbols) {
  if (isa<ApplyOp>(op)) {
    StringRef reason;
    op->getAttrDictionary().walk([&](FlatSymbolRefAttr callee) {
      if (auto function = symbols.lookup<FuncOp>(callee.getValue()))
        if (StringRef found = whyNotShared(function); !found.empty())
          reason = found;
    });
    if (reason.empty() && !llvm::all_of(op->getResultTypes(), isRowsType))
      reason = "a vertex function reduces over vertices";
    return reason;
  }
  if (isa<ReverseOp, RootsOp, AtRootsOp, SegmentSumOp, SegmentMaxOp,
          SpreadStructuresOp, tensor::DimOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>() || !readsVertices(op))
    return {};
  if (isa<VertexDialect>(op->getDialect()))
    return "the entry is batched already";
  if (isa<nn::DropoutOp>(op))
    return "dropout is of a row's number, which no two vertices share";
  if (auto sum = dyn_cast<nn::SumRowsOp>(op))
    return isa<FloatType>(getElementTypeOrSelf(sum.getRows()))
               ? StringRef()
               : "it sums integers of vertices";
  if (isa<nn::CombineRowsOp>(op) || !hasRows(op->getResults()))
    return "it sums over vertices by another operator than nn.sum_rows";
  return {};
}

namespace {
struct ShareVerticesPass
    : espalier::vertex::impl::ShareVerticesPassBase<ShareVerticesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (func::FuncOp entry : module.getOps<func::FuncOp>())
      if (!entry.isExternal())
        share(entry, symbols);
  }

private:
  static void share(func::FuncOp entry, SymbolTable &symbols) {
    StringRef reason;
    SmallVector<nn::SumRowsOp> sums;
    entry.walk([&](Operation *op) {
      if (op == entry)
        return;
      if (StringRef found = whyNotShared(op, symbols); !found.empty())
        reason = found;
      if (auto sum = dyn_cast<nn::SumRowsOp>(op); sum && readsVertices(sum))
        sums.push_back(sum);
    });
    bool anyShared = false;
    for (BlockArgument graph : entry.getArguments())
      if (isa<vertex::GraphType>(graph.getType()))
        anyShared |= shareGraph(entry, graph, reason, sums.size());
    if (!anyShared)
      return;
    for (nn::SumRowsOp sum : sums) {
      OpBuilder builder(sum);
      sum.getRowsMutable().assign(
          weighRows(builder, sum.getLoc(), sum.getRows()));
    }
  }

  /// Marks `graph` unless there is a `reason` not to, or it has one of its own.
  static bool shareGraph(func::FuncOp entry, BlockArgument graph,
                         StringRef reason, size_t sums) {
    for (Operation *user : graph.getUsers())
      if (isa<ReverseOp>(user))
        reason = "it is turned round, too";
      else if (isa<SpreadStructuresOp>(user))
        reason = "rows of structures are spread over its vertices";
    auto options =
        remark::RemarkOpts::name("shared").category("share-vertices");
    if (!reason.empty()) {
      remark::missed(graph.getLoc(), options)
          << remark::metric("entry", entry.getSymName())
          << remark::metric("reason", reason);
      return false;
    }
    entry.setArgAttr(graph.getArgNumber(), kSharedAttrName,
                     UnitAttr::get(entry.getContext()));
    remark::passed(graph.getLoc(), options)
        << remark::metric("entry", entry.getSymName())
        << remark::metric("sums", sums);
    return true;
  }
};
} // namespace
