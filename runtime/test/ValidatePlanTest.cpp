//===- ValidatePlanTest.cpp - Memory plans that cannot be executed --------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Module.h"
#include "module/Session.h"

#include "PlanModel.h"
#include "support/Error.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace espalier;

namespace {

enum Phase : uint32_t { MakeA, OffloadA, MakeB, MakeC, FetchA, MakeOut, Save };

/// x and w -> out, with a offloaded and fetched; w is only in the host's
/// memory, but for a stay on the device.
struct SmallPlan : PlanModel {
  uint32_t x, w, out, saved, a, host, b, c, again, wHere;

  SmallPlan() : PlanModel(16) {
    x = buffer("x", ESPALIER_BUFFER_INPUT, 0);
    w = buffer("w", ESPALIER_BUFFER_PARAMETER, -1);
    out = buffer("out", ESPALIER_BUFFER_OUTPUT, 64);
    saved = buffer("saved", ESPALIER_BUFFER_OUTPUT, -1);
    a = buffer("a", ESPALIER_BUFFER_DYNAMIC, 128, MakeA, OffloadA);
    host = buffer("host", ESPALIER_BUFFER_HOST, 0, OffloadA, FetchA);
    b = buffer("b", ESPALIER_BUFFER_DYNAMIC, 192, MakeB, MakeOut);
    c = buffer("c", ESPALIER_BUFFER_DYNAMIC, 128, MakeC, MakeC);
    again = buffer("again", ESPALIER_BUFFER_DYNAMIC, 128, FetchA, MakeOut);
    wHere = buffer("w here", ESPALIER_BUFFER_DYNAMIC, 128, 7, 8);
    combine(x, x, a);
    offload(a, host);
    combine(x, x, b);
    combine(b, x, c);
    prefetch(host, again);
    combine(again, b, out);
    offload(out, saved);
    prefetch(w, wHere);
    combine(wHere, out, wHere);
    finish(256, 64);
  }
};

struct Spoil {
  const char *name;
  std::function<void(SmallPlan &)> change;
  const char *expected;
};

} // namespace

TEST(ValidatePlan, AcceptsWhatIsRight) {
  SmallPlan plan;
  EXPECT_NO_THROW(Module module(&plan.model));
  for (uint32_t seed = 0; seed < 500; ++seed) {
    RandomPlan random(seed, 16);
    EXPECT_NO_THROW(Module module(&random.model.model)) << seed;
  }
}

