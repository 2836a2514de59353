"""States handed from the level that makes them to the one that reads them.

In a tree every vertex but the root has one reader. If the vertices of a level are
sorted by their reader's level, what goes to one level is a slice, and a level reads
the concatenation of the slices meant for it: every state is copied once forward
and once backward, however many levels there are.
"""

from __future__ import annotations

import numpy as np
import torch


class HandedOn:
    """A batch of binary trees, its vertices sorted by height, then by the
    height of their parent.

    order   [V]: the vertex at each row
    counts  rows of each height
    """

    def __init__(self, batch):
        height, children = batch.height, batch.children
        levels = int(height.max()) + 1
        parents = np.flatnonzero(children[:, 0] >= 0)
        reader = np.full(batch.vertices, levels)
        reader[children[parents]] = height[parents, None]
        makers_and_readers = height * (levels + 1) + reader
        self.order = np.argsort(makers_and_readers, kind="stable")
        # slices[m, r]: how many states level m makes for level r.
        slices = np.bincount(makers_and_readers, minlength=levels * (levels + 1))
        slices = slices.reshape(levels, levels + 1)
        self.slices = slices.tolist()
        self.counts = slices.sum(axis=1).tolist()

        # Where each state is in the concatenation that its reader makes.
        place = np.empty(batch.vertices, np.int64)
        by_reader = self.order[np.argsort(reader[self.order], kind="stable")]
        place[by_reader] = np.arange(batch.vertices)
        read = 2 * np.array(self.counts[1:], np.int64)
        places = place[children[self.order[self.counts[0] :]]].reshape(-1)
        places -= np.repeat(np.cumsum(read) - read, read)
        self.pairs = torch.from_numpy(places).split(read.tolist())
        self.waiting = [[] for _ in range(levels + 1)]

    def give(self, level, states):
        """Hands on the tensors [N, H] that a level made, as many as one likes."""
        row = self.slices[level]
        readers = [reader for reader, count in enumerate(row) if count]
        sizes = [row[reader] for reader in readers]
        for reader, *parts in zip(readers, *(state.split(sizes) for state in states)):
            self.waiting[reader].append(parts)

    def take(self, level):
        """The same tensors [2 N, H] of the children of a level's N vertices."""
        pairs = self.pairs[level - 1]
        return [
            torch.cat(parts).index_select(0, pairs)
            for parts in zip(*self.waiting[level])
        ]
