/* A product and what follows it: the tail is a program of strips over what the product has finished, or bounds that its kernel applies
   where it stores. Both have the bits of the single records. */
#include "backend/cpu/group_product.h"
#include "backend/cpu/group_strips.h"
#include "backend/cpu/product_tail.h"
#include "backend/host/host.h"
#include "graph/grouping.h"
#include "ops/body.h"
#include "ops/native.h"
#include "ops/word_numbers.h"
#include <string.h>

#ifndef KN_FREESTANDING /* where rows have no products with tails (ops/native.h) */

/* Whether the record maps the channels of what the product makes, as [batch, channels, ...]. */
static bool is_map(const kn_record *r, const kni_type *made)
{
    const kni_native *native = r->row->native;
    return native && native->channel_map && made->rank > 2 && kni_out(r, 0)->type.dtype == KN_F32;
}

kn_follow kni_cpu_follows(kn_backend *b, const kn_record *const *records, int32_t n, const kn_record *next)
{
    const kni_native *native = records[0]->row->native;
    const kni_type *made = &kni_out(records[0], 0)->type;
    (void)b;
    if (!native || !native->run_product || made->dtype != KN_F32) return KN_FOLLOW_NO;
    if (n == 1 && is_map(next, made)) return KN_FOLLOW_ONLY;
    return kni_pointwise_record(next) && kni_same_dims(made, &kni_out(next, 0)->type) ? KN_FOLLOW_ONLY
                                                                                      : KN_FOLLOW_NO;
}

/* ---- bounds */

/* A number that the body reads: of the formula, an attribute, or an operand of one element. */
static bool number_of(const kn_record *r, const kni_step *s, float *value)
{
    double real;
    if (s->kind == KNI_STEP_CONSTANT) {
        *value = (float)s->value;
        return true;
    }
    if (s->kind == KNI_STEP_PARAM) {
        if (!kn_backend_body_param(r, s->index, &real)) return false;
        *value = (float)real;
        return true;
    }
    kni_tensor *x = s->kind == KNI_STEP_INPUT && s->index < r->n_in ? kni_in(r, s->index) : NULL;
    if (!x || kni_count(&x->type) != 1 || x->type.dtype != KN_F32) return false;
    *value = *(const float *)kni_pointer(x);
    return true;
}

static bool is_word(const kni_step *s, int word) { return s->kind == KNI_STEP_WORD && s->index == word; }

/* Whether the record is max(y, low), or min(max(y, low), high), for the tensor `id`. */
static bool finish_of(const kn_record *r, uint32_t id, kni_finish *f)
{
    const kni_body *body = r->row->body;
    kni_step s[5];
    if (!body || (body->n != 3 && body->n != 5) || kni_out(r, 0)->type.dtype != KN_F32) return false;
    for (int i = 0; i < body->n; i++) s[i] = kni_body_step(body, i);
    if (s[0].kind != KNI_STEP_INPUT || s[0].index != 0 || r->ids[1] != id || !is_word(&s[2], KNI_WORD_max) ||
        !number_of(r, &s[1], &f->low))
        return false;
    f->kind = KNI_FINISH_LOW;
    if (body->n == 3) return true;
    f->kind = KNI_FINISH_BOTH;
    return is_word(&s[4], KNI_WORD_min) && number_of(r, &s[3], &f->high);
}

/* ---- the tail */

typedef struct {
    const kni_group *group;
    kni_tensor *made;    /* by the product */
    uint32_t base;       /* what the rest reads of that: the product's result, or that of the map behind it */
    int mapped, bounded; /* records behind the product that the finish takes in */
    float *map;
    size_t map_bytes;
    kni_product_tail tail;
    kni_strip_memory memory;
    kni_group rest;
    uint32_t inputs[KNI_GROUP_INPUTS];
} tail_run;

static void add_input(tail_run *t, uint32_t id)
{
    for (int i = 0; i < t->rest.n_inputs; i++)
        if (t->inputs[i] == id) return;
    t->inputs[t->rest.n_inputs++] = id;
}

static bool is_input(const kni_group *g, uint32_t id)
{
    for (int i = 0; i < g->n_inputs; i++)
        if (g->inputs[i] == id) return true;
    return false;
}

static bool is_output(const kni_group *g, uint32_t id)
{
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] == id) return true;
    return false;
}

/* What the finish takes in, and the records that are left, whose first input is `base`. */
static kn_status split(tail_run *t)
{
    const kni_group *g = t->group;
    const kn_record *head = g->records[0], *first = g->records[1];
    const kni_type *made = &t->made->type;
    t->base = head->ids[0];
    t->tail.channels = made->rank > 1 ? made->dims[1] : 1;
    t->tail.plane = made->rank > 2 ? kni_count_dims(made->rank - 2, made->dims + 2) : 1;
    t->tail.count = kni_count(made);
    t->mapped = is_map(first, made) && first->ids[1] == t->base;
    if (t->mapped) t->base = first->ids[0];
    const int next = 1 + t->mapped;
    t->bounded = g->n_records == next + 1 && finish_of(g->records[next], t->base, &t->tail.finish);
    if (!t->bounded) t->tail.finish = (kni_finish){.kind = KNI_FINISH_NONE};
    if (is_output(g, head->ids[0]) || (g->n_records > next && is_output(g, t->base)) ||
        g->n_inputs >= KNI_GROUP_INPUTS)
        return KN_ERROR_UNSUPPORTED;
    t->rest = *g;
    t->rest.kind = KNI_GROUP_POINTWISE;
    t->rest.records = g->records + next + t->bounded;
    t->rest.n_records = g->n_records - next - t->bounded;
    t->rest.inputs = t->inputs;
    t->rest.n_inputs = 0;
    add_input(t, t->base);
    for (int i = 0; i < t->rest.n_records; i++)
        for (int k = 0; k < t->rest.records[i]->n_in; k++)
            if (is_input(g, t->rest.records[i]->ids[1 + k])) add_input(t, t->rest.records[i]->ids[1 + k]);
    return KN_OK;
}

