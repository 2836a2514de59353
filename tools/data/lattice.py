#!/usr/bin/env python3
"""Lattices of characters and words as JSON lines.

    lattice.py FILE > lattices.jsonl

FILE has the number of sentences, and for each: a line with its length, one with
a tag for each position, and one for each position with its arcs, as in
"2 1 480 0 3395": how many end there, and of each where it begins and what is on
it. The first arc of a position is its character, from the position before; the
others are words. Position 0 has none.

Each position and each word is a vertex. Fields:

    type  0 for positions (characters), 1 for words
    word  what is on the arc; null at position 0
    tag   of positions; null for words

The children of a position are the position before and the words that end there,
in the order of the file; the child of a word is the position where it begins.
The last position is the root.
"""

from structures import Malformed, main, write_structure


def numbers(line, what):
    try:
        return [int(text) for text in line.split()]
    except ValueError:
        raise Malformed(f"expected {what}, found '{line}'") from None


def next_line(lines, what):
    line = next(lines, None)
    if line is None:
        raise Malformed(f"expected {what}, found the end of the file")
    return line


def read_sentence(lines, out):
    length_line = next_line(lines, "a length")
    while not length_line.strip():
        length_line = next_line(lines, "a length")
    length = numbers(length_line, "a length")
    if len(length) != 1 or length[0] < 1:
        raise Malformed(f"expected a length, found '{length_line}'")
    tags = numbers(next_line(lines, "tags"), "tags")
    if len(tags) != length[0]:
        raise Malformed(f"{len(tags)} tags for {length[0]} positions")

    children, fields = [], {"type": [], "word": [], "tag": []}

    def add(below, **values):
        children.append(below)
        for name, value in values.items():
            fields[name].append(value)
        return len(children) - 1

    positions = []  # their vertices
    for position in range(length[0]):
        count, *arcs = numbers(next_line(lines, "arcs"), "arcs")
        if len(arcs) != 2 * count or (count > 0) != (position > 0):
            raise Malformed(
                f"{len(arcs)} numbers for {count} arcs of position {position}"
            )
        begins, labels = arcs[::2], arcs[1::2]
        if not all(0 <= begin < position for begin in begins):
            raise Malformed(f"an arc to position {position} begins at or after it")
        if position > 0 and begins[0] != position - 1:
            raise Malformed(
                f"the first arc to position {position} begins at {begins[0]}"
            )
        words = [
            add([positions[begin]], type=1, word=label, tag=None)
            for begin, label in zip(begins[1:], labels[1:])
        ]
        before = positions[-1:]
        positions.append(
            add(
                before + words,
                type=0,
                word=labels[0] if labels else None,
                tag=tags[position],
            )
        )
    write_structure(out, children, fields)


def convert(lines, out, options):
    line = next_line(lines, "the number of sentences")
    count = numbers(line, "the number of sentences")
    if len(count) != 1:
        raise Malformed(f"expected the number of sentences, found '{line}'")
    for _ in range(count[0]):
        read_sentence(lines, out)


if __name__ == "__main__":
    main(__doc__, convert)
