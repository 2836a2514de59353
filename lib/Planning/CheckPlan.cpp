//===- CheckPlan.cpp - Does a plan do what it must? -----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two sweeps over the steps. The first follows values: which tensor's data lies
// at each address, and which the host has. The second follows rectangles of
// time and address. Either finds most mistakes; a value that is overwritten
// although no buffers overlap, or two that overlap although nobody reads the
// loser, is found by one of them only.
//
//===----------------------------------------------------------------------===//

#include "espalier/Planning/CheckPlan.h"

#include <algorithm>
#include <map>

using namespace espalier::planning;

namespace {

/// What lies in the arena: ranges of addresses, each with the tensor whose data
/// it has.
class Contents {
public:
  /// No tensor's data.
  static constexpr TensorId nothing = -1;

  void write(int64_t begin, int64_t end, TensorId value) {
    if (begin >= end)
      return;
    cutAt(begin);
    cutAt(end);
    ranges.erase(ranges.lower_bound(begin), ranges.lower_bound(end));
    ranges[begin] = {end, value};
  }

  /// The first tensor other than `value` whose data is somewhere in the range,
  /// or `value` if there is none. Addresses never written have `nothing`.
  TensorId find(int64_t begin, int64_t end, TensorId value) const {
    auto range = ranges.upper_bound(begin);
    if (range != ranges.begin())
      --range;
    for (; begin < end; ++range) {
      if (range == ranges.end() || range->first > begin ||
          range->second.end <= begin)
        return nothing;
      if (range->second.value != value)
        return range->second.value;
      begin = range->second.end;
    }
    return value;
  }

private:
  struct Range {
    int64_t end;
    TensorId value;
  };

  /// Makes `address` the end of a range, if it is inside of one.
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

class PlanChecker {
public:
  PlanChecker(const Graph &graph, const Plan &plan,
              const CheckPlanOptions &options)
      : graph(graph), plan(plan), options(options) {}

  std::string check() {
    problem = checkGraph(graph);
    for (auto part : {&PlanChecker::checkBuffers, &PlanChecker::checkSteps,
                      &PlanChecker::findMakers, &PlanChecker::findHomes,
                      &PlanChecker::followValues, &PlanChecker::checkEnd,
                      &PlanChecker::checkOverlaps, &PlanChecker::checkTotals})
      if (problem.empty())
        (this->*part)();
    return problem;
  }

private:
  //===--------------------------------------------------------------------===//
  // Words
  //===--------------------------------------------------------------------===//

  void fail(const std::string &text) {
    if (problem.empty())
      problem = text;
  }

  void failAt(size_t step, const std::string &text) {
    const Step &at = plan.steps[step];
    std::string name = "step " + std::to_string(step);
    if (at.kind == Step::Kind::offload)
      name += " (offload)";
    else if (at.kind == Step::Kind::prefetch)
      name += " (prefetch)";
    else if (at.op >= 0 && size_t(at.op) < graph.operators.size())
      name += " (" + graph.operators[at.op].name + ")";
    fail(name + " " + text);
  }

  std::string tensorName(TensorId tensor) const {
    return tensor < 0 ? "nothing" : "'" + graph.tensors[tensor].name + "'";
  }

  std::string bufferName(BufferId buffer) const {
    return "buffer " + std::to_string(buffer) + " of " +
           tensorName(plan.buffers[buffer].tensor);
  }

  static std::string rangeName(int64_t begin, int64_t end) {
    return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
  }

  int32_t lastStep() const { return int32_t(plan.steps.size()) - 1; }

  int64_t endOf(const Buffer &buffer) const {
    return buffer.offset + buffer.bytes;
  }

  //===--------------------------------------------------------------------===//
  // Numbers within range
  //===--------------------------------------------------------------------===//

