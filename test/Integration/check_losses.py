# check_losses.py MODEL... FOLDER: small versions of examples: what their entry
# `loss` returns is compared with NumPy, its gradient with finite differences.

import os
import random
import sys

import numpy as np

import forests
import gradients
import models
import references

STATE, EMBEDDING, TABLE = 3, 2, 7


def check(model, folder):
    arity = 2 if model.startswith("tree") else 1
    width = STATE if model == "stacked_lstm" else EMBEDDING
    variant = models.Variant(model, STATE, width, TABLE, "f64")
    checker = gradients.Checker(model, variant.text, folder)
    classes = checker.shapes()["head.b"][0]
    draw = random.Random(5)
    # Sequences have one parent each, so that they can be turned round.
    structures = [
        lists
        for lists in forests.mixed(21, 24, arity)
        if arity == 2 or all(len(above) < 2 for above in references.parents(lists))
    ]
    words = forests.words(22, structures, TABLE)
    labels = [[draw.randrange(-1, classes) for _ in lists] for lists in structures]
    checker.check(
        [
            (lists, {"word": ids, "label": marks})
            for lists, ids, marks in zip(structures, words, labels)
        ]
    )

    weights = checker.weights(3, "<f8")
    library = checker.compile("f64")
    graph = references.Levels(structures, arity)
    expected = references.losses(model, graph, weights, sum(words, []), sum(labels, []))
    found = checker.run(library, "loss", weights, "--batch-size", "5")
    error = np.abs(found["loss"] - expected["loss"]).max()
    if not error <= 1e-12:
        checker.fail(f"loss is off by {error:.3g}")
    if not (found["correct"] == expected["correct"]).all():
        checker.fail("correct differs")

    # Nothing at all: no loss, no gradient.
    checker.write_structures([])
    for name, gradient in checker.gradients(library, weights).items():
        if np.any(gradient != 0):
            checker.fail(f"without structures the gradient of {name} is not 0")
    print(f"{model}: {len(structures)} structures, differences {checker.worst:.3g}")
    return checker.failures


def main():
    folder = sys.argv[-1]
    failures = [check(model, os.path.join(folder, model)) for model in sys.argv[1:-1]]
    return 1 if any(failures) else 0


if __name__ == "__main__":
    sys.exit(main())
