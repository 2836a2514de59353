//===- MemoryWalk.cpp - What leaves the device when -----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryWalk.h"

#include "StableSort.h"

#include "espalier/Planning/Liveness.h"

#include <algorithm>
#include <limits>
#include <set>

using namespace espalier::planning;

static constexpr double infinite = std::numeric_limits<double>::infinity();

WalkInput::WalkInput(const Graph &graph, const Machine &machine,
                     const std::vector<OperatorId> &order, int64_t alignment)
    : graph(graph), machine(machine), order(order),
      producer(producersOf(graph)) {
  size_t tensors = graph.tensors.size();
  size_t operators = graph.operators.size();
  int32_t end = int32_t(order.size());
  storage.resize(tensors);
  for (size_t t = 0; t < tensors; ++t)
    storage[t] = graph.storageOf(TensorId(t));
  std::vector<TensorId> updated(tensors, -1);
  std::vector<int32_t> overwrittenAt(tensors, end);
  for (int32_t s = 0; s < end; ++s) {
    const Operator &op = graph.operators[order[s]];
    for (size_t i = 0; i < op.updates.size(); ++i)
      if (op.updates[i] >= 0) {
        updated[op.outputs[i]] = op.updates[i];
        overwrittenAt[op.updates[i]] = s;
      }
  }
  for (size_t t = 0; t < tensors; ++t)
    if (updated[storage[t]] >= 0)
      storage[t] = updated[storage[t]];

  bytes.assign(tensors, 0);
  for (size_t t = 0; t < tensors; ++t)
    if (storage[t] == TensorId(t))
      bytes[t] =
          (graph.tensors[t].bytes + alignment - 1) / alignment * alignment;

  readStart.assign(operators + 1, 0);
  validUntil.assign(operators, end);
  seconds.resize(operators);
  for (size_t i = 0; i < operators; ++i) {
    const Operator &op = graph.operators[i];
    const Algorithm *algorithm = nullptr;
    for (const Algorithm &other : op.algorithms)
      if (!algorithm || other.workspaceBytes < algorithm->workspaceBytes)
        algorithm = &other;
    seconds[i] = machine.secondsOf(op, algorithm);
    size_t start = reads.size();
    for (TensorId t : op.inputs) {
      if (std::find(reads.begin() + start, reads.end(), storage[t]) ==
          reads.end())
        reads.push_back(storage[t]);
      validUntil[i] =
          std::min(validUntil[i], overwrittenAt[graph.storageOf(t)]);
    }
    readStart[i + 1] = int32_t(reads.size());
  }

  // Uses, counted and then filled in.
  auto forUses = [&](auto visit) {
    std::vector<TensorId> touched;
    for (int32_t s = 0; s < end; ++s) {
      OperatorId id = order[s];
      touched.assign(reads.begin() + readStart[id],
                     reads.begin() + readStart[id + 1]);
      for (TensorId t : graph.operators[id].outputs)
        if (storage[t] != t && std::find(touched.begin(), touched.end(),
                                         storage[t]) == touched.end())
          touched.push_back(storage[t]);
      for (TensorId t : touched)
        visit(t, s);
    }
    for (size_t t = 0; t < tensors; ++t)
      if (storage[t] == TensorId(t) &&
          graph.tensors[t].kind != TensorKind::temporary)
        visit(TensorId(t), end);
  };
  std::vector<bool> endsLate(tensors, false);
  useStart.assign(tensors + 1, 0);
  // A view that is an output keeps what it is a view of.
  for (size_t t = 0; t < tensors; ++t)
    if (graph.tensors[t].kind == TensorKind::output &&
        graph.tensors[storage[t]].kind == TensorKind::temporary)
      endsLate[storage[t]] = true;
  forUses([&](TensorId t, int32_t) { ++useStart[t + 1]; });
  for (size_t t = 0; t < tensors; ++t)
    useStart[t + 1] += useStart[t] + (endsLate[t] ? 1 : 0);
  uses.resize(useStart[tensors]);
  std::vector<int32_t> filled(useStart.begin(), useStart.end() - 1);
  forUses([&](TensorId t, int32_t s) { uses[filled[t]++] = s; });
  for (size_t t = 0; t < tensors; ++t)
    if (endsLate[t])
      uses[filled[t]++] = end;

  startTime.assign(size_t(end) + 1, 0);
  for (int32_t s = 0; s < end; ++s)
    startTime[s + 1] = startTime[s] + seconds[order[s]];
}

