# The models of docs/examples, written down again: NumPy, float64, from
# their equations. Nothing here knows the compiler or the runtime.
#
# `structures` is a list of child lists, as in the JSON lines format; `x` has
# the pulled row of every vertex, of all structures one after another. Vertices
# of equal height (longest way down to a vertex without children) are computed
# together, because Python is slow; rows of `h` and `c` are otherwise looked up
# child by child.

import numpy as np


def sigmoid(x):
    return 0.5 * (1 + np.tanh(0.5 * x))


class Levels:
    """The vertices of a forest by height, with their children."""

    def __init__(self, structures, arity):
        self.structures, self.arity = structures, arity
        self.vertices = sum(len(lists) for lists in structures)
        # Absent children are row `vertices`, which stays zeros.
        children = np.full((self.vertices, arity), self.vertices)
        heights = np.zeros(self.vertices, dtype=int)
        self.roots = []
        first = 0
        for lists in structures:
            for v in children_first(lists):
                for slot, child in enumerate(lists[v]):
                    if child is None or child == -1:
                        continue
                    children[first + v, slot] = first + child
                    heights[first + v] = max(
                        heights[first + v], heights[first + child] + 1
                    )
            first += len(lists)
            self.roots.append(first - 1 if lists else self.vertices)
        self.leaf = (children == self.vertices).all(axis=1)
        order = np.argsort(heights, kind="stable")
        cuts = np.searchsorted(heights[order], np.arange(1, heights.max(initial=0) + 1))
        self.levels = [(rows, children[rows]) for rows in np.split(order, cuts)]

    def reversed(self):
        """The same vertices; their children are their parents here."""
        return Levels([parents(lists) for lists in self.structures], self.arity)


def parents(lists):
    """For each vertex its parents, in order, once for each slot."""
    result = [[] for _ in lists]
    for v, children in enumerate(lists):
        for child in children:
            if child not in (None, -1):
                result[child].append(v)
    return result


def children_first(lists):
    """An order of the vertices of one structure, without recursion."""
    if all(c is None or c < v for v, cs in enumerate(lists) for c in cs):
        return range(len(lists))
    order, done = [], set()
    for start in range(len(lists)):
        stack = [start]
        while stack:
            v = stack[-1]
            missing = [c for c in lists[v] if c not in (None, -1) and c not in done]
            if v in done:
                stack.pop()
            elif missing:
                stack.extend(missing)
            else:
                done.add(stack.pop())
                order.append(v)
    return order


def embed(table, words):
    """Rows of the table; zeros for words below 0."""
    words = np.asarray(words, dtype=int)
    rows = np.zeros((len(words), table.shape[1]))
    rows[words >= 0] = table[words[words >= 0]]
    return rows


def leaves_only(x, graph):
    return np.where(graph.leaf[:, None], x, 0)


def tree_lstm(graph, p, words):
    x = leaves_only(embed(p["embedding"], words), graph) @ p["W"] + p["b"]
    n = p["U"].shape[0] // 2
    h = np.zeros((graph.vertices + 1, n))
    c = np.zeros((graph.vertices + 1, n))
    for rows, children in graph.levels:
        left, right = children.T
        gates = x[rows] + np.hstack([h[left], h[right]]) @ p["U"]
        i, fl, fr, o = (sigmoid(gates[:, k * n : (k + 1) * n]) for k in range(4))
        u = np.tanh(gates[:, 4 * n :])
        c[rows] = i * u + fl * c[left] + fr * c[right]
        h[rows] = o * np.tanh(c[rows])
    return tree_results(graph, p, h)


def tree_fc(graph, p, words):
    x = leaves_only(embed(p["embedding"], words), graph) + p["b"]
    h = np.zeros((graph.vertices + 1, len(p["b"])))
    for rows, children in graph.levels:
        left, right = children.T
        h[rows] = np.maximum(x[rows] + np.hstack([h[left], h[right]]) @ p["W"], 0)
    return tree_results(graph, p, h)


def list_ops(graph, p, words):
    return tree_lstm(graph, p, words)


def child_sum(graph, p, words):
    return vertex_results(p, child_sum_states(graph, p, words)[0])


def ast(graph, p, words):
    return vertex_results(p, child_sum_states(graph, p, words)[1])


