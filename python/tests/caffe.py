"""Networks in Caffe's prototxt, with shapes and parameter counts: the reference.

Shares nothing with the generator. Caffe's rules: a convolution's size is rounded
down, a pool's up; a layer whose top is its bottom works in place.
"""

import math
import re
from dataclasses import dataclass

TOKEN = re.compile(r'#[^\n]*|"[^"]*"|[{}:]|[^\s{}:"#]+')


class Message(dict):
    """Fields of a message, each a list of values and messages."""

    def one(self, name, default=None):
        return self.get(name, [default])[0]


def parse(text):
    """The message that a text in protobuf's text format is."""
    tokens = [token for token in TOKEN.findall(text) if not token.startswith("#")]
    root = Message()
    open_messages = [root]
    at = 0
    while at < len(tokens):
        name = tokens[at]
        at += 1
        if name == "}":
            open_messages.pop()
            continue
        if tokens[at] == ":":
            at += 1
        if tokens[at] == "{":
            message = Message()
            open_messages[-1].setdefault(name, []).append(message)
            open_messages.append(message)
        else:
            open_messages[-1].setdefault(name, []).append(value_of(tokens[at]))
        at += 1
    assert open_messages == [root], "braces do not match"
    return root


def value_of(token):
    for read in (int, float):
        try:
            return read(token)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(token, token.strip('"'))


@dataclass
class Layer:
    kind: str
    name: str
    inputs: list  # numbers of the layers that make them; -1 is the data
    shape: list
    parameters: int
    details: tuple


def both(parameters, name, default):
    """(vertical, horizontal) of a kernel, a stride or a padding."""
    short = name.split("_")[0]
    square = parameters.one(name, default)
    return (
        parameters.one(f"{short}_h", square),
        parameters.one(f"{short}_w", square),
    )


def pooled(extent, kernel, stride, padding):
    count = math.ceil((extent + 2 * padding - kernel) / stride) + 1
    if padding and (count - 1) * stride >= extent + padding:
        count -= 1
    return count


def infer(layer, bottoms):
    """(shape, parameters, what else must be equal)"""
    kind, shape = layer.one("type"), bottoms[0]
    if kind == "Convolution":
        p = layer.one("convolution_param")
        kernel, stride = both(p, "kernel_size", 1), both(p, "stride", 1)
        padding, groups = both(p, "pad", 0), p.one("group", 1)
        outputs = p.one("num_output")
        extents = [
            (e + 2 * d - k) // s + 1
            for e, k, s, d in zip(shape[2:], kernel, stride, padding)
        ]
        parameters = outputs * (shape[1] // groups) * kernel[0] * kernel[1]
        if p.one("bias_term", True):
            parameters += outputs
        return (
            [shape[0], outputs] + extents,
            parameters,
            (kernel, stride, padding, groups),
        )
    if kind == "Pooling":
        p = layer.one("pooling_param")
        if p.one("global_pooling", False):
            return shape[:2] + [1, 1], 0, (p.one("pool"),)
        kernel, stride = both(p, "kernel_size", 1), both(p, "stride", 1)
        padding = both(p, "pad", 0)
        extents = list(map(pooled, shape[2:], kernel, stride, padding))
        return shape[:2] + extents, 0, (p.one("pool"),)
    if kind == "InnerProduct":
        outputs = layer.one("inner_product_param").one("num_output")
        return [shape[0], outputs], outputs * (math.prod(shape[1:]) + 1), ()
    if kind == "Concat":
        return [shape[0], sum(b[1] for b in bottoms)] + shape[2:], 0, ()
    if kind == "Scale":
        bias = layer.one("scale_param").one("bias_term", False)
        return shape, shape[1] * (2 if bias else 1), ()
    if kind == "LRN":
        p = layer.one("lrn_param")
        return shape, 0, (p.one("local_size"), p.one("alpha"), p.one("beta"))
    if kind == "Dropout":
        return shape, 0, (layer.one("dropout_param").one("dropout_ratio"),)
    assert kind in ("ReLU", "Softmax", "Eltwise", "BatchNorm"), kind
    return shape, 0, ()


def read(path):
    """The layers of a file. BatchNorm and the Scale after it are one layer."""
    with open(path, encoding="utf-8") as file:
        network = parse(file.read())
    layers = network["layer"]
    blobs = {}
    if "input" in network:
        shape = network.get("input_dim") or network.one("input_shape")["dim"]
        blobs[network.one("input")] = (-1, shape)
    found = []
    for layer in layers:
        if layer.one("type") == "Input":
            blobs[layer.one("top")] = (-1, layer.one("input_param").one("shape")["dim"])
            continue
        numbers, bottoms = zip(*(blobs[name] for name in layer["bottom"]))
        shape, parameters, details = infer(layer, bottoms)
        if layer.one("type") == "Scale":
            assert numbers[0] == len(found) - 1 and found[-1].kind == "BatchNorm"
            found[-1].parameters = parameters
            continue
        blobs[layer.one("top")] = (len(found), shape)
        found.append(
            Layer(
                layer.one("type"),
                layer.one("name"),
                list(numbers),
                shape,
                parameters,
                details,
            )
        )
    return blobs, found
