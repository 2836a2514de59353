//===- TrainTest.cpp - espalier-run --train as its users see it -----------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trains the linear regression of TrainingModelLibrary.cpp.
//
//===----------------------------------------------------------------------===//
#include "Random.h"
#include "ToolTesting.h"

#include "io/Npy.h"
#include "io/Safetensors.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <pty.h>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace espalier;
using nlohmann::json;

namespace {

struct Vertex {
  int word;  // -1: none
  int label; // -1: none
};
using Structure = std::vector<Vertex>;

constexpr int kTrain = 23, kDev = 7, kWords = 7;

/// One vertex, or two leaves below a root. Labels lie around twice the word.
Structure makeStructure(int number) {
  auto leaf = [](int n) {
    return Vertex{n * 5 % kWords, (2 * (n * 5 % kWords) + n % 2) % 9};
  };
  if (number % 3 == 0)
    return {leaf(number)};
  return {leaf(number), leaf(number + 4), {-1, number % 4 == 0 ? -1 : 3}};
}

std::string ptbOf(const Structure &structure) {
  auto leaf = [](const Vertex &v) {
    return "(" + std::to_string(v.label) + " " + (char)('a' + v.word) + ")";
  };
  if (structure.size() == 1)
    return leaf(structure[0]) + "\n";
  std::string label =
      structure[2].label < 0 ? "" : std::to_string(structure[2].label);
  return "(" + label + " " + leaf(structure[0]) + " " + leaf(structure[1]) +
         ")\n";
}

class TrainTest : public ToolTest {
protected:
  void SetUp() override {
    ToolTest::SetUp();
    std::string train, dev;
    for (int i = 0; i != kTrain; ++i)
      train += ptbOf(makeStructure(i));
    for (int i = 0; i != kDev; ++i)
      dev += ptbOf(makeStructure(100 + i));
    write("train.ptb", train);
    write("dev.ptb", dev);
    std::string words;
    for (int i = 0; i != kWords; ++i)
      words += std::string(1, (char)('a' + i)) + "\n";
    write("words.txt", words);
  }

  static std::string command(const std::string &arguments) {
    return "'" ESPALIER_TRAINING_TEST_MODEL "' --structures train.ptb "
           "--vocabulary words.txt " +
           arguments;
  }
  /// Options of a training that uses all there is, and has batches of 4, so
  /// that an epoch has 6, the last of them smaller.
  static std::string all(const std::string &arguments) {
    return command("--train --batch-size 4 --learning-rate 0.02 "
                   "--learning-rate-decay 0.9 --weight-decay 0.001 "
                   "--clip-norm 3 --mean --seed 5 --validate dev.ptb " +
                   arguments);
  }
  int train(const std::string &arguments, const std::string &environment = "") {
    return run(all(arguments), environment);
  }

  std::vector<float> tensor(const std::string &file, const std::string &name) {
    for (NamedTensor &named : readSafetensors(path(file)))
      if (named.name == name)
        return {named.tensor.as<float>(),
                named.tensor.as<float>() + named.tensor.elements()};
    ADD_FAILURE() << file << " has no " << name;
    return {};
  }
  json checkpoint(const std::string &file) {
    return json::parse(
        readSafetensorsMetadata(path(file)).at("espalier.checkpoint"));
  }
  std::vector<json> lines(const std::string &file) {
    std::vector<json> all;
    std::ifstream in(path(file));
    for (std::string line; std::getline(in, line);)
      all.push_back(json::parse(line));
    return all;
  }
  /// A log without what differs from run to run.
  std::vector<json> linesWithoutTimes(const std::string &file) {
    std::vector<json> all = lines(file);
    for (json &line : all) {
      line.erase("seconds");
      line.erase("validation_seconds");
    }
    return all;
  }
};

/// The same training in double precision, by loops over vertices.
struct Reference {
  std::vector<double> score = std::vector<double>(kWords, 0);
  double bias = 0;
  std::vector<double> momenta = std::vector<double>(kWords + 1, 0);
  double rate = 0.02, decay = 0.001, clip = 3;
  bool mean = true;
  uint64_t seed = 5;
  int64_t batchSize = 4;