def child_sum_states(graph, p, words):
    """The states h, and the sums of the children's."""
    x = embed(p["embedding"], words)
    n = p["U_f"].shape[0]
    h = np.zeros((graph.vertices + 1, n))
    c = np.zeros((graph.vertices + 1, n))
    below = np.zeros((graph.vertices, n))
    for rows, children in graph.levels:
        forgotten = np.zeros((len(rows), n))
        for slot in children.T:
            f = sigmoid(x[rows] @ p["W_f"] + p["b_f"] + h[slot] @ p["U_f"])
            forgotten += f * c[slot]
            below[rows] += h[slot]
        gates = x[rows] @ p["W"] + p["b"] + below[rows] @ p["U"]
        i, o = sigmoid(gates[:, :n]), sigmoid(gates[:, n : 2 * n])
        c[rows] = i * np.tanh(gates[:, 2 * n :]) + forgotten
        h[rows] = o * np.tanh(c[rows])
    return h[:-1], below


def lattice_lstm(graph, p, words):
    """`graph.types` has the type of each vertex: 0, a character, or 1, a word."""
    x = embed(p["embedding"], words)
    n = len(p["link.b"])
    types = np.append(graph.types, -1)
    h = np.zeros((graph.vertices + 1, n))
    c = np.zeros((graph.vertices + 1, n))

    def gates(name, rows, before):
        parts = x[rows] @ p[name + ".W"] + before @ p[name + ".U"] + p[name + ".b"]
        return sigmoid(parts[:, :n]), sigmoid(parts[:, n : 2 * n]), np.tanh(parts[:, 2 * n :])

    for rows, children in graph.levels:
        below = h[children].sum(axis=1)
        words_below, characters_below = ((types[children] == t)[..., None] for t in (1, 0))
        i, o, u = gates("character", rows, below)
        of_character = x[rows] @ p["link.W"] + p["link.b"]
        l = sigmoid(of_character[:, None] + c[children] @ p["link.U"])
        e = np.where(words_below, np.exp(l), 0)
        mixed = (np.exp(i) * u + (e * c[children]).sum(axis=1)) / (np.exp(i) + e.sum(axis=1))
        plain = (1 - i) * (characters_below * c[children]).sum(axis=1) + i * u
        character = np.where(words_below.any(axis=1), mixed, plain)
        i, f, u = gates("word", rows, below)
        word = f * c[children].sum(axis=1) + i * u
        is_word = (types[rows] == 1)[:, None]
        c[rows] = np.where(is_word, word, character)
        h[rows] = np.where(is_word, 0, o * np.tanh(character))
    return vertex_results(p, h[:-1])


def dag(graph, p, words):
    x = embed(p["embedding"], words)
    h = np.zeros((graph.vertices + 1, len(p["b"])))
    for rows, children in graph.levels:
        count = (children != graph.vertices).sum(axis=1, keepdims=True)
        mean = h[children].sum(axis=1) / np.maximum(count, 1)
        new = x[rows] @ p["W"] + mean @ p["U"] + p["b"]
        new -= new.mean(axis=1, keepdims=True)
        new /= np.sqrt((new**2).mean(axis=1, keepdims=True) + 1e-5)
        h[rows] = np.tanh(new * (1 + p["scale"]) + p["shift"]) + mean
    roots = h[graph.roots].reshape(-1, h.shape[1])
    score = roots @ p["head.W"][:, 0] + p["head.b"]
    return {"score": score, "hidden": h[:-1]}


def mv_rnn(graph, p, words):
    a, d, u, v = (
        leaves_only(embed(p[name], words), graph)
        for name in ["embedding", "diagonal", "u", "v"]
    )
    n = a.shape[1]
    d[graph.leaf] += 1
    mix = p["M"].reshape(n, 2 * n) + np.hstack([np.eye(n), np.eye(n)]) / 2
    h = np.zeros((graph.vertices + 1, n))
    M = np.zeros((graph.vertices + 1, n, n))
    for v_at, children in graph.levels:
        for row, (left, right) in zip(v_at, children):
            pair = np.concatenate([M[right] @ h[left], M[left] @ h[right]])
            h[row] = np.tanh(pair @ p["W"]) + a[row]
            M[row] = mix @ np.vstack([M[left], M[right]])
            M[row] += np.diag(d[row]) + np.outer(u[row], v[row])
    return tree_results(graph, p, h)


def lstm_lm(graph, p, words):
    return lstm(graph, p, words)


