//===- DynamicRun.cpp -----------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/DynamicRun.h"

#include "support/Error.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace espalier {

/// Chunks are that small a part of the memory, where pages let them: small ones
/// bring little that is not needed, large ones take few copies.
static constexpr int64_t kChunksOfMemory = 512;

static int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

DynamicRun::DynamicRun(const Program &program,
                       const std::vector<BatchGraph> &graphs, Device &device,
                       const std::vector<View> &hostViews,
                       ExecutorOptions options)
    : program(program), graphs(graphs), device(device), hostViews(hostViews),
      options(options), views(hostViews),
      lastPhases(program.entry.buffer_count),
      isWritten(program.entry.buffer_count) {
  findLastUses();
  findRows();
  layOutResidents();
  chooseUnits();
  residents =
      DeviceBytes(device.allocate(residentBytes, "what stays on the device"),
                  [&device](char *block) { device.release(block); });
  int64_t hostBytes = (int64_t)chunks.size() * chunkBytes;
  if (device.hostMemoryBytes() > 0)
    hostBytes = std::min(hostBytes, device.hostMemoryBytes());
  host = std::make_unique<HostPool>(hostBytes, 0,
                                    device.isDry() ? Pages::Access::None
                                                   : Pages::Access::ReadWrite);
  pool = std::make_unique<UnifiedTensorPool>(
      device, poolBytes, *host, [this](Id id) { forgetAddress(id); });
  fillResidents();
  fillArguments();
}

//===----------------------------------------------------------------------===//
// What is where
//===----------------------------------------------------------------------===//

bool DynamicRun::isResident(uint32_t buffer) const {
  return descOf(buffer).rows == ESPALIER_ROWS_ONE &&
         descOf(buffer).kind != ESPALIER_BUFFER_SCRATCH;
}

void DynamicRun::findLastUses() {
  for (uint32_t p = 0; p < program.phases.size(); ++p)
    for (const Program::Step &step : program.phases[p].steps)
      for (uint32_t o = 0; o < step.operandCount; ++o) {
        const Program::Operand &operand = step.operands[o];
        lastPhases[operand.buffer] = program.phases[p].lastOfLoop;
        if (operand.access == ESPALIER_ACCESS_ID)
          lastPhases[operand.slot] = program.phases[p].lastOfLoop;
        if (o >= step.operandCount - step.resultCount)
          isWritten[operand.buffer] = true;
      }
}

/// Buffers of one row, and the workspaces of layers.
void DynamicRun::layOutResidents() {
  const espalier_entry &entry = program.entry;
  uint32_t last = std::max(entry.phase_count, 1u) - 1;
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    Placement placement{0, 0, last, 0};
    if (isResident(b))
      placement.bytes = rowBytes(descOf(b));
    if (descOf(b).kind == ESPALIER_BUFFER_DYNAMIC) {
      placement.first = program.phases[descOf(b).first_phase].firstOfLoop;
      placement.last = program.phases[descOf(b).last_phase].lastOfLoop;
    }
    placements.push_back(placement);
  }
  for (const Program::Workspace &workspace : program.workspaces)
    placements.push_back(
        {workspace.bytes, workspace.phase, workspace.phase, 0});
  residentBytes = std::max(OffsetAssigner().assign(placements), kAlignment);
}

void DynamicRun::findRows() {
  for (uint32_t b = 0; b < program.entry.buffer_count; ++b) {
    const espalier_buffer_desc &desc = descOf(b);
    if (isResident(b) || desc.kind == ESPALIER_BUFFER_SCRATCH)
      continue;
    Rows rows{};
    rows.buffer = b;
    rows.bytes = rowsOf(graphs[desc.graph], desc.rows) * rowBytes(desc);
    rows.lastPhase = desc.kind == ESPALIER_BUFFER_DYNAMIC
                         ? program.phases[desc.last_phase].lastOfLoop
                         : lastPhases[b];
    rowBuffers.push_back(rows);
  }
  std::sort(rowBuffers.begin(), rowBuffers.end(),
            [](const Rows &a, const Rows &b) {
              return a.lastPhase != b.lastPhase ? a.lastPhase < b.lastPhase
                                                : a.buffer < b.buffer;
            });
}

