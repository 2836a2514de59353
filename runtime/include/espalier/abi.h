/*===-- espalier/abi.h - What a compiled model looks like in memory -------===*
 *
 * Part of the Espalier project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * The contract between the compiler, which writes these tables as constant
 * data into a model's library, and the runtime, which executes them. It is
 * the only header that both sides include, and it depends on nothing.
 *
 * A model has entries. An entry is a list of phases; a phase is a list of
 * steps that work row by row over one range of rows:
 *
 *   entry classify
 *     phase leaves      (rows LEAVES)       embed, matmul, kernel
 *     phase path        (rows INNER_TASKS)  copy, copy, matmul, kernel
 *     phase lazy        (rows VERTICES)     copy
 *     phase structures  (rows STRUCTURES)   copy, matmul, kernel
 *
 * A row is a vertex in schedule order: vertices without children come first
 * (task 0), then task after task. (Where vertices have types, leaves are sorted
 * by type, with a task for each; then come the inner vertices of one type, task
 * after task, and those of the next. A task is a range of rows all the same,
 * but tasks of different types take turns.) Because every step of a phase
 * touches only its own rows of the values made in that phase, a phase can be
 * cut into blocks of rows that run independently; values that only live inside
 * a phase need no more memory than one block (see ESPALIER_BUFFER_SCRATCH).
 * Reductions (ESPALIER_STEP_SUM_ROWS and after) are the exception: they make
 * one value from all rows of a phase, and have phases of their own.
 *
 * A layered network is an entry without graphs. Its steps work on whole
 * tensors (rows ONE), each in a phase of its own, so that the lifetimes of
 * buffers are those of the steps of a memory plan; espalier_plan has the rest
 * of it.
 *
 * Rules of change: tables are arrays of structs, so any change of a struct
 * raises the major version; new kinds, rows, accesses and element types, and a
 * meaning for a reserved word, which was 0 before, raise the minor version. A
 * runtime reads models of its own major version and of its own or an earlier
 * minor version.
 *
 * All strings and tables are constant and live as long as the library is
 * loaded. Nothing here is written after load, so any number of threads may
 * read it.
 *
 *===----------------------------------------------------------------------===*/
#ifndef ESPALIER_ABI_H
#define ESPALIER_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ESPALIER_ABI_MAGIC 0x4C505345u /* "ESPL" in memory */
#define ESPALIER_ABI_MAJOR 3u
#define ESPALIER_ABI_MINOR 0u

/* Element types. Their numbers are part of the ABI. */
enum {
  ESPALIER_F32 = 1,
  ESPALIER_F64 = 2,
  ESPALIER_I32 = 3,
};

/* Which rows a phase runs over, and which rows a buffer has. */
enum {
  /* One row, not batched (a parameter, a constant). As a phase: a single row,
   * worked on once a call. */
  ESPALIER_ROWS_ONE = 0,
  /* All V vertices of the batch, in schedule order. In a graph whose vertices
   * are shared (see espalier_graph_desc), only those with a row of their own;
   * of LEAVES, INNER, all TASKS and EDGES likewise. */
  ESPALIER_ROWS_VERTICES = 1,
  /* Vertices without children: rows [0, L) of the schedule (task 0). */
  ESPALIER_ROWS_LEAVES = 2,
  /* Vertices with children: rows [L, V) of the schedule. */
  ESPALIER_ROWS_INNER = 3,
  /* All V vertices, in the caller's order. Only buffers have these rows. */
  ESPALIER_ROWS_CALLER = 4,
  /* The K structures of the batch. */
  ESPALIER_ROWS_STRUCTURES = 5,
  /* As a phase: task after task over [0, V), each finished before the next
   * starts. */
  ESPALIER_ROWS_TASKS = 6,
  /* As a phase: task after task over [L, V) (task 0 is done elsewhere). */
  ESPALIER_ROWS_INNER_TASKS = 7,
  /* As a phase: the same from the last task to the first, parents before
   * children. */
  ESPALIER_ROWS_TASKS_REVERSED = 8,
  ESPALIER_ROWS_INNER_TASKS_REVERSED = 9,
  /* The edges of the batch, one for each child that is there, ordered by the
   * parent's row, then by slot. Only buffers have these rows. */
  ESPALIER_ROWS_EDGES = 10,
};

