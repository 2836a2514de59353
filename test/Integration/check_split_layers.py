# ===-- check_split_layers.py - The same, a part of the batch at a time ---===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# The loss of a network, its gradient and its running statistics, evaluated in
# float64 before and after `split-layers`, into even parts, uneven ones, and
# single samples, of all layers and of the large ones only. They differ by no
# more than the order of sums does.
#
# Usage: check_split_layers.py FOLDER BATCH LIMIT NETWORK [OPTION...]

import os
import re
import subprocess
import sys

import numpy as np


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def write_samples(folder, ir):
    draw = np.random.default_rng(1)
    pattern = r'tensor<((?:\d+x)*)([fi])32> {nn.input = "([\w.]+)"'
    inputs = []
    # Both entries have them.
    for extents, kind, name in dict.fromkeys(re.findall(pattern, ir)):
        shape = tuple(int(extent) for extent in extents.split("x")[:-1])
        values = draw.normal(size=shape).astype(np.float32)
        if kind == "i":
            values = draw.integers(0, 2, size=shape).astype(np.int32)
        np.save(f"{folder}/{name}.npy", values)
        inputs += ["--input", f"{name}={folder}/{name}.npy"]
    return inputs


def main(folder, batch, limit, *network):
    os.makedirs(folder, exist_ok=True)
    first, weights = f"{folder}/network.mlir", f"{folder}/first.safetensors"
    network = [*network, "--batch", batch, "--classes", "2"]
    run(sys.executable, "-m", "espalier.networks", *network, "-o", first, "--weights", weights)
    whole, split = f"{folder}/whole.mlir", f"{folder}/split.mlir"
    run("espalier-opt", first, "--differentiate", "--expand-dense", "--fuse-elementwise",
        "--canonicalize", "--cse", "-o", whole)
    with open(whole, encoding="utf-8") as file:
        whole_text = file.read()
    inputs = write_samples(folder, whole_text)

    def evaluate(path):
        run("espalier-interpret", path, "--entry=loss.gradient", "--weights", weights,
            *inputs, "--output", f"{folder}/results.npz")
        return dict(np.load(f"{folder}/results.npz"))

    expected = evaluate(whole)
    for parts, above in ((2, "0"), (3, limit), (int(batch), "0")):
        run("espalier-opt", whole, f"--split-layers=parts={parts} limit={above}", "-o", split)
        with open(split, encoding="utf-8") as file:
            text = file.read()
        where = f"{network[0]} in {parts} parts above {above} bytes: "
        if text.count("nn.conv2d") <= whole_text.count("nn.conv2d"):
            sys.exit(f"{where}nothing was split")
        found = evaluate(split)
        if found.keys() != expected.keys():
            sys.exit(f"{where}other results: {sorted(found)}")
        for name, value in expected.items():
            scale = max(np.abs(value).max(), 0.1)  # some are differences
            error = np.abs(found[name] - value).max() / scale
            if not error < 1e-10:
                sys.exit(f"{where}'{name}' differs by {error}")
    print(f"{network[0]}: {len(expected)} results, the same in parts")


main(*sys.argv[1:])
