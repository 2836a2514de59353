//===- PlanOps.td - Copies between device and host ---------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_PLAN_IR_PLANOPS
#define ESPALIER_DIALECT_PLAN_IR_PLANOPS

include "espalier/Dialect/Plan/IR/PlanDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

def Plan_OffloadOp : Plan_Op<"offload", [
    TypesMatchWith<"result is the tensor's host type", "tensor", "result",
        "::espalier::plan::HostType::get($_ctxt, "
        "::llvm::cast<::mlir::RankedTensorType>($_self))">]> {
  let summary = "Starts a copy of a tensor to the host.";
  let description = [{
    The copy runs beside the operators that follow, until the tensor's
    `plan.release`, or, without one, is over at once. Its effects are not
    declared, so that it is neither merged nor moved nor dropped.

    ```mlir
    %h = plan.offload %x : tensor<8x64x56x56xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32, F64, I32]>:$tensor);
  let results = (outs Plan_HostType:$result);
  let assemblyFormat = "$tensor attr-dict `:` type($tensor)";
}

def Plan_PrefetchOp : Plan_Op<"prefetch"> {
  let summary = "Starts a copy of a tensor from the host to the device.";
  let description = [{
    The copy runs beside the operators that follow, and is over before the first
    that reads the result. The source was offloaded, or is an argument without
    `plan.offset`.

    Constraints: (C1) the result is the tensor that the source is on the host.
    (C2) a source that is a tensor is an argument, rows of one, or a constant.

    ```mlir
    %y = plan.prefetch %h : !plan.host<tensor<8x64x56x56xf32>>
        -> tensor<8x64x56x56xf32>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Plan_HostType,
                                  RankedTensorOf<[F32, F64, I32]>]>:$source);
  let results = (outs RankedTensorOf<[F32, F64, I32]>:$result);
  let assemblyFormat = [{
    $source attr-dict `:` type($source) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Plan_ReleaseOp : Plan_Op<"release"> {
  let summary = "The end of a tensor's stay on the device.";
  let description = [{
    Keeps the tensor's memory from being used again until here, so that a copy
    of it has time. Copies of it are over after this.

    ```mlir
    plan.release %x : tensor<8x64x56x56xf32>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32, F64, I32]>:$tensor);
  let assemblyFormat = "$tensor attr-dict `:` type($tensor)";
}

#endif // ESPALIER_DIALECT_PLAN_IR_PLANOPS
