# ===-- check_layers.py - Layered networks' operators ---------------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# What the interpreter computes for each operator equals NumPy (layers.py), and
# gradients of losses equal finite differences of the losses: of each operator by
# itself, and of random networks of them. All in float64.
#
# Cases are independent parts of one function, so that a call of the interpreter
# serves all of them.
#
# Usage: check_layers.py FOLDER SOURCE-FOLDER

import os
import re
import sys

import numpy as np

import models
from layers import (
    Convolution,
    Pool,
    axes,
    batch_norm,
    batch_norm_adjoint,
    channels,
    lrn,
    lrn_adjoint,
    normalized,
    padded,
)

# Of results, against NumPy; of derivatives along random directions.
SAME, BOUND = 1e-12, 1e-6


def tensor(shape, element="f64"):
    return "tensor<" + "".join(f"{size}x" for size in shape) + element + ">"


class Function:
    """A function of parameters, in IR."""

    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)
        self.lines, self.values, self.names, self.shapes = [], {}, [], {}
        self.inputs = {}

    def parameter(self, *shape, low=None, high=None):
        """With values from `low` to `high`; else around 0, and apart from one
        another and from 0, so that no step of differences meets a kink."""
        name = f"%p{len(self.names)}"
        count = int(np.prod(shape))
        if low is None:
            values = (self.draw.permutation(count) - count / 2 + 0.5) * max(0.01, 2 / max(1, count))
        else:
            values = self.draw.uniform(low, high, count)
        self.names.append(name)
        self.values[name] = values.reshape(shape)
        self.shapes[name] = shape
        return name

    def integers(self, *shape, low, high):
        name = f"%i{len(self.inputs)}"
        self.inputs[name] = self.draw.integers(low, high, shape).astype("<i4")
        return name

    def add(self, text, *shapes):
        """A line with a result for each of the shapes; the only one's name, or
        those of all."""
        name = f"%v{len(self.lines)}"
        count = f":{len(shapes)}" if len(shapes) > 1 else ""
        self.lines.append(f"  {name}{count} = {text}")
        names = [f"{name}#{k}" for k in range(len(shapes))] if count else [name]
        for each, shape in zip(names, shapes):
            self.shapes[each] = shape
        return names if count else name

    def type(self, name):
        return tensor(self.inputs[name].shape, "i32") if name in self.inputs else tensor(self.shapes[name])

    def of(self, op, operands, *shapes, attributes="", types=None, arrow=False):
        """The operator `op` in the syntax that most have."""
        types = [self.type(name) for name in (operands if types is None else types)]
        results = f" -> {tensor(shapes[0])}" if arrow else ""
        return self.add(
            f"{op} {', '.join(operands)} {attributes} : {', '.join(types)}{results}", *shapes
        )

    def loss(self, results):
        """A scalar that depends on every element of `results` in another way."""
        terms = []
        for result in results:
            shape = self.shapes[result]
            weights = self.draw.uniform(0.5, 1.5, shape)
            weights *= self.draw.choice([-1, 1], shape)
            text = np.array2string(weights, separator=", ", threshold=10**6, precision=17)
            mask = self.add(f"arith.constant dense<{text}> : {tensor(shape)}", shape)
            product = self.of("arith.mulf", [result, mask], shape, types=[result])
            terms.append(self.of("nn.sum", [product], ()) if shape else product)
        return self.total(terms)

    def total(self, terms):
        total = terms[0]
        for term in terms[1:]:
            total = self.of("arith.addf", [total, term], (), types=[total])
        return total

    def text(self, results):
        """`results`: names of values by the name of the result."""
        arguments = [f'{p}: {self.type(p)} {{nn.param = "{p[1:]}"}}' for p in self.names]
        arguments += [f'{p}: {self.type(p)} {{nn.input = "{p[1:]}"}}' for p in self.inputs]
        types = [f'{self.type(value)} {{nn.output = "{name}"}}' for name, value in results.items()]
        return (
            f"func.func @f({', '.join(arguments)}) -> ({', '.join(types)}) {{\n"
            + "\n".join(self.lines)
            + f"\n  return {', '.join(results.values())} : "
            + ", ".join(map(self.type, results.values()))
            + "\n}\n"
        )


#===-- Single operators --------------------------------------------------===#

