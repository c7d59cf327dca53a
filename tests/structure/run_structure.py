"""Runs the structure checks and prints 'N passed, N failed'.
Usage: python3 tests/structure/run_structure.py [--build FOLDER] [--only TEXT]"""

import argparse
import importlib
import os
import sys

sys.dont_write_bytecode = True
CHECKS = ["check_layers", "check_headers", "check_defaults", "check_sizes", "check_forbidden", "check_symbols", "check_links",
          "check_scripts", "check_limits", "check_documents", "check_ops_page", "check_onnx_page", "check_parity", "check_kernels", "check_objects",
          "check_op_uses", "check_dtypes"]
SHOWN = 40


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build/release", help="folder of the build to look at")
    parser.add_argument("--only", default="", help="run the checks whose module name contains this text")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    passed = failed = 0
    for module in [c for c in CHECKS if options.only in c]:
        for name, problems in importlib.import_module(module).check(build):
            if not problems:
                passed += 1
                print("  ok    " + name)
                continue
            failed += 1
            print("  FAIL  " + name)
            for problem in problems[:SHOWN]:
                print("        " + problem.replace("\n", "\n        "))
            if len(problems) > SHOWN:
                print("        and %d more" % (len(problems) - SHOWN))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
