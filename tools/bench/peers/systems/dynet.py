"""DyNet with its autobatching; one expression after the other, as users write it.

The networks of a batch are one graph. A minibatch's loss is the sum of its vertices'
losses, and embeddings are updated sparsely.
"""

from __future__ import annotations

import ctypes

import dynet_config

# Megabytes to start with: growing later costs time. Read by `import dynet`.
dynet_config.set(mem=2048, autobatch=1, random_seed=1)

import dynet as dy  # noqa: E402
import numpy as np  # noqa: E402

from ..implementation import Implementation  # noqa: E402


def build(problem, variant):
    models = {"tree_lstm": TreeLstm, "lstm": Lstm, "tree_fc": TreeFc}
    return models[problem.model](problem)


def openblas_set_num_threads():
    """That function of the OpenBLAS that DyNet uses, or None without one.

    NumPy has another one, under other names.
    """
    with open("/proc/self/maps") as file:
        paths = {line.split()[-1] for line in file if "libopenblas" in line}
    for path in paths:
        library = ctypes.CDLL(path)
        if hasattr(library, "openblas_set_num_threads"):
            return library.openblas_set_num_threads
    return None


class DynetImplementation(Implementation):
    """Subclasses add parameters, and `cell` makes a vertex from its children."""

    def __init__(self, problem):
        super().__init__(problem)
        self.set_blas_threads = openblas_set_num_threads()
        self.reset()

    def use_threads(self, count):
        if self.set_blas_threads is not None:
            self.set_blas_threads(count)

    def thread_counts(self):
        """DyNet itself has one thread, a BLAS that it was built with may have
        more."""
        if self.set_blas_threads is None:
            return [1]
        return sorted({1, self.problem.threads}, reverse=True)

    def reset(self):
        weights = self.problem.weights()
        self.model = dy.ParameterCollection()
        self.embedding = self.model.lookup_parameters_from_numpy(weights["embedding"])
        transposed = {
            name: np.ascontiguousarray(array.T)
            for name, array in self.arrange(weights).items()
        }
        self.parameters = {
            name: self.model.parameters_from_numpy(array)
            for name, array in transposed.items()
        }
        self.trainer = dy.SimpleSGDTrainer(self.model, self.problem.learning_rate)
        self.trainer.set_clip_threshold(-1)

    def arrange(self, weights):
        """The parameters, in the order of gates that suits the cell."""
        names = [name for name in weights if name != "embedding"]
        return {name: weights[name] for name in names}

    def load(self, batch):
        return (
            batch.word.tolist(),
            [[c for c in row if c >= 0] for row in batch.children.tolist()],
            batch.label.tolist(),
            batch.roots.tolist(),
        )

    def variants(self):
        training = self.problem.mode == "training"
        return {"autobatch": self.train if training else self.infer}

    def construct(self, loaded, variant):
        if self.problem.mode == "training":
            return self.loss(loaded)
        return self.logits(loaded)

    def begin(self):
        """An empty graph."""
        dy.renew_cg()
        # As in dy.parameter: True for one that is trained.
        self.p = {name: p.expr(True) for name, p in self.parameters.items()}
        self.head = [self.p["head.b"], self.p["head.W"]]

    def states(self, words, children):
        """What `cell` returned for each vertex; its h is first."""
        self.begin()
        cell, states = self.cell(), []
        lookup, embedding = dy.lookup, self.embedding
        for word, below in zip(words, children):
            x = lookup(embedding, word) if word >= 0 else None
            states.append(cell(x, [states[child] for child in below]))
        return states

    def logits(self, loaded):
        words, children, _, roots = loaded
        states = self.states(words, children)
        h = dy.concatenate_to_batch([states[root][0] for root in roots])
        return dy.affine_transform([*self.head, h])

    def loss(self, loaded):
        words, children, labels, _ = loaded
        states = self.states(words, children)
        head, affine, loss = self.head, dy.affine_transform, dy.pickneglogsoftmax
        return dy.esum(
            [
                loss(affine([*head, state[0]]), label)
                for state, label in zip(states, labels)
            ]
        )

    def infer(self, loaded):
        logits = self.logits(loaded)
        logits.forward()
        return logits

    def train(self, loaded):
        loss = self.loss(loaded)
        loss.forward()
        loss.backward()
        self.trainer.update()
        return loss

    def value(self, output):
        if self.problem.mode == "training":
            return np.array(output.scalar_value())
        return output.npvalue().reshape(5, -1).T


