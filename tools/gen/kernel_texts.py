#!/usr/bin/env python3
"""Puts the texts of src/ops/kernels/*.kn into src/ir/generated/kernel_texts.c, for devices that compile kernels at run
time. Comments and indents are left out, lines are kept, so that messages name the line of the file. Run from the
repository root; the output is committed."""
import pathlib
import re

SOURCE = pathlib.Path("src/ops/kernels")
TARGET = pathlib.Path("src/ir/generated/kernel_texts.c")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)


def blank(match):
    """As many lines as the comment had, and what parts the words around it."""
    return "\n" * match.group(0).count("\n") or " "


def lines_of(path):
    bare = COMMENT.sub(blank, path.read_text())
    return [line.strip() for line in bare.rstrip().split("\n")]


def literal(line):
    return '"%s\\n"' % line.replace("\\", "\\\\").replace('"', '\\"')


def generate():
    out = ["/* Generated from src/ops/kernels by tools/gen/kernel_texts.py; do not edit. */",
           '#include "ir/kernel_texts.h"', "#include <string.h>", ""]
    owners = []
    for path in sorted(SOURCE.glob("*.kn")):
        out.append("static const char %s_text[] =" % path.stem)
        rows, row = [], ""
        for text in map(literal, lines_of(path)):
            # Several lines of the text on one of the file where they are short.
            if row and len(row) + len(text) > 180:
                rows.append(row)
                row = ""
            row = row[:-1] + text[1:] if row else text
        out += ["    " + r for r in rows + [row]]
        out[-1] += ";"
        out.append("")
        owners += [(name, path) for name in re.findall(r"^kernel\s+(\w+)", path.read_text(), re.M)]
    out += ["static const struct {", "    const char *kernel, *text, *file;", "    size_t bytes;", "} texts[] = {"]
    out += ['    {"%s", %s_text, "%s", sizeof %s_text - 1},' % (name, path.stem, path.name, path.stem)
            for name, path in sorted(owners)]
    out += ["};", "", "const char *kni_kernel_text(const char *kernel_name, size_t *bytes, const char **file)", "{",
            "    for (size_t low = 0, high = sizeof texts / sizeof *texts; low < high;) {",
            "        size_t middle = (low + high) / 2;",
            "        int order = strcmp(kernel_name, texts[middle].kernel);",
            "        if (order == 0) {",
            "            *bytes = texts[middle].bytes;",
            "            *file = texts[middle].file;",
            "            return texts[middle].text;",
            "        }",
            "        if (order < 0) high = middle;",
            "        else low = middle + 1;",
            "    }",
            "    return NULL;", "}", "",
            "const char *kni_kernel_text_name(int number)", "{",
            "    return number >= 0 && number < (int)(sizeof texts / sizeof *texts) ? texts[number].kernel : NULL;",
            "}", ""]
    return "\n".join(out)


def main():
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(generate())


if __name__ == "__main__":
    main()
