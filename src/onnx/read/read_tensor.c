/* TensorProto: elements stay where they are in the file if their bytes are those of the type, and are converted otherwise. No more memory
   is taken than the bytes of the message account for. */
#include "onnx/read/model_reader.h"
#include <string.h>

enum {
    DIMS,
    TYPE,
    SEGMENT,
    FLOATS,
    INT32S,
    STRINGS,
    INT64S,
    NAME,
    RAW,
    DOUBLES,
    UINT64S,
    EXTERNAL,
    LOCATION,
    SLOTS
};

static const kni_message tensor_message = {
    "a tensor",
    SLOTS,
    {
        [DIMS] = {1, KNI_WIRE_VARINT, KNI_FIELD_LIST},
        [TYPE] = {2, KNI_WIRE_VARINT, KNI_FIELD_ONE},
        [SEGMENT] = {3, KNI_WIRE_BYTES, KNI_FIELD_ONE},
        [FLOATS] = {4, KNI_WIRE_FIXED32, KNI_FIELD_LIST},
        [INT32S] = {5, KNI_WIRE_VARINT, KNI_FIELD_LIST},
        [STRINGS] = {6, KNI_WIRE_BYTES, KNI_FIELD_LIST},
        [INT64S] = {7, KNI_WIRE_VARINT, KNI_FIELD_LIST},
        [NAME] = {8, KNI_WIRE_BYTES, KNI_FIELD_ONE},
        [RAW] = {9, KNI_WIRE_BYTES, KNI_FIELD_ONE},
        [DOUBLES] = {10, KNI_WIRE_FIXED64, KNI_FIELD_LIST},
        [UINT64S] = {11, KNI_WIRE_VARINT, KNI_FIELD_LIST},
        [EXTERNAL] = {13, KNI_WIRE_BYTES, KNI_FIELD_LIST},
        [LOCATION] = {14, KNI_WIRE_VARINT, KNI_FIELD_ONE},
    },
};

/* Which list has the elements of a type that are not raw, and how many bytes of the element each of its numbers makes. */
typedef struct source_row {
    int32_t slot;
    int32_t width;
    kni_wire_kind kind;
} source_row;

static const source_row sources[KNI_ONNX_TYPE_COUNT] = {
    [KNI_ONNX_FLOAT] = {FLOATS, 4, KNI_WIRE_FIXED32},
    [KNI_ONNX_COMPLEX64] = {FLOATS, 4, KNI_WIRE_FIXED32},
    [KNI_ONNX_DOUBLE] = {DOUBLES, 8, KNI_WIRE_FIXED64},
    [KNI_ONNX_COMPLEX128] = {DOUBLES, 8, KNI_WIRE_FIXED64},
    [KNI_ONNX_INT64] = {INT64S, 8, KNI_WIRE_VARINT},
    [KNI_ONNX_UINT64] = {UINT64S, 8, KNI_WIRE_VARINT},
    [KNI_ONNX_UINT32] = {UINT64S, 4, KNI_WIRE_VARINT},
    [KNI_ONNX_INT32] = {INT32S, 4, KNI_WIRE_VARINT},
    [KNI_ONNX_UINT16] = {INT32S, 2, KNI_WIRE_VARINT},
    [KNI_ONNX_INT16] = {INT32S, 2, KNI_WIRE_VARINT},
    [KNI_ONNX_FLOAT16] = {INT32S, 2, KNI_WIRE_VARINT},
    [KNI_ONNX_BFLOAT16] = {INT32S, 2, KNI_WIRE_VARINT},
    [KNI_ONNX_UINT8] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_INT8] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_BOOL] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_FLOAT8E4M3FN] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_FLOAT8E4M3FNUZ] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_FLOAT8E5M2] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_FLOAT8E5M2FNUZ] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_FLOAT8E8M0] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_UINT4] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_INT4] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_FLOAT4E2M1] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_UINT2] = {INT32S, 1, KNI_WIRE_VARINT},
    [KNI_ONNX_INT2] = {INT32S, 1, KNI_WIRE_VARINT},
};

/* ---- sizes */

kn_status kni_tensor_measure(kni_model_reader *r, kni_onnx_tensor *t)
{
    int64_t count = 1, bits = kni_onnx_type_bits(t->type);
    bool large = false, empty = false;
    if (t->rank > KN_MAX_RANK)
        return kni_reader_failure(r, KN_ERROR_UNSUPPORTED, "it has %d axes; at most %d are possible",
                                  (int)t->rank, KN_MAX_RANK);
    for (int32_t i = 0; i < t->rank; i++) {
        if (t->sizes[i] < 0)
            return kni_reader_damaged(r, "size %lld of axis %d is negative", (long long)t->sizes[i], (int)i);
        empty |= t->sizes[i] == 0;
        large |= __builtin_mul_overflow(count, t->sizes[i] ? t->sizes[i] : 1, &count);
    }
    if (empty) { /* however large the other sizes are */
        count = 0;
        large = false;
    }
    if (large || __builtin_mul_overflow(count, bits ? bits : 8, &bits) || bits > INT64_MAX - 7 ||
        (uint64_t)(bits + 7) / 8 > SIZE_MAX)
        return kni_reader_damaged(r, "its sizes ask for more elements than any memory has");
    t->count = count;
    t->bytes = t->type == KNI_ONNX_STRING ? 0 : (size_t)(bits + 7) / 8;
    return KN_OK;
}

