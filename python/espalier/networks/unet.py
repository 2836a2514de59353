"""U-Net (Ronneberger et al. 2015), which gives every pixel its classes.

`depth` times the image is halved and the channels doubled, and then back; on the way
back, what was made at the same size on the way down is put beside. Convolutions are
padded, so that nothing is cropped and the result has the size of the image; there is
no dropout.
"""

from .network import NetworkError

CHANNELS = 64


def two_convolutions(n, name, x, channels):
    for number in (1, 2):
        x = n.convolution(f"{name}.conv{number}", x, channels, 3, padding=1, bias=True)
        x = n.relu(f"{name}.relu{number}", x)
    return x


def build(n):
    depth, image = n.options.depth, n.options.image
    if image % 2**depth:
        raise NetworkError(
            f"the image is {image}x{image}; to be halved {depth} times it must be a "
            f"multiple of {2**depth}"
        )
    x = n.image()
    skipped = []
    for level in range(depth):
        x = two_convolutions(n, f"down{level}", x, n.channels(CHANNELS * 2**level))
        skipped.append(x)
        x = n.max_pool(f"down{level}.pool", x, 2, 2)
    x = two_convolutions(n, "bottom", x, n.channels(CHANNELS * 2**depth))
    for level in reversed(range(depth)):
        channels = n.channels(CHANNELS * 2**level)
        x = n.up_convolution(f"up{level}", x, channels, 2, 2)
        x = n.concat(f"up{level}.concat", [skipped[level], x])
        x = two_convolutions(n, f"up{level}", x, channels)
    n.segment(
        "loss.pixels", n.convolution("classes", x, n.options.classes, 1, bias=True)
    )
