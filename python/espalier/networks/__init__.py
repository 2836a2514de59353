"""Layered networks as IR, for the compiler and its planners.

    from espalier.networks import build
    network = build("resnet50", batch=8, image=128, classes=10)
    print(network.text())

A family of networks is a file; a network is a function that takes a Network,
which knows what is asked for (batch, image, classes, width, ...) and adds layers
to it. The same function makes the entry that trains and the one that predicts.
"""

from . import alexnet, chain, densenet, inception, resnet, unet, vgg
from .network import Network, NetworkError, Options

# Name: what builds it, and the options that are another than others' defaults.
NETWORKS = {
    "alexnet": (alexnet.build, {"image": 227}),
    "vgg16": (vgg.build, {"blocks": (2, 2, 3, 3, 3)}),
    "vgg19": (vgg.build, {"blocks": (2, 2, 4, 4, 4)}),
    "resnet50": (resnet.build, {"blocks": (3, 4, 6, 3)}),
    "resnet101": (resnet.build, {"blocks": (3, 4, 23, 3)}),
    "resnet152": (resnet.build, {"blocks": (3, 8, 36, 3)}),
    "resnet": (resnet.build, {"family": (6, 32, None, 6)}),
    "inception_v4": (inception.build, {"image": 299}),
    "densenet121": (densenet.build, {"blocks": (6, 12, 24, 16)}),
    "unet": (unet.build, {"image": 256, "depth": 4, "classes": 1}),
    "chain": (chain.build, {"image": 32, "depth": 16, "classes": 10}),
}


def build(name, **given):
    """The network of this name; options that are None keep their defaults."""
    if name not in NETWORKS:
        raise NetworkError(
            f"there is no network '{name}'; there are {', '.join(NETWORKS)}"
        )
    function, defaults = NETWORKS[name]
    chosen = {key: value for key, value in given.items() if value is not None}
    network = Network(Options(name=name, **(defaults | chosen)))
    function(network)
    return network
