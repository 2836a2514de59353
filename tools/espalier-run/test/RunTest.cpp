//===- RunTest.cpp - espalier-run as its users see it ---------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the program on a compiled model that was written by hand (TestModel.h of
// the runtime's tests).
//
//===----------------------------------------------------------------------===//
#include "ToolTesting.h"

#include "io/Npy.h"
#include "support/Error.h"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

using namespace espalier;

namespace {

class RunTest : public ToolTest {
protected:
  void SetUp() override {
    ToolTest::SetUp();
    write("t.ptb", "(1 (2 a) (3 (1 b) (0 c)))\n(1 d)\n(2 (1 a) (1 b))\n"
                   "(2 (1 (1 d) (1 d)) (1 b))\n(0 c)\n");
  }
  /// Runs the program with the model and random weights.
  int runModel(const std::string &arguments) {
    return run("'" ESPALIER_TEST_MODEL "' --random-weights 3 " + arguments);
  }
  std::map<std::string, Tensor> results(const std::string &name) {
    std::map<std::string, Tensor> map;
    for (NamedTensor &named : readNpz(path(name)))
      map[named.name] = named.tensor;
    return map;
  }
};

void expectSame(const Tensor &a, const Tensor &b) {
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(std::string_view(a.data, a.bytes()),
            std::string_view(b.data, b.bytes()));
}

using Shape = std::vector<int64_t>;

} // namespace

TEST_F(RunTest, ResultsDoNotDependOnBatchesPolicyOrThreads) {
  ASSERT_EQ(runModel("--structures t.ptb --entry encode --output all.npz"), 0)
      << err;
  EXPECT_NE(out.find("5 structures, 15 vertices, 1 batch"), std::string::npos)
      << out;
  std::map<std::string, Tensor> all = results("all.npz");
  EXPECT_EQ(all.at("hidden").shape, (Shape{15, 3}));
  EXPECT_EQ(all.at("twice").shape, (Shape{1, 3}));
  for (const char *how : {"--batch-size 1", "--batch-size 2", "--batch-size 0",
                          "--policy serial", "--threads 3"}) {
    ASSERT_EQ(runModel(std::string("--structures t.ptb --entry encode "
                                   "--output part.npz ") +
                       how),
              0)
        << err;
    expectSame(results("part.npz").at("hidden"), all.at("hidden"));
  }
}

TEST_F(RunTest, ResultsPerBatchAreStacked) {
  ASSERT_EQ(runModel("--structures t.ptb --entry encode --batch-size 2 "
                     "--output o.npz"),
            0)
      << err;
  EXPECT_EQ(results("o.npz").at("twice").shape, (Shape{3, 3}));
}

TEST_F(RunTest, InputsAreCutPerBatch) {
  Tensor scale = Tensor::zeros(ESPALIER_F32, {5, 1});
  for (int i = 0; i != 5; ++i)
    reinterpret_cast<float *>(scale.mutableData())[i] = (float)(i + 1);
  writeNpy(path("scale.npy"), scale);
  writeNpy(path("bias.npy"), Tensor::zeros(ESPALIER_F32, {3}));
  // A per-vertex input takes the place of a field.
  writeNpy(path("word.npy"), Tensor::zeros(ESPALIER_I32, {15}));
  for (const char *more : {"", " --input word=word.npy"}) {
    std::string arguments = std::string("--structures t.ptb --entry classify "
                                        "--input scale=scale.npy --input "
                                        "bias=bias.npy") +
                            more;
    ASSERT_EQ(runModel(arguments + " --output all.npz"), 0) << err;
    ASSERT_EQ(runModel(arguments + " --batch-size 2 --output two.npz"), 0)
        << err;
    std::map<std::string, Tensor> all = results("all.npz");
    std::map<std::string, Tensor> two = results("two.npz");
    for (const char *name : {"hidden", "root", "top"})
      expectSame(all.at(name), two.at(name));
    const float *root = all.at("root").as<float>();
    const float *top = all.at("top").as<float>();
    bool nonzero = false;
    for (int i = 0; i != 15; ++i) {
      EXPECT_FLOAT_EQ(root[i], top[i] * (float)(i / 3 + 1));
      nonzero |= top[i] != 0;
    }
    EXPECT_TRUE(nonzero);
  }
}

