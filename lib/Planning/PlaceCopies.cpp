//===- PlaceCopies.cpp - When copies start --------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlaceCopies.h"

#include "StableSort.h"

#include "espalier/Planning/Liveness.h"

#include <algorithm>
#include <memory>

using namespace espalier::planning;

namespace {
/// Bytes at each computation, with sums added to ranges and the last place
/// before another found where there are more than some.
class RangeMaximum {
public:
  explicit RangeMaximum(const std::vector<int64_t> &values) {
    while (size < values.size())
      size *= 2;
    most.assign(2 * size, INT64_MIN / 4);
    added.assign(2 * size, 0);
    std::copy(values.begin(), values.end(), most.begin() + size);
    for (size_t node = size - 1; node > 0; --node)
      most[node] = std::max(most[2 * node], most[2 * node + 1]);
  }

  /// To [from, to).
  void add(int32_t from, int32_t to, int64_t value) {
    if (from < to)
      add(1, 0, int32_t(size), from, to, value);
  }

  /// The last place before `to` with more than `limit`; -1: there is none.
  int32_t lastAbove(int32_t to, int64_t limit) const {
    return to <= 0 ? -1 : lastAbove(1, 0, int32_t(size), to, limit);
  }

private:
  void add(size_t node, int32_t low, int32_t high, int32_t from, int32_t to,
           int64_t value) {
    if (to <= low || high <= from)
      return;
    if (from <= low && high <= to) {
      most[node] += value;
      added[node] += value;
      return;
    }
    int32_t middle = low + (high - low) / 2;
    add(2 * node, low, middle, from, to, value);
    add(2 * node + 1, middle, high, from, to, value);
    most[node] = std::max(most[2 * node], most[2 * node + 1]) + added[node];
  }

  int32_t lastAbove(size_t node, int32_t low, int32_t high, int32_t to,
                    int64_t limit) const {
    if (to <= low || most[node] <= limit)
      return -1;
    if (high - low == 1)
      return low;
    int32_t middle = low + (high - low) / 2;
    limit -= added[node];
    int32_t found = lastAbove(2 * node + 1, middle, high, to, limit);
    return found >= 0 ? found : lastAbove(2 * node, low, middle, to, limit);
  }

  size_t size = 1;
  std::vector<int64_t> most, added;
};

/// A copy before computation `slot`.
struct Copy {
  int32_t slot = 0;
  int32_t stay = -1;
};

class Placement {
public:
  Placement(const WalkInput &input, Schedule &schedule,
            const PlaceOptions &options)
      : in(input), graph(input.graph), schedule(schedule), options(options),
        count(int32_t(schedule.computations.size())) {}

  Plan place() {
    startTime.assign(size_t(count) + 1, 0);
    for (int32_t c = 0; c < count; ++c)
      startTime[c + 1] = startTime[c] + in.seconds[schedule.computations[c].op];
    findRoots();
    findPrevious();
    placeOffloads();
    placePrefetches();
    if (!options.isFixed && keepWhatHasRoom())
      placeOffloads();
    return build();
  }

private:
  Stay &stayOf(int32_t id) { return schedule.stays[id]; }
  static bool isReal(const Stay &stay) { return stay.first <= stay.last; }

  /// The stay in whose memory another lies.
  void findRoots() {
    root.resize(schedule.stays.size());
    rootLast.resize(schedule.stays.size());
    // A stay takes over only an earlier one.
    for (size_t i = 0; i < schedule.stays.size(); ++i) {
      const Stay &stay = schedule.stays[i];
      root[i] = stay.takesOver < 0 ? int32_t(i) : root[stay.takesOver];
      rootLast[i] = stay.last;
      rootLast[root[i]] = std::max(rootLast[root[i]], stay.last);
    }
  }

  /// The stay of the same storage before each that is fetched.
  void findPrevious() {
    previous.assign(schedule.stays.size(), -1);
    alias.resize(schedule.stays.size());
    std::vector<int32_t> latest(graph.tensors.size(), -1);
    for (size_t i = 0; i < schedule.stays.size(); ++i) {
      alias[i] = int32_t(i);
      const Stay &stay = schedule.stays[i];
      if (!isReal(stay))
        continue;
      if (stay.fetched)
        previous[i] = latest[stay.storage];
      latest[stay.storage] = int32_t(i);
    }
  }

