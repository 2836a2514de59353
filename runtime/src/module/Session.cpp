//===- Session.cpp --------------------------------------------------------===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "module/Session.h"

#include "device/cpu/Gemm.h"
#include "device/cpu/ThreadPool.h"
#include "graph/Reverse.h"
#include "module/DynamicRun.h"
#include "module/PhaseRows.h"
#include "module/PlannedRun.h"
#include "support/Error.h"

#include <algorithm>
#include <cstring>

namespace espalier {

/// The memory of one run, reused by later ones.
struct Session::Context {
  /// By the number of the entry's graph; one, of nothing, if it has none.
  std::vector<BatchGraph> graphs;
  Arena arena;
  OffsetAssigner assigner;
  /// One for each dynamic buffer, in the order of the entry's table.
  std::vector<Placement> placements;
  /// By buffer, then by workspace of a layer.
  std::vector<View> views;
  Arena layerScratch;
  std::vector<Worker> workers;
  /// For each of the program's streams whether it runs as one.
  std::vector<char> streams;
  StreamQueue streamQueue;
  /// Of dynamic tensors, on whatever device they are, and of what the arena has
  /// of them.
  int64_t dynamicBytes = 0;
  int64_t arenaBytes = 0;
  int64_t resultBytes = 0;
  /// When changed weights were packed again; the same time twice if none were.
  int64_t packingBegin = 0;
  int64_t packingEnd = 0;
  /// When results of equal vertices were copied.
  int64_t spreadingBegin = 0;
  int64_t spreadingEnd = 0;
  /// What the session has counted as allocated by this context.
  int64_t countedBytes = 0;

