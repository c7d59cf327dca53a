/* Reading the nodes of a program's file. Each goes through the builder, and what the file says of its results must be what the builder
   finds. Values are numbered in the order they are made, so a node can read only what stands before it. */
#include "core/dim_symbols.h"
#include "core/error.h"
#include "ops/custom_rows.h"
#include "ops/size_attributes.h"
#include "program/program_file.h"
#include <stdio.h>
#include <string.h>

enum { MOST = KNI_PROGRAM_VALUES, ATTRIBUTE_BYTES = 1024 };

/* ---- operands and results */

/* Values that are there already; absent operands are null. */
static kn_status read_ids(const kni_program_reading *r, const kni_json *list, int32_t *values, int32_t *n)
{
    if (!list) return KN_ERROR_IO;
    if (list->count > MOST)
        return kni_program_damaged(r, "a list names %lld values; at most %d are possible",
                                   (long long)list->count, (int)MOST);
    *n = 0;
    for (const kni_json *id = list->first; id; id = id->next) {
        bool there =
            id->kind == KNI_JSON_NUMBER && id->whole && id->integer >= 0 && id->integer < r->p->n_values;
        if (!there && id->kind != KNI_JSON_NULL)
            return kni_program_damaged(r, "operand %d is no value that was made before", (int)*n);
        values[(*n)++] = there ? (int32_t)id->integer : -1;
    }
    return KN_OK;
}

kn_status kni_program_read_name(const kni_program_reading *r, const kni_json *json, int32_t value)
{
    if (!json || json->kind == KNI_JSON_NULL) return KN_OK;
    if (json->kind != KNI_JSON_TEXT || strlen(json->text) != json->length || !kni_is_value_name(json->text))
        return kni_program_damaged(r, "the name of value %d is no text without control characters",
                                   (int)value);
    int32_t name = kni_program_name(r->p, json->text);
    if (name < 0) return kni_program_refused(r, kni_fail(KN_ERROR_MEMORY, "no memory for the names"));
    r->p->values[value].name = name;
    return KN_OK;
}

/* The names of values that have just been made; the list may be absent. */
static kn_status read_names(const kni_program_reading *r, const kni_json *of, const int32_t *values,
                            int32_t n)
{
    const kni_json *list = kni_json_member(of, "names");
    if (!list) return KN_OK;
    if (list->kind != KNI_JSON_ARRAY || list->count != n)
        return kni_program_damaged(r, "'names' is no list of %d", (int)n);
    kn_status s = KN_OK;
    const kni_json *name = list->first;
    for (int32_t i = 0; i < n && s == KN_OK; i++, name = name->next)
        s = kni_program_read_name(r, name, values[i]);
    return s;
}

/* Values that have just been made, under the numbers and with the types that the file tells. */
static kn_status compare_made(const kni_program_reading *r, const kni_json *of, const char *word,
                              const int32_t *values, int32_t n)
{
    const kni_json *ids = kni_program_list(r, of, word), *types = kni_program_list(r, of, "types");
    if (!ids || !types) return KN_ERROR_IO;
    if (ids->count != n || types->count != n)
        return kni_program_damaged(
            r, "%d values are made here, but the lists '%s' and 'types' have %lld and %lld", (int)n, word,
            (long long)ids->count, (long long)types->count);
    const kni_json *id = ids->first, *type = types->first;
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n && s == KN_OK; i++, id = id->next, type = type->next)
        s = kni_program_compare(r, id, type, values[i]);
    return s ? s : read_names(r, of, values, n);
}

/* How many results the node has, by the file. */
static kn_status count_made(const kni_program_reading *r, const kni_json *node, int32_t *n)
{
    const kni_json *out = kni_program_list(r, node, "out");
    if (!out) return KN_ERROR_IO;
    if (out->count > MOST)
        return kni_program_damaged(r, "it has %lld results; at most %d are possible", (long long)out->count,
                                   (int)MOST);
    *n = (int32_t)out->count;
    return KN_OK;
}

/* Notes what is being read, for messages. */
static void set_where(kni_program_reading *r, const char *name)
{
    snprintf(r->where, sizeof r->where, "value %d (%.60s)", (int)r->p->n_values, name);
}

/* ---- attributes */

