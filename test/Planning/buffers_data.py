"""Assigns the buffers of tables in ESPALIER_TEST_DATA. A file's name says its
capacity, as in A.1048576.csv; others are to come within 1% of the bound. The
tool itself checks that nothing overlaps before it answers."""

import glob
import json
import os
import re
import subprocess
import sys

data = os.environ["ESPALIER_TEST_DATA"]
# Those that take no more than a second or so.
files = sorted(glob.glob(os.path.join(data, "minimalloc", "[ACEIKi]*.csv")))
files += sorted(glob.glob(os.path.join(data, "dsa_traces", "*.csv")))
if not files:
    sys.exit(f"{data} has none of them")
for path in files:
    command = ["espalier-plan", "buffers", path, "--json"]
    capacity = re.search(r"\.(\d+)\.csv$", path)
    if capacity:
        command += ["--capacity", capacity[1]]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    report = json.loads(run.stdout)
    if not capacity and report["ratio"] > 1.01:
        sys.exit(f"{path}: {report}")
print("all fine")
