"""Graphs that people write by hand: functions of onnxscript with control flow, spox, ONNX's text form; names, empty inputs, strings,
sequences, external data, and programs of shapes."""

import numpy as np
import onnx
import onnxscript
from onnx import TensorProto, helper, numpy_helper, parser
from onnxscript import BOOL, FLOAT, INT64, graph, script
from onnxscript import opset15 as op15
from onnxscript import opset18 as op
from onnxscript import opset20 as op20
from onnxscript import opset23 as op23
from other_export import case

R = np.random.default_rng(0)


def x(*shape):
    return R.standard_normal(shape).astype(np.float32)


def scripted(f, *sets, name=None):
    def make():
        done = f.to_model_proto()
        names = [i.name for i in done.graph.input]
        return done, [dict(zip(names, s)) for s in sets]

    case(f"script_{name or f.name}", make)


N = FLOAT["N"]
NM = FLOAT["N", "M"]


@script()
def leaky(v: NM, slope: float = 0.1) -> NM:
    return op.Where(v > 0.0, v, v * slope)


@script(default_opset=op)
def branches(v: NM) -> NM:
    total = op.ReduceSum(v)
    if total > 0.0:
        r = v * 2.0
    else:
        if total < -3.0:
            r = v - 1.0
        else:
            r = op.Neg(v)
    return r


@script(default_opset=op)
def sums(v: NM) -> NM:
    n = op.Squeeze(op.Shape(v, start=0, end=1))
    r = op.CastLike(op.Sub(v, v), v)
    for i in range(n):
        r = r + v * op.Cast(i, to=1)
    return r


@script(default_opset=op)
def halves(v: N) -> N:
    big = op.ReduceMax(op.Abs(v), keepdims=0) > 0.5
    while big:
        v = v / 2.0
        big = op.ReduceMax(op.Abs(v), keepdims=0) > 0.5
    return v


@script(default_opset=op)
def early(v: N) -> FLOAT:
    total = op.Constant(value_float=0.0)
    n = op.Squeeze(op.Shape(v))
    for i in range(n):
        total = total + op.Gather(v, i)
        stop = total > 1.0
        if stop:
            break
    return total


@script(default_opset=op)
def fibonacci(n: INT64) -> INT64:
    a = op.Constant(value_int=0)
    b = op.Constant(value_int=1)
    for i in range(n):
        c = a + b
        a = b
        b = c
    return a


@script(default_opset=op)
def sequence(v: NM) -> NM:
    s = op.SequenceEmpty()
    n = op.Squeeze(op.Shape(v, start=0, end=1))
    for i in range(n):
        row = op.Gather(v, op.Reshape(i, [1]))
        s = op.SequenceInsert(s, row * op.Cast(i, to=1))
    return op.ConcatFromSequence(s, axis=0)


@script(default_opset=op)
def nested_loops(v: NM) -> FLOAT:
    total = op.Constant(value_float=0.0)
    shape = op.Shape(v)
    n = op.Squeeze(op.Slice(shape, [0], [1]))
    m = op.Squeeze(op.Slice(shape, [1], [2]))
    for i in range(n):
        row = op.Gather(v, i)
        for j in range(m):
            e = op.Gather(row, j)
            if e > 0.0:
                total = total + e * op.Cast(i + j, to=1)
            else:
                total = total - 0.5
    return total


@script(default_opset=op)
def pads(v: NM) -> NM:
    shape = op.Shape(v)
    m = op.ReduceMax(shape, keepdims=1)
    need = m - shape
    return op.Pad(v, op.Concat([0, 0], need, axis=0), 7.0)


@script(default_opset=op)
def attention_mask(v: NM) -> FLOAT["N", "N"]:
    n = op.Shape(v, start=0, end=1)
    ones = op.ConstantOfShape(op.Concat(n, n, axis=0), value=onnx.helper.make_tensor("o", 1, [1], [1.0]))
    s = op.MatMul(v, op.Transpose(v, perm=[1, 0]))
    return op.Softmax(op.Where(op.Trilu(ones, upper=0) == 0.0, -1e9, s))


