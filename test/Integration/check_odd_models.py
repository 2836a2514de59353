# check_odd_models.py FOLDER SOURCE-FOLDER: models that nobody would write are
# compiled in every way and compute what the interpreter does: those of
# test/Driver/odd-models.mlir, whose vertices have up to 17 children and whose
# states are matrices, integers or nothing; and one whose results are its inputs,
# its parameters, and each other.

import itertools
import os
import sys

import numpy as np

import forests
import models

# x itself, h twice, b as it is, and as a state that is pushed; nobody reads
# "unread", nor all of "wide".
OUTPUTS = """
vertex.func @f(%b: tensor<4xf32>) state(tensor<4xf32>, tensor<4xf32>) arity(2) {
  %x = vertex.pull "x" : tensor<4xf32>
  %l, %c = vertex.gather 0 : tensor<4xf32>, tensor<4xf32>
  %r, %d = vertex.gather 1 : tensor<4xf32>, tensor<4xf32>
  %s = arith.subf %l, %r : tensor<4xf32>
  %t = arith.addf %s, %x : tensor<4xf32>
  %h = math.tanh %t : tensor<4xf32>
  %unread = arith.mulf %h, %c : tensor<4xf32>
  %wide = tensor.concat dim(0) %h, %x, %d
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<12xf32>
  vertex.scatter %h, %b : tensor<4xf32>, tensor<4xf32>
  vertex.push "h" %h : tensor<4xf32>
  vertex.push "x" %x : tensor<4xf32>
  vertex.push "d" %d : tensor<4xf32>
  vertex.push "unread" %unread : tensor<4xf32>
  vertex.push "wide" %wide : tensor<12xf32>
}
func.func @e(%g: !vertex.graph {nn.input = "g"}, %x: tensor<?x4xf32> {nn.input = "x"},
    %b: tensor<4xf32> {nn.param = "b"})
    -> (tensor<?x4xf32> {nn.output = "x"}, tensor<?x4xf32> {nn.output = "h"},
        tensor<?x4xf32> {nn.output = "again"}, tensor<?x4xf32> {nn.output = "pulled"},
        tensor<?x4xf32> {nn.output = "d"}, tensor<4xf32> {nn.output = "b"},
        tensor<?x4xf32> {nn.output = "part"}, tensor<?x4xf32> {nn.output = "root"}) {
  %h, %p, %d, %unread, %wide = vertex.apply @f(%b) over %g pull("x" = %x)
      -> "h", "x", "d", "unread", "wide"
      : (tensor<4xf32>), (tensor<?x4xf32>)
      -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x12xf32>)
  %zero = arith.constant 0 : index
  %rows = tensor.dim %wide, %zero : tensor<?x12xf32>
  %part = tensor.extract_slice %wide[0, 2] [%rows, 4] [1, 1]
      : tensor<?x12xf32> to tensor<?x4xf32>
  %root = vertex.roots %g, %x : tensor<?x4xf32>
  return %x, %h, %h, %p, %d, %b, %part, %root
      : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>,
        tensor<?x4xf32>, tensor<4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}
"""

folder, source = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
draw = np.random.default_rng(1)


def path(name):
    return os.path.join(folder, name)


def run(tool, model, inputs, *options):
    models.call(
        tool, path(model), "--structures", path("structures.jsonl"), "--random-weights=1",
        "--output", path("results.npz"), *options,
        *(option for name in inputs for option in ("--input", f"{name}={path(name)}.npy")),
    )  # fmt: skip
    with np.load(path("results.npz")) as file:
        return dict(file)


def check(name, text, structures, types):
    """`types`: columns and element type of each input."""
    with open(path(name + ".mlir"), "w") as file:
        file.write(text)
    for some in structures, [[], []], []:
        vertices = sum(map(len, some))
        forests.write(path("structures.jsonl"), some, [[0] * len(lists) for lists in some])
        for key, (columns, dtype) in types.items():
            values = draw.uniform(-9, 9, (vertices, columns)).astype(dtype)
            np.save(path(key + ".npy"), values)
        expected = run("espalier-interpret", name + ".mlir", types)
        for ablated in ["", "fusion", "specialization", "fusion,specialization"]:
            models.call(
                "espalier-compile", path(name + ".mlir"), "-o", path(name + ".so"),
                f"--ablate={ablated}" if ablated else "--emit=so",
            )  # fmt: skip
            for policy, threads in itertools.product(["batched", "serial"], "12"):
                found = run(
                    "espalier-run", name + ".so", types, "--batch-size", "0",
                    "--policy", policy, "--threads", threads,
                )  # fmt: skip
                assert list(found) == list(expected)
                for key, rows in expected.items():
                    what = f"{name}, {len(some)} structures, {ablated}, {policy}, {key}"
                    # One that is of the whole batch is stacked; without
                    # structures there is no batch.
                    if found[key].ndim > rows.ndim:
                        rows = rows[np.newaxis][: len(some)]
                    assert found[key].shape == rows.shape, what
                    np.testing.assert_allclose(found[key], rows, rtol=1e-6, atol=1e-6, err_msg=what)


many = [forests.star(17), [[], [0, None, 0]], [], [[]], forests.star(2), forests.chain(4)]
with open(os.path.join(source, "test", "Driver", "odd-models.mlir")) as file:
    odd = file.read()
check("odd", odd, many, {"xi": (4, "i4"), "xf": (8, "f4")})
check("outputs", OUTPUTS, forests.mixed(2, 20, 2), {"x": (4, "f4")})
print("odd models are as interpreted")
