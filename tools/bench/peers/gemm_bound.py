"""The time of a problem's matrix products alone, at the rates of bare ones.

espalier-gemm-bench measures the rate of a product for each number of rows that
occurs, with packed weights and all operands in the cache. Products of more than
128 rows count as blocks of 128, as the runtime cuts them. Of leaves only the
columns that they need count. Training adds the products with transposed weights,
row for row, and one product a parameter over all vertices, at the rate of 128
rows. Several threads divide the time of one.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter

import numpy as np

from .structures import CLASSES

BLOCK = 128


def products(problem, batch):
    """((k, n), rows) of the forward products of a batch, in no order."""
    h, counts = problem.state, np.bincount(batch.height).tolist()
    training = problem.mode == "training"
    heads = [((h, CLASSES), batch.vertices if training else len(batch))]
    if problem.model == "tree_lstm":
        found = [((h, 3 * h), counts[0])]
        found += [((2 * h, 5 * h), count) for count in counts[1:]]
    elif problem.model == "lstm":
        found = [((h, 4 * h), batch.vertices)]
        found += [((h, 4 * h), count) for count in counts[1:]]
    else:
        found = [((2 * h, h), count) for count in counts[1:]]
    return found + heads


def in_blocks(found):
    """How often each ((k, n), rows <= 128) occurs."""
    times = Counter()
    for shape, rows in found:
        times[shape, BLOCK] += rows // BLOCK
        times[shape, rows % BLOCK] += 1
    return {key: count for key, count in times.items() if count and key[1]}


class Rates:
    """Seconds of single products, measured once each."""

    def __init__(self, tools, backend):
        self.program = os.path.join(tools, "espalier-gemm-bench")
        self.backend = backend
        self.seconds = {}

    def measure(self, shape, rows):
        rows = sorted(m for m in rows if (shape, m) not in self.seconds)
        if not rows:
            return
        k, n = shape
        command = [self.program, "--m", ",".join(map(str, rows))]
        command += ["--backend", self.backend, f"{k}x{n}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        for m, rate in re.findall(r"^ *(\d+) +([\d.]+)$", done.stdout, re.M):
            self.seconds[shape, int(m)] = 2e-9 * int(m) * k * n / float(rate)

    def bound(self, problem, batches):
        """Seconds of all products of all batches."""
        forward = [item for batch in batches for item in products(problem, batch)]
        training = problem.mode == "training"
        backward = [((n, k), m) for (k, n), m in forward] if training else []
        blocks = in_blocks(forward + backward)
        wanted = {}
        for shape, rows in blocks:
            wanted.setdefault(shape, {BLOCK}).add(rows)
        for shape, rows in wanted.items():
            self.measure(shape, rows)
        total = sum(self.seconds[key] * count for key, count in blocks.items())
        if training:  # the parameters' gradients
            total += sum(
                self.seconds[shape, BLOCK] * rows / BLOCK for shape, rows in forward
            )
        return total / problem.threads
