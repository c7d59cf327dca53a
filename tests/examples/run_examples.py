#!/usr/bin/env python3
"""Runs each example briefly and checks what it says: tests/examples/run_examples.py BUILD [name ...]

Every program in examples/ has at least one row in CASES; a row is a command line and the facts that must hold afterwards."""
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
IDLE_SECONDS = 30  # what the longest example takes on an idle machine
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import run_limited  # noqa: E402

Case = namedtuple("Case", "name arguments facts status", defaults=(0,))


def number(pattern, low=float("-inf"), high=float("inf")):
    """The last number that the pattern finds in the output is between low and high."""
    def check(output, _folder):
        found = re.findall(pattern, output)
        if not found:
            return f"no '{pattern}' in the output"
        return None if low <= float(found[-1]) <= high else f"'{pattern}' found {found[-1]}, not {low} to {high}"
    return check


def says(pattern):
    return lambda output, _folder: None if re.search(pattern, output) else f"no '{pattern}' in the output"


def leaves(path):
    """The run wrote a file that is not empty."""
    def check(_output, folder):
        full = os.path.join(folder, path)
        return None if os.path.isfile(full) and os.path.getsize(full) > 0 else f"{path} is not there or empty"
    return check


def classifies(folder, batch):
    """`kiln run` classifies the test images with the saved program as well as the example says."""
    def check(output, out):
        at = os.path.join(out, folder)
        told = re.findall(r"test accuracy ([\d.]+) %", output)
        done = subprocess.run([os.path.join(os.path.realpath(sys.argv[1]), "kiln"), "run", at + "/program.safetensors", "--input",
                               f"images={at}/images.npy", "--batch", str(batch), "--labels", f"scores={at}/labels.npy"],
                              capture_output=True, text=True, timeout=300, check=False)
        found = re.findall(r"rows, ([\d.]+) %", done.stdout)
        return None if told and found == told[-1:] else f"kiln run says {done.stdout}{done.stderr}, the example {told}"
    return check


