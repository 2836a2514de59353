"""A chain of equal convolutions, for planners: `depth` times a convolution and a relu.

What a planner makes of a chain can be said in a formula; every layer costs the same
and gives a tensor of the same size.
"""

CHANNELS = 32


def build(n):
    channels = n.channels(CHANNELS)
    x = n.image()
    for number in range(1, n.options.depth + 1):
        x = n.convolution(f"conv{number}", x, channels, 3, padding=1, bias=True)
        x = n.relu(f"relu{number}", x)
    x = n.global_average_pool("pool", x)
    n.classify("softmax", n.dense("fc", x, n.options.classes))
