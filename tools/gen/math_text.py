#!/usr/bin/env python3
"""Writes src/ir/generated/math_text.c: Kiln's math functions, words and casts as texts that kernels for every device
are printed with. The texts are those of our own headers, with their macros expanded; what a language has no common way
to say (a bit cast, a table, the value of a struct) becomes a name that src/ir/prelude.c defines for each dialect.
Run from the repository root; the output is committed."""
import pathlib
import re
import sys

SOURCES = ["core/math/soft.h", "core/cast.h", "core/math/fused.h", "core/math/single.h", "ops/scalar_words.h"]
TARGET = pathlib.Path("src/ir/generated/math_text.c")
MAX_ITEMS = 1024  # KNI_IR_MAX_ITEMS of src/ir/prelude_table.h
# Arrays of doubles are no business of a kernel.
SKIPPED = {"core/math/trig_arrays.h"}
# What the dialects say each in its own way: the basics of src/ir/prelude.c hold these functions.
BASICS = {"kni_bits_f32", "kni_bits_f64", "kni_from_bits_f32", "kni_from_bits_f64"}
PREDEFINED = {
    "KNI_HAS_SQRT_F64": "1",
    "KNI_HAS_SQRT_F32": "1",
    "INT64_MIN": "(-0x7fffffffffffffff - 1)",
    "INT64_MAX": "0x7fffffffffffffff",
    "UINT64_MAX": "0xffffffffffffffffu",
}
SPELLINGS = [
    (r"__builtin_inf\(\)", "KNI_INF_F64"),
    (r"__builtin_inff\(\)", "KNI_INF_F32"),
    (r'__builtin_nan\(""\)', "KNI_NAN_F64"),
    (r'__builtin_nanf\(""\)', "KNI_NAN_F32"),
    (r"__builtin_sqrt\b", "KNI_SQRT_F64"),
    (r"__builtin_sqrtf\b", "KNI_SQRT_F32"),
    (r"__builtin_clzll\b", "KNI_LEADING_ZEROS"),
    (r"\((kni_\w+)\)\{", r"KNI_MAKE(\1){"),
    # Types and words of OpenCL C and C++ that are names in our headers.
    (r"\b(half|kernel|global|local|constant|private|template|this|new|class|near|far)\b", r"\1_"),
]
# Items with functions of arrays, and what only targets without a square root need.
LEFT_OUT = re.compile(r"_soft_f(32|64)$")

_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_TOKEN = re.compile(r'\s+|\w[\w.]*(?:(?<=[eEpP])[+-][\w.]*)?|##|"[^"]*"|.', re.S)
_NAME = re.compile(r"[A-Za-z_]\w*$")
_WORD = re.compile(r"\bkni_\w+")


def tokens_of(text):
    return _TOKEN.findall(text)


class Preprocessor:
    """As much of C's as our headers use. Comments go, the rest of the text keeps its lines."""

    def __init__(self):
        self.macros = {name: (None, tokens_of(value)) for name, value in PREDEFINED.items()}
        self.output = []

    def include(self, name):
        if name in SKIPPED:
            return
        text = _COMMENT.sub("", pathlib.Path("src", name).read_text(encoding="utf-8")).replace("\\\n", " ")
        active, plain = [True], []
        for line in text.split("\n") + ["#end"]:
            directive = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
            if not directive:
                if all(active):
                    plain.append(line)
                continue
            self.output.append("".join(self.expand(tokens_of("\n".join(plain) + "\n"), frozenset())))
            plain = []
            self.obey(directive.group(1), directive.group(2).strip(), active)

    def obey(self, word, rest, active):
        if word in ("if", "ifdef", "ifndef"):
            active.append(all(active) and self.holds(word, rest))
        elif word == "else":
            active[-1] = all(active[:-1]) and not active[-1]
        elif word == "endif":
            active.pop()
        elif not all(active) or word in ("pragma", "end") or rest == "NONE 0":
            return
        elif word == "define":
            name, parameters, body = re.match(r"(\w+)(\([^)]*\))?\s*(.*)", rest).groups()
            names = None if parameters is None else [p.strip() for p in parameters[1:-1].split(",")]
            self.macros[name] = (names, tokens_of(body.strip()))
        elif word == "undef":
            self.macros.pop(rest, None)
        elif word == "include":
            if rest[0] == '"':
                self.include(rest.strip('"'))
        else:
            sys.exit("math_text: cannot read #%s %s" % (word, rest))

    def holds(self, word, rest):
        if word != "if":
            return (rest in self.macros) == (word == "ifdef")
        text = re.sub(r"defined\s*\(\s*(\w+)\s*\)", lambda m: str(int(m.group(1) in self.macros)), rest)
        text = re.sub(r"\b[A-Za-z_]\w*", "0", text)
        text = text.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
        return bool(eval(text, {"__builtins__": {}}))

    def expand(self, tokens, hidden):
        result, at = [], 0
        while at < len(tokens):
            token = tokens[at]
            at += 1
            macro = None if token in hidden else self.macros.get(token)
            if macro is None:
                result.append(token)
                continue
            names, body = macro
            if names is None:
                result += self.expand(body, hidden | {token})
                continue
            end, arguments = arguments_at(tokens, at)
            if arguments is None:
                result.append(token)
                continue
            at = end
            if len(arguments) != len(names):
                sys.exit("math_text: %s takes %d arguments" % (token, len(names)))
            filled = self.fill(body, dict(zip(names, arguments)), hidden)
            result += self.expand(filled, hidden | {token})
        return result

    def fill(self, body, values, hidden):
        """A macro's body with its arguments, expanded where they do not stand beside ##, and the ## done."""
        filled, pasting = [], False
        for i, token in enumerate(body):
            if token == "##":
                while filled and filled[-1].isspace():
                    filled.pop()
                pasting = True
                continue
            if pasting and token.isspace():
                continue
            beside = pasting or next((t for t in body[i + 1 :] if not t.isspace()), "") == "##"
            piece = [token]
            if token in values:
                piece = values[token] if beside else self.expand(values[token], hidden)
            if pasting and filled and piece:
                piece = tokens_of(filled.pop() + piece[0]) + piece[1:]
            filled += piece
            pasting = False
        return filled