def lstm(graph, p, words):
    x = embed(p["embedding"], words)
    return sequence_results(graph, p, lstm_states(graph, x, p["W"], p["U"], p["b"]))


def bilstm(graph, p, words):
    x = embed(p["embedding"], words)
    directions = [("forward", graph), ("backward", graph.reversed())]
    both = [
        lstm_states(over, x, *(p[f"{name}.{part}"] for part in "WUb"))
        for name, over in directions
    ]
    hidden = np.hstack(both)[:-1]
    return {"logits": hidden @ p["head.W"] + p["head.b"], "hidden": hidden}


def stacked_lstm(graph, p, words):
    x = embed(p["embedding"], words)
    for layer in "12":
        h = lstm_states(graph, x, *(p[f"{layer}.{part}"] for part in "WUb"))
        x = h[:-1]
    return tree_results(graph, p, h)


def lstm_states(graph, x, W, U, b):
    x = x @ W + b
    n = U.shape[0]
    h = np.zeros((graph.vertices + 1, n))
    c = np.zeros((graph.vertices + 1, n))
    for rows, children in graph.levels:
        before = children[:, 0]
        gates = x[rows] + h[before] @ U
        i = sigmoid(gates[:, :n])
        f = sigmoid(gates[:, n : 2 * n])
        g = np.tanh(gates[:, 2 * n : 3 * n])
        o = sigmoid(gates[:, 3 * n :])
        c[rows] = f * c[before] + i * g
        h[rows] = o * np.tanh(c[rows])
    return h


def gru(graph, p, words):
    x = embed(p["embedding"], words) @ p["W"] + p["b"]
    n = p["U"].shape[0]
    h = np.zeros((graph.vertices + 1, n))
    for rows, children in graph.levels:
        before = h[children[:, 0]]
        u = before @ p["U"] + p["d"]
        r = sigmoid(x[rows][:, :n] + u[:, :n])
        z = sigmoid(x[rows][:, n : 2 * n] + u[:, n : 2 * n])
        new = np.tanh(x[rows][:, 2 * n :] + r * u[:, 2 * n :])
        h[rows] = (1 - z) * new + z * before
    return sequence_results(graph, p, h)


def vertex_results(p, hidden):
    return {"logits": hidden @ p["head.W"] + p["head.b"], "hidden": hidden}


def tree_results(graph, p, h):
    roots = h[graph.roots].reshape(-1, h.shape[1])
    return {"logits": roots @ p["head.W"] + p["head.b"], "hidden": h[:-1]}


def sequence_results(graph, p, h):
    last = h[graph.roots].reshape(-1, h.shape[1])
    logits = last @ p["head.W"] + p["head.b"]
    return {"logits": logits, "last": last, "hidden": h[:-1]}


def results(model, graph, p, words):
    """What the entry without a loss of an example returns, or more."""
    return globals()[model](graph, p, words)


def losses(model, graph, p, words, labels):
    """What the entry `loss` of an example returns."""
    found = results(model, graph, p, words)
    if model == "dag":
        target = (np.append(labels, 0)[graph.roots] - 0.7363) / 0.0061
        return {"loss": (found["score"] - target) ** 2}
    hidden = found["hidden"]
    labels = np.array(labels, dtype=int)
    if model in ["stacked_lstm", "lstm_lm"]:
        labels = next_words(graph, words)
    elif model == "list_ops":
        hidden = np.vstack([hidden, np.zeros(hidden.shape[1])])[graph.roots]
        labels = np.append(labels, -1)[graph.roots]
    elif model == "ast":
        labels = np.where(graph.leaf, -1, words)
    logits = hidden @ p["head.W"] + p["head.b"]
    rows = np.arange(len(labels))
    top = logits.max(axis=1, initial=-np.inf, keepdims=True)
    logits -= top
    sums = np.log(np.exp(logits).sum(axis=1))
    known = labels >= 0
    loss = np.where(known, sums - logits[rows, labels], 0)
    correct = np.where(known, logits.argmax(axis=1) == labels, -1)
    return {"loss": loss, "correct": correct}


def next_words(graph, words):
    """The word of each vertex's only parent; -1 if it has none."""
    result = np.full(graph.vertices, -1)
    first = 0
    for lists in graph.structures:
        for v, above in enumerate(parents(lists)):
            if above:
                result[first + v] = words[first + above[0]]
        first += len(lists)
    return result
