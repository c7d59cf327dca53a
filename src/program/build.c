/* Adding values, ops and control to a program, with the types that follow. Everything that makes a program comes through here, so
   everything in a program has been through the row's shape rule. */
#include "core/allocator.h"
#include "core/dim_symbols.h"
#include "core/error.h"
#include "core/text.h"
#include "ops/custom_rows.h"
#include "ops/infer.h"
#include "ops/stored_ops.h"
#include "program/program_data.h"
#include <kn/tensor.h>
#include <string.h>

enum { MOST_VALUES = 1 << 22, MOST_OPERANDS = KNI_PROGRAM_VALUES, ATTRIBUTE_BYTES = 1024, MOST_BOUND = 200 };

static kn_status no_memory(void)
{
    return kni_fail(KN_ERROR_MEMORY, "no memory for another part of the program");
}

int32_t kni_build_value(kni_program *p, kni_origin origin, const kni_type *type, int32_t region,
                        const char *name)
{
    int32_t named = name ? kni_program_name(p, name) : -1;
    if ((name && named < 0) || p->n_values >= MOST_VALUES ||
        !kni_program_room((void **)&p->values, &p->value_room, p->n_values + 1, sizeof *p->values)) {
        no_memory();
        return -1;
    }
    p->values[p->n_values] = (kni_program_value){
        .type = *type, .origin = (uint8_t)origin, .number = -1, .name = named, .region = region, .last = -1};
    return p->n_values++;
}

int32_t kni_build_region(kni_program *p, int32_t parent, const char *name)
{
    int32_t named = name ? kni_program_name(p, name) : -1;
    if ((name && named < 0) ||
        !kni_program_room((void **)&p->regions, &p->region_room, p->n_regions + 1, sizeof *p->regions)) {
        no_memory();
        return -1;
    }
    p->regions[p->n_regions] = (kni_program_region){.parent = parent, .name = named};
    return p->n_regions++;
}

bool kni_region_add(int32_t **list, int32_t *n, int32_t *room, int32_t entry)
{
    if (!kni_program_room((void **)list, room, *n + 1, sizeof **list)) return no_memory(), false;
    (*list)[(*n)++] = entry;
    return true;
}

const kn_op *kni_build_row(const char *name)
{
    const kn_op *row = kni_op_by_name(name);
    return row && row->kind != KNI_SYSTEM ? row : kni_custom_by_name(name);
}

/* ---- nodes */

/* Whether a node of the region may read the value: it was made there or in a region around it, or belongs to none. */
static bool is_visible(const kni_program *p, int32_t value, int32_t region)
{
    const kni_program_value *v = &p->values[value];
    if (v->origin == KNI_FROM_PARAM || v->origin == KNI_FROM_CONSTANT) return true;
    for (; region >= 0; region = p->regions[region].parent)
        if (v->region == region) return true;
    return false;
}

static kn_status check_operands(const kni_program *p, int32_t region, const char *name, const int32_t *in,
                                int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (in[i] == -1) continue;
        if (in[i] < 0 || in[i] >= p->n_values)
            return kni_fail_op(KN_ERROR_ARGUMENT, name, "operand %d is no value of the program", i);
        if (!is_visible(p, in[i], region))
            return kni_fail_op(KN_ERROR_ARGUMENT, name,
                               "operand %d, '%s', belongs to a region that this op is not in", i,
                               kni_name_at(p, p->values[in[i]].name));
    }
    return KN_OK;
}

/* A node with its operands, whose results have these types. */
static kn_status add_node(kni_program *p, int32_t region, kni_program_node node, const int32_t *in,
                          const kni_type *types, int32_t *out)
{
    int32_t n = node.n_in + node.n_out;
    node.first = p->n_operands;
    if (!kni_program_room((void **)&p->operands, &p->operand_room, p->n_operands + n, sizeof *p->operands) ||
        !kni_program_room((void **)&p->nodes, &p->node_room, p->n_nodes + 1, sizeof *p->nodes))
        return no_memory();
    for (int32_t i = 0; i < node.n_out; i++) {
        out[i] = kni_build_value(p, KNI_FROM_NODE, &types[i], region, NULL);
        if (out[i] < 0) return KN_ERROR_MEMORY;
        p->operands[node.first + i] = out[i];
    }
    for (int32_t i = 0; i < node.n_in; i++) p->operands[node.first + node.n_out + i] = in[i];
    kni_program_region *r = &p->regions[region];
    if (!kni_region_add(&r->nodes, &r->n_nodes, &r->node_room, p->n_nodes)) return KN_ERROR_MEMORY;
    p->n_operands += n;
    p->nodes[p->n_nodes++] = node;
    return KN_OK;
}

