//===- TrainingTest.cpp - Steps of training against the same by hand ------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TrainingModel.h"

#include "RandomForest.h"
#include "module/Session.h"
#include "support/Error.h"

#include <atomic>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>

using namespace espalier;

using Lists = std::vector<std::vector<int32_t>>;

namespace {

//===----------------------------------------------------------------------===//
// By hand, in f64, one vertex at a time
//===----------------------------------------------------------------------===//

/// Everything that training changes.
struct Values {
  std::vector<double> E, W, U, b, C, squares;
};

struct Batch {
  Forest forest;
  std::vector<Lists> structures;
  std::vector<int32_t> words;

  void append(Lists lists, RandomForest &random) {
    forest.append(lists);
    for (size_t v = 0; v < lists.size(); ++v)
      words.push_back(random.below((int)kTrainingWords + 1) - 1);
    structures.push_back(std::move(lists));
  }
  void setField() {
    Tensor field = Tensor::zeros(ESPALIER_I32, {(int64_t)words.size()});
    std::copy(words.begin(), words.end(),
              reinterpret_cast<int32_t *>(field.mutableData()));
    forest.fields["word"] = field;
  }
};

struct Outcome {
  std::vector<double> p;
  double loss = 0;
};

constexpr double kRate = 0.01;

/// What is wanted of structure k.
double target(int64_t k, int64_t i) {
  return (double)((k * 7 + i * 3) % 5 - 2) / 2;
}

/// The children of a structure before their parents.
std::vector<int32_t> topologicalOrder(const Lists &lists) {
  std::vector<int32_t> order;
  std::vector<bool> done(lists.size(), false);
  while (order.size() < lists.size())
    for (size_t v = 0; v < lists.size(); ++v) {
      bool ready = !done[v];
      for (int32_t c : lists[v])
        ready = ready && (c < 0 || done[c]);
      if (ready) {
        done[v] = true;
        order.push_back((int32_t)v);
      }
    }
  return order;
}

/// One step of training; the gradients' sizes are D, H and O.
template <int64_t D, int64_t H, int64_t O>
Outcome trainByHand(const Batch &batch, Values &values) {
  Outcome outcome;
  Values gradients = values;
  for (std::vector<double> *g :
       {&gradients.E, &gradients.W, &gradients.U, &gradients.b, &gradients.C})
    std::fill(g->begin(), g->end(), 0);
  size_t first = 0;
  for (size_t k = 0; k < batch.structures.size(); ++k) {
    const Lists &lists = batch.structures[k];
    const int32_t *words = batch.words.data() + first;
    first += lists.size();
    std::vector<int32_t> order = topologicalOrder(lists);
    std::vector<double> h(lists.size() * H), dh(lists.size() * H, 0);
    for (int32_t v : order)
      for (int64_t i = 0; i < H; ++i) {
        double z = values.b[i];
        for (int64_t d = 0; words[v] >= 0 && d < D; ++d)
          z += values.E[words[v] * D + d] * values.W[d * H + i];
        for (size_t slot = 0; slot < lists[v].size(); ++slot)
          for (int64_t j = 0; lists[v][slot] >= 0 && j < H; ++j)
            z += h[lists[v][slot] * H + j] * values.U[(slot * H + j) * H + i];
        h[v * H + i] = std::tanh(z);
      }
    for (int64_t o = 0; o < O; ++o) {
      double p = 0;
      size_t root = lists.empty() ? 0 : lists.size() - 1;
      for (int64_t i = 0; !lists.empty() && i < H; ++i)
        p += h[root * H + i] * values.C[i * O + o];
      double dp = p - target(k, o);
      outcome.p.push_back(p);
      outcome.loss += dp * dp / 2;
      for (int64_t i = 0; !lists.empty() && i < H; ++i) {
        gradients.C[i * O + o] += h[root * H + i] * dp;
        dh[root * H + i] += dp * values.C[i * O + o];
      }
    }
    for (size_t n = order.size(); n > 0; --n) {
      int32_t v = order[n - 1];
      for (int64_t i = 0; i < H; ++i) {
        double y = h[v * H + i], dz = dh[v * H + i] * (1 - y * y);
        gradients.b[i] += dz;
        for (int64_t d = 0; words[v] >= 0 && d < D; ++d) {
          gradients.W[d * H + i] += values.E[words[v] * D + d] * dz;
          gradients.E[words[v] * D + d] += values.W[d * H + i] * dz;
        }
        for (size_t slot = 0; slot < lists[v].size(); ++slot)
          for (int64_t j = 0; lists[v][slot] >= 0 && j < H; ++j) {
            int64_t u = (slot * H + j) * H + i;
            gradients.U[u] += h[lists[v][slot] * H + j] * dz;
            dh[lists[v][slot] * H + j] += values.U[u] * dz;
          }
      }
    }
  }
  auto descend = [](std::vector<double> &to, const std::vector<double> &by) {
    for (size_t i = 0; i < to.size(); ++i)
      to[i] -= kRate * by[i];
  };
  descend(values.W, gradients.W);
  descend(values.U, gradients.U);
  descend(values.b, gradients.b);
  descend(values.C, gradients.C);
  for (size_t i = 0; i < values.E.size(); ++i) {
    double gradient = gradients.E[i];
    values.squares[i] += gradient * gradient;
    values.E[i] -= kRate * gradient / std::sqrt(values.squares[i] + 1e-3);
  }
  return outcome;
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

template <typename T>
Tensor tensorOf(std::vector<int64_t> shape, const std::vector<double> &values) {
  Tensor tensor =
      Tensor::zeros(std::is_same_v<T, double> ? ESPALIER_F64 : ESPALIER_F32,
                    std::move(shape));
  std::copy(values.begin(), values.end(),
            reinterpret_cast<T *>(tensor.mutableData()));
  return tensor;
}

template <typename T> std::vector<double> wide(const Tensor &tensor) {
  return {tensor.as<T>(), tensor.as<T>() + tensor.elements()};
}

const Tensor &resultOf(const Results &results, const char *name) {
  for (const NamedTensor &result : results)
    if (result.name == name)
      return result.tensor;
  throw std::logic_error(name);
}

/// A model's arguments: what GoogleTest passes on as one type.
template <typename Element, int64_t WordSize, int64_t StateSize,
          int64_t OutputSize, bool AllTasks>
struct Setting {
  using T = Element;
  static constexpr int64_t D = WordSize, H = StateSize, O = OutputSize;
  using Model = TrainingModel<T, D, H, O, AllTasks>;
};

template <typename S> class Training : public testing::Test {
protected:
  using T = typename S::T;
  static constexpr int64_t D = S::D, H = S::H, O = S::O;
  static constexpr double kTolerance = std::is_same_v<T, double> ? 1e-12 : 2e-5;

  static Values initialValues() {
    RandomForest random(17);
    auto make = [&](int64_t count, double scale) {
      std::vector<double> values(count);
      for (double &value : values) // of few bits, so that they are f32, too
        value = (float)(scale * (random.below(2001) - 1000) / 1000);
      return values;
    };
    Values values;
    values.E = make(kTrainingWords * D, 1);
    values.W = make(D * H, 1 / std::sqrt((double)D));
    values.U = make(2 * H * H, 1 / std::sqrt((double)H));
    values.b = make(H, 0.2);
    values.C = make(H * O, 1 / std::sqrt((double)H));
    values.squares.assign(kTrainingWords * D, 0);
    return values;
  }
  static Weights weightsOf(const Values &values) {
    return {{"E", tensorOf<T>({kTrainingWords, D}, values.E)},
            {"W", tensorOf<T>({D, H}, values.W)},
            {"U", tensorOf<T>({2 * H, H}, values.U)},
            {"b", tensorOf<T>({H}, values.b)},
            {"C", tensorOf<T>({H, O}, values.C)}};
  }
  static Inputs inputs(const Batch &batch) {
    std::vector<double> targets;
    for (int64_t k = 0; k < batch.forest.structures(); ++k)
      for (int64_t i = 0; i < O; ++i)
        targets.push_back(target(k, i));
    return {{"target", tensorOf<T>({batch.forest.structures(), O}, targets)},
            {"rate", tensorOf<T>({}, {kRate})}};
  }
  std::unique_ptr<Session> session(const char *entry,
                                   std::shared_ptr<SharedWeights> weights,
                                   SessionOptions options = {}) {
    return std::make_unique<Session>(module, module.entry(entry),
                                     std::move(weights), options);
  }

  static void expectNear(const std::vector<double> &actual,
                         const std::vector<double> &expected, double scale,
                         const char *what) {
    ASSERT_EQ(actual.size(), expected.size()) << what;
    for (size_t i = 0; i < actual.size(); ++i)
      ASSERT_NEAR(actual[i], expected[i],
                  kTolerance * scale * (1 + std::fabs(expected[i])))
          << what << " " << i;
  }
  static void expectValues(const SharedWeights &weights, const Values &values,
                           double scale) {
    auto compare = [&](const char *name, const std::vector<double> &expected) {
      expectNear(wide<T>(weights.tensors.at(name).tensor), expected, scale,
                 name);
    };
    compare("E", values.E);
    compare("W", values.W);
    compare("U", values.U);
    compare("b", values.b);
    compare("C", values.C);
    compare("E.squares", values.squares);
  }

  static Batch randomBatch(uint32_t seed, int structures, int vertices,
                           bool shuffled) {
    RandomForest random(seed);
    Batch batch;
    for (int k = 0; k < structures; ++k)
      batch.append(random.structure(random.below(vertices + 1), 2, shuffled),
                   random);
    batch.setField();
    return batch;
  }
  static Batch batchOf(std::vector<Lists> structures) {
    RandomForest random(5);
    Batch batch;
    for (Lists &lists : structures)
      batch.append(std::move(lists), random);
    batch.setField();
    return batch;
  }

  /// Trains some steps and compares all there is after each.
  void expectTraining(const Batch &batch, SessionOptions options, int steps) {
    Values values = initialValues();
    auto weights = std::make_shared<SharedWeights>(weightsOf(values));
    auto predict = session("predict", weights, options);
    auto train = session("train", weights, options);
    // How much what is summed over all vertices loses.
    double scale = 1 + (double)batch.forest.vertices() / 10;
    for (int step = 1; step <= steps; ++step) {
      Results results = train->run(batch.forest, inputs(batch));
      Results before = predict->run(batch.forest, {});
      Outcome outcome = trainByHand<D, H, O>(batch, values);
      expectNear(wide<T>(resultOf(results, "p")), outcome.p, scale, "p");
      expectNear(wide<T>(resultOf(results, "loss")), {outcome.loss},
                 scale * (1 + (double)outcome.p.size()), "loss");
      expectValues(*weights, values, scale * step);
      ASSERT_EQ(weights->tensors.at("steps").tensor.template as<int32_t>()[0],
                step);
      // Another session of the same weights sees the new ones.
      Values copy = values;
      expectNear(wide<T>(resultOf(before, "p")),
                 trainByHand<D, H, O>(batch, copy).p, scale * step, "new p");
      if (testing::Test::HasFatalFailure())
        return;
      expectSpread(before, batch);
    }
  }

  static void expectSpread(const Results &results, const Batch &batch) {
    const T *p = resultOf(results, "p").template as<T>();
    const T *spread = resultOf(results, "spread").template as<T>();
    for (int64_t v = 0; v < batch.forest.vertices(); ++v)
      for (int64_t i = 0; i < O; ++i)
        ASSERT_EQ(spread[v * O + i], p[batch.forest.structureOf(v) * O + i]);
  }

  /// All bytes of the weights, by name.
  static std::map<std::string, std::string> bytes(SharedWeights &weights) {
    auto lock = weights.lockToRead();
    std::map<std::string, std::string> result;
    for (const auto &[name, weight] : weights.tensors)
      result[name].assign(weight.tensor.data, weight.tensor.bytes());
    return result;
  }

  std::map<std::string, std::string>
  bytesAfter(const std::vector<Batch> &batches, SessionOptions options) {
    auto weights = std::make_shared<SharedWeights>(weightsOf(initialValues()));
    auto train = session("train", weights, options);
    for (const Batch &batch : batches)
      train->run(batch.forest, inputs(batch));
    return bytes(*weights);
  }

  typename S::Model tables;
  Module module{&tables.model};
};

using Settings = testing::Types<
    Setting<float, 5, 7, 3, false>, Setting<double, 3, 4, 1, true>,
    Setting<double, 16, 40, 2, false>, Setting<float, 24, 136, 5, true>>;
TYPED_TEST_SUITE(Training, Settings);

TYPED_TEST(Training, RandomBatchesAgainstTheReference) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    this->expectTraining(
        this->randomBatch(seed, (int)seed % 7, seed % 3 ? 12 : 150, seed % 2),
        {seed % 4 == 3 ? ESPALIER_POLICY_SERIAL : ESPALIER_POLICY_BATCHED,
         1 + seed % 3, seed % 2 == 0},
        3);
    if (this->HasFatalFailure())
      return;
  }
}

