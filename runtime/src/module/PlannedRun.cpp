//===- PlannedRun.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/PlannedRun.h"

#include "support/Error.h"
#include "tensor/Tensor.h"

#include <algorithm>
#include <set>

namespace espalier {

PlannedRun::PlannedRun(const espalier_entry &entry,
                       std::unique_ptr<Device> chosen, bool profile)
    : entry(entry), device(std::move(chosen)),
      host(entry.plan->host_bytes, device->hostMemoryBytes(),
           device->isDry() ? Pages::Access::None : Pages::Access::ReadWrite),
      block(device->allocate(
          entry.plan->device_bytes,
          format("the plan of entry '%s'", entry.name).c_str())),
      copiesInFlight(*device), phases(entry.phase_count),
      bases(entry.buffer_count), hostBases(entry.buffer_count),
      isWritten(entry.buffer_count), profile(profile) {
  for (uint32_t p = 0; p < entry.phase_count; ++p)
    noteSteps(p);
  layOut();
}

PlannedRun::~PlannedRun() { device->release(block); }

//===----------------------------------------------------------------------===//
// Once
//===----------------------------------------------------------------------===//

/// Bytes that a step reads and writes, where its table does not say.
static double bytesOf(const espalier_entry &entry, const espalier_step &step) {
  double bytes = 0;
  for (uint32_t o = 0; o < step.operand_count; ++o) {
    const espalier_step_operand &operand = step.operands[o];
    double rows = operand.access == ESPALIER_ACCESS_ROW && step.batch_rows > 0
                      ? step.batch_rows
                      : 1;
    bytes += rows * (double)operand.elements *
             (double)dtypeSize(entry.buffers[operand.buffer].dtype);
  }
  return bytes;
}

void PlannedRun::noteSteps(uint32_t p) {
  Phase &phase = phases[p];
  const espalier_phase &desc = entry.phases[p];
  for (uint32_t s = 0; s < desc.step_count; ++s) {
    const espalier_step &step = desc.steps[s];
    if (isCopyOfPlan(step.kind)) {
      phase.copy = (int32_t)copies.size();
      copies.push_back(
          {step.kind == ESPALIER_STEP_OFFLOAD ? Lane::ToHost : Lane::ToDevice,
           step.operands[0].buffer, step.operands[1].buffer,
           step.operands[0].column *
               (int64_t)dtypeSize(
                   entry.buffers[step.operands[0].buffer].dtype)});
      isWritten[step.operands[1].buffer] = true;
      continue;
    }
    Work work{step.name, (double)step.flops_per_row, (double)step.bytes_per_row,
              step.kind == ESPALIER_STEP_LAYER ? step.layer->algorithm : 0};
    if (work.flops == 0 && work.bytes == 0)
      work.bytes = bytesOf(entry, step);
    phase.work.push_back(work);
    for (uint32_t o = 0; o < step.operand_count; ++o) {
      const espalier_step_operand &operand = step.operands[o];
      ByteRange range = rangeOf(entry.buffers[operand.buffer]);
      bool written = o >= step.operand_count - step.result_count;
      (written ? phase.written : phase.read).push_back(range);
      if (written)
        isWritten[operand.buffer] = true;
      if (operand.access == ESPALIER_ACCESS_ID)
        phase.read.push_back(rangeOf(entry.buffers[operand.slot]));
    }
    ByteRange workspace = workspaceOf(step);
    if (!workspace.isEmpty()) {
      phase.written.push_back(workspace);
      phase.begins.push_back(workspace);
      phase.ends.push_back(workspace);
    }
  }
}

/// Follows the buffers' lives through the phases: which bytes become somebody's
/// and cease to be, and how many are in use.
void PlannedRun::layOut() {
  Lives onDevice(entry, /*onDevice=*/true), inHost(entry, /*onDevice=*/false);
  LiveRanges live;
  std::multiset<int64_t> liveEnds;
  int64_t deviceBytes = 0, hostBytes = 0;
  for (uint32_t p = 0; p < entry.phase_count; ++p) {
    Phase &phase = phases[p];
    for (ByteRange workspace : phase.begins) {
      phase.deviceBytes += workspace.bytes();
      phase.deviceEnd = std::max(phase.deviceEnd, workspace.end);
    }
    for (uint32_t b : onDevice.begin[p]) {
      ByteRange range = rangeOf(entry.buffers[b]);
      for (ByteRange part : live.free(range)) {
        deviceBytes += part.bytes();
        if (!isNamedOutside(entry.buffers[b]))
          phase.begins.push_back(part);
      }
      live.add(b, range);
      liveEnds.insert(range.end);
    }
    for (uint32_t b : inHost.begin[p])
      hostBytes += rowBytes(entry.buffers[b]);
    phase.deviceBytes += deviceBytes;
    phase.hostBytes = hostBytes;
    if (!liveEnds.empty())
      phase.deviceEnd = std::max(phase.deviceEnd, *liveEnds.rbegin());
    for (uint32_t b : onDevice.end[p]) {
      ByteRange range = rangeOf(entry.buffers[b]);
      live.remove(b, range);
      liveEnds.erase(liveEnds.find(range.end));
      for (ByteRange part : live.free(range)) {
        deviceBytes -= part.bytes();
        if (!isNamedOutside(entry.buffers[b]))
          phase.ends.push_back(part);
      }
    }
    for (uint32_t b : inHost.end[p])
      hostBytes -= rowBytes(entry.buffers[b]);
  }
}

//===----------------------------------------------------------------------===//
// Every run
//===----------------------------------------------------------------------===//

/// Whether the buffer is the host's before and after a run, and on the device
/// during it.
bool PlannedRun::isResident(const espalier_buffer_desc &buffer) const {
  return isNamedOutside(buffer) && isOnDevice(buffer) &&
         !device->sharesHostMemory();
}

void PlannedRun::place(std::vector<View> &views,
                       const std::vector<Program::Workspace> &workspaces) {
  device->poison(Lane::Compute, block, entry.plan->device_bytes);
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    hostBases[b] = views[b].base;
    if (buffer.kind == ESPALIER_BUFFER_HOST)
      views[b].base = host.data() + buffer.offset;
    else if (buffer.kind == ESPALIER_BUFFER_DYNAMIC || isResident(buffer))
      views[b].base = block + buffer.offset;
    bases[b] = views[b].base;
    if (isResident(buffer) && buffer.kind != ESPALIER_BUFFER_OUTPUT)
      device->place(bases[b], hostBases[b], rowBytes(buffer));
  }
  for (size_t w = 0; w < workspaces.size(); ++w)
    views[entry.buffer_count + w].base = block + workspaces[w].offset;
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

void PlannedRun::startCopy(uint32_t p) {
  const Copy &copy = copies[phases[p].copy];
  const char *name = entry.phases[p].steps[0].name;
  AddressRange to = memoryOf(copy.to);
  AddressRange from{memoryOf(copy.from).begin + copy.firstByte, to.bytes};
  // What it takes was there when the steps before it had run, and so it is with
  // the memory that it fills.
  device->wait(copy.lane, device->record(Lane::Compute));
  copiesInFlight.waitToRead(copy.lane, from);
  copiesInFlight.waitToWrite(copy.lane, to);
  for (ByteRange part : phases[p].begins)
    beginLife(onDevice(part).overlaps(to) ? copy.lane : Lane::Compute, part);
  device->copy(copy.lane, name, bases[copy.to], from.begin, from.bytes);
  copiesInFlight.add(from, to, device->record(copy.lane));
}

void PlannedRun::runSteps(uint32_t p,
                          const std::function<void(uint32_t)> &runPhase) {
  const Phase &phase = phases[p];
  for (ByteRange range : phase.read)
    copiesInFlight.waitToRead(Lane::Compute, onDevice(range));
  for (ByteRange range : phase.written)
    copiesInFlight.waitToWrite(Lane::Compute, onDevice(range));
  for (ByteRange range : phase.begins)
    beginLife(Lane::Compute, range);
  // The steps of a phase run together; the clock has them one after another.
  for (size_t s = 0; s < phase.work.size(); ++s)
    device->launch(phase.work[s], [&] {
      if (s == 0)
        runPhase(p);
    });
}

/// `range` has become somebody's whom `lane` is to fill.
void PlannedRun::beginLife(Lane lane, ByteRange range) {
  copiesInFlight.waitToWrite(lane, onDevice(range));
  device->poison(lane, block + range.begin, range.bytes());
}

void PlannedRun::endLives(const Phase &phase) {
  for (ByteRange range : phase.ends)
    // What a copy is still taking becomes NaNs when somebody else's life begins
    // there.
    if (!copiesInFlight.touches(onDevice(range)))
      device->poison(Lane::Compute, block + range.begin, range.bytes());
}

void PlannedRun::run(const std::function<void(uint32_t)> &runPhase) {
  try {
    for (uint32_t p = 0; p < entry.phase_count; ++p) {
      const Phase &phase = phases[p];
      if (phase.copy >= 0)
        startCopy(p);
      else
        runSteps(p, runPhase);
      devicePeak = std::max(devicePeak, phase.deviceEnd);
      host.note(phase.hostBytes);
      if (profile && samples.size() < Trace::kMaxEvents)
        samples.push_back(
            {device->clock(), phase.deviceBytes, phase.hostBytes});
      endLives(phase);
    }
  } catch (...) {
    device->synchronize();
    copiesInFlight.clear();
    throw;
  }
  device->synchronize();
  copiesInFlight.clear();
}

void PlannedRun::finish() {
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    // The others are the same as before.
    if (isResident(buffer) && isWritten[b])
      device->place(hostBases[b], bases[b], rowBytes(buffer));
  }
}

void PlannedRun::appendTo(Trace &trace) {
  trace.appendDevice(device->name(), device->takeEvents(), samples);
  samples.clear();
}

} // namespace espalier
