//===- RandomPlan.cpp - Graphs and plans that nobody planned --------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomPlan.h"

#include <algorithm>
#include <optional>
#include <random>

using namespace espalier::planning;

namespace {

class Player {
public:
  explicit Player(unsigned seed) : random(seed) {}

  /// None if a tensor was dropped that could not be had again.
  std::optional<RandomPlan> play() {
    makeGraph();
    start();
    for (size_t o = 0; o < graph.operators.size(); ++o) {
      run(OperatorId(o));
      while (chance(30))
        forget();
    }
    finish();
    if (stuck)
      return std::nullopt;
    place();
    countHostBytes();
    return RandomPlan{graph, plan};
  }

private:
  int pick(int count) { return int(random() % unsigned(count)); }
  bool chance(int percent) { return pick(100) < percent; }

  //===--------------------------------------------------------------------===//
  // The graph
  //===--------------------------------------------------------------------===//

  TensorId addTensor(TensorKind kind, int64_t bytes, TensorId viewOf = -1) {
    TensorId id = TensorId(graph.tensors.size());
    graph.tensors.push_back({"t" + std::to_string(id), bytes, kind, viewOf});
    return id;
  }

  void makeGraph() {
    graph.name = "random";
    for (int i = 1 + pick(2); i > 0; --i)
      addTensor(TensorKind::input, 1 + pick(64));
    for (int i = pick(4); i > 0; --i)
      addTensor(TensorKind::parameter, 1 + pick(64));
    size_t given = graph.tensors.size();
    std::vector<TensorId> readable;
    for (size_t t = 0; t < given; ++t)
      readable.push_back(TensorId(t));

    int count = 3 + pick(14);
    for (int o = 0; o < count; ++o) {
      Operator op;
      op.name = "op" + std::to_string(o);
      op.flops = 1 + pick(100);
      op.bytes = 1 + pick(100);
      for (int i = 1 + pick(3); i > 0; --i)
        // Mostly of the last ones, so that graphs are deep.
        op.inputs.push_back(
            readable[chance(60) ? readable.size() - 1 -
                                      size_t(pick(std::min<int>(
                                          3, int(readable.size()))))
                                : size_t(pick(int(readable.size())))]);
      if (chance(15)) {
        TensorId base = op.inputs.front();
        op.inputs = {base};
        op.outputs = {
            addTensor(TensorKind::temporary, graph.tensors[base].bytes, base)};
        op.flops = op.bytes = 0;
      } else {
        for (int i = 1 + (chance(20) ? 1 : 0); i > 0; --i) {
          int32_t inPlace = chance(60) ? pick(int(op.inputs.size())) : -1;
          int64_t bytes = inPlace >= 0 ? graph.tensors[op.inputs[inPlace]].bytes
                                       : 1 + pick(64);
          op.outputs.push_back(addTensor(
              chance(10) ? TensorKind::output : TensorKind::temporary, bytes));
          op.inPlace.push_back(inPlace);
        }
        op.recomputable = chance(85);
        if (chance(30))
          op.algorithms = {{"fast", 1 + pick(64), 1}, {"small", 0, 2}};
      }
      graph.operators.push_back(op);
      for (TensorId output : op.outputs)
        readable.push_back(output);

      // Some parameter is updated now; its old value is read no more.
      if (!chance(25))
        continue;
      std::vector<TensorId> parameters;
      for (TensorId t : readable)
        if (size_t(t) < given && graph.tensors[t].kind == TensorKind::parameter)
          parameters.push_back(t);
      if (parameters.empty())
        continue;
      TensorId parameter = parameters[size_t(pick(int(parameters.size())))];
      // A view of it would not be the old value for long.
      if (graph.storageOf(op.outputs.front()) == parameter)
        continue;
      Operator update;
      update.name = "update" + std::to_string(o);
      update.inputs = {op.outputs.front()};
      if (chance(70))
        update.inputs.push_back(parameter);
      update.outputs = {
          addTensor(chance(50) ? TensorKind::output : TensorKind::temporary,
                    graph.tensors[parameter].bytes)};
      update.updates = {parameter};
      update.recomputable = chance(50); // Says so, and may not all the same.
      graph.operators.push_back(update);
      readable.erase(std::remove_if(readable.begin(), readable.end(),
                                    [&](TensorId t) {
                                      return graph.storageOf(t) == parameter;
                                    }),
                     readable.end());
      readable.push_back(update.outputs.front());
    }
    // Somebody wants the end.
    Tensor &last = graph.tensors[graph.operators.back().outputs.back()];
    if (last.viewOf < 0)
      last.kind = TensorKind::output;
    producers = producersOf(graph);
  }

