"""All networks in NumPy, by height, for inference: what the harness is tested
with. It is no peer: nobody would call it fast."""

from __future__ import annotations

import numpy as np

from ..grouping import Levels
from ..implementation import Implementation


def build(problem, variant):
    if problem.mode != "inference":
        return None
    return Reference(problem)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Reference(Implementation):
    def __init__(self, problem):
        super().__init__(problem)
        self.weights = problem.weights()
        self.cell = getattr(self, problem.model)

    def variants(self):
        return {"levels": self.run}

    def construct(self, batch, variant):
        return Levels(batch)

    def run(self, batch):
        levels, h = Levels(batch), self.problem.state
        word = batch.word[levels.order]
        x = np.where(word[:, None] < 0, 0, self.weights["embedding"][word])
        # The last row stands for a child that is not there.
        states = np.zeros((2, len(word) + 1, h), np.float32)
        begin = 0
        for count in levels.counts:
            rows = slice(begin, begin + count)
            vertices = levels.order[rows]
            children = batch.children[vertices]
            children = np.where(children < 0, len(word), levels.row[children])
            states[:, rows] = self.cell(x[rows], *states[:, children])
            begin += count
        root = states[0, levels.row[batch.roots]]
        return root @ self.weights["head.W"] + self.weights["head.b"]

    def gates(self, x, h_children):
        w = self.weights
        return x @ w["W"] + h_children.reshape(len(x), -1) @ w["U"] + w["b"]

    def tree_lstm(self, x, h, c):
        gates = np.split(self.gates(x, h), 5, axis=1)
        i, left, right, o = map(sigmoid, gates[:4])
        cell = i * np.tanh(gates[4]) + left * c[:, 0] + right * c[:, 1]
        return o * np.tanh(cell), cell

    def lstm(self, x, h, c):
        i, f, g, o = np.split(self.gates(x, h), 4, axis=1)
        cell = sigmoid(f) * c[:, 0] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(cell), cell

    def tree_fc(self, x, h, c):
        w = self.weights
        out = np.maximum(h.reshape(len(x), -1) @ w["W"] + w["b"] + x, 0)
        return out, np.zeros_like(out)
