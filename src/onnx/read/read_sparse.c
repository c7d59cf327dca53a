/* SparseTensorProto becomes a dense tensor, where that is not much larger than what the file has of it. */
#include "onnx/read/model_reader.h"
#include <string.h>

/* Bytes of a dense tensor for each byte of the sparse one; a small one is let through. */
enum { BYTES_PER_BYTE = 256, SMALL = 4096 };

enum { VALUES, INDICES, DIMS, SLOTS };
static const kni_message sparse_message = {"a sparse tensor",
                                           SLOTS,
                                           {
                                               [VALUES] = {1, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
                                               [INDICES] = {2, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
                                               [DIMS] = {3, KNI_WIRE_VARINT, KNI_FIELD_LIST},
                                           }};

static int64_t index_at(const kni_onnx_tensor *indices, int64_t i)
{
    int64_t index;
    memcpy(&index, (const char *)indices->data + (size_t)i * sizeof index, sizeof index);
    return index;
}

/* Indices are places in the whole tensor, or a row of one for each axis. */
static kn_status check_parts(kni_model_reader *r, const kni_onnx_tensor *values,
                             const kni_onnx_tensor *indices, const kni_onnx_tensor *dense)
{
    bool flat = indices->rank == 1 && indices->count == values->count;
    bool rows = indices->rank == 2 && indices->sizes[0] == values->count && indices->sizes[1] == dense->rank;
    if (values->rank != 1 || indices->type != KNI_ONNX_INT64 || !(flat || rows))
        return kni_reader_damaged(r, "its values and their indices do not belong together");
    if (kni_onnx_type_bits(values->type) < 8)
        return kni_reader_failure(r, KN_ERROR_UNSUPPORTED, "sparse tensors of %s are not read",
                                  kni_onnx_type_name(values->type));
    return KN_OK;
}

/* -1: outside. */
static int64_t place_of(const kni_onnx_tensor *indices, const kni_onnx_tensor *dense, int64_t i)
{
    int64_t place = 0;
    if (indices->rank == 1) {
        place = index_at(indices, i);
        return place < dense->count ? place : -1;
    }
    for (int32_t axis = 0; axis < dense->rank; axis++) {
        int64_t index = index_at(indices, i * dense->rank + axis);
        if (index < 0 || index >= dense->sizes[axis]) return -1;
        place = place * dense->sizes[axis] + index;
    }
    return place;
}

static kn_status fill(kni_model_reader *r, const kni_onnx_tensor *values, const kni_onnx_tensor *indices,
                      kni_onnx_tensor *dense)
{
    size_t size = (size_t)kni_onnx_type_bits(values->type) / 8;
    unsigned char *data = kni_onnx_arena_take(r->keep, dense->bytes, 1);
    if (!data) return kni_reader_memory(r);
    dense->data = data;
    for (int64_t i = 0; i < values->count; i++) {
        int64_t place = place_of(indices, dense, i);
        if (place < 0) return kni_reader_damaged(r, "index %lld of it lies outside", (long long)i);
        memcpy(data + (size_t)place * size, (const char *)values->data + (size_t)i * size, size);
    }
    return KN_OK;
}

static kn_status read_parts(kni_model_reader *r, const kni_message_slot *s, size_t bytes,
                            kni_onnx_tensor *dense)
{
    kni_onnx_tensor values, indices;
    int64_t rank;
    if (!s[VALUES].count || !s[INDICES].count) return kni_reader_damaged(r, "it has no values or no indices");
    kn_status status = kni_read_tensor(r, s[VALUES].last, &values);
    if (!status) status = kni_read_tensor(r, s[INDICES].last, &indices);
    if (!status) status = kni_slot_ints(r, &s[DIMS], &dense->sizes, &rank);
    if (!status) status = kni_reader_count(r, (size_t)rank, &dense->rank);
    if (status) return status;
    dense->name = values.name;
    dense->type = values.type;
    status = kni_tensor_measure(r, dense);
    if (!status) status = check_parts(r, &values, &indices, dense);
    if (status) return status;
    /* Bytes of external files do not count: a small model could ask for any memory with them. */
    if (dense->bytes > SMALL && (dense->bytes - SMALL) / BYTES_PER_BYTE > bytes)
        return kni_reader_failure(r, KN_ERROR_UNSUPPORTED,
                                  "it is sparse, and dense it would be %zu bytes, more than %d times as many",
                                  dense->bytes, BYTES_PER_BYTE);
    return fill(r, &values, &indices, dense);
}

kn_status kni_read_sparse(kni_model_reader *r, kni_message_piece piece, kni_onnx_tensor *dense)
{
    kni_message_slot s[SLOTS];
    memset(dense, 0, sizeof *dense);
    kn_status status = kni_message_read(r, &sparse_message, piece, s);
    kni_reader_place place = {r->place, "sparse tensor", ""};
    r->place = &place;
    if (!status) status = read_parts(r, s, (size_t)piece.value, dense);
    r->place = place.outer;
    return status;
}
