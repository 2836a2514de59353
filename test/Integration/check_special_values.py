# check_special_values.py FOLDER: exp, tanh and sigmoid, their derivatives, and
# losses, at arguments where a formula overflows or loses the sign; then a NaN in
# one sample of a batch, which has to stay in that sample, and be seen there.

import json
import os
import random
import sys

import numpy as np

import check_networks
import check_reducers
import forests
import models

FOLDER = sys.argv[1]
BASELINE = "--target-cpu=x86-64"
DTYPES = {"f32": np.float32, "f64": np.float64}


def path(name):
    return os.path.join(FOLDER, name)


def compile(name, text, *options):
    with open(path(name + ".mlir"), "w") as file:
        file.write(text)
    models.call("espalier-compile", path(name + ".mlir"), "-o", path(name + ".so"), *options)


def run(tool, model, entry, weights, structures, *options):
    """`structures`: pairs of child lists and fields."""
    models.write_safetensors(path("weights.safetensors"), weights)
    with open(path("structures.jsonl"), "w") as file:
        for lists, fields in structures:
            file.write(json.dumps({"children": lists, "fields": fields}) + "\n")
    models.call(
        tool, path(model), "--entry", entry, "--weights", path("weights.safetensors"),
        "--structures", path("structures.jsonl"), "--output", path("results.npz"), *options,
    )  # fmt: skip
    with np.load(path("results.npz")) as file:
        return dict(file)


# ===-- Functions of one number -------------------------------------------===#

# Every row is a row of E. As many as fill vectors of any width, and some more.
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 0.5, -0.5]
SPECIAL += [sign * x for x in (52, 80, 88.5, 104, 700, 745, 1e4, 3e38) for sign in (1, -1)]
COLUMNS = 27

FUNCTIONS = """
func.func @loss(%g: !vertex.graph {nn.input = "g"}, %word: tensor<?xi32> {nn.input = "word"},
    %E: tensor<NxCxT> {nn.param = "E"})
    -> (tensor<?xT> {nn.output = "loss"}, tensor<?xCxT> {nn.output = "exp"},
        tensor<?xCxT> {nn.output = "tanh"}, tensor<?xCxT> {nn.output = "sigmoid"}) {
  %x = nn.embedding %E[%word] : tensor<NxCxT>, tensor<?xi32>
  %exp = math.exp %x : tensor<?xCxT>
  %tanh = math.tanh %x : tensor<?xCxT>
  %sigmoid = nn.sigmoid %x : tensor<?xCxT>
  %sum = arith.addf %tanh, %sigmoid : tensor<?xCxT>
  %loss = nn.sum %sum : tensor<?xCxT>
  return %loss, %exp, %tanh, %sigmoid : tensor<?xT>, tensor<?xCxT>, tensor<?xCxT>, tensor<?xCxT>
}
"""


def sigmoid(x):
    return np.where(x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x))),
                    1 / (1 + np.exp(-np.abs(x))))  # fmt: skip


def same(what, found, expected, dtype):
    """Up to a few units in the last place, of denormals one; zeros with their
    sign."""
    expected = expected.astype(dtype)
    tiny = np.finfo(dtype).smallest_subnormal
    np.testing.assert_allclose(
        found, expected, rtol=4 * np.finfo(dtype).eps, atol=tiny, err_msg=what
    )
    zero = expected == 0
    assert (np.signbit(found) == np.signbit(expected))[zero].all(), what


