# The examples at other sizes and element types, weights for them, and running
# the tools on them.

import json
import os
import re
import subprocess

import numpy as np

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "examples")


class Variant:
    """An example with its numbers replaced."""

    def __init__(self, model, state=256, embedding=300, table=20000, dtype="f32"):
        self.name = f"{model}_{state}_{dtype}"
        self.model, self.state, self.dtype = model, state, dtype
        self.table = table
        with open(os.path.join(EXAMPLES, model + ".mlir")) as file:
            text = file.read()
        numbers = {20000: table, 300: embedding}
        numbers |= {256 * gates: state * gates for gates in range(1, 6)}
        pattern = "|".join(str(number) for number in numbers)
        text = re.sub(
            rf"(?<!\d)({pattern})(?!\d)", lambda m: str(numbers[int(m[0])]), text
        )
        self.text = text.replace("f32", dtype)

    def shapes(self):
        """The parameters' shapes, by name."""
        found = re.findall(r'tensor<([\dx]+)xf\d\d> \{nn.param = "(.*?)"', self.text)
        return {name: tuple(map(int, shape.split("x"))) for shape, name in found}

    def weights(self, seed):
        """Parameters that keep activations away from 0 and 1; biases, too."""
        draw = np.random.default_rng(seed)
        bounds = {2: lambda shape: (3 / shape[0]) ** 0.5, 1: lambda shape: 0.2}
        result = {}
        for name, shape in self.shapes().items():
            bound = 1 if name == "embedding" else bounds[len(shape)](shape)
            values = draw.uniform(-bound, bound, shape)
            result[name] = values.astype("<f4" if self.dtype == "f32" else "<f8")
        return result


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, tensor in tensors.items():
        header[name] = {
            "dtype": {"<f4": "F32", "<f8": "F64", "<i4": "I32"}[tensor.dtype.str],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + tensor.nbytes],
        }
        offset += tensor.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors.values():
            file.write(np.ascontiguousarray(tensor).tobytes())


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    types = {"F32": "<f4", "F64": "<f8", "I32": "<i4"}
    return {
        name: np.frombuffer(data[slice(*tensor["data_offsets"])], types[tensor["dtype"]])
        .reshape(tensor["shape"])
        for name, tensor in header.items()
    }  # fmt: skip


def read_ptb(path):
    """(structures, words): vertices in post-order; None for inner vertices."""
    structures, words = [], []
    lists, names, open_children = [], [], []
    with open(path) as file:
        tokens = re.findall(r"[()]|[^\s()]+", file.read())
    for at, token in enumerate(tokens):
        if token == "(":
            open_children.append([])
        elif token == ")":
            children = open_children.pop()
            word = None if tokens[at - 1] == ")" else tokens[at - 1]
            lists.append(children)
            names.append(word)
            if open_children:
                open_children[-1].append(len(lists) - 1)
            else:
                structures.append(lists)
                words.append(names)
                lists, names = [], []
    return structures, words


def read_sequences(path):
    with open(path) as file:
        words = [line.split() for line in file.read().splitlines()]
    return [[[v - 1] if v else [] for v in range(len(line))] for line in words], words


def call(*command):
    """Runs a tool; fails with what it said."""
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(
            f"{' '.join(command)}\nfailed with {done.returncode}:\n{done.stderr}"
        )
    return done.stdout
