//===- TrainingModelLibrary.cpp - A compiled training, written by hand ----===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A linear regression over the vertices of all structures, as the tables and
// kernels that a compiler would make of it:
//
//   error(v) = score[word(v)] + bias - label(v)     0 without a label
//   loss     = sum of error^2 / 2
//
// Entries:
//   predict     prediction(v) = score[word(v)] + bias
//   loss        loss, a row a vertex, correct (|error| < 1/2), root_correct
//   again       the same, with the sum of the loss
//   train_step  loss and a step of gradient descent with momentum. Each
//               gradient g is first scaled, then clipped by the norm of all,
//               then decayed (g + weight_decay * p), then changed a little as
//               the seed says, as if by dropout
//   sgd_step    loss and p - learning_rate * g, with a learning rate in f64;
//               errors count as the structure's importance says, and twice at
//               vertices whose number is odd
//
// Environment variables change it for tests:
//   ESPALIER_TEST_INTERRUPT_AT=N  the N-th loss of a process sends it SIGINT
//   ESPALIER_TEST_INTERRUPTS=N    N times (1)
//   ESPALIER_TEST_SLOW=N          losses take N microseconds more
//   ESPALIER_TEST_ENTRIES=...     predict: only that; losses: two that measure;
//                                 random: loss has a seed; both: again, too
//
//===----------------------------------------------------------------------===//
#include "TestModel.h"

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <string>
#include <unistd.h>

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Row `row` of an operand.
template <typename T>
static T *at(const espalier_kernel_operand &operand, int64_t row) {
  int64_t r = operand.index ? operand.index[row] : row;
  return reinterpret_cast<T *>(r < 0 ? operand.zeros
                                     : operand.base + r * operand.row_stride);
}

static int numberFrom(const char *variable, int otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

/// x, bias -> prediction
static void predictKernel(const espalier_kernel_operand *operands,
                          int64_t begin, int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    *at<float>(operands[2], r) =
        *at<float>(operands[0], r) + *at<float>(operands[1], r);
}

/// x, bias, word, label -> error, row loss, one-hot word * error, right,
/// correct
static void errorKernel(const espalier_kernel_operand *operands, int64_t begin,
                        int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    int32_t word = *at<int32_t>(operands[2], r);
    int32_t label = *at<int32_t>(operands[3], r);
    float error = *at<float>(operands[0], r) + *at<float>(operands[1], r);
    error = label < 0 ? 0 : error - (float)label;
    *at<float>(operands[4], r) = error;
    *at<float>(operands[5], r) = error * error / 2;
    for (int32_t w = 0; w != kWords; ++w)
      at<float>(operands[6], r)[w] = w == word ? error : 0;
    int32_t right = label < 0 ? -1 : std::fabs(error) < 0.5f;
    *at<int32_t>(operands[7], r) = right;
    *at<int32_t>(operands[8], r) = right;
  }
}

static void copyKernel(const espalier_kernel_operand *operands, int64_t begin,
                       int64_t end) {
  for (int64_t r = begin; r < end; ++r)
    *at<int32_t>(operands[1], r) = *at<int32_t>(operands[0], r);
}

/// -> losses so far
static void disturbKernel(const espalier_kernel_operand *operands, int64_t,
                          int64_t) {
  static int losses = 0;
  *at<int32_t>(operands[0], 0) = ++losses;
  ::usleep(numberFrom("ESPALIER_TEST_SLOW", 0));
  if (losses != numberFrom("ESPALIER_TEST_INTERRUPT_AT", -1))
    return;
  for (int i = numberFrom("ESPALIER_TEST_INTERRUPTS", 1); i != 0; --i)
    ::kill(::getpid(), SIGINT);
}

/// importance, error, one-hot word * error, number -> the two in the middle,
/// weighed
static void weighKernel(const espalier_kernel_operand *operands, int64_t begin,
                        int64_t end) {
  for (int64_t r = begin; r < end; ++r) {
    float importance =
        *at<float>(operands[0], r) * (1 + *at<int32_t>(operands[3], r) % 2);
    *at<float>(operands[4], r) = importance * *at<float>(operands[1], r);
    for (int64_t w = 0; w != kWords; ++w)
      at<float>(operands[5], r)[w] = importance * at<float>(operands[2], r)[w];
  }
}