TEST_F(RunTest, VocabulariesAndWeightsAreKept) {
  ASSERT_EQ(runModel("--structures t.ptb --entry encode --output a.npz "
                     "--save-vocabulary v.txt --save-weights w.safetensors"),
            0)
      << err;
  EXPECT_EQ(read("v.txt"), "a\nb\nc\nd\n");
  ASSERT_EQ(run("'" ESPALIER_TEST_MODEL "' --structures t.ptb --entry encode "
                "--weights w.safetensors --vocabulary v.txt --output b.npz"),
            0)
      << err;
  EXPECT_EQ(read("a.npz"), read("b.npz"));
  write("v.txt", "b\n<unk>\n");
  EXPECT_EQ(runModel("--structures t.ptb --entry encode --vocabulary v.txt "
                     "--output c.npz"),
            0)
      << err;
  EXPECT_NE(read("a.npz"), read("c.npz"));
}

TEST_F(RunTest, OtherFormats) {
  write("s.txt", "a b c\n\nd\n");
  ASSERT_EQ(runModel("--structures s.txt --format sequence --entry encode"), 0)
      << err;
  EXPECT_NE(out.find("3 structures, 4 vertices"), std::string::npos) << out;
  write("s.jsonl", "{\"children\": [[], [-1, 0]], \"fields\": {\"word\": "
                   "[3, -1]}}\n");
  ASSERT_EQ(runModel("--structures s.jsonl --entry encode"), 0) << err;
  write("s.conllu", "1\ta\t_\tX\t_\t_\t0\t_\t_\t_\n");
  ASSERT_EQ(runModel("--structures s.conllu --entry encode"), 0) << err;
  write("none.ptb", "\n");
  ASSERT_EQ(runModel("--structures none.ptb --entry encode --output o.npz"), 0)
      << err;
  EXPECT_EQ(results("o.npz").at("hidden").shape, (Shape{0, 3}));
}

TEST_F(RunTest, Describe) {
  ASSERT_EQ(run("'" ESPALIER_TEST_MODEL "' --describe"), 0) << err;
  for (const char *text :
       {"model tree_test", "entry classify", "entry encode",
        "graph trees, up to 2 children a vertex", "scale  1xf32  per structure",
        "embedding  7x2xf32", "path, task by task over all vertices",
        "matmul  children * U (6x3 of U)"})
    EXPECT_NE(out.find(text), std::string::npos) << text << "\n" << out;
  ASSERT_EQ(run("'" ESPALIER_TEST_MODEL "' --describe --entry encode"), 0);
  EXPECT_EQ(out.find("entry classify"), std::string::npos);
}

TEST_F(RunTest, Benchmark) {
  ASSERT_EQ(runModel("--structures t.ptb --entry encode --benchmark --repeat 4 "
                     "--batch-size 2 --stats s.json --trace t.json"),
            0)
      << err;
  EXPECT_NE(out.find("benchmark of 4 passes: median"), std::string::npos);
  auto stats = nlohmann::json::parse(read("s.json"));
  EXPECT_EQ(stats["structures"], 5);
  EXPECT_EQ(stats["batches"], 3);
  EXPECT_EQ(stats["benchmark"]["pass_seconds"].size(), 4u);
  auto &rates = stats["benchmark"]["structures_per_second"];
  EXPECT_LE(rates["min"], rates["median"]);
  EXPECT_LE(rates["median"], rates["max"]);
  EXPECT_GT(rates["min"], 0);
  auto &profile = stats["profile"];
  double sum = 0;
  for (const char *part :
       {"schedule", "copy", "gemm", "elementwise", "layer", "rest"})
    sum += profile[std::string(part) + "_seconds"].get<double>();
  EXPECT_NEAR(sum, profile["total_seconds"].get<double>(), 1e-9);
  EXPECT_TRUE(nlohmann::json::parse(read("t.json")).is_structured());
}

