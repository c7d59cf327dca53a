/* Operators of sequences and optionals. Which tensors a sequence holds is known while nodes are converted, so these run anywhere: they
   hand values on. */
#include "onnx/strings.h"
#include <string.h>

/* A position that may be absent, as 0 .. limit; fails outside. */
static int64_t position_in(kni_conversion *c, kni_datum position, int64_t count, int64_t limit,
                           int64_t otherwise)
{
    int64_t given = kni_known_int(c, position, "the position in the sequence", otherwise);
    int64_t place = given < 0 ? given + count : given;
    if (place >= 0 && place <= limit) return place;
    kni_convert_fail(c, KN_ERROR_INDEX, "position %lld is outside of a sequence of %lld", (long long)given,
                     (long long)count);
    return 0;
}

/* The items of a sequence, and room for one more. NULL with the node failed. */
static kni_datum *items_of(kni_conversion *c, kni_datum sequence, int64_t *count)
{
    *count = kni_sequence_count(c, sequence);
    kni_datum *items = kni_convert_memory(c, (size_t)*count + 1, sizeof *items);
    for (int64_t i = 0; items && i < *count; i++) items[i] = kni_sequence_at(c, sequence, i);
    return kni_convert_failed(c) ? NULL : items;
}

static void sequence_at(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = kni_sequence_at(c, in[0], kni_known_int(c, in[1], "the position in the sequence", 0));
}

static void sequence_construct(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                               int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_out;
    out[0] = kni_sequence(c, in, n_in);
}

static void sequence_empty(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                           kni_datum *out, int32_t n_out)
{
    (void)node, (void)in, (void)n_in, (void)n_out;
    out[0] = kni_sequence(c, NULL, 0);
}

static void sequence_erase(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                           kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    int64_t count;
    kni_datum *items = items_of(c, in[0], &count);
    int64_t place = position_in(c, in[1], count, count - 1, count - 1);
    if (!items || kni_convert_failed(c)) return;
    memmove(items + place, items + place + 1, (size_t)(count - 1 - place) * sizeof *items);
    out[0] = kni_sequence(c, items, count - 1);
}

static void sequence_insert(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                            kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    int64_t count;
    kni_datum *items = items_of(c, in[0], &count);
    int64_t place = position_in(c, in[2], count, count, count);
    if (!items || kni_convert_failed(c)) return;
    memmove(items + place + 1, items + place, (size_t)(count - place) * sizeof *items);
    items[place] = in[1];
    out[0] = kni_sequence(c, items, count + 1);
}

static void sequence_length(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                            kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = kni_whole_number(c, kni_sequence_count(c, in[0]), KN_I64);
}

/* ---- parts of a tensor */

/* Lengths of the parts along an axis of `size`: those of `split`, or of one number repeated. NULL with the node failed. */
static int64_t *part_lengths(kni_conversion *c, kni_datum split, int64_t size, int64_t *parts)
{
    int64_t one = 1, n = 1;
    const int64_t *given = &one;
    if (kni_is_given(split)) given = kni_known_ints(c, split, "the lengths of the parts", &n);
    if (!given) return NULL;
    bool list = kni_is_given(split) && kni_rank_of(c, split) > 0;
    if (!list && (n != 1 || given[0] < 1)) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "parts need a length of at least 1");
        return NULL;
    }
    *parts = list ? n : (size + given[0] - 1) / given[0];
    int64_t *lengths = kni_convert_memory(c, (size_t)*parts, sizeof *lengths), rest = size;
    for (int64_t i = 0; lengths && i < *parts; i++) {
        lengths[i] = list ? given[i] : given[0] < rest ? given[0] : rest;
        if (lengths[i] < 0 || lengths[i] > rest) break;
        rest -= lengths[i];
    }
    if (rest == 0) return lengths;
    kni_convert_fail(c, KN_ERROR_SHAPE, "the lengths of the parts do not add up to %lld", (long long)size);
    return NULL;
}

static void split_to_sequence(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                              kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", 0));
    bool keep = kni_is_given(in[1]) || kni_node_int(node, "keepdims", 1);
    int64_t size = kni_extent_number(c, kni_extent_of(c, in[0], axis), "the size of the axis that is split");
    if (kni_convert_failed(c)) return;
    int64_t parts = 0, start = 0;
    int64_t *lengths = part_lengths(c, in[1], size, &parts);
    kni_datum *items = kni_convert_memory(c, (size_t)parts, sizeof *items), x;
    bool strings = kni_kind_of(c, in[0]) == KNI_IS_STRINGS;
    kni_string_pool pool = kni_strings_to_numbers(c, in, 1, &x);
    for (int64_t i = 0; lengths && items && i < parts; start += lengths[i++]) {
        kni_datum part = kni_slice_of(c, x, axis, KNI_EXTENT(start), KNI_EXTENT(start + lengths[i]));
        if (!keep) part = kni_squeeze_at(c, part, axis);
        items[i] = strings ? kni_strings_from_numbers(c, &pool, part) : part;
    }
    if (!kni_convert_failed(c)) out[0] = kni_sequence(c, items, parts);
}

