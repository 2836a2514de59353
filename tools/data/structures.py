"""What the converters of this folder share: JSON lines, as espalier-run reads
them (docs/runtime.md), and errors that say where a file is malformed."""

import argparse
import json
import sys


class Malformed(Exception):
    """A line that is not in its format."""


def write_structure(out, children, fields):
    """Writes one structure.

    children: for each vertex the numbers of its children.
    fields: by name, a value for each vertex: an int or None, a str or None, or
    a float.
    """
    for name, values in fields.items():
        if len(values) != len(children):
            raise ValueError(
                f"field {name} has {len(values)} values for {len(children)} vertices"
            )
    json.dump({"children": children, "fields": fields}, out, ensure_ascii=False)
    out.write("\n")


def post_order(children, root):
    """The vertices below `root`, children before parents, from child lists of a
    tree. Without recursion."""
    order, stack = [], [root]
    while stack:
        vertex = stack.pop()
        order.append(vertex)
        stack.extend(children[vertex])
    return order[::-1]


def renumber(children, order):
    """The child lists of the vertices in `order`, by their places in it."""
    place = {vertex: i for i, vertex in enumerate(order)}
    return [[place[child] for child in children[vertex]] for vertex in order]


def main(doc, convert, add_options=lambda parser: None):
    """Calls convert(lines, out, options) with the numbered lines of a file.

    A Malformed error is printed as FILE:LINE: MESSAGE; the number is that of
    the line that was read last.
    """
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", help="the file to convert; - for standard input")
    add_options(parser)
    options = parser.parse_args()
    number = 0

    def lines(file):
        nonlocal number
        for number, line in enumerate(file, 1):
            yield line.rstrip("\n")

    try:
        if options.file == "-":
            convert(lines(sys.stdin), sys.stdout, options)
        else:
            with open(options.file, encoding="utf-8") as file:
                convert(lines(file), sys.stdout, options)
    except Malformed as error:
        sys.exit(f"error: {options.file}:{number}: {error}")
    except OSError as error:
        sys.exit(f"error: {options.file}: {error.strerror}")
