"""Inception-v4 (Szegedy et al. 2016).

A module is a table: a branch a row, a branch a list of steps from the module's
input on. A step is the number of channels and the kernel of a convolution, "max" or
"average", or, for branches that end in two, a tuple of steps side by side. Results
of all branches are put together in the order of the table, unless a module gives
another one.

As in Caffe's version, averages count the padding, and the kernel is (height, width).
"""

SAME = "same"  # padding so that the image keeps its size


def convolution(n, name, x, channels, kernel, stride=1, padding=SAME):
    kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
    if padding == SAME:
        padding = tuple(extent // 2 for extent in kernel)
    x = n.convolution(name, x, n.channels(channels), kernel, stride, padding)
    return n.relu(f"{name}.relu", n.batch_norm(f"{name}.norm", x, epsilon=1.0e-3))


def shrink(channels):
    """A convolution of 3x3 that halves the image."""
    return (channels, 3, 2, 0)


def branches(n, name, x, table, order=None):
    """All branches of a module, and their results put together."""
    ends = []
    for number, steps in enumerate(table, 1):
        y = x
        for place, step in enumerate(steps, 1):
            at = f"{name}.{number}.{place}"
            if step == "max":
                y = n.max_pool(at, y, 3, 2, round_up=True)
            elif step == "average":
                y = n.average_pool(at, y, 3, 1, padding=1, count_padding=True)
            elif isinstance(step[0], tuple):
                y = [
                    convolution(n, f"{at}{letter}", y, *side)
                    for letter, side in zip("ab", step)
                ]
            else:
                y = convolution(n, at, y, *step)
        ends += y if isinstance(y, list) else [y]
    if order:
        ends = [ends[place] for place in order]
    return n.concat(f"{name}.concat", ends)


WIDE, TALL = (1, 7), (7, 1)

STEM = (
    ([[shrink(96)], ["max"]], (1, 0)),
    (
        [[(64, 1), (96, 3, 1, 0)], [(64, 1), (64, WIDE), (64, TALL), (96, 3, 1, 0)]],
        None,
    ),
    ([[shrink(192)], ["max"]], None),
)
INCEPTION_A = [
    [(96, 1)],
    [(64, 1), (96, 3)],
    [(64, 1), (96, 3), (96, 3)],
    ["average", (96, 1)],
]
REDUCTION_A = [
    [shrink(384)],
    [(192, 1), (224, 3), shrink(256)],
    ["max"],
]
INCEPTION_B = [
    [(384, 1)],
    [(192, 1), (224, WIDE), (256, TALL)],
    [(192, 1), (192, TALL), (224, WIDE), (224, TALL), (256, WIDE)],
    ["average", (128, 1)],
]
REDUCTION_B = [
    [(192, 1), shrink(192)],
    [(256, 1), (256, WIDE), (320, TALL), shrink(320)],
    ["max"],
]
INCEPTION_C = [
    [(256, 1)],
    [(384, 1), ((256, (1, 3)), (256, (3, 1)))],
    [(384, 1), (448, (3, 1)), (512, (1, 3)), ((256, (1, 3)), (256, (3, 1)))],
    ["average", (256, 1)],
]


def build(n):
    x = convolution(n, "conv1", n.image(), *shrink(32))
    x = convolution(n, "conv2", x, 32, 3, padding=0)
    x = convolution(n, "conv3", x, 64, 3)
    for number, (table, order) in enumerate(STEM, 1):
        x = branches(n, f"stem{number}", x, table, order)
    for number in range(1, 5):
        x = branches(n, f"a{number}", x, INCEPTION_A)
    x = branches(n, "reduction_a", x, REDUCTION_A)
    for number in range(1, 8):
        x = branches(n, f"b{number}", x, INCEPTION_B)
    x = branches(n, "reduction_b", x, REDUCTION_B)
    for number in range(1, 4):
        x = branches(n, f"c{number}", x, INCEPTION_C)
    x = n.global_average_pool("pool", x)
    x = n.dropout("drop", x, 0.2)
    n.classify("softmax", n.dense("fc", x, n.options.classes))
