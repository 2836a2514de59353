"""Plans the graphs and logs of ESPALIER_TEST_DATA under budgets. The tool itself
replays what it planned before it answers. A larger budget must not cost more."""

import glob
import json
import os
import subprocess
import sys

data = os.environ["ESPALIER_TEST_DATA"]
files = sorted(glob.glob(os.path.join(data, "moccasin_checkmate", "*.json")))
files += sorted(glob.glob(os.path.join(data, "dtr_logs", "*.log")))
if not files:
    sys.exit(f"{data} has none of them")
for path in files:
    command = ["espalier-plan", "recompute", path, "--json", "--changes", "0",
               "--budget", "90%,70%"]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stderr)
    report = json.loads(run.stdout)
    cost = 0
    for plan in report["plans"]:
        if "error" in plan:
            # There is no plan below the bound; above it, not far from it.
            if plan["budget_bytes"] > 1.1 * report["lower_bound_bytes"]:
                sys.exit(f"{path}: {plan}")
            continue
        if plan["cost"] < cost or plan["overhead_percent"] > 60:
            sys.exit(f"{path}: {plan}")
        cost = plan["cost"]
print("all fine")
