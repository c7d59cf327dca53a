/* Values as ONNX's own messages (.pb): tensors of numbers and strings, sequences, optionals and maps, as kn_onnx_value_read reads them. */
#define KN_NO_SITES 1 /* the line of a failure would be the tool's own */
#include "kiln.h"
#include "run_files.h"
#include <kn/indexing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers that ONNX gives element types, and kinds of what sequences and optionals hold. */
enum { STRINGS = 8, INT64 = 7, HOLDS_TENSORS = 1, HOLDS_SEQUENCES = 3, HOLDS_MAPS = 4, HOLDS_OPTIONALS = 5 };

static const struct {
    kn_dtype dtype;
    int number;
} types[] = {{KN_F32, 1},
             {KN_U8, 2},
             {KN_I8, 3},
             {KN_U16, 4},
             {KN_I16, 5},
             {KN_I32, 6},
             {KN_I64, 7},
             {KN_BOOL, 9},
             {KN_F16, 10},
             {KN_F64, 11},
             {KN_U32, 12},
             {KN_U64, 13},
             {KN_BF16, 16},
             {KN_F8_E4M3, 17},
             {KN_F8_E4M3_FNUZ, 18},
             {KN_F8_E5M2, 19},
             {KN_F8_E5M2_FNUZ, 20},
             {KN_E8M0, 24}};

/* ---- fields */

typedef struct bytes_made {
    char *data;
    size_t length, room;
    bool failed; /* there is no memory */
} bytes_made;

static void append(bytes_made *out, const void *data, size_t bytes)
{
    if (out->length + bytes > out->room) {
        size_t room = 2 * (out->length + bytes) + 64;
        char *more = realloc(out->data, room);
        out->failed |= !more;
        if (!more) return;
        out->data = more;
        out->room = room;
    }
    if (bytes) memcpy(out->data + out->length, data, bytes);
    out->length += bytes;
}

static void clear(bytes_made *out)
{
    free(out->data);
    *out = (bytes_made){0};
}

static void put_varint(bytes_made *out, uint64_t value)
{
    unsigned char byte;
    do {
        byte = (unsigned char)(value & 127);
        value >>= 7;
        if (value) byte |= 128;
        append(out, &byte, 1);
    } while (value);
}

static void put_whole(bytes_made *out, int field, int64_t value)
{
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, (uint64_t)value);
}

static void put_bytes(bytes_made *out, int field, const void *data, size_t bytes)
{
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, bytes);
    append(out, data, bytes);
}

/* A message as a field of another; it is freed. */
static void put_message(bytes_made *out, int field, bytes_made *inner)
{
    out->failed |= inner->failed;
    put_bytes(out, field, inner->data, inner->length);
    clear(inner);
}

/* ---- messages. All return false with the failure told. */

static bool write_value(bytes_made *out, kn_onnx_value value);

static bool write_strings(bytes_made *out, kn_onnx_value value)
{
    kn_shape shape = kn_onnx_value_shape(value);
    for (int32_t a = 0; a < shape.rank; a++) put_whole(out, 1, shape.dims[a]);
    put_whole(out, 2, STRINGS);
    for (int64_t i = 0, n = kn_onnx_value_count(value); i < n; i++) {
        const char *text;
        size_t bytes;
        if (kn_onnx_value_string(value, i, &text, &bytes)) return false;
        put_bytes(out, 6, text, bytes);
    }
    return true;
}

static bool write_tensor(bytes_made *out, kn_tensor t)
{
    t = kn_keep(t);
    int number = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == kn_dtype_of(t)) number = types[i].number;
    int64_t bytes = kn_ok(t) ? kn_dtype_bytes(kn_dtype_of(t), kn_count(t)) : 0;
    void *data = number && bytes >= 0 ? malloc((size_t)bytes + 1) : NULL;
    bool good = data && kn_read(t, data, (size_t)bytes) == KN_OK;
    if (good) {
        for (int32_t a = 0; a < kn_rank(t); a++) put_whole(out, 1, kn_size(t, a));
        put_whole(out, 2, number);
        put_bytes(out, 9, data, (size_t)bytes);
    } else if (!number) {
        fprintf(stderr, "kiln run: %s cannot be written as .pb\n", kn_dtype_name(kn_dtype_of(t)));
    }
    free(data);
    kn_drop(t);
    return good;
}

