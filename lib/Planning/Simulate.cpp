//===- Simulate.cpp - How long a plan takes, and what it needs ------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/Simulate.h"

#include "StableSort.h"

#include <algorithm>
#include <map>
#include <queue>

using namespace espalier::planning;

namespace {

/// Which addresses are read by copies to the host that may not have ended, and
/// when they will have.
class PendingReads {
public:
  void add(int64_t begin, int64_t end, double time) {
    if (begin >= end)
      return;
    // Copies end in the order in which they start: this one is the last.
    take(begin, end);
    ranges[begin] = {end, time};
  }

  /// When all copies that read of the range have ended; whoever asks waits for
  /// them, so that nobody has to again.
  double take(int64_t begin, int64_t end) {
    if (begin >= end)
      return 0;
    cutAt(begin);
    cutAt(end);
    double last = 0;
    auto range = ranges.lower_bound(begin);
    while (range != ranges.end() && range->first < end) {
      last = std::max(last, range->second.time);
      range = ranges.erase(range);
    }
    return last;
  }

private:
  struct Range {
    int64_t end;
    double time;
  };

  void cutAt(int64_t address) {
    auto range = ranges.lower_bound(address);
    if (range == ranges.begin())
      return;
    --range;
    if (range->second.end <= address)
      return;
    ranges[address] = range->second;
    range->second.end = address;
  }

  std::map<int64_t, Range> ranges;
};

/// A sum that changes at steps.
class Curve {
public:
  explicit Curve(size_t steps) : changes(steps + 1, 0) {}

  /// At the steps [first, last].
  void add(int64_t first, int64_t last, int64_t bytes) {
    changes[first] += bytes;
    changes[last + 1] -= bytes;
  }

