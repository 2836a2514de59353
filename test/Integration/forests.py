# Random structures, as lists of child lists, and the JSON lines that hold them.
# The root of a structure is its last vertex.

import json
import random


def chain(length):
    return [[v - 1] if v else [] for v in range(length)]


def comb(length):
    """A binary tree as deep as it can be: left children inside."""
    lists = [[]]
    while len(lists) < length:
        lists += [[], [len(lists) - 1, len(lists)]]
    return lists


def star(leaves):
    """A vertex over `leaves` others."""
    return [[]] * leaves + [list(range(leaves))]


def tree(draw, leaves):
    """A random binary tree: repeatedly puts a vertex over two neighbours."""
    lists = [[] for _ in range(leaves)]
    tops = list(range(leaves))
    while len(tops) > 1:
        at = draw.randrange(len(tops) - 1)
        lists.append(tops[at : at + 2])
        tops[at : at + 2] = [len(lists) - 1]
    return lists


def dag(draw, vertices, arity):
    """Children are any vertices before, or absent: shared, missing, unary."""
    lists = []
    for v in range(vertices):
        count = draw.randint(0, arity) if v else 0
        lists.append(
            [None if draw.random() < 0.25 else draw.randrange(v) for _ in range(count)]
        )
    return lists


def shuffled(draw, lists):
    """The same structure with vertices in any order, the root still last."""
    names = list(range(len(lists) - 1))
    draw.shuffle(names)
    names.append(len(lists) - 1)
    result = [None] * len(lists)
    for v, children in enumerate(lists):
        result[names[v]] = [c if c is None else names[c] for c in children]
    return result


def mixed(seed, count, arity):
    """Structures of all kinds: of no vertex, of one, chains, trees, DAGs."""
    draw = random.Random(seed)

    def regular():
        size = draw.randint(2, 20)
        return tree(draw, size) if arity == 2 else chain(2 * size)

    structures = []
    for _ in range(count):
        kind = draw.randrange(8)
        if kind == 0:
            structures.append([[]] * draw.randint(0, 1))
        elif kind == 1:
            structures.append([[], [None] * arity, [None] * (arity - 1) + [0]])
        elif kind == 2:
            structures.append(chain(draw.randint(2, 40)))
        elif kind <= 4:
            structures.append(regular())
        elif kind == 5:
            structures.append(shuffled(draw, regular()))
        elif kind == 6:
            structures.append(dag(draw, draw.randint(1, 30), arity))
        else:
            structures.append(shuffled(draw, dag(draw, draw.randint(2, 30), arity)))
    return structures


def words(seed, structures, table):
    """An id of the table for every vertex, or -1, a list a structure."""
    draw = random.Random(seed)
    return [
        [-1 if draw.random() < 0.1 else draw.randrange(table) for _ in lists]
        for lists in structures
    ]


def write(path, structures, words, kinds=None):
    """With the field "kind", the type of each vertex, if `kinds` are given."""
    with open(path, "w") as file:
        for number, (lists, ids) in enumerate(zip(structures, words)):
            line = {"children": lists, "fields": {"word": ids}}
            if kinds:
                line["fields"]["kind"] = kinds[number]
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
