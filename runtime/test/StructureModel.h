//===- StructureModel.h - A hand-written model of graphs --------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables and kernels of a network whose vertices have any number of
// children, and of one over two graphs and the reverse of one of them.
//
// Entries "whole" and "parts" (leaves and inner vertices apart), over "graphs",
// in f32; c is a child of v, x a field:
//
//   gate(v, c) = x(v) / (1 + |x(v)|)
//   m(v, c)    = gate(v, c) * (h(c) * U)
//   h(v)       = clamp(x(v) + sum m + max m / 2 - mean m / 4, -4, 4)
//
// They give "hidden" (h), "up" (the sum of m(p, v) over the parents p of v),
// "total" and "highest" (sum and maximum of h over a structure's vertices), and
// "down", from parents to children: d(v) = clamp(x(v) + sum of d(p) / 2, -4,
// 4).
//
// Entry "pair", over "source" and "target", in f64:
//
//   s(v) = x(v) + sum over slots i of s(child i) / (i + 2)
//
// over "source" and over its reverse, where the children of a vertex are its
// parents. It gives "both" (s of either, a row a vertex), "joined" (both at the
// root, and the sum of field y over the structure of "target") and "first" (y
// of every vertex of "target" plus one).
//
// Entry "typed", over "typed" with types 0 and 1 in the field "kind", in f64:
//
//   s(v) = e(v) + sum over slots i of s(child i) / (i + 2), e(v) = x(v)^2
//   s(v) = e(v) - sum over slots i of s(child i) / (i + 2), e(v) = 3 x(v)
//   d(v) = 1 +- sum over the slots i of its parents p of d(p) / (i + 2)
//
// where the first line and + are of type 0, and leaves of it have s(v) = x(v).
// It gives "s", "d", "leaves" (the sum of s over the leaves of type 0) and
// "inner" (over the inner vertices of type 1).
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_STRUCTUREMODEL_H
#define ESPALIER_TEST_STRUCTUREMODEL_H

#include "TestModel.h"

constexpr int64_t kWidth = 5;
constexpr uint32_t kSlots = 3; // of "source" and its reverse

struct StructureModel {
  StructureModel();
  StructureModel(const StructureModel &) = delete;
  StructureModel &operator=(const StructureModel &) = delete;

  TestModel::Entry whole, parts, pair, typed;
  std::vector<espalier_entry> entries;
  espalier_model model;
};

#endif // ESPALIER_TEST_STRUCTUREMODEL_H