TYPED_TEST(Training, Shapes) {
  const std::vector<Lists> shapes = {
      {},                                // no vertex
      {{}},                              // one vertex
      {{-1, -1}},                        // no present child
      {{}, {}, {}},                      // leaves only
      {{}, {0, -1}, {-1, 1}},            // unary, left and right
      {{}, {}, {}, {0, 1}, {2, 3}},      // a tree
      {{}, {}, {0, 1}, {2, -1}, {}},     // the root is a leaf
      {{}, {0, 0}},                      // the same child twice
      {{}, {0}, {0}, {1, 2}},            // shared
      {{}, {0}, {0, 1}, {0, 2}, {0, 3}}, // shared by all
      {{1, 2}, {2}, {}},                 // parents first
  };
  for (const Lists &lists : shapes)
    this->expectTraining(this->batchOf({lists}), {}, 2);
  this->expectTraining(this->batchOf(shapes), {}, 3);
  this->expectTraining(this->batchOf({{}, {}}), {}, 1); // no vertex at all
  this->expectTraining(this->batchOf({}), {}, 1);       // no structure at all
}

TYPED_TEST(Training, EqualVerticesTrainTheSame) {
  this->tables.train.graphs[0].shared = 1;
  for (uint32_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Batch batch = this->randomBatch(seed, 8, seed % 3 ? 12 : 60, seed % 2);
    // Each structure a second time, with another target.
    Batch twice = batch;
    for (const Lists &lists : batch.structures)
      twice.forest.append(lists);
    for (int32_t word : batch.words)
      twice.words.push_back(word);
    for (const Lists &lists : batch.structures)
      twice.structures.push_back(lists);
    twice.setField();
    this->expectTraining(twice, {ESPALIER_POLICY_BATCHED, 1 + seed % 3, false},
                         2);
    if (this->HasFatalFailure())
      return;

    auto weights =
        std::make_shared<SharedWeights>(this->weightsOf(this->initialValues()));
    auto train = this->session("train", weights);
    train->run(twice.forest, this->inputs(twice));
    espalier_stats stats = train->stats();
    int64_t roots = 0;
    for (const Lists &lists : batch.structures)
      roots += !lists.empty();
    ASSERT_EQ(stats.vertices, twice.forest.vertices());
    // All are there twice, but what is at a root is told apart, as are its
    // parents, which a root has where vertices are in any order.
    ASSERT_LT(stats.evaluated_vertices, stats.vertices);
    if (seed % 2 == 0) {
      ASSERT_LE(stats.evaluated_vertices, batch.forest.vertices() + roots);
    }
    ASSERT_GE(stats.evaluated_vertices, 2 * roots);
  }
}