def check_functions(name, dtype, *options):
    # Each value in every column, so in every lane.
    values = np.array([np.roll(np.resize(SPECIAL, COLUMNS), k) for k in range(COLUMNS)], dtype)
    text = FUNCTIONS.replace("N", str(COLUMNS)).replace("C", str(COLUMNS)).replace("T", name)
    compile("functions", text, "--gradient", *options)
    structures = [([[]], {"word": [row]}) for row in range(COLUMNS)]
    weights = {"E": values}
    x = values.astype(float)
    expected = {"exp": np.exp(x), "tanh": np.tanh(x), "sigmoid": sigmoid(x)}
    compiled = run("espalier-run", "functions.so", "loss", weights, structures)
    interpreted = run("espalier-interpret", "functions.mlir", "loss", weights, structures)
    for function, rows in expected.items():
        same(f"{function} {name} {options}", compiled[function], rows, dtype)
        same(f"{function} interpreted", interpreted[function], rows, np.float64)
    slopes = run("espalier-run", "functions.so", "loss.gradient", weights, structures)
    slopes = slopes["gradient.E"].reshape(values.shape)
    # From values that were rounded: 1 - tanh^2 is off by an ulp of 1.
    derivative = 1 / np.cosh(np.clip(x, -300, 300)) ** 2 + sigmoid(x) * sigmoid(-x)
    np.testing.assert_allclose(slopes, derivative, rtol=0, atol=8 * np.finfo(dtype).eps)


# ===-- Losses ------------------------------------------------------------===#

LOSSES = """
func.func @loss(%g: !vertex.graph {nn.input = "g"}, %word: tensor<?xi32> {nn.input = "word"},
    %label: tensor<?xi32> {nn.input = "label"}, %yes: tensor<?xi32> {nn.input = "yes"},
    %E: tensor<NxCxT> {nn.param = "E"}, %F: tensor<Nx1xT> {nn.param = "F"})
    -> (tensor<?xT> {nn.output = "loss"}, tensor<?xT> {nn.output = "softmax"},
        tensor<?xT> {nn.output = "binary"}) {
  %x = nn.embedding %E[%word] : tensor<NxCxT>, tensor<?xi32>
  %y = nn.embedding %F[%word] : tensor<Nx1xT>, tensor<?xi32>
  %softmax = nn.softmax_cross_entropy %x, %label : tensor<?xCxT>, tensor<?xi32>
  %binary = nn.binary_cross_entropy %y, %yes : tensor<?x1xT>, tensor<?xi32>
  %loss = arith.addf %softmax, %binary : tensor<?xT>
  return %loss, %softmax, %binary : tensor<?xT>, tensor<?xT>, tensor<?xT>
}
"""


def check_losses(name, dtype):
    """Logits far apart; in the last rows labels that are no class: NaN there, in
    the loss as in the gradient, and nowhere else."""
    rows = [[1e4, -1e4, 0], [1e4, -1e4, 0], [-1e4, -1e4, -1e4], [80, 80, 80]]
    labels, yes = [0, 1, 2, -1, 3, 1000000], [1, 0, 0, 1, -1, 2]
    E = np.array(rows + [[0, 1, 2], [0, 1, 2]], dtype)
    F = np.array([[1e4], [1e4], [-1e4], [-1e4], [1], [1]], dtype)
    softmax = [0, 2e4, np.log(3), 0, np.nan, np.nan]
    binary = [0, 1e4, 0, 1e4, 0, np.nan]
    third = 1 / 3
    dE = [[0, 0, 0], [1, -1, 0], [third, third, -2 * third], [0, 0, 0]] + 2 * [[np.nan] * 3]
    dF = [[0], [1], [0], [-1], [0], [np.nan]]
    text = LOSSES.replace("N", "6").replace("C", "3").replace("T", name)
    compile("losses", text, "--gradient")
    fields = [
        ([[]], {"word": [row], "label": [labels[row]], "yes": [yes[row]]}) for row in range(6)
    ]
    weights = {"E": E, "F": F}
    for tool, model in ("espalier-run", "losses.so"), ("espalier-interpret", "losses.mlir"):
        found = run(tool, model, "loss", weights, fields)
        np.testing.assert_allclose(found["softmax"], softmax, rtol=1e-6, err_msg=tool)
        np.testing.assert_allclose(found["binary"], binary, rtol=1e-6, err_msg=tool)
    found = run("espalier-run", "losses.so", "loss.gradient", weights, fields)
    np.testing.assert_allclose(found["gradient.E"][0], dE, atol=1e-6)
    np.testing.assert_allclose(found["gradient.F"][0], dF, atol=1e-6)