  void placeOffloads() {
    offloads.clear();
    for (size_t i = 0; i < schedule.stays.size(); ++i)
      if (isReal(schedule.stays[i]) && alias[i] == int32_t(i) &&
          schedule.stays[i].copiedAfter >= 0)
        offloads.push_back({0, int32_t(i)});
    stableSort(offloads, [&](const Copy &a, const Copy &b) {
      return stayOf(a.stay).last < stayOf(b.stay).last;
    });
    // When its copy is on the host, if nothing waits for anything.
    onHostAt.assign(schedule.stays.size(), 0);
    int32_t slot = 0;
    double free = 0;
    for (Copy &copy : offloads) {
      const Stay &stay = stayOf(copy.stay);
      slot = std::max(slot, stay.copiedAfter + 1);
      copy.slot = slot;
      free = std::max(free, startTime[slot]) +
             in.machine.transferSeconds(stay.bytes);
      onHostAt[copy.stay] = slotAt(free);
    }
  }

  /// The first computation that starts at the time or later.
  int32_t slotAt(double time) const {
    return int32_t(std::lower_bound(startTime.begin(), startTime.end(), time) -
                   startTime.begin());
  }

  std::vector<int64_t> bytesInUse() {
    std::vector<int64_t> bytes(size_t(count) + 1, 0);
    for (size_t i = 0; i < schedule.stays.size(); ++i) {
      const Stay &stay = schedule.stays[i];
      if (!isReal(stay) || stay.takesOver >= 0)
        continue;
      bytes[stay.first] += stay.bytes;
      bytes[rootLast[i] + 1] -= stay.bytes;
    }
    for (int32_t c = 1; c <= count; ++c)
      bytes[c] += bytes[c - 1];
    bytes.resize(count);
    for (int32_t c = 0; c < count; ++c) {
      int64_t workspace =
          leastWorkspace(graph.operators[schedule.computations[c].op]);
      bytes[c] += (workspace + options.alignment - 1) / options.alignment *
                  options.alignment;
    }
    return bytes;
  }

  void placePrefetches() {
    for (size_t i = 0; i < schedule.stays.size(); ++i)
      if (isReal(schedule.stays[i]) && schedule.stays[i].fetched)
        prefetches.push_back({schedule.stays[i].first, int32_t(i)});
    stableSort(prefetches,
               [](const Copy &a, const Copy &b) { return a.slot < b.slot; });
    if (options.isFixed)
      return;
    inUse = std::make_unique<RangeMaximum>(bytesInUse());

    // As late as they may be, one after the other.
    std::vector<int32_t> target(prefetches.size());
    double next = startTime[count];
    for (size_t i = prefetches.size(); i-- > 0;) {
      const Copy &copy = prefetches[i];
      next = std::min(next, startTime[copy.slot]) -
             1.05 * in.machine.transferSeconds(stayOf(copy.stay).bytes);
      target[i] = std::max(0, int32_t(std::upper_bound(startTime.begin(),
                                                       startTime.end(), next) -
                                      startTime.begin()) -
                                  1);
    }
    int32_t slot = 0;
    for (size_t i = 0; i < prefetches.size(); ++i) {
      Copy &copy = prefetches[i];
      Stay &stay = stayOf(copy.stay);
      int32_t demand = copy.slot;
      slot = std::max(slot, target[i]);
      int32_t from = std::min(slot, demand);
      if (previous[copy.stay] >= 0) {
        const Stay &before = stayOf(previous[copy.stay]);
        from = std::max(from, before.last + 1);
        from = std::max(from, hostCopyAt(copy.stay));
      }
      from = std::min(from, demand);
      from = std::max(
          from, inUse->lastAbove(demand, options.budget - stay.bytes) + 1);
      inUse->add(from, demand, stay.bytes);
      copy.slot = from;
      stay.first = from;
      slot = std::max(slot, from);
    }
    // In the order in which they start.
    stableSort(prefetches,
               [](const Copy &a, const Copy &b) { return a.slot < b.slot; });
  }

