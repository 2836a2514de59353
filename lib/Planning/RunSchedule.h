//===- RunSchedule.h - Which runner runs in which stages --------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A set of runs (runner, stage), and the bytes that are live at each. The run
// of runner `r` in stage `r` is its first and always there; all others come and
// go at will, and any set of them is right, so that a search need look at
// nothing but cost and peak. Of a change only what it touches is worked out
// anew: where the values that the run reads and makes end.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_LIB_PLANNING_RUNSCHEDULE_H
#define ESPALIER_LIB_PLANNING_RUNSCHEDULE_H

#include "RunProblem.h"
#include "RunProfile.h"

#include <vector>

namespace espalier::planning {

class RunSchedule {
public:
  using Key = RunProfile::Key;

  /// A run that is not a runner's first.
  struct Again {
    RunnerId runner = -1;
    RunnerId stage = -1;
    bool operator==(const Again &other) const {
      return runner == other.runner && stage == other.stage;
    }
  };

  /// With first runs only, or with these as well.
  explicit RunSchedule(const RunProblem &problem,
                       const std::vector<Again> &again = {});

  /// The run is not there yet, and allowed.
  void insert(Again run);
  /// The run is there.
  void erase(Again run);
  bool has(Again run) const;
  /// False if the peak is surely above `budget` without the run, which is
  /// there. Costs less than to try.
  bool mayErase(Again run, int64_t budget) const;
  bool isAllowed(Again run) const {
    return run.stage > run.runner &&
           run.stage <= problem->runners[run.runner].lastStage;
  }

  Key keyOf(Again run) const { return keyOf(run.stage, run.runner); }
  RunnerId stageOf(Key key) const { return RunnerId(key >> shift); }
  RunnerId runnerOf(Key key) const {
    return RunnerId(key & ((Key(1) << shift) - 1));
  }
  /// After all runs: when the outputs are taken.
  Key end() const { return Key(problem->size() + 1) << shift; }

  int64_t peak() const { return profile.peak(); }
  const RunProfile &getProfile() const { return profile; }
  double secondsAgain() const { return seconds; }
  const std::vector<Again> &runsAgain() const { return again; }
  /// Ascending; the first is the runner's own.
  const std::vector<RunnerId> &stagesOf(RunnerId runner) const {
    return stages[runner];
  }
  /// All runs in their order.
  std::vector<RunnerId> runs() const;

  /// One making of a value: from its maker's run to the one before which it is
  /// made anew (end(): never), and the last moment that it is live.
  struct Stay {
    Key made = -1;
    Key until = -1;
    Key last = -1;
  };
  /// The one that is current just before the run `at`; made is -1 if none is.
  Stay stayAt(ValueId value, Key at) const;
  /// The first that reads the value between `from` and `to`, neither included;
  /// end() if it is kept to the end, -1 if nothing does.
  Key nextRead(ValueId value, Key from, Key to) const;

private:
  Key keyOf(RunnerId stage, RunnerId runner) const {
    return Key(stage) << shift | runner;
  }
  Key lastRead(ValueId value, Key from, Key to) const;
  /// When a value is live for the last time that was made at `made` and last
  /// read at `lastRead`, or not at all if that is -1.
  Key momentOf(ValueId value, Key made, Key lastRead) const;
  /// The same, of what was made at `from`, by what reads it before `to`.
  Key lastMoment(ValueId value, Key from, Key to) const;
  /// What is live at `key`, where no run is yet.
  int64_t bytesAcross(Key key) const;
  void buildProfile();

  const RunProblem *problem;
  /// Of a stage in a key.
  int shift = 1;
  /// By runner: its stages, ascending; its own is the first.
  std::vector<std::vector<RunnerId>> stages;
  /// By runner and number of a stage: where it is in `again`.
  std::vector<std::vector<int32_t>> places;
  RunProfile profile;
  double seconds = 0;
  std::vector<Again> again;
  /// Scratch of insert() and erase().
  std::vector<Key> moments;
};

} // namespace espalier::planning

#endif // ESPALIER_LIB_PLANNING_RUNSCHEDULE_H
