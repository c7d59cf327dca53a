"""Draws small faults from the library's sources: an operator swapped, a bound off by one, a statement removed. What is
drawn depends on the seed and the sources alone."""
import hashlib
import pathlib
import random
import re

ROOTS = ("src",)
# Comments, strings and preprocessor lines are left alone: blanked out, places stay the same.
_BLANK = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', re.S | re.M)
_SWAPS = [("<=", "<"), (">=", ">"), ("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&"), ("<", "<="), (">", ">="),
          ("+", "-"), ("-", "+"), ("*", "+"), ("/", "*"), ("%", "/")]
# A binary operator as clang-format writes it: between blanks.
_OPERATOR = re.compile(r"(?<=[\w\])] )(<=|>=|==|!=|&&|\|\||<|>|\+|-|\*|/|%)(?= [\w(!-])")
_BOUND = re.compile(r"(?<![\w.])(?:for \([^;\n]*= (?P<first>0|1);|[<>]=? (?P<limit>[a-z_]\w*)\s*[;)&|]|(?<=[\[ (+-])(?P<number>[1-9]\d{0,3})(?=[\]; ),]))")
_STATEMENT = re.compile(r"^[ \t]+(?:[a-z_][\w>.\-\[\]]*(?:\[[^\]\n]*\])* [-+|&]?= [^;\n]*|[a-z_]\w*\([^;\n]*\)|[a-z_][\w>.\-]*(?:\+\+|--)|break|continue);$", re.M)


def _blanked(text):
    return _BLANK.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def _operators(text):
    swaps = dict(_SWAPS)
    for match in _OPERATOR.finditer(text):
        yield match.start(1), match.end(1), swaps[match.group(1)], "operator swapped"


def _bounds(text):
    for match in _BOUND.finditer(text):
        for kind, change in (("first", lambda t: str(1 - int(t))), ("limit", lambda t: t + " - 1"),
                             ("number", lambda t: str(int(t) + 1))):
            if match.group(kind):
                yield match.start(kind), match.end(kind), change(match.group(kind)), "bound off by one"


def _statements(text):
    for match in _STATEMENT.finditer(text):
        line = match.group()
        if re.match(r"\s*(?:return|goto|const|static|struct|typedef|else|case)\b", line):
            continue
        begin = match.start() + len(line) - len(line.lstrip())
        yield begin, match.end(), ";", "statement removed"


KINDS = (_operators, _bounds, _statements)
_spent = iter(())


def describe(root, path, text, begin, end, new, kind):
    """A name that stays the same while the line does: the file, the line's text and what became of it."""
    line_begin, line_end = text.rfind("\n", 0, begin) + 1, text.find("\n", end)
    old = " ".join(text[line_begin:line_end].split())
    changed = " ".join((text[line_begin:begin] + new + text[end:line_end]).split())
    return "%s: %s: %s -> %s" % (path.relative_to(root), kind, old, changed)


def _ordered(root, paths, kind, seed):
    """All mutants of a kind, in an order that depends on the seed and on each mutant's own line alone: a change elsewhere
    in the tree leaves the others where they are."""
    found = {}
    for path in paths:
        text = path.read_text()
        for begin, end, new, name in kind(_blanked(text)):
            mutant = describe(root, path, text, begin, end, new, name)
            key = hashlib.sha256(("%d %s" % (seed, mutant)).encode()).digest()
            found.setdefault(key, (path, begin, end, new, name, text.count("\n", 0, begin) + 1))
    return iter([found[key] for key in sorted(found)])


def draw(root, seed, folders=None):
    """Yields (path, begin, end, text, kind, line) to the last: a folder and a kind by chance, then the next mutant of these."""
    rng = random.Random(seed)
    by_folder = {}
    for path in sorted(pathlib.Path(root, "src").rglob("*.[ch]")):
        folder = "/".join(path.relative_to(root).parts[1:-1])
        if folders is None or any(folder.startswith(f) for f in folders):
            by_folder.setdefault(folder, []).append(path)
    queues = {}
    open_queues = len(by_folder) * len(KINDS)
    while open_queues:
        folder, kind = rng.choice(sorted(by_folder)), rng.choice(KINDS)
        if (folder, kind) not in queues:
            queues[folder, kind] = _ordered(root, by_folder[folder], kind, seed)
        mutant = next(queues[folder, kind], None)
        if mutant:
            yield mutant
        elif queues[folder, kind] is not _spent:
            queues[folder, kind] = _spent
            open_queues -= 1
