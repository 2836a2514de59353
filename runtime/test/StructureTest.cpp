//===- StructureTest.cpp - Edges, structures, and several graphs ----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RandomForest.h"
#include "StructureModel.h"
#include "module/Session.h"
#include "support/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace espalier;

using Lists = std::vector<std::vector<int32_t>>;
using Doubles = std::vector<double>;

namespace {

/// Structures with a field of `columns` numbers a vertex.
struct Batch {
  std::vector<Lists> structures;
  Forest forest;
  Doubles values;

  void append(Lists lists) {
    forest.append(lists);
    structures.push_back(std::move(lists));
  }
  template <typename T>
  void setField(const char *name, int64_t columns, RandomForest &random) {
    Tensor field =
        Tensor::zeros(std::is_same_v<T, float> ? ESPALIER_F32 : ESPALIER_F64,
                      {forest.vertices(), columns});
    T *data = reinterpret_cast<T *>(field.mutableData());
    values.clear();
    for (int64_t i = 0; i < forest.vertices() * columns; ++i) {
      data[i] = (T)(random.below(2001) - 1000) / 700;
      values.push_back(data[i]);
    }
    forest.fields[name] = field;
  }
  int64_t first(int64_t k) const { return forest.structureOffsets[k]; }
};

class StructureTest : public ::testing::Test {
protected:
  StructureTest() {
    RandomForest random(99);
    Tensor matrix = Tensor::zeros(ESPALIER_F32, {kWidth, kWidth});
    for (int64_t i = 0; i < kWidth * kWidth; ++i) {
      float value = (float)(random.below(2001) - 1000) / 1500;
      reinterpret_cast<float *>(matrix.mutableData())[i] = value;
      U.push_back(value);
    }
    weights = {{"U", matrix}};
  }
  std::unique_ptr<Session> create(const char *entry, SessionOptions options) {
    return std::make_unique<Session>(module, module.entry(entry), weights,
                                     options);
  }
  void expectMessages(const Results &results, const Batch &batch) const;

  StructureModel tables;
  Module module{&tables.model};
  Weights weights;
  Doubles U;
};

} // namespace

static const Tensor &find(const Results &results, const char *name) {
  for (const NamedTensor &result : results)
    if (result.name == name)
      return result.tensor;
  throw std::logic_error(name);
}

static void expectNear(const Results &results, const char *name,
                       const Doubles &expected, double slack = 0) {
  const Tensor &tensor = find(results, name);
  ASSERT_EQ(tensor.elements(), (int64_t)expected.size()) << name;
  for (size_t i = 0; i < expected.size(); ++i) {
    double value = tensor.dtype == ESPALIER_F32 ? tensor.as<float>()[i]
                                                : tensor.as<double>()[i];
    ASSERT_NEAR(value, expected[i],
                1e-5 * std::max(1.0, std::abs(expected[i])) + slack)
        << name << " " << i;
  }
}

static void expectSameBits(const Results &a, const Results &b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].tensor.bytes(), b[i].tensor.bytes());
    ASSERT_EQ(
        std::memcmp(a[i].tensor.data, b[i].tensor.data, a[i].tensor.bytes()), 0)
        << a[i].name;
  }
}

