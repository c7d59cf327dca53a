/* Ops as nodes of a builder. */
#include "core/dtype.h"
#include "core/objects.h"
#include "onnx/build/build.h"
#include "support/json.h"
#include <kn/op_info.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ATTRIBUTES = 32,
    LIST_TEXT = 4096,
    SMALL_BYTES = 64 << 10,
    SMALL_COUNT = 8 << 10,
    KNOWN_COUNT = 1 << 10,
    FEW = 16
};

/* ---- what is known */

bool kni_onnx_build_is_concrete(const kni_entry *e)
{
    if (e->host.bits) return true;
    if (!e->content) return false;
    for (int64_t i = 0; i < e->n_content; i++)
        if (e->content[i].text) return false;
    return true;
}

static bool has_expressions(const kni_given_attribute *a)
{
    for (; a && a->name; a++) {
        if (a->kind == 0 && a->n < 0 && a->one.text) return true;
        for (int32_t i = 0; a->kind == 0 && i < a->n; i++)
            if (a->extents[i].text) return true;
    }
    return false;
}

static bool draws(const char *op)
{
    kn_op_info info;
    return kn_op_find(op, &info) && info.random;
}

/* The elements of what an op without operands makes. */
static int64_t made_by(const kni_given_attribute *a)
{
    int64_t n = 1;
    for (; a && a->name; a++) {
        if (!strcmp(a->name, "length")) n = a->one.value;
        if (!strcmp(a->name, "shape"))
            for (int32_t i = 0; i < a->n && n <= SMALL_COUNT; i++)
                if (__builtin_mul_overflow(n, a->extents[i].value, &n)) n = INT64_MAX;
    }
    return n;
}

static bool all_concrete(kni_conversion *c, const kni_datum *in, int32_t n_in)
{
    for (int32_t i = 0; i < n_in; i++) {
        const kni_entry *e = kni_entry_of(c, in[i]);
        if (e && (e->kind != KNI_IS_TENSOR || !kni_onnx_build_is_concrete(e))) return false;
    }
    return true;
}

static int64_t bytes_of(kn_tensor t) { return kn_dtype_bytes(kn_dtype_of(t), kn_count(t)); }

static bool any_weights(kni_conversion *c, const kni_datum *in, int32_t n_in)
{
    for (int32_t i = 0; i < n_in; i++)
        if (kni_onnx_build_is_weight(c, kni_entry_of(c, in[i]))) return true;
    return false;
}

/* Computes the op now; false where the results would be too large to be stored, or where it fails: then the run will tell. */
static bool compute_now(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                        const kni_given_attribute *attributes, kni_datum *out, int32_t n_out)
{
    kn_tensor operands[FEW], results[FEW];
    int64_t before = 0, after = 0, small = SMALL_BYTES;
    if (n_in > FEW || n_out > FEW) return false;
    for (int32_t i = 0; i < n_in; i++) {
        kni_entry *e = kni_entry_of(c, in[i]);
        operands[i] = e ? kni_entry_read(c, e, "an operand") : KN_NONE;
        if (e && operands[i].bits) before += bytes_of(operands[i]);
    }
    if (c->status || !kni_onnx_build_call(c, op, operands, n_in, attributes, results, n_out)) return false;
    for (int32_t k = 0; k < n_out; k++) after += bytes_of(results[k]);
    for (int32_t i = 0; i < n_in && n_out; i++)
        if (operands[i].bits &&
            kni_dtype_widens(kn_dtype_of(operands[i]), kn_dtype_of(results[0]), kn_count(operands[i])))
            small = 0;
    bool good = after <= small || after <= before;
    for (int32_t k = 0; k < n_out; k++) {
        if (good)
            out[k] = kni_entry_host(c, results[k]);
        else
            kn_drop(results[k]);
    }
    return good;
}

/* ---- entries and values of the program */

void kni_onnx_build_failed(kni_conversion *c)
{
    const char *text = kni_failure_taken();
    kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "%s", text);
}