local = onnxscript.values.Opset("my.functions", 1)


@script(local, default_opset=op)
def scaled_norm(v, g, eps: float):
    m = op.ReduceMean(v, [-1])
    d = v - m
    return d / op.Sqrt(op.ReduceMean(d * d, [-1]) + eps) * g


@script(local, default_opset=op)
def gated(v, w, alpha: float = 0.5):
    h = op.MatMul(v, w)
    return scaled_norm(op.Mul(h, op.Sigmoid(h * alpha)), op.Constant(value_float=2.0), eps=1e-3)


@script(default_opset=op)
def with_functions(v: NM, w: FLOAT["M", "K"]) -> FLOAT["N", "K"]:
    return gated(v, w) + gated(v, w, alpha=2.0)


@script(default_opset=op)
def scans(v: NM) -> NM:
    @graph()
    def step(s, e):
        t = s * 0.5 + e
        return op.Identity(t), op.Identity(t)

    first = op.Squeeze(op.Slice(v, [0], [1], [0]), [0])
    last, all_of = op.Scan(op.Sub(first, first), v, body=step, num_scan_inputs=1)
    return all_of


@script(default_opset=op)
def optional_inputs(v: NM) -> NM:
    return op.Clip(op.Clip(v, None, 0.5), -0.5)


scripted(leaky, (x(3, 4),), (x(1, 2),))
scripted(branches, (np.ones((2, 3), np.float32),), (-np.ones((1, 2), np.float32),), (-np.ones((4, 3), np.float32),))
scripted(sums, (x(3, 4),), (x(1, 2),), (x(6, 2),))
scripted(halves, (x(5) * 7,), (x(2) / 9,))
scripted(early, (np.abs(x(9)),), (-np.abs(x(2)),))
scripted(fibonacci, (np.int64(10),), (np.int64(0),), (np.int64(50),))
scripted(sequence, (x(3, 4),), (x(5, 2),))
scripted(nested_loops, (x(3, 4),), (x(1, 7),))
scripted(pads, (x(3, 5),), (x(4, 2),))
scripted(attention_mask, (x(4, 3),), (x(2, 5),))
scripted(with_functions, (x(4, 3), x(3, 5)), (x(1, 2), x(2, 2)))
scripted(scans, (x(4, 3),), (x(2, 5),))
scripted(optional_inputs, (x(4, 3),), (x(2, 5),))


def blank(g):
    """What the text calls EMPTY has no name: the text form cannot say that."""
    for n in g.node:
        n.input[:] = ["" if i == "EMPTY" else i for i in n.input]
        n.output[:] = ["" if i.startswith("EMPTY") else i for i in n.output]
        for a in n.attribute:
            blank(a.g)


def text(name, source, *sets, change=None):
    def make():
        done = parser.parse_model(source)
        blank(done.graph)
        if change:
            change(done)
        names = [i.name for i in done.graph.input]
        return done, [{k: v for k, v in zip(names, s) if v is not None} for s in sets]

    case(f"script_t_{name}", make)


HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'


def renamed(m):
    names = {"v": "in/put 1:0", "w": "é", "t": "a b", "y": "../o.u-t"}
    for n in m.graph.node:
        n.input[:] = [names[i] for i in n.input]
        n.output[:] = [names[i] for i in n.output]
    for v in list(m.graph.input) + list(m.graph.output):
        v.name = names[v.name]