template <typename Body>
static std::string failureOf(espalier_status code, Body body) {
  try {
    body();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

/// Calls `visit` for the vertices of a structure, children before parents. Goes
/// up and down the vertices, so that a chain takes two passes at most.
static void inOrder(const Lists &lists, std::function<void(size_t)> visit) {
  std::vector<bool> done(lists.size(), false);
  size_t left = lists.size();
  for (bool down = false; left > 0; down = !down)
    for (size_t i = 0; i < lists.size(); ++i) {
      size_t v = down ? lists.size() - 1 - i : i;
      bool ready = !done[v];
      for (int32_t c : lists[v])
        ready = ready && (c < 0 || done[c]);
      if (!ready)
        continue;
      visit(v);
      done[v] = true;
      --left;
    }
}

/// Parents by number, then by slot.
static Lists reversed(const Lists &lists) {
  Lists parents(lists.size());
  for (size_t v = 0; v < lists.size(); ++v)
    for (int32_t child : lists[v])
      if (child >= 0)
        parents[child].push_back((int32_t)v);
  return parents;
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

/// By the formulas, in doubles.
void StructureTest::expectMessages(const Results &results,
                                   const Batch &batch) const {
  size_t all = batch.forest.vertices() * kWidth;
  Doubles h(all, 0), up(all, 0), d(all, 0), total, highest;
  for (size_t k = 0; k < batch.structures.size(); ++k) {
    const Lists &lists = batch.structures[k];
    auto at = [&](size_t v, int64_t i) {
      return (batch.first(k) + v) * kWidth + i;
    };
    inOrder(lists, [&](size_t v) {
      for (int64_t i = 0; i < kWidth; ++i) {
        double x = batch.values[at(v, i)], sum = 0, max = 0;
        int count = 0;
        for (int32_t c : lists[v]) {
          if (c < 0)
            continue;
          double product = 0;
          for (int64_t j = 0; j < kWidth; ++j)
            product += h[at(c, j)] * U[j * kWidth + i];
          double message = x / (1 + std::abs(x)) * product;
          max = count++ ? std::max(max, message) : message;
          sum += message;
          up[at(c, i)] += message;
        }
        double mean = count ? sum / count : 0;
        h[at(v, i)] =
            std::min(std::max(x + sum + max / 2 - mean / 4, -4.0), 4.0);
      }
    });
    inOrder(reversed(lists), [&](size_t v) {
      for (int64_t i = 0; i < kWidth; ++i) {
        // So far the sum over parents, which all come before.
        double down = batch.values[at(v, i)] + d[at(v, i)];
        d[at(v, i)] = std::min(std::max(down, -4.0), 4.0);
        for (int32_t c : lists[v])
          if (c >= 0)
            d[at(c, i)] += d[at(v, i)] / 2;
      }
    });
    for (int64_t i = 0; i < kWidth; ++i) {
      double sum = 0, max = lists.empty() ? 0 : -INFINITY;
      for (size_t v = 0; v < lists.size(); ++v) {
        sum += h[at(v, i)];
        max = std::max(max, h[at(v, i)]);
      }
      total.push_back(sum);
      highest.push_back(max);
    }
  }
  expectNear(results, "hidden", h);
  expectNear(results, "up", up);
  expectNear(results, "down", d);
  // f32 loses about as much for every vertex.
  expectNear(results, "total", total, 1e-7 * (double)batch.forest.vertices());
  expectNear(results, "highest", highest);
}

TEST_F(StructureTest, EveryPolicyAndThreadCountAgainstTheFormulas) {
  for (const char *entry : {"whole", "parts"}) {
    auto serial = create(entry, {ESPALIER_POLICY_SERIAL, 1, false});
    std::vector<std::unique_ptr<Session>> batched;
    for (unsigned threads : {1u, 2u, 4u})
      batched.push_back(
          create(entry, {ESPALIER_POLICY_BATCHED, threads, threads == 2}));
    for (uint32_t seed = 0; seed < 40; ++seed) {
      RandomForest random(seed);
      Batch batch;
      for (uint32_t k = 0; k < seed % 9; ++k)
        batch.append(
            random.structure(random.below(seed % 5 ? 30 : 800), 6, seed % 2));
      batch.setField<float>("x", kWidth, random);
      Results one = batched[0]->run(batch.forest, {});
      expectMessages(one, batch);
      expectSameBits(batched[1]->run(batch.forest, {}), one);
      expectSameBits(batched[2]->run(batch.forest, {}), one);
      expectSameBits(serial->run(batch.forest, {}), one);
      if (HasFatalFailure())
        FAIL() << entry << ", seed " << seed;
    }
  }
}

static Lists star(int32_t leaves) {
  Lists lists(leaves + 1);
  for (int32_t v = 0; v < leaves; ++v)
    lists[leaves].push_back(v);
  return lists;
}

static Lists chain(int32_t length) {
  Lists lists(length);
  for (int32_t v = 1; v < length; ++v)
    lists[v].push_back(v - 1);
  return lists;
}

// A vertex with most of the edges of its task is shared between threads; one
// with many parents; small ones beside it.
TEST_F(StructureTest, StarsOfTenThousand) {
  RandomForest random(1);
  Batch batch;
  batch.append(chain(30));
  batch.append(star(10000));
  for (int32_t leaves : {0, 1, 2, 17, 127, 128, 129, 500})
    batch.append(star(leaves));
  Lists fan(10001); // a leaf with 10 thousand parents
  for (int32_t v = 1; v <= 10000; ++v)
    fan[v].push_back(0);
  batch.append(fan);
  batch.append({{}, {0, 0, -1, 0}});
  batch.setField<float>("x", kWidth, random);
  for (const char *entry : {"whole", "parts"}) {
    Results one = create(entry, {})->run(batch.forest, {});
    expectMessages(one, batch);
    for (unsigned threads : {2u, 4u})
      expectSameBits(create(entry, {ESPALIER_POLICY_BATCHED, threads, true})
                         ->run(batch.forest, {}),
                     one);
  }
}

TEST_F(StructureTest, ManyEdgesInOneTask) {
  RandomForest random(2);
  Batch batch;
  for (int k = 0; k < 400; ++k)
    batch.append(star(random.below(90)));
  batch.append(star(3000));
  batch.setField<float>("x", kWidth, random);
  Results one = create("parts", {})->run(batch.forest, {});
  expectMessages(one, batch);
  for (unsigned threads : {2u, 3u, 4u})
    expectSameBits(create("parts", {ESPALIER_POLICY_BATCHED, threads, false})
                       ->run(batch.forest, {}),
                   one);
}

TEST_F(StructureTest, NothingAtAll) {
  for (const char *entry : {"whole", "parts"}) {
    auto session = create(entry, {});
    RandomForest random(3);
    Batch none, empty;
    none.setField<float>("x", kWidth, random);
    expectMessages(session->run(none.forest, {}), none);
    empty.append({});
    empty.append({{-1, -1}});
    empty.append({});
    empty.setField<float>("x", kWidth, random);
    expectMessages(session->run(empty.forest, {}), empty);
  }
}

TEST_F(StructureTest, ChainOfAMillion) {
  RandomForest random(4);
  Batch batch;
  batch.append(chain(1000000));
  batch.setField<float>("x", kWidth, random);
  Results results = create("parts", {})->run(batch.forest, {});
  expectMessages(results, batch);
}

TEST_F(StructureTest, ANanStaysWhereItIsAndVisible) {
  RandomForest random(5);
  Batch batch;
  batch.append(star(3));
  batch.append(star(3));
  batch.setField<float>("x", kWidth, random);
  Results clean = create("whole", {})->run(batch.forest, {});
  float *x = reinterpret_cast<float *>(batch.forest.fields["x"].mutableData());
  x[1 * kWidth] = NAN; // of the second leaf of the first star
  Results results = create("whole", {})->run(batch.forest, {});
  EXPECT_TRUE(std::isnan(find(results, "highest").as<float>()[0]));
  EXPECT_TRUE(std::isnan(find(results, "total").as<float>()[0]));
  EXPECT_EQ(std::memcmp(find(results, "hidden").as<float>() + 4 * kWidth,
                        find(clean, "hidden").as<float>() + 4 * kWidth,
                        4 * kWidth * sizeof(float)),
            0);
}

TEST_F(StructureTest, EdgesAreCountedAndPlanned) {
  RandomForest random(6);
  Batch batch;
  batch.append(star(100));
  batch.append(chain(11));
  batch.setField<float>("x", kWidth, random);
  auto session = create("whole", {});
  int64_t row = kWidth * sizeof(float);
  // Results; states; the three tensors of edges. What goes down comes later.
  int64_t least = row * (3 * 112 + 2 * 2 + 112 + 3 * 110);
  EXPECT_GE(session->bytesNeeded(batch.forest), least);
  EXPECT_LE(session->bytesNeeded(batch.forest), least + 4 * 64);
  session->run(batch.forest, {});
  espalier_stats first = session->stats();
  EXPECT_EQ(first.matmul_flops, 110.0 * 2 * kWidth * kWidth);
  EXPECT_EQ(first.peak_bytes, session->bytesNeeded(batch.forest));
  for (int i = 0; i < 20; ++i)
    session->run(batch.forest, {});
  EXPECT_EQ(session->stats().allocated_bytes, first.allocated_bytes);
}

//===----------------------------------------------------------------------===//
// Several graphs
//===----------------------------------------------------------------------===//

/// At most kSlots children and kSlots parents.
static Lists narrow(RandomForest &random, int vertices, bool shuffled) {
  Lists lists = random.structure(vertices, kSlots, shuffled);
  std::vector<uint32_t> parents(vertices, 0);
  for (std::vector<int32_t> &list : lists)
    for (int32_t &child : list)
      if (child >= 0 && ++parents[child] > kSlots)
        child = -1;
  return lists;
}

static Doubles slotSums(const Lists &lists, const double *x) {
  Doubles s(lists.size(), 0);
  inOrder(lists, [&](size_t v) {
    s[v] = x[v];
    for (size_t slot = 0; slot < lists[v].size(); ++slot)
      if (lists[v][slot] >= 0)
        s[v] += s[lists[v][slot]] / (double)(slot + 2);
  });
  return s;
}

static void expectPair(const Results &results, const Batch &source,
                       const Batch &target) {
  Doubles both, joined, first;
  for (size_t k = 0; k < source.structures.size(); ++k) {
    const Lists &lists = source.structures[k];
    const double *x = source.values.data() + source.first(k);
    Doubles s = slotSums(lists, x), r = slotSums(reversed(lists), x);
    for (size_t v = 0; v < lists.size(); ++v)
      both.insert(both.end(), {s[v], r[v]});
    double sum = 0;
    for (size_t v = 0; v < target.structures[k].size(); ++v)
      sum += target.values[target.first(k) + v];
    joined.insert(joined.end(), {lists.empty() ? 0 : s.back(),
                                 lists.empty() ? 0 : r.back(), sum});
  }
  for (double y : target.values)
    first.push_back(y + 1);
  expectNear(results, "both", both);
  expectNear(results, "joined", joined);
  expectNear(results, "first", first);
}

TEST_F(StructureTest, GraphsAndTheirReverse) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (unsigned threads : {1u, 2u, 4u})
    sessions.push_back(
        create("pair", {ESPALIER_POLICY_BATCHED, threads, threads == 2}));
  sessions.push_back(create("pair", {ESPALIER_POLICY_SERIAL, 1, false}));
  for (uint32_t seed = 0; seed < 40; ++seed) {
    RandomForest random(seed);
    Batch source, target;
    for (uint32_t k = 0; k < seed % 9; ++k) {
      source.append(narrow(random, random.below(40), seed % 2));
      target.append(star(random.below(40)));
    }
    source.setField<double>("x", 1, random);
    target.setField<double>("y", 1, random);
    Forests forests = {{"source", &source.forest}, {"target", &target.forest}};
    if (seed % 2)
      std::swap(forests[0], forests[1]);
    Results one = sessions[0]->run(forests, {});
    expectPair(one, source, target);
    for (auto &session : sessions)
      expectSameBits(session->run(forests, {}), one);
    if (HasFatalFailure())
      FAIL() << "seed " << seed;
  }
}

TEST_F(StructureTest, AMillionBackAndForth) {
  RandomForest random(7);
  Batch source, target;
  source.append(chain(1000000));
  target.append({});
  source.setField<double>("x", 1, random);
  target.setField<double>("y", 1, random);
  auto session = create("pair", {});
  Results results = session->run(
      {{"source", &source.forest}, {"target", &target.forest}}, {});
  const double *both = find(results, "both").as<double>();
  double forwards = 0, backwards = 0;
  for (int64_t v = 0; v < 1000000; ++v) {
    forwards = source.values[v] + forwards / 2;
    ASSERT_EQ(both[2 * v], forwards);
    int64_t w = 999999 - v;
    backwards = source.values[w] + backwards / 2;
    ASSERT_EQ(both[2 * w + 1], backwards);
  }
  EXPECT_EQ(session->stats().vertices, 1000000);
  EXPECT_EQ(session->stats().tasks, 2 * 1000000);
}

TEST_F(StructureTest, ErrorsOfGraphs) {
  RandomForest random(8);
  Batch source, target;
  source.append(chain(3));
  target.append(star(2));
  source.setField<double>("x", 1, random);
  target.setField<double>("y", 1, random);
  auto session = create("pair", {});
  Forests forests = {{"source", &source.forest}, {"target", &target.forest}};
  auto run = [&] { session->run(forests, {}); };

  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT,
                      [&] { session->run(source.forest, {}); }),
            "entry 'pair' runs over 2 graphs, 'source', 'target'; give the "
            "structures of each by name");
  forests[1].name = "source";
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "the structures of graph 'source' are given twice");
  forests[1].name = "reversed";
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "entry 'pair' has no graph 'reversed'; it has 'source', 'target'");
  forests.pop_back();
  EXPECT_EQ(failureOf(ESPALIER_NOT_FOUND, run),
            "entry 'pair' needs structures for graph 'target'; it runs over "
            "'source', 'target'");
  forests.push_back({"target", &target.forest});
  target.forest.fields.erase("y");
  source.forest.fields["y"] = Tensor::zeros(ESPALIER_F64, {3, 1});
  EXPECT_EQ(failureOf(ESPALIER_NOT_FOUND, run),
            "entry 'pair' needs 'y', which is neither among the arguments nor "
            "a field of the structures of 'target'");
  target.append(star(1));
  target.setField<double>("y", 1, random);
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "graph 'source' has 1 structures and graph 'target' has 2; entry "
            "'pair' needs as many of one as of the other");
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT,
                      [&] { session->bytesNeeded(forests); }),
            "graph 'source' has 1 structures and graph 'target' has 2; entry "
            "'pair' needs as many of one as of the other");
  source.append({{}, {0}, {0}, {0}, {0}});
  source.setField<double>("x", 1, random);
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "graph 'reversed': structure 1: vertex 0 has 4 children, but the "
            "model reads at most 3; compile it for a larger arity or binarize "
            "the structures");
}