  int64_t allocatedBytes() const {
    int64_t bytes = arena.capacity() + layerScratch.capacity();
    for (const Worker &worker : workers)
      bytes += worker.scratch.capacity();
    return bytes;
  }
};

/// Takes a context from the session's list and puts it back.
class Session::ContextLease {
public:
  explicit ContextLease(Session &session) : session(session) {
    uint32_t number;
    {
      std::lock_guard<std::mutex> lock(session.contextMutex);
      // There is room for it when it comes back.
      if (!session.freeContexts.empty()) {
        context = std::move(session.freeContexts.back());
        session.freeContexts.pop_back();
        return;
      }
      session.freeContexts.reserve(session.contextCount + 1);
      number = session.contextCount++;
    }
    context = std::make_unique<Context>();
    context->graphs.resize(std::max(session.entry.graph_count, 1u));
    context->workers = std::vector<Worker>(session.options.threads);
    for (unsigned w = 0; w < session.options.threads; ++w)
      context->workers[w].thread = number * session.options.threads + w;
  }
  ~ContextLease() {
    std::lock_guard<std::mutex> lock(session.contextMutex);
    int64_t bytes = context->allocatedBytes();
    session.allocatedBytes += bytes - context->countedBytes;
    context->countedBytes = bytes;
    session.freeContexts.push_back(std::move(context));
  }
  Context &operator*() { return *context; }

private:
  Session &session;
  std::unique_ptr<Context> context;
};

Session::Session(const Module &module, const espalier_entry &entry,
                 std::shared_ptr<SharedWeights> shared,
                 SessionOptions requested)
    : entry(entry), options(requested),
      weights(module, entry, std::move(shared), requested.device.dry),
      program(entry, weights.packed(),
              requested.device.dry ? 0
              : requested.policy == ESPALIER_POLICY_SERIAL
                  ? 1
                  : std::max(requested.threads, 1u)),
      zeros(alignUp(program.zeroBytes) + kAlignment, '\0'),
      noIds(zeros.size(), '\xFF') {
  // The reference policy is one vertex after another.
  if (options.policy == ESPALIER_POLICY_SERIAL || options.threads == 0)
    options.threads = 1;
  if (options.policy == ESPALIER_POLICY_SERIAL)
    options.ablate |= ESPALIER_SHARING;
  if (options.threads > 1)
    pool = std::make_unique<ThreadPool>(options.threads);
  options.device.profile = options.profile;
  std::unique_ptr<Device> chosen = createDevice(options.device);
  if (entry.plan)
    planned =
        std::make_unique<PlannedRun>(entry, std::move(chosen), options.profile);
  else if (!chosen->sharesHostMemory() && entry.graph_count == 0)
    fail(ESPALIER_UNSUPPORTED,
         "entry '%s' has no memory plan, which device '%s' needs for a layered "
         "network; compile the model with a memory budget, or run it on device "
         "'cpu'",
         entry.name, chosen->name());
  else if (!chosen->sharesHostMemory())
    device = std::move(chosen);
}

Session::~Session() = default;

//===----------------------------------------------------------------------===//
// Before the run: schedule, arguments, memory
//===----------------------------------------------------------------------===//

/// The graph arguments of an entry, for messages: "'trees', 'words'".
static std::string argumentNames(const espalier_entry &entry) {
  std::string names;
  for (uint32_t g = 0; g < entry.graph_count; ++g)
    if (!entry.graphs[g].reverse_of)
      names += (names.empty() ? "'" : ", '") +
               std::string(entry.graphs[g].name) + "'";
  return names.empty() ? "none" : names;
}

Forests Session::onlyGraph(const Forest &forest) const {
  Forests forests;
  for (uint32_t g = 0; g < entry.graph_count; ++g)
    if (!entry.graphs[g].reverse_of)
      forests.push_back({entry.graphs[g].name, &forest});
  if (forests.size() > 1)
    fail(ESPALIER_INVALID_ARGUMENT,
         "entry '%s' runs over %zu graphs, %s; give the structures of each by "
         "name",
         entry.name, forests.size(), argumentNames(entry).c_str());
  return forests;
}

void Session::checkGraphNames(const Forests &forests) const {
  for (const NamedForest &named : forests) {
    bool known = false;
    for (uint32_t g = 0; g < entry.graph_count; ++g)
      known |=
          !entry.graphs[g].reverse_of && named.name == entry.graphs[g].name;
    if (!known)
      fail(ESPALIER_INVALID_ARGUMENT, "entry '%s' has no graph '%s'; it has %s",
           entry.name, named.name.c_str(), argumentNames(entry).c_str());
  }
}

/// The structures that the caller gives for graph `graph`.
const Forest *Session::findForest(const Forests &forests,
                                  uint32_t graph) const {
  const Forest *found = nullptr;
  for (const NamedForest &named : forests) {
    if (named.name != entry.graphs[graph].name)
      continue;
    if (found)
      fail(ESPALIER_INVALID_ARGUMENT,
           "the structures of graph '%s' are given twice", named.name.c_str());
    found = named.forest;
  }
  if (!found)
    fail(ESPALIER_NOT_FOUND,
         "entry '%s' needs structures for graph '%s'; it runs over %s",
         entry.name, entry.graphs[graph].name, argumentNames(entry).c_str());
  return found;
}

/// The types of the vertices of graph `g`, which a field of `structures` has.
VertexTypes Session::findTypes(const Forest &structures, uint32_t g) const {
  const espalier_graph_desc &graph = entry.graphs[g];
  if (graph.types <= 1)
    return {};
  auto field = structures.fields.find(graph.type_field);
  if (field == structures.fields.end())
    fail(ESPALIER_NOT_FOUND,
         "entry '%s' needs the field '%s', which has the type of each vertex, "
         "from 0 to %u",
         entry.name, graph.type_field, graph.types - 1);
  const Tensor &tensor = field->second;
  std::vector<int64_t> expected{structures.vertices()};
  if (tensor.dtype != ESPALIER_I32 || tensor.shape != expected)
    fail(ESPALIER_INVALID_ARGUMENT,
         "field '%s' is %s, expected %s (the type of each vertex)",
         graph.type_field, shapeString(tensor.shape, tensor.dtype).c_str(),
         shapeString(expected, ESPALIER_I32).c_str());
  const int32_t *types = tensor.as<int32_t>();
  for (int64_t v = 0; v < structures.vertices(); ++v)
    if (types[v] < 0 || types[v] >= (int64_t)graph.types) {
      int64_t k = structures.structureOf(v);
      fail(ESPALIER_INVALID_ARGUMENT,
           "structure %lld, vertex %lld: type %d in field '%s' is not one of "
           "the %u of entry '%s', from 0 to %u",
           (long long)k, (long long)(v - structures.structureOffsets[k]),
           types[v], graph.type_field, graph.types, entry.name,
           graph.types - 1);
    }
  return {types, graph.types};
}

/// What vertices of graph `g` read of the arguments, which are bound.
std::vector<VertexInput> Session::readsOf(const Context &context,
                                          uint32_t g) const {
  std::vector<VertexInput> inputs;
  for (const Program::VertexRead &read : program.graphs[g].reads)
    if (int64_t bytes = rowBytes(entry.buffers[read.buffer]))
      inputs.push_back({context.views[read.buffer].base, bytes, read.atLeaves,
                        read.atInner});
  return inputs;
}

/// Whether all arguments that tell vertices of graph `g` apart are there; those
/// of a dry run may be missing.
bool Session::areReadsBound(const Context &context, uint32_t g) const {
  for (const Program::VertexRead &read : program.graphs[g].reads)
    if (options.device.dry && !context.views[read.buffer].base)
      return false;
  return true;
}

void Session::buildSchedule(Context &context, uint32_t g, bool share) const {
  BatchGraph &graph = context.graphs[g];
  const Program::Graph &needs = program.graphs[g];
  const Forest &fieldsOf = *context.graphs[sourceGraph(entry, g)].forest;
  graph.shared = share && needs.shared && areReadsBound(context, g);
  try {
    VertexTypes types = findTypes(fieldsOf, g);
    if (graph.shared)
      graph.equal.find(*graph.forest, readsOf(context, g), types,
                       needs.rootStructures);
    graph.schedule.build(
        *graph.forest, needs.arity, options.policy, needs.leafChildren, types,
        graph.shared ? graph.equal.representatives().data() : nullptr);
    if (needs.edges)
      graph.edges.build(*graph.forest, graph.schedule, needs.incomingEdges);
    if (needs.parents)
      graph.schedule.buildParents();
    if (needs.structuresOfRows)
      graph.schedule.buildStructures(*graph.forest);
    if (needs.rootStructures)
      graph.schedule.buildRootStructures();
  } catch (const Error &error) {
    // Which structures they are goes without saying if there are no others.
    if (entry.graph_count == 1)
      throw;
    fail(error.code(), "graph '%s': %s", entry.graphs[g].name,
         error.message().c_str());
  }
}

void Session::setForests(Context &context, const Forests &forests) const {
  checkGraphNames(forests);
  for (uint32_t g = 0; g < entry.graph_count; ++g) {
    BatchGraph &graph = context.graphs[g];
    if (uint32_t source = entry.graphs[g].reverse_of) {
      reverseEdges(*context.graphs[source - 1].forest, graph.reversed);
      graph.forest = &graph.reversed;
    } else {
      graph.forest = findForest(forests, g);
    }
  }
  checkStructureCounts(context);
}

/// With `share`, which needs the arguments, equal vertices share a row where
/// the program lets them.
void Session::buildSchedules(Context &context, bool share) const {
  for (uint32_t g = 0; g < entry.graph_count; ++g)
    buildSchedule(context, g, share);
}

void Session::checkStructureCounts(const Context &context) const {
  for (auto [one, other] : program.sameStructures) {
    int64_t k = context.graphs[one].forest->structures();
    int64_t l = context.graphs[other].forest->structures();
    if (k != l)
      fail(ESPALIER_INVALID_ARGUMENT,
           "graph '%s' has %lld structures and graph '%s' has %lld; entry '%s' "
           "needs as many of one as of the other",
           entry.graphs[one].name, (long long)k, entry.graphs[other].name,
           (long long)l, entry.name);
  }
}

int64_t Session::rowsOf(const espalier_buffer_desc &buffer,
                        const Context &context) const {
  if (buffer.rows == ESPALIER_ROWS_ONE)
    return 1;
  return espalier::rowsOf(context.graphs[buffer.graph], buffer.rows);
}

/// The first and the last phase that `phase` may run beside: those of one loop
/// run in turns, those of a stream at a time. What one of them uses has to stay
/// throughout.
uint32_t Session::firstBeside(const Context &context, uint32_t phase) const {
  const Program::Phase &at = program.phases[phase];
  return at.stream && context.streams[at.stream - 1]
             ? program.streams[at.stream - 1].first
             : at.firstOfLoop;
}

uint32_t Session::lastBeside(const Context &context, uint32_t phase) const {
  const Program::Phase &at = program.phases[phase];
  return at.stream && context.streams[at.stream - 1]
             ? program.streams[at.stream - 1].last
             : at.lastOfLoop;
}

ExecutorOptions Session::executorOptions() const {
  ExecutorOptions how;
  how.serial = options.policy == ESPALIER_POLICY_SERIAL;
  how.profile = options.profile;
  how.threads = options.threads;
  how.elision = !(options.ablate & ESPALIER_ELISION);
  how.subBatches = !(options.ablate & ESPALIER_SUB_BATCHES);
  return how;
}

/// Decides which loops run as streams in this batch. On a device that is not
/// the host's a unit is in one phase.
void Session::chooseStreams(Context &context) const {
  context.streams.clear();
  for (const Stream &stream : program.streams)
    context.streams.push_back(
        !device && !(options.ablate & ESPALIER_STREAMING) &&
        Executor::isWorthStreaming(program, context.graphs, stream,
                                   executorOptions()));
}

/// Finds offsets for the dynamic buffers of this batch. Returns their bytes
/// and those of the results.
int64_t Session::planMemory(Context &context) const {
  chooseStreams(context);
  context.placements.clear();
  context.resultBytes = 0;
  if (planned) {
    context.dynamicBytes = context.arenaBytes = 0; // its own
    return entry.plan->device_bytes + entry.plan->host_bytes;
  }
  // Every placement may be padded, and their sum must not overflow either.
  int64_t limit = INT64_MAX / ((int64_t)entry.buffer_count + 1) - kAlignment;
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    if (buffer.kind != ESPALIER_BUFFER_DYNAMIC &&
        buffer.kind != ESPALIER_BUFFER_OUTPUT &&
        buffer.kind != ESPALIER_BUFFER_MULTIPLICITY)
      continue;
    int64_t bytes;
    int64_t rows = rowsOf(buffer, context);
    if (__builtin_mul_overflow(rows, rowBytes(buffer), &bytes) || bytes > limit)
      fail(ESPALIER_OUT_OF_MEMORY,
           "'%s' has %lld rows of %lld bytes, more than can be addressed; run "
           "fewer structures at once",
           buffer.name ? buffer.name : "a dynamic tensor", (long long)rows,
           (long long)rowBytes(buffer));
    if (buffer.kind == ESPALIER_BUFFER_OUTPUT)
      context.resultBytes += bytes;
    else if (buffer.kind == ESPALIER_BUFFER_MULTIPLICITY)
      context.placements.push_back(
          {bytes, 0, std::max(entry.phase_count, 1u) - 1, 0});
    else
      context.placements.push_back({bytes,
                                    firstBeside(context, buffer.first_phase),
                                    lastBeside(context, buffer.last_phase), 0});
  }
  // Those that have no place in the plan.
  for (const Program::Workspace &workspace : program.workspaces)
    if (workspace.offset < 0)
      context.placements.push_back(
          {workspace.bytes, workspace.phase, workspace.phase, 0});
  context.dynamicBytes = context.arenaBytes =
      context.assigner.assign(context.placements);
  int64_t bytes = context.dynamicBytes + context.resultBytes;
  if (device)
    keepOnHost(context);
  else if (options.device.memoryLimit > 0 && bytes > options.device.memoryLimit)
    fail(ESPALIER_OUT_OF_MEMORY,
         "the dynamic tensors of this batch need %lld bytes, %lld of them for "
         "results, and the memory limit is %lld; run fewer structures at once",
         (long long)bytes, (long long)context.resultBytes,
         (long long)options.device.memoryLimit);
  return bytes;
}

