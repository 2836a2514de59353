//===- Losses.cpp - Losses and their adjoints -------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row of the logits has a label, or one for each column; negative ones are
// none, and those that are no class make NaN.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace espalier;
using namespace espalier::reference;

static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Calls `visit` with the logits, the label and the number of each row.
static void forEachRow(
    Operands operands,
    function_ref<void(ArrayRef<double>, int64_t label, size_t row)> visit) {
  const Array &logits = *operands[0], &labels = *operands[1];
  size_t columns = logits.shape.back();
  for (size_t row = 0; row != labels.data.size(); ++row)
    visit(ArrayRef(logits.data).slice(row * columns, columns),
          (int64_t)labels.data[row], row);
}

static double logSumExp(ArrayRef<double> x) {
  double greatest = *std::max_element(x.begin(), x.end()), sum = 0;
  for (double element : x)
    sum += std::exp(element - greatest);
  return greatest + std::log(sum);
}

Array reference::softmaxCrossEntropy(Operands operands) {
  Array result = Array::zeros(operands[1]->shape);
  forEachRow(operands, [&](ArrayRef<double> x, int64_t label, size_t row) {
    if (label >= 0)
      result.data[row] =
          label < (int64_t)x.size() ? logSumExp(x) - x[label] : kNaN;
  });
  return result;
}

Array reference::softmaxCrossEntropyAdjoint(Operands operands) {
  Array result = Array::zeros(operands[0]->shape);
  forEachRow(operands, [&](ArrayRef<double> x, int64_t label, size_t row) {
    if (label < 0)
      return;
    double adjoint = label < (int64_t)x.size() ? operands[2]->data[row] : kNaN;
    double sum = logSumExp(x);
    for (size_t i = 0; i != x.size(); ++i)
      result.data[row * x.size() + i] =
          adjoint * (std::exp(x[i] - sum) - ((int64_t)i == label));
  });
  return result;
}

Array reference::correct(Operands operands) {
  Array result = Array::zeros(operands[1]->shape);
  forEachRow(operands, [&](ArrayRef<double> x, int64_t label, size_t row) {
    int64_t best = std::max_element(x.begin(), x.end()) - x.begin();
    result.data[row] = label < 0 ? -1 : best == label;
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Yes or no
//===----------------------------------------------------------------------===//

/// log(1 + exp(x)).
static double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

/// The logit against a label of 0 or 1: the loss is softplus of it.
static double against(double x, double label) { return label > 0 ? -x : x; }

Array reference::binaryCrossEntropy(Operands operands) {
  const Array &logits = *operands[0], &labels = *operands[1];
  Array result =
      Array::zeros({logits.shape.begin(), std::prev(logits.shape.end())});
  size_t columns = logits.shape.back();
  for (auto [i, label] : llvm::enumerate(labels.data))
    if (label >= 0)
      result.data[i / columns] +=
          label > 1 ? kNaN : softplus(against(logits.data[i], label));
  return result;
}

Array reference::binaryCrossEntropyAdjoint(Operands operands) {
  const Array &logits = *operands[0], &labels = *operands[1];
  Array result = Array::zeros(logits.shape);
  size_t columns = logits.shape.back();
  for (auto [i, label] : llvm::enumerate(labels.data)) {
    if (label < 0)
      continue;
    // The derivative of softplus(z) is exp(z - softplus(z)).
    double z = against(logits.data[i], label);
    double slope = std::exp(z - softplus(z));
    result.data[i] = label > 1 ? kNaN
                               : operands[2]->data[i / columns] *
                                     (label > 0 ? -slope : slope);
  }
  return result;
}
