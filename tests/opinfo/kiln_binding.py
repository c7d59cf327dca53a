"""Kiln by ctypes, made from the headers: K("cpu").add(x, y) calls kn_add. Lists become kn_ints or arrays of tensors, dicts the
struct of settings, texts such as "f32" a dtype, None a missing operand or NULL. Results are kept until the scope ends; a
poisoned one raises KilnError with its text."""

import ctypes as c
import os
import sys

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "api_fuzz"))
import api_calls  # noqa: E402

LIBRARY = api_calls.Library()
MAX_RANK = 8
DTYPES = {torch.float64: 1, torch.float32: 2, torch.float16: 3, torch.bfloat16: 4, torch.int64: 5, torch.int32: 6,
          torch.int16: 7, torch.int8: 8, torch.uint64: 9, torch.uint32: 10, torch.uint16: 11, torch.uint8: 12,
          torch.bool: 13}  # fmt: skip
TORCH_DTYPES = {code: dtype for dtype, code in DTYPES.items()}


class KilnError(Exception):
    pass


class Unsupported(Exception):
    """Kiln has no such function or setting; the text says which."""


class Handle(c.Structure):
    _fields_ = [("bits", c.c_uint64)]


class Shape(c.Structure):
    _fields_ = [("rank", c.c_int32), ("dims", c.c_int64 * MAX_RANK)]


class Scope(c.Structure):
    _fields_ = [("depth", c.c_uint32), ("thread", c.c_uint32), ("serial", c.c_uint32)]


SIMPLE = {"kn_tensor": Handle, "int32_t": c.c_int32, "int64_t": c.c_int64, "uint32_t": c.c_uint32,
          "uint64_t": c.c_uint64, "double": c.c_double, "bool": c.c_bool, "kn_ints": Shape, "kn_shape": Shape,
          "kn_dtype": c.c_int, "kn_status": c.c_int, "kn_device": c.c_void_p, "size_t": c.c_size_t}  # fmt: skip

ARRAYS = {"const int64_t *": c.c_int64, "const double *": c.c_double}  # each followed by its number of elements


def shape_of(values):
    values = [values] if isinstance(values, int) else list(values)
    if len(values) > MAX_RANK:
        raise Unsupported("more than %d axes" % MAX_RANK)
    return Shape(len(values), (c.c_int64 * MAX_RANK)(*values))


class Tensor:
    """A handle of a kept tensor."""

    def __init__(self, kiln, handle):
        self.k, self.handle = kiln, handle

    @property
    def shape(self):
        s = self.k.lib.kn_shape_of_tensor(self.handle)
        return list(s.dims[: s.rank])

    @property
    def dtype(self):
        return TORCH_DTYPES[self.k.lib.kn_dtype_of(self.handle)]

    @property
    def rank(self):
        return len(self.shape)

    def is_float(self):
        return self.dtype.is_floating_point

    def torch(self):
        out = torch.empty(self.shape, dtype=self.dtype)
        status = self.k.lib.kn_read(self.handle, c.c_void_p(out.data_ptr()), c.c_size_t(out.numel() * out.element_size()))
        if status:
            raise KilnError(self.k.last_error())
        return out


