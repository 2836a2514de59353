# The gradient of a compiled loss, compared with finite differences of the loss
# itself in float64, with sums of singles, and with itself when compiled and run
# in other ways.

import json
import os
import re

import numpy as np

import models

# What espalier-compile can leave out (--ablate) without changing results.
ABLATIONS = ["fusion", "specialization", "recomputation", "splitting",
             "eager", "lazy", "sharing"]
# What espalier-run can.
RUNTIME_ABLATIONS = ["elision", "streaming", "sub-batches", "sharing"]

# Of gradients along random directions, in float64.
BOUND = 1e-6
# Of float64 gradients computed in another order.
SAME = 1e-11
# Of float32 gradients.
SINGLE = 2e-4


class Checker:
    """Checks one model: `text` has an entry with a result `loss`. `shares` says
    whether its gradient evaluates equal vertices, of which there must be some,
    once."""

    shares = True

    def __init__(self, name, text, folder):
        self.name, self.text, self.folder = name, text, folder
        self.failures = 0
        self.worst = 0.0
        os.makedirs(folder, exist_ok=True)
        self.entry = re.search(
            r'func\.func @(\w+)\((?:(?!func\.func).)*?nn\.output = "loss"',
            text,
            re.S,
        )[1]

    def path(self, name):
        return os.path.join(self.folder, name)

    def fail(self, message):
        self.failures += 1
        print(f"FAILED {self.name}: {message}")

    def compile(self, dtype, *options):
        name = "-".join([dtype, *options]).replace("=", "-")
        with open(self.path(name + ".mlir"), "w") as file:
            file.write(re.sub("f(32|64)", dtype, self.text))
        library = self.path(name + ".so")
        models.call(
            "espalier-compile", self.path(name + ".mlir"), "-o", library,
            "--gradient", *options,
        )
        return library

    def shapes(self):
        found = re.findall(
            r'tensor<((?:\d+x)*)f\d\d> \{nn\.param = "(.*?)"', self.text
        )
        return {
            name: tuple(int(n) for n in shape.split("x") if n)
            for shape, name in found
        }

    def weights(self, seed, dtype):
        draw = np.random.default_rng(seed)
        result = {}
        for name, shape in self.shapes().items():
            bound = 1 if len(shape) < 2 else (3 / max(1, shape[0])) ** 0.5
            result[name] = draw.uniform(-bound, bound, shape).astype(dtype)
        return result

    def write_structures(self, structures):
        """`structures`: pairs of child lists and fields by name."""
        with open(self.path("structures.jsonl"), "w") as file:
            for children, fields in structures:
                file.write(json.dumps({"children": children, "fields": fields}) + "\n")

    def run(self, library, entry, weights, *options):
        models.write_safetensors(self.path("weights.safetensors"), weights)
        models.call(
            "espalier-run", library, "--entry", entry,
            "--weights", self.path("weights.safetensors"),
            "--structures", self.path("structures.jsonl"),
            "--output", self.path("results.npz"), *options,
        )
        with np.load(self.path("results.npz")) as file:
            return dict(file)

    def gradients(self, library, weights, *options):
        """Summed over batches."""
        results = self.run(library, self.entry + ".gradient", weights, *options)
        return {
            name: results["gradient." + name].sum(axis=0) for name in weights
        }

    def evaluated(self, library, weights, *options):
        """How many vertices the gradient evaluates, and how many there are."""
        path = self.path("stats.json")
        options += ("--batch-size", "0", "--stats", path)
        self.run(library, self.entry + ".gradient", weights, *options)
        with open(path) as file:
            stats = json.load(file)
        return stats["evaluated_vertices"], stats["vertices"]

    def check_sharing(self, library, weights):
        evaluated, vertices = self.evaluated(library, weights)
        if self.shares is not None and (evaluated < vertices) != self.shares:
            self.fail(f"{evaluated} of {vertices} vertices are evaluated")
        if self.evaluated(library, weights, "--ablate=sharing") != (vertices, vertices):
            self.fail("with --ablate=sharing not all vertices are evaluated")

    def loss(self, library, weights):
        return self.run(library, self.entry, weights, "--batch-size", "0")["loss"].sum()

    def compare(self, what, found, expected, bound):
        for name, gradient in expected.items():
            scale = np.abs(gradient).max(initial=0) or 1.0
            error = np.abs(found[name] - gradient).max(initial=0) / scale
            if not error <= bound:
                self.fail(f"{what}: {name}, of the gradients, is off by {error:.3g}")

    def check(self, structures, seed=1):
        self.write_structures(structures)
        weights = self.weights(seed, "<f8")
        library = self.compile("f64")
        gradients = self.gradients(library, weights, "--batch-size", "0")
        self.check_differences(library, weights, gradients, seed)

        singles = self.gradients(library, weights, "--batch-size", "1")
        self.compare("singles", singles, gradients, SAME)
        serial = self.gradients(
            library, weights, "--batch-size", "0", "--policy", "serial"
        )
        self.compare("serial", serial, gradients, SAME)
        threads = self.gradients(library, weights, "--batch-size", "0", "--threads", "3")
        self.compare("threads", threads, gradients, SAME)
        for ablated in RUNTIME_ABLATIONS:
            found = self.gradients(
                library, weights, "--batch-size", "0", "--threads", "2",
                "--ablate", ablated,
            )  # fmt: skip
            self.compare("without " + ablated, found, gradients, SAME)
        again = self.gradients(library, weights, "--batch-size", "0")
        for name in gradients:
            if again[name].tobytes() != gradients[name].tobytes():
                self.fail(f"a second run gives other bits for {name}")
        self.check_sharing(library, weights)
        for ablated in ABLATIONS:
            other = self.compile("f64", "--ablate=" + ablated)
            found = self.gradients(other, weights, "--batch-size", "0")
            self.compare("without " + ablated, found, gradients, SAME)

        single = self.compile("f32")
        narrow = {name: w.astype("<f4") for name, w in weights.items()}
        found = self.gradients(single, narrow, "--batch-size", "0")
        self.compare("float32", found, gradients, SINGLE)
        return self.failures

    def check_interpreter(self, seed=1):
        """After `check`: what the interpreter makes of the IR that differentiate
        leaves equals what was compiled."""
        weights = self.weights(seed, "<f8")
        ir = self.path("gradient.mlir")
        models.call(
            "espalier-opt", self.path("f64.mlir"), "--share-vertices",
            "--differentiate", "-o", ir,
        )
        models.write_safetensors(self.path("weights.safetensors"), weights)
        models.call(
            "espalier-interpret", ir, "--entry", self.entry + ".gradient",
            "--weights", self.path("weights.safetensors"),
            "--structures", self.path("structures.jsonl"),
            "--output", self.path("interpreted.npz"),
        )
        with np.load(self.path("interpreted.npz")) as file:
            interpreted = dict(file)
        compiled = self.run(
            self.path("f64.so"), self.entry + ".gradient", weights, "--batch-size", "0"
        )
        for name, rows in compiled.items():
            compiled[name] = rows.reshape(interpreted[name].shape)
        self.compare("interpreted", interpreted, compiled, SAME)

    def check_differences(self, library, weights, gradients, seed):
        draw = np.random.default_rng(seed + 1)
        total = np.sqrt(sum((g**2).sum() for g in gradients.values())) or 1.0
        for name, weight in weights.items():
            direction = draw.standard_normal(weight.shape)
            direction /= np.sqrt((direction**2).sum()) or 1.0

            def at(step):
                moved = dict(weights)
                moved[name] = weight + step * direction
                return self.loss(library, moved)

            # The fourth-order formula, whose error is that of rounding here.
            h = 1e-3
            expected = (
                8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))
            ) / (12 * h)
            found = (gradients[name] * direction).sum()
            own = np.sqrt((gradients[name] ** 2).sum())
            error = abs(found - expected) / max(abs(expected), 1e-2 * own, 1e-4 * total)
            self.worst = max(self.worst, error)
            if not error <= BOUND:
                self.fail(
                    f"along a direction of {name} the gradient is {found!r}, "
                    f"differences give {expected!r}"
                )
