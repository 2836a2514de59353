# ===-- check_operator_gradients.py - Every derivative by itself ---------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# Losses in which operators with a derivative have a part each: at a vertex,
# behind a gather and before the scatter, and in the dataflow around applies,
# where values are batches of rows. Their gradients are compared with finite
# differences.
#
# Usage: check_operator_gradients.py FOLDER SOURCE-FOLDER [KIND...]

import os
import re
import sys

import numpy as np

import forests
import gradients

# Columns of a row, classes of a label, rows of a table.
N, CLASSES, WORDS = 6, 4, 9

# Operators on an x in [-1, 1]; on a w in [0.52, 0.92], where the others have no
# kink or pole; on both.
OF_X = """arith.negf math.tanh math.exp math.expm1 math.exp2 math.sin math.cos math.tan
math.sinh math.cosh math.atan math.erf math.erfc nn.sigmoid nn.gelu""".split()
OF_W = """math.log math.log1p math.log2 math.log10 math.sqrt math.rsqrt math.cbrt
math.absf nn.relu math.floor math.ceil math.trunc math.round math.roundeven""".split()
OF_BOTH = """arith.addf arith.subf arith.mulf math.atan2""".split()
# On two that are never equal, but not always the same one the greater.
EXTREMA = "arith.maximumf arith.minimumf arith.maxnumf arith.minnumf".split()