TEST_F(RunTest, HelpAndVersion) {
  EXPECT_EQ(run("--help"), 0);
  for (const char *flag : {"--structures",
                           "--format",
                           "--vocabulary",
                           "--entry",
                           "--weights",
                           "--random-weights",
                           "--input",
                           "--batch-size",
                           "--policy",
                           "--threads",
                           "--output",
                           "--stats",
                           "--trace",
                           "--benchmark",
                           "--repeat",
                           "--describe",
                           "--unseen-words",
                           "--train",
                           "--epochs",
                           "--learning-rate",
                           "--learning-rate-decay",
                           "--weight-decay",
                           "--clip-norm",
                           "--mean",
                           "--shuffle",
                           "--no-shuffle",
                           "--seed",
                           "--validate",
                           "--validate-entry",
                           "--validate-input",
                           "--resume",
                           "--log"})
    EXPECT_NE(out.find(flag), std::string::npos) << flag;
  EXPECT_EQ(run("--version"), 0);
  EXPECT_NE(out, "");
}

TEST_F(RunTest, CommandLinesThatMakeNoSense) {
  auto model = [&](const std::string &arguments) {
    return runModel("--entry encode --output o.npz " + arguments);
  };
  expectError(run(""), "required");
  expectError(run("nowhere.so --structures t.ptb"), "'nowhere.so'");
  expectError(model(""), "--structures is required");
  expectError(model("--structures t.ptb --frobnicate"), "--frobnicate");
  expectError(model("--structures t.ptb extra"), "extra");
  expectError(model("--structures t.txt"), "--format is required for 't.txt'");
  expectError(model("--structures t.ptb --format xml"), "xml");
  expectError(model("--structures t.ptb --policy fast"), "fast");
  expectError(model("--structures t.ptb --batch-size -1"), "--batch-size");
  expectError(model("--structures t.ptb --threads 0"), "--threads");
  expectError(model("--structures t.ptb --repeat 3"), "--benchmark");
  expectError(model("--structures t.ptb --weights w"), "--weights");
  expectError(model("--structures t.ptb --input word"), "NAME=FILE");
  expectError(model("--structures t.ptb --input a=b --input a=c"), "twice");
  expectError(model("--structures t.ptb --input a=b"),
              "no such argument; it has 'word'");
  expectError(run("'" ESPALIER_TEST_MODEL "' --structures t.ptb --entry e"),
              "no entry 'e'");
  expectError(
      run("'" ESPALIER_TEST_MODEL "' --structures t.ptb --entry encode"),
      "--random-weights SEED");
  EXPECT_FALSE(exists("o.npz"));
}

TEST_F(RunTest, DataThatIsWrong) {
  auto model = [&](const std::string &arguments) {
    return runModel("--output o.npz --save-vocabulary v.txt --stats s.json " +
                    arguments);
  };
  write("bad.ptb", "(1 (2 a)\n");
  expectError(model("--entry encode --structures bad.ptb"), "bad.ptb:1:1: ");
  // Ids outside the table of 7 words.
  write("many.txt", "a b c d e f g h\n");
  expectError(model("--entry encode --structures many.txt --format sequence"),
              "7");
  // The second batch fails after the first went well.
  write("wide.ptb", "(1 (2 a) (3 b))\n(1 (2 a) (3 b) (4 c))\n");
  expectError(model("--entry encode --structures wide.ptb --batch-size 1"),
              "batch 1, whose structure 0 is structure 1 of the file: "
              "structure 0: vertex 3 has 3 children");
  writeNpy(path("four.npy"), Tensor::zeros(ESPALIER_F32, {4, 1}));
  expectError(
      model("--entry classify --structures t.ptb --input scale=four.npy"),
      "'four.npy' has the shape 4x1xf32, expected 5 rows, one a structure");
  expectError(model("--entry classify --structures t.ptb"), "'scale'");
  expectError(model("--entry encode --structures nowhere.ptb"), "nowhere.ptb");
  for (const char *name : {"o.npz", "v.txt", "s.json"})
    EXPECT_FALSE(exists(name)) << name;
  expectError(runModel("--entry encode --structures t.ptb --output none/o.npz"),
              "none/o.npz");
}
