# check_long_chain.py FOLDER: a sequence of a million tokens, with a stack of 1
# MiB. What came long before the end has no influence on an LSTM's last state
# (forget gates multiply it by about a half, each token), so the reference only
# reads the last tokens.

import os
import resource
import sys

import numpy as np

import forests
import models
import references

LENGTH, READ = 1000000, 2000

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)


def path(name):
    return os.path.join(folder, name)


variant = models.Variant("lstm", state=8, embedding=5, table=50)
weights = variant.weights(seed=7)
models.write_safetensors(path("weights.safetensors"), weights)
with open(path("model.mlir"), "w") as file:
    file.write(variant.text)
models.call("espalier-compile", path("model.mlir"), "-o", path("model.so"))

ids = np.random.default_rng(3).integers(0, 50, LENGTH).tolist()
with open(path("sequence.txt"), "w") as file:
    file.write(" ".join(f"w{id}" for id in ids) + "\n")
with open(path("vocabulary.txt"), "w") as file:
    file.writelines(f"w{id}\n" for id in range(50))

resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))
models.call(
    "espalier-run", path("model.so"), "--weights", path("weights.safetensors"),
    "--structures", path("sequence.txt"), "--format", "sequence",
    "--vocabulary", path("vocabulary.txt"), "--threads", "2",
    "--output", path("results.npz"),
)  # fmt: skip

found = np.load(path("results.npz"))
assert found["hidden"].shape == (LENGTH, 8), found["hidden"].shape
assert np.isfinite(found["hidden"]).all()
graph = references.Levels([forests.chain(READ)], 1)
double = {name: value.astype(float) for name, value in weights.items()}
expected = references.lstm(graph, double, ids[-READ:])
error = np.abs(found["last"] - expected["last"]).max() / np.abs(expected["last"]).max()
print(f"{LENGTH} tokens, the last state is off by {error:.2g}")
assert error <= 1e-5
