//===- Tally.cpp - Loss and accuracy over batches -------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Tally.h"

#include "support/Error.h"

#include <cmath>
#include <numeric>

namespace espalier::run {

template <typename T> static double sumOf(const TensorView &tensor) {
  const T *data = tensor.data<T>();
  return std::accumulate(data, data + tensor.elements(), 0.0);
}

/// The sum of a result's elements.
static double sumOf(const NamedView &result) {
  const TensorView &tensor = result.tensor;
  if (tensor.dtype() == ESPALIER_I32)
    fail(ESPALIER_INVALID_ARGUMENT,
         "the result '%s' is of integers, expected f32 or f64", result.name);
  double sum = tensor.dtype() == ESPALIER_F32 ? sumOf<float>(tensor)
                                              : sumOf<double>(tensor);
  if (!std::isfinite(sum))
    fail(ESPALIER_INVALID_ARGUMENT, "the result '%s' is %g", result.name, sum);
  return sum;
}

/// "accuracy" for "correct", "root_accuracy" for "root_correct"; nothing for
/// any other name.
static std::string accuracyOf(const std::string &name) {
  static const std::string kCorrect = "correct";
  if (name == kCorrect)
    return "accuracy";
  size_t size = name.size(), tail = kCorrect.size() + 1;
  if (size > tail && !name.compare(size - tail, tail, "_" + kCorrect))
    return name.substr(0, size - kCorrect.size()) + "accuracy";
  return "";
}

std::optional<double> Tally::Labels::accuracy() const {
  if (right + wrong == 0)
    return std::nullopt;
  return (double)right / (double)(right + wrong);
}

void Tally::add(const Result &result, int64_t count) {
  double loss = 0;
  std::optional<double> norm;
  std::map<std::string, Labels> found;
  for (size_t i = 0; i != result.count(); ++i) {
    NamedView view = result.at(i);
    std::string name = view.name;
    if (name == "loss") {
      loss = sumOf(view);
    } else if (name == "gradient_norm") {
      norm = sumOf(view);
    } else if (view.tensor.dtype() == ESPALIER_I32 &&
               !accuracyOf(name).empty()) {
      Labels &of = found[name];
      const int32_t *values = view.tensor.data<int32_t>();
      for (int64_t e = 0, end = view.tensor.elements(); e != end; ++e) {
        if (values[e] < -1 || values[e] > 1)
          fail(ESPALIER_INVALID_ARGUMENT,
               "the result '%s' has the value %d, expected 1 (right), 0 "
               "(wrong) or -1 (no label)",
               view.name, values[e]);
        of.right += values[e] == 1;
        of.wrong += values[e] == 0;
      }
    }
  }

  lossSum += loss;
  structures += count;
  if (norm) {
    normSum += *norm;
    ++norms;
  }
  for (const auto &[name, more] : found) {
    labels[name].right += more.right;
    labels[name].wrong += more.wrong;
  }
}

double Tally::loss() const {
  return structures == 0 ? 0 : lossSum / (double)structures;
}

std::string Tally::text() const {
  std::string text = format("loss %.6g", loss());
  for (const auto &[name, of] : labels) {
    std::string words = accuracyOf(name);
    for (char &c : words)
      c = c == '_' ? ' ' : c;
    std::optional<double> accuracy = of.accuracy();
    text += ", " + words +
            (accuracy ? format(" %.2f %%", 100 * *accuracy) : " of no labels");
  }
  return text;
}

void Tally::log(Json &line, const std::string &prefix) const {
  line[prefix + "loss"] = loss();
  for (const auto &[name, of] : labels) {
    std::optional<double> accuracy = of.accuracy();
    line[prefix + accuracyOf(name)] = accuracy ? Json(*accuracy) : Json();
  }
  if (norms != 0)
    line[prefix + "gradient_norm"] = normSum / (double)norms;
  line[prefix + "structures"] = structures;
  line[prefix + "seconds"] = passed;
}

Json Tally::save() const {
  // Shortest decimals, which read as the same doubles.
  Json saved = {{"loss_sum", lossSum}, {"structures", structures},
                {"norm_sum", normSum}, {"norms", norms},
                {"seconds", passed},   {"labels", Json::object()}};
  for (const auto &[name, of] : labels)
    saved["labels"][name] = {of.right, of.wrong};
  return saved;
}

Tally Tally::restore(const Json &saved) {
  Tally tally;
  tally.lossSum = saved.at("loss_sum").get<double>();
  tally.structures = saved.at("structures").get<int64_t>();
  tally.normSum = saved.at("norm_sum").get<double>();
  tally.norms = saved.at("norms").get<int64_t>();
  tally.passed = saved.at("seconds").get<double>();
  for (auto &[name, of] : saved.at("labels").items())
    tally.labels[name] = {of.at(0).get<int64_t>(), of.at(1).get<int64_t>()};
  return tally;
}

} // namespace espalier::run
