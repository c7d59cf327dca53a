/* A product and what follows it: the tail is a program of strips over what the product has finished, or bounds that its kernel applies
   where it stores. Both have the bits of the single records. */
#include "backend/cpu/group_product.h"
#include "backend/cpu/product_tail.h"
#include "backend/host/host.h"
#include "graph/grouping.h"
#include "ops/body.h"
#include "ops/native.h"
#include "ops/word_numbers.h"
#include <string.h>

kn_follow kni_cpu_follows(kn_backend *b, const kn_record *const *records, int32_t n, const kn_record *next)
{
    const kni_native *native = records[0]->row->native;
    const kni_type *made = &kni_out(records[0], 0)->type, *type = &kni_out(next, 0)->type;
    (void)b, (void)n;
    if (!native || !native->run_product || made->dtype != KN_F32 || !kni_pointwise_record(next))
        return KN_FOLLOW_NO;
    return kni_same_dims(made, type) ? KN_FOLLOW_ONLY : KN_FOLLOW_NO;
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

/* ---- the group without its product */

typedef struct {
    kni_group group;
    uint32_t inputs[KNI_GROUP_INPUTS], outputs[KNI_GROUP_RESULTS];
    bool keeps; /* the product's own result is one of the group's */
} rest_of_group;

static void add_input(rest_of_group *rest, uint32_t id)
{
    for (int i = 0; i < rest->group.n_inputs; i++)
        if (rest->inputs[i] == id) return;
    rest->inputs[rest->group.n_inputs++] = id;
}

static bool is_input(const kni_group *g, uint32_t id)
{
    for (int i = 0; i < g->n_inputs; i++)
        if (g->inputs[i] == id) return true;
    return false;
}

/* The product's result is its first input. */
static bool start_rest(const kni_group *g, rest_of_group *rest)
{
    const uint32_t made = g->records[0]->ids[0];
    if (g->n_inputs >= KNI_GROUP_INPUTS || g->n_outputs > KNI_GROUP_RESULTS || g->n_records < 2) return false;
    rest->group = *g;
    rest->group.kind = KNI_GROUP_POINTWISE;
    rest->group.records = g->records + 1;
    rest->group.n_records = g->n_records - 1;
    rest->group.inputs = rest->inputs;
    rest->group.outputs = rest->outputs;
    rest->group.n_inputs = rest->group.n_outputs = 0;
    rest->keeps = false;
    add_input(rest, made);
    for (int i = 1; i < g->n_records; i++)
        for (int k = 0; k < g->records[i]->n_in; k++)
            if (is_input(g, g->records[i]->ids[1 + k])) add_input(rest, g->records[i]->ids[1 + k]);
    for (int i = 0; i < g->n_outputs; i++) {
        rest->keeps |= g->outputs[i] == made;
        if (g->outputs[i] != made) rest->outputs[rest->group.n_outputs++] = g->outputs[i];
    }
    return rest->group.n_outputs > 0;
}

/* Programs whose strips read inputs against their layout want copies of them, which nothing makes here. */
static bool wants_copies(const kni_strip_program *p)
{
    for (int i = 0; i < p->n_inputs; i++)
        if (p->inputs[i].copied) return true;
    return false;
}

static kni_strip_program *program_of(const rest_of_group *rest)
{
    const kni_group *g = &rest->group;
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

static void release(kni_tensor *x)
{
    if (x->storage) kni_storage_release(x->storage);
    x->storage = NULL;
}

/* Results take the memory of the product's where nobody needs that any more. */
static kn_status give_memory(const rest_of_group *rest, const kni_strip_program *p, kni_tensor *made)
{
    for (int i = 0; i < rest->group.n_outputs; i++) {
        kni_tensor *y = kni_slot(rest->outputs[i]);
        if (p->reused[i] == 0 && !rest->keeps) {
            y->storage = kni_storage_retain(made->storage);
            y->offset = 0;
            kni_contiguous_strides(y->type.rank, y->type.dims, y->strides);
            continue;
        }
        kn_status s = kni_host_allocate(y);
        if (s) return s;
    }
    return KN_OK;
}

static kn_status run(const kni_group *g, const rest_of_group *rest, const kni_strip_program *p)
{
    static const double no_params[4] = {0};
    const kn_record *head = g->records[0];
    kni_tensor *made = kni_slot(head->ids[0]);
    kni_strip_memory memory = {.ahead = NULL};
    kni_product_tail tail = {.program = p, .memory = &memory};
    kn_status s = give_memory(rest, p, made);
    if (s) return s;
    for (int i = 0; i < rest->group.n_inputs; i++) memory.inputs[i] = kni_pointer(kni_slot(rest->inputs[i]));
    for (int i = 0; i < rest->group.n_outputs; i++)
        memory.results[i] = kni_pointer(kni_slot(rest->outputs[i]));
    for (int i = 1; i < g->n_records; i++)
        memory.params[i - 1] = g->records[i]->attribute_bytes ? g->records[i]->attributes : no_params;
    kni_finish f = {KNI_FINISH_NONE, 0, 0};
    if (g->n_records == 2 && p->reused[0] == 0 && !rest->keeps && finish_of(g->records[1], head->ids[0], &f))
        tail.finish = f;
    made->flags |= KNI_TENSOR_BOUND; /* the kernel writes into the memory that is there */
    s = head->row->native->run_product(head, &tail);
    made->flags &= (uint8_t)~KNI_TENSOR_BOUND;
    return s;
}

kn_status kni_cpu_group_product(const kni_group *g)
{
    const kn_record *head = g->records[0];
    rest_of_group rest;
    if (!head->row->native || !head->row->native->run_product || head->n_out != 1 || !start_rest(g, &rest))
        return KN_ERROR_UNSUPPORTED;
    kni_tensor *made = kni_slot(head->ids[0]);
    kn_status s = kni_host_allocate(made);
    if (s) return s;
    kni_strip_program *p = program_of(&rest);
    s = p ? run(g, &rest, p) : KN_ERROR_UNSUPPORTED;
    if (p && !g->cache) kni_strip_free(p);
    if (s != KN_OK || !rest.keeps) release(made);
    for (int i = 0; s != KN_OK && i < rest.group.n_outputs; i++) release(kni_slot(rest.outputs[i]));
    return s;
}
