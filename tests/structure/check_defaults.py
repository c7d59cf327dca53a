"""Every public struct of settings has its KN_<STRUCT>_DEFAULTS, which initialises it in C99 and C++ without a warning, and
says what 0 means where 0 is not the value itself."""

import re
import subprocess

import check_headers
import tree

# Structs of settings that are not called args or options.
_OTHERS = {"kn_optim_group", "kn_checkpoint_policy", "kn_early_stopping", "kn_decision", "kn_initializer"}
_STRUCT = re.compile(r"typedef struct \w+ \{\n(.*?)\n\} (kn_\w+);", re.S)
_ALIAS = re.compile(r"^typedef (kn_\w+_args) (kn_\w+_args);", re.M)
_DEFAULTS = re.compile(r"^#define (KN_\w+)_DEFAULTS\b((?:[^\n]*\\\n)*[^\n]*)", re.M)
# Numbers whose omitted field means something else than 0: the comment of the field or the struct must say what.
_NOT_SWITCHED_OFF = re.compile(r"^(eps|beta\d?|momentum|temperature|\w*scale|alpha|theta|threshold|patience|margin)$")


def _is_settings(name):
    return name.endswith(("_args", "_options")) or name in _OTHERS


def structs():
    """(header, name, body) of each public struct of settings."""
    for header in tree.files_in(("include",), (".h",)):
        text = tree.read(header)
        for body, name in _STRUCT.findall(text):
            if _is_settings(name):
                yield header, name, body
        for _, name in _ALIAS.findall(text):
            yield header, name, ""


def _explained(body, field):
    """The comment beside or above the line of a field says what 0 means."""
    lines = body.split("\n")
    for i, line in enumerate(lines):
        code = line.split("/*")[0]
        if re.search(r"\bdouble\b[^;]*\b%s\b" % field, code):
            near = "\n".join(lines[max(i - 2, 0):i + 2])
            return bool(re.search(r"\b0\b|KN_ZERO", near))
    return True


def _comment_problems(header, name, body):
    # The update ops take every number as it is (kn/update.h).
    if name.endswith("_update_args"):
        return
    bare = tree.bare_c(body)
    for names in re.findall(r"\bdouble\s+([\w, \n]+);", bare):
        for field in re.split(r"[,\s]+", names.strip()):
            if _NOT_SWITCHED_OFF.match(field) and not _explained(body, field):
                yield "%s: %s.%s does not say what 0 means" % (header, name, field)


def _use(all_structs):
    headers = sorted({h[len("include/"):] for h, _, _ in all_structs})
    text = "".join("#include <%s>\n" % h for h in headers)
    for _, name, _ in all_structs:
        text += "extern const %s kept_%s;\nconst %s kept_%s = %s_DEFAULTS;\n" % (name, name, name, name, name.upper())
    return text


def check(_build):
    found = list(structs())
    defined = {}
    for header in tree.files_in(("include",), (".h",)):
        for name, value in _DEFAULTS.findall(tree.read(header)):
            defined[name] = header
    yield "there are settings to look at", [] if len(found) > 80 else ["only %d structs were found" % len(found)]
    yield "every struct of settings has its _DEFAULTS", [
        "%s: %s lacks #define %s_DEFAULTS" % (h, n, n.upper()) for h, n, _ in found if defined.get(n.upper()) != h]
    names = {n.upper() for _, n, _ in found}
    yield "every _DEFAULTS belongs to a struct of settings", [
        "%s: %s_DEFAULTS belongs to no struct" % (h, n) for n, h in defined.items() if n not in names]
    yield "fields say what 0 means", [p for h, n, b in found for p in _comment_problems(h, n, b)]
    source = _use([s for s in found if defined.get(s[1].upper()) == s[0]])
    for compiler, language, label in check_headers.COMPILERS:
        command = [compiler] + language + check_headers.WARNINGS + ["-I", tree.ROOT + "/include", "-"]
        done = subprocess.run(command, input=source, capture_output=True, text=True)
        yield ("_DEFAULTS initialise static structs as %s with %s" % (label, compiler),
               [] if done.returncode == 0 else [done.stderr.strip()[:3000]])
