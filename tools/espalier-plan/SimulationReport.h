//===- SimulationReport.h - What a simulation found, to look at -*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checked plan, the machine that it was simulated on, and what came out, as
// text, as JSON, as a page, and as a timeline for trace viewers.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_PLAN_SIMULATIONREPORT_H
#define ESPALIER_PLAN_SIMULATIONREPORT_H

#include "espalier/Planning/CheckPlan.h"
#include "espalier/Planning/MachineFile.h"
#include "espalier/Planning/PlanFile.h"
#include "espalier/Planning/Simulate.h"

#include <string>

namespace espalier::plan {

/// The plan at `path`, which is right. Throws an Error.
planning::PlanFile readCheckedPlan(const std::string &path,
                                   planning::CheckPlanOptions options);

struct SimulationReport {
  planning::PlanFile file;
  planning::Machine machine;
  planning::Simulation result;

  bool fitsHost() const {
    return machine.hostMemoryBytes == 0 ||
           file.plan.hostBytes <= machine.hostMemoryBytes;
  }
  bool fits() const {
    return file.plan.arenaBytes <= machine.device.memoryBytes && fitsHost();
  }
  /// The share of time that the plan takes more than endless memory would.
  double overhead() const {
    return result.secondsUnlimited > 0
               ? result.seconds / result.secondsUnlimited - 1
               : 0;
  }
  const std::string &tensorName(planning::BufferId buffer) const {
    return file.graph.tensors[file.plan.buffers[buffer].tensor].name;
  }
  /// What a step does, e.g. "conv1", "offload conv1_out".
  std::string stepName(size_t step) const;

  std::string text() const;
  std::string json() const;
  std::string html() const;
  std::string trace() const;
};

} // namespace espalier::plan

#endif // ESPALIER_PLAN_SIMULATIONREPORT_H
