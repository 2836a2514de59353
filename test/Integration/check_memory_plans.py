# ===-- check_memory_plans.py - The same, whatever the budget ------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# Trains a network for three steps without a budget, then with budgets from what
# that needed down to the smallest that a plan is found for without splitting
# layers, on a simulated device that has no more memory than the budget. Losses
# and everything that is learned, running statistics among it, must be equal bit
# by bit. Then below, down to the smallest budget of all, where layers run for a
# part of the batch at a time: as sums over the batch are then taken in another
# order, the same network in f64 must learn the same but for rounding (in f32 a
# few steps of training make more of it than can be told from an error). What was
# used of the
# device is at most what was planned, which is within the budget, and is no more
# than with a larger budget. Every plan passes `espalier-plan check`.
#
# Usage: check_memory_plans.py SOURCE-FOLDER FOLDER --steps N NETWORK [OPTION...]

import array
import json
import os
import random
import re
import struct
import subprocess
import sys

STEPS = 3


def run(*command, fails=False, env=None):
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stderr if fails else done.stdout


def write_npy(path, kind, shape, values):
    """`kind` as struct has it: f, d or i."""
    dtype = {"f": "f4", "d": "f8", "i": "i4"}[kind]
    header = f"{{'descr': '<{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * ((-11 - len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        file.write(struct.pack(f"<{len(values)}{kind}", *values))


def write_samples(folder, ir):
    """Noise for images, and any labels, of STEPS batches of the network's."""
    draw = random.Random(1)
    inputs = []
    for name, make in (("image", lambda: draw.gauss(0, 1)), ("label", None)):
        match = re.search(rf'tensor<([\dx]+)x([fi]\d+)> {{nn.input = "{name}"}}', ir)
        shape = [int(extent) for extent in match.group(1).split("x")]
        classes = 2 if len(shape) > 1 else 4
        make = make or (lambda: draw.randrange(classes))
        shape[0] *= STEPS
        count = 1
        for extent in shape:
            count *= extent
        path = f"{folder}/{name}.npy"
        kind = {"f32": "f", "f64": "d", "i32": "i"}[match.group(2)]
        write_npy(path, kind, tuple(shape), [make() for _ in range(count)])
        inputs += ["--input", f"{name}={path}"]
    return inputs


class Training:
    def __init__(self, source, folder, network, machine="k40c"):
        self.folder = folder
        self.machine = f"{source}/docs/machines/{machine}.json"
        path = os.pathsep.join([f"{source}/python", os.environ.get("PYTHONPATH", "")])
        self.ir = f"{folder}/network.mlir"
        self.weights = f"{folder}/first.safetensors"
        generator = [sys.executable, "-m", "espalier.networks", *network]
        run(
            *generator, "-o", self.ir, "--weights", self.weights,
            env={**os.environ, "PYTHONPATH": path},
        )
        with open(self.ir, encoding="utf-8") as file:
            self.inputs = write_samples(folder, file.read())

    def compile(self, budget, *options, fails=False):
        options = ["--train=momentum", "--train-without=clipping", *options]
        if budget is not None:
            options += [f"--machine={self.machine}", f"--memory-budget={budget}"]
        return run(
            "espalier-compile", self.ir, *options, "-o", f"{self.folder}/model.so",
            "--plan-out", f"{self.folder}/plan.json", fails=fails,
        )

    def train(self, budget, *options):
        """What was learned, what the log says, and what memory was used."""
        self.compile(budget, *options)
        run("espalier-plan", "check", f"{self.folder}/plan.json")
        device = []
        if budget is not None:
            device = ["--device", "sim", "--machine", self.machine]
            device += ["--memory-limit", str(budget)]
        learned, log, stats = (f"{self.folder}/{n}" for n in ("learned", "log", "stats"))
        for old in (learned, log, stats):
            if os.path.exists(old):
                os.remove(old)
        run(
            "espalier-run", f"{self.folder}/model.so", "--train", "--epochs", "1",
            "--learning-rate", "0.02", "--mean", "--weights", self.weights,
            *self.inputs, *device, "--save-weights", learned, "--log", log,
            "--stats", stats,
        )
        line = json.loads(open(log, encoding="utf-8").read())
        del line["seconds"]
        with open(stats, encoding="utf-8") as file:
            report = json.load(file)
        memory = report["memory"]
        self.seconds = report["simulated"]["seconds"] if device else None
        with open(learned, "rb") as file:
            return file.read(), line, memory