static void concat_from_sequence(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    int64_t count;
    kni_datum *items = items_of(c, in[0], &count);
    if (!items) return;
    if (count < 1 || count > INT32_MAX) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "a sequence of %lld tensors cannot be joined",
                         (long long)count);
        return;
    }
    bool strings = kni_kind_of(c, items[0]) == KNI_IS_STRINGS, fresh = kni_node_int(node, "new_axis", 0) != 0;
    kni_datum *parts = kni_convert_memory(c, (size_t)count, sizeof *parts);
    if (!parts) return;
    kni_string_pool pool = kni_strings_to_numbers(c, items, (int32_t)count, parts);
    int32_t rank = kni_rank_of(c, items[0]) + fresh;
    int32_t axis = kni_axis_in(c, rank, kni_node_int(node, "axis", 0));
    for (int64_t i = 0; fresh && i < count; i++) parts[i] = kni_unsqueeze_at(c, parts[i], axis);
    kni_datum y = kni_concat_of(c, parts, (int32_t)count, axis);
    out[0] = strings ? kni_strings_from_numbers(c, &pool, y) : y;
}

/* ---- a graph for each item */

static void sequence_map(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    const kni_onnx_graph *body = kni_node_graph(node, "body");
    if (!body || body->n_inputs != n_in || body->n_outputs < n_out) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "its body must be a graph with %d inputs and %d outputs", n_in,
                         n_out);
        return;
    }
    int64_t count = kni_sequence_count(c, in[0]);
    size_t outputs = (size_t)body->n_outputs;
    kni_datum *given = kni_convert_memory(c, (size_t)n_in, sizeof *given);
    kni_datum *made = kni_convert_memory(c, outputs, sizeof *made);
    kni_datum *items = kni_convert_memory(c, outputs, (size_t)count * sizeof *items + 1);
    if (!given || !made || !items) return;
    for (int64_t i = 0; i < count && !kni_convert_failed(c); i++) {
        for (int32_t k = 0; k < n_in; k++) {
            bool sequence = kni_kind_of(c, in[k]) == KNI_IS_SEQUENCE;
            given[k] = sequence ? kni_sequence_at(c, in[k], i) : in[k];
        }
        kni_graph_convert(c, body, given, n_in, made, body->n_outputs);
        for (size_t k = 0; k < outputs; k++) items[k * (size_t)count + (size_t)i] = made[k];
    }
    for (int32_t k = 0; k < n_out && !kni_convert_failed(c); k++)
        out[k] = kni_sequence(c, items + (size_t)k * (size_t)count, count);
}

/* ---- optionals */

static void optional(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                     kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = kni_optional(c, in[0]);
}

static void optional_get_element(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    out[0] = kni_optional_value(c, in[0]);
    if (!kni_is_given(out[0])) kni_convert_fail(c, KN_ERROR_ARGUMENT, "the optional is empty");
}

static void optional_has_element(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)node, (void)n_in, (void)n_out;
    bool has = kni_is_given(in[0]) && kni_is_given(kni_optional_value(c, in[0]));
    out[0] = kni_whole_number(c, has, KN_BOOL);
}

#define ANY "floats integers bool stored strings"
const kni_onnx_converter kni_onnx_sequence[] = {
    {"", "SequenceAt", 11, 0, sequence_at, 0, ANY},
    {"", "SequenceConstruct", 11, 0, sequence_construct, 0, ANY},
    {"", "SequenceEmpty", 11, 0, sequence_empty, 0, ANY},
    {"", "SequenceErase", 11, 0, sequence_erase, 0, ANY},
    {"", "SequenceInsert", 11, 0, sequence_insert, 0, ANY},
    {"", "SequenceLength", 11, 0, sequence_length, 0, ANY},
    {"", "SplitToSequence", 11, 0, split_to_sequence, 0, ANY},
    {"", "ConcatFromSequence", 11, 0, concat_from_sequence, 0, ANY},
    {"", "SequenceMap", 17, 0, sequence_map, KNI_ONNX_INNER, ANY},
    {"", "Optional", 15, 0, optional, 0, ANY},
    {"", "OptionalGetElement", 15, 0, optional_get_element, 0, ANY},
    {"", "OptionalHasElement", 15, 0, optional_has_element, 0, ANY},
    {0},
};