/* A sequence or an optional, whose message says what it holds. */
static bool write_list(bytes_made *out, kn_onnx_value value)
{
    static const struct {
        int holds, field;
    } kinds[] = {[KN_ONNX_TENSOR] = {HOLDS_TENSORS, 3},
                 [KN_ONNX_STRINGS] = {HOLDS_TENSORS, 3},
                 [KN_ONNX_SEQUENCE] = {HOLDS_SEQUENCES, 5},
                 [KN_ONNX_MAP] = {HOLDS_MAPS, 6},
                 [KN_ONNX_OPTIONAL] = {HOLDS_OPTIONALS, 7}};
    bool good = true;
    for (int64_t i = 0, n = kn_onnx_value_count(value); i < n && good; i++) {
        kn_onnx_value item = kn_onnx_value_item(value, i);
        kn_onnx_kind kind = item ? kn_onnx_value_kind(item) : KN_ONNX_NOTHING;
        good = (size_t)kind < sizeof kinds / sizeof *kinds && kinds[kind].holds;
        bytes_made inner = {0};
        if (good && i == 0) put_whole(out, 2, kinds[kind].holds);
        good = good && write_value(&inner, item);
        if (good) put_message(out, kinds[kind].field, &inner);
        clear(&inner);
        kn_onnx_value_free(item);
    }
    if (good && kn_onnx_value_count(value) == 0) put_whole(out, 2, HOLDS_TENSORS);
    return good;
}

/* One value of a map. */
static bool write_element(bytes_made *out, kn_onnx_value values, int64_t i)
{
    const char *text;
    size_t bytes;
    if (kn_onnx_value_kind(values) == KN_ONNX_TENSOR)
        return write_tensor(out, kn_select(kn_onnx_value_as_tensor(values), 0, i));
    if (kn_onnx_value_string(values, i, &text, &bytes)) return false;
    put_whole(out, 2, STRINGS);
    put_bytes(out, 6, text, bytes);
    return true;
}

static bool write_map(bytes_made *out, kn_onnx_value value)
{
    kn_onnx_value keys = kn_onnx_value_item(value, 0), values = kn_onnx_value_item(value, 1);
    bytes_made list = {0}, inner = {0};
    bool texts = keys && kn_onnx_value_kind(keys) == KN_ONNX_STRINGS, good = keys && values;
    int64_t n = good ? kn_onnx_value_count(keys) : 0;
    int64_t *numbers = malloc(((size_t)n + 1) * sizeof *numbers);
    good = good && numbers;
    if (good && !texts)
        good =
            kn_read_as(kn_onnx_value_as_tensor(keys), KN_I64, numbers, (size_t)n * sizeof *numbers) == KN_OK;
    put_whole(out, 2, texts ? STRINGS : INT64);
    for (int64_t i = 0; i < n && good; i++) {
        const char *text;
        size_t bytes;
        if (!texts)
            put_whole(out, 3, numbers[i]);
        else if ((good = kn_onnx_value_string(keys, i, &text, &bytes) == KN_OK))
            put_bytes(out, 4, text, bytes);
    }
    put_whole(&list, 2, HOLDS_TENSORS);
    for (int64_t i = 0; i < n && good; i++) {
        good = write_element(&inner, values, i);
        if (good) put_message(&list, 3, &inner);
    }
    if (good) put_message(out, 5, &list);
    clear(&inner);
    clear(&list);
    kn_onnx_value_free(keys);
    kn_onnx_value_free(values);
    free(numbers);
    return good;
}

static bool write_value(bytes_made *out, kn_onnx_value value)
{
    switch (kn_onnx_value_kind(value)) {
    case KN_ONNX_TENSOR:
        return write_tensor(out, kn_onnx_value_as_tensor(value));
    case KN_ONNX_STRINGS:
        return write_strings(out, value);
    case KN_ONNX_MAP:
        return write_map(out, value);
    default:
        return write_list(out, value);
    }
}

int kiln_write_value(const char *path, kn_onnx_value value)
{
    bytes_made out = {0};
    if (!write_value(&out, value) || out.failed) {
        clear(&out);
        return kiln_run_failed();
    }
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(out.data ? out.data : "", 1, out.length, f) == out.length;
    if (f && fclose(f)) good = false;
    clear(&out);
    if (!good) fprintf(stderr, "kiln run: cannot write '%s'\n", path);
    return !good;
}
