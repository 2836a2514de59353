//===- Networks.h - Training iterations of known networks -------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs for tests and measurements of planners: forward, backward and update
// operators of AlexNet, VGG16, the ResNets and chains, with the sizes, flops
// and traffic that f32 and SGD with momentum give them. They are made here, and
// not from IR, so that planners can be tested without a compiler.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_TEST_UNIT_PLANNING_NETWORKS_H
#define ESPALIER_TEST_UNIT_PLANNING_NETWORKS_H

#include "espalier/Planning/Graph.h"
#include "espalier/Planning/Machine.h"

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::planning {

/// The paper's card, with the speed of PCIe that it reports.
inline Machine makeK40c() {
  Machine machine;
  machine.name = "k40c";
  machine.device = {"Tesla K40c", int64_t(12) << 30, 4.29e12, 288e9, 5e-6,
                    "cuda"};
  machine.link = {8e9, 10e-6, true};
  machine.hostMemoryBytes = int64_t(256) << 30;
  return machine;
}

inline Machine makeTitanXp() {
  Machine machine;
  machine.name = "titan-xp";
  machine.device = {"TITAN Xp", int64_t(12) << 30, 12.15e12, 547.7e9, 5e-6,
                    "cuda"};
  machine.link = {10e9, 10e-6, true};
  machine.hostMemoryBytes = int64_t(256) << 30;
  return machine;
}

struct NetworkOptions {
  int64_t batch = 32;
  /// Momentum besides the gradient.
  bool momentum = true;
  /// Parameters and images take no room, and there are no updates.
  bool dataOnly = false;
  /// As the paper counts: data only, adjoints of pooling and normalisation over
  /// channels read the forward's result too, and ReLU and dropout keep their
  /// operand.
  bool asInThePaper = false;
  /// Batch normalisation as two operators, so that the second is separable.
  bool splitNormalization = false;
  /// Whether convolutions have algorithms with workspaces.
  bool workspaces = false;
};

/// Makes the forward operators of one layer per call, and the others at the
/// end.
class NetworkBuilder {
public:
  /// A tensor of the forward pass, and its shape without the batch.
  struct Value {
    TensorId id = -1;
    int64_t channels = 0, height = 1, width = 1;
    int64_t size() const { return channels * height * width; }
  };

  NetworkBuilder(std::string name, NetworkOptions options)
      : options(options), batch(options.batch) {
    this->options.dataOnly |= options.asInThePaper;
    graph.name = std::move(name);
  }

  Value image(int64_t channels, int64_t height, int64_t width) {
    Value image{-1, channels, height, width};
    image.id = tensor("images", options.dataOnly ? 0 : bytesOf(image),
                      TensorKind::input, batch);
    noGradient.push_back(image.id);
    return image;
  }

  Value conv(const std::string &name, Value x, int64_t channels,
             std::array<int64_t, 2> window, int64_t stride,
             std::array<int64_t, 2> padding, int64_t groups = 1) {
    Value y{-1, channels, (x.height + 2 * padding[0] - window[0]) / stride + 1,
            (x.width + 2 * padding[1] - window[1]) / stride + 1};
    int64_t perOutput = x.channels / groups * window[0] * window[1];
    TensorId weights = parameter(name + ".weights", channels * perOutput);
    y.id = result(name, y);
    double flops = 2.0 * double(batch) * double(y.size()) * double(perOutput);
    addHeavy(name, "conv2d", {x.id, weights}, {y.id}, flops, Pass::forward,
             bytesOf(x) / x.size() * perOutput * y.height * y.width);
    tape.emplace_back([=] {
      TensorId d = takeGradient(y.id);
      if (wantsGradient(x.id)) {
        TensorId dx = gradient(name + ".dx", x);
        addHeavy(name + ".adjoint", "conv2d_transpose", {d, weights}, {dx},
                 flops, Pass::backward,
                 bytesOf(x) / x.size() * perOutput * y.height * y.width);
        giveGradient(x.id, dx);
      }
      TensorId dw = tensor(name + ".dW", bytes(weights));
      addHeavy(name + ".weight_adjoint", "conv2d_weight_adjoint", {x.id, d},
               {dw}, flops, Pass::backward,
               bytesOf(x) / x.size() * perOutput * y.height * y.width);
      gradients.emplace_back(weights, dw);
    });
    return y;
  }

  Value conv(const std::string &name, Value x, int64_t channels, int64_t window,
             int64_t stride = 1, int64_t padding = 0, int64_t groups = 1) {
    return conv(name, x, channels, {window, window}, stride, {padding, padding},
                groups);
  }

  Value dense(const std::string &name, Value x, int64_t channels) {
    Value y{-1, channels, 1, 1};
    TensorId weights = parameter(name + ".weights", channels * x.size());
    y.id = result(name, y);
    double flops = 2.0 * double(batch) * double(channels * x.size());
    addHeavy(name, "dense", {x.id, weights}, {y.id}, flops, Pass::forward, 0);
    tape.emplace_back([=] {
      TensorId d = takeGradient(y.id);
      TensorId dx = gradient(name + ".dx", x);
      addHeavy(name + ".adjoint", "matmul", {d, weights}, {dx}, flops,
               Pass::backward, 0);
      giveGradient(x.id, dx);
      TensorId dw = tensor(name + ".dW", bytes(weights));
      addHeavy(name + ".weight_adjoint", "matmul", {x.id, d}, {dw}, flops,
               Pass::backward, 0);
      gradients.emplace_back(weights, dw);
    });
    return y;
  }

  Value relu(const std::string &name, Value x) {
    return elementwise(name, "relu", x, /*readsResult=*/true);
  }

  Value dropout(const std::string &name, Value x) {
    return elementwise(name, "dropout", x, /*readsResult=*/false);
  }

  Value lrn(const std::string &name, Value x) {
    return window(name, "lrn", x, x, 10);
  }

  Value maxPool(const std::string &name, Value x, int64_t size, int64_t stride,
                int64_t padding = 0, bool ceil = false) {
    auto out = [&](int64_t in) {
      return (in + 2 * padding - size + (ceil ? stride - 1 : 0)) / stride + 1;
    };
    Value y{-1, x.channels, out(x.height), out(x.width)};
    return window(name, "max_pool2d", x, y, double(size * size));
  }

  Value averagePool(const std::string &name, Value x, int64_t size,
                    int64_t stride, int64_t padding) {
    Value y{-1, x.channels, (x.height + 2 * padding - size) / stride + 1,
            (x.width + 2 * padding - size) / stride + 1};
    return average(name, x, y);
  }

  Value globalPool(const std::string &name, Value x) {
    return average(name, x, Value{-1, x.channels, 1, 1});
  }

  Value batchNorm(const std::string &name, Value x) {
    Value y = x;
    TensorId scale = parameter(name + ".scale", x.channels);
    TensorId shift = parameter(name + ".shift", x.channels);
    y.id = result(name, y);
    TensorId mean = tensor(name + ".mean", x.channels * 4);
    TensorId variance = tensor(name + ".variance", x.channels * 4);
    if (options.splitNormalization) {
      add(name + ".statistics", "batch_statistics", {x.id}, {mean, variance},
          3.0 * double(batch * x.size()));
      Operator &op =
          add(name, "normalize", {x.id, scale, shift, mean, variance}, {y.id},
              4.0 * double(batch * x.size()));
      op.inPlace = {0};
      op.separable = true;
    } else {
      add(name, "batch_norm", {x.id, scale, shift}, {y.id, mean, variance},
          7.0 * double(batch * x.size()))
          .inPlace = {0, -1, -1};
    }
    addRunning(name + ".running_mean", mean);
    addRunning(name + ".running_variance", variance);
    tape.emplace_back([=] {
      TensorId d = takeGradient(y.id);
      TensorId dx = gradient(name + ".dx", x);
      TensorId dscale = tensor(name + ".dscale", x.channels * 4);
      TensorId dshift = tensor(name + ".dshift", x.channels * 4);
      if (options.splitNormalization) {
        add(name + ".sums_adjoint", "batch_sums", {x.id, mean, variance, d},
            {dscale, dshift}, 5.0 * double(batch * x.size()), Pass::backward);
        Operator &op =
            add(name + ".adjoint", "normalize_adjoint",
                {x.id, scale, mean, variance, dscale, dshift, d}, {dx},
                6.0 * double(batch * x.size()), Pass::backward);
        op.inPlace = {6};
        op.separable = true;
      } else {
        add(name + ".adjoint", "batch_norm_adjoint",
            {x.id, scale, mean, variance, d}, {dx, dscale, dshift},
            11.0 * double(batch * x.size()), Pass::backward)
            .inPlace = {4, -1, -1};
      }
      giveGradient(x.id, dx);
      gradients.emplace_back(scale, dscale);
      gradients.emplace_back(shift, dshift);
    });
    return y;
  }

  /// The residual join.
  Value join(const std::string &name, Value a, Value b) {
    Value y = a;
    y.id = result(name, y);
    Operator &op =
        add(name, "add", {a.id, b.id}, {y.id}, double(batch * a.size()));
    op.inPlace = {0};
    op.separable = true;
    tape.emplace_back([=] {
      TensorId d = takeGradient(y.id);
      giveGradient(a.id, d);
      giveGradient(b.id, d);
    });
    return y;
  }

  Value concat(const std::string &name, const std::vector<Value> &parts) {
    Value y = parts.front();
    y.channels = 0;
    std::vector<TensorId> ids;
    for (const Value &part : parts) {
      y.channels += part.channels;
      ids.push_back(part.id);
    }
    y.id = result(name, y);
    add(name, "concat", ids, {y.id}, 0).separable = true;
    tape.emplace_back([=] {
      TensorId d = takeGradient(y.id);
      for (const Value &part : parts) {
        TensorId dx = gradient(name + ".dx" + std::to_string(part.id), part);
        add(name + ".slice" + std::to_string(part.id), "slice", {d}, {dx}, 0,
            Pass::backward)
            .separable = true;
        giveGradient(part.id, dx);
      }
    });
    return y;
  }

  Value flatten(const std::string &name, Value x) {
    Value y{-1, x.size(), 1, 1};
    y.id = tensor(name, bytesOf(x), TensorKind::temporary, batch, x.id);
    addView(name, x.id, y.id, Pass::forward);
    tape.emplace_back([=] {
      TensorId d = takeGradient(y.id);
      TensorId dx =
          tensor(name + ".dx", bytesOf(x), TensorKind::temporary, batch, d);
      addView(name + ".adjoint", d, dx, Pass::backward);
      giveGradient(x.id, dx);
    });
    return y;
  }

  /// Softmax, cross entropy, everything backward and the updates.
  Graph train(Value scores) {
    TensorId labels = tensor("labels", batch * 8, TensorKind::input, batch);
    Value p = scores;
    p.id = result("softmax", p);
    TensorId loss = tensor("loss", 4, TensorKind::output);
    add("softmax", "softmax", {scores.id}, {p.id},
        5.0 * double(batch * p.size()))
        .separable = true;
    add("cross_entropy", "cross_entropy", {p.id, labels}, {loss},
        double(batch));
    TensorId d = gradient("softmax.dx", scores);
    Operator &op =
        add("softmax.adjoint", "softmax_cross_entropy_adjoint", {p.id, labels},
            {d}, double(batch * p.size()), Pass::backward);
    op.inPlace = {0};
    op.separable = true;
    giveGradient(scores.id, d);
    for (auto step = tape.rbegin(); step != tape.rend(); ++step)
      (*step)();
    for (auto [weights, dw] : gradients)
      addUpdate(weights, dw);
    return std::move(graph);
  }

private:
  int64_t bytesOf(const Value &value) const { return 4 * batch * value.size(); }
  int64_t bytes(TensorId id) const { return graph.tensors[id].bytes; }

  TensorId tensor(const std::string &name, int64_t bytes,
                  TensorKind kind = TensorKind::temporary, int64_t rows = 0,
                  TensorId viewOf = -1) {
    Tensor tensor;
    tensor.name = name;
    tensor.bytes = bytes;
    tensor.kind = kind;
    tensor.viewOf = viewOf;
    tensor.batch = rows;
    graph.tensors.push_back(tensor);
    gradientOf.push_back(-1);
    return TensorId(graph.tensors.size() - 1);
  }

  TensorId parameter(const std::string &name, int64_t count) {
    return tensor(name, options.dataOnly ? 0 : count * 4,
                  TensorKind::parameter);
  }

  TensorId result(const std::string &name, const Value &value) {
    return tensor(name, bytesOf(value), TensorKind::temporary, batch);
  }

  TensorId gradient(const std::string &name, const Value &value) {
    return result(name, value);
  }

  Operator &add(const std::string &name, const std::string &kind,
                std::vector<TensorId> inputs, std::vector<TensorId> outputs,
                double flops, Pass pass = Pass::forward) {
    Operator op;
    op.name = name;
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    op.flops = flops;
    op.pass = pass;
    for (TensorId t : op.inputs)
      op.bytes += double(bytes(t));
    for (TensorId t : op.outputs)
      op.bytes += double(bytes(t));
    graph.operators.push_back(std::move(op));
    return graph.operators.back();
  }

  void addView(const std::string &name, TensorId x, TensorId y, Pass pass) {
    Operator &op = add(name, "collapse_shape", {x}, {y}, 0, pass);
    op.bytes = 0;
    op.separable = true;
  }

  void addHeavy(const std::string &name, const std::string &kind,
                std::vector<TensorId> inputs, std::vector<TensorId> outputs,
                double flops, Pass pass, int64_t workspace) {
    Operator &op =
        add(name, kind, std::move(inputs), std::move(outputs), flops, pass);
    op.checkpoint = pass == Pass::forward;
    op.separable = true;
    if (!options.workspaces || workspace == 0)
      return;
    double seconds = flops / 4.29e12;
    op.algorithms = {{"fft", workspace, seconds},
                     {"gemm", workspace / batch, seconds * 1.3},
                     {"direct", 0, seconds * 2}};
  }

  Value elementwise(const std::string &name, const std::string &kind, Value x,
                    bool readsResult) {
    Value y = x;
    y.id = result(name, y);
    Operator &op = add(name, kind, {x.id}, {y.id}, double(batch * x.size()));
    if (!options.asInThePaper)
      op.inPlace = {0};
    op.separable = true;
    tape.emplace_back([=] {
      TensorId d = takeGradient(y.id);
      TensorId dx = gradient(name + ".dx", x);
      std::vector<TensorId> inputs = {d};
      if (readsResult)
        inputs.push_back(y.id);
      if (options.asInThePaper)
        inputs.push_back(x.id);
      Operator &adjoint = add(name + ".adjoint", kind + "_adjoint", inputs,
                              {dx}, double(batch * x.size()), Pass::backward);
      adjoint.inPlace = {0};
      adjoint.separable = true;
      giveGradient(x.id, dx);
    });
    return y;
  }

  Value window(const std::string &name, const std::string &kind, Value x,
               Value y, double flopsPerElement) {
    y.id = result(name, y);
    add(name, kind, {x.id}, {y.id}, flopsPerElement * double(batch * y.size()))
        .separable = true;
    tape.emplace_back([=] {
      TensorId d = takeGradient(y.id);
      TensorId dx = gradient(name + ".dx", x);
      std::vector<TensorId> inputs = {x.id, d};
      if (options.asInThePaper)
        inputs.push_back(y.id);
      Operator &op =
          add(name + ".adjoint", kind + "_adjoint", inputs, {dx},
              2 * flopsPerElement * double(batch * y.size()), Pass::backward);
      op.separable = true;
      if (kind == "lrn" && !options.asInThePaper)
        op.inPlace = {1};
      giveGradient(x.id, dx);
    });
    return y;
  }

  Value average(const std::string &name, Value x, Value y) {
    y.id = result(name, y);
    add(name, "avg_pool2d", {x.id}, {y.id}, double(batch * x.size()))
        .separable = true;
    tape.emplace_back([=] {
      TensorId d = takeGradient(y.id);
      TensorId dx = gradient(name + ".dx", x);
      add(name + ".adjoint", "avg_pool2d_adjoint", {d}, {dx},
          double(batch * x.size()), Pass::backward)
          .separable = true;
      giveGradient(x.id, dx);
    });
    return y;
  }

  void addRunning(const std::string &name, TensorId statistic) {
    if (options.dataOnly)
      return;
    TensorId old = parameter(name, bytes(statistic) / 4);
    TensorId updated = tensor(name + ".new", bytes(old), TensorKind::output);
    Operator &op = add(name + ".update", "lerp", {old, statistic}, {updated},
                       double(bytes(statistic)), Pass::update);
    op.recomputable = false;
    op.inPlace = {0};
    op.updates = {old};
  }

  void addUpdate(TensorId weights, TensorId dw) {
    if (options.dataOnly)
      return;
    std::string name = graph.tensors[weights].name;
    TensorId updated =
        tensor(name + ".new", bytes(weights), TensorKind::output);
    if (!options.momentum) {
      Operator &op = add(name + ".update", "sgd", {weights, dw}, {updated},
                         double(bytes(weights)) / 2, Pass::update);
      op.recomputable = false;
      op.inPlace = {0};
      op.updates = {weights};
      return;
    }
    TensorId velocity = parameter(name + ".velocity", bytes(weights) / 4);
    TensorId next =
        tensor(name + ".velocity.new", bytes(weights), TensorKind::output);
    Operator &op = add(name + ".update", "sgd", {weights, dw, velocity},
                       {updated, next}, double(bytes(weights)), Pass::update);
    op.recomputable = false;
    op.inPlace = {0, 2};
    op.updates = {weights, velocity};
  }

  bool wantsGradient(TensorId id) const {
    for (TensorId other : noGradient)
      if (other == id)
        return false;
    return true;
  }

  TensorId takeGradient(TensorId id) { return gradientOf[id]; }

  void giveGradient(TensorId id, TensorId d) {
    if (gradientOf[id] < 0) {
      gradientOf[id] = d;
      return;
    }
    TensorId sum =
        tensor(graph.tensors[id].name + ".d" + std::to_string(d), bytes(d),
               TensorKind::temporary, graph.tensors[d].batch);
    Operator &op = add(graph.tensors[sum].name, "add", {gradientOf[id], d},
                       {sum}, double(bytes(d)) / 4, Pass::backward);
    op.inPlace = {0};
    op.separable = true;
    gradientOf[id] = sum;
  }

  Graph graph;
  NetworkOptions options;
  int64_t batch;
  std::vector<std::function<void()>> tape;
  /// By tensor of the forward pass.
  std::vector<TensorId> gradientOf;
  std::vector<TensorId> noGradient;
  std::vector<std::pair<TensorId, TensorId>> gradients;
};

/// The paper's 23 layers, 227 x 227.
inline Graph makeAlexNet(NetworkOptions options = {}) {
  NetworkBuilder b("alexnet", options);
  auto x = b.image(3, 227, 227);
  x = b.relu("relu1", b.conv("conv1", x, 96, 11, 4));
  x = b.maxPool("pool1", b.lrn("lrn1", x), 3, 2);
  x = b.relu("relu2", b.conv("conv2", x, 256, 5, 1, 2, 2));
  x = b.maxPool("pool2", b.lrn("lrn2", x), 3, 2);
  x = b.relu("relu3", b.conv("conv3", x, 384, 3, 1, 1));
  x = b.relu("relu4", b.conv("conv4", x, 384, 3, 1, 1, 2));
  x = b.relu("relu5", b.conv("conv5", x, 256, 3, 1, 1, 2));
  x = b.maxPool("pool5", x, 3, 2);
  x = b.flatten("flatten", x);
  x = b.dropout("dropout1", b.relu("relu6", b.dense("fc1", x, 4096)));
  x = b.dropout("dropout2", b.relu("relu7", b.dense("fc2", x, 4096)));
  return b.train(b.dense("fc3", x, 1000));
}

inline Graph makeVGG16(NetworkOptions options = {}) {
  NetworkBuilder b("vgg16", options);
  auto x = b.image(3, 224, 224);
  int stage = 0;
  for (auto [channels, count] : std::vector<std::pair<int, int>>{
           {64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
    ++stage;
    for (int i = 1; i <= count; ++i) {
      std::string name = std::to_string(stage) + "_" + std::to_string(i);
      x = b.relu("relu" + name, b.conv("conv" + name, x, channels, 3, 1, 1));
    }
    x = b.maxPool("pool" + std::to_string(stage), x, 2, 2);
  }
  x = b.flatten("flatten", x);
  x = b.dropout("dropout1", b.relu("relu6", b.dense("fc1", x, 4096)));
  x = b.dropout("dropout2", b.relu("relu7", b.dense("fc2", x, 4096)));
  return b.train(b.dense("fc3", x, 1000));
}

/// Of 3 * (sum of blocks) + 2 layers, by the paper's count. 3, 4, 6, 3:
/// ResNet-50.
inline Graph makeResNet(std::array<int, 4> blocks,
                        NetworkOptions options = {}) {
  NetworkBuilder b(
      "resnet" + std::to_string(
                     3 * (blocks[0] + blocks[1] + blocks[2] + blocks[3]) + 2),
      options);
  auto x = b.image(3, 224, 224);
  x = b.relu("relu0", b.batchNorm("bn0", b.conv("conv0", x, 64, 7, 2, 3)));
  x = b.maxPool("pool0", x, 3, 2, 1);
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < blocks[stage]; ++block) {
      std::string name =
          std::to_string(stage + 1) + "." + std::to_string(block) + ".";
      int64_t width = int64_t(64) << stage;
      int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      auto shortcut = x;
      if (block == 0)
        shortcut = b.batchNorm(name + "bn0",
                               b.conv(name + "conv0", x, 4 * width, 1, stride));
      auto y = b.conv(name + "conv1", x, width, 1, stride);
      y = b.relu(name + "relu1", b.batchNorm(name + "bn1", y));
      y = b.conv(name + "conv2", y, width, 3, 1, 1);
      y = b.relu(name + "relu2", b.batchNorm(name + "bn2", y));
      y = b.conv(name + "conv3", y, 4 * width, 1);
      y = b.batchNorm(name + "bn3", y);
      x = b.relu(name + "relu3", b.join(name + "join", y, shortcut));
    }
  x = b.globalPool("pool5", x);
  return b.train(b.dense("fc", b.flatten("flatten", x), 1000));
}

inline Graph makeInceptionV4(NetworkOptions options = {}) {
  NetworkBuilder b("inception_v4", options);
  using Value = NetworkBuilder::Value;
  using Pair = std::array<int64_t, 2>;
  int count = 0;
  auto conv = [&](Value x, int64_t channels, Pair window, int64_t stride = 1,
                  bool same = true) {
    std::string name = std::to_string(++count);
    Pair padding = same ? Pair{window[0] / 2, window[1] / 2} : Pair{0, 0};
    return b.relu("relu" + name,
                  b.batchNorm("bn" + name, b.conv("conv" + name, x, channels,
                                                  window, stride, padding)));
  };
  auto name = [&](const char *kind) { return kind + std::to_string(++count); };
  auto x = b.image(3, 299, 299);
  x = conv(x, 32, {3, 3}, 2, false);
  x = conv(x, 32, {3, 3}, 1, false);
  x = conv(x, 64, {3, 3});
  x = b.concat(name("concat"), {b.maxPool(name("pool"), x, 3, 2),
                                conv(x, 96, {3, 3}, 2, false)});
  auto left = conv(conv(x, 64, {1, 1}), 96, {3, 3}, 1, false);
  auto right = conv(conv(conv(x, 64, {1, 1}), 64, {7, 1}), 64, {1, 7});
  right = conv(right, 96, {3, 3}, 1, false);
  x = b.concat(name("concat"), {left, right});
  x = b.concat(name("concat"), {conv(x, 192, {3, 3}, 2, false),
                                b.maxPool(name("pool"), x, 3, 2)});
  for (int i = 0; i < 4; ++i) {
    auto p = conv(b.averagePool(name("average"), x, 3, 1, 1), 96, {1, 1});
    auto q = conv(x, 96, {1, 1});
    auto r = conv(conv(x, 64, {1, 1}), 96, {3, 3});
    auto s = conv(conv(conv(x, 64, {1, 1}), 96, {3, 3}), 96, {3, 3});
    x = b.concat(name("concat"), {p, q, r, s});
  }
  {
    auto p = b.maxPool(name("pool"), x, 3, 2);
    auto q = conv(x, 384, {3, 3}, 2, false);
    auto r =
        conv(conv(conv(x, 192, {1, 1}), 224, {3, 3}), 256, {3, 3}, 2, false);
    x = b.concat(name("concat"), {p, q, r});
  }
  for (int i = 0; i < 7; ++i) {
    auto p = conv(b.averagePool(name("average"), x, 3, 1, 1), 128, {1, 1});
    auto q = conv(x, 384, {1, 1});
    auto r = conv(conv(conv(x, 192, {1, 1}), 224, {1, 7}), 256, {7, 1});
    auto s = conv(conv(conv(x, 192, {1, 1}), 192, {1, 7}), 224, {7, 1});
    s = conv(conv(s, 224, {1, 7}), 256, {7, 1});
    x = b.concat(name("concat"), {p, q, r, s});
  }
  {
    auto p = b.maxPool(name("pool"), x, 3, 2);
    auto q = conv(conv(x, 192, {1, 1}), 192, {3, 3}, 2, false);
    auto r = conv(conv(conv(x, 256, {1, 1}), 256, {1, 7}), 320, {7, 1});
    x = b.concat(name("concat"), {p, q, conv(r, 320, {3, 3}, 2, false)});
  }
  for (int i = 0; i < 3; ++i) {
    auto p = conv(b.averagePool(name("average"), x, 3, 1, 1), 256, {1, 1});
    auto q = conv(x, 256, {1, 1});
    auto r = conv(x, 384, {1, 1});
    auto s = conv(conv(conv(x, 384, {1, 1}), 448, {1, 3}), 512, {3, 1});
    x = b.concat(name("concat"),
                 {p, q, conv(r, 256, {1, 3}), conv(r, 256, {3, 1}),
                  conv(s, 256, {1, 3}), conv(s, 256, {3, 1})});
  }
  x = b.globalPool("pool", x);
  x = b.dropout("dropout", b.flatten("flatten", x));
  return b.train(b.dense("fc", x, 1000));
}

/// `depth` times a 3 x 3 convolution and a ReLU, all of one size.
inline Graph makeChain(int depth, NetworkOptions options = {},
                       int64_t channels = 64, int64_t size = 56) {
  NetworkBuilder b("chain" + std::to_string(depth), options);
  auto x = b.image(channels, size, size);
  for (int i = 0; i < depth; ++i) {
    std::string name = std::to_string(i);
    x = b.relu("relu" + name, b.conv("conv" + name, x, channels, 3, 1, 1));
  }
  return b.train(
      b.dense("fc", b.flatten("flatten", b.globalPool("pool", x)), 10));
}

} // namespace espalier::planning

#endif // ESPALIER_TEST_UNIT_PLANNING_NETWORKS_H