  void checkBuffers() {
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      const Buffer &buffer = plan.buffers[b];
      if (buffer.tensor < 0 || size_t(buffer.tensor) >= graph.tensors.size())
        return fail("buffer " + std::to_string(b) + " is of tensor number " +
                    std::to_string(buffer.tensor) + ", which there is not");
      std::string name = bufferName(BufferId(b));
      int64_t needed = graph.tensors[buffer.tensor].bytes;
      int64_t end = 0;
      if (buffer.bytes < needed)
        fail(name + " has " + std::to_string(buffer.bytes) +
             " bytes, and the tensor " + std::to_string(needed));
      if (buffer.first < 0 || buffer.last < buffer.first ||
          buffer.last > lastStep())
        fail(name + " is there from step " + std::to_string(buffer.first) +
             " to " + std::to_string(buffer.last) + ", and the last step is " +
             std::to_string(lastStep()));
      if (buffer.offset < 0)
        fail(name + " has no offset");
      else if (__builtin_add_overflow(buffer.offset, buffer.bytes, &end))
        fail(name + " ends beyond 2^63");
      if (buffer.sharesWith < -1 ||
          buffer.sharesWith >= int64_t(plan.buffers.size()))
        fail(name + " shares the memory of buffer " +
             std::to_string(buffer.sharesWith) + ", which there is not");
    }
  }

  void checkSteps() {
    for (size_t s = 0; s < plan.steps.size() && problem.empty(); ++s) {
      const Step &step = plan.steps[s];
      for (const std::vector<BufferId> *buffers : {&step.inputs, &step.outputs})
        for (BufferId buffer : *buffers)
          if (buffer < 0 || size_t(buffer) >= plan.buffers.size())
            return failAt(s, "has buffer " + std::to_string(buffer) +
                                 ", which there is not");
      switch (step.kind) {
      case Step::Kind::compute:
        checkCompute(s, step);
        break;
      case Step::Kind::offload:
        if (step.inputs.size() != 1 || !step.outputs.empty())
          failAt(s, "has not one input and no output");
        break;
      case Step::Kind::prefetch:
        if (!step.inputs.empty() || step.outputs.size() != 1)
          failAt(s, "has not one output and no input");
        break;
      default:
        failAt(s, "is of no kind that there is");
      }
      if (step.kind != Step::Kind::compute && step.workspaceBytes != 0)
        failAt(s, "is a copy, and has a workspace");
    }
  }

  void checkCompute(size_t s, const Step &step) {
    if (step.op < 0 || size_t(step.op) >= graph.operators.size())
      return failAt(s, "runs operator number " + std::to_string(step.op) +
                           ", which there is not");
    const Operator &op = graph.operators[step.op];
    checkTensors(s, "input", op.inputs, step.inputs);
    checkTensors(s, "output", op.outputs, step.outputs);

    if (step.algorithm < 0 ||
        size_t(step.algorithm) >= std::max<size_t>(op.algorithms.size(), 1))
      return failAt(s, "uses algorithm number " +
                           std::to_string(step.algorithm) +
                           ", which there is not");
    int64_t needed = op.algorithms.empty()
                         ? 0
                         : op.algorithms[step.algorithm].workspaceBytes;
    if (step.workspaceBytes < needed)
      failAt(s, "has a workspace of " + std::to_string(step.workspaceBytes) +
                    " bytes, and its algorithm needs " +
                    std::to_string(needed));
    int64_t end = 0;
    if (step.workspaceBytes > 0 &&
        (step.workspaceOffset < 0 ||
         __builtin_add_overflow(step.workspaceOffset, step.workspaceBytes,
                                &end)))
      failAt(s, "has a workspace without an offset, or beyond 2^63");
  }

  void checkTensors(size_t s, const char *what,
                    const std::vector<TensorId> &tensors,
                    const std::vector<BufferId> &buffers) {
    if (tensors.size() != buffers.size())
      return failAt(s, "has " + std::to_string(buffers.size()) + " " + what +
                           "s, and the operator " +
                           std::to_string(tensors.size()));
    for (size_t i = 0; i < tensors.size(); ++i)
      if (plan.buffers[buffers[i]].tensor != tensors[i])
        failAt(s, "has " + bufferName(buffers[i]) + " as " + what + " " +
                      std::to_string(i) + ", which is " +
                      tensorName(tensors[i]));
  }

  //===--------------------------------------------------------------------===//
  // Who makes a buffer, and where tensors are at the start
  //===--------------------------------------------------------------------===//

  void findMakers() {
    madeAt.assign(plan.buffers.size(), -1);
    for (size_t s = 0; s < plan.steps.size(); ++s)
      for (BufferId output : plan.steps[s].outputs) {
        if (madeAt[output] >= 0)
          return failAt(s, "makes " + bufferName(output) + ", which step " +
                               std::to_string(madeAt[output]) + " makes");
        madeAt[output] = int32_t(s);
        if (plan.buffers[output].first != int32_t(s))
          return failAt(s, "makes " + bufferName(output) +
                               ", which is there from step " +
                               std::to_string(plan.buffers[output].first));
      }
  }

