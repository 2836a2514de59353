//===- CApiTest.cpp - The C interface, as a program sees it ---------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "espalier/runtime.h"

#include "TestModel.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <thread>

#define OK(CALL) ASSERT_EQ(CALL, ESPALIER_OK) << espalier_last_error()

namespace {
class CApiTest : public ::testing::Test {
protected:
  void SetUp() override {
    OK(espalier_module_load(ESPALIER_TEST_MODEL, &module));
    OK(espalier_structures_create(&structures));
    const int64_t offsets[] = {0, 0, 0, 2};
    const int32_t children[] = {0, 1};
    OK(espalier_structures_append(structures, 3, offsets, children));
    OK(espalier_structures_append(structures, 0, nullptr, nullptr));
    const int64_t shape[] = {3};
    const int32_t words[] = {4, 6, -1};
    espalier_tensor field = {ESPALIER_I32, 1, shape, words};
    OK(espalier_structures_set_field(structures, "word", &field));
  }
  void TearDown() override {
    espalier_session_destroy(session);
    espalier_weights_destroy(weights);
    espalier_structures_destroy(structures);
    espalier_module_destroy(module);
  }
  void createWeights() {
    TestParameters p;
    const int64_t e[] = {kWords, kEmbedding}, w[] = {kEmbedding, kHidden},
                  u[] = {2 * kHidden, 4}, b[] = {kHidden};
    espalier_named_tensor tensors[] = {
        {"embedding", {ESPALIER_F32, 2, e, p.E.data()}},
        {"W", {ESPALIER_F32, 2, w, p.W.data()}},
        {"U", {ESPALIER_F32, 2, u, p.U.data()}},
        {"b", {ESPALIER_F32, 1, b, p.b.data()}}};
    OK(espalier_weights_create(tensors, 4, &weights));
  }
  void createSession(const char *entry, bool profile) {
    espalier_session_options options{};
    options.struct_size = sizeof(options);
    options.entry = entry;
    options.profile = profile;
    OK(espalier_session_create(module, weights, &options, &session));
  }

  espalier_module *module = nullptr;
  espalier_weights *weights = nullptr;
  espalier_structures *structures = nullptr;
  espalier_session *session = nullptr;
};
} // namespace

TEST_F(CApiTest, FromLibraryToResult) {
  EXPECT_STREQ(espalier_module_model(module)->name, "tree_test");
  createWeights();
  createSession("encode", false);
  espalier_result *result = nullptr;
  OK(espalier_session_run(session, structures, nullptr, 0, &result));
  // The result outlives everything.
  espalier_session_destroy(session);
  session = nullptr;
  ASSERT_EQ(espalier_result_count(result), 2u);
  espalier_named_tensor named;
  OK(espalier_result_at(result, 0, &named));
  EXPECT_STREQ(named.name, "hidden");
  espalier_tensor hidden;
  OK(espalier_result_tensor(result, "hidden", &hidden));
  EXPECT_EQ(hidden.data, named.tensor.data);
  ASSERT_EQ(hidden.rank, 2u);
  EXPECT_EQ(hidden.shape[0], 3);
  EXPECT_EQ(hidden.shape[1], kHidden);
  std::vector<float> expected =
      referenceHidden({{}, {}, {0, 1}}, {4, 6, -1}, TestParameters());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(static_cast<const float *>(hidden.data)[i], expected[i]);

  EXPECT_EQ(espalier_result_tensor(result, "hiden", &hidden),
            ESPALIER_NOT_FOUND);
  EXPECT_STREQ(espalier_last_error(), "there is no result 'hiden'; the entry "
                                      "has 'hidden', 'twice'");
  EXPECT_EQ(espalier_result_at(result, 2, &named), ESPALIER_NOT_FOUND);
  espalier_result_destroy(result);
}

