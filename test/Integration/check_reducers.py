# check_reducers.py FOLDER: networks whose vertices have 0, 1, 2 and 17 children in
# one batch, next to empty slots and repeated children; which look two ids up in one
# table; and parts of which have no columns: against NumPy in float64 and the
# interpreter; and the gradients of their losses against finite differences.

import random
import sys

import numpy as np

import check_networks
import forests
import references

# The sum, the mean and the maximum of what a vertex makes of its children. All
# that the maximum is taken of is negative: a zero of an empty slot would win.
REDUCERS = """
vertex.func @f(%W: tensor<3x4xf64>, %U: tensor<4x4xf64>) state(tensor<4xf64>) arity(0) {
  %x = vertex.pull "x" : tensor<3xf64>
  %a = nn.matmul %x, %W : tensor<3xf64>, tensor<3x4xf64>
  %sum = vertex.map_children sum {
  ^bb0(%h: tensor<4xf64>):
    %u = nn.matmul %h, %U : tensor<4xf64>, tensor<4x4xf64>
    %v = arith.addf %u, %a : tensor<4xf64>
    %y = math.tanh %v : tensor<4xf64>
    vertex.yield(%y) : tensor<4xf64>
  } : tensor<4xf64>
  %mean = vertex.map_children mean {
  ^bb0(%h: tensor<4xf64>):
    %y = arith.mulf %h, %a : tensor<4xf64>
    vertex.yield(%y) : tensor<4xf64>
  } : tensor<4xf64>
  %max = vertex.map_children max {
  ^bb0(%h: tensor<4xf64>):
    %u = nn.sigmoid %h : tensor<4xf64>
    %y = arith.negf %u : tensor<4xf64>
    vertex.yield(%y) : tensor<4xf64>
  } : tensor<4xf64>
  %0 = arith.addf %sum, %mean : tensor<4xf64>
  %1 = arith.addf %0, %max : tensor<4xf64>
  %2 = arith.addf %1, %a : tensor<4xf64>
  %state = math.tanh %2 : tensor<4xf64>
  vertex.scatter %state : tensor<4xf64>
  vertex.push "h" %state : tensor<4xf64>
  vertex.push "sum" %sum : tensor<4xf64>
  vertex.push "mean" %mean : tensor<4xf64>
  vertex.push "max" %max : tensor<4xf64>
}
func.func @loss(%g: !vertex.graph {nn.input = "graphs"},
    %word: tensor<?xi32> {nn.input = "word"},
    %E: tensor<7x3xf64> {nn.param = "E"},
    %W: tensor<3x4xf64> {nn.param = "W"}, %U: tensor<4x4xf64> {nn.param = "U"},
    %H: tensor<16x1xf64> {nn.param = "H"})
    -> (tensor<?xf64> {nn.output = "loss"}, tensor<?x4xf64> {nn.output = "h"},
        tensor<?x4xf64> {nn.output = "sum"}, tensor<?x4xf64> {nn.output = "mean"},
        tensor<?x4xf64> {nn.output = "max"}) {
  %x = nn.embedding %E[%word] : tensor<7x3xf64>, tensor<?xi32>
  %h, %sum, %mean, %max = vertex.apply @f(%W, %U) over %g pull("x" = %x)
      -> "h", "sum", "mean", "max"
      : (tensor<3x4xf64>, tensor<4x4xf64>), (tensor<?x3xf64>)
      -> (tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x4xf64>)
  %all = tensor.concat dim(1) %h, %sum, %mean, %max
      : (tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x4xf64>) -> tensor<?x16xf64>
  %score = nn.matmul %all, %H : tensor<?x16xf64>, tensor<16x1xf64>
  %bent = math.tanh %score : tensor<?x1xf64>
  %loss = nn.sum %bent : tensor<?x1xf64>
  return %loss, %h, %sum, %mean, %max
      : tensor<?xf64>, tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x4xf64>
}
"""

# Results that are of a vertex's children.
REDUCED = ["sum", "mean", "max"]