# ===-- A NaN in one sample -----------------------------------------------===#


def above(lists, vertex):
    """That vertex and all that have it below them."""
    found = {vertex}
    for v, children in enumerate(lists):  # children come first here
        if found & set(children):
            found.add(v)
    return sorted(found)


def check_nan(name, text, shapes, arity, dtype):
    draw, numbers = random.Random(4), np.random.default_rng(5)
    sick = {1: forests.chain(12), 2: forests.tree(draw, 9)}.get(arity, [[], [], *forests.star(3)])
    if arity > 2:
        sick[2:] = [[], [0, 1], [2], [2, 3, 4]]
    structures = forests.mixed(7, 20, min(arity, 3))
    at = 9
    structures.insert(at, sick)
    words = forests.words(8, structures, 49)
    # Word 49 is only found in a leaf of one sample.
    words[at][1 if arity > 1 else 0] = 49
    if arity == 1:
        words[at][0], words[at][4] = 3, 49
    vertex = words[at].index(49)
    ends = np.cumsum([len(lists) for lists in structures])
    first = ends[at] - len(sick)
    table = "embedding" if "embedding" in shapes else "E"
    weights = {
        key: numbers.uniform(-0.5, 0.5, shape).astype(dtype) for key, shape in shapes.items()
    }
    spoilt = dict(weights)
    spoilt[table] = weights[table].copy()
    spoilt[table][49, 0] = np.nan
    samples = [
        (lists, {"word": ids, "label": [0] * len(ids)}) for lists, ids in zip(structures, words)
    ]
    for ablated in [], ["--ablate=fusion,specialization"]:
        compile(name, text, *ablated)
        entry = "classify" if "@classify" in text else "loss"
        for threads in "1", "2":
            clean, found = (
                run("espalier-run", name + ".so", entry, w, samples, "--threads", threads)
                for w in (weights, spoilt)
            )
            for result, rows in found.items():
                if rows.shape[0] == len(structures):
                    ill = [at]
                elif result == "rest":  # what a structure's mean leaves
                    ill = np.arange(first, ends[at])
                elif rows.shape[0] == ends[-1]:
                    ill = [first + v for v in above(sick, vertex)]
                    if result in check_reducers.REDUCED:  # of its children
                        ill.remove(first + vertex)
                else:  # of the whole batch
                    ill = [0]
                healthy = np.setdiff1d(np.arange(len(rows)), ill)
                assert np.isfinite(clean[result]).all(), (name, result)
                # One number of a row may be untouched, as that of a max is.
                seen = np.isnan(rows[ill]).reshape(len(ill), -1).any(axis=1)
                assert seen.all(), (name, ablated, result, np.array(ill)[~seen])
                assert np.array_equal(rows[healthy], clean[result][healthy]), (
                    name, ablated, threads, result,
                )  # fmt: skip


def main():
    os.makedirs(FOLDER, exist_ok=True)
    np.seterr(all="ignore")
    for name, dtype in DTYPES.items():
        check_functions(name, dtype)
        check_functions(name, dtype, "--ablate=fusion", BASELINE)
        check_losses(name, dtype)
    for model, arity in [("tree_lstm", 2), ("tree_fc", 2), ("gru", 1), ("child_sum", 3)]:
        variant = models.Variant(model, 31, 31, 50)
        check_nan(model, variant.text, variant.shapes(), arity, np.float32)
    for name, text, arity in [
        ("readout", check_networks.READOUT, 2), ("reducers", check_reducers.REDUCERS, 3),
    ]:  # fmt: skip
        text = text.replace("7x3xf64", "50x3xf64")
        shapes = {"E": (50, 3), "W": (3, 4), "U": (4, 4), "H": (8 if arity == 2 else 16, 1)}
        check_nan(name, text, shapes, arity, np.float64)
    print("special values are right, a NaN stays where it is")


if __name__ == "__main__":
    main()