/// gradients of score and bias, learning rate, weight decay, clip norm, scale,
/// seed -> norm, score, bias and their momenta
static void updateKernel(const espalier_kernel_operand *operands, int64_t,
                         int64_t) {
  float rate = *at<float>(operands[2], 0), decay = *at<float>(operands[3], 0);
  float clip = *at<float>(operands[4], 0), scale = *at<float>(operands[5], 0);
  int32_t seed = *at<int32_t>(operands[6], 0);
  float gradient[kWords + 1], squares = 0;
  for (int64_t i = 0; i <= kWords; ++i) {
    gradient[i] = scale * (i < kWords ? at<float>(operands[0], 0)[i]
                                      : *at<float>(operands[1], 0));
    squares += gradient[i] * gradient[i];
  }
  float norm = std::sqrt(squares);
  *at<float>(operands[7], 0) = norm;
  for (int64_t i = 0; i <= kWords; ++i) {
    float *p =
        i < kWords ? at<float>(operands[8], 0) + i : at<float>(operands[9], 0);
    float *m = i < kWords ? at<float>(operands[10], 0) + i
                          : at<float>(operands[11], 0);
    float g = clip > 0 && norm > clip ? gradient[i] * clip / norm : gradient[i];
    g = (g + decay * *p) * (1 + (float)(seed % 1024) / 65536);
    *m = 0.9f * *m + g;
    *p -= rate * *m;
  }
}

