"""A recogniser of the kernel language as docs/kernel-language.md fixes it: it accepts a text or raises Fault with the
line and column. It also checks what the page says beside the grammar: the order of parameters, that names are declared
before use and do not hide the language's words, and so that nothing calls itself. Reference kernels keep to the core;
users' kernels may use the whole language."""

import re

TYPES = ("T", "index", "real")
ROLES = ("in", "inout", "out", "temp")
# Of the whole language: types to compute in, and those that exist in memory alone.
WIDE_TYPES = ("f32", "f64", "i32", "i64", "u32", "u64", "bool")
MEMORY_TYPES = ("f16", "bf16", "i8", "i16", "u8", "u16")
TILE_ROLES = ("left", "right", "sum")
ASSIGNMENTS = ("=", "+=", "-=", "*=", "/=", "%=")
# Binary operators, loosest first.
LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", "<=", ">", ">="], ["<<", ">>"], ["+", "-"],
          ["*", "/", "%"]]
RESERVED = {"kernel", "function", "uniform", "if", "else", "for", "while", "break", "continue", "return",
            *TYPES, "in", "out", "temp"}
# The words of the language: how many arguments each takes; constants take none.
CALLS = dict.fromkeys("exp expm1 log log1p sqrt sin cos tanh floor ceil round trunc sigmoid cos_turn abs is_nan "
                      "report".split(), 1)
CALLS.update(atan2=2, pow=2, hypot=2, philox=3)
CONSTANTS = {"INF", "NAN_VALUE", "IS_FLOAT"}
# Of the whole language: a name of the text may hide these. Each says what its arguments are: e an expression, m a
# buffer or shared array, t a tile.
MORE_CALLS = dict.fromkeys("exp2 log2 log10 rsqrt tan asin acos atan sinh cosh asinh acosh atanh erf erfc erfinv "
                           "normal_cdf lgamma digamma sign is_inf is_finite subgroup_sum subgroup_min subgroup_max "
                           "workgroup_sum workgroup_min workgroup_max workgroup_scan".split(), "e")
MORE_CALLS.update(dict.fromkeys("copysign fmod min max lane_xor".split(), "ee"))
MORE_CALLS.update(dict.fromkeys("group_id group_count local_id local_count lane_id lane_count barrier".split(), ""))
MORE_CALLS.update(dict.fromkeys("atomic_add atomic_min atomic_max atomic_exchange".split(), "mee"))
MORE_CALLS.update(fma="eee", tile_fill="te", tile_load="tmee", tile_store="tmee", tile_multiply="ttt")

_TOKEN = re.compile(r"(?P<space>\s+|/\*.*?\*/|//[^\n]*)|(?P<name>[A-Za-z_]\w*)"
                    r"|(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?![\w.]))"
                    r"|(?P<sign><<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%]=|[-+*/%&|^~!<>=?:;,(){}\[\]])", re.S)


class Fault(Exception):
    """What is wrong, with its place in the text."""

    def __init__(self, text, position, message):
        line = text.count("\n", 0, position) + 1
        column = position - (text.rfind("\n", 0, position) + 1) + 1
        super().__init__("%d:%d: %s" % (line, column, message))


def tokens(text):
    """Triples of kind, token and position; the last two are empty ends, so that one can look a token ahead."""
    found, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if not match:
            raise Fault(text, position, "no token of the language begins with '%s'" % text[position])
        if match.lastgroup != "space":
            found.append((match.lastgroup, match.group(0), position))
        position = match.end()
    return found + 2 * [("end", "", len(text))]