class K:
    def __init__(self, path, spec):
        self.lib = c.CDLL(path)
        library = LIBRARY
        self.structs, self.enums = dict(SIMPLE), library.enums
        self.functions = {name: (result, arguments) for name, result, arguments in library.functions}
        self.fields = library.structs
        for name in ("kn_keep", "kn_scope_end", "kn_wrap", "kn_require_grad"):
            getattr(self.lib, name).restype = Handle
        self.lib.kn_shape_of_tensor.restype = Shape
        self.lib.kn_last_error.restype = c.c_char_p
        self.lib.kn_scope_begin.restype = Scope
        self.lib.kn_device_open.restype = c.c_void_p
        self.lib.kn_ok.restype = c.c_bool
        self.devices = {}
        self.use(spec)
        self.alive = []

    # ---- devices, scopes, errors

    def use(self, spec):
        if spec not in self.devices:
            self.devices[spec] = self.lib.kn_device_open(spec.encode())
            if not self.devices[spec]:
                raise KilnError(self.last_error())
        self.lib.kn_device_use(c.c_void_p(self.devices[spec]))

    def scope(self):
        return self.lib.kn_scope_begin()

    def end(self, scope):
        self.lib.kn_scope_end(scope, Handle(0))
        self.alive = []

    def last_error(self):
        return self.lib.kn_last_error().decode(errors="replace")

    def held(self, handle):
        if not self.lib.kn_ok(handle):
            text = c.create_string_buffer(500)
            self.lib.kn_error_text(handle, text, c.c_size_t(500))
            raise KilnError(text.value.decode(errors="replace"))
        return Tensor(self, self.lib.kn_keep(handle))

    # ---- values

    def tensor(self, t):
        """The memory of a PyTorch tensor, with its strides."""
        if t.dtype not in DTYPES:
            raise Unsupported("dtype %s" % t.dtype)
        if t.layout != torch.strided:
            raise Unsupported("layout %s" % t.layout)
        t = t.detach().resolve_neg()
        self.alive.append(t)
        strides = (c.c_int64 * MAX_RANK)(*t.stride())
        pointer = t.data_ptr() or t.new_empty(1).data_ptr()
        return self.held(self.lib.kn_wrap(c.c_void_p(pointer), DTYPES[t.dtype], shape_of(t.shape), strides, None, None))

    def number(self, value, like=None):
        """A rank-0 tensor of a Python number."""
        if isinstance(value, complex):
            raise Unsupported("complex numbers")
        dtype = torch.bool if isinstance(value, bool) else torch.int64 if isinstance(value, int) else torch.get_default_dtype()
        if like is not None and (like.is_float() or (dtype != torch.float32 and dtype != torch.float64)):
            dtype = like.dtype
        return self.tensor(torch.tensor(value, dtype=dtype))

    def struct(self, name):
        if name not in self.structs:
            if name in self.enums:
                self.structs[name] = c.c_int
            else:
                self.structs[name] = type(name, (c.Structure,), {"_fields_": [
                    (f, self.struct(kind) * count if count else self.struct(kind)) for kind, f, count in self.fields[name]]})
        return self.structs[name]

    def given(self, kind, value):
        """A Python value as a C one."""
        if kind == "kn_tensor":
            if value is None:
                return Handle(0)
            return (value if isinstance(value, Tensor) else self.number(value)).handle
        if kind in ("kn_ints", "kn_shape"):
            return shape_of(value if value is not None else [])
        if kind == "kn_dtype":
            return DTYPES[value] if isinstance(value, torch.dtype) else int(value)
        if kind in ("double",):
            if isinstance(value, complex):
                raise Unsupported("complex numbers")
            return c.c_double(float(value))
        if kind in SIMPLE:
            return SIMPLE[kind](bool(value) if kind == "bool" else int(value))
        if kind in self.enums:
            return c.c_int(int(value))
        if isinstance(value, tuple):  # a struct by value
            return self.struct(kind)(*[self.given(f[0], v) for f, v in zip(self.fields[kind], value)])
        return self.settings(kind, value)

    def settings(self, kind, values):
        made = self.struct(kind)()
        names = {f[1]: f for f in self.fields[kind]}
        for name, value in values.items():
            base, _, count = names[name]
            if count:
                value = [value] if isinstance(value, (int, float)) else list(value)
                value = value * count if len(value) == 1 else value
                getattr(made, name)[: len(value)] = [float(v) if base == "double" else int(v) for v in value]
            else:
                v = self.given(base, value)
                setattr(made, name, v.value if hasattr(v, "value") else v)
        return made

    # ---- calls

    def __getattr__(self, name):
        if "kn_" + name not in self.functions:
            raise AttributeError(name)
        return lambda *values: self.call("kn_" + name, values)

    def call(self, name, values):
        result, arguments = self.functions[name]
        function, given, values, i, out = getattr(self.lib, name), [], list(values), 0, None
        while i < len(arguments):
            kind = arguments[i][0]
            value = values.pop(0)
            if kind == "const kn_tensor *":
                given += [(Handle * max(len(value), 1))(*[self.given("kn_tensor", v) for v in value]), c.c_int32(len(value))]
                i += 1
            elif kind == "const kn_range *":
                ranges = self.struct("kn_range") * max(len(value), 1)
                given += [ranges(*[self.struct("kn_range")(*r) for r in value]), c.c_int32(len(value))]
                i += 1
            elif kind in ARRAYS:
                given += [(ARRAYS[kind] * max(len(value), 1))(*value), c.c_int32(len(value))]
                i += 1
            elif kind == "kn_tensor *":  # results: the value is how many there is room for
                out, found = (Handle * max(value, 1))(), c.c_int32(value)
                given += [out]
                if arguments[i + 1 :] and arguments[i + 1][0] == "int32_t *":
                    given += [c.byref(found)]
                    i += 1
            elif kind == "bool *":
                given += [c.byref(value)]
            elif kind == "const char *":
                given += [value.encode()]
            elif kind.startswith("const "):
                given += [None if value is None else c.byref(self.settings(kind[6:-2], value))]
            else:
                given += [self.given(kind, value)]
            i += 1
        function.restype = self.struct(result)
        answer = function(*given)
        if result == "kn_tensor":
            return self.held(answer)
        members = self.fields.get(result)
        if members and all(f and f[0] == "kn_tensor" for f in members):
            return tuple(self.held(getattr(answer, f[1])) for f in members)
        if result == "kn_status" and answer:
            raise KilnError(self.last_error())
        return answer if out is None else tuple(self.held(h) for h in out[: found.value])

    def grad(self, outputs, cotangents, wrt):
        """The gradients, None where an input has none."""
        n_out, n_in = len(outputs), len(wrt)
        grads = (Handle * n_in)()
        status = self.lib.kn_grad((Handle * n_out)(*[t.handle for t in outputs]),
                                  (Handle * n_out)(*[t.handle for t in cotangents]), c.c_int32(n_out),
                                  (Handle * n_in)(*[t.handle for t in wrt]), c.c_int32(n_in), c.c_uint32(4), grads)  # fmt: skip
        if status:
            raise KilnError(self.last_error())
        return [self.held(g) if g.bits else None for g in grads]