TYPED_TEST(Training, BitsDependOnNothingButTheBatch) {
  // Enough rows that reductions, too, are worth several threads.
  std::vector<Batch> batches;
  RandomForest random(3);
  Batch trees;
  for (int k = 0; k < 1500; ++k)
    trees.append({{}, {}, {0, 1}, {}, {2, 3}, {2, 4}}, random);
  trees.setField();
  batches.push_back(std::move(trees));
  batches.push_back(this->randomBatch(1, 40, 200, true));
  auto expected =
      this->bytesAfter(batches, {ESPALIER_POLICY_BATCHED, 1, false});
  ASSERT_EQ(expected.size(), 7u);
  for (int run = 1; run < 20; ++run)
    ASSERT_EQ(this->bytesAfter(batches, {ESPALIER_POLICY_BATCHED,
                                         run % 2 ? 1u : 2u + run % 3, false}),
              expected)
        << run;
  ASSERT_EQ(this->bytesAfter(batches, {ESPALIER_POLICY_SERIAL, 1, false}),
            expected);
}

TYPED_TEST(Training, PredictsWhileAnotherThreadTrains) {
  using T = typename TypeParam::T;
  Batch batch = this->randomBatch(2, 5, 30, false);
  const int steps = 30;
  // What may come out: p after any number of steps.
  std::vector<std::vector<double>> possible;
  auto collect = [&](const std::shared_ptr<SharedWeights> &weights) {
    auto predict = this->session("predict", weights);
    possible.push_back(wide<T>(resultOf(predict->run(batch.forest, {}), "p")));
  };
  auto alone =
      std::make_shared<SharedWeights>(this->weightsOf(this->initialValues()));
  auto step = this->session("train", alone);
  collect(alone);
  for (int i = 0; i < steps; ++i) {
    step->run(batch.forest, this->inputs(batch));
    collect(alone);
  }

  auto weights =
      std::make_shared<SharedWeights>(this->weightsOf(this->initialValues()));
  auto train =
      this->session("train", weights, {ESPALIER_POLICY_BATCHED, 2, false});
  auto predict =
      this->session("predict", weights, {ESPALIER_POLICY_BATCHED, 2, false});
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&] {
      for (size_t last = 0; !done;) {
        auto p = wide<T>(resultOf(predict->run(batch.forest, {}), "p"));
        auto found = std::find(possible.begin() + last, possible.end(), p);
        wrong += found == possible.end();
        last = found == possible.end() ? last : found - possible.begin();
      }
    });
  for (int i = 0; i < steps; ++i)
    train->run(batch.forest, this->inputs(batch));
  done = true;
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(wide<T>(resultOf(predict->run(batch.forest, {}), "p")),
            possible.back());
  EXPECT_EQ(this->bytes(*weights), this->bytes(*alone));
}