/* The text of a size, in brackets where it is a sum or a product without, since it becomes a part of others. */
static const char *size_alone(kni_conversion *c, const char *text, size_t n)
{
    bool several = n > 0 && text[0] == '-';
    int depth = 0;
    for (size_t i = 0; i < n; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        several |= depth == 0 && text[i] == ' ';
    }
    const char *copy = kni_onnx_arena_copy(c->arena, text, n);
    return copy && several ? kni_onnx_arena_format(c->arena, "(%s)", copy) : copy;
}

/* "2 * n, max(n, 3)" cut at its commas outside of brackets. */
static void read_extents(kni_conversion *c, kni_entry *e, const char *text)
{
    for (int32_t a = 0; a < e->rank && !c->status; a++) {
        size_t n = 0;
        for (int depth = 0; text[n] && (depth || text[n] != ','); n++)
            depth += (text[n] == '(') - (text[n] == ')');
        const char *copy = size_alone(c, text, n);
        if (!copy) {
            kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for a size");
            return;
        }
        int64_t number = 0;
        bool digits = n > 0 && strspn(copy, "0123456789") == n;
        for (size_t i = 0; digits && i < n; i++) number = number * 10 + (copy[i] - '0');
        e->extents[a] = digits ? KNI_EXTENT(number) : (kni_extent){0, copy};
        text += n;
        while (*text == ',' || *text == ' ') text++;
    }
}

kni_datum kni_onnx_build_result(kni_conversion *c, kn_program_value value)
{
    kni_datum x = KNI_ABSENT;
    kn_program_port port;
    kni_entry *e = kni_entry_new(c, KNI_IS_TENSOR, &x);
    if (!e) return KNI_ABSENT;
    e->value = value;
    if (kn_builder_type(kni_building_of(c)->builder, value, &port) != KN_OK) {
        kni_onnx_build_failed(c);
        return KNI_ABSENT;
    }
    e->dtype = port.dtype;
    e->rank = port.rank;
    read_extents(c, e, port.shape);
    return x;
}

/* Whole numbers that are expressions as a tensor of the program. */
static kn_program_value content_value(kni_conversion *c, const kni_entry *e)
{
    kn_builder b = kni_building_of(c)->builder;
    kn_program_value *parts = kni_convert_memory(c, (size_t)e->n_content + 1, sizeof *parts);
    char dtype[8], number[24];
    snprintf(dtype, sizeof dtype, "%d", (int)e->dtype);
    for (int64_t i = 0; parts && i < e->n_content; i++) {
        snprintf(number, sizeof number, "%lld", (long long)e->content[i].value);
        const char *size = e->content[i].text ? e->content[i].text : number;
        kn_builder_attribute whole[] = {
            {"shape", e->rank ? "1" : "", 0}, {"dtype", dtype, 0}, {"whole", size, 0}, {0}};
        /* Floats are made of whole numbers, too. */
        if (!kn_dtype_is_integer(e->dtype)) whole[1].sizes = "5";
        parts[i] = kn_builder_op(b, "full", NULL, 0, whole);
        kn_builder_attribute cast[] = {{"dtype", dtype, 0}, {0}};
        if (!kn_dtype_is_integer(e->dtype)) parts[i] = kn_builder_op(b, "cast", &parts[i], 1, cast);
    }
    if (!parts || e->rank == 0) return parts ? parts[0] : KN_NO_VALUE;
    kn_program_value y = parts[0];
    if (e->n_content > 1)
        y = kn_builder_op(b, "concat", parts, (int32_t)e->n_content,
                          (kn_builder_attribute[]){{"axis", "0", 0}, {0}});
    if (e->rank > 1) {
        char shape[KN_MAX_RANK * 24] = "";
        for (int32_t a = 0, at = 0; a < e->rank; a++)
            at += snprintf(shape + at, sizeof shape - (size_t)at, a ? ", %lld" : "%lld",
                           (long long)e->extents[a].value);
        y = kn_builder_op(b, "reshape", &y, 1, (kn_builder_attribute[]){{"shape", shape, 0}, {0}});
    }
    return y;
}