  int32_t hostCopyAt(int32_t stay) {
    for (int32_t at = previous[stay]; at >= 0; at = previous[at])
      if (stayOf(at).copiedAfter >= 0)
        return onHostAt[at];
    return 0;
  }

  /// Stays that follow each other with room between them become one. Whether
  /// some did.
  bool keepWhatHasRoom() {
    std::vector<Copy> kept;
    bool changed = false;
    for (Copy &copy : prefetches) {
      int32_t id = copy.stay;
      Stay &stay = stayOf(id);
      int32_t before = previous[id] < 0 ? -1 : alias[previous[id]];
      if (before < 0 || stayOf(before).last >= stay.first ||
          rootLast[before] != stayOf(before).last ||
          stay.tensor != stayOf(before).tensor ||
          stay.bytes != stayOf(root[before]).bytes ||
          inUse->lastAbove(stay.first, options.budget - stay.bytes) >
              stayOf(before).last) {
        kept.push_back(copy);
        continue;
      }
      changed = true;
      inUse->add(stayOf(before).last + 1, stay.first, stay.bytes);
      stayOf(before).last = stay.last;
      rootLast[root[before]] = std::max(rootLast[root[before]], rootLast[id]);
      rootLast[before] = std::max(rootLast[before], rootLast[id]);
      alias[id] = before;
      if (stay.copiedAfter >= 0)
        stayOf(before).copiedAfter = stay.copiedAfter;
    }
    prefetches = std::move(kept);
    if (!changed)
      return false;
    // A host copy that is never fetched need not be made.
    std::vector<bool> isFetched(graph.tensors.size(), false);
    for (const Copy &copy : prefetches)
      isFetched[stayOf(copy.stay).storage] = true;
    for (Stay &stay : schedule.stays)
      if (graph.tensors[stay.storage].kind == TensorKind::temporary &&
          !isFetched[stay.storage] && !isOutput(stay.storage))
        stay.copiedAfter = -1;
    return true;
  }

  bool isOutput(TensorId storage) const {
    int32_t end = in.useStart[storage + 1];
    return in.useStart[storage] < end &&
           in.uses[end - 1] == int32_t(in.order.size());
  }

  //===--- Steps and buffers ---===//

  int32_t resolved(int32_t stay) const {
    while (alias[stay] != stay)
      stay = alias[stay];
    return stay;
  }

  BufferId bufferOf(int32_t stay, TensorId tensor) {
    for (auto [t, buffer] : buffers[stay])
      if (t == tensor)
        return buffer;
    return -1;
  }

  /// `taken`: whose memory it takes over.
  BufferId addBuffer(int32_t id, TensorId tensor, int32_t step,
                     BufferId taken = -1) {
    const Stay &stay = stayOf(id);
    Buffer buffer;
    buffer.tensor = tensor;
    buffer.bytes = graph.tensors[tensor].bytes;
    buffer.first = stay.isResident ? 0 : step;
    buffer.last = step;
    TensorId viewed = graph.tensors[tensor].viewOf;
    if (!buffers[id].empty()) {
      buffer.first = step;
      buffer.sharesWith =
          viewed >= 0 ? bufferOf(id, viewed) : buffers[id].front().second;
    } else {
      buffer.sharesWith = taken;
    }
    plan.buffers.push_back(buffer);
    buffers[id].emplace_back(tensor, BufferId(plan.buffers.size()) - 1);
    return buffers[id].back().second;
  }

