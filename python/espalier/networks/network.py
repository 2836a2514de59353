"""A network under construction: layers are added, text of IR comes out.

Every layer infers its shape, so that a network is written without any. What is
recorded of it beside the text, as Layers and Parameters, serves for tables, for
initial weights, and for comparing a network with somebody else's description of it.

Operators carry the name of their layer as location, by which plans and messages
name them.
"""

from dataclasses import dataclass, field

from .shapes import pair, transposed_extent, window_extent, window_extent_rounded_up

# How much of a running statistic each batch replaces.
MOMENTUM = 0.1


class NetworkError(Exception):
    """A network that cannot be made, and why."""


@dataclass(frozen=True)
class Options:
    """What is asked for. Some networks ignore some of them."""

    name: str
    batch: int = 8
    image: int = 224
    image_channels: int = 3
    classes: int = 1000
    width: float = 1.0
    entry: str = "train"
    dtype: str = "f32"
    groups: bool = True
    blocks: tuple = None
    depth: int = None
    # Blocks of a residual network, of which `depth` leaves one open.
    family: tuple = None

    def __post_init__(self):
        for name in ("batch", "image", "image_channels", "classes", "depth"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise NetworkError(f"{name} is {value}; expected at least 1")
        if not 0 < self.width <= 1e6:
            raise NetworkError(
                f"width is {self.width}; expected more than 0, and at most 1e6"
            )
        if self.entry not in ("train", "inference"):
            raise NetworkError(f"entry is '{self.entry}'; expected train or inference")
        if self.dtype not in ("f32", "f64"):
            raise NetworkError(f"dtype is '{self.dtype}'; expected f32 or f64")


@dataclass(frozen=True)
class Tensor:
    name: str
    shape: tuple
    element: str

    @property
    def type(self):
        return f"tensor<{''.join(f'{extent}x' for extent in self.shape)}{self.element}>"

    @property
    def elements(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def __str__(self):
        return "%" + self.name


@dataclass(frozen=True)
class Layer:
    kind: str
    name: str
    inputs: tuple
    shape: tuple
    parameters: int


@dataclass(frozen=True)
class Parameter:
    """What is trained, or a running statistic, and its first values.

    With `fan_in`, the number of products that add up to one output, values are
    random; otherwise all are `value`.
    """

    tensor: Tensor
    is_state: bool
    value: float = 0.0
    fan_in: int = None


@dataclass
class Network:
    options: Options
    layers: list = field(default_factory=list)
    parameters: list = field(default_factory=list)
    _arguments: list = field(default_factory=list)
    _operators: list = field(default_factory=list)
    _outputs: list = field(default_factory=list)
    _updates: list = field(default_factory=list)
    _constants: dict = field(default_factory=dict)
    _names: set = field(default_factory=set)
    _counted: int = 0

    # ===------------------------------------------------------------------=== #
    # What networks ask
    # ===------------------------------------------------------------------=== #

    @property
    def trains(self):
        return self.options.entry == "train"

    @property
    def parameter_count(self):
        """Numbers that are trained."""
        return sum(layer.parameters for layer in self.layers)

    def channels(self, count):
        """`count` channels, by the width that is asked for.

        Even, so that they can be halved and be in two groups.
        """
        return max(2, 2 * round(count * self.options.width / 2))

    # ===------------------------------------------------------------------=== #
    # Arguments
    # ===------------------------------------------------------------------=== #

    def input(self, name, *shape, element=None):
        return self._argument("nn.input", name, shape, element)

    def image(self):
        """The batch of images, the first input."""
        o = self.options
        return self.input("image", o.batch, o.image_channels, o.image, o.image)

    def parameter(self, name, *shape, **first_values):
        tensor = self._argument("nn.param", name, shape)
        self.parameters.append(Parameter(tensor, False, **first_values))
        return tensor

    def running(self, name, *shape, **first_values):
        """A running statistic: training changes it, inference only reads it."""
        kind = "nn.state" if self.trains else "nn.param"
        tensor = self._argument(kind, name, shape)
        self.parameters.append(Parameter(tensor, True, **first_values))
        return tensor

    # ===------------------------------------------------------------------=== #
    # Layers
    # ===------------------------------------------------------------------=== #

    def convolution(
        self, name, x, channels, kernel, stride=1, padding=0, groups=1, bias=False
    ):
        kernel, stride, padding = pair(kernel), pair(stride), pair(padding)
        batch, inside, *extents = x.shape
        if inside % groups or channels % groups:
            raise NetworkError(
                f"layer '{name}' has {inside} and {channels} channels, which "
                f"{groups} groups do not divide"
            )
        shape = (batch, channels) + self._extents(
            name, extents, kernel, stride, padding
        )
        fan_in = inside // groups * kernel[0] * kernel[1]
        weight = self.parameter(
            f"{name}.weight", channels, inside // groups, *kernel, fan_in=fan_in
        )
        operands, types = f"{x}, {weight}", f"{x.type}, {weight.type}"
        if bias:
            shift = self.parameter(f"{name}.bias", channels)
            operands, types = f"{operands} bias {shift}", f"{types}, {shift.type}"
        attributes = self._window(strides=stride, padding=padding * 2, groups=groups)
        return self._layer(
            "convolution",
            name,
            [x],
            shape,
            f"nn.conv2d {operands}{attributes} : {types}",
        )

    def up_convolution(self, name, x, channels, kernel, stride):
        """The transposed convolution: the image grows by the stride."""
        kernel, stride = pair(kernel), pair(stride)
        batch, inside, *extents = x.shape
        shape = (batch, channels) + tuple(
            transposed_extent(e, k, s) for e, k, s in zip(extents, kernel, stride)
        )
        # An output is the sum over one position in `stride` of the window only.
        fan_in = max(1, inside * kernel[0] * kernel[1] // (stride[0] * stride[1]))
        weight = self.parameter(
            f"{name}.weight", inside, channels, *kernel, fan_in=fan_in
        )
        attributes = self._window(strides=stride)
        result = Tensor(name, shape, x.element)
        return self._layer(
            "up_convolution",
            name,
            [x],
            shape,
            f"nn.conv2d_transpose {x}, {weight}{attributes} "
            f": {x.type}, {weight.type} -> {result.type}",
        )

    def batch_norm(self, name, x, epsilon=1.0e-5):
        channels = x.shape[1]
        scale = self.parameter(f"{name}.scale", channels, value=1.0)
        shift = self.parameter(f"{name}.shift", channels)
        mean = self.running(f"{name}.mean", channels)
        variance = self.running(f"{name}.variance", channels, value=1.0)
        attributes = _dictionary(epsilon=epsilon)
        if not self.trains:
            return self._layer(
                "batch_norm",
                name,
                [x],
                x.shape,
                f"nn.batch_norm_inference {x}, {scale}, {shift}, {mean}, {variance}"
                f"{attributes} : {x.type}, {scale.type}",
            )
        batch_mean = Tensor(f"{name}.batch_mean", (channels,), x.element)
        batch_variance = Tensor(f"{name}.batch_variance", (channels,), x.element)
        result = self._layer(
            "batch_norm",
            name,
            [x],
            x.shape,
            f"nn.batch_norm {x}, {scale}, {shift}{attributes} : {x.type}, {scale.type}",
            more_results=[batch_mean, batch_variance],
        )
        # The batch is a sample of what the running variance estimates.
        count = x.elements // channels
        self._update(mean, batch_mean, name, MOMENTUM)
        self._update(
            variance, batch_variance, name, MOMENTUM * count / max(1, count - 1)
        )
        return result

    def relu(self, name, x):
        return self._layer("relu", name, [x], x.shape, f"nn.relu {x} : {x.type}")

    def lrn(self, name, x, size=5, alpha=1.0e-4, beta=0.75, bias=1.0):
        attributes = _dictionary(size=size, alpha=alpha, beta=beta, bias=bias)
        return self._layer(
            "lrn", name, [x], x.shape, f"nn.lrn {x}{attributes} : {x.type}"
        )

    def max_pool(self, name, x, window, stride, padding=0, round_up=False):
        return self._pool(
            "max_pool", "nn.max_pool2d", name, x, window, stride, padding, round_up
        )

    def average_pool(self, name, x, window, stride, padding=0, count_padding=False):
        return self._pool(
            "average_pool",
            "nn.avg_pool2d",
            name,
            x,
            window,
            stride,
            padding,
            count_padding=count_padding,
        )

    def global_average_pool(self, name, x):
        return self.average_pool(name, x, x.shape[2:], 1)

    def dense(self, name, x, outputs):
        """A dense layer, over all of an image if it is given one."""
        rows = self._flatten(name, x)
        batch, inputs = rows.shape
        weight = self.parameter(f"{name}.weight", inputs, outputs, fan_in=inputs)
        bias = self.parameter(f"{name}.bias", outputs)
        return self._layer(
            "dense",
            name,
            [x],
            (batch, outputs),
            f"nn.dense {rows}, {weight}, {bias} "
            f": {rows.type}, {weight.type}, {bias.type}",
        )

    def dropout(self, name, x, probability):
        """Does nothing in inference, and is no operator there."""
        if not self.trains:
            self._record("dropout", name, [x], x.shape)
            return x
        rows = self._flatten(name, x)
        site = sum(layer.kind == "dropout" for layer in self.layers)
        if site == 0:
            self._seed = self.input("seed", element="i32")
            self._row = self.input("row_number", rows.shape[0], element="i32")
        attributes = f" {{probability = {_number(probability)}, site = {site} : i32}}"
        return self._layer(
            "dropout",
            name,
            [x],
            rows.shape,
            f"nn.dropout {rows}, {self._seed}, {self._row}{attributes} "
            f": {rows.type}, {self._seed.type}, {self._row.type}",
        )

    def add(self, name, x, y):
        if x.shape != y.shape:
            raise NetworkError(f"layer '{name}' adds {x.type} and {y.type}")
        return self._layer(
            "add", name, [x, y], x.shape, f"arith.addf {x}, {y} : {x.type}"
        )

    def concat(self, name, parts):
        """Channels of all parts, one part after the other."""
        batch, _, *extents = parts[0].shape
        for part in parts:
            if [part.shape[0], *part.shape[2:]] != [batch, *extents]:
                raise NetworkError(
                    f"layer '{name}' puts together {parts[0].type} and {part.type}"
                )
        shape = (batch, sum(part.shape[1] for part in parts), *extents)
        operands = ", ".join(str(part) for part in parts)
        types = ", ".join(part.type for part in parts)
        result = Tensor(name, shape, parts[0].element)
        return self._layer(
            "concat",
            name,
            parts,
            shape,
            f"tensor.concat dim(1) {operands} : ({types}) -> {result.type}",
        )

    # ===------------------------------------------------------------------=== #
    # Ends of networks
    # ===------------------------------------------------------------------=== #

    def classify(self, name, logits):
        """A class an image: probabilities, or their loss and what is right.

        The loss is summed over the batch.
        """
        if not self.trains:
            probabilities = self._layer(
                "softmax",
                name,
                [logits],
                logits.shape,
                f"nn.softmax {logits} : {logits.type}",
            )
            self._output("logits", logits)
            self._output("probabilities", probabilities)
            return
        batch = logits.shape[0]
        label = self.input("label", batch, element="i32")
        types = f"{logits.type}, {label.type}"
        self._record("softmax", name, [logits], logits.shape)
        losses = self._operator(
            f"{name}.losses",
            (batch,),
            f"nn.softmax_cross_entropy {logits}, {label} : {types}",
            name,
        )
        self._output("loss", self._sum("loss", losses, name))
        self._output(
            "correct",
            self._operator(
                "correct",
                (batch,),
                f"nn.correct {logits}, {label} : {types}",
                name,
                "i32",
            ),
        )

    def segment(self, name, logits):
        """Classes of every pixel: each is there or not, whatever the others are.

        The loss is the mean over pixels and classes, summed over the batch.
        """
        if not self.trains:
            self._output("logits", logits)
            return
        rows = self._flatten(name, logits)
        batch, pixels = rows.shape
        label = self.input("label", batch, pixels, element="i32")
        self._record("binary_cross_entropy", name, [logits], logits.shape)
        sums = self._operator(
            f"{name}.sums",
            (batch,),
            f"nn.binary_cross_entropy {rows}, {label} : {rows.type}, {label.type}",
            name,
        )
        share = self._constant(1.0 / pixels, (batch,))
        losses = self._operator(
            f"{name}.losses",
            (batch,),
            f"arith.mulf {sums}, {share} : {sums.type}",
            name,
        )
        self._output("loss", self._sum("loss", losses, name))

    # ===------------------------------------------------------------------=== #
    # Text
    # ===------------------------------------------------------------------=== #

    def text(self):
        o = self.options
        function = "loss" if self.trains else "predict"
        arguments = ",\n    ".join(
            f'{tensor}: {tensor.type} {{{kind} = "{tensor.name}"}}'
            for kind, tensor in self._arguments
        )
        all_results = self._outputs + self._updates
        results = ",\n        ".join(
            f'{tensor.type} {{{kind} = "{name}"}}' for kind, name, tensor in all_results
        )
        returned = ", ".join(str(tensor) for _, _, tensor in all_results)
        types = ", ".join(tensor.type for _, _, tensor in all_results)
        constants = "".join(
            f"  {tensor} = arith.constant dense<{_number(value)}> : {tensor.type}\n"
            for (value, _), tensor in self._constants.items()
        )
        image = f"{o.image_channels}x{o.image}x{o.image}"
        return (
            f"// {o.name}, a batch of {o.batch} images of {image}: {len(self.layers)} "
            f"layers, {self.parameter_count} parameters.\n"
            f"// Made by python3 -m espalier.networks.\n"
            f"func.func @{function}(\n    {arguments})\n    -> ({results}) {{\n"
            f"{constants}{''.join(self._operators)}"
            f"  return {returned} : {types}\n}}\n"
        )

    # ===------------------------------------------------------------------=== #
    # Parts
    # ===------------------------------------------------------------------=== #

    def _named(self, name, shape, element=None):
        if name in self._names:
            raise NetworkError(f"the network has two values named '{name}'")
        self._names.add(name)
        return Tensor(name, tuple(shape), element or self.options.dtype)

    def _argument(self, kind, name, shape, element=None):
        tensor = self._named(name, shape, element)
        self._arguments.append((kind, tensor))
        return tensor

    def _operator(self, name, shape, text, layer, element=None, more_results=()):
        result = self._named(name, shape, element)
        names = ", ".join(str(tensor) for tensor in (result, *more_results))
        self._operators.append(f'  {names} = {text} loc("{layer}")\n')
        return result

    def _record(self, kind, name, inputs, shape):
        # Those that were made since the last layer are this layer's.
        own = self.parameters[self._counted :]
        self._counted = len(self.parameters)
        count = sum(p.tensor.elements for p in own if not p.is_state)
        self.layers.append(
            Layer(kind, name, tuple(x.name for x in inputs), tuple(shape), count)
        )

    def _layer(self, kind, name, inputs, shape, text, more_results=()):
        self._record(kind, name, inputs, shape)
        return self._operator(name, shape, text, name, more_results=more_results)

    def _constant(self, value, shape):
        """A constant with one value in all elements, made once."""
        key = (value, tuple(shape))
        if key not in self._constants:
            name = f"constant.{len(self._constants)}"
            self._constants[key] = self._named(name, shape)
        return self._constants[key]

    def _sum(self, name, values, layer):
        return self._operator(name, (), f"nn.sum {values} : {values.type}", layer)

    def _output(self, name, tensor):
        self._outputs.append(("nn.output", name, tensor))

    def _update(self, old, batch, layer, momentum):
        """Moves a running statistic towards that of the batch."""
        kept = self._scaled(f"{old.name}.kept", old, 1.0 - MOMENTUM, layer)
        added = self._scaled(f"{old.name}.added", batch, momentum, layer)
        new = self._operator(
            f"{old.name}.new",
            old.shape,
            f"arith.addf {kept}, {added} : {old.type}",
            layer,
        )
        self._updates.append(("nn.update", old.name, new))

    def _scaled(self, name, x, factor, layer):
        constant = self._constant(factor, x.shape)
        return self._operator(
            name, x.shape, f"arith.mulf {x}, {constant} : {x.type}", layer
        )

    def _flatten(self, layer, x):
        """Rows of images; no layer of its own, since nothing moves."""
        if len(x.shape) == 2:
            return x
        batch = x.shape[0]
        shape = (batch, x.elements // batch)
        result = Tensor("", shape, x.element)
        return self._operator(
            f"{layer}.rows",
            shape,
            f"tensor.collapse_shape {x} [[0], [1, 2, 3]] : {x.type} into {result.type}",
            layer,
        )

    def _pool(
        self, kind, operator, name, x, window, stride, padding, round_up=False, **more
    ):
        window, stride, padding = pair(window), pair(stride), pair(padding)
        extents = self._extents(name, x.shape[2:], window, stride, padding, round_up)
        attributes = self._window(
            window=window,
            strides=stride,
            padding=padding * 2,
            ceil_mode=round_up,
            **more,
        )
        return self._layer(
            kind,
            name,
            [x],
            x.shape[:2] + extents,
            f"{operator} {x}{attributes} : {x.type}",
        )

    def _extents(self, name, extents, kernel, stride, padding, round_up=False):
        count = window_extent_rounded_up if round_up else window_extent
        result = tuple(map(count, extents, kernel, stride, padding))
        # A window has to fit, even if the last one may stick out.
        if min(map(window_extent, extents, kernel, stride, padding)) < 1:
            raise NetworkError(
                f"layer '{name}' has a window of {kernel[0]}x{kernel[1]}, but of the "
                f"image of {self.options.image}x{self.options.image} only "
                f"{extents[0]}x{extents[1]} elements are left there; make the image "
                "larger"
            )
        return result

    def _window(self, **attributes):
        """Attributes of a window, without those that say nothing."""
        return _dictionary(
            **{
                name: value
                for name, value in attributes.items()
                if value != self.SAYS_NOTHING.get(name)
            }
        )

    SAYS_NOTHING = {
        "strides": (1, 1),
        "padding": (0, 0, 0, 0),
        "groups": 1,
        "ceil_mode": False,
        "count_padding": False,
    }


def _number(value):
    """As MLIR wants it: a fraction has a point."""
    text = repr(value)
    if isinstance(value, float) and "." not in text:
        return text.replace("e", ".0e")
    return text


def _dictionary(**attributes):
    """Attributes as text; one that is True is a unit."""
    parts = []
    for name, value in attributes.items():
        if isinstance(value, tuple):
            value = list(value)
        parts.append(name if value is True else f"{name} = {_number(value)}")
    return f" {{{', '.join(parts)}}}" if parts else ""
