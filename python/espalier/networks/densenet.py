"""DenseNet with bottlenecks and compression (Huang et al. 2016).

A layer of a dense block reads the concatenation of what all earlier layers of the
block made, and adds `GROWTH` channels to it. `blocks` has the number of layers of
each block: (6, 12, 24, 16) is DenseNet-121.
"""

GROWTH = 32
BOTTLENECK = 4


def activated(n, name, x):
    return n.relu(f"{name}.relu", n.batch_norm(f"{name}.norm", x))


def dense_layer(n, name, x):
    y = activated(n, f"{name}.1", x)
    y = n.convolution(f"{name}.1.conv", y, n.channels(BOTTLENECK * GROWTH), 1)
    y = activated(n, f"{name}.2", y)
    y = n.convolution(f"{name}.2.conv", y, n.channels(GROWTH), 3, padding=1)
    return n.concat(f"{name}.concat", [x, y])


def transition(n, name, x):
    """Halves the channels and the image."""
    x = activated(n, name, x)
    x = n.convolution(f"{name}.conv", x, x.shape[1] // 2, 1)
    return n.average_pool(f"{name}.pool", x, 2, 2)


def build(n):
    x = n.convolution(
        "conv0", n.image(), n.channels(2 * GROWTH), 7, stride=2, padding=3
    )
    x = n.max_pool("pool0", activated(n, "in", x), 3, 2, padding=1)
    for block, count in enumerate(n.options.blocks, 1):
        if block > 1:
            x = transition(n, f"transition{block - 1}", x)
        for number in range(1, count + 1):
            x = dense_layer(n, f"block{block}.{number}", x)
    x = n.global_average_pool("pool", activated(n, "out", x))
    n.classify("softmax", n.dense("fc", x, n.options.classes))