/* What a buffer is. */
enum {
  /* Bound by name from the weights. Rows ONE. An entry may write it: then the
   * weights that it was bound from have the new value. */
  ESPALIER_BUFFER_PARAMETER = 0,
  /* An argument of the entry, given by the caller. Rows CALLER, STRUCTURES
   * or ONE. */
  ESPALIER_BUFFER_INPUT = 1,
  /* A result of the entry. Rows CALLER, VERTICES, STRUCTURES or ONE. */
  ESPALIER_BUFFER_OUTPUT = 2,
  /* A dynamic tensor: lives from `first_phase` to `last_phase`. */
  ESPALIER_BUFFER_DYNAMIC = 3,
  /* Lives within one block of one phase; row 0 is the block's first row. */
  ESPALIER_BUFFER_SCRATCH = 4,
  /* Constant data embedded in the library, at `data`. Rows ONE. */
  ESPALIER_BUFFER_CONSTANT = 5,
  /* As PARAMETER, but zeros if the weights have nothing of its name: what an
   * optimiser remembers from call to call. Rows ONE. */
  ESPALIER_BUFFER_STATE = 6,
  /* Filled by the runtime: how many of the caller's vertices have this row, 1
   * where vertices are not shared. Rows VERTICES, one f32 or f64 each. */
  ESPALIER_BUFFER_MULTIPLICITY = 7,
  /* In the host's memory, from `first_phase` to `last_phase`: what was
   * offloaded. Rows ONE. Only OFFLOAD and PREFETCH touch it. */
  ESPALIER_BUFFER_HOST = 8,
};

#define ESPALIER_MAX_RANK 4

typedef struct espalier_buffer_desc {
  /* Parameter, argument or result name; for others a hint for traces. */
  const char *name;
  uint32_t kind;  /* ESPALIER_BUFFER_* */
  uint32_t dtype; /* ESPALIER_F32, ... */
  uint32_t rows;  /* ESPALIER_ROWS_* */
  /* Which graph argument of the entry the rows belong to. */
  uint32_t graph;
  /* Shape of one row, without the batch dimension. */
  uint32_t rank;
  uint32_t first_phase;
  uint32_t last_phase;
  uint32_t reserved;
  int64_t shape[ESPALIER_MAX_RANK];
  /* Elements in one row; rows are contiguous, one after another. */
  int64_t row_elements;
  const void *data; /* ESPALIER_BUFFER_CONSTANT only */
  /* Where the entry's plan has it in the device's memory, in bytes, a multiple
   * of 64; of a HOST buffer, in the host's pool. -1: there is no plan, or it is
   * not on the device. */
  int64_t offset;
} espalier_buffer_desc;

