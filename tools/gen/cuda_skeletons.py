"""Writes the texts of src/backend/cuda/skeleton/*.cu as C strings, which the driver compiles at run time:
src/backend/cuda/generated/cuda_skeletons*.[ch], those of attention in a file of their own. Long literals are cut into lines, which C joins again."""

import glob
import os

FOLDER = "src/backend/cuda/"


def literal(line):
    return '    "%s\\n"' % line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "    ")


def text_of(path):
    with open(path, encoding="ascii") as file:
        return file.read().split("\n")[:-1]


def main():
    head = "/* Made by tools/gen/cuda_skeletons.py from src/backend/cuda/skeleton; do not edit. */\n"
    names = sorted(glob.glob(FOLDER + "skeleton/*.cu"))
    os.makedirs(FOLDER + "generated", exist_ok=True)
    header = head + "#ifndef KNI_CUDA_SKELETONS_H\n#define KNI_CUDA_SKELETONS_H\n\n"
    start_of_source = head + '#include "backend/cuda/generated/cuda_skeletons.h"\n\n/* clang-format off */\n'
    sources = {".c": start_of_source, "_attention.c": start_of_source}
    for path in names:
        name = "kni_cuda_skeleton_" + os.path.splitext(os.path.basename(path))[0]
        lines = text_of(path)
        header += "extern const char *const %s[]; /* pieces, the last one NULL */\n" % name
        # Literals stay below what C11 promises to take.
        pieces, size, start = [], 0, 0
        for i, line in enumerate(lines):
            size += len(line) + 1
            if size > 3500 or i + 1 == len(lines):
                pieces.append("\n".join(literal(l) for l in lines[start : i + 1]))
                size, start = 0, i + 1
        ending = "_attention.c" if os.path.basename(path).startswith("attention") else ".c"
        sources[ending] += "const char *const %s[] = {\n%s,\n    0};\n" % (name, ",\n".join(pieces))
    header += "\n#endif\n"
    for ending, text in [(".h", header)] + sorted(sources.items()):
        with open(FOLDER + "generated/cuda_skeletons" + ending, "w", encoding="ascii") as file:
            file.write(text)


if __name__ == "__main__":
    main()