static kn_status keep_attributes(kni_program *p, const kn_op *row, const void *attributes, int32_t *at)
{
    int32_t bytes = (row->attribute_bytes + 7) & ~7;
    *at = p->n_attributes;
    if (p->n_attributes > INT32_MAX / 2 ||
        !kni_program_room((void **)&p->attributes, &p->attribute_room, p->n_attributes + bytes + 8, 1))
        return no_memory();
    memset(p->attributes + p->n_attributes, 0, (size_t)bytes);
    if (attributes) memcpy(p->attributes + p->n_attributes, attributes, row->attribute_bytes);
    p->n_attributes += bytes;
    return KN_OK;
}

/* The types of the results by the row's own rule, which may find sizes that are expressions among operands and attributes. */
static kn_status infer_types(const kni_program *p, const kn_op *row, const int32_t *in, int32_t n_in,
                             const void *attributes, kni_type *types, int32_t n_out)
{
    _Alignas(8) char own[ATTRIBUTE_BYTES];
    const kni_type *operands[MOST_OPERANDS];
    kni_type *results[MOST_OPERANDS];
    if (n_in > MOST_OPERANDS || n_out > MOST_OPERANDS || row->attribute_bytes > sizeof own)
        return kni_fail_op(KN_ERROR_UNSUPPORTED, row->name, "too many operands for a program");
    for (int32_t i = 0; i < n_in; i++) operands[i] = in[i] < 0 ? NULL : &p->values[in[i]].type;
    for (int32_t i = 0; i < n_out; i++) {
        types[i] = (kni_type){0};
        results[i] = &types[i];
    }
    if (row->attribute_bytes) memcpy(own, attributes, row->attribute_bytes);
    kni_infer c = {row, operands, n_in, own, results, n_out};
    kn_status s = kni_infer_stored(&c);
    for (int32_t i = 0; i < n_out && s == KN_OK; i++) s = kni_infer_countable(&c, &types[i]);
    return s;
}

/* A row as kernels and gradients see it: every optional operand has its place. */
static kn_status check_counts(const kn_op *row, int32_t n_in, int32_t n_out)
{
    int most = row->max_in >= 0 ? row->max_in : MOST_OPERANDS;
    if (n_in < row->min_in || n_in > most)
        return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "%d operands given; it takes %d to %d", n_in,
                           (int)row->min_in, most);
    if (n_out != row->n_out)
        return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "room for %d results given; it has %d", n_out,
                           (int)row->n_out);
    return KN_OK;
}

kn_status kni_build_op(kni_program *p, int32_t region, const kn_op *row, const int32_t *in, int32_t n_in,
                       const void *attributes, int32_t *out, int32_t n_out)
{
    kni_type types[MOST_OPERANDS];
    int32_t all[MOST_OPERANDS];
    kn_status s = check_counts(row, n_in, n_out);
    if (s == KN_OK) s = check_operands(p, region, row->name, in, n_in);
    if (s) return s;
    for (int32_t i = 0; i < n_in; i++) {
        all[i] = in[i];
        if (in[i] < 0 && (i < row->min_in || row->max_in < 0))
            return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "operand %d is missing", i);
    }
    for (; n_in < row->max_in && n_in < MOST_OPERANDS; n_in++) all[n_in] = -1;
    kni_program_node node = {
        .kind = KNI_NODE_OP, .row = row, .n_in = n_in, .n_out = n_out, .regions = {-1, -1}};
    s = keep_attributes(p, row, attributes, &node.attributes);
    if (s) return s;
    kni_dims *before = kni_dims_enter(p->dims);
    s = infer_types(p, row, all, n_in, p->attributes + node.attributes, types, n_out);
    kni_dims_enter(before);
    return s ? s : add_node(p, region, node, all, types, out);
}

/* ---- control */

static kn_status wrong_results(const char *name, int32_t given, int32_t wanted)
{
    return kni_fail_op(KN_ERROR_ARGUMENT, name, "a region gives %d results where %d are needed", given,
                       wanted);
}