/* How a step finds the buffer row for a row `r` that it runs over. */
enum {
  /* The same row. */
  ESPALIER_ACCESS_ROW = 0,
  /* The buffer's only row, the same for every r (rows ONE). */
  ESPALIER_ACCESS_SHARED = 1,
  /* The row of r's child in `slot`; reads as zeros where it is absent.
   * Buffer rows VERTICES. */
  ESPALIER_ACCESS_CHILD = 2,
  /* The caller's vertex that schedule row r stands for. Buffer rows CALLER. */
  ESPALIER_ACCESS_CALLER = 3,
  /* r is a structure: the schedule row of its root. Buffer rows VERTICES.
   * Reads as zeros, an i32 as -1, where the structure has no vertex. */
  ESPALIER_ACCESS_ROOT = 4,
  /* r is a structure: its root in the caller's order. Buffer rows CALLER. Reads
   * as ROOT where there is none. */
  ESPALIER_ACCESS_CALLER_ROOT = 5,
  /* r is a vertex: the structure whose root it is; reads as zeros at all other
   * vertices. Buffer rows STRUCTURES. */
  ESPALIER_ACCESS_ROOT_STRUCTURE = 6,
  /* r is a vertex: the structure that it is part of. Buffer rows STRUCTURES. */
  ESPALIER_ACCESS_STRUCTURE = 7,
  /* The buffer's only row is a matrix: the matrix row whose number is the i32
   * that row r of buffer `slot` holds (rows as the phase's). Reads as zeros,
   * and is not written, where that is negative. Of a kernel's operands only;
   * an id outside the matrix is an error of the call. */
  ESPALIER_ACCESS_ID = 8,
  /* The step runs over edges: the row of the edge's child, and that of its
   * parent. Buffer rows VERTICES, of a PARENT also INNER. */
  ESPALIER_ACCESS_EDGE_CHILD = 9,
  ESPALIER_ACCESS_EDGE_PARENT = 10,
};

/* One operand of a step: columns [column, column + elements) of a row. */
typedef struct espalier_step_operand {
  uint32_t buffer;
  uint32_t access; /* ESPALIER_ACCESS_* */
  uint32_t slot;   /* of a CHILD access; the ids' buffer of an ID access */
  /* Result of ESPALIER_STEP_OUTER_SUM only: elements between the rows of the
   * matrix that it writes. */
  uint32_t stride;
  int64_t column;   /* in elements */
  int64_t elements; /* per row */
} espalier_step_operand;

/* What a generated kernel receives for each operand of its step. */
typedef struct espalier_kernel_operand {
  /* Of row 0 if `index` is null. Never null if there are rows. */
  char *base;
  /* Bytes between rows; 0 for a shared operand. */
  int64_t row_stride;
  /* If not null, row r of the kernel is row index[r] of the buffer, and a
   * negative index means a row of zeros, or one that is not to be written.
   * Whether an operand is indexed is known when the kernel is generated: ROW
   * and SHARED operands never are, all others always. */
  const int32_t *index;
  /* What stands for the row of a negative index, at least as many bytes as the
   * operand has in a row: zeros of an operand that is read, memory that nobody
   * reads of one that is written. */
  char *zeros;
} espalier_kernel_operand;

/* Computes rows [row_begin, row_end). Operands in the order of the step.
 * Reentrant, touches nothing but its operands. */
typedef void (*espalier_kernel)(const espalier_kernel_operand *operands,
                                int64_t row_begin, int64_t row_end);

enum {
  /* operands: in, out. Copies rows of equal length and dtype. */
  ESPALIER_STEP_COPY = 0,
  /* operands: ids (one i32 a row), table (SHARED, rank 2), out. A negative id
   * gives zeros; an id outside the table is an error of the call. */
  ESPALIER_STEP_EMBED = 1,
  /* operands: in (elements = K), out (elements = N). out = in * weight, with
   * the weight of the model's table at `weight`. */
  ESPALIER_STEP_MATMUL = 2,
  /* operands: as the generated `kernel` expects them, results last. */
  ESPALIER_STEP_KERNEL = 3,
  /* operands: in (ROW; elements = slots * N), out (elements = N). A row of `in`
   * has N elements for each of the first child slots of its vertex: out[r] is
   * the sum of those that r's parents have for the slot that r is in, in the
   * order of the parents' rows and slots; zeros if no parent has any. `in` has
   * rows VERTICES or INNER, and ROW access; the step itself finds the rows. Or
   * it has rows EDGES (elements = N): then the sum over the edges to r's
   * parents. */
  ESPALIER_STEP_SUM_PARENTS = 4,

  /* Reductions, over all rows of their phase at a time. A phase has reductions
   * only or none; it runs over ONE, VERTICES, LEAVES, INNER or STRUCTURES. The
   * order of every sum is fixed: equal inputs give equal bits, whatever the
   * number of threads. */

