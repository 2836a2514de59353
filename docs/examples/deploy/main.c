/* A C program with a compiled Tree-LSTM in it; see README.md.
 *
 *   deploy [WEIGHTS.safetensors]
 *
 * Evaluates the tree ((the film) (is (not bad))) and prints its five logits.
 * Without weights they are random.
 */
#include "tree_lstm.h" /* written by espalier-compile --emit=header */

#include <espalier/runtime.h>

#include <stdio.h>
#include <stdlib.h>

/* Ids of words, as in the vocabulary that the weights were trained with. */
enum { NONE = -1, THE, FILM, IS, NOT, BAD };

static void check(espalier_status status) {
  if (status == ESPALIER_OK)
    return;
  fprintf(stderr, "deploy: error: %s\n", espalier_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  espalier_module *module;
  check(espalier_module_from_model(espalier_model_tree_lstm(), &module));

  espalier_weights *weights;
  if (argc > 1)
    check(espalier_weights_open(argv[1], &weights));
  else
    check(espalier_weights_random(module, NULL, 1, &weights));
  espalier_session *session;
  check(espalier_session_create(module, weights, NULL, &session));
  espalier_weights_destroy(weights); /* the session has its own, packed */

  /* Vertices in any order, the root last: here children come first. The
   * children of vertex v are children[offsets[v]] .. children[offsets[v+1]]. */
  static const int32_t word[] = {THE, FILM, NONE, IS,  NOT,
                                 BAD, NONE, NONE, NONE};
  static const int32_t children[] = {0, 1, 4, 5, 3, 6, 2, 7};
  static const int64_t offsets[] = {0, 0, 0, 2, 2, 2, 2, 4, 6, 8};
  static const int64_t vertices = 9;
  espalier_structures *trees;
  check(espalier_structures_create(&trees));
  check(espalier_structures_append(trees, vertices, offsets, children));
  espalier_tensor ids = {ESPALIER_I32, 1, &vertices, word};
  check(espalier_structures_set_field(trees, "word", &ids));

  /* A session may run any number of times, from any number of threads. */
  espalier_result *result;
  check(espalier_session_run(session, trees, NULL, 0, &result));
  espalier_tensor logits;
  check(espalier_result_tensor(result, "logits", &logits));
  for (int64_t tree = 0; tree != logits.shape[0]; ++tree) {
    const float *row = (const float *)logits.data + tree * logits.shape[1];
    printf("logits");
    for (int64_t label = 0; label != logits.shape[1]; ++label)
      printf(" %.6f", row[label]);
    printf("\n");
  }

  espalier_result_destroy(result);
  espalier_structures_destroy(trees);
  espalier_session_destroy(session);
  espalier_module_destroy(module);
  return 0;
}
