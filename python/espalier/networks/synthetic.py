"""Images that a small network can learn, as NumPy files.

    python3 -m espalier.networks.synthetic --count 512 --image 32 --classes 4 -o train

writes train.image.npy and train.label.npy. An image of class k is of stripes whose
direction is k steps of half a turn; where they begin, how far apart they are, how
strong each colour is and the noise are random, so that no single pixel tells the
class. With --masks, for networks that segment, an image is noise with a bright disc
in it, or one for each class, and the label says for every pixel whether it is inside.

The same seed gives the same files. Images follow each other; classes take turns.
"""

import argparse
import math
import random
import struct
import sys
from array import array

from .files import whole_file


def stripes(generator, label, classes, channels, size, noise):
    """Values of one image, and its class."""
    angle = math.pi * label / classes
    across, down = math.cos(angle), math.sin(angle)
    frequency = 2 * math.pi / generator.uniform(4.0, 6.0)
    phase = generator.uniform(0.0, 2 * math.pi)
    plane = [
        math.sin(frequency * (across * column + down * row) + phase)
        for row in range(size)
        for column in range(size)
    ]
    values = []
    for _ in range(channels):
        strength = generator.uniform(0.5, 1.0)
        values += [strength * value + generator.gauss(0.0, noise) for value in plane]
    return values, [label]


def discs(generator, classes, channels, size, noise):
    """Values of one image, and for each class and pixel whether a disc covers it."""
    mask, bright = [], [0.0] * (size * size)
    for _ in range(classes):
        radius = generator.uniform(size / 8, size / 4)
        middle_row, middle_column = (generator.uniform(0, size) for _ in range(2))
        inside = [
            int((row - middle_row) ** 2 + (column - middle_column) ** 2 <= radius**2)
            for row in range(size)
            for column in range(size)
        ]
        # Another brightness for each class.
        bright = [b + (len(mask) / size**2 + 1) * i for b, i in zip(bright, inside)]
        mask += inside
    values = []
    for _ in range(channels):
        values += [value + generator.gauss(0.0, noise) for value in bright]
    return values, mask


def write_npy(path, kind, shape, values):
    """`values` as an array of NumPy: kind is '<f4', '<f8' or '<i4'."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    # Data starts at a multiple of 64 bytes.
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = array({"<f4": "f", "<f8": "d", "<i4": "i"}[kind], values)
    if sys.byteorder == "big":
        data.byteswap()
    with whole_file(path) as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        file.write(data.tobytes())


def make(count, image, channels=3, classes=4, noise=0.3, seed=1, masks=False):
    """Values of all images and labels, and the shape of the labels."""
    images, labels = [], []
    for number in range(count):
        generator = random.Random(f"{seed} {number}")
        if masks:
            values, label = discs(generator, classes, channels, image, noise)
        else:
            values, label = stripes(
                generator, number % classes, classes, channels, image, noise
            )
        images += values
        labels += label
    return images, labels, (count, len(labels) // count) if masks else (count,)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="espalier.networks.synthetic", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--count", type=int, default=512, help="images (512)")
    parser.add_argument("--image", type=int, default=32, help="height and width (32)")
    parser.add_argument("--image-channels", type=int, default=3, help="channels (3)")
    parser.add_argument("--classes", type=int, default=4, help="classes (4)")
    parser.add_argument("--noise", type=float, default=0.3, help="its deviation (0.3)")
    parser.add_argument("--seed", type=int, default=1, help="(1)")
    parser.add_argument("--masks", action="store_true", help="discs to be segmented")
    parser.add_argument("--dtype", choices=["f32", "f64"], default="f32", help="(f32)")
    parser.add_argument(
        "-o", dest="output", default="synthetic", help="begin of the names"
    )
    options = parser.parse_args(arguments)
    for name in ("count", "image", "image_channels", "classes"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    images, labels, label_shape = make(
        options.count,
        options.image,
        options.image_channels,
        options.classes,
        options.noise,
        options.seed,
        options.masks,
    )
    shape = (options.count, options.image_channels, options.image, options.image)
    kind = "<f4" if options.dtype == "f32" else "<f8"
    try:
        write_npy(f"{options.output}.image.npy", kind, shape, images)
        write_npy(f"{options.output}.label.npy", "<i4", label_shape, labels)
    except OSError as error:
        sys.exit(f"espalier.networks.synthetic: {error}")


if __name__ == "__main__":
    main()
