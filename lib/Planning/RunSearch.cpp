//===- RunSearch.cpp - The cheapest schedule that fits --------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunSearch.h"

#include <algorithm>
#include <cmath>

using namespace espalier::planning;

/// Beyond this many runners, weighing every run at every peak takes too long.
static constexpr RunnerId greedyLimit = 3000;

RunSearch::RunSearch(const RunProblem &problem, const RecomputeOptions &options)
    : problem(problem), options(options), segments(problem),
      began(std::chrono::steady_clock::now()) {
  double total = 0;
  for (RunnerId runner = 0; runner < problem.size(); ++runner)
    if (problem.runners[runner].lastStage >= 0) {
      movable.push_back(runner);
      total += problem.runners[runner].seconds;
    }
  averageSeconds = movable.empty() ? 0 : total / double(movable.size());
}

bool RunSearch::isLate() const {
  if (options.secondsLimit <= 0)
    return false;
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - began;
  return passed.count() > options.secondsLimit;
}

// SplitMix64: the same on every machine, unlike the library's distributions.
uint64_t RunSearch::random() {
  state += 0x9e3779b97f4a7c15;
  uint64_t bits = state;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

size_t RunSearch::randomBelow(size_t count) { return random() % count; }

double RunSearch::randomPart() {
  return double(random() >> 11) / double(uint64_t(1) << 53);
}

/// What is free still counts a little: the fewer runs, the better.
double RunSearch::priceOf(RunnerId runner) const {
  return problem.runners[runner].seconds + 1e-6 * averageSeconds + 1e-12;
}

void RunSearch::offer(const RunSchedule &schedule) {
  int64_t peak = schedule.peak();
  if (peak < lowest) {
    lowest = peak;
    lowestAgain = schedule.runsAgain();
  }
  if (peak > budget)
    return;
  if (found && (schedule.secondsAgain() > best ||
                (schedule.secondsAgain() == best &&
                 schedule.runsAgain().size() >= bestAgain.size())))
    return;
  found = true;
  best = schedule.secondsAgain();
  bestAgain = schedule.runsAgain();
}

void RunSearch::insert(RunSchedule &schedule, Again run) {
  schedule.insert(run);
  log.push_back({run, true});
}

void RunSearch::erase(RunSchedule &schedule, Again run) {
  schedule.erase(run);
  log.push_back({run, false});
}

void RunSearch::undo(RunSchedule &schedule, size_t changes) {
  while (log.size() > changes) {
    Change change = log.back();
    log.pop_back();
    if (change.inserted)
      schedule.erase(change.run);
    else
      schedule.insert(change.run);
  }
}

void RunSearch::insertWith(RunSchedule &schedule, Again run, With with,
                           Key peak) {
  std::vector<Again> open = {run};
  while (!open.empty()) {
    Again next = open.back();
    open.pop_back();
    if (schedule.has(next))
      continue;
    Key key = schedule.keyOf(next);
    if (with != With::nothing)
      for (ValueId value : problem.runners[next.runner].reads) {
        Again maker = {problem.values[value].maker, next.stage};
        Key last = schedule.stayAt(value, key).last;
        if (last < key && (with == With::everything || last < peak) &&
            schedule.isAllowed(maker))
          open.push_back(maker);
      }
    insert(schedule, next);
  }
}

void RunSearch::trySegments() {
  size_t count = problem.size() <= greedyLimit ? 12 : 6;
  for (double density : segments.densities(count))
    for (int64_t bytes : segments.segmentSizes(count)) {
      if (isLate())
        return;
      std::vector<Again> again = segments.make(density, bytes);
      double seconds = 0;
      for (Again run : again)
        seconds += problem.runners[run.runner].seconds;
      if (found && seconds >= best)
        continue;
      offer(RunSchedule(problem, again));
    }
}

bool RunSearch::reduceQuickly(RunSchedule &schedule) {
  // Each round breaks up what the one before made. Where that does not end soon
  // it does not end at all.
  size_t most = 2 * problem.runners.size();
  while (schedule.peak() > budget && schedule.runsAgain().size() < most) {
    if (isLate())
      return false;
    Key first = -1;
    Key last = -1;
    schedule.getProfile().rangeAbove(budget, first, last);
    struct Gap {
      ValueId value;
      Key from;
      Key to;
      double worth;
    };
    std::vector<Gap> gaps;
    for (size_t number = 0; number < problem.values.size(); ++number) {
      const RunProblem::Value &value = problem.values[number];
      if (problem.runners[value.maker].lastStage < 0 || value.bytes == 0)
        continue;
      // The gap in which the peaks begin, or the first after that.
      RunSchedule::Stay stay = schedule.stayAt(ValueId(number), last);
      for (Key from = stay.made; from >= 0 && from <= last;) {
        Key to = schedule.nextRead(ValueId(number), from, stay.until);
        if (to < 0)
          break;
        if (to > first + 1 && to > from + 1) {
          double part = double(std::min(to, last) - std::max(from, first));
          gaps.push_back({ValueId(number), from, to,
                          double(value.bytes) * part / priceOf(value.maker)});
        }
        from = to;
      }
    }
    std::stable_sort(gaps.begin(), gaps.end(), [](const Gap &a, const Gap &b) {
      return a.worth > b.worth;
    });
    size_t before = schedule.runsAgain().size();
    for (const Gap &gap : gaps) {
      if (schedule.runsAgain().size() >= most)
        break;
      if (schedule.getProfile().peakIn(gap.from + 1, gap.to - 1) <= budget)
        continue;
      Again run = {problem.values[gap.value].maker,
                   gap.to == schedule.end() ? problem.size()
                                            : schedule.stageOf(gap.to)};
      if (!schedule.isAllowed(run) || schedule.has(run) ||
          schedule.keyOf(run) <= gap.from)
        continue;
      log.clear();
      insertWith(schedule, run, With::everything, first);
    }
    if (schedule.runsAgain().size() == before)
      break;
  }
  log.clear();
  return schedule.peak() <= budget;
}

void RunSearch::findCandidates(const RunSchedule &schedule, Key peak) {
  candidates.clear();
  RunnerId atPeak = schedule.runnerOf(peak);
  for (size_t number = 0; number < problem.values.size(); ++number) {
    const RunProblem::Value &value = problem.values[number];
    if (value.bytes == 0 || problem.runners[value.maker].lastStage < 0)
      continue;
    RunSchedule::Stay stay = schedule.stayAt(ValueId(number), peak);
    if (stay.made < 0 || stay.last <= peak || stay.until == peak)
      continue;
    if (std::binary_search(value.readers.begin(), value.readers.end(), atPeak))
      continue;
    Key read = schedule.nextRead(ValueId(number), peak, stay.until);
    if (read < 0)
      continue;
    Again run = {value.maker, read == schedule.end() ? problem.size()
                                                     : schedule.stageOf(read)};
    if (!schedule.isAllowed(run) || schedule.keyOf(run) <= peak ||
        schedule.has(run))
      continue;
    candidates.push_back({run, double(value.bytes) / priceOf(value.maker)});
  }
}

bool RunSearch::reduce(RunSchedule &schedule, double power) {
  constexpr size_t weighed = 40;
  while (schedule.peak() > budget) {
    if (isLate())
      return false;
    Key peak = schedule.getProfile().peakRun().key;
    findCandidates(schedule, peak);
    if (candidates.size() > weighed) {
      std::stable_sort(candidates.begin(), candidates.end(),
                       [](const Candidate &a, const Candidate &b) {
                         return a.worth > b.worth;
                       });
      candidates.resize(weighed);
    }
    double excess = schedule.getProfile().excess(budget);
    double seconds = schedule.secondsAgain();
    double bestWorth = 0;
    Again bestRun;
    With bestWith = With::nothing;
    for (const Candidate &candidate : candidates) {
      size_t sizeBefore = 0;
      for (With with : {With::nothing, With::whatPeaks, With::everything}) {
        log.clear();
        insertWith(schedule, candidate.run, with, peak);
        double relief = excess - schedule.getProfile().excess(budget);
        double price =
            schedule.secondsAgain() - seconds + 1e-6 * averageSeconds + 1e-12;
        bool same = log.size() == sizeBefore;
        sizeBefore = log.size();
        undo(schedule, 0);
        if (same || relief <= 0)
          continue;
        double worth = std::pow(relief, power) / price;
        if (worth > bestWorth) {
          bestWorth = worth;
          bestRun = candidate.run;
          bestWith = with;
        }
      }
    }
    if (bestWorth <= 0)
      return false;
    log.clear();
    insertWith(schedule, bestRun, bestWith, peak);
  }
  log.clear();
  return true;
}

void RunSearch::tidy(RunSchedule &schedule) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<Again> runs = schedule.runsAgain();
    std::sort(runs.begin(), runs.end(), [&](Again a, Again b) {
      double ofA = problem.runners[a.runner].seconds;
      double ofB = problem.runners[b.runner].seconds;
      return ofA != ofB ? ofA > ofB : schedule.keyOf(a) > schedule.keyOf(b);
    });
    int64_t limit = std::max(budget, schedule.peak());
    for (Again run : runs) {
      if (!schedule.mayErase(run, limit))
        continue;
      schedule.erase(run);
      if (schedule.peak() <= limit)
        changed = true;
      else
        schedule.insert(run);
    }
    if (isLate() || problem.size() > greedyLimit)
      return;
  }
}

