//===- layer_bench.cpp - The time of single layers ------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints milliseconds for each layer of a training step of ResNet-50, forward
// and adjoints, for each backend and number of threads; and their sum, in which
// a layer counts as often as the network has it. Convolutions of the built-in
// kernels are also measured with workspaces for the patches of so many points.
//
//   espalier-layer-bench [--batch 8] [--image 128] [--threads 1,2]
//                        [--backend onednn,builtin] [--points 768,1000000]
//                        [--only NAME] [--clock wall|processor]
//
// The time is what passes, or what processors spend on the layer, all threads
// together, which other work on the machine disturbs less.
//
//===----------------------------------------------------------------------===//
#include "device/cpu/ThreadPool.h"
#include "device/cpu/layers/Layer.h"
#include "espalier/abi.h"
#include "memory/Arena.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <time.h>
#include <vector>

using namespace espalier;

namespace {

struct Options {
  int64_t batch = 8;
  int64_t image = 128;
  std::vector<unsigned> threads = {1, 2};
  std::vector<std::string> backends = {"onednn", "builtin"};
  /// Of workspaces; no more than a layer has.
  std::vector<int64_t> points = {768, 1000000};
  std::string only;
  bool processorTime = false;
};

using Shape = std::vector<int64_t>;

struct Bench {
  std::string name;
  LayerProblem problem;
  int count = 1;
  double flops = 0;
};

double seconds(bool processorTime = false) {
  timespec time;
  clock_gettime(processorTime ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC,
                &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

//===----------------------------------------------------------------------===//
// The layers of ResNet-50
//===----------------------------------------------------------------------===//

class ResNet50 {
public:
  explicit ResNet50(const Options &options)
      : batch(options.batch), extent(options.image) {
    convolution(3, 64, 7, 2, /*withAdjointOfInput=*/false);
    norm(64);
    pool(64, 3, 2, 1, ESPALIER_LAYER_MAX_POOL2D,
         ESPALIER_LAYER_MAX_POOL2D_ADJOINT);
    int64_t channels = 64;
    const int blocks[] = {3, 4, 6, 3};
    for (int stage = 0; stage < 4; ++stage)
      for (int block = 0; block < blocks[stage]; ++block) {
        int64_t inner = 64 << stage, outer = 4 * inner;
        int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        int64_t before = extent;
        convolution(channels, inner, 1, 1);
        norm(inner);
        convolution(inner, inner, 3, stride);
        norm(inner);
        convolution(inner, outer, 1, 1);
        norm(outer);
        if (block == 0) {
          int64_t after = extent;
          extent = before;
          convolution(channels, outer, 1, stride);
          norm(outer);
          extent = after;
        }
        channels = outer;
      }
    pool(channels, extent, 1, 0, ESPALIER_LAYER_AVG_POOL2D,
         ESPALIER_LAYER_AVG_POOL2D_ADJOINT);
    dense(channels, 1000);
  }

  std::vector<Bench> layers;

private:
  int64_t batch, extent;
  std::map<std::string, size_t> known;

  Shape images(int64_t channels, int64_t size) const {
    return {batch, channels, size, size};
  }

  void add(std::string name, const espalier_layer &layer,
           const std::vector<Shape> &operands, double flops) {
    auto [place, isNew] = known.emplace(name, layers.size());
    if (!isNew) {
      ++layers[place->second].count;
      return;
    }
    Bench bench{std::move(name), {layer, {}}, 1, flops};
    for (const Shape &shape : operands) {
      LayerTensor tensor{ESPALIER_F32, (uint32_t)shape.size(), {}};
      std::copy(shape.begin(), shape.end(), tensor.shape);
      bench.problem.operands.push_back(tensor);
    }
    layers.push_back(std::move(bench));
  }

  static espalier_layer layerOf(uint32_t kind) {
    espalier_layer layer{};
    layer.kind = kind;
    layer.groups = 1;
    layer.epsilon = 1e-5;
    for (int i = 0; i < 2; ++i)
      layer.strides[i] = layer.dilations[i] = layer.window[i] = 1;
    layer.workspace_offset = -1;
    return layer;
  }

  void convolution(int64_t from, int64_t to, int64_t window, int64_t stride,
                   bool withAdjointOfInput = true) {
    const int64_t padding = window / 2;
    const int64_t after = (extent + 2 * padding - window) / stride + 1;
    const Shape x = images(from, extent), y = images(to, after);
    const Shape weight = {to, from, window, window};
    const double flops =
        2.0 * (double)(batch * to * after * after * from * window * window);
    std::string name = std::to_string(window) + "x" + std::to_string(window) +
                       "/" + std::to_string(stride) + " " +
                       std::to_string(from) + "->" + std::to_string(to) +
                       " at " + std::to_string(extent);
    auto addKind = [&](const char *what, uint32_t kind,
                       const std::vector<Shape> &operands) {
      espalier_layer layer = layerOf(kind);
      std::fill_n(layer.strides, 2, stride);
      std::fill_n(layer.padding, 4, padding);
      add("conv " + name + what, layer, operands, flops);
    };
    addKind("", ESPALIER_LAYER_CONV2D, {x, weight, y});
    if (withAdjointOfInput)
      addKind(" d input", ESPALIER_LAYER_CONV2D_TRANSPOSE, {y, weight, x});
    addKind(" d weight", ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT, {x, y, weight});
    extent = after;
  }

  void norm(int64_t channels) {
    const Shape x = images(channels, extent), c = {channels};
    std::string name =
        "norm " + std::to_string(channels) + " at " + std::to_string(extent);
    add(name, layerOf(ESPALIER_LAYER_BATCH_NORM), {x, c, c, x, c, c}, 0);
    add(name + " adjoint", layerOf(ESPALIER_LAYER_BATCH_NORM_ADJOINT),
        {x, c, c, c, x, x, c, c}, 0);
  }

  void pool(int64_t channels, int64_t window, int64_t stride, int64_t padding,
            uint32_t kind, uint32_t adjoint) {
    const int64_t after = (extent + 2 * padding - window) / stride + 1;
    espalier_layer layer = layerOf(kind);
    std::fill_n(layer.window, 2, window);
    std::fill_n(layer.strides, 2, stride);
    std::fill_n(layer.padding, 4, padding);
    const Shape x = images(channels, extent), y = images(channels, after);
    std::string name =
        (kind == ESPALIER_LAYER_MAX_POOL2D ? "max pool at " : "mean pool at ") +
        std::to_string(extent);
    add(name, layer, {x, y}, 0);
    layer.kind = adjoint;
    if (adjoint == ESPALIER_LAYER_MAX_POOL2D_ADJOINT)
      add(name + " adjoint", layer, {x, y, x}, 0);
    else
      add(name + " adjoint", layer, {y, x}, 0);
    extent = after;
  }

  void dense(int64_t from, int64_t to) {
    const double flops = 2.0 * (double)(batch * from * to);
    const Shape x = {batch, from}, weight = {from, to}, y = {batch, to};
    espalier_layer layer = layerOf(ESPALIER_LAYER_MATMUL);
    add("dense", layer, {x, weight, y}, flops);
    layer.flags = ESPALIER_LAYER_TRANSPOSE_B;
    add("dense d input", layer, {y, weight, x}, flops);
    layer.flags = ESPALIER_LAYER_TRANSPOSE_A;
    add("dense d weight", layer, {x, y, weight}, flops);
  }
};

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// Memory that has been written.
struct Block {
  Arena arena;
  explicit Block(int64_t bytes) {
    arena.reserve(std::max(bytes, kAlignment));
    float *data = reinterpret_cast<float *>(arena.data());
    uint32_t state = 1;
    for (int64_t i = 0; i < bytes / 4; ++i)
      data[i] =
          (float)((state = state * 1664525u + 1013904223u) >> 8) / (1 << 23) -
          0.5f;
  }
};

struct Result {
  double milliseconds;
  int64_t scratchBytes;
};

bool isConvolution(const LayerProblem &problem) {
  return problem.layer.kind <= ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT;
}

/// All that a convolution has.
int64_t pointsOf(const LayerProblem &problem) {
  const size_t images[] = {2, 2, 1}; // by kind; there are no biases here
  const int64_t *shape = problem.operands[images[problem.layer.kind]].shape;
  return shape[0] * shape[2] * shape[3];
}

/// The median of several samples, with a workspace for `points`, if it has any.
Result measure(LayerProblem problem, int64_t points, const std::string &backend,
               unsigned threads, bool processorTime) {
  setenv("ESPALIER_GEMM", backend.c_str(), 1);
  if (points > 0 && isConvolution(problem)) {
    problem.layer.algorithm = ESPALIER_ALGORITHM_PATCHES;
    problem.layer.workspace_bytes =
        layerWorkspaceBytes(problem, std::min(points, pointsOf(problem)));
  }
  auto kernel = makeLayerKernel(problem, threads);
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<char *> operands;
  for (const LayerTensor &tensor : problem.operands) {
    blocks.push_back(std::make_unique<Block>(tensor.bytes()));
    operands.push_back(blocks.back()->arena.data());
  }
  Block workspace(problem.layer.workspace_bytes);
  Block scratch(kernel->scratchBytes());
  ThreadPool pool(threads);
  LayerCall call{operands.data(), workspace.arena.data(), scratch.arena.data(),
                 threads > 1 ? &pool : nullptr};
  std::vector<double> samples;
  kernel->run(call);
  for (double end = seconds() + 0.1; samples.size() < 5 || seconds() < end;) {
    double start = seconds(processorTime);
    kernel->run(call);
    samples.push_back(seconds(processorTime) - start);
    if (samples.size() >= 50)
      break;
  }
  std::nth_element(samples.begin(), samples.begin() + samples.size() / 2,
                   samples.end());
  return {samples[samples.size() / 2] * 1e3, kernel->scratchBytes()};
}

int run(const Options &options) {
  struct Column {
    std::string title, backend;
    unsigned threads;
    int64_t points;
    double total = 0;
    int64_t scratch = 0;
  };
  std::vector<Column> columns;
  for (const std::string &backend : options.backends)
    for (unsigned threads : options.threads) {
      std::string title = backend + " x" + std::to_string(threads);
      columns.push_back({title, backend, threads, 0});
      if (backend == "builtin")
        for (int64_t points : options.points)
          columns.push_back(
              {"p" + std::to_string(points) + " x" + std::to_string(threads),
               backend, threads, points});
    }
  std::printf("ResNet-50, batch %ld, %ldx%ld images, f32; milliseconds%s\n",
              (long)options.batch, (long)options.image, (long)options.image,
              options.processorTime ? " of processors" : "");
  std::printf("%-34s %3s %8s", "layer", "n", "GFLOP");
  for (const Column &column : columns)
    std::printf(" %10s", column.title.c_str());
  std::printf("\n");
  for (const Bench &bench : ResNet50(options).layers) {
    if (bench.name.find(options.only) == std::string::npos)
      continue;
    std::printf("%-34s %3d %8.3f", bench.name.c_str(), bench.count,
                bench.flops * 1e-9);
    for (Column &column : columns) {
      Result result = measure(bench.problem, column.points, column.backend,
                              column.threads, options.processorTime);
      column.total += bench.count * result.milliseconds;
      column.scratch = std::max(column.scratch, result.scratchBytes);
      std::printf(" %10.3f", result.milliseconds);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("%-47s", "all of them");
  for (const Column &column : columns)
    std::printf(" %10.1f", column.total);
  std::printf("\n%-47s", "largest scratch of the library's, MiB");
  for (const Column &column : columns)
    std::printf(" %10.1f", (double)column.scratch / (1 << 20));
  std::printf("\n");
  return 0;
}

int usage(const char *argument) {
  std::fprintf(
      stderr,
      "espalier-layer-bench: cannot use '%s'\nusage: "
      "espalier-layer-bench [--batch 8] [--image 128] "
      "[--threads 1,2] [--backend onednn,builtin] "
      "[--points 768,1000000] [--only NAME] [--clock wall|processor]\n",
      argument);
  return 1;
}

std::vector<std::string> splitAtCommas(const std::string &list) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= list.size();) {
    size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    std::string name = argv[i];
    if (i + 1 == argc)
      return usage(argv[i]);
    const char *value = argv[i + 1];
    if (name == "--batch" && std::atol(value) > 0) {
      options.batch = std::atol(value);
    } else if (name == "--image" && std::atol(value) >= 32) {
      options.image = std::atol(value);
    } else if (name == "--only") {
      options.only = value;
    } else if (name == "--clock" && (!std::strcmp(value, "wall") ||
                                     !std::strcmp(value, "processor"))) {
      options.processorTime = !std::strcmp(value, "processor");
    } else if (name == "--threads") {
      options.threads.clear();
      for (const std::string &threads : splitAtCommas(value)) {
        if (std::atoi(threads.c_str()) < 1)
          return usage(value);
        options.threads.push_back((unsigned)std::atoi(threads.c_str()));
      }
    } else if (name == "--points") {
      options.points.clear();
      for (const std::string &points : splitAtCommas(value)) {
        if (std::atol(points.c_str()) < 1)
          return usage(value);
        options.points.push_back(std::atol(points.c_str()));
      }
    } else if (name == "--backend") {
      options.backends = splitAtCommas(value);
      for (const std::string &backend : options.backends)
        if (backend != "onednn" && backend != "builtin")
          return usage(value);
    } else {
      return usage(argv[i]);
    }
  }
  try {
    return run(options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "espalier-layer-bench: %s\n", error.what());
    return 1;
  }
}