//===----------------------------------------------------------------------===//
// Types of vertices
//===----------------------------------------------------------------------===//

static void setKinds(Batch &batch, std::vector<int32_t> kinds) {
  Tensor field = Tensor::zeros(ESPALIER_I32, {(int64_t)kinds.size()});
  std::copy(kinds.begin(), kinds.end(),
            reinterpret_cast<int32_t *>(field.mutableData()));
  batch.forest.fields["kind"] = field;
}

static Batch typedBatch(RandomForest &random, int structures, int vertices,
                        bool shuffled) {
  Batch batch;
  std::vector<int32_t> kinds;
  for (int k = 0; k < structures; ++k)
    batch.append(narrow(random, random.below(vertices + 1), shuffled));
  for (int64_t v = 0; v < batch.forest.vertices(); ++v)
    kinds.push_back(random.below(2));
  batch.setField<double>("x", 1, random);
  setKinds(batch, kinds);
  return batch;
}

static void expectTyped(const Results &results, const Batch &batch) {
  Doubles all(batch.values.size(), 0), down(batch.values.size(), 0);
  const int32_t *kinds = batch.forest.fields.at("kind").as<int32_t>();
  double leaves = 0, inner = 0;
  for (size_t k = 0; k < batch.structures.size(); ++k) {
    const Lists &lists = batch.structures[k];
    double *s = all.data() + batch.first(k), *d = down.data() + batch.first(k);
    const int32_t *kind = kinds + batch.first(k);
    const double *x = batch.values.data() + batch.first(k);
    inOrder(lists, [&](size_t v) {
      double sum = 0;
      bool leaf = true;
      for (size_t slot = 0; slot < lists[v].size(); ++slot)
        if (lists[v][slot] >= 0) {
          leaf = false;
          sum += s[lists[v][slot]] / (double)(slot + 2);
        }
      s[v] = kind[v] ? 3 * x[v] - sum : leaf ? x[v] : x[v] * x[v] + sum;
      if (leaf && kind[v] == 0)
        leaves += s[v];
      if (!leaf && kind[v] == 1)
        inner += s[v];
    });
    inOrder(reversed(lists), [&](size_t v) {
      d[v] = kind[v] ? 1 - d[v] : 1 + d[v];
      for (size_t slot = 0; slot < lists[v].size(); ++slot)
        if (lists[v][slot] >= 0)
          d[lists[v][slot]] += d[v] / (double)(slot + 2);
    });
  }
  expectNear(results, "s", all);
  expectNear(results, "d", down);
  expectNear(results, "leaves", {leaves});
  expectNear(results, "inner", {inner});
}

