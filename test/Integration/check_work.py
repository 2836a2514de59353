# check_work.py FOLDER: how much is done. Work and memory grow with the vertices that
# there are, not with the longest sequence; launches with levels, not with the
# different numbers of children; and batches of tiny states are not slower than one
# vertex at a time.

import itertools
import json
import os
import random
import sys

import forests
import models

EMBEDDING, TABLE = 5, 20000

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)


def path(name):
    return os.path.join(folder, name)


def compile(model, state):
    with open(path(model + ".mlir"), "w") as file:
        file.write(models.Variant(model, state, EMBEDDING, TABLE).text)
    models.call("espalier-compile", path(model + ".mlir"), "-o", path(model + ".so"))


def run(model, structures, *options):
    """What the statistics say of a run in one batch, and the steps that ran."""
    # No two vertices have the same word, so that none equals another.
    number = itertools.count()
    words = [[next(number) for _ in lists] for lists in structures]
    forests.write(path("structures.jsonl"), structures, words)
    models.call(
        "espalier-run", path(model + ".so"), "--random-weights=1", "--structures",
        path("structures.jsonl"), "--stats", path("stats.json"), *options,
    )  # fmt: skip
    with open(path("stats.json")) as file:
        return json.load(file)


def launches(model, structures):
    stats = run(model, structures, "--batch-size", "0", "--trace", path("trace.json"))
    with open(path("trace.json")) as file:
        events = json.load(file)
    events = events["traceEvents"] if isinstance(events, dict) else events
    return stats["tasks"], sum(event["ph"] == "X" for event in events)


def check_lengths():
    """Sixty-four sequences of 3 200 tokens, of equal length and with one long."""
    state = 8
    compile("gru", state)
    equal = [forests.chain(50)] * 64
    ragged = [forests.chain(3200 - 63)] + [forests.chain(1)] * 63
    peaks = []
    for structures in equal, ragged:
        vertices, inner = 3200, 3200 - 64
        gates = 3 * state
        products = vertices * EMBEDDING * gates + inner * state * gates + 64 * state * 5
        stats = run("gru", structures, "--batch-size", "0")
        flops = stats["profile"]["gemm_flops"]
        assert flops == 2 * products, (flops, 2 * products)
        peaks.append(stats["peak_bytes"])
    print(f"peaks of equal and of ragged sequences: {peaks}")
    assert peaks[1] <= 1.05 * peaks[0], peaks


def check_launches():
    """Ten thousand children beside a long chain, and beside them as many others
    evenly or unevenly distributed."""
    compile("child_sum", 8)
    base = [forests.chain(200), forests.star(10000)]
    even = base + [forests.star(25), forests.star(26)] * 25
    uneven = base + [forests.star(children) for children in range(1, 51)]
    counts = [launches("child_sum", structures) for structures in (even, uneven)]
    print(f"tasks and launches: {counts}")
    assert all(tasks == 200 for tasks, _ in counts), counts
    assert counts[1][1] <= 1.02 * counts[0][1], counts


def check_tiny():
    """Batches are never more tasks than one vertex at a time, and as many for
    one chain."""
    draw = random.Random(3)
    trees = [forests.tree(draw, draw.randint(2, 20)) for _ in range(128)]
    chains = [forests.chain(draw.randint(2, 40)) for _ in range(128)]
    for state in 8, 31:
        compile("tree_lstm", state)
        compile("gru", state)
        for model, structures, batch in [
            ("tree_lstm", trees, "64"), ("tree_lstm", trees, "1"), ("gru", chains, "64"),
        ]:  # fmt: skip
            batched, serial = (
                run(model, structures, "--batch-size", batch, "--policy", policy)["tasks"]
                for policy in ["batched", "serial"]
            )
            what = f"{model}, state {state}, in batches of {batch}"
            print(f"{what}: {batched} tasks, serial {serial}")
            assert batched < serial == sum(map(len, structures)), what
    # One chain is one vertex at a time in any case.
    for policy in "batched", "serial":
        tasks = run("gru", chains, "--batch-size", "1", "--policy", policy)["tasks"]
        assert tasks == sum(map(len, chains)), (policy, tasks)


check_lengths()
check_launches()
check_tiny()
