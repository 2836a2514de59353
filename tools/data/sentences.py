#!/usr/bin/env python3
"""The sentences of bracketed trees, each with the label of its tree, as JSON lines.

    sentences.py FILE > sentences.jsonl

A line of FILE is a tree such as "(3 (2 A) (4 (3 good) (2 film)))". A vertex is a
word, over the word before. Fields:

    word   the word
    label  of the tree, at its last word; null elsewhere
"""

import re

from structures import Malformed, main, write_structure

# "(label word)": blanks are those of ASCII only.
LEAF = re.compile(r"\([^ ()]+ ([^ ()]+)\)")
ROOT = re.compile(r" *\((\d+) ")


def convert(lines, out, options):
    for line in lines:
        if not line.strip():
            continue
        root, words = ROOT.match(line), LEAF.findall(line)
        if not root or not words:
            raise Malformed("expected a tree such as '(3 (2 good) (2 film))'")
        write_structure(
            out,
            [[v - 1] if v else [] for v in range(len(words))],
            {"word": words, "label": [None] * (len(words) - 1) + [int(root[1])]},
        )


if __name__ == "__main__":
    main(__doc__, convert)