namespace {
class Walk {
public:
  Walk(const WalkInput &input, const WalkOptions &options, Schedule &schedule,
       WalkFailure &failure)
      : in(input), graph(input.graph), options(options), schedule(schedule),
        failure(failure), end(int32_t(input.order.size())) {
    size_t count = graph.tensors.size();
    state.resize(count);
    viewStay.assign(count, -1);
    schedule.computations.clear();
    schedule.stays.clear();
    schedule.secondsToRecompute.clear();
    schedule.startsOnHost.assign(count, false);
    smallBytes = options.budget / 20000;
  }

  bool run() {
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      TensorId s = TensorId(t);
      if (in.storage[t] != s)
        continue;
      state[s].cursor = in.useStart[s];
      state[s].version = s;
      if (isGiven(s)) {
        int32_t stay = addStay(s, s);
        schedule.stays[stay].isResident = true;
        state[s].isMade = true;
        used += in.bytes[s];
        addCandidate(s);
      }
    }
    if (!makeRoom(0))
      return false;
    for (position = 0; position < end; ++position) {
      if (options.fixed)
        for (TensorId s : options.fixed->fetchBefore[position])
          if (state[s].stay < 0 && !materialize(s))
            return false;
      if (!runOperator(in.order[position], -1))
        return false;
      if (options.fixed)
        for (Eviction eviction : options.fixed->evictAfter[position])
          evictFixed(eviction);
    }
    finish();
    return true;
  }

private:
  struct State {
    int32_t stay = -1;
    int32_t cursor = 0;
    int32_t pins = 0;
    /// The key that it has among the candidates; -1: it is none.
    int32_t key = -1;
    int32_t set = 0;
    /// The tensor whose value it has.
    TensorId version = -1;
    /// The computation that gave it its value.
    int32_t madeBy = -1;
    bool isMade = false;
    bool onHost = false;
    /// Has the host counted it?
    bool countedOnHost = false;
    /// Uses besides the order's, for what is to be computed again.
    std::vector<int32_t> extraUses;
  };

  bool isGiven(TensorId s) const {
    return graph.tensors[s].kind == TensorKind::input ||
           graph.tensors[s].kind == TensorKind::parameter;
  }

  //===--- Uses ---===//

  /// The first use at the position or later; end + 1: none.
  int32_t nextUse(TensorId s) {
    State &at = state[s];
    while (at.cursor < in.useStart[s + 1] && in.uses[at.cursor] < position)
      ++at.cursor;
    int32_t next =
        at.cursor < in.useStart[s + 1] ? in.uses[at.cursor] : end + 1;
    for (int32_t use : at.extraUses)
      if (use >= position)
        next = std::min(next, use);
    return next;
  }

  int32_t lastUse(TensorId s) const {
    int32_t last = in.useStart[s] < in.useStart[s + 1]
                       ? in.uses[in.useStart[s + 1] - 1]
                       : -1;
    for (int32_t use : state[s].extraUses)
      last = std::max(last, use);
    return last;
  }

  void addUse(TensorId s, int32_t use) {
    State &at = state[s];
    std::vector<int32_t> kept;
    for (int32_t other : at.extraUses)
      if (other >= position && other != use)
        kept.push_back(other);
    kept.push_back(use);
    at.extraUses = std::move(kept);
    if (at.key >= 0) {
      removeCandidate(s);
      addCandidate(s);
    }
  }

  //===--- What may leave ---===//

  void addCandidate(TensorId s) {
    if (in.bytes[s] == 0)
      return;
    State &at = state[s];
    at.key = nextUse(s);
    at.set = in.bytes[s] < smallBytes ? 2 : isCheap(s) ? 1 : 0;
    candidates[at.set].emplace(-at.key, s);
  }

  void removeCandidate(TensorId s) {
    State &at = state[s];
    if (at.key < 0)
      return;
    candidates[at.set].erase({-at.key, s});
    at.key = -1;
  }

  /// Cheaper to compute again than to copy there and back.
  bool isCheap(TensorId s) const {
    OperatorId op = in.producer[s];
    return options.recompute && op >= 0 && graph.operators[op].recomputable &&
           in.seconds[op] < in.machine.transferSeconds(in.bytes[s]);
  }

  void pin(TensorId s) {
    if (state[s].pins++ == 0)
      removeCandidate(s);
  }

