"""Vertices by height: the order in which batching by hand evaluates them."""

from __future__ import annotations

import numpy as np


class Levels:
    """A batch, its vertices sorted by height.

    order     [V]: the vertex at each row
    row       [V]: the row of each vertex
    counts    rows of each height; the first are the leaves
    children  [I * A]: rows of the children of all inner vertices, in order
    """

    def __init__(self, batch):
        self.order = np.argsort(batch.height, kind="stable")
        self.row = np.empty(len(self.order), np.int64)
        self.row[self.order] = np.arange(len(self.order))
        self.counts = np.bincount(batch.height).tolist()
        inner = self.order[self.counts[0] :]
        self.children = self.row[batch.children[inner]].reshape(-1)


class Columns:
    """A batch of chains, the longest first: all first tokens, all second ones...

    order     [V]: the vertex at each row
    counts    how many sequences reach each position
    rank      [K]: each sequence's number among the sorted ones
    """

    def __init__(self, batch):
        by_length = np.argsort(-batch.sizes, kind="stable")
        self.rank = np.empty(len(by_length), np.int64)
        self.rank[by_length] = np.arange(len(by_length))
        self.counts = np.bincount(batch.height)
        starts = (batch.ends - batch.sizes)[by_length]
        # Row begin + j of position t is the token t of sequence by_length[j].
        position = np.repeat(np.arange(len(self.counts)), self.counts)
        begin = np.cumsum(self.counts) - self.counts
        self.order = starts[np.arange(len(position)) - begin[position]] + position
