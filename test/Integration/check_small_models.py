"""Models that once compiled to something wrong, against NumPy in float64.

    check_small_models.py FOLDER

Each case is the smallest model of its kind; inputs are random rows and, for
functions of one number, the numbers where a bad formula loses its digits.
"""

import json
import math
import os
import subprocess
import sys

import numpy as np

COMPILE, RUN, FOLDER = "espalier-compile", "espalier-run", sys.argv[1]

# A concatenation of a product and of what it was computed from: both parts of
# one buffer, one of them read while the other is written.
SKIP = """
vertex.func @f(%W: tensor<4x4xf32>) state(tensor<4xf32>) arity(2) {
  %x = vertex.pull "x" : tensor<2xf32>
  %c = tensor.concat dim(0) %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %m = nn.matmul %c, %W : tensor<4xf32>, tensor<4x4xf32>
  %d = tensor.concat dim(0) %c, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %s = math.tanh %m : tensor<4xf32>
  vertex.scatter %s : tensor<4xf32>
  vertex.push "y" %d : tensor<8xf32>
}
func.func @e(%g: !vertex.graph {nn.input = "g"},
             %x: tensor<?x2xf32> {nn.input = "x"},
             %W: tensor<4x4xf32> {nn.param = "W"})
    -> (tensor<?x8xf32> {nn.output = "y"}) {
  %y = vertex.apply @f(%W) over %g pull("x" = %x) -> "y"
      : (tensor<4x4xf32>), (tensor<?x2xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
"""

# Two functions of different arity over one graph: its structures may have as
# many children as the wider one says, though that one gathers nothing.
ARITIES = """
vertex.func @f() state(tensor<2xf32>) arity(1) {
  %x = vertex.pull "x" : tensor<2xf32>
  %g = vertex.gather 0 : tensor<2xf32>
  %h = arith.addf %x, %g : tensor<2xf32>
  vertex.scatter %h : tensor<2xf32>
  vertex.push "h" %h : tensor<2xf32>
}
vertex.func @k() arity(2) {
  %x = vertex.pull "x" : tensor<2xf32>
  %h = arith.negf %x : tensor<2xf32>
  vertex.push "h" %h : tensor<2xf32>
}
func.func @e(%g: !vertex.graph {nn.input = "g"},
             %x: tensor<?x2xf32> {nn.input = "x"})
    -> (tensor<?x2xf32> {nn.output = "a"}, tensor<?x2xf32> {nn.output = "b"}) {
  %a = vertex.apply @f() over %g pull("x" = %x) -> "h"
      : (), (tensor<?x2xf32>) -> tensor<?x2xf32>
  %b = vertex.apply @k() over %g pull("x" = %x) -> "h"
      : (), (tensor<?x2xf32>) -> tensor<?x2xf32>
  return %a, %b : tensor<?x2xf32>, tensor<?x2xf32>
}
"""

FUNCTION = """
func.func @e(%g: !vertex.graph {{nn.input = "g"}},
             %x: tensor<?x1x{type}> {{nn.input = "x"}})
    -> (tensor<?x1x{type}> {{nn.output = "y"}}) {{
  %y = {op} %x : tensor<?x1x{type}>
  return %y : tensor<?x1x{type}>
}}
"""


def run(name, text, children, x, extra=()):
    def path(suffix):
        return os.path.join(FOLDER, name + suffix)

    with open(path(".mlir"), "w") as file:
        file.write(text)
    with open(path(".jsonl"), "w") as file:
        file.write(json.dumps({"children": children}) + "\n")
    np.save(path(".npy"), x)
    results = []
    for ablate in ([], ["--ablate=fusion,specialization"]):
        subprocess.run([COMPILE, path(".mlir"), "-o", path(".so"), *ablate], check=True)
        subprocess.run(
            [RUN, path(".so"), "--structures", path(".jsonl"), "--input", "x=" + path(".npy"),
             "--output", path(".npz"), *extra],
            check=True, stdout=subprocess.DEVNULL)
        results.append(dict(np.load(path(".npz"))))
    return results


def main():
    random = np.random.default_rng(1)
    tree = [[], [], [0, 1]]
    x = random.standard_normal((3, 2)).astype("f4")

    weights = os.path.join(FOLDER, "skip.safetensors")
    W = random.standard_normal((4, 4)).astype("f4")
    header = json.dumps({"W": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64]}})
    header += " " * (-len(header) % 8)
    with open(weights, "wb") as file:
        file.write(len(header).to_bytes(8, "little") + header.encode() + W.tobytes())
    c = np.concatenate([x, x], axis=1).astype("f8")
    for result in run("skip", SKIP, tree, x, ["--weights", weights]):
        np.testing.assert_allclose(
            result["y"], np.concatenate([c, c @ W.astype("f8")], axis=1), rtol=1e-5, atol=1e-6)

    for result in run("arities", ARITIES, tree, x):
        np.testing.assert_allclose(result["a"], [x[0], x[1], x[2] + x[0]], rtol=1e-6)
        np.testing.assert_allclose(result["b"], -x)

    near = [0.0, 1e-30, 1e-9, 1e-7, 1e-4, 0.3, 2.0]
    numbers = np.array([*near, *(-v for v in near[1:6])])
    tail = np.array([-8.0, -6, -5, -4, -3, -1, 0, 1, 4, 8])
    gelu = np.vectorize(lambda v: 0.5 * v * math.erfc(-v / math.sqrt(2)))
    # Far out, erfc magnifies the rounding of its argument.
    for op, values, reference, ulps in [
        ("math.expm1", numbers, np.expm1, 4),
        ("math.log1p", numbers, np.log1p, 4),
        ("nn.gelu", tail, gelu, 64),
    ]:
        for mlir, dtype, ulp in [("f32", "f4", 2.0**-23), ("f64", "f8", 2.0**-52)]:
            bound = ulps * ulp
            column = values.astype(dtype).reshape(-1, 1)
            expected = reference(column.astype("f8"))
            for result in run(op + mlir, FUNCTION.format(op=op, type=mlir),
                              [[] for _ in values], column):
                np.testing.assert_allclose(
                    result["y"], expected, rtol=bound, atol=0, err_msg=op + " " + mlir)
    print("all as NumPy has it")


if __name__ == "__main__":
    main()