/// The device has all but what the host fills before a run.
void Session::keepOnHost(Context &context) const {
  size_t placement = 0;
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    if (entry.buffers[b].kind == ESPALIER_BUFFER_DYNAMIC)
      context.placements[placement++].bytes = 0;
    else if (entry.buffers[b].kind == ESPALIER_BUFFER_MULTIPLICITY)
      ++placement;
  }
  for (; placement < context.placements.size(); ++placement)
    context.placements[placement].bytes = 0; // workspaces
  context.arenaBytes = context.assigner.assign(context.placements);
}

void Session::checkInputNames(const Inputs &inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string &name = inputs[i].name;
    for (size_t other = 0; other < i; ++other)
      if (inputs[other].name == name)
        fail(ESPALIER_INVALID_ARGUMENT, "argument '%s' is given twice",
             name.c_str());
    std::string known;
    bool found = false;
    for (uint32_t b = 0; b < entry.buffer_count; ++b)
      if (entry.buffers[b].kind == ESPALIER_BUFFER_INPUT) {
        found |= name == entry.buffers[b].name;
        known += (known.empty() ? "'" : ", '") +
                 std::string(entry.buffers[b].name) + "'";
      }
    if (!found)
      fail(ESPALIER_INVALID_ARGUMENT,
           "entry '%s' has no argument '%s'; it has %s", entry.name,
           name.c_str(), known.empty() ? "none" : known.c_str());
  }
}

