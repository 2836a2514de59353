# check_model.py MODEL FOLDER: compiles an example of docs/examples in several
# variants and compares every result on every structure with the reference.
#
# The error of a row is its largest difference, relative to the row's largest
# magnitude in the reference, but at least 1/1000 of the whole result's, so that
# a row of zeros has an error, too. Bounds: 1e-5 in f32, 1e-12 in f64.

import os
import sys

import numpy as np

import forests
import models
import references

BOUNDS = {"f32": 1e-5, "f64": 1e-12}


class Checker:
    def __init__(self, model, folder):
        self.model, self.folder = model, folder
        self.arity = 2 if model.startswith("tree") else 1
        self.per_vertex = {"hidden"}
        if model == "bilstm":
            self.per_vertex.add("logits")
        self.failures = 0
        self.runs = 0
        self.worst = {"f32": 0.0, "f64": 0.0}
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    #===-- Comparing ---------------------------------------------------------===#

    def fail(self, what, message):
        self.failures += 1
        print(f"FAILED {what}: {message}")

    def compare(self, what, found, expected, dtype):
        """Every result, row by row. `dtype` is that of the arithmetic."""
        if list(found) != list(expected):
            self.fail(what, f"results {list(found)}, expected {list(expected)}")
            return
        for name, rows in expected.items():
            if found[name].shape != rows.shape:
                shapes = f"{found[name].shape}, expected {rows.shape}"
                self.fail(what, f"{name} has the shape {shapes}")
                continue
            if rows.size == 0:
                continue
            size = np.abs(rows).max(axis=1)
            scale = np.maximum(size, 1e-3 * size.max())
            errors = np.abs(found[name] - rows).max(axis=1) / scale
            worst = np.argmax(np.where(np.isnan(errors), np.inf, errors))
            self.worst[dtype] = max(self.worst[dtype], errors[worst])
            if not errors[worst] <= BOUNDS[dtype]:
                self.fail(what, f"{name}[{worst}] is off by {errors[worst]:.3g}")

    def same(self, what, found, expected):
        for name in expected:
            if found[name].tobytes() != expected[name].tobytes():
                self.fail(what, f"{name} differs in its bits")

    #===-- Running -----------------------------------------------------------===#

    def compile(self, variant, *ablate):
        source = self.path(variant.name + ".mlir")
        with open(source, "w") as file:
            file.write(variant.text)
        library = self.path("-".join([variant.name, *ablate]) + ".so")
        flags = [f"--ablate={','.join(ablate)}"] if ablate else []
        models.call("espalier-compile", source, "-o", library, *flags)
        return library

    def run(self, tool, model, weights, structures, *options):
        self.runs += 1
        output = self.path("results.npz")
        models.call(
            tool, model, "--weights", weights, "--structures", structures,
            "--output", output, *options,
        )  # fmt: skip
        return dict(np.load(output))

    def reference(self, weights, structures, words):
        graph = references.Levels(structures, self.arity)
        flat = [word for line in words for word in line]
        weights = {name: value.astype(float) for name, value in weights.items()}
        return getattr(references, self.model)(graph, weights, flat)

    #===-- What is checked ---------------------------------------------------===#

    def prepare(self, variant):
        """Compiles a variant; returns its library, weights and their file."""
        weights = variant.weights(seed=7)
        file = self.path(variant.name + ".safetensors")
        models.write_safetensors(file, weights)
        return self.compile(variant), weights, file

    def check_mixed(self, variant, count, interpret, ablations):
        library, weights, file = self.prepare(variant)
        structures = forests.mixed(11, count, self.arity)
        if self.model == "bilstm":  # Reversed, a vertex has one child, too.
            structures = [
                lists for lists in structures
                if all(len(above) < 2 for above in references.parents(lists))
            ]  # fmt: skip
        words = forests.words(12, structures, variant.table)
        path = self.path("mixed.jsonl")
        forests.write(path, structures, words)
        expected = self.reference(weights, structures, words)

        def check(*options, model=library, data=path, rows=expected):
            found = self.run("espalier-run", model, file, data, *options)
            what = f"{variant.name} {os.path.basename(model)} {' '.join(options)}"
            self.compare(what, found, rows, variant.dtype)
            return found

        for batch in ["1", "7", "64", "0"]:
            check("--batch-size", batch)
        check("--policy", "serial", "--batch-size", "7")
        check("--batch-size", "7", "--threads", "2")
        first = check("--batch-size", "0", "--threads", "2")
        again = check("--batch-size", "0", "--threads", "2")
        self.same(f"{variant.name}, a second run", again, first)
        if variant.dtype == "f32":
            for gemm in os.environ.get("ESPALIER_TEST_GEMM", "builtin").split():
                os.environ["ESPALIER_GEMM"] = gemm
                check()
            del os.environ["ESPALIER_GEMM"]
        for flags in ablations:
            check(model=self.compile(variant, *flags))

        order = np.random.default_rng(13).permutation(len(structures))
        permuted = self.path("permuted.jsonl")
        forests.write(
            permuted, [structures[k] for k in order], [words[k] for k in order]
        )
        check(data=permuted, rows=self.permute(expected, structures, order))

        few = structures[:interpret]
        rows = sum(map(len, few))
        found = self.run(
            "espalier-interpret", self.path(variant.name + ".mlir"), file, path,
            "--limit", str(interpret),
        )  # fmt: skip
        expected = {
            name: value[: rows if name in self.per_vertex else len(few)]
            for name, value in expected.items()
        }
        self.compare(f"{variant.name} interpreted", found, expected, "f64")

    def permute(self, results, structures, order):
        ends = np.cumsum([len(lists) for lists in structures])
        rows = [np.arange(ends[k] - len(structures[k]), ends[k]) for k in order]
        rows = np.concatenate(rows)
        return {
            name: value[rows if name in self.per_vertex else order]
            for name, value in results.items()
        }

    def check_deep(self, variant):
        """A chain of 100,000 vertices, and for trees the deepest of that many;
        then no structure at all."""
        library, weights, file = self.prepare(variant)
        deep = [forests.chain(100000)]
        if self.arity == 2:
            deep.append(forests.comb(100001))
        path = self.path("deep.jsonl")
        for structures in deep, []:
            words = forests.words(14, structures, variant.table)
            forests.write(path, structures, words)
            expected = self.reference(weights, structures, words)
            found = self.run("espalier-run", library, file, path)
            self.compare(f"{variant.name}, deep", found, expected, variant.dtype)

    def check_text(self, variant, path):
        """PTB trees or lines of words; for sequences also the words of trees."""
        library, weights, file = self.prepare(variant)
        trees = not path.endswith("sentences.txt")
        read = models.read_ptb if trees else models.read_sequences
        structures, words = read(path)
        what = f"{variant.name} on {os.path.basename(path)}"
        if trees and self.arity == 1:
            path = self.path("words.txt")
            with open(path, "w") as text:
                for line in words:
                    text.write(" ".join(w for w in line if w is not None) + "\n")
            structures, words = models.read_sequences(path)
        vocabulary = self.path("vocabulary.txt")
        found = self.run(
            "espalier-run", library, file, path, "--save-vocabulary", vocabulary,
            "--format", "ptb" if self.arity == 2 else "sequence",
        )  # fmt: skip
        with open(vocabulary) as text:
            ids = {word: id for id, word in enumerate(text.read().splitlines())}
        ids[None] = -1
        words = [[ids[word] for word in line] for line in words]
        expected = self.reference(weights, structures, words)
        self.compare(what, found, expected, variant.dtype)
        print(f"{what}: {len(structures)} structures")


