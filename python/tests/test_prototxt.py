"""Networks against their descriptions in Caffe's prototxt, layer by layer.

The files are found in the folder that ESPALIER_TEST_DATA names, by default
../shared/data beside the repository. Without them the totals of test_networks.py
remain.
"""

import os
import re

import caffe
import pytest
from espalier.networks import build

REPOSITORY = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
DATA = os.environ.get(
    "ESPALIER_TEST_DATA", os.path.join(os.path.dirname(REPOSITORY), "shared", "data")
)
KINDS = {
    "convolution": "Convolution",
    "batch_norm": "BatchNorm",
    "relu": "ReLU",
    "lrn": "LRN",
    "max_pool": "Pooling",
    "average_pool": "Pooling",
    "dense": "InnerProduct",
    "dropout": "Dropout",
    "add": "Eltwise",
    "concat": "Concat",
    "softmax": "Softmax",
}
POOLS = {"max_pool": "MAX", "average_pool": "AVE"}
# The first convolution of this file has a bias, which the shift of the batch norm
# after it makes superfluous; that of resnet101 has none.
MORE_PARAMETERS = {("resnet50", "conv1"): 64}


def attributes_of(network):
    """The text of the operator of each layer."""
    operators = {}
    for line in network.text().splitlines():
        match = re.match(r'  (%\S+) = .* loc\("', line)
        match = match or re.match(r'  (%\S+), %\S+, %\S+ = .* loc\("', line)
        if match:
            operators[match.group(1)[1:]] = line
    return operators


def numbers(line, attribute, default):
    match = re.search(rf"\b{attribute} = \[([^]]*)\]", line)
    return [int(n) for n in match.group(1).split(",")] if match else default


def check_details(layer, line, reference):
    if layer.kind == "convolution":
        kernel, stride, padding, groups = reference.details
        types = re.findall(r"tensor<([0-9x]+)x\w+>", line)
        weight = [int(extent) for extent in types[1].split("x")]
        assert weight[2:] == list(kernel), layer.name
        assert numbers(line, "strides", [1, 1]) == list(stride), layer.name
        assert numbers(line, "padding", [0] * 4) == list(padding) * 2, layer.name
        found = re.search(r"groups = (\d+)", line)
        assert int(found.group(1) if found else 1) == groups, layer.name
    elif layer.kind in POOLS:
        assert POOLS[layer.kind] == reference.details[0], layer.name
    elif layer.kind == "lrn":
        size, alpha, beta = reference.details
        assert f"size = {size}, alpha = {alpha}, beta = {beta}," in line
    elif layer.kind == "dropout":
        assert f"probability = {reference.details[0]}," in line


@pytest.mark.parametrize(
    "name", ["alexnet", "vgg16", "resnet50", "resnet101", "inception_v4"]
)
def test_layers(name):
    path = os.path.join(DATA, "prototxt", f"{name}.prototxt")
    if not os.path.exists(path):
        pytest.skip(f"there is no {path}")
    blobs, references = caffe.read(path)
    data = blobs["data"][1]
    network = build(name, batch=data[0], image=data[2])
    operators = attributes_of(network)

    assert [KINDS[layer.kind] for layer in network.layers] == [
        reference.kind for reference in references
    ]
    makers = {"image": -1}
    for number, (layer, reference) in enumerate(zip(network.layers, references)):
        assert [makers[name] for name in layer.inputs] == reference.inputs, layer.name
        makers[layer.name] = number
        # Dropout of a pooled image may be that of its row.
        extents = list(layer.shape) + [1] * (len(reference.shape) - len(layer.shape))
        assert extents == reference.shape, layer.name
        more = MORE_PARAMETERS.get((name, reference.name), 0)
        assert layer.parameters + more == reference.parameters, layer.name
        if layer.kind != "softmax":
            check_details(layer, operators[layer.name], reference)


def test_reference_infers():
    text = 'input: "data" input_dim: 1 input_dim: 3 input_dim: 8 input_dim: 8 '
    text += 'layer { name: "c" type: "Convolution" bottom: "data" top: "c" '
    text += "convolution_param { num_output: 4 kernel_size: 3 stride: 2 } }"
    layer = caffe.parse(text)["layer"][0]
    shape, parameters, _ = caffe.infer(layer, [[1, 3, 8, 8]])
    assert shape == [1, 4, 3, 3]
    assert parameters == 4 * 3 * 9 + 4
