#!/usr/bin/env python3
"""Neural architectures of six layers (ENAS, as in D-VAE) as JSON lines.

    dags.py FILE > dags.jsonl

A line of FILE is "[[op], [op, f0], [op, f0, f1], ...], accuracy": layer i reads
layer i - 1, and each vertex j < i for which its f_j is 1, where vertex 0 is the
input and vertex i + 1 is layer i. The output reads the last layer and is the
root. Children are in ascending order. Fields:

    op        of a layer; one more than the greatest for the input, two more for
              the output (6 and 7, as there are six operations)
    accuracy  of the architecture, at each of its vertices
"""

import json

from structures import Malformed, main, write_structure

OPERATIONS = 6
INPUT, OUTPUT = OPERATIONS, OPERATIONS + 1


def convert(lines, out, options):
    for line in lines:
        if not line.strip():
            continue
        try:
            layers, accuracy = json.loads(f"[{line}]")
            ops = [layer[0] for layer in layers]
            flags = [layer[1:] for layer in layers]
        except (ValueError, TypeError, IndexError):
            raise Malformed("expected '[[op], [op, f0], ...], accuracy'") from None
        children = [[]]
        for i, (op, skips) in enumerate(zip(ops, flags)):
            if op not in range(OPERATIONS):
                raise Malformed(f"layer {i} has the operation {op}")
            if len(skips) != i or any(flag not in (0, 1) for flag in skips):
                raise Malformed(
                    f"layer {i} has the flags {skips}, expected {i} of 0 or 1"
                )
            children.append([j for j in range(i) if skips[j]] + [i])
        children.append([len(layers)])
        write_structure(
            out,
            children,
            {
                "op": [INPUT, *ops, OUTPUT],
                "accuracy": [float(accuracy)] * len(children),
            },
        )


if __name__ == "__main__":
    main(__doc__, convert)
