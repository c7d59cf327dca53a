/* kn_program_run: binds the sizes to those of the inputs, then runs the nodes in order. */
#include "core/allocator.h"
#include "core/call_site.h"
#include "core/device_object.h"
#include "core/error.h"
#include "core/life.h"
#include "core/text.h"
#include "ops/autocast_state.h"
#include "ops/size_attributes.h"
#include "program/run_state.h"
#include <kn/tensor.h>
#include <string.h>

enum { MOST_OPERANDS = KNI_PROGRAM_VALUES, ATTRIBUTE_BYTES = 1024 };

/* ---- sizes */

static int32_t bound_at(const kni_run *run, kn_dim symbol)
{
    for (int32_t i = 0; i < run->n_sizes; i++)
        if (run->symbols[i] == symbol) return i;
    return -1;
}

/* Sizes that stand alone in a type get the input's; what is computed from them is compared afterwards. */
static kn_status bind_input(kni_run *run, int32_t i, const kni_type *have)
{
    char number[KNI_RUN_NUMBER];
    const char *name = kni_run_input_name(run->p, i, number);
    const kni_type *want = &run->p->values[run->p->inputs[i]].type;
    if (have->dtype != want->dtype || have->rank != want->rank)
        return kni_fail(KN_ERROR_SHAPE, "kn_program_run: input '%s' is %T%S; the program takes %T%S", name,
                        (int)have->dtype, have, (int)want->dtype, want);
    for (int a = 0; a < want->rank; a++) {
        kn_dim d = want->dims[a];
        if (kni_dim_kind_of(d) != KNI_DIM_SYMBOL) continue;
        int32_t at = bound_at(run, d);
        if (at >= 0) continue;
        if (have->dims[a] < kni_dim_low(d) || have->dims[a] > kni_dim_high(d))
            return kni_fail(KN_ERROR_SHAPE, "kn_program_run: input '%s' is %S: %s may be %D to %D", name,
                            have, kni_dim_name(d), kni_dim_low(d), kni_dim_high(d));
        if (run->n_sizes == KNI_RUN_SIZES)
            return kni_fail(KN_ERROR_UNSUPPORTED, "kn_program_run: too many sizes");
        run->symbols[run->n_sizes] = d;
        run->told[run->n_sizes] = i;
        run->axes[run->n_sizes] = a;
        run->sizes[run->n_sizes++] = have->dims[a];
    }
    return KN_OK;
}

int64_t kni_run_size(const kni_run *run, kn_dim d)
{
    return kni_dim_evaluate(d, run->symbols, run->sizes, run->n_sizes);
}

bool kni_run_whole(const kni_run *run, kn_dim d, int64_t *value)
{
    return kni_dim_evaluate_whole(d, run->symbols, run->sizes, run->n_sizes, value);
}

static kn_status compare_input(kni_run *run, int32_t i, const kni_type *have)
{
    const kni_type *want = &run->p->values[run->p->inputs[i]].type;
    for (int a = 0; a < want->rank; a++)
        if (kni_run_size(run, want->dims[a]) != have->dims[a]) return kni_run_differs(run, i, a, have);
    return KN_OK;
}

static kn_status bind_sizes(kni_run *run, const kn_tensor *inputs)
{
    const kni_program *p = run->p;
    kn_status s = KN_OK;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < p->n_inputs && s == KN_OK && !p->loose; i++) {
            const kni_tensor *x = p->inputs[i] < 0 ? NULL : kni_peek(inputs[i]);
            if (x) s = (pass ? compare_input : bind_input)(run, i, &x->type);
        }
        if (!pass && s == KN_OK && !p->loose) kni_run_solve(run, inputs);
    }
    return s;
}

/* ---- values */

/* How a run comes by weights and constants on its device: by copies that are kept for the runs after it, which it finds or makes, or
   by its own, where runs of other threads use those of another device or are still making them. */
typedef enum places { PLACES_THERE, PLACES_MADE, PLACES_OWN } places;

static kni_guard places_lock = KNI_GUARD_INIT(KNI_GUARD_INNER);

static places begin_places(kni_program *p, kn_device device)
{
    kni_guard_lock(&places_lock);
    places how = p->placed_on == device && p->placed_all ? PLACES_THERE
                 : p->runs == 0                          ? PLACES_MADE
                                                         : PLACES_OWN;
    if (how != PLACES_OWN) p->runs++;
    bool elsewhere = how == PLACES_MADE && p->placed_on != device;
    if (how == PLACES_MADE) {
        p->placed_all = false;
        p->placed_on = device;
    }
    kni_guard_unlock(&places_lock);
    for (int32_t i = 0; i < p->n_values && elsewhere; i++) {
        if (p->values[i].placed.bits) kn_drop(p->values[i].placed);
        p->values[i].placed = KN_NONE;
    }
    return how;
}

static void set_places(kni_program *p, places how, bool all, int32_t runs)
{
    if (how == PLACES_OWN) return;
    kni_guard_lock(&places_lock);
    if (how == PLACES_MADE && all) p->placed_all = true;
    p->runs += runs;
    kni_guard_unlock(&places_lock);
}