/// gradients of score and bias, learning rate -> score, bias
static void sgdKernel(const espalier_kernel_operand *operands, int64_t,
                      int64_t) {
  auto rate = (float)*at<double>(operands[2], 0);
  for (int64_t i = 0; i < kWords; ++i)
    at<float>(operands[3], 0)[i] -= rate * at<float>(operands[0], 0)[i];
  *at<float>(operands[4], 0) -= rate * *at<float>(operands[1], 0);
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static espalier_step_operand operand(uint32_t buffer, uint32_t access,
                                     int64_t elements = 1) {
  return {buffer, access, 0, 0, 0, elements};
}
static espalier_step_operand row(uint32_t buffer, int64_t elements = 1) {
  return operand(buffer, ESPALIER_ACCESS_ROW, elements);
}
static espalier_step_operand shared(uint32_t buffer, int64_t elements = 1) {
  return operand(buffer, ESPALIER_ACCESS_SHARED, elements);
}

namespace {
class Builder {
public:
  Builder();
  void predict();
  void loss(bool sums);
  void addSeed() { one("seed", ESPALIER_BUFFER_INPUT, ESPALIER_I32, {}); }
  void gradients();
  void train();
  void sgd();
  TestModel::Entry entry;

private:
  using Shape = std::vector<int64_t>;
  uint32_t one(const char *name, uint32_t kind, uint32_t dtype, Shape shape) {
    return entry.buffer(name, kind, dtype, ESPALIER_ROWS_ONE, shape, 0, 9);
  }
  uint32_t vertices(const char *name, uint32_t dtype, Shape shape) {
    return entry.buffer(name, ESPALIER_BUFFER_DYNAMIC, dtype,
                        ESPALIER_ROWS_VERTICES, shape, 0, 9);
  }
  void kernel(const char *name, TestModel::Operands operands,
              espalier_kernel code, uint32_t results) {
    entry.step(ESPALIER_STEP_KERNEL, name, std::move(operands), 0, code);
    entry.steps.back().back().result_count = results;
  }
  void embed();

  uint32_t word, score, bias, x, error, hot, scoreGradient, biasGradient;
};
} // namespace

Builder::Builder() {
  entry.graphs = {{"trees", 2, 0, 0, 0, nullptr}};
  word = entry.buffer("word", ESPALIER_BUFFER_INPUT, ESPALIER_I32,
                      ESPALIER_ROWS_CALLER, {});
  score = one("score", ESPALIER_BUFFER_PARAMETER, ESPALIER_F32, {kWords, 1});
  bias = one("bias", ESPALIER_BUFFER_PARAMETER, ESPALIER_F32, {1});
  x = entry.buffer("x", ESPALIER_BUFFER_SCRATCH, ESPALIER_F32,
                   ESPALIER_ROWS_VERTICES, {1});
}

void Builder::embed() {
  entry.step(
      ESPALIER_STEP_EMBED, "score[word]",
      {operand(word, ESPALIER_ACCESS_CALLER), shared(score, kWords), row(x)});
}

void Builder::predict() {
  uint32_t prediction = entry.buffer("prediction", ESPALIER_BUFFER_OUTPUT,
                                     ESPALIER_F32, ESPALIER_ROWS_CALLER, {1});
  entry.phase("rows", ESPALIER_ROWS_VERTICES);
  embed();
  kernel("prediction",
         {row(x), shared(bias), operand(prediction, ESPALIER_ACCESS_CALLER)},
         predictKernel, 1);
}

void Builder::loss(bool sums) {
  uint32_t label = entry.buffer("label", ESPALIER_BUFFER_INPUT, ESPALIER_I32,
                                ESPALIER_ROWS_CALLER, {});
  uint32_t loss =
      entry.buffer("loss", ESPALIER_BUFFER_OUTPUT, ESPALIER_F32,
                   sums ? ESPALIER_ROWS_ONE : ESPALIER_ROWS_CALLER, {});
  uint32_t correct = entry.buffer("correct", ESPALIER_BUFFER_OUTPUT,
                                  ESPALIER_I32, ESPALIER_ROWS_CALLER, {});
  uint32_t rootCorrect =
      entry.buffer("root_correct", ESPALIER_BUFFER_OUTPUT, ESPALIER_I32,
                   ESPALIER_ROWS_STRUCTURES, {});
  error = vertices("error", ESPALIER_F32, {1});
  uint32_t rowLoss = vertices("row loss", ESPALIER_F32, {1});
  hot = vertices("error by word", ESPALIER_F32, {kWords});
  uint32_t right = vertices("right", ESPALIER_I32, {});
  uint32_t losses = one("losses", ESPALIER_BUFFER_DYNAMIC, ESPALIER_I32, {});

  entry.phase("rows", ESPALIER_ROWS_VERTICES);
  embed();
  kernel("error",
         {row(x), shared(bias), operand(word, ESPALIER_ACCESS_CALLER),
          operand(label, ESPALIER_ACCESS_CALLER), row(error), row(rowLoss),
          row(hot, kWords), row(right),
          operand(correct, ESPALIER_ACCESS_CALLER)},
         errorKernel, 5);
  entry.phase("roots", ESPALIER_ROWS_STRUCTURES);
  kernel("root", {operand(right, ESPALIER_ACCESS_ROOT), row(rootCorrect)},
         copyKernel, 1);
  entry.phase("loss", ESPALIER_ROWS_VERTICES);
  if (sums)
    entry.step(ESPALIER_STEP_SUM_ROWS, "loss", {row(rowLoss), shared(loss)});
  else
    entry.step(ESPALIER_STEP_COPY, "loss",
               {row(rowLoss), operand(loss, ESPALIER_ACCESS_CALLER)});
  entry.phase("disturbance", ESPALIER_ROWS_ONE);
  kernel("disturb", {shared(losses)}, disturbKernel, 1);
}

void Builder::gradients() {
  scoreGradient =
      one("gradient of score", ESPALIER_BUFFER_DYNAMIC, ESPALIER_F32, {kWords});
  biasGradient =
      one("gradient of bias", ESPALIER_BUFFER_DYNAMIC, ESPALIER_F32, {1});
  entry.phase("gradients", ESPALIER_ROWS_VERTICES);
  entry.step(ESPALIER_STEP_SUM_ROWS, "of score",
             {row(hot, kWords), shared(scoreGradient, kWords)});
  entry.step(ESPALIER_STEP_SUM_ROWS, "of bias",
             {row(error), shared(biasGradient)});
}

void Builder::train() {
  loss(true);
  gradients();
  uint32_t norm =
      one("gradient_norm", ESPALIER_BUFFER_OUTPUT, ESPALIER_F32, {});
  uint32_t scoreMomentum =
      one("score.momentum", ESPALIER_BUFFER_STATE, ESPALIER_F32, {kWords, 1});
  uint32_t biasMomentum =
      one("bias.momentum", ESPALIER_BUFFER_STATE, ESPALIER_F32, {1});
  TestModel::Operands operands = {shared(scoreGradient, kWords),
                                  shared(biasGradient)};
  for (const char *name :
       {"learning_rate", "weight_decay", "clip_norm", "gradient_scale"})
    operands.push_back(
        shared(one(name, ESPALIER_BUFFER_INPUT, ESPALIER_F32, {})));
  operands.push_back(
      shared(one("seed", ESPALIER_BUFFER_INPUT, ESPALIER_I32, {})));
  operands.insert(operands.end(),
                  {shared(norm), shared(score, kWords), shared(bias),
                   shared(scoreMomentum, kWords), shared(biasMomentum)});
  entry.phase("update", ESPALIER_ROWS_ONE);
  kernel("update", operands, updateKernel, 5);
}

void Builder::sgd() {
  loss(true);
  uint32_t importance =
      entry.buffer("importance", ESPALIER_BUFFER_INPUT, ESPALIER_F32,
                   ESPALIER_ROWS_STRUCTURES, {});
  uint32_t number = entry.buffer("vertex_number", ESPALIER_BUFFER_INPUT,
                                 ESPALIER_I32, ESPALIER_ROWS_CALLER, {});
  uint32_t weighedError = vertices("weighed error", ESPALIER_F32, {1});
  uint32_t weighedHot = vertices("weighed by word", ESPALIER_F32, {kWords});
  entry.phase("weigh", ESPALIER_ROWS_VERTICES);
  kernel("weigh",
         {operand(importance, ESPALIER_ACCESS_STRUCTURE), row(error),
          row(hot, kWords), operand(number, ESPALIER_ACCESS_CALLER),
          row(weighedError), row(weighedHot, kWords)},
         weighKernel, 2);
  error = weighedError;
  hot = weighedHot;
  gradients();
  uint32_t rate = one("learning_rate", ESPALIER_BUFFER_INPUT, ESPALIER_F64, {});
  entry.phase("update", ESPALIER_ROWS_ONE);
  kernel("update",
         {shared(scoreGradient, kWords), shared(biasGradient), shared(rate),
          shared(score, kWords), shared(bias)},
         sgdKernel, 2);
}

namespace {
struct TrainingModel {
  Builder predict, loss, again, train, sgd;
  std::vector<espalier_entry> entries;
  espalier_model model;

  TrainingModel();
  void add(Builder &builder, const char *name) {
    // No phase lives longer than the last.
    for (espalier_buffer_desc &buffer : builder.entry.buffers)
      if (buffer.kind == ESPALIER_BUFFER_DYNAMIC)
        buffer.last_phase = (uint32_t)builder.entry.phases.size() - 1;
    entries.push_back(builder.entry.tables(name));
  }
};
} // namespace

TrainingModel::TrainingModel() {
  const char *variable = std::getenv("ESPALIER_TEST_ENTRIES");
  std::string which = variable ? variable : "";
  predict.predict();
  add(predict, "predict");
  if (which != "predict") {
    loss.loss(false);
    if (which == "random" || which == "both")
      loss.addSeed();
    add(loss, "loss");
    train.train();
    add(train, "train_step");
    sgd.sgd();
    add(sgd, "sgd_step");
  }
  if (which == "losses" || which == "both") {
    again.loss(true);
    add(again, "again");
  }
  model = {ESPALIER_ABI_MAGIC,
           ESPALIER_ABI_MAJOR,
           ESPALIER_ABI_MINOR,
           sizeof(espalier_model),
           "regression",
           "0.0.0",
           "generic",
           "",
           (uint32_t)entries.size(),
           0,
           entries.data()};
}

extern "C" __attribute__((visibility("default"))) const espalier_model *
espalier_model_query(void) {
  static const TrainingModel tables;
  return &tables.model;
}
