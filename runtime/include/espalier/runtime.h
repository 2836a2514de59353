/*===-- espalier/runtime.h - Running compiled models ----------------------===*
 *
 * Part of the Espalier project, under the Apache License v2.0 with LLVM
 * Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * The C interface of the runtime. In short:
 *
 *   espalier_module_load("model.so", &module);
 *   espalier_weights_open("weights.safetensors", &weights);
 *   espalier_session_create(module, weights, NULL, &session);
 *   espalier_structures_create(&structures);
 *   espalier_structures_append(structures, vertices, offsets, children);
 *   espalier_structures_set_field(structures, "word", &tensor);
 *   espalier_session_run(session, structures, NULL, 0, &result);
 *   espalier_result_tensor(result, "logits", &tensor);
 *
 * Every function that can fail returns a status; after a failure
 * espalier_last_error() says what was wrong and what to do, until the same
 * thread's next failing call. Out-parameters are only written on success.
 * Objects are created by `_create`, `_load`, `_open`, `_read` and destroyed by
 * `_destroy`, which accepts NULL. A module must outlive its sessions; weights
 * may be destroyed once a session is created; results outlive their session.
 * No function throws, and none writes to standard output or error.
 *
 *===----------------------------------------------------------------------===*/
#ifndef ESPALIER_RUNTIME_H
#define ESPALIER_RUNTIME_H

#include "espalier/abi.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(ESPALIER_RUNTIME_BUILD)
#define ESPALIER_API __attribute__((visibility("default")))
#else
#define ESPALIER_API
#endif

typedef enum espalier_status {
  ESPALIER_OK = 0,
  /* The caller's request makes no sense: wrong name, shape, dtype, option. */
  ESPALIER_INVALID_ARGUMENT = 1,
  /* A file, entry, parameter, field or result that does not exist. */
  ESPALIER_NOT_FOUND = 2,
  /* A file or structure whose content is malformed. */
  ESPALIER_MALFORMED = 3,
  /* A library of another ABI version or for another processor. */
  ESPALIER_INCOMPATIBLE = 4,
  ESPALIER_OUT_OF_MEMORY = 5,
  /* The operating system refused to read or write. */
  ESPALIER_IO_ERROR = 6,
  /* Something the runtime does not do, or a backend that is not installed. */
  ESPALIER_UNSUPPORTED = 7,
  /* A bug in Espalier. */
  ESPALIER_INTERNAL = 8,
} espalier_status;

/* The message of this thread's last failed call; never NULL. */
ESPALIER_API const char *espalier_last_error(void);
/* "INVALID_ARGUMENT", ... */
ESPALIER_API const char *espalier_status_name(espalier_status status);
/* "0.1.0" */
ESPALIER_API const char *espalier_runtime_version(void);

/* A view of dense, row-major data on the host. */
typedef struct espalier_tensor {
  uint32_t dtype; /* ESPALIER_F32, ESPALIER_F64, ESPALIER_I32 */
  uint32_t rank;
  const int64_t *shape; /* rank extents */
  const void *data;
} espalier_tensor;

typedef struct espalier_named_tensor {
  const char *name;
  espalier_tensor tensor;
} espalier_named_tensor;

/*===-- Modules -----------------------------------------------------------===*/

/* A compiled model, loaded. Immutable; may be shared by any threads. */
typedef struct espalier_module espalier_module;

/* Loads the shared library at `path`. NOT_FOUND if there is none, MALFORMED if
 * it is no compiled model, INCOMPATIBLE if it was built for an ABI version that
 * this runtime does not read (see abi.h) or needs processor features that this
 * machine lacks. */
ESPALIER_API espalier_status espalier_module_load(const char *path,
                                                  espalier_module **out);
/* The same for a model that is linked into the program. */
ESPALIER_API espalier_status
espalier_module_from_model(const espalier_model *model, espalier_module **out);
/* The model's tables, e.g. to list entries and parameters; they live as long
 * as the module. */
ESPALIER_API const espalier_model *
espalier_module_model(const espalier_module *module);
ESPALIER_API void espalier_module_destroy(espalier_module *module);

/*===-- Weights -----------------------------------------------------------===*/

/* Tensors by name. Sessions share them: an entry that trains writes its
 * parameters in place, and all sessions of the same weights use the new values
 * from their next run on. Creating a session of such an entry adds the states
 * of its optimiser that are missing, as zeros. */
typedef struct espalier_weights espalier_weights;

/* Maps a safetensors file into memory. MALFORMED, with the byte offset, if it
 * is truncated, has overlapping or out-of-range tensors, or trailing bytes. */
