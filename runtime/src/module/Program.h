//===- Program.h - An entry, prepared for execution -------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tables of a compiled entry say what to do in elements and names. A
// program says the same in bytes and pointers, with everything worked out that
// does not depend on the batch: where scratch buffers lie, which copies can
// become pointers, what a row costs.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_MODULE_PROGRAM_H
#define ESPALIER_MODULE_PROGRAM_H

#include "espalier/abi.h"
#include "module/Streams.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace espalier {

class LayerKernel;
class PackedWeight;

/// Rows that a phase works on at a time. A block's scratch should stay in the
/// second-level cache from the step that writes it to the step that reads it,
/// which asks for few rows; a matmul walks the whole weight once a block, which
/// asks for many. A Tree-LSTM with 64 or 256 hidden units takes the same time,
/// within 3 %, for every value from 32 to 256.
constexpr int64_t kBlockRows = 128;

struct Program {
  /// An argument with a row a vertex, and which vertices read theirs.
  struct VertexRead {
    uint32_t buffer;
    bool atLeaves;
    bool atInner;
  };

  /// What the schedule of a graph must provide.
  struct Graph {
    /// Children a vertex can have, and whether leaves are asked for theirs.
    uint32_t arity = 0;
    bool leafChildren = false;
    /// Tables that some step reads.
    bool parents = false;
    bool structuresOfRows = false;
    bool rootStructures = false;
    bool edges = false;
    bool incomingEdges = false;
    /// Whether equal vertices share a row, and what tells them apart: arguments
    /// with a row a vertex, which leaves or inner vertices read.
    bool shared = false;
    std::vector<VertexRead> reads;
    /// Vertices are read in the caller's order after they were written in it.
    bool readsCallerRows = false;
  };

  struct Operand {
    uint32_t buffer;
    uint32_t access;
    uint32_t slot;
    int64_t columnBytes; // from the start of a row
    int64_t rowBytes;    // that the operand has in a row
    /// Of an ID access: rows of the matrix, and bytes of each.
    int64_t matrixRows;
    int64_t matrixRowBytes;
  };

  struct Step {
    uint32_t kind;
    uint32_t operandCount;
    uint32_t resultCount; // of the last operands
    const Operand *operands;
    const char *name;
    espalier_kernel kernel;
    const PackedWeight *weight;
    uint32_t dtype;       // of the result
    int64_t elementBytes; // of a matmul's operands
    /// A copy of children, or a sum over parents, to a scratch buffer that
    /// nothing else writes: where the rows it reads lie one after another, one
    /// for each of its own, the buffer can be where they are.
    bool canAlias;
    int64_t tableRows;   // of an embedding
    int64_t outerStride; // of an outer sum: elements between rows of its result
    int64_t costPerRow;  // or per edge, as Phase::costPerRow
    bool overEdges;
    bool overIncoming; // a sum over the edges to parents
    /// Of a LAYER.
    const LayerKernel *layer;
    uint32_t workspace; // one more than its number in `workspaces`; 0: none
    /// Of a kernel in a layered network: rows that it runs over; 0: its
    /// phase's.
    int64_t batchRows;
  };

  struct Scratch {
    uint32_t buffer;
    int64_t offset;
    int64_t rowBytes;
  };

  /// What a layer's algorithm needs beside its operands.
  struct Workspace {
    uint32_t phase;
    int64_t bytes;
    int64_t offset; // in the entry's plan; -1: there is none
  };

  struct Phase {
    const char *name;
    uint32_t rows;
    /// 0 for a phase over the one row, which belongs to no graph.
    uint32_t graph;
    /// 0: vertices of all types; otherwise one more than the type.
    uint32_t type;
    /// The first and the last phase of the loop over tasks that the phase is
    /// part of; the phase itself if it is part of none.
    uint32_t firstOfLoop;
    uint32_t lastOfLoop;
    /// One more than the number of the stream that the phase is in; 0: none.
    uint32_t stream;
    /// All steps are reductions: each runs over all rows at a time.
    bool isReduction;
    std::vector<Step> steps;
    std::vector<Scratch> scratch;
    /// Whether work grows with the edges of rows, not with rows alone.
    bool hasEdgeSteps;
    int64_t matmulFlopsPerRow;
    int64_t matmulFlopsPerEdge;
    /// In flops; a byte moved counts as kFlopsPerByte.
    int64_t costPerRow;
    int64_t costPerEdge;
  };

  /// Prepares `entry` with its packed weights, one for each of its table, for
  /// up to `threads` threads; 0: it will not be executed (a dry run).
  Program(const espalier_entry &entry,
          const std::vector<std::unique_ptr<PackedWeight>> &weights,
          unsigned threads = 1);
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const espalier_entry &entry;
  std::vector<Phase> phases;
  std::vector<Graph> graphs;
  std::vector<Stream> streams;
  /// Pairs of graphs whose structures meet, so that there must be as many of
  /// one as of the other.
  std::vector<std::pair<uint32_t, uint32_t>> sameStructures;
  /// What one worker needs for the scratch of one block, or of a reduction.
  int64_t scratchBytes = 0;
  /// The longest row that may read as zeros, and the longest that a kernel may
  /// be kept from writing.
  int64_t zeroBytes = 0;
  int64_t trashBytes = 0;
  uint32_t maxOperands = 0;
  std::vector<Workspace> workspaces;
  /// What the kernels of layers need for themselves, one at a time.
  int64_t layerScratchBytes = 0;

private:
  std::vector<Operand> operands;
  /// One for all layers that are alike.
  std::map<std::string, std::unique_ptr<LayerKernel>> layers;

  void addLayer(uint32_t p, const espalier_step &from, Step &step,
                unsigned threads);
  void noteNeeds(const espalier_phase &phase, const espalier_step &step);
  void noteMeeting(const espalier_phase &phase,
                   const espalier_step_operand &operand);
  void noteReads(const espalier_phase &phase, const espalier_step &step);
  bool isShared(uint32_t graph) const;
  void addCost(const espalier_step &from, Step &step, Phase &phase);
  void addOperand(const espalier_step_operand &operand, uint32_t kind,
                  bool written);
  void layOutScratch(const espalier_phase &desc, Phase &phase);
};

/// What moving a byte costs in flops: a core computes some tens of them in the
/// time in which it moves a few bytes.
constexpr int64_t kFlopsPerByte = 4;

/// The graph argument that `graph` is, or is made of.
uint32_t sourceGraph(const espalier_entry &entry, uint32_t graph);

/// The last phase of the loop over tasks that begins with phase `first`: those
/// that follow it over the same rows, each of a type of its own. `first` itself
/// if it is over no tasks, or over vertices of all types.
uint32_t lastOfLoop(const espalier_entry &entry, uint32_t first);

/// Bytes of one row of `buffer`.
int64_t rowBytes(const espalier_buffer_desc &buffer);

} // namespace espalier

#endif // ESPALIER_MODULE_PROGRAM_H
