"""Results as Markdown tables."""

from __future__ import annotations

import math

BASE = "espalier"
# How many cores others may use at the time.
QUIET = 0.1


def geometric_mean(values):
    """NaN of none."""
    values = list(values)
    if not values:
        return math.nan
    return math.exp(sum(map(math.log, values)) / len(values))


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def rate(entry):
    return entry.get("samples_per_second") if entry else None


def ratios(cells, peer):
    """Espalier's samples/s over a peer's, for the cells that have both."""
    found = []
    for cell in cells:
        ours, theirs = (rate(cell["peers"].get(name)) for name in (BASE, peer))
        if ours and theirs:
            found.append(ours / theirs)
    return found


def peers_of(cells):
    """All of them, in order of appearance."""
    return list(dict.fromkeys(peer for cell in cells for peer in cell["peers"]))


def rate_text(entry):
    if entry is None:
        return ""
    if "failed" in entry:
        return "failed"
    middle = entry["samples_per_second"]
    low, high = entry["quartiles"]
    spread = 50 * (high - low) / middle
    return f"{middle:.0f} ±{spread:.0f}%"


def ratio_text(cell, peer):
    found = ratios([cell], peer)
    return f"{found[0]:.2f}" if found else ""


def speed_table(cells):
    peers = peers_of(cells)
    others = [peer for peer in peers if peer != BASE and BASE in peers]
    rows = []
    for cell in cells:
        found = cell["peers"]
        rows.append(
            [cell["state"], cell["batch"]]
            + [rate_text(found.get(peer)) for peer in peers]
            + [ratio_text(cell, peer) for peer in others]
        )
    if others:
        means = [f"{geometric_mean(ratios(cells, peer)):.2f}" for peer in others]
        rows.append(["geometric mean", ""] + [""] * len(peers) + means)
    header = ["state", "batch", *peers, *(f"/ {peer}" for peer in others)]
    return table(header, rows)


def variants_text(cells):
    """Which variant each peer was best with, and how far results differ."""
    lines = []
    for peer in peers_of(cells):
        done = [c for c in cells if "variant" in c["peers"].get(peer, {})]
        if not done:
            continue
        found = {}
        for cell in done:
            where = f"{cell['state']}/{cell['batch']}"
            chosen = cell["peers"][peer]
            variant = chosen["variant"]
            if chosen["threads"] != cell["threads"]:
                variant += f" with {chosen['threads']} thread"
            found.setdefault(variant, []).append(where)
        text = "; ".join(f"{k} at {', '.join(v)}" for k, v in found.items())
        if len(found) == 1:
            text = next(iter(found))
        worst = max(cell["peers"][peer]["error"] for cell in done)
        lines.append(f"* {peer}: {text}; results within {worst:.0e}")
    return "\n".join(lines)


def failures_text(cells):
    """The first line of each failure; the rest is in the file of results."""
    lines = []
    for cell in cells:
        for peer, entry in cell["peers"].items():
            if "failed" in entry:
                reason = entry["failed"].splitlines()[0]
                where = f"state {cell['state']}, batch {cell['batch']}"
                lines.append(f"* {peer}, {where}: {reason}")
    return "\n".join(lines)


def apart_table(cells, key, text):
    """A table of one more measurement, for the cells that have it."""
    cells = [c for c in cells if any(key in e for e in c["peers"].values())]
    if not cells:
        return ""
    peers = peers_of(cells)
    rows = [
        [cell["state"], cell["batch"]]
        + [
            text(cell["peers"][peer]) if key in cell["peers"].get(peer, {}) else ""
            for peer in peers
        ]
        for cell in cells
    ]
    return table(["state", "batch", *peers], rows)


def construction_text(entry):
    seconds = entry["construction_seconds"]
    if seconds is None:
        return "not separable"
    middle = sorted(entry["seconds"])[len(entry["seconds"]) // 2]
    each = 1e6 * seconds / entry["structures"]
    return f"{each:.1f} µs, {100 * seconds / middle:.1f} %"


def memory_text(entry):
    found = entry["memory"]
    text = f"{found['bytes'] / found['vertices']:.0f}"
    if found["own_account"] is not None:
        text += f" ({found['own_account'] / found['vertices']:.0f})"
    return text


def markdown(results):
    """All tables of a file of results."""
    parts = [f"{results['machine']}.\n"]
    noise = max((cell["busy_cores"] for cell in results["cells"]), default=0)
    if noise > QUIET:
        parts.append(f"**Not to be published: others kept {noise:.1f} cores busy.**\n")
    groups = {}
    for cell in results["cells"]:
        key = (cell["model"], cell["mode"], cell["threads"])
        groups.setdefault(key, []).append(cell)
    for (model, mode, threads), cells in groups.items():
        parts.append(
            f"## {model}, {mode}, {threads} thread{'s' * (threads > 1)}\n\n"
            f"{cells[0]['data']}. Samples/s, median of {results['repeats']} and half "
            f"the distance of the quartiles; how many times {BASE} is faster.\n"
        )
        parts.append(speed_table(cells) + "\n")
        parts.append(variants_text(cells) + "\n")
        failures = failures_text(cells)
        if failures:
            parts.append("Failed:\n\n" + failures + "\n")
        apart = apart_table(cells, "construction_seconds", construction_text)
        if apart:
            parts.append(
                "Scheduling or graph construction, a sample, and of the whole "
                f"time:\n\n{apart}\n"
            )
        memory = apart_table(cells, "memory", memory_text)
        if memory:
            parts.append(
                "Bytes a vertex that the largest batch adds to the process (by "
                f"the system's own account):\n\n{memory}\n"
            )
    return "\n".join(parts)
