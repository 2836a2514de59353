//===- Buffers.cpp - espalier-plan buffers --------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Assigns the offsets of the buffers in a file, or checks those that it has.
// What was assigned is checked, too, before anything is written.
//
//===----------------------------------------------------------------------===//
#include "BufferFile.h"
#include "Subcommands.h"

#include "espalier/Planning/CheckBuffers.h"
#include "io/File.h"
#include "support/Error.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <numeric>

namespace espalier::plan {

namespace {
struct Options {
  std::string path;
  std::string output;
  std::string capacity;
  double secondsLimit = 0;
  int64_t searchSteps = planning::AssignBuffersOptions().searchSteps;
  bool check = false;
  bool json = false;
};

class BuffersCommand {
public:
  explicit BuffersCommand(const Options &options)
      : options(options), file(BufferFile::read(options.path)) {
    if (!options.capacity.empty())
      capacity = byteSizeOption("--capacity", options.capacity);
  }

  void run() {
    checkOutputPaths({options.path}, {options.output});
    planning::AssignBuffersOptions planOptions;
    planOptions.capacity = capacity;
    planOptions.secondsLimit = options.secondsLimit;
    planOptions.searchSteps = options.check ? 0 : options.searchSteps;
    auto start = std::chrono::steady_clock::now();
    assignment = planning::assignBuffers(file.buffers, planOptions);
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    seconds = elapsed.count();
    if (options.check)
      useOffsetsOfFile();
    checkCapacity();
    checkOffsets();
    if (!options.output.empty())
      file.write(options.output, assignment.offsets);
    report();
  }

private:
  void useOffsetsOfFile() {
    if (file.offsets.empty() && !file.buffers.empty())
      fail(ESPALIER_INVALID_ARGUMENT,
           "%s: there is no column 'offset' to check", options.path.c_str());
    assignment.offsets = file.offsets;
    // As assignBuffers() reckons peaks: with sizes rounded up to what all
    // offsets are multiples of.
    int64_t unit = 0;
    for (const planning::BufferInterval &buffer : file.buffers)
      if (takesRoom(buffer))
        unit = std::gcd(unit, buffer.alignment);
    unit = std::max<int64_t>(unit, 1);
    for (size_t i = 0; i < file.buffers.size(); ++i)
      if (file.offsets[i] > INT64_MAX - roundUp(file.buffers[i].size, unit))
        fail(ESPALIER_MALFORMED, "%s: buffer '%s' ends beyond 2^63 bytes",
             options.path.c_str(), file.names[i].c_str());
    assignment.peak = findHighestEnd(unit);
  }

  static bool takesRoom(const planning::BufferInterval &buffer) {
    return buffer.size != 0 && buffer.lower != buffer.upper;
  }

  static int64_t roundUp(int64_t size, int64_t unit) {
    return size / unit * unit + (size % unit != 0 ? unit : 0);
  }

  /// With sizes rounded up to multiples of `unit`.
  int64_t findHighestEnd(int64_t unit = 1) const {
    int64_t highest = 0;
    for (size_t i = 0; i < file.buffers.size(); ++i)
      if (takesRoom(file.buffers[i]))
        highest = std::max(highest, assignment.offsets[i] +
                                        roundUp(file.buffers[i].size, unit));
    return highest;
  }

  /// That an assignment is beyond the capacity.
  void checkCapacity() const {
    if (capacity < 0 || findHighestEnd() <= capacity)
      return;
    if (assignment.lowerBound > capacity)
      fail(ESPALIER_OUT_OF_MEMORY,
           "%s: the capacity is %lld bytes, but the buffers that are needed at "
           "time %lld have %lld, %lld bytes more",
           options.path.c_str(), (long long)capacity,
           (long long)assignment.busiestTime, (long long)assignment.lowerBound,
           (long long)(assignment.lowerBound - capacity));
    if (options.check)
      fail(ESPALIER_OUT_OF_MEMORY,
           "%s: the capacity is %lld bytes, but the offsets need %lld, %lld "
           "bytes more",
           options.path.c_str(), (long long)capacity,
           (long long)assignment.peak, (long long)(assignment.peak - capacity));
    fail(
        ESPALIER_OUT_OF_MEMORY,
        "%s: the capacity is %lld bytes, but the best assignment found needs "
        "%lld, %lld bytes more; there may be a better one, as the busiest time "
        "needs only %lld; give more --capacity%s",
        options.path.c_str(), (long long)capacity, (long long)assignment.peak,
        (long long)(assignment.peak - capacity),
        (long long)assignment.lowerBound,
        assignment.timedOut ? ", or a higher --time-limit"
                            : ", or more --search-steps");
  }