ESPALIER_API espalier_status espalier_weights_open(const char *path,
                                                   espalier_weights **out);
/* Weights from `count` tensors of the caller, which are copied.
 * INVALID_ARGUMENT if a name is there twice. */
ESPALIER_API espalier_status espalier_weights_create(
    const espalier_named_tensor *tensors, size_t count, espalier_weights **out);
/* Random weights for `entry` (NULL: the module's first entry) of `module`:
 * uniform in +-sqrt(6 / (fan_in + fan_out)) for matrices and the weights of
 * convolutions, whose fans are those of a whole window; one for what a batch
 * norm scales by and its variances; zero for all other vectors. The same seed
 * gives the same weights on every machine. */
ESPALIER_API espalier_status
espalier_weights_random(const espalier_module *module, const char *entry,
                        uint64_t seed, espalier_weights **out);
/* Writes a safetensors file with all tensors, states included, atomically.
 * Waits for a run that writes them to end. */
ESPALIER_API espalier_status
espalier_weights_save(const espalier_weights *weights, const char *path);
/* The number of tensors; 0 for NULL. */
ESPALIER_API size_t espalier_weights_count(const espalier_weights *weights);
/* The index-th tensor in the order of names; NOT_FOUND if there is none. The
 * view is good until `weights` are destroyed or another session is created with
 * them, and not to be read while a run writes them. */
ESPALIER_API espalier_status espalier_weights_at(
    const espalier_weights *weights, size_t index, espalier_named_tensor *out);
ESPALIER_API void espalier_weights_destroy(espalier_weights *weights);

/*===-- Structures --------------------------------------------------------===*/

/* A batch of input graphs with per-vertex fields. */
typedef struct espalier_structures espalier_structures;

/* No structures, to be appended. */
ESPALIER_API espalier_status
espalier_structures_create(espalier_structures **out);
/* Appends one structure of `vertices` vertices. The children of vertex v are
 * children[offsets[v] .. offsets[v + 1]), numbered within the structure, -1
 * for an absent one. MALFORMED for cycles and indices out of range. The root
 * is the structure's last vertex. */
ESPALIER_API espalier_status
espalier_structures_append(espalier_structures *structures, int64_t vertices,
                           const int64_t *offsets, const int32_t *children);
/* Sets a field: `tensor` has one row a vertex of all structures so far, in
 * order. It is copied. */
ESPALIER_API espalier_status
espalier_structures_set_field(espalier_structures *structures, const char *name,
                              const espalier_tensor *tensor);
/* The number of structures, and that of their vertices; 0 for NULL. */
ESPALIER_API int64_t
espalier_structures_count(const espalier_structures *structures);
ESPALIER_API int64_t
espalier_structures_vertices(const espalier_structures *structures);
/* Structures [begin, end) with their fields, as a batch of their own. */
ESPALIER_API espalier_status
espalier_structures_slice(const espalier_structures *structures, int64_t begin,
                          int64_t end, espalier_structures **out);
/* The structures of these numbers, in this order, with their fields, as a batch
 * of their own. A number may be there any number of times. */
ESPALIER_API espalier_status espalier_structures_select(
    const espalier_structures *structures, const int64_t *numbers, size_t count,
    espalier_structures **out);
ESPALIER_API void espalier_structures_destroy(espalier_structures *structures);

/* Words and their ids. */
typedef struct espalier_vocabulary espalier_vocabulary;

/* One token a line; a token's id is its line number, from 0. */
ESPALIER_API espalier_status
espalier_vocabulary_open(const char *path, espalier_vocabulary **out);
/* Empty, to be built by espalier_structures_read. */
ESPALIER_API espalier_status
espalier_vocabulary_create(espalier_vocabulary **out);
/* Writes the file that espalier_vocabulary_open reads, atomically. */
ESPALIER_API espalier_status espalier_vocabulary_save(
    const espalier_vocabulary *vocabulary, const char *path);
/* The number of tokens; 0 for NULL. */
ESPALIER_API int64_t
espalier_vocabulary_size(const espalier_vocabulary *vocabulary);
/* The token with this id, which lives until the vocabulary changes; NULL if
 * there is none. */
ESPALIER_API const char *
espalier_vocabulary_token(const espalier_vocabulary *vocabulary, int64_t id);
ESPALIER_API void espalier_vocabulary_destroy(espalier_vocabulary *vocabulary);

