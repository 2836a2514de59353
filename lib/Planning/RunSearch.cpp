//===- RunSearch.cpp - The cheapest schedule that fits --------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunSearch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

using namespace espalier::planning;

/// Beyond this many runners, to weigh runs at every peak takes too long, and so
/// do changes by chance.
static constexpr RunnerId greedyLimit = 20000;
/// Up to this many, runs are weighed anew after each that is put in.
static constexpr RunnerId thoroughLimit = 1000;

/// Steps of each way to find a first schedule. A step is some ten nanoseconds,
/// so that it is a matter of seconds.
static constexpr int64_t stepsToBegin = 200'000'000;

/// Of the search for a cheaper one. Small graphs are done sooner.
static int64_t stepsToImprove(int64_t runners) {
  if (runners > greedyLimit)
    return 0;
  return std::min<int64_t>(150'000'000, 200'000 + 3000 * runners * runners);
}

RunSearch::RunSearch(const RunProblem &problem, const RecomputeOptions &options)
    : problem(problem), options(options), segments(problem),
      began(std::chrono::steady_clock::now()) {
  double total = 0;
  for (RunnerId runner = 0; runner < problem.size(); ++runner)
    if (problem.runners[runner].lastStage >= 0) {
      movable.push_back(runner);
      total += problem.runners[runner].seconds;
    }
  for (size_t value = 0; value < problem.values.size(); ++value)
    if (problem.values[value].bytes > 0 &&
        problem.runners[problem.values[value].maker].lastStage >= 0)
      droppable.push_back(ValueId(value));
  for (const RunProblem::Runner &runner : problem.runners) {
    // Of each value, its readers are looked at.
    int64_t steps = 8;
    for (const std::vector<ValueId> *values : {&runner.reads, &runner.makes})
      for (ValueId value : *values)
        steps += 4 + int64_t(problem.values[value].readers.size());
    stepsOf.push_back(steps);
  }
  averageSeconds = movable.empty() ? 0 : total / double(movable.size());
}

bool RunSearch::isLate() const {
  if (steps > lastStep)
    return true;
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
  steps += int64_t(schedule.runsAgain().size());
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
  steps += stepsOf[run.runner];
  schedule.insert(run);
  log.push_back({run, true});
}

void RunSearch::erase(RunSchedule &schedule, Again run) {
  steps += stepsOf[run.runner];
  schedule.erase(run);
  log.push_back({run, false});
}

void RunSearch::eraseWith(RunSchedule &schedule, Again run) {
  std::vector<Again> open = {run};
  while (!open.empty()) {
    Again next = open.back();
    open.pop_back();
    if (!schedule.has(next))
      continue;
    Key key = schedule.keyOf(next);
    erase(schedule, next);
    for (ValueId value : problem.runners[next.runner].reads) {
      Key made = schedule.stayAt(value, key).made;
      Again maker = {problem.values[value].maker, schedule.stageOf(made)};
      if (maker.stage == maker.runner)
        continue;
      bool isNeeded = false;
      for (ValueId other : problem.runners[maker.runner].makes)
        isNeeded |= schedule.stayAt(other, made + 1).last > made;
      if (!isNeeded)
        open.push_back(maker);
    }
  }
}

void RunSearch::undo(RunSchedule &schedule, size_t changes) {
  while (log.size() > changes) {
    Change change = log.back();
    log.pop_back();
    steps += stepsOf[change.run.runner];
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
    if (schedule.secondsAgain() > dearest)
      return;
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
  size_t count = problem.size() > greedyLimit
                     ? 6
                     : std::min<size_t>(12, 2 + problem.runners.size() / 8);
  for (double density : segments.densities(count))
    for (int64_t bytes : segments.segmentSizes(count)) {
      if (isLate())
        return;
      steps += 10 * int64_t(problem.size());
      std::vector<Again> again = segments.make(density, bytes);
      double seconds = 0;
      for (Again run : again)
        seconds += problem.runners[run.runner].seconds;
      if (again.empty() || (found && seconds >= best))
        continue;
      offer(RunSchedule(problem, again));
    }
}

void RunSearch::reduceQuickly(RunSchedule &schedule, With with) {
  // Each round breaks up what the one before made. Where that does not end soon
  // it does not end at all.
  size_t most = 2 * problem.runners.size();
  while (schedule.peak() > budget && schedule.runsAgain().size() < most) {
    if (isLate())
      return;
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
    steps += 10 * int64_t(problem.values.size());
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
    std::sort(gaps.begin(), gaps.end(), [](const Gap &a, const Gap &b) {
      return std::tie(b.worth, a.value, a.from) <
             std::tie(a.worth, b.value, b.from);
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
      insertWith(schedule, run, with, first);
    }
    if (schedule.runsAgain().size() == before)
      break;
  }
  log.clear();
}

std::optional<RunSearch::Candidate>
RunSearch::candidateOf(const RunSchedule &schedule, ValueId number,
                       Key peak) const {
  const RunProblem::Value &value = problem.values[number];
  RunSchedule::Stay stay = schedule.stayAt(number, peak);
  if (stay.made < 0 || stay.last <= peak || stay.until == peak ||
      std::binary_search(value.readers.begin(), value.readers.end(),
                         schedule.runnerOf(peak)))
    return std::nullopt;
  Key read = schedule.nextRead(number, peak, stay.until);
  if (read < 0)
    return std::nullopt;
  Again run = {value.maker, read == schedule.end() ? problem.size()
                                                   : schedule.stageOf(read)};
  if (!schedule.isAllowed(run) || schedule.keyOf(run) <= peak ||
      schedule.has(run))
    return std::nullopt;
  Candidate candidate;
  candidate.run = run;
  candidate.worth = double(value.bytes) / priceOf(value.maker);
  return candidate;
}

void RunSearch::findCandidates(const RunSchedule &schedule, Key peak) {
  candidates.clear();
  steps += int64_t(droppable.size());
  for (ValueId value : droppable)
    if (std::optional<Candidate> candidate = candidateOf(schedule, value, peak))
      candidates.push_back(*candidate);
}

std::optional<RunSearch::Candidate>
RunSearch::randomCandidate(const RunSchedule &schedule, Key peak) {
  // The best of a few, so that it differs from time to time.
  size_t wanted = 2 + randomBelow(6);
  std::optional<Candidate> pick;
  for (size_t tries = 32 + droppable.size() / 8; tries > 0 && wanted > 0;
       --tries) {
    ++steps;
    std::optional<Candidate> other =
        candidateOf(schedule, droppable[randomBelow(droppable.size())], peak);
    if (!other)
      continue;
    --wanted;
    if (!pick || other->worth > pick->worth)
      pick = other;
  }
  return pick;
}

void RunSearch::weigh(RunSchedule &schedule, Candidate &candidate, Key peak,
                      double excess, double power) {
  double seconds = schedule.secondsAgain();
  size_t sizeBefore = 0;
  candidate.worth = 0;
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
    if (worth > candidate.worth) {
      candidate.worth = worth;
      candidate.with = with;
    }
  }
}

void RunSearch::reduce(RunSchedule &schedule, double power) {
  bool thorough = problem.size() <= thoroughLimit;
  size_t weighed = thorough ? 40 : 20;
  auto isWorthMore = [](const Candidate &a, const Candidate &b) {
    return std::tie(b.worth, a.run.runner, a.run.stage) <
           std::tie(a.worth, b.run.runner, b.run.stage);
  };
  while (schedule.peak() > budget) {
    if (isLate())
      return;
    Key peak = schedule.getProfile().peakRun().key;
    findCandidates(schedule, peak);
    std::sort(candidates.begin(), candidates.end(), isWorthMore);
    if (candidates.size() > weighed)
      candidates.resize(weighed);
    double excess = schedule.getProfile().excess(budget);
    for (Candidate &candidate : candidates)
      weigh(schedule, candidate, peak, excess, power);
    std::sort(candidates.begin(), candidates.end(), isWorthMore);
    if (candidates.empty() || candidates[0].worth <= 0)
      return;
    // Of a large graph, all that the peak needs are put in at once.
    for (const Candidate &candidate : candidates) {
      if (candidate.worth <= 0 ||
          schedule.getProfile().peakIn(peak, peak) <= budget)
        break;
      log.clear();
      insertWith(schedule, candidate.run, candidate.with, peak);
      if (thorough)
        break;
    }
    if (schedule.getProfile().excess(budget) >= excess)
      return;
  }
  log.clear();
}

void RunSearch::tidy(RunSchedule &schedule) {
  bool thorough = problem.size() <= thoroughLimit;
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
      steps += stepsOf[run.runner];
      if (!schedule.has(run) || (!thorough && !schedule.mayErase(run, limit)))
        continue;
      log.clear();
      eraseWith(schedule, run);
      if (schedule.peak() <= limit)
        changed = true;
      else
        undo(schedule, 0);
    }
    if (isLate() || !thorough)
      break;
  }
  log.clear();
}

