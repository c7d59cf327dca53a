/* The names that a pickle may use, each with what a call of it gives: PyTorch's tensors and storages, Python's containers,
   NumPy's numbers. A name that is not here ends the reading. */
#include "core/dtype.h"
#include "store/numpy.h"
#include "store/pickle.h"
#include "support/failure.h"
#include <string.h>

typedef kni_pickle_value value;

/* ---- PyTorch's dtypes */

enum { WORD_COUNT = 25 };
static const kni_dtype_word words[WORD_COUNT] = {
    {"float64", KN_F64, 8, "f64"},
    {"float32", KN_F32, 4, "f32"},
    {"float16", KN_F16, 2, "f16"},
    {"bfloat16", KN_BF16, 2, "bf16"},
    {"int64", KN_I64, 8, "i64"},
    {"int32", KN_I32, 4, "i32"},
    {"int16", KN_I16, 2, "i16"},
    {"int8", KN_I8, 1, "i8"},
    {"uint8", KN_U8, 1, "u8"},
    {"bool", KN_BOOL, 1, "bool"},
    {"uint64", KN_U64, 8, "u64"},
    {"uint32", KN_U32, 4, "u32"},
    {"uint16", KN_U16, 2, "u16"},
    {"complex32", KN_DTYPE_NONE, 4, "c32"},
    {"complex64", KN_DTYPE_NONE, 8, "c64"},
    {"complex128", KN_DTYPE_NONE, 16, "c128"},
    {"float8_e4m3fn", KN_F8_E4M3, 1, "f8_e4m3"},
    {"float8_e5m2", KN_F8_E5M2, 1, "f8_e5m2"},
    {"float8_e4m3fnuz", KN_F8_E4M3_FNUZ, 1, "f8_e4m3_fnuz"},
    {"float8_e5m2fnuz", KN_F8_E5M2_FNUZ, 1, "f8_e5m2_fnuz"},
    {"float8_e8m0fnu", KN_E8M0, 1, "e8m0"},
    {"qint8", KN_DTYPE_NONE, 1, "qint8"},
    {"quint8", KN_DTYPE_NONE, 1, "quint8"},
    {"qint32", KN_DTYPE_NONE, 4, "qint32"},
    {"float4_e2m1fn_x2", KN_DTYPE_NONE, 1,
     "float4_e2m1fn_x2"}, /* an element is two: its shape is not that of the values */
};

/* ---- helpers */

static bool is_list(const value *v) { return v->kind == KNI_PICKLE_TUPLE || v->kind == KNI_PICKLE_LIST; }

static const value *argument(const value *arguments, size_t i)
{
    return i < arguments->count ? arguments->items[i] : NULL;
}

static bool take_integer(const value *v, int64_t *integer)
{
    if (!v || v->kind != KNI_PICKLE_INT) return false;
    *integer = v->integer;
    return true;
}

/* Sizes or strides: a tuple of numbers that are not negative. */
static bool take_sizes(const value *v, int64_t *sizes, int32_t *count)
{
    if (!v || !is_list(v) || v->count > KN_MAX_RANK) return false;
    for (size_t i = 0; i < v->count; i++)
        if (!take_integer(v->items[i], &sizes[i]) || sizes[i] < 0) return false;
    *count = (int32_t)v->count;
    return true;
}

static kn_status finish(kni_pickle *p, value *made, value **result)
{
    *result = made;
    return made ? KN_OK : p->status;
}

/* ---- containers */

static kn_status append_all(kni_pickle *p, value *to, const value *from)
{
    size_t count = from->count;
    if (to == from) return kni_pickle_bad(p, "a container is put into itself");
    if (!kni_pickle_copies(p, count)) return p->status;
    for (size_t i = 0; i < count; i++)
        if (!kni_pickle_append(p, to, from->items[i])) return p->status;
    return KN_OK;
}

