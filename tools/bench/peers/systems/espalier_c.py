"""The C interface of Espalier's runtime, as far as the comparison needs it.

See runtime/include/espalier/runtime.h and abi.h for what everything means.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_int64, c_uint32
from ctypes import c_int32, c_size_t, c_uint64, c_void_p

import numpy as np

ABI_MAJOR = 3
DTYPES = {1: np.float32, 2: np.float64, 3: np.int32}
CODES = {np.dtype(kind): code for code, kind in DTYPES.items()}
BUFFER_INPUT = 1
POLICIES = {"batched": 0, "serial": 1}


class Tensor(Structure):
    _fields_ = [
        ("dtype", c_uint32),
        ("rank", c_uint32),
        ("shape", POINTER(c_int64)),
        ("data", c_void_p),
    ]

    @staticmethod
    def of(array):
        """A view of `array`, which it keeps alive. TypeError for other dtypes."""
        if array.dtype not in CODES:
            raise TypeError(f"no tensor of {array.dtype}")
        array = np.asarray(array, order="C")
        tensor = Tensor()
        tensor.kept = (array, (c_int64 * max(1, array.ndim))(*array.shape))
        tensor.dtype, tensor.rank = CODES[array.dtype], array.ndim
        tensor.shape = ctypes.cast(tensor.kept[1], POINTER(c_int64))
        tensor.data = array.ctypes.data
        return tensor

    def array(self):
        """A copy."""
        shape = tuple(self.shape[i] for i in range(self.rank))
        dtype = np.dtype(DTYPES[self.dtype])
        count = int(np.prod(shape, dtype=np.int64))
        if count == 0:
            return np.zeros(shape, dtype)
        bytes_ = ctypes.string_at(self.data, count * dtype.itemsize)
        return np.frombuffer(bytes_, dtype).reshape(shape)


class NamedTensor(Structure):
    _fields_ = [("name", c_char_p), ("tensor", Tensor)]


def named_tensors(arrays):
    """A C array of them, which keeps the data alive."""
    tensors = (NamedTensor * max(1, len(arrays)))()
    tensors.kept = []
    for at, (name, array) in enumerate(arrays.items()):
        tensor = Tensor.of(array)
        tensors.kept.append((tensor, tensor.kept))
        tensors[at].name, tensors[at].tensor = name.encode(), tensor
    return tensors


class SessionOptions(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("policy", c_uint32),
        ("entry", c_char_p),
        ("threads", c_uint32),
        ("profile", c_uint32),
    ]


class Stats(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("runs", c_int64),
        ("structures", c_int64),
        ("vertices", c_int64),
        ("tasks", c_int64),
        ("total_seconds", c_double),
        ("schedule_seconds", c_double),
        ("copy_seconds", c_double),
        ("matmul_seconds", c_double),
        ("kernel_seconds", c_double),
        ("matmul_flops", c_double),
        ("peak_bytes", c_int64),
        ("allocated_bytes", c_int64),
    ]


class BufferDesc(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("kind", c_uint32),
        ("dtype", c_uint32),
        ("rows", c_uint32),
        ("graph", c_uint32),
        ("rank", c_uint32),
        ("first_phase", c_uint32),
        ("last_phase", c_uint32),
        ("reserved", c_uint32),
        ("shape", c_int64 * 4),
        ("row_elements", c_int64),
        ("data", c_void_p),
        ("offset", c_int64),
    ]


class Entry(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("graph_count", c_uint32),
        ("buffer_count", c_uint32),
        ("weight_count", c_uint32),
        ("phase_count", c_uint32),
        ("graphs", c_void_p),
        ("buffers", POINTER(BufferDesc)),
        ("weights", c_void_p),
        ("phases", c_void_p),
        ("plan", c_void_p),
    ]


class Model(Structure):
    _fields_ = [
        ("magic", c_uint32),
        ("abi_major", c_uint32),
        ("abi_minor", c_uint32),
        ("struct_size", c_uint32),
        ("name", c_char_p),
        ("compiler_version", c_char_p),
        ("target_cpu", c_char_p),
        ("target_features", c_char_p),
        ("entry_count", c_uint32),
        ("reserved", c_uint32),
        ("entries", POINTER(Entry)),
    ]


class EspalierError(RuntimeError):
    """A call of the runtime failed; the text is what the runtime said."""


class Runtime:
    """libespalier_runtime.so. Its handles are plain pointers."""

    SIGNATURES = {
        "module_load": [c_char_p, c_void_p],
        "weights_create": [c_void_p, c_size_t, c_void_p],
        "structures_create": [c_void_p],
        "structures_append": [
            c_void_p,
            c_int64,
            POINTER(c_int64),
            POINTER(c_int32),
        ],
        "structures_set_field": [c_void_p, c_char_p, POINTER(Tensor)],
        "session_create": [c_void_p, c_void_p, c_void_p, c_void_p],
        "session_run": [c_void_p, c_void_p, c_void_p, c_size_t, c_void_p],
        "session_stats": [c_void_p, c_void_p],
        "session_bytes_needed": [c_void_p, c_void_p, c_void_p],
        "result_tensor": [c_void_p, c_char_p, c_void_p],
    }
    DESTROYERS = ("module", "weights", "structures", "session", "result")

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.espalier_last_error.restype = c_char_p
        for name, arguments in self.SIGNATURES.items():
            function = getattr(self.library, f"espalier_{name}")
            function.argtypes, function.restype = arguments, c_uint32
        for name in self.DESTROYERS:
            function = getattr(self.library, f"espalier_{name}_destroy")
            function.argtypes, function.restype = [c_void_p], None
        self.library.espalier_session_reset_stats.argtypes = [c_void_p]
        self.library.espalier_module_model.argtypes = [c_void_p]
        self.library.espalier_module_model.restype = POINTER(Model)

    def call(self, name, *arguments):
        if getattr(self.library, f"espalier_{name}")(*arguments) != 0:
            self.fail()

    def fail(self):
        """Raises what the last failed call said."""
        raise EspalierError(self.library.espalier_last_error().decode())

    def make(self, name, *arguments):
        """Calls a function that writes a handle; returns that."""
        handle = c_void_p()
        self.call(name, *arguments, byref(handle))
        return handle

    def destroy(self, kind, handle):
        getattr(self.library, f"espalier_{kind}_destroy")(handle)

    def entry_inputs(self, module, entry):
        """The names of an entry's tensor arguments. KeyError if there is none."""
        model = self.library.espalier_module_model(module).contents
        if model.abi_major != ABI_MAJOR:
            raise EspalierError(
                f"the model has ABI {model.abi_major}; espalier_c.py describes "
                f"{ABI_MAJOR}"
            )
        entries = {
            model.entries[i].name.decode(): model.entries[i]
            for i in range(model.entry_count)
        }
        if entry not in entries:
            raise KeyError(f"no entry '{entry}' among {', '.join(entries)}")
        found = entries[entry]
        return [
            found.buffers[i].name.decode()
            for i in range(found.buffer_count)
            if found.buffers[i].kind == BUFFER_INPUT
        ]