  /* operands: in (elements = N), out (SHARED, elements = N). The sum of the
   * rows of `in`; zeros if there are none. */
  ESPALIER_STEP_SUM_ROWS = 5,
  /* operands: x (elements = K), y (elements = N), out (SHARED). The sum over
   * rows of the outer products of x and y, that is x^T y: a K x N matrix whose
   * row k is at column + k * stride of `out`; elements = (K - 1) * stride + N
   * (0 if K or N is). Zeros if there are no rows. */
  ESPALIER_STEP_OUTER_SUM = 6,
  /* operands: ids (one i32 a row), in (elements = N), ids out (one i32 a row,
   * ROW), out (ROW, elements = N). Adds up the rows of `in` whose ids are
   * equal, in order: the first row of each id >= 0 gets the id and the sum, all
   * others get -1 and zeros. */
  ESPALIER_STEP_COMBINE_ROWS = 7,

  /* operands: in (ROW, rows EDGES), out (ROW, same elements). out[r] is the
   * sum, the maximum, or the mean over the edges to r's children; zeros where r
   * has none. */
  ESPALIER_STEP_SUM_CHILDREN = 8,
  ESPALIER_STEP_MAX_CHILDREN = 9,
  ESPALIER_STEP_MEAN_CHILDREN = 10,
  /* In a phase over STRUCTURES. operands: in (ROW, rows VERTICES or CALLER),
   * out (ROW, same elements). The sum, or the maximum, over the structure's
   * vertices in the caller's order; zeros where it has none. */
  ESPALIER_STEP_SUM_VERTICES = 11,
  ESPALIER_STEP_MAX_VERTICES = 12,

  /* Steps of layered networks, in phases over ONE that have no other step.
   * Operands are whole buffers with rows ONE, of the shapes that their
   * descriptions have. */

  /* operands: as `layer` says. */
  ESPALIER_STEP_LAYER = 13,
  /* operands: a buffer on the device, one in the host's memory (HOST, OUTPUT,
   * PARAMETER or STATE) of the same shape. Starts a copy, which runs beside the
   * steps after it and has ended before what reads the second, and before what
   * writes the first operand's memory. */
  ESPALIER_STEP_OFFLOAD = 14,
  /* operands: a buffer in the host's memory (HOST, INPUT, PARAMETER, STATE or
   * CONSTANT), of which `elements` from `column` on are copied, and one on the
   * device that has as many. The copy has ended before the first step that
   * reads the second. */
  ESPALIER_STEP_PREFETCH = 15,
};

/* What a layer computes. Images are N x C x H x W; a weight is O x I x H x W,
 * where I is the input's channels / groups. "d" is the adjoint of a layer's
 * result. Written operands come last; they do not overlap with those that are
 * read, but where in place is allowed. */