/* A whole number of an attribute, or a size where the row takes one. Numbers that stand for expressions are no numbers. */
static kn_status read_whole(const kni_program_reading *r, const kn_op *row, const kn_attribute *a,
                            const kni_json *json, int64_t *value)
{
    if (json->kind == KNI_JSON_NUMBER && json->whole && kni_dim_is_expression(json->integer))
        return kni_program_damaged(r, "the attribute '%s' is out of range: %lld", a->name,
                                   (long long)json->integer);
    kn_status s = kni_program_read_size(r, json, true, value);
    if (s || json->kind != KNI_JSON_TEXT) return s;
    kni_dims *before = kni_dims_enter(r->p->dims);
    s = kni_check_sizes(row, a->name, value, 1);
    kni_dims_enter(before);
    return s ? kni_program_refused(r, s) : KN_OK;
}

static kn_status read_attribute(const kni_program_reading *r, const kn_op *row, const kn_attribute *a,
                                const kni_json *json, char *place)
{
    kn_ints list = {0, {0}};
    double real;
    kn_status s = KN_OK;
    if (a->type == KNI_ATTR_REAL) {
        if (!kni_program_read_real(json, &real))
            return kni_program_damaged(r, "the attribute '%s' is no real number", a->name);
        memcpy(place + a->offset, &real, sizeof real);
        return KN_OK;
    }
    if (a->type == KNI_ATTR_INT) {
        s = read_whole(r, row, a, json, &list.dims[0]);
        if (s == KN_OK) memcpy(place + a->offset, list.dims, sizeof *list.dims);
        return s;
    }
    if (json->kind != KNI_JSON_ARRAY || json->count > KN_MAX_RANK)
        return kni_program_damaged(r, "the attribute '%s' is no list of at most %d numbers", a->name,
                                   KN_MAX_RANK);
    for (const kni_json *entry = json->first; entry && s == KN_OK; entry = entry->next)
        s = read_whole(r, row, a, entry, &list.dims[list.rank++]);
    if (s == KN_OK) memcpy(place + a->offset, &list, sizeof list);
    return s;
}

static kn_status read_attributes(const kni_program_reading *r, const kn_op *row, const kni_json *json,
                                 char *place)
{
    const void *defaults = kni_custom_defaults(row);
    memset(place, 0, row->attribute_bytes);
    if (defaults) memcpy(place, defaults, row->attribute_bytes);
    if (json && json->kind != KNI_JSON_OBJECT) return kni_program_damaged(r, "'attributes' is no object");
    kn_status s = KN_OK;
    for (const kni_json *m = json ? json->first : NULL; m && s == KN_OK; m = m->next) {
        const kn_attribute *a = kni_schema_of(row);
        while (a->name && strcmp(a->name, m->key) != 0) a++;
        if (!a->name || kni_json_member(json, m->key) != m)
            s = kni_program_damaged(r, "the attribute '%.60s' is unknown or given twice", m->key);
        else
            s = read_attribute(r, row, a, m, place);
    }
    return s;
}

/* ---- ops */

static kn_status check_version(kni_program_reading *r, const kn_op *row)
{
    uint8_t *known = &r->known[row->number / 8], bit = (uint8_t)(1 << row->number % 8);
    if (*known & bit) return KN_OK;
    const kni_json *version = kni_json_member(r->versions, row->name);
    if (!version || version->kind != KNI_JSON_NUMBER || !version->whole || version->integer < 1)
        return kni_program_damaged(r, "'ops' tells no version of the op");
    if (version->integer > kni_op_version(row))
        return kni_program_unknown(r,
                                   "version %lld of the op '%s' needs a later Kiln; this one has version %d",
                                   (long long)version->integer, row->name, (int)kni_op_version(row));
    *known |= bit;
    return KN_OK;
}

static kn_status read_op(kni_program_reading *r, const kni_json *node, int32_t region)
{
    _Alignas(8) char attributes[ATTRIBUTE_BYTES];
    int32_t in[MOST], out[MOST], n_in = 0, n_out = 0;
    const char *name = kni_program_name_of(r, node, "op");
    if (!name) return KN_ERROR_IO;
    set_where(r, name);
    const kn_op *row = kni_build_row(name);
    if (!row)
        return kni_program_unknown(
            r,
            "no op is called '%.60s': it needs a later Kiln, or the custom op that the program was made with",
            name);
    kn_status s = check_version(r, row);
    if (s == KN_OK && row->attribute_bytes > sizeof attributes)
        s = kni_program_damaged(r, "the op has too many attributes");
    if (s == KN_OK) s = read_ids(r, kni_program_list(r, node, "in"), in, &n_in);
    if (s == KN_OK) s = count_made(r, node, &n_out);
    if (s == KN_OK) s = read_attributes(r, row, kni_json_member(node, "attributes"), attributes);
    if (s) return s;
    s = kni_build_op(r->p, region, row, in, n_in, attributes, out, n_out);
    return s ? kni_program_refused(r, s) : compare_made(r, node, "out", out, n_out);
}