CONVOLUTIONS = [
    # The shapes of x and W, and what is not of the default.
    ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    ((2, 3, 5, 6), (4, 3, 3, 3), {"padding": (1, 1, 1, 1)}),
    ((2, 3, 7, 5), (2, 3, 3, 2), {"strides": (2, 3), "padding": (2, 0, 1, 1)}),
    # A stride that leaves elements out, and a remainder.
    ((1, 2, 9, 8), (3, 2, 2, 2), {"strides": (3, 4)}),
    ((2, 2, 8, 9), (3, 2, 3, 2), {"dilations": (2, 4), "padding": (0, 1, 2, 3)}),
    ((2, 4, 4, 4), (6, 2, 3, 3), {"groups": 2, "padding": (1, 1, 1, 1)}),
    # Depthwise, with two filters a channel.
    ((2, 3, 5, 5), (6, 1, 3, 3), {"groups": 3, "strides": (2, 2), "padding": (1, 1, 1, 1)}),
    ((3, 5, 3, 4), (2, 5, 1, 1), {}),
    # A window as large as the image; padding larger than the window.
    ((2, 2, 4, 3), (3, 2, 4, 3), {}),
    ((1, 1, 2, 2), (1, 1, 1, 2), {"padding": (3, 2, 0, 4), "strides": (2, 1)}),
]

POOLS = [
    ((1, 1, 1, 1), {"window": (1, 1)}),
    ((2, 3, 8, 8), {"window": (2, 2), "strides": (2, 2)}),
    ((2, 2, 7, 9), {"window": (3, 2), "strides": (2, 2)}),
    ((2, 2, 7, 9), {"window": (3, 2), "strides": (2, 2), "ceil": True}),
    ((1, 2, 6, 5), {"window": (3, 3), "padding": (1, 1, 1, 1)}),
    ((1, 2, 6, 5), {"window": (3, 3), "strides": (2, 2), "padding": (0, 2, 1, 0)}),
    ((1, 2, 5, 5), {"window": (2, 2), "strides": (3, 3), "padding": (1, 1, 1, 1), "ceil": True}),
    ((1, 2, 8, 7), {"window": (2, 1), "strides": (3, 2), "ceil": True}),
    ((2, 3, 4, 6), {"window": (4, 6)}),
]


def convolutions(f):
    for x_shape, w_shape, options in CONVOLUTIONS:
        conv = Convolution(**options)
        shape, text = conv.shape(x_shape, w_shape), conv.attributes()
        x, w, b = f.parameter(*x_shape), f.parameter(*w_shape), f.parameter(w_shape[0])
        d = f.parameter(*shape)
        X, W, B, D = (f.values[name] for name in (x, w, b, d))
        types = ", ".join(map(f.type, [x, w, b]))
        yield [
            (f.of("nn.conv2d", [x, w], shape, attributes=text), conv.apply(X, W)),
            (f.add(f"nn.conv2d {x}, {w} bias {b} {text} : {types}", shape), conv.apply(X, W, B)),
            (
                f.of("nn.conv2d_transpose", [d, w], x_shape, attributes=text, arrow=True),
                conv.transpose(D, W, x_shape),
            ),
            (
                f.of("nn.conv2d_weight_adjoint", [x, d], w_shape, attributes=text, arrow=True),
                conv.weight_adjoint(X, D, w_shape),
            ),
        ]


def pools(f):
    for shape, options in POOLS:
        for count in (False, True):
            pool = Pool(**options, count=count)
            text, pooled = pool.attributes(), pool.shape(shape)
            x, d = f.parameter(*shape), f.parameter(*pooled)
            yield [
                (f.of("nn.avg_pool2d", [x], pooled, attributes=text), pool.mean(f.values[x])),
                (
                    f.of("nn.avg_pool2d_adjoint", [d], shape, attributes=text, arrow=True),
                    pool.mean_adjoint(f.values[d], shape),
                ),
            ]
        pool, x = Pool(**options), f.parameter(*shape)
        y = f.of("nn.max_pool2d", [x], pool.shape(shape), attributes=pool.attributes())
        yield [(y, pool.largest(f.values[x]))]


def norms(f):
    for shape in [(3, 2, 4, 3), (1, 3, 2, 2), (2, 1, 1, 3), (5, 4)]:
        per = shape[1]

        def scale_and_shift():
            return f.parameter(per, low=0.5, high=1.5), f.parameter(per, low=-1, high=1)

        # All results together, and each by itself.
        for used in [(0, 1, 2), (0,), (1,), (2,)]:
            x, (scale, shift) = f.parameter(*shape), scale_and_shift()
            results = f.of(
                "nn.batch_norm", [x, scale, shift], shape, (per,), (per,),
                attributes="{epsilon = 1.0e-3}", types=[x, scale],
            )  # fmt: skip
            expected = batch_norm(*(f.values[name] for name in (x, scale, shift)), 1e-3)
            yield [(results[k], expected[k]) for k in used]
        x, (scale, shift), (variance, mean) = f.parameter(*shape), scale_and_shift(), scale_and_shift()
        y = f.of(
            "nn.batch_norm_inference", [x, scale, shift, mean, variance], shape,
            attributes="{epsilon = 1.0e-3}", types=[x, scale],
        )  # fmt: skip
        normal = normalized(f.values[x], f.values[mean], f.values[variance], 1e-3)
        expected = normal * channels(f.values[scale], normal) + channels(f.values[shift], normal)
        yield [(y, expected)]
        x, b = f.parameter(*shape), f.parameter(per)
        X, B = f.values[x], f.values[b]
        yield [
            (f.of("nn.sum_channels", [x], (per,)), X.sum(axis=axes(X))),
            (
                f.of("nn.spread_channels", [b], shape, arrow=True),
                np.broadcast_to(channels(B, X), shape),
            ),
        ]
    for size, alpha, beta, bias in [
        (5, 1.0, 0.75, 1.0), (3, 0.5, 2.0, 2.0), (1, 1e-4, 0.75, 1.0), (9, 2.0, 0.5, 0.5),
    ]:  # fmt: skip
        x = f.parameter(2, 6, 3, 2)
        text = f"{{size = {size}, alpha = {alpha:e}, beta = {beta:e}, bias = {bias:e}}}"
        y = f.of("nn.lrn", [x], (2, 6, 3, 2), attributes=text)
        yield [(y, lrn(f.values[x], size, alpha, beta, bias))]