TEST_F(StructureTest, TypesOfVertices) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (unsigned threads : {1u, 2u, 4u})
    sessions.push_back(
        create("typed", {ESPALIER_POLICY_BATCHED, threads, threads == 2}));
  sessions.push_back(create("typed", {ESPALIER_POLICY_SERIAL, 1, false}));
  for (uint32_t seed = 0; seed < 60; ++seed) {
    RandomForest random(seed);
    Batch batch =
        typedBatch(random, (int)seed % 9, seed % 7 ? 30 : 900, seed % 2);
    Results one = sessions[0]->run(batch.forest, {});
    expectTyped(one, batch);
    for (auto &session : sessions)
      expectSameBits(session->run(batch.forest, {}), one);
    if (HasFatalFailure())
      FAIL() << "seed " << seed;
  }
  // Of one type only, and what is left of the others: nothing.
  for (int32_t kind : {0, 1}) {
    RandomForest random(100);
    Batch batch = typedBatch(random, 5, 30, true);
    setKinds(batch, std::vector<int32_t>(batch.forest.vertices(), kind));
    expectTyped(sessions[0]->run(batch.forest, {}), batch);
  }
}

TEST_F(StructureTest, AMillionThatTakeTurns) {
  RandomForest random(9);
  Batch batch;
  batch.append(chain(1000000));
  batch.setField<double>("x", 1, random);
  std::vector<int32_t> kinds(1000000);
  for (size_t v = 0; v < kinds.size(); ++v)
    kinds[v] = (int32_t)(v / 3 % 2);
  setKinds(batch, kinds);
  auto session = create("typed", {});
  expectTyped(session->run(batch.forest, {}), batch);
  EXPECT_EQ(session->stats().tasks, 1000000);
}