text("names", HEAD + "agraph (float[N,2] v, float[N,2] w) => (float[N,2] y) { t = Add(v, w) y = Relu(t) }", (x(3, 2), x(3, 2)), (x(1, 2), x(1, 2)), change=renamed)
text("shape_program", HEAD + """agraph (float[N,C,H,W] v) => (float[A,B] y) { s = Shape(v) one = Constant<value_ints=[1]>() zero = Constant<value_ints=[0]>() two = Constant<value_ints=[2]>()
 h = Slice(s, zero, one) r = Slice(s, two, Four) p = ReduceProd<keepdims=1>(r) q = Mul(h, p) m = Constant<value_ints=[-1]>() t = Concat<axis=0>(q, m) y = Reshape(v, t) }""".replace("Four", "f").replace("two = Constant<value_ints=[2]>()", "two = Constant<value_ints=[2]>() f = Constant<value_ints=[4]>()"), (x(2, 3, 4, 5),), (x(1, 2, 3, 1),))
text("if_shapes", HEAD + """agraph (float[N,M] v) => (float[A,B] y) { s = Shape(v) i = Constant<value_int=0>() n = Gather(s, i) k = Constant<value_int=2>() c = Greater(n, k)
 y = If(c) <then_branch = t () => (float[A,B] yt) { yt = Transpose<perm=[1,0]>(v) }, else_branch = e () => (float[A,B] ye) { ye = Concat<axis=1>(v, v) }> }""", (x(2, 3),), (x(4, 3),))
text("unused", HEAD + "agraph (float[N] v, float[N] w, float[2] unused) => (float[N] y) { z = Exp(w) y = Abs(v) }", (x(3), x(3), x(2)), (x(1), x(1), x(2)))
text("input_is_output", HEAD + "agraph (float[N] v) => (float[N] y, float[N] v2) { y = Abs(v) v2 = Identity(v) }", (x(3),), (x(1),))
text("scalar", HEAD + "agraph (float v) => (float y) { y = Abs(v) }", (np.float32(-3),))
text("empty", HEAD + "agraph (float[N,3] v) => (float[N,3] y, float[M] s) { y = Relu(v) s = ReduceSum<keepdims=0>(y) }", (x(0, 3),), (x(2, 3),))
text("empty_matmul", HEAD + "agraph (float[N,K] v, float[K,M] w) => (float[N,M] y) { y = MatMul(v, w) }", (x(2, 0), x(0, 3)), (x(0, 2), x(2, 3)), (x(2, 3), x(3, 1)))
text("empty_conv", HEAD + "agraph (float[N,3,8,8] v, float[4,3,3,3] w) => (float[N,4,6,6] y) { y = Conv(v, w) }", (x(0, 3, 8, 8), x(4, 3, 3, 3)), (x(2, 3, 8, 8), x(4, 3, 3, 3)))
text("empty_softmax", HEAD + "agraph (float[N,3] v) => (float[N,3] y, float[N,3] z) { y = Softmax(v) z = LogSoftmax<axis=0>(v) }", (x(0, 3),), (x(4, 3),))
text("empty_concat", HEAD + "agraph (float[N,3] v, float[M,3] w) => (float[K,3] y) { y = Concat<axis=0>(v, w) }", (x(0, 3), x(2, 3)), (x(2, 3), x(0, 3)))
text("empty_gather", HEAD + "agraph (float[N,3] v, int64[K] i) => (float[K,3] y) { y = Gather(v, i) }", (x(4, 3), np.zeros(0, np.int64)), (x(4, 3), np.array([-1, 2])))
text("empty_topk", HEAD + "agraph (float[N] v, int64[1] k) => (float[K] y, int64[K] i) { y, i = TopK(v, k) }", (x(4), np.array([0])), (x(4), np.array([3])))
text("empty_nonzero", HEAD + "agraph (float[N] v) => (int64[1,K] y, float[K] g) { y = NonZero(v) z = Squeeze(y, a) g = Gather(v, z) }".replace("y = NonZero", "a = Constant<value_ints=[0]>() y = NonZero"), (np.zeros(4, np.float32),), (np.array([0, 1, 2], np.float32),))
text("loop_zero", HEAD + """agraph (int64 n, float[2] v) => (float[2] y, float[K,2] s) { c = Constant<value = bool {1}>() y, s = Loop(n, c, v) <body = b (int64 i, bool ci, float[2] a) => (bool co, float[2] b, float[2] o) { co = Identity(ci) b = Add(a, v) o = Mul(b, a) }> }""", (np.int64(0), x(2)), (np.int64(3), x(2)))
text("loop_grows", HEAD + """agraph (int64 n, float[N,2] v) => (float[K,2] y) { y = Loop(n, EMPTY, v) <body = b (int64 i, bool ci, float[P,2] a) => (bool co, float[Q,2] b) { co = Identity(ci) b = Concat<axis=0>(a, v) }> }""", (np.int64(2), x(1, 2)), (np.int64(4), x(3, 2)))
text("loop_forever", HEAD + """agraph (float[N] v) => (float[N] y, int64 k) { c = Constant<value = bool {1}>() z = Constant<value_int=0>() y, k = Loop(EMPTY, c, v, z) <body = b (int64 i, bool ci, float[N] a, int64 n) => (bool co, float[N] b, int64 m) { h = Constant<value_float=0.5>() b = Mul(a, h) t = ReduceSum<keepdims=0>(b) e = Constant<value_float=0.01>() co = Greater(t, e) o = Constant<value_int=1>() m = Add(n, o) }> }""", (np.ones(3, np.float32),), (np.ones(9, np.float32),))
text("nested_if", HEAD + """agraph (float[N] v, bool a, bool b) => (float[N] y) { y = If(a) <then_branch = t () => (float[N] p) { p = If(b) <then_branch = tt () => (float[N] q) { q = Neg(v) }, else_branch = te () => (float[N] r) { r = Exp(v) }> }, else_branch = e () => (float[N] s) { s = Identity(v) }> }""", (x(3), np.bool_(True), np.bool_(False)), (x(2), np.bool_(False), np.bool_(True)), (x(2), np.bool_(True), np.bool_(True)))
WINDOWS = """agraph (float[N,4] v) => (float[1,4] r, float[K,1,4] o) { n = Shape(v) z = Constant<value_int=0>() k = Gather(n, z) c = Constant<value = bool {1}>() f = Constant<value = float[1,4] {0,0,0,0}>()
 r, o = Loop(k, c, f) <body = b (int64 i, bool ci, float[1,4] a) => (bool co, float[1,4] b, float[1,4] d) { co = Identity(ci) zero = Constant<value_ints=[0]>() u = Constant<value_int=1>() PLACES d = Slice(v, s, e, zero) b = Add(a, d) }> }"""