  Plan build() {
    buffers.resize(schedule.stays.size());
    size_t out = 0, back = 0;
    std::vector<int32_t> stepOf(count);
    offloadStep.assign(schedule.stays.size(), -1);
    for (size_t i = 0; i < schedule.stays.size(); ++i)
      if (schedule.stays[i].isResident)
        addBuffer(int32_t(i), schedule.stays[i].tensor, 0);
    for (int32_t c = 0; c <= count; ++c) {
      for (; out < offloads.size() && offloads[out].slot == c; ++out)
        addOffload(offloads[out].stay);
      for (; back < prefetches.size() && prefetches[back].slot == c; ++back)
        addPrefetch(prefetches[back].stay);
      if (c == count)
        break;
      const Schedule::Computation &computation = schedule.computations[c];
      // A view of what did not leave after all is still there.
      bool isThere = false;
      for (size_t i = 0; i < computation.outputs.size(); ++i)
        isThere |= bufferOf(resolved(computation.outputs[i]),
                            graph.operators[computation.op].outputs[i]) >= 0;
      if (!isThere)
        addComputation(computation);
      stepOf[c] = int32_t(plan.steps.size()) - 1;
    }
    int32_t lastStep = int32_t(plan.steps.size()) - 1;
    endsOnHost.resize(graph.tensors.size());
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      endsOnHost[t] = isOutput(TensorId(t));
    for (size_t i = 0; i < schedule.stays.size(); ++i) {
      const Stay &stay = schedule.stays[i];
      if (buffers[i].empty())
        continue;
      bool toTheEnd =
          stay.isResident || (stay.last == count - 1 && isOutput(stay.storage));
      if (toTheEnd)
        endsOnHost[stay.storage] = false;
      int32_t last =
          toTheEnd ? lastStep : std::max(stepOf[stay.last], offloadStep[i]);
      // The memory's owner, and the value that the stay ends with.
      Buffer &owner = plan.buffers[buffers[i].front().second];
      owner.last = std::max(owner.last, last);
      for (auto [tensor, id] : buffers[i]) {
        Buffer &buffer = plan.buffers[id];
        bool isUpdate =
            graph.tensors[tensor].viewOf < 0 && in.storage[tensor] != tensor;
        if (toTheEnd &&
            (isUpdate || graph.tensors[tensor].kind == TensorKind::output))
          buffer.last = lastStep;
      }
    }
    countHostBytes();
    return std::move(plan);
  }

  void addOffload(int32_t id) {
    Step step;
    step.kind = Step::Kind::offload;
    // The latest value.
    BufferId buffer = buffers[id].front().second;
    for (auto [tensor, other] : buffers[id])
      if (graph.tensors[tensor].viewOf < 0)
        buffer = other;
    step.inputs = {buffer};
    int32_t number = int32_t(plan.steps.size());
    offloadStep[id] = number;
    plan.buffers[buffer].last = std::max(plan.buffers[buffer].last, number);
    plan.steps.push_back(std::move(step));
  }

  void addPrefetch(int32_t id) {
    Step step;
    step.kind = Step::Kind::prefetch;
    step.outputs = {
        addBuffer(id, stayOf(id).tensor, int32_t(plan.steps.size()))};
    plan.steps.push_back(std::move(step));
  }

