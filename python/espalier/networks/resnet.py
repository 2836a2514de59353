"""Residual networks of bottleneck blocks (He et al. 2015).

`blocks` has the number of blocks of each of the four stages, so that the network is
3 (n1 + n2 + n3 + n4) + 2 convolutions and dense layers deep: (3, 4, 6, 3) is
ResNet-50. Deep ones are made from a depth: (6, 32, n3, 6) with the n3 that gives it.

As published, the image gets smaller in the first convolution of a stage's first
block, of 1x1; some later versions do so in the one of 3x3.
"""

from .network import NetworkError

STAGES = (64, 128, 256, 512)
EXPANSION = 4


def blocks_of(options):
    if options.blocks:
        if len(options.blocks) != len(STAGES) or min(options.blocks) < 1:
            raise NetworkError(
                f"blocks are {options.blocks}; expected four numbers, at least 1"
            )
        return options.blocks
    if options.depth is None:
        raise NetworkError(f"{options.name} needs blocks or a depth")
    fixed = sum(count for count in options.family if count)
    open_count, remainder = divmod(options.depth - 2 - 3 * fixed, 3)
    if remainder or open_count < 1:
        nearest = max(1, open_count)
        depths = [3 * (fixed + count) + 2 for count in (nearest, nearest + 1)]
        raise NetworkError(
            f"no such network is {options.depth} deep; {depths[0]} and {depths[1]} are "
            "the nearest depths"
        )
    return tuple(count or open_count for count in options.family)


def normalized(n, name, number, x, channels, kernel, stride=1, padding=0):
    x = n.convolution(f"{name}.conv{number}", x, channels, kernel, stride, padding)
    return n.batch_norm(f"{name}.norm{number}", x)


def bottleneck(n, name, x, channels, stride, project):
    shortcut = x
    if project:
        shortcut = normalized(n, name, 0, x, channels * EXPANSION, 1, stride)
    x = n.relu(f"{name}.relu1", normalized(n, name, 1, x, channels, 1, stride))
    x = n.relu(f"{name}.relu2", normalized(n, name, 2, x, channels, 3, padding=1))
    x = normalized(n, name, 3, x, channels * EXPANSION, 1)
    return n.relu(f"{name}.relu3", n.add(f"{name}.add", shortcut, x))


def build(n):
    x = n.convolution("conv1", n.image(), n.channels(64), 7, stride=2, padding=3)
    x = n.relu("relu1", n.batch_norm("norm1", x))
    x = n.max_pool("pool1", x, 3, 2, round_up=True)
    for stage, (channels, count) in enumerate(zip(STAGES, blocks_of(n.options)), 2):
        for number in range(count):
            first = number == 0
            stride = 2 if first and stage > 2 else 1
            x = bottleneck(
                n, f"res{stage}.{number}", x, n.channels(channels), stride, first
            )
    x = n.global_average_pool("pool5", x)
    n.classify("softmax", n.dense("fc", x, n.options.classes))