# Two ids of a vertex in one table, looked up by the vertex and around it.
LOOKUPS = """
vertex.func @f(%E: tensor<7x3xf64>, %U: tensor<3x3xf64>) state(tensor<3xf64>) arity(2) {
  %first = vertex.pull "first" : tensor<i32>
  %second = vertex.pull "second" : tensor<i32>
  %x = nn.embedding %E[%first] : tensor<7x3xf64>, tensor<i32>
  %y = nn.embedding %E[%second] : tensor<7x3xf64>, tensor<i32>
  %l = vertex.gather 0 : tensor<3xf64>
  %r = vertex.gather 1 : tensor<3xf64>
  %s = arith.subf %l, %r : tensor<3xf64>
  %u = nn.matmul %s, %U : tensor<3xf64>, tensor<3x3xf64>
  %d = arith.subf %x, %y : tensor<3xf64>
  %z = arith.addf %d, %u : tensor<3xf64>
  %h = math.tanh %z : tensor<3xf64>
  vertex.scatter %h : tensor<3xf64>
  vertex.push "h" %h : tensor<3xf64>
}
func.func @loss(%g: !vertex.graph {nn.input = "graphs"},
    %first: tensor<?xi32> {nn.input = "first"},
    %second: tensor<?xi32> {nn.input = "second"},
    %E: tensor<7x3xf64> {nn.param = "E"}, %U: tensor<3x3xf64> {nn.param = "U"})
    -> (tensor<?xf64> {nn.output = "loss"}, tensor<?x3xf64> {nn.output = "h"},
        tensor<?x3xf64> {nn.output = "apart"}) {
  %h = vertex.apply @f(%E, %U) over %g pull("first" = %first, "second" = %second) -> "h"
      : (tensor<7x3xf64>, tensor<3x3xf64>), (tensor<?xi32>, tensor<?xi32>) -> tensor<?x3xf64>
  %x = nn.embedding %E[%first] : tensor<7x3xf64>, tensor<?xi32>
  %y = nn.embedding %E[%second] : tensor<7x3xf64>, tensor<?xi32>
  %apart = arith.subf %y, %x : tensor<?x3xf64>
  %both = arith.mulf %h, %apart : tensor<?x3xf64>
  %loss = nn.sum %both : tensor<?x3xf64>
  return %loss, %h, %apart : tensor<?xf64>, tensor<?x3xf64>, tensor<?x3xf64>
}
"""

# Tables, weights and a state without columns or rows are summed up to nothing, and
# have nothing for a gradient.
NO_COLUMNS = """
vertex.func @f(%Z: tensor<0x4xf64>, %Y: tensor<3x0xf64>, %b: tensor<0xf64>, %U: tensor<4x4xf64>)
    state(tensor<4xf64>, tensor<0xf64>) arity(2) {
  %x = vertex.pull "x" : tensor<3xf64>
  %none = vertex.pull "none" : tensor<0xf64>
  %l, %c = vertex.gather 0 : tensor<4xf64>, tensor<0xf64>
  %r, %d = vertex.gather 1 : tensor<4xf64>, tensor<0xf64>
  %y = nn.dense %x, %Y, %b : tensor<3xf64>, tensor<3x0xf64>, tensor<0xf64>
  %0 = arith.addf %y, %c : tensor<0xf64>
  %1 = arith.addf %0, %none : tensor<0xf64>
  %e = math.tanh %1 : tensor<0xf64>
  %z = nn.matmul %e, %Z : tensor<0xf64>, tensor<0x4xf64>
  %s = arith.subf %l, %r : tensor<4xf64>
  %u = nn.matmul %s, %U : tensor<4xf64>, tensor<4x4xf64>
  %v = arith.addf %u, %z : tensor<4xf64>
  %xe = tensor.concat dim(0) %x, %e : (tensor<3xf64>, tensor<0xf64>) -> tensor<3xf64>
  %sum = nn.sum %xe : tensor<3xf64>
  %sums = nn.broadcast %sum : tensor<f64> -> tensor<4xf64>
  %w = arith.addf %v, %sums : tensor<4xf64>
  %h = math.tanh %w : tensor<4xf64>
  vertex.scatter %h, %e : tensor<4xf64>, tensor<0xf64>
  vertex.push "h" %h : tensor<4xf64>
  vertex.push "e" %e : tensor<0xf64>
}
func.func @loss(%g: !vertex.graph {nn.input = "graphs"},
    %word: tensor<?xi32> {nn.input = "word"},
    %E: tensor<7x3xf64> {nn.param = "E"}, %N: tensor<7x0xf64> {nn.param = "N"},
    %Z: tensor<0x4xf64> {nn.param = "Z"}, %Y: tensor<3x0xf64> {nn.param = "Y"},
    %b: tensor<0xf64> {nn.param = "b"}, %U: tensor<4x4xf64> {nn.param = "U"})
    -> (tensor<?xf64> {nn.output = "loss"}, tensor<?x4xf64> {nn.output = "h"},
        tensor<?x0xf64> {nn.output = "e"}) {
  %x = nn.embedding %E[%word] : tensor<7x3xf64>, tensor<?xi32>
  %none = nn.embedding %N[%word] : tensor<7x0xf64>, tensor<?xi32>
  %h, %e = vertex.apply @f(%Z, %Y, %b, %U) over %g pull("x" = %x, "none" = %none) -> "h", "e"
      : (tensor<0x4xf64>, tensor<3x0xf64>, tensor<0xf64>, tensor<4x4xf64>),
        (tensor<?x3xf64>, tensor<?x0xf64>) -> (tensor<?x4xf64>, tensor<?x0xf64>)
  %loss = nn.sum %h : tensor<?x4xf64>
  return %loss, %h, %e : tensor<?xf64>, tensor<?x4xf64>, tensor<?x0xf64>
}
"""


