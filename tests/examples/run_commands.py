#!/usr/bin/env python3
"""Runs the command line on small files and checks what it says: tests/examples/run_commands.py BUILD"""
import json
import os
import struct
import subprocess
import sys
import tempfile


def crc32c(data):
    """CRC-32C bit by bit, apart from the library's own."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def safetensors(checksums=True, spoil=False):
    """A file of one f32 tensor, with the checksums that docs/checksums.md describes."""
    def write(path):
        data = struct.pack("<3f", 1, 2, 3)
        own = f"{crc32c(data):08x}"
        whole = crc32c(b"".join(part.encode() + b"\0" for part in ["w", "F32", "3", own]))
        noted = f'"kiln.checksum":"crc32c {whole:08x} {own}"' if checksums else ""
        header = ('{"__metadata__":{%s},"w":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}' % noted).encode()
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + (data[:-1] + b"\xff" if spoil else data))
    return write


def array(folder, name, code, shape, *values):
    """A .npy file; code is that of struct and, with its bytes, of NumPy."""
    kind = {"f": "<f4", "d": "<f8", "q": "<i8"}[code]
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, "".join(f"{n}," for n in shape))
    header = header.ljust(117) + "\n"
    with open(os.path.join(folder, name), "wb") as file:
        file.write(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}{code}", *values))


ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
ROWS = ["f32", "n", 2]
UNREAD = ('"inputs": [{', '"inputs": [{"name": "u"}, {')  # an input that no op reads stands first
BOTH = ('"results": [2]}, "outputs": ["y"]', '"results": [2, 0]}, "outputs": ["y", "z"]')   # z is x
WEIGHT = ('"results": [2]}, "outputs": ["y"]', '"results": [2, 1]}, "outputs": ["y", "z"]')  # z is w, which has no rows


def program(change=None):
    """y = x * w as docs/program-format.md describes it, written without the library; inputs and labels beside it."""
    def write(path):
        it = {"version": 1, "sizes": [{"name": "n", "low": 1, "high": 8}],
              "inputs": [{"name": "x", "id": 0, "type": ROWS}], "params": [{"tensor": "w", "id": 1, "type": ["f32", 2]}],
              "constants": [], "ops": {"mul": 1}, "functions": [],
              "program": {"arguments": [], "types": [], "nodes": [{"op": "mul", "in": [0, 1], "out": [2], "types": [ROWS]}],
                          "results": [2]}, "outputs": ["y"]}
        if change:
            it = json.loads(json.dumps(it).replace(*change))
        header = json.dumps({"__metadata__": {"kiln.program": json.dumps(it)},
                             "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + struct.pack("<2f", 10, 100))
        folder = os.path.dirname(path)
        array(folder, "x.npy", "f", [3, 2], 1, 2, 3, 4, 50, 6)
        array(folder, "wide.npy", "d", [3, 2], 1, 2, 3, 4, 5, 6)
        array(folder, "four.npy", "f", [4, 2], *range(8))
        array(folder, "long.npy", "f", [9, 2], *range(18))
        array(folder, "labels.npy", "q", [3], 1, 1, 1)
    return write


def text(content):
    def write(path):
        with open(path, "wb") as file:
            file.write(content)
    return write


def onnx(last="Odd", *sizes):
    """y = Odd(Neg(x)), where nobody knows Odd; or another operator of ONNX's own. sizes: of x, n unless given."""
    def field(number, content):
        content = content if isinstance(content, bytes) else content.encode()
        return bytes([number << 3 | 2, len(content)]) + content

    def value(name):
        shape = b"".join(field(1, bytes([1 << 3, int(size)]) if size.isdigit() else field(2, size)) for size in sizes or ["n"])
        return field(1, name) + field(2, field(1, bytes([1 << 3, 1]) + field(2, shape)))

    graph = (field(1, field(1, "x") + field(2, "t") + field(4, "Neg")) +
             field(1, field(1, "t") + field(2, "y") + field(4, last) + (field(7, "nowhere") if last == "Odd" else b"")) +
             field(11, value("x")) + field(12, value("y")))
    def write(path):
        text(bytes([1 << 3, 8]) + field(7, graph) + field(8, bytes([2 << 3, 13])))(path)
        folder = os.path.dirname(path)
        array(folder, "flat.npy", "f", [2], -1.5, 2)
        array(folder, "wide.npy", "d", [2], -1.5, 2)
        array(folder, "square.npy", "f", [1, 2], -1.5, 2)
    return write


