"""Runs ONNX's own test cases three ways: at run time (kiln run --test), and samples of them as C against the library and as freestanding
C. The data is in the folder KN_ONNX_DATA, in ../shared/onnx as archives (and the zoo of ../shared/zoo), or comes from the wheel onnx of PyPI.
Usage: run_cases.py BUILD_FOLDER [--sample PERCENT]"""
import argparse
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from light_cases import make_cases

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import fetch_package  # noqa: E402

SETS = ("node", "simple", "pytorch-converted", "pytorch-operator", "light", "zoo")
WHEEL = ("onnx==1.22.0", "1d0a2bdb15eb2b3cb65c438f3423d9620d14fdce32f92380e6bb1b2e09568ef5")
IN_WHEEL = "onnx/backend/test/data/"
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)


def unpack_archives(base, root):
    for name in SETS:
        for archive in (base / "onnx" / f"{name}.tar.xz", base / name / f"{name}.tar.xz", base / f"{name}.tar.xz"):
            if archive.is_file() and not (root / name).is_dir():
                with tarfile.open(archive) as file:
                    folder = root if file.getnames()[0].split("/")[0] == name else root / name
                    file.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def unpack_wheel(root):
    path = fetch_package.wheel(*WHEEL, str(root / "onnx.whl"))
    with zipfile.ZipFile(path) as wheel:
        for member in wheel.infolist():
            inside = member.filename[len(IN_WHEEL):]
            if member.filename.startswith(IN_WHEEL) and inside.split("/")[0] in SETS and not member.is_dir():
                member.filename = inside
                wheel.extract(member, root)


def data_folders(root):
    """The folders of the sets; archives are unpacked below the build folder. The zoo is in no package and may be absent."""
    given = os.environ.get("KN_ONNX_DATA")
    base = Path(given) if given else HERE.parents[2] / "shared"
    unpack_archives(base, root)
    if not (root / "node").is_dir() and not (base / "node").is_dir():
        unpack_wheel(root)
    found = [next((folder for folder in (root / name, base / name) if folder.is_dir()), None) for name in SETS]
    return [with_inputs(folder, root) if folder.name == "light" else folder for folder in found if folder]


def with_inputs(light, root):
    """The light models have no inputs beside them."""
    folder = root / "light-cases"
    make_cases(light, folder)
    return folder


def known_failures(name="known_failures.txt"):
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return {line.split("|")[0].strip() for line in lines if line and not line.startswith("#")}


def operators_without_converter(build):
    """Operators of the standard that nothing converts; None where their list is not there."""
    given = os.environ.get("KN_ONNX_DATA")
    base = Path(given) if given else HERE.parents[2] / "shared"
    lists = [path for path in (base / "onnx" / "operators.tsv", base / "operators.tsv") if path.is_file()]
    if not lists:
        return None
    text = subprocess.run([f"{build}/kiln", "ops", "--onnx"], stdout=subprocess.PIPE, text=True, check=True).stdout
    known = {}
    for line in text.splitlines():
        domain, op, versions = line.split()[:3]
        if domain != "com.microsoft":
            known.setdefault(op, []).append(int(re.match(r"\d+", versions)[0]))
    missing = []
    for line in lists[0].read_text(encoding="utf-8").splitlines():
        op, versions = line.split("\t")[1:3]
        oldest = min(map(int, versions.split(",")))
        if op not in known or min(known[op]) > oldest:
            missing.append(f"{op} {oldest}")
    return missing


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    match = CLOSING.findall(done.stdout)
    return done.stdout, (int(match[-1][0]), int(match[-1][1])) if match else (0, 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--sample", default="2")
    options = parser.parse_args()
    root = Path(os.environ.get("KN_BUILD_ROOT", "build")) / "onnx"
    root.mkdir(parents=True, exist_ok=True)
    folders = data_folders(root)
    passed = failed = 0
    missing = operators_without_converter(options.build)
    if missing is not None:
        print("operators of the standard that nothing converts:", ", ".join(missing) or "none")
        passed, failed = passed + (not missing), failed + bool(missing)
    known = known_failures()
    for device in ("cpu", "fusion(cpu)"):
        text, (good, _) = run([f"{options.build}/kiln", "run", "--test", *map(str, folders), "--device", device, "--jobs", "1"])
        lost = set(re.findall(r"^FAIL (\S+?):", text, re.M))
        for name in sorted(lost - known):
            print(f"FAIL {device}: {name}")
        for name in sorted(known - lost):
            print(f"FAIL {device}: {name} passes; take it out of known_failures.txt")
        print(f"at run time on {device}: {good} passed, {len(lost & known)} known failures")
        passed += good
        failed += len(lost - known) + len(known - lost) + (0 if good else 1)
    for script, list_of_failures in (("run_imported.py", "known_failures_imported.txt"),
                                     ("run_standalone.py", "known_failures_standalone.txt")):
        text, (good, bad) = run([sys.executable, "-B", str(HERE / script), "--build", options.build, "--sample", options.sample,
                                 "--seed", "1", "--jobs", "1", str(folders[0])])
        print(f"{script}, {options.sample} per cent: {good} passed, {bad} not")
        lost = set(re.findall(r"^    (test_\S+)$", text, re.M)) - known_failures(list_of_failures)
        for name in sorted(lost):
            print(f"FAIL {script}: {name} is not in {list_of_failures}")
        if lost or not good:
            print(text[-4000:])
        passed += good
        failed += len(lost) + (0 if good else 1)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
