"""Writes models of any origin as cases in ONNX's test layout: for each set of inputs, what ONNX Runtime gives. Values may be tensors,
sequences, maps and None. Families say `case(name, make)`; make() gives a model and sets of named inputs."""

import pathlib
import shutil
import signal

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

CASES = []


def case(name, make, seconds=120, **settings):
    """settings: custom, a shared library of operators for ONNX Runtime; tolerance is the runner's."""
    CASES.append({"name": name, "make": make, "seconds": seconds, **settings})


def many(**settings):
    """Decorates a function that makes a model; its name is the case's."""

    def add(make):
        case(make.__name__, make, **settings)
        return make

    return add


def message_of(value, name):
    """A value of ONNX Runtime as a message of ONNX."""
    if isinstance(value, dict):
        keys = list(value)
        m = onnx.MapProto(name=name)
        if keys and isinstance(keys[0], str):
            m.key_type = onnx.TensorProto.STRING
            m.string_keys.extend(k.encode() for k in keys)
        else:
            m.key_type = onnx.TensorProto.INT64
            m.keys.extend(int(k) for k in keys)
        m.values.CopyFrom(onnx.SequenceProto(elem_type=onnx.SequenceProto.TENSOR))
        for k in keys:
            m.values.tensor_values.append(numpy_helper.from_array(np.asarray(value[k], np.float32)))
        return m
    if isinstance(value, list):
        s = onnx.SequenceProto(name=name)
        if value and isinstance(value[0], dict):
            s.elem_type = onnx.SequenceProto.MAP
            s.map_values.extend(message_of(v, "") for v in value)
        else:
            s.elem_type = onnx.SequenceProto.TENSOR
            s.tensor_values.extend(message_of(v, "") for v in value)
        return s
    value = np.asarray(value)
    if value.dtype.kind in "US":
        value = value.astype(object)
    if value.dtype == object:
        texts = [v if isinstance(v, bytes) else str(v).encode() for v in value.ravel()]
        return onnx.TensorProto(name=name, data_type=onnx.TensorProto.STRING, dims=value.shape, string_data=texts)
    return numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape), name)


_make_attribute = onnx.helper.make_attribute


def make_attribute(key, value, *args, **settings):
    """skl2onnx mixes numbers of NumPy with Python's, and tf2onnx writes lists of nothing, which newer versions of onnx refuse."""
    if isinstance(value, (list, tuple)) and not value and not settings.get("attr_type"):
        settings["attr_type"] = onnx.AttributeProto.INTS
    if isinstance(value, list) and value and all(isinstance(v, (np.integer, np.bool_, int)) for v in value):
        value = [int(v) for v in value]
    return _make_attribute(key, value, *args, **settings)


onnx.helper.make_attribute = make_attribute


class Session(onnxruntime.InferenceSession):
    """One thread for each session, those of ONNX Runtime's tools too: threads that wait keep a busy machine busy."""

    def __init__(self, model, sess_options=None, *args, **settings):
        sess_options = sess_options or onnxruntime.SessionOptions()
        sess_options.intra_op_num_threads = 1
        super().__init__(model, sess_options, *args, **settings)


onnxruntime.InferenceSession = Session


def late(*_):
    raise TimeoutError("it took too long")


def session_of(path, custom=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # what the file says, as exactly as it can
    if custom:
        options.register_custom_ops_library(custom)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def write(c, out):
    """Writes one case; returns what went wrong, if anything. What ONNX Runtime cannot run has no data, and a note says why."""
    folder = out / c["name"]
    if (folder / "done").exists():
        return ""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    signal.signal(signal.SIGALRM, late)
    signal.alarm(c["seconds"])
    try:
        np.random.seed(0)
        model, sets = c["make"]()
        path = folder / "model.onnx"
        if isinstance(model, (str, pathlib.Path)):
            source = pathlib.Path(model)
            if source.is_dir():
                shutil.copytree(source, folder, dirs_exist_ok=True)
            else:
                shutil.copyfile(source, path)
        elif isinstance(model, bytes):
            path.write_bytes(model)
        else:
            onnx.save(model, str(path))
        session = session_of(path, c.get("custom"))
        names = [i.name for i in session.get_inputs()]
        outputs = [o.name for o in session.get_outputs()]
        for k, feeds in enumerate(sets):
            feeds = {n: np.asarray(v) if isinstance(v, np.generic) else v for n, v in feeds.items()}
            values = session.run(None, {n: feeds[n] for n in names if n in feeds})
            place = folder / f"test_data_set_{k}"
            place.mkdir()
            for i, n in enumerate(names):
                if n in feeds:
                    (place / f"input_{i}.pb").write_bytes(message_of(feeds[n], n).SerializeToString())
            for i, (n, v) in enumerate(zip(outputs, values)):
                if v is not None:
                    (place / f"output_{i}.pb").write_bytes(message_of(v, n).SerializeToString())
        (folder / "done").write_text("")
        return ""
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        shutil.rmtree(folder, ignore_errors=True)
        return f"{type(error).__name__}: {str(error)[:300]}".replace("\n", " ")
    finally:
        signal.alarm(0)
