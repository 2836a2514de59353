//===- PlanModelLibrary.cpp - A library with a memory plan ----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PlanModel.h"

extern "C" __attribute__((visibility("default"))) const espalier_model *
espalier_model_query(void) {
  static RandomPlan plan(7, 1000);
  return &plan.model.model;
}
