//===- ModuleTest.cpp - What is wrong with a model's tables ---------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Module.h"

#include "TestModel.h"
#include "module/Validate.h"
#include "support/Error.h"

#include <functional>
#include <gtest/gtest.h>

using namespace espalier;

static void expectFailure(const espalier_model *model, espalier_status code,
                          const std::string &part) {
  try {
    Module module(model);
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code) << error.message();
    EXPECT_NE(error.message().find(part), std::string::npos) << error.message();
    return;
  }
  ADD_FAILURE() << "accepted; expected: " << part;
}

TEST(Module, TheTestModelIsValid) {
  TestModel tables;
  Module module(&tables.model);
  EXPECT_STREQ(module.entry("encode").name, "encode");
  EXPECT_STREQ(module.entry(nullptr).name, "classify");
  try {
    module.entry("decode");
    FAIL();
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ESPALIER_NOT_FOUND);
    EXPECT_EQ(error.message(), "model 'tree_test' has no entry 'decode'; it "
                               "has 'classify', 'encode'");
  }
  tables.model.entry_count = 1;
  EXPECT_STREQ(module.entry(nullptr).name, "classify");
}

TEST(Module, AbiVersion) {
  TestModel tables;
  tables.model.magic = 1;
  expectFailure(&tables.model, ESPALIER_MALFORMED, "not the table");
  tables.model.magic = ESPALIER_ABI_MAGIC;
  tables.model.abi_major = 4;
  expectFailure(&tables.model, ESPALIER_INCOMPATIBLE,
                "compiled for ABI version 4.0, this runtime reads 3.0 to 3.0");
  tables.model.abi_major = 3;
  tables.model.abi_minor = 9;
  expectFailure(&tables.model, ESPALIER_INCOMPATIBLE, "3.9");
  tables.model.abi_minor = 0;
  tables.model.struct_size = 8;
  expectFailure(&tables.model, ESPALIER_INCOMPATIBLE, "ABI version");
}

TEST(Module, ProcessorFeatures) {
  TestModel tables;
#if defined(__x86_64__)
  tables.model.target_features = "+sse2,-avx512f,popcnt";
  Module module(&tables.model);
#endif
  tables.model.target_features = "sse2,quantum";
  expectFailure(&tables.model, ESPALIER_INCOMPATIBLE, "quantum");
}

namespace {
/// One thing to break in a fresh model, and what the message must contain.
struct Damage {
  const char *message;
  std::function<void(TestModel &)> apply;
};
} // namespace

/// Step `s` of phase `p` of "classify", and its operands.
static espalier_step &stepOf(TestModel &t, int p, int s) {
  return t.classify.steps[p][s];
}
static espalier_step_operand &operandOf(TestModel &t, int p, int s, int o) {
  return const_cast<espalier_step_operand &>(stepOf(t, p, s).operands[o]);
}
static espalier_buffer_desc &bufferOf(TestModel &t, const char *name) {
  for (espalier_buffer_desc &buffer : t.classify.buffers)
    if (buffer.name == std::string(name))
      return buffer;
  throw std::logic_error(name);
}