bool RunSearch::findRandomRun(const RunSchedule &schedule, Again &run) {
  for (int tries = 0; tries < 8; ++tries) {
    RunnerId runner = movable[randomBelow(movable.size())];
    const std::vector<ValueId> &makes = problem.runners[runner].makes;
    if (makes.empty())
      continue;
    const RunProblem::Value &value =
        problem.values[makes[randomBelow(makes.size())]];
    size_t readers = value.readers.size() + (value.keptToTheEnd ? 1 : 0);
    if (readers == 0)
      continue;
    size_t reader = randomBelow(readers);
    RunnerId stage = problem.size();
    if (reader < value.readers.size()) {
      // One of the stages that the reader runs in.
      const std::vector<RunnerId> &of =
          schedule.stagesOf(value.readers[reader]);
      stage = of[randomBelow(of.size())];
    }
    run = {runner, stage};
    if (schedule.isAllowed(run) && !schedule.has(run))
      return true;
  }
  return false;
}

bool RunSearch::repair(RunSchedule &schedule) {
  for (int tries = 0; tries < 5; ++tries) {
    if (schedule.peak() <= budget)
      return true;
    Key peak = schedule.getProfile().peakRun().key;
    findCandidates(schedule, peak);
    if (candidates.empty())
      return false;
    // The best of a few, so that it differs from time to time.
    Candidate pick = candidates[randomBelow(candidates.size())];
    size_t others = 1 + randomBelow(6);
    for (size_t i = 0; i < others; ++i) {
      const Candidate &other = candidates[randomBelow(candidates.size())];
      if (other.worth > pick.worth)
        pick = other;
    }
    insertWith(schedule, pick.run, With(randomBelow(3)), peak);
  }
  return schedule.peak() <= budget;
}

