#!/usr/bin/env python3
"""Syntax trees of programs as JSON lines.

    asts.py FILE > asts.jsonl

Either format is recognised from the line:

    [{"type": "Expr", "children": [1]}, {"type": "Constant"}]
        as in py150: all vertices, parents before their children, which are
        given by number; the first is the root
    (module (assignment left: (identifier) right: (identifier)))
        as tree-sitter prints them, with the roles of children or without

Vertices come in post-order, and the root last. Fields:

    node  the kind of syntax, e.g. "Expr"
    role  what a vertex is to its parent, e.g. "left"; null where nothing is
          said, so always in the first format
"""

import json
import re

from structures import Malformed, main, post_order, renumber, write_structure

# "role: (kind" or ")", with what stands before it.
TOKEN = re.compile(r"\s*(?:(?:([\w.]+):\s*)?\(\s*([^\s()]+)|(\)))")


def read_numbered(line):
    """Kinds, roles and children of a line as in py150."""
    try:
        vertices = json.loads(line)
        kinds = [vertex["type"] for vertex in vertices]
        children = [vertex.get("children", []) for vertex in vertices]
    except (ValueError, TypeError, KeyError):
        raise Malformed('expected [{"type": ..., "children": [...]}, ...]') from None
    seen = sorted(child for below in children for child in below)
    if seen != list(range(1, len(kinds))) or any(
        child <= vertex for vertex, below in enumerate(children) for child in below
    ):
        raise Malformed("it is no tree of vertices after their parents")
    return kinds, [None] * len(kinds), children


def read_brackets(line):
    """The same of a line in brackets."""
    kinds, roles, children, path = [], [], [], []
    position = 0
    while position < len(line):
        token = TOKEN.match(line, position)
        if not token or (not path and (token[3] or kinds)):
            raise Malformed(f"unexpected text in column {position + 1}")
        position = token.end()
        if token[3]:
            path.pop()
            continue
        if path:
            children[path[-1]].append(len(kinds))
        path.append(len(kinds))
        kinds.append(token[2])
        roles.append(token[1])
        children.append([])
    if path:
        raise Malformed(f"'({kinds[path[-1]]}' is not closed")
    return kinds, roles, children


def convert(lines, out, options):
    for line in lines:
        line = line.strip()
        if not line:
            continue
        read = read_numbered if line.startswith("[") else read_brackets
        kinds, roles, children = read(line)
        if not kinds:
            write_structure(out, [], {"node": [], "role": []})
            continue
        order = post_order(children, 0)
        write_structure(
            out,
            renumber(children, order),
            {
                "node": [kinds[vertex] for vertex in order],
                "role": [roles[vertex] for vertex in order],
            },
        )


if __name__ == "__main__":
    main(__doc__, convert)
