/* MapProto becomes two tensors of rank 1: its keys, strings or i64, and its values. */
#include "onnx/read/model_reader.h"
#include <string.h>

enum { KEY_TYPE, KEYS, STRING_KEYS, VALUES, SLOTS };
static const kni_message map_message = {"a map",
                                        SLOTS,
                                        {
                                            [KEY_TYPE] = {2, KNI_WIRE_VARINT, KNI_FIELD_ONE},
                                            [KEYS] = {3, KNI_WIRE_VARINT, KNI_FIELD_LIST},
                                            [STRING_KEYS] = {4, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                            [VALUES] = {5, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
                                        }};

/* The values are a sequence, which holds a tensor for each of them. */
enum { TENSORS, VALUE_SLOTS };
static const kni_message values_message = {
    "the values of a map", VALUE_SLOTS, {[TENSORS] = {3, KNI_WIRE_BYTES, KNI_FIELD_LIST}}};

static kn_status make_list(kni_model_reader *r, int32_t type, int64_t n, kni_onnx_tensor *list)
{
    int64_t *size = kni_onnx_arena_take(r->keep, 1, sizeof *size);
    if (!size) return kni_reader_memory(r);
    *size = n;
    *list = (kni_onnx_tensor){.name = "", .type = type, .rank = 1, .sizes = size, .count = n};
    return KN_OK;
}

static kn_status read_texts(kni_model_reader *r, const kni_message_slot *slot, kni_onnx_tensor *keys)
{
    kni_onnx_text *texts = kni_onnx_arena_take(r->keep, slot->count, sizeof *texts);
    kn_status status =
        texts ? make_list(r, KNI_ONNX_STRING, (int64_t)slot->count, keys) : kni_reader_memory(r);
    for (size_t i = 0; i < slot->count && !status; i++)
        status = kni_piece_text(r, &slot->pieces[i], &texts[i]);
    keys->strings = texts;
    return status;
}

static kn_status read_keys(kni_model_reader *r, const kni_message_slot *s, kni_onnx_tensor *keys)
{
    const int64_t *ints = NULL;
    int64_t n = 0;
    if (kni_slot_int(&s[KEY_TYPE]) == KNI_ONNX_STRING) return read_texts(r, &s[STRING_KEYS], keys);
    kn_status status = kni_slot_ints(r, &s[KEYS], &ints, &n);
    if (!status) status = make_list(r, KNI_ONNX_INT64, n, keys);
    keys->data = ints;
    keys->bytes = (size_t)n * sizeof *ints;
    return status;
}

/* The elements of all parts one after the other. */
static kn_status join(kni_model_reader *r, const kni_onnx_tensor *parts, size_t n, kni_onnx_tensor *values)
{
    bool texts = values->type == KNI_ONNX_STRING;
    size_t size = texts ? sizeof(kni_onnx_text) : (size_t)kni_onnx_type_bits(values->type) / 8;
    char *all = kni_onnx_arena_take(r->keep, (size_t)values->count, size ? size : 1), *end = all;
    if (!all) return kni_reader_memory(r);
    if (!size) return kni_reader_damaged(r, "its values have fewer than 8 bits");
    for (size_t i = 0; i < n; i++) {
        size_t bytes = (size_t)parts[i].count * size;
        if (bytes) memcpy(end, texts ? (const void *)parts[i].strings : parts[i].data, bytes);
        end += bytes;
    }
    if (texts) {
        values->strings = (const kni_onnx_text *)(const void *)all;
    } else {
        values->data = all;
        values->bytes = (size_t)values->count * size;
    }
    return KN_OK;
}

static kn_status read_values(kni_model_reader *r, const kni_message_slot *slot, int64_t n_keys,
                             kni_onnx_tensor *values)
{
    kni_message_slot s[VALUE_SLOTS] = {{{0}, NULL, 0}};
    kn_status status = slot->count ? kni_message_read(r, &values_message, slot->last, s) : KN_OK;
    size_t n = s[TENSORS].count;
    kni_onnx_tensor *parts = kni_onnx_arena_take(r->scratch, n, sizeof *parts);
    if (!parts) return kni_reader_memory(r);
    int64_t count = 0;
    for (size_t i = 0; i < n && !status; i++) {
        status = kni_read_tensor(r, s[TENSORS].pieces[i], &parts[i]);
        if (!status && (parts[i].type != parts[0].type || parts[i].count > n_keys - count))
            status = kni_reader_damaged(r, "its values are of several types, or more than its %lld keys",
                                        (long long)n_keys);
        if (!status) count += parts[i].count;
    }
    if (!status && count != n_keys)
        status =
            kni_reader_damaged(r, "it has %lld keys and %lld values", (long long)n_keys, (long long)count);
    if (!status) status = make_list(r, n ? parts[0].type : KNI_ONNX_FLOAT, count, values);
    return status ? status : join(r, parts, n, values);
}

kn_status kni_read_map(kni_model_reader *r, kni_message_piece piece, kni_onnx_tensor *keys,
                       kni_onnx_tensor *values)
{
    kni_message_slot s[SLOTS];
    kn_status status = kni_message_read(r, &map_message, piece, s);
    kni_reader_place place = {r->place, "map", ""};
    r->place = &place;
    if (!status) status = read_keys(r, s, keys);
    if (!status) status = read_values(r, &s[VALUES], keys->count, values);
    r->place = place.outer;
    return status;
}
