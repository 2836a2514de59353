# ===-- check_random_gradients.py - Gradients of models no one wrote -----===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# For each seed: a random model with a loss, on random structures. Its gradients,
# compiled in several ways, equal finite differences of the compiled loss, and
# what the interpreter makes of the IR that `differentiate` leaves. A model that
# fails is left in FOLDER/SEED. With TYPES, models choose between functions by the
# type of a vertex.
#
# Usage: check_random_gradients.py FOLDER FIRST-SEED LAST-SEED [TYPES]

import os
import shutil
import sys

import numpy as np

from random_model import WORDS, Model

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "Integration"))
import forests
import gradients


def make_structures(seed, children, types):
    draw = np.random.default_rng(seed)

    def fields(count):
        made = {"word": draw.integers(-1, WORDS, count).tolist()}
        if types > 1:
            made["kind"] = draw.integers(0, types, count).tolist()
        return made

    made = [(lists, fields(len(lists))) for lists in forests.mixed(seed, 8, children)]
    return made + made[::3]  # some are there twice


def main(folder, first, last, types=1):
    failures = 0
    worst = 0.0
    seeds = range(int(first), int(last) + 1)
    for seed in seeds:
        model = Model(seed, loss=True, types=int(types))
        checker = gradients.Checker(str(seed), model.text, os.path.join(folder, str(seed)))
        checker.shares = None  # as the model is
        checker.check(make_structures(seed, model.children or 2, int(types)), seed)
        checker.check_interpreter(seed)
        worst = max(worst, checker.worst)
        if checker.failures:
            failures += 1
        else:
            shutil.rmtree(checker.folder)
    if failures:
        sys.exit(f"{failures} of {len(seeds)} models have wrong gradients")
    print(f"{len(seeds)} models, all gradients right; worst {worst:.2g}")


main(*sys.argv[1:])