/* dict(), dict([[key, value], ...]), defaultdict(list) */
static kn_status call_dict(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                           value **result)
{
    value *made = kni_pickle_make(p, KNI_PICKLE_DICT);
    const value *pairs = argument(arguments, 0);
    *result = made;
    if (!made) return p->status;
    if (!pairs || pairs->kind == KNI_PICKLE_GLOBAL || pairs->kind == KNI_PICKLE_NONE) return KN_OK;
    if (pairs->kind == KNI_PICKLE_DICT) return append_all(p, made, pairs);
    if (!is_list(pairs)) return kni_pickle_bad(p, "%s of something that has no pairs", global->name);
    for (size_t i = 0; i < pairs->count; i++) {
        if (!is_list(pairs->items[i]) || pairs->items[i]->count != 2)
            return kni_pickle_bad(p, "%s of something that has no pairs", global->name);
        kn_status status = append_all(p, made, pairs->items[i]);
        if (status) return status;
    }
    return KN_OK;
}

static kn_status collect(kni_pickle *p, const value *arguments, kni_pickle_kind kind, value **result)
{
    const value *from = argument(arguments, 0);
    value *made = kni_pickle_make(p, kind);
    *result = made;
    if (!made) return p->status;
    if (!from) return KN_OK;
    if (!is_list(from) && from->kind != KNI_PICKLE_SET)
        return kni_pickle_bad(p, "a list, tuple or set of something that has no items");
    return append_all(p, made, from);
}

static kn_status call_list(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                           value **result)
{
    (void)global;
    return collect(p, arguments, KNI_PICKLE_LIST, result);
}

static kn_status call_tuple(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                            value **result)
{
    (void)global;
    return collect(p, arguments, KNI_PICKLE_TUPLE, result);
}

static kn_status call_set(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                          value **result)
{
    (void)global;
    return collect(p, arguments, KNI_PICKLE_SET, result);
}

/* An object that has nothing but attributes. */
static kn_status call_namespace(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                                value **result)
{
    kn_status status = call_dict(p, global, arguments, result);
    if (!status) (*result)->attributes = true;
    return status;
}

/* int(3), str("cpu"), torch.device("cuda", 0): the first argument. */
static kn_status call_first(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                            value **result)
{
    if (!arguments->count) return kni_pickle_bad(p, "%s without an argument", global->name);
    *result = arguments->items[0];
    return KN_OK;
}

/* _codecs.encode(text, 'latin1') is how protocol 2 writes bytes: each is one character below 256. */
static kn_status call_encode(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                             value **result)
{
    (void)global;
    const value *text = argument(arguments, 0);
    if (!text || text->kind != KNI_PICKLE_TEXT) return kni_pickle_bad(p, "bytes that are no text");
    if (!kni_pickle_copies(p, text->length)) return p->status;
    value *made = kni_pickle_make(p, KNI_PICKLE_BYTES);
    char *bytes = made ? kni_pickle_take(p, text->length + 1) : NULL;
    if (!bytes) return p->status;
    size_t length = 0;
    for (size_t i = 0; i < text->length; i++) {
        unsigned char c = (unsigned char)text->text[i];
        if (c >= 0x80) {
            if ((c & 0xfe) != 0xc2 || i + 1 == text->length) return kni_pickle_bad(p, "bytes above 255");
            c = (unsigned char)((c & 3) << 6 | ((unsigned char)text->text[++i] & 0x3f));
        }
        bytes[length++] = (char)c;
    }
    made->text = bytes;
    made->length = length;
    *result = made;
    return KN_OK;
}

/* ---- tensors */

