//===- InitAll.h - Registration, for tools ----------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ESPALIER_INITALL_H
#define ESPALIER_INITALL_H

#include "mlir/IR/DialectRegistry.h"

namespace espalier {

/// Our dialects, the upstream ones that models are written in or lowered to,
/// and the interfaces that we attach to upstream operators.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Our passes, the upstream ones that are useful beside them, and the pipelines
/// `espalier-batching-pipeline` and, up to kernels, `espalier-pipeline`.
void registerAllPasses();

} // namespace espalier

#endif // ESPALIER_INITALL_H
