//===- Streams.cpp --------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Streams.h"

#include "module/PhaseRows.h"

namespace espalier {

namespace {
/// Where a phase stands to the loop of its stream.
enum class Place { Before, Loop, After };

/// One operand of a stream's steps.
struct Use {
  Place place;
  uint32_t rows; // of the phase
  const espalier_step *step;
  const espalier_step_operand *operand;
  bool written;
};

class StreamFinder {
public:
  StreamFinder(const espalier_entry &entry, uint32_t loop)
      : entry(entry), loop(loop),
        reversed(isReversedTasks(entry.phases[loop].rows)) {}

  /// The longest stream around the loop; `first == last` if there is none.
  /// Phases before `begin` are taken.
  Stream find(uint32_t begin) {
    Stream stream{loop, loop, loop};
    // Where vertices have types, rows are not in the order of tasks.
    const espalier_phase &phase = entry.phases[loop];
    if (phase.type != 0 || entry.graphs[phase.graph].types > 1 || !works(loop))
      return stream;
    add(loop, Place::Loop);
    while (stream.first > begin && tryAdd(stream.first - 1, Place::Before))
      --stream.first;
    while (stream.last + 1 < entry.phase_count &&
           tryAdd(stream.last + 1, Place::After))
      ++stream.last;
    return stream;
  }

private:
  /// Whether the phase works row by row, and on rows alone.
  bool works(uint32_t p) const {
    const espalier_phase &phase = entry.phases[p];
    for (uint32_t s = 0; s < phase.step_count; ++s)
      if (phase.steps[s].over_edges || isReduction(phase.steps[s].kind) ||
          isReductionOfChildren(phase.steps[s].kind))
        return false;
    return true;
  }

  bool tryAdd(uint32_t p, Place place) {
    const espalier_phase &phase = entry.phases[p];
    bool rows = phase.rows == ESPALIER_ROWS_VERTICES ||
                phase.rows == ESPALIER_ROWS_LEAVES ||
                phase.rows == ESPALIER_ROWS_INNER;
    if (!rows || phase.graph != entry.phases[loop].graph || phase.type != 0 ||
        !works(p))
      return false;
    size_t known = uses.size();
    add(p, place);
    for (size_t i = known; i < uses.size(); ++i)
      for (size_t j = 0; j < uses.size(); ++j)
        if (!agree(uses[i], uses[j])) {
          uses.resize(known);
          return false;
        }
    return true;
  }

  void add(uint32_t p, Place place) {
    const espalier_phase &phase = entry.phases[p];
    for (uint32_t s = 0; s < phase.step_count; ++s) {
      const espalier_step &step = phase.steps[s];
      for (uint32_t o = 0; o < step.operand_count; ++o)
        if (entry.buffers[step.operands[o].buffer].kind !=
            ESPALIER_BUFFER_SCRATCH)
          uses.push_back({place, phase.rows, &step, &step.operands[o],
                          o >= step.operand_count - step.result_count});
    }
  }

  /// Whether what `use` reads or writes is its own row's, in schedule order or
  /// in the caller's.
  static bool isOwnRow(const Use &use) {
    return (use.operand->access == ESPALIER_ACCESS_ROW ||
            use.operand->access == ESPALIER_ACCESS_CALLER) &&
           (use.written || (use.step->kind != ESPALIER_STEP_SUM_PARENTS &&
                            !isReductionOfVertices(use.step->kind)));
  }

  /// Whether `use` reads rows that the loop has left behind when it is at, or
  /// past, its own row.
  bool isBehind(const Use &use) const {
    bool children = use.operand->access == ESPALIER_ACCESS_CHILD;
    bool parents = use.step->kind == ESPALIER_STEP_SUM_PARENTS &&
                   use.operand->access == ESPALIER_ACCESS_ROW;
    return use.place != Place::Before && (reversed ? parents : children);
  }

  /// Whether two uses of one buffer, of which one writes it, see the same
  /// whether the phases run one after another or as a stream.
  bool agree(const Use &one, const Use &other) const {
    if (one.operand->buffer != other.operand->buffer ||
        (!one.written && !other.written))
      return true;
    if (isOwnRow(one) && isOwnRow(other) &&
        one.operand->access == other.operand->access)
      return true;
    // Written by the loop or before it, and read from behind.
    const Use &writer = one.written ? one : other;
    const Use &reader = one.written ? other : one;
    return !reader.written && isBehind(reader) &&
           writer.operand->access == ESPALIER_ACCESS_ROW &&
           writer.place != Place::After;
  }

  const espalier_entry &entry;
  uint32_t loop;
  bool reversed;
  std::vector<Use> uses;
};
} // namespace

std::vector<Stream> findStreams(const espalier_entry &entry) {
  std::vector<Stream> streams;
  uint32_t begin = 0;
  for (uint32_t p = 0; p < entry.phase_count; ++p) {
    if (!isTasks(entry.phases[p].rows))
      continue;
    Stream stream = StreamFinder(entry, p).find(begin);
    if (stream.first == stream.last)
      continue;
    streams.push_back(stream);
    p = stream.last;
    begin = p + 1;
  }
  return streams;
}

} // namespace espalier