TYPED_TEST(Training, WeightsOfTheCallerAreNotWritten) {
  Batch batch = this->randomBatch(4, 3, 20, false);
  Weights given = this->weightsOf(this->initialValues());
  std::string before(given["U"].data, given["U"].bytes());
  auto weights = std::make_shared<SharedWeights>(given);
  // Bound before the other session has the tensors moved.
  auto predict = this->session("predict", weights);
  auto train = this->session("train", weights);
  train->run(batch.forest, this->inputs(batch));
  EXPECT_EQ(std::string(given["U"].data, given["U"].bytes()), before);
  EXPECT_NE(this->bytes(*weights)["U"], before);
  Values values = this->initialValues();
  trainByHand<TypeParam::D, TypeParam::H, TypeParam::O>(batch, values);
  this->expectNear(
      wide<typename TypeParam::T>(
          resultOf(predict->run(batch.forest, {}), "p")),
      trainByHand<TypeParam::D, TypeParam::H, TypeParam::O>(batch, values).p,
      10, "p");
}

TYPED_TEST(Training, MemoryIsReused) {
  auto weights =
      std::make_shared<SharedWeights>(this->weightsOf(this->initialValues()));
  auto train = this->session("train", weights);
  Batch big = this->randomBatch(1, 10, 100, false);
  Batch small = this->randomBatch(2, 2, 20, false);
  train->run(big.forest, this->inputs(big));
  int64_t allocated = train->stats().allocated_bytes;
  for (int i = 0; i < 20; ++i) {
    train->run(small.forest, this->inputs(small));
    train->run(big.forest, this->inputs(big));
  }
  EXPECT_EQ(train->stats().allocated_bytes, allocated);
}