  /// Gives up what no one needs any more.
  void unpin(TensorId s) {
    if (--state[s].pins > 0 || state[s].stay < 0)
      return;
    if (nextUse(s) > end)
      release(s);
    else
      addCandidate(s);
  }

  void release(TensorId s) {
    State &at = state[s];
    schedule.stays[at.stay].last = now() - 1;
    used -= heldBytes(at.stay);
    at.stay = -1;
    dropHostCopy(s);
  }

  void dropHostCopy(TensorId s) {
    State &at = state[s];
    if (at.countedOnHost && !isGiven(s)) {
      at.countedOnHost = false;
      onHostBytes -= in.bytes[s];
    }
    at.onHost = false;
  }

  //===--- Stays ---===//

  int32_t now() const { return int32_t(schedule.computations.size()); }

  /// Of the memory that a stay has, which it may have taken over from a larger
  /// one.
  int64_t heldBytes(int32_t stay) const { return held[stay]; }

  int32_t addStay(TensorId s, TensorId tensor, int64_t takenBytes = -1) {
    Stay stay;
    stay.storage = s;
    stay.tensor = tensor;
    stay.bytes = in.bytes[s];
    stay.first = now();
    schedule.stays.push_back(stay);
    schedule.secondsToRecompute.push_back(infinite);
    held.push_back(takenBytes < 0 ? in.bytes[s] : takenBytes);
    firstUse.push_back(-1);
    int32_t id = int32_t(schedule.stays.size()) - 1;
    state[s].stay = id;
    return id;
  }

  //===--- Eviction ---===//

  /// What is next used at the end stays where it is.
  bool comesBack(int32_t next) const { return next < end; }

  double offloadCost(TensorId s, int32_t next) {
    State &at = state[s];
    double once = in.machine.transferSeconds(in.bytes[s]);
    double cost = 0;
    if (comesBack(next))
      cost += once;
    if (isGiven(s) && !schedule.startsOnHost[s]) {
      // Comes before its first use, and goes back if it has a new value.
      cost += firstUse[at.stay] >= 0 ? once : 0;
      if (isUpdated(s))
        cost += once;
    } else if (!at.onHost && !isGiven(s)) {
      cost += once;
    }
    cost *= options.linkPrice;
    if (!at.onHost && !(isGiven(s) && at.version == s)) {
      // The copy can have started when it was made, or when the link was free.
      double made = at.madeBy >= 0 ? timeAfter[at.madeBy] : 0;
      double done = std::max(outFree, made) + once;
      cost += std::max(0.0, done - clock);
    }
    if (options.stalls && comesBack(next))
      cost += (*options.stalls)[s];
    return cost;
  }

  bool isUpdated(TensorId s) const {
    return graph.tensors[s].kind == TensorKind::parameter &&
           in.useStart[s + 1] - in.useStart[s] >= 1 && updates(s);
  }

  bool updates(TensorId s) const {
    if (isUpdatedStorage.empty()) {
      isUpdatedStorage.assign(graph.tensors.size(), false);
      for (const Operator &op : graph.operators)
        for (TensorId parameter : op.updates)
          if (parameter >= 0)
            isUpdatedStorage[parameter] = true;
    }
    return isUpdatedStorage[s];
  }

  bool mayOffload(TensorId s) const {
    if (!options.offload)
      return false;
    return state[s].countedOnHost ||
           onHostBytes + in.bytes[s] <= options.hostBudget;
  }

  /// What computing `s` again at `use` costs as things are. Holds what is read
  /// for it until then, if it is decided.
  double recompute(TensorId s, int32_t use, bool decide, int &left) {
    OperatorId op = in.producer[s];
    if (op < 0 || !graph.operators[op].recomputable ||
        in.validUntil[op] < use || --left < 0)
      return infinite;
    double cost = in.seconds[op];
    for (int32_t r = in.readStart[op]; r < in.readStart[op + 1]; ++r) {
      TensorId x = in.reads[r];
      const State &at = state[x];
      bool isThere = at.stay >= 0 || at.onHost;
      if (isThere && (isGiven(x) || lastUse(x) >= use)) {
        continue;
      }
      if (at.onHost) {
        cost += options.linkPrice * in.machine.transferSeconds(in.bytes[x]);
        if (decide)
          addUse(x, use);
        continue;
      }
      // A dropped tensor with a use then is computed again anyway.
      cost += recompute(x, use, decide, left);
      if (cost == infinite)
        return cost;
    }
    return cost;
  }

