"""Every public function that can fail notes the user's line. Objects are handles, and tests/unit/test_objects*.c call all
functions that take one with handles that are no good."""

import importlib.util
import os
import re

import tree

# Devices have rules and tests of their own (test_device_handles.c, see below); kn_op_handle lives as long as the process.
ELSEWHERE = {"kn_device", "kn_op_handle"}


def _generator():
    spec = importlib.util.spec_from_file_location("sites", os.path.join(tree.ROOT, "tools/gen/sites.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _given(parameters, objects):
    """Whether a handle is among what is given: by value or as a list, not as a place for a new one."""
    types = "|".join(re.escape(name.rstrip(" *")) for name in objects - ELSEWHERE)
    return re.search(r"\b(?:%s)\b(?!\s*\*)|const (?:%s) \*|\bkn_kernel \*" % (types, types), parameters) is not None


def _macros():
    """The functions that have a macro which notes the line."""
    found = set()
    for name in tree.files_in(("include",), ("sites.h",)):
        found |= set(re.findall(r"^#define (kn_\w+)\(", tree.read(name), re.M))
    return found


def _untried(names, where="unit/test_objects"):
    texts = [tree.read(name) for name in tree.files_in(("tests",), (".c",)) if where in name]
    tried = set(re.findall(r"\bkn_\w+", "\n".join(texts)))
    return [name for name in sorted(names) if name not in tried]


def _self_test(sites, objects):
    """A function that is in no table must be seen."""
    sample = "KN_API int64_t kn_sample_of_the_check(kn_store store);"
    names = {f[2] for f in sites.functions_of(sample) if _given(f[3], objects)}
    if not _untried(names) or not names - _macros():
        yield "a new function with a handle is not seen"


def check(_build):
    sites = _generator()
    before = os.getcwd()
    os.chdir(tree.ROOT)
    try:
        objects = sites.object_types()
        functions = [f for name in sites.all_headers() for f in sites.functions_of(sites.read("include/" + name))]
    finally:
        os.chdir(before)
    macros = _macros()
    every = {f[2] for f in functions}
    exempt = {name for name in every if sites.is_exempt(name)}
    yield "public functions note the user's line", sorted(
        "%s has no macro: run tools/gen/sites.py, or name it there as one that cannot fail" % name
        for name in every - macros - exempt)
    mine = {f[2] for f in functions if _given(f[3], objects)}
    yield "functions with handles are tried with bad ones", [
        "%s is not in tests/unit/test_objects*.c" % name for name in _untried(mine)]
    devices = {f[2] for f in functions if re.search(r"\bkn_device\b(?!\s*\*)", f[3])}
    yield "functions with a device are tried with closed ones", [
        "%s is not in tests/unit/test_device_handles.c" % name
        for name in _untried(devices, "unit/test_device_handles")]
    yield "the check of objects sees new functions", list(_self_test(sites, objects))
