/* The dialects by number, the types they share, and the names that none of them can print as they are. */
#include "ir/emitter.h"
#include <string.h>

static const kni_dialect *const dialects[KNI_IR_DIALECTS] = {
    [KNI_IR_C] = &kni_dialect_c,
    [KNI_IR_CUDA] = &kni_dialect_cuda,
    [KNI_IR_OPENCL] = &kni_dialect_opencl,
};

const kni_dialect *kni_dialect_of(int dialect)
{
    return dialect >= 0 && dialect < KNI_IR_DIALECTS ? dialects[dialect] : NULL;
}

static const char *const storage_types[KN_DTYPE_COUNT] = {
    [KN_F64] = "double",   [KN_F32] = "float",    [KN_F16] = "uint16_t", [KN_BF16] = "uint16_t",
    [KN_I64] = "int64_t",  [KN_I32] = "int32_t",  [KN_I16] = "int16_t",  [KN_I8] = "int8_t",
    [KN_U64] = "uint64_t", [KN_U32] = "uint32_t", [KN_U16] = "uint16_t", [KN_U8] = "uint8_t",
    [KN_BOOL] = "uint8_t",
};

const char *kni_dialect_storage_type(int dtype)
{
    return storage_types[dtype] ? storage_types[dtype] : "void";
}

const char *kni_dialect_value_type(int dtype)
{
    return dtype == KN_BOOL ? "int" : kni_dialect_storage_type(dtype);
}

/* What the printer itself calls things, and words that C, C++ or a preprocessor give a meaning. */
static const char *const shared_words[] = {
    "item",     "member",   "group",   "groups",   "lane",    "p",        "fault",    "begin",
    "end",      "buffers",  "params",  "auto",     "break",   "case",     "char",     "const",
    "continue", "default",  "do",      "double",   "else",    "enum",     "extern",   "float",
    "for",      "goto",     "if",      "inline",   "int",     "long",     "register", "restrict",
    "return",   "short",    "signed",  "sizeof",   "static",  "struct",   "switch",   "typedef",
    "union",    "unsigned", "void",    "volatile", "while",   "bool",     "true",     "false",
    "int8_t",   "int16_t",  "int32_t", "int64_t",  "uint8_t", "uint16_t", "uint32_t", "uint64_t",
    "size_t",   "asm",      "typeof",  "linux",    "unix",    "NULL",     "main",     NULL,
};

static bool listed(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (!strcmp(*list, name)) return true;
    return false;
}

/* What compilers declare by themselves; a parameter may hide them, an entry may not have their names. */
static const char *const library_functions[] = {
    "abs",      "acos",       "acosf",   "acosh",    "asin",      "asinh",     "atan",   "atan2",
    "atanh",    "cbrt",       "ceil",    "copysign", "cos",       "cosh",      "cospi",  "cyl_bessel_i0",
    "erf",      "erfc",       "erfcinv", "erfcx",    "erfinv",    "exp",       "exp10",  "exp2",
    "expm1",    "fabs",       "fdim",    "fdivide",  "floor",     "fma",       "fmax",   "fmin",
    "fmod",     "free",       "frexp",   "hypot",    "ilogb",     "j0",        "j1",     "jn",
    "labs",     "ldexp",      "lgamma",  "llabs",    "llmax",     "llmin",     "llrint", "llround",
    "log",      "log10",      "log1p",   "log2",     "logb",      "lrint",     "lround", "malloc",
    "max",      "min",        "modf",    "nan",      "nearbyint", "nextafter", "norm",   "norm3d",
    "normcdf",  "normcdfinv", "pow",     "printf",   "rcbrt",     "remainder", "remquo", "rhypot",
    "rint",     "rnorm",      "round",   "rsqrt",    "scalbln",   "scalbn",    "sin",    "sincos",
    "sincospi", "sinh",       "sinpi",   "sqrt",     "tan",       "tanh",      "tgamma", "trunc",
    "umax",     "umin",       "ullmax",  "ullmin",   "y0",        "y1",        "yn",     "assert",
    "abort",    "exit",       "memcpy",  "memset",   NULL,
};

bool kni_dialect_reserves_entry(const kni_dialect *d, const char *name)
{
    return kni_dialect_reserves(d, name) || listed(library_functions, name);
}

bool kni_dialect_reserves(const kni_dialect *d, const char *name)
{
    size_t n = strlen(name);
    /* A name that ends so already gets one more, so that no two become one. */
    if (!n || name[0] == '_' || name[n - 1] == '_') return true;
    if (!strncmp(name, "kni_", 4) || !strncmp(name, "KNI_", 4) || !strncmp(name, "user_", 5)) return true;
    if (strchr("tvi", name[0]) && strspn(name + 1, "0123456789_raw") == n - 1) return true;
    if (!strncmp(name, "next", 4) && strspn(name + 4, "0123456789") == n - 4) return true;
    return listed(shared_words, name) || listed(d->reserved, name);
}
