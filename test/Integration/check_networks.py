# check_networks.py FOLDER: networks of several applies, in two directions, over
# two graphs, and of two kinds of vertices, against NumPy in float64 and the
# interpreter; and the gradients of their losses against finite differences.
#
# Each result is compared in f64, row by row, with what the equations say, computed
# one vertex after another.

import json
import os
import random
import re
import sys

import numpy as np

import forests
import gradients
import models
import references

BOUND = 1e-12

# h = tanh(x W + (h_left + h_right) U)
RNN = """
vertex.func @rnn(%W: tensor<3x4xf64>, %U: tensor<4x4xf64>) state(tensor<4xf64>) arity(2) {
  %x = vertex.pull "x" : tensor<3xf64>
  %l = vertex.gather 0 : tensor<4xf64>
  %r = vertex.gather 1 : tensor<4xf64>
  %s = arith.addf %l, %r : tensor<4xf64>
  %a = nn.matmul %x, %W : tensor<3xf64>, tensor<3x4xf64>
  %b = nn.matmul %s, %U : tensor<4xf64>, tensor<4x4xf64>
  %c = arith.addf %a, %b : tensor<4xf64>
  %h = math.tanh %c : tensor<4xf64>
  vertex.scatter %h : tensor<4xf64>
  vertex.push "h" %h : tensor<4xf64>
}
"""

# Up and down, then up again over what both say; every vertex is classified.
DIRECTIONS = RNN + """
func.func @loss(%g: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %E: tensor<7x3xf64> {nn.param = "E"},
    %W: tensor<3x4xf64> {nn.param = "up.W"}, %U: tensor<4x4xf64> {nn.param = "up.U"},
    %V: tensor<3x4xf64> {nn.param = "down.W"}, %T: tensor<4x4xf64> {nn.param = "down.U"},
    %P: tensor<8x3xf64> {nn.param = "P"},
    %H: tensor<4x5xf64> {nn.param = "H"}, %c: tensor<5xf64> {nn.param = "c"})
    -> (tensor<?xf64> {nn.output = "loss"}, tensor<?x4xf64> {nn.output = "down"},
        tensor<?x4xf64> {nn.output = "down.root"}, tensor<?x5xf64> {nn.output = "logits"}) {
  %r = vertex.reverse %g : !vertex.graph
  %x = nn.embedding %E[%word] : tensor<7x3xf64>, tensor<?xi32>
  %up = vertex.apply @rnn(%W, %U) over %g pull("x" = %x) -> "h"
      : (tensor<3x4xf64>, tensor<4x4xf64>), (tensor<?x3xf64>) -> tensor<?x4xf64>
  %down = vertex.apply @rnn(%V, %T) over %r pull("x" = %x) -> "h"
      : (tensor<3x4xf64>, tensor<4x4xf64>), (tensor<?x3xf64>) -> tensor<?x4xf64>
  %both = tensor.concat dim(1) %up, %down
      : (tensor<?x4xf64>, tensor<?x4xf64>) -> tensor<?x8xf64>
  %y = nn.matmul %both, %P : tensor<?x8xf64>, tensor<8x3xf64>
  %again = vertex.apply @rnn(%W, %U) over %r pull("x" = %y) -> "h"
      : (tensor<3x4xf64>, tensor<4x4xf64>), (tensor<?x3xf64>) -> tensor<?x4xf64>
  %logits = nn.dense %again, %H, %c : tensor<?x4xf64>, tensor<4x5xf64>, tensor<5xf64>
  %loss = nn.softmax_cross_entropy %logits, %label : tensor<?x5xf64>, tensor<?xi32>
  %root = vertex.roots %r, %down : tensor<?x4xf64>
  return %loss, %down, %root, %logits
      : tensor<?xf64>, tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x5xf64>
}
"""