  double recomputeCost(TensorId s, int32_t next) {
    if (!options.recompute || isGiven(s) || !comesBack(next))
      return infinite;
    int left = 24;
    return recompute(s, next, false, left);
  }

  void evict(TensorId s, bool offload) {
    State &at = state[s];
    int32_t next = nextUse(s);
    removeCandidate(s);
    Stay &stay = schedule.stays[at.stay];
    if (offload) {
      if (!at.countedOnHost) {
        at.countedOnHost = true;
        onHostBytes += in.bytes[s];
      }
      if (isGiven(s) && !schedule.startsOnHost[s])
        startOnHost(s);
      bool isOld = at.onHost || (isGiven(s) && at.version == s);
      if (!isOld) {
        double made = at.madeBy >= 0 ? timeAfter[at.madeBy] : 0;
        outFree =
            std::max(outFree, made) + in.machine.transferSeconds(in.bytes[s]);
        clock = std::max(clock, outFree);
        stay.copiedAfter = at.madeBy;
      }
      at.onHost = true;
    } else {
      int left = INT32_MAX;
      recompute(s, next, true, left);
    }
    stay.last = now() - 1;
    used -= heldBytes(at.stay);
    at.stay = -1;
  }

  /// It was thought to be on the device from the start; now it comes from the
  /// host, before its first use.
  void startOnHost(TensorId s) {
    schedule.startsOnHost[s] = true;
    Stay &stay = schedule.stays[state[s].stay];
    stay.isResident = false;
    // Without a use it never came; one with the last before the first is none.
    int32_t use = firstUse[state[s].stay];
    stay.first = use >= 0 ? use : INT32_MAX;
    stay.fetched = use < 0 || reads(schedule.computations[use].op, s);
    state[s].onHost = state[s].version == s;
  }

  void evictFixed(Eviction eviction) {
    TensorId s = eviction.storage;
    if (state[s].stay < 0 || state[s].pins > 0)
      return;
    ++position;
    if (nextUse(s) <= end) {
      int left = INT32_MAX;
      bool canDrop = recompute(s, nextUse(s), false, left) < infinite;
      if (eviction.offload || canDrop)
        evict(s, eviction.offload);
    }
    --position;
  }

  /// Until `bytes` more fit.
  bool makeRoom(int64_t bytes) {
    while (used + bytes > options.budget) {
      TensorId best = -1;
      bool bestOffload = false;
      double bestScore = infinite;
      auto look = [&](int set, int count) {
        for (auto it = candidates[set].begin();
             it != candidates[set].end() && count > 0; ++it, --count) {
          TensorId s = it->second;
          int32_t next = -it->first;
          double freed = double(heldBytes(state[s].stay)) *
                         (in.startTime[std::min(next, end)] -
                          in.startTime[position] + 1e-9);
          double cost = mayOffload(s) ? offloadCost(s, next) : infinite;
          double again = recomputeCost(s, next);
          double score = std::min(cost, again) / freed;
          if (score < bestScore) {
            bestScore = score;
            best = s;
            bestOffload = cost <= again;
          }
        }
      };
      look(0, 16);
      look(1, 16);
      if (best < 0) {
        look(2, INT32_MAX);
        look(0, INT32_MAX);
        look(1, INT32_MAX);
      }
      if (best < 0) {
        reportFailure(used + bytes);
        return false;
      }
      evict(best, bestOffload);
    }
    return true;
  }

  void reportFailure(int64_t needed) {
    failure.step = std::min(position, end - 1);
    failure.bytesNeeded = needed;
    failure.largest.clear();
    for (size_t t = 0; t < graph.tensors.size(); ++t)
      if (in.storage[t] == TensorId(t) && state[t].stay >= 0)
        failure.largest.push_back(TensorId(t));
    stableSort(failure.largest, [&](TensorId a, TensorId b) {
      return in.bytes[a] > in.bytes[b];
    });
    if (failure.largest.size() > 8)
      failure.largest.resize(8);
  }

  //===--- Computation ---===//

