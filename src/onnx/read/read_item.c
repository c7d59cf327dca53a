/* Tensors, sequences, optionals and maps in files of their own. */
#include "onnx/read/model_reader.h"
#include <string.h>

/* Sequences and optionals in each other. */
enum { MAX_ITEMS = 16 };

/* Both messages have the kind of what they hold in field 2 and have it in a field for its kind; those of an optional are single. */
enum { NAME, HOLDS, TENSORS, SPARSES, SEQUENCES, MAPS, OPTIONALS, SLOTS };
static const kni_message item_message = {"a sequence or an optional",
                                         SLOTS,
                                         {
                                             [NAME] = {1, KNI_WIRE_BYTES, KNI_FIELD_ONE},
                                             [HOLDS] = {2, KNI_WIRE_VARINT, KNI_FIELD_ONE},
                                             [TENSORS] = {3, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                             [SPARSES] = {4, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                             [SEQUENCES] = {5, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                             [MAPS] = {6, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                             [OPTIONALS] = {7, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                         }};

/* By the numbers that field 2 has. */
static const struct {
    kni_onnx_kind kind;
    int32_t slot;
} held[] = {{KNI_ONNX_UNKNOWN, 0},          {KNI_ONNX_TENSOR, TENSORS}, {KNI_ONNX_SPARSE, SPARSES},
            {KNI_ONNX_SEQUENCE, SEQUENCES}, {KNI_ONNX_MAP, MAPS},       {KNI_ONNX_OPTIONAL, OPTIONALS}};

static kn_status read_item(kni_model_reader *r, kni_onnx_kind kind, kni_message_piece piece,
                           kni_onnx_item *item);

static kn_status read_held(kni_model_reader *r, kni_onnx_kind kind, const kni_message_slot *slot,
                           kni_onnx_item *item)
{
    kni_onnx_item *items = kni_onnx_arena_take(r->keep, slot->count, sizeof *items);
    kn_status status = items ? KN_OK : kni_reader_memory(r);
    if (r->types == MAX_ITEMS) return kni_reader_damaged(r, "sequences are nested too deeply");
    r->types++;
    for (size_t i = 0; i < slot->count && !status; i++)
        status = read_item(r, kind, slot->pieces[i], &items[i]);
    r->types--;
    item->items = items;
    item->count = (int64_t)slot->count;
    return status;
}

/* A map holds its keys and its values. */
static kn_status read_map(kni_model_reader *r, kni_message_piece piece, kni_onnx_item *item)
{
    kni_onnx_item *both = kni_onnx_arena_take(r->keep, 2, sizeof *both);
    if (!both) return kni_reader_memory(r);
    both[0].kind = both[1].kind = KNI_ONNX_TENSOR;
    item->items = both;
    item->count = 2;
    return kni_read_map(r, piece, &both[0].tensor, &both[1].tensor);
}

static kn_status read_item(kni_model_reader *r, kni_onnx_kind kind, kni_message_piece piece,
                           kni_onnx_item *item)
{
    kni_message_slot s[SLOTS];
    item->kind = kind == KNI_ONNX_SPARSE ? KNI_ONNX_TENSOR : kind; /* sparse tensors become dense */
    if (kind == KNI_ONNX_SPARSE) return kni_read_sparse(r, piece, &item->tensor);
    if (kind == KNI_ONNX_TENSOR) return kni_read_tensor(r, piece, &item->tensor);
    if (kind == KNI_ONNX_MAP) return read_map(r, piece, item);
    kn_status status = kni_message_read(r, &item_message, piece, s);
    if (status) return status;
    uint64_t holds = s[HOLDS].last.value;
    if (holds >= sizeof held / sizeof *held)
        return kni_reader_damaged(r, "it holds things of kind %llu", (unsigned long long)holds);
    if (!holds || !s[held[holds].slot].count) return KN_OK;
    if (kind == KNI_ONNX_OPTIONAL && s[held[holds].slot].count > 1)
        return kni_reader_damaged(r, "an optional holds %zu things", s[held[holds].slot].count);
    return read_held(r, held[holds].kind, &s[held[holds].slot], item);
}

kn_status kni_onnx_item_read(kni_onnx_arena *arena, const void *data, size_t bytes,
                             const kni_onnx_declared *declared, const char *file, kni_onnx_item *item)
{
    kni_model_reader r = {arena, kni_onnx_arena_new(), file, NULL, NULL, NULL, 0, 0};
    kni_onnx_kind kind = declared && declared->kind ? declared->kind : KNI_ONNX_TENSOR;
    memset(item, 0, sizeof *item);
    kn_status status =
        r.scratch ? read_item(&r, kind, (kni_message_piece){data, bytes}, item) : kni_reader_memory(&r);
    kni_onnx_arena_free(r.scratch);
    return status;
}
