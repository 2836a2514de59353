"""What one comparison computes: a network, its sizes, its data."""

from __future__ import annotations

import dataclasses
import json
import os

import numpy as np

from .structures import CLASSES, Structures

# Rows of the embedding table, as in docs/examples.
TABLE = 20000


@dataclasses.dataclass(frozen=True)
class Problem:
    """One cell of the grid, and where its files are.

    `inference` computes logits [K, 5] at the roots. `training` is one step of
    SGD a batch on the cross-entropy, summed over all vertices of the batch,
    of the same head at every vertex.
    """

    model: str  # tree_lstm, lstm, tree_fc
    mode: str  # inference, training
    state: int  # elements of h; an embedding has as many
    batch: int  # structures
    threads: int
    learning_rate: float  # of the summed loss
    folder: str  # structures.npz and weights.npz, shared by all systems
    model_file: str  # MLIR of the model at state 256
    tools: str  # folder of espalier-compile
    runtime: str  # libespalier_runtime.so

    def __str__(self):
        threads = f"{self.threads} thread" + "s" * (self.threads > 1)
        return (
            f"{self.model} {self.mode}, state {self.state}, "
            f"batch {self.batch}, {threads}"
        )

    def shapes(self):
        """Shapes of the parameters, by the names that the examples give them."""
        h = self.state
        cell = {
            "tree_lstm": {"W": (h, 5 * h), "U": (2 * h, 5 * h), "b": (5 * h,)},
            "lstm": {"W": (h, 4 * h), "U": (h, 4 * h), "b": (4 * h,)},
            "tree_fc": {"W": (2 * h, h), "b": (h,)},
        }[self.model]
        head = {"head.W": (h, CLASSES), "head.b": (CLASSES,)}
        return {"embedding": (TABLE, h), **cell, **head}

    def write_weights(self, seed=1):
        """Random weights that keep activations away from 0 and 1."""
        draw = np.random.RandomState(seed)
        weights = {}
        for name, shape in self.shapes().items():
            bound = 1.0 if name == "embedding" else 0.1
            if len(shape) == 2 and name != "embedding":
                bound = (3.0 / shape[0]) ** 0.5
            weights[name] = draw.uniform(-bound, bound, shape).astype(np.float32)
        np.savez(os.path.join(self.folder, "weights.npz"), **weights)

    def weights(self):
        with np.load(os.path.join(self.folder, "weights.npz")) as file:
            return {name: file[name] for name in file.files}

    def structures(self):
        return Structures.load(os.path.join(self.folder, "structures.npz"))

    def to_json(self):
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text):
        return Problem(**json.loads(text))