/* (storage, offset, size, stride, requires_grad, hooks[, dtype]) */
static kn_status make_tensor(kni_pickle *p, const value *arguments, const kni_dtype_word *word,
                             value **result)
{
    const value *storage = argument(arguments, 0);
    kni_pickle_tensor *t = kni_pickle_take(p, sizeof *t);
    value *made = t ? kni_pickle_make(p, KNI_PICKLE_TENSOR) : NULL;
    int32_t strides = 0;
    if (!made) return p->status;
    memset(t, 0, sizeof *t);
    if (!storage || storage->kind != KNI_PICKLE_STORAGE)
        return kni_pickle_bad(p, "a tensor without a storage");
    t->storage = *storage->storage;
    t->word = word ? word : t->storage.word;
    if (!t->word) return kni_pickle_bad(p, "a tensor without a dtype");
    if (!take_integer(argument(arguments, 1), &t->offset) || t->offset < 0)
        return kni_pickle_bad(p, "a tensor with a wrong offset");
    if (!take_sizes(argument(arguments, 2), t->shape.dims, &t->shape.rank) ||
        !take_sizes(argument(arguments, 3), t->strides, &strides) || strides != t->shape.rank)
        return kni_pickle_bad(p, "a tensor with wrong sizes or strides, or more than %d axes", KN_MAX_RANK);
    made->tensor = t;
    return finish(p, made, result);
}

static kn_status call_tensor(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                             value **result)
{
    (void)global;
    return make_tensor(p, arguments, NULL, result);
}

static kn_status call_tensor_v3(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                                value **result)
{
    (void)global;
    const value *dtype = argument(arguments, 6);
    if (!dtype || dtype->kind != KNI_PICKLE_GLOBAL || !dtype->global->word)
        return kni_pickle_bad(p, "a tensor without a dtype");
    return make_tensor(p, arguments, dtype->global->word, result);
}

/* (tensor, requires_grad, hooks[, state]) */
static kn_status call_parameter(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                                value **result)
{
    const value *tensor = argument(arguments, 0);
    if (!tensor || tensor->kind != KNI_PICKLE_TENSOR)
        return kni_pickle_bad(p, "%s of something that is no tensor", global->name);
    *result = arguments->items[0];
    return KN_OK;
}

/* (function, class, arguments, state): a tensor of a subclass is taken as a plain one. */
static kn_status call_from_type(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                                value **result)
{
    const value *function = argument(arguments, 0), *inner = argument(arguments, 2);
    if (!function || function->kind != KNI_PICKLE_GLOBAL || !inner || inner->kind != KNI_PICKLE_TUPLE)
        return kni_pickle_bad(p, "%s with wrong arguments", global->name);
    /* Only the makers of tensors: another call of this function could nest without end. */
    if (function->global->call != call_tensor && function->global->call != call_tensor_v3)
        return kni_pickle_bad(p, "%s of '%s'", global->name, function->global->name);
    return function->global->call(p, function->global, inner, result);
}

/* ---- NumPy's numbers */

static kn_status call_numpy_dtype(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                                  value **result)
{
    (void)global;
    const value *text = argument(arguments, 0);
    value *made = kni_pickle_make(p, KNI_PICKLE_NUMPY_DTYPE);
    if (!made) return p->status;
    if (!text || text->kind != KNI_PICKLE_TEXT) return kni_pickle_bad(p, "a NumPy dtype that is no text");
    made->word = kni_numpy_dtype(text->text, text->length, &made->swapped);
    if (!made->word)
        return kni_pickle_bad(p, "NumPy's dtype '%.*s', which no tensor has",
                              (int)(text->length < 40 ? text->length : 40), text->text);
    return finish(p, made, result);
}

static double real_of(const kni_dtype_word *word, uint64_t bits)
{
    double real = 0;
    float narrow = 0;
    uint32_t low = (uint32_t)bits;
    if (word->dtype == KN_F64) memcpy(&real, &bits, sizeof real);
    if (word->dtype == KN_F32) {
        memcpy(&narrow, &low, sizeof narrow);
        real = narrow;
    }
    return real;
}

