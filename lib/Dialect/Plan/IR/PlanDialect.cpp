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

/// The device's and the host's memory are given out in such pieces.
static constexpr int64_t kAlignment = 64;

/// Up to where sums of a place and a tensor's bytes are numbers.
static bool isPlace(int64_t offset) {
  return offset >= 0 && offset <= int64_t(1) << 62 && offset % kAlignment == 0;
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
    if (bytes <= 0 || !isPlace(workspace[1]))
      return op->emitOpError("has a workspace of ")
             << bytes << " bytes at " << workspace[1]
             << ", expects some bytes at a multiple of " << kAlignment;
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

/// `plan.offsets` has a place for each result, or -1.
static LogicalResult verifyOffsets(Operation *op, Attribute attribute) {
  auto offsets = dyn_cast<DenseI64ArrayAttr>(attribute);
  if (offsets && offsets.size() == op->getNumResults() &&
      llvm::all_of(offsets.asArrayRef(), [](int64_t offset) {
        return offset == -1 || isPlace(offset);
      }))
    return success();
  return op->emitOpError("expects '")
         << kOffsetsAttrName << "' to have for each of " << op->getNumResults()
         << " results a multiple of " << kAlignment
         << ", or -1, array<i64: OFFSETS>";
}

/// The attributes that number something, and the first number.
static std::optional<int64_t> leastOf(StringRef name) {
  if (name == kOperatorAttrName)
    return 0;
  if (name == kAgainAttrName)
    return 1;
  return std::nullopt;
}

LogicalResult PlanDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                    unsigned number,
                                                    NamedAttribute attribute) {
  if (attribute.getName() != kOffsetAttrName)
    return success();
  auto offset = dyn_cast<IntegerAttr>(attribute.getValue());
  if (offset && offset.getType().isSignlessInteger(64) &&
      isPlace(offset.getInt()))
    return success();
  return op->emitOpError("expects '")
         << kOffsetAttrName << "' of argument #" << number
         << " to be an i64, a multiple of " << kAlignment;
}

LogicalResult MemoryAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t device, int64_t host, int64_t budget,
                                 StringRef) {
  if (device < 0 || host < 0 || budget < 0)
    return emitError() << "has " << device << " bytes on the device, " << host
                       << " on the host and a budget of " << budget
                       << ", expects none to be negative";
  if (budget > 0 && device > budget)
    return emitError() << "needs " << device << " bytes of a budget of "
                       << budget;
  return success();
}

LogicalResult PlanDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == kOffsetsAttrName)
    return verifyOffsets(op, attribute.getValue());
  if (std::optional<int64_t> least = leastOf(name)) {
    auto value = dyn_cast<IntegerAttr>(attribute.getValue());
    if (!value || !value.getType().isSignlessInteger(64) ||
        value.getInt() < *least || value.getInt() > INT32_MAX)
      return op->emitOpError("expects '")
             << name << "' to be an i64 from " << *least << " to " << INT32_MAX;
  }
  if (name == kMemoryAttrName && !isa<MemoryAttr>(attribute.getValue()))
    return op->emitOpError("expects '") << name << "' to be a #plan.memory";
  if (name == kNotesAttrName) {
    auto notes = dyn_cast<ArrayAttr>(attribute.getValue());
    if (!notes || !llvm::all_of(notes, llvm::IsaPred<StringAttr>))
      return op->emitOpError("expects '") << name << "' to be strings";
  }
  if (name == kWorkspaceAttrName && !op->hasAttr(kAlgorithmAttrName))
    return op->emitOpError("has a '") << kWorkspaceAttrName << "', but no '"
                                      << kAlgorithmAttrName << "' that uses it";
  if (name != kAlgorithmAttrName)
    return success();
  auto algorithm = dyn_cast<StringAttr>(attribute.getValue());
  if (!algorithm)
    return op->emitOpError("expects '")
           << kAlgorithmAttrName << "' to be the name of an algorithm";
  // Of an operator that makes no sense nothing can be asked.
  if (failed(op->getName().verifyInvariants(op)))
    return failure();
  SmallVector<nn::Algorithm> algorithms = nn::getAlgorithms(op);
  auto isNamed = [&](const nn::Algorithm &other) {
    return nn::getName(other.kind) == algorithm.getValue();
  };
  if (llvm::any_of(algorithms, isNamed))
    return verifyWorkspace(op, algorithms, algorithm);
  InFlightDiagnostic diagnostic = op->emitOpError("has no algorithm ")
                                  << algorithm;
  if (algorithms.empty())
    return diagnostic << ": there is only one way to compute it";
  llvm::SetVector<StringRef> names;
  for (const nn::Algorithm &other : algorithms)
    names.insert(nn::getName(other.kind));
  return diagnostic << "; there are " << llvm::join(names, ", ");
}

LogicalResult PrefetchOp::verify() {
  Type source = getSource().getType();
  if (auto host = dyn_cast<HostType>(source))
    source = host.getTensor();
  if (source != getResult().getType())
    return emitOpError("[C1] copies ")
           << getResult().getType() << " from a source of " << source;
  // What is no host's value is at home there: an argument, some rows of one, or
  // a constant.
  Operation *op = getSource().getDefiningOp();
  if (op && !isa<HostType>(getSource().getType()) &&
      !op->hasTrait<OpTrait::ConstantLike>() && !getSlicedInput(op))
    return emitOpError("[C2] copies what ")
           << op->getName() << " makes on the device";
  return success();
}

#define GET_OP_CLASSES
#include "espalier/Dialect/Plan/IR/PlanOps.cpp.inc"
