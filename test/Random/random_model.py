# ===-- random_model.py - Models that no one wrote -----------------------===#
#
# Part of the Espalier project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===---------------------------------------------------------------------===#
#
# A model has one to three vertex functions, each applied once or twice, on
# inputs or on what others pushed, and layers on roots. A vertex function pulls
# (at all, at leaves or at inner vertices), gathers from some slots, then applies
# operators to values that it has, and scatters and pushes any of them. Values
# stay small, so that errors do. Of a model with a loss that is the only result,
# the sum of all others, and everything has a derivative.
#
# With types, an apply chooses between functions of equal states, each with
# parameters of its own; some of what they pull and push has a name in common.

import random

WIDTHS = [1, 2, 3, 8, 17, 33]
WORDS = 50


class Function:
    """One random vertex function that may pull `offered`, types by name, and is
    perhaps applied beside `others`, by type."""

    def __init__(self, draw, element, name, offered, smooth, others=()):
        self.draw, self.element, self.name, self.smooth = draw, element, name, smooth
        self.lines, self.values, self.parameters = [], [], []
        self.pulls, self.pushes = [], {}
        self.arity = draw.choice([0, 1, 1, 2, 2, 3])
        count = draw.choice([0, 1, 1, 1, 2, 3] if self.arity else [0, 1])
        self.states = [shape(draw) for _ in range(count)]
        self.prefix, self.pushed = "p", {}
        for other in others:
            self.prefix = f"p{len(others)}_"
            self.states = other.states
            self.pushed.update(other.pushes)

        self.pull(offered)
        self.gather()
        if not self.values or draw.random() < 0.4:
            self.share()
        for _ in range(draw.randint(1, 12)):
            self.operate()
        self.scatter_and_push()

    def reads_children(self):
        return bool(self.states) and self.arity > 0

    def type(self, shape):
        return tensor(shape, self.element)

    def add(self, text, shape):
        """A line that defines a value, whose name is returned."""
        value = f"%v{len(self.lines)}"
        self.lines.append(f"{value} = {text}")
        self.values.append((value, shape))
        return value

    def parameter(self, shape):
        known = [name for name, other in self.parameters if other == shape]
        if known and self.draw.random() < 0.5:
            return self.draw.choice(known)
        self.parameters.append((f"%{self.prefix}{len(self.parameters)}", shape))
        return self.parameters[-1][0]

    # ===-- Where values come from -------------------------------------------===#

    def pull(self, offered):
        for name, row in offered.items():
            if self.draw.random() < 0.25:
                continue
            self.pulls.append(name)
            place = self.draw.choice(["", "", " at leaves", " at inner"])
            if row is not None:
                self.add(f'vertex.pull "{name}"{place} : {self.type(row)}', row)
                continue
            ids = self.add(f'vertex.pull "{name}"{place} : tensor<i32>', None)
            self.values.pop()
            width = (self.draw.choice(WIDTHS),)
            table = self.parameter((WORDS, *width))
            types = f"{self.type((WORDS, *width))}, tensor<i32>"
            self.add(f"nn.embedding {table}[{ids}] : {types}", width)

    def gather(self):
        if not self.reads_children():
            return
        types = ", ".join(map(self.type, self.states))
        for _ in range(self.draw.choice([1, self.arity, self.arity])):
            slot = self.draw.randrange(self.arity)
            names = [f"%g{len(self.lines)}_{i}" for i in range(len(self.states))]
            self.lines.append(f"{', '.join(names)} = vertex.gather {slot} : {types}")
            self.values += zip(names, self.states)

    def share(self):
        """A value that is the same at every vertex."""
        row = shape(self.draw)
        if self.draw.random() < 0.5:
            self.values.append((self.parameter(row), row))
        else:
            value = self.draw.choice(["0.0", "0.5", "-1.25"])
            self.add(f"arith.constant dense<{value}> : {self.type(row)}", row)

    # ===-- Operators ---------------------------------------------------------===#

    def operate(self):
        value, row = self.draw.choice(self.values[-6:])
        kind = self.draw.random()
        if len(row) == 2 or kind < 0.4:
            self.elementwise(value, row)
        elif kind < 0.6:
            self.layer(value, row)
        elif kind < 0.75:
            self.concat(value, row)
        elif kind < 0.85:
            size = self.draw.randint(1, row[0])
            offset = self.draw.randint(0, row[0] - size)
            types = f"{self.type(row)} to {self.type((size,))}"
            self.add(
                f"tensor.extract_slice {value}[{offset}] [{size}] [1] : {types}",
                (size,),
            )
        elif kind < 0.9:
            scale, shift = self.parameter(row), self.parameter(row)
            types = f"{self.type(row)}, {self.type(row)}"
            # A row of one column is its mean: 0 / epsilon, and exactly so.
            epsilon = "{epsilon = 0.01}"
            norm = f"nn.layer_norm {value}, {scale}, {shift} {epsilon} : {types}"
            self.add(f"math.tanh {self.add(norm, row)} : {self.type(row)}", row)
        elif kind < 0.95 and row[0] <= 17:
            types = f"{self.type(row)}, {self.type(row)}"
            matrix = self.add(f"nn.outer {value}, {value} : {types}", None)
            self.values.pop()
            types = f"{self.type(row)}, {self.type((row[0], row[0]))}"
            way = self.draw.choice(["", " transposed"])
            product = self.add(f"nn.row_matmul {value}, {matrix}{way} : {types}", row)
            self.values.pop()
            self.add(f"math.tanh {product} : {self.type(row)}", row)
        else:
            self.add(f"nn.softmax {value} : {self.type(row)}", row)

    def elementwise(self, value, row):
        row_type = self.type(row)
        other = self.draw.choice([name for name, shape in self.values if shape == row])
        one = ["math.tanh", "nn.sigmoid", "nn.relu", "nn.gelu", "arith.negf"]
        two = ["arith.addf", "arith.subf", "arith.mulf", "arith.maximumf"]
        operator = self.draw.choice(one + two + ["math.exp", "arith.select"])
        if self.smooth and operator in ["nn.relu", "arith.maximumf", "arith.select"]:
            operator = "math.tanh"
        if operator == "arith.select":
            less = f"arith.cmpf olt, {value}, {other} : {row_type}"
            condition = self.add(less, None)
            self.values.pop()
            types = f"{tensor(row, 'i1')}, {row_type}"
            self.add(f"arith.select {condition}, {other}, {value} : {types}", row)
        elif operator in two:
            result = self.add(f"{operator} {value}, {other} : {row_type}", row)
            self.values.pop()
            self.add(f"math.tanh {result} : {row_type}", row)
        else:
            if operator == "math.exp":
                value = self.add(f"math.tanh {value} : {row_type}", row)
            self.add(f"{operator} {value} : {row_type}", row)

    def layer(self, value, row, width=None):
        width = width or self.draw.choice(WIDTHS)
        weight = self.parameter((row[0], width))
        types = f"{self.type(row)}, {self.type((row[0], width))}"
        if self.draw.random() < 0.5:
            bias = self.parameter((width,))
            types += f", {self.type((width,))}"
            product = f"nn.dense {value}, {weight}, {bias} : {types}"
        else:
            product = f"nn.matmul {value}, {weight} : {types}"
        value = self.add(product, (width,))
        return self.add(f"math.tanh {value} : {self.type((width,))}", (width,))

    def concat(self, value, row):
        flat = [entry for entry in self.values if len(entry[1]) == 1]
        pieces = [(value, row)]
        pieces += [self.draw.choice(flat) for _ in range(self.draw.randint(1, 2))]
        width = sum(row[0] for _, row in pieces)
        if width > 120:
            return
        names = ", ".join(name for name, _ in pieces)
        types = ", ".join(self.type(row) for _, row in pieces)
        result = self.type((width,))
        self.add(f"tensor.concat dim(0) {names} : ({types}) -> {result}", (width,))

    # ===-- Where values go ---------------------------------------------------===#

    def find(self, row):
        """A value of the shape `row`, made if there is none."""
        same = [name for name, other in self.values if other == row]
        if same and (len(row) == 2 or self.draw.random() < 0.7):
            return self.draw.choice(same[-3:])
        flat = [entry for entry in self.values if len(entry[1]) == 1]
        if len(row) == 2 or not flat:
            return self.parameter(row)
        return self.layer(*self.draw.choice(flat), row[0])

    def scatter_and_push(self):
        scattered = [self.find(row) for row in self.states]
        if scattered:
            types = ", ".join(map(self.type, self.states))
            self.lines.append(f"vertex.scatter {', '.join(scattered)} : {types}")
        choices = list(zip(scattered, self.states))
        for number in range(self.draw.randint(1, 3)):
            pick = choices if choices and self.draw.random() < 0.4 else self.values
            value, row = self.draw.choice(pick)
            name = f"p{number}"
            if name in self.pushed:
                row = self.pushed[name]
                value = self.find(row)
            self.pushes[name] = row
            self.lines.append(f'vertex.push "{name}" {value} : {self.type(row)}')

    def text(self, parameters=None):
        """Its IR, with the parameters of all functions that it is applied with."""
        parameters = parameters or self.parameters
        arguments = ", ".join(f"{n}: {self.type(s)}" for n, s in parameters)
        states = ", ".join(map(self.type, self.states))
        state = f" state({states})" if states else ""
        body = "".join(f"  {line}\n" for line in self.lines)
        head = f"vertex.func @{self.name}({arguments}){state} arity({self.arity})"
        return f"{head} {{\n{body}}}\n"


