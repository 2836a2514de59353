//===- TestModelLibrary.cpp - The test model as a library -----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestModel.h"

extern "C" __attribute__((visibility("default"))) const espalier_model *
espalier_model_query(void) {
  static const TestModel tables;
  return &tables.model;
}
