"""The LSTM in PyTorch. Gate columns are i, f, g, o, as in nn.LSTM."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.utils.rnn import PackedSequence

from ...grouping import Columns
from .common import TorchImplementation


class Lstm(TorchImplementation):
    inference = {
        "packed": "infer_packed",
        "padded": "infer_padded",
        "loop": "infer_loop",
        "naive": "infer_naive",
    }
    training = {
        "loop": "train_loop",
        "packed": "train_packed",
        "naive": "train_naive",
    }

    def after_reset(self):
        size, w = self.problem.state, self.weights
        self.module = torch.nn.LSTM(size, size)
        self.module.bias_hh_l0.data.zero_()
        if self.problem.mode == "inference":
            self.module.weight_ih_l0.data = w["W"].t().contiguous()
            self.module.weight_hh_l0.data = w["U"].t().contiguous()
            self.module.bias_ih_l0.data = w["b"]

    def construct(self, batch, variant):
        return Columns(batch)

    def infer_packed(self, batch):
        columns = Columns(batch)
        words = batch.words.index_select(0, torch.from_numpy(columns.order))
        counts = torch.from_numpy(columns.counts)
        _, (h, _) = self.module(PackedSequence(self.embed(words), counts))
        return self.head(h[0].index_select(0, torch.from_numpy(columns.rank)))

    def infer_padded(self, batch):
        """Every sequence as long as the longest: nn.LSTM is faster without
        lengths."""
        count, longest = len(batch), int(batch.sizes.max())
        lengths = torch.from_numpy(batch.sizes)
        words = torch.zeros(longest, count, dtype=torch.int64)
        sequence = torch.repeat_interleave(torch.arange(count), lengths)
        words[torch.from_numpy(batch.height.astype(np.int64)), sequence] = batch.words
        x = self.embed(words.view(-1)).view(longest, count, -1)
        h, _ = self.module(x)
        return self.head(h[lengths - 1, torch.arange(count)])

    def infer_loop(self, batch):
        columns = Columns(batch)
        counts, size, w = columns.counts.tolist(), self.problem.state, self.weights
        words = batch.words.index_select(0, torch.from_numpy(columns.order))
        gates = torch.addmm(w["b"], self.embed(words), w["W"])
        h, c = torch.empty(2, counts[0], size).unbind()
        for position, (count, gate) in enumerate(zip(counts, gates.split(counts))):
            h_now, c_now = h[:count], c[:count]
            if position > 0:
                gate.addmm_(h_now, w["U"])
            gate[:, : 2 * size].sigmoid_()
            i, f, g, o = gate.chunk(4, 1)
            g.tanh_()
            o.sigmoid_()
            if position > 0:
                c_now.mul_(f).addcmul_(i, g)
            else:
                torch.mul(i, g, out=c_now)
            torch.mul(o, c_now.tanh(), out=h_now)
        return self.head(h.index_select(0, torch.from_numpy(columns.rank)))

    def train_loop(self, batch):
        columns = Columns(batch)
        order, counts = torch.from_numpy(columns.order), columns.counts.tolist()
        w = self.weights
        x = self.embed(batch.words.index_select(0, order))
        gates = torch.addmm(w["b"], x, w["W"])
        h, c, hs = None, None, []
        for count, gate in zip(counts, gates.split(counts)):
            if h is not None:
                h, c = h[:count], c[:count]
                gate = torch.addmm(gate, h, w["U"])
            h, c = self.cell(gate, c)
            hs.append(h)
        return torch.cat(hs), batch.labels.index_select(0, order)

    @staticmethod
    def cell(gate, c):
        i, f, g, o = gate.chunk(4, 1)
        new = i.sigmoid() * g.tanh()
        c = new if c is None else torch.addcmul(new, f.sigmoid(), c)
        return o.sigmoid() * c.tanh(), c

    def train_packed(self, batch):
        columns = Columns(batch)
        order = torch.from_numpy(columns.order)
        x = self.embed(batch.words.index_select(0, order))
        packed = PackedSequence(x, torch.from_numpy(columns.counts))
        parameters = {
            "weight_ih_l0": self.weights["W"].t(),
            "weight_hh_l0": self.weights["U"].t(),
            "bias_ih_l0": self.weights["b"],
            "bias_hh_l0": torch.zeros_like(self.weights["b"]),
        }
        h, _ = torch.func.functional_call(self.module, parameters, (packed,))
        return h.data, batch.labels.index_select(0, order)

    def _naive(self, batch):
        w, states = self.weights, []
        for word, (before,) in zip(batch.word, batch.children):
            gate = torch.addmm(w["b"], self.embed(torch.tensor([word])), w["W"])
            h, c = states[before] if before >= 0 else (None, None)
            if h is not None:
                gate = torch.addmm(gate, h, w["U"])
            states.append(self.cell(gate, c))
        return [h for h, _ in states]

    def infer_naive(self, batch):
        states = self._naive(batch)
        return torch.cat([self.head(states[root]) for root in batch.roots])

    def train_naive(self, batch):
        return torch.cat(self._naive(batch)), batch.labels