# The mean and the maximum of a structure's states, and what is left of a state
# without the mean.
READOUT = RNN + """
func.func @loss(%g: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %E: tensor<7x3xf64> {nn.param = "E"},
    %W: tensor<3x4xf64> {nn.param = "W"}, %U: tensor<4x4xf64> {nn.param = "U"},
    %H: tensor<8x1xf64> {nn.param = "H"})
    -> (tensor<f64> {nn.output = "loss"}, tensor<?x4xf64> {nn.output = "mean"},
        tensor<?x4xf64> {nn.output = "max"}, tensor<?x4xf64> {nn.output = "rest"}) {
  %x = nn.embedding %E[%word] : tensor<7x3xf64>, tensor<?xi32>
  %h = vertex.apply @rnn(%W, %U) over %g pull("x" = %x) -> "h"
      : (tensor<3x4xf64>, tensor<4x4xf64>), (tensor<?x3xf64>) -> tensor<?x4xf64>
  %sum = vertex.segment_sum %g, %h : tensor<?x4xf64>
  %ones = nn.fill %h with 1.0 : tensor<?x4xf64>
  %count = vertex.segment_sum %g, %ones : tensor<?x4xf64>
  %one = nn.fill %count with 1.0 : tensor<?x4xf64>
  %least = arith.maximumf %count, %one : tensor<?x4xf64>
  %mean = arith.divf %sum, %least : tensor<?x4xf64>
  %max = vertex.segment_max %g, %h : tensor<?x4xf64>
  %spread = vertex.spread_structures %g, %mean : tensor<?x4xf64>
  %rest = arith.subf %h, %spread : tensor<?x4xf64>
  %squares = arith.mulf %rest, %rest : tensor<?x4xf64>
  %both = tensor.concat dim(1) %mean, %max
      : (tensor<?x4xf64>, tensor<?x4xf64>) -> tensor<?x8xf64>
  %score = nn.matmul %both, %H : tensor<?x8xf64>, tensor<8x1xf64>
  %bent = math.tanh %score : tensor<?x1xf64>
  %scores = nn.sum %bent : tensor<?x1xf64>
  %first = nn.sum_rows %scores : tensor<?xf64>
  %variances = nn.sum %squares : tensor<?x4xf64>
  %second = nn.sum_rows %variances : tensor<?xf64>
  %loss = arith.addf %first, %second : tensor<f64>
  return %loss, %mean, %max, %rest
      : tensor<f64>, tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x4xf64>
}
"""

# Every vertex of a target pulls the root of its source.
TRANSLATION = RNN + """
func.func @loss(%source: !vertex.graph {nn.input = "source"},
    %target: !vertex.graph {nn.input = "target"},
    %word: tensor<?xi32> {nn.input = "source.word"},
    %written: tensor<?xi32> {nn.input = "target.word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %E: tensor<7x3xf64> {nn.param = "E"},
    %W: tensor<3x4xf64> {nn.param = "W"}, %U: tensor<4x4xf64> {nn.param = "U"},
    %P: tensor<7x3xf64> {nn.param = "P"},
    %V: tensor<3x4xf64> {nn.param = "V"}, %T: tensor<4x4xf64> {nn.param = "T"},
    %H: tensor<4x5xf64> {nn.param = "H"}, %c: tensor<5xf64> {nn.param = "c"})
    -> (tensor<?xf64> {nn.output = "loss"}, tensor<?x5xf64> {nn.output = "logits"},
        tensor<?x4xf64> {nn.output = "read"}, tensor<?x4xf64> {nn.output = "sum"}) {
  %x = nn.embedding %E[%word] : tensor<7x3xf64>, tensor<?xi32>
  %read = vertex.apply @rnn(%W, %U) over %source pull("x" = %x) -> "h"
      : (tensor<3x4xf64>, tensor<4x4xf64>), (tensor<?x3xf64>) -> tensor<?x4xf64>
  %root = vertex.roots %source, %read : tensor<?x4xf64>
  %context = vertex.spread_structures %target, %root : tensor<?x4xf64>
  %w = nn.embedding %E[%written] : tensor<7x3xf64>, tensor<?xi32>
  %both = tensor.concat dim(1) %w, %context
      : (tensor<?x3xf64>, tensor<?x4xf64>) -> tensor<?x7xf64>
  %y = nn.matmul %both, %P : tensor<?x7xf64>, tensor<7x3xf64>
  %h = vertex.apply @rnn(%V, %T) over %target pull("x" = %y) -> "h"
      : (tensor<3x4xf64>, tensor<4x4xf64>), (tensor<?x3xf64>) -> tensor<?x4xf64>
  %logits = nn.dense %h, %H, %c : tensor<?x4xf64>, tensor<4x5xf64>, tensor<5xf64>
  %loss = nn.softmax_cross_entropy %logits, %label : tensor<?x5xf64>, tensor<?xi32>
  %sum = vertex.segment_sum %target, %h : tensor<?x4xf64>
  return %loss, %logits, %read, %sum
      : tensor<?xf64>, tensor<?x5xf64>, tensor<?x4xf64>, tensor<?x4xf64>
}
"""