text("windows", HEAD + WINDOWS.replace("PLACES", "s = Unsqueeze(i, zero) t = Add(i, u) e = Unsqueeze(t, zero)"), (x(3, 4),), (x(5, 4),))
text("windows_apart", HEAD + WINDOWS.replace("PLACES", "one = Constant<value_ints=[1]>() s = Reshape(i, one) e = Add(one, s)"), (x(3, 4),), (x(1, 4),))
text("window_data", HEAD + "agraph (float[N,M] v, int64[1] i) => (float[N,3] y) { k = Constant<value_ints=[3]>() e = Add(i, k) one = Constant<value_ints=[1]>() y = Slice(v, i, e, one) }", (x(2, 5), np.array([1])), (x(1, 9), np.array([6])))
S = '<ir_version: 8, opset_import: ["" : 20, "ai.onnx.ml" : 3]>\n'
W = np.array(["a b", "Ünïcode", "", "x,y,z"], dtype=object)
text("strings", S + "agraph (string[N] v) => (string[N] y, bool[N] e, string[N,K] s, int64[N] n) { y = StringConcat(v, v) e = Equal(v, v) s, n = StringSplit(v) }", (W,), (W[:2],))
text("strings_move", S + "agraph (string[N] v) => (string[A,B] y, string[C] g, string[D] c) { m = Constant<value_ints=[-1,1]>() y = Reshape(v, m) i = Constant<value_ints=[1,0,1]>() g = Gather(v, i) c = Concat<axis=0>(v, g) }", (W,), (W[:2],))
text("strings_unique", S + "agraph (string[N] v) => (string[A] y, int64[B] i, int64[C] j, int64[D] k) { y, i, j, k = Unique(v) }", (np.array(["b", "a", "b"], dtype=object),))
text("strings_encode", S + 'agraph (string[N] v) => (int64[N] y) { y = ai.onnx.ml.LabelEncoder<keys_strings=["a b", ""], values_int64s=[4, 5], default_int64=-1>(v) }', (W,), (W[:1],))
text("strings_decode", S + 'agraph (int64[N] v) => (string[N] y) { y = ai.onnx.ml.LabelEncoder<keys_int64s=[4, 5], values_strings=["four", "five"], default_string="?">(v) }', (np.array([4, 5, 6]),))
text("strings_numbers", S + "agraph (string[N] v) => (float[N] y, string[N] z) { y = Cast<to=1>(v) z = Cast<to=8>(y) }", (np.array(["1", "-2.5", "1e10", "nan", "0.1"], dtype=object),))
text("strings_regex", S + 'agraph (string[N] v) => (bool[N] y) { y = RegexFullMatch<pattern="[a-z ]+">(v) }', (W,))
text("strings_where", S + 'agraph (string[N] v, bool[N] c) => (string[N] y) { d = Constant<value_strings=["none"]>() y = Where(c, v, d) }', (W, np.array([True, False, True, False])))
text("sequences", HEAD + "agraph (float[N,4] v) => (seq(float[A,2]) s, float[B,2] f, int64 n) { s = SplitToSequence<axis=1>(v, k) i = Constant<value_int=-1>() f = SequenceAt(s, i) n = SequenceLength(s) }".replace("{ s", "{ k = Constant<value_int=2>() s"), (x(2, 4),), (x(1, 4),))
text("sequence_in", HEAD + "agraph (seq(float[A,2]) s) => (float[B,2] y) { y = ConcatFromSequence<axis=0>(s) }", ([x(2, 2), x(1, 2)],), ([x(3, 2)],))
text("sequence_map", HEAD + "agraph (seq(float[A]) s) => (seq(float[B]) y) { y = SequenceMap(s) <body = b (float[A] e) => (float[B] f) { f = Exp(e) }> }", ([x(2), x(1)],), ([x(3)],))
text("default_input", HEAD + "agraph (float[N] v, float[1] w = {2.5}) => (float[N] y) { y = Mul(v, w) }", (x(3), x(1)), (x(2), x(1)))
text("initializers", HEAD + "agraph (float[N,2] v) => (float[N,2] y) <float[2] w = {1.5, -2.5}, float[2] b = {0.1, 0.2}> { t = Mul(v, w) y = Add(t, b) }", (x(3, 2),), (x(1, 2),))
text("missing_shapes", HEAD + "agraph (float[] v) => (float[] y) { y = Abs(v) }", (np.float32(2),))
text("dropout_mask", HEAD + "agraph (float[N,2] v) => (float[N,2] y, bool[N,2] m) { y, m = Dropout(v) }", (x(3, 2),))
text("empty_optional", HEAD + 'agraph (float[N,2,3] v, float[1,16,3] w, float[1,16,4] r, float[1,2,4] h) => (float[N,1,2,4] y, float[1,2,4] c) { y, EMPTY1, c = LSTM<hidden_size=4>(v, w, r, EMPTY, EMPTY, h) }', (x(3, 2, 3), x(1, 16, 3), x(1, 16, 4), x(1, 2, 4)), (x(1, 2, 3), x(1, 16, 3), x(1, 16, 4), x(1, 2, 4)))
text("resize_sizes", HEAD + 'agraph (float[N,C,H,W] v) => (float[A,B,D,E] y) { s = Shape(v) two = Constant<value_ints=[1,1,2,2]>() t = Mul(s, two) y = Resize<mode="linear", coordinate_transformation_mode="align_corners">(v, EMPTY, EMPTY, t) }', (x(1, 2, 3, 4),), (x(2, 1, 5, 2),))


