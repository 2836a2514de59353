# ===-- check_memory_plans.py - The same, whatever the budget ------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# Trains a network for three steps without a budget, then with budgets from what
# that needed down to the smallest that a plan is found for, on a simulated
# device that has no more memory than the budget. Losses and everything that is
# learned, running statistics among it, must be equal bit by bit. What was used
# of the device is at most what was planned, which is within the budget, and is
# no more than with a larger budget. Every plan passes `espalier-plan check`.
#
# Usage: check_memory_plans.py SOURCE-FOLDER FOLDER --steps N NETWORK [OPTION...]

import json
import os
import random
import re
import struct
import subprocess
import sys

SAMPLES = 6


def run(*command, fails=False, env=None):
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stderr if fails else done.stdout


def write_npy(path, kind, shape, values):
    header = f"{{'descr': '<{kind}4', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * ((-11 - len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        file.write(struct.pack(f"<{len(values)}{kind}", *values))


def write_samples(folder, ir):
    """Noise for images, and any labels, in the shapes that the network takes."""
    draw = random.Random(1)
    inputs = []
    for name, make in (("image", lambda: draw.gauss(0, 1)), ("label", None)):
        match = re.search(rf'tensor<([\dx]+)x([fi])32> {{nn.input = "{name}"}}', ir)
        shape = [int(extent) for extent in match.group(1).split("x")]
        classes = 2 if len(shape) > 1 else 4
        make = make or (lambda: draw.randrange(classes))
        shape[0] = SAMPLES
        count = 1
        for extent in shape:
            count *= extent
        path = f"{folder}/{name}.npy"
        write_npy(path, match.group(2), tuple(shape), [make() for _ in range(count)])
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
        self.inputs = write_samples(folder, open(self.ir, encoding="utf-8").read())

    def compile(self, budget, fails=False, ablate=None):
        options = ["--train=momentum", "--train-without=clipping"]
        options += [f"--ablate={ablate}"] if ablate else []
        if budget is not None:
            options += [f"--machine={self.machine}", f"--memory-budget={budget}"]
        return run(
            "espalier-compile", self.ir, *options, "-o", f"{self.folder}/model.so",
            "--plan-out", f"{self.folder}/plan.json", fails=fails,
        )

    def train(self, budget, ablate=None):
        """What was learned, what the log says, and what memory was used."""
        self.compile(budget, ablate=ablate)
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


def smallest_budget(training):
    """Of all entries: each says what it needs."""
    text = training.compile(1024, fails=True)
    return max(int(n) for n in re.findall(r"smallest budget with a plan is (\d+)", text))


def main(source, folder, flag, steps, *network):
    assert flag == "--steps"
    steps = int(steps)
    training = Training(source, folder, network)
    learned, log, memory = training.train(None)
    largest = memory["planned_device_bytes"]
    smallest = smallest_budget(training)
    if not smallest < largest:
        sys.exit(f"the smallest budget is {smallest}, of {largest} bytes")
    peak = largest
    moved = 0
    for step in range(steps):
        budget = largest - (largest - smallest) * step // max(steps - 1, 1)
        where = f"{network[0]}, {budget} of {largest} bytes: "
        same, same_log, memory = training.train(budget)
        if same != learned or same_log != log:
            sys.exit(f"{where}something else was learned: {same_log}, not {log}")
        used, planned = memory["device_peak_bytes"], memory["planned_device_bytes"]
        if not used <= planned <= budget:
            sys.exit(f"{where}{used} bytes were used, {planned} planned")
        if planned > peak:
            sys.exit(f"{where}{planned} bytes planned, and {peak} with a larger budget")
        peak = planned
        moved += memory["offloaded_bytes"]
    if moved == 0:
        sys.exit(f"{network[0]}: nothing was ever offloaded")
    training.compile(smallest - 1, fails=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