# Two functions, chosen by the field "kind", up and down; one reads any number of
# children, the other only the first.
KINDS = """
vertex.func @mean(%W: tensor<3x4xf64>, %U: tensor<4x4xf64>, %V: tensor<4x4xf64>)
    state(tensor<4xf64>) arity(0) {
  %x = vertex.pull "x" : tensor<3xf64>
  %m = vertex.map_children mean {
  ^bb0(%k: tensor<4xf64>):
    %p = nn.matmul %k, %V : tensor<4xf64>, tensor<4x4xf64>
    %t = math.tanh %p : tensor<4xf64>
    vertex.yield(%t) : tensor<4xf64>
  } : tensor<4xf64>
  %a = nn.matmul %x, %W : tensor<3xf64>, tensor<3x4xf64>
  %b = nn.matmul %m, %U : tensor<4xf64>, tensor<4x4xf64>
  %c = arith.addf %a, %b : tensor<4xf64>
  %h = math.tanh %c : tensor<4xf64>
  vertex.scatter %h : tensor<4xf64>
  vertex.push "h" %h : tensor<4xf64>
}
vertex.func @first(%W: tensor<3x4xf64>, %U: tensor<4x4xf64>, %V: tensor<4x4xf64>)
    state(tensor<4xf64>) arity(2) {
  %x = vertex.pull "x" : tensor<3xf64>
  %k = vertex.gather 0 : tensor<4xf64>
  %p = nn.matmul %k, %U : tensor<4xf64>, tensor<4x4xf64>
  %q = math.tanh %p : tensor<4xf64>
  %a = nn.matmul %x, %W : tensor<3xf64>, tensor<3x4xf64>
  %h = arith.subf %q, %a : tensor<4xf64>
  vertex.scatter %h : tensor<4xf64>
  vertex.push "h" %h : tensor<4xf64>
  %y = nn.matmul %q, %V : tensor<4xf64>, tensor<4x4xf64>
  vertex.push "y" %y at inner : tensor<4xf64>
}
func.func @loss(%g: !vertex.graph {nn.input = "trees"},
    %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"},
    %E: tensor<7x3xf64> {nn.param = "E"},
    %W: tensor<3x4xf64> {nn.param = "W"}, %U: tensor<4x4xf64> {nn.param = "U"},
    %V: tensor<4x4xf64> {nn.param = "V"}, %P: tensor<4x3xf64> {nn.param = "P"},
    %H: tensor<4x5xf64> {nn.param = "H"}, %c: tensor<5xf64> {nn.param = "c"})
    -> (tensor<?xf64> {nn.output = "loss"}, tensor<?x4xf64> {nn.output = "up"},
        tensor<?x4xf64> {nn.output = "y"}, tensor<?x5xf64> {nn.output = "logits"}) {
  %r = vertex.reverse %g : !vertex.graph
  %x = nn.embedding %E[%word] : tensor<7x3xf64>, tensor<?xi32>
  %up, %y = vertex.apply [@mean, @first] by "kind" (%W, %U, %V) over %g pull("x" = %x)
      -> "h", "y" : (tensor<3x4xf64>, tensor<4x4xf64>, tensor<4x4xf64>),
      (tensor<?x3xf64>) -> (tensor<?x4xf64>, tensor<?x4xf64>)
  %both = arith.addf %up, %y : tensor<?x4xf64>
  %z = nn.matmul %both, %P : tensor<?x4xf64>, tensor<4x3xf64>
  %down, %w = vertex.apply [@first, @mean] by "kind" (%W, %U, %V) over %r pull("x" = %z)
      -> "h", "y" : (tensor<3x4xf64>, tensor<4x4xf64>, tensor<4x4xf64>),
      (tensor<?x3xf64>) -> (tensor<?x4xf64>, tensor<?x4xf64>)
  %logits = nn.dense %down, %H, %c : tensor<?x4xf64>, tensor<4x5xf64>, tensor<5xf64>
  %loss = nn.softmax_cross_entropy %logits, %label : tensor<?x5xf64>, tensor<?xi32>
  return %loss, %up, %y, %logits
      : tensor<?xf64>, tensor<?x4xf64>, tensor<?x4xf64>, tensor<?x5xf64>
}
"""