def untyped(m):
    del m.graph.output[0].type.tensor_type.shape.dim[:]
    m.graph.output[0].type.tensor_type.ClearField("shape")
    del m.graph.value_info[:]


text("no_output_shape", HEAD + "agraph (float[N,2] v) => (float[N,2] y) { y = Exp(v) }", (x(3, 2),), change=untyped)


def nameless(m):
    m.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_param")
    m.graph.input[1].type.tensor_type.shape.dim[0].ClearField("dim_param")


text("nameless_dims", HEAD + "agraph (float[N,2] v, float[M,2] w) => (float[K,2] y) { y = Concat<axis=0>(v, w) }", (x(3, 2), x(2, 2)), (x(1, 2), x(4, 2)), change=nameless)


def odd_names(m):
    m.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch size/2 é"
    m.graph.name = ""
    m.producer_name = ""


text("odd_dims", HEAD + "agraph (float[N,2] v) => (float[N,2] y) { y = Exp(v) }", (x(3, 2),), (x(1, 2),), change=odd_names)


def external(name, threshold, **settings):
    def make():
        import pathlib
        import tempfile
        folder = pathlib.Path(tempfile.mkdtemp())
        w = numpy_helper.from_array(x(40, 30), "weights/main")
        b = numpy_helper.from_array(x(30), "bias")
        g = helper.make_graph([helper.make_node("MatMul", ["v", "weights/main"], ["t"]), helper.make_node("Add", ["t", "bias"], ["y"])], "g", [helper.make_tensor_value_info("v", 1, ["N", 40])], [helper.make_tensor_value_info("y", 1, ["N", 30])], [w, b])
        m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(m, str(folder / "model.onnx"), save_as_external_data=True, size_threshold=threshold, **settings)
        return folder, [{"v": x(3, 40)}, {"v": x(1, 40)}]

    case(f"script_external_{name}", make)


