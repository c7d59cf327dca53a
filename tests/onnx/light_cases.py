#!/usr/bin/env python3
"""Makes cases of ONNX's light models, whose folder has models and expected outputs but no inputs: those are what ONNX's own test runner
makes, the numbers 0 to 1 in steps that fill the declared shape, where a size that is left open is 1.

    tests/onnx/light_cases.py LIGHT_FOLDER CASES_FOLDER [--only NAME,...]

CASES_FOLDER gets light_NAME/model.onnx and light_NAME/test_data_set_0; it is a folder for `kiln run --test` and the scripts beside this
one."""
import argparse
import array
import pathlib
import shutil
import sys

from run_standalone import Port, values_of


def varint(number):
    data = bytearray()
    while number > 127:
        data.append(number & 127 | 128)
        number >>= 7
    data.append(number)
    return bytes(data)


def field(number, payload):
    """A field of ONNX's files: a whole number, or bytes with their length."""
    if isinstance(payload, int):
        return varint(number << 3) + varint(payload)
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def steps(dims):
    """A tensor of f32 with the numbers 0, 1/n ... (n - 1)/n."""
    count = 1
    for size in dims:
        count *= size
    values = array.array("f", (i / count for i in range(count)))
    if sys.byteorder == "big":
        values.byteswap()
    return b"".join(field(1, size) for size in dims) + field(2, 1) + field(9, values.tobytes())


def make_case(model, folder):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(model, folder / "model.onnx")
    graph = b"".join(values_of(model.read_bytes(), 7))
    weights = {b"".join(values_of(x, 8)) for x in values_of(graph, 5)}
    ports = [p for p in map(Port, values_of(graph, 11)) if p.name.encode() not in weights]
    for i, port in enumerate(ports):
        (data / f"input_{i}.pb").write_bytes(steps([1 if size is None else size for size in port.dims]))
    for i, expected in enumerate(sorted(model.parent.glob(f"{model.stem}_output_*.pb"))):
        shutil.copyfile(expected, data / f"output_{i}.pb")


def make_cases(light, folder, only=()):
    """Returns the number of cases."""
    models = [m for m in sorted(light.glob("*.onnx")) if not only or m.stem in only]
    for model in models:
        make_case(model, folder / model.stem)
    return len(models)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("light", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="", help="names of models, with commas between them")
    arguments = parser.parse_args()
    count = make_cases(arguments.light, arguments.folder, [name for name in arguments.only.split(",") if name])
    print(f"{count} cases")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
