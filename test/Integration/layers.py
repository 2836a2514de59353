# Operators of layered networks in NumPy, as their definitions say it: slices of
# padded arrays, one window at a time, in float64.

import numpy as np


def padded(x, padding, value=0.0, more=(0, 0)):
    """`x` with a border of (top, left, bottom, right), and `more` rows and
    columns at the end, for windows that reach beyond it."""
    top, left, bottom, right = padding
    rows, columns = (top, bottom + more[0]), (left, right + more[1])
    return np.pad(x, ((0, 0), (0, 0), rows, columns), constant_values=value)


class Convolution:
    def __init__(self, strides=(1, 1), padding=(0, 0, 0, 0), dilations=(1, 1), groups=1):
        self.strides, self.padding = strides, padding
        self.dilations, self.groups = dilations, groups

    def attributes(self):
        return (
            f"{{strides = {list(self.strides)}, padding = {list(self.padding)}, "
            f"dilations = {list(self.dilations)}, groups = {self.groups} : i64}}"
        )

    def shape(self, x, weight):
        """That of the result."""
        sizes = []
        for dim in (0, 1):
            reach = self.dilations[dim] * (weight[2 + dim] - 1) + 1
            around = self.padding[dim] + self.padding[dim + 2]
            sizes.append((x[2 + dim] + around - reach) // self.strides[dim] + 1)
        return (x[0], weight[0], *sizes)

    def windows(self, x, weight):
        """Of the shapes of both: for each group and each element of the result,
        the slices of the result, of the padded input, and of the weight."""
        _, outputs, rows, columns = self.shape(x, weight)
        inner, outer = weight[1], outputs // self.groups
        for g in range(self.groups):
            channels = slice(g * inner, (g + 1) * inner)
            filters = slice(g * outer, (g + 1) * outer)
            for i in range(rows):
                for j in range(columns):
                    place = [
                        slice(at * s, at * s + d * (size - 1) + 1, d)
                        for at, s, d, size in zip(
                            (i, j), self.strides, self.dilations, weight[2:]
                        )
                    ]
                    yield (slice(None), filters, i, j), (slice(None), channels, *place), filters

    def apply(self, x, weight, bias=None):
        result = np.zeros(self.shape(x.shape, weight.shape))
        border = padded(x, self.padding)
        for out, window, filters in self.windows(x.shape, weight.shape):
            result[out] = np.einsum("ncuv,ocuv->no", border[window], weight[filters])
        return result if bias is None else result + bias[:, None, None]

    def transpose(self, d, weight, shape):
        border = padded(np.zeros(shape), self.padding)
        for out, window, filters in self.windows(shape, weight.shape):
            border[window] += np.einsum("no,ocuv->ncuv", d[out], weight[filters])
        top, left = self.padding[:2]
        return border[:, :, top : top + shape[2], left : left + shape[3]]

    def weight_adjoint(self, x, d, shape):
        result = np.zeros(shape)
        border = padded(x, self.padding)
        for out, window, filters in self.windows(x.shape, shape):
            result[filters] += np.einsum("no,ncuv->ocuv", d[out], border[window])
        return result


class Pool:
    def __init__(self, window, strides=(1, 1), padding=(0, 0, 0, 0), ceil=False, count=False):
        self.window, self.strides, self.padding = window, strides, padding
        self.ceil, self.count = ceil, count

    def attributes(self):
        return (
            f"{{window = {list(self.window)}, strides = {list(self.strides)}, "
            f"padding = {list(self.padding)}"
            + (", ceil_mode" if self.ceil else "")
            + (", count_padding" if self.count else "")
            + "}"
        )

    def shape(self, x):
        sizes = []
        for dim in (0, 1):
            before, after = self.padding[dim], self.padding[dim + 2]
            # All places at which a window may begin, as far as it has to fit.
            last = before + x[2 + dim] + after - self.window[dim]
            places = [p for p in range(0, last + 1) if p % self.strides[dim] == 0]
            if self.ceil and last % self.strides[dim] != 0:
                following = places[-1] + self.strides[dim]
                if following < before + x[2 + dim]:
                    places.append(following)
            sizes.append(len(places))
        return (*x[:2], *sizes)

    def windows(self, x):
        """Pairs of a place in the result and slices of the padded image."""
        for i, j in np.ndindex(self.shape(x)[2:]):
            place = [
                slice(at * s, at * s + size)
                for at, s, size in zip((i, j), self.strides, self.window)
            ]
            yield (slice(None), slice(None), i, j), (slice(None), slice(None), *place)

    def largest(self, x):
        result = np.zeros(self.shape(x.shape))
        border = padded(x, self.padding, -np.inf, self.window)
        for out, window in self.windows(x.shape):
            result[out] = border[window].max(axis=(2, 3))
        return result

    def largest_adjoint(self, x, d):
        border = padded(x, self.padding, -np.inf, self.window)
        result = np.zeros(border.shape)
        for out, window in self.windows(x.shape):
            values = border[window].reshape(*x.shape[:2], -1)
            # argmax gives the first.
            first = np.eye(values.shape[2])[values.argmax(axis=2)]
            result[window] += d[out][..., None, None] * first.reshape(border[window].shape)
        return self.cropped(result, x.shape)

    def divisors(self, shape):
        inside = padded(np.ones(shape), self.padding, 0.0, self.window)
        for out, window in self.windows(shape):
            whole = np.full(shape[:2], float(np.prod(self.window)))
            yield out, window, whole if self.count else inside[window].sum(axis=(2, 3))

    def mean(self, x):
        result = np.zeros(self.shape(x.shape))
        border = padded(x, self.padding, 0.0, self.window)
        for out, window, divisor in self.divisors(x.shape):
            result[out] = border[window].sum(axis=(2, 3)) / divisor
        return result

    def mean_adjoint(self, d, shape):
        result = padded(np.zeros(shape), self.padding, 0.0, self.window)
        for out, window, divisor in self.divisors(shape):
            result[window] += (d[out] / divisor)[..., None, None]
        return self.cropped(result, shape)

    def cropped(self, border, shape):
        top, left = self.padding[:2]
        return border[:, :, top : top + shape[2], left : left + shape[3]]


def axes(x):
    """All but the channels."""
    return tuple(axis for axis in range(x.ndim) if axis != 1)


def channels(values, x):
    """One number a channel, to be broadcast with `x`."""
    return values.reshape(1, -1, *[1] * (x.ndim - 2))


def normalized(x, mean, variance, epsilon):
    return (x - channels(mean, x)) / np.sqrt(channels(variance, x) + epsilon)


def batch_norm(x, scale, shift, epsilon):
    mean, variance = x.mean(axis=axes(x)), x.var(axis=axes(x))
    result = normalized(x, mean, variance, epsilon) * channels(scale, x) + channels(shift, x)
    return result, mean, variance


def batch_norm_adjoint(x, scale, mean, variance, d, epsilon):
    normal = normalized(x, mean, variance, epsilon)
    scale_adjoint, shift_adjoint = (d * normal).sum(axis=axes(x)), d.sum(axis=axes(x))
    count = x.size // x.shape[1]
    centred = d - channels(shift_adjoint / count, x) - normal * channels(scale_adjoint / count, x)
    factor = channels(scale / np.sqrt(variance + epsilon), x)
    return factor * centred, scale_adjoint, shift_adjoint


def around(values, size):
    """The sum over `size` channels around each."""
    half = size // 2
    border = np.pad(values, ((0, 0), (half, half), (0, 0), (0, 0)))
    return sum(border[:, k : k + values.shape[1]] for k in range(size))


def lrn(x, size, alpha, beta, bias):
    return x * (bias + alpha / size * around(x * x, size)) ** -beta


def lrn_adjoint(x, d, size, alpha, beta, bias):
    base = bias + alpha / size * around(x * x, size)
    through = around(d * x * base ** (-beta - 1), size)
    return d * base**-beta - 2 * alpha * beta / size * x * through