/// The field that `buffer` is bound to if the caller gives no such argument:
/// one of the structures of its graph.
static const Tensor *findField(const espalier_entry &entry,
                               const std::vector<BatchGraph> &graphs,
                               const espalier_buffer_desc &buffer) {
  if (buffer.graph >= entry.graph_count)
    return nullptr;
  const Forest &forest = *graphs[sourceGraph(entry, buffer.graph)].forest;
  auto field = forest.fields.find(buffer.name);
  return field == forest.fields.end() ? nullptr : &field->second;
}

void Session::bindInputs(Context &context, const Inputs &inputs) const {
  checkInputNames(inputs);
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    if (buffer.kind != ESPALIER_BUFFER_INPUT)
      continue;
    const Tensor *tensor = nullptr;
    for (const NamedTensor &input : inputs)
      if (input.name == buffer.name)
        tensor = &input.tensor;
    const char *origin = "argument";
    if (!tensor) {
      tensor = findField(entry, context.graphs, buffer);
      // A dry run looks at no data.
      if (!tensor && options.device.dry)
        continue;
      bool several = entry.graph_count > 1 && buffer.rows != ESPALIER_ROWS_ONE;
      if (!tensor)
        fail(ESPALIER_NOT_FOUND,
             "entry '%s' needs '%s', which is neither among the arguments nor "
             "a field of the structures%s%s%s",
             entry.name, buffer.name, several ? " of '" : "",
             several ? entry.graphs[buffer.graph].name : "",
             several ? "'" : "");
      origin = "field";
    }

    std::vector<int64_t> expected(buffer.shape, buffer.shape + buffer.rank);
    if (buffer.rows != ESPALIER_ROWS_ONE)
      expected.insert(expected.begin(), rowsOf(buffer, context));
    if (tensor->dtype != buffer.dtype || tensor->shape != expected)
      fail(ESPALIER_INVALID_ARGUMENT, "%s '%s' is %s, expected %s (%s)", origin,
           buffer.name, shapeString(tensor->shape, tensor->dtype).c_str(),
           shapeString(expected, buffer.dtype).c_str(),
           buffer.rows == ESPALIER_ROWS_CALLER       ? "one row a vertex"
           : buffer.rows == ESPALIER_ROWS_STRUCTURES ? "one row a structure"
                                                     : "not batched");
    if (!tensor->data && tensor->bytes() > 0)
      fail(ESPALIER_INVALID_ARGUMENT, "%s '%s' has no data", origin,
           buffer.name);
    if ((uintptr_t)tensor->data % dtypeSize(buffer.dtype) != 0)
      fail(ESPALIER_INVALID_ARGUMENT,
           "the data of %s '%s' is not aligned to its %zu-byte elements",
           origin, buffer.name, dtypeSize(buffer.dtype));
    context.views[b] = {const_cast<char *>(tensor->data), rowBytes(buffer), 0};
  }
}