  void findHomes() {
    slotOf.resize(graph.tensors.size());
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      slotOf[t] = graph.storageOf(TensorId(t));
    for (const Operator &op : graph.operators)
      for (size_t i = 0; i < op.updates.size(); ++i)
        if (op.updates[i] >= 0)
          slotOf[op.outputs[i]] = graph.storageOf(op.updates[i]);
    // A view of an update is where the update is.
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      slotOf[t] = slotOf[graph.storageOf(TensorId(t))];

    givenAs.assign(graph.tensors.size(), -1);
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (madeAt[b] >= 0)
        continue;
      const Buffer &buffer = plan.buffers[b];
      if (!isGiven(buffer.tensor))
        return fail(bufferName(BufferId(b)) + " is made by no step");
      if (buffer.first != 0)
        return fail(bufferName(BufferId(b)) +
                    " is made by no step, and is "
                    "there only from step " +
                    std::to_string(buffer.first));
      if (buffer.sharesWith >= 0)
        return fail(bufferName(BufferId(b)) +
                    " is there from the start, and shares the memory of " +
                    bufferName(buffer.sharesWith));
      if (givenAs[buffer.tensor] >= 0)
        return fail(bufferName(BufferId(b)) + " and buffer " +
                    std::to_string(givenAs[buffer.tensor]) +
                    " are both there from the start");
      givenAs[buffer.tensor] = BufferId(b);
    }
  }

  bool isGiven(TensorId tensor) const {
    TensorKind kind = graph.tensors[tensor].kind;
    return graph.tensors[tensor].viewOf < 0 &&
           (kind == TensorKind::input || kind == TensorKind::parameter);
  }

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  void followValues() {
    runs.assign(graph.operators.size(), 0);
    isRead.assign(plan.buffers.size(), false);
    groupOf.resize(plan.buffers.size());
    takesOver.assign(plan.buffers.size(), -1);
    hostHas.assign(graph.tensors.size(), Contents::nothing);
    offloadedAt.assign(graph.tensors.size(), -1);
    fetchedAt.assign(graph.tensors.size(), -1);
    hostChange.assign(plan.steps.size() + 1, 0);
    groupLast.resize(plan.buffers.size());
    liveOf.assign(graph.tensors.size(), {});

    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      groupOf[b] = BufferId(b);
      groupLast[b] = plan.buffers[b].last;
      if (madeAt[b] < 0)
        begin(BufferId(b));
    }
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (isGiven(TensorId(t)) && givenAs[t] < 0) {
        hostHas[t] = TensorId(t);
        holdOnHost(0, lastStep(), graph.tensors[t].bytes);
      }