RunnerId RunSearch::randomStage(const RunSchedule &schedule, RunnerId runner) {
  const RunProblem::Runner &of = problem.runners[runner];
  auto oneOf = [&](const std::vector<RunnerId> &stages) {
    return stages[randomBelow(stages.size())];
  };
  size_t kind = randomBelow(8);
  if (kind == 0 && !of.reads.empty()) {
    // Where what it reads is there for others: that may be long before anything
    // reads what it makes.
    const RunProblem::Value &value =
        problem.values[of.reads[randomBelow(of.reads.size())]];
    RunnerId stage = oneOf(
        schedule.stagesOf(value.readers[randomBelow(value.readers.size())]));
    return stage + RunnerId(randomBelow(2));
  }
  if (of.makes.empty())
    return -1;
  const RunProblem::Value &value =
      problem.values[of.makes[randomBelow(of.makes.size())]];
  size_t readers = value.readers.size() + (value.keptToTheEnd ? 1 : 0);
  if (readers == 0)
    return -1;
  size_t reader = randomBelow(readers);
  RunnerId stage = reader == value.readers.size()
                       ? problem.size()
                       : oneOf(schedule.stagesOf(value.readers[reader]));
  // Now and then a little sooner than it is read.
  return kind == 1 ? stage - RunnerId(randomBelow(4)) : stage;
}

