# check_losses.py MODEL... FOLDER: small versions of examples: what their entries
# return is compared with NumPy, the gradient of `loss` with finite differences.

import os
import random
import re
import sys

import numpy as np

import forests
import gradients
import models
import references

STATE, EMBEDDING, TABLE = 3, 2, 7

# Examples of other sizes than models.Variant knows: their numbers, replaced. A
# TABLE of theirs has fewer rows: what the numbers leave.
NUMBERS = {
    "list_ops": {16: TABLE, 32: 2, 64: 3, 128: 6, 192: 9, 256: 12, 320: 15},
    "ast": {64: 2, 128: TABLE, 256: 2 * TABLE, 384: 3 * TABLE},
    "dag": {8: TABLE, 32: 2, 64: 3},
    "mv_rnn": {20000: TABLE},
}
# What they call words and labels.
FIELDS = {
    "list_ops": ("token", "value"),
    "ast": ("node", "label"),
    "dag": ("op", "accuracy"),
    "lattice_lstm": ("word", "tag"),
}
# How many types of vertices they have.
TYPES = {"lattice_lstm": 2}
TREES = ["tree_fc", "tree_lstm", "list_ops", "mv_rnn"]
ANY_CHILDREN = ["child_sum", "ast", "dag", "lattice_lstm"]
# Whose loss also looks at a vertex's parents.
NOT_SHARED = ["bilstm", "lstm_lm", "stacked_lstm"]
# Whose loss takes a number of the root, which is 0 where there is none.
OF_NUMBERS = ["dag"]


def small(model):
    """The text of an example, of small sizes."""
    if model not in NUMBERS:
        as_wide = model in ["tree_fc", "stacked_lstm"]
        width = STATE if as_wide else EMBEDDING
        return models.Variant(model, STATE, width, TABLE, "f64").text
    with open(os.path.join(models.EXAMPLES, model + ".mlir")) as file:
        text = file.read()
    numbers = NUMBERS[model]

    def replace(match):
        return str(numbers.get(int(match[0]), match[0]))

    # Not the 32 of f32, nor a fraction's digits.
    return re.sub(r"(?<![\w.%])\d+(?![\d.])|(?<=[\d?]x)\d+", replace, text)


class Checker(gradients.Checker):
    """With rows of f32 or f64, as the model has, for its arguments `inputs`."""

    inputs = {}

    def run(self, library, entry, weights, *options):
        dtype = next(iter(weights.values())).dtype
        for name, values in self.inputs.items():
            np.save(self.path(name + ".npy"), np.array(values, dtype))
            options += ("--input", f"{name}={self.path(name + '.npy')}")
        return super().run(library, entry, weights, *options)

    def weights(self, seed, dtype):
        weights = super().weights(seed, dtype)
        if "M" in weights:
            # Matrices that do not grow from level to level.
            weights["M"] *= 0.1
        return weights


def check(model, folder):
    arity = 2 if model in TREES else 3 if model in ANY_CHILDREN else 1
    checker = Checker(model, small(model), folder)
    draw = random.Random(5)
    candidates = forests.mixed(21, 24, arity)
    if model in ANY_CHILDREN:
        # 0, 1, 2 and 17 children side by side.
        candidates += [forests.star(17), forests.star(1), [[]] * 17 + [list(range(17)), [17]]]
    # Sequences have one parent each, so that they can be turned round.
    structures = [
        lists
        for lists in candidates
        if arity > 1 or all(len(above) < 2 for above in references.parents(lists))
    ]
    words = forests.words(22, structures, TABLE)
    word, label = FIELDS.get(model, ("word", "label"))
    checker.shares = model not in NOT_SHARED
    # Some structures are there twice.
    doubled = len(structures[::3])
    structures += structures[::3]
    words += words[::3]
    if model == "dag":
        labels = [[draw.choice([0.71875, 0.75])] * len(lists) for lists in structures]
        checker.inputs = {label: sum(labels, [])}
        fields = [{word: ids} for ids in words]
    else:
        classes = checker.shapes()["head.b"][0]
        labels = [[draw.randrange(-1, classes) for _ in lists] for lists in structures]
        labels[-doubled:] = labels[:-doubled:3]
        fields = [{word: ids, label: marks} for ids, marks in zip(words, labels)]
    types = [[draw.randrange(TYPES.get(model, 1)) for _ in lists] for lists in structures]
    types[-doubled:] = types[:-doubled:3]
    if model in TYPES:
        for values, row in zip(fields, types):
            values["type"] = row
    checker.check(list(zip(structures, fields)))

    weights = checker.weights(3, "<f8")
    library = checker.compile("f64")
    graph = references.Levels(structures, max(arity, *map(len, sum(structures, []))))
    graph.types = np.array(sum(types, []))
    expected = references.losses(model, graph, weights, sum(words, []), sum(labels, []))
    found = checker.run(library, "loss", weights, "--batch-size", "5")
    error = np.abs(found["loss"] - expected["loss"]).max()
    if not error <= 1e-12 * max(1, np.abs(expected["loss"]).max()):
        checker.fail(f"loss is off by {error:.3g}")
    if not np.array_equal(found.get("correct"), expected.get("correct")):
        checker.fail("correct differs")

    # The entry without a loss.
    other = re.search(r"func\.func @(classify|predict)\(", checker.text)[1]
    inputs, checker.inputs = checker.inputs, {}
    inferred = checker.run(library, other, weights, "--batch-size", "5")
    results = references.results(model, graph, weights, sum(words, []))
    for name, rows in inferred.items():
        error = np.abs(rows - results[name]).max()
        if not error <= 1e-12 * max(1, np.abs(results[name]).max()):
            checker.fail(f"{other}: {name} is off by {error:.3g}")

    # Nothing at all: no loss, no gradient. Losses of vertices neither have any of
    # structures that have none.
    checker.inputs = {name: [] for name in inputs}
    empty = ([], {name: [] for name in [word, label, "type"]})
    for samples in [[], 3 * [empty]][: 1 if model in OF_NUMBERS else 2]:
        checker.write_structures(samples)
        for name, gradient in checker.gradients(library, weights, "--batch-size", "0").items():
            if np.any(gradient != 0):
                checker.fail(f"of {len(samples)} empty structures the gradient of {name} is not 0")
    print(f"{model}: {len(structures)} structures, differences {checker.worst:.3g}")
    return checker.failures


def main():
    folder = sys.argv[-1]
    failures = [check(model, os.path.join(folder, model)) for model in sys.argv[1:-1]]
    return 1 if any(failures) else 0


if __name__ == "__main__":
    sys.exit(main())