  /// Makes sure that a storage is on the device.
  /// A parameter that is written over unread needs no more than its place.
  bool materialize(TensorId s, bool isRead = true) {
    State &at = state[s];
    if (at.stay >= 0)
      return true;
    if (!at.onHost)
      return runOperator(in.producer[s], s);
    if (!makeRoom(in.bytes[s]))
      return false;
    used += in.bytes[s];
    int left = 24;
    int32_t next = nextUse(s);
    double again = options.recompute && !isGiven(s)
                       ? recompute(s, std::min(next, end), false, left)
                       : infinite;
    int32_t id = addStay(s, at.version);
    schedule.secondsToRecompute[id] = again;
    addCandidate(s);
    if (!isRead)
      return true;
    schedule.stays[id].fetched = true;
    double start =
        std::max(inFree, clock - 5 * in.machine.transferSeconds(in.bytes[s]));
    inFree = start + in.machine.transferSeconds(in.bytes[s]);
    clock = std::max(clock, inFree);
    return true;
  }

  /// Makes sure that a tensor is there: the storage, and the view.
  bool materializeView(TensorId t) {
    TensorId s = in.storage[t];
    if (graph.tensors[t].viewOf < 0 || viewStay[t] == state[s].stay)
      return true;
    if (!materializeView(graph.tensors[t].viewOf))
      return false;
    emit(in.producer[t]);
    return true;
  }

  void touch(TensorId s) {
    int32_t stay = state[s].stay;
    if (firstUse[stay] < 0)
      firstUse[stay] = now();
  }

  /// Appends a computation of which all inputs and outputs are there.
  void emit(OperatorId id) {
    const Operator &op = graph.operators[id];
    Schedule::Computation computation;
    computation.op = id;
    for (TensorId t : op.inputs)
      computation.inputs.push_back(state[in.storage[t]].stay);
    for (TensorId s : touchedBy(id))
      if (state[s].stay >= 0)
        touch(s);
    for (TensorId t : op.outputs) {
      computation.outputs.push_back(state[in.storage[t]].stay);
      viewStay[t] = state[in.storage[t]].stay;
    }
    schedule.computations.push_back(std::move(computation));
    clock += in.seconds[id];
    timeAfter.push_back(clock);
  }

  std::vector<TensorId> touchedBy(OperatorId id) const {
    std::vector<TensorId> touched(in.reads.begin() + in.readStart[id],
                                  in.reads.begin() + in.readStart[id + 1]);
    for (TensorId t : graph.operators[id].outputs)
      if (in.storage[t] != t)
        touched.push_back(in.storage[t]);
    return touched;
  }

  bool reads(OperatorId id, TensorId s) const {
    auto begin = in.reads.begin();
    auto end = begin + in.readStart[id + 1];
    return std::find(begin + in.readStart[id], end, s) != end;
  }

  /// Runs an operator at its position in the order, or again for the sake of
  /// `wanted`.
  bool runOperator(OperatorId id, TensorId wanted) {
    if (++depth > 4000) {
      reportFailure(used);
      return false;
    }
    bool ok = runOperatorInner(id, wanted);
    --depth;
    return ok;
  }