kn_program_value kni_onnx_build_operand(kni_conversion *c, kni_datum x)
{
    kni_entry *e = kni_entry_of(c, x);
    if (!e || c->status) return KN_NO_VALUE;
    if (e->value.id) return e->value;
    if (e->kind != KNI_IS_TENSOR) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "strings, sequences and optionals are no values of a program");
        return KN_NO_VALUE;
    }
    kn_program_value value = KN_NO_VALUE;
    if (e->constant)
        e->value = value = kni_onnx_build_constant(c, e->constant);
    else if (kni_onnx_build_is_concrete(e) && kni_entry_read(c, e, "an operand").bits)
        e->value = value = kn_builder_constant(kni_building_of(c)->builder, e->host);
    else if (e->content && e->n_content)
        value = content_value(c, e); /* made where it is read: a region's value is not seen outside */
    if (!value.id) kni_onnx_build_failed(c);
    return value;
}

/* ---- ops */

/* Whole numbers as the builder reads them: what is far below 0 is a stop before the first element, whatever the size. */
static long long number_of(kni_extent e)
{
    const int64_t lowest = -(INT64_C(1) << 60);
    return e.value < lowest ? lowest : e.value;
}

static bool give_list(kni_conversion *c, const kni_extent *list, int32_t n, char *text)
{
    size_t at = 0;
    text[0] = 0;
    for (int32_t i = 0; i < n; i++) {
        int written = list[i].text
                          ? snprintf(text + at, LIST_TEXT - at, i ? ", %s" : "%s", list[i].text)
                          : snprintf(text + at, LIST_TEXT - at, i ? ", %lld" : "%lld", number_of(list[i]));
        if (written < 0 || (size_t)written >= LIST_TEXT - at) {
            kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "a list of sizes is longer than %d letters as text",
                             (int)LIST_TEXT);
            return false;
        }
        at += (size_t)written;
    }
    return true;
}

static bool give_attributes(kni_conversion *c, const kni_given_attribute *a, kn_builder_attribute *given)
{
    int32_t n = 0;
    for (; a && a->name; a++) {
        char *text = a->kind ? NULL : kni_convert_memory(c, LIST_TEXT, 1);
        if (n == MOST_ATTRIBUTES || (!a->kind && !text))
            return kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "too many attributes"), false;
        if (!a->kind && !give_list(c, a->n < 0 ? &a->one : a->extents, a->n < 0 ? 1 : a->n, text))
            return false;
        if (strcmp(a->name, "key") != 0 && strcmp(a->name, "counter") != 0)
            given[n++] = (kn_builder_attribute){a->name, text, a->real};
    }
    given[n] = (kn_builder_attribute){0};
    return true;
}

/* ---- permutations of permutations, shapes of shapes */

typedef enum move_kind { NO_MOVE, PERMUTES, RESHAPES } move_kind;

static move_kind move_of(const char *op)
{
    static const struct {
        const char *op;
        move_kind kind;
    } moves[] = {{"permute", PERMUTES}, {"reshape", RESHAPES}};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        if (!strcmp(op, moves[i].op)) return moves[i].kind;
    return NO_MOVE;
}

/* The axes of a permutation; 0 where they are not known. */
static int32_t permuted_axes(const kni_given_attribute *a, int8_t *axes)
{
    if (!a || !a->name || strcmp(a->name, "axes") != 0 || a->n < 1 || a->n > KN_MAX_RANK) return 0;
    for (int32_t i = 0; i < a->n; i++) {
        int64_t axis = a->extents[i].value;
        if (a->extents[i].text || axis < 0 || axis >= a->n) return 0;
        axes[i] = (int8_t)axis;
    }
    return a->n;
}

/* What the operand was before it was permuted too, with the axes of both in one; the operand as it is otherwise. */
static kn_program_value unmoved(move_kind kind, const kni_entry *x, int8_t *axes, int32_t n)
{
    if (!x->moved_from.id) return x->value;
    if (kind == RESHAPES && !x->n_moved) return x->moved_from;
    if (kind != PERMUTES || !n || n != x->n_moved) return x->value;
    for (int32_t i = 0; i < n; i++) axes[i] = x->moved_axes[axes[i]];
    return x->moved_from;
}