void RunSearch::eraseSome(RunSchedule &schedule, size_t tries) {
  for (size_t i = 0; i < tries && !schedule.runsAgain().empty(); ++i) {
    Again run = schedule.runsAgain()[randomBelow(schedule.runsAgain().size())];
    if (!schedule.mayErase(run, budget))
      continue;
    erase(schedule, run);
    if (schedule.peak() > budget)
      undo(schedule, log.size() - 1);
  }
}

bool RunSearch::changeAtRandom(RunSchedule &schedule) {
  const std::vector<Again> &again = schedule.runsAgain();
  double kind = randomPart();
  if (again.empty())
    kind = 0.6;
  if (kind < 0.45) {
    // Take out one, and perhaps its neighbour.
    erase(schedule, again[randomBelow(again.size())]);
    if (!repair(schedule))
      return false;
  } else if (kind < 0.75) {
    Again run;
    if (!findRandomRun(schedule, run))
      return false;
    insertWith(schedule, run, With(randomBelow(3)), schedule.keyOf(run) - 1);
    if (schedule.peak() > budget)
      return false;
  } else {
    // Move one to another stage.
    Again run = again[randomBelow(again.size())];
    erase(schedule, run);
    const std::vector<ValueId> &makes = problem.runners[run.runner].makes;
    const RunProblem::Value &value =
        problem.values[makes[randomBelow(makes.size())]];
    if (value.readers.empty())
      return schedule.peak() <= budget;
    const std::vector<RunnerId> &stages =
        schedule.stagesOf(value.readers[randomBelow(value.readers.size())]);
    Again moved = {run.runner, stages[randomBelow(stages.size())]};
    if (!schedule.isAllowed(moved) || schedule.has(moved))
      return false;
    insertWith(schedule, moved, With(randomBelow(2)),
               schedule.keyOf(moved) - 1);
    if (schedule.peak() > budget && !repair(schedule))
      return false;
  }
  eraseSome(schedule, 1 + randomBelow(4));
  return true;
}