TEST_F(StructureTest, ErrorsOfTypes) {
  RandomForest random(10);
  Batch batch;
  batch.append(chain(2));
  batch.append(chain(3));
  batch.setField<double>("x", 1, random);
  auto session = create("typed", {});
  auto run = [&] { session->run(batch.forest, {}); };
  EXPECT_EQ(failureOf(ESPALIER_NOT_FOUND, run),
            "entry 'typed' needs the field 'kind', which has the type of each "
            "vertex, from 0 to 1");
  setKinds(batch, {0, 1, 0, 2, 0});
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "structure 1, vertex 1: type 2 in field 'kind' is not one of the 2 "
            "of entry 'typed', from 0 to 1");
  setKinds(batch, {0, -1, 0, 1, 0});
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "structure 0, vertex 1: type -1 in field 'kind' is not one of the "
            "2 of entry 'typed', from 0 to 1");
  setKinds(batch, {0, 1, 0, 1});
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "field 'kind' is 4xi32, expected 5xi32 (the type of each vertex)");
  batch.forest.fields["kind"] = Tensor::zeros(ESPALIER_F32, {5});
  EXPECT_EQ(failureOf(ESPALIER_INVALID_ARGUMENT, run),
            "field 'kind' is 5xf32, expected 5xi32 (the type of each vertex)");
  batch.append({{}, {}, {}, {}, {0, 1, 2, 3}});
  setKinds(batch, std::vector<int32_t>(10, 0));
  batch.setField<double>("x", 1, random);
  EXPECT_NE(failureOf(ESPALIER_INVALID_ARGUMENT, run)
                .find("structure 2: vertex 4 has 4 children"),
            std::string::npos);
}