  double error(const Vertex &v) const {
    return v.label < 0 ? 0 : (v.word < 0 ? 0 : score[v.word]) + bias - v.label;
  }
  /// Loss and accuracy of structures, one on average.
  std::pair<double, double> measure(int first, int count) const {
    double sum = 0, right = 0, labels = 0;
    for (int i = first; i != first + count; ++i)
      for (const Vertex &v : makeStructure(i)) {
        sum += error(v) * error(v) / 2;
        labels += v.label >= 0;
        right += v.label >= 0 && std::fabs(error(v)) < 0.5;
      }
    return {sum / count, right / labels};
  }
  /// The loss of an epoch, as training sees it.
  double epoch(int64_t number, const std::vector<int64_t> &order,
               const std::function<double(int64_t)> &importance = {}) {
    std::vector<int> firstVertex{0};
    for (int i = 0; i != kTrain; ++i)
      firstVertex.push_back(firstVertex[i] + (int)makeStructure(i).size());
    double sum = 0;
    int64_t batches = (kTrain + batchSize - 1) / batchSize;
    for (int64_t b = 0; b != batches; ++b) {
      std::vector<double> g(kWords + 1, 0);
      int64_t begin = b * batchSize;
      int64_t end = std::min<int64_t>(begin + batchSize, kTrain);
      for (int64_t i = begin; i != end; ++i) {
        int number = firstVertex[order[i]];
        for (const Vertex &v : makeStructure((int)order[i])) {
          sum += error(v) * error(v) / 2;
          double e = error(v);
          if (importance)
            e *= importance(order[i]) * (1 + number++ % 2);
          if (v.word >= 0)
            g[v.word] += e;
          g[kWords] += e;
        }
      }
      if (importance)
        step(g, rate);
      else
        stepWithAll(g, number * batches + b, end - begin, number);
    }
    return sum / kTrain;
  }
  void step(const std::vector<double> &g, double factor) {
    for (int i = 0; i != kWords; ++i)
      score[i] -= factor * g[i];
    bias -= factor * g[kWords];
  }
  void stepWithAll(std::vector<double> g, int64_t number, int64_t structures,
                   int64_t epoch) {
    double squares = 0;
    for (double &x : g) {
      x /= mean ? (double)structures : 1;
      squares += x * x;
    }
    double norm = std::sqrt(squares);
    double noise = 1 + (run::seedOfStep(seed, number) % 1024) / 65536.0;
    for (int i = 0; i <= kWords; ++i) {
      double x = norm > clip ? g[i] * clip / norm : g[i];
      x = (x + decay * (i < kWords ? score[i] : bias)) * noise;
      momenta[i] = 0.9 * momenta[i] + x;
    }
    step(momenta, rate * std::pow(0.9, (double)epoch));
  }
};

std::vector<int64_t> inOrder() {
  std::vector<int64_t> order(kTrain);
  for (int i = 0; i != kTrain; ++i)
    order[i] = i;
  return order;
}

/// Parameters that are all zero.
void writeZeros(const std::string &file) {
  writeSafetensors(file, {{"score", Tensor::zeros(ESPALIER_F32, {kWords, 1})},
                          {"bias", Tensor::zeros(ESPALIER_F32, {1})}});
}

/// espalier-run while it runs. Its output goes to the files "out" and "err".
class Child {
public:
  Child(const std::string &folder, const std::string &arguments,
        const std::string &environment) {
    std::string command = "cd '" + folder + "' && exec env " + environment +
                          " '" ESPALIER_RUN "' " + arguments +
                          " >out 2>err </dev/null";
    std::filesystem::remove(folder + "/out");
    pid = ::fork();
    if (pid == 0) {
      std::signal(SIGINT, SIG_DFL);
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
  }
  void send(int signal) const { ::kill(pid, signal); }
  int wait() const {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
  }

private:
  pid_t pid;
};

} // namespace

//===----------------------------------------------------------------------===//
// What training does
//===----------------------------------------------------------------------===//

TEST_F(TrainTest, LossFallsAndIsLogged) {
  ASSERT_EQ(train("--epochs 8 --save-weights w --log log.jsonl"), 0) << err;
  EXPECT_EQ(err, ""); // no progress bar in a file
  EXPECT_NE(out.find("regression: train_step on train.ptb\n"
                     "  23 structures, 53 vertices\n"
                     "  vocabulary of 7 tokens\n"
                     "  validation on dev.ptb: 7 structures, 17 vertices, "
                     "0 words not in the vocabulary\n"
                     "epoch 1: loss "),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("\nepoch 8: loss "), std::string::npos) << out;
  EXPECT_NE(out.find(", root accuracy "), std::string::npos) << out;
  EXPECT_NE(out.find("; validation loss "), std::string::npos) << out;

  std::vector<json> log = lines("log.jsonl");
  ASSERT_EQ(log.size(), 8u);
  for (int i = 0; i != 8; ++i) {
    EXPECT_EQ(log[i]["epoch"], i + 1);
    EXPECT_NEAR(log[i]["learning_rate"].get<double>(), 0.02 * std::pow(0.9, i),
                1e-12);
    EXPECT_EQ(log[i]["structures"], kTrain);
    EXPECT_EQ(log[i]["validation_structures"], kDev);
    EXPECT_GE(log[i]["seconds"], 0);
    EXPECT_GT(log[i]["gradient_norm"], 0);
    EXPECT_FALSE(log[i].contains("validation_gradient_norm"));
    if (i == 0)
      continue;
    EXPECT_LT(log[i]["loss"], log[i - 1]["loss"]);
  }
  EXPECT_LT(log[7]["validation_loss"], log[0]["validation_loss"]);
}

TEST_F(TrainTest, NumbersAreThoseOfTheReference) {
  writeZeros(path("zeros"));
  ASSERT_EQ(train("--epochs 3 --weights zeros --save-weights w --log log"), 0)
      << err;
  std::vector<json> log = lines("log");
  ASSERT_EQ(log.size(), 3u);
  Reference reference;
  for (int64_t epoch = 0; epoch != 3; ++epoch) {
    double loss = reference.epoch(epoch, run::shuffled(kTrain, 5, epoch));
    auto [devLoss, devAccuracy] = reference.measure(100, kDev);
    EXPECT_NEAR(log[epoch]["loss"].get<double>(), loss, 1e-4 * loss);
    EXPECT_NEAR(log[epoch]["validation_loss"].get<double>(), devLoss,
                1e-4 * devLoss);
    EXPECT_NEAR(log[epoch]["validation_accuracy"].get<double>(), devAccuracy,
                1e-9);
  }
  for (int i = 0; i != kWords; ++i)
    EXPECT_NEAR(tensor("w", "score")[i], reference.score[i], 1e-4);
  EXPECT_NEAR(tensor("w", "bias")[0], reference.bias, 1e-4);
  EXPECT_NEAR(tensor("w", "bias.momentum")[0], reference.momenta[kWords], 1e-4);
}

TEST_F(TrainTest, ArgumentsFollowTheirStructures) {
  writeZeros(path("zeros"));
  Tensor importance = Tensor::zeros(ESPALIER_F32, {kTrain});
  for (int i = 0; i != kTrain; ++i)
    reinterpret_cast<float *>(importance.mutableData())[i] = (float)(i % 5);
  writeNpy(path("importance.npy"), importance);
  for (bool shuffle : {true, false}) {
    ASSERT_EQ(run(command("--train --entry sgd_step --epochs 2 --batch-size 5 "
                          "--learning-rate 0.01 --weights zeros "
                          "--save-weights w --log log "
                          "--input importance=importance.npy") +
                  (shuffle ? " --shuffle" : " --no-shuffle")),
              0)
        << err;
    Reference reference;
    reference.rate = 0.01;
    reference.batchSize = 5;
    for (int64_t epoch = 0; epoch != 2; ++epoch) {
      double loss = reference.epoch(
          epoch, shuffle ? run::shuffled(kTrain, 1, epoch) : inOrder(),
          [](int64_t i) { return (double)(i % 5); });
      EXPECT_NEAR(lines("log")[epoch]["loss"].get<double>(), loss, 1e-4 * loss);
    }
    for (int i = 0; i != kWords; ++i)
      EXPECT_NEAR(tensor("w", "score")[i], reference.score[i], 1e-4);
  }

  // A row a vertex: the same labels in a file of their own.
  std::vector<int32_t> labels;
  for (int i = 0; i != kTrain; ++i)
    for (const Vertex &v : makeStructure(i))
      labels.push_back(v.label);
  Tensor label = Tensor::zeros(ESPALIER_I32, {(int64_t)labels.size()});
  std::memcpy(label.mutableData(), labels.data(), label.bytes());
  writeNpy(path("label.npy"), label);
  ASSERT_EQ(train("--epochs 2 --save-weights a"), 0) << err;
  ASSERT_EQ(train("--epochs 2 --save-weights b --input label=label.npy"), 0)
      << err;
  EXPECT_EQ(read("a"), read("b"));
  ASSERT_EQ(train("--epochs 1 --save-weights b --validate-input "
                  "label=label.npy"),
            1);
  EXPECT_NE(err.find("--validate-input label: 'label.npy' has the shape 53xi32,"
                     " expected 17 rows"),
            std::string::npos)
      << err;
}

TEST_F(TrainTest, WhatMayDiffer) {
  ASSERT_EQ(train("--epochs 3 --save-weights a"), 0) << err;
  ASSERT_EQ(train("--epochs 3 --save-weights b --threads 3"), 0) << err;
  EXPECT_EQ(read("a"), read("b"));
  ASSERT_EQ(run(command("--train --batch-size 4 --learning-rate 0.02 "
                        "--learning-rate-decay 0.9 --weight-decay 0.001 "
                        "--clip-norm 3 --mean --seed 5 --epochs 3 "
                        "--save-weights b")),
            0) // no validation
      << err;
  EXPECT_EQ(read("a"), read("b"));
  ASSERT_EQ(train("--epochs 3 --save-weights b --seed 6"), 1); // twice
  ASSERT_EQ(run(command("--train --learning-rate 0.02 --epochs 1 --save-weights"
                        " a --batch-size 0")),
            0)
      << err;
  ASSERT_EQ(run(command("--train --learning-rate 0.02 --epochs 1 --save-weights"
                        " b --batch-size 1000")),
            0)
      << err;
  EXPECT_EQ(tensor("a", "score"), tensor("b", "score"));
  ASSERT_EQ(run(command("--train --learning-rate 0.02 --epochs 1 --save-weights"
                        " b --batch-size 1000 --seed 2")),
            0)
      << err;
  EXPECT_NE(tensor("a", "score"), tensor("b", "score"));
}

TEST_F(TrainTest, UnseenWordsOfTheValidation) {
  write("dev.ptb", "(1 zebra)\n(2 (4 a) (4 gnu))\n");
  std::string most = "--train --learning-rate 0.01 --epochs 1 --weights zeros "
                     "--save-weights w --log log --validate dev.ptb ";
  writeZeros(path("zeros"));
  // Without words: x is 0 and bias is all that is left.
  ASSERT_EQ(run("'" ESPALIER_TRAINING_TEST_MODEL "' --structures train.ptb " +
                most + "--save-vocabulary v.txt"),
            0)
      << err;
  EXPECT_NE(out.find("vocabulary of 7 tokens, built from the structures"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("2 structures, 4 vertices, 2 words not in the vocabulary"),
            std::string::npos)
      << out;
  EXPECT_EQ(read("v.txt"), "a\nf\ne\nd\nc\nb\ng\n"); // in order of appearance
  double bias = tensor("w", "bias")[0], a = tensor("w", "score")[0];
  auto loss = [&](double zebra, double gnu) {
    auto square = [](double x) { return x * x / 2; };
    return (square(zebra + bias - 1) + square(a + bias - 4) +
            square(gnu + bias - 4) + square(bias - 2)) /
           2;
  };
  EXPECT_NEAR(lines("log")[0]["validation_loss"].get<double>(), loss(0, 0),
              1e-5);

  // With <unk>, which has the id 6 here, after six words.
  write("unk.txt", "a\ne\nf\nc\nd\ng\n<unk>\n");
  ASSERT_EQ(run("'" ESPALIER_TRAINING_TEST_MODEL "' --structures train.ptb " +
                most + "--vocabulary unk.txt"),
            0)
      << err;
  bias = tensor("w", "bias")[0];
  a = tensor("w", "score")[0];
  double unknown = tensor("w", "score")[6];
  EXPECT_NE(unknown, 0); // learnt from 'b'
  EXPECT_NEAR(lines("log")[0]["validation_loss"].get<double>(),
              loss(unknown, unknown), 1e-5);

  // The same for inference.
  std::string predict = "'" ESPALIER_TRAINING_TEST_MODEL
                        "' --structures dev.ptb --vocabulary v.txt --entry "
                        "predict --weights w --output o.npz ";
  expectError(run(predict), "neither 'zebra' nor '<unk>'");
  ASSERT_EQ(run(predict + "--unseen-words none"), 0) << err;
  EXPECT_EQ(readNpz(path("o.npz"))[0].tensor.as<float>()[0],
            tensor("w", "bias")[0]);
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

TEST_F(TrainTest, ResumeIsBitExact) {
  ASSERT_EQ(train("--epochs 4 --save-weights all --log all.jsonl"), 0) << err;
  ASSERT_EQ(train("--epochs 2 --save-weights part --log part.jsonl"), 0) << err;
  EXPECT_EQ(checkpoint("part")["epoch"], 2);
  ASSERT_EQ(train("--epochs 4 --resume part --save-weights part "
                  "--log part.jsonl --threads 2"),
            0)
      << err;
  EXPECT_NE(out.find("resumed from part, after 2 epochs and 0 batches"),
            std::string::npos)
      << out;
  EXPECT_EQ(read("all"), read("part"));
  EXPECT_EQ(linesWithoutTimes("all.jsonl"), linesWithoutTimes("part.jsonl"));

  // There is nothing left to do.
  ASSERT_EQ(train("--epochs 4 --resume part --save-weights copy"), 0) << err;
  EXPECT_NE(out.find("all 4 epochs are done"), std::string::npos) << out;
  EXPECT_EQ(read("copy"), read("all"));
}

TEST_F(TrainTest, InterruptionsAnywhereAreBitExact) {
  ASSERT_EQ(train("--epochs 3 --save-weights all --log all.jsonl"), 0) << err;
  // An epoch has 6 steps and 2 losses of the validation; before the first there
  // is a look at the validation's data.
  for (int at : {1, 4, 6, 7, 8, 9, 15, 23}) {
    int code = train("--epochs 3 --save-weights part --log part.jsonl",
                     "ESPALIER_TEST_INTERRUPT_AT=" + std::to_string(1 + at));
    ASSERT_EQ(code, 130) << at << err;
    EXPECT_EQ(err.rfind("espalier-run: interrupted in epoch ", 0), 0u) << err;
    EXPECT_NE(err.find("go on with --resume 'part'"), std::string::npos) << err;
    // After the last loss of a validation the epoch is complete.
    json saved = checkpoint("part");
    EXPECT_EQ(saved["epoch"], at / 8) << at;
    EXPECT_EQ(saved["batch"], std::min(at % 8, 6)) << at;
    ASSERT_EQ(train("--epochs 3 --resume part --save-weights part "
                    "--log part.jsonl"),
              0)
        << at << err;
    EXPECT_EQ(read("all"), read("part")) << at;
    EXPECT_EQ(linesWithoutTimes("all.jsonl"), linesWithoutTimes("part.jsonl"))
        << at;
  }
  // All was done when the signal came.
  ASSERT_EQ(
      train("--epochs 3 --save-weights part", "ESPALIER_TEST_INTERRUPT_AT=25"),
      0)
      << err;
  EXPECT_EQ(read("all"), read("part"));
}

TEST_F(TrainTest, SignalsFromOutside) {
  ASSERT_EQ(train("--epochs 4 --save-weights all"), 0) << err;
  for (auto [signal, code] :
       {std::pair<int, int>{SIGINT, 130}, std::pair<int, int>{SIGTERM, 143}}) {
    // A hundredth of a second a step: an epoch takes 80 ms.
    Child child(folder, all("--epochs 1000 --save-weights part"),
                "ESPALIER_TEST_SLOW=10000");
    for (int i = 0;
         i != 2000 && read("out").find("epoch 1:") == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    child.send(signal);
    int status = child.wait();
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), code);
    EXPECT_NE(read("err").find("interrupted in epoch"), std::string::npos);
    int64_t done = checkpoint("part")["epoch"];
    ASSERT_GE(done, 1);
    std::string epochs = std::to_string(done + 2);
    ASSERT_EQ(train("--save-weights all --epochs " + epochs), 0) << err;
    ASSERT_EQ(train("--resume part --save-weights part --epochs " + epochs), 0)
        << err;
    EXPECT_EQ(read("all"), read("part"));
  }
}

TEST_F(TrainTest, TheSecondSignalKills) {
  ASSERT_EQ(train("--epochs 2 --save-weights all"), 0) << err;
  // In the second epoch, so that the checkpoint of the first is there.
  Child child(folder, all("--epochs 2 --save-weights part"),
              "ESPALIER_TEST_INTERRUPT_AT=10 ESPALIER_TEST_INTERRUPTS=2");
  int status = child.wait();
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_EQ(checkpoint("part")["epoch"], 1);
  ASSERT_EQ(train("--epochs 2 --resume part --save-weights part"), 0) << err;
  EXPECT_EQ(read("all"), read("part"));
}

TEST_F(TrainTest, OptionsThatMatter) {
  ASSERT_EQ(train("--epochs 1 --save-weights w"), 0) << err;
  std::string before = read("w");
  auto resume = [&](std::string from, const std::string &to) {
    std::string line = all("--epochs 2 --resume w --save-weights w");
    size_t found = line.find(from);
    EXPECT_NE(found, std::string::npos) << from;
    return run(line.replace(found, from.size(), to));
  };
  expectError(resume("--batch-size 4", "--batch-size 8"),
              "cannot resume from 'w', which was made otherwise: --batch-size "
              "was 4, now 8; give the same");
  expectError(resume("--learning-rate 0.02", "--learning-rate 0.03"),
              "--learning-rate was 0.02, now 0.03");
  expectError(resume("--learning-rate-decay 0.9 ", ""),
              "--learning-rate-decay was 0.9, now 1");
  expectError(resume("--weight-decay 0.001 ", ""),
              "--weight-decay was 0.001, now 0");
  expectError(resume("--clip-norm 3 ", ""), "--clip-norm was 3");
  expectError(resume("--mean ", ""), "--mean was true, now false");
  expectError(resume("--mean ", "--mean --no-shuffle "),
              "--shuffle was true, now false");
  expectError(resume("--seed 5", "--seed 6"), "--seed was 5, now 6");
  expectError(resume("--seed 5", "--seed 5 --policy serial"),
              "--policy was \"batched\", now \"serial\"");
  expectError(resume("train.ptb", "dev.ptb"),
              "the number of structures was 23, now 7; the number of vertices "
              "was 53, now 17");
  write("words.txt", "a\nb\nc\nd\ne\nf\ng\n<unk>\n");
  expectError(resume("--mean", "--mean"), "the hash of the vocabulary was");
  EXPECT_EQ(read("w"), before);
}

TEST_F(TrainTest, CheckpointsAreWeights) {
  ASSERT_EQ(train("--epochs 2 --save-weights w --log log"), 0) << err;
  // Inference, by the same library and by one without training.
  std::string predict =
      command("--entry predict --weights w --save-weights p --output ");
  ASSERT_EQ(run(predict + "a.npz"), 0) << err;
  ASSERT_EQ(run(predict + "b.npz", "ESPALIER_TEST_ENTRIES=predict"), 0) << err;
  EXPECT_EQ(read("a.npz"), read("b.npz"));
  EXPECT_EQ(readSafetensors(path("p")).size(), 2u); // parameters only
  EXPECT_EQ(tensor("p", "score"), tensor("w", "score"));
  // Its loss is that of the validation.
  ASSERT_EQ(run("'" ESPALIER_TRAINING_TEST_MODEL "' --structures dev.ptb "
                "--vocabulary words.txt --entry loss --weights w --batch-size 0"
                " --output loss.npz"),
            0)
      << err;
  for (NamedTensor &named : readNpz(path("loss.npz"))) {
    if (named.name != "loss")
      continue;
    const float *loss = named.tensor.as<float>();
    EXPECT_NEAR(std::accumulate(loss, loss + named.tensor.elements(), 0.0) /
                    kDev,
                lines("log")[1]["validation_loss"].get<double>(), 1e-5);
  }

  // A new training starts from its parameters, with momenta of zero.
  ASSERT_EQ(train("--epochs 1 --weights w --save-weights a"), 0) << err;
  ASSERT_EQ(train("--epochs 1 --weights p --save-weights b"), 0) << err;
  EXPECT_EQ(read("a"), read("b"));
  // Random parameters are those of --random-weights, or of --seed.
  ASSERT_EQ(train("--epochs 1 --random-weights 5 --save-weights a"), 0) << err;
  ASSERT_EQ(train("--epochs 1 --save-weights b"), 0) << err;
  EXPECT_EQ(read("a"), read("b"));
}

TEST_F(TrainTest, FilesThatAreNoCheckpoint) {
  auto resume = [&] { return train("--epochs 3 --resume c --save-weights w"); };
  ASSERT_EQ(train("--epochs 1 --save-weights w"), 0) << err;
  std::vector<NamedTensor> tensors = readSafetensors(path("w"));
  Metadata metadata = readSafetensorsMetadata(path("w"));

  expectError(resume(), "'c'"); // none
  writeSafetensors(path("c"), tensors);
  expectError(resume(), "'c' is no checkpoint of a training; to start from its "
                        "parameters give --weights instead");
  writeSafetensors(path("c"), tensors, {{"espalier.checkpoint", "{"}});
  expectError(resume(), "c: the metadata 'espalier.checkpoint' is not as "
                        "espalier-run writes it");
  writeSafetensors(path("c"), tensors, {{"espalier.checkpoint", "{}"}});
  expectError(resume(), "is not as espalier-run writes it");
  std::vector<NamedTensor> fewer;
  for (NamedTensor &named : tensors)
    if (named.name != "bias.momentum")
      fewer.push_back(named);
  writeSafetensors(path("c"), fewer, metadata);
  expectError(resume(), "it lacks 'bias.momentum', which the optimiser of "
                        "'train_step' remembers");
}

TEST_F(TrainTest, LogsOfResumedTrainings) {
  ASSERT_EQ(train("--epochs 2 --save-weights w --log log"), 0) << err;
  std::string two = read("log");
  // What was written after the checkpoint, and what was cut short.
  write("log", two + "{\"epoch\": 3}\n{\"epo");
  ASSERT_EQ(train("--epochs 3 --resume w --save-weights w --log log"), 0)
      << err;
  EXPECT_EQ(lines("log").size(), 3u);
  EXPECT_EQ(read("log").rfind(two, 0), 0u);
  write("log", "precious data\n");
  EXPECT_EQ(train("--epochs 4 --resume w --save-weights w --log log"), 1);
  EXPECT_NE(err.find("log:1: this is no line of a log"), std::string::npos);
  EXPECT_EQ(read("log"), "precious data\n");
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

TEST_F(TrainTest, StopsAtLossesThatAreNotFinite) {
  // Ten thousand times the learning rate in the second epoch.
  std::string options = "--train --batch-size 4 --learning-rate 0.01 "
                        "--learning-rate-decay 1e20 --epochs 5 "
                        "--save-weights w --log log ";
  EXPECT_EQ(run(command(options)), 1);
  EXPECT_NE(out.find("epoch 1: "), std::string::npos) << out;
  EXPECT_EQ(out.find("epoch 2: "), std::string::npos) << out;
  EXPECT_NE(err.find("error: epoch 2, batch 2: the result 'loss' is inf; the "
                     "last checkpoint is 'w'"),
            std::string::npos)
      << err;
  EXPECT_EQ(checkpoint("w")["epoch"], 1);
  for (float value : tensor("w", "score"))
    EXPECT_TRUE(std::isfinite(value));
  // It is as good as any.
  EXPECT_EQ(run(command(options + "--resume w")), 1);
  EXPECT_NE(err.find("epoch 2, batch 2"), std::string::npos) << err;

  std::filesystem::remove(path("w"));
  EXPECT_EQ(
      run(command("--train --batch-size 4 --learning-rate 1e30 --epochs 5 "
                  "--save-weights w")),
      1);
  EXPECT_NE(err.find("epoch 1, batch 2: the result 'loss' is inf; nothing has "
                     "been saved"),
            std::string::npos)
      << err;
  EXPECT_FALSE(exists("w"));
  // The only step of the epoch spoils the parameters, after a loss that is
  // finite.
  EXPECT_EQ(run(command("--train --batch-size 0 --learning-rate 3e38 "
                        "--epochs 1 --save-weights w")),
            1);
  EXPECT_NE(err.find("after epoch 1: 'bias' is not finite any more"),
            std::string::npos)
      << err;
  EXPECT_FALSE(exists("w"));
}

TEST_F(TrainTest, EntriesThatAreMissing) {
  std::string options = " --structures train.ptb --train --epochs 1 "
                        "--learning-rate 0.001 --save-weights w ";
  expectError(run("'" ESPALIER_TEST_MODEL "'" + options),
              "the model 'tree_test' has no entry 'train_step'; compile the "
              "model with espalier-compile --train=");
  std::string model = "'" ESPALIER_TRAINING_TEST_MODEL "'" + options;
  expectError(run(model + "--entry predict"),
              "the entry 'predict' is no step of training: it has no result "
              "'loss'");
  expectError(run(model + "--entry loss"),
              "the entry 'loss' is no step of training: it changes no "
              "parameter; compile");
  expectError(run(model + "--entry lost"), "no entry 'lost'");
  model += "--validate dev.ptb ";
  expectError(run(model + "--validate-entry predict"),
              "--validate-entry predict: this entry has no result 'loss'");
  expectError(run(model + "--validate-entry sgd_step"), "changes parameters");
  expectError(run(model, "ESPALIER_TEST_ENTRIES=losses"),
              "choose one with --validate-entry: 'loss', 'again'");
  expectError(run(model, "ESPALIER_TEST_ENTRIES=random"),
              "which --validate needs; 'loss' draws random numbers, as its "
              "argument 'seed' says");
  EXPECT_EQ(run(model, "ESPALIER_TEST_ENTRIES=both"), 0) << err;
  // Whether the entry sums the loss makes no difference.
  ASSERT_EQ(run(model + "--validate-entry again --log a",
                "ESPALIER_TEST_ENTRIES=losses"),
            0)
      << err;
  ASSERT_EQ(run(model + "--validate-entry loss --log b"), 0) << err;
  EXPECT_NEAR(lines("a")[0]["validation_loss"].get<double>(),
              lines("b")[0]["validation_loss"].get<double>(), 1e-4);
}

TEST_F(TrainTest, CommandLinesThatMakeNoSense) {
  auto model = [&](const std::string &arguments) {
    return run(command(arguments));
  };
  std::string enough =
      "--train --epochs 1 --save-weights w --learning-rate 0.01 ";
  for (const char *flag :
       {"--epochs 2", "--learning-rate 1", "--weight-decay 1", "--clip-norm 1",
        "--learning-rate-decay 1", "--mean", "--no-shuffle", "--seed 3",
        "--validate dev.ptb", "--validate-entry loss", "--resume w",
        "--log log"})
    expectError(model(std::string("--entry predict ") + flag), "--train");
  expectError(model("--train --learning-rate 1 --save-weights w"),
              "--train needs --epochs N");
  expectError(model("--train --epochs 1 --learning-rate 1"),
              "--train needs --save-weights FILE");
  expectError(model("--train --epochs 1 --save-weights w"),
              "--train needs --learning-rate F");
  expectError(model("--train --epochs 0 --save-weights w"), "--epochs");
  for (const char *value : {"-1", "nan", "inf", "fast"})
    expectError(model("--train --epochs 1 --save-weights w --learning-rate " +
                      std::string(value)),
                "found '" + std::string(value) + "'");
  expectError(model(enough + "--resume w --weights w"), "--weights");
  expectError(model(enough + "--resume w --random-weights 1"),
              "--random-weights");
  expectError(model(enough + "--output o.npz"), "--output");
  expectError(model(enough + "--benchmark"), "--benchmark");
  expectError(model(enough + "--entry sgd_step --mean"),
              "--mean has no effect: the entry 'sgd_step' has no argument "
              "'gradient_scale'");
  expectError(model(enough + "--entry sgd_step --clip-norm 1"), "'clip_norm'");
  expectError(model(enough + "--entry sgd_step --weight-decay 1"),
              "'weight_decay'");
  expectError(model(enough + "--input seed=s.npy"),
              "training sets this argument itself");
  expectError(model(enough + "--validate dev.txt"),
              "--format is required for 'dev.txt'");
  expectError(model(enough + "--log train.ptb"), "written over 'train.ptb'");
  expectError(model(enough + "--validate dev.ptb --log dev.ptb"),
              "written over 'dev.ptb'");
  expectError(model(enough + "--log w"), "written over 'w'");
  expectError(model(enough + "--log nowhere/log"), "nowhere/log");
  EXPECT_FALSE(exists("w"));
}

TEST_F(TrainTest, DataThatIsWrong) {
  std::string options = " --train --epochs 1 --batch-size 4 --learning-rate "
                        "0.01 --save-weights w";
  write("none.ptb", "");
  expectError(
      run("'" ESPALIER_TRAINING_TEST_MODEL "' --structures none.ptb" + options),
      "there are no structures in 'none.ptb'");
  // An eighth word, whose id is outside of the table.
  write("many.ptb", read("train.ptb") + "(1 (2 (1 x) (1 b)) (0 y))\n(1 z)\n");
  EXPECT_EQ(
      run("'" ESPALIER_TRAINING_TEST_MODEL "' --structures many.ptb" + options),
      1);
  EXPECT_TRUE(err.find("structure 23 of 'many.ptb' (from 0), alone: ") !=
                  std::string::npos ||
              err.find("structure 24 of 'many.ptb' (from 0), alone: ") !=
                  std::string::npos)
      << err;
  EXPECT_FALSE(exists("w"));
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

TEST_F(TrainTest, StatsAndTrace) {
  ASSERT_EQ(train("--epochs 2 --save-weights w --stats s.json --trace t.json"),
            0)
      << err;
  json stats = json::parse(read("s.json"));
  EXPECT_EQ(stats["entry"], "train_step");
  EXPECT_EQ(stats["batches"], 12);
  EXPECT_EQ(stats["structures"], 2 * kTrain);
  EXPECT_TRUE(stats.contains("profile"));
  EXPECT_TRUE(json::parse(read("t.json")).is_structured());
}

TEST_F(TrainTest, ProgressOnATerminal) {
  // Standard error is a terminal of 60 columns.
  int terminal = -1, end = -1;
  struct winsize size = {24, 60, 0, 0};
  ASSERT_EQ(::openpty(&terminal, &end, nullptr, nullptr, &size), 0);
  std::string arguments = all("--epochs 1 --save-weights w");
  pid_t pid = ::fork();
  if (pid == 0) {
    std::string command = "cd '" + folder + "' && exec '" ESPALIER_RUN "' " +
                          arguments + " >out </dev/null";
    ::dup2(end, STDERR_FILENO);
    ::setenv("ESPALIER_TEST_SLOW", "150000", 1);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(end);
  std::string shown;
  char buffer[4096];
  for (ssize_t got; (got = ::read(terminal, buffer, sizeof(buffer))) > 0;)
    shown.append(buffer, got);
  ::close(terminal);
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << shown;
  EXPECT_NE(shown.find("\repoch 1 of 1 [="), std::string::npos) << shown;
  EXPECT_NE(shown.find("] 3/6 0:0"), std::string::npos) << shown;
  // Wiped at the end, and never longer than a line.
  EXPECT_EQ(shown.substr(shown.size() - 4), "\r\x1b[K") << shown;
  size_t begin = 0;
  for (size_t at; (at = shown.find('\r', begin)) != std::string::npos;
       begin = at + 1)
    EXPECT_LE(at - begin, 60u + 3) << shown;
  EXPECT_EQ(read("out").find('\r'), std::string::npos);
}
