# ===-- check_random_models.py - Compiled against interpreted ------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# For each seed: a random model and random structures, among them some without
# vertices. A model that fails is left in FOLDER, as SEED.mlir. With TYPES, models
# choose between functions by the type of a vertex; some types may be absent.
#
# Usage: check_random_models.py FOLDER FIRST-SEED LAST-SEED [TYPES]

import os
import subprocess
import sys

import numpy as np

from random_model import WORDS, Model

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Integration"))
import forests

# Largest error of a result, relative to its largest magnitude.
BOUNDS = {"f32": 5e-4, "f64": 1e-10}
ABLATIONS = ["", "fusion", "specialization", "sharing", "fusion,specialization"]


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.returncode}\n{done.stderr}")


def write_structures(model, seed, base, types):
    """Structures with words, and rows of "x" for all of their vertices."""
    draw = np.random.default_rng(seed)
    structures = forests.mixed(seed, 12, model.children or 2)
    words = [draw.integers(-1, WORDS, len(s)).tolist() for s in structures]
    once = sum(map(len, structures))
    # The first ones come twice, and are evaluated once.
    structures += structures[:4]
    words += words[:4]
    kinds = None
    if types > 1:
        present = draw.permutation(types)[: draw.integers(1, types + 1)]
        kinds = [draw.choice(present, len(s)).tolist() for s in structures]
        kinds[-4:] = kinds[:4]
    forests.write(base + ".jsonl", structures, words, kinds)
    rows = draw.uniform(-1, 1, (once, *model.row))
    rows = np.concatenate([rows, rows[: sum(map(len, structures[:4]))]])
    np.save(base + ".npy", rows.astype(np.float32 if model.element == "f32" else float))


def run(tool, model, base, *options):
    results = base + ".npz"
    call(
        tool, model, "--structures", base + ".jsonl", "--random-weights=1",
        "--input", f"x={base}.npy", "--output", results, *options,
    )  # fmt: skip
    return dict(np.load(results))


def compare(found, expected, bound):
    if list(found) != list(expected):
        raise RuntimeError(f"results {list(found)}, expected {list(expected)}")
    for name, rows in expected.items():
        if found[name].shape != rows.shape:
            shapes = f"{found[name].shape}, expected {rows.shape}"
            raise RuntimeError(f"{name} has the shape {shapes}")
        if rows.size == 0:
            continue
        error = np.abs(found[name] - rows).max() / max(1e-3, np.abs(rows).max())
        if not error <= bound:
            raise RuntimeError(f"{name} is off by {error:.3g}")


def check(model, seed, base, types):
    source, library = base + ".mlir", base + ".so"
    with open(source, "w") as file:
        file.write(model.text)
    write_structures(model, seed, base, types)
    expected = run("espalier-interpret", source, base)
    for ablation in ABLATIONS:
        flags = [f"--ablate={ablation}"] if ablation else []
        call("espalier-compile", source, "-o", library, *flags)
        for policy in ["batched"] if ablation else ["batched", "serial"]:
            found = run("espalier-run", library, base, "--policy", policy)
            try:
                compare(found, expected, BOUNDS[model.element])
            except RuntimeError as error:
                raise RuntimeError(f"{ablation or 'optimised'}, {policy}: {error}")


def main(folder, first, last, types=1):
    os.makedirs(folder, exist_ok=True)
    failures = 0
    seeds = range(int(first), int(last) + 1)
    for seed in seeds:
        base = os.path.join(folder, str(seed))
        try:
            check(Model(seed, types=int(types)), seed, base, int(types))
        except RuntimeError as error:
            failures += 1
            print(f"FAILED {base}.mlir: {error}")
            continue
        for suffix in (".mlir", ".so", ".jsonl", ".npy", ".npz"):
            os.remove(base + suffix)
    if failures:
        sys.exit(f"{failures} of {len(seeds)} models failed")
    print(f"{len(seeds)} models, all results equal")


main(*sys.argv[1:])
