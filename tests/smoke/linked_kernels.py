"""Compares the rows and kernels in a bare-metal image, read from the linker's map, with the committed list of what its
program needs. Usage: python3 linked_kernels.py [--write] MAP LIST"""

import re
import sys

# Input sections with an address: the name of what they hold and the library's object file.
_SECTION = re.compile(r"^ \.(?:text|rodata|data)\.([\w.]+)\s+0x[0-9a-f]+\s+0x[0-9a-f]+\s+\S*libkiln\.a\((\S+)\)$", re.M)
# Rows, CPU entries, reference kernels and their instances, strips of element-wise ops, kernels of a tier.
_KERNEL = re.compile(r"^(kni_(op|cpu|kernel|strip)_\w+|strips_\w+|run_\w+_(f64|i64|u64)|kni_\w+_scalar)$")


def linked(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    # What the linker dropped is listed before this line.
    kept = text.partition("\nLinker script and memory map\n")[2]
    names = {name for name, _ in _SECTION.findall(kept)}
    if not names:
        sys.exit("linked_kernels: %s names no section of libkiln.a" % path)
    return sorted(n for n in names if _KERNEL.match(n))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--write"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    found = linked(arguments[0])
    if "--write" in sys.argv:
        with open(arguments[1], "w", encoding="utf-8") as file:
            file.write("".join(name + "\n" for name in found))
        return 0
    with open(arguments[1], encoding="utf-8") as file:
        wanted = file.read().split()
    for name in sorted(set(found) - set(wanted)):
        print("        linked, but not in %s: %s" % (arguments[1], name))
    for name in sorted(set(wanted) - set(found)):
        print("        in %s, but not linked: %s" % (arguments[1], name))
    return 0 if found == wanted else 1


if __name__ == "__main__":
    sys.exit(main())