/* Permutations and reshapes as one of what the first of them got; false where it is neither. */
static bool emit_moved(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                       const kni_given_attribute *attributes, kni_datum *out)
{
    int8_t axes[KN_MAX_RANK] = {0};
    move_kind kind = n_in == 1 ? move_of(op) : NO_MOVE;
    bool permutes = kind == PERMUTES;
    int32_t n = permutes ? permuted_axes(attributes, axes) : 0;
    kni_entry *x = n_in == 1 ? kni_entry_of(c, in[0]) : NULL;
    kn_builder_attribute given[MOST_ATTRIBUTES + 1];
    if (!x || !x->value.id || kind == NO_MOVE || (permutes && (!n || n != x->rank))) return false;
    kn_program_value from = unmoved(kind, x, axes, n), y = from;
    bool same = permutes;
    char text[4 * KN_MAX_RANK + 1] = "";
    for (int32_t i = 0, at = 0; i < n; i++) {
        same = same && axes[i] == i;
        at += snprintf(text + at, sizeof text - (size_t)at, i ? ", %d" : "%d", axes[i]);
    }
    if (!give_attributes(c, attributes, given)) return true;
    if (permutes) given[0].sizes = text;
    if (!same) y = kn_builder_op(kni_building_of(c)->builder, op, &from, 1, given);
    if (!y.id) return kni_onnx_build_failed(c), true;
    out[0] = kni_onnx_build_result(c, y);
    kni_entry *e = kni_entry_of(c, out[0]);
    if (!e || same) return true;
    e->moved_from = from;
    e->n_moved = (int8_t)n;
    memcpy(e->moved_axes, axes, sizeof axes);
    return true;
}

static bool few_elements(kni_conversion *c, const kni_datum *out, int32_t n_out)
{
    for (int32_t k = 0; k < n_out; k++) {
        const kni_entry *e = kni_entry_of(c, out[k]);
        int64_t n = 1;
        for (int32_t a = 0; e && a < e->rank && n <= KNOWN_COUNT; a++)
            n = e->extents[a].text ? KNOWN_COUNT + 1 : n * e->extents[a].value;
        if (!e || n > KNOWN_COUNT) return false;
    }
    return true;
}

/* Results that are computed when the program runs get what they are now, too, for those who need to know: sizes and counts may be made of
   what looks like weights. */
static void attach_known(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                         const kni_given_attribute *attributes, const kni_datum *out, int32_t n_out)
{
    kni_datum known[FEW];
    if (n_out > FEW || c->status || !compute_now(c, op, in, n_in, attributes, known, n_out)) return;
    for (int32_t k = 0; k < n_out; k++) {
        kni_entry *e = kni_entry_of(c, out[k]), *now = kni_entry_of(c, known[k]);
        if (!e || !now || !now->host.bits) continue;
        e->host = kn_keep(kn_alias(now->host));
        e->of_weights = true;
    }
}

static void emit_build(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                       const kni_given_attribute *attributes, kni_datum *out, int32_t n_out)
{
    kn_builder_attribute given[MOST_ATTRIBUTES + 1];
    bool fixed = !has_expressions(attributes) && !draws(op) && all_concrete(c, in, n_in),
         weights = any_weights(c, in, n_in);
    if (fixed && !weights && (n_in || made_by(attributes) <= SMALL_COUNT) &&
        compute_now(c, op, in, n_in, attributes, out, n_out))
        return;
    if (c->status || kni_onnx_build_content(c, op, in, n_in, attributes, out, n_out) || c->status) return;
    if (emit_moved(c, op, in, n_in, attributes, out)) return;
    kn_program_value *operands = kni_convert_memory(c, (size_t)n_in + 1, sizeof *operands);
    kn_program_value *results = kni_convert_memory(c, (size_t)n_out + 1, sizeof *results);
    if (!operands || !results || !give_attributes(c, attributes, given)) return;
    for (int32_t i = 0; i < n_in; i++)
        if (kni_is_given(in[i])) operands[i] = kni_onnx_build_operand(c, in[i]);
    if (c->status) return;
    if (kn_builder_op_many(kni_building_of(c)->builder, op, operands, n_in, given, results, n_out)) {
        kni_onnx_build_failed(c);
        return;
    }
    for (int32_t k = 0; k < n_out; k++) out[k] = kni_onnx_build_result(c, results[k]);
    if (fixed && weights && few_elements(c, out, n_out))
        attach_known(c, op, in, n_in, attributes, out, n_out);
}