def rnn(structures, x, W, U):
    """h of every vertex of all structures."""
    h = np.zeros((len(x), len(U)))
    first = 0
    for lists in structures:
        for v in references.children_first(lists):
            below = [h[first + c] for c in lists[v] if c not in (None, -1)]
            h[first + v] = np.tanh(x[first + v] @ W + sum(below, np.zeros(len(U))) @ U)
        first += len(lists)
    return h


def cross_entropy(logits, labels):
    labels = np.array(labels, dtype=int)
    sums = np.log(np.exp(logits).sum(axis=1))
    return np.where(labels < 0, 0, sums - logits[np.arange(len(labels)), labels])


def segments(structures, rows):
    """The rows of each structure."""
    ends = np.cumsum([len(lists) for lists in structures])
    return [rows[end - len(lists) : end] for lists, end in zip(structures, ends)]


def read(structures, rows, function):
    """What `function` makes of each structure's rows; zeros if there are none."""
    results = np.zeros((len(structures), rows.shape[1]))
    for k, part in enumerate(segments(structures, rows)):
        if len(part):
            results[k] = function(part)
    return results


def last(part):
    return part[-1]


def sums(part):
    return part.sum(axis=0)


def spread(structures, rows):
    return np.repeat(rows, [len(lists) for lists in structures], axis=0)


def directions(graphs, p, fields):
    trees = graphs["trees"]
    reversed = [references.parents(lists) for lists in trees]
    x = references.embed(p["E"], fields["word"])
    up = rnn(trees, x, p["up.W"], p["up.U"])
    down = rnn(reversed, x, p["down.W"], p["down.U"])
    y = np.hstack([up, down]) @ p["P"]
    again = rnn(reversed, y, p["up.W"], p["up.U"])
    logits = again @ p["H"] + p["c"]
    loss = cross_entropy(logits, fields["label"])
    return {"loss": loss, "down": down, "down.root": read(trees, down, last), "logits": logits}


def readout(graphs, p, fields):
    trees = graphs["trees"]
    h = rnn(trees, references.embed(p["E"], fields["word"]), p["W"], p["U"])
    mean = read(trees, h, lambda part: part.mean(axis=0))
    maximum = read(trees, h, lambda part: part.max(axis=0))
    rest = h - spread(trees, mean)
    scores = np.tanh(np.hstack([mean, maximum]) @ p["H"])
    loss = scores.sum() + (rest**2).sum()
    return {"loss": np.array([loss]), "mean": mean, "max": maximum, "rest": rest}


