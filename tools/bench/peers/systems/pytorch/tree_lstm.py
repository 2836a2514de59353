"""The binary Tree-LSTM in PyTorch.

Gate columns are i, f_left, f_right, o, u. A leaf has no children, so it needs
neither forget gate: of W only the columns of i, o and u.
"""

from __future__ import annotations

import torch

from ...grouping import Levels
from .common import TorchImplementation
from .handed_on import HandedOn
from .tree_lstm_manual import ManualTreeLstm


class TreeLstm(TorchImplementation):
    inference = {"levels": "infer", "compile": "infer_compiled", "naive": "infer_naive"}
    training = {
        "split": "train_split",
        "cat": "train_cat",
        "manual": "train_manual",
        "naive": "train_naive",
        "compile": "train_compiled",
    }

    def __init__(self, problem):
        self.rows = 0
        self.compiled = torch.compile(self.inner_cell, dynamic=True)
        super().__init__(problem)

    def after_reset(self):
        with torch.no_grad():
            self.leaf_weights = self.leaf_columns()

    def leaf_columns(self):
        """The columns of W and b that leaves need."""
        h, w = self.problem.state, self.weights
        return tuple(
            torch.cat([x[..., :h], x[..., 3 * h :]], -1) for x in (w["W"], w["b"])
        )

    def construct(self, batch, variant):
        if self.problem.mode == "training" and variant in ("split", "compile"):
            return HandedOn(batch)
        return Levels(batch)

    # Inference: states of all vertices in one buffer, sorted by height.

    def infer(self, batch):
        return self._infer(batch, self.inner_in_place)

    def infer_compiled(self, batch):
        return self._infer(batch, self.inner_compiled)

    def _infer(self, batch, inner):
        levels = Levels(batch)
        size, counts = self.problem.state, levels.counts
        if self.rows < batch.vertices:
            self.rows = batch.vertices
            self.buffers = torch.empty(2, self.rows, size)
        h, c = self.buffers.unbind()
        vertices = [*counts, self.rows - batch.vertices]
        hs, cs = h.split(vertices), c.split(vertices)

        leaves = torch.from_numpy(levels.order[: counts[0]])
        x = self.embed(batch.words.index_select(0, leaves))
        W, b = self.leaf_weights
        gates = torch.addmm(b, x, W)
        sigmoids, u = gates.split((2 * size, size), 1)
        i, o = sigmoids.sigmoid_().chunk(2, 1)
        torch.mul(i, u.tanh_(), out=cs[0])
        torch.mul(o, cs[0].tanh(), out=hs[0])

        children = torch.from_numpy(levels.children)
        pairs = children.split([2 * count for count in counts[1:]])
        for count, pair, h_out, c_out in zip(counts[1:], pairs, hs[1:], cs[1:]):
            below = h.index_select(0, pair).view(count, 2 * size)
            cells = c.index_select(0, pair).view(count, 2 * size)
            inner(below, cells, h_out, c_out)
        roots = torch.from_numpy(levels.row[batch.roots])
        return self.head(h.index_select(0, roots))

    def inner_in_place(self, below, cells, h_out, c_out):
        size = self.problem.state
        gates = torch.addmm(self.weights["b"], below, self.weights["U"])
        sigmoids, u = gates.split((4 * size, size), 1)
        i, left, right, o = sigmoids.sigmoid_().chunk(4, 1)
        c_left, c_right = cells.chunk(2, 1)
        torch.mul(i, u.tanh_(), out=c_out)
        c_out.addcmul_(left, c_left).addcmul_(right, c_right)
        torch.mul(o, c_out.tanh(), out=h_out)

    def inner_compiled(self, below, cells, h_out, c_out):
        gates = torch.addmm(self.weights["b"], below, self.weights["U"])
        h, c = self.compiled(gates, cells)
        h_out.copy_(h)
        c_out.copy_(c)

    # Training: the same by functions that autograd knows.

    @staticmethod
    def inner_cell(gates, cells):
        """h and c from gates before their activations, and the children's c."""
        size = gates.shape[1] // 5
        sigmoids, u = gates.split((4 * size, size), 1)
        i, left, right, o = sigmoids.sigmoid().chunk(4, 1)
        c_left, c_right = cells.chunk(2, 1)
        c = torch.addcmul(i * u.tanh(), left, c_left)
        c = torch.addcmul(c, right, c_right)
        return o * c.tanh(), c

    def train_leaves(self, batch, order):
        W, b = self.leaf_columns()
        x = self.embed(batch.words.index_select(0, torch.from_numpy(order)))
        i, o, u = torch.addmm(b, x, W).chunk(3, 1)
        c = i.sigmoid() * u.tanh()
        return o.sigmoid() * c.tanh(), c

    def train_inner(self, below, cells, cell):
        size = self.problem.state
        gates = torch.addmm(
            self.weights["b"], below.view(-1, 2 * size), self.weights["U"]
        )
        return cell(gates, cells.view(-1, 2 * size))

    def train_split(self, batch, cell=None):
        handed = HandedOn(batch)
        counts = handed.counts
        states = self.train_leaves(batch, handed.order[: counts[0]])
        hs = [states[0]]
        handed.give(0, states)
        for level in range(1, len(counts)):
            below, cells = handed.take(level)
            states = self.train_inner(below, cells, cell or self.inner_cell)
            hs.append(states[0])
            handed.give(level, states)
        labels = batch.labels.index_select(0, torch.from_numpy(handed.order))
        return torch.cat(hs), labels

    def train_compiled(self, batch):
        return self.train_split(batch, self.compiled)

    def train_cat(self, batch):
        levels = Levels(batch)
        counts = levels.counts
        h, c = self.train_leaves(batch, levels.order[: counts[0]])
        children = torch.from_numpy(levels.children)
        for pair in children.split([2 * count for count in counts[1:]]):
            below, cells = h.index_select(0, pair), c.index_select(0, pair)
            h_new, c_new = self.train_inner(below, cells, self.inner_cell)
            h, c = torch.cat([h, h_new]), torch.cat([c, c_new])
        return h, batch.labels.index_select(0, torch.from_numpy(levels.order))

    def train_manual(self, batch):
        levels = Levels(batch)
        order = torch.from_numpy(levels.order)
        x = self.embed(batch.words.index_select(0, order[: levels.counts[0]]))
        w = self.weights
        h = ManualTreeLstm.apply(x, w["W"], w["U"], w["b"], levels)
        return h, batch.labels.index_select(0, order)

    # Vertex by vertex.

    def _naive(self, batch):
        W, b = self.leaf_columns()
        states = []
        for word, (left, right) in zip(batch.word, batch.children):
            if left < 0:
                x = self.embed(torch.tensor([word]))
                i, o, u = torch.addmm(b, x, W).chunk(3, 1)
                c = i.sigmoid() * u.tanh()
                states.append((o.sigmoid() * c.tanh(), c))
            else:
                below, cells = zip(states[left], states[right])
                states.append(
                    self.train_inner(
                        torch.cat(below, 1), torch.cat(cells, 1), self.inner_cell
                    )
                )
        return [h for h, _ in states]

    def infer_naive(self, batch):
        states = self._naive(batch)
        return torch.cat([self.head(states[root]) for root in batch.roots])

    def train_naive(self, batch):
        return torch.cat(self._naive(batch)), batch.labels