enum {
  /* input, weight, optionally bias (O), out.
   * out[n,o,y,x] = bias[o] + sum over i, u, v of weight[o,i,u,v] *
   *   input[n, g(o) I + i, y strides[0] + u dilations[0] - padding[0],
   *         x strides[1] + v dilations[1] - padding[1]], 0 outside. */
  ESPALIER_LAYER_CONV2D = 1,
  /* d (as CONV2D's out), weight, out (as CONV2D's input): the adjoint of
   * CONV2D's input. */
  ESPALIER_LAYER_CONV2D_TRANSPOSE = 2,
  /* input, d, out (as CONV2D's weight): the adjoint of CONV2D's weight. */
  ESPALIER_LAYER_CONV2D_WEIGHT_ADJOINT = 3,
  /* input, out. The maximum over the window; positions outside of the image do
   * not count. NaN is larger than all. */
  ESPALIER_LAYER_MAX_POOL2D = 4,
  /* input, d, out. Each element of d goes to the first largest of its window,
   * in row-major order. */
  ESPALIER_LAYER_MAX_POOL2D_ADJOINT = 5,
  /* input, out. The mean over the window, with ESPALIER_LAYER_COUNT_PADDING
   * divided by the whole window's size, else by what of it lies in the image.
   */
  ESPALIER_LAYER_AVG_POOL2D = 6,
  /* d, out. */
  ESPALIER_LAYER_AVG_POOL2D_ADJOINT = 7,
  /* input, scale, shift, out, mean, variance (the last five but out: C). By
   * channel: (input - mean) / sqrt(variance + epsilon) * scale + shift, with
   * the mean and the variance (divided by the count) of the batch. In place. */
  ESPALIER_LAYER_BATCH_NORM = 8,
  /* input, scale, shift, mean, variance, out. In place. */
  ESPALIER_LAYER_BATCH_NORM_INFERENCE = 9,
  /* input, scale, mean, variance, d, out (adjoint of the input), adjoint of
   * scale, adjoint of shift. The adjoint of the input may be in place of d. */
  ESPALIER_LAYER_BATCH_NORM_ADJOINT = 10,
  /* input, out. out = input * (bias + alpha / size * s)^-beta, with s the sum
   * of squares over `size` channels around. */
  ESPALIER_LAYER_LRN = 11,
  /* input, d, out. In place of d. */
  ESPALIER_LAYER_LRN_ADJOINT = 12,
  /* input (rank 2 or more), out (C): the sum over all but dimension 1. */
  ESPALIER_LAYER_SUM_CHANNELS = 13,
  /* input, out: `padding` elements of `value` around each image. */
  ESPALIER_LAYER_PAD = 14,
  /* Any number of inputs, out: side by side along dimension `axis`. Along the
   * first they may differ in rank: then rows are as many elements. */
  ESPALIER_LAYER_CONCAT = 15,
  /* input, out: the part of the input that begins at `offsets`. Of rows, at an
   * offset in the first dimension alone, they may differ in rank. */
  ESPALIER_LAYER_SLICE = 16,
  /* a (M x K, or K x M with TRANSPOSE_A), b (K x N, or N x K with TRANSPOSE_B),
   * optionally bias (N), out (M x N). An operand of higher rank is a matrix
   * whose first dimension is its own, and whose second is all others. */
  ESPALIER_LAYER_MATMUL = 17,
  /* input (C), out (rank 2 or more): out[n, c, ...] = input[c]. */
  ESPALIER_LAYER_SPREAD_CHANNELS = 18,
};

/* Flags of layers. */
enum {
  ESPALIER_LAYER_COUNT_PADDING = 1u,
  ESPALIER_LAYER_TRANSPOSE_A = 2u,
  ESPALIER_LAYER_TRANSPOSE_B = 4u,
  /* CONV2D_WEIGHT_ADJOINT, SUM_CHANNELS, MATMUL: what they compute is added to
   * what is in `out`. */
  ESPALIER_LAYER_ACCUMULATE = 8u,
};

/* How a convolution is computed. Both give the same bits. */
enum {
  /* Needs no workspace. */
  ESPALIER_ALGORITHM_DIRECT = 0,
  /* A matrix product of patches that are copied to a workspace: those of some
   * points of the output (of CONV2D_TRANSPOSE, of the image that it makes) at a
   * time. A point has C/groups (O/groups) * window height * width elements
   * there, rounded up to 64 bytes; there is room for a positive multiple of
   * ESPALIER_PATCHES_POINTS points. */
  ESPALIER_ALGORITHM_PATCHES = 1,
};
enum {
  ESPALIER_PATCHES_POINTS = 192,
  /* DIRECT gathers patches once for so many channels of what a group makes (O,
   * of CONV2D_TRANSPOSE C; per group): of fewer PATCHES saves nothing. */
  ESPALIER_PATCHES_CHANNELS = 96,
};

