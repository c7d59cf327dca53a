#!/usr/bin/env python3
"""Exports many small graphs with random weights by both of PyTorch's exporters, in ONNX's test layout: every layer of torch.nn, functions
of tensors one by one, loops and branches, and families of torchvision, timm and transformers.

    tests/models/make_strangers.py FOLDER [--families layers,functions,vision,timm,transformers] [--filter TEXT,...] [--kinds ts,dyn]
    kiln run --test FOLDER

Needs PyPI's torch, torchvision, timm, transformers, onnx, onnxscript and onnxruntime. What a version of these cannot export is printed
and left out. No part of `make test`."""

import argparse
import importlib
import pathlib
import sys
import warnings

FAMILIES = ("layers", "functions", "vision", "timm", "transformers")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "strangers"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--filter", default="", help="only cases with one of these in their names")
    parser.add_argument("--kinds", default="ts,dyn", help="ts: the exporter that traces, dyn: the one that runs torch.export")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    import stranger_export as exporter

    exporter.torch.set_num_threads(1)
    exporter.onnxruntime.set_default_logger_severity(4)
    for family in args.families.split(","):
        importlib.import_module("stranger_" + family)
    written = left_out = 0
    for c in exporter.CASES:
        if not any(text in c["name"] for text in args.filter.split(",")):
            continue
        for dtype in c["dtypes"]:
            key, todo = c["name"] + dtype, []
            if "ts" in args.kinds:
                todo += [("ts", max(o, c["least"])) for o in exporter.picked(exporter.SCRIPT_OPSETS, c["ts"], key)]
            if "dyn" in args.kinds and not c["script"] and not c["train"]:
                todo += [("dyn", o) for o in exporter.picked(exporter.DYNAMO_OPSETS, c["dynamo"], key)]
            for kind, opset in dict.fromkeys(todo):
                name, problem = exporter.export(c, kind, opset, dtype, args.folder)
                written, left_out = written + (not problem), left_out + bool(problem)
                if problem:
                    print(f"left out {name}: {problem}", flush=True)
    print(f"{written} written, {left_out} left out")


if __name__ == "__main__":
    main()