def shapes(f):
    x = f.parameter(2, 3, 4, 5)
    y = f.of("nn.pad", [x], (2, 3, 7, 12), attributes="{padding = [1, 3, 2, 4], value = 0.5}")
    yield [(y, padded(f.values[x], (1, 3, 2, 4), 0.5))]
    x = f.parameter(2, 3, 4, 5)
    flat = f.add(
        f"tensor.collapse_shape {x} [[0], [1, 2, 3]] : {f.type(x)} into {tensor((2, 60))}", (2, 60)
    )
    y = f.add(
        f"tensor.expand_shape {flat} [[0], [1, 2]] output_shape [2, 12, 5] : "
        f"{tensor((2, 60))} into {tensor((2, 12, 5))}",
        (2, 12, 5),
    )
    yield [(flat, f.values[x].reshape(2, 60)), (y, f.values[x].reshape(2, 12, 5))]
    x, z = f.parameter(2, 3, 4, 5), f.parameter(2, 2, 4, 5)
    joined = np.concatenate([f.values[x], f.values[z], f.values[x]], axis=1)
    y = f.add(
        f"tensor.concat dim(1) {x}, {z}, {x} : ({f.type(x)}, {f.type(z)}, {f.type(x)}) -> "
        f"{tensor((2, 8, 4, 5))}",
        (2, 8, 4, 5),
    )
    part = f.add(
        f"tensor.extract_slice {y}[0, 2, 0, 1] [2, 3, 4, 2] [1, 1, 1, 1] : "
        f"{tensor((2, 8, 4, 5))} to {tensor((2, 3, 4, 2))}",
        (2, 3, 4, 2),
    )
    yield [(y, joined), (part, joined[:, 2:5, :, 1:3])]
    x = f.parameter(2, 3, 4, 5)
    yield [(f.of("nn.relu", [x], (2, 3, 4, 5)), np.maximum(f.values[x], 0))]