typedef struct espalier_layer {
  uint32_t kind;      /* ESPALIER_LAYER_* */
  uint32_t flags;     /* ESPALIER_LAYER_COUNT_PADDING, ... ored together */
  uint32_t algorithm; /* ESPALIER_ALGORITHM_* */
  uint32_t axis;
  int64_t window[2]; /* height, width; of pools */
  int64_t strides[2];
  int64_t dilations[2];
  int64_t padding[4]; /* top, left, bottom, right */
  int64_t offsets[ESPALIER_MAX_RANK];
  int64_t groups;
  int64_t size; /* LRN */
  double epsilon;
  double alpha;
  double beta;
  double bias;
  double value; /* PAD */
  /* Of the algorithm, and where the entry's plan has it; -1: there is none. */
  int64_t workspace_bytes;
  int64_t workspace_offset;
} espalier_layer;

typedef struct espalier_step {
  uint32_t kind; /* ESPALIER_STEP_* */
  uint32_t operand_count;
  const espalier_step_operand *operands;
  const char *name;       /* for traces: what it computes */
  espalier_kernel kernel; /* ESPALIER_STEP_KERNEL only */
  uint32_t weight;        /* ESPALIER_STEP_MATMUL only */
  /* How many of the last operands are written. */
  uint32_t result_count;
  /* Not 0: it runs over the edges to the children of its phase's rows, instead
   * of over these rows (COPY, MATMUL and KERNEL only). */
  uint32_t over_edges;
  /* KERNEL in a phase over ONE. Not 0: the kernel runs over this many rows of
   * buffers with rows ONE. Row r of a ROW operand is at column + r * elements;
   * a SHARED operand is the same for all. */
  uint32_t batch_rows;
  /* Cost of one row, or one edge, for scheduling and reports; of a LAYER, and
   * of a kernel with batch_rows, of the whole. */
  int64_t flops_per_row;
  int64_t bytes_per_row;
  const espalier_layer *layer; /* ESPALIER_STEP_LAYER only */
} espalier_step;

typedef struct espalier_phase {
  const char *name; /* for traces: "eager", "path", "lazy", ... */
  uint32_t rows;    /* ESPALIER_ROWS_* */
  uint32_t graph;
  uint32_t step_count;
  /* 0: vertices of all types. Otherwise only those of type `type - 1`, of
   * VERTICES, LEAVES, INNER or any TASKS (reductions: of LEAVES or INNER).
   * Phases over the same tasks that follow one another, each of a type of its
   * own, are one loop, which has a phase for every type: each task is of one
   * type, and runs the phase of that type. */
  uint32_t type;
  const espalier_step *steps;
} espalier_phase;

/* Columns [begin, begin + count) of a parameter. */
typedef struct espalier_columns {
  int64_t begin;
  int64_t count;
} espalier_columns;

/* The right-hand side of a matmul: rows [row_begin, row_begin + K) and the
 * listed columns of a rank-2 parameter, side by side (N in all). Packed when
 * the parameter is bound, and again when it has changed. */
typedef struct espalier_weight {
  uint32_t buffer; /* an ESPALIER_BUFFER_PARAMETER or _CONSTANT */
  uint32_t columns_count;
  const espalier_columns *columns;
  int64_t row_begin;
  int64_t k;
  int64_t n;
  /* Not 0: the weight is the transpose of that: rows [row_begin, row_begin + N)
   * and columns listed, K in all. */
  uint32_t transposed;
  uint32_t reserved;
} espalier_weight;