/// Runs `body` on a thread with a stack of `bytes`.
void runWithStack(size_t bytes, std::function<void()> body) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
  pthread_t thread;
  auto start = [](void *argument) -> void * {
    (*static_cast<std::function<void()> *>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, start, &body), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

using DoubleTraining = Training<Setting<double, 3, 4, 1, false>>;

TEST_F(DoubleTraining, ChainOfAMillion) {
  Lists lists(1000000);
  for (int32_t v = 1; v < (int32_t)lists.size(); ++v)
    lists[v].push_back(v - 1);
  Batch batch = batchOf({std::move(lists)});
  Values values = initialValues();
  auto weights = std::make_shared<SharedWeights>(weightsOf(values));
  auto train = session("train", weights);
  runWithStack(1 << 19, [&] { train->run(batch.forest, inputs(batch)); });
  trainByHand<D, H, O>(batch, values);
  expectValues(*weights, values, 10);
}

TEST_F(DoubleTraining, CountsFlopsAndTimes) {
  Batch batch = randomBatch(1, 6, 60, false);
  auto weights = std::make_shared<SharedWeights>(weightsOf(initialValues()));
  auto train = session("train", weights, {ESPALIER_POLICY_BATCHED, 1, true});
  train->run(batch.forest, inputs(batch));
  int64_t vertices = batch.forest.vertices(), inner = 0;
  for (const Lists &lists : batch.structures)
    for (const std::vector<int32_t> &list : lists)
      inner += std::any_of(list.begin(), list.end(),
                           [](int32_t c) { return c >= 0; });
  // Forward, adjoint and gradient of W; U forward over all, the others over
  // inner vertices; C.
  int64_t products = vertices * 3 * D * H + vertices * 2 * H * H +
                     inner * 2 * 2 * H * H +
                     batch.forest.structures() * 3 * H * O;
  espalier_stats stats = train->stats();
  EXPECT_EQ(stats.matmul_flops, 2.0 * (double)products);
  EXPECT_GT(stats.matmul_seconds, 0);
  // Only the second run finds weights that have changed.
  train->run(batch.forest, inputs(batch));
  int sums = 0, packings = 0;
  for (const TraceEvent &event : train->timeline().all()) {
    sums += std::string(event.name) == "dU" && event.rows == inner;
    packings += std::string(event.name) == "pack weights";
  }
  EXPECT_EQ(sums, 2 * 2);
  EXPECT_EQ(packings, 1);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

template <typename Body>
std::string failureOf(espalier_status code, Body body) {
  try {
    body();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

using Model = TrainingModel<double, 3, 4, 1, false>;

TEST_F(DoubleTraining, IdOutsideTheMatrix) {
  Model smaller;
  for (espalier_buffer_desc &buffer : smaller.train.buffers)
    if (buffer.name == std::string("E.squares")) {
      buffer.shape[0] = kTrainingWords - 2;
      buffer.row_elements -= 2 * D;
    }
  Module other(&smaller.model);
  Batch batch = batchOf({{{}}, {{}, {}, {0, 1}}});
  batch.words = {1, 0, 9, -1};
  batch.setField();
  auto weights = std::make_shared<SharedWeights>(weightsOf(initialValues()));
  Session train(other, other.entry("train"), weights, {});
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT,
                      [&] { train.run(batch.forest, inputs(batch)); }),
            "structure 1, vertex 1: id 9 of 'ids' is outside the table "
            "'E.squares', which has 9 rows; ids and weights must come from the "
            "same vocabulary");
  batch.words[2] = 8;
  batch.setField();
  train.run(batch.forest, inputs(batch));
}

TEST_F(DoubleTraining, StatesAreMatched) {
  Weights given = weightsOf(initialValues());
  given["E.squares"] = Tensor::zeros(ESPALIER_F64, {kTrainingWords, D});
  reinterpret_cast<double *>(given["E.squares"].mutableData())[0] = 3;
  // A state is not too much for an entry that has none.
  auto weights = std::make_shared<SharedWeights>(given);
  session("predict", weights);
  EXPECT_EQ(weights->tensors.size(), 6u);
  session("train", weights);
  EXPECT_EQ(weights->tensors.size(), 7u);
  EXPECT_EQ(weights->tensors["E.squares"].tensor.as<double>()[0], 3);
  EXPECT_EQ(weights->tensors["steps"].tensor.as<int32_t>()[0], 0);

  given["E.squares"].shape = {D, kTrainingWords};
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT,
                      [&] {
                        session("train",
                                std::make_shared<SharedWeights>(given));
                      }),
            "the weights do not fit entry 'train' of model 'training_test':\n"
            "  mismatched: 'E.squares' is 3x11xf64, expected 11x3xf64");
}

