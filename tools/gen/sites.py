"""Writes include/kn/sites.h and include/kn/nn/nn_sites.h: for each public function that runs ops a macro that notes the
user's file and line. Reads the headers that kn.h and kn/nn.h include. Run in the root of the repository."""

import re

# These hand out what exists already and run nothing.
BORROWING = {"kn_value", "kn_grads_get", "kn_at"}
# These run no op, so their line must not become the latest op's; only a failure needs it.
PASSING = {"kn_keep", "kn_own", "kn_alias", "kn_require_grad", "kn_poison", "kn_grads_take",
           "kn_nn_identity_forward"}

# Say what happened elsewhere: their status is no failure of the call.
STATUSLESS = {"kn_error_code", "kn_custom_fail"}
# Neither a tensor nor a status, but they fail: where the line goes, and what they return.
OTHERS = {
    "kn_drop": ("void", "kn_site_note"),
    "kn_scope_end_many": ("void", "kn_site_note"),
    "kn_item": ("double", "kn_site_failure"),
    "kn_item_int": ("int64_t", "kn_site_failure"),
}

_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.M | re.S)
_STRUCT = re.compile(r"typedef\s+struct\s+(kn_\w+)\s*\{([^}]*)\}\s*\1\s*;", re.S)
_FUNCTION = re.compile(r"\bKN_API\s+(KN_MUST_CHECK\s+)?(?:const\s+)?(\w+)\s+(kn_\w+)\s*\(([^;]*)\)\s*;", re.S)
# A list of results that the function fills in.
_FILLS = re.compile(r"(?<!const )\bkn_tensor\s*\*|\bkn_grads\s*\*")


def read(name):
    with open(name, encoding="utf-8") as file:
        return _DIRECTIVE.sub("", _COMMENT.sub(" ", file.read()))


def public_headers(umbrella):
    """What an umbrella header includes, without the generated headers."""
    with open("include/" + umbrella, encoding="utf-8") as file:
        names = re.findall(r"#include <(kn/[\w/]+\.h)>", file.read())
    return sorted(name for name in set(names) if not name.endswith("sites.h"))


def result_structs(text):
    """The structs that hold tensors and can be results."""
    return {name for name, body in _STRUCT.findall(text) if re.search(r"\bkn_tensor\s+\w", body)}


def status_note(must_check, name, parameters):
    """The wrapper of a function that returns a status. Those that fill tensors and make layers run ops; of the others only a
    failure gets the line."""
    if _FILLS.search(parameters):
        return "kn_at_checked" if must_check else "kn_at_status"
    if name.startswith("kn_nn_") and name.endswith("_init"):
        return "kn_at_status"
    return "kn_at_failed_checked" if must_check else "kn_at_failed"


def scan(umbrella):
    """(header, function, wrapper) of each function to be noted, and the structs that are returned."""
    texts = {name: read("include/" + name) for name in public_headers(umbrella)}
    structs = set().union(*(result_structs(t) for t in texts.values()))
    functions, returned = [], {}
    for header, text in texts.items():
        for must_check, result, name, parameters in _FUNCTION.findall(text):
            if name in BORROWING:
                continue
            if name in OTHERS:
                functions.append((header, name, OTHERS[name]))
            elif result == "kn_tensor":
                functions.append((header, name, "kn_at_failure" if name in PASSING else "kn_at"))
            elif result in structs:
                functions.append((header, name, "kn_at_" + result[3:]))
                returned[result] = header
            elif result == "kn_status" and name not in STATUSLESS:
                functions.append((header, name, status_note(must_check, name, parameters)))
    return functions, sorted(returned), sorted({header for header, _, _ in functions} | {"kn/base.h"})


def wrapper(result, name, attribute="", note="kn_site_note(site);"):
    return (
        "static inline %s%s %s(%s result, const char *site)\n{\n    %s\n    return result;\n}\n"
        % (attribute, result, name, result, note)
    )


def macro(name, note):
    if isinstance(note, str):
        return "#define %s(...) %s(%s(__VA_ARGS__), KN_SITE)\n" % (name, note, name)
    if note[0] == "void":
        return "#define %s(...) (%s(__VA_ARGS__), %s(KN_SITE))\n" % (name, name, note[1])
    return "#define %s(...) kn_after_%s(%s(__VA_ARGS__), KN_SITE)\n" % (name, short(note[0]), name)


def short(result):
    return result.replace("kn_", "").replace("_t", "")


FAILURE = """static inline kn_tensor kn_at_failure(kn_tensor result, const char *site)
{
    if (result.bits >> 63) kn_site_failure(site);
    return result;
}
"""


def tensor_wrappers():
    failed = "if (result != KN_OK) kn_site_failure(site);"
    lines = [
        "/* For functions that run no op: only a failure gets the line. */\n", FAILURE, "\n",
        wrapper("kn_status", "kn_at_status"), "\n",
        wrapper("kn_status", "kn_at_checked", "KN_MUST_CHECK "), "\n",
        wrapper("kn_status", "kn_at_failed", note=failed), "\n",
        wrapper("kn_status", "kn_at_failed_checked", "KN_MUST_CHECK ", failed), "\n",
    ]  # fmt: skip
    for result in sorted({result for result, _ in OTHERS.values()} - {"void"}):
        lines += [wrapper(result, "kn_after_" + short(result), note="kn_site_failure(site);"), "\n"]
    return lines


def write(output, umbrella, guard, base, wrappers):
    functions, returned, headers = scan(umbrella)
    lines = ["/* Generated by tools/gen/sites.py from the other headers; do not edit.\n"]
    lines += ["   Each call of these functions notes its file and line, for messages and reports. KN_NO_SITES turns\n"]
    lines += ["   it off. A function's address, and a name in brackets as in (kn_add)(a, b), is the plain function. */\n"]
    lines += ["/* clang-format off */\n#ifndef %s\n#define %s\n\n" % (guard, guard)]
    lines += ["#include <%s>\n" % header for header in sorted(set(headers) | set(base))]
    lines += ["\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"] + wrappers
    for struct in returned:
        lines += [wrapper(struct, "kn_at_" + struct[3:]), "\n"]
    lines += ["#ifdef __cplusplus\n}\n#endif\n"]
    previous = None
    for header, name, note in functions:
        if header != previous:
            lines += ["\n"]
        previous = header
        lines += [macro(name, note)]
    lines += ["\n#endif\n"]
    with open(output, "w", encoding="utf-8") as file:
        file.write("".join(lines))


def main():
    write("include/kn/sites.h", "kn.h", "KN_SITES_H", [], tensor_wrappers())
    write("include/kn/nn/nn_sites.h", "kn/nn.h", "KN_NN_SITES_H", ["kn/sites.h"], [])


if __name__ == "__main__":
    main()
