#!/usr/bin/env python3
"""What recomputation costs under budgets, beside the optimum.

    tools/bench/plan_recompute.py GRAPH.json... [--tool espalier-plan]
        [--budgets 90,80,...] [--optimum-nodes 50] [--optimum-seconds 120]

Plans each graph (Checkmate's or Moccasin's JSON) for parts of what it needs
without recomputation. For graphs of at most --optimum-nodes nodes also solves
Checkmate's integer program, if SciPy is installed (python3-scipy); what the
solver has not proven by --optimum-seconds is shown as the range that it knows.
Prints a table in Markdown: overhead in percent of the cost of running every
operator once, and the processor's seconds that planning took.
"""

import argparse
import json
import os
import resource
import subprocess
import sys


def read_graph(path):
    """Nodes' bytes and costs in the planner's order, and edges between them."""
    with open(path) as file:
        data = json.load(file)
    nodes = data["nodes"]
    ids = [node.get("id", node.get("name")) for node in nodes]
    links = data.get("links", data.get("edges"))
    edges = {(link.get("source", link.get("0")), link.get("target", link.get("1")))
             for link in links}
    order = data.get("graph", {}).get("order", ids)
    place = {node: i for i, node in enumerate(order)}
    count = len(order)
    size = [0] * count
    cost = [0.0] * count
    for node, identity in zip(nodes, ids):
        size[place[identity]] = node.get("cost_ram", node.get("out_cost"))
        cost[place[identity]] = node.get("cost_cpu", node.get("duration"))
    return size, cost, sorted((place[a], place[b]) for a, b in edges)


class Optimum:
    """Checkmate's program (Jain et al., MLSys 2020) of a graph and a budget.

    run[t, i]: node i runs in stage t, whose last is t itself; keep[t, i]: i is
    kept from stage t - 1 to t; free[t, i, k]: i is let go of in stage t after
    its reader k (or itself) has run. live[t, k]: bytes after k's turn.
    """

    def __init__(self, size, cost, edges):
        self.size, self.cost = size, cost
        self.count = len(size)
        self.reads = [[] for _ in size]
        self.readers = [[] for _ in size]
        for a, b in edges:
            self.reads[b].append(a)
            self.readers[a].append(b)

    def solve(self, budget, seconds, below):
        """The bounds of the extra cost that are proven; None: infeasible."""
        import numpy
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import coo_matrix

        count = self.count
        scale = max(self.size)
        columns = {}
        kinds, lows, highs = [], [], []

        def column(key, integer, low, high):
            columns[key] = len(kinds)
            kinds.append(1 if integer else 0)
            lows.append(low)
            highs.append(high)

        for t in range(count):
            for i in range(t + 1):
                column(("run", t, i), True, 1 if i == t else 0, 1)
                column(("live", t, i), False, 0, budget / scale)
                if i < t:
                    column(("keep", t, i), True, 0, 1)
                # Freed after a reader, or at once if no reader runs later.
                for k in [i] + [k for k in self.readers[i] if k <= t]:
                    column(("free", t, i, k), True, 0, 1)

        rows, places, values, low, high = [], [], [], [], []

        def constrain(terms, least, most):
            for key, factor in terms:
                if key in columns:
                    rows.append(len(low))
                    places.append(columns[key])
                    values.append(factor)
            low.append(least)
            high.append(most)

        infinity = numpy.inf
        for t in range(count):
            for i in range(t + 1):
                for j in self.reads[i]:
                    constrain([(("run", t, i), 1), (("run", t, j), -1),
                               (("keep", t, j), -1)], -infinity, 0)
                if i < t:
                    constrain([(("keep", t, i), 1), (("run", t - 1, i), -1),
                               (("keep", t - 1, i), -1)], -infinity, 0)
            # live[t, k] = live[t, k - 1] + run[t, k] size - what is freed after k - 1
            for k in range(t + 1):
                terms = [(("live", t, k), 1.0),
                         (("run", t, k), -self.size[k] / scale)]
                if k == 0:
                    terms += [(("keep", t, i), -self.size[i] / scale)
                              for i in range(t)]
                else:
                    terms.append((("live", t, k - 1), -1.0))
                    for i in self.reads[k - 1] + [k - 1]:
                        terms.append((("free", t, i, k - 1),
                                      self.size[i] / scale))
                constrain(terms, 0, 0)
            for i in range(t + 1):
                readers = [k for k in self.readers[i] if k <= t]
                for k in [i] + readers:
                    # What hinders: not run then, kept, or read later.
                    later = [r for r in readers if r > k]
                    hazards = [(("keep", t + 1, i), 1)] if t + 1 < count else []
                    hazards += [(("run", t, r), 1) for r in later]
                    constrain([(("free", t, i, k), 1), (("run", t, k), -1)],
                              -infinity, 0)
                    for key, factor in hazards:
                        constrain([(("free", t, i, k), 1), (key, factor)],
                                  -infinity, 1)
        objective = numpy.zeros(len(kinds))
        most = max(max(self.cost), 1e-300)
        for t in range(count):
            for i in range(t):
                objective[columns["run", t, i]] = self.cost[i] / most
        matrix = coo_matrix((values, (rows, places)),
                            shape=(len(low), len(kinds))).tocsr()
        constraints = [LinearConstraint(matrix, low, high)]
        if below is not None:
            # What our plan costs is enough to look below.
            constraints.append(LinearConstraint(
                coo_matrix(objective).tocsr(), -infinity, below / most * (1 + 1e-9)))
        answer = milp(objective, constraints=constraints, integrality=kinds,
                      bounds=Bounds(lows, highs),
                      options={"time_limit": seconds, "mip_rel_gap": 1e-6})
        if answer.status == 2:
            return None
        bound = answer.mip_dual_bound
        best = answer.fun if answer.x is not None else None
        return ((bound or 0) * most,
                best * most if best is not None else below)