TEST_F(CApiTest, GraphsByName) {
  createWeights();
  createSession("encode", false);
  espalier_result *one = nullptr, *named = nullptr;
  OK(espalier_session_run(session, structures, nullptr, 0, &one));
  espalier_named_structures graphs[] = {{"trees", structures},
                                        {"trees", structures}};
  OK(espalier_session_run_graphs(session, graphs, 1, nullptr, 0, &named));
  espalier_tensor a, b;
  OK(espalier_result_tensor(one, "hidden", &a));
  OK(espalier_result_tensor(named, "hidden", &b));
  for (int64_t i = 0; i < 3 * kHidden; ++i)
    EXPECT_EQ(static_cast<const float *>(a.data)[i],
              static_cast<const float *>(b.data)[i]);
  espalier_result_destroy(one);
  espalier_result_destroy(named);
  int64_t bytes = 0, bytesNamed = 0;
  OK(espalier_session_bytes_needed(session, structures, &bytes));
  OK(espalier_session_bytes_needed_graphs(session, graphs, 1, &bytesNamed));
  EXPECT_EQ(bytes, bytesNamed);

  auto run = [&](size_t count) {
    return espalier_session_run_graphs(session, graphs, count, nullptr, 0,
                                       &named);
  };
  EXPECT_EQ(run(2), ESPALIER_INVALID_ARGUMENT);
  EXPECT_STREQ(espalier_last_error(),
               "the structures of graph 'trees' are given twice");
  EXPECT_EQ(run(0), ESPALIER_NOT_FOUND);
  graphs[0].name = "treees";
  EXPECT_EQ(run(1), ESPALIER_INVALID_ARGUMENT);
  EXPECT_STREQ(espalier_last_error(),
               "entry 'encode' has no graph 'treees'; it has 'trees'");
  graphs[0] = {"trees", nullptr};
  EXPECT_EQ(run(1), ESPALIER_INVALID_ARGUMENT);
  EXPECT_STREQ(espalier_last_error(), "structures is NULL");
  graphs[0] = {nullptr, structures};
  EXPECT_EQ(run(1), ESPALIER_INVALID_ARGUMENT);
  EXPECT_EQ(
      espalier_session_run_graphs(session, nullptr, 1, nullptr, 0, &named),
      ESPALIER_INVALID_ARGUMENT);
}

TEST_F(CApiTest, LinkedModel) {
  TestModel tables;
  espalier_module *linked = nullptr;
  OK(espalier_module_from_model(&tables.model, &linked));
  EXPECT_EQ(espalier_module_model(linked), &tables.model);
  espalier_module_destroy(linked);
}

TEST_F(CApiTest, StatsAndTrace) {
  OK(espalier_weights_random(module, "encode", 1, &weights));
  createSession("encode", true);
  int64_t bytes = 0;
  OK(espalier_session_bytes_needed(session, structures, &bytes));
  espalier_result *result = nullptr;
  OK(espalier_session_run(session, structures, nullptr, 0, &result));
  espalier_result_destroy(result);
  espalier_stats stats{};
  EXPECT_EQ(espalier_session_stats(session, &stats), ESPALIER_INVALID_ARGUMENT);
  stats.struct_size = sizeof(stats);
  OK(espalier_session_stats(session, &stats));
  EXPECT_EQ(stats.runs, 1);
  EXPECT_EQ(stats.structures, 2);
  EXPECT_EQ(stats.vertices, 3);
  EXPECT_EQ(stats.tasks, 2);
  EXPECT_EQ(stats.peak_bytes, bytes);
  EXPECT_GT(stats.copy_seconds, 0);
  EXPECT_GT(stats.matmul_seconds, 0);
  EXPECT_GT(stats.kernel_seconds, 0);
  EXPECT_GT(stats.total_seconds, stats.schedule_seconds);

  std::string path = ::testing::TempDir() + "espalier_trace.json";
  OK(espalier_session_write_trace(session, path.c_str()));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_NE(text.str().find("\"traceEvents\":["), std::string::npos);
  EXPECT_NE(text.str().find("{\"name\":\"child * U\",\"cat\":\"path\""),
            std::string::npos);
  EXPECT_NE(text.str().find("\"droppedEvents\":0"), std::string::npos);
  EXPECT_EQ(espalier_session_write_trace(session, "/nowhere/trace.json"),
            ESPALIER_IO_ERROR);

  espalier_session_reset_stats(session);
  OK(espalier_session_stats(session, &stats));
  EXPECT_EQ(stats.runs, 0);
  EXPECT_EQ(stats.matmul_seconds, 0);
}

TEST_F(CApiTest, TraceNeedsProfile) {
  createWeights();
  createSession("encode", false);
  EXPECT_EQ(espalier_session_write_trace(session, "unused"),
            ESPALIER_INVALID_ARGUMENT);
}

TEST_F(CApiTest, WeightsFile) {
  createWeights();
  std::string path = ::testing::TempDir() + "espalier_weights.safetensors";
  OK(espalier_weights_save(weights, path.c_str()));
  espalier_weights_destroy(weights);
  weights = nullptr;
  OK(espalier_weights_open(path.c_str(), &weights));
  createSession("classify", false);
  std::remove(path.c_str());
}

TEST_F(CApiTest, LibrariesThatAreNoModel) {
  espalier_module *out = nullptr;
  EXPECT_EQ(espalier_module_load("/nowhere/model.so", &out),
            ESPALIER_NOT_FOUND);
  EXPECT_STREQ(espalier_last_error(), "cannot read the library "
                                      "'/nowhere/model.so': No such file or "
                                      "directory");
  EXPECT_EQ(espalier_module_load(ESPALIER_NOT_A_MODEL, &out),
            ESPALIER_MALFORMED);
  EXPECT_NE(std::string(espalier_last_error()).find("is not a compiled model"),
            std::string::npos);
  EXPECT_EQ(espalier_module_load("/etc/passwd", &out), ESPALIER_MALFORMED);
  EXPECT_EQ(out, nullptr);
}

