"""Batches of trees and sequences, as arrays over their vertices."""

from __future__ import annotations

import re

import numpy as np

CLASSES = 5


class Structures:
    """K structures with V vertices in all, children before parents.

    sizes     [K] i64: vertices of each structure; the last one is its root
    children  [V, A] i32: numbered over all structures, -1 where there is none
    word      [V] i32: an id where the vertex has a word, otherwise -1
    label     [V] i32: a class from 0 to 4
    height    [V] i32: 0 without children, else 1 + the highest child's
    """

    ARRAYS = ("sizes", "children", "word", "label", "height")

    def __init__(self, sizes, children, word, label, height):
        self.sizes = np.asarray(sizes, np.int64)
        self.children = np.asarray(children, np.int32)
        self.word = np.asarray(word, np.int32)
        self.label = np.asarray(label, np.int32)
        self.height = np.asarray(height, np.int32)

    def __len__(self):
        return len(self.sizes)

    @property
    def vertices(self):
        return len(self.word)

    @property
    def ends(self):
        """[K] i64: one past each structure's root."""
        return np.cumsum(self.sizes)

    @property
    def roots(self):
        return self.ends - 1

    def slice(self, begin, end):
        """Structures [begin, end), numbered from 0."""
        ends = np.concatenate([[0], self.ends])
        end = min(end, len(self))
        first, last = int(ends[begin]), int(ends[end])
        children = self.children[first:last]
        return Structures(
            self.sizes[begin:end],
            np.where(children < 0, -1, children - first),
            self.word[first:last],
            self.label[first:last],
            self.height[first:last],
        )

    def batches(self, batch):
        """Consecutive slices of `batch` structures; the last may have fewer."""
        return [self.slice(k, k + batch) for k in range(0, len(self), batch)]

    def save(self, path):
        np.savez(path, **{name: getattr(self, name) for name in self.ARRAYS})

    @staticmethod
    def load(path):
        with np.load(path) as file:
            return Structures(*(file[name] for name in Structures.ARRAYS))


class Collector:
    """Gathers structures vertex by vertex."""

    def __init__(self, arity):
        self.arity = arity
        self.sizes, self.children, self.word = [], [], []
        self.label, self.height = [], []
        self.begun = 0

    def add(self, children, word, label):
        """Adds a vertex to the current structure; returns its number."""
        children = list(children)
        assert len(children) <= self.arity, "more children than child slots"
        self.height.append(
            1 + max(self.height[child] for child in children) if children else 0
        )
        self.children.append(children + [-1] * (self.arity - len(children)))
        self.word.append(word)
        self.label.append(label)
        return len(self.word) - 1

    def finish_structure(self):
        self.sizes.append(len(self.word) - self.begun)
        self.begun = len(self.word)

    def structures(self):
        children = np.reshape(np.asarray(self.children, np.int32), (-1, self.arity))
        return Structures(self.sizes, children, self.word, self.label, self.height)


def read_treebank(path, limit=None):
    """Binary trees in brackets, a tree a line, a class at every node.

    Words get ids in order of appearance. Raises ValueError with the line number
    for a line that is no such tree.
    """
    collector, vocabulary = Collector(arity=2), {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if limit is not None and len(collector.sizes) == limit:
                break
            if not line.strip(" \n"):
                continue
            try:
                _add_tree(line, collector, vocabulary)
            except (IndexError, ValueError, AssertionError) as error:
                raise ValueError(f"{path}:{number}: not a binary tree: {error}")
            collector.finish_structure()
    return collector.structures()


def _add_tree(line, collector, vocabulary):
    """One tree, in post-order."""
    # Words may hold any other kind of space.
    tokens = re.findall(r"[()]|[^() \n]+", line)
    open_nodes, at = [], 0
    while at < len(tokens):
        if tokens[at] == "(":
            open_nodes.append((int(tokens[at + 1]), []))
            at += 2
            continue
        word = -1
        if tokens[at] != ")":
            word = vocabulary.setdefault(tokens[at], len(vocabulary))
            at += 1
        if tokens[at] != ")":
            raise ValueError(f"expected ')' before '{tokens[at]}'")
        label, children = open_nodes.pop()
        if len(children) == 1:
            raise ValueError("a node with one child")
        vertex = collector.add(children, word, label)
        if open_nodes:
            open_nodes[-1][1].append(vertex)
        at += 1
    if open_nodes:
        raise ValueError("brackets stay open")


def read_lengths(path, words, limit=None, seed=0):
    """A sequence for each line, which holds its length; random ids and labels.

    Ids are below `words`. A vertex's only child is the one before it. Empty
    sequences are left out: peers have no final state for them.
    """
    with open(path, encoding="utf-8") as file:
        lengths = [int(line) for line in file if line.strip()]
    lengths = np.array([n for n in lengths if n > 0][:limit], np.int64)
    total = int(lengths.sum())
    draw = np.random.RandomState(seed)
    position = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    children = np.where(position > 0, np.arange(total) - 1, -1)
    return Structures(
        lengths,
        children.reshape(-1, 1),
        draw.randint(0, words, total),
        draw.randint(0, CLASSES, total),
        position,
    )


def complete_trees(leaves, count, words, seed=0):
    """`count` complete binary trees over random words, with random labels."""
    draw = np.random.RandomState(seed)
    collector = Collector(arity=2)
    for _ in range(count):
        level = [
            collector.add([], word, label)
            for word, label in zip(
                draw.randint(0, words, leaves), draw.randint(0, CLASSES, leaves)
            )
        ]
        while len(level) > 1:
            if len(level) % 2:
                raise ValueError(f"{leaves} leaves: expected a power of two")
            level = [
                collector.add(pair, -1, draw.randint(0, CLASSES))
                for pair in zip(level[::2], level[1::2])
            ]
        collector.finish_structure()
    return collector.structures()