def tensors_of(safetensors):
    """Numbers by name."""
    length = struct.unpack("<Q", safetensors[:8])[0]
    tensors = {}
    for name, tensor in json.loads(safetensors[8 : 8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in tensor["data_offsets"])
            kind = {"F32": "f", "F64": "d"}[tensor["dtype"]]
            tensors[name] = array.array(kind, safetensors[begin:end])
    return tensors


def largest_error(learned, expected):
    """Beside the largest number of the tensor, or a hundredth: what is left of
    sums of which nothing should be left is rounding errors alone."""
    found = tensors_of(learned)
    return max(
        max(map(lambda x, y: abs(x - y), found[name], numbers))
        / max(0.01, max(map(abs, numbers)))
        for name, numbers in tensors_of(expected).items()
    )


def smallest_budget(training, *options):
    """Of all entries: each says what it needs."""
    text = training.compile(1024, *options, fails=True)
    return max(int(n) for n in re.findall(r"smallest budget with a plan is (\d+)", text))


def budgets(largest, smallest, steps):
    for step in range(steps):
        yield largest - (largest - smallest) * step // max(steps - 1, 1)


class Sweep:
    """Budgets from large to small."""

    def __init__(self, source, folder, network):
        self.training = Training(source, folder, network)
        self.name = network[0]
        self.learned, self.log, memory = self.training.train(None)
        self.peak = self.largest = memory["planned_device_bytes"]
        self.unsplit = smallest_budget(self.training, "--ablate=split-layers")
        self.smallest = smallest_budget(self.training)
        self.moved = 0
        if not self.smallest < self.unsplit < self.largest:
            sys.exit(f"{self.smallest} < {self.unsplit} < {self.largest} bytes: not so")

    def check(self, budget, tolerance):
        where = f"{self.name}, {budget} of {self.largest} bytes: "
        learned, log, memory = self.training.train(budget)
        if tolerance == 0:
            if learned != self.learned or log != self.log:
                sys.exit(f"{where}something else was learned: {log}, not {self.log}")
        else:
            error = largest_error(learned, self.learned)
            error = max(error, abs(log["loss"] / self.log["loss"] - 1))
            if not error < tolerance:
                sys.exit(f"{where}what was learned differs by {error}")
        used, planned = memory["device_peak_bytes"], memory["planned_device_bytes"]
        if not used <= planned <= budget:
            sys.exit(f"{where}{used} bytes were used, {planned} planned")
        if planned > self.peak:
            sys.exit(f"{where}{planned} bytes planned, and {self.peak} with a larger budget")
        self.peak = planned
        self.moved += memory["offloaded_bytes"]


def main(source, folder, flag, steps, *network):
    assert flag == "--steps"
    steps = int(steps)
    sweep = Sweep(source, folder, network)
    for budget in budgets(sweep.largest, sweep.unsplit, steps):
        sweep.check(budget, 0)
    if sweep.moved == 0:
        sys.exit(f"{network[0]}: nothing was ever offloaded")
    sweep.training.compile(sweep.unsplit - 1, "--ablate=split-layers", fails=True)
    sweep.training.compile(sweep.smallest - 1, fails=True)

    sweep = Sweep(source, folder, (*network, "--dtype", "f64"))
    for budget in budgets(sweep.unsplit - 1, sweep.smallest, max(2, steps // 2)):
        sweep.check(budget, 1e-9)


if __name__ == "__main__":
    main(*sys.argv[1:])