class Typed:
    """Functions that are applied by type, as if they were one."""

    def __init__(self, functions):
        self.functions = functions
        self.name = f"[{', '.join('@' + f.name for f in functions)}]"
        self.parameters = sum((f.parameters for f in functions), [])
        self.pulls = sorted({name for f in functions for name in f.pulls})
        self.pushes = {}
        for function in functions:
            self.pushes.update(function.pushes)
        self.arity = max(f.arity for f in functions)

    def text(self):
        return "".join(f.text(self.parameters) for f in self.functions)


class Model:
    """A random model. `text` is its IR, `row` the shape of the input "x"'s rows,
    `children` the most children that a vertex may have, or None for any."""

    def __init__(self, seed, loss=False, types=1):
        self.draw = random.Random(seed)
        self.element = self.draw.choice(["f32"] * 4 + ["f64"])
        self.loss = loss
        self.row = shape(self.draw)
        self.lines, self.results, self.parameters = [], [], []
        # The results that have a row a structure.
        self.of_roots = set()
        # Rows that functions may pull: their names in the IR, and their shapes.
        self.rows = {"x": ("%x", self.row), "word": ("%word", None)}
        if loss:
            del self.rows["x"]
        functions = []
        for number in range(self.draw.choice([1, 1, 2, 3])):
            offered = {
                name: row
                for name, (_, row) in self.rows.items()
                if self.draw.random() < 0.8
            }
            function = self.function(number, offered, types)
            functions.append(function)
            for _ in range(self.draw.choice([1, 1, 1, 2])):
                self.apply(function)
        if not self.results and loss:
            self.results.append(next(iter(list(self.rows.values())[1:])))
        elif not self.results:
            self.results.append(("%x", self.row))
        if loss:
            self.sum_results()
        arities = [f.arity for f in functions if f.arity > 0]
        self.children = min(arities, default=None)
        self.text = "".join(f.text() for f in functions) + self.entry()

    def function(self, number, offered, types):
        if types > 1 and self.draw.random() < 0.25:
            types = 1  # One for all types, over the same graph.
        functions = []
        for name in [f"f{number}"] + [f"f{number}_{t}" for t in range(1, types)]:
            functions.append(
                Function(self.draw, self.element, name, offered, self.loss, functions)
            )
        return functions[0] if types == 1 else Typed(functions)

    def rows_type(self, row):
        return "tensor<?xi32>" if row is None else tensor(("?", *row), self.element)

    def add(self, text):
        self.lines.append(f"%v{len(self.lines)}{text}")
        return f"%v{len(self.lines) - 1}"

    def parameter(self, shape):
        self.parameters.append((f"%w{len(self.parameters)}", shape))
        return self.parameters[-1][0]

    def apply(self, function):
        def types(shapes, of):
            return f"({', '.join(map(of, shapes))})"

        weights = [self.parameter(row) for _, row in function.parameters]
        pulled = [self.rows[name] for name in function.pulls]
        pairs = zip(function.pulls, pulled)
        pulls = ", ".join(f'"{name}" = {rows}' for name, (rows, _) in pairs)
        pushes = ", ".join(f'"{name}"' for name in function.pushes)
        typed = isinstance(function, Typed)
        callee = f'{function.name} by "kind" ' if typed else f"@{function.name}"
        result = self.add(
            f":{len(function.pushes)} = vertex.apply {callee}"
            f"({', '.join(weights)}) over %g {f'pull({pulls})' if pulls else ''} "
            f"-> {pushes} : "
            + types([s for _, s in function.parameters], lambda s: tensor(s, self.element))
            + ", " + types([row for _, row in pulled], self.rows_type)
            + " -> " + types(function.pushes.values(), self.rows_type)
        )  # fmt: skip
        for number, row in enumerate(function.pushes.values()):
            value = f"{result}#{number}"
            self.rows[f"{result[1:]}_{number}"] = (value, row)
            if self.draw.random() < 0.7:
                self.results.append((value, row))
            if self.draw.random() < 0.4:
                self.head(value, row)

    def sum_results(self):
        """Makes a loss for each vertex the only result."""
        total = None
        scalars = self.rows_type(())
        for value, row in self.results:
            part = self.add(f" = nn.sum {value} : {self.rows_type(row)}")
            if value in self.of_roots:
                part = self.add(f" = vertex.at_roots %g, {part} : {scalars}")
            total = self.add(f" = arith.addf {total}, {part} : {scalars}") if total else part
        self.results = [(total, ())]

    def head(self, value, row):
        """Something on the roots."""
        rows = self.rows_type(row)
        roots = self.add(f" = vertex.roots %g, {value} : {rows}")
        self.results.append((roots, row))
        self.of_roots.add(roots)
        if len(row) == 2:
            return
        width = self.draw.choice(WIDTHS)
        weight, bias = self.parameter((row[0], width)), self.parameter((width,))
        types = [tensor((row[0], width), self.element), tensor((width,), self.element)]
        logits = self.add(
            f" = nn.dense {roots}, {weight}, {bias} : {rows}, {', '.join(types)}"
        )
        self.results.append((logits, (width,)))
        self.of_roots.add(logits)
        if self.draw.random() < 0.5:
            softmax = f" = nn.softmax {logits} : {self.rows_type((width,))}"
            self.results.append((self.add(softmax), (width,)))
            self.of_roots.add(self.results[-1][0])

    def entry(self):
        arguments = [
            '%g: !vertex.graph {nn.input = "g"}',
            '%word: tensor<?xi32> {nn.input = "word"}',
        ]
        if not self.loss:
            arguments.append(f'%x: {self.rows_type(self.row)} {{nn.input = "x"}}')
        for name, row in self.parameters:
            row_type = tensor(row, self.element)
            arguments.append(f'{name}: {row_type} {{nn.param = "{name[1:]}"}}')
        types = [self.rows_type(row) for _, row in self.results]
        names = ["loss"] if self.loss else [f"o{i}" for i in range(len(types))]
        named = [f'{t} {{nn.output = "{n}"}}' for t, n in zip(types, names)]
        body = "".join(f"  {line}\n" for line in self.lines)
        values = ", ".join(value for value, _ in self.results)
        return (
            f"func.func @entry({', '.join(arguments)}) -> ({', '.join(named)}) {{\n"
            f"{body}  return {values} : {', '.join(types)}\n}}\n"
        )


def shape(draw):
    return (draw.choice(WIDTHS),) if draw.random() < 0.9 else (2, 3)


def tensor(shape, element):
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"