    for (size_t s = 0; s < plan.steps.size() && problem.empty(); ++s) {
      const Step &step = plan.steps[s];
      for (BufferId input : step.inputs)
        checkRead(s, input);
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
    }
  }

  TensorId valueOf(BufferId buffer) const {
    return graph.storageOf(plan.buffers[buffer].tensor);
  }

  /// The buffer's data is there now.
  void begin(BufferId buffer) {
    const Buffer &at = plan.buffers[buffer];
    contents.write(at.offset, endOf(at), valueOf(buffer));
    TensorId slot = slotOf[at.tensor];
    if (graph.tensors[slot].kind == TensorKind::parameter &&
        graph.tensors[at.tensor].viewOf < 0)
      liveOf[slot].push_back(buffer);
  }

  void checkRead(size_t s, BufferId input) {
    const Buffer &buffer = plan.buffers[input];
    if (madeAt[input] >= int32_t(s))
      return failAt(s, "reads " + bufferName(input) + ", which step " +
                           std::to_string(madeAt[input]) + " makes");
    if (int32_t(s) > buffer.last)
      return failAt(s, "reads " + bufferName(input) +
                           ", which is there to step " +
                           std::to_string(buffer.last));
    isRead[input] = true;
    TensorId value = valueOf(input);
    TensorId found = contents.find(
        buffer.offset, buffer.offset + graph.tensors[buffer.tensor].bytes,
        value);
    if (found == value)
      return;
    if (found >= 0 && slotOf[found] == slotOf[value])
      return failAt(s, "reads " + bufferName(input) + ", which is " +
                           tensorName(found) + " since it was updated");
    failAt(s, "reads " + bufferName(input) + ", where " + tensorName(found) +
                  " lies by now");
  }

  void compute(size_t s, const Step &step) {
    const Operator &op = graph.operators[step.op];
    bool isUpdate = std::any_of(op.updates.begin(), op.updates.end(),
                                [](TensorId updated) { return updated >= 0; });
    if (runs[step.op]++ > 0 && (isUpdate || !op.recomputable))
      return failAt(s, isUpdate ? "updates a parameter again"
                                : "runs again, which it may not");
    for (size_t i = 0; i < step.outputs.size() && problem.empty(); ++i)
      checkSharing(s, op, step, i);
    if (!problem.empty())
      return;
    if (step.workspaceBytes > 0)
      contents.write(step.workspaceOffset,
                     step.workspaceOffset + step.workspaceBytes,
                     Contents::nothing);
    for (BufferId output : step.outputs)
      if (graph.tensors[plan.buffers[output].tensor].viewOf < 0)
        begin(output);
  }

  /// Output number `i` lies where it may.
  void checkSharing(size_t s, const Operator &op, const Step &step, size_t i) {
    BufferId output = step.outputs[i];
    const Buffer &buffer = plan.buffers[output];
    BufferId shared = buffer.sharesWith;
    if (shared >= 0) {
      if (shared == output || madeAt[shared] >= int32_t(s))
        return failAt(s, "makes " + bufferName(output) + " in the memory of " +
                             bufferName(shared) + ", which is not there yet");
      const Buffer &other = plan.buffers[shared];
      if (buffer.offset != other.offset || buffer.bytes > other.bytes)
        return failAt(s, "makes " + bufferName(output) + " at " +
                             rangeName(buffer.offset, endOf(buffer)) +
                             " in the memory of " + bufferName(shared) +
                             ", which is at " +
                             rangeName(other.offset, endOf(other)));
      if (int32_t(s) > other.last)
        return failAt(s, "makes " + bufferName(output) + " in the memory of " +
                             bufferName(shared) + ", which is there to step " +
                             std::to_string(other.last));
    }

    if (graph.tensors[buffer.tensor].viewOf >= 0)
      return checkView(s, step, output);
    TensorId updated = i < op.updates.size() ? op.updates[i] : -1;
    if (updated >= 0)
      return checkUpdate(s, op, step, output, graph.storageOf(updated));
    if (shared >= 0)
      checkInPlace(s, op, step, i);
  }

  void checkView(size_t s, const Step &step, BufferId output) {
    BufferId shared = plan.buffers[output].sharesWith;
    if (shared < 0 ||
        std::find(step.inputs.begin(), step.inputs.end(), shared) ==
            step.inputs.end() ||
        valueOf(shared) != valueOf(output))
      return failAt(s, "makes the view " + bufferName(output) +
                           " elsewhere than in its input's memory");
    join(output, shared);
  }

  void checkUpdate(size_t s, const Operator &op, const Step &step,
                   BufferId output, TensorId parameter) {
    // Those that are over are of no interest any more.
    std::vector<BufferId> &live = liveOf[parameter];
    live.erase(std::remove_if(live.begin(), live.end(),
                              [&](BufferId buffer) {
                                return plan.buffers[buffer].last < int32_t(s);
                              }),
               live.end());
    BufferId shared = plan.buffers[output].sharesWith;
    if (shared < 0) {
      if (!live.empty())
        failAt(s, "writes the update " + bufferName(output) +
                      " elsewhere than over " + bufferName(live.front()));
      return;
    }
    if (slotOf[plan.buffers[shared].tensor] != parameter)
      return failAt(s, "writes the update " + bufferName(output) + " over " +
                           bufferName(shared) + ", which is not " +
                           tensorName(parameter));
    // The operator reads the old value where it writes the new one, element by
    // element; through a view it would be another element.
    for (size_t i = 0; i < step.inputs.size(); ++i)
      if (groupOf[step.inputs[i]] == groupOf[shared] &&
          slotOf[op.inputs[i]] == parameter &&
          graph.tensors[op.inputs[i]].viewOf >= 0)
        return failAt(s, "writes the update " + bufferName(output) +
                             " over what it reads as " +
                             bufferName(step.inputs[i]));
    join(output, shared);
  }

  void checkInPlace(size_t s, const Operator &op, const Step &step, size_t i) {
    BufferId output = step.outputs[i];
    BufferId shared = plan.buffers[output].sharesWith;
    int32_t input = i < op.inPlace.size() ? op.inPlace[i] : -1;
    if (input < 0 || step.inputs[input] != shared)
      return failAt(s, "makes " + bufferName(output) + " in the memory of " +
                           bufferName(shared) +
                           ", which the operator does not allow");
    for (size_t other = 0; other < step.inputs.size(); ++other)
      if (int32_t(other) != input &&
          groupOf[step.inputs[other]] == groupOf[shared])
        return failAt(s, "makes " + bufferName(output) + " in the memory of " +
                             bufferName(shared) + ", which it reads twice");
    takesOver[output] = shared;
  }

  /// `buffer` is a view or an update of `shared`.
  void join(BufferId buffer, BufferId shared) {
    BufferId group = groupOf[shared];
    groupOf[buffer] = group;
    groupLast[group] = std::max(groupLast[group], plan.buffers[buffer].last);
  }

  void offload(size_t s, BufferId input) {
    TensorId slot = slotOf[plan.buffers[input].tensor];
    hostHas[slot] = valueOf(input);
    endStay(slot);
    offloadedAt[slot] = int32_t(s);
    fetchedAt[slot] = int32_t(s);
  }

  void prefetch(size_t s, BufferId output) {
    if (plan.buffers[output].sharesWith >= 0)
      return failAt(s, "fetches " + bufferName(output) +
                           " to the memory of another buffer");
    TensorId slot = slotOf[plan.buffers[output].tensor];
    TensorId value = valueOf(output);
    if (hostHas[slot] != value)
      return failAt(s, "fetches " + bufferName(output) + ", and the host has " +
                           tensorName(hostHas[slot]));
    fetchedAt[slot] = int32_t(s);
    begin(output);
  }

  //===--------------------------------------------------------------------===//
  // What the host holds
  //===--------------------------------------------------------------------===//

  void holdOnHost(int32_t first, int32_t last, int64_t bytes) {
    if (last < first)
      return;
    hostChange[first] += bytes;
    hostChange[last + 1] -= bytes;
  }

  /// Whether the host has it at all steps.
  bool isHostHome(TensorId slot) const {
    return isGiven(slot) && givenAs[slot] < 0;
  }

  void endStay(TensorId slot) {
    if (offloadedAt[slot] >= 0 && !isHostHome(slot))
      holdOnHost(offloadedAt[slot], fetchedAt[slot], graph.tensors[slot].bytes);
    offloadedAt[slot] = -1;
  }

  //===--------------------------------------------------------------------===//
  // The end
  //===--------------------------------------------------------------------===//

  void checkEnd() {
    // By slot: a buffer that stays to the end.
    std::vector<std::vector<BufferId>> staying(graph.tensors.size());
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (plan.buffers[b].last == lastStep())
        staying[slotOf[plan.buffers[b].tensor]].push_back(BufferId(b));
      else if (madeAt[b] >= 0 && !isRead[b] &&
               plan.steps[madeAt[b]].kind == Step::Kind::prefetch)
        return failAt(madeAt[b], "fetches " + bufferName(BufferId(b)) +
                                     ", which nothing reads");
    }
    auto isOnDevice = [&](TensorId value, int64_t offset) {
      for (BufferId buffer : staying[slotOf[value]]) {
        const Buffer &at = plan.buffers[buffer];
        if (valueOf(buffer) == value && (offset < 0 || at.offset == offset) &&
            contents.find(at.offset, at.offset + graph.tensors[value].bytes,
                          value) == value)
          return true;
      }
      return false;
    };

    // The value that a parameter has after the last operator.
    std::vector<TensorId> lastValue(graph.tensors.size(), -1);
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      lastValue[t] = TensorId(t);
    for (size_t o = 0; o < graph.operators.size(); ++o) {
      const Operator &op = graph.operators[o];
      bool needed = false;
      for (size_t i = 0; i < op.outputs.size(); ++i) {
        needed |= graph.tensors[op.outputs[i]].kind == TensorKind::output;
        if (i < op.updates.size() && op.updates[i] >= 0) {
          needed = true;
          lastValue[graph.storageOf(op.updates[i])] =
              graph.storageOf(op.outputs[i]);
        }
      }
      if (needed && runs[o] == 0)
        return fail("operator '" + op.name + "' never runs");
    }

    for (size_t t = 0; t < graph.tensors.size() && problem.empty(); ++t) {
      TensorId slot = TensorId(t);
      const Tensor &tensor = graph.tensors[t];
      if (tensor.kind == TensorKind::parameter && slotOf[slot] == slot) {
        if (givenAs[t] < 0 && hostHas[t] != lastValue[t])
          fail("the host has " + tensorName(hostHas[t]) + " at the end, not " +
               tensorName(lastValue[t]));
        if (givenAs[t] >= 0 &&
            !isOnDevice(lastValue[t], plan.buffers[givenAs[t]].offset))
          fail("at the end, " + tensorName(lastValue[t]) +
               " is not where the parameter " + tensorName(slot) +
               " was at the start");
        continue;
      }
      TensorId value = graph.storageOf(slot);
      if (tensor.kind != TensorKind::output || isParameterSlot(value))
        continue;
      if (isOnDevice(value, -1))
        continue;
      if (hostHas[value] != value)
        fail("the output " + tensorName(slot) + " is nowhere at the end");
      fetchedAt[value] = lastStep();
    }
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      endStay(TensorId(t));
  }

  bool isParameterSlot(TensorId value) const {
    return graph.tensors[slotOf[value]].kind == TensorKind::parameter;
  }

  //===--------------------------------------------------------------------===//
  // Rectangles
  //===--------------------------------------------------------------------===//

  /// What is at some address at a step. A buffer's views and updates are one
  /// with it.
  struct Occupant {
    int64_t end;
    BufferId group;
  };
  using Occupants = std::map<int64_t, Occupant>;

  /// An occupant of [begin, end), or none.
  static Occupants::iterator findOverlap(Occupants &occupants, int64_t begin,
                                         int64_t end) {
    auto next = occupants.lower_bound(begin);
    if (next != occupants.end() && next->first < end)
      return next;
    if (next == occupants.begin())
      return occupants.end();
    --next;
    return next->second.end > begin ? next : occupants.end();
  }

  void checkOverlaps() {
    size_t count = plan.steps.size();
    // Groups by the step that they start or end at.
    std::vector<std::vector<BufferId>> starting(count);
    std::vector<std::vector<BufferId>> ending(count);
    for (size_t b = 0; b < plan.buffers.size(); ++b)
      if (groupOf[b] == BufferId(b) && plan.buffers[b].bytes > 0) {
        starting[plan.buffers[b].first].push_back(BufferId(b));
        ending[groupLast[b]].push_back(BufferId(b));
      }

    Occupants occupants;
    // What is left at this step of memory that was taken over in part.
    std::vector<int64_t> leftovers;
    for (size_t s = 0; s < count && problem.empty(); ++s) {
      for (BufferId group : starting[s]) {
        const Buffer &buffer = plan.buffers[group];
        if (takesOver[group] >= 0 &&
            !takeOver(s, occupants, buffer, groupOf[takesOver[group]],
                      leftovers))
          return;
        auto overlap = findOverlap(occupants, buffer.offset, endOf(buffer));
        if (overlap != occupants.end())
          return failAt(s,
                        "makes " + bufferName(group) + " at " +
                            rangeName(buffer.offset, endOf(buffer)) + ", and " +
                            bufferName(overlap->second.group) + " is at " +
                            rangeName(overlap->first, overlap->second.end) +
                            " to step " +
                            std::to_string(groupLast[overlap->second.group]));
        occupants[buffer.offset] = {endOf(buffer), group};
      }
      const Step &step = plan.steps[s];
      if (step.workspaceBytes > 0) {
        int64_t end = step.workspaceOffset + step.workspaceBytes;
        auto overlap = findOverlap(occupants, step.workspaceOffset, end);
        if (overlap != occupants.end())
          return failAt(s, "has its workspace at " +
                               rangeName(step.workspaceOffset, end) + ", and " +
                               bufferName(overlap->second.group) + " is at " +
                               rangeName(overlap->first, overlap->second.end));
      }
      for (BufferId group : ending[s]) {
        auto at = occupants.find(plan.buffers[group].offset);
        if (at != occupants.end() && at->second.group == group)
          occupants.erase(at);
      }
      for (int64_t begin : leftovers)
        occupants.erase(begin);
      leftovers.clear();
    }
  }

  /// Makes room for `buffer`, which takes over the memory of `taken`.
  bool takeOver(size_t s, Occupants &occupants, const Buffer &buffer,
                BufferId taken, std::vector<int64_t> &leftovers) {
    if (plan.buffers[taken].bytes == 0)
      return true;
    if (groupLast[taken] > int32_t(s)) {
      failAt(s, "takes over the memory of " + bufferName(taken) +
                    ", which is needed to step " +
                    std::to_string(groupLast[taken]));
      return false;
    }
    auto at = occupants.find(plan.buffers[taken].offset);
    if (at == occupants.end() || at->second.group != taken) {
      failAt(s, "takes over the memory of " + bufferName(taken) + " twice");
      return false;
    }
    Occupant old = at->second;
    occupants.erase(at);
    if (old.end > endOf(buffer)) {
      occupants[endOf(buffer)] = old;
      leftovers.push_back(endOf(buffer));
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Totals
  //===--------------------------------------------------------------------===//

  void checkTotals() {
    int64_t arena = 0;
    for (const Buffer &buffer : plan.buffers)
      if (buffer.bytes > 0)
        arena = std::max(arena, endOf(buffer));
    for (const Step &step : plan.steps)
      if (step.workspaceBytes > 0)
        arena = std::max(arena, step.workspaceOffset + step.workspaceBytes);
    if (arena != plan.arenaBytes)
      fail("the arena has " + std::to_string(plan.arenaBytes) +
           " bytes, and its highest buffer ends at " + std::to_string(arena));

    int64_t host = 0;
    int64_t held = 0;
    for (int64_t change : hostChange) {
      held += change;
      host = std::max(host, held);
    }
    if (host != plan.hostBytes)
      fail("the plan says that the host holds " +
           std::to_string(plan.hostBytes) + " bytes, and it holds " +
           std::to_string(host));
    if (options.budgetBytes >= 0 && arena > options.budgetBytes)
      fail("the arena has " + std::to_string(arena) +
           " bytes, and the budget is " + std::to_string(options.budgetBytes));
    if (options.hostMemoryBytes >= 0 && host > options.hostMemoryBytes)
      fail("the host holds " + std::to_string(host) + " bytes, and has " +
           std::to_string(options.hostMemoryBytes));
  }

  const Graph &graph;
  const Plan &plan;
  const CheckPlanOptions &options;
  std::string problem;

  /// By buffer: the step that makes it; -1: it is given.
  std::vector<int32_t> madeAt;
  /// By tensor: the buffer that it is given in; -1: none.
  std::vector<BufferId> givenAs;
  /// By tensor: where the host keeps it. All values of a parameter are kept in
  /// one place.
  std::vector<TensorId> slotOf;

  Contents contents;
  /// By operator: how often it ran.
  std::vector<int32_t> runs;
  /// By buffer.
  std::vector<bool> isRead;
  /// By parameter: buffers of its values, made so far; not of views, which may
  /// keep the old value.
  std::vector<std::vector<BufferId>> liveOf;

  /// By buffer: the one whose memory it is a view or an update of, in the end.
  std::vector<BufferId> groupOf;
  /// By such a buffer: the last step that it, a view or an update is needed at.
  std::vector<int32_t> groupLast;
  /// By buffer: the one that it takes over; -1: none.
  std::vector<BufferId> takesOver;

  /// By slot: the value that the host has there.
  std::vector<TensorId> hostHas;
  /// By slot: since when the host has it, for how long so far.
  std::vector<int32_t> offloadedAt;
  std::vector<int32_t> fetchedAt;
  /// By step: how many more bytes the host holds than before.
  std::vector<int64_t> hostChange;
};

} // namespace

std::string espalier::planning::checkPlan(const Graph &graph, const Plan &plan,
                                          const CheckPlanOptions &options) {
  return PlanChecker(graph, plan, options).check();
}