  void addComputation(const Schedule::Computation &computation) {
    const Operator &op = graph.operators[computation.op];
    int32_t number = int32_t(plan.steps.size());
    Step step;
    step.op = computation.op;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      BufferId buffer = bufferOf(resolved(computation.inputs[i]), op.inputs[i]);
      plan.buffers[buffer].last = std::max(plan.buffers[buffer].last, number);
      step.inputs.push_back(buffer);
    }
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      int32_t stay = resolved(computation.outputs[i]);
      BufferId buffer = bufferOf(stay, op.outputs[i]);
      if (buffer < 0)
        buffer = addBuffer(stay, op.outputs[i], number,
                           buffers[stay].empty() && stayOf(stay).takesOver >= 0
                               ? step.inputs[op.inPlace[i]]
                               : -1);
      step.outputs.push_back(buffer);
    }
    if (!op.algorithms.empty()) {
      for (size_t a = 0; a < op.algorithms.size(); ++a)
        if (op.algorithms[a].workspaceBytes <
            op.algorithms[step.algorithm].workspaceBytes)
          step.algorithm = int32_t(a);
      step.workspaceBytes = op.algorithms[step.algorithm].workspaceBytes;
    }
    plan.steps.push_back(std::move(step));
  }

  void countHostBytes() {
    int32_t end = int32_t(plan.steps.size());
    std::vector<int64_t> change(size_t(end) + 1, 0);
    auto hold = [&](TensorId storage, int32_t first, int32_t last) {
      change[first] += graph.tensors[storage].bytes;
      change[last + 1] -= graph.tensors[storage].bytes;
    };
    // By storage: since when the host has it, and until when it is needed.
    std::vector<std::pair<int32_t, int32_t>> held(graph.tensors.size(),
                                                  {-1, -1});
    for (int32_t s = 0; s < end; ++s) {
      const Step &step = plan.steps[s];
      if (step.kind == Step::Kind::compute)
        continue;
      bool isOut = step.kind == Step::Kind::offload;
      BufferId buffer = isOut ? step.inputs[0] : step.outputs[0];
      TensorId storage = in.storage[plan.buffers[buffer].tensor];
      auto &[first, last] = held[storage];
      if (isOut && first >= 0 && !schedule.startsOnHost[storage])
        hold(storage, first, last);
      if (isOut)
        first = s;
      last = s;
    }
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      TensorId storage = TensorId(t);
      auto [first, last] = held[t];
      if (schedule.startsOnHost[t])
        hold(storage, 0, end - 1);
      else if (first >= 0)
        hold(storage, first, endsOnHost[t] ? end - 1 : last);
    }
    int64_t bytes = 0;
    for (int64_t delta : change) {
      bytes += delta;
      plan.hostBytes = std::max(plan.hostBytes, bytes);
    }
  }

  const WalkInput &in;
  const Graph &graph;
  Schedule &schedule;
  const PlaceOptions &options;
  int32_t count;
  std::vector<double> startTime;
  std::vector<int32_t> root, rootLast, previous, alias, onHostAt, offloadStep;
  std::vector<Copy> offloads, prefetches;
  std::unique_ptr<RangeMaximum> inUse;
  /// By storage.
  std::vector<bool> endsOnHost;
  Plan plan;
  /// By stay: its buffers, the memory's owner first.
  std::vector<std::vector<std::pair<TensorId, BufferId>>> buffers;
};
} // namespace

Plan espalier::planning::placeCopies(const WalkInput &input, Schedule schedule,
                                     const PlaceOptions &options) {
  return Placement(input, schedule, options).place();
}

Duration espalier::planning::durationOf(const WalkInput &input,
                                        const Plan &plan) {
  const Graph &graph = input.graph;
  Duration duration;
  duration.stalls.assign(graph.tensors.size(), 0);
  std::vector<double> ready(plan.buffers.size(), 0);
  std::vector<double> onHost(graph.tensors.size(), 0);
  double now = 0, outFree = 0, inFree = 0;
  // By step: when the copies are done whose memory may be another's then.
  std::vector<double> freeAt(plan.steps.size() + 1, 0);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step &step = plan.steps[s];
    now = std::max(now, freeAt[s]);
    if (step.kind == Step::Kind::compute) {
      for (BufferId buffer : step.inputs)
        if (ready[buffer] > now) {
          TensorId storage = input.storage[plan.buffers[buffer].tensor];
          duration.stalls[storage] += ready[buffer] - now;
          now = ready[buffer];
        }
      const Operator &op = graph.operators[step.op];
      const Algorithm *algorithm =
          op.algorithms.empty() ? nullptr : &op.algorithms[step.algorithm];
      now += input.machine.secondsOf(op, algorithm);
      continue;
    }
    bool isOut = step.kind == Step::Kind::offload;
    BufferId id = isOut ? step.inputs[0] : step.outputs[0];
    const Buffer &buffer = plan.buffers[id];
    TensorId storage = input.storage[buffer.tensor];
    double &free = isOut || !input.machine.link.fullDuplex ? outFree : inFree;
    double start = std::max(free, now);
    if (!isOut)
      start = std::max(start, onHost[storage]);
    free = start + input.machine.transferSeconds(buffer.bytes);
    duration.transferBytes += buffer.bytes;
    if (isOut) {
      onHost[storage] = free;
      // The memory's owner, and with it who shares it, may stay longer.
      int32_t last = buffer.last;
      BufferId owner = buffer.sharesWith;
      if (owner >= 0 && input.storage[plan.buffers[owner].tensor] == storage)
        last = std::max(last, plan.buffers[owner].last);
      freeAt[last + 1] = std::max(freeAt[last + 1], free);
    } else {
      ready[id] = free;
    }
  }
  duration.seconds = std::max({now, outFree, freeAt.back()});
  return duration;
}