void RunSearch::anneal(RunSchedule &schedule, int64_t changes, double heat) {
  if (movable.empty())
    return;
  double temperature = heat * averageSeconds;
  double last = 0.003 * averageSeconds;
  double cooling =
      std::pow(last / std::max(temperature, 1e-300), 1.0 / double(changes));
  for (int64_t i = 0; i < changes; ++i, temperature *= cooling) {
    if ((i & 63) == 0 && isLate())
      break;
    double before = schedule.secondsAgain();
    log.clear();
    bool kept = changeAtRandom(schedule);
    double more = schedule.secondsAgain() - before;
    if (kept && more > 0)
      kept = temperature > 0 && randomPart() < std::exp(-more / temperature);
    if (!kept) {
      undo(schedule, 0);
      continue;
    }
    if (schedule.secondsAgain() < best ||
        (schedule.secondsAgain() == best &&
         schedule.runsAgain().size() < bestAgain.size()))
      offer(schedule);
  }
  log.clear();
}

void RunSearch::begin(int64_t budgetBytes,
                      const std::vector<std::vector<Again>> &known) {
  budget = budgetBytes;
  found = false;
  bestAgain.clear();
  state = 1;
  RunSchedule plain(problem);
  offer(plain);
  if (found)
    return;
  for (const std::vector<Again> &again : known)
    offer(RunSchedule(problem, again));
  trySegments();
  if (!found || problem.size() <= greedyLimit) {
    RunSchedule schedule = plain;
    reduceQuickly(schedule);
    tidy(schedule);
    offer(schedule);
  }
  if (problem.size() <= greedyLimit)
    for (double power : {1.0, 0.5, 2.0}) {
      RunSchedule schedule = plain;
      reduce(schedule, power);
      tidy(schedule);
      offer(schedule);
      if (isLate())
        break;
    }
  if (found)
    return;
  // What comes nearest may be helped over the last step.
  RunSchedule schedule(problem, lowestAgain);
  if (problem.size() <= greedyLimit)
    reduce(schedule, 1);
  else
    reduceQuickly(schedule);
  offer(schedule);
}

void RunSearch::improve() {
  int64_t changes = options.changes;
  if (changes < 0)
    changes = problem.size() <= greedyLimit
                  ? std::min<int64_t>(400000, 2000 * int64_t(problem.size()))
                  : 0;
  constexpr int restarts = 4;
  for (int i = 0; i <= restarts; ++i) {
    RunSchedule tidied(problem, bestAgain);
    tidy(tidied);
    offer(tidied);
    if (isLate() || i == restarts || changes < restarts || bestAgain.empty())
      return;
    RunSchedule schedule(problem, bestAgain);
    anneal(schedule, changes / restarts, i % 2 == 0 ? 1.0 : 0.2);
  }
}

std::optional<std::vector<RunSearch::Again>>
RunSearch::find(int64_t budgetBytes,
                const std::vector<std::vector<Again>> &known) {
  begin(budgetBytes, known);
  if (!found)
    return std::nullopt;
  improve();
  return bestAgain;
}

void RunSearch::findLowest() {
  int64_t bound = problem.lowerBound();
  if (lowest > bound)
    begin(bound, {});
}