  void checkOffsets() const {
    std::vector<planning::PlacedBuffer> placed;
    for (size_t i = 0; i < file.buffers.size(); ++i) {
      const planning::BufferInterval &buffer = file.buffers[i];
      placed.push_back({buffer.lower, buffer.upper, assignment.offsets[i],
                        buffer.size, buffer.alignment});
    }
    std::string problem = planning::checkBuffers(
        placed, capacity < 0 ? assignment.peak : capacity, file.names);
    if (problem.empty())
      return;
    if (options.check)
      fail(ESPALIER_MALFORMED, "%s: %s", options.path.c_str(), problem.c_str());
    fail(ESPALIER_INTERNAL, "%s: the assignment is wrong: %s",
         options.path.c_str(), problem.c_str());
  }

  void report() const {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (const planning::BufferInterval &buffer : file.buffers) {
      first = std::min(first, buffer.lower);
      last = std::max(last, buffer.upper);
    }
    if (file.buffers.empty())
      first = last = 0;
    double ratio =
        assignment.lowerBound == 0
            ? 1
            : double(assignment.peak) / double(assignment.lowerBound);
    if (options.json) {
      nlohmann::ordered_json json{{"buffers", file.buffers.size()},
                                  {"first_time", first},
                                  {"last_time", last},
                                  {"lower_bound_bytes", assignment.lowerBound},
                                  {"busiest_time", assignment.busiestTime},
                                  {"peak_bytes", assignment.peak},
                                  {"ratio", ratio},
                                  {"search_steps", assignment.searchSteps},
                                  {"timed_out", assignment.timedOut},
                                  {"seconds", seconds}};
      if (capacity >= 0)
        json["capacity_bytes"] = capacity;
      std::cout << json.dump(2) << '\n';
      return;
    }
    std::printf("buffers      %zu\n"
                "times        %lld to %lld\n"
                "lower bound  %lld bytes, needed at time %lld\n"
                "peak         %lld bytes\n"
                "ratio        %.4f\n",
                file.buffers.size(), (long long)first, (long long)last,
                (long long)assignment.lowerBound,
                (long long)assignment.busiestTime, (long long)assignment.peak,
                ratio);
    if (!options.check)
      std::printf("seconds      %.3f\n", seconds);
    if (assignment.timedOut)
      std::printf("the time limit struck\n");
  }

  const Options &options;
  BufferFile file;
  int64_t capacity = -1; // none
  planning::BufferAssignment assignment;
  double seconds = 0;
};
} // namespace

void addBuffers(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand(
      "buffers", "Assign offsets in one arena to buffers with lifetimes");
  command
      ->add_option("file", options->path,
                   "A table with the columns id, lower, upper (the time at "
                   "which it is not needed any more) and size")
      ->required()
      ->type_name("FILE.csv");
  command
      ->add_option("--capacity", options->capacity,
                   "What the arena must fit in, as 12GiB; without it, the "
                   "less the better")
      ->type_name("BYTES");
  CLI::Option *output =
      command
          ->add_option("-o,--output", options->output,
                       "Write the table with a column 'offset'")
          ->type_name("OUT.csv");
  CLI::Option *seconds =
      command
          ->add_option("--time-limit", options->secondsLimit,
                       "Seconds after which the search ends with the best that "
                       "it has; 0: none")
          ->type_name("S")
          ->capture_default_str()
          ->check(CLI::Validator(checkSeconds, ""));
  CLI::Option *steps =
      command
          ->add_option("--search-steps", options->searchSteps,
                       "Steps after which it ends, the same on any computer")
          ->type_name("N")
          ->capture_default_str()
          ->check(CLI::Range(int64_t(0), int64_t(INT64_MAX)));
  command
      ->add_flag("--check", options->check,
                 "Check the offsets that the file has, and assign none")
      ->excludes(output)
      ->excludes(seconds)
      ->excludes(steps);
  command->add_flag("--json", options->json, "Print the report as JSON");
  command->callback([options] { BuffersCommand(*options).run(); });
}

} // namespace espalier::plan