/// Gives every buffer that is neither an argument nor scratch its place.
Results Session::placeBuffers(Context &context) const {
  context.arena.reserve(std::max<int64_t>(context.arenaBytes, kAlignment));
  Results results;
  size_t placement = 0;
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    View &view = context.views[b];
    view.stride = rowBytes(buffer);
    view.first = buffer.rows == ESPALIER_ROWS_INNER
                     ? context.graphs[buffer.graph].schedule.leaves()
                     : 0;
    switch (buffer.kind) {
    case ESPALIER_BUFFER_PARAMETER:
    case ESPALIER_BUFFER_STATE:
      view.base = weights.data(b);
      break;
    case ESPALIER_BUFFER_CONSTANT:
      view.base = static_cast<char *>(const_cast<void *>(buffer.data));
      break;
    case ESPALIER_BUFFER_DYNAMIC:
    case ESPALIER_BUFFER_MULTIPLICITY:
      if (planned)
        break; // The plan has its place.
      view.base = context.arena.data() + context.placements[placement++].offset;
      break;
    case ESPALIER_BUFFER_OUTPUT: {
      std::vector<int64_t> shape(buffer.shape, buffer.shape + buffer.rank);
      if (buffer.rows != ESPALIER_ROWS_ONE)
        shape.insert(shape.begin(), rowsOf(buffer, context));
      // Those of a dry run are nothing.
      results.push_back(
          {buffer.name,
           options.device.dry
               ? Tensor::zeros(buffer.dtype, std::move(shape))
               : Tensor::uninitialized(buffer.dtype, std::move(shape))});
      view.base = results.back().tensor.mutableData();
      break;
    }
    }
    // Nothing is read from an empty buffer, but its address is computed.
    if (!view.base)
      view.base = const_cast<char *>(zeros.data());
  }
  View *workspace = context.views.data() + entry.buffer_count;
  for (const Program::Workspace &of : program.workspaces) {
    if (of.offset < 0)
      workspace->base =
          context.arena.data() + context.placements[placement++].offset;
    ++workspace;
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Vertices that share a row
//===----------------------------------------------------------------------===//

template <typename T>
static void fillMultiplicities(const BatchGraph &graph, char *rows) {
  T *values = reinterpret_cast<T *>(rows);
  for (int64_t r = 0; r < graph.schedule.vertices(); ++r)
    values[r] =
        graph.shared
            ? (T)graph.equal.multiplicities()[graph.schedule.vertexOfRow()[r]]
            : T(1);
}

void Session::fillMultiplicities(const Context &context) const {
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    if (buffer.kind != ESPALIER_BUFFER_MULTIPLICITY)
      continue;
    auto fill = buffer.dtype == ESPALIER_F32
                    ? espalier::fillMultiplicities<float>
                    : espalier::fillMultiplicities<double>;
    fill(context.graphs[buffer.graph], context.views[b].base);
  }
}