static bool is_condition(const kni_type *t) { return kni_is_bool(t->dtype) && t->rank == 0; }

static kn_status check_condition(const char *name, const kni_program *p, int32_t value)
{
    const kni_type *t = value < 0 ? NULL : &p->values[value].type;
    if (t && is_condition(t)) return KN_OK;
    return kni_fail_op(KN_ERROR_DTYPE, name, "the condition must be one bool, of rank 0");
}

/* One type for what comes from two places: sizes that differ are known when the program runs. */
static kn_status join_types(kni_program *p, const char *name, int32_t a, int32_t b, int32_t number,
                            kni_type *t)
{
    const kni_type *x = &p->values[a].type, *y = &p->values[b].type;
    if (x->dtype != y->dtype || x->rank != y->rank)
        return kni_fail_op(KN_ERROR_SHAPE, name, "result %d is %T%S in one region and %T%S in the other",
                           number, (int)x->dtype, x, (int)y->dtype, y);
    *t = *x;
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] == y->dims[i]) continue;
        return kni_fail_op(KN_ERROR_SHAPE, name, "result %d is %S in one region and %S in the other", number,
                           x, y);
    }
    return KN_OK;
}

/* A size that is known when the node has run (the regions of an If give it differently, a condition ends a loop): by the name that the file
   has for it, or a new one that begins with `word`. */
static kn_dim size_of_run(const kni_program *p, const kni_program_node *node, int32_t i, int32_t a,
                          const char *word, int64_t high)
{
    kn_dim inputs[MOST_OPERANDS], d = KNI_DIM_BAD;
    if (!node->declared) {
        char name[32];
        for (int32_t k = kni_dim_symbol_count(), n = k; n == kni_dim_symbol_count() && k < n + 1000; k++) {
            kni_text_format(&(kni_text){name, sizeof name, 0}, "%s_size_%d", word, k);
            d = kni_dim_symbol(name, 0, high);
            if (d == KNI_DIM_BAD) return d;
        }
        return d;
    }
    d = a < node->declared[i].rank ? node->declared[i].dims[a] : KNI_DIM_BAD;
    if (!kni_dim_is_expression(d) || kni_dim_kind_of(d) != KNI_DIM_SYMBOL) return KNI_DIM_BAD;
    int32_t n = kni_program_symbols(p, inputs, MOST_OPERANDS);
    for (int32_t k = 0; k < n; k++)
        if (inputs[k] == d) return KNI_DIM_BAD;
    return d;
}

static kn_status join_results(kni_program *p, const kni_program_node *node, int32_t a, int32_t b,
                              int32_t number, kni_type *t)
{
    const kni_type *x = &p->values[a].type, *y = &p->values[b].type;
    if (x->dtype != y->dtype || x->rank != y->rank) return join_types(p, "if", a, b, number, t);
    *t = *x;
    for (int i = 0; i < x->rank; i++) {
        if (x->dims[i] == y->dims[i]) continue;
        t->dims[i] = size_of_run(p, node, number, i, "chosen", INT64_MAX);
        if (t->dims[i] == KNI_DIM_BAD) return join_types(p, "if", a, b, number, t);
    }
    return KN_OK;
}

static kn_status type_if(kni_program *p, const kni_program_node *node, const int32_t *in, kni_type *types)
{
    const kni_program_region *then = &p->regions[node->regions[0]], *other = &p->regions[node->regions[1]];
    kn_status s = check_condition("if", p, in[0]);
    if (s) return s;
    if (then->n_results != node->n_out || other->n_results != node->n_out)
        return wrong_results("if", then->n_results != node->n_out ? then->n_results : other->n_results,
                             node->n_out);
    for (int32_t i = 0; i < node->n_out && s == KN_OK; i++)
        s = join_results(p, node, then->results[i], other->results[i], i, &types[i]);
    return s;
}

/* The slices of a loop's stacks: its trips, but where a condition may end it they are counted when it runs. All stacks have as many. */
static kn_dim stacked_trips(const kni_program *p, const kni_program_node *node)
{
    const kni_loop *l = &node->loop;
    if (!l->conditional || !l->n_stacked) return l->trips;
    int64_t high = l->trips == KNI_DIM_BAD ? l->max_trips : kni_dim_high(l->trips);
    return size_of_run(p, node, l->n_carried, 0, "loop", high);
}

