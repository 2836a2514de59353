//===- RunSchedule.cpp - Which runner runs in which stages ----------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunSchedule.h"

#include <algorithm>

using namespace espalier::planning;

RunSchedule::RunSchedule(const RunProblem &problem,
                         const std::vector<Again> &again)
    : problem(&problem) {
  while ((RunnerId(1) << shift) < problem.size())
    ++shift;
  for (RunnerId runner = 0; runner < problem.size(); ++runner)
    stages.push_back({runner});
  for (Again run : again)
    stages[run.runner].push_back(run.stage);
  for (RunnerId runner = 0; runner < problem.size(); ++runner) {
    std::vector<RunnerId> &of = stages[runner];
    std::sort(of.begin(), of.end());
    of.erase(std::unique(of.begin(), of.end()), of.end());
    places.emplace_back(of.size(), -1);
    for (size_t i = 1; i < of.size(); ++i) {
      places[runner][i] = int32_t(this->again.size());
      this->again.push_back({runner, of[i]});
      seconds += problem.runners[runner].seconds;
    }
  }
  buildProfile();
}

void RunSchedule::buildProfile() {
  std::vector<RunProfile::Run> runs;
  for (RunnerId runner = 0; runner < problem->size(); ++runner)
    for (RunnerId stage : stages[runner])
      runs.push_back(
          {keyOf({runner, stage}),
           problem->fixedBytes + problem->runners[runner].workspaceBytes});
  std::sort(runs.begin(), runs.end(),
            [](const RunProfile::Run &a, const RunProfile::Run &b) {
              return a.key < b.key;
            });
  auto indexOf = [&](Key key) {
    return size_t(std::lower_bound(runs.begin(), runs.end(), key,
                                   [](const RunProfile::Run &run, Key key) {
                                     return run.key < key;
                                   }) -
                  runs.begin());
  };
  std::vector<int64_t> change(runs.size() + 1, 0);
  std::vector<Key> reads;
  for (size_t number = 0; number < problem->values.size(); ++number) {
    const RunProblem::Value &value = problem->values[number];
    const std::vector<RunnerId> &made = stages[value.maker];
    reads.clear();
    for (RunnerId reader : value.readers)
      for (RunnerId stage : stages[reader])
        reads.push_back(keyOf(stage, reader));
    std::sort(reads.begin(), reads.end());
    for (size_t i = 0; i < made.size(); ++i) {
      Key from = keyOf(made[i], value.maker);
      Key to = i + 1 < made.size() ? keyOf(made[i + 1], value.maker) : end();
      auto after = std::lower_bound(reads.begin(), reads.end(), to);
      Key last =
          after == reads.begin() || *(after - 1) < from ? -1 : *(after - 1);
      if (value.keptToTheEnd && to == end())
        last = end();
      change[indexOf(from)] += value.bytes;
      change[indexOf(momentOf(ValueId(number), from, last) + 1)] -= value.bytes;
    }
  }
  int64_t live = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    live += change[i];
    runs[i].bytes += live;
  }
  profile.assign(runs);
}

bool RunSchedule::has(Again run) const {
  const std::vector<RunnerId> &of = stages[run.runner];
  return std::binary_search(of.begin(), of.end(), run.stage);
}

RunSchedule::Key RunSchedule::lastRead(ValueId value, Key from, Key to) const {
  const RunProblem::Value &of = problem->values[value];
  if (of.keptToTheEnd && to == end())
    return end();
  Key last = -1;
  for (size_t i = of.readers.size(); i-- > 0;) {
    const std::vector<RunnerId> &read = stages[of.readers[i]];
    for (size_t j = read.size(); j-- > 0;) {
      Key key = keyOf(read[j], of.readers[i]);
      if (key >= to)
        continue;
      last = std::max(last, key);
      break;
    }
  }
  return last > from ? last : -1;
}

RunSchedule::Key RunSchedule::nextRead(ValueId value, Key from, Key to) const {
  const RunProblem::Value &of = problem->values[value];
  Key next = to;
  for (RunnerId reader : of.readers)
    for (RunnerId stage : stages[reader]) {
      Key key = keyOf(stage, reader);
      if (key <= from)
        continue;
      next = std::min(next, key);
      break;
    }
  if (next < to)
    return next;
  return of.keptToTheEnd && to == end() ? end() : -1;
}

RunSchedule::Key RunSchedule::momentOf(ValueId value, Key made,
                                       Key lastRead) const {
  if (lastRead < 0)
    return made;
  if (problem->hasTakeOvers && lastRead < end()) {
    const std::vector<ValueId> &taken =
        problem->runners[runnerOf(lastRead)].takesOver;
    if (std::find(taken.begin(), taken.end(), value) != taken.end())
      return lastRead - 1;
  }
  return lastRead;
}

RunSchedule::Key RunSchedule::lastMoment(ValueId value, Key from,
                                         Key to) const {
  return momentOf(value, from, lastRead(value, from, to));
}