  //===--------------------------------------------------------------------===//
  // The play
  //===--------------------------------------------------------------------===//

  int32_t now() const { return int32_t(plan.steps.size()); }

  BufferId addBuffer(TensorId tensor) {
    Buffer buffer;
    buffer.tensor = tensor;
    buffer.bytes = graph.tensors[tensor].bytes + (chance(10) ? 5 : 0);
    buffer.first = buffer.last = now();
    plan.buffers.push_back(buffer);
    group.push_back(BufferId(plan.buffers.size() - 1));
    return group.back();
  }

  bool isHome(TensorId tensor) const {
    TensorKind kind = graph.tensors[tensor].kind;
    return kind == TensorKind::input || kind == TensorKind::parameter;
  }

  void start() {
    live.assign(graph.tensors.size(), -1);
    host.assign(graph.tensors.size(), false);
    pinned.assign(graph.tensors.size(), false);
    hostHome.assign(graph.tensors.size(), false);
    updatedBy.assign(graph.tensors.size(), -1);
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      if (!isHome(TensorId(t)))
        continue;
      if (chance(50)) {
        host[t] = hostHome[t] = true;
        continue;
      }
      live[t] = addBuffer(TensorId(t));
      pinned[t] = graph.tensors[t].kind == TensorKind::parameter;
    }
  }

  void use(BufferId buffer) {
    plan.buffers[buffer].last = std::max(plan.buffers[buffer].last, now());
  }

  /// A buffer of `tensor` on the device.
  BufferId need(TensorId tensor, int depth = 0) {
    if (live[tensor] >= 0)
      return live[tensor];
    TensorId storage = graph.storageOf(tensor);
    if (stuck || depth > 40 || (!host[storage] && producers[tensor] < 0)) {
      stuck = true;
      return 0;
    }
    bool isView = storage != tensor;
    if (host[storage] && (!isView || chance(50))) {
      Step step;
      step.kind = Step::Kind::prefetch;
      live[tensor] = addBuffer(tensor);
      step.outputs = {live[tensor]};
      plan.steps.push_back(step);
      return live[tensor];
    }
    const Operator &op = graph.operators[producers[tensor]];
    if (!op.recomputable || !op.updates.empty()) {
      stuck = true;
      return 0;
    }
    run(producers[tensor], depth + 1);
    return live[tensor] >= 0 ? live[tensor] : 0;
  }

  void run(OperatorId id, int depth = 0) {
    const Operator &op = graph.operators[id];
    Step step;
    step.op = id;
    // To have one input may take the memory of another: until all are there.
    for (int tries = 0;; ++tries) {
      step.inputs.clear();
      for (TensorId input : op.inputs)
        step.inputs.push_back(need(input, depth));
      bool allThere = true;
      for (TensorId input : op.inputs)
        allThere &= live[input] >= 0;
      if (stuck || tries > 5)
        stuck = true;
      if (stuck)
        return;
      if (allThere)
        break;
    }
    // What is needed in the end has not been asked for twice.
    step.inputs.clear();
    for (TensorId input : op.inputs)
      step.inputs.push_back(live[input]);
    for (BufferId input : step.inputs)
      use(input);
    if (!op.algorithms.empty()) {
      step.algorithm = pick(2);
      step.workspaceBytes = op.algorithms[step.algorithm].workspaceBytes;
    }
    std::vector<BufferId> outputs;
    for (size_t i = 0; i < op.outputs.size(); ++i)
      outputs.push_back(makeOutput(op, step, i));
    step.outputs = outputs;
    plan.steps.push_back(step);
    // One that is computed again may still have another buffer, maybe fetched:
    // what is fetched has to be read.
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (live[op.outputs[i]] < 0)
        live[op.outputs[i]] = outputs[i];

    for (size_t i = 0; i < op.updates.size(); ++i) {
      TensorId parameter = op.updates[i];
      updatedBy[parameter] = op.outputs[i];
      host[parameter] = false;
      if (hostHome[parameter])
        offload(op.outputs[i]);
      else
        pinned[op.outputs[i]] = true;
    }
  }

