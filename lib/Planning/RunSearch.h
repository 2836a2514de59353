//===- RunSearch.h - The cheapest schedule that fits ------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Begins with schedules by segments and by greed, and changes the cheapest a
// little at a time: a run is taken out, put in, or moved, others repair what
// that broke, and the change stays if it is cheaper, or by chance if it is not
// (simulated annealing over the schedules that fit).
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_RUNSEARCH_H
#define ESPALIER_LIB_PLANNING_RUNSEARCH_H

#include "RunSchedule.h"
#include "RunSegments.h"

#include <chrono>
#include <limits>
#include <optional>
#include <vector>

namespace espalier::planning {

class RunSearch {
public:
  using Again = RunSchedule::Again;
  using Key = RunSchedule::Key;

  RunSearch(const RunProblem &problem, const RecomputeOptions &options);

  /// The runs to add, or nothing if no schedule was found that fits. `known`
  /// are schedules to begin with.
  std::optional<std::vector<Again>>
  find(int64_t budget, const std::vector<std::vector<Again>> &known);

  /// Looks for the lowest peak, whatever that costs.
  void findLowest();
  /// The schedule with the lowest peak that any search met, and that peak.
  const std::vector<Again> &lowestRuns() const { return lowestAgain; }
  int64_t lowestPeak() const { return lowest; }

private:
  /// Which of a run's inputs are computed again with it, rather than kept.
  enum class With : uint8_t { nothing, whatPeaks, everything };
  struct Change {
    Again run;
    bool inserted = false;
  };
  struct Candidate {
    Again run;
    double worth = 0;
    With with = With::nothing;
  };

  bool isLate() const;
  uint64_t random();
  size_t randomBelow(size_t count);
  double randomPart();

  /// Remembers the schedule if it is the best yet.
  void offer(const RunSchedule &schedule);
  void insert(RunSchedule &schedule, Again run);
  void erase(RunSchedule &schedule, Again run);
  /// Takes out the run, and those that nothing needs without it.
  void eraseWith(RunSchedule &schedule, Again run);
  void undo(RunSchedule &schedule, size_t changes);
  /// Puts in the run, and others with it, of values that were over at `peak`.
  void insertWith(RunSchedule &schedule, Again run, With with, Key peak);

  void begin(int64_t budget, const std::vector<std::vector<Again>> &known);
  void improve();
  void trySegments();
  /// Lets go of values by their worth, roughly, until it fits.
  void reduceQuickly(RunSchedule &schedule, With with);
  /// The relief for the price of the candidate, and with what.
  void weigh(RunSchedule &schedule, Candidate &candidate, Key peak,
             double excess, double power);
  /// At each peak, the run that relieves most for its price. `power`: how much
  /// relief counts against price.
  void reduce(RunSchedule &schedule, double power);
  /// The run that would free the value at `peak`, if there is one.
  std::optional<Candidate> candidateOf(const RunSchedule &schedule,
                                       ValueId value, Key peak) const;
  std::optional<Candidate> randomCandidate(const RunSchedule &schedule,
                                           Key peak);
  /// All of them.
  void findCandidates(const RunSchedule &schedule, Key peak);
  /// By chance: simulated annealing of what is above the budget together with
  /// what the runs cost, times `price`. Where greed is stuck, this often is
  /// not.
  void descend(RunSchedule &schedule, int64_t changes, double price);
  /// Takes out what is not needed, the dearest first.
  void tidy(RunSchedule &schedule);
  void anneal(RunSchedule &schedule, int64_t changes, double heat);
  bool changeAtRandom(RunSchedule &schedule);
  bool repair(RunSchedule &schedule);
  void eraseSome(RunSchedule &schedule, size_t tries);
  /// One in which it may be worthwhile to run it; -1: there is none.
  RunnerId randomStage(const RunSchedule &schedule, RunnerId runner);
  bool findRandomRun(const RunSchedule &schedule, Again &run);
  double priceOf(RunnerId runner) const;

  const RunProblem &problem;
  const RecomputeOptions &options;
  RunSegments segments;
  int64_t budget = 0;
  bool found = false;
  double best = 0;
  std::vector<Again> bestAgain;
  int64_t lowest = INT64_MAX;
  std::vector<Again> lowestAgain;
  std::vector<Change> log;
  std::vector<Candidate> candidates;
  std::vector<RunnerId> movable;
  /// Values that are worth letting go of, and can be made again.
  std::vector<ValueId> droppable;
  double averageSeconds = 0;
  /// Work done so far, in units that are the same on every machine; by runner,
  /// that of putting in or taking out a run; when to end.
  int64_t steps = 0;
  std::vector<int64_t> stepsOf;
  int64_t lastStep = 0;
  uint64_t state = 0;
  /// A change that makes the runs dearer than this is not seen through.
  double dearest = std::numeric_limits<double>::infinity();
  std::chrono::steady_clock::time_point began;
};

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_RUNSEARCH_H
