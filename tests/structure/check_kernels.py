"""Every kernel text keeps to the grammar of docs/kernel-language.md, and the recogniser refuses what the page forbids."""

import re

import kernel_grammar
import tree

_PAGE = "docs/kernel-language.md"
_KERNEL = "kernel k(index item, in T x[], out T y[], index n)\n{\n    %s\n}\n"

# Statements that C takes after the prelude but the language does not, with where the fault is noticed.
_REFUSED = [
    ("y[item] = x[item]++;", "3:22"),
    ("y[item] = (n = 2);", "3:18"),
    ("T *p;", "3:7"),
    ("y[item] = x[item], n++;", "3:22"),
    ("double d = 1;", "3:5"),
    ("y[item] = (int)x[item];", "3:16"),
    ("goto end;", "3:5"),
    ("switch (n) { }", "3:5"),
    ("do { n--; } while (n);", "3:5"),
    ("for (; n > 0;) n--;", "3:18"),
    ("for (;;) n--;", "3:11"),
    ("T t[n];", "3:9"),
    ("y[item] = missing;", "3:15"),
    ("y[item] = k(item);", "3:15"),
    ("return n;", "3:12"),
    ("break;", "3:5"),
    ("y[item] = pow(x[item]);", "3:26"),
    ("y[item] = 0x10;", "3:15"),
    ("y[item] = 'a';", "3:15"),
    ("y[item] = x[item]", "4:1"),
    ("n = n ? : 1;", "3:13"),
    ("index n2 = 1, n2 = 2;", "3:19"),
    ("f32 v = 1;", "3:5"),
    ("y[item] = max(x[item], n);", "3:15"),
]
# The same for the whole language, which users' kernels may use.
_REFUSED_WHOLE = [
    ("f16 v = 1;", "3:5"),
    ("y[item] = (f16)x[item];", "3:16"),
    ("shared T a[n];", "3:16"),
    ("tile middle f16 a;", "3:10"),
    ("atomic_add(n + 1, 0, 1);", "3:18"),
    ("barrier(1);", "3:13"),
    ("y[item] = max(x[item]);", "3:26"),
]
_REFUSED_FILES = [
    ("static int total;\n", "1:1"),
    ("kernel k(in T x[])\n{\n}\n", "1:10"),
    ("kernel k(index item, out T y[], in T x[])\n{\n}\n", "1:40"),
    ("function T f(T x[])\n{\n    return x[0];\n}\n", "1:17"),
    ("function T f(T x)\n{\n    return f(x);\n}\n", "3:12"),
    ("kernel k(index item, uniform index n[])\n{\n}\n", "1:38"),
    ("#include <stdio.h>\n", "1:1"),
]


def _fault(text, whole=False):
    try:
        kernel_grammar.parse(text, whole)
    except kernel_grammar.Fault as fault:
        return str(fault)
    return ""


def _unexpected(text, place, whole=False):
    fault = _fault(text, whole)
    if fault.startswith(place + ":"):
        return []
    return ["expected a fault at %s, found %s, in: %s" % (place, fault or "none", text.strip())]


_FUNCTION = re.compile(r"^(?:static )?\w[\w *]*?\b(\w+)\([^;{]*\)\s*\{", re.M)


def _dtypes_by_kernel():
    """The dtypes of the rows behind each kernel, None where its launch is nobody's."""
    uses = {}
    for name in tree.all_files():
        launches = {}
        text = tree.read(name) if re.match(r"src/ops/\w+\.c$", name) else ""
        for row in re.findall(r"^OP\(.*?\)$", text, re.M | re.S):
            launch, dtypes = re.search(r"\.launch = (\w+)", row), re.search(r"\.dtypes = ([^,)]*)", row)
            if launch:
                launches.setdefault(launch[1], set()).add(dtypes[1].strip() if dtypes else None)
        for use in re.finditer(r"&kni_kernel_(\w+)", text):
            inside = _FUNCTION.findall(text[:use.start()])
            uses.setdefault(use[1], set()).update(launches.get(inside[-1] if inside else "", {None}))
    return uses


def _float_kernels(names):
    """Kernels of rows that take floats alone say so, and tools/gen/kernels.py makes no instances of integers."""
    problems, dtypes = [], _dtypes_by_kernel()
    for name in names:
        text = tree.read(name)
        for kernel in re.finditer(r"^kernel\s+(\w+)\s*\(([^)]*)\)", text, re.M):
            marked = text[:kernel.start()].endswith("T is a float. */\n")
            floats = dtypes.get(kernel[1]) == {"KNI_FLOATS"}
            if re.search(r"\b(in|out|temp) T\b", kernel[2]) and marked != floats:
                problems.append("%s: %s %s" % (name, kernel[1], "is a kernel of floats alone: end its comment with 'T is a float.'"
                                               if floats else "says that T is a float, and a row takes others"))
    return problems


def check(_build):
    names = [n for n in tree.all_files() if n.startswith("src/ops/kernels/") and n.endswith(".kn")]
    yield "there are kernel texts", [] if names else ["src/ops/kernels holds no *.kn"]
    for name in names:
        fault = _fault(tree.read(name))
        yield "%s keeps to the grammar" % name, ["%s:%s" % (name, fault)] if fault else []
    yield "kernels of floats alone say so", _float_kernels(names)
    page = tree.read(_PAGE)
    examples = re.findall(r"^```c\n(.*?)^```", page, re.M | re.S)
    kernels = [e for e in examples if re.match(r"\s*(/\*.*?\*/\s*)?(kernel|function)\b", e, re.S)]
    problems = ["%s: %s" % (_PAGE, f) for f in (_fault(k, True) for k in kernels) if f]
    yield "the page's own kernels keep to the grammar", problems if examples else ["no example found"]
    words = set(kernel_grammar.CALLS) | kernel_grammar.CONSTANTS | set(kernel_grammar.MORE_CALLS)
    yield "the page names every word", ["not on the page: " + w for w in sorted(words) if not re.search(r"\b%s\b" % w, page)]
    problems = []
    for statement, place in _REFUSED:
        problems += _unexpected(_KERNEL % statement, place)
    for statement, place in _REFUSED_WHOLE:
        problems += _unexpected(_KERNEL % statement, place, True)
    for text, place in _REFUSED_FILES:
        problems += _unexpected(text, place)
    yield "what the language forbids is refused, at its place", problems