external("one_file", 0, location="model data.bin")
external("many_files", 0, all_tensors_to_one_file=False)
external("large_only", 1000, location="weights.data")
external("attributes", 0, location="w.bin", convert_attribute=True)


def operators():
    """One small model for each of several opsets of the operators that changed the most."""
    for o in range(7, 26):
        h = f'<ir_version: 8, opset_import: ["" : {o}]>\n'
        axes = "a = Constant<value = int64[1] {1}>() " if o >= 13 else ""
        arg = ", a" if o >= 13 else ""
        att = "" if o >= 13 else "axes=[1]"
        src = h + "agraph (float[N,3] v) => (float[N,3] y, float[N,1,3] u, float[N] s, float[N,3] m, float[N,3] n) { " + axes
        src += f"y = Softmax<axis=1>(v) u = Unsqueeze{'<' + att + '>' if att else ''}(v{arg}) "
        src += f"s = ReduceSum<{att + ', ' if att else ''}keepdims=0>(v{arg}) "
        src += ("lo = Constant<value = float {-0.5}>() hi = Constant<value = float {0.5}>() m = Clip(v, lo, hi) " if o >= 11 else "m = Clip<min=-0.5, max=0.5>(v) ")
        src += "k, i = TopK<axis=1" + (", k=2>(v) " if o < 10 else ">(v, kk) ")
        if o >= 10:
            src = src.replace("{ ", "{ kk = Constant<value = int64[1] {2}>() ", 1)
        src += f"rm = ReduceMax{'<axes=[1]>' if o < 18 else ''}(k{', ra' if o >= 18 else ''}) n = Sub(v, rm) }}"
        if o >= 18:
            src = src.replace("{ ", "{ ra = Constant<value = int64[1] {1}>() ", 1)
        text(f"opset{o}", src, (x(3, 3),), (x(1, 3),))


operators()
