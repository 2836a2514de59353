/* two_models LSTM.so GRU.so SENTENCES: runs both models, linked and loaded, all
 * four in this process at a time, and compares their logits. */
#include "gru.h"
#include "lstm.h"

#include <espalier/runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(espalier_status status) {
  if (status == ESPALIER_OK)
    return;
  fprintf(stderr, "error: %s\n", espalier_last_error());
  exit(1);
}

static espalier_session *open_session(espalier_module *module) {
  espalier_weights *weights;
  check(espalier_weights_random(module, NULL, 1, &weights));
  espalier_session *session;
  check(espalier_session_create(module, weights, NULL, &session));
  espalier_weights_destroy(weights);
  return session;
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  espalier_vocabulary *vocabulary;
  check(espalier_vocabulary_create(&vocabulary));
  espalier_structures *sentences;
  check(
      espalier_structures_read(argv[3], "sequence", vocabulary, 1, &sentences));

  static const char *const names[] = {"linked lstm", "linked gru",
                                      "loaded lstm", "loaded gru"};
  espalier_module *modules[4];
  check(espalier_module_from_model(espalier_model_lstm(), &modules[0]));
  check(espalier_module_from_model(espalier_model_gru(), &modules[1]));
  check(espalier_module_load(argv[1], &modules[2]));
  check(espalier_module_load(argv[2], &modules[3]));
  espalier_session *sessions[4];
  for (int i = 0; i != 4; ++i)
    sessions[i] = open_session(modules[i]);

  espalier_result *results[4];
  espalier_tensor logits[4];
  for (int i = 0; i != 4; ++i) {
    check(espalier_session_run(sessions[i], sentences, NULL, 0, &results[i]));
    check(espalier_result_tensor(results[i], "logits", &logits[i]));
  }
  static const int pairs[][2] = {{0, 2}, {1, 3}, {0, 1}};
  for (int p = 0; p != 3; ++p) {
    espalier_tensor a = logits[pairs[p][0]], b = logits[pairs[p][1]];
    size_t bytes = (size_t)(a.shape[0] * a.shape[1]) * sizeof(float);
    printf("%s and %s: %s\n", names[pairs[p][0]], names[pairs[p][1]],
           memcmp(a.data, b.data, bytes) == 0 ? "same" : "different");
  }

  for (int i = 0; i != 4; ++i) {
    espalier_result_destroy(results[i]);
    espalier_session_destroy(sessions[i]);
    espalier_module_destroy(modules[i]);
  }
  espalier_structures_destroy(sentences);
  espalier_vocabulary_destroy(vocabulary);
  return 0;
}
