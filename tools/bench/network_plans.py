#!/usr/bin/env python3
"""Plans the training of real networks for a machine, and tries the plans.

    tools/bench/network_plans.py [--bin FOLDER] [--machine FILE.json]
        [--activations N...] NETWORK:BATCH...

Each network is generated (espalier.networks), compiled with momentum, and run
dry on the simulated device, which holds no more than the machine has. Prints a
Markdown table: what the training needs without a plan, what it used of the
device and the host, what was copied and computed again, the simulated time over
that with unlimited memory, and the processor time that compiling took. With
--activations, budgets are what stays (parameters, what momentum remembers) and
an N-th of all else. A name may carry options: "resnet --blocks 6 32 626 6:16".
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile


def run(*command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def generate(*options):
    """Runs the generator of networks."""
    python = os.path.join(os.path.dirname(__file__), "../../python")
    environment = {**os.environ, "PYTHONPATH": python}
    run(sys.executable, "-m", "espalier.networks", *options, env=environment)


class Network:
    def __init__(self, tools, folder, name, batch):
        self.tools = tools
        self.ir, self.library = f"{folder}/network.mlir", f"{folder}/network.so"
        self.plan = f"{folder}/plan.json"
        generate(*name.split(), "--batch", batch, "-o", self.ir)

    def compile(self, machine, budget=None):
        """Processor seconds."""
        options = [] if machine is None else [f"--machine={machine}"]
        if budget is not None:
            options += [f"--memory-budget={budget}"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(
            f"{self.tools}/espalier-compile", self.ir, "--train=momentum",
            "--train-without=clipping", *options, "-o", self.library, "--plan-out", self.plan,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def simulate(self, machine):
        plan = f"{self.tools}/espalier-plan"
        return json.loads(run(plan, "simulate", self.plan, "--machine", machine, "--json"))

    def stays(self):
        """Bytes of what is there before and after a step."""
        with open(self.plan, encoding="utf-8") as file:
            tensors = json.load(file)["tensors"]
        return sum(tensor["bytes"] for tensor in tensors if tensor.get("kind") == "parameter")

    def run_dry(self, machine, limit):
        stats = f"{self.plan}.stats"
        run(
            f"{self.tools}/espalier-run", self.library, "--entry", "train_step", "--device", "sim",
            "--machine", machine, "--dry", "--memory-limit", str(limit), "--stats", stats,
        )
        with open(stats, encoding="utf-8") as file:
            return json.load(file)


def gibibytes(count):
    return f"{count / 2**30:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--machine", default="docs/machines/k40c.json")
    parser.add_argument("--activations", type=float, nargs="+", default=[])
    parser.add_argument("networks", nargs="+", metavar="NETWORK:BATCH")
    arguments = parser.parse_args()
    machine = arguments.machine
    with open(machine, encoding="utf-8") as file:
        memory = json.load(file)["devices"][0]["memory"]
    print(
        "| network | batch | without a plan, GiB | device, GiB | host, GiB | copied, GiB "
        "| operators again | time | compiled in, s |"
    )
    print("| --- " * 2 + "| ---: " * 7 + "|")
    for network in arguments.networks:
        name, batch = network.rsplit(":", 1)
        with tempfile.TemporaryDirectory() as folder:
            trained = Network(arguments.bin, folder, name, batch)
            limits = [(memory, "")]
            if arguments.activations:
                trained.compile(None)
                stays, peak = trained.stays(), trained.simulate(machine)["liveness_bytes"]
                limits = [
                    (stays + int((peak - stays) / divisor), f", activations / {divisor:g}")
                    for divisor in arguments.activations
                ]
            for limit, note in limits:
                seconds = trained.compile(machine, limit)
                planned = trained.simulate(machine)
                used = trained.run_dry(machine, limit)
                simulated, bytes_used = used["simulated"]["seconds"], used["memory"]
                if abs(simulated - planned["seconds"]) > 1e-6 * planned["seconds"]:
                    sys.exit(f"{network}: planned {planned['seconds']} s, simulated {simulated} s")
                over = simulated / planned["seconds_unlimited"] - 1
                moved = bytes_used["offloaded_bytes"] + bytes_used["prefetched_bytes"]
                print(
                    f"| {name}{note} | {batch} | {gibibytes(planned['liveness_bytes'])} "
                    f"| {gibibytes(bytes_used['device_peak_bytes'])} "
                    f"| {gibibytes(bytes_used['host_peak_bytes'])} | {gibibytes(moved)} "
                    f"| {planned['recomputed_operators']} | {100 * over:+.1f} % | {seconds:.1f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
