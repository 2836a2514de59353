"""Tree-FC in PyTorch: h = relu([h_left; h_right] W + b + x)."""

from __future__ import annotations

import torch

from ...grouping import Levels
from .common import TorchImplementation
from .handed_on import HandedOn


class TreeFc(TorchImplementation):
    inference = {"levels": "infer", "naive": "infer_naive"}
    training = {"split": "train_split", "naive": "train_naive"}

    def __init__(self, problem):
        self.rows = 0
        super().__init__(problem)

    def construct(self, batch, variant):
        if self.problem.mode == "training" and variant in ("split", "compile"):
            return HandedOn(batch)
        return Levels(batch)

    def leaves(self, batch, order):
        x = self.embed(batch.words.index_select(0, torch.from_numpy(order)))
        return torch.relu(x + self.weights["b"])

    def inner(self, below):
        below = below.view(-1, 2 * self.problem.state)
        return torch.addmm(self.weights["b"], below, self.weights["W"]).relu_()

    def infer(self, batch):
        levels = Levels(batch)
        size, counts = self.problem.state, levels.counts
        if self.rows < batch.vertices:
            self.rows = batch.vertices
            self.buffer = torch.empty(self.rows, size)
        h, w = self.buffer, self.weights
        parts = h.split([*counts, self.rows - batch.vertices])
        x = self.embed(
            batch.words.index_select(0, torch.from_numpy(levels.order[: counts[0]]))
        )
        torch.add(x, w["b"], out=parts[0]).relu_()
        children = torch.from_numpy(levels.children)
        pairs = children.split([2 * count for count in counts[1:]])
        for pair, out in zip(pairs, parts[1:]):
            below = h.index_select(0, pair).view(-1, 2 * size)
            torch.addmm(w["b"], below, w["W"], out=out).relu_()
        roots = torch.from_numpy(levels.row[batch.roots])
        return self.head(h.index_select(0, roots))

    def train_split(self, batch):
        handed = HandedOn(batch)
        hs = [self.leaves(batch, handed.order[: handed.counts[0]])]
        handed.give(0, hs)
        for level in range(1, len(handed.counts)):
            h = self.inner(*handed.take(level))
            hs.append(h)
            handed.give(level, [h])
        labels = batch.labels.index_select(0, torch.from_numpy(handed.order))
        return torch.cat(hs), labels

    def _naive(self, batch):
        states = []
        for word, (left, right) in zip(batch.word, batch.children):
            if left < 0:
                x = self.embed(torch.tensor([word]))
                states.append(torch.relu(x + self.weights["b"]))
            else:
                states.append(self.inner(torch.cat((states[left], states[right]), 1)))
        return states

    def infer_naive(self, batch):
        states = self._naive(batch)
        return torch.cat([self.head(states[root]) for root in batch.roots])

    def train_naive(self, batch):
        return torch.cat(self._naive(batch)), batch.labels