RunSchedule::Stay RunSchedule::stayAt(ValueId value, Key at) const {
  RunnerId maker = problem->values[value].maker;
  const std::vector<RunnerId> &made = stages[maker];
  Stay stay;
  stay.until = end();
  for (size_t i = made.size(); i-- > 0;) {
    Key key = keyOf(made[i], maker);
    if (key < at) {
      stay.made = key;
      stay.last = lastMoment(value, stay.made, stay.until);
      break;
    }
    stay.until = key;
  }
  return stay;
}

int64_t RunSchedule::bytesAcross(Key key) const {
  // What is live at the run before, but for what ends there.
  RunProfile::Run before = profile.before(key);
  const RunProblem::Runner &runner = problem->runners[runnerOf(before.key)];
  int64_t bytes = before.bytes - runner.workspaceBytes;
  for (ValueId value : runner.reads) {
    Key last = stayAt(value, before.key).last;
    if (before.key <= last && last < key)
      bytes -= problem->values[value].bytes;
  }
  for (ValueId value : runner.makes)
    if (stayAt(value, before.key + 1).last < key)
      bytes -= problem->values[value].bytes;
  return bytes;
}

void RunSchedule::insert(Again run) {
  const RunProblem::Runner &runner = problem->runners[run.runner];
  Key key = keyOf(run);
  profile.insert(key, bytesAcross(key) + runner.workspaceBytes);
  moments.clear();
  for (ValueId value : runner.reads)
    moments.push_back(stayAt(value, key).last);
  for (ValueId value : runner.makes)
    moments.push_back(stayAt(value, key).last);

  std::vector<RunnerId> &of = stages[run.runner];
  auto at = std::upper_bound(of.begin(), of.end(), run.stage);
  std::vector<int32_t> &places = this->places[run.runner];
  places.insert(places.begin() + (at - of.begin()), int32_t(again.size()));
  of.insert(at, run.stage);
  again.push_back(run);
  seconds += runner.seconds;

  size_t moment = 0;
  for (ValueId value : runner.reads) {
    Key was = moments[moment++];
    profile.add(was + 1, stayAt(value, key).last, problem->values[value].bytes);
  }
  for (ValueId value : runner.makes) {
    Key was = moments[moment++];
    int64_t bytes = problem->values[value].bytes;
    profile.add(stayAt(value, key).last + 1, std::min(was, key - 1), -bytes);
    profile.add(std::max(was + 1, key), stayAt(value, key + 1).last, bytes);
  }
}

void RunSchedule::erase(Again run) {
  const RunProblem::Runner &runner = problem->runners[run.runner];
  Key key = keyOf(run);
  moments.clear();
  for (ValueId value : runner.reads)
    moments.push_back(stayAt(value, key).last);
  for (ValueId value : runner.makes) {
    moments.push_back(stayAt(value, key).last);
    moments.push_back(stayAt(value, key + 1).last);
  }

  std::vector<RunnerId> &of = stages[run.runner];
  auto at = std::lower_bound(of.begin(), of.end(), run.stage);
  auto placeAt = places[run.runner].begin() + (at - of.begin());
  int32_t place = *placeAt;
  places[run.runner].erase(placeAt);
  of.erase(at);
  again[place] = again.back();
  again.pop_back();
  if (size_t(place) < again.size()) {
    Again moved = again[place];
    const std::vector<RunnerId> &its = stages[moved.runner];
    places[moved.runner][size_t(
        std::lower_bound(its.begin(), its.end(), moved.stage) - its.begin())] =
        place;
  }
  seconds -= runner.seconds;
  profile.erase(key);

  size_t moment = 0;
  for (ValueId value : runner.reads) {
    Key was = moments[moment++];
    profile.add(stayAt(value, key).last + 1, was,
                -problem->values[value].bytes);
  }
  for (ValueId value : runner.makes) {
    Key was = moments[moment++];
    Key wasAgain = moments[moment++];
    int64_t bytes = problem->values[value].bytes;
    Key last = stayAt(value, key).last;
    profile.add(was + 1, std::min(last, key - 1), bytes);
    profile.add(std::max(last + 1, key), wasAgain, -bytes);
  }
}

bool RunSchedule::mayErase(Again run, int64_t budget) const {
  const RunProblem::Runner &runner = problem->runners[run.runner];
  Key key = keyOf(run);
  // At best, what is read is free as soon as the run before is over.
  int64_t freed = 0;
  for (ValueId value : runner.reads)
    if (stayAt(value, key).last >= key - 1)
      freed += problem->values[value].bytes;
  for (ValueId value : runner.makes) {
    if (stayAt(value, key + 1).last == key)
      continue;
    Key last = stayAt(value, key).last;
    if (profile.peakIn(last + 1, key - 1) + problem->values[value].bytes -
            freed >
        budget)
      return false;
  }
  return true;
}

std::vector<RunnerId> RunSchedule::runs() const {
  std::vector<RunnerId> runs;
  for (Key key : profile.keys())
    runs.push_back(runnerOf(key));
  return runs;
}