bool RunSearch::findRandomRun(const RunSchedule &schedule, Again &run) {
  for (int tries = 0; tries < 8; ++tries) {
    RunnerId runner = movable[randomBelow(movable.size())];
    run = {runner, randomStage(schedule, runner)};
    if (schedule.isAllowed(run) && !schedule.has(run))
      return true;
  }
  return false;
}

bool RunSearch::repair(RunSchedule &schedule) {
  if (droppable.empty())
    return schedule.peak() <= budget;
  for (int tries = 0; tries < 5; ++tries) {
    if (schedule.peak() <= budget)
      return true;
    if (schedule.secondsAgain() > dearest)
      return false;
    Key peak = schedule.getProfile().peakRun().key;
    std::optional<Candidate> pick = randomCandidate(schedule, peak);
    if (!pick)
      return false;
    insertWith(schedule, pick->run, With(randomBelow(3)), peak);
  }
  return schedule.peak() <= budget;
}

void RunSearch::eraseSome(RunSchedule &schedule, size_t tries) {
  for (size_t i = 0; i < tries && !schedule.runsAgain().empty(); ++i) {
    Again run = schedule.runsAgain()[randomBelow(schedule.runsAgain().size())];
    steps += stepsOf[run.runner];
    bool alone = randomBelow(2) == 0;
    if (alone && !schedule.mayErase(run, budget))
      continue;
    size_t before = log.size();
    if (alone)
      erase(schedule, run);
    else
      eraseWith(schedule, run);
    if (schedule.peak() > budget)
      undo(schedule, before);
  }
}