/* What becomes of a token that the vocabulary lacks. */
typedef enum espalier_unseen {
  /* The id of "<unk>"; MALFORMED if the vocabulary has no such token. */
  ESPALIER_UNSEEN_FAIL = 0,
  /* It is added to the vocabulary. */
  ESPALIER_UNSEEN_ADD = 1,
  /* The id of "<unk>", or -1, as for a vertex without a token. */
  ESPALIER_UNSEEN_NONE = 2,
} espalier_unseen;

/* Reads structures from a file; `format` is "ptb", "sequence", "conllu" or
 * "jsonl". Tokens become ids of `vocabulary`; `unseen`, an espalier_unseen, is
 * about those that it lacks. MALFORMED names line and column. */
ESPALIER_API espalier_status espalier_structures_read(
    const char *path, const char *format, espalier_vocabulary *vocabulary,
    int unseen, espalier_structures **out);
/* How many tokens got the id of "<unk>" or -1 when `structures` were read; 0
 * for NULL, and for structures that were made in any other way. */
ESPALIER_API int64_t
espalier_structures_unseen_tokens(const espalier_structures *structures);

/*===-- Sessions ----------------------------------------------------------===*/

/* One entry of a module with its weights, packed and ready. Any number of
 * threads may run one session at a time; a run that writes weights waits until
 * it has them to itself. */
typedef struct espalier_session espalier_session;
/* The results of one run. */
typedef struct espalier_result espalier_result;

typedef enum espalier_policy {
  /* All vertices whose children are done, together (breadth first). */
  ESPALIER_POLICY_BATCHED = 0,
  /* One vertex at a time: the reference. */
  ESPALIER_POLICY_SERIAL = 1,
} espalier_policy;

/* Optimisations of the runtime, each of which can be left out: for
 * measurements. Results are the same but for the order of sums. */
typedef enum espalier_optimisation {
  /* Children's rows that lie one after another are read where they are. */
  ESPALIER_ELISION = 1,
  /* What a loop over tasks does not wait for runs beside it, on other threads,
   * where tasks are too small to be shared between threads. */
  ESPALIER_STREAMING = 2,
  /* Rows of a phase or task are shared between threads. */
  ESPALIER_SUB_BATCHES = 4,
  /* Of equal vertices (of one type, that read equal bytes of the arguments and
   * have equal children) one is evaluated, where the model was compiled for
   * that. The serial policy, the reference, evaluates them all. */
  ESPALIER_SHARING = 8,
} espalier_optimisation;

typedef struct espalier_session_options {
  uint32_t struct_size; /* sizeof(espalier_session_options) */
  uint32_t policy;      /* espalier_policy */
  const char *entry;    /* NULL: the module's first entry */
  /* 0: one. Of several runs at a time one uses them, the others only the
   * thread that called; results are the same. */
  uint32_t threads;
  /* Not 0: record the time of every step (espalier_session_stats, _trace). */
  uint32_t profile;
  uint32_t ablate; /* espalier_optimisation, ored together: leave these out */
  uint32_t reserved;
  /* What the entry runs on; NULL: "cpu". "sim" is a device with memory, copies
   * and a clock as the JSON file `machine` describes them: it computes the same
   * results, and says in the statistics how long that machine would take. A
   * layered network without a memory plan runs on "cpu" only. */
  const char *device;
  const char *machine;
  /* Bytes that the device may have, if they are fewer than it has; 0: all. Of
   * an entry without a plan, "cpu" counts dynamic tensors only, and refuses a
   * batch with more; "sim" has what does not fit leave for the host's memory,
   * as long as a task does. */
  int64_t memory_limit;
  /* Not 0, on "sim": allocate, copy and reckon with time, but compute nothing
   * and touch no data. Arguments and parameters may be missing; results mean
   * nothing. */
  uint32_t dry;
  uint32_t reserved_too;
} espalier_session_options;

/* `options` may be NULL. Matches weights by name, shape and dtype; missing and
 * mismatched ones are all listed, and so are extra ones, which no entry of the
 * module has as parameter or state. */
ESPALIER_API espalier_status espalier_session_create(
    const espalier_module *module, const espalier_weights *weights,
    const espalier_session_options *options, espalier_session **out);
/* Runs an entry with one graph argument over `structures`. Its arguments are
 * found by name among `inputs`, then among the fields of `structures`; the data
 * of both must stay until the call returns. NOT_FOUND for a missing argument,
 * INVALID_ARGUMENT for one of another shape or dtype, an id outside its table,
 * or a vertex with more children than the entry reads or of a type that it
 * lacks. */
