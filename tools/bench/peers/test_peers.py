"""Tests of the harness that need NumPy only: python3 -m unittest peers.test_peers"""

from __future__ import annotations

import math
import os
import tempfile
import unittest

import numpy as np

from . import gemm_bound, report, structures
from .comparison import Disagreement, relative_error
from .grouping import Columns, Levels
from .problem import Problem


def treebank(text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trees.txt")
        with open(path, "w") as file:
            file.write(text)
        return structures.read_treebank(path)


def lengths(*numbers):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lengths.txt")
        with open(path, "w") as file:
            file.writelines(f"{n}\n" for n in numbers)
        return structures.read_lengths(path, words=10)


TWO_TREES = "(3 (2 a) (4 (1 b) (0 a)))\n(1 b)\n"


class StructuresTest(unittest.TestCase):
    def test_reads_trees_in_post_order(self):
        trees = treebank(TWO_TREES)
        self.assertEqual(trees.sizes.tolist(), [5, 1])
        self.assertEqual(trees.word.tolist(), [0, 1, 0, -1, -1, 1])
        self.assertEqual(trees.label.tolist(), [2, 1, 0, 4, 3, 1])
        self.assertEqual(trees.height.tolist(), [0, 0, 0, 1, 2, 0])
        self.assertEqual(trees.children[3:5].tolist(), [[1, 2], [0, 3]])
        self.assertEqual(trees.roots.tolist(), [4, 5])

    def test_batches_number_their_vertices_from_0(self):
        first, second = treebank(TWO_TREES + TWO_TREES).batches(3)
        self.assertEqual((len(first), len(second)), (3, 1))
        self.assertEqual(first.children[9:11].tolist(), [[7, 8], [6, 9]])
        self.assertEqual(second.children.tolist(), [[-1, -1]])

    def test_says_which_line_is_no_tree(self):
        for bad in ("(3 (2 a) (4 b)", "(3 (2 a))", "(x a)", "(1 a b)", "(1"):
            with self.assertRaisesRegex(ValueError, ":2: "):
                treebank("(1 b)\n" + bad + "\n")

    def test_a_word_may_hold_a_space_that_is_not_ascii(self):
        self.assertEqual(treebank("(1 8\u00a01)\n").word.tolist(), [0])

    def test_sequences_are_chains_and_empty_ones_left_out(self):
        chains = lengths(2, 0, 3)
        self.assertEqual(chains.sizes.tolist(), [2, 3])
        self.assertEqual(chains.children.ravel().tolist(), [-1, 0, -1, 2, 3])
        self.assertEqual(chains.height.tolist(), [0, 1, 0, 1, 2])

    def test_complete_trees(self):
        trees = structures.complete_trees(leaves=4, count=2, words=10)
        self.assertEqual(trees.sizes.tolist(), [7, 7])
        self.assertEqual(np.bincount(trees.height).tolist(), [8, 4, 2])
        with self.assertRaisesRegex(ValueError, "power of two"):
            structures.complete_trees(leaves=6, count=1, words=10)

    def test_survives_a_file(self):
        trees = treebank(TWO_TREES)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trees.npz")
            trees.save(path)
            loaded = structures.Structures.load(path)
        for name in structures.Structures.ARRAYS:
            np.testing.assert_array_equal(getattr(loaded, name), getattr(trees, name))


class GroupingTest(unittest.TestCase):
    def test_levels(self):
        levels = Levels(treebank(TWO_TREES))
        self.assertEqual(levels.counts, [4, 1, 1])
        self.assertEqual(levels.order.tolist(), [0, 1, 2, 5, 3, 4])
        self.assertEqual(levels.children.tolist(), [1, 2, 0, 4])

    def test_columns_begin_with_the_longest(self):
        columns = Columns(lengths(1, 3, 2))
        self.assertEqual(columns.counts.tolist(), [3, 2, 1])
        self.assertEqual(columns.order.tolist(), [1, 4, 0, 2, 5, 3])
        self.assertEqual(columns.rank.tolist(), [2, 0, 1])


class ErrorTest(unittest.TestCase):
    def test_logits_are_measured_by_the_largest(self):
        error = relative_error("inference", np.array([0.1, 4.0]), np.array([0.0, 4.0]))
        self.assertAlmostEqual(error, 0.025)

    def test_falls_of_a_loss_are_measured_each(self):
        error = relative_error("training", np.array([9.0, 0.0]), np.array([9.0, 0.1]))
        self.assertAlmostEqual(error, 1.0)

    def test_what_is_not_finite_is_wrong(self):
        bad = np.array([np.nan])
        self.assertEqual(relative_error("inference", bad, np.array([1.0])), math.inf)

    def test_shapes_differ(self):
        with self.assertRaises(Disagreement):
            relative_error("inference", np.zeros(2), np.zeros((1, 2)))


class BoundTest(unittest.TestCase):
    def problem(self, mode, model="tree_lstm", threads=1):
        return Problem(model, mode, 8, 2, threads, 0.1, "", "", "", "")

    def rates(self):
        """A machine on which a product takes a second a row."""

        class Fixed(gemm_bound.Rates):
            def measure(self, shape, rows):
                self.seconds.update({(shape, m): float(m) for m in rows})

        return Fixed("", "")

    def test_inference_counts_leaves_levels_and_roots(self):
        # 4 leaves, 2 inner vertices, 2 roots.
        trees = [treebank(TWO_TREES)]
        rates = self.rates()
        self.assertEqual(rates.bound(self.problem("inference"), trees), 8)
        two = self.problem("inference", threads=2)
        self.assertEqual(rates.bound(two, trees), 4)
        self.assertIn(((8, 24), 4), rates.seconds)
        self.assertIn(((16, 40), 1), rates.seconds)

    def test_training_is_three_times_forward(self):
        # The head is at all 6 vertices: 12 rows forward.
        trees = [treebank(TWO_TREES)]
        self.assertEqual(self.rates().bound(self.problem("training"), trees), 36)

    def test_blocks_have_128_rows(self):
        self.assertEqual(
            gemm_bound.in_blocks([((2, 3), 300), ((2, 3), 128)]),
            {((2, 3), 128): 3, ((2, 3), 44): 1},
        )


class ReportTest(unittest.TestCase):
    def cell(self, state, ours, theirs):
        entry = lambda rate: {
            "variant": "v",
            "threads": 1,
            "samples_per_second": rate,
            "quartiles": [0.9 * rate, 1.1 * rate],
            "error": 1e-7,
        }
        peers = {"espalier": entry(ours)}
        peers["torch"] = entry(theirs) if theirs else {"failed": "no such op\nmore"}
        where = {"model": "lstm", "mode": "inference", "threads": 1, "batch": 1}
        where["busy_cores"] = 0
        return {**where, "state": state, "data": "data", "peers": peers}

    def text(self, *cells):
        return report.markdown({"machine": "m", "repeats": 3, "cells": cells})

    def test_ratios_and_their_geometric_mean(self):
        text = self.text(self.cell(8, 400, 100), self.cell(16, 100, 100))
        self.assertIn("| 8 | 1 | 400 ±10% | 100 ±10% | 4.00 |", text)
        self.assertIn("| geometric mean |  |  |  | 2.00 |", text)

    def test_says_that_the_machine_was_busy(self):
        cell = self.cell(8, 400, 100)
        self.assertNotIn("busy", self.text(cell))
        cell["busy_cores"] = 1.5
        self.assertIn("others kept 1.5 cores busy", self.text(cell))

    def test_names_the_variant_and_its_threads(self):
        cell = self.cell(8, 400, 100)
        cell["threads"] = 2
        cell["peers"]["espalier"]["threads"] = 2
        text = self.text(cell)
        self.assertIn("* espalier: v; results", text)
        self.assertIn("* torch: v with 1 thread; results", text)

    def test_a_failure_is_shown_and_in_no_mean(self):
        text = self.text(self.cell(8, 400, 100), self.cell(16, 100, None))
        self.assertIn("| 16 | 1 | 100 ±10% | failed |  |", text)
        self.assertIn("| geometric mean |  |  |  | 4.00 |", text)
        self.assertIn("* torch, state 16, batch 1: no such op\n", text)


if __name__ == "__main__":
    unittest.main()