bool RunSearch::changeAtRandom(RunSchedule &schedule) {
  const std::vector<Again> &again = schedule.runsAgain();
  double kind = randomPart();
  if (again.empty())
    kind = 0.6;
  if (kind < 0.45) {
    Again run = again[randomBelow(again.size())];
    if (randomBelow(2) == 0)
      erase(schedule, run);
    else
      eraseWith(schedule, run);
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
    // Move one to another stage, with what it needs or without.
    Again run = again[randomBelow(again.size())];
    Again moved = {run.runner, randomStage(schedule, run.runner)};
    if (!schedule.isAllowed(moved) || schedule.has(moved))
      return false;
    if (randomBelow(2) == 0)
      erase(schedule, run);
    else
      eraseWith(schedule, run);
    insertWith(schedule, moved, With(randomBelow(3)),
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
  const double first = heat * averageSeconds;
  const double fall = std::log(0.003 / heat);
  const int64_t begun = steps;
  const auto most = double(lastStep - begun);
  double temperature = first;
  for (int64_t i = 0; i < changes; ++i) {
    if ((i & 63) == 0) {
      if (isLate())
        break;
      double done =
          std::max(double(i) / double(changes), double(steps - begun) / most);
      temperature = first * std::exp(fall * done);
    }
    // Chance decides beforehand how much dearer the change may be, so that one
    // that will be too dear is not seen through. Taking out what it makes
    // needless can still save a little.
    double limit =
        schedule.secondsAgain() - temperature * std::log(1.0 - randomPart());
    dearest = limit + 2 * averageSeconds;
    log.clear();
    bool kept = changeAtRandom(schedule);
    if (!kept || schedule.secondsAgain() > limit) {
      undo(schedule, 0);
      continue;
    }
    if (schedule.secondsAgain() < best ||
        (schedule.secondsAgain() == best &&
         schedule.runsAgain().size() < bestAgain.size()))
      offer(schedule);
  }
  dearest = std::numeric_limits<double>::infinity();
  log.clear();
}

void RunSearch::begin(int64_t budgetBytes,
                      const std::vector<std::vector<Again>> &known) {
  budget = budgetBytes;
  lastStep = steps + stepsToBegin;
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
  if (!found || problem.size() <= greedyLimit)
    for (With with : {With::nothing, With::whatPeaks, With::everything}) {
      RunSchedule schedule = plain;
      reduceQuickly(schedule, with);
      tidy(schedule);
      offer(schedule);
    }
  if (problem.size() <= greedyLimit)
    for (double power : {1.0, 0.5, 2.0}) {
      if (isLate() || (power != 1 && problem.size() > thoroughLimit))
        break;
      RunSchedule schedule = plain;
      reduce(schedule, power);
      tidy(schedule);
      offer(schedule);
    }
  int64_t changes = std::min<int64_t>(100'000, 200 * int64_t(problem.size()));
  if (options.changes >= 0)
    changes = std::min(changes, options.changes);
  if (problem.size() <= thoroughLimit) {
    for (double price : {1.0, 0.1, 0.01}) {
      RunSchedule schedule = plain;
      descend(schedule, changes, price);
      tidy(schedule);
      offer(schedule);
    }
  }
  if (found)
    return;
  // What comes nearest may be helped over the last step.
  if (problem.size() > thoroughLimit) {
    RunSchedule schedule(problem, lowestAgain);
    reduceQuickly(schedule, With::whatPeaks);
    offer(schedule);
    return;
  }
  RunSchedule schedule(problem, lowestAgain);
  reduce(schedule, 1);
  offer(schedule);
  if (!found)
    descend(schedule, changes, 0);
}

void RunSearch::descend(RunSchedule &schedule, int64_t changes, double price) {
  if (movable.empty() || droppable.empty())
    return;
  lastStep = steps + stepsToBegin;
  double excess = schedule.getProfile().excess(budget);
  // As much as a value of average size at a few runs.
  double bytes = 0;
  for (ValueId value : droppable)
    bytes += double(problem.values[value].bytes);
  const double heat = 4 * bytes / double(droppable.size());
  if (averageSeconds > 0)
    price *= heat / averageSeconds;
  for (int64_t i = 0; i < changes && excess > 0; ++i) {
    if ((i & 63) == 0 && isLate())
      break;
    log.clear();
    // What takes many more runs does not help often enough.
    const double before = schedule.secondsAgain();
    dearest = before + 16 * averageSeconds;
    const std::vector<Again> &again = schedule.runsAgain();
    size_t kind = randomBelow(4);
    if (!again.empty() &&
        (kind < 2 || again.size() > 2 * problem.runners.size())) {
      Again run = again[randomBelow(again.size())];
      if (randomBelow(2) == 0)
        erase(schedule, run);
      else
        eraseWith(schedule, run);
    }
    Key peak = schedule.getProfile().peakRun().key;
    Again run;
    if (kind == 3) {
      if (std::optional<Candidate> pick = randomCandidate(schedule, peak))
        insertWith(schedule, pick->run, With(randomBelow(3)), peak);
    } else if (kind > 0 && findRandomRun(schedule, run)) {
      insertWith(schedule, run, With(randomBelow(3)), peak);
    }
    double now = schedule.getProfile().excess(budget);
    steps += int64_t(problem.size()) / 16;
    double temperature = heat * (1.0 - double(i) / double(changes));
    double more = now - excess + price * (schedule.secondsAgain() - before);
    if (more > -temperature * std::log(1.0 - randomPart())) {
      undo(schedule, 0);
      continue;
    }
    excess = now;
    if (schedule.peak() < lowest || excess == 0)
      offer(schedule);
  }
  dearest = std::numeric_limits<double>::infinity();
  log.clear();
}

void RunSearch::improve() {
  constexpr int restarts = 4;
  int64_t changes =
      options.changes < 0 ? INT64_MAX : options.changes / restarts;
  const int64_t most = stepsToImprove(problem.size());
  for (int i = 0; i <= restarts; ++i) {
    lastStep = steps + most / restarts;
    RunSchedule tidied(problem, bestAgain);
    tidy(tidied);
    offer(tidied);
    if (isLate() || i == restarts || changes == 0 || bestAgain.empty())
      return;
    RunSchedule schedule(problem, bestAgain);
    anneal(schedule, changes, i % 2 == 0 ? 1.0 : 0.2);
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