static kn_status type_loop(kni_program *p, const kni_program_node *node, const int32_t *in, kni_type *types)
{
    const kni_loop *l = &node->loop;
    const kni_program_region *body = &p->regions[node->regions[0]];
    int32_t condition = l->conditional;
    kn_status s = condition ? check_condition("loop", p, in[0]) : KN_OK;
    if (s == KN_OK && body->n_results != condition + l->n_carried + l->n_stacked)
        s = wrong_results("loop", body->n_results, condition + l->n_carried + l->n_stacked);
    if (s == KN_OK && condition) s = check_condition("loop", p, body->results[0]);
    for (int32_t i = 0; i < l->n_carried && s == KN_OK; i++)
        s = join_types(p, "loop", in[condition + i], body->results[condition + i], i, &types[i]);
    kn_dim trips = s == KN_OK ? stacked_trips(p, node) : KNI_DIM_BAD;
    if (s == KN_OK && l->n_stacked && trips == KNI_DIM_BAD)
        return kni_fail_op(KN_ERROR_SHAPE, "loop", "its stacks have a size of their own, which has no name");
    for (int32_t i = 0; i < l->n_stacked && s == KN_OK; i++) {
        const kni_type *t = &p->values[body->results[condition + l->n_carried + i]].type;
        kni_type *y = &types[l->n_carried + i];
        if (t->rank == KN_MAX_RANK)
            return kni_fail_op(KN_ERROR_SHAPE, "loop", "no axis is left to stack along");
        *y = *t;
        y->rank++;
        for (int a = y->rank - 1; a > 0; a--) y->dims[a] = t->dims[a - 1];
        y->dims[0] = trips;
    }
    return s;
}

static kn_status type_call(kni_program *p, const kni_program_node *node, const int32_t *in, kni_type *types)
{
    const kni_program_region *f = &p->regions[node->regions[0]];
    if (node->n_in != f->n_arguments || node->n_out != f->n_results)
        return kni_fail_op(KN_ERROR_ARGUMENT, "call", "'%s' takes %d values and gives %d, not %d and %d",
                           kni_name_at(p, f->name), f->n_arguments, f->n_results, node->n_in, node->n_out);
    kn_status s = KN_OK;
    kni_type same;
    for (int32_t i = 0; i < node->n_in && s == KN_OK; i++)
        s = join_types(p, "call", in[i], f->arguments[i], i, &same);
    for (int32_t i = 0; i < node->n_out; i++) types[i] = p->values[f->results[i]].type;
    return s;
}

static kn_status type_size(kni_program *p, const kni_program_node *node, const int32_t *in, kni_type *types)
{
    (void)types;
    const kni_type *t = node->n_in == 1 ? &p->values[in[0]].type : NULL;
    if (!t || t->rank != 0 || (t->dtype != KN_I64 && t->dtype != KN_I32))
        return kni_fail_op(KN_ERROR_SHAPE, "size", "a size is read from one i64 or i32 of rank 0");
    if (node->n_out != 0) return wrong_results("size", 0, node->n_out);
    if (kni_dim_kind_of(node->size) != KNI_DIM_SYMBOL)
        return kni_fail_op(KN_ERROR_ARGUMENT, "size", "what is read needs the name of a size");
    return KN_OK;
}

/* ---- regions */

int32_t kni_build_argument(kni_program *p, int32_t region, const kni_type *type)
{
    int32_t id = kni_build_value(p, KNI_FROM_ARGUMENT, type, region, NULL);
    kni_program_region *r = &p->regions[region];
    if (id < 0 || !kni_region_add(&r->arguments, &r->n_arguments, &r->argument_room, id)) return -1;
    return id;
}

static kn_status check_loop(const kni_program *p, const kni_loop *l, const int32_t *in, int32_t n_in)
{
    int64_t counted = (int64_t)l->conditional + l->n_carried + l->n_sliced;
    if (l->n_carried < 0 || l->n_sliced < 0 || counted >= MOST_OPERANDS || n_in != counted)
        return kni_fail(KN_ERROR_ARGUMENT, "a loop carries and cuts at most %d values", MOST_OPERANDS - 2);
    if (l->trips == KNI_DIM_BAD && (!l->conditional || l->max_trips < 1))
        return kni_fail(KN_ERROR_ARGUMENT, "a loop needs .trips, or .condition and .max_trips");
    if (l->trips == KNI_DIM_BAD && l->n_sliced)
        return kni_fail(KN_ERROR_ARGUMENT, "a loop that cuts values needs .trips");
    for (int32_t i = 0; i < n_in; i++)
        if (in[i] < 0 || in[i] >= p->n_values)
            return kni_fail(KN_ERROR_ARGUMENT, "operand %d of the loop is no value of the program", i);
    return KN_OK;
}