def main():
    model, folder = sys.argv[1:]
    data = os.environ.get("ESPALIER_TEST_DATA", "")
    checker = Checker(model, folder)

    def variant(state, embedding, table, dtype):
        # In these an embedding is as wide as the state.
        width = state if model in ["tree_fc", "stacked_lstm"] else embedding
        return models.Variant(model, state, width, table, dtype)

    full = models.Variant(model)
    small = [
        variant(8, 5, 50, "f32"), variant(31, 13, 50, "f32"), variant(31, 13, 50, "f64"),
    ]  # fmt: skip
    ablations = [["fusion"], ["specialization"], ["fusion", "specialization"]]
    for one in small:
        checker.check_mixed(one, 1000, 100, ablations)
        checker.check_deep(one)
    checker.check_mixed(full, 60, 4, ablations[2:])
    shipped = "trees.ptb" if checker.arity == 2 else "sentences.txt"
    checker.check_text(full, os.path.join(models.EXAMPLES, "data", shipped))
    real = os.path.join(data, "sst", "dev.txt")
    if os.path.exists(real):
        checker.check_text(full, real)

    worst = ", ".join(f"{error:.2g} in {dtype}" for dtype, error in checker.worst.items())
    print(f"{checker.runs} runs, largest errors {worst}")
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