def softmax(x):
    exponentials = np.exp(x - x.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def rows(f):
    """What also works on rows of dynamic number, over a batch of static size."""
    for batch in (1, 4):

        def of(op, *shape):
            """An operator of one parameter, and its values."""
            x = f.parameter(batch, 6)
            return f.of(op, [x], shape), f.values[x]

        x, w, b = f.parameter(batch, 6), f.parameter(6, 3), f.parameter(3)
        X, W, B = (f.values[name] for name in (x, w, b))
        yield [
            (f.of("nn.matmul", [x, w], (batch, 3)), X @ W),
            (f.of("nn.dense", [x, w, b], (batch, 3)), X @ W + B),
        ]
        x, w = f.parameter(batch, 6), f.parameter(5, 6)
        tied = f.of("nn.transpose", [w], (6, 5))
        yield [(f.of("nn.matmul", [x, tied], (batch, 5)), f.values[x] @ f.values[w].T)]
        y, X = of("nn.softmax", batch, 6)
        yield [(y, softmax(X))]
        y, X = of("nn.sum_rows", 6)
        yield [(y, X.sum(axis=0))]
        x, scale, shift = f.parameter(batch, 6), f.parameter(6), f.parameter(6)
        y, X = f.of("nn.layer_norm", [x, scale, shift], (batch, 6), types=[x, scale]), f.values[x]
        normal = (X - X.mean(axis=1, keepdims=True)) / np.sqrt(X.var(axis=1, keepdims=True) + 1e-5)
        yield [(y, normal * f.values[scale] + f.values[shift])]
        labels = f.integers(batch, low=-1, high=6)
        x = f.parameter(batch, 6)
        y, L = f.of("nn.softmax_cross_entropy", [x, labels], (batch,)), f.inputs[labels]
        losses = -np.log(softmax(f.values[x])[np.arange(batch), np.maximum(L, 0)])
        yield [(y, np.where(L < 0, 0, losses))]
        yes = f.integers(batch, 6, low=-1, high=2)
        x = f.parameter(batch, 6)
        y, X, Y = f.of("nn.binary_cross_entropy", [x, yes], (batch,)), f.values[x], f.inputs[yes]
        yield [(y, np.where(Y < 0, 0, np.log1p(np.exp(np.where(Y > 0, -X, X)))).sum(axis=1))]
        ids, table = f.integers(batch, low=-1, high=7), f.parameter(7, 2)
        y = f.add(f"nn.embedding {table}[{ids}] : {f.type(table)}, {f.type(ids)}", (batch, 2))
        looked_up = f.values[table][f.inputs[ids]]
        yield [(y, np.where(f.inputs[ids][:, None] < 0, 0, looked_up))]
        x, z = f.parameter(batch, 2, 3, 2), f.parameter(batch)
        yield [
            (f.of("nn.sum_rows", [x], (2, 3, 2)), f.values[x].sum(axis=0)),
            (f.of("nn.sum_rows", [z], ()), f.values[z].sum()),
        ]
        # What dropout keeps of each image is a matter of the image's number.
        x = f.parameter(batch, 2, 3, 2)
        seed, number = f.integers(low=0, high=99), f.integers(batch, low=0, high=99)
        text = "{probability = 0.4, site = 3 : i32}"
        y = f.of("nn.dropout", [x, seed, number], (batch, 2, 3, 2), attributes=text)
        yield [(y, dropout(f.values[x], f.inputs[seed], f.inputs[number], 0.4, 3))]
        scalar = f.parameter()
        y = f.add(f"nn.broadcast {scalar} : tensor<f64> -> {tensor((batch, 2))}", (batch, 2))
        yield [(y, np.full((batch, 2), f.values[scalar]))]


def mix(a):
    a ^= a >> np.uint32(16)
    a *= np.uint32(0x7FEB352D)
    a ^= a >> np.uint32(15)
    a *= np.uint32(0x846CA68B)
    return a ^ (a >> np.uint32(16))


def dropout(x, seed, number, probability, site):
    place = np.arange(x[0].size, dtype=np.uint32).reshape(x.shape[1:])
    start = np.uint32((int(seed) + 0x9E3779B9 * site) % 2**32)
    key = mix(mix(np.full(len(x), start, np.uint32)) + number.astype(np.uint32))
    key = key.reshape(-1, *[1] * place.ndim)
    bits = mix(key + np.uint32(0x9E3779B9) * place) >> np.uint32(1)
    kept = bits < np.uint32(round(2**31 * (1 - probability)))
    return np.where(kept, x / (1 - probability), 0)


# Adjoints that have no adjoint themselves: their numbers only.
def adjoints(f):
    for shape, options in POOLS:
        pool = Pool(**options)
        x, d = f.parameter(*shape), f.parameter(*pool.shape(shape))
        y = f.of("nn.max_pool2d_adjoint", [x, d], shape, attributes=pool.attributes())
        yield [(y, pool.largest_adjoint(f.values[x], f.values[d]))]
    # Of equal elements the first one counts.
    x, d, pool = f.parameter(1, 2, 4, 4), f.parameter(1, 2, 3, 3), Pool((2, 2))
    f.values[x] = np.floor(f.values[x] * 2)
    y = f.of("nn.max_pool2d_adjoint", [x, d], (1, 2, 4, 4), attributes=pool.attributes())
    yield [(y, pool.largest_adjoint(f.values[x], f.values[d]))]
    for shape in [(3, 2, 4, 3), (5, 4)]:
        x, d, per = f.parameter(*shape), f.parameter(*shape), shape[1]
        scale = f.parameter(per)
        mean, variance = f.parameter(per, low=-1, high=1), f.parameter(per, low=0.5, high=1.5)
        values = [f.values[name] for name in (x, scale, mean, variance, d)]
        results = f.of(
            "nn.batch_norm_adjoint", [x, scale, mean, variance, d], shape, (per,), (per,),
            types=[x, scale],
        )  # fmt: skip
        yield list(zip(results, batch_norm_adjoint(*values, 1e-5)))
    x, d = f.parameter(2, 6, 3, 2), f.parameter(2, 6, 3, 2)
    text = "{size = 3, alpha = 0.5, beta = 2.0, bias = 2.0}"
    y = f.of("nn.lrn_adjoint", [x, d], (2, 6, 3, 2), attributes=text, types=[x])
    yield [(y, lrn_adjoint(f.values[x], f.values[d], 3, 0.5, 2.0, 2.0))]
    p, d = f.parameter(4, 6), f.parameter(4, 6)
    y = f.of("nn.softmax_adjoint", [p, d], (4, 6), types=[p])
    P, D = f.values[p], f.values[d]
    yield [(y, P * (D - (D * P).sum(axis=1, keepdims=True)))]
    y = f.of("nn.outer_sum", [p, d], (6, 6))
    yield [(y, P.T @ D)]


#===-- Random networks ---------------------------------------------------===#


class Network:
    """A random network of images that ends in a loss."""

    def __init__(self, f):
        self.f, self.draw = f, f.draw

    def run(self):
        f = self.f
        batch = int(self.draw.integers(1, 4))
        x = f.parameter(batch, int(self.draw.integers(1, 4)), *self.draw.integers(4, 8, 2).tolist())
        steps = [self.convolution, self.activation, self.pool, self.norm, self.response]
        steps += [self.residual, self.fan, self.border, self.drop]
        for _ in range(int(self.draw.integers(4, 9))):
            x = steps[self.draw.integers(len(steps))](x)
        x = self.convolution(x)
        n, *rest = f.shapes[x]
        flat = (n, int(np.prod(rest)))
        x = f.add(f"tensor.collapse_shape {x} [[0], [1, 2, 3]] : {f.type(x)} into {tensor(flat)}", flat)
        w, b = self.parameter(flat[1], 4), f.parameter(4, low=-1, high=1)
        x = f.of("nn.dense", [x, w, b], (n, 4))
        losses = f.of("nn.softmax_cross_entropy", [x, f.integers(n, low=-1, high=4)], (n,))
        total = f.of("nn.sum_rows", [losses], ())
        mean = f.add(f"arith.constant dense<{1 / n!r}> : tensor<f64>", ())
        return f.of("arith.mulf", [total, mean], (), types=[total])

    def parameter(self, *shape):
        # Activations neither grow nor vanish.
        bound = (3 / max(1, np.prod(shape[1:] if len(shape) > 2 else shape[:1]))) ** 0.5
        return self.f.parameter(*shape, low=-bound, high=bound)

    def convolution(self, x):
        shape = self.f.shapes[x]
        groups = int(self.draw.choice([g for g in (1, 2, 3) if shape[1] % g == 0]))
        size = [int(self.draw.integers(1, min(4, extent + 1))) for extent in shape[2:]]
        weight = (groups * int(self.draw.integers(1, 4)), shape[1] // groups, *size)
        conv = Convolution(
            self.draw.integers(1, 3, 2).tolist(), self.draw.integers(0, 2, 4).tolist(),
            [1, 1], groups,
        )  # fmt: skip
        w, b = self.parameter(*weight), self.f.parameter(weight[0], low=-1, high=1)
        types = ", ".join(map(self.f.type, [x, w, b]))
        return self.f.add(
            f"nn.conv2d {x}, {w} bias {b} {conv.attributes()} : {types}", conv.shape(shape, weight)
        )

    def activation(self, x):
        op = self.draw.choice(["nn.relu", "math.tanh", "nn.sigmoid", "nn.gelu"])
        return self.f.of(op, [x], self.f.shapes[x])

    def pool(self, x):
        shape = self.f.shapes[x]
        window = [int(self.draw.integers(1, min(4, extent + 1))) for extent in shape[2:]]
        padding = [int(self.draw.integers(0, window[k % 2])) for k in range(4)]
        op, count = [("nn.max_pool2d", False), ("nn.avg_pool2d", True), ("nn.avg_pool2d", False)][
            self.draw.integers(3)
        ]
        ceil = bool(self.draw.integers(2))
        pool = Pool(window, self.draw.integers(1, 3, 2).tolist(), padding, ceil, count)
        return self.f.of(op, [x], pool.shape(shape), attributes=pool.attributes())

    def norm(self, x):
        f, shape = self.f, self.f.shapes[x]
        per = shape[1]
        scale, shift = f.parameter(per, low=0.5, high=1.5), f.parameter(per, low=-1, high=1)
        if self.draw.integers(3) == 0:
            mean, variance = f.parameter(per, low=-1, high=1), f.parameter(per, low=0.5, high=1.5)
            return f.of(
                "nn.batch_norm_inference", [x, scale, shift, mean, variance], shape, types=[x, scale]
            )
        # Of few elements the variance may be next to nothing.
        return f.of(
            "nn.batch_norm", [x, scale, shift], shape, (per,), (per,),
            attributes="{epsilon = 0.1}", types=[x, scale],
        )[0]  # fmt: skip

    def response(self, x):
        return self.f.of("nn.lrn", [x], self.f.shapes[x], attributes="{size = 3, alpha = 0.5}")

    def same(self, x):
        """A convolution that keeps the shape."""
        shape = self.f.shapes[x]
        w = self.parameter(shape[1], shape[1], 3, 3)
        attributes = Convolution(padding=(1, 1, 1, 1)).attributes()
        return self.f.of("nn.conv2d", [x, w], shape, attributes=attributes)

    def residual(self, x):
        y = self.activation(self.same(x))
        return self.f.of("arith.addf", [x, y], self.f.shapes[x], types=[x])

    def fan(self, x):
        """Branches that join; of the join a part goes on."""
        f, (n, c, h, w) = self.f, self.f.shapes[x]
        branches = [self.same(x), self.activation(x), x][: int(self.draw.integers(2, 4))]
        joined = (n, c * len(branches), h, w)
        types = ", ".join(map(f.type, branches))
        y = f.add(f"tensor.concat dim(1) {', '.join(branches)} : ({types}) -> {tensor(joined)}", joined)
        first = int(self.draw.integers(0, joined[1] - c + 1))
        part = (n, c, h, w)
        return f.add(
            f"tensor.extract_slice {y}[0, {first}, 0, 0] {list(part)} [1, 1, 1, 1] : "
            f"{tensor(joined)} to {tensor(part)}",
            part,
        )

    def border(self, x):
        n, c, h, w = self.f.shapes[x]
        top, left, bottom, right = self.draw.integers(0, 2, 4).tolist()
        return self.f.of(
            "nn.pad", [x], (n, c, h + top + bottom, w + left + right),
            attributes=f"{{padding = {[top, left, bottom, right]}, value = 0.25}}",
        )  # fmt: skip

    def drop(self, x):
        f, shape = self.f, self.f.shapes[x]
        seed, number = f.integers(low=0, high=99), f.integers(shape[0], low=0, high=99)
        text = f"{{probability = 0.3, site = {len(f.lines)} : i32}}"
        return f.of("nn.dropout", [x, seed, number], shape, attributes=text)


#===-- Checks ------------------------------------------------------------===#

TRAINING = """
func.func @f(%x: tensor<4x3x5x5xf64> {nn.input = "x"}, %labels: tensor<4xi32> {nn.input = "labels"},
    %W: tensor<6x3x3x3xf64> {nn.param = "W"}, %scale: tensor<6xf64> {nn.param = "scale"},
    %shift: tensor<6xf64> {nn.param = "shift"}, %D: tensor<6x4xf64> {nn.param = "D"},
    %mean: tensor<6xf64> {nn.param = "mean"}, %variance: tensor<6xf64> {nn.state = "variance"})
    -> (tensor<f64> {nn.output = "loss"}, tensor<6xf64> {nn.update = "mean"},
        tensor<4xi32> {nn.output = "correct"}, tensor<6xf64> {nn.update = "variance"}) {
  %0 = nn.conv2d %x, %W : tensor<4x3x5x5xf64>, tensor<6x3x3x3xf64>
  %1, %m, %v = nn.batch_norm %0, %scale, %shift : tensor<4x6x3x3xf64>, tensor<6xf64>
  %2 = nn.relu %1 : tensor<4x6x3x3xf64>
  %3 = nn.avg_pool2d %2 {window = [3, 3]} : tensor<4x6x3x3xf64>
  %4 = tensor.collapse_shape %3 [[0], [1, 2, 3]] : tensor<4x6x1x1xf64> into tensor<4x6xf64>
  %5 = nn.matmul %4, %D : tensor<4x6xf64>, tensor<6x4xf64>
  %6 = nn.softmax_cross_entropy %5, %labels : tensor<4x4xf64>, tensor<4xi32>
  %7 = nn.correct %5, %labels : tensor<4x4xf64>, tensor<4xi32>
  %8 = nn.sum_rows %6 : tensor<4xf64>
  %quarter = arith.constant dense<0.25> : tensor<f64>
  %loss = arith.mulf %8, %quarter : tensor<f64>
  %old = arith.constant dense<0.75> : tensor<6xf64>
  %new = arith.constant dense<0.25> : tensor<6xf64>
  %9 = arith.mulf %mean, %old : tensor<6xf64>
  %10 = arith.mulf %m, %new : tensor<6xf64>
  %11 = arith.addf %9, %10 : tensor<6xf64>
  %12 = arith.mulf %variance, %old : tensor<6xf64>
  %13 = arith.mulf %v, %new : tensor<6xf64>
  %14 = arith.addf %12, %13 : tensor<6xf64>
  return %loss, %11, %7, %14 : tensor<f64>, tensor<6xf64>, tensor<4xi32>, tensor<6xf64>
}
"""


class Checker:
    def __init__(self, folder):
        self.folder, self.failures, self.texts, self.worst = folder, 0, "", 0.0
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def fail(self, message):
        self.failures += 1
        print(f"FAILED {message}")

    def write(self, name, text):
        self.texts += text
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def interpret(self, model, entry, weights, inputs):
        models.write_safetensors(self.path("weights.safetensors"), weights)
        options = []
        for name, value in inputs.items():
            np.save(self.path(name + ".npy"), value)
            options += ["--input", f"{name}={self.path(name + '.npy')}"]
        models.call(
            "espalier-interpret", model, "--entry", entry,
            "--weights", self.path("weights.safetensors"),
            "--output", self.path("results.npz"), *options,
        )  # fmt: skip
        with np.load(self.path("results.npz")) as file:
            return dict(file)

    def run(self, model, f, values, entry="f"):
        weights = {name[1:]: np.asarray(value, "<f8") for name, value in values.items()}
        inputs = {name[1:]: value for name, value in f.inputs.items()}
        return self.interpret(model, entry, weights, inputs)

    def gradients(self, model, f):
        ir = self.path("gradient.mlir")
        models.call("espalier-opt", model, "--differentiate", "--canonicalize", "-o", ir)
        found = self.run(ir, f, f.values, "f.gradient")
        return {name: found["gradient." + name[1:]] for name in f.names}

    def operators(self, name, cases, differentiate=True):
        """Each case is a list of results, with what NumPy says they are; its
        parameters are no other's."""
        f, outputs, losses, owners, results = Function(1), [], [], [], {}
        for case in cases(f):
            outputs += case
            owners.append(f.names[sum(map(len, owners)) :])
            if differentiate:
                losses.append(f.loss([value for value, _ in case]))
        for k, (value, expected) in enumerate(outputs):
            results[f"r{k}"] = value
            assert expected.shape == f.shapes[value], (value, f.lines)
        if losses:
            results["loss"] = f.total(losses)
            results |= {f"loss{k}": loss for k, loss in enumerate(losses)}
        model = self.write(name + ".mlir", f.text(results))
        found = self.run(model, f, f.values)
        for k, (value, expected) in enumerate(outputs):
            error = np.abs(found[f"r{k}"] - expected).max(initial=0)
            if not error <= SAME * max(1, np.abs(expected).max(initial=0)):
                self.fail(f"{name}: {value} is off by {error:.3g}")
        if losses:
            self.differences(name, model, f, owners)
        print(f"{name}: {len(owners)} cases, {len(outputs)} results")

    def differences(self, name, model, f, owners):
        """Moves a parameter of each case at a time."""
        gradients = self.gradients(model, f)
        for turn in range(max(map(len, owners))):
            moved = [names[turn] for names in owners if turn < len(names)]
            directions = {p: self.direction(f, p) for p in moved}
            runs = [
                self.run(model, f, self.at(f, directions, step)) for step in STEPS
            ]
            for k, names in enumerate(owners):
                if turn < len(names):
                    parameter = names[turn]
                    self.compare(
                        f"{name}: loss{k} by {parameter}", gradients, directions, [parameter],
                        slope([found[f"loss{k}"] for found in runs], 1e-3),
                    )  # fmt: skip

    def direction(self, f, parameter):
        direction = f.draw.standard_normal(f.values[parameter].shape)
        return direction / np.sqrt((direction**2).sum())

    def at(self, f, directions, step):
        """The parameters, moved."""
        return {
            p: value + step * directions[p] if p in directions else value
            for p, value in f.values.items()
        }

    def error(self, gradients, directions, parameters, expected):
        found = sum((gradients[p] * directions[p]).sum() for p in parameters)
        length = np.sqrt(sum((gradients[p] ** 2).sum() for p in parameters))
        scale = max(abs(expected), 1e-2 * length)
        return abs(found - expected) / scale if scale else abs(found - expected), found

    def compare(self, what, gradients, directions, parameters, expected):
        error, found = self.error(gradients, directions, parameters, expected)
        self.worst = max(self.worst, error)
        if not error <= BOUND:
            self.fail(f"{what}: the gradient is {found!r}, differences give {expected!r}")

    def network(self, seed):
        """All parameters of a random network are moved together. Where the way
        leads over a kink of a relu or a pool, a shorter one does not."""
        f = Function(seed)
        loss = Network(f).run()
        model = self.write(f"network{seed}.mlir", f.text({"loss": loss}))
        gradients = self.gradients(model, f)
        directions = {p: self.direction(f, p) for p in f.names}
        best, tried = np.inf, []
        for h in (1e-3, 1e-4, 1e-5):
            steps = [step * h / 1e-3 for step in STEPS]
            losses = [self.run(model, f, self.at(f, directions, step))["loss"] for step in steps]
            expected = slope(losses, h)
            error, found = self.error(gradients, directions, f.names, expected)
            best = min(best, error)
            tried.append(expected)
            if error <= BOUND:
                break
        else:
            self.fail(f"network {seed}: the gradient is {found!r}, differences give {tried}")
        self.worst = max(self.worst, best)

    def training(self):
        """A step of training: parameters change by their gradients, running
        statistics by the entry's own formula, once, and by no gradient."""
        draw = np.random.default_rng(4)
        shapes = {"W": (6, 3, 3, 3), "scale": (6,), "shift": (6,), "D": (6, 4), "mean": (6,)}
        weights = {name: draw.uniform(-1, 1, shape) for name, shape in shapes.items()}
        inputs = {"x": draw.uniform(-1, 1, (4, 3, 5, 5)), "labels": np.array([0, 3, -1, 1], "<i4")}
        model, step = self.write("training.mlir", TRAINING), self.path("step.mlir")
        models.call(
            "espalier-opt", model, "--differentiate", "-o", self.path("training.gradient.mlir")
        )
        models.call(
            "espalier-opt", self.path("training.gradient.mlir"),
            "--add-train-step=optimizer=momentum clip=0 decay=0", "--canonicalize",
            "--fuse-elementwise", "-o", step,
        )  # fmt: skip
        gradients = self.interpret(
            self.path("training.gradient.mlir"), "f.gradient", weights, inputs
        )
        names = {key.removeprefix("gradient.") for key in gradients if key.startswith("gradient.")}
        if names != {"W", "scale", "shift", "D"}:
            self.fail(f"there are gradients of {sorted(names)}")
        inputs |= {"learning_rate": np.array(0.5), "gradient_scale": np.array(1.0)}
        results = self.interpret(step, "train_step", weights, inputs)
        _, mean, variance = batch_norm(
            Convolution().apply(inputs["x"], weights["W"]), weights["scale"], weights["shift"], 1e-5
        )
        expected = {name: weights[name] - 0.5 * gradients["gradient." + name] for name in names}
        expected |= {name + ".momentum": gradients["gradient." + name] for name in names}
        # States are zeros at first.
        expected |= {"mean": 0.75 * weights["mean"] + 0.25 * mean, "variance": 0.25 * variance}
        updates = {key.removeprefix("update.") for key in results if key.startswith("update.")}
        if updates != set(expected):
            self.fail(f"there are new values of {sorted(updates)}")
        for name in sorted(updates & set(expected)):
            error = np.abs(results["update." + name] - expected[name]).max()
            if not error <= SAME:
                self.fail(f"the new value of {name} is off by {error:.3g}")
        # The next step starts from what this one left.
        again = {key.removeprefix("update."): results[key] for key in results if "update." in key}
        second = self.interpret(step, "train_step", again, inputs)
        _, _, variance = batch_norm(
            Convolution().apply(inputs["x"], again["W"]), again["scale"], again["shift"], 1e-5
        )
        error = np.abs(
            second["update.variance"] - (0.75 * again["variance"] + 0.25 * variance)
        ).max()
        if not error <= SAME:
            self.fail(f"after two steps the running variance is off by {error:.3g}")
        if not second["loss"] < results["loss"]:
            self.fail("a step along the gradient does not lower the loss")
        print(f"training: {len(expected)} new values")


# Where a loss is looked at; of the fourth order, whose error is that of rounding.
STEPS = [1e-3, -1e-3, 2e-3, -2e-3]


def slope(losses, h):
    near, back, far, far_back = map(float, losses)
    return (8 * (near - back) - (far - far_back)) / (12 * h)


def differentiable(source):
    """Layered networks' operators that have a derivative."""
    path = "include/espalier/Dialect/NN/IR/NNLayerOps.td"
    with open(os.path.join(source, path)) as file:
        records = re.split(r"^def ", file.read(), flags=re.M)
    heads = [(re.match(r'\w+ : NN_LayerOp<"(\w+)"', record), record) for record in records]
    return [head[1] for head, record in heads if head and "<DifferentiableOpInterface>" in record]


def operators(source):
    path = "include/espalier/Dialect/NN/IR/NNLayerOps.td"
    with open(os.path.join(source, path)) as file:
        return re.findall(r'NN_LayerOp<"(\w+)"', file.read())


def main(folder, source):
    checker = Checker(folder)
    for cases in [convolutions, pools, norms, shapes, rows]:
        checker.operators(cases.__name__, cases)
    for name in differentiable(source):
        if f"nn.{name} " not in checker.texts:
            checker.fail(f"no loss has nn.{name}")
    checker.operators("adjoints", adjoints, differentiate=False)
    for name in operators(source):
        if f"nn.{name} " not in checker.texts:
            checker.fail(f"nothing is made by nn.{name}")
    for seed in range(NETWORKS):
        checker.network(seed)
    print(f"{NETWORKS} random networks")
    checker.training()
    print(f"worst {checker.worst:.2g}")
    if checker.failures:
        sys.exit(f"{checker.failures} failures")
    print("all right")


NETWORKS = 24

if __name__ == "__main__":
    main(*sys.argv[1:])