/* The slice that a trip sees. */
static kn_status cut(kni_program *p, const kni_loop *l, kni_type *t)
{
    kni_dims *before = kni_dims_enter(p->dims);
    kn_status s = KN_OK;
    if (!t->rank || kni_dim_equal(t->dims[0], l->trips) == KNI_NO)
        s = kni_fail(KN_ERROR_SHAPE, "%S cannot be cut along axis 0 into the trips of the loop", t);
    kni_dims_enter(before);
    if (s) return s;
    t->rank--;
    for (int a = 0; a < t->rank; a++) t->dims[a] = t->dims[a + 1];
    return KN_OK;
}

kn_status kni_build_loop(kni_program *p, int32_t body, const kni_loop *l, const int32_t *in, int32_t n_in)
{
    kni_type number = {.dtype = KN_I64};
    kn_status s = check_loop(p, l, in, n_in);
    if (s == KN_OK && kni_build_argument(p, body, &number) < 0) s = KN_ERROR_MEMORY;
    for (int32_t i = l->conditional; i < n_in && s == KN_OK; i++) {
        kni_type t = p->values[in[i]].type;
        if (i - l->conditional >= l->n_carried) s = cut(p, l, &t);
        if (s == KN_OK && kni_build_argument(p, body, &t) < 0) s = KN_ERROR_MEMORY;
    }
    return s;
}

/* How deep the regions and calls of the node are nested, with its own. */
static int32_t depth_of(const kni_program *p, const kni_program_node *node)
{
    int32_t deepest = 0;
    for (int i = 0; i < 2; i++)
        if (node->regions[i] >= 0 && p->regions[node->regions[i]].depth > deepest)
            deepest = p->regions[node->regions[i]].depth;
    return deepest + 1;
}

/* One more size that is bound in the region; beyond MOST_BOUND the node that holds or calls it is refused. */
static bool add_bound(kni_program_region *r, kn_dim d)
{
    for (int32_t i = 0; i < r->n_bound; i++)
        if (r->bound[i] == d) return true;
    if (r->n_bound == MOST_BOUND) return true;
    if (!kni_program_room((void **)&r->bound, &r->bound_room, r->n_bound + 1, sizeof *r->bound)) return false;
    r->bound[r->n_bound++] = d;
    return true;
}

/* Notes what the node binds in its region, with what its own regions have: so no function is walked once for each of its calls, which
   functions that call functions would double at every level. */
static kn_status note_bound(kni_program *p, int32_t region, const kni_program_node *n)
{
    kni_program_region *r = &p->regions[region];
    bool good = n->kind != KNI_NODE_SIZE || add_bound(r, n->size);
    for (int32_t k = 0; k < n->n_out && good; k++) {
        const kni_type *t = &p->values[kni_node_out(p, n)[k]].type;
        for (int a = 0; a < t->rank && good; a++)
            if (kni_binds_axis(p, n, k, a)) good = add_bound(r, t->dims[a]);
    }
    for (int k = 0; k < 2; k++) {
        const kni_program_region *inside = n->regions[k] < 0 ? NULL : &p->regions[n->regions[k]];
        for (int32_t i = 0; inside && i < inside->n_bound && good; i++) good = add_bound(r, inside->bound[i]);
    }
    return good ? KN_OK : no_memory();
}

static bool is_bound_inside(const kni_program *p, const kni_program_node *node, kn_dim d)
{
    for (int k = 0; k < 2; k++)
        for (int32_t i = 0; node->regions[k] >= 0 && i < p->regions[node->regions[k]].n_bound; i++)
            if (p->regions[node->regions[k]].bound[i] == d) return true;
    return false;
}

