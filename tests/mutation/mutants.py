"""Draws small faults from the library's sources: an operator swapped, a bound off by one, a statement removed. What is
drawn depends on the seed and the sources alone."""
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


def draw(root, seed, folders=None):
    """Yields (path, begin, end, text, kind, line) without end: a folder, then a kind, then a file and a place."""
    rng = random.Random(seed)
    by_folder = {}
    for path in sorted(pathlib.Path(root, "src").rglob("*.[ch]")):
        folder = "/".join(path.relative_to(root).parts[1:-1])
        if folders is None or any(folder.startswith(f) for f in folders):
            by_folder.setdefault(folder, []).append(path)
    seen = set()
    while True:
        folder = rng.choice(sorted(by_folder))
        kind = rng.choice(KINDS)
        # A file is as likely as it is long.
        files = by_folder[folder]
        path = rng.choices(files, [f.stat().st_size for f in files])[0]
        text = path.read_text()
        places = list(kind(_blanked(text)))
        if not places:
            continue
        begin, end, new, name = rng.choice(places)
        if (path, begin, end, new) in seen:
            continue
        seen.add((path, begin, end, new))
        yield path, begin, end, new, name, text.count("\n", 0, begin) + 1