def sequence(takes):
    """A model that makes the sequence s of x twice, or one that takes s and gives it."""
    def field(number, content):
        content = content if isinstance(content, bytes) else content.encode()
        return bytes([number << 3 | 2, len(content)]) + content

    tensor = field(1, bytes([1 << 3, 1]) + field(2, field(1, bytes([1 << 3, 2]))))
    def value(name, kind):
        return field(1, name) + field(2, kind)

    many = field(4, field(1, tensor))
    node = (field(1, "s") + field(2, "t") + field(4, "Identity") if takes else
            field(1, "x") + field(1, "x") + field(2, "s") + field(4, "SequenceConstruct"))
    graph = field(1, node) + field(11, value("s", many) if takes else value("x", tensor)) + field(12, value("t" if takes else "s", many))
    return text(bytes([1 << 3, 8]) + field(7, graph) + field(8, bytes([2 << 3, 16])))


def strings(*sizes):
    """How many words each string of x has, of these sizes."""
    def field(number, content):
        content = content if isinstance(content, bytes) else content.encode()
        return bytes([number << 3 | 2, len(content)]) + content

    def value(name, kind):
        shape = b"".join(field(1, bytes([1 << 3, int(size)])) for size in sizes)
        return field(1, name) + field(2, field(1, bytes([1 << 3, kind]) + field(2, shape)))

    node = field(1, "x") + field(2, "t") + field(2, "y") + field(4, "StringSplit")
    graph = field(1, node) + field(11, value("x", 8)) + field(12, value("y", 7))
    def write(path):
        text(bytes([1 << 3, 8]) + field(7, graph) + field(8, bytes([2 << 3, 20])))(path)
        text(b"two w\xc3\xb6rds\r\none\n\n")(os.path.join(os.path.dirname(path), "words.txt"))
        array(os.path.dirname(path), "flat.npy", "f", [2], -1.5, 2)
    return write


