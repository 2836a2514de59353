"""Writes a layered network as IR, and first weights for it.

python3 -m espalier.networks resnet50 --batch 8 --image 128 -o resnet50.mlir
python3 -m espalier.networks resnet --blocks 6 32 100 6 -o deep.mlir
python3 -m espalier.networks vgg16 --layers
"""

import argparse
import os
import sys

from . import NETWORKS, build
from .files import whole_file
from .network import NetworkError
from .weights import write_weights


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="espalier.networks",
        description=__doc__.split("\n\n")[0],
        epilog="Of options that a network has no use for, it takes no notice.",
    )
    parser.add_argument(
        "network", choices=NETWORKS, metavar="NETWORK", help=", ".join(NETWORKS)
    )
    parser.add_argument("--batch", type=int, metavar="N", help="images in a batch (8)")
    parser.add_argument(
        "--image",
        type=int,
        metavar="N",
        help="height and width of an image (the network's own)",
    )
    parser.add_argument(
        "--image-channels", type=int, metavar="N", help="channels of an image (3)"
    )
    parser.add_argument("--classes", type=int, metavar="N", help="classes (1000)")
    parser.add_argument(
        "--width",
        type=float,
        metavar="F",
        help="factor of the channels of all layers (1)",
    )
    parser.add_argument(
        "--depth",
        type=int,
        metavar="N",
        help="of resnet, chain and unet: how deep it is",
    )
    parser.add_argument(
        "--blocks",
        type=int,
        nargs="+",
        metavar="N",
        help="of resnet, densenet and vgg: blocks, or layers, of each stage",
    )
    parser.add_argument(
        "--no-groups",
        dest="groups",
        action="store_false",
        default=None,
        help="of alexnet: no convolutions in groups",
    )
    parser.add_argument(
        "--entry", choices=["train", "inference"], help="which entry (train)"
    )
    parser.add_argument(
        "--dtype", choices=["f32", "f64"], help="type of elements (f32)"
    )
    parser.add_argument(
        "-o", dest="output", metavar="FILE", help="where the IR goes (standard output)"
    )
    parser.add_argument(
        "--layers", action="store_true", help="a table of the layers instead of the IR"
    )
    parser.add_argument(
        "--weights", metavar="FILE", help="also write first weights, a safetensors file"
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="of the weights (1)"
    )
    return parser.parse_args(arguments)


def table(network):
    """A line a layer."""
    rows = [("layer", "kind", "result", "parameters")]
    for layer in network.layers:
        shape = "x".join(str(extent) for extent in layer.shape)
        rows.append((layer.name, layer.kind, shape, str(layer.parameters)))
    rows.append((f"{len(network.layers)} layers", "", "", str(network.parameter_count)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "".join(
        f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  "
        f"{row[3]:>{widths[3]}}\n"
        for row in rows
    )


def write_standard_output(text):
    try:
        print(text, end="", flush=True)
    except OSError as error:
        # Python would try again at the end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise OSError(error.errno, error.strerror, "standard output") from error


def main(arguments=None):
    options = parse(arguments)
    given = vars(options)
    output, seed, weights = (given.pop(name) for name in ("output", "seed", "weights"))
    layers, name = given.pop("layers"), given.pop("network")
    if output and weights and os.path.realpath(output) == os.path.realpath(weights):
        sys.exit(
            f"espalier.networks: '{weights}' would be written over '{output}'; give "
            "every output a file of its own"
        )
    if given["blocks"]:
        given["blocks"] = tuple(given["blocks"])
    try:
        network = build(name, **given)
        text = table(network) if layers else network.text()
        if output:
            with whole_file(output) as file:
                file.write(text.encode())
        else:
            write_standard_output(text)
        if weights:
            write_weights(network, weights, seed)
    except (NetworkError, OSError) as error:
        sys.exit(f"espalier.networks: {error}")


if __name__ == "__main__":
    main()