/* (dtype, bytes) */
static kn_status call_numpy_scalar(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                                   value **result)
{
    (void)global;
    const value *dtype = argument(arguments, 0), *bytes = argument(arguments, 1);
    if (!dtype || dtype->kind != KNI_PICKLE_NUMPY_DTYPE || !bytes || bytes->kind != KNI_PICKLE_BYTES ||
        bytes->length != (size_t)dtype->word->size || bytes->length > 8)
        return kni_pickle_bad(p, "a NumPy number with wrong arguments");
    uint64_t bits = 0;
    size_t n = bytes->length;
    bool big = dtype->swapped != kni_machine_is_big();
    for (size_t i = 0; i < n; i++) bits |= (uint64_t)(unsigned char)bytes->text[big ? n - 1 - i : i] << 8 * i;
    bool real = dtype->word->dtype == KN_F64 || dtype->word->dtype == KN_F32;
    if (!real && dtype->word->word[0] != 'i' && dtype->word->word[0] != 'u' && dtype->word->word[0] != 'b')
        return kni_pickle_bad(p, "a NumPy number of dtype %s", dtype->word->label);
    value *made = kni_pickle_make(p, real ? KNI_PICKLE_REAL : KNI_PICKLE_INT);
    if (!made) return p->status;
    if (dtype->word->word[0] == 'i' && n < 8 && bits >> (8 * n - 1) & 1) bits |= UINT64_MAX << 8 * n;
    if (real)
        made->real = real_of(dtype->word, bits);
    else
        made->integer = (int64_t)bits;
    if (kni_is_bool(dtype->word->dtype)) made->kind = KNI_PICKLE_BOOL;
    return finish(p, made, result);
}

static kn_status call_numpy_array(kni_pickle *p, const kni_pickle_global *global, const value *arguments,
                                  value **result)
{
    (void)global, (void)arguments;
    return finish(p, kni_pickle_make(p, KNI_PICKLE_NUMPY_ARRAY), result);
}

/* ---- the list */

#define STORAGE(name, index)                                                                                 \
    {"torch", name "Storage", NULL, &words[index]}, {"torch.cuda", name "Storage", NULL, &words[index]},     \
        {"torch", name "Tensor", NULL, NULL},                                                                \
    {                                                                                                        \
        "torch.cuda", name "Tensor", NULL, NULL                                                              \
    }
#define TORCH_DTYPE(name, index)                                                                             \
    {                                                                                                        \
        "torch", name, NULL, &words[index]                                                                   \
    }
#define BUILTIN(name, call)                                                                                  \
    {"builtins", name, call, NULL}, { "__builtin__", name, call, NULL }
#define NUMPY(part, name, call)                                                                              \
    {"numpy.core." part, name, call, NULL}, { "numpy._core." part, name, call, NULL }