struct Damage {
  espalier_status code;
  const char *message;
  std::function<void(Model &)> apply;
};

espalier_step &stepOf(Model &m, int p, int s) { return m.train.steps[p][s]; }
espalier_step_operand &operandOf(Model &m, int p, int s, int o) {
  return const_cast<espalier_step_operand &>(stepOf(m, p, s).operands[o]);
}
uint32_t numberOf(Model &m, const char *name) {
  for (uint32_t b = 0; b < m.train.buffers.size(); ++b)
    if (m.train.buffers[b].name == std::string(name))
      return b;
  throw std::logic_error(name);
}
espalier_buffer_desc &bufferOf(Model &m, const char *name) {
  return m.train.buffers[numberOf(m, name)];
}

TEST(TrainingTables, Damaged) {
  const espalier_status malformed = ESPALIER_MALFORMED;
  const Damage cases[] = {
      {malformed, "has the same name",
       [](Model &m) { bufferOf(m, "steps").name = "W"; }},
      {malformed, "it has rows 1, expected one row",
       [](Model &m) { bufferOf(m, "steps").rows = ESPALIER_ROWS_VERTICES; }},
      {malformed, "rows [1, 1 + 4) of 4", // of the transposed C
       [](Model &m) { m.train.weights[3].row_begin = 1; }},
      {malformed, "2 columns, expected 1",
       [](Model &m) {
         static const espalier_columns two[] = {{0, 1}, {0, 1}};
         m.train.weights[3].columns = two;
         m.train.weights[3].columns_count = 2;
       }},
      {malformed, "it runs over rows 5", // a sum over parents
       [](Model &m) { m.train.phases[4].rows = ESPALIER_ROWS_STRUCTURES; }},
      {malformed, "it reads parents of buffer",
       [](Model &m) { m.train.phases[4].rows = ESPALIER_ROWS_INNER_TASKS; }},
      {malformed, "which no step wrote", // parents, without the product
       [](Model &m) { m.train.phases[4].step_count = 2; }},
      {malformed, "it sums 8 elements to 3 for vertices of 2 child slots",
       [](Model &m) { operandOf(m, 4, 0, 1).elements = 3; }},
      {malformed, "it sums over parents rows 0",
       [](Model &m) { operandOf(m, 4, 0, 0).buffer = numberOf(m, "E"); }},
      {malformed, "2 of its 3 steps are reductions",
       [](Model &m) {
         m.train.steps[6].push_back(stepOf(m, 8, 0));
         m.train.phases[6].steps = m.train.steps[6].data();
         m.train.phases[6].step_count = 3;
         bufferOf(m, "dx").first_phase = 6;
       }},
      {malformed, "it has reductions over tasks",
       [](Model &m) { m.train.phases[6].rows = ESPALIER_ROWS_TASKS_REVERSED; }},
      {malformed, "it writes 3x4 elements, 3 between rows, to 12",
       [](Model &m) { operandOf(m, 6, 0, 2).stride = 3; }},
      {malformed, "it writes 3x4 elements, 5 between rows, to 12",
       [](Model &m) { operandOf(m, 6, 0, 2).stride = 5; }},
      {malformed, "columns [1, 1 + 12) of 12",
       [](Model &m) { operandOf(m, 6, 0, 2).column = 1; }},
      {malformed, "it sums rows of 4 elements to 3",
       [](Model &m) { operandOf(m, 6, 1, 1).elements = 3; }},
      {malformed, "expected both f32 or both f64",
       [](Model &m) { bufferOf(m, "db").dtype = ESPALIER_F32; }},
      {malformed, "a reduction cannot use scratch buffer",
       [](Model &m) {
         operandOf(m, 6, 1, 0).buffer = numberOf(m, "from parents");
       }},
      {malformed, "it reads its ids with access 1",
       [](Model &m) {
         operandOf(m, 9, 0, 0) = {
             numberOf(m, "steps"), ESPALIER_ACCESS_SHARED, 0, 0, 0, 1};
       }},
      {malformed, "it adds rows of 3 elements to 2",
       [](Model &m) { operandOf(m, 9, 0, 3).elements = 2; }},
      {malformed, "1 results of 4 operands",
       [](Model &m) { stepOf(m, 9, 0).result_count = 1; }},
      {malformed, "which COMBINE_ROWS did not make", // rows written twice
       [](Model &m) {
         // Made by a copy of the words instead.
         stepOf(m, 9, 0).kind = ESPALIER_STEP_COPY;
         stepOf(m, 9, 0).operand_count = 2;
         stepOf(m, 9, 0).result_count = 1;
         operandOf(m, 9, 0, 1) = operandOf(m, 9, 0, 2);
         operandOf(m, 10, 0, 0).buffer = numberOf(m, "dx");
       }},
      {malformed, "are not one i32 a row",
       [](Model &m) { operandOf(m, 10, 0, 2).slot = numberOf(m, "dx"); }},
      {malformed, "ids in buffer 99",
       [](Model &m) { operandOf(m, 10, 0, 2).slot = 99; }},
      {malformed, "and uses it in another way, too",
       [](Model &m) {
         operandOf(m, 10, 0,
                   1) = {numberOf(m, "E"), ESPALIER_ACCESS_SHARED, 0, 0, 0, 1};
       }},
      {malformed, "columns [1, 1 + 3) of 3", // of a row of the matrix
       [](Model &m) { operandOf(m, 10, 0, 2).column = 1; }},
      {malformed, "with access 8", // of another step than a kernel
       [](Model &m) {
         operandOf(m, 8, 0, 0) = {
             numberOf(m, "E"), ESPALIER_ACCESS_ID, numberOf(m, "ids"), 0, 0, 3};
       }},
      {malformed, "with access 7", // many vertices write one row
       [](Model &m) {
         operandOf(m, 4, 1, 3) = {
             numberOf(m, "d root"), ESPALIER_ACCESS_STRUCTURE, 0, 0, 0, 4};
       }},
      {malformed, "which a step before it wrote", // and W^T is multiplied with
       [](Model &m) { operandOf(m, 6, 0, 2).buffer = numberOf(m, "W"); }},
      {malformed, "which is constant", // an argument is written
       [](Model &m) {
         operandOf(m, 11, 0, 3).buffer = numberOf(m, "rate"),
                             operandOf(m, 11, 0, 3).elements = 1;
       }},
  };
  for (const Damage &damage : cases) {
    Model model;
    damage.apply(model);
    SCOPED_TRACE(damage.message);
    std::string message =
        failureOf(damage.code, [&] { Module module(&model.model); });
    EXPECT_NE(message.find(damage.message), std::string::npos) << message;
  }
}

} // namespace