def translation(graphs, p, fields):
    source, target = graphs["source"], graphs["target"]
    h = rnn(source, references.embed(p["E"], fields["source.word"]), p["W"], p["U"])
    context = spread(target, read(source, h, last))
    w = references.embed(p["E"], fields["target.word"])
    g = rnn(target, np.hstack([w, context]) @ p["P"], p["V"], p["T"])
    logits = g @ p["H"] + p["c"]
    loss = cross_entropy(logits, fields["label"])
    return {"loss": loss, "logits": logits, "read": h, "sum": read(target, g, sums)}


def kinds(graphs, p, fields):
    def apply(structures, x, mean):
        """h and y of every vertex; `mean` is the kind that sees all children."""
        h, y = np.zeros((len(x), 4)), np.zeros((len(x), 4))
        first = 0
        for lists in structures:
            for v in references.children_first(lists):
                below = {s: h[first + c] for s, c in enumerate(lists[v]) if c not in (None, -1)}
                own = x[first + v] @ p["W"]
                if fields["kind"][first + v] == mean:
                    seen = [np.tanh(k @ p["V"]) for k in below.values()]
                    m = sum(seen, np.zeros(4)) / max(1, len(seen))
                    h[first + v] = np.tanh(own + m @ p["U"])
                else:
                    q = np.tanh(below.get(0, np.zeros(4)) @ p["U"])
                    h[first + v] = q - own
                    y[first + v] = q @ p["V"] if below else 0
            first += len(lists)
        return h, y

    trees = graphs["trees"]
    up, y = apply(trees, references.embed(p["E"], fields["word"]), 0)
    reversed = [references.parents(lists) for lists in trees]
    down, _ = apply(reversed, (up + y) @ p["P"], 1)
    logits = down @ p["H"] + p["c"]
    loss = cross_entropy(logits, fields["label"])
    return {"loss": loss, "up": up, "y": y, "logits": logits}


class Network(gradients.Checker):
    def __init__(self, name, text, reference, graphs, folder):
        super().__init__(name, text, os.path.join(folder, name))
        self.reference, self.graphs = reference, graphs

    def structure_options(self):
        if len(self.graphs) == 1:
            return ["--structures", self.path("structures.jsonl")]
        return [
            option
            for name in self.graphs
            for option in ("--structures", f"{name}={self.path(name)}.jsonl")
        ]

    def write_structures(self, samples):
        """`samples`: for each graph child lists and fields by name."""
        for name in self.graphs:
            alone = len(self.graphs) == 1
            path = self.path("structures" if alone else name) + ".jsonl"
            with open(path, "w") as file:
                for sample in samples:
                    lists, fields = sample[name]
                    line = {"children": lists, "fields": fields}
                    file.write(json.dumps(line) + "\n")

    def run(self, library, entry, weights, *options):
        models.write_safetensors(self.path("weights.safetensors"), weights)
        models.call(
            "espalier-run", library, "--entry", entry,
            "--weights", self.path("weights.safetensors"), *self.structure_options(),
            "--output", self.path("results.npz"), *options,
        )  # fmt: skip
        with np.load(self.path("results.npz")) as file:
            return dict(file)

    def check_forward(self, samples):
        weights = self.weights(9, "<f8")
        lists = {name: [sample[name][0] for sample in samples] for name in self.graphs}
        fields = {name: [] for name in re.findall(r'xi32> \{nn.input = "(.*?)"', self.text)}
        for sample in samples:
            for _, columns in sample.values():
                for name, values in columns.items():
                    fields.setdefault(name, []).extend(values)
        expected = self.reference(lists, weights, fields)
        self.write_structures(samples)
        library = self.compile("f64")
        found = self.run(library, "loss", weights, "--batch-size", "0")
        self.compare_rows("in one batch", found, expected)
        # The loss is that of a batch, or of a vertex.
        per_batch = found["loss"].shape == (1,)
        for batch in "1", "5":
            found = self.run(library, "loss", weights, "--batch-size", batch)
            if per_batch:
                found["loss"] = found["loss"].sum(keepdims=True)
            self.compare_rows(f"in batches of {batch}", found, expected)
        models.call(
            "espalier-interpret", self.path("f64.mlir"), "--entry", "loss",
            "--weights", self.path("weights.safetensors"), *self.structure_options(),
            "--output", self.path("interpreted.npz"),
        )  # fmt: skip
        with np.load(self.path("interpreted.npz")) as file:
            self.compare_rows("interpreted", dict(file), expected)

    def check_nothing(self, sample):
        """Without structures there are no rows; structures without vertices have
        zeros. Either way the gradient is zero."""
        weights = self.weights(9, "<f8")
        library = self.compile("f64")
        empty = {graph: ([], dict.fromkeys(fields, [])) for graph, (_, fields) in sample.items()}
        for samples in [], [empty] * 3:
            what = f"of {len(samples)} structures without vertices"
            self.write_structures(samples)
            for name, rows in self.run(library, "loss", weights).items():
                if rows.size != 0 and (not samples or np.any(rows != 0)):
                    self.fail(f"{what} {name} is {rows}")
            for name, gradient in self.gradients(library, weights, "--batch-size", "0").items():
                if np.any(gradient != 0):
                    self.fail(f"{what} the gradient of {name} is not 0")

    def compare_rows(self, what, found, expected):
        for name, rows in expected.items():
            if found[name].shape != rows.shape:
                self.fail(f"{what}: {name} has the shape {found[name].shape}, expected {rows.shape}")
            elif not np.abs(found[name] - rows).max(initial=0) <= BOUND:
                self.fail(f"{what}: {name} is off by {np.abs(found[name] - rows).max():.3g}")