typedef struct espalier_graph_desc {
  const char *name;
  /* Child slots per vertex that the entry can read; a vertex with more is an
   * error of the call. 0: it reads none, and any number is fine. */
  uint32_t arity;
  /* 0: an argument. Otherwise graph `reverse_of - 1` with every edge turned
   * round: a vertex's children are its parents there, in order. Vertices and
   * structures, and the caller's order of both, are the same. */
  uint32_t reverse_of;
  /* How many types of vertices there are; 0 or 1: all are alike. */
  uint32_t types;
  /* Not 0: vertices that are equal may share a row: of one type, with equal
   * bytes in all that they read of the caller's, and with equal children. The
   * entry then says right sums over vertices, by their MULTIPLICITY, and what
   * it computes of a vertex depends on nothing else. Results with a row a
   * vertex have one for all of the caller's.
   * The runtime does so unless the entry tells vertices apart in other ways: it
   * has the graph's reverse, an access by STRUCTURE, a result with rows
   * VERTICES, or steps that read rows CALLER of other than arguments. Vertices
   * that an access by ROOT_STRUCTURE can find share with no other. */
  uint32_t shared;
  /* The i32 field of the structures that has each vertex's type, from 0 to
   * types - 1; null if all are alike. */
  const char *type_field;
} espalier_graph_desc;

/* The memory plan of a layered network. A buffer with an offset belongs to the
 * device's memory from its `first_phase` to its `last_phase`; an OUTPUT buffer
 * from its `first_phase` to the end; PARAMETER, STATE, INPUT and CONSTANT
 * buffers with an offset, during the whole run. Those without are in the host's
 * memory, and only OFFLOAD and PREFETCH touch them. */
typedef struct espalier_plan {
  /* What the device must have, all buffers and workspaces. */
  int64_t device_bytes;
  /* The size of the host's pool, which HOST buffers lie in. */
  int64_t host_bytes;
  /* What the planner was given; 0: no limit. */
  int64_t budget_bytes;
  /* The machine that it was made for, "" if none. */
  const char *machine;
} espalier_plan;

typedef struct espalier_entry {
  const char *name;
  uint32_t graph_count;
  uint32_t buffer_count;
  uint32_t weight_count;
  uint32_t phase_count;
  const espalier_graph_desc *graphs;
  /* Kinds may be mixed; among inputs the order is that of the arguments, among
   * outputs that of the results. */
  const espalier_buffer_desc *buffers;
  const espalier_weight *weights;
  const espalier_phase *phases;
  /* Null: the runtime gives every buffer its place. */
  const espalier_plan *plan;
} espalier_entry;

typedef struct espalier_model {
  uint32_t magic; /* ESPALIER_ABI_MAGIC */
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t struct_size; /* sizeof(espalier_model) of the compiler's header */
  const char *name;
  const char *compiler_version;
  /* The processor the kernels were generated for, e.g. "znver3", and the
   * features they need, comma separated, e.g. "avx2,fma". */
  const char *target_cpu;
  const char *target_features;
  uint32_t entry_count;
  uint32_t reserved;
  const espalier_entry *entries;
} espalier_model;

/* A model's library exports one function of this type under two names:
 * `espalier_model_NAME`, for programs that link it, and, weakly,
 * `espalier_model_query`, for programs that load it. */
typedef const espalier_model *(*espalier_model_query_fn)(void);
#define ESPALIER_MODEL_QUERY_SYMBOL "espalier_model_query"

#if defined(__cplusplus)
static_assert(sizeof(espalier_buffer_desc) == 96, "ABI");
static_assert(sizeof(espalier_step_operand) == 32, "ABI");
static_assert(sizeof(espalier_kernel_operand) == 32, "ABI");
static_assert(sizeof(espalier_layer) == 200, "ABI");
static_assert(sizeof(espalier_step) == 72, "ABI");
static_assert(sizeof(espalier_phase) == 32, "ABI");
static_assert(sizeof(espalier_columns) == 16, "ABI");
static_assert(sizeof(espalier_weight) == 48, "ABI");
static_assert(sizeof(espalier_graph_desc) == 32, "ABI");
static_assert(sizeof(espalier_plan) == 32, "ABI");
static_assert(sizeof(espalier_entry) == 64, "ABI");
static_assert(sizeof(espalier_model) == 64, "ABI");
#endif

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_ABI_H */