# What is written to the file, its name, the arguments, the exit status, and what the output has and has not.
CASES = [
    (text(b"x,1\rz,2\r"), "old_mac.csv", "data {file}", 0, ["a CSV table: 1 samples", "i64 [2]", "2: x 1"], []),
    (text(b'a,"b,c"\nx,y\n'), "quoted.csv", "data {file}", 0, ["a CSV table: 1 samples", "2: a b,c"], []),
    (text(b'"x\ny",1\nz,2\n'), "two_lines.csv", "data {file}", 0, ["a CSV table: 1 samples", "i64 [2]"], []),
    (text(b"a,b\r\n3,4\r\n"), "numbers.csv", "data {file}", 0, ["a CSV table of numbers: 1 samples", "2: a b"], []),
    (text(b""), "none.safetensors", "inspect {file}", 1, ["kiln inspect: "], ["command_inspect.c"]),
    (text(b"\x08\0\0\0\0\0\0\0nonsense"), "bad.safetensors", "inspect --check {file}", 1, ["kiln inspect: "],
     ["command_inspect.c"]),
    (text(b""), "none.txt", "ops full conv", 0,
     ["full: y[i] = value", "shape          list of sizes", "value          real number", "operands   x weight [bias]",
      "stride         list of whole numbers"], ["softmax"]),
    (text(b""), "none.txt", "ops soft", 1, ["no op is called 'soft'; there are softplus, "], ["operands"]),
    (text(b""), "none.txt", "ops exp --matrix", 2, ["names of ops or options, not both"], []),
    (onnx(), "model.onnx", "inspect {file}", 0,
     ["model.onnx: ONNX\n", "operators of ai.onnx 13", "  x: float [n]\n", "  y: float [n]\n", "1  Neg", "1  nowhere.Odd",
      "0 multiply-accumulates (MACs) with n = 1 (not given)", "1 node cannot run:", "(nowhere.Odd): no such operator is known"], []),
    (onnx(), "model.onnx", "inspect {file} --dim n=3 --dump", 0,
     [" with n = 3\n", "nodes of the file:\n", "  t = Neg(x)\n", "nodes after the passes of loading:\n"], []),
    (onnx(), "model.onnx", "inspect {file} --program", 0, ["kiln import makes no program of it: ", "(nowhere.Odd): no such operator"], []),
    (onnx("Abs"), "model.onnx", "inspect {file} --program", 0, ["kiln import makes a program of it: 2 ops, "], []),
    (onnx(), "model.onnx", "inspect {file} --dump --no-simplify", 0, ["nodes of the file:\n"], ["after the passes"]),
    (onnx(), "model.onnx", "inspect {file} --dim m=3", 1, ["no input has a size called 'm'", "open are: n"], []),
    (onnx(), "model.onnx", "inspect {file} --dim n", 2, ["'n' is no size; write --dim NAME=8"], []),
    (onnx(), "model.onnx", "run {file}", 1,
     ["random inputs from seed 0", "sizes that are 1 unless --dim gives them: n", "(nowhere.Odd): no such operator"], []),
    (onnx("Abs"), "model.onnx", "run {file} --dim n=3", 0, ["random inputs from seed 0", "y: f32 [3] "], ["sizes that are 1"]),
    (onnx("Abs"), "model.onnx", "run {file} --dim x.0=3 --seed 5", 0, ["random inputs from seed 5", "y: f32 [3] "], []),
    (onnx("Abs"), "model.onnx", "run {file} --dim m=3", 1, ["no size called 'm'", "input x: tensor(float) [n]", "INPUT.AXIS"], []),
    (onnx("Abs"), "model.onnx", "run {file} --dump --no-simplify --dim n=2", 0, ["  t = Neg(x)\n  y = Abs(t)\n"], []),
    (onnx("Abs"), "model.onnx", "run {file} --input x={folder}/flat.npy", 0, ["y: f32 [2] 1.5 2\n"], ["random"]),
    (onnx("Abs"), "model.onnx", "run {file} --input x={folder}/wide.npy", 1, ["is f64, the input 'x' f32; --cast"], []),
    (onnx("Abs"), "model.onnx", "run {file} --input x={folder}/wide.npy --cast", 0, ["y: f32 [2] 1.5 2\n"], []),
    (onnx("Abs"), "model.onnx", "run {file} --input x={folder}/square.npy", 1,
     ["input 'x' is f32 [1, 2]; the model takes tensor(float) [n]"], []),
    (onnx("Abs"), "model.onnx", "run {file} --input z={folder}/flat.npy", 1, ["no input called 'z'", "input x: tensor(float) [n]"], []),
    (onnx("Abs"), "model.onnx", "run {file} --input x={folder}/nothing.npy", 1, ["nothing.npy"], []),
    (onnx("Abs"), "model.onnx", "run {file} --input x={folder}/nothing.png", 1, ["is a picture, and the input 'x' is tensor(float) [n]"], []),
    (onnx("Abs", "1", "1", "4", "6"), "model.onnx", "run {file} --input x={root}/examples/image_folder/images/circle/00.png", 0,
     ["y: f32 [1, 1, 4, 6] 0."], ["random"]),
    (onnx("Abs", "1", "4", "6", "3"), "model.onnx",
     "run {file} --input x={root}/examples/image_folder/images/circle/00.png --mean 1 --std 1,2,4", 0, ["y: f32 [1, 4, 6, 3] 0."], []),
    (onnx("Abs", "past + new", "new", "half / 2"), "model.onnx", "run {file} --dim past=2 --dim new=3", 0,
     ["y: f32 [5, 3, 1] ", "sizes that are 1 unless --dim gives them: half / 2\n"], []),
    (onnx("Abs", "past + new", "new", "past"), "model.onnx", "inspect {file} --dim past=2 --dim new=3", 0,
     ["MACs) with x.0 = 5, new = 3, past = 2\n"], []),
    (onnx("Abs"), "model.onnx", "run {file} --mean 1,2,3,4,5", 2, ["'1,2,3,4,5' makes no sense"], []),
    (onnx("Abs"), "model.onnx", "run {file} --dim n=2 --profile", 0, ["1 runs, ", " ms each", "Neg  1 nodes"], []),
    (sequence(False), "makes.onnx", "run {file} --input x={folder}/flat.npy --output s={folder}/s.pb", 0, [], ["s: "]),
    (sequence(True), "takes.onnx", "run {file} --input s={folder}/s.pb", 0, ["t: a sequence of 2", "  t[1]: f32 [2] -1.5 2\n"], []),
    (sequence(False), "makes.onnx", "run {file} --input x={folder}/flat.npy --output s={folder}/s.npy", 1,
     ["is no tensor: it can be written to a file .pb"], []),
    (onnx("Abs"), "model.onnx", "run --test {folder}/nowhere", 1, ["there is no case below these folders", "0 passed, 0 failed"], []),
    (onnx("Abs"), "model.onnx", "run {file} --output y.npy", 2, ["--output takes NAME=FILE, not 'y.npy'"], []),
    (onnx("Abs"), "model.onnx", "run {file} --dim n=x", 2, ["--dim takes NAME=N, not 'n=x'"], []),
    (onnx("Abs"), "model.onnx", "run {file} --output y={folder}/y.text", 1, ["y.text' cannot be written: a file is .npy, "], ["random"]),
    (onnx("Abs"), "model.onnx", "import {file} --dump --output y", 0, ["outputs "], []),
    (onnx("Abs"), "model.onnx", "import {file} --dump --output z", 1, ["no output called 'z'; it has y"], []),
    (onnx("Abs"), "model.onnx", "import {file} --dump --value x={folder}/nothing.npy", 1, ["kiln import: ", "nothing.npy"], ["kiln run"]),
    (strings("3"), "words.onnx", "run {file} --input x={folder}/words.txt", 0, ["y: i64 [3] 2 1 0\n"], []),
    (strings("2", "2"), "words.onnx", "run {file} --input x={folder}/words.txt", 1, ["words.txt has 3 lines", "[2, 2]"], []),
    (strings("3"), "words.onnx", "run {file} --input x={folder}/flat.npy", 1, ["takes strings: a file .txt with one to a line"], []),
    (onnx("Abs"), "model.onnx", "import {file} --dump --keep z", 1, ["no input called 'z'; it has x"], []),
    (text(b""), "none.txt", "run", 2, ["run needs a file: an ONNX model"], []),
    (text(b""), "none.txt", "ops --onnx", 0, ["ai.onnx ", "Conv ", "1+ ", "com.microsoft ", "ai.onnx.ml "], []),
    (text(b""), "none.txt", "ops --onnx --matrix", 2, ["--onnx goes with --markdown alone"], []),
    (text(b""), "none.txt", "inspect --help", 0, ["kiln inspect MODEL.onnx", "--dim NAME=N"], ["kiln run"]),
    (text(b""), "none.txt", "import --help", 0, ["--keep INPUT", "--standalone"], ["kiln run"]),
    (onnx(), "model.bin", "inspect {file}", 0, ["model.bin: ONNX\n"], []),
    (onnx(), "model.onnx", "inspect --check {file}", 2, ["--dim, --program, --dump and --no-simplify, not '--check'"], []),
    (text(b"nonsense"), "bad.onnx", "inspect {file}", 1, ["kiln inspect: ", "bad.onnx"], ["inspect_onnx.c"]),
    (safetensors(), "good.safetensors", "inspect {file}", 0, ["w", "f32", "[3]"], []),
    (safetensors(), "good.safetensors", "inspect --check {file}", 0, ["checksums: good (1 of 1"], []),
    (safetensors(spoil=True), "spoilt.safetensors", "inspect --check {file}", 1, ["checksum", "w"], ["good"]),
    (safetensors(checksums=False), "plain.safetensors", "inspect --check {file}", 0, ["the file has none"], []),
    (program(), "p.safetensors", "inspect {file}", 0,
     ["program: 1 ops", "1 params with 2 elements", "size n: 1 to 8", "input x: f32 [n, 2]", "output y: f32 [n, 2]"], ["kiln.program", "mul("]),
    (program(), "p.safetensors", "inspect --program {file}", 0, ["%2 = mul($x, @w) f32[n, 2]"], []),
    (safetensors(), "good.safetensors", "inspect --program {file}", 1, ["holds no program"], []),
    (program(("[0, 1]", "[0, 2]")), "p.safetensors", "inspect {file}", 1, ["damaged: value 2 (mul): operand 1"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/x.npy", 0, ["y: f32 [3, 2] 10 200 30 400 500 600"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/x.npy --device ref", 0, ["y: f32 [3, 2] 10 200 30 400 500 600"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/x.npy --batch 2 --device fusion(cpu)", 0,
     ["y: f32 [3, 2] 10 200 30 400 500 600"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/x.npy --labels y={folder}/labels.npy", 0,
     ["at the label in 3 of 3 rows, 100.00 %"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/x.npy --output y={folder}/y.npy", 0, [], ["y:"]),
    (program(), "p.safetensors", "run {file} --input x={folder}/y.npy", 0, ["y: f32 [3, 2] 100 20000 300"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/long.npy", 1, ["n may be 1 to 8"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/long.npy --batch 4", 0, ["y: f32 [9, 2]"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/wide.npy", 1, ["wide.npy is f64, the input 'x' f32; --cast"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/wide.npy --cast", 0, ["y: f32 [3, 2] 10 200"], []),
    (program(), "p.safetensors", "run {file}", 1, ["the input 'x' is missing", "input x: f32 [n, 2]"], []),
    (program(), "p.safetensors", "run {file} --input z={folder}/x.npy", 1, ["no input called 'z'", "input x: f32 [n, 2]"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/x.npy --output z={folder}/z.npy", 1, ["no output called 'z'"], []),
    (program(), "p.safetensors", "run {file} --input x={folder}/nothing.npy", 1, ["nothing.npy"], []),
    (program(), "p.safetensors", "run {file} --input x", 2, ["--input takes NAME=FILE, not 'x'"], []),
    (program(), "p.safetensors", "run {file} --batch 0", 2, ["--batch takes a number of rows, not '0'"], []),
    (program(UNREAD), "p.safetensors", "run {file} --input x={folder}/x.npy", 0, ["y: f32 [3, 2] 10 200 30 400 500 600"], []),
    (program(UNREAD), "p.safetensors", "run {file} --input x={folder}/x.npy --batch 2", 0, ["y: f32 [3, 2] 10 200 30 400 500 600"], []),
    (program(BOTH), "p.safetensors", "run {file} --input x={folder}/x.npy --output y={folder}/b.safetensors --output z={folder}/./b.safetensors",
     0, [], ["y:", "z:"]),
    (program(BOTH), "p.safetensors", "inspect {folder}/b.safetensors", 0, ["y ", "z ", "[3, 2]"], []),
    (program(BOTH), "p.safetensors", "run {file} --input x={folder}/x.npy --output y={folder}/b.npy --output z={folder}/b.npy", 1,
     ["b.npy", "one"], []),
    (program(BOTH), "p.safetensors", "run {file} --input x={folder}/x.npy --output y={folder}/b.npy --output y={folder}/c.npy", 1,
     ["--output y is given twice"], []),
    (program(WEIGHT), "p.safetensors", "run {file} --input x={folder}/x.npy --batch 2", 1,
     ["--batch cannot cut this program: output 'z' has no row for each row of the first input"], ["y:"]),
    (program(WEIGHT), "p.safetensors", "run {file} --input x={folder}/four.npy --batch 2", 1, ["cannot cut this program: output 'z'"], ["y:"]),
    (program(), "p.safetensors", "run --help", 0, ["kiln run FILE", "--labels NAME=FILE"], ["kiln inspect", "kiln bench"]),
    (program(), "p.safetensors", "inspect {file} --help", 0, ["kiln inspect FILE", "--top ENTRY"], ["kiln run", "mul("]),
    (program(), "p.safetensors", "help -h", 0, ["kiln help"], ["kiln run"]),
    (program(('"mul"', '"multiply"')), "p.safetensors", "run {file} --input x={folder}/x.npy", 1,
     ["no op is called 'multiply': it needs a later Kiln"], []),
    (safetensors(), "good.safetensors", "run {file}", 1, ["it holds no program"], ["command_run.c"]),
]


def run(kiln, folder, case):
    write, name, arguments, status, has, has_not = case
    path = os.path.join(folder, name)
    write(path)
    done = subprocess.run([kiln] + [a.replace("{file}", path).replace("{folder}", folder).replace("{root}", ROOT) for a in arguments.split()], capture_output=True, text=True,
                          timeout=120, check=False)
    output = done.stdout + done.stderr
    wrong = [f"exit status {done.returncode}, not {status}"] if done.returncode != status else []
    wrong += [f"no '{w}' in the output" for w in has if w not in output]
    wrong += [f"'{w}' in the output" for w in has_not if w in output]
    return wrong, output


def main():
    kiln = os.path.join(os.path.realpath(sys.argv[1]), "kiln")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="kiln-commands-") as folder:
        for case in CASES:
            wrong, output = run(kiln, folder, case)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            if wrong:
                print(f"FAILED: kiln {case[2]} of {case[1]}: {'; '.join(wrong)}\n{output}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
