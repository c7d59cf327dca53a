#!/usr/bin/env python3
"""Writes many small models of other origins than PyTorch in ONNX's test layout: scikit-learn, boosted trees, Keras, Paddle, what ONNX
Runtime's own tools make of graphs, and onnxscript.

    tests/models/make_others.py FOLDER [--families sklearn,boosting,keras,paddle,runtime,script] [--filter TEXT,...]
    kiln run --test FOLDER

Needs PyPI's onnx and onnxruntime, and for each family the packages its file imports; these do not all go into one environment. What a
version of them cannot write is printed and left out. No part of `make test`."""

import argparse
import importlib
import os
import pathlib
import sys
import warnings

FAMILIES = ("sklearn", "boosting", "keras", "paddle", "runtime", "script")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "others"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--filter", default="", help="only cases with one of these in their names")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import other_export as exporter

    exporter.onnxruntime.set_default_logger_severity(4)
    written = left_out = 0
    for family in args.families.split(","):
        try:
            importlib.import_module("other_" + family)
        except ImportError as error:
            print(f"left out {family}: {error}", flush=True)
    for c in exporter.CASES:
        if any(text in c["name"] for text in args.filter.split(",")):
            problem = exporter.write(c, args.folder)
            written, left_out = written + (not problem), left_out + bool(problem)
            if problem:
                print(f"left out {c['name']}: {problem}", flush=True)
    print(f"{written} written, {left_out} left out")


if __name__ == "__main__":
    main()