//===----------------------------------------------------------------------===//
// Tables that are damaged
//===----------------------------------------------------------------------===//

namespace {
struct Damage {
  const char *message;
  std::function<void(StructureModel &)> apply;
};
} // namespace

/// Step `s` of phase `p` of "parts", and its operands.
static espalier_step &stepOf(StructureModel &m, int p, int s) {
  return m.parts.steps[p][s];
}
static espalier_step_operand &operandOf(StructureModel &m, int p, int s,
                                        int o) {
  return const_cast<espalier_step_operand &>(stepOf(m, p, s).operands[o]);
}
static espalier_buffer_desc &bufferOf(TestModel::Entry &entry,
                                      const char *name) {
  for (espalier_buffer_desc &buffer : entry.buffers)
    if (buffer.name == std::string(name))
      return buffer;
  throw std::logic_error(name);
}

TEST(StructureTables, Damaged) {
  const Damage cases[] = {
      {"a buffer of kind 4 cannot have a row an edge",
       [](auto &m) {
         bufferOf(m.parts, "message").kind = ESPALIER_BUFFER_SCRATCH;
       }},
      {"a buffer of kind 1 cannot have a row an edge",
       [](auto &m) { bufferOf(m.parts, "x").rows = ESPALIER_ROWS_EDGES; }},
      {"a step of kind 8 cannot run over edges",
       [](auto &m) { stepOf(m, 2, 3).over_edges = 1; }},
      {"it runs over edges in a phase over rows 5",
       [](auto &m) { m.parts.phases[2].rows = ESPALIER_ROWS_STRUCTURES; }},
      {"with access 9, slot 0 in a phase over rows 7; ", // a gather of rows
       [](auto &m) { stepOf(m, 2, 0).over_edges = 0; }},
      {"it writes buffer 6 (kind 3, rows 1) with access 9", // the child's state
       [](auto &m) { operandOf(m, 2, 0, 1) = operandOf(m, 2, 0, 0); }},
      {"it reads buffer 2 (kind 2, rows 4) with access 9", // the caller's
       [](auto &m) { operandOf(m, 2, 0, 0).buffer = 2; }},
      {"with access 0, slot 0 in a phase over rows 7, over edges", // rows
       [](auto &m) { operandOf(m, 2, 2, 0).access = ESPALIER_ACCESS_ROW; }},
      {"with access 2, slot 0 in a phase over rows 7, over edges",
       [](auto &m) { operandOf(m, 2, 0, 0).access = ESPALIER_ACCESS_CHILD; }},
      {"with access 0, slot 0 in a phase over rows 7; ", // edges as rows
       [](auto &m) { operandOf(m, 2, 6, 1).buffer = 8; }},
      {"it reads children of buffer 6, which it writes",
       [](auto &m) { m.parts.phases[2].rows = ESPALIER_ROWS_INNER; }},
      {"it reads parents of buffer 9, which it writes",
       [](auto &m) { stepOf(m, 2, 3).kind = ESPALIER_STEP_SUM_PARENTS; }},
      {"it reduces 5 elements to 4",
       [](auto &m) { operandOf(m, 2, 3, 1).elements = 4; }},
      {"operands 0 and 1 are f32 and f64, expected both f32 or both f64",
       [](auto &m) {
         m.parts.buffers[operandOf(m, 2, 3, 1).buffer].dtype = ESPALIER_F64;
       }},
      {"it reduces rows with access 0 to rows with access 3",
       [](auto &m) { operandOf(m, 2, 3, 1) = operandOf(m, 3, 0, 1); }},
      {"it reduces vertices, but buffer 4 (kind 2) has rows 5",
       [](auto &m) { operandOf(m, 4, 0, 0).buffer = 4; }},
      {"it reduces vertices, but buffer 4 (kind 4) has rows 1", // of a block
       [](auto &m) {
         m.parts.buffers[4].kind = ESPALIER_BUFFER_SCRATCH;
         m.parts.buffers[4].rows = ESPALIER_ROWS_VERTICES;
         operandOf(m, 4, 1, 0).buffer = 4;
       }},
      {"it reduces vertices, but buffer 6 (kind 3) has rows 1, and the phase "
       "runs over rows 1",
       [](auto &m) {
         m.parts.phases[4].rows = ESPALIER_ROWS_VERTICES;
         m.parts.buffers[4].rows = ESPALIER_ROWS_VERTICES;
       }},
      {"graph 1 is the reverse of graph 3",
       [](auto &m) { m.pair.graphs[1].reverse_of = 4; }},
      {"graph 1 is the reverse of graph 1",
       [](auto &m) { m.pair.graphs[1].reverse_of = 2; }},
      {"graph 2 is the reverse of graph 1",
       [](auto &m) { m.pair.graphs[2].reverse_of = 2; }},
      {"graphs 0 and 2 have the same name",
       [](auto &m) { m.pair.graphs[2].name = "source"; }},
      {"graph 1 has no name", [](auto &m) { m.pair.graphs[1].name = nullptr; }},
      {"with the rows of graph 0 in a phase over graph 2", // another caller's
       [](auto &m) { m.pair.phases[0].graph = 2; }},
      {"with the rows of graph 1 in a phase over graph 0", // another order
       [](auto &m) { bufferOf(m.pair, "state").graph = 1; }},
      {"graph 0 has 2 types of vertices, but no field that has them",
       [](auto &m) { m.typed.graphs[0].type_field = nullptr; }},
      {"it runs over vertices of type 2 of 2",
       [](auto &m) { m.typed.phases[0].type = 3; }},
      {"it runs over vertices of type 0 of 0",
       [](auto &m) { m.parts.phases[4].type = 1; }},
      {"it has reductions over all vertices of a type",
       [](auto &m) { m.typed.phases[8].rows = ESPALIER_ROWS_VERTICES; }},
      {"the loop over tasks that ends here has phases for 1 of 2 types",
       [](auto &m) { m.typed.phases[5].type = 2; }},
      {"the loop over tasks that ends here has phases for 1 of 2 types",
       [](auto &m) { m.typed.phases[5].rows = ESPALIER_ROWS_TASKS; }},
      {"it reads parents of buffer 10, which it writes", // another phase does
       [](auto &m) {
         m.typed.phases[6].rows = m.typed.phases[7].rows = ESPALIER_ROWS_TASKS;
         m.typed.steps[7][1].result_count = 1;
         m.typed.steps[7][1].operand_count = 2;
       }},
  };
  for (const Damage &damage : cases) {
    StructureModel tables;
    damage.apply(tables);
    SCOPED_TRACE(damage.message);
    try {
      Module module(&tables.model);
      ADD_FAILURE() << "accepted";
    } catch (const Error &error) {
      EXPECT_EQ(error.code(), ESPALIER_MALFORMED) << error.message();
      EXPECT_NE(error.message().find(damage.message), std::string::npos)
          << error.message();
    }
  }
}