  BufferId makeOutput(const Operator &op, const Step &step, size_t i) {
    TensorId tensor = op.outputs[i];
    BufferId output = addBuffer(tensor);
    Buffer &buffer = plan.buffers[output];
    if (graph.tensors[tensor].viewOf >= 0) {
      shareWith(output, step.inputs.front());
      join(output, step.inputs.front());
    } else if (!op.updates.empty()) {
      TensorId parameter = op.updates[i];
      // Of the parameter's buffers none may stay.
      if (live[parameter] >= 0) {
        BufferId old = live[parameter];
        shareWith(output, old);
        use(old);
        join(output, old);
        forgetGroup(group[old]);
      }
    } else if (op.inPlace[i] >= 0 && chance(70)) {
      BufferId input = step.inputs[op.inPlace[i]];
      bool may = true;
      for (size_t j = 0; j < step.inputs.size(); ++j)
        may &= int32_t(j) == op.inPlace[i] ||
               group[step.inputs[j]] != group[input];
      for (size_t b = 0; b < group.size(); ++b)
        if (group[b] == group[input])
          may &= !pinned[graph.storageOf(plan.buffers[b].tensor)] &&
                 !isOutputValue(plan.buffers[b].tensor);
      may &= buffer.bytes <= plan.buffers[input].bytes;
      for (BufferId other : taken)
        may &= other != group[input];
      if (may) {
        shareWith(output, input);
        forgetGroup(group[input]);
        taken.push_back(group[input]);
      }
    }
    return output;
  }

  void shareWith(BufferId output, BufferId other) {
    plan.buffers[output].sharesWith = other;
    plan.buffers[output].bytes =
        std::min(plan.buffers[output].bytes, plan.buffers[other].bytes);
  }
  void join(BufferId output, BufferId other) { group[output] = group[other]; }

  bool isOutputValue(TensorId tensor) const {
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (graph.tensors[t].kind == TensorKind::output &&
          graph.storageOf(TensorId(t)) == graph.storageOf(tensor))
        return true;
    return false;
  }

  void forgetGroup(BufferId which) {
    for (BufferId &buffer : live)
      if (buffer >= 0 && group[buffer] == which)
        buffer = -1;
  }

  void offload(TensorId tensor) {
    Step step;
    step.kind = Step::Kind::offload;
    step.inputs = {live[tensor]};
    use(live[tensor]);
    plan.steps.push_back(step);
    host[graph.storageOf(tensor)] = true;
  }

  /// Drops some tensor, or offloads it, or both.
  void forget() {
    std::vector<TensorId> candidates;
    for (size_t t = 0; t < live.size(); ++t)
      if (live[t] >= 0 && !pinned[graph.storageOf(TensorId(t))])
        candidates.push_back(TensorId(t));
    if (candidates.empty())
      return;
    TensorId tensor = candidates[size_t(pick(int(candidates.size())))];
    bool isParameter =
        graph.tensors[graph.storageOf(tensor)].kind == TensorKind::parameter;
    if (chance(60) && !isParameter && !isUpdate(tensor) &&
        !hostHome[graph.storageOf(tensor)])
      offload(tensor);
    if (chance(80))
      live[tensor] = -1;
  }

  bool isUpdate(TensorId tensor) const {
    OperatorId producer = producers[graph.storageOf(tensor)];
    return producer >= 0 && !graph.operators[producer].updates.empty();
  }