static kn_tensor copy_to(kn_tensor from, kn_device device)
{
    const kni_tensor *x = kni_peek(from);
    if (x->storage || !(x->flags & KNI_TENSOR_SCALAR)) return kn_keep(kn_to(from, device));
    kn_tensor copy = kn_keep(kn_alias(from)); /* every device has a number, and it stays weak */
    if (!kni_is_poisoned(copy)) kni_peek(copy)->device = device;
    return copy;
}

static kn_tensor placed(kni_program_value *v, kn_device device, places how)
{
    const kni_tensor *x = kni_peek(v->tensor);
    if (v->live || !x || kni_same_leaf(x->device, device)) return v->tensor;
    if (how != PLACES_OWN && v->placed.bits) return v->placed;
    kn_tensor copy = copy_to(v->tensor, device);
    if (how == PLACES_OWN || kni_is_poisoned(copy)) return copy;
    return v->placed = kn_own(copy);
}

static kn_status start_values(kni_run *run, const kn_tensor *inputs, places how)
{
    kni_program *p = run->p;
    char number[KNI_RUN_NUMBER];
    for (int32_t i = 0; i < p->n_inputs; i++)
        if (p->inputs[i] >= 0 && !inputs[i].bits)
            return kni_fail(KN_ERROR_ARGUMENT, "kn_program_run: input '%s' is missing: KN_NONE was given",
                            kni_run_input_name(p, i, number));
    for (int32_t i = 0; i < p->n_values; i++) {
        kni_program_value *v = &p->values[i];
        run->now[i] = KN_NONE;
        if (v->origin == KNI_FROM_PARAM || v->origin == KNI_FROM_CONSTANT)
            run->now[i] = placed(v, run->device, how);
        if (v->origin == KNI_FROM_INPUT && v->number >= 0) run->now[i] = kn_keep(inputs[v->number]);
        if (kni_is_poisoned(run->now[i])) return kni_fail_again(run->now[i], "program_run");
    }
    set_places(p, how, true, 0);
    return KN_OK;
}

void kni_run_drop_read(kni_run *run, int32_t region, int32_t place, const int32_t *values, int32_t n)
{
    const kni_program *p = run->p;
    for (int32_t i = 0; i < n; i++) {
        if (values[i] < 0) continue;
        const kni_program_value *v = &p->values[values[i]];
        bool mine = (v->origin == KNI_FROM_NODE || v->origin == KNI_FROM_ARGUMENT) && v->region == region;
        if (!mine || v->last > place || !run->now[values[i]].bits) continue;
        kn_drop(run->now[values[i]]);
        run->now[values[i]] = KN_NONE;
    }
}

/* ---- ops */

/* Random ops get the device's key as it is now and counters of this run. */
static void renew_numbers(const kni_run *run, const kn_op *row, char *attributes, const kni_type *y)
{
    int64_t draws = y && kni_count(y) > 0 ? kni_count(y) : 1;
    for (const kn_attribute *a = row->schema; a && a->name; a++) {
        if (a->dynamic != KNI_DYNAMIC || a->type != KNI_ATTR_INT) continue;
        int64_t word;
        memcpy(&word, attributes + a->offset, sizeof word);
        if (!strcmp(a->name, "key"))
            word = (int64_t)kni_rng_key(run->device);
        else if (!strcmp(a->name, "counter"))
            word = run->p->draws ? (int64_t)((uint64_t)word - run->p->counter + run->base)
                                 : (int64_t)kni_rng_reserve(run->device, (uint64_t)draws);
        memcpy(attributes + a->offset, &word, sizeof word);
    }
}

static kn_status untold_attribute(const kni_run *run, const kn_op *row, const char *name, kn_dim d)
{
    char told[200] = "";
    kni_run_tell(run, d, &(kni_text){told, sizeof told, 0});
    return kni_fail_op(KN_ERROR_SHAPE, row->name, "%s is %s with these inputs: %D%s", name,
                       kni_takes_negative(row, name) ? "unknown" : "negative or unknown", d, told);
}

kn_status kni_run_attributes(const kni_run *run, const kn_op *row, char *attributes)
{
    for (const kn_attribute *a = row->schema; a && a->name; a++) {
        if (a->type == KNI_ATTR_REAL) continue;
        kn_ints list = kni_whole_numbers(a, attributes);
        char *place = attributes + a->offset;
        for (int32_t i = 0; i < list.rank && i < KN_MAX_RANK; i++) {
            if (kni_dim_kind_of(list.dims[i]) == KNI_DIM_CONSTANT) continue; /* also keys of all 64 bits */
            int64_t size;
            if (!kni_run_whole(run, list.dims[i], &size) || (size < 0 && !kni_takes_negative(row, a->name)))
                return untold_attribute(run, row, a->name, list.dims[i]);
            list.dims[i] = size;
        }
        if (a->type == KNI_ATTR_INT)
            memcpy(place, list.dims, sizeof *list.dims);
        else
            memcpy(place, &list, sizeof list);
    }
    return KN_OK;
}

