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
 * (task 0), then task after task. Because every step of a phase touches only
 * its own rows of the values made in that phase, a phase can be cut into
 * blocks of rows that run independently; values that only live inside a
 * phase need no more memory than one block (see ESPALIER_BUFFER_SCRATCH).
 *
 * Rules of change: tables are arrays of structs, so any change of a struct
 * raises the major version; new kinds, rows, accesses and element types raise
 * the minor version. A runtime reads models of its own major version and of
 * its own or an earlier minor version.
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
#define ESPALIER_ABI_MAJOR 1u
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
  /* All V vertices of the batch, in schedule order. */
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
};

/* What a buffer is. */
enum {
  /* Bound by name from the weights. Rows ONE. */
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
   * Reads as zeros where the structure has no vertex. */
  ESPALIER_ACCESS_ROOT = 4,
  /* r is a structure: its root in the caller's order. Buffer rows CALLER. */
  ESPALIER_ACCESS_CALLER_ROOT = 5,
};

/* One operand of a step: columns [column, column + elements) of a row. */
typedef struct espalier_step_operand {
  uint32_t buffer;
  uint32_t access; /* ESPALIER_ACCESS_* */
  uint32_t slot;   /* ESPALIER_ACCESS_CHILD only */
  uint32_t reserved;
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
   * negative index means a row of zeros (read operands only). Whether an
   * operand is indexed is known when the kernel is generated: CHILD, CALLER,
   * ROOT and CALLER_ROOT operands always are, others never. */
  const int32_t *index;
  /* At least as many zero bytes as the operand has in a row. */
  const char *zeros;
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
};

typedef struct espalier_step {
  uint32_t kind; /* ESPALIER_STEP_* */
  uint32_t operand_count;
  const espalier_step_operand *operands;
  const char *name;       /* for traces: what it computes */
  espalier_kernel kernel; /* ESPALIER_STEP_KERNEL only */
  uint32_t weight;        /* ESPALIER_STEP_MATMUL only */
  /* How many of the last operands are written. */
  uint32_t result_count;
  /* Cost of one row, for scheduling and reports. */
  int64_t flops_per_row;
  int64_t bytes_per_row;
} espalier_step;

typedef struct espalier_phase {
  const char *name; /* for traces: "eager", "path", "lazy", ... */
  uint32_t rows;    /* ESPALIER_ROWS_* */
  uint32_t graph;
  uint32_t step_count;
  uint32_t reserved;
  const espalier_step *steps;
} espalier_phase;

/* Columns [begin, begin + count) of a parameter. */
typedef struct espalier_columns {
  int64_t begin;
  int64_t count;
} espalier_columns;

/* The right-hand side of a matmul: rows [row_begin, row_begin + K) and the
 * listed columns of a rank-2 parameter, side by side (N in all). Packed once,
 * when the parameter is bound. */
typedef struct espalier_weight {
  uint32_t buffer; /* an ESPALIER_BUFFER_PARAMETER or _CONSTANT */
  uint32_t columns_count;
  const espalier_columns *columns;
  int64_t row_begin;
  int64_t k;
  int64_t n;
} espalier_weight;

typedef struct espalier_graph_desc {
  const char *name;
  /* Child slots per vertex that the entry can read; a vertex with more is an
   * error of the call. 0: it reads none, and any number is fine. */
  uint32_t arity;
  uint32_t reserved;
} espalier_graph_desc;

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
static_assert(sizeof(espalier_buffer_desc) == 88, "ABI");
static_assert(sizeof(espalier_step_operand) == 32, "ABI");
static_assert(sizeof(espalier_kernel_operand) == 32, "ABI");
static_assert(sizeof(espalier_step) == 56, "ABI");
static_assert(sizeof(espalier_phase) == 32, "ABI");
static_assert(sizeof(espalier_weight) == 40, "ABI");
static_assert(sizeof(espalier_entry) == 56, "ABI");
static_assert(sizeof(espalier_model) == 64, "ABI");
#endif

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_ABI_H */
