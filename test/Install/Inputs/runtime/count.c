/* Loads a model and counts its entries. */
#include <espalier/runtime.h>

#include <stdio.h>

int main(int argc, char **argv) {
  espalier_module *module;
  if (argc != 2)
    return 1;
  if (espalier_module_load(argv[1], &module) != ESPALIER_OK) {
    fprintf(stderr, "%s\n", espalier_last_error());
    return 1;
  }
  const espalier_model *model = espalier_module_model(module);
  printf("%s has %u entries\n", model->name, model->entry_count);
  espalier_module_destroy(module);
  return 0;
}