def plan(tool, path, budgets):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [tool, "recompute", path, "--json", "--budget",
               ",".join(f"{budget}%" for budget in budgets)]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode != 0:
        sys.exit(answer.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(answer.stdout), after.ru_utime - before.ru_utime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("graphs", nargs="+")
    parser.add_argument("--tool", default="espalier-plan")
    parser.add_argument("--budgets", default="90,80,70,60,50,40,30,20")
    parser.add_argument("--optimum-nodes", type=int, default=50)
    parser.add_argument("--optimum-seconds", type=float, default=120)
    options = parser.parse_args()
    budgets = [float(part) for part in options.budgets.split(",")]
    try:
        import scipy  # noqa: F401
    except ImportError:
        print("SciPy is not installed: no optima", file=sys.stderr)
        options.optimum_nodes = 0
    heads = [f"{budget:g}%" for budget in budgets]
    print("| graph | nodes | lower bound | " + " | ".join(heads) + " | s |")
    print("|" + " --- |" * (len(heads) + 4))
    for path in options.graphs:
        size, cost, edges = read_graph(path)
        report, seconds = plan(options.tool, path, budgets)
        once = sum(cost)
        cells = []
        for entry in report["plans"]:
            extra = entry["cost"] - once if "cost" in entry else None
            cell = "–" if extra is None else f"{100 * extra / once:.2f}"
            needed = entry["budget_bytes"] >= report["lower_bound_bytes"]
            if extra != 0 and needed and len(size) <= options.optimum_nodes:
                found = Optimum(size, cost, edges).solve(
                    entry["budget_bytes"], options.optimum_seconds, extra)
                if found is None:
                    cell += " (none)"
                else:
                    low, high = (100 * bound / once if bound is not None else None
                                 for bound in found)
                    if high is not None and high - low < 0.005:
                        cell += f" ({high:.2f})"
                    else:
                        cell += f" (≥ {low:.2f})"
            cells.append(cell)
            print(os.path.basename(path), entry["budget_bytes"], cell,
                  file=sys.stderr, flush=True)
        bound = 100 * report["lower_bound_bytes"] / report["peak_bytes_before"]
        name = report["graph"] or os.path.basename(path)
        print(f"| {name} | {len(size)} | {bound:.0f}% | " + " | ".join(cells) +
              f" | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