static const kni_pickle_global globals[] = {
    {"torch._utils", "_rebuild_tensor_v2", call_tensor, NULL},
    {"torch._utils", "_rebuild_tensor_v3", call_tensor_v3, NULL},
    {"torch._utils", "_rebuild_tensor", call_tensor, NULL},
    {"torch._utils", "_rebuild_parameter", call_parameter, NULL},
    {"torch._utils", "_rebuild_parameter_with_state", call_parameter, NULL},
    {"torch._tensor", "_rebuild_from_type_v2", call_from_type, NULL},
    {"torch", "Tensor", NULL, NULL},
    {"torch.nn.parameter", "Parameter", NULL, NULL},
    {"torch.nn.parameter", "Buffer", NULL, NULL},
    {"torch", "Size", call_tuple, NULL},
    {"torch", "device", call_first, NULL},
    {"torch.storage", "UntypedStorage", NULL, NULL},
    {"torch", "UntypedStorage", NULL, NULL},
    {"torch.storage", "TypedStorage", NULL, NULL},
    {"torch.storage", "_TypedStorage", NULL, NULL},
    {"torch.storage", "_UntypedStorage", NULL, NULL},
    STORAGE("Double", 0),
    STORAGE("Float", 1),
    STORAGE("Half", 2),
    STORAGE("BFloat16", 3),
    STORAGE("Long", 4),
    STORAGE("Int", 5),
    STORAGE("Short", 6),
    STORAGE("Char", 7),
    STORAGE("Byte", 8),
    STORAGE("Bool", 9),
    STORAGE("ComplexFloat", 14),
    STORAGE("ComplexDouble", 15),
    STORAGE("QInt8", 21),
    STORAGE("QUInt8", 22),
    STORAGE("QInt32", 23),
    TORCH_DTYPE("float64", 0),
    TORCH_DTYPE("float32", 1),
    TORCH_DTYPE("float16", 2),
    TORCH_DTYPE("bfloat16", 3),
    TORCH_DTYPE("int64", 4),
    TORCH_DTYPE("int32", 5),
    TORCH_DTYPE("int16", 6),
    TORCH_DTYPE("int8", 7),
    TORCH_DTYPE("uint8", 8),
    TORCH_DTYPE("bool", 9),
    TORCH_DTYPE("uint64", 10),
    TORCH_DTYPE("uint32", 11),
    TORCH_DTYPE("uint16", 12),
    TORCH_DTYPE("complex32", 13),
    TORCH_DTYPE("complex64", 14),
    TORCH_DTYPE("complex128", 15),
    TORCH_DTYPE("float8_e4m3fn", 16),
    TORCH_DTYPE("float8_e5m2", 17),
    TORCH_DTYPE("float8_e4m3fnuz", 18),
    TORCH_DTYPE("float8_e5m2fnuz", 19),
    TORCH_DTYPE("float8_e8m0fnu", 20),
    TORCH_DTYPE("float4_e2m1fn_x2", 24),
    {"collections", "OrderedDict", call_dict, NULL},
    {"collections", "defaultdict", call_dict, NULL},
    {"argparse", "Namespace", call_namespace, NULL},
    {"types", "SimpleNamespace", call_namespace, NULL},
    {"_codecs", "encode", call_encode, NULL},
    BUILTIN("dict", call_dict),
    BUILTIN("list", call_list),
    BUILTIN("tuple", call_tuple),
    BUILTIN("set", call_set),
    BUILTIN("frozenset", call_set),
    BUILTIN("int", call_first),
    BUILTIN("float", call_first),
    BUILTIN("bool", call_first),
    BUILTIN("str", call_first),
    BUILTIN("bytes", call_first),
    BUILTIN("bytearray", call_first),
    NUMPY("multiarray", "scalar", call_numpy_scalar),
    NUMPY("multiarray", "_reconstruct", call_numpy_array),
    NUMPY("numeric", "_frombuffer", call_numpy_array),
    {"numpy", "ndarray", NULL, NULL},
    {"numpy", "dtype", call_numpy_dtype, NULL},
};

static bool same(const char *known, const char *text, size_t length)
{
    return strlen(known) == length && !memcmp(known, text, length);
}

const kni_pickle_global *kni_pickle_find_global(const char *module, size_t module_length, const char *name,
                                                size_t name_length)
{
    for (size_t i = 0; i < sizeof globals / sizeof *globals; i++)
        if (same(globals[i].name, name, name_length) && same(globals[i].module, module, module_length))
            return &globals[i];
    return NULL;
}

/* ---- states */

kn_status kni_pickle_build(kni_pickle *p, value *object, const value *state)
{
    switch (object->kind) {
    case KNI_PICKLE_DICT: /* other attributes, such as _metadata of a state_dict, are no content */
        return state->kind == KNI_PICKLE_DICT && object->attributes ? append_all(p, object, state) : KN_OK;
    case KNI_PICKLE_NUMPY_DTYPE: /* (version, byte order, ...) */
        if (is_list(state) && state->count > 1 && state->items[1]->kind == KNI_PICKLE_TEXT &&
            state->items[1]->length == 1) {
            char order = state->items[1]->text[0];
            object->swapped = (order == '<' || order == '>') && (order == '>') != kni_machine_is_big();
            return KN_OK;
        }
        return kni_pickle_bad(p, "a NumPy dtype with a wrong state");
    case KNI_PICKLE_NUMPY_ARRAY:
    case KNI_PICKLE_TENSOR:
        return KN_OK;
    default:
        return kni_pickle_bad(p, "a state for a value that takes none");
    }
}
