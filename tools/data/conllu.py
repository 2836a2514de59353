#!/usr/bin/env python3
"""Sentences of a CoNLL-U file, labelled by part of speech, as JSON lines.

    conllu.py [--view trees] FILE > words.jsonl

    --view sequences  (the default) a vertex for each word, over the word before
    --view trees      a vertex for each word, over its dependents in the order of
                      the sentence; children come before their parents. Several
                      roots are one structure

Ranges (2-3) and empty nodes (3.1) are skipped. Fields:

    word   the form
    label  the number of its universal part of speech, among the 17 in
           alphabetical order; null for others
"""

from structures import Malformed, main, post_order, renumber, write_structure

PARTS = """ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM
VERB X""".split()


def write_sentence(words, out, view):
    """`words`: a form, a part of speech and a head (from 1; 0: none) each."""
    count = len(words)
    if any(not 0 <= head <= count for _, _, head in words):
        raise Malformed(f"a head is no word of the sentence's {count}")
    order = list(range(count))
    if view == "sequences":
        children = [[v - 1] if v else [] for v in order]
    else:
        # Vertex `count` is above all roots, and left out.
        below = [[] for _ in range(count + 1)]
        for v, (_, _, head) in enumerate(words):
            below[head - 1 if head else count].append(v)
        order = post_order(below, count)[:-1]
        if len(order) != count:
            raise Malformed("the heads of a sentence go round in a circle")
        children = renumber(below, order)
    labels = [PARTS.index(part) if part in PARTS else None for _, part, _ in words]
    write_structure(
        out,
        children,
        {"word": [words[v][0] for v in order], "label": [labels[v] for v in order]},
    )


def convert(lines, out, options):
    words = []
    for line in lines:
        if line.startswith("#"):
            continue
        if not line.strip():
            if words:
                write_sentence(words, out, options.view)
            words = []
            continue
        columns = line.split("\t")
        if len(columns) != 10:
            raise Malformed(f"expected 10 columns, found {len(columns)}")
        if not columns[0].isdigit():
            continue
        if int(columns[0]) != len(words) + 1 or not columns[6].isdigit():
            raise Malformed(f"expected word {len(words) + 1} and the number of its head")
        words.append((columns[1], columns[3], int(columns[6])))
    if words:
        write_sentence(words, out, options.view)


def add_options(parser):
    parser.add_argument(
        "--view",
        choices=["sequences", "trees"],
        default="sequences",
        help="what a word's children are",
    )


if __name__ == "__main__":
    main(__doc__, convert, add_options)