static kn_status run_op(kni_run *run, const kni_program_node *n)
{
    const kni_program *p = run->p;
    _Alignas(8) char attributes[ATTRIBUTE_BYTES];
    kn_tensor in[MOST_OPERANDS], out[MOST_OPERANDS];
    const kn_op *row = n->row;
    if (n->n_in > MOST_OPERANDS || n->n_out > MOST_OPERANDS || row->attribute_bytes > ATTRIBUTE_BYTES)
        return kni_fail_op(KN_ERROR_UNSUPPORTED, row->name, "too many operands for a program");
    if (row->attribute_bytes) memcpy(attributes, kni_node_attributes(p, n), row->attribute_bytes);
    kn_status s = kni_run_attributes(run, row, attributes);
    if (s) return s;
    for (int32_t i = 0; i < n->n_in; i++) {
        int32_t v = kni_node_in(p, n)[i];
        in[i] = v < 0 ? KN_NONE : run->now[v];
    }
    if (row->flags & KNI_FLAG_RANDOM) {
        kni_type bound = p->values[kni_node_out(p, n)[0]].type;
        for (int a = 0; a < bound.rank; a++) bound.dims[a] = kni_run_size(run, bound.dims[a]);
        renew_numbers(run, row, attributes, &bound);
    }
    kni_apply_many(row, in, n->n_in, row->attribute_bytes ? attributes : NULL, out, n->n_out);
    if (kni_is_poisoned(out[0])) kni_run_explain(run);
    if (n->site)
        kn_site_note(n->site); /* failures belong to the line that the op was noted from, now or later */
    if (kni_is_poisoned(out[0])) return kni_latest_code();
    for (int32_t i = 0; i < n->n_out; i++) run->now[kni_node_out(p, n)[i]] = kn_keep(out[i]);
    return KN_OK;
}

kn_status kni_run_region(kni_run *run, int32_t region)
{
    const kni_program *p = run->p;
    const kni_program_region *r = &p->regions[region];
    kn_status s = KN_OK;
    for (int32_t i = 0; i < r->n_nodes && s == KN_OK; i++) {
        const kni_program_node *n = &p->nodes[r->nodes[i]];
        s = n->kind == KNI_NODE_OP ? run_op(run, n) : kni_run_control(run, n);
        /* What nobody reads any more goes at once, so that a queue sees it die. */
        if (s == KN_OK) kni_run_drop_read(run, region, i, kni_node_out(p, n), n->n_out + n->n_in);
        for (int32_t v = n->kind == KNI_NODE_OP ? -1 : n->read_inside; v >= 0 && s == KN_OK;
             v = p->values[v].also_last)
            kni_run_drop_read(run, region, i, &v, 1);
    }
    return s;
}

/* ---- the whole */

/* Values from outside stay whose they are, and every output has a handle of its own. */
static void give_outputs(const kni_run *run, kn_status s, kn_tensor *outputs)
{
    const kni_program_region *r = &run->p->regions[0];
    for (int32_t i = 0; i < r->n_results; i++) {
        int32_t v = r->results[i];
        bool own = run->p->values[v].origin == KNI_FROM_NODE;
        for (int32_t k = 0; k < i; k++) own = own && r->results[k] != v;
        outputs[i] = s ? kni_poison_latest() : own ? run->now[v] : kn_alias(run->now[v]);
    }
}

kn_status kn_program_run(kn_program program, const kn_tensor *inputs, int32_t n_in, kn_tensor *outputs,
                         int32_t n_out)
{
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    if (n_in != p->n_inputs || n_out != p->n_outputs || (n_in && !inputs) || (n_out && !outputs))
        return kni_fail(KN_ERROR_ARGUMENT, "kn_program_run: %d inputs and %d outputs given; it has %d and %d",
                        n_in, n_out, p->n_inputs, p->n_outputs);
    if (p->handle && !kni_device_find(p->handle, "kn_program_run")) return KN_ERROR_DEVICE;
    kn_device device = p->device ? p->device : kni_device_current();
    if (!device) return KN_ERROR_DEVICE;
    kn_scope scope = kn_scope_begin();
    kni_thread *t = kni_thread_self();
    size_t bytes = (size_t)(p->n_values ? p->n_values : 1) * sizeof(kn_tensor);
    kni_run run = {.p = p, .device = device, .now = kni_allocate(bytes)};
    kni_context before = kni_context_push(t);
    t->context.current = device;
    t->context.autocast = KN_DTYPE_NONE; /* the casts of a trace are among its records */
    kni_dims *dims = kni_dims_enter(p->dims);
    places how = begin_places(p, device);
    kn_status s =
        run.now ? start_values(&run, inputs, how) : kni_fail(KN_ERROR_MEMORY, "kn_program_run: no memory");
    if (s == KN_OK) s = bind_sizes(&run, inputs);
    if (s == KN_OK && p->draws) run.base = kni_rng_reserve(device, p->draws);
    if (s == KN_OK) s = kni_run_region(&run, 0);
    kni_dims_enter(dims);
    kni_context_pop(t, &before);
    give_outputs(&run, s, outputs);
    set_places(p, how, false, -1);
    kni_free(run.now, run.now ? bytes : 0);
    kn_scope_end_many(scope, outputs, n_out);
    return s;
}