static kn_status find_map(tail_run *t)
{
    const int64_t channels = t->tail.channels;
    const kn_record *r = t->group->records[1];
    if (!t->mapped) return KN_OK;
    t->map_bytes = 3 * (size_t)channels * sizeof *t->map;
    t->map = kni_allocate(t->map_bytes);
    if (!t->map || !r->row->native->channel_map(r, t->map, channels))
        return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the numbers of channels");
    t->tail.finish.mean = t->map;
    t->tail.finish.scale = t->map + channels;
    t->tail.finish.shift = t->map + 2 * channels;
    return KN_OK;
}

/* Programs whose strips read inputs against their layout want copies of them, which nothing makes here. */
static bool wants_copies(const kni_strip_program *p)
{
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].copied) return true;
    return false;
}

static kni_strip_program *program_of(const kni_group *g)
{
    if (g->cache && *g->cache) return *g->cache;
    kni_strip_program *p = kni_strip_compile_once(g);
    if (p && wants_copies(p)) {
        kni_strip_free(p);
        return NULL;
    }
    if (p && g->cache) {
        *g->cache = p;
        *g->release = kni_strip_free;
    }
    return p;
}

static void share_memory(kni_tensor *y, kni_tensor *made)
{
    y->storage = kni_storage_retain(made->storage);
    y->offset = 0;
    kni_contiguous_strides(y->type.rank, y->type.dims, y->strides);
}

static void release(kni_tensor *x)
{
    if (x->storage) kni_storage_release(x->storage);
    x->storage = NULL;
}

/* Results take the memory of the product's where the program allows it. */
static kn_status start_program(tail_run *t, const kni_strip_program *p)
{
    static const double no_params[4] = {0};
    const kni_group *g = &t->rest;
    for (int i = 0; i < g->n_outputs; i++) {
        kni_tensor *y = kni_slot(g->outputs[i]);
        kn_status s = KN_OK;
        if (p->reused[i] == 0)
            share_memory(y, t->made);
        else
            s = kni_host_allocate(y);
        if (s) return s;
        t->memory.results[i] = kni_pointer(y);
    }
    for (int i = 0; i < g->n_inputs; i++) t->memory.inputs[i] = kni_pointer(kni_slot(g->inputs[i]));
    for (int i = 0; i < g->n_records; i++)
        t->memory.params[i] = g->records[i]->attribute_bytes ? g->records[i]->attributes : no_params;
    t->tail.program = p;
    t->tail.memory = &t->memory;
    return KN_OK;
}

static kn_status multiply(tail_run *t)
{
    const kn_record *head = t->group->records[0];
    t->tail.made = kni_pointer(t->made);
    kni_product_tail_start(&t->tail);
    t->made->flags |= KNI_TENSOR_BOUND; /* the kernel writes into the memory that is there */
    kn_status s = head->row->native->run_product(head, &t->tail);
    t->made->flags &= (uint8_t)~KNI_TENSOR_BOUND;
    return s;
}

static kn_status run(tail_run *t)
{
    kn_status s = find_map(t);
    if (s) return s;
    if (t->rest.n_records == 0) {
        if (t->group->n_outputs != 1) return KN_ERROR_UNSUPPORTED;
        share_memory(kni_slot(t->group->outputs[0]), t->made);
        return multiply(t);
    }
    kni_tensor *base = kni_slot(t->base);
    if (t->mapped) share_memory(base, t->made);
    kni_strip_program *p = program_of(&t->rest);
    s = p ? start_program(t, p) : KN_ERROR_UNSUPPORTED;
    if (s == KN_OK) s = multiply(t);
    if (p && !t->group->cache) kni_strip_free(p);
    if (t->mapped) release(base);
    return s;
}

kn_status kni_cpu_group_product(const kni_group *g)
{
    const kn_record *head = g->records[0];
    tail_run t = {.group = g, .made = kni_slot(head->ids[0])};
    if (!head->row->native || !head->row->native->run_product || head->n_out != 1 || g->n_records < 2)
        return KN_ERROR_UNSUPPORTED;
    kn_status s = split(&t);
    if (s == KN_OK) s = kni_host_allocate(t.made);
    if (s == KN_OK) s = run(&t);
    release(t.made);
    if (t.map) kni_free(t.map, t.map_bytes);
    for (int i = 0; s != KN_OK && i < g->n_outputs; i++) release(kni_slot(g->outputs[i]));
    return s;
}
#endif
