# ===-- check_updates.py - What parameters are after a run ----------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# Runs updates.mlir, on the processor and on a device with just enough memory, and
# compares results and parameters with what the IR says.
#
# Usage: check_updates.py MODEL MACHINE FOLDER
#
# ===---------------------------------------------------------------------===#

import json
import struct
import subprocess
import sys

import numpy as np


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    end = 8 + struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, tensor in json.loads(data[8:end]).items():
        if name != "__metadata__":
            begin, stop = (end + offset for offset in tensor["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:stop], np.float32).reshape(tensor["shape"])
    return tensors


def write(path, tensors):
    header, offset = {}, 0
    for name, value in tensors.items():
        header[name] = {"dtype": "F32", "shape": value.shape,
                        "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for value in tensors.values():
            file.write(value.tobytes())


def main(model, machine, folder):
    draw = np.random.default_rng(1)
    x = draw.normal(size=(2, 1, 4, 4)).astype(np.float32)
    before = {name: draw.normal(size=3).astype(np.float32) for name in "abcd"}
    before["s"] = draw.normal(size=x.shape).astype(np.float32)
    np.save(f"{folder}/x.npy", x)
    write(f"{folder}/before.safetensors", before)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    y = np.max([padded[..., i:i + 4, j:j + 4] for i in range(3) for j in range(3)], axis=0)
    numbers = np.array([3, -5], np.int32)
    np.save(f"{folder}/n.npy", numbers)
    sevens = np.full(3, 7, np.float32)
    results = {"y": y, "again": y, "old_a": before["a"], "sevens": sevens, "same_n": numbers}
    after = {"a": sevens, "b": before["c"], "c": before["b"], "d": before["d"], "s": y}
    for options in [[], ["--machine", machine], ["--machine", machine, "--memory-budget", "700"]]:
        subprocess.run(["espalier-compile", model, *options, "-o", f"{folder}/model.so"], check=True)
        device = ["--device", "sim", "--machine", machine] if options else []
        subprocess.run(
            ["espalier-run", f"{folder}/model.so", "--input", f"x={folder}/x.npy", "--input",
             f"n={folder}/n.npy", "--weights",
             f"{folder}/before.safetensors", "--save-weights", f"{folder}/after.safetensors",
             "--output", f"{folder}/results.npz", *device],
            check=True, stdout=subprocess.DEVNULL,
        )
        found = np.load(f"{folder}/results.npz")
        for name, value in found.items():
            if not np.array_equal(value.reshape(results[name].shape), results[name]):
                sys.exit(f"{options}: {name} is {value}, expected {results[name]}")
        assert set(found) == set(results)
        for name, value in read(f"{folder}/after.safetensors").items():
            if not np.array_equal(value, after[name]):
                sys.exit(f"{options}: {name} is {value} afterwards, expected {after[name]}")
    print("all updates are right")


main(*sys.argv[1:])