/* ---- control */

/* The types that the file has of the results. */
static kn_status read_declared(kni_program_reading *r, const kni_json *node, kni_type *types, int32_t n)
{
    const kni_json *list = kni_program_list(r, node, "types");
    if (!list) return KN_ERROR_IO;
    if (list->count != n)
        return kni_program_damaged(r, "it has %d results and %lld types", (int)n, (long long)list->count);
    const kni_json *type = list->first;
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n && s == KN_OK; i++, type = type->next)
        s = kni_program_read_type(r, type, &types[i]);
    return s;
}

/* The node with its regions complete. */
static kn_status add_control(kni_program_reading *r, const kni_json *node, int32_t region, const char *name,
                             const kni_program_node *control, const int32_t *in, int32_t n_in)
{
    int32_t out[MOST], n_out = 0;
    set_where(r, name);
    kn_status s = count_made(r, node, &n_out);
    if (s) return s;
    kni_type declared[MOST];
    kni_program_node node_with_types = *control;
    if (control->kind == KNI_NODE_IF || (control->kind == KNI_NODE_LOOP && control->loop.conditional)) {
        s = read_declared(r, node, declared, n_out);
        node_with_types.declared = declared;
    }
    if (s) return s;
    s = kni_build_control(r->p, region, &node_with_types, in, n_in, out, n_out);
    return s ? kni_program_refused(r, s) : compare_made(r, node, "out", out, n_out);
}

/* A region of a node, from a member of it. */
static kn_status read_inner(kni_program_reading *r, const kni_json *node, const char *word, int32_t inner)
{
    const kni_json *json = kni_json_member(node, word);
    if (!json) return kni_program_damaged(r, "'%s' is missing", word);
    return kni_program_read_region(r, json, inner, false);
}

static kn_status read_if(kni_program_reading *r, const kni_json *node, int32_t region)
{
    kni_program_node control = {.kind = KNI_NODE_IF, .regions = {-1, -1}};
    int32_t in[MOST], n_in = 0;
    set_where(r, "if");
    kn_status s = read_ids(r, kni_program_list(r, node, "if"), in, &n_in);
    if (s == KN_OK && n_in != 1) s = kni_program_damaged(r, "it has %d conditions", (int)n_in);
    for (int i = 0; i < 2 && s == KN_OK; i++) {
        control.regions[i] = kni_build_region(r->p, region, NULL);
        s = control.regions[i] < 0 ? kni_program_refused(r, KN_ERROR_MEMORY)
                                   : read_inner(r, node, i ? "else" : "then", control.regions[i]);
    }
    return s ? s : add_control(r, node, region, "if", &control, in, n_in);
}

static kn_status read_loop_counts(const kni_program_reading *r, const kni_json *json, kni_loop *loop,
                                  int32_t *in, int32_t *n_in)
{
    int32_t n = 0, values[MOST];
    static const char *const words[] = {"condition", "carried", "sliced"};
    int32_t counts[3] = {0};
    *n_in = 0;
    for (int i = 0; i < 3; i++) {
        kn_status s = read_ids(r, kni_program_list(r, json, words[i]), values, &n);
        if (s) return s;
        if (*n_in + n > MOST) return kni_program_damaged(r, "it takes too many values");
        memcpy(in + *n_in, values, (size_t)n * sizeof *in);
        *n_in += counts[i] = n;
    }
    if (counts[0] > 1) return kni_program_damaged(r, "it has %d conditions", (int)counts[0]);
    loop->conditional = counts[0];
    loop->n_carried = counts[1];
    loop->n_sliced = counts[2];
    return KN_OK;
}

/* What the body stacks is what it gives beyond the condition and the carried values. */
static kn_status read_loop(kni_program_reading *r, const kni_json *node, int32_t region)
{
    kni_program_node control = {.kind = KNI_NODE_LOOP, .regions = {-1, -1}, .loop = {.trips = KNI_DIM_BAD}};
    kni_loop *loop = &control.loop;
    int32_t in[MOST], n_in = 0;
    set_where(r, "loop");
    const kni_json *json = kni_json_member(node, "loop"), *trips = kni_json_member(json, "trips"),
                   *most = kni_json_member(json, "max_trips");
    kn_status s = read_loop_counts(r, json, loop, in, &n_in);
    if (s == KN_OK && trips) s = kni_program_read_size(r, trips, false, &loop->trips);
    if (s == KN_OK && most) s = kni_program_read_size(r, most, false, &loop->max_trips);
    if (s == KN_OK && loop->max_trips < 0) s = kni_program_damaged(r, "'max_trips' is no number");
    if (s) return s;
    int32_t body = control.regions[0] = kni_build_region(r->p, region, NULL);
    if (body < 0) return kni_program_refused(r, KN_ERROR_MEMORY);
    s = kni_build_loop(r->p, body, loop, in, n_in);
    if (s) return kni_program_refused(r, s);
    s = read_inner(r, node, "body", body);
    set_where(r, "loop");
    loop->n_stacked = r->p->regions[body].n_results - loop->conditional - loop->n_carried;
    if (s == KN_OK && loop->n_stacked < 0) s = kni_program_damaged(r, "its body gives too few values");
    return s ? s : add_control(r, node, region, "loop", &control, in, n_in);
}