TEST(Module, DamagedTables) {
  const Damage cases[] = {
      {"no phase table", [](auto &t) { t.entries[0].phases = nullptr; }},
      {"no buffer table", [](auto &t) { t.entries[0].buffers = nullptr; }},
      {"entry 0 has no name", [](auto &t) { t.entries[0].name = nullptr; }},
      {"two entries 'encode'", [](auto &t) { t.entries[0].name = "encode"; }},
      {"unknown kind 9", [](auto &t) { bufferOf(t, "b").kind = 9; }},
      {"unknown element type 0", [](auto &t) { bufferOf(t, "b").dtype = 0; }},
      {"unknown rows 6", [](auto &t) { bufferOf(t, "b").rows = 6; }},
      {"expected one row", [](auto &t) { bufferOf(t, "b").rows = 1; }},
      {"an argument cannot have rows 1",
       [](auto &t) { bufferOf(t, "word").rows = 1; }},
      {"a result cannot have rows 3",
       [](auto &t) { bufferOf(t, "hidden").rows = 3; }},
      {"graph 1 of 1", [](auto &t) { bufferOf(t, "word").graph = 1; }},
      {"rank 5", [](auto &t) { bufferOf(t, "b").rank = 5; }},
      {"dimension 0 is -3", [](auto &t) { bufferOf(t, "b").shape[0] = -3; }},
      {"4 elements a row, but its shape has 3",
       [](auto &t) { bufferOf(t, "b").row_elements = 4; }},
      {"phases [1, 9] of 4",
       [](auto &t) { bufferOf(t, "state").last_phase = 9; }},
      {"has the same name", [](auto &t) { bufferOf(t, "U").name = "W"; }},
      {"has no name", [](auto &t) { bufferOf(t, "U").name = nullptr; }},
      {"it has no data", [](auto &t) { bufferOf(t, "limit").data = nullptr; }},
      {"weight 0: buffer 99",
       [](auto &t) { t.classify.weights[0].buffer = 99; }},
      {"neither a parameter nor a constant",
       [](auto &t) { t.classify.weights[0].buffer = 5; }},
      {"not a matrix", [](auto &t) { t.classify.weights[0].buffer = 3; }},
      {"rows [1, 1 + 2) of 2",
       [](auto &t) { t.classify.weights[0].row_begin = 1; }},
      {"3 columns, expected 4", [](auto &t) { t.classify.weights[1].n = 4; }},
      {"no column table",
       [](auto &t) { t.classify.weights[1].columns = nullptr; }},
      {"cannot run over rows 4",
       [](auto &t) { t.classify.phases[0].rows = 4; }},
      {"graph 3 of 1", [](auto &t) { t.classify.phases[0].graph = 3; }},
      {"no step table", [](auto &t) { t.classify.phases[0].steps = nullptr; }},
      {"unknown kind 13", [](auto &t) { stepOf(t, 0, 0).kind = 13; }},
      {"2 operands, expected 3",
       [](auto &t) { stepOf(t, 0, 0).operand_count = 2; }},
      {"no kernel", [](auto &t) { stepOf(t, 1, 4).kernel = nullptr; }},
      {"8 results of 7 operands",
       [](auto &t) { stepOf(t, 1, 4).result_count = 8; }},
      {"buffer 77", [](auto &t) { operandOf(t, 1, 0, 0).buffer = 77; }},
      {"columns [1, 1 + 3) of 3",
       [](auto &t) { operandOf(t, 1, 0, 0).column = 1; }},
      {"columns [0, 0 + -1) of 3",
       [](auto &t) { operandOf(t, 1, 0, 0).elements = -1; }},
      {"slot 2", [](auto &t) { operandOf(t, 1, 0, 0).slot = 2; }},
      {"access 6", [](auto &t) { operandOf(t, 1, 0, 0).access = 6; }},
      {"with access 4", // a root, of vertices
       [](auto &t) { operandOf(t, 1, 0, 0).access = ESPALIER_ACCESS_ROOT; }},
      {"with access 0", // schedule rows of the caller's buffer
       [](auto &t) { operandOf(t, 0, 0, 0).access = ESPALIER_ACCESS_ROW; }},
      {"it writes buffer 12", // a child
       [](auto &t) { operandOf(t, 1, 4, 6).access = ESPALIER_ACCESS_CHILD; }},
      {"which is constant",
       [](auto &t) {
         stepOf(t, 0, 1).operand_count = 2;
         operandOf(t, 0, 0, 2) = {4, ESPALIER_ACCESS_SHARED, 0, 0, 0, 1};
         t.classify.phases[0].rows = ESPALIER_ROWS_ONE;
         operandOf(t, 0, 0, 0) = {4, ESPALIER_ACCESS_SHARED, 0, 0, 0, 1};
       }},
      {"it copies 3 elements to 2",
       [](auto &t) { operandOf(t, 1, 0, 1).elements = 2; }},
      {"rows of its table do not fit",
       [](auto &t) { operandOf(t, 0, 0, 2).elements = 1; }},
      {"weight 2 of 2", [](auto &t) { stepOf(t, 0, 1).weight = 2; }},
      {"with a weight of 6x3", [](auto &t) { stepOf(t, 0, 1).weight = 1; }},
      {"only lives in phases [1, 1]",
       [](auto &t) { bufferOf(t, "state").last_phase = 1; }},
      {"reads scratch buffer", // without the gathers
       [](auto &t) {
         t.classify.phases[1].steps += 3;
         t.classify.phases[1].step_count -= 3;
       }},
      {"which no step before it wrote", // without the eager phase
       [](auto &t) { t.classify.phases[0].step_count = 0; }},
      {"no step writes result 'hidden'",
       [](auto &t) {
         t.classify.phases[2].step_count = 0;
         t.classify.phases[3].step_count = 1;
       }},
      {"multiplicities have rows 0 of 3 f32",
       [](auto &t) {
         bufferOf(t, "bias").kind = ESPALIER_BUFFER_MULTIPLICITY;
       }},
      {"multiplicities have rows 1 of 3 f32",
       [](auto &t) {
         bufferOf(t, "projection").kind = ESPALIER_BUFFER_MULTIPLICITY;
       }},
      {"it reads children of buffer",
       [](auto &t) { t.classify.phases[1].rows = ESPALIER_ROWS_VERTICES; }},
  };
  for (const Damage &damage : cases) {
    TestModel tables;
    damage.apply(tables);
    SCOPED_TRACE(damage.message);
    expectFailure(&tables.model, ESPALIER_MALFORMED, damage.message);
  }
}
