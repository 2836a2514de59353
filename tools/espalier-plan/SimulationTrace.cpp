//===- SimulationTrace.cpp - A simulation's timeline ----------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the Chrome trace format, which chrome://tracing and Perfetto show. One
// thread for operators, and one for copies each way; counters for memory.
//
//===----------------------------------------------------------------------===//
#include "SimulationReport.h"

#include "support/Error.h"

#include <nlohmann/json.hpp>

namespace espalier::plan {

using planning::Step;

static std::string quoted(const std::string &text) {
  return nlohmann::json(text).dump();
}

std::string SimulationReport::trace() const {
  static constexpr const char *threads[] = {"operators", "copies to the host",
                                            "copies to the device"};
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  for (int thread = 0; thread < 3; ++thread) {
    text += "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":" +
            std::to_string(thread) + ",\"args\":{\"name\":\"" +
            threads[thread] + "\"}},\n";
  }
  text +=
      "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":" +
      quoted("simulated " + machine.name) + "}}";
  for (size_t s = 0; s < file.plan.steps.size(); ++s) {
    const Step &step = file.plan.steps[s];
    const planning::StepTimes &times = result.steps[s];
    text += ",\n{\"ph\":\"X\",\"name\":" + quoted(stepName(s));
    text += format(",\"pid\":1,\"tid\":%d,\"ts\":%.4f,\"dur\":%.4f,\"args\":{"
                   "\"step\":%zu,\"again\":%s}}",
                   int(step.kind), times.start * 1e6,
                   (times.end - times.start) * 1e6, s,
                   times.again ? "true" : "false");
    if (step.kind != Step::Kind::compute)
      continue;
    text += format(",\n{\"ph\":\"C\",\"name\":\"bytes\",\"pid\":1,\"ts\":%.4f,"
                   "\"args\":{\"device\":%lld,\"host\":%lld}}",
                   times.start * 1e6, (long long)result.liveBytes[s],
                   (long long)result.hostCurve[s]);
  }
  return text + "\n]}\n";
}

} // namespace espalier::plan