static kn_status read_call(kni_program_reading *r, const kni_json *node, int32_t region)
{
    kni_program_node control = {.kind = KNI_NODE_CALL, .regions = {-1, -1}};
    int32_t in[MOST], n_in = 0;
    set_where(r, "call");
    const char *name = kni_program_name_of(r, node, "call");
    if (!name) return KN_ERROR_IO;
    for (int32_t i = 0; i < r->n_functions; i++)
        if (!strcmp(kni_name_at(r->p, r->p->regions[r->functions[i]].name), name))
            control.regions[0] = r->functions[i];
    if (control.regions[0] < 0)
        return kni_program_damaged(r, "no function that stands before is called '%.60s'", name);
    kn_status s = read_ids(r, kni_program_list(r, node, "in"), in, &n_in);
    return s ? s : add_control(r, node, region, "call", &control, in, n_in);
}

/* The name is one of the file's sizes. */
static kn_status read_size_node(kni_program_reading *r, const kni_json *node, int32_t region)
{
    kni_program_node control = {.kind = KNI_NODE_SIZE, .regions = {-1, -1}};
    int32_t in[MOST], n_in = 0;
    set_where(r, "size");
    const kni_json *name = kni_json_member(node, "name");
    if (!name) return kni_program_damaged(r, "'name' is missing");
    kn_status s = kni_program_read_size(r, name, false, &control.size);
    if (s == KN_OK) s = read_ids(r, kni_program_list(r, node, "size"), in, &n_in);
    return s ? s : add_control(r, node, region, "size", &control, in, n_in);
}

/* ---- regions */

static kn_status read_node(kni_program_reading *r, const kni_json *node, int32_t region)
{
    static const struct {
        const char *word;
        kn_status (*read)(kni_program_reading *r, const kni_json *node, int32_t region);
    } kinds[] = {
        {"op", read_op}, {"if", read_if}, {"loop", read_loop}, {"call", read_call}, {"size", read_size_node}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kni_json_member(node, kinds[i].word)) return kinds[i].read(r, node, region);
    set_where(r, "a node");
    return kni_program_damaged(r, "it is no op, if, loop, call or size");
}

static kn_status read_arguments(kni_program_reading *r, const kni_json *json, int32_t region, bool make)
{
    const kni_json *types = kni_program_list(r, json, "types");
    if (!types) return KN_ERROR_IO;
    if (types->count > MOST)
        return kni_program_damaged(r, "a region has %lld arguments; at most %d are possible",
                                   (long long)types->count, (int)MOST);
    for (const kni_json *type = types->first; type && make; type = type->next) {
        kni_type t;
        kn_status s = kni_program_read_type(r, type, &t);
        if (s) return s;
        if (kni_build_argument(r->p, region, &t) < 0) return kni_program_refused(r, KN_ERROR_MEMORY);
    }
    const kni_program_region *made = &r->p->regions[region];
    return compare_made(r, json, "arguments", made->arguments, made->n_arguments);
}

kn_status kni_program_read_region(kni_program_reading *r, const kni_json *json, int32_t region, bool make)
{
    int32_t results[MOST], n = 0;
    if (json->kind != KNI_JSON_OBJECT) return kni_program_damaged(r, "a region is no object");
    kn_status s = read_arguments(r, json, region, make);
    const kni_json *nodes = s ? NULL : kni_program_list(r, json, "nodes");
    if (!nodes) return s ? s : KN_ERROR_IO;
    for (const kni_json *node = nodes->first; node && s == KN_OK; node = node->next)
        s = read_node(r, node, region);
    if (s) return s;
    s = read_ids(r, kni_program_list(r, json, "results"), results, &n);
    if (s) return s;
    s = kni_build_results(r->p, region, results, n);
    return s ? kni_program_refused(r, s) : KN_OK;
}
