"""Files that the generator writes: first weights, and images to learn."""

import ast
import json
import math
import struct
from array import array

import pytest
from espalier.networks import build, synthetic
from espalier.networks.weights import write_weights


def read_safetensors(path):
    """Tensors by name: dtype, shape and values."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    body = data[8 + length :]
    end = 0
    tensors = {}
    for name, entry in header.items():
        begin, after = entry["data_offsets"]
        assert begin == end
        end = after
        code = {"F32": "f", "F64": "d"}[entry["dtype"]]
        values = array(code, body[begin:after])
        assert len(values) == math.prod(entry["shape"])
        tensors[name] = (entry["dtype"], tuple(entry["shape"]), values)
    assert end == len(body) and length % 8 == 0
    return tensors


def test_weights(tmp_path):
    network = build("resnet", blocks=(1, 1, 1, 1), image=32, width=0.25)
    path = tmp_path / "weights.safetensors"
    write_weights(network, path, seed=3)
    tensors = read_safetensors(path)
    assert {name: (dtype, shape) for name, (dtype, shape, _) in tensors.items()} == {
        p.tensor.name: ("F32", p.tensor.shape) for p in network.parameters
    }
    assert set(tensors["norm1.scale"][2]) == {1.0}
    assert set(tensors["norm1.variance"][2]) == {1.0}
    assert set(tensors["norm1.shift"][2]) == set(tensors["norm1.mean"][2]) == {0.0}
    # res5.0.conv2 has 128 x 128 weights of 3x3: fan-in 1152.
    values = tensors["res5.0.conv2.weight"][2]
    mean = sum(values) / len(values)
    variance = sum(v * v for v in values) / len(values)
    assert abs(mean) < 1e-3
    assert variance == pytest.approx(2 / 1152, rel=0.02)

    again = tmp_path / "again.safetensors"
    write_weights(network, again, seed=3)
    assert again.read_bytes() == path.read_bytes()
    write_weights(network, again, seed=4)
    assert read_safetensors(again)["fc.weight"] != tensors["fc.weight"]
    # The tensor alone decides its values.
    write_weights(build("resnet", blocks=(2, 1, 1, 1), image=32, width=0.25), again, 3)
    assert read_safetensors(again)["fc.weight"] == tensors["fc.weight"]


def test_double_weights(tmp_path):
    path = tmp_path / "weights.safetensors"
    write_weights(build("chain", depth=1, dtype="f64"), path, seed=1)
    assert {dtype for dtype, _, _ in read_safetensors(path).values()} == {"F64"}


def read_npy(path):
    data = path.read_bytes()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    (length,) = struct.unpack_from("<H", data, 8)
    assert (10 + length) % 64 == 0
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert header["fortran_order"] is False
    code = {"<f4": "f", "<f8": "d", "<i4": "i"}[header["descr"]]
    values = array(code, data[10 + length :])
    assert len(values) == math.prod(header["shape"])
    return header["shape"], values


def test_images(tmp_path):
    output = str(tmp_path / "some")
    arguments = ["--count", "12", "--image", "16", "--classes", "3", "-o", output]
    synthetic.main(arguments)
    shape, values = read_npy(tmp_path / "some.image.npy")
    assert shape == (12, 3, 16, 16)
    assert read_npy(tmp_path / "some.label.npy") == ((12,), array("i", [0, 1, 2] * 4))
    assert abs(sum(values) / len(values)) < 0.1
    synthetic.main(arguments)
    assert read_npy(tmp_path / "some.image.npy")[1] == values
    synthetic.main(arguments + ["--seed", "2"])
    assert read_npy(tmp_path / "some.image.npy")[1] != values


def changes(image, size, step_row, step_column):
    """Mean square of the difference between neighbours in a direction."""
    total = count = 0
    for row in range(size - step_row):
        for column in range(size - step_column):
            there = image[(row + step_row) * size + column + step_column]
            total += (image[row * size + column] - there) ** 2
            count += 1
    return total / count


def test_images_tell_their_class():
    """Stripes of class 0 of 2 change along a row, those of class 1 along a column."""
    size = 16
    images, labels, _ = synthetic.make(20, size, channels=1, classes=2, noise=0.1)
    for number, label in enumerate(labels):
        image = images[number * size * size :][: size * size]
        along_row = changes(image, size, 0, 1)
        along_column = changes(image, size, 1, 0)
        assert (along_row > along_column) == (label == 0)


def test_masks():
    size = 24
    images, masks, shape = synthetic.make(
        4, size, channels=2, classes=1, noise=0.1, masks=True
    )
    assert shape == (4, size * size) and set(masks) == {0, 1}
    inside = [images[i] for i in range(size * size) if masks[i]]
    outside = [images[i] for i in range(size * size) if not masks[i]]
    assert sum(inside) / len(inside) > 0.8 and abs(sum(outside) / len(outside)) < 0.2
