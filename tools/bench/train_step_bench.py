#!/usr/bin/env python3
"""Steps of training ResNet-50 on this CPU: planned in less memory, and not.

    tools/bench/train_step_bench.py [--batch 8] [--image 128] [--threads 1]
        [--fractions 1 0.5 0.33] [--rounds 5] [--torch PYTHON]

Espalier trains with momentum within fractions of the memory that a step takes
without a budget; with --torch, a Python that has PyTorch trains the same network
as it is, and with every block's activations computed again (torch.utils.checkpoint).
All run in turn, a few steps each, `--rounds` times. Prints medians of seconds a
step with their range, and what each held: Espalier's arena, and how much larger
PyTorch's process got.
"""

import argparse
import json
import os
import statistics
import tempfile

import numpy as np

from network_plans import generate, run

STEPS = 2


class Espalier:
    """One budget: a library, and what it takes to train it."""

    def __init__(self, options, folder, fraction, whole):
        self.tools, self.threads = options.bin, options.threads
        self.library = f"{folder}/{fraction}.so"
        self.weights, self.log = f"{folder}/first.safetensors", f"{folder}/log"
        self.stats = f"{folder}/stats"
        self.inputs = ["--input", f"image={folder}/image.npy"]
        self.inputs += ["--input", f"label={folder}/label.npy"]
        budget = []
        if whole is not None:
            machine = os.path.join(os.path.dirname(__file__), "../../docs/machines/local-cpu.json")
            budget = ["--machine", machine, "--memory-budget", str(int(whole * fraction))]
        run(
            f"{self.tools}/espalier-compile", f"{folder}/network.mlir", "--train=momentum",
            "--train-without=clipping", *budget, "-o", self.library,
        )
        self.name = f"Espalier, {fraction:g} of the memory" if budget else "Espalier"

    def steps(self):
        """Seconds a step of each epoch but the first, and bytes."""
        if os.path.exists(self.log):
            os.remove(self.log)
        run(
            f"{self.tools}/espalier-run", self.library, "--train", "--epochs", "2",
            "--learning-rate", "0.01", "--mean", "--weights", self.weights, *self.inputs,
            "--threads", str(self.threads), "--save-weights", f"{self.log}.learned",
            "--log", self.log, "--stats", self.stats,
        )
        with open(self.log, encoding="utf-8") as file:
            epochs = [json.loads(line)["seconds"] for line in file]
        with open(self.stats, encoding="utf-8") as file:
            held = json.load(file)["memory"]["device_peak_bytes"]
        return [seconds / STEPS for seconds in epochs[1:]], held


class Torch:
    def __init__(self, options, again):
        self.command = [
            options.torch, os.path.join(os.path.dirname(__file__), "train_step_torch.py"),
            str(options.batch), str(options.image), str(options.threads), str(STEPS),
        ] + (["again"] if again else [])
        self.name = "PyTorch, blocks computed again" if again else "PyTorch"

    def steps(self):
        found = json.loads(run(*self.command))
        return found["seconds"], found["bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--image", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--fractions", type=float, nargs="*", default=[0.5, 0.33])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--torch", metavar="PYTHON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generate(
            "resnet50", "--batch", str(options.batch), "--image", str(options.image),
            "-o", f"{folder}/network.mlir", "--weights", f"{folder}/first.safetensors",
        )
        draw, count = np.random.default_rng(0), options.batch * STEPS
        images = draw.normal(size=(count, 3, options.image, options.image))
        np.save(f"{folder}/image.npy", images.astype(np.float32))
        np.save(f"{folder}/label.npy", draw.integers(0, 1000, size=count).astype(np.int32))
        systems = [Espalier(options, folder, 1, None)]
        whole = systems[0].steps()[1]
        systems += [Espalier(options, folder, part, whole) for part in options.fractions]
        if options.torch:
            systems += [Torch(options, again) for again in (False, True)]
        seconds, held = {}, {}
        for _ in range(options.rounds):
            for system in systems:
                found, held[system.name] = system.steps()
                seconds.setdefault(system.name, []).extend(found)
    print("| | s a step | range | over the first | MiB |")
    print("| --- | ---: | ---: | ---: | ---: |")
    first = statistics.median(seconds[systems[0].name])
    for name, values in seconds.items():
        median = statistics.median(values)
        print(
            f"| {name} | {median:.3f} | {min(values):.3f} to {max(values):.3f} "
            f"| {100 * (median / first - 1):+.1f} % | {held[name] / 2**20:.0f} |"
        )


if __name__ == "__main__":
    main()