TEST(ValidatePlan, SaysWhatIsWrong) {
  const Spoil spoils[] = {
      {"negative total", [](auto &m) { m.plan.host_bytes = -1; },
       "its plan has 256 bytes on the device, -1 in the host's pool"},
      {"over budget", [](auto &m) { m.plan.budget_bytes = 255; },
       "its plan needs 256 bytes on the device, more than its budget of 255"},
      {"no machine", [](auto &m) { m.plan.machine = nullptr; },
       "no machine's name"},
      {"device too small", [](auto &m) { m.plan.device_bytes = 255; },
       "buffer 6 'b': it of 64 bytes is at 192"},
      {"host too small", [](auto &m) { m.plan.host_bytes = 63; },
       "buffer 5 'host': it of 64 bytes is at 0"},
      {"not aligned", [](auto &m) { m.desc(m.c).offset = 130; },
       "buffer 7 'c': it of 64 bytes is at 130, expected a multiple of 64"},
      {"far away", [](auto &m) { m.desc(m.c).offset = INT64_MAX - 63; },
       "buffer 7 'c': it of 64 bytes is at 9223372036854775744"},
      {"nowhere", [](auto &m) { m.desc(m.c).offset = -1; },
       "buffer 7 'c': it of 64 bytes is at -1"},
      {"argument before the block", [](auto &m) { m.desc(m.x).offset = -64; },
       "buffer 0 'x': it of 64 bytes is at -64"},
      {"scratch", [](auto &m) { m.desc(m.c).kind = ESPALIER_BUFFER_SCRATCH; },
       "a plan has no place for a buffer of kind 4"},
      {"overlap", [](auto &m) { m.desc(m.c).offset = 192; },
       "phase 3 'compute': buffer 7 'c' of 64 bytes at 192, phases [3, 3] "
       "shares bytes with buffer 6 'b' of 64 bytes at 192, phases [2, 5]"},
      {"partial overlap",
       [](auto &m) { m.desc(m.c).shape[0] = m.desc(m.c).row_elements = 20; },
       "buffer 7 'c' of 80 bytes at 128, phases [3, 3] shares bytes with "
       "buffer 6 'b'"},
      {"overlap with an argument", [](auto &m) { m.desc(m.c).offset = 0; },
       "shares bytes with buffer 0 'x' of 64 bytes at 0, phases [0, 8]"},
      {"still alive", [](auto &m) { m.desc(m.a).last_phase = MakeC; },
       "buffer 7 'c' of 64 bytes at 128, phases [3, 3] shares bytes with "
       "buffer 4 'a' of 64 bytes at 128, phases [0, 3]"},
      {"freed too early", [](auto &m) { m.desc(m.a).last_phase = MakeA; },
       "phase 1 'offload', step 0 'offload': buffer 4 only lives in phases [0, "
       "0]"},
      {"host's freed too early",
       [](auto &m) { m.desc(m.host).last_phase = MakeC; },
       "buffer 5 only lives in phases [1, 3]"},
      {"missing prefetch",
       [](auto &m) {
         m.step(FetchA).kind = ESPALIER_STEP_KERNEL;
         m.step(FetchA).kernel = combineRows;
         m.operand(FetchA, 0).buffer = m.b;
         m.operand(FetchA, 1).buffer = m.again;
         m.operand(MakeOut, 0).buffer = m.host;
         m.desc(m.host).last_phase = MakeOut;
       },
       "step 'combine' uses buffer 5 'host' of 64 bytes at 0, phases [1, 5], "
       "which is not on the device; prefetch it"},
      {"prefetch of what was not offloaded",
       [](auto &m) { m.operand(OffloadA, 1).buffer = m.saved; },
       "step 'prefetch' reads buffer 5 'host' of 64 bytes at 0, phases [1, 4], "
       "which no step before it wrote"},
      {"reads what was not written",
       [](auto &m) { m.operand(MakeB, 1).buffer = m.out; },
       "step 'combine' reads buffer 2 'out' of 64 bytes at 64, phases [0, 8], "
       "which no step before it wrote"},
      {"offload to the device",
       [](auto &m) { m.operand(OffloadA, 1).buffer = m.out; },
       "step 'offload' offloads from buffer 4 'a'"},
      {"offload to a parameter on the device",
       [](auto &m) {
         m.desc(m.w).offset = 192;
         m.desc(m.b).offset = 256;
         m.plan.device_bytes = 320;
       },
       "step 'prefetch' prefetches from buffer 1 'w' of 64 bytes at 192"},
      {"prefetch of a result",
       [](auto &m) { m.operand(7, 0).buffer = m.saved; },
       "step 'prefetch' prefetches from buffer 3 'saved' of 64 bytes in the "
       "host's memory"},
      {"prefetch from the device",
       [](auto &m) { m.operand(FetchA, 0).buffer = m.b; },
       "step 'prefetch' prefetches from buffer 6 'b'"},
      {"prefetch of a part into more",
       [](auto &m) { m.operand(FetchA, 0).elements = 8; },
       "step 'prefetch' prefetches 8 x f32 as 16 x f32"},
      {"prefetch beyond the end",
       [](auto &m) { m.operand(FetchA, 0).column = 1; },
       "step 0 'prefetch': columns [1, 1 + 16) of 16"},
      {"prefetch into a part",
       [](auto &m) { m.operand(FetchA, 1).elements = 8; },
       "step 'prefetch' prefetches elements [0, 8) of buffer"},
      {"other sizes",
       [](auto &m) {
         m.desc(m.again).shape[0] = m.desc(m.again).row_elements = 8;
         m.operand(FetchA, 1).elements = m.operand(MakeOut, 0).elements = 8;
       },
       "step 'prefetch' prefetches 16 x f32 as 8 x f32"},
      {"other types", [](auto &m) { m.desc(m.again).dtype = ESPALIER_I32; },
       "step 'prefetch' prefetches 16 x f32 as 16 x i32"},
      {"two steps",
       [](auto &m) {
         m.entry.steps[OffloadA].push_back(m.entry.steps[OffloadA][0]);
         m.entry.phases[OffloadA].step_count = 2;
         m.entry.phases[OffloadA].steps = m.entry.steps[OffloadA].data();
       },
       "step 'offload' offloads in a phase of 2 steps"},
      {"no plan", [](auto &m) { m.entries[0].plan = nullptr; },
       "buffer 5 'host': it is in the host's pool, but the entry has no plan"},
      {"host buffer computed",
       [](auto &m) {
         m.operand(MakeB, 2).buffer = m.host;
         m.desc(m.host).last_phase = MakeOut;
         m.operand(MakeC, 0).buffer = m.x;
         m.operand(MakeOut, 1).buffer = m.x;
       },
       "step 'combine' uses buffer 5 'host'"},
      {"copies of three operands",
       [](auto &m) { m.step(OffloadA).operand_count = 3; },
       "3 operands, expected 2"},
      {"unknown kind", [](auto &m) { m.desc(m.host).kind = 9; },
       "unknown kind 9"},
      {"not in place",
       [](auto &m) {
         // c takes the place of b, of which the step reads another part.
         m.desc(m.c).offset = 192;
         m.desc(m.b).last_phase = MakeC;
         m.operand(MakeOut, 1).buffer = m.x;
         m.operand(MakeC, 0).elements = 8;
       },
       "buffer 7 'c' of 64 bytes at 192, phases [3, 3] shares bytes with "
       "buffer 6 'b'"},
  };
  for (const Spoil &spoil : spoils) {
    SCOPED_TRACE(spoil.name);
    SmallPlan plan;
    spoil.change(plan);
    try {
      Module module(&plan.model);
      ADD_FAILURE() << "accepted";
    } catch (const Error &error) {
      EXPECT_EQ(error.code(), ESPALIER_MALFORMED);
      EXPECT_NE(error.message().find("model 'planned', entry 'step'"),
                std::string::npos)
          << error.message();
      EXPECT_NE(error.message().find(spoil.expected), std::string::npos)
          << error.message();
    }
  }
}