/* What leaves a region has sizes that are known outside of it. */
static kn_status check_sizes_seen(const kni_program *p, const kni_program_node *node, const char *name,
                                  const kni_type *types, int32_t n_types)
{
    for (int k = 0; k < 2; k++)
        if (node->regions[k] >= 0 && p->regions[node->regions[k]].n_bound == MOST_BOUND)
            return kni_fail_op(KN_ERROR_UNSUPPORTED, name, "more than %d sizes are read inside",
                               MOST_BOUND - 1);
    for (int32_t i = 0; i < n_types; i++) {
        kn_dim symbols[MOST_OPERANDS];
        int32_t n = 0;
        for (int a = 0; a < types[i].rank; a++)
            n = kni_dim_symbols(types[i].dims[a], symbols, n, MOST_OPERANDS);
        for (int32_t k = 0; k < n; k++)
            if (is_bound_inside(p, node, symbols[k]))
                return kni_fail_op(KN_ERROR_SHAPE, name,
                                   "result %d is %S, and %s is read inside: it is not known outside", i,
                                   &types[i], kni_dim_name(symbols[k]));
    }
    return KN_OK;
}

kn_status kni_build_control(kni_program *p, int32_t region, const kni_program_node *control,
                            const int32_t *in, int32_t n_in, int32_t *out, int32_t n_out)
{
    static const struct {
        const char *name;
        kn_status (*types)(kni_program *p, const kni_program_node *node, const int32_t *in, kni_type *types);
    } kinds[] = {[KNI_NODE_IF] = {"if", type_if},
                 [KNI_NODE_LOOP] = {"loop", type_loop},
                 [KNI_NODE_CALL] = {"call", type_call},
                 [KNI_NODE_SIZE] = {"size", type_size}};
    kni_type types[MOST_OPERANDS];
    kni_program_node node = *control;
    const char *name = kinds[node.kind].name;
    if (n_in > MOST_OPERANDS || n_out > MOST_OPERANDS)
        return kni_fail_op(KN_ERROR_UNSUPPORTED, name, "at most %d values go in and out", (int)MOST_OPERANDS);
    node.n_in = n_in;
    node.n_out = n_out;
    node.declared = NULL;
    int32_t depth = depth_of(p, &node);
    kn_status s = check_operands(p, region, name, in, n_in);
    for (int32_t i = 0; i < n_in && s == KN_OK; i++)
        if (in[i] < 0) s = kni_fail_op(KN_ERROR_ARGUMENT, name, "operand %d is missing", i);
    if (s == KN_OK && depth > KNI_PROGRAM_DEPTH)
        s = kni_fail_op(KN_ERROR_UNSUPPORTED, name, "regions and calls are nested deeper than %d",
                        (int)KNI_PROGRAM_DEPTH);
    kni_dims *before = kni_dims_enter(p->dims);
    kni_program_node typed = node;
    typed.declared = control->declared;
    if (s == KN_OK) s = kinds[node.kind].types(p, &typed, in, types);
    if (s == KN_OK) s = check_sizes_seen(p, &node, name, types, n_out);
    kni_dims_enter(before);
    if (s == KN_OK) s = add_node(p, region, node, in, types, out);
    if (s == KN_OK && region > 0) s = note_bound(p, region, &p->nodes[p->n_nodes - 1]);
    if (s == KN_OK && p->regions[region].depth < depth) p->regions[region].depth = depth;
    return s;
}

kn_status kni_build_results(kni_program *p, int32_t region, const int32_t *values, int32_t n)
{
    kni_program_region *r = &p->regions[region];
    for (int32_t i = 0; i < n; i++) {
        if (values[i] < 0 || values[i] >= p->n_values || !is_visible(p, values[i], region))
            return kni_fail(KN_ERROR_ARGUMENT, "result %d is no value of this region or of one around it", i);
        if (!kni_region_add(&r->results, &r->n_results, &r->result_room, values[i])) return KN_ERROR_MEMORY;
    }
    return KN_OK;
}

/* ---- sizes as text */

int32_t kni_build_sizes(const char *text, const char *what, kn_dim *dims)
{
    int32_t n = 0;
    const char *at = text;
    while (*at == ' ') at++;
    while (*at) {
        kn_dim d = n < KN_MAX_RANK ? kni_dim_parse(&at) : KNI_DIM_BAD;
        if (d == KNI_DIM_BAD) {
            kni_fail(KN_ERROR_SHAPE,
                     "%s: '%s' is no list of at most %d sizes: write it as in \"batch, 3, 2 * width\"", what,
                     text, KN_MAX_RANK);
            return -1;
        }
        dims[n++] = d;
        if (*at == ',') at++;
        while (*at == ' ') at++;
    }
    return n;
}