static bool is_known(kni_conversion *c, const kni_entry *e) { return (void)c, (void)e, false; }

static bool read_build(kni_conversion *c, kni_entry *e, const char *what)
{
    (void)e;
    kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                     "%s is known only when the program runs; give the inputs that it depends on their "
                     "values, or their sizes, when the "
                     "program is made",
                     what);
    return false;
}

/* "nonzero_count_3" */
static const char *count_name(kni_conversion *c)
{
    char text[40];
    size_t n = 0;
    const char *op = c->node ? c->node->op : "value";
    for (; op[n] && n < sizeof text - 1; n++)
        text[n] = (char)(op[n] >= 'A' && op[n] <= 'Z' ? op[n] - 'A' + 'a' : op[n] == '.' ? '_' : op[n]);
    text[n] = 0;
    return kni_onnx_arena_format(c->arena, "%s_count_%d", text, (int)++kni_building_of(c)->n_counts);
}

/* A number of a value of rank 0 or 1 as one of rank 0. */
static kn_program_value single_number(kni_conversion *c, kni_datum x, int64_t i)
{
    kni_datum one = x;
    if (kni_rank_of(c, x)) {
        kni_datum part = kni_slice_of(c, x, 0, KNI_EXTENT(i), KNI_EXTENT(i + 1));
        one = kni_reshape_to(c, part, NULL, 0);
    }
    return kni_onnx_build_operand(c, one);
}

static bool count_build(kni_conversion *c, kni_datum x)
{
    kni_building *b = kni_building_of(c);
    kni_entry *e = kni_entry_of(c, x);
    bool whole = e->dtype == KN_I64 || e->dtype == KN_I32;
    int64_t n = e->rank == 0 ? 1 : e->extents[0].value;
    if (!e->value.id || !whole || e->rank > 1 || (e->rank == 1 && e->extents[0].text) || n > FEW)
        return false;
    kni_extent *list = calloc((size_t)n + 1, sizeof *list);
    for (int64_t i = 0; list && i < n; i++) {
        const char *name = count_name(c);
        kn_program_value number = single_number(c, x, i);
        if (c->status || !name || kn_builder_read_size(b->builder, name, number, 0, INT64_MAX)) {
            free(list);
            kni_onnx_build_failed(c);
            return false;
        }
        list[i] = (kni_extent){0, name};
    }
    if (!list) return false;
    e->content = list;
    e->n_content = n;
    e->counted = b->depth + 1;
    return true;
}

void kni_onnx_build_forget(kni_conversion *c, int32_t depth)
{
    for (int32_t i = 1; i <= c->n_entries; i++) {
        kni_entry *e = kni_entry_of(c, (kni_datum){i});
        if (!e || e->counted <= depth) continue;
        free(e->content);
        e->content = NULL;
        e->n_content = e->counted = 0;
    }
}

static void wait_build(kni_conversion *c) { (void)c; }

/* A name without control characters, which values of a program have not; NULL where it is no text at all. */
static const char *plain_name(kni_conversion *c, const char *name)
{
    size_t n = name ? strlen(name) : 0;
    if (!n || !kni_json_is_text(name, n)) return NULL;
    char *copy = kni_onnx_arena_copy(c->arena, name, n);
    for (size_t i = 0; copy && i < n; i++)
        if ((unsigned char)copy[i] < ' ' || copy[i] == 127) copy[i] = '_';
    return copy;
}

/* Results of nodes are called as in the model. */
static void name_build(kni_conversion *c, int32_t value, kni_datum x)
{
    const kni_entry *e = kni_entry_of(c, x);
    const char *name = plain_name(c, c->plan->model->values[value].name);
    if (e && e->value.id && !e->constant && (!e->host.bits || e->of_weights) && name)
        (void)!kn_builder_name(kni_building_of(c)->builder, e->value, name);
}

const kni_onnx_target kni_target_build = {
    .now = false,
    .emit = emit_build,
    .is_known = is_known,
    .read = read_build,
    .count = count_build,
    .wait = wait_build,
    .name = name_build,
    .branch = kni_onnx_build_branch,
    .loop = kni_onnx_build_loop,
    .scan = kni_onnx_build_scan,
};
