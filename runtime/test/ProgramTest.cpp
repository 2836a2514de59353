//===- ProgramTest.cpp - Where scratch buffers lie ------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Program.h"

#include "StructureModel.h"
#include "TestModel.h"
#include "TrainingModel.h"
#include "device/cpu/Gemm.h"
#include "module/Module.h"
#include "module/SharedWeights.h"
#include "module/Weights.h"

#include <gtest/gtest.h>
#include <vector>

using namespace espalier;

/// The bytes of a block that each step of `desc` reads or writes, straight from
/// the tables: as long as anything in a buffer is wanted, no byte of it is in
/// another that is.
static void expectApart(const espalier_entry &entry, const espalier_phase &desc,
                        const Program &program, const Program::Phase &phase) {
  std::vector<std::vector<uint32_t>> owners(
      desc.step_count, std::vector<uint32_t>(program.scratchBytes, ~0u));
  for (const Program::Scratch &scratch : phase.scratch) {
    uint32_t first = ~0u, last = 0;
    for (uint32_t s = 0; s < desc.step_count; ++s)
      for (uint32_t o = 0; o < desc.steps[s].operand_count; ++o)
        if (desc.steps[s].operands[o].buffer == scratch.buffer) {
          first = std::min(first, s);
          last = s;
        }
    const espalier_buffer_desc &buffer = entry.buffers[scratch.buffer];
    int64_t element = buffer.dtype == ESPALIER_F64 ? 8 : 4;
    int64_t end = scratch.offset + buffer.row_elements * element * kBlockRows;
    ASSERT_LE(first, last) << buffer.name;
    ASSERT_GE(scratch.offset, 0) << buffer.name;
    ASSERT_LE(end, program.scratchBytes) << buffer.name;
    for (uint32_t s = first; s <= last; ++s)
      for (int64_t byte = scratch.offset; byte < end; ++byte) {
        ASSERT_EQ(owners[s][byte], ~0u)
            << "byte " << byte << " in step " << s << " of phase " << desc.name
            << " is part of '" << buffer.name << "' and of '"
            << entry.buffers[owners[s][byte]].name << "'";
        owners[s][byte] = scratch.buffer;
      }
  }
  // None is left out.
  for (uint32_t s = 0; s < desc.step_count; ++s)
    for (uint32_t o = 0; o < desc.steps[s].operand_count; ++o) {
      uint32_t b = desc.steps[s].operands[o].buffer;
      bool placed = false;
      for (const Program::Scratch &scratch : phase.scratch)
        placed |= scratch.buffer == b;
      ASSERT_EQ(placed, entry.buffers[b].kind == ESPALIER_BUFFER_SCRATCH)
          << entry.buffers[b].name;
    }
}

template <typename Model> static void expectScratchApart() {
  Model tables;
  Module module(&tables.model);
  int buffers = 0;
  for (const espalier_entry &entry : tables.entries) {
    BoundWeights weights(
        module, entry,
        std::make_shared<SharedWeights>(randomWeights(entry, 1)));
    Program program(entry, weights.packed());
    for (uint32_t p = 0; p < entry.phase_count; ++p) {
      expectApart(entry, entry.phases[p], program, program.phases[p]);
      buffers += (int)program.phases[p].scratch.size();
    }
  }
  EXPECT_GT(buffers, 3);
}

TEST(Program, ScratchOfOneBlockIsApart) {
  expectScratchApart<TestModel>();
  expectScratchApart<StructureModel>();
  expectScratchApart<TrainingModel<float, 5, 7, 3, false>>();
  expectScratchApart<TrainingModel<double, 16, 40, 2, true>>();
}