class Body:
    """Lines of IR on rows of N columns, or on batches of them."""

    def __init__(self, batch):
        self.batch = batch
        self.rows = "?x" if batch else ""
        self.row = f"tensor<{self.rows}{N}xf64>"
        self.lines = []

    def add(self, text):
        self.lines.append(f"  %v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def op(self, name, *operands):
        return self.add(f"{name} {', '.join(operands)} : {self.row}")

    def number(self, value, like):
        return self.add(f"nn.fill {like} with {value} : {self.row}")

    def scaled(self, value, factor):
        return self.op("arith.mulf", value, self.number(factor, value))

    def type(self, *shape, element="f64"):
        sizes = "".join(f"{size}x" for size in shape)
        return f"tensor<{self.rows}{sizes}{element}>"

    def total(self, values):
        sum = values[0]
        for value in values[1:]:
            sum = self.op("arith.addf", sum, value)
        return sum


def elementwise(body, argument):
    """A value for each elementwise operator; `argument()` is a value in [-1, 1]
    that nobody else gets."""

    def w():
        x = argument()
        square = body.scaled(body.op("arith.mulf", x, x), 0.4)
        return body.op("arith.addf", square, body.number(0.52, square))

    values = [body.op(name, argument()) for name in OF_X]
    for name in OF_W:
        # What has no slope is a factor of what has.
        value = w()
        values.append(body.op("arith.mulf", body.op(name, value), value))
    values += [body.op(name, argument(), w()) for name in OF_BOTH]
    values.append(body.op("arith.divf", argument(), w()))
    values.append(body.op("math.powf", w(), argument()))
    values.append(body.op("math.fma", argument(), argument(), argument()))
    for name in EXTREMA:
        # 0.3 w or more apart, in the direction that the mask says.
        x, apart = argument(), w()
        other = body.op("arith.addf", x, body.op("arith.mulf", apart, "%mask"))
        values.append(body.op(name, x, other))
    condition = body.add(f"arith.cmpf ogt, %mask, {body.number(0.0, '%mask')} : {body.row}")
    conditions = body.type(N, element="i1")
    x, y = argument(), argument()
    values.append(body.add(f"arith.select {condition}, {x}, {y} : {conditions}, {body.row}"))
    for name in ["arith.sitofp", "arith.uitofp"]:
        float = body.add(f"{name} {condition} : {conditions} to {body.row}")
        values.append(body.op("arith.mulf", float, argument()))
    return values


def layers(body, argument, parameter):
    """A value for each layer; `parameter(shape)` is a parameter of its own."""
    add, row = body.add, body.row

    def matrix(*shape):
        return f"tensor<{'x'.join(map(str, shape))}xf64>"

    W = parameter(N, N)
    values = [add(f"nn.matmul {argument()}, {W} : {row}, {matrix(N, N)}")]
    b = parameter(N)
    values.append(
        add(f"nn.dense {argument()}, {W}, {b} : {row}, {matrix(N, N)}, {matrix(N)}")
    )
    # The transpose of a weight, and of part of one: rows and columns of it.
    tied = add(f"nn.transpose {W} : {matrix(N, N)}")
    values.append(add(f"nn.matmul {argument()}, {tied} : {row}, {matrix(N, N)}"))
    V = parameter(N + 3, N + 4)
    slices = f"{matrix(N + 3, N + 4)} to {matrix(N, N)}"
    part = add(f"tensor.extract_slice {V}[2, 3] [{N}, {N}] [1, 1] : {slices}")
    values.append(add(f"nn.matmul {argument()}, {part} : {row}, {matrix(N, N)}"))
    columns = f"{matrix(N, N)} to {matrix(N, 2)}"
    pieces = []
    for first in (0, 4):
        piece = add(f"tensor.extract_slice {W}[0, {first}] [{N}, 2] [1, 1] : {columns}")
        pieces.append(add(f"nn.matmul {argument()}, {piece} : {row}, {matrix(N, 2)}"))
    pieces.append(add(f"nn.matmul {argument()}, {piece} : {row}, {matrix(N, 2)}"))

    two = body.type(2)
    dim = 1 if body.batch else 0
    values.append(
        add(f"tensor.concat dim({dim}) {', '.join(pieces)} : ({two}, {two}, {two}) -> {row}")
    )
    values.append(add(f"nn.softmax {argument()} : {row}"))
    values.append(add(f"nn.layer_norm {argument()}, {parameter(N)}, {b} : {row}, {matrix(N)}"))
    values.append(
        add(
            f"nn.dropout {argument()}, %seed, %label {{probability = 0.4, site = 7 : i32}} : "
            f"{row}, tensor<i32>, {body.type(element='i32')}"
        )
    )
    # A matrix of the row's own, and what it takes to make one.
    M = add(f"nn.outer {argument()}, {argument()} : {row}, {row}")
    matrices = body.type(N, N)
    values.append(add(f"nn.row_matmul {argument()}, {M} : {row}, {matrices}"))
    values.append(add(f"nn.row_matmul {argument()}, {M} transposed : {row}, {matrices}"))

    sum = add(f"nn.sum {argument()} : {row}")
    scalars = body.type()
    values.append(add(f"nn.broadcast {sum} : {scalars} -> {row}"))

    E = parameter(WORDS, N)
    ids = body.type(element="i32")
    values.append(add(f"nn.embedding {E}[%label] : {matrix(WORDS, N)}, {ids}"))
    logits = add(
        f"nn.matmul {argument()}, {parameter(N, CLASSES)} : {row}, {matrix(N, CLASSES)}"
    )
    loss = add(f"nn.softmax_cross_entropy {logits}, %label : {body.type(CLASSES)}, {ids}")
    values.append(add(f"nn.broadcast {loss} : {scalars} -> {row}"))
    yes = add(f"nn.matmul {argument()}, {parameter(N, 1)} : {row}, {matrix(N, 1)}")
    loss = add(f"nn.binary_cross_entropy {yes}, %yes : {body.type(1)}, {ids}")
    values.append(add(f"nn.broadcast {loss} : {scalars} -> {row}"))
    return values


# Columns of the parameter that arguments are slices of.
WIDTH = 60 * N


def slices(body, source):
    """A function that takes the next N columns of `source`."""
    taken = 0

    def argument():
        nonlocal taken
        offset, taken = taken, taken + N
        assert taken <= WIDTH
        where = f"[{offset}] [{N}] [1]"
        if body.batch:
            rows = body.add(f"tensor.dim {source}, %zero : {body.type(WIDTH)}")
            where = f"[0, {offset}] [{rows}, {N}] [1, 1]"
        types = f"{body.type(WIDTH)} to {body.row}"
        x = body.add(f"tensor.extract_slice {source}{where} : {types}")
        return x if body.batch else body.total([x, "%small", "%inherited"])

    return argument


class Parameters(list):
    """Names and types of what the loss is differentiated by."""

    def __call__(self, *shape):
        sizes = "x".join(map(str, shape))
        self.append((f"%p{len(self)}", f"tensor<{sizes}xf64>"))
        return self[-1][0]

    def formal(self):
        return ", ".join(f"{name}: {type}" for name, type in self)

    def named(self):
        return ", ".join(
            f'{name}: {type} {{nn.param = "{name[1:]}"}}' for name, type in self
        )


def constants():
    """Rows by which vertices differ, and signs."""
    draw = np.random.default_rng(5)

    def table(values):
        rows = ", ".join(str(row) for row in values.tolist())
        return f"arith.constant dense<[{rows}]> : tensor<{WORDS}x{N}xf64>"

    x = draw.uniform(0.2, 1, (WORDS, N)).round(4)
    mask = np.where(draw.random((WORDS, N)) < 0.5, -1.0, 1.0)
    look_up = f": tensor<{WORDS}x{N}xf64>, tensor<?xi32>"
    return f"""
  %xs = {table(x)}
  %masks = {table(mask)}
  %seed = arith.constant dense<11> : tensor<i32>
  %x_rows = nn.embedding %xs[%word] {look_up}
  %mask_rows = nn.embedding %masks[%word] {look_up}"""


INPUTS = ", ".join(
    ['%g: !vertex.graph {nn.input = "trees"}']
    + [f'%{name}: tensor<?xi32> {{nn.input = "{name}"}}' for name in ["word", "label", "yes"]]
)


def at_vertices(build):
    """A vertex function with all operators that `build` makes, which scatters a
    bounded sum of them and pushes it."""
    body, parameters = Body(batch=False), Parameters()
    values = build(body, slices(body, parameters(WIDTH)), parameters)
    total = body.scaled(body.total(values), 0.1)
    state = body.op("math.tanh", total)
    pushed = body.op("arith.mulf", total, "%x")
    lines = "\n".join(body.lines)
    row, rows = body.row, body.row.replace("<", "<?x")
    names = ", ".join(name for name, _ in parameters)
    types = ", ".join(type for _, type in parameters)
    ids = "tensor<?xi32>"
    return f"""
vertex.func @f({parameters.formal()}, %seed: tensor<i32>) state({row}) arity(2) {{
  %h0 = vertex.gather 0 : {row}
  %h1 = vertex.gather 1 : {row}
  %x = vertex.pull "x" : {row}
  %mask = vertex.pull "mask" : {row}
  %label = vertex.pull "label" : tensor<i32>
  %yes = vertex.pull "yes" : tensor<i32>
  %fifth = arith.constant dense<0.2> : {row}
  %h = arith.subf %h0, %h1 : {row}
  %inherited = arith.mulf %h, %fifth : {row}
  %small = arith.mulf %x, %fifth : {row}
{lines}
  vertex.scatter {state} : {row}
  vertex.push "y" {pushed} : {row}
}}
func.func @loss({INPUTS}, {parameters.named()}) -> (tensor<?xf64> {{nn.output = "loss"}}) {{{constants()}
  %y = vertex.apply @f({names}, %seed) over %g
      pull("x" = %x_rows, "mask" = %mask_rows, "label" = %label, "yes" = %yes) -> "y"
      : ({types}, tensor<i32>), ({rows}, {rows}, {ids}, {ids}) -> {rows}
  %loss = nn.sum %y : {rows}
  return %loss : tensor<?xf64>
}}
"""


def around(build):
    """The same on batches, which are pulled by nobody."""
    body, parameters = Body(batch=True), Parameters()
    P = parameters(N, WIDTH)
    values = build(body, slices(body, "%all"), parameters)
    pushed = body.op("arith.mulf", body.total(values), "%x_rows")
    lines = "\n".join(body.lines).replace("%mask", "%mask_rows")
    row = body.row
    return f"""
func.func @loss({INPUTS}, {parameters.named()}) -> (tensor<?xf64> {{nn.output = "loss"}}) {{{constants()}
  %zero = arith.constant 0 : index
  %all = nn.matmul %x_rows, {P} : {row}, tensor<{N}x{WIDTH}xf64>
{lines}
  %loss = nn.sum {pushed} : {row}
  return %loss : tensor<?xf64>
}}
"""


def matrices_in_states(_):
    """A matrix and a vector at every vertex: each child's matrix is applied to
    the other's vector (as in matrix-vector recursive networks)."""
    row, square = f"tensor<{N}xf64>", f"tensor<{N}x{N}xf64>"
    apply = f": {row}, {square}"
    ids = "tensor<?xi32>"
    return f"""
vertex.func @f(%W: {square}, %V: {square}, %A: {square}) state({row}, {square}) arity(2) {{
  %x = vertex.pull "x" : {row}
  %a, %A0 = vertex.gather 0 : {row}, {square}
  %b, %B0 = vertex.gather 1 : {row}, {square}
  %A1 = arith.addf %A0, %A : {square}
  %B1 = arith.addf %B0, %A : {square}
  %ab = nn.row_matmul %a, %B1 {apply}
  %ba = nn.row_matmul %b, %A1 transposed {apply}
  %0 = nn.matmul %ab, %W : {row}, {square}
  %1 = nn.matmul %ba, %V : {row}, {square}
  %2 = arith.addf %0, %1 : {row}
  %3 = arith.addf %2, %x : {row}
  %h = math.tanh %3 : {row}
  %4 = nn.outer %h, %ab : {row}, {row}
  %5 = arith.mulf %A1, %B1 : {square}
  %6 = arith.subf %4, %5 : {square}
  %M = math.tanh %6 : {square}
  vertex.scatter %h, %M : {row}, {square}
  vertex.push "h" %h : {row}
  vertex.push "M" %M : {square}
}}
func.func @loss({INPUTS}, %E: tensor<{WORDS}x{N}xf64> {{nn.param = "E"}}, %W: {square} {{nn.param = "W"}},
    %V: {square} {{nn.param = "V"}}, %A: {square} {{nn.param = "A"}}) -> (tensor<?xf64> {{nn.output = "loss"}}) {{
  %x = nn.embedding %E[%word] : tensor<{WORDS}x{N}xf64>, {ids}
  %h, %M = vertex.apply @f(%W, %V, %A) over %g pull("x" = %x) -> "h", "M"
      : ({square}, {square}, {square}), (tensor<?x{N}xf64>) -> (tensor<?x{N}xf64>, tensor<?x{N}x{N}xf64>)
  %sums = nn.sum %M : tensor<?x{N}x{N}xf64>
  %loss = nn.softmax_cross_entropy %h, %label : tensor<?x{N}xf64>, {ids}
  %both = arith.addf %loss, %sums : tensor<?xf64>
  return %both : tensor<?xf64>
}}
"""


def structures():
    """Pairs of child lists and fields: shared and absent children, one vertex,
    none. Some labels are none."""
    draw = np.random.default_rng(2)
    result = []
    for lists in forests.mixed(3, 9, 2):
        count = len(lists)
        fields = {
            "word": draw.integers(0, WORDS, count).tolist(),
            "label": draw.integers(-1, CLASSES, count).tolist(),
            "yes": draw.integers(-1, 2, count).tolist(),
        }
        result.append((lists, fields))
    return result + result[::3]


def elementwise_only(body, argument, parameter):
    return elementwise(body, argument)


KINDS = {
    "elementwise-at-vertices": (at_vertices, elementwise_only),
    "elementwise-around": (around, elementwise_only),
    "layers-at-vertices": (at_vertices, layers),
    "layers-around": (around, layers),
    "matrices-in-states": (matrices_in_states, None),
}


def differentiable(source):
    """The operators that have a derivative, by the sources."""
    upstream = os.path.join(source, "lib/Dialect/NN/IR/DifferentiableUpstreamOps.cpp")
    found = re.findall(r"attach<(\w+)::(\w+)Op,", open(upstream).read())
    names = {f"{dialect}.{name.lower()}" for dialect, name in found}
    ops = open(os.path.join(source, "include/espalier/Dialect/NN/IR/NNOps.td")).read()
    for record in re.split(r"^(?=def |class )", ops, flags=re.M):
        head = re.match(r'def \w+ : NN_Op<"(\w+)"', record)
        activation = re.match(r'def \w+ : NN_Activation<"(\w+)"', record)
        if activation or head and "<DifferentiableOpInterface>" in record:
            names.add("nn." + (activation or head)[1])
    return names


def main(folder, source, *kinds):
    failures, text = 0, ""
    for kind in kinds or KINDS:
        place, build = KINDS[kind]
        model = place(build)
        text += model
        checker = gradients.Checker(kind, model, os.path.join(folder, kind))
        # Dropout tells vertices apart.
        checker.shares = build is not layers
        checker.check(structures())
        checker.check_interpreter()
        failures += checker.failures
        print(f"{kind}: worst {checker.worst:.2g}")
    # That of sum_rows is what starts a batch's loss.
    missing = [
        name
        for name in sorted(differentiable(source))
        if not re.search(name.replace(".", r"\.") + r"\b", text) and name != "nn.sum_rows"
    ]
    if missing and not kinds:
        sys.exit(f"no loss has {', '.join(missing)}")
    if failures:
        sys.exit(f"{failures} gradients are wrong")
    print(f"{len(kinds or KINDS)} losses, all gradients right")


if __name__ == "__main__":
    main(*sys.argv[1:])