def weights_go_back(output, out):
    """PyTorch and ONNX take the weights where they are installed; the ONNX model with them gives the scores of the example."""
    del output
    done = subprocess.run([sys.executable, os.path.join(ROOT, "examples", "onnx_finetune", "check_weights.py"), out],
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        return done.stdout + done.stderr
    for line in done.stdout.splitlines():
        if "left out" in line:
            print(f"  skipped: {line.strip()}")
    if not os.path.exists(out + "/digits.onnx"):
        return None
    kiln = os.path.join(os.path.realpath(sys.argv[1]), "kiln")
    ran = subprocess.run([kiln, "run", out + "/digits.onnx", "--input", f"image={out}/images.npy", "--output", f"scores={out}/again.npy"],
                         capture_output=True, text=True, timeout=300, check=False)
    with open(out + "/again.npy", "rb") as again, open(out + "/scores.npy", "rb") as scores:
        same = again.read() == scores.read()
    return None if ran.returncode == 0 and same else f"kiln run gives other scores: {ran.stdout}{ran.stderr}"


# {out} is a fresh folder, the same for the rows of one example.
CASES = [
    Case("mnist", "--limit 3000 --epochs 2 --folder {out}/cnn --program",
         [number(r"test accuracy ([\d.]+) %", low=85), leaves("cnn/model.safetensors"), leaves("cnn/report.html"),
          says("█"), classifies("cnn", 500)]),
    Case("mnist", "--model mlp --limit 3000 --epochs 1 --folder {out}/mlp",
         [number(r"test accuracy ([\d.]+) %", low=75), leaves("mlp/model.safetensors")]),
    Case("mnist", "--model mlp --limit 3000 --epochs 2 --folder {out}/mlp --resume",
         [number(r"test accuracy ([\d.]+) %", low=75), says("goes on")]),
    Case("mnist", "--data {out}/nowhere --folder {out}/none", [says("nowhere")], 1),
    Case("mnist", "--epochs many", [says("usage")], 1),
    Case("mnist_inference", "", [number(r"(\d+) of 10000 right", low=9600)]),
    Case("mnist_cortex_m", "--folder {out} --digits {out}/test_digits.h --half {out}/half.safetensors",
         [leaves("digits.c"), leaves("test_digits.h"), leaves("half.safetensors")]),
    Case("mnist_cortex_m", "--weights {out}/nothing.safetensors", [says("nothing.safetensors")], 1),
    Case("custom_training_loop", "--epochs 80", [number(r"accuracy +([\d.]+) %", low=98), says("#####")]),
    Case("csv_regression", "--epochs 30", [number(r"explained variance ([\d.]+) %", low=95)]),
    Case("csv_regression", "--data {out}/nothing.csv", [says("nothing.csv")], 1),
    Case("image_folder", "--epochs 12 --folder {out}",
         [number(r"accuracy ([\d.]+) %", low=60), leaves("model.safetensors"), says(r"triangle/00.png: \w+")]),
    Case("custom_renderer", "", [says("the goal is reached"), says("epoch  1 =====")]),
    Case("custom_kernel", "cpu ref",
         [says(r"ref +picture: 0 points differ; softmax: \S+ apart at most; gradient: right"), says("#####")]),
    Case("op_define", "cpu fusion(cpu) ref",
         [says(r"cpu +\S+ apart from ops that exist; gradient: right"),
          says(r"ref +\S+ apart from ops that exist; gradient: right")]),
    Case("op_define", "cpu nowhere", [says("nowhere")], 1),
    Case("custom_kernel", "cpu nowhere", [says("nowhere")], 1),
    Case("programs", "", [says(r"7 steps: 0 apart"), number(r"weights: (\S+) apart", low=0, high=1e-5),
                         says(r"(?s)as traced.*batch_norm.*simplified(?!.*batch_norm)")]),
    Case("programs", "fusion(cpu)", [says(r"7 steps: 0 apart")]),
    Case("programs", "nowhere", [says("nowhere")], 1),
    Case("text_classification", "--epochs 4 --limit 1500 --folder {out}",
         [number(r"accuracy on new reviews ([\d.]+) %", low=45), says("% (bad|neutral|good) +the soup was good")]),
    Case("text_generation", "--epochs 1 --limit 1200 --length 100 --folder {out}",
         [number(r"held-out text ([\d.]+)", low=1, high=9), leaves("model.safetensors"), says(r"---- top-p 0.9\nOne morning")]),
    Case("text_generation", "--generate --length 150 --prompt After --folder {out}",
         [says(r"---- greedy\nAfter"), says(r"---- top-k 5\nAfter")]),
    Case("text_generation", "--generate --prompt 100$ --folder {out}", [says("does not occur in the text")], 1),
    Case("lstm", "--length 8 --epochs 12 --limit 1600 --folder {out}",
         [number(r"mean square error ([\d.]+)", high=0.05), says("sum .* answer")]),
    Case("wgan", "--epochs 1 --limit 25600 --folder {out}",
         [number(r"mean brightness ([\d.]+)", low=0.05, high=0.25), number(r"distance ([\d.]+)", low=0.5, high=20),
          leaves("digits.pgm")]),
    Case("wgan", "--epochs 2 --limit 25600 --resume --folder {out}", [says("goes on"), says("epoch 2/2")]),
    Case("import_pytorch", "--epochs 2 --limit 200 --folder {out}",
         [number(r"head: accuracy ([\d.]+) %", low=50), number(r"all: accuracy ([\d.]+) %", low=60),
          says("4 params came from the file"), says("unused: 'classifier.weight'"),
          number(r"head: .* conv1's weights ([-\d.]+)", low=4.18437, high=4.18438)]),
    Case("onnx_finetune", "--folder {out}",
         [number(r"before: accuracy ([\d.]+) %", high=50), number(r"after: accuracy ([\d.]+) %", low=75), leaves("net.safetensors"),
          says("loaded again: accuracy [0-9.]+ %, 0 apart"), weights_go_back]),
    Case("onnx_finetune", "--weights {out}/nothing.safetensors", [says("nothing.safetensors")], 1),
    Case("import_pytorch", "--weights {out}/nothing.pt", [says("nothing.pt")], 1),
]


def run(case, build, folder):
    program = os.path.join(os.path.realpath(build), "examples", case.name)
    arguments = [a.replace("{out}", folder) for a in case.arguments.split()]
    environment = {**os.environ, "KN_RENDERER": "plain"}
    with tempfile.TemporaryFile() as file:
        try:
            status, _, timed_out = run_limited.run([program] + arguments, IDLE_SECONDS, cwd=ROOT, env=environment,
                                                   stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        except OSError as error:
            return [str(error)], ""
        file.seek(0)
        output = file.read().decode("utf-8", "replace")
    wrong = ["timed out"] if timed_out else []
    if status != case.status:
        wrong.append(f"exit status {status}, not {case.status}")
    return wrong + [w for w in (fact(output, folder) for fact in case.facts) if w], output


def check_folders():
    """Every example has a page and a row here."""
    known = {case.name for case in CASES}
    for name in sorted(os.listdir(os.path.join(ROOT, "examples"))):
        folder = os.path.join(ROOT, "examples", name)
        if not os.path.isdir(folder) or not any(f.endswith(".c") for f in os.listdir(folder)):
            continue
        yield f"{name} has a README.md", os.path.isfile(os.path.join(folder, "README.md"))
        yield f"{name} is run by {os.path.basename(__file__)}", name in known


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, only = sys.argv[1], sys.argv[2:]
    passed = failed = 0
    for fact, holds in [] if only else check_folders():
        passed, failed = passed + holds, failed + (not holds)
        if not holds:
            print(f"FAILED: {fact}")
    folders = {}
    for case in CASES:
        if only and case.name not in only:
            continue
        if case.name not in folders:
            folders[case.name] = tempfile.TemporaryDirectory(prefix="kiln-example-")
        begin = time.time()
        wrong, output = run(case, build, folders[case.name].name)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print(f"{'FAILED' if wrong else 'ok'}: {case.name} {case.arguments} ({time.time() - begin:.1f} s)", flush=True)
        for line in wrong:
            print(f"    {line}")
        if wrong:
            print("    the end of the output:\n" + "\n".join("    | " + line for line in output.splitlines()[-15:]))
    for folder in folders.values():
        folder.cleanup()
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
