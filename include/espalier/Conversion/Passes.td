//===- Passes.td - From rows to what the runtime executes ---*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_CONVERSION_PASSES
#define ESPALIER_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def LowerToModelPass : Pass<"lower-to-model", "::mlir::ModuleOp"> {
  let summary = "Turns entries into phases of steps, and generates kernels.";
  let description = [{
    Each function becomes a `model.entry`: its tensors become buffers, its
    operators steps, and steps over the same rows are collected in phases. What
    lives within one phase becomes scratch, which needs no more memory than a
    block of rows. `gather_rows`, `pull_rows`, `root_rows` and slices cost
    nothing where their reader is a kernel: they become ways to find a row.
    Elementwise groups and softmax become kernels: functions over rows, marked
    `model.kernel`.

    Needs: `batch-vertices`; arguments and results named by `nn.param`,
    `nn.input` and `nn.output`.
    Guarantees: only `model.entry` and kernel functions are left.
    Limits: an operator that is neither a row operator, nor a matmul, embedding,
    slice or concatenation, nor has RowKernelOpInterface is an error. So are
    tensors in memory of other elements than f32, f64 and i32, and batches of
    static size.

    ```mlir
    %p = vertex.pull_rows %g, %x : tensor<?x8xf32>
    %0 = nn.matmul %p, %W : tensor<?x8xf32>, tensor<8x4xf32>
    %y = vertex.push_rows %g, %0 : tensor<?x4xf32>
    ```
    becomes
    ```mlir
    model.phase "eager" rows vertices of 0 {
      model.copy %x <caller 0, 0 for 8> to %p <row 0, 0 for 8>
      model.matmul %p <row 0, 0 for 8> by %w to %0 <row 0, 0 for 4>
    }
    model.phase "eager" rows vertices of 0 {
      model.copy %0 <row 0, 0 for 4> to %y <caller 0, 0 for 4>
    }
    ```
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "256",
           "Width of a vector register of the processor, in bits">,
  ];
  let dependentDialects = ["::espalier::model::ModelDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
                           "::mlir::math::MathDialect", "::mlir::func::FuncDialect",
                           "::mlir::arith::ArithDialect"];
}

def ExpandMathPass : Pass<"expand-math"> {
  let summary = "Expands exp and tanh on f32 into polynomials.";
  let description = [{
    Within 4 ulp of the correctly rounded value over the whole range, right at
    zeros of both signs, infinities, NaN and huge arguments. f64 is left to
    libm.

    Needs: `math.exp` and `math.tanh` on scalars or vectors.
    Guarantees: none of them is left on f32.
    Limits: tensors are left alone.

    ```mlir
    %y = math.exp %x : vector<8xf32>
    ```
    becomes arithmetic: a range reduction, a polynomial, a scaling.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerKernelsPass : Pass<"lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Lowers generated kernels to the LLVM dialect.";
  let description = [{
    scf, vector, arith, math and func of kernel functions become the LLVM
    dialect; what math is left goes to libm, element by element. `model`
    operators stay.

    Needs: `lower-to-model`, and `expand-math` for speed.
    Guarantees: functions are `llvm.func`.
    Limits: what neither the LLVM dialect nor libm has is an error: ipowi,
    fpowi, isinf, isnormal.

    ```mlir
    func.func private @kernel(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {model.kernel} {
      %0 = llvm.load %operands : !llvm.ptr -> vector<8xf32>
      %1 = arith.addf %0, %0 : vector<8xf32>
      llvm.store %1, %operands : vector<8xf32>, !llvm.ptr
      return
    }
    ```
    becomes
    ```mlir
    llvm.func @kernel(%operands: !llvm.ptr, %begin: i64, %end: i64) attributes {model.kernel, sym_visibility = "private"} {
      %0 = llvm.load %operands : !llvm.ptr -> vector<8xf32>
      %1 = llvm.fadd %0, %0 : vector<8xf32>
      llvm.store %1, %operands : vector<8xf32>, !llvm.ptr
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect"];
}

#endif // ESPALIER_CONVERSION_PASSES
