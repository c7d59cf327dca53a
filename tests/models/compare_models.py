#!/usr/bin/env python3
"""Runs the models that fetch.py fetches on random inputs and compares each output with ONNX Runtime's: every element
within 1e-7 + 1e-3 of its size, or all within 1e-3 of the range of the output (2e-2 where the model rounds to 8 bits inside). A model in 8
bits whose outputs are further apart passes where each of its parts agrees by itself (quantized_pieces.py), and where ONNX Runtime is as far
from itself, with its optimisations or with weights whose last bits are changed at random: 1.5 times that at most. The line says so: one
number that is rounded up instead of down can move a whole output. time_models.py times them. --way 2, the default, is `kiln run`; --way 1 compiles the C that `kiln import` writes, --way 3 the one freestanding file that
--standalone writes. --meaningful gives each model a face, a spoken sentence, a page and the like instead (meaningful.py), and asks of
Kiln's results that they mean what they should. Needs the packages numpy, onnx and onnxruntime."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime

import fetch
import quantized_pieces
import written_c

F = np.float32


class result:  # pylint: disable=invalid-name
    """An output that ONNX Runtime gives for another model or case: (name of the model, its inputs)."""

    def __init__(self, run, output):
        self.run, self.output = run, output


def image(*shape):
    return lambda rng: rng.normal(size=shape).astype(F)


def picture(*shape):
    """Numbers of 0 to 255 that change slowly."""
    def make(rng):
        x = rng.normal(size=shape)
        for axis in (1, 2):
            x = sum(np.roll(x, i, axis) for i in range(24)) / 24 ** 0.5
        return np.clip(128 + 60 * x, 0, 255).astype(F)
    return make


def bytes_of(*shape):
    return lambda rng: rng.integers(0, 256, size=shape).astype(np.uint8)


def constant(values, kind):
    return lambda rng: np.array(values, kind)


def ids(below, *shape):
    return lambda rng: rng.integers(1, below, size=shape).astype(np.int64)


def ones(*shape):
    return lambda rng: np.ones(shape, np.int64)


def hole(rng):
    """A mask with a hole in the middle."""
    del rng
    mask = np.full((1, 1, 300, 400), 255, np.uint8)
    mask[:, :, 100:180, 120:250] = 0
    return mask


def detections(rng):
    """Boxes and scores as a detector gives them."""
    boxes = rng.uniform(20, 600, size=(1, 4, 8400))
    boxes[:, 2:] = rng.uniform(5, 200, size=(1, 2, 8400))
    return np.concatenate([boxes, rng.random(size=(1, 80, 8400)) ** 30], 1).astype(F)


def bert(length):
    return {"input_ids": ids(5000, 2, length), "attention_mask": ones(2, length), "token_type_ids": lambda rng:
            np.zeros((2, length), np.int64)}


def language_model(length, past, before=None):
    """Tokens behind what a run before has seen."""
    inputs = {"input_ids": ids(6000, 1, length), "attention_mask": ones(1, past + length),
              "position_ids": constant([range(past, past + length)], np.int64)}
    for i in range(8):
        for part in ("key", "value"):
            name = f"past_key_values.{i}.{part}"
            inputs[name] = result(before, f"present.{i}.{part}") if before else image(1, 2, past, 64)
    return inputs


def spectrum(rng):
    """What a second of sound may look like: changing slowly along both axes, in the range of the real thing."""
    x = rng.normal(size=(1, 80, 3000))
    for axis, width in ((1, 5), (2, 20)):
        x = sum(np.roll(x, i, axis) for i in range(width)) / width ** 0.5
    return np.clip(x * 0.4, -1, 1.5).astype(F)


def speech_decoder(length, past, before=None):
    """The first tokens, or the ones behind what a run before has seen."""
    inputs = {"input_ids": ids(5000, 1, length), "use_cache_branch": constant([before is not None], np.bool_),
              "encoder_hidden_states": result(SPEECH_ENCODER, "last_hidden_state")}
    for i in range(4):
        for side, n in (("decoder", past), ("encoder", 1500)):
            for part in ("key", "value"):
                name = f"{i}.{side}.{part}"
                inputs["past_key_values." + name] = (result(before, "present." + name) if before
                                                     else image(1, 6, n, 64))
    return inputs


def voice(state):
    return {"input": image(1, 512), "state": image(*state), "sr": constant(16000, np.int64)}


SPEECH_ENCODER = ("whisper_tiny_enc_int8", {"input_features": spectrum})
LANGUAGE_BEFORE = ("minimind2_llm_int8", language_model(20, 0))
SPEECH_BEFORE = ("whisper_tiny_dec_int8", speech_decoder(4, 0))

# What each model is given where its declared shapes do not say it, or where numbers without any order make the model a lottery: 8 bits
# round differences of the last digit up to whole steps, and equal neighbours are told from almost equal ones.
INPUTS = {
    "ddddocr_crnn_fp32": [{"input1": image(1, 1, 64, 160)}],
    "migan": [{"image": bytes_of(1, 3, 300, 400), "mask": hole}],
    "minilm_fp32": [bert(16), bert(128)],
    "minilm_int8": [bert(16), bert(128)],
    "minimind2_llm_int8": [language_model(16, 0), language_model(1, 20, LANGUAGE_BEFORE)],
    "mlsd_tiny": [{"input_image_with_alpha:0": picture(1, 320, 320, 4)}],
    "oww_embedding": [{"input_1": image(4, 76, 32, 1)}],
    "piper_vits": [{"input": ids(100, 1, 40), "input_lengths": constant([40], np.int64),
                    "scales": constant([0, 1, 0], F)}],
    "ppocr_cls": [{"x": image(2, 3, 48, 192)}],
    "ppocrv4_det": [{"x": image(1, 3, 320, 480)}],
    "ppocrv4_rec_en": [{"x": image(1, 3, 48, 320)}],
    "silero_vad_op18_ifless": [voice((2, 1, 128))],
    "silero_vad_v5": [voice((2, 1, 128)), dict(voice((2, 1, 128)), input=image(1, 256), sr=constant(8000, np.int64))],
    "whisper_tiny_dec_int8": [speech_decoder(4, 0), speech_decoder(1, 4, SPEECH_BEFORE)],
    "whisper_tiny_enc_int8": [SPEECH_ENCODER[1]],
    "yolov8_nms": [{"detection": detections, "config": constant([100, 0.45, 0.25], F)}],
}


# What ways 1 and 3 are given when they write C: values that the model computes settings from, and sizes.
VALUES = {"silero_vad_v5": ["sr"], "yolov8_nms": ["config"]}
# Sizes that decide what is there: which graph an If takes, which axes Squeeze removes.
SIZED = {"silero_vad_v5": None, "migan": ["mask.0", "image.0"]}


def share_of_range(got, expected):
    """The largest difference as a part of the range."""
    a, b = got.astype(np.float64), expected.astype(np.float64)
    extent = np.ptp(b) if b.size else 0
    return float(np.abs(a - b).max() / extent) if extent > 0 else 0


def apart(got, expected, limit):
    """None where they agree, else what is wrong."""
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    if got.dtype != expected.dtype:
        return f"{got.dtype}, expected {expected.dtype}"
    if got.size == 0:
        return None
    a, b = got.astype(np.float64), expected.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    difference = np.where(same, 0, np.abs(a - b))
    if np.all(difference <= 1e-7 + 1e-3 * np.abs(b)):
        return None
    finite = b[np.isfinite(b)]
    extent = finite.max() - finite.min() if finite.size else 0
    if got.dtype == np.uint8:
        limit = max(limit, 1.5 / max(extent, 1.5))  # the next whole number
    if np.all(difference <= limit * extent):
        return None
    return f"{difference.max():.3g} apart in a range of {extent:.3g}"


class Comparison:
    def __init__(self, given, folder):
        self.given = given
        self.folder = pathlib.Path(folder)
        self.results = {}  # of runs whose outputs are inputs of others
        self.sessions = {}  # of models that make inputs
        self.note = ""  # about the latest comparison

    def inputs_of(self, session, given, rng):
        values = {}
        for port in session.get_inputs():
            make = given.get(port.name)
            if isinstance(make, result):
                values[port.name] = self.result_of(make)
            else:
                values[port.name] = make(rng) if make else rng.normal(size=port.shape).astype(F)
        return values

    def result_of(self, wanted):
        name, given = wanted.run
        if id(given) not in self.results:
            path = self.given.models / f"{name}.onnx"
            session = self.session(path, False)
            values = self.inputs_of(session, given, np.random.default_rng(100))
            names = [o.name for o in session.get_outputs()]
            self.results[id(given)] = dict(zip(names, session.run(None, values)))
        return self.results[id(given)][wanted.output]

    def session(self, path, fast):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = self.given.threads
        if not fast:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def shaken(self, path, values, seed):
        """ONNX Runtime's results with the last bits of all weights of type f32 changed at random."""
        model, rng = onnx.load(str(path)), np.random.default_rng(seed)
        for weight in model.graph.initializer:
            if weight.data_type == onnx.TensorProto.FLOAT:
                array = onnx.numpy_helper.to_array(weight)
                moved = array * (1 + rng.choice([-1, 0, 1], array.shape) * F(2 ** -23))
                weight.CopyFrom(onnx.numpy_helper.from_array(moved.astype(F), weight.name))
        place = self.folder / "shaken.onnx"
        onnx.save(model, str(place))
        return self.session(place, False).run(None, values)

    def kiln(self, path, values, names):
        command = [self.given.kiln, "run", path, "--device", self.given.device]
        for i, (name, value) in enumerate(values.items()):
            np.save(self.folder / f"in{i}.npy", value)
            command += ["--input", f"{name}={self.folder / f'in{i}.npy'}"]
        for i, name in enumerate(names):
            command += ["--output", f"{name}={self.folder / f'out{i}.npy'}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=self.given.limit,
                              env={**os.environ, "KN_THREADS": str(self.given.threads)})
        if done.returncode:
            lines = (done.stderr + done.stdout).strip().splitlines()
            raise ValueError(lines[-1] if lines else f"it ended with {done.returncode}")
        return [np.load(self.folder / f"out{i}.npy") for i in range(len(names))]

    def written(self, path, values, names):
        fixed = {n: v for n, v in values.items() if n in VALUES.get(path.stem, [])}
        return written_c.run(self.given, self.folder / "written", path, values, fixed, names, SIZED.get(path.stem, []))

    def reference(self, name, values):
        """ONNX Runtime's results of a model that makes inputs of others, or of one of their files, by their names."""
        if name not in self.sessions:
            path = self.given.models / f"{name}.onnx"
            self.sessions[name] = self.session(path if path.is_file() else self.given.models / "material" / f"{name}.onnx", False)
        names = [o.name for o in self.sessions[name].get_outputs()]
        return dict(zip(names, self.sessions[name].run(None, values)))

    def pieces(self, path, values):
        """What is wrong with the parts of a model that quantizes, each with ONNX Runtime's values; and how far they are apart."""
        pieces = quantized_pieces.Pieces(path, self.folder / "pieces")
        session = self.session(pieces.whole(), False)
        names = [o.name for o in session.get_outputs()]
        known = {**values, **dict(zip(names, session.run(None, values)))}
        run = self.kiln if self.given.way == 2 else self.written
        place, inputs, outputs = pieces.between(known)
        results = run(place, {n: known[n] for n in inputs}, outputs)
        wrong = [f"{n}: {w}" for n, r in zip(outputs, results) if (w := apart(r, known[n], 1e-3))]
        most = max(share_of_range(r, known[n]) for n, r in zip(outputs, results))
        results = run(pieces.steps(known), {n: known[n] for n in pieces.befores}, pieces.made)
        wrong += [f"{n}: {w}" for n, r in zip(pieces.made, results) if (w := quantized_pieces.wrong_step(r, known[n]))]
        other = sum(int((r != known[n]).sum()) for n, r in zip(pieces.made, results))
        return wrong, f"parts by themselves {most:.1g}, {other} bytes of {sum(r.size for r in results)}"

    def cases(self, name):
        """Inputs, each with what its results have to mean."""
        if self.given.meaningful:
            import meaningful  # its packages are needed for this alone
            yield from meaningful.CASES[name](meaningful.Material(self.reference, self.given.models / "material"))
            return
        session = self.session(self.given.models / f"{name}.onnx", False)
        for case, given in enumerate(INPUTS.get(name, [{}])):
            yield self.inputs_of(session, given, np.random.default_rng(case)), lambda results: None

    def model(self, name, values, means):
        """What is wrong; None: nothing."""
        self.note = ""
        path = self.given.models / f"{name}.onnx"
        session = self.session(path, False)
        names = [o.name for o in session.get_outputs()]
        values = {port.name: values[port.name] for port in session.get_inputs()}  # as a written function takes them
        expected = session.run(None, values)
        try:
            results = (self.kiln if self.given.way == 2 else self.written)(path, values, names)
        except (ValueError, OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        limit = 2e-2 if "int8" in name else 1e-3
        wrong = [f"{n}: {w}" for n, r, e in zip(names, results, expected) if (w := apart(r, e, limit))]
        if wrong and "int8" in name:
            others = [self.session(path, True).run(None, values)] + [self.shaken(path, values, seed) for seed in range(8)]
            limits = [max(limit, 1.5 * max(share_of_range(r[i], e) for r in others)) for i, e in enumerate(expected)]
            own = max(share_of_range(r, e) for r, e in zip(results, expected))
            wrong = [f"{n}: {w}" for n, r, e, m in zip(names, results, expected, limits) if (w := apart(r, e, m))]
            bad, parts = self.pieces(path, values)
            wrong += [f"part {w}" for w in bad[:4]]
            self.note = f"{own:.2g} of the range apart, ONNX Runtime {max(limits) / 1.5:.2g} from itself; {parts}"
        return "; ".join(wrong) or means(dict(zip(names, results)))


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kiln", type=pathlib.Path, default="build/release/kiln")
    arguments.add_argument("--models", type=pathlib.Path, default=fetch.FOLDER)
    arguments.add_argument("--way", type=int, choices=(1, 2, 3), default=2)
    arguments.add_argument("--cortex-m", action="store_true", help="way 3: also on an emulated board, mps2-an386")
    arguments.add_argument("--meaningful", action="store_true", help="inputs with a meaning, of what fetch_material.py fetches")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--limit", type=int, default=600, help="seconds for a model")
    arguments.add_argument("names", nargs="*", help="models of the table; none: all")
    given = arguments.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(given, folder)
        for row in fetch.models():
            name = row["name"]
            if given.names and name not in given.names:
                continue
            for case, (values, means) in enumerate(comparison.cases(name)):
                wrong = comparison.model(name, values, means)
                passed, failed = passed + (wrong is None), failed + (wrong is not None)
                note = wrong or comparison.note or getattr(given, "took", "")
                print(f"{'ok  ' if wrong is None else 'FAIL'} {name + ' ' + str(case):28}  {note}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