  std::vector<int64_t> sum() const {
    std::vector<int64_t> values(changes.size() - 1);
    int64_t value = 0;
    for (size_t s = 0; s < values.size(); ++s)
      values[s] = value += changes[s];
    return values;
  }

private:
  std::vector<int64_t> changes;
};

int64_t maxOf(const std::vector<int64_t> &values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

class Simulator {
public:
  Simulator(const Graph &graph, const Plan &plan, const Machine &machine)
      : graph(graph), plan(plan), machine(machine) {}

  Simulation run() {
    findPlaces();
    runSteps();
    measureArena();
    measureLiveness();
    measureHost();
    measureGraph();
    return std::move(result);
  }

private:
  size_t count() const { return plan.steps.size(); }
  int64_t endOf(const Buffer &buffer) const {
    return buffer.offset + buffer.bytes;
  }

  bool isView(TensorId tensor) const {
    return graph.tensors[tensor].viewOf >= 0;
  }

  /// All views of a tensor, and all values of a parameter, have one place.
  void findPlaces() {
    std::vector<TensorId> updated(graph.tensors.size());
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      updated[t] = TensorId(t);
    for (const Operator &op : graph.operators)
      for (size_t i = 0; i < op.updates.size(); ++i)
        if (op.updates[i] >= 0)
          updated[op.outputs[i]] = graph.storageOf(op.updates[i]);
    placeOf.resize(graph.tensors.size());
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      placeOf[t] = updated[graph.storageOf(TensorId(t))];
  }

  bool isFree(const Operator &op) const {
    return !op.outputs.empty() &&
           std::all_of(op.outputs.begin(), op.outputs.end(),
                       [&](TensorId output) { return isView(output); });
  }

  double secondsOf(const Operator &op, int32_t algorithm) const {
    if (isFree(op))
      return 0;
    return machine.secondsOf(
        op, op.algorithms.empty() ? nullptr : &op.algorithms[algorithm]);
  }

  double fastestSeconds(const Operator &op) const {
    double seconds = secondsOf(op, 0);
    for (size_t a = 1; a < op.algorithms.size(); ++a)
      seconds = std::min(seconds, secondsOf(op, int32_t(a)));
    return seconds;
  }

  //===--------------------------------------------------------------------===//
  // Time
  //===--------------------------------------------------------------------===//

  void runSteps() {
    result.steps.resize(count());
    firstRun.assign(graph.operators.size(), -1);
    filledAt.assign(plan.buffers.size(), 0);
    onHostAt.assign(graph.tensors.size(), 0);
    for (size_t s = 0; s < count(); ++s) {
      const Step &step = plan.steps[s];
      switch (step.kind) {
      case Step::Kind::compute:
        compute(s, step);
        break;
      case Step::Kind::offload:
        offload(s, step.inputs.front());
        break;
      case Step::Kind::prefetch:
        prefetch(s, step.outputs.front());
        break;
      }
      result.seconds = std::max(result.seconds, result.steps[s].end);
    }
    result.drainSeconds = result.seconds - clock;
  }

  void compute(size_t s, const Step &step) {
    const Operator &op = graph.operators[step.op];
    StepTimes &times = result.steps[s];
    double filled = clock;
    for (BufferId input : step.inputs)
      filled = std::max(filled, filledAt[input]);
    double isFreed = filled;
    for (BufferId output : step.outputs) {
      const Buffer &buffer = plan.buffers[output];
      if (!isView(buffer.tensor))
        isFreed = std::max(isFreed, reads.take(buffer.offset, endOf(buffer)));
    }
    if (step.workspaceBytes > 0)
      isFreed = std::max(
          isFreed, reads.take(step.workspaceOffset,
                              step.workspaceOffset + step.workspaceBytes));
    double seconds = secondsOf(op, step.algorithm);
    times.fetchStall = filled - clock;
    times.memoryStall = isFreed - filled;
    times.start = isFreed;
    times.end = isFreed + seconds;
    clock = times.end;
    result.computeSeconds += seconds;
    result.fetchStallSeconds += times.fetchStall;
    result.memoryStallSeconds += times.memoryStall;

    if (firstRun[step.op] < 0) {
      firstRun[step.op] = int32_t(s);
      result.secondsUnlimited += fastestSeconds(op);
      return;
    }
    times.again = true;
    if (isFree(op))
      return;
    ++result.recomputedOperators;
    result.recomputedFlops += op.flops;
    result.recomputedSeconds += seconds;
  }

  void offload(size_t s, BufferId input) {
    const Buffer &buffer = plan.buffers[input];
    StepTimes &times = result.steps[s];
    times.start = std::max({toHost, clock, filledAt[input]});
    copy(times, buffer.tensor, result.offloadBytes, result.offloadSeconds);
    toHost = times.end;
    if (!machine.link.fullDuplex)
      toDevice = times.end;
    reads.add(buffer.offset, endOf(buffer), times.end);
    onHostAt[placeOf[buffer.tensor]] = times.end;
  }

  void prefetch(size_t s, BufferId output) {
    const Buffer &buffer = plan.buffers[output];
    StepTimes &times = result.steps[s];
    times.start = std::max({toDevice, clock, onHostAt[placeOf[buffer.tensor]],
                            reads.take(buffer.offset, endOf(buffer))});
    copy(times, buffer.tensor, result.prefetchBytes, result.prefetchSeconds);
    toDevice = times.end;
    if (!machine.link.fullDuplex)
      toHost = times.end;
    filledAt[output] = times.end;
  }

  void copy(StepTimes &times, TensorId tensor, int64_t &totalBytes,
            double &totalSeconds) {
    int64_t bytes = graph.tensors[graph.storageOf(tensor)].bytes;
    double seconds = machine.transferSeconds(bytes);
    times.end = times.start + seconds;
    totalBytes += bytes;
    totalSeconds += seconds;
  }

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// A buffer with its views and updates is one range of the arena. What takes
  /// over the memory of another is another; they share it at one step.
  void measureArena() {
    std::vector<bool> isUpdate(plan.buffers.size(), false);
    for (const Step &step : plan.steps)
      if (step.kind == Step::Kind::compute) {
        const std::vector<TensorId> &updates = graph.operators[step.op].updates;
        for (size_t i = 0; i < updates.size(); ++i)
          isUpdate[step.outputs[i]] = updates[i] >= 0;
      }
    // Buffers share memory with ones that are made before them.
    std::vector<BufferId> order(plan.buffers.size());
    for (size_t b = 0; b < order.size(); ++b)
      order[b] = BufferId(b);
    stableSort(order, [&](BufferId a, BufferId b) {
      return plan.buffers[a].first < plan.buffers[b].first;
    });
    std::vector<BufferId> rangeOf(plan.buffers.size());
    std::vector<int32_t> last(plan.buffers.size());
    Curve live(count());
    for (BufferId b : order) {
      const Buffer &buffer = plan.buffers[b];
      last[b] = buffer.last;
      rangeOf[b] = b;
      if (buffer.sharesWith < 0)
        continue;
      BufferId shared = rangeOf[buffer.sharesWith];
      if (isView(buffer.tensor) || isUpdate[b]) {
        rangeOf[b] = shared;
        last[shared] = std::max(last[shared], buffer.last);
      } else {
        live.add(buffer.first, buffer.first,
                 -std::min(buffer.bytes, plan.buffers[shared].bytes));
      }
    }

    // Highest ends first; those that are over are taken out when they come up.
    using End = std::pair<int64_t, int32_t>;
    std::priority_queue<End> ends;
    size_t next = 0;
    result.highestBytes.resize(count());
    for (size_t s = 0; s < count(); ++s) {
      const Step &step = plan.steps[s];
      for (;
           next < order.size() && plan.buffers[order[next]].first == int32_t(s);
           ++next) {
        BufferId b = order[next];
        if (rangeOf[b] != b || plan.buffers[b].bytes == 0)
          continue;
        live.add(int64_t(s), last[b], plan.buffers[b].bytes);
        ends.emplace(endOf(plan.buffers[b]), last[b]);
      }
      while (!ends.empty() && ends.top().second < int32_t(s))
        ends.pop();
      int64_t highest = ends.empty() ? 0 : ends.top().first;
      if (step.workspaceBytes > 0) {
        live.add(int64_t(s), int64_t(s), step.workspaceBytes);
        highest = std::max(highest, step.workspaceOffset + step.workspaceBytes);
      }
      result.highestBytes[s] = highest;
      result.peakBytes = std::max(result.peakBytes, highest);
    }
    result.liveBytes = live.sum();
    result.lowerBoundBytes = maxOf(result.liveBytes);
    if (count() > 0)
      result.peakStep = int32_t(
          std::max_element(result.liveBytes.begin(), result.liveBytes.end()) -
          result.liveBytes.begin());
  }

  /// First runs only: where each place is first needed, and last.
  void measureLiveness() {
    std::vector<int32_t> first(graph.tensors.size(), -1);
    std::vector<int32_t> last(graph.tensors.size(), -1);
    int32_t end = int32_t(count()) - 1;
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      TensorKind kind = graph.tensors[t].kind;
      if (kind == TensorKind::input || kind == TensorKind::parameter) {
        first[placeOf[t]] = 0;
        last[placeOf[t]] = end;
      }
    }
    for (size_t o = 0; o < graph.operators.size(); ++o) {
      int32_t s = firstRun[o];
      if (s < 0)
        continue;
      const Operator &op = graph.operators[o];
      for (const std::vector<TensorId> *tensors : {&op.inputs, &op.outputs})
        for (TensorId tensor : *tensors) {
          TensorId place = placeOf[tensor];
          if (first[place] < 0 || s < first[place])
            first[place] = s;
          bool stays = graph.tensors[tensor].kind == TensorKind::output;
          last[place] = std::max(last[place], stays ? end : s);
        }
    }
    Curve live(count());
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (placeOf[t] == TensorId(t) && first[t] >= 0 && last[t] >= first[t])
        live.add(first[t], last[t], graph.tensors[t].bytes);
    result.livenessCurve = live.sum();
    result.livenessBytes = maxOf(result.livenessCurve);
  }

  void measureHost() {
    std::vector<bool> isMade(plan.buffers.size(), false);
    for (const Step &step : plan.steps)
      for (BufferId output : step.outputs)
        isMade[output] = true;
    // By place: whether the device has it at the start, and at the end.
    std::vector<bool> isGiven(graph.tensors.size(), false);
    std::vector<bool> stays(graph.tensors.size(), false);
    std::vector<bool> isOutput(graph.tensors.size(), false);
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer &buffer = plan.buffers[b];
      TensorId place = placeOf[buffer.tensor];
      if (!isMade[b])
        isGiven[place] = true;
      if (buffer.last + 1 == int32_t(count()))
        stays[place] = true;
    }
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (graph.tensors[t].kind == TensorKind::output)
        isOutput[placeOf[t]] = true;

    Curve held(count());
    std::vector<int32_t> since(graph.tensors.size(), -1);
    std::vector<int32_t> until(graph.tensors.size(), -1);
    std::vector<bool> isAlways(graph.tensors.size(), false);
    auto endStay = [&](TensorId place) {
      if (since[place] >= 0 && !isAlways[place])
        held.add(since[place], until[place], graph.tensors[place].bytes);
    };
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      TensorKind kind = graph.tensors[t].kind;
      isAlways[t] =
          (kind == TensorKind::input || kind == TensorKind::parameter) &&
          placeOf[t] == TensorId(t) && !isGiven[t];
      if (isAlways[t] && count() > 0)
        held.add(0, int64_t(count()) - 1, graph.tensors[t].bytes);
    }
    for (size_t s = 0; s < count(); ++s) {
      const Step &step = plan.steps[s];
      if (step.kind == Step::Kind::compute)
        continue;
      bool isOffload = step.kind == Step::Kind::offload;
      BufferId buffer = isOffload ? step.inputs.front() : step.outputs.front();
      TensorId place = placeOf[plan.buffers[buffer].tensor];
      if (isOffload) {
        endStay(place);
        since[place] = int32_t(s);
      }
      until[place] = int32_t(s);
    }
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      if (isOutput[t] && !stays[t] && since[t] >= 0)
        until[t] = int32_t(count()) - 1;
      endStay(TensorId(t));
    }
    result.hostCurve = held.sum();
    result.hostBytes = maxOf(result.hostCurve);
  }

  void measureGraph() {
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (placeOf[t] == TensorId(t))
        result.baselineBytes += graph.tensors[t].bytes;
    std::vector<int32_t> countedBy(graph.tensors.size(), -1);
    for (size_t o = 0; o < graph.operators.size(); ++o) {
      const Operator &op = graph.operators[o];
      int64_t bytes = 0;
      for (const std::vector<TensorId> *tensors : {&op.inputs, &op.outputs})
        for (TensorId tensor : *tensors) {
          TensorId place = placeOf[tensor];
          if (countedBy[place] == int32_t(o))
            continue;
          countedBy[place] = int32_t(o);
          bytes += graph.tensors[place].bytes;
        }
      result.largestOperatorBytes =
          std::max(result.largestOperatorBytes, bytes);
    }
  }

  const Graph &graph;
  const Plan &plan;
  const Machine &machine;
  Simulation result;

  /// By tensor: the one whose memory it has.
  std::vector<TensorId> placeOf;
  /// By operator: the step that runs it first; -1: none.
  std::vector<int32_t> firstRun;

  /// When the compute stream and the engines have done what was issued so far.
  double clock = 0;
  double toHost = 0;
  double toDevice = 0;
  /// By buffer: when a copy has filled it.
  std::vector<double> filledAt;
  /// By place: when a copy has brought it to the host.
  std::vector<double> onHostAt;
  PendingReads reads;
};

} // namespace

Simulation espalier::planning::simulate(const Graph &graph, const Plan &plan,
                                        const Machine &machine) {
  return Simulator(graph, plan, machine).run();
}