class Parser:
    def __init__(self, text, whole):
        self.text, self.tokens, self.at = text, tokens(text), 0
        self.whole = whole
        self.types = TYPES + WIDE_TYPES if whole else TYPES
        self.memory_types = self.types + MEMORY_TYPES if whole else TYPES
        self.reserved = RESERVED | set(self.memory_types)
        self.functions, self.scopes, self.loops, self.gives = dict(CALLS), [], 0, False

    # Tokens.

    def fault(self, message, back=0):
        raise Fault(self.text, self.tokens[self.at - back][2], message)

    def peek(self, *wanted):
        return self.tokens[self.at][0] != "number" and self.tokens[self.at][1] in wanted

    def take(self, *wanted):
        if not self.peek(*wanted):
            self.fault("expected %s, found '%s'" % (" or ".join("'%s'" % w for w in wanted), self.tokens[self.at][1]))
        self.at += 1
        return self.tokens[self.at - 1][1]

    def accept(self, *wanted):
        return self.take(*wanted) if self.peek(*wanted) else ""

    def kind(self, kind):
        if self.tokens[self.at][0] != kind or self.tokens[self.at][1] in self.reserved:
            self.fault("expected a %s, found '%s'" % (kind, self.tokens[self.at][1]))
        self.at += 1
        return self.tokens[self.at - 1][1]

    def length(self):
        if not self.kind("number").isdigit():
            self.fault("the length of an array is a whole number", 1)

    def declare(self):
        """A new name in the innermost scope."""
        name = self.kind("name")
        if name in self.functions or name in CONSTANTS:
            self.fault("'%s' is a word or a function already" % name, 1)
        if name in self.scopes[-1]:
            self.fault("'%s' is declared twice" % name, 1)
        self.scopes[-1].add(name)

    # Files, kernels and functions.

    def file(self):
        while self.tokens[self.at][0] != "end":
            if self.take("kernel", "function") == "kernel":
                self.kernel()
            else:
                self.function()

    def name_of_code(self):
        name = self.kind("name")
        if name in self.functions or name in CONSTANTS:
            self.fault("'%s' is a word or a function already" % name, 1)
        return name

    def kernel(self):
        name = self.name_of_code()
        self.scopes, self.loops, self.gives = [set()], 0, False
        self.take("(")
        if self.whole and self.accept("workgroup"):
            self.length()
        else:
            self.take("index")
            self.take("item")
            self.scopes[-1].add("item")
        last = 0
        while self.accept(","):
            rank = self.parameter()
            if rank < last:
                self.fault("buffers come first: in, inout, out, temp; then numbers", 1)
            last = rank
        self.take(")")
        self.block()
        self.functions[name] = -1

    def parameter(self):
        """Returns where the parameter stands in the order: 0 in, 1 inout, 2 out, 3 temp, 4 a number."""
        role = self.accept(*(r for r in ROLES if self.whole or r != "inout"), "uniform")
        if not role:
            self.take(*(t for t in self.types if t != "T"))
            self.declare()
            return 4
        self.take(*(self.types if role == "uniform" else self.memory_types))
        self.declare()
        self.take("[")
        if role == "uniform":
            self.length()
        self.take("]")
        return 4 if role == "uniform" else ROLES.index(role)

    def function(self):
        self.take(*self.types)
        name = self.name_of_code()
        self.scopes, self.loops, self.gives = [set()], 0, True
        self.take("(")
        count = 0
        while True:
            self.take(*self.types)
            self.declare()
            count += 1
            if not self.accept(","):
                break
        self.take(")")
        self.block()
        self.functions[name] = count

    # Statements.

    def block(self):
        self.take("{")
        self.scopes.append(set())
        while not self.accept("}"):
            self.statement()
        self.scopes.pop()

    def statement(self):
        if self.peek("{"):
            self.block()
        elif self.peek(*self.memory_types):
            self.declaration()
        elif self.whole and self.peek("shared", "tile") and self.tokens[self.at + 1][0] == "name":
            getattr(self, self.take("shared", "tile"))()
        elif self.peek("if", "for", "while"):
            self.scopes.append(set())
            getattr(self, self.take("if", "for", "while") + "_statement")()
            self.scopes.pop()
        elif self.accept("break", "continue"):
            if not self.loops:
                self.fault("break and continue belong into a loop", 1)
            self.take(";")
        elif self.accept("return"):
            if self.gives:
                self.expression()
            self.take(";")
        elif self.tokens[self.at + 1][1] == "(":
            self.call(self.kind("name"))
            self.take(";")
        else:
            self.change()
            self.take(";")

    def shared(self):
        self.take(*self.memory_types)
        self.declare()
        self.take("[")
        self.length()
        self.take("]")
        self.take(";")

    def tile(self):
        self.take(*TILE_ROLES)
        self.take("f16", "bf16", "f32")
        self.declare()
        self.take(";")

    def declaration(self):
        narrow = self.take(*self.memory_types) in MEMORY_TYPES
        self.declare()
        if narrow and not self.peek("["):
            self.fault("a type of memory alone: compute in a wider one", 2)
        if self.accept("["):
            self.length()
            self.take("]")
        else:
            if self.accept("="):
                self.expression()
            while self.accept(","):
                self.declare()
                if self.accept("="):
                    self.expression()
        self.take(";")

    def change(self):
        self.place(self.kind("name"))
        if not self.accept("++", "--"):
            self.take(*ASSIGNMENTS)
            self.expression()

    def inner(self):
        """The statement that an if or a loop governs."""
        if self.peek(*self.memory_types):
            self.fault("a declaration alone under if, for or while declares nothing that can be used")
        self.statement()

    def if_statement(self):
        self.take("(")
        self.expression()
        self.take(")")
        self.inner()
        if self.accept("else"):
            self.inner()

    def for_statement(self):
        self.take("(")
        if self.accept(*self.types):
            self.declare()
            self.take("=")
            self.expression()
        elif not self.peek(";"):
            self.change()
        self.take(";")
        self.expression()
        self.take(";")
        self.change()
        self.take(")")
        self.body()

    def while_statement(self):
        self.take("(")
        self.expression()
        self.take(")")
        self.body()

    def body(self):
        self.loops += 1
        self.inner()
        self.loops -= 1

    # Expressions.

    def place(self, name):
        if not any(name in scope for scope in self.scopes):
            self.fault("'%s' is not declared" % name, 1)
        if self.accept("["):
            self.expression()
            self.take("]")

    def word(self, name):
        """A word of the whole language, with what its arguments are."""
        self.take("(")
        for i, kind in enumerate(MORE_CALLS[name]):
            if i:
                self.take(",")
            if kind == "e":
                self.expression()
                continue
            operand = self.kind("name")
            if not any(operand in scope for scope in self.scopes):
                self.fault("'%s' is not declared" % operand, 1)
        self.take(")")

    def call(self, name):
        if self.whole and name in MORE_CALLS and name not in self.functions:
            self.word(name)
            return
        if name not in self.functions:
            self.fault("no function '%s' above this line" % name, 1)
        wanted, count = self.functions[name], 0
        if wanted < 0:
            self.fault("a kernel is not called: '%s'" % name, 1)
        self.take("(")
        while True:
            self.expression()
            count += 1
            if not self.accept(","):
                break
        self.take(")")
        if count != wanted:
            self.fault("%s takes %d, not %d" % (name, wanted, count), 1)

    def expression(self):
        self.binary(0)
        if self.accept("?"):
            self.expression()
            self.take(":")
            self.expression()

    def binary(self, level):
        if level == len(LEVELS):
            self.unary()
            return
        self.binary(level + 1)
        while self.accept(*LEVELS[level]):
            self.binary(level + 1)

    def unary(self):
        while self.accept("-", "!", "~"):
            pass
        if self.accept("("):
            if self.accept(*self.types):
                self.take(")")
                self.unary()
                return
            self.expression()
            self.take(")")
        elif self.tokens[self.at][0] == "number":
            self.at += 1
        elif not self.accept(*CONSTANTS):
            name = self.kind("name")
            if self.peek("("):
                self.call(name)
            else:
                self.place(name)


def parse(text, whole=False):
    Parser(text, whole).file()
