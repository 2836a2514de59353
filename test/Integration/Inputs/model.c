/* A model without entries, of ABI version MAJOR, that needs FEATURES. */
#include "espalier/abi.h"

static const espalier_model model = {
    .magic = ESPALIER_ABI_MAGIC,
    .abi_major = MAJOR,
    .struct_size = sizeof model,
    .name = "empty",
    .compiler_version = "0.0",
    .target_cpu = "none",
    .target_features = FEATURES,
};

const espalier_model *espalier_model_query(void) { return &model; }