def arguments_at(tokens, at):
    """Where the call that begins at or after `at` ends, and its arguments as tokens; None where there is no call."""
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    if at == len(tokens) or tokens[at] != "(":
        return at, None
    depth, arguments = 0, [[]]
    for i in range(at, len(tokens)):
        token = tokens[i]
        depth += (token == "(") - (token == ")")
        if depth == 0:
            return i + 1, [strip(a) for a in arguments]
        if depth == 1 and token == ",":
            arguments.append([])
        elif depth > 1 or token != "(":
            arguments[-1].append(token)
    sys.exit("math_text: a call without an end: " + "".join(tokens[at : at + 40]))


def strip(tokens):
    text = "".join(tokens).strip()
    return tokens_of(re.sub(r"\s+", " ", text))


def items_of(text):
    """The definitions of a text: what ends in a closing brace, or in a semicolon after one."""
    depth = start = 0
    for i, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        item = text[start : i + 1].strip()
        if depth == 0 and (letter == ";" or (letter == "}" and not item.startswith("typedef"))):
            yield item
            start = i + 1
    if text[start:].strip():
        sys.exit("math_text: left over: " + text[start:].strip()[:200])


def lift_tables(name, text):
    """(tables, text): the constant tables of a function become items of their own, before it."""
    tables = []

    def lift(match):
        kind, table, rest = match.groups()
        tables.append(("%s_%s" % (name, table), "KNI_TABLE %s %s_%s%s\n" % (kind, name, table, rest)))
        return ""

    bare = re.sub(r"[ \t]*static const (\w+) (\w+)(\[\d*\] = \{[^}]*\};)\n", lift, text)
    for table, _ in tables:
        bare = re.sub(r"\b%s\b" % table[len(name) + 1 :], table, bare)
    return tables, bare


def tidy(text):
    text = re.sub(r"\(void\)\w+(, \(void\)\w+)*;\s*", "", text)
    for pattern, spelling in SPELLINGS:
        text = re.sub(pattern, spelling, text)
    lines = [re.sub(r"(?<=\S)[ \t]+", " ", line).rstrip() for line in text.split("\n")]
    return "\n".join(line for line in lines if line) + "\n"


def rows_of(text):
    """(name, text) in order. Words without a meaning are left out."""
    for item in items_of(text):
        if item == ";":
            continue
        if item.startswith("typedef"):
            yield re.search(r"(\w+)\s*;$", item).group(1), tidy(item)
            continue
        signature = re.match(r"static inline (?:__attribute__\(\(always_inline\)\) )?(\w+) (kni_\w+)\(", item)
        if not signature:
            sys.exit("math_text: cannot read: " + item[:200])
        name = signature.group(2)
        if name in BASICS or LEFT_OUT.search(name) or re.search(r"return \(\w+\)\(NONE\);", item):
            continue
        # Words are inlined by force like the functions they call: a call would keep a loop from being vectorised.
        inline = "always_inline" in signature.group(0) or name.startswith("kni_word_")
        start = "KNI_INLINE " if inline else "KNI_FUNCTION "
        tables, body = lift_tables(name, start + item[signature.start(1) :])
        for table, row in tables:
            yield table, tidy(row)
        yield name, tidy(body)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def write(rows):
    numbers = {name: i for i, (name, _) in enumerate(rows)}
    if len(numbers) != len(rows) or len(rows) > MAX_ITEMS:
        sys.exit("math_text: a name stands for two items, or there are too many")
    needs, lines = [], []
    for i, (name, text) in enumerate(rows):
        mine = sorted({numbers[w] for w in _WORD.findall(text) if w in numbers and w != name})
        unknown = {w for w in _WORD.findall(text) if w not in numbers and w not in BASICS}
        if unknown or any(n >= i for n in mine):
            sys.exit("math_text: %s uses what is not above it: %s" % (name, sorted(unknown)))
        f64 = "true" if re.search(r"\bdouble\b|_[fF]64\b", text) else "false"
        lines.append("    {%s, %s, %d, %d, %s}," % (quoted(name), quoted(text), len(needs), len(mine), f64))
        needs += mine
    order = sorted(range(len(rows)), key=lambda i: rows[i][0])
    out = ["/* Generated from %s and what they include by tools/gen/math_text.py; do not edit. */" % " and ".join(SOURCES)]
    out += ['#include "ir/prelude_table.h"', "", "const kni_ir_item kni_ir_items[] = {"] + lines + ["};", ""]
    out += ["const int kni_ir_item_count = %d;" % len(rows), ""]
    out += ["const uint16_t kni_ir_item_needs[] = {"] + wrapped(needs) + ["};", ""]
    out += ["const uint16_t kni_ir_items_by_name[] = {"] + wrapped(order) + ["};"]
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("\n".join(out) + "\n", encoding="utf-8")


def wrapped(numbers):
    return ["    " + " ".join("%d," % n for n in numbers[i : i + 20]) for i in range(0, len(numbers), 20)]


def main():
    preprocessor = Preprocessor()
    for name in SOURCES:
        preprocessor.include(name)
    write(list(rows_of("".join(preprocessor.output))))


if __name__ == "__main__":
    main()
