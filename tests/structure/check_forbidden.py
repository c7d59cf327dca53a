"""What src must not do: end the process, print, assert, use libm or run code before main; and no file of the
tree names a path of somebody's machine."""

import re

import check_layers
import tree

_CALLS = re.compile(
    r"\b(abort|exit|_Exit|_exit|quick_exit|atexit|longjmp|setjmp|raise|signal|sigaction|assert|printf|fprintf|"
    r"vprintf|vfprintf|puts|fputs|putchar|perror|gets|strcpy|strcat|sprintf|vsprintf)\s*\("
)
# They log what has just failed before its line is known: src reads kni_error_text, kni_failure_latest or kni_failure_taken.
_READERS = re.compile(r"\b(kn_error_text|kn_last_error)\s*\(")
_HEADERS = re.compile(r"#[ \t]*include[ \t]*<(math|tgmath|complex|assert|setjmp|fenv)\.h>")
_CONSTRUCTOR = re.compile(r"\b(__)?(constructor|destructor)(__)?\b(?=[^;]*\)\))")
_PATHS = re.compile(r"(?<![\w.}*-])/(work|root|home|Users|opt(?!/rocm/)|mnt|tmp)/\w")  # ROCm lies in one folder everywhere
# The learner catches Ctrl-C where it is told to, and puts the old handlers back. The dashboard gives the terminal back
# when the process ends under it. Compilers that KN_JIT=cc has started end with the process. libpng leaves by a jump on errors
# and has no other way; it lands in the function that called it.
_ALLOWED_CALLS = {
    "src/backend/jit/jit_cc.c": ("atexit",),
    "src/backend/runtime/runtime_ahead.c": ("atexit",),
    "src/data/png_codec.c": ("longjmp", "setjmp"),
    "src/train/learner_interrupt.c": ("sigaction",),
    "src/train/render_guard.c": ("sigaction", "raise", "atexit"),
}
_TEXT_ENDINGS = tree.CODE_ENDINGS + (".md", ".txt", ".json", ".in", ".yml", "Makefile", "run")


def _matches(pattern, names, strip):
    for name in names:
        text = tree.read(name)
        if strip:
            text = tree.bare_c(text)
        for match in pattern.finditer(text):
            if match.group(0).rstrip("( \t\n") in _ALLOWED_CALLS.get(name, ()):
                continue
            yield "%s:%d: %s" % (name, tree.line_of(text, match.start()), match.group(0).strip())


def check(_build):
    sources = tree.files_in(("src",), (".c", ".h", ".inc"))
    yield "src never ends the process, prints or asserts", list(_matches(_CALLS, sources, True))
    readers = [n for n in sources if n != "src/core/error.c"]
    yield "src reads failures without logging them", list(_matches(_READERS, readers, True))
    bare = [n for n in sources if n.split("/")[1] not in check_layers.LIBM_PARTS]
    yield "src uses no libm, assert or setjmp header", list(_matches(_HEADERS, bare, True))
    yield "src has no static constructors", list(_matches(_CONSTRUCTOR, sources, True))
    names = [n for n in tree.all_files() if n.endswith(_TEXT_ENDINGS)]
    yield "no file names a path of one machine", list(_matches(_PATHS, names, False))