class TreeLstm(DynetImplementation):
    """Of W, only leaves read something, and only the columns of i, o and u."""

    def arrange(self, weights):
        size = self.problem.state
        i, _, o_and_u = np.split(weights["W"], [size, 3 * size], -1)
        return {
            "leaf.W": np.concatenate([i, o_and_u], -1),
            "U": weights["U"],
            "b": weights["b"],
            "head.W": weights["head.W"],
            "head.b": weights["head.b"],
        }

    def cell(self):
        size, b = self.problem.state, self.p["b"]
        affine, pick, concatenate = dy.affine_transform, dy.pick_range, dy.concatenate
        logistic, tanh, cmult, esum = dy.logistic, dy.tanh, dy.cmult, dy.esum
        leaf_b = concatenate([pick(b, 0, size), pick(b, 3 * size, 5 * size)])
        leaf, inner = [leaf_b, self.p["leaf.W"]], [b, self.p["U"]]

        def vertex(x, below):
            if not below:
                gates = affine([*leaf, x])
                io = logistic(pick(gates, 0, 2 * size))
                u = tanh(pick(gates, 2 * size, 3 * size))
                c = cmult(pick(io, 0, size), u)
                return cmult(pick(io, size, 2 * size), tanh(c)), c
            (h_left, c_left), (h_right, c_right) = below
            gates = affine([*inner, concatenate([h_left, h_right])])
            sigmoids = logistic(pick(gates, 0, 4 * size))
            u = tanh(pick(gates, 4 * size, 5 * size))
            i, left, right, o = (
                pick(sigmoids, at, at + size) for at in range(0, 4 * size, size)
            )
            c = esum([cmult(i, u), cmult(left, c_left), cmult(right, c_right)])
            return cmult(o, tanh(c)), c

        return vertex


class TreeFc(DynetImplementation):
    def cell(self):
        b, W = self.p["b"], self.p["W"]
        affine, concatenate, rectify = dy.affine_transform, dy.concatenate, dy.rectify

        def vertex(x, below):
            if not below:
                return (rectify(x + b),)
            (left,), (right,) = below
            return (rectify(affine([b, W, concatenate([left, right])])),)

        return vertex


class Lstm(DynetImplementation):
    """With DyNet's own cell, VanillaLSTMBuilder."""

    def reset(self):
        super().reset()
        size = self.problem.state
        self.builder = dy.VanillaLSTMBuilder(1, size, size, self.model)
        # Its gates are i, f, o, g, and it adds 1 to f.
        order = [0, 1, 3, 2]
        weights = self.problem.weights()
        arranged = {
            name: np.concatenate([np.split(weights[name], 4, -1)[g] for g in order], -1)
            for name in ("W", "U", "b")
        }
        arranged["b"][size : 2 * size] -= 1
        for parameter, name in zip(self.builder.get_parameters()[0], ("W", "U", "b")):
            parameter.set_value(np.ascontiguousarray(arranged[name].T))

    def arrange(self, weights):
        return {name: weights[name] for name in ("head.W", "head.b")}

    def states(self, words, children):
        self.begin()
        start = self.builder.initial_state()
        lookup, embedding, states = dy.lookup, self.embedding, []
        for word, below in zip(words, children):
            before = states[below[0]] if below else start
            states.append(before.add_input(lookup(embedding, word)))
        return [(state.output(),) for state in states]