TEST(ValidatePlan, InPlaceIsAccepted) {
  SmallPlan plan;
  plan.desc(plan.c).offset = 192;
  plan.desc(plan.b).last_phase = MakeC;
  plan.operand(MakeOut, 1).buffer = plan.x;
  EXPECT_NO_THROW(Module module(&plan.model));
}

// Whatever the tables say, the model is refused, or it runs within its memory.
TEST(ValidatePlan, SpoiledTablesNeverCrash) {
  std::mt19937 random(5);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    RandomPlan plan((uint32_t)round % 50, 16);
    PlanModel &model = plan.model;
    auto below = [&](size_t limit) { return (uint32_t)(random() % limit); };
    for (int change = 0; change <= round % 3; ++change) {
      espalier_buffer_desc &buffer =
          model.desc(below(model.entry.buffers.size()));
      uint32_t p = below(model.phases());
      switch (below(7)) {
      case 0:
        buffer.offset = (int64_t)below(40) * 64 - 64;
        break;
      case 1:
        buffer.first_phase = below(model.phases() + 1);
        break;
      case 2:
        buffer.last_phase = below(model.phases() + 1);
        break;
      case 3:
        buffer.kind = below(10);
        break;
      case 4:
        model.operand(p, below(2)).buffer =
            below(model.entry.buffers.size() + 1);
        break;
      case 5:
        (below(2) ? model.plan.device_bytes : model.plan.host_bytes) =
            (int64_t)below(30) * 64;
        break;
      case 6:
        model.step(p).kind = below(17);
        break;
      }
    }
    try {
      Module module(&model.model);
      Tensor values = Tensor::zeros(ESPALIER_F32, {16});
      Session session(module, module.entry(nullptr), Weights{{"w", values}},
                      {});
      session.run(Forest(), {{"x", values}});
      ++accepted;
    } catch (const Error &) {
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 2900);
}
