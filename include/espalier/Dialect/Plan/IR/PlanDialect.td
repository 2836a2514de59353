//===- PlanDialect.td - Copies, and where tensors lie ------*- tablegen -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Files of this dialect, and what each may include:
//   PlanDialect.td  the dialect, its type and attributes
//   PlanOps.td      copies between the device and the host (PlanDialect.td)
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_DIALECT_PLAN_IR_PLANDIALECT
#define ESPALIER_DIALECT_PLAN_IR_PLANDIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let summary = "What a memory plan adds to a layered network.";
  let description = [{
    Tensors of a planned function lie in the memory of a device. A plan is read
    off the function itself: operators run in their order; one that computes a
    value again is there again, next to where the value is read; and the
    operators of this dialect copy between the device and the host. So a plan is
    plain SSA, which can be verified, interpreted and compared.

    What is no value is an attribute. On operators:

    * `plan.offsets`: for each result, where it lies, in bytes: in the device's
      memory, or, of an offload, in the host's pool; -1 if it has no place of
      its own there;
    * `plan.again`: which run of the operator it is, from 1 on, where it was
      recomputed, so that nothing merges it with the first; all runs of an
      operator have one number, `plan.operator`;
    * `plan.algorithm`: the way in which a convolution is computed, by the name
      of one that it has (`LayerOpInterface`), and `plan.workspace`, the bytes
      that this needs, and their offset. Without them it needs none.

    On arguments, `plan.offset`: where it is on the device throughout; without
    it it is in the host's memory. On the function, `plan.memory` (`#plan.memory`),
    and `plan.notes`, lines for people, which plan files have too.
  }];
  let cppNamespace = "::espalier::plan";
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
}

def Plan_HostType : TypeDef<Plan_Dialect, "Host"> {
  let mnemonic = "host";
  let summary = "A tensor in the host's memory.";
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

def Plan_MemoryAttr : AttrDef<Plan_Dialect, "Memory"> {
  let mnemonic = "memory";
  let summary = "What a planned function needs.";
  let description = [{
    Bytes of the device's memory, of the host's pool, the budget that was given
    (0: none), and the name of the machine.

    ```mlir
    #plan.memory<device 1048576, host 0, budget 2097152, machine "K40c">
    ```
  }];
  let parameters = (ins "int64_t":$device, "int64_t":$host, "int64_t":$budget,
                        StringRefParameter<>:$machine);
  let assemblyFormat = [{
    `<` `device` $device `,` `host` $host `,` `budget` $budget `,`
    `machine` $machine `>`
  }];
  let genVerifyDecl = 1;
}

#endif // ESPALIER_DIALECT_PLAN_IR_PLANDIALECT
