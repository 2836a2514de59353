#!/usr/bin/env python3
"""ListOps expressions (Nangia & Bowman) as JSON lines.

    listops.py [--view binary] FILE > listops.jsonl

A line of FILE is a value, a tab and an expression such as
"( ( ( [MAX 2 ) 9 ) ] )", a list "[MAX 2 9 ]" in which every pair is bracketed.

    --view lists   (the default) a vertex for each list, over its arguments, and
                   one for each digit
    --view binary  the brackets: a vertex for each pair, over its two parts, and
                   one for each token, "[MAX" and "]" included

Fields:

    token  "[MAX", "2", ...; null for pairs
    value  of the expression at a vertex, from 0 to 9; null where it has none,
           as have "[MAX" and what is not a whole list

The last vertex is the root; its value is checked against that of the line.
"""

import statistics

from structures import Malformed, main, write_structure

OPERATORS = {
    "[MIN": min,
    "[MAX": max,
    "[MED": lambda values: int(statistics.median(values)),
    "[SM": lambda values: sum(values) % 10,
}


def value_of(operator, arguments):
    """The value of a list."""
    if not arguments:
        raise Malformed(f"'{operator} ]' has no arguments")
    return OPERATORS[operator](arguments)


class Expression:
    """A structure, while it is being made."""

    def __init__(self):
        self.children, self.tokens, self.values = [], [], []

    def add(self, children, token, value):
        self.children.append(children)
        self.tokens.append(token)
        self.values.append(value)
        return len(self.children) - 1


def read_lists(tokens):
    """A vertex for each list and digit."""
    expression, open_lists = Expression(), [("", [])]
    for token in tokens:
        if token in ("(", ")"):
            continue
        if token in OPERATORS:
            open_lists.append((token, []))
        elif token == "]":
            if len(open_lists) == 1:
                raise Malformed("']' without a list")
            operator, arguments = open_lists.pop()
            value = value_of(operator, [expression.values[a] for a in arguments])
            open_lists[-1][1].append(expression.add(arguments, operator, value))
        elif token.isdigit() and len(token) == 1:
            open_lists[-1][1].append(expression.add([], token, int(token)))
        else:
            raise Malformed(f"unknown token '{token}'")
    if len(open_lists) > 1 or len(open_lists[0][1]) != 1:
        raise Malformed("expected one expression")
    return expression


def read_pairs(tokens):
    """A vertex for each token and pair. A list that is not closed yet has its
    operator and the values so far in place of a value."""
    expression, stack = Expression(), []  # of vertices; None for "("
    parts = {}
    for token in tokens:
        if token == "(":
            stack.append(None)
        elif token == ")":
            if len(stack) < 3 or None in stack[-2:] or stack[-3] is not None:
                raise Malformed("')' after something else than a pair")
            left, right = stack[-2:]
            del stack[-3:]
            operator, values = parts.pop(left, (None, None))
            closes = expression.tokens[right] == "]"
            if operator is None or (expression.values[right] is None and not closes):
                raise Malformed("a pair of no list and its next part")
            value = value_of(operator, values) if closes else None
            pair = expression.add([left, right], None, value)
            if not closes:
                parts[pair] = (operator, values + [expression.values[right]])
            stack.append(pair)
        else:
            digit = token.isdigit() and len(token) == 1
            if not digit and token != "]" and token not in OPERATORS:
                raise Malformed(f"unknown token '{token}'")
            leaf = expression.add([], token, int(token) if digit else None)
            if token in OPERATORS:
                parts[leaf] = (token, [])
            stack.append(leaf)
    if len(stack) != 1 or stack[0] is None:
        raise Malformed("expected one expression")
    return expression


def convert(lines, out, options):
    read = {"lists": read_lists, "binary": read_pairs}[options.view]
    for line in lines:
        if not line.strip():
            continue
        value, tab, text = line.partition("\t")
        if not tab:
            raise Malformed("expected a value, a tab and an expression")
        expression = read(text.split())
        if str(expression.values[-1]) != value.strip():
            raise Malformed(f"the expression is {expression.values[-1]}, not {value}")
        write_structure(
            out,
            expression.children,
            {"token": expression.tokens, "value": expression.values},
        )


def add_options(parser):
    parser.add_argument(
        "--view", choices=["lists", "binary"], default="lists", help="what is a vertex"
    )


if __name__ == "__main__":
    main(__doc__, convert, add_options)
