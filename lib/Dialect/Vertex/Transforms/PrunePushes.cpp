//===- PrunePushes.cpp - Pushes only what somebody reads ------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a primal keeps is pulled by an adjoint over the same graph, whose
// variants may each pull less: at a leaf no forget gate has a use. Which
// variant of a function pushes for nobody follows from the variants of its
// readers.
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Vertex/IR/Vertex.h"
#include "espalier/Dialect/Vertex/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::vertex;

namespace espalier::vertex {
#define GEN_PASS_DEF_PRUNEPUSHESPASS
#include "espalier/Dialect/Vertex/Transforms/Passes.h.inc"
} // namespace espalier::vertex

namespace {
/// The names of a function that somebody reads at vertices of each kind.
struct Readers {
  llvm::StringSet<> leaves, inner;
};

struct PrunePushesPass
    : espalier::vertex::impl::PrunePushesPassBase<PrunePushesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::MapVector<FuncOp, Readers> readers;
    module.walk([&](ApplyOp apply) {
      for (auto [type, function] :
           llvm::enumerate(lookupCallees(apply, symbols)))
        if (function && function.getLeafAttr())
          findReaders(apply, type, symbols, readers[function]);
    });
    for (auto &[function, found] : readers) {
      auto leaf = symbols.lookup<FuncOp>(function.getLeafAttr().getValue());
      int64_t pruned = prune(leaf, found.leaves) + prune(function, found.inner);
      if (pruned)
        remark::passed(
            function.getLoc(),
            remark::RemarkOpts::name("pruned").category("prune-pushes"))
            << remark::metric("function", function.getSymName())
            << remark::metric("pushes", pruned);
    }
  }

private:
  static bool pulls(FuncOp function, StringRef name) {
    return llvm::any_of(function.getBody().getOps<PullOp>(),
                        [&](PullOp pull) { return pull.getName() == name; });
  }

  static bool pullsOfChildren(FuncOp function, StringRef name) {
    for (Operation &op : function.getBody().getOps()) {
      if (auto pull = dyn_cast<PullChildOp>(op); pull && pull.getName() == name)
        return true;
      if (auto scatter = dyn_cast<ScatterChildrenOp>(op))
        for (Attribute pulled : scatter.getNames())
          if (cast<StringAttr>(pulled).getValue() == name)
            return true;
    }
    return false;
  }

  /// Whether both choose the function of a vertex in the same way.
  static bool haveSameTypes(ApplyOp left, ApplyOp right) {
    return left.getGraph() == right.getGraph() &&
           left.getCallees().size() == right.getCallees().size() &&
           left.getTypeField() == right.getTypeField();
  }

  /// Adds who reads what vertices of `type` push.
  static void findReaders(ApplyOp apply, size_t type, SymbolTable &symbols,
                          Readers &readers) {
    for (auto [attribute, rows] :
         llvm::zip(apply.getPushNames(), apply.getPushed())) {
      StringRef name = cast<StringAttr>(attribute).getValue();
      auto read = [&](bool atLeaves, bool inner) {
        if (atLeaves)
          readers.leaves.insert(name);
        if (inner)
          readers.inner.insert(name);
      };
      for (OpOperand &use : rows.getUses()) {
        auto reader = dyn_cast<ApplyOp>(use.getOwner());
        // Somebody who is no apply reads all rows, and so may a child's parent.
        unsigned first = reader ? reader.getPulled().getBeginOperandIndex() : 0;
        if (!reader || !haveSameTypes(apply, reader) ||
            use.getOperandNumber() < first) {
          read(true, true);
          continue;
        }
        StringRef pulled =
            cast<StringAttr>(
                reader.getPullNames()[use.getOperandNumber() - first])
                .getValue();
        SmallVector<FuncOp> functions = lookupCallees(reader, symbols);
        FuncOp function = functions[type];
        bool ofChild = llvm::any_of(functions, [&](FuncOp parent) {
          return !parent || pullsOfChildren(parent, pulled);
        });
        if (ofChild || !function || !function.getLeafAttr()) {
          read(true, true);
          continue;
        }
        auto leaf = symbols.lookup<FuncOp>(function.getLeafAttr().getValue());
        read(pulls(leaf, pulled), pulls(function, pulled));
      }
    }
  }

  /// Has `variant` push zeros where nobody reads, and drops what only made it.
  static int64_t prune(FuncOp variant, const llvm::StringSet<> &read) {
    int64_t pruned = 0;
    for (PushOp push : variant.getBody().getOps<PushOp>()) {
      if (read.contains(push.getName()) || nn::isZeros(push.getRow()))
        continue;
      OpBuilder builder(push);
      push.getRowMutable().assign(
          nn::buildZeros(builder, push.getLoc(), push.getRow().getType()));
      ++pruned;
    }
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(variant.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    return pruned;
  }
};
} // namespace