def few_parents(lists):
    return all(len(above) <= 2 for above in references.parents(lists))


# From where to where the values of fields are.
WORDS, LABELS = (-1, 7), (-1, 5)
FIELDS = {
    "word": WORDS, "source.word": WORDS, "target.word": WORDS, "label": LABELS, "kind": (0, 2),
}  # fmt: skip


def fields_for(draw, lists, names):
    return {
        name: [draw.randrange(*FIELDS[name]) for _ in lists] for name in names
    }


def main():
    folder = sys.argv[1]
    draw = random.Random(31)
    structures = [lists for lists in forests.mixed(3, 24, 2) if few_parents(lists)]
    sizes = [len(lists) for lists in structures]
    assert 0 in sizes and 1 in sizes and max(sizes) > 30
    trees = [
        {"trees": (lists, fields_for(draw, lists, ["word", "label"]))}
        for lists in structures
    ]
    # Some samples are there twice.
    trees += trees[::3]
    words = [{"trees": (s["trees"][0], {"word": s["trees"][1]["word"]})} for s in trees]
    # Structures of one graph go with others of the other, also empty ones.
    others = structures[3:] + structures[:3]
    pairs = [
        {
            "source": (lists, fields_for(draw, lists, ["source.word"])),
            "target": (other, fields_for(draw, other, ["target.word", "label"])),
        }
        for lists, other in zip(structures, others)
    ]
    typed = [
        {"trees": (lists, fields_for(draw, lists, ["word", "label", "kind"]))}
        for lists in structures
    ]
    typed += typed[::3]
    pairs += pairs[::3]
    failures = 0
    for name, text, reference, samples, shares in [
        ("directions", DIRECTIONS, directions, trees, False),
        ("readout", READOUT, readout, words, False),
        ("translation", TRANSLATION, translation, pairs, True),
        ("kinds", KINDS, kinds, typed, False),
    ]:
        network = Network(name, text, reference, list(samples[0]), folder)
        network.check_forward(samples)
        network.shares = shares
        network.check(samples)
        network.check_nothing(samples[0])
        print(f"{name}: {len(samples)} samples, differences {network.worst:.3g}")
        failures += network.failures
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
