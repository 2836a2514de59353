# ===-- check_conv_algorithms.py - Workspaces where there is room ---------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# Trains a network on a simulated device with much memory, where all convolutions
# get workspaces, with what it needs without any, where some do, and with the
# smallest budget. It learns the same, bit by bit, in less simulated time than
# without workspaces, and what is used stays within the budget.
#
# Usage: check_conv_algorithms.py SOURCE-FOLDER FOLDER NETWORK [OPTION...]

import json
import os
import sys

from check_memory_plans import Training, run, smallest_budget


def main(source, folder, *network):
    # The kernels that have these algorithms.
    os.environ["ESPALIER_GEMM"] = "builtin"
    training = Training(source, folder, network, machine="local-cpu-builtin")
    plan = f"{folder}/plan.json"

    whole = "--ablate=split-layers"  # parts of a batch have sums of their own

    def train(budget, *options):
        learned, log, memory = training.train(budget, whole, *options)
        used, planned = memory["device_peak_bytes"], memory["planned_device_bytes"]
        if not used <= planned <= budget:
            sys.exit(f"{used} bytes were used, {planned} planned, of {budget}")
        text = run("espalier-plan", "simulate", plan, "--machine", training.machine, "--json")
        algorithms = json.loads(text)["algorithms"]
        print(f"{budget} bytes: {algorithms}, {planned} bytes, {training.seconds} s")
        return learned, log, planned, algorithms, training.seconds

    ablated = train(1 << 30, "--ablate=select-conv-algorithms")
    if set(ablated[3]) != {"direct"}:
        sys.exit(f"workspaces were not asked for: {ablated[3]}")
    steps = ablated[3]["direct"]
    seconds = []
    counts = []
    for budget in (1 << 30, ablated[2], smallest_budget(training, whole)):
        learned, log, _, algorithms, time = train(budget)
        if learned != ablated[0] or log != ablated[1]:
            sys.exit(f"{budget} bytes: something else was learned: {log}, not {ablated[1]}")
        seconds.append(time)
        counts.append(algorithms.get("patches", 0))
    if not steps == counts[0] > counts[1] >= counts[2]:
        sys.exit(f"of {steps} convolutions {counts} have workspaces")
    if not seconds[0] <= seconds[1] <= ablated[4] or not seconds[0] < ablated[4]:
        sys.exit(f"{seconds} s, and {ablated[4]} s without workspaces")


main(*sys.argv[1:])
