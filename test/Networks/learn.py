# ===-- learn.py - Trains a small network by the interpreter --------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# What the generator writes means what it should if it learns: IR, first weights
# and images are the generator's, the training step is made by passes, and the
# interpreter evaluates it, step after step with the new values of the last one.
# Four batches take turns. The mean loss of an image over the last four steps has to
# be less than a share of that over the first four.
#
# Usage: learn.py SCRATCH-FOLDER STEPS LEARNING-RATE SHARE NETWORK [OPTION=VALUE...]

import json
import os
import struct
import subprocess
import sys
import zipfile
from array import array

from espalier.networks import build, synthetic
from espalier.networks.weights import write_weights

# Over and over again.
BATCHES = 4


def read_header(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length))


def write_safetensors(path, header, tensors):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in header:
            file.write(tensors[name].tobytes())


def read_results(path):
    """The floats of an .npz file, by name: the interpreter's have 64 bits."""
    results = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            data = archive.read(name)
            assert data[:8] == b"\x93NUMPY\x01\x00"
            (length,) = struct.unpack_from("<H", data, 8)
            if b"'<f8'" in data[10 : 10 + length]:
                results[name.removesuffix(".npy")] = array("d", data[10 + length :])
    return results


def option(text):
    name, value = text.split("=")
    if name == "blocks":
        return name, tuple(map(int, value.split(",")))
    return name, float(value) if name == "width" else int(value)


def main(scratch, steps, rate, share, name, *options):
    os.makedirs(scratch, exist_ok=True)
    os.chdir(scratch)
    steps, rate, share = int(steps), float(rate), float(share)
    network = build(name, **dict(map(option, options)))
    o = network.options
    with open("network.mlir", "w", encoding="utf-8") as file:
        file.write(network.text())
    write_weights(network, "weights.safetensors", seed=1)
    subprocess.run(
        ["espalier-opt", "network.mlir", "-o", "step.mlir"]
        + ["--differentiate", "--add-train-step=optimizer=sgd decay=false clip=false"],
        check=True,
    )

    images, labels, label_shape = synthetic.make(
        BATCHES * o.batch,
        o.image,
        channels=o.image_channels,
        classes=o.classes,
        masks=name == "unet",
    )
    kind = "<f4" if o.dtype == "f32" else "<f8"
    code = "f" if o.dtype == "f32" else "d"
    synthetic.write_npy("learning_rate.npy", kind, (), [rate])
    synthetic.write_npy("gradient_scale.npy", kind, (), [1.0 / o.batch])
    inputs = ["image", "label", "learning_rate", "gradient_scale"]
    if any(layer.kind == "dropout" for layer in network.layers):
        inputs += ["seed", "row_number"]
    header = read_header("weights.safetensors")
    pixels = len(images) // BATCHES
    marks = len(labels) // BATCHES
    losses = []
    for step in range(steps):
        batch = step % BATCHES
        synthetic.write_npy(
            "image.npy",
            kind,
            (o.batch, o.image_channels, o.image, o.image),
            images[batch * pixels :][:pixels],
        )
        synthetic.write_npy(
            "label.npy",
            "<i4",
            (o.batch, *label_shape[1:]),
            labels[batch * marks :][:marks],
        )
        synthetic.write_npy("seed.npy", "<i4", (), [step])
        synthetic.write_npy(
            "row_number.npy",
            "<i4",
            (o.batch,),
            range(batch * o.batch, (batch + 1) * o.batch),
        )
        command = ["espalier-interpret", "step.mlir", "--entry", "train_step"]
        for input in inputs:
            command += ["--input", f"{input}={input}.npy"]
        command += ["--weights", "weights.safetensors", "--output", "results.npz"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        results = read_results("results.npz")
        # Everything that is trained or counted is new.
        tensors = {name: array(code, results[f"update.{name}"]) for name in header}
        write_safetensors("weights.safetensors", header, tensors)
        (loss,) = results["loss"]
        losses.append(loss / o.batch)

    first, last = (
        sum(part) / BATCHES for part in (losses[:BATCHES], losses[-BATCHES:])
    )
    print(f"{name}: loss {first:.4f} at first, {last:.4f} at last")
    if not last < share * first:
        sys.exit(f"expected less than {share} of it; losses: {losses}")


if __name__ == "__main__":
    main(*sys.argv[1:])
