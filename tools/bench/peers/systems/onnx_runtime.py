"""ONNX Runtime: chains, by the operator LSTM with the sequences' lengths.

A batch is padded to its longest sequence, as a whole or in groups of like length.
"""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from ..implementation import Implementation

# Sequences in a group; the kernels want some rows.
GROUP = 16


def build(problem, variant):
    if (problem.model, problem.mode) != ("lstm", "inference"):
        return None
    return Lstm(problem)


def iofc(weight):
    """[..., 4 H] of gates i, f, g, o to [4 H, ...] of ONNX's i, o, f, c."""
    i, f, g, o = np.split(weight, 4, axis=-1)
    return np.concatenate([i, o, f, g], axis=-1).T


def lstm_model(weights, size):
    """word [T, K] i64 and length [K] i32 to logits [K, 5]."""
    bias = np.concatenate([iofc(weights["b"]), np.zeros(4 * size, np.float32)])
    constants = {
        "embedding": weights["embedding"],
        "W": iofc(weights["W"])[None],
        "R": iofc(weights["U"])[None],
        "B": bias[None],
        "head.W": weights["head.W"],
        "head.b": weights["head.b"],
        "first": np.zeros(1, np.int64),
    }
    nodes = [
        helper.make_node("Gather", ["embedding", "word"], ["x"]),
        helper.make_node(
            "LSTM", ["x", "W", "R", "B", "length"], ["", "h"], hidden_size=size
        ),
        helper.make_node("Squeeze", ["h", "first"], ["last"]),
        helper.make_node("Gemm", ["last", "head.W", "head.b"], ["logits"]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "lstm",
        [
            value("word", TensorProto.INT64, ["T", "K"]),
            value("length", TensorProto.INT32, ["K"]),
        ],
        [value("logits", TensorProto.FLOAT, ["K", 5])],
        [
            numpy_helper.from_array(np.ascontiguousarray(array), name)
            for name, array in constants.items()
        ],
    )
    # Of the versions that every release of the last years reads.
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


class Lstm(Implementation):
    def __init__(self, problem):
        super().__init__(problem)
        model = lstm_model(problem.weights(), problem.state)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = problem.threads
        options.inter_op_num_threads = 1
        # Its threads must not spin while other peers run.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def variants(self):
        found = {"whole": self.whole}
        if self.problem.batch > GROUP:
            found["groups"] = self.groups
        return found

    def padded(self, batch, sequences):
        """The inputs of some sequences of a batch."""
        lengths = batch.sizes[sequences]
        words = np.zeros((lengths.max(), len(sequences)), np.int64)
        column = np.repeat(np.arange(len(sequences)), lengths)
        position = np.arange(len(column)) - np.repeat(
            np.cumsum(lengths) - lengths, lengths
        )
        starts = (batch.ends - batch.sizes)[sequences]
        words[position, column] = batch.word[starts[column] + position]
        return {"word": words, "length": lengths.astype(np.int32)}

    def by_length(self, batch):
        order = np.argsort(-batch.sizes, kind="stable")
        return [order[at : at + GROUP] for at in range(0, len(order), GROUP)]

    def construct(self, batch, variant):
        if variant == "whole":
            return self.padded(batch, np.arange(len(batch)))
        return [self.padded(batch, group) for group in self.by_length(batch)]

    def whole(self, batch):
        inputs = self.padded(batch, np.arange(len(batch)))
        return self.session.run(["logits"], inputs)[0]

    def groups(self, batch):
        logits = np.empty((len(batch), 5), np.float32)
        for group in self.by_length(batch):
            inputs = self.padded(batch, group)
            logits[group] = self.session.run(["logits"], inputs)[0]
        return logits