/// Gives buffers of rows their addresses, in chunks of chunkBytes.
void DynamicRun::layOutRows() {
  chunks.clear();
  for (Rows &rows : rowBuffers) {
    rows.firstChunk = (int64_t)chunks.size();
    rows.lastChunk = rows.firstChunk + chunksOf(rows);
    chunks.resize(rows.lastChunk, Chunk{rows.buffer});
    View &view = views[rows.buffer];
    view.base = addressOf(rows.firstChunk);
    view.stride = rowBytes(descOf(rows.buffer));
  }
  for (TouchedChunks *touched : {&current, &next})
    touched->reset(space.get(), (int64_t)chunks.size(), chunkBytes);
}

/// Cuts the memory into chunks and the batch into units, such that two units
/// fit if possible: then the next one's chunks come while one runs.
void DynamicRun::chooseUnits() {
  int64_t page = device.pageBytes(), available = device.availableBytes();
  int64_t most = std::max<int64_t>(
      available - roundUp(residentBytes, MemoryPool::kUnit), 0);
  int64_t all = 0;
  for (const Rows &rows : rowBuffers)
    all += roundUp(rows.bytes, page);
  chunkBytes = page;
  while (chunkBytes * 2 * kChunksOfMemory <= std::min(most, all))
    chunkBytes *= 2;
  int64_t addresses = 0; // smaller chunks need no more
  for (const Rows &rows : rowBuffers)
    addresses += roundUp(rows.bytes, chunkBytes);
  space = DeviceBytes(device.reserve(addresses, "dynamic tensors"),
                      [this](char *reserved) { device.unreserve(reserved); });
  for (;; chunkBytes /= 2) {
    layOutRows();
    int64_t count = std::min(most / chunkBytes, (int64_t)chunks.size());
    bool isEnough = residentBytes <= available;
    bool fits = isEnough && count == (int64_t)chunks.size();
    cut = cutBatch({program, graphs, views, options}, current,
                   fits ? INT64_MAX : count / 2);
    poolBytes = count * chunkBytes;
    if (fits || (isEnough && cut.largestChunks <= count / 2))
      return;
    if (chunkBytes > page)
      continue;
    if (!isEnough || cut.largestChunks > count)
      failForMemory(available);
    return;
  }
}

void DynamicRun::failForMemory(int64_t available) const {
  if (cut.largestChunks == 0)
    fail(ESPALIER_OUT_OF_MEMORY,
         "the weights, gradients and states of entry '%s' have %lld bytes, "
         "which stay on device '%s'; it has %lld",
         program.entry.name, (long long)residentBytes, device.name(),
         (long long)available);
  const DynamicUnit &unit = cut.largest;
  int64_t bytes = cut.largestChunks * chunkBytes;
  int64_t needed = roundUp(residentBytes, MemoryPool::kUnit) + bytes;
  int64_t rows = unit.endRow() - unit.beginRow();
  fail(ESPALIER_OUT_OF_MEMORY,
       "phase '%s' of entry '%s' touches %lld bytes of dynamic tensors for "
       "the %s that it computes at a time, %lld %s, beside %lld bytes of "
       "weights, "
       "gradients and states that stay on device '%s', which has %lld bytes; "
       "run fewer structures at once, or give the device %lld bytes",
       unit.phase->name, program.entry.name, (long long)bytes,
       isTasks(unit.phase->rows) ? "part of a task" : "part of a batch",
       (long long)rows, rows == 1 ? "row" : "rows", (long long)residentBytes,
       device.name(), (long long)available, (long long)needed);
}

//===----------------------------------------------------------------------===//
// Before the first unit
//===----------------------------------------------------------------------===//

void DynamicRun::fillResidents() {
  device.poison(Lane::Compute, residents.get(), residentBytes);
  for (size_t i = 0; i < placements.size(); ++i) {
    bool isWorkspace = i >= program.entry.buffer_count;
    if (!isWorkspace && !isResident((uint32_t)i))
      continue;
    views[i].base = residents.get() + placements[i].offset;
    if (isWorkspace)
      continue;
    uint32_t kind = descOf((uint32_t)i).kind;
    if (kind != ESPALIER_BUFFER_DYNAMIC && kind != ESPALIER_BUFFER_OUTPUT &&
        hostViews[i].base)
      device.place(views[i].base, hostViews[i].base, placements[i].bytes);
  }
}

