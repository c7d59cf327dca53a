"""Facts of dtypes are asked of the dtype table (src/core/dtype.h): no comparison with halves, bool and the dtypes that are only
stored, and no bytes computed from bits, anywhere else in src."""

import re

import tree

_NAMES = r"KN_(?:F16|BF16|BOOL|F8_E4M3(?:_FNUZ)?|F8_E5M2(?:_FNUZ)?|F4_E2M1|E8M0|[IU][24])\b"
_COMPARED = re.compile(r"[=!]=\s*(?:\([\w\s]+\)\s*)?%s|%s\s*[=!]=|\bcase\s+%s" % (_NAMES, _NAMES, _NAMES))
_BYTES = re.compile(r"\bbits\s*(?:/\s*8|>>\s*3)\b")
_TABLE = ("src/core/dtype.c", "src/core/dtype.h")
# Switches over all dtypes, which are tables themselves, and bits that are none of a dtype.
_ALLOWED = {
    "src/core/convert_compact.c": "the conversion of each dtype, in a switch to be small",
    "src/ir/verify_types.c": "what a constant of each dtype may be",
    "src/onnx/pass/onnx_quantized.c": "the bits of a packed weight, as its operator says",
    "src/data/wav.c": "the bits of a sample of sound, as its file has them",
}

_FOUND = ["if (x == KN_F16)", "return dtype != KN_BF16;", "KN_BOOL == d", "case KN_I4:", "d == (kn_dtype)KN_F8_E4M3_FNUZ",
          "d==KN_U2"]
_LEFT = ["d == KN_F32", "x = KN_BOOL;", "{KN_F16, 2}", "d == KN_I64", "d <= KN_U2", "KNI_BIT(KN_BOOL)"]


def _problems():
    for name in tree.files_in(("src",), (".c", ".h", ".inc")):
        if name in _TABLE or name in _ALLOWED or "/generated/" in name:
            continue
        text = tree.bare_c(tree.read(name))
        for pattern, advice in ((_COMPARED, "ask kni_is_half, kni_is_bool, kni_dtype_stored or the table"),
                                (_BYTES, "ask kni_bytes_of")):
            for match in pattern.finditer(text):
                yield "%s:%d: %s: %s" % (name, tree.line_of(text, match.start()), match.group(0).strip(), advice)


def _stale():
    for name in _ALLOWED:
        text = tree.bare_c(tree.read(name)) if tree.exists(name) else ""
        if not _COMPARED.search(text) and not _BYTES.search(text):
            yield "%s needs no exception any more" % name


def check(_build):
    yield "facts of dtypes are asked of their table", list(_problems())
    yield "exceptions from that are needed", list(_stale())
    missed = [t for t in _FOUND if not _COMPARED.search(t)] + [t for t in _LEFT if _COMPARED.search(t)]
    missed += [t for t in ("bits / 8", "t->bits/8", "row.bits >> 3") if not _BYTES.search(t)]
    missed += [t for t in ("bits >> 31", "8 / bits") if _BYTES.search(t)]
    yield "the check of dtypes finds what it must", missed