def per_vertex(structures, states, compute):
    """Calls compute(v, states of its children by slot) for every vertex, children
    first; `states` is filled with what it returns."""
    first = 0
    for lists in structures:
        for v in references.children_first(lists):
            below = [
                None if c in (None, -1) else states[first + c] for c in lists[v]
            ]
            states[first + v] = compute(first + v, below)
        first += len(lists)
    return states


def reducers(graphs, p, fields):
    x = references.embed(p["E"], fields["word"])
    results = {name: np.zeros((len(x), 4)) for name in ["h", *REDUCED]}

    def vertex(v, below):
        a = x[v] @ p["W"]
        there = [h for h in below if h is not None]
        if there:
            results["sum"][v] = sum(np.tanh(h @ p["U"] + a) for h in there)
            results["mean"][v] = np.mean([h * a for h in there], axis=0)
            results["max"][v] = np.max([-1 / (1 + np.exp(-h)) for h in there], axis=0)
        return np.tanh(a + sum(results[name][v] for name in REDUCED))

    per_vertex(graphs["graphs"], results["h"], vertex)
    score = np.hstack(list(results.values())) @ p["H"]
    return {"loss": np.tanh(score)[:, 0], **results}


def lookups(graphs, p, fields):
    x = references.embed(p["E"], fields["first"])
    y = references.embed(p["E"], fields["second"])

    def vertex(v, below):
        left, right = (
            np.zeros(3) if h is None else h for h in (below + [None, None])[:2]
        )
        return np.tanh(x[v] - y[v] + (left - right) @ p["U"])

    h = per_vertex(graphs["graphs"], np.zeros_like(x), vertex)
    return {"loss": (h * (y - x)).sum(axis=1), "h": h, "apart": y - x}


def no_columns(graphs, p, fields):
    x = references.embed(p["E"], fields["word"])

    def vertex(v, below):
        left, right = (
            np.zeros(4) if h is None else h for h in (below + [None, None])[:2]
        )
        return np.tanh(x[v].sum() + (left - right) @ p["U"])

    h = per_vertex(graphs["graphs"], np.zeros((len(x), 4)), vertex)
    return {"loss": h.sum(axis=1), "h": h, "e": np.zeros((len(x), 0))}


def main():
    folder = sys.argv[1]
    draw = random.Random(8)

    def samples(structures, names):
        return [
            {"graphs": (lists, {name: [draw.randrange(-1, 7) for _ in lists] for name in names})}
            for lists in structures
        ]

    counts = [
        [[]] * 17 + [list(range(17)), [17], [17, 18], [None, 19, None, 19], [None, 20]],
        [[], [0] * 17, [1, 0]],
        forests.star(17), forests.star(2), forests.star(1), forests.star(0), [],
    ]  # fmt: skip
    failures = 0
    for name, text, reference, structures, names in [
        ("reducers", REDUCERS, reducers, counts + forests.mixed(3, 8, 3), ["word"]),
        ("lookups", LOOKUPS, lookups, forests.mixed(3, 12, 2), ["first", "second"]),
        ("no-columns", NO_COLUMNS, no_columns, forests.mixed(3, 12, 2), ["word"]),
    ]:
        network = check_networks.Network(name, text, reference, ["graphs"], folder)
        drawn = samples(structures, names)
        network.check_forward(drawn)
        network.check(drawn)
        network.check_interpreter()
        network.check_nothing(drawn[0])
        print(f"{name}: {len(structures)} samples, differences {network.worst:.3g}")
        failures += network.failures
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
