"""Totals and shapes of networks, against what is published or can be counted."""

import math
import os
import pathlib
import re
import resource
import subprocess
import sys

import pytest
from espalier.networks import NETWORKS, NetworkError, build
from espalier.networks.shapes import (
    transposed_extent,
    window_extent,
    window_extent_rounded_up,
)

PYTHON = pathlib.Path(__file__).parents[1]

# Small versions of all networks, of the least depth that they can have.
SMALL = {
    "alexnet": {"image": 67},
    "vgg16": {"image": 32},
    "vgg19": {"image": 32},
    "resnet50": {"image": 32},
    "resnet101": {"image": 32},
    "resnet152": {"image": 32},
    "resnet": {"image": 32, "depth": 137},
    "inception_v4": {"image": 75},
    "densenet121": {"image": 32},
    "unet": {"image": 32},
    "chain": {"image": 16, "depth": 4},
}


def small(name, **more):
    options = {"batch": 2, "width": 0.125} | SMALL[name] | more
    return build(name, **options)


# alexnet: Caffe's bvlc_alexnet, from its prototxt. vgg: torchvision's documentation.
# resnet: torchvision's. densenet121: torchvision's. inception_v4: the prototxt's, and
# that of timm's model. Without groups, alexnet's conv2, conv4 and conv5 have twice
# the weights: 256 48 25 + 384 192 9 + 256 192 9 = 1,413,120 more.
PUBLISHED = {
    "alexnet": 60_965_224,
    "vgg16": 138_357_544,
    "vgg19": 143_667_240,
    "resnet50": 25_557_032,
    "resnet101": 44_549_160,
    "resnet152": 60_192_808,
    "densenet121": 7_978_856,
    "inception_v4": 42_679_816,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters(name):
    assert build(name).parameter_count == PUBLISHED[name]


def test_groups():
    assert build("alexnet", groups=False).parameter_count == 60_965_224 + 1_413_120


def test_unet_parameters():
    """Counted by level: two convolutions down, one up and two after it."""

    def conv(inputs, outputs, size, bias=True):
        return inputs * outputs * size * size + (outputs if bias else 0)

    down = conv(3, 64, 3) + conv(64, 64, 3)
    down += sum(conv(c // 2, c, 3) + conv(c, c, 3) for c in (128, 256, 512, 1024))
    up = sum(
        conv(2 * c, c, 2, bias=False) + conv(2 * c, c, 3) + conv(c, c, 3)
        for c in (512, 256, 128, 64)
    )
    network = build("unet", classes=2)
    assert network.parameter_count == down + up + conv(64, 2, 1)
    assert network.layers[-1].shape == (8, 2, 256, 256)


def test_alexnet_is_the_papers():
    """The 23 layers and the sizes of SuperNeurons, section 4.1, in MiB."""
    network = build("alexnet", batch=200)
    assert [layer.name for layer in network.layers] == (
        "conv1 relu1 lrn1 pool1 conv2 relu2 lrn2 pool2 conv3 relu3 conv4 relu4 conv5 "
        "relu5 pool5 fc1 relu6 drop1 fc2 relu7 drop2 fc3 softmax"
    ).split()
    sizes = {}
    for layer in network.layers:
        elements = 1
        for extent in layer.shape:
            elements *= extent
        sizes[layer.name] = elements * 4 / 2**20
    # Printed there rounded down or up.
    for name, size in {
        "conv1": 221.56,
        "conv2": 142.38,
        "conv3": 49.51,
        "conv4": 49.51,
    }.items():
        assert abs(sizes[name] - size) < 0.01


def test_rounded_up():
    """Counted by hand: 5 elements between 1 and 1 of padding, windows of 2 by 2."""
    # They start at -1, 1 and 3; one at 5 would start in the padding.
    assert window_extent_rounded_up(5, 2, 2, 1) == window_extent(5, 2, 2, 1) == 3
    # Of 3 by 2 over 6: 0, 2 and, sticking out, 4.
    assert window_extent_rounded_up(6, 3, 2) == 3
    assert window_extent(6, 3, 2) == 2
    assert transposed_extent(2, 3, 2) == 5 and window_extent(5, 3, 2) == 2


def convolutions_and_dense(network):
    """By which networks are named: those of shortcuts are not counted."""
    return sum(
        layer.kind in ("convolution", "dense") and not layer.name.endswith(".conv0")
        for layer in network.layers
    )


@pytest.mark.parametrize(
    "name, depth",
    [
        ("vgg16", 16),
        ("vgg19", 19),
        ("resnet50", 50),
        ("resnet101", 101),
        ("resnet152", 152),
        ("densenet121", 121),
    ],
)
def test_depth(name, depth):
    assert convolutions_and_dense(build(name)) == depth


def test_family():
    """depth = 3 (n1 + n2 + n3 + n4) + 2, by blocks and by depth."""
    by_blocks = build("resnet", blocks=(6, 32, 7, 6), image=64)
    assert convolutions_and_dense(by_blocks) == 3 * (6 + 32 + 7 + 6) + 2 == 155
    assert build("resnet", depth=155, image=64).layers == by_blocks.layers
    with pytest.raises(NetworkError, match="155 and 158"):
        build("resnet", depth=157)
    with pytest.raises(NetworkError, match="137 and 140"):
        build("resnet", depth=50)
    with pytest.raises(NetworkError, match="needs blocks or a depth"):
        build("resnet")


def test_deep():
    network = build("resnet", depth=10001, batch=16)
    assert convolutions_and_dense(network) == 10001
    # One more for the shortcut of each stage; the dense layer is none.
    assert network.text().count(" = nn.conv2d ") == 10001 - 1 + 4


@pytest.mark.parametrize("entry", ["train", "inference"])
@pytest.mark.parametrize("name", NETWORKS)
def test_text(name, entry):
    """Every value is defined once, before it is used."""
    network = small(name, entry=entry)
    text = network.text()
    head, body = text.split(" {\n", 1)
    defined = set(re.findall(r"(%[\w.]+): tensor<\w+> \{nn\.", head))
    assert len(defined) > len(network.parameters)
    for line in body.splitlines()[:-1]:
        results, equals, operation = line.partition(" = ")
        if not equals:
            results, operation = "", line
        assert set(re.findall(r"%[\w.]+", operation)) <= defined, line
        for value in re.findall(r"%[\w.]+", results):
            assert value not in defined, line
            defined.add(value)
    training = entry == "train"
    assert ("nn.update" in head) == (training and "nn.batch_norm" in body)
    assert ('nn.output = "loss"' in head) == training
    assert ("nn.dropout" in body) == (
        training and any(layer.kind == "dropout" for layer in network.layers)
    )


def test_entries_share_names():
    """What training writes is what inference reads."""
    names = [
        {p.tensor.name: p.tensor.shape for p in small("resnet50", entry=e).parameters}
        for e in ("train", "inference")
    ]
    assert names[0] == names[1] and len(names[0]) > 100


def test_running_statistics():
    text = small("resnet50", batch=4).text()
    assert '%norm1.mean: tensor<8xf32> {nn.state = "norm1.mean"}' in text
    assert 'tensor<8xf32> {nn.update = "norm1.mean"}' in text
    # 0.9 of the old, 0.1 of the new; of the variance, that times n / (n - 1) with
    # n = 4 16 16.
    constants = re.findall(r"dense<([\d.e-]+)> : tensor<8xf32>", text)
    assert [float(c) for c in constants[:3]] == pytest.approx(
        [0.9, 0.1, 0.1 * 1024 / 1023]
    )


def test_options():
    network = small("chain", classes=5, dtype="f64", image_channels=1)
    text = network.text()
    assert "%image: tensor<2x1x16x16xf64>" in text and "f32" not in text
    assert network.layers[-1].shape == (2, 5)
    for name, options, message in [
        ("alexnet", {"image": 20}, "layer 'pool2' has a window of 3x3, but"),
        # Rounded up, a window would be counted that no image of 1x1 has.
        ("vgg16", {"image": 1}, "layer 'pool1' has a window of 2x2, but"),
        ("vgg16", {"image": 16}, "layer 'pool5' has a window of 2x2, but"),
        ("resnet50", {"image": 3}, "layer 'pool1' has a window of 3x3, but"),
        ("unet", {"image": 100}, "multiple of 16"),
        ("lenet", {}, "no network 'lenet'"),
        ("chain", {"batch": 0}, "batch is 0"),
        ("chain", {"width": 0}, "width is 0"),
        ("chain", {"width": math.nan}, "width is nan"),
        ("chain", {"width": math.inf}, "width is inf"),
        ("chain", {"width": 1e300}, r"width is 1e\+300"),
        ("chain", {"entry": "serve"}, "'serve'"),
        ("chain", {"dtype": "f16"}, "'f16'"),
        ("resnet50", {"blocks": (1, 2)}, "four numbers"),
    ]:
        with pytest.raises(NetworkError, match=message):
            build(name, **options)


def run(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "espalier.networks", *arguments],
        env=os.environ | {"PYTHONPATH": str(PYTHON)},
        text=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more,
    )


def test_command(tmp_path):
    file = tmp_path / "net.mlir"
    arguments = ["resnet", "--blocks", "1", "1", "1", "1", "--image", "32"]
    assert run(*arguments).stdout == (
        build("resnet", blocks=(1, 1, 1, 1), image=32).text()
    )
    done = run(*arguments, "-o", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    assert file.read_text() == run(*arguments).stdout
    assert run("vgg16", "--layers").stdout.endswith(" 138357544\n")
    failed = run("alexnet", "--image", "20")
    assert failed.returncode == 1 and "make the image larger" in failed.stderr
    assert run("alexnet", "--no-such-option").returncode == 2
    failed = run("chain", "--width", "nan")
    assert failed.returncode == 1
    assert failed.stderr.startswith("espalier.networks: width is nan; expected")
    same = f"{tmp_path}/./net.mlir"
    failed = run("chain", "-o", str(file), "--weights", same)
    assert failed.returncode == 1
    assert f"'{same}' would be written over '{file}'" in failed.stderr
    failed = run("chain", "-o", str(tmp_path / "none" / "net.mlir"))
    assert failed.returncode == 1 and "No such file" in failed.stderr


def test_documentation():
    """The table of docs/networks.md has every network, and is right."""
    docs = PYTHON.parent / "docs" / "networks.md"
    rows = re.findall(
        r"^\| `(\w+)` \| (\d+) \| *(\d*) *\| *([\d,]*) *\|", docs.read_text(), re.M
    )
    assert [name for name, *_ in rows] == list(NETWORKS)
    for name, image, layers, parameters in rows:
        network = build(name, depth=137 if name == "resnet" else None)
        assert network.options.image == int(image)
        if layers:
            assert len(network.layers) == int(layers)
            assert network.parameter_count == int(parameters.replace(",", ""))


def limit_files():
    """What a full disk does, to files of more than 1 KiB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


@pytest.mark.parametrize("option", ["-o", "--weights"])
def test_full_disk(tmp_path, option):
    """An error that names the file; what was there before is there still."""
    file = tmp_path / "file"
    file.write_text("before")
    result = run("chain", option, str(file), preexec_fn=limit_files)
    assert result.returncode == 1
    assert re.fullmatch(
        rf"espalier.networks: \[Errno \d+\] .*: '{file}'\n", result.stderr
    )
    assert file.read_text() == "before" and list(tmp_path.iterdir()) == [file]


def test_full_standard_output():
    with open("/dev/full", "w") as full:
        result = run("chain", stdout=full)
    assert result.returncode == 1
    assert re.fullmatch(
        r"espalier.networks: \[Errno \d+\] .*: 'standard output'\n", result.stderr
    )
