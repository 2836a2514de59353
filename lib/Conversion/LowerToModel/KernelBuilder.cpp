//===- KernelBuilder.cpp - Functions over rows from operators ---*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

#include "espalier/abi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace espalier;

namespace {
/// The fields of one espalier_kernel_operand, loaded once, and the address of
/// the current row.
struct OperandPointers {
  Value base, stride, index, zeros, row;
};

class KernelRowAccess : public nn::RowAccess {
public:
  KernelRowAccess(Location loc, ArrayRef<OperandPointers> operands,
                  unsigned inputs, unsigned vectorBits, bool inPlace)
      : loc(loc), operands(operands), inputs(inputs), vectorBits(vectorBits),
        inPlace(inPlace) {}

  Value load(OpBuilder &builder, unsigned index, Value column,
             Type type) override {
    return LLVM::LoadOp::create(builder, loc, type,
                                address(builder, operands[index], column, type),
                                alignment(type));
  }

  void store(OpBuilder &builder, unsigned index, Value column,
             Value value) override {
    LLVM::StoreOp::create(
        builder, loc, value,
        address(builder, operands[inputs + index], column, value.getType()),
        alignment(value.getType()));
  }

  int64_t lanes(Type type) override {
    int64_t bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
    return std::max<int64_t>(1, vectorBits / bits);
  }

  bool isInPlace() override { return inPlace; }

private:
  Value address(OpBuilder &builder, const OperandPointers &operand,
                Value column, Type type) {
    return LLVM::GEPOp::create(builder, loc, operand.row.getType(),
                               getElementTypeOrSelf(type), operand.row,
                               ArrayRef<LLVM::GEPArg>{column});
  }
  /// Rows start anywhere, so a vector is only as aligned as its elements.
  static unsigned alignment(Type type) {
    return getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8;
  }

  Location loc;
  ArrayRef<OperandPointers> operands;
  unsigned inputs, vectorBits;
  bool inPlace;
};
} // namespace

func::FuncOp espalier::buildKernel(OpBuilder &builder, StringRef name,
                                   nn::RowKernelOpInterface op,
                                   ArrayRef<bool> indexed, unsigned vectorBits,
                                   bool inPlace) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = op->getLoc();
  Type i64 = builder.getI64Type(), i8 = builder.getI8Type(),
       i32 = builder.getI32Type();
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  auto kernel = func::FuncOp::create(
      builder, loc, name, builder.getFunctionType({pointer, i64, i64}, {}));
  kernel.setPrivate();
  kernel->setAttr(kKernelAttrName, builder.getUnitAttr());
  Block *entry = kernel.addEntryBlock();
  builder.setInsertionPointToStart(entry);

  auto field = [&](unsigned operand, size_t offset, Type type) -> Value {
    LLVM::GEPArg byte = static_cast<int32_t>(
        operand * sizeof(espalier_kernel_operand) + offset);
    Value address =
        LLVM::GEPOp::create(builder, loc, pointer, i8, entry->getArgument(0),
                            ArrayRef<LLVM::GEPArg>{byte});
    return LLVM::LoadOp::create(builder, loc, type, address);
  };
  SmallVector<OperandPointers> operands(indexed.size());
  for (auto [number, operand] : llvm::enumerate(operands)) {
    operand.base =
        field(number, offsetof(espalier_kernel_operand, base), pointer);
    operand.stride =
        field(number, offsetof(espalier_kernel_operand, row_stride), i64);
    if (!indexed[number])
      continue;
    operand.index =
        field(number, offsetof(espalier_kernel_operand, index), pointer);
    operand.zeros =
        field(number, offsetof(espalier_kernel_operand, zeros), pointer);
  }

  Value one = arith::ConstantIntOp::create(builder, loc, i64, 1);
  Value none = arith::ConstantIntOp::create(builder, loc, i32, 0);
  auto body = [&](OpBuilder &nested, Location, Value row, ValueRange) {
    for (auto [number, operand] : llvm::enumerate(operands)) {
      Value found = row;
      Value absent;
      if (indexed[number]) {
        Value slot =
            LLVM::GEPOp::create(nested, loc, pointer, i32, operand.index,
                                ArrayRef<LLVM::GEPArg>{row});
        Value index = LLVM::LoadOp::create(nested, loc, i32, slot);
        absent = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::slt,
                                       index, none);
        found = arith::ExtSIOp::create(nested, loc, i64, index);
      }
      Value offset = arith::MulIOp::create(nested, loc, found, operand.stride);
      operand.row = LLVM::GEPOp::create(nested, loc, pointer, i8, operand.base,
                                        ArrayRef<LLVM::GEPArg>{offset});
      if (absent)
        operand.row = arith::SelectOp::create(nested, loc, absent,
                                              operand.zeros, operand.row);
    }
    KernelRowAccess access(loc, operands, op->getNumOperands(), vectorBits,
                           inPlace);
    op.buildRow(nested, access);
    scf::YieldOp::create(nested, loc);
  };
  scf::ForOp::create(builder, loc, entry->getArgument(1), entry->getArgument(2),
                     one, ValueRange(), body);
  func::ReturnOp::create(builder, loc);
  return kernel;
}