  bool runOperatorInner(OperatorId id, TensorId wanted) {
    const Operator &op = graph.operators[id];
    bool again = wanted >= 0;
    std::vector<TensorId> touched = touchedBy(id);
    // What has to be computed again first: it needs the most besides.
    for (bool isRest : {false, true})
      for (TensorId s : touched) {
        if (state[s].pins > 0 && isPinnedHere(s))
          continue;
        if (!isRest && (state[s].stay >= 0 || state[s].onHost))
          continue;
        if (!materialize(s, reads(id, s)))
          return false;
        pin(s);
        pinnedHere.emplace_back(s, depth);
      }
    for (TensorId t : op.inputs)
      if (!materializeView(t))
        return false;

    // Where the outputs lie. `wanted` is what it is run again for; others that
    // are there already are made into memory that is given up at once.
    struct Output {
      TensorId storage;
      int32_t from = -1;
      int32_t oldStay = -1;
      bool isScratch = false;
    };
    std::vector<Output> outputs;
    int64_t bytes = options.alignment > 0
                        ? (leastWorkspace(op) + options.alignment - 1) /
                              options.alignment * options.alignment
                        : 0;
    std::vector<TensorId> taken;
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      TensorId t = op.outputs[i];
      TensorId s = in.storage[t];
      if (s != t)
        continue;
      Output output;
      output.storage = s;
      output.oldStay = state[s].stay;
      output.isScratch =
          again && s != wanted && (output.oldStay >= 0 || state[s].onHost);
      if (options.inPlace && i < op.inPlace.size() && op.inPlace[i] >= 0) {
        TensorId read = op.inputs[op.inPlace[i]];
        TensorId x = in.storage[read];
        if (mayTakeOver(x, again) && readsOnce(op, x) &&
            graph.tensors[t].bytes <= graph.tensors[read].bytes &&
            std::find(taken.begin(), taken.end(), x) == taken.end()) {
          taken.push_back(x);
          output.from = state[x].stay;
        }
      }
      if (output.from < 0)
        bytes += in.bytes[s];
      outputs.push_back(output);
    }
    for (const Output &output : outputs)
      if (output.oldStay >= 0)
        pin(output.storage);
    if (!makeRoom(bytes))
      return false;
    for (const Output &output : outputs) {
      if (output.from >= 0) {
        int32_t stay =
            addStay(output.storage, output.storage, heldBytes(output.from));
        schedule.stays[stay].takesOver = output.from;
      } else {
        addStay(output.storage, output.storage);
        used += in.bytes[output.storage];
      }
    }
    emit(id);
    int32_t computed = now() - 1;
    for (TensorId x : taken) {
      // Its memory is another's now.
      schedule.stays[state[x].stay].last = computed;
      state[x].stay = -1;
      dropHostCopy(x);
    }
    for (size_t i = 0; i < op.updates.size(); ++i)
      if (op.updates[i] >= 0) {
        State &at = state[op.updates[i]];
        at.version = op.outputs[i];
        at.madeBy = computed;
        at.onHost = false;
      }
    if (!again)
      ++position;
    for (const Output &output : outputs) {
      TensorId s = output.storage;
      State &at = state[s];
      if (output.isScratch) {
        schedule.stays[at.stay].last = computed;
        used -= heldBytes(at.stay);
        at.stay = output.oldStay;
        if (output.oldStay >= 0)
          unpin(s);
        continue;
      }
      at.isMade = true;
      at.madeBy = computed;
      at.onHost = false;
      if (s == wanted)
        addCandidate(s);
      else if (nextUse(s) > end)
        release(s);
      else
        addCandidate(s);
    }
    while (!pinnedHere.empty() && pinnedHere.back().second == depth) {
      TensorId s = pinnedHere.back().first;
      pinnedHere.pop_back();
      unpin(s);
    }
    if (!again)
      --position;
    return true;
  }

  bool isPinnedHere(TensorId s) const {
    for (auto it = pinnedHere.rbegin();
         it != pinnedHere.rend() && it->second == depth; ++it)
      if (it->first == s)
        return true;
    return false;
  }

  bool readsOnce(const Operator &op, TensorId s) const {
    return std::count_if(op.inputs.begin(), op.inputs.end(),
                         [&](TensorId t) { return in.storage[t] == s; }) == 1;
  }

  /// Whether nothing needs `x` after the operator that is about to run.
  bool mayTakeOver(TensorId x, bool again) {
    if (isGiven(x) || state[x].pins != 1)
      return false;
    if (again)
      return nextUse(x) > end;
    ++position;
    bool isDead = nextUse(x) > end;
    --position;
    return isDead;
  }

  void finish() {
    position = end;
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      TensorId s = TensorId(t);
      if (in.storage[t] != s || state[s].stay < 0)
        continue;
      Stay &stay = schedule.stays[state[s].stay];
      stay.last = now() - 1;
      if (isGiven(s) && schedule.startsOnHost[s] && !state[s].onHost)
        stay.copiedAfter = state[s].madeBy;
    }
  }

  const WalkInput &in;
  const Graph &graph;
  const WalkOptions &options;
  Schedule &schedule;
  WalkFailure &failure;
  int32_t end;
  int32_t position = 0;
  int depth = 0;
  int64_t used = 0;
  int64_t onHostBytes = 0;
  int64_t smallBytes = 0;
  double clock = 0, outFree = 0, inFree = 0;
  std::vector<State> state;
  /// By tensor: the stay in which it was last made.
  std::vector<int32_t> viewStay;
  std::vector<int64_t> held;
  std::vector<int32_t> firstUse;
  std::vector<double> timeAfter;
  std::vector<std::pair<TensorId, int>> pinnedHere;
  mutable std::vector<bool> isUpdatedStorage;
  /// By next use, the latest first: costly ones, cheap ones, small ones.
  std::set<std::pair<int32_t, TensorId>> candidates[3];
};
} // namespace

bool espalier::planning::walkMemory(const WalkInput &input,
                                    const WalkOptions &options,
                                    Schedule &schedule, WalkFailure &failure) {
  return Walk(input, options, schedule, failure).run();
}