  void finish() {
    for (size_t t = 0; t < graph.tensors.size() && !stuck; ++t)
      if (graph.tensors[t].kind == TensorKind::output &&
          !isUpdate(TensorId(t)) && !host[graph.storageOf(TensorId(t))])
        need(TensorId(t));
    // Some stay on the device besides; who fetches the last may have taken
    // nothing over, since outputs are not.
    if (plan.steps.empty())
      stuck = true;
    int32_t last = now() - 1;
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (live[t] >= 0 &&
          (pinned[t] || (graph.tensors[t].kind == TensorKind::output &&
                         !host[graph.storageOf(TensorId(t))])))
        plan.buffers[live[t]].last = last;
    // Given for good: where the update lies, too.
    for (Buffer &buffer : plan.buffers)
      if (pinned[buffer.tensor])
        buffer.last = last;
  }

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  /// First fit of what shares memory as one.
  void place() {
    struct Rectangle {
      int32_t first, last;
      int64_t bytes;
      int64_t offset;
    };
    std::vector<Rectangle> placed;
    auto fit = [&](Rectangle one) {
      one.offset = pick(4);
      for (bool moved = true; moved;) {
        moved = false;
        for (const Rectangle &other : placed)
          if (one.first <= other.last && other.first <= one.last &&
              one.offset < other.offset + other.bytes &&
              other.offset < one.offset + one.bytes) {
            one.offset = other.offset + other.bytes;
            moved = true;
          }
      }
      placed.push_back(one);
      plan.arenaBytes = std::max(plan.arenaBytes, one.offset + one.bytes);
      return one.offset;
    };
    std::vector<BufferId> root(plan.buffers.size());
    for (size_t b = 0; b < plan.buffers.size(); ++b)
      root[b] = plan.buffers[b].sharesWith < 0
                    ? BufferId(b)
                    : root[size_t(plan.buffers[b].sharesWith)];
    for (size_t r = 0; r < plan.buffers.size(); ++r) {
      if (root[r] != BufferId(r))
        continue;
      Rectangle all{plan.buffers[r].first, plan.buffers[r].last,
                    plan.buffers[r].bytes, 0};
      for (size_t b = 0; b < plan.buffers.size(); ++b)
        if (root[b] == BufferId(r))
          all.last = std::max(all.last, plan.buffers[b].last);
      int64_t offset = fit(all);
      for (size_t b = 0; b < plan.buffers.size(); ++b)
        if (root[b] == BufferId(r))
          plan.buffers[b].offset = offset;
    }
    for (size_t s = 0; s < plan.steps.size(); ++s)
      if (plan.steps[s].workspaceBytes > 0)
        plan.steps[s].workspaceOffset =
            fit({int32_t(s), int32_t(s), plan.steps[s].workspaceBytes, 0});
  }

  /// Word for word what Plan.h says, one step and tensor at a time.
  void countHostBytes() {
    size_t count = plan.steps.size();
    for (size_t s = 0; s < count; ++s) {
      int64_t held = 0;
      for (size_t t = 0; t < graph.tensors.size(); ++t) {
        if (hostHome[t]) {
          held += graph.tensors[t].bytes;
          continue;
        }
        TensorId storage = TensorId(t);
        if (graph.storageOf(storage) != storage || isUpdate(storage))
          continue;
        auto copies = [&](size_t at, Step::Kind kind) {
          const Step &step = plan.steps[at];
          if (step.kind != kind)
            return false;
          BufferId buffer =
              kind == Step::Kind::offload ? step.inputs[0] : step.outputs[0];
          return graph.storageOf(plan.buffers[buffer].tensor) == storage;
        };
        bool offloaded = false;
        for (size_t before = 0; before <= s; ++before)
          offloaded |= copies(before, Step::Kind::offload);
        if (!offloaded)
          continue;
        bool holds = copies(s, Step::Kind::offload);
        bool again = false;
        for (size_t after = s; after < count && !again; ++after) {
          again = after > s && copies(after, Step::Kind::offload);
          holds |= copies(after, Step::Kind::prefetch) && !again;
        }
        bool onDevice = false;
        for (const Buffer &buffer : plan.buffers)
          onDevice |= graph.storageOf(buffer.tensor) == storage &&
                      buffer.last == int32_t(count) - 1;
        if (isOutputValue(storage) && !onDevice && !again)
          holds = true;
        held += holds ? graph.tensors[t].bytes : 0;
      }
      plan.hostBytes = std::max(plan.hostBytes, held);
    }
  }

  std::mt19937 random;
  Graph graph;
  Plan plan;
  std::vector<OperatorId> producers;
  /// By tensor: its buffer on the device; -1: none.
  std::vector<BufferId> live;
  /// By tensor that is no view: whether the host has it.
  std::vector<bool> host, hostHome;
  /// Parameters that stay on the device.
  std::vector<bool> pinned;
  std::vector<TensorId> updatedBy;
  /// By buffer: the first of those whose memory it shares.
  std::vector<BufferId> group;
  std::vector<BufferId> taken;
  bool stuck = false;
};

} // namespace

RandomPlan espalier::planning::makeRandomPlan(unsigned seed) {
  for (unsigned tries = 0;; ++tries)
    if (std::optional<RandomPlan> plan = Player(seed + tries * 1000003).play())
      return *plan;
}