static kn_status read_head(kni_model_reader *r, const kni_message_slot *s, kni_onnx_tensor *t)
{
    int64_t type = kni_slot_int(&s[TYPE]), rank;
    if (s[SEGMENT].count) return kni_reader_failure(r, KN_ERROR_UNSUPPORTED, "it is a segment of a tensor");
    if (type <= KNI_ONNX_UNDEFINED || type >= KNI_ONNX_TYPE_COUNT)
        return kni_reader_failure(r, KN_ERROR_UNSUPPORTED,
                                  "its elements are of type %lld, which is not known", (long long)type);
    t->type = (int32_t)type;
    kn_status status = kni_slot_ints(r, &s[DIMS], &t->sizes, &rank);
    if (status) return status;
    status = kni_reader_count(r, (size_t)rank, &t->rank);
    return status ? status : kni_tensor_measure(r, t);
}

/* ---- elements */

static kn_status wrong_amount(kni_model_reader *r, const kni_onnx_tensor *t, size_t have, size_t want,
                              const char *what)
{
    return kni_reader_damaged(r, "it has %zu %s, but %lld elements of %s ask for %zu", have, what,
                              (long long)t->count, kni_onnx_type_name(t->type), want);
}

static kn_status read_strings(kni_model_reader *r, const kni_message_slot *s, kni_onnx_tensor *t)
{
    if (s[RAW].last.value) return kni_reader_damaged(r, "strings cannot be raw bytes");
    if (s[STRINGS].count != (uint64_t)t->count)
        return wrong_amount(r, t, s[STRINGS].count, (size_t)t->count, "strings");
    kni_onnx_text *strings = kni_onnx_arena_take(r->keep, (size_t)t->count, sizeof *strings);
    kn_status status = strings ? KN_OK : kni_reader_memory(r);
    for (int64_t i = 0; i < t->count && !status; i++)
        status = kni_piece_text(r, &s[STRINGS].pieces[i], &strings[i]);
    t->strings = strings;
    t->data = strings;
    return status;
}

static kn_status read_numbers(kni_model_reader *r, const kni_message_slot *s, kni_onnx_tensor *t)
{
    const source_row *source = &sources[t->type];
    const kni_message_slot *slot = &s[source->slot];
    size_t have = kni_slot_numbers(slot, source->kind), want = t->bytes / (size_t)source->width;
    if (have != want) return wrong_amount(r, t, have, want, "numbers");
    /* Packed floats in one piece are their bytes. */
    if (slot->count == 1 && slot->last.data && source->kind != KNI_WIRE_VARINT &&
        slot->last.value == t->bytes) {
        t->data = slot->last.data;
        return KN_OK;
    }
    void *data = kni_onnx_arena_take(r->keep, t->bytes, 1);
    t->data = data;
    return data ? kni_slot_copy(r, slot, source->kind, source->width, data) : kni_reader_memory(r);
}

/* Truths are 0 and 1 for all who read them, whatever the file has. */
static kn_status tidy_truths(kni_model_reader *r, kni_onnx_tensor *t)
{
    const unsigned char *from = t->data;
    bool tidy = true;
    for (size_t i = 0; i < t->bytes && tidy; i++) tidy = from[i] <= 1;
    if (tidy) return KN_OK;
    unsigned char *to = kni_onnx_arena_take(r->keep, t->bytes, 1);
    if (!to) return kni_reader_memory(r);
    for (size_t i = 0; i < t->bytes; i++) to[i] = from[i] != 0;
    t->data = to;
    return KN_OK;
}

static kn_status read_elements(kni_model_reader *r, const kni_message_slot *s, kni_onnx_tensor *t)
{
    if (s[LOCATION].last.value > 1)
        return kni_reader_failure(r, KN_ERROR_UNSUPPORTED, "its elements are in a place that is not known");
    if (t->type == KNI_ONNX_STRING) return read_strings(r, s, t);
    kn_status status;
    if (s[LOCATION].last.value == 1)
        status = kni_external_data(r, &s[EXTERNAL], t);
    else if (!s[RAW].count || (!s[RAW].last.value && t->bytes))
        status = read_numbers(r, s, t);
    else if (s[RAW].last.value != t->bytes)
        status = wrong_amount(r, t, (size_t)s[RAW].last.value, t->bytes, "bytes");
    else {
        t->data = s[RAW].last.data;
        status = KN_OK;
    }
    return status || t->type != KNI_ONNX_BOOL ? status : tidy_truths(r, t);
}

kn_status kni_read_tensor(kni_model_reader *r, kni_message_piece piece, kni_onnx_tensor *t)
{
    kni_message_slot s[SLOTS];
    memset(t, 0, sizeof *t);
    kn_status status = kni_message_read(r, &tensor_message, piece, s);
    if (!status) status = kni_slot_name(r, &s[NAME], &t->name);
    if (status) return status;
    kni_reader_place place = {r->place, "tensor", t->name};
    r->place = &place;
    status = read_head(r, s, t);
    if (!status) status = read_elements(r, s, t);
    r->place = place.outer;
    return status;
}
