# make_model.py MODEL OUT.mlir [--state=N] [--embedding=N] [--table=N]
#     [--dtype=f32|f64] [--weights=OUT.safetensors]: a variant of an example and
# weights for it.

import argparse

import models

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("output")
parser.add_argument("--state", type=int, default=8)
parser.add_argument("--embedding", type=int, default=5)
parser.add_argument("--table", type=int, default=50)
parser.add_argument("--dtype", default="f32")
parser.add_argument("--weights")
options = parser.parse_args()

variant = models.Variant(
    options.model, options.state, options.embedding, options.table, options.dtype
)
with open(options.output, "w") as file:
    file.write(variant.text)
if options.weights:
    models.write_safetensors(options.weights, variant.weights(seed=7))
