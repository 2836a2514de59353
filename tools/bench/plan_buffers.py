#!/usr/bin/env python3
"""Runs `espalier-plan buffers` on tables of buffers and prints a Markdown table.

    tools/bench/plan_buffers.py [--tool PATH] [--repeat N] FILE.csv...

A number at the end of a file's name is the capacity it is to fit in, as in
A.1048576.csv. Seconds are medians; "CPU" is the processor time of the whole
process, which others on the machine do not add to.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time


def measure(tool, path):
    command = [tool, "buffers", path, "--json"]
    capacity = re.search(r"\.(\d+)\.csv$", path)
    if capacity:
        command += ["--capacity", capacity[1]]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        sys.exit(run.stderr)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(run.stdout), wall, cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", default="build/release/bin/espalier-plan")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    print("| file | buffers | load, bytes | peak, bytes | ratio | s | s CPU |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for path in arguments.files:
        runs = [measure(arguments.tool, path) for _ in range(arguments.repeat)]
        report = runs[0][0]
        wall = statistics.median(run[1] for run in runs)
        cpu = statistics.median(run[2] for run in runs)
        print(
            f"| {os.path.basename(path)} | {report['buffers']:,} "
            f"| {report['lower_bound_bytes']:,} | {report['peak_bytes']:,} "
            f"| {report['ratio']:.4f} | {wall:.2f} | {cpu:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