void DynamicRun::fillArguments() {
  for (const Rows &rows : rowBuffers) {
    uint32_t kind = descOf(rows.buffer).kind;
    if (kind != ESPALIER_BUFFER_INPUT && kind != ESPALIER_BUFFER_MULTIPLICITY)
      continue;
    for (int64_t c = rows.firstChunk; c < rows.lastChunk; ++c) {
      int64_t offset = (c - rows.firstChunk) * chunkBytes;
      Id id = create(c, /*onHost=*/true);
      if (!device.isDry())
        std::memcpy(pool->onHostAddress(id),
                    hostViews[rows.buffer].base + offset,
                    std::min(chunkBytes, rows.bytes - offset));
    }
  }
}

DynamicRun::Id DynamicRun::create(int64_t chunk, bool onHost) {
  const char *name = descOf(chunks[chunk].buffer).name;
  std::string text = name && *name ? name : "a dynamic tensor";
  Id id = onHost ? pool->createOnHost(chunkBytes, std::move(text))
                 : pool->create(chunkBytes, std::move(text));
  chunks[chunk].id = id;
  if (id >= (Id)chunkOf.size())
    chunkOf.resize(id + 1);
  chunkOf[id] = (int32_t)chunk;
  return id;
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// Has a chunk at its address, for the next step of the lane that computes.
void DynamicRun::bringIn(TouchedChunks::Chunk touched) {
  using Use = UnifiedTensorPool::Use;
  Chunk &chunk = chunks[touched.number];
  Use how = touched.isWritten ? Use::Update : Use::Read;
  if (chunk.id < 0) {
    create(touched.number, /*onHost=*/false);
    how = Use::Write;
  }
  char *memory = pool->use(chunk.id, how);
  pool->lock(chunk.id);
  if (!chunk.isMapped)
    device.map(addressOf(touched.number), memory, chunkBytes);
  chunk.isMapped = true;
}

void DynamicRun::bringInAll() {
  auto isThere = [&](const TouchedChunks::Chunk &touched) {
    Id id = chunks[touched.number].id;
    return id >= 0 && pool->isOnDevice(id);
  };
  // Those that are there first, so that none of them leaves for another.
  std::vector<TouchedChunks::Chunk> absent;
  for (TouchedChunks::Chunk touched : current.chunks())
    isThere(touched) ? bringIn(touched) : absent.push_back(touched);
  for (TouchedChunks::Chunk touched : absent)
    bringIn(touched);
}

void DynamicRun::unlockAll() {
  for (TouchedChunks::Chunk touched : current.chunks())
    pool->unlock(chunks[touched.number].id);
}

/// Starts to bring what the next unit reads, if there is room for both.
void DynamicRun::prefetchNext() {
  if ((current.size() + next.size()) * chunkBytes > poolBytes)
    return;
  for (TouchedChunks::Chunk touched : next.chunks()) {
    Id id = chunks[touched.number].id;
    if (id >= 0 && pool->isOnDevice(id))
      pool->touch(id);
  }
  for (TouchedChunks::Chunk touched : next.chunks())
    if (chunks[touched.number].id >= 0)
      pool->prefetch(chunks[touched.number].id, /*makesRoom=*/true);
}

/// What a step costs for the rows of a unit: the arithmetic and traffic that
/// its table says, or the bytes of its operands.
static Work workOf(const espalier_step &desc, const Program::Step &step,
                   int64_t rows) {
  Work work{step.name, (double)desc.flops_per_row * (double)rows,
            (double)desc.bytes_per_row * (double)rows,
            step.kind == ESPALIER_STEP_LAYER ? desc.layer->algorithm : 0};
  bool isProduct =
      step.kind == ESPALIER_STEP_MATMUL || step.kind == ESPALIER_STEP_OUTER_SUM;
  if (isProduct && desc.flops_per_row == 0)
    work.flops = (double)step.costPerRow * (double)rows;
  for (uint32_t o = 0; desc.bytes_per_row == 0 && o < step.operandCount; ++o)
    work.bytes +=
        (double)step.operands[o].rowBytes *
        (step.operands[o].access == ESPALIER_ACCESS_SHARED ? 1.0
                                                           : (double)rows);
  return work;
}

/// Ids are read and written; what the rows cost are units of their own.
static Work workOfFinding(const Program::Step &step, int64_t rows) {
  double bytes = (double)rows * (double)(step.operands[0].rowBytes +
                                         step.operands[2].rowBytes);
  return {step.name, /*flops=*/0, bytes};
}

void DynamicRun::launch(const DynamicUnit &unit, Executor &executor) {
  const Program::Phase &phase = *unit.phase;
  int64_t begin = unit.beginRow(), end = unit.endRow();
  auto body = [&] {
    if (!unit.reduction)
      executor.runBlocks(phase, unit.blocks, unit.first, unit.last);
    else if (unit.isFinding)
      firsts = executor.findFirstRows(phase, *unit.reduction, begin, end);
    else
      executor.runReduction(phase, *unit.reduction, unit.blocks, unit.first,
                            unit.last, firsts);
  };
  // The steps of a phase run together; the clock has them one after another.
  bool isFirst = true;
  size_t p = unit.phase - program.phases.data();
  for (size_t s = 0; s < phase.steps.size(); ++s) {
    const Program::Step &step = phase.steps[s];
    if (unit.reduction && &step != unit.reduction)
      continue;
    int64_t rows = end - begin;
    if (step.overEdges || isReductionOfChildren(step.kind)) {
      const int64_t *offsets = graphs[phase.graph].edges.offsets();
      rows = offsets[end] - offsets[begin];
    }
    Work work = unit.isFinding
                    ? workOfFinding(step, rows)
                    : workOf(program.entry.phases[p].steps[s], step, rows);
    device.launch(work, [&] {
      if (isFirst)
        body();
    });
    isFirst = false;
  }
}

/// Before phase `phase`: what none touches from there on is gone.
void DynamicRun::endLives(uint32_t phase) {
  for (; dead < rowBuffers.size() && rowBuffers[dead].lastPhase < phase; ++dead)
    for (int64_t c = rowBuffers[dead].firstChunk;
         c < rowBuffers[dead].lastChunk; ++c) {
      if (chunks[c].id < 0)
        continue;
      if (descOf(chunks[c].buffer).kind == ESPALIER_BUFFER_OUTPUT)
        pool->offload(chunks[c].id);
      else
        pool->destroy(std::exchange(chunks[c].id, -1));
    }
}

void DynamicRun::forgetAddress(Id id) {
  Chunk &chunk = chunks[chunkOf[id]];
  if (chunk.isMapped)
    device.unmap(addressOf(chunkOf[id]), chunkBytes);
  chunk.isMapped = false;
}

void DynamicRun::run(Executor &executor) {
  const std::vector<DynamicUnit> &units = cut.units;
  Batch batch{program, graphs, views, options};
  for (size_t u = 0; u < units.size(); ++u) {
    const DynamicUnit &unit = units[u];
    endLives(unit.phase->firstOfLoop);
    if (u == 0 || units[u - 1].isFinding) {
      current.clear();
      addTouched(batch, unit, firsts, current);
    }
    bringInAll();
    bool isNextKnown = u + 1 < units.size() && !unit.isFinding;
    next.clear();
    if (isNextKnown) {
      addTouched(batch, units[u + 1], firsts, next);
      prefetchNext();
    }
    launch(unit, executor);
    if (options.profile && samples.size() < Trace::kMaxEvents)
      samples.push_back({device.clock(),
                         residentBytes + pool->memory().usedBytes(),
                         host->nodes().usedBytes()});
    unlockAll();
    std::swap(current, next);
  }
  endLives((uint32_t)program.phases.size());
  takeResults();
}

void DynamicRun::takeResults() {
  device.synchronize();
  for (const Rows &rows : rowBuffers) {
    if (descOf(rows.buffer).kind != ESPALIER_BUFFER_OUTPUT || device.isDry())
      continue;
    for (int64_t c = rows.firstChunk; c < rows.lastChunk; ++c) {
      int64_t offset = (c - rows.firstChunk) * chunkBytes;
      if (chunks[c].id >= 0)
        std::memcpy(hostViews[rows.buffer].base + offset,
                    pool->onHostAddress(chunks[c].id),
                    std::min(chunkBytes, rows.bytes - offset));
    }
  }
  for (uint32_t b = 0; b < program.entry.buffer_count; ++b)
    if (isResident(b) && isWritten[b] &&
        descOf(b).kind != ESPALIER_BUFFER_DYNAMIC)
      device.place(hostViews[b].base, views[b].base, placements[b].bytes);
}

} // namespace espalier
