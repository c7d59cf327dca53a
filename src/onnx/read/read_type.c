/* TypeProto and ValueInfoProto: what is declared of a value. Shapes that Kiln cannot have are as good as none, because declarations are
   hints. */
#include "onnx/read/model_reader.h"
#include <string.h>

enum { TENSOR, SEQUENCE, MAP, SPARSE, OPTIONAL, TYPE_SLOTS };
static const kni_message type_message = {"a type",
                                         TYPE_SLOTS,
                                         {
                                             [TENSOR] = {1, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
                                             [SEQUENCE] = {4, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
                                             [MAP] = {5, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
                                             [SPARSE] = {8, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
                                             [OPTIONAL] = {9, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
                                         }};

enum { ELEMENT, SHAPE };
static const kni_message tensor_type_message = {
    "a tensor's type",
    2,
    {[ELEMENT] = {1, KNI_WIRE_VARINT, KNI_FIELD_ONE}, [SHAPE] = {2, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE}}};
static const kni_message shape_message = {"a shape", 1, {{1, KNI_WIRE_BYTES, KNI_FIELD_LIST}}};

enum { DIM_VALUE, DIM_NAME };
static const kni_message dim_message = {
    "a size",
    2,
    {[DIM_VALUE] = {1, KNI_WIRE_VARINT, KNI_FIELD_ONE}, [DIM_NAME] = {2, KNI_WIRE_BYTES, KNI_FIELD_ONE}}};

static const kni_message sequence_message = {
    "a sequence's type", 1, {{1, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE}}};

enum { MAP_KEY, MAP_VALUE };
static const kni_message map_message = {
    "a map's type",
    2,
    {[MAP_KEY] = {1, KNI_WIRE_VARINT, KNI_FIELD_ONE}, [MAP_VALUE] = {2, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE}}};

/* 0 for numbers that are no type's. */
static int32_t type_number(const kni_message_slot *slot)
{
    int64_t number = kni_slot_int(slot);
    return number > 0 && number <= INT32_MAX ? (int32_t)number : KNI_ONNX_UNDEFINED;
}

static kn_status read_dim(kni_model_reader *r, kni_message_piece piece, void *out)
{
    kni_message_slot s[2];
    kni_onnx_dim *dim = out;
    kn_status status = kni_message_read(r, &dim_message, piece, s);
    if (status) return status;
    dim->value = s[DIM_VALUE].count && kni_slot_int(&s[DIM_VALUE]) >= 0 ? kni_slot_int(&s[DIM_VALUE]) : -1;
    if (!s[DIM_NAME].last.value || dim->value >= 0) return KN_OK;
    return kni_slot_name(r, &s[DIM_NAME], &dim->name);
}

static kn_status read_shape(kni_model_reader *r, kni_message_piece piece, kni_onnx_declared *d)
{
    kni_message_slot s[1];
    const kni_onnx_dim *dims = NULL;
    kn_status status = kni_message_read(r, &shape_message, piece, s);
    if (status || s[0].count > KN_MAX_RANK) return status;
    status = kni_read_list(r, r->keep, s, sizeof *dims, read_dim, &dims, &d->rank);
    d->dims = dims;
    return status;
}

static kn_status read_tensor_type(kni_model_reader *r, kni_message_piece piece, kni_onnx_declared *d)
{
    kni_message_slot s[2];
    kn_status status = kni_message_read(r, &tensor_type_message, piece, s);
    if (status) return status;
    d->type = type_number(&s[ELEMENT]);
    return s[SHAPE].count ? read_shape(r, s[SHAPE].last, d) : KN_OK;
}

static kn_status read_inner(kni_model_reader *r, const kni_message_slot *slot, kni_onnx_declared *d)
{
    if (!slot->count) return KN_OK;
    if (r->types == KNI_MAX_TYPES) return kni_reader_damaged(r, "types are nested too deeply");
    kni_onnx_declared *inner = kni_onnx_arena_take(r->keep, 1, sizeof *inner);
    if (!inner) return kni_reader_memory(r);
    d->inner = inner;
    r->types++;
    kn_status status = kni_read_type(r, slot->last, inner);
    r->types--;
    return status;
}

static kn_status read_sequence_type(kni_model_reader *r, kni_message_piece piece, kni_onnx_declared *d)
{
    kni_message_slot s[1];
    kn_status status = kni_message_read(r, &sequence_message, piece, s);
    return status ? status : read_inner(r, s, d);
}

static kn_status read_map_type(kni_model_reader *r, kni_message_piece piece, kni_onnx_declared *d)
{
    kni_message_slot s[2];
    kn_status status = kni_message_read(r, &map_message, piece, s);
    if (status) return status;
    d->type = type_number(&s[MAP_KEY]);
    return read_inner(r, &s[MAP_VALUE], d);
}

static const struct {
    kni_onnx_kind kind;
    kn_status (*read)(kni_model_reader *r, kni_message_piece piece, kni_onnx_declared *d);
} kinds[TYPE_SLOTS] = {
    [TENSOR] = {KNI_ONNX_TENSOR, read_tensor_type},
    [SEQUENCE] = {KNI_ONNX_SEQUENCE, read_sequence_type},
    [MAP] = {KNI_ONNX_MAP, read_map_type},
    [SPARSE] = {KNI_ONNX_SPARSE, read_tensor_type},
    [OPTIONAL] = {KNI_ONNX_OPTIONAL, read_sequence_type},
};

kn_status kni_read_type(kni_model_reader *r, kni_message_piece piece, kni_onnx_declared *d)
{
    kni_message_slot s[TYPE_SLOTS];
    memset(d, 0, sizeof *d);
    d->rank = -1;
    kn_status status = kni_message_read(r, &type_message, piece, s);
    for (int i = 0; i < TYPE_SLOTS && !status; i++) {
        if (!s[i].count) continue;
        if (d->kind) return kni_reader_damaged(r, "a type is of two kinds");
        d->kind = kinds[i].kind;
        status = kinds[i].read(r, s[i].last, d);
    }
    return status;
}

enum { VALUE_NAME, VALUE_TYPE };
static const kni_message value_message = {"a declared value",
                                          2,
                                          {[VALUE_NAME] = {1, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                           [VALUE_TYPE] = {2, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE}}};

kn_status kni_read_value(kni_model_reader *r, kni_message_piece piece, kni_raw_value *value)
{
    kni_message_slot s[2];
    kn_status status = kni_message_read(r, &value_message, piece, s);
    if (!status) status = kni_slot_name(r, &s[VALUE_NAME], &value->name);
    if (status || !s[VALUE_TYPE].count) return status;
    kni_onnx_declared *declared = kni_onnx_arena_take(r->keep, 1, sizeof *declared);
    if (!declared) return kni_reader_memory(r);
    value->declared = declared;
    kni_reader_place place = {r->place, "value", value->name};
    r->place = &place;
    status = kni_read_type(r, s[VALUE_TYPE].last, declared);
    r->place = place.outer;
    return status;
}
