# check_train_step.py FOLDER: what `espalier-run --train` makes of parameters in a
# few steps, with each optimiser, equals its equations in NumPy over the sums of the
# gradients of single structures.

import os
import re
import sys

import numpy as np

import check_reducers
import forests
import gradients
import models

RATE, DECAY = 0.05, 0.1
BATCH, EPOCHS = 4, 2
# Rows of tables that no structure looks up are the last two.
TABLE, WORDS = 7, 5


def update(optimiser, p, g, state, step):
    """The change of a parameter, with weight decay; `state` is remembered."""
    if optimiser == "adam":
        m, v = (state.setdefault(name, np.zeros_like(p)) for name in "mv")
        m += 0.1 * (g - m)
        v += 0.001 * (g * g - v)
        unbiased = m / (1 - 0.9**step), v / (1 - 0.999**step)
        return unbiased[0] / (np.sqrt(unbiased[1]) + 1e-8) + DECAY * p
    g = g + DECAY * p
    if optimiser == "momentum":
        m = state.setdefault("m", np.zeros_like(p))
        m[:] = 0.9 * m + g
        return m
    if optimiser == "adagrad":
        s = state.setdefault("s", np.zeros_like(p))
        s += g * g
        return g / (np.sqrt(s) + 1e-8)
    return g


class Trainer(gradients.Checker):
    def batches(self, structures):
        return [structures[k : k + BATCH] for k in range(0, len(structures), BATCH)]

    def reference(self, optimiser, weights, structures, clip, table, mean):
        """The parameters after all steps. Of a `table` only rows change that the
        batch looks up."""
        weights = {name: p.copy() for name, p in weights.items()}
        states, step = {}, 0
        for batch in EPOCHS * self.batches(structures):
            step += 1
            self.write_structures(batch)
            g = self.gradients(self.path("f64.so"), weights, "--batch-size", "1")
            if mean:
                g = {name: rows / len(batch) for name, rows in g.items()}
            norm = np.sqrt(sum((rows**2).sum() for rows in g.values()))
            self.clipped += norm > clip
            for name, p in weights.items():
                rows = slice(None)
                if name == table:
                    words = {word for _, fields in batch for word in fields["word"]}
                    rows = sorted(words - {-1})
                # Rows of what is remembered are changed in place, too.
                state = states.setdefault(name, {})
                part = {key: value[rows] for key, value in state.items()}
                scaled = g[name][rows] * min(1, clip / norm)
                p[rows] -= RATE * update(optimiser, p[rows], scaled, part, step)
                for key, value in part.items():
                    state.setdefault(key, np.zeros_like(p))[rows] = value
        return weights

    def train(self, library, clip, *options):
        models.call(
            "espalier-run", library, "--train", "--no-shuffle",
            "--structures", self.path("structures.jsonl"),
            "--weights", self.path("weights.safetensors"),
            "--epochs", EPOCHS, "--batch-size", BATCH, "--learning-rate", RATE,
            "--clip-norm", clip, "--save-weights", self.path("trained.safetensors"), *options,
        )  # fmt: skip
        return models.read_safetensors(self.path("trained.safetensors"))

    def check_training(self, structures, clip, table=None):
        weights = self.weights(4, "<f8")
        self.compile("f64")
        self.clipped = 0
        for optimiser in ["sgd", "momentum", "adagrad", "adam"]:
            library = self.path(optimiser + ".so")
            models.call(
                "espalier-compile", self.path("f64.mlir"), f"--train={optimiser}", "-o", library
            )
            for mean in False, True:
                expected = self.reference(optimiser, weights, structures, clip, table, mean)
                self.write_structures(structures)
                models.write_safetensors(self.path("weights.safetensors"), weights)
                for threads in "1", "2":
                    options = ["--mean"] if mean else []
                    options += ["--weight-decay", DECAY, "--threads", threads]
                    found = self.train(library, clip, *options)
                    what = f"{optimiser}, mean {mean}, threads {threads}"
                    self.compare(what, found, expected, gradients.SAME)
                    if table and not np.array_equal(found[table][WORDS:], weights[table][WORDS:]):
                        self.fail(f"{what}: rows changed that were not looked up")
            # Nothing to learn from: a gradient of length 0 stays one when clipped.
            self.write_structures([([], {name: [] for name in structures[0][1]})] * 3)
            for name, rows in self.train(library, clip).items():
                if name in weights and not np.array_equal(rows, weights[name]):
                    self.fail(f"{optimiser}: {name} changed without any vertex")
        if not 0 < self.clipped < 8 * EPOCHS * len(self.batches(structures)):
            self.fail(f"{self.clipped} gradients were clipped, expected some")
        return self.failures


def main():
    folder = sys.argv[1]
    draw = np.random.default_rng(6)
    structures = [lists for lists in forests.mixed(5, 7, 2)]

    def samples(**bounds):
        return [
            (lists, {name: draw.integers(-1, n, len(lists)).tolist() for name, n in bounds.items()})
            for lists in structures
        ]

    text = models.Variant("tree_lstm", 3, 2, TABLE, "f64").text
    failures = Trainer("tree_lstm", text, os.path.join(folder, "tree_lstm")).check_training(
        samples(word=WORDS, label=5), 4, "embedding"
    )
    # A table with several gradients changes as a whole.
    text = re.sub("first", "word", check_reducers.LOOKUPS)
    failures += Trainer("lookups", text, os.path.join(folder, "lookups")).check_training(
        samples(word=WORDS, second=WORDS), 17
    )
    print("parameters are as the equations say" if not failures else f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