/// Copies results of vertices that stand for others to these.
void Session::spreadResults(const Context &context, ThreadPool *ours) const {
  constexpr int64_t kPartBytes = 1 << 20; // worth a thread's while
  for (uint32_t b = 0; b < entry.buffer_count; ++b) {
    const espalier_buffer_desc &buffer = entry.buffers[b];
    if (buffer.kind != ESPALIER_BUFFER_OUTPUT ||
        buffer.rows != ESPALIER_ROWS_CALLER ||
        !context.graphs[buffer.graph].shared)
      continue;
    const std::vector<int32_t> &standsFor =
        context.graphs[buffer.graph].equal.representatives();
    int64_t vertices = (int64_t)standsFor.size(), bytes = rowBytes(buffer);
    int64_t partRows = kPartBytes / std::max<int64_t>(bytes, 1) + 1;
    char *rows = context.views[b].base;
    forEachIndex(ours, (vertices + partRows - 1) / partRows,
                 [&](unsigned, int64_t part) {
                   int64_t end = std::min((part + 1) * partRows, vertices);
                   for (int64_t v = part * partRows; v < end; ++v)
                     if (standsFor[v] != v)
                       std::memcpy(rows + v * bytes,
                                   rows + standsFor[v] * bytes, bytes);
                 });
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Runs all phases, one after another, or as the entry's plan says.
void Session::execute(Context &context, ThreadPool *ours) {
  if (device)
    return executeOnDevice(context, ours);
  auto makeExecutor = [&] {
    return Executor(program, context.graphs, context.views,
                    {zeros.data(), noIds.data()}, context.layerScratch.data(),
                    context.workers, ours, executorOptions());
  };
  if (!planned) {
    makeExecutor().run(context.streams, context.streamQueue);
    return;
  }
  auto lock = planned->lock();
  planned->place(context.views, program.workspaces);
  Executor executor = makeExecutor();
  planned->run([&](uint32_t p) { executor.runPhases(p, p + 1); });
  planned->finish();
  context.dynamicBytes = planned->devicePeakBytes() + planned->hostPeakBytes();
}

void Session::executeOnDevice(Context &context, ThreadPool *ours) {
  std::lock_guard<std::mutex> lock(deviceMutex);
  DynamicRun run(program, context.graphs, *device, context.views,
                 executorOptions());
  Executor executor(program, context.graphs, run.onDevice(),
                    {zeros.data(), noIds.data()}, context.layerScratch.data(),
                    context.workers, ours, executorOptions());
  run.run(executor);
  std::lock_guard<std::mutex> statsLock(statsMutex);
  totals.device_peak_bytes =
      std::max(totals.device_peak_bytes, run.devicePeakBytes());
  totals.host_peak_bytes =
      std::max(totals.host_peak_bytes, run.hostPeakBytes());
  totals.evictions += run.evictions();
  accountDevice(*device);
  if (options.profile)
    trace.appendDevice(device->name(), device->takeEvents(),
                       run.memorySamples());
}

Results Session::run(const Forest &forest, const Inputs &inputs) {
  return run(onlyGraph(forest), inputs);
}

int64_t Session::bytesNeeded(const Forest &forest) {
  return bytesNeeded(onlyGraph(forest));
}

Results Session::run(const Forests &forests, const Inputs &inputs) {
  int64_t start = now();
  ContextLease lease(*this);
  Context &context = *lease;
  setForests(context, forests);
  context.views.assign(entry.buffer_count + program.workspaces.size(),
                       View{nullptr, 0, 0});
  bindInputs(context, inputs);
  buildSchedules(context, !(options.ablate & ESPALIER_SHARING));
  int64_t scheduled = now();
  planMemory(context);

  std::unique_lock<std::mutex> poolLock(poolMutex, std::defer_lock);
  ThreadPool *ours = pool && poolLock.try_lock() ? pool.get() : nullptr;
  std::shared_lock<std::shared_mutex> readLock;
  std::unique_lock<std::shared_mutex> writeLock;
  if (weights.isWriter())
    writeLock = weights.shared().lockToWrite();
  else
    readLock = weights.shared().lockToRead();
  context.packingBegin = now();
  bool packed = weights.refresh(ours);
  context.packingEnd = packed ? now() : context.packingBegin;
  weights.markWritten();
  Results results = placeBuffers(context);
  fillMultiplicities(context);
  unsigned workers = ours ? options.threads : 1;
  for (unsigned w = 0; w < workers; ++w) {
    Worker &worker = context.workers[w];
    worker.scratch.reserve(alignUp(program.scratchBytes) +
                           std::max(program.trashBytes, kAlignment));
    worker.operands.resize(program.maxOperands);
  }
  if (program.layerScratchBytes > 0)
    context.layerScratch.reserve(program.layerScratchBytes);

  execute(context, ours);
  context.spreadingBegin = now();
  spreadResults(context, ours);
  context.spreadingEnd = now();
  account(context, start, scheduled, workers);
  return results;
}

int64_t Session::bytesNeeded(const Forests &forests) {
  ContextLease lease(*this);
  setForests(*lease, forests);
  buildSchedules(*lease, /*share=*/false);
  return planMemory(*lease);
}

//===----------------------------------------------------------------------===//
// Accounting
//===----------------------------------------------------------------------===//

void Session::account(Context &context, int64_t start, int64_t scheduled,
                      unsigned workers) {
  double flops = 0;
  for (const Program::Phase &phase : program.phases) {
    const BatchGraph &graph = context.graphs[phase.graph];
    PhaseRanges ranges = phaseRanges(graph.schedule, phase.rows, phase.type);
    for (RowRange rows : {ranges.first, ranges.second}) {
      flops +=
          (double)(rows.end - rows.begin) * (double)phase.matmulFlopsPerRow;
      if (!phase.hasEdgeSteps)
        continue;
      const int64_t *offsets = graph.edges.offsets();
      flops += (double)(offsets[rows.end] - offsets[rows.begin]) *
               (double)phase.matmulFlopsPerEdge;
    }
  }
  int64_t vertices = 0, evaluated = 0, tasks = 0;
  for (uint32_t g = 0; g < entry.graph_count; ++g) {
    if (!entry.graphs[g].reverse_of) {
      vertices += context.graphs[g].forest->vertices();
      evaluated += context.graphs[g].schedule.vertices();
    }
    tasks += context.graphs[g].schedule.tasks();
  }
  int64_t end = now();

  std::unique_lock<std::mutex> deviceLock;
  if (planned)
    deviceLock = planned->lock();
  std::lock_guard<std::mutex> lock(statsMutex);
  totals.runs += 1;
  totals.structures += context.graphs[0].schedule.structures();
  totals.vertices += vertices;
  totals.evaluated_vertices += evaluated;
  totals.tasks += tasks;
  totals.total_seconds += (end - start) * 1e-9;
  totals.schedule_seconds += (scheduled - start) * 1e-9;
  totals.matmul_flops += flops;
  totals.peak_bytes =
      std::max(totals.peak_bytes, context.dynamicBytes + context.resultBytes);
  if (planned) {
    totals.device_peak_bytes = planned->devicePeakBytes();
    totals.host_peak_bytes = planned->hostPeakBytes();
    accountDevice(planned->on());
    if (options.profile)
      planned->appendTo(trace);
  }
  if (!options.profile)
    return;
  uint32_t thread = context.workers[0].thread;
  trace.append({{"schedule", "run", start, scheduled, vertices, thread},
                {"run", "run", start, end, vertices, thread}},
               0);
  if (context.packingEnd > context.packingBegin) {
    trace.append({{"pack weights", "run", context.packingBegin,
                   context.packingEnd, 1, thread}},
                 0);
    totals.copy_seconds +=
        (double)(context.packingEnd - context.packingBegin) * 1e-9;
  }
  if (evaluated < vertices)
    trace.append({{"copy to equal vertices", "run", context.spreadingBegin,
                   context.spreadingEnd, vertices - evaluated, thread}},
                 0);
  totals.copy_seconds +=
      (double)(context.spreadingEnd - context.spreadingBegin) * 1e-9;
  for (unsigned w = 0; w < workers; ++w) {
    const Worker &worker = context.workers[w];
    totals.copy_seconds += worker.times.copy * 1e-9;
    totals.matmul_seconds += worker.times.matmul * 1e-9;
    totals.kernel_seconds += worker.times.kernel * 1e-9;
    totals.layer_seconds += worker.times.layer * 1e-9;
    trace.append(worker.events, worker.droppedEvents);
  }
}

/// What the device has done since the last reset.
void Session::accountDevice(const Device &on) {
  DeviceCounts counts = on.counts();
  totals.offloaded_bytes = counts.toHostBytes - countsAtReset.toHostBytes;
  totals.prefetched_bytes = counts.toDeviceBytes - countsAtReset.toDeviceBytes;
  totals.simulated_seconds = counts.seconds - countsAtReset.seconds;
  totals.stall_seconds = counts.stallSeconds - countsAtReset.stallSeconds;
}

espalier_stats Session::stats() const {
  espalier_stats stats;
  {
    std::lock_guard<std::mutex> lock(statsMutex);
    stats = totals;
  }
  std::lock_guard<std::mutex> lock(contextMutex);
  stats.allocated_bytes = allocatedBytes;
  stats.layer_scratch_bytes = program.layerScratchBytes;
  return stats;
}

void Session::resetStats() {
  std::unique_lock<std::mutex> deviceLock;
  if (planned) {
    deviceLock = planned->lock();
    countsAtReset = planned->on().counts();
  } else if (device) {
    deviceLock = std::unique_lock<std::mutex>(deviceMutex);
    countsAtReset = device->counts();
  }
  std::lock_guard<std::mutex> lock(statsMutex);
  totals = espalier_stats{};
  trace.clear();
}

void Session::writeTrace(const std::string &path) const {
  if (!options.profile)
    fail(ESPALIER_INVALID_ARGUMENT,
         "this session records no timeline; create it with `profile` set");
  std::lock_guard<std::mutex> lock(statsMutex);
  trace.write(path);
}

} // namespace espalier