ESPALIER_API espalier_status espalier_session_run(
    espalier_session *session, const espalier_structures *structures,
    const espalier_named_tensor *inputs, size_t input_count,
    espalier_result **out);
/* Bytes of dynamic tensors that this batch needs (results included) if no two
 * of its vertices are equal, which depends on the arguments. */
ESPALIER_API espalier_status espalier_session_bytes_needed(
    espalier_session *session, const espalier_structures *structures,
    int64_t *out);

/* The structures of one of an entry's graph arguments. */
typedef struct espalier_named_structures {
  const char *name; /* of the argument */
  const espalier_structures *structures;
} espalier_named_structures;

/* The same two for an entry with any number of graph arguments: `graphs` has
 * one of `graph_count` for each. A field is looked up in the structures of the
 * graph whose rows it has. NOT_FOUND if a graph is missing, INVALID_ARGUMENT if
 * one is unknown or there twice, or if the entry brings structures of two
 * graphs together and there are not as many of one as of the other. */
ESPALIER_API espalier_status espalier_session_run_graphs(
    espalier_session *session, const espalier_named_structures *graphs,
    size_t graph_count, const espalier_named_tensor *inputs, size_t input_count,
    espalier_result **out);
ESPALIER_API espalier_status espalier_session_bytes_needed_graphs(
    espalier_session *session, const espalier_named_structures *graphs,
    size_t graph_count, int64_t *out);

typedef struct espalier_stats {
  uint32_t struct_size; /* set by the caller */
  uint32_t reserved;
  int64_t runs;
  /* Of an entry's first graph argument; vertices of all of its arguments; tasks
   * of these and of graphs that the entry turns round. */
  int64_t structures;
  int64_t vertices;
  int64_t tasks;
  /* Seconds, summed over runs; the split needs `profile` and is summed over
   * threads, too. */
  double total_seconds;
  double schedule_seconds;
  /* Gathers, pulls, pushes, embeddings, sums over parents and over rows,
   * weights packed again. */
  double copy_seconds;
  double matmul_seconds; /* sums of outer products, too */
  double kernel_seconds; /* generated elementwise kernels */
  double matmul_flops;
  /* Bytes of dynamic tensors: the largest batch, and what is allocated. */
  int64_t peak_bytes;
  int64_t allocated_bytes;
  /* Of the vertices those that were evaluated; the others are equal to one of
   * these (see ESPALIER_SHARING). */
  int64_t evaluated_vertices;
  /* Layers over whole tensors; as the other parts of the time, but not summed
   * over the threads that share one. */
  double layer_seconds;
  /* What kernels of layers have for themselves, beside the memory plan: tiles
   * packed for the cache, and copies in layouts of their library's. */
  int64_t layer_scratch_bytes;
  /* Of an entry with a memory plan: how high the device's memory was used, the
   * most of the host's pool that was in use, and bytes that were copied between
   * the two. */
  int64_t device_peak_bytes;
  int64_t host_peak_bytes;
  int64_t offloaded_bytes;
  int64_t prefetched_bytes;
  /* By the clock of device "sim"; of these the steps waited for copies. */
  double simulated_seconds;
  double stall_seconds;
  /* Of an entry over structures on a device with memory of its own, for which
   * the six above are, too: how often a part of a dynamic tensor had to leave
   * it for another. */
  int64_t evictions;
} espalier_stats;

/* Counts and times of all runs since the last reset. */
ESPALIER_API espalier_status
espalier_session_stats(const espalier_session *session, espalier_stats *out);
/* Sets all of them, and the timeline, to nothing. */
ESPALIER_API void espalier_session_reset_stats(espalier_session *session);
/* Writes the timeline of all runs since the last reset in the Chrome trace
 * format (load it in Perfetto). Needs `profile`. */
ESPALIER_API espalier_status
espalier_session_write_trace(const espalier_session *session, const char *path);
ESPALIER_API void espalier_session_destroy(espalier_session *session);

/* The number of results; 0 for NULL. */
ESPALIER_API size_t espalier_result_count(const espalier_result *result);
/* The index-th result in the entry's order. The view lives as long as
 * `result`. */
ESPALIER_API espalier_status espalier_result_at(const espalier_result *result,
                                                size_t index,
                                                espalier_named_tensor *out);
/* The result of this name; NOT_FOUND lists those there are. The view lives as
 * long as `result`. */
ESPALIER_API espalier_status espalier_result_tensor(
    const espalier_result *result, const char *name, espalier_tensor *out);
ESPALIER_API void espalier_result_destroy(espalier_result *result);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_RUNTIME_H */
