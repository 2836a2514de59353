# ===-- check_dynamic_batches.py - Batches larger than the device --------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# A small Tree-LSTM evaluates and trains on batches of trees, on a simulated device
# with less and less memory, down to the least that will do. What it computes, and
# what it learns, must be equal bit by bit to what the processor makes of the
# batches in all of its memory. The device's memory is never used beyond the limit.
#
# Usage: check_dynamic_batches.py SOURCE-FOLDER FOLDER

import json
import os
import re
import subprocess
import sys

import models

STATE, EMBEDDING, TABLE = 48, 20, 200
COPIES = 40  # of the 19 trees, in batches of half of them
LIMITS = 4


def run(*command, fails=False):
    done = subprocess.run(command, capture_output=True, text=True)
    if (done.returncode != 0) != fails:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stderr if fails else done.stdout


class Checker:
    def __init__(self, source, folder, entry, options, product):
        self.folder = folder
        self.common = [
            "espalier-run", f"{folder}/tree_lstm.so", *options,
            "--structures", f"{folder}/trees.ptb", "--random-weights", "7",
            "--batch-size", str(19 * COPIES // 2), product, f"{folder}/made",
        ]  # fmt: skip
        self.entry = entry
        self.device = ["--device", "sim", "--machine", f"{source}/docs/machines/k40c.json"]

    def bytes_of(self, *options):
        """What a run makes, what it says of itself, and what it prints."""
        stats = f"{self.folder}/stats.json"
        text = run(*self.common, *options, "--stats", stats)
        with open(f"{self.folder}/made", "rb") as made, open(stats) as said:
            return made.read(), json.load(said), text

    def check(self):
        expected, stats, _ = self.bytes_of()
        if "memory" in stats:
            sys.exit("the processor has no memory of its own")
        made, stats, _ = self.bytes_of(*self.device)
        most = stats["memory"]["device_peak_bytes"]
        if made != expected or stats["memory"]["evictions"]:
            sys.exit(f"{self.entry}: not the same on a device that is large enough")
        smallest = self.smallest()
        peak, evictions = most, 0
        for i in range(LIMITS + 1):
            limit = most - (most - smallest) * i // LIMITS
            made, stats, text = self.bytes_of(*self.device, "--memory-limit", str(limit))
            memory = stats["memory"]
            if made != expected:
                sys.exit(f"{self.entry}: not the same within {limit} of {most} bytes")
            if not memory["device_peak_bytes"] <= min(limit, peak):
                sys.exit(f"{self.entry}: used {memory}, before {peak}")
            if i and not (memory["evictions"] and memory["offloaded_bytes"]):
                sys.exit(f"{self.entry}: all of {most} bytes fit {limit}: {memory}")
            peak, evictions = memory["device_peak_bytes"], memory["evictions"]
        print(f"{self.entry}: {smallest} of {most} bytes do, with {evictions} evictions")
        return smallest

    def smallest(self):
        """The smallest limit, as the error says; one byte less is an error."""
        limit = 1
        for _ in range(2):
            error = run(*self.common, *self.device, "--memory-limit", str(limit), fails=True)
            found = re.search(
                r"phase '[\w ]+' of entry '\w+' touches \d+ bytes.* (\d+) rows?, beside "
                rf"\d+ bytes.* which has {limit} bytes; run fewer structures at once, or "
                r"give the device (\d+) bytes", error,
            )  # fmt: skip
            if not found:
                sys.exit(error)
            limit = int(found[2]) - 1
        return limit + 1


def main():
    source, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    variant = models.Variant("tree_lstm", STATE, EMBEDDING, TABLE)
    with open(f"{folder}/tree_lstm.mlir", "w") as file:
        file.write(variant.text)
    with open(f"{source}/docs/examples/data/trees.ptb") as trees:
        text = trees.read()
    with open(f"{folder}/trees.ptb", "w") as file:
        file.write(COPIES * text)
    run("espalier-compile", f"{folder}/tree_lstm.mlir", "--train=adagrad", "-o",
        f"{folder}/tree_lstm.so")  # fmt: skip

    # Equal vertices would share a row.
    every = ["--ablate", "sharing"]
    inference = Checker(source, folder, "inference", every, "--output")
    smallest = inference.check()
    train = ["--train", "--no-shuffle", "--epochs", "2", "--learning-rate", "0.05"]
    Checker(source, folder, "training", train + every, "--save-weights").check()
    Checker(source, folder, "training, shared", train, "--save-weights").check()

    # Without data or arithmetic it is the same.
    common = inference.common[:-2] + inference.device
    common += ["--memory-limit", str(smallest)]
    said = []
    for dry in [], ["--dry"]:
        text = run(*common, *dry)
        said.append(re.findall(r"(?:copied:|on the device:).*", text))
    if len(said[0]) != 2 or said[0] != said[1]:
        sys.exit(f"a dry run says {said[1]}, not {said[0]}")


main()