TEST_F(CApiTest, Slices) {
  espalier_structures *part = nullptr;
  OK(espalier_structures_slice(structures, 1, 2, &part));
  EXPECT_EQ(espalier_structures_count(part), 1);
  EXPECT_EQ(espalier_structures_vertices(part), 0);
  espalier_structures_destroy(part);
  EXPECT_EQ(espalier_structures_slice(structures, 1, 3, &part),
            ESPALIER_INVALID_ARGUMENT);
}

TEST_F(CApiTest, Selections) {
  const int64_t numbers[] = {1, 0, 0}, outside[] = {2};
  espalier_structures *part = nullptr;
  OK(espalier_structures_select(structures, numbers, 3, &part));
  EXPECT_EQ(espalier_structures_count(part), 3);
  EXPECT_EQ(espalier_structures_vertices(part), 6);
  espalier_structures_destroy(part);
  OK(espalier_structures_select(structures, nullptr, 0, &part));
  EXPECT_EQ(espalier_structures_count(part), 0);
  espalier_structures_destroy(part);
  EXPECT_EQ(espalier_structures_select(structures, outside, 1, &part),
            ESPALIER_INVALID_ARGUMENT);
  EXPECT_EQ(espalier_structures_select(structures, nullptr, 1, &part),
            ESPALIER_INVALID_ARGUMENT);
}

TEST_F(CApiTest, TokensOfAVocabulary) {
  std::string path = ::testing::TempDir() + "espalier-capi-tokens.txt";
  std::ofstream(path) << "b a\n";
  espalier_vocabulary *vocabulary = nullptr;
  espalier_structures *read = nullptr;
  OK(espalier_vocabulary_create(&vocabulary));
  OK(espalier_structures_read(path.c_str(), "sequence", vocabulary,
                              ESPALIER_UNSEEN_ADD, &read));
  EXPECT_EQ(espalier_structures_unseen_tokens(read), 0);
  espalier_structures_destroy(read);
  EXPECT_STREQ(espalier_vocabulary_token(vocabulary, 1), "a");
  EXPECT_EQ(espalier_vocabulary_token(vocabulary, 2), nullptr);
  EXPECT_EQ(espalier_vocabulary_token(vocabulary, -1), nullptr);

  std::ofstream(path) << "a c c\n";
  OK(espalier_structures_read(path.c_str(), "sequence", vocabulary,
                              ESPALIER_UNSEEN_NONE, &read));
  EXPECT_EQ(espalier_structures_unseen_tokens(read), 2);
  espalier_structures_destroy(read);
  EXPECT_EQ(espalier_structures_read(path.c_str(), "sequence", vocabulary,
                                     ESPALIER_UNSEEN_FAIL, &read),
            ESPALIER_MALFORMED);
  EXPECT_EQ(
      espalier_structures_read(path.c_str(), "sequence", vocabulary, 3, &read),
      ESPALIER_INVALID_ARGUMENT);
  espalier_vocabulary_destroy(vocabulary);
  std::remove(path.c_str());
}

TEST_F(CApiTest, MistakesOfTheCaller) {
  createWeights();
  EXPECT_EQ(espalier_session_create(nullptr, weights, nullptr, &session),
            ESPALIER_INVALID_ARGUMENT);
  EXPECT_STREQ(espalier_last_error(), "module is NULL");
  espalier_session_options options{};
  options.entry = "encode";
  EXPECT_EQ(espalier_session_create(module, weights, &options, &session),
            ESPALIER_INVALID_ARGUMENT);
  EXPECT_NE(std::string(espalier_last_error()).find("struct_size 0"),
            std::string::npos);
  options.struct_size = sizeof(options) + 8; // of a later header
  EXPECT_EQ(espalier_session_create(module, weights, &options, &session),
            ESPALIER_INVALID_ARGUMENT);
  options.struct_size = sizeof(options);
  options.entry = "decode";
  EXPECT_EQ(espalier_session_create(module, weights, &options, &session),
            ESPALIER_NOT_FOUND);
  EXPECT_NE(std::string(espalier_last_error()).find("'classify', 'encode'"),
            std::string::npos);
  options.entry = "encode";
  options.policy = 7;
  EXPECT_EQ(espalier_session_create(module, weights, &options, &session),
            ESPALIER_INVALID_ARGUMENT);
  EXPECT_EQ(session, nullptr);

  const int64_t two[] = {2}, negative[] = {-3};
  const int32_t words[] = {1, 2, 3};
  espalier_tensor field = {ESPALIER_I32, 1, two, words};
  EXPECT_EQ(espalier_structures_set_field(structures, "word", &field),
            ESPALIER_INVALID_ARGUMENT);
  EXPECT_STREQ(espalier_last_error(),
               "field 'word' is 2xi32, expected 3 rows, one a vertex");
  field.shape = negative;
  EXPECT_EQ(espalier_structures_set_field(structures, "word", &field),
            ESPALIER_INVALID_ARGUMENT);
  field.dtype = 77;
  EXPECT_EQ(espalier_structures_set_field(structures, "word", &field),
            ESPALIER_INVALID_ARGUMENT);
  EXPECT_EQ(espalier_structures_append(structures, 2, nullptr, nullptr),
            ESPALIER_INVALID_ARGUMENT);
  const int64_t offsets[] = {0, 1};
  const int32_t itself[] = {0};
  EXPECT_EQ(espalier_structures_append(structures, 1, offsets, itself),
            ESPALIER_MALFORMED);
  EXPECT_EQ(espalier_structures_count(structures), 2);
}

