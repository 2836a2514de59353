//===- PlanDialect.cpp - The plan dialect -----------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Dialect/Plan/IR/Plan.h"

#include "espalier/Dialect/NN/IR/NN.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace espalier;
using namespace espalier::plan;

#include "espalier/Dialect/Plan/IR/PlanDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "espalier/Dialect/Plan/IR/PlanTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "espalier/Dialect/Plan/IR/PlanAttrs.cpp.inc"

void PlanDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "espalier/Dialect/Plan/IR/PlanTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "espalier/Dialect/Plan/IR/PlanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "espalier/Dialect/Plan/IR/PlanOps.cpp.inc"
      >();
}

/// `plan.workspace` is what the algorithm of the operator needs.
static LogicalResult verifyWorkspace(Operation *op,
                                     ArrayRef<nn::Algorithm> algorithms,
                                     StringRef name) {
  int64_t bytes = 0;
  if (Attribute attribute = op->getAttr(kWorkspaceAttrName)) {
    auto workspace = dyn_cast<DenseI64ArrayAttr>(attribute);
    if (!workspace || workspace.size() != 2)
      return op->emitOpError("expects '")
             << kWorkspaceAttrName << "' to be bytes and an offset, "
             << "array<i64: BYTES, OFFSET>";
    bytes = workspace[0];
    if (bytes <= 0 || workspace[1] < 0 || workspace[1] % 64 != 0)
      return op->emitOpError("has a workspace of ")
             << bytes << " bytes at " << workspace[1]
             << ", expects some bytes at a multiple of 64";
  }
  SmallVector<int64_t> expected;
  for (const nn::Algorithm &algorithm : algorithms)
    if (nn::getName(algorithm.kind) == name)
      expected.push_back(algorithm.workspaceBytes);
  if (llvm::is_contained(expected, bytes))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError("has a workspace of ")
                                  << bytes << " bytes, and '" << name
                                  << "' needs ";
  llvm::interleave(
      expected, [&](int64_t other) { diagnostic << other; },
      [&] { diagnostic << " or "; });
  return diagnostic;
}

LogicalResult PlanDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kWorkspaceAttrName &&
      !op->hasAttr(kAlgorithmAttrName))
    return op->emitOpError("has a '") << kWorkspaceAttrName << "', but no '"
                                      << kAlgorithmAttrName << "' that uses it";
  if (attribute.getName() != kAlgorithmAttrName)
    return success();
  auto name = dyn_cast<StringAttr>(attribute.getValue());
  if (!name)
    return op->emitOpError("expects '")
           << kAlgorithmAttrName << "' to be the name of an algorithm";
  // Of an operator that makes no sense nothing can be asked.
  if (failed(op->getName().verifyInvariants(op)))
    return failure();
  SmallVector<nn::Algorithm> algorithms = nn::getAlgorithms(op);
  auto isNamed = [&](const nn::Algorithm &algorithm) {
    return nn::getName(algorithm.kind) == name.getValue();
  };
  if (llvm::any_of(algorithms, isNamed))
    return verifyWorkspace(op, algorithms, name);
  InFlightDiagnostic diagnostic = op->emitOpError("has no algorithm ") << name;
  if (algorithms.empty())
    return diagnostic << ": there is only one way to compute it";
  llvm::SetVector<StringRef> names;
  for (const nn::Algorithm &algorithm : algorithms)
    names.insert(nn::getName(algorithm.kind));
  return diagnostic << "; there are " << llvm::join(names, ", ");
}

LogicalResult PrefetchOp::verify() {
  Type source = getSource().getType();
  if (auto host = dyn_cast<HostType>(source))
    source = host.getTensor();
  if (source != getResult().getType())
    return emitOpError("[C1] copies ")
           << getResult().getType() << " from a source of " << source;
  return success();
}

#define GET_OP_CLASSES
#include "espalier/Dialect/Plan/IR/PlanOps.cpp.inc"
