/* AttributeProto: its kind says which field has it, or the field says its kind where the file is as old as that. */
#include "onnx/read/model_reader.h"
#include <string.h>

/* Fields in the order of the table of kinds below. */
enum {
    NAME,
    REFERENCE,
    KIND,
    REAL,
    INT,
    TEXT,
    TENSOR,
    GRAPH,
    SPARSE,
    TYPE,
    REALS,
    INTS,
    TEXTS,
    TENSORS,
    SLOTS
};

static const kni_message attribute_message = {
    "an attribute",
    SLOTS,
    {
        [NAME] = {1, KNI_WIRE_BYTES, KNI_FIELD_ONE},
        [REFERENCE] = {21, KNI_WIRE_BYTES, KNI_FIELD_ONE},
        [KIND] = {20, KNI_WIRE_VARINT, KNI_FIELD_ONE},
        [REAL] = {2, KNI_WIRE_FIXED32, KNI_FIELD_ONE},
        [INT] = {3, KNI_WIRE_VARINT, KNI_FIELD_ONE},
        [TEXT] = {4, KNI_WIRE_BYTES, KNI_FIELD_ONE},
        [TENSOR] = {5, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
        [GRAPH] = {6, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
        [SPARSE] = {22, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
        [TYPE] = {14, KNI_WIRE_BYTES, KNI_FIELD_MESSAGE},
        [REALS] = {7, KNI_WIRE_FIXED32, KNI_FIELD_LIST},
        [INTS] = {8, KNI_WIRE_VARINT, KNI_FIELD_LIST},
        [TEXTS] = {9, KNI_WIRE_BYTES, KNI_FIELD_LIST},
        [TENSORS] = {10, KNI_WIRE_BYTES, KNI_FIELD_LIST},
    },
};

/* The lists that few attributes have. */
enum { GRAPHS, SPARSES, TYPES, MORE_SLOTS };
static const kni_message more_message = {"an attribute",
                                         MORE_SLOTS,
                                         {
                                             [GRAPHS] = {11, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                             [SPARSES] = {23, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                             [TYPES] = {15, KNI_WIRE_BYTES, KNI_FIELD_LIST},
                                         }};

static const struct {
    int32_t kind, slot;
    bool more; /* in the second table */
} kind_rows[] = {
    {KNI_ONNX_ATTRIBUTE_FLOAT, REAL, false},      {KNI_ONNX_ATTRIBUTE_INT, INT, false},
    {KNI_ONNX_ATTRIBUTE_STRING, TEXT, false},     {KNI_ONNX_ATTRIBUTE_TENSOR, TENSOR, false},
    {KNI_ONNX_ATTRIBUTE_GRAPH, GRAPH, false},     {KNI_ONNX_ATTRIBUTE_SPARSE, SPARSE, false},
    {KNI_ONNX_ATTRIBUTE_TYPE, TYPE, false},       {KNI_ONNX_ATTRIBUTE_FLOATS, REALS, false},
    {KNI_ONNX_ATTRIBUTE_INTS, INTS, false},       {KNI_ONNX_ATTRIBUTE_STRINGS, TEXTS, false},
    {KNI_ONNX_ATTRIBUTE_TENSORS, TENSORS, false}, {KNI_ONNX_ATTRIBUTE_GRAPHS, GRAPHS, true},
    {KNI_ONNX_ATTRIBUTE_SPARSES, SPARSES, true},  {KNI_ONNX_ATTRIBUTE_TYPES, TYPES, true},
};
enum { KINDS = sizeof kind_rows / sizeof *kind_rows };

/* ---- lists of things that are messages themselves */

static kn_status one_text(kni_model_reader *r, kni_message_piece piece, void *out)
{
    return kni_piece_text(r, &piece, out);
}
static kn_status one_tensor(kni_model_reader *r, kni_message_piece piece, void *out)
{
    return kni_read_tensor(r, piece, out);
}
static kn_status one_sparse(kni_model_reader *r, kni_message_piece piece, void *out)
{
    return kni_read_sparse(r, piece, out);
}
static kn_status one_type(kni_model_reader *r, kni_message_piece piece, void *out)
{
    return kni_read_type(r, piece, out);
}
static kn_status one_graph(kni_model_reader *r, kni_message_piece piece, void *out)
{
    kni_raw_graph *graph = kni_onnx_arena_take(r->scratch, 1, sizeof *graph);
    if (!graph) return kni_reader_memory(r);
    *(const kni_raw_graph **)out = graph;
    return kni_read_graph(r, piece, graph);
}

static kn_status read_reals(kni_model_reader *r, const kni_message_slot *slot, kni_onnx_attribute *a)
{
    size_t n = kni_slot_numbers(slot, KNI_WIRE_FIXED32);
    float *reals = kni_onnx_arena_take(r->keep, n, sizeof *reals);
    a->floats = reals;
    a->count = (int64_t)n;
    return reals ? kni_slot_copy(r, slot, KNI_WIRE_FIXED32, 4, reals) : kni_reader_memory(r);
}

/* Of one sparse tensor or more nothing is left but dense ones. */
static kn_status read_content(kni_model_reader *r, const kni_message_slot *slot, kni_raw_attribute *raw)
{
    kni_onnx_attribute *a = &raw->read;
    const kni_onnx_text *texts = NULL;
    const kni_onnx_tensor *tensors = NULL;
    const kni_onnx_declared *types = NULL;
    const kni_raw_graph *const *graphs = NULL;
    int32_t n = 0;
    kn_status status;
    switch (a->kind) {
    case KNI_ONNX_ATTRIBUTE_FLOAT:
    case KNI_ONNX_ATTRIBUTE_FLOATS:
        return read_reals(r, slot, a);
    case KNI_ONNX_ATTRIBUTE_INT:
    case KNI_ONNX_ATTRIBUTE_INTS:
        return kni_slot_ints(r, slot, &a->ints, &a->count);
    case KNI_ONNX_ATTRIBUTE_STRING:
    case KNI_ONNX_ATTRIBUTE_STRINGS:
        status = kni_read_list(r, r->keep, slot, sizeof *texts, one_text, &texts, &n);
        a->strings = texts;
        break;
    case KNI_ONNX_ATTRIBUTE_TENSOR:
    case KNI_ONNX_ATTRIBUTE_TENSORS:
        status = kni_read_list(r, r->keep, slot, sizeof *tensors, one_tensor, &tensors, &n);
        a->tensors = tensors;
        break;
    case KNI_ONNX_ATTRIBUTE_SPARSE:
    case KNI_ONNX_ATTRIBUTE_SPARSES:
        status = kni_read_list(r, r->keep, slot, sizeof *tensors, one_sparse, &tensors, &n);
        a->tensors = tensors;
        a->kind =
            a->kind == KNI_ONNX_ATTRIBUTE_SPARSE ? KNI_ONNX_ATTRIBUTE_TENSOR : KNI_ONNX_ATTRIBUTE_TENSORS;
        break;
    case KNI_ONNX_ATTRIBUTE_TYPE:
    case KNI_ONNX_ATTRIBUTE_TYPES:
        status = kni_read_list(r, r->keep, slot, sizeof *types, one_type, &types, &n);
        a->types = types;
        break;
    default:
        status = kni_read_list(r, r->scratch, slot, sizeof *graphs, one_graph, &graphs, &n);
        raw->graphs = graphs;
    }
    a->count = n;
    return status;
}

/* A field that is not there: numbers are 0 and texts are empty, but a tensor or a graph must be. */
static kn_status default_content(kni_model_reader *r, kni_onnx_attribute *a)
{
    static const float no_real[1];
    static const int64_t no_int[1];
    static const kni_onnx_text no_text[1] = {{"", 0}};
    a->count = 1;
    a->floats = a->kind == KNI_ONNX_ATTRIBUTE_FLOAT ? no_real : NULL;
    a->ints = a->kind == KNI_ONNX_ATTRIBUTE_INT ? no_int : NULL;
    a->strings = a->kind == KNI_ONNX_ATTRIBUTE_STRING ? no_text : NULL;
    return a->floats || a->ints || a->strings ? KN_OK
                                              : kni_reader_damaged(r, "it has nothing of what its kind says");
}

static bool is_list(int32_t kind)
{
    return (kind >= KNI_ONNX_ATTRIBUTE_FLOATS && kind <= KNI_ONNX_ATTRIBUTE_GRAPHS) ||
           kind == KNI_ONNX_ATTRIBUTE_SPARSES || kind == KNI_ONNX_ATTRIBUTE_TYPES;
}

static kn_status read_kind(kni_model_reader *r, const kni_message_slot *s, const kni_message_slot *more,
                           kni_raw_attribute *a)
{
    const kni_message_slot *slot = NULL;
    int64_t kind = kni_slot_int(&s[KIND]);
    for (int i = 0; i < KINDS && !slot; i++) {
        const kni_message_slot *candidate = &(kind_rows[i].more ? more : s)[kind_rows[i].slot];
        if (kind ? kind != kind_rows[i].kind : !candidate->count) continue;
        slot = candidate;
        a->read.kind = kind_rows[i].kind;
    }
    if (*a->reference) { /* what it refers to has the content */
        a->read.kind = slot ? a->read.kind : 0;
        return KN_OK;
    }
    if (!slot && !kind) return kni_reader_damaged(r, "it has no kind and no content");
    if (!slot)
        return kni_reader_failure(r, KN_ERROR_UNSUPPORTED, "it is of kind %lld, which is not known",
                                  (long long)kind);
    if (!slot->count && !is_list(a->read.kind)) return default_content(r, &a->read);
    kni_message_slot one = *slot;
    if (!is_list(a->read.kind)) { /* the last of them, as a list */
        one.count = 1;
        one.pieces = &one.last;
    }
    return read_content(r, &one, a);
}

kn_status kni_read_attribute(kni_model_reader *r, kni_message_piece piece, kni_raw_attribute *a)
{
    kni_message_slot s[SLOTS], more[MORE_SLOTS];
    kn_status status = kni_message_read(r, &attribute_message, piece, s);
    if (!status) status = kni_message_read(r, &more_message, piece, more);
    if (!status) status = kni_slot_name(r, &s[NAME], &a->read.name);
    if (!status) status = kni_slot_name(r, &s[REFERENCE], &a->reference);
    if (status) return status;
    kni_reader_place place = {r->place, "attribute", a->read.name};
    r->place = &place;
    if (!*a->read.name)
        status = kni_reader_damaged(r, "it has no name");
    else
        status = read_kind(r, s, more, a);
    r->place = place.outer;
    return status;
}