TEST_F(CApiTest, ErrorsBelongToTheirThread) {
  EXPECT_EQ(espalier_module_load(nullptr, nullptr), ESPALIER_INVALID_ARGUMENT);
  std::thread([] { EXPECT_STREQ(espalier_last_error(), ""); }).join();
  EXPECT_STREQ(espalier_last_error(), "path is NULL");
}

TEST_F(CApiTest, DestroyAcceptsNull) {
  espalier_module_destroy(nullptr);
  espalier_weights_destroy(nullptr);
  espalier_structures_destroy(nullptr);
  espalier_vocabulary_destroy(nullptr);
  espalier_session_destroy(nullptr);
  espalier_result_destroy(nullptr);
  EXPECT_STREQ(espalier_status_name(ESPALIER_MALFORMED), "MALFORMED");
  EXPECT_STREQ(espalier_runtime_version(), "0.1.0");
}

TEST(CApi, EqualVerticesAreEvaluatedOnceUnlessAskedOtherwise) {
  TestModel tables;
  tables.encode.graphs[0].shared = 1;
  espalier_module *module = nullptr;
  OK(espalier_module_from_model(&tables.model, &module));
  espalier_weights *weights = nullptr;
  OK(espalier_weights_random(module, "encode", 1, &weights));
  espalier_structures *structures = nullptr;
  OK(espalier_structures_create(&structures));
  const int64_t offsets[] = {0, 0, 0, 2};
  const int32_t children[] = {0, 1};
  for (int copy = 0; copy < 2; ++copy)
    OK(espalier_structures_append(structures, 3, offsets, children));
  const int64_t shape[] = {6};
  const int32_t words[] = {4, 6, -1, 4, 6, -1};
  espalier_tensor field = {ESPALIER_I32, 1, shape, words};
  OK(espalier_structures_set_field(structures, "word", &field));
  for (uint32_t apart : {0, 1}) {
    espalier_session_options options{};
    options.struct_size = sizeof(options);
    options.entry = "encode";
    options.ablate = apart ? ESPALIER_SHARING : 0;
    espalier_session *session = nullptr;
    OK(espalier_session_create(module, weights, &options, &session));
    espalier_result *result = nullptr;
    OK(espalier_session_run(session, structures, nullptr, 0, &result));
    espalier_result_destroy(result);
    espalier_stats stats{};
    stats.struct_size = sizeof(stats);
    OK(espalier_session_stats(session, &stats));
    EXPECT_EQ(stats.vertices, 6);
    EXPECT_EQ(stats.evaluated_vertices, apart ? 6 : 3);
    espalier_session_destroy(session);
  }
  espalier_structures_destroy(structures);
  espalier_weights_destroy(weights);
  espalier_module_destroy(module);
}

// A program built with an earlier, shorter header keeps running.
TEST_F(CApiTest, ShorterStructsOfEarlierHeaders) {
  struct {
    espalier_stats stats;
    char guard;
  } out{};
  out.guard = 7;
  out.stats.struct_size = offsetof(espalier_stats, structures);
  out.stats.structures = -1;
  espalier_session_options options{};
  options.struct_size = offsetof(espalier_session_options, threads);
  options.entry = "encode";
  options.threads = 5000; // beyond what the program says it has
  createWeights();
  OK(espalier_session_create(module, weights, &options, &session));
  OK(espalier_session_stats(session, &out.stats));
  EXPECT_EQ(out.stats.runs, 0);
  EXPECT_EQ(out.stats.structures, -1);
  EXPECT_EQ(out.guard, 7);
}

TEST_F(CApiTest, CountsThatCannotBeAreNotUsed) {
  int64_t offset = 0;
  EXPECT_NE(
      espalier_structures_append(structures, INT64_MAX / 2, &offset, nullptr),
      ESPALIER_OK);
  EXPECT_EQ(espalier_structures_count(structures), 2);
}
