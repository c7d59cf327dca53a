/* Groups of records on the CPU. */
#include "backend/cpu/group_product.h"
#include "backend/cpu/group_rows.h"
#include "backend/cpu/group_strips.h"
#include "backend/host/host.h"
#include "backend/host/host_copy.h"
#include "backend/jit/group_jit.h"
#include "core/backends.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include <string.h>

enum { PARALLEL_MIN = 1 << 15 };

typedef struct strip_job {
    const kni_strip_program *p;
    kni_strip_memory memory;
    int64_t block;
} strip_job;

static void run_block(void *argument, int64_t task, int worker)
{
    (void)worker;
    const strip_job *j = argument;
    int64_t begin = task * j->block, end = begin + j->block;
    kni_strip_run(j->p, &j->memory, begin, end < j->p->n ? end : j->p->n);
}

/* Gives each result memory: that of an input that dies where the program allows it. */
static kn_status give_memory(const kni_group *g, const kni_strip_program *p)
{
    for (int i = 0; i < g->n_outputs; i++) {
        kni_tensor *y = kni_slot(g->outputs[i]);
        uint32_t from = p->reused[i] < 0 ? KNI_NO_SLOT : g->inputs[p->reused[i]];
        kni_tensor *x = from == KNI_NO_SLOT ? NULL : kni_slot(from);
        if (x && kni_fits_over(x, y) && kni_group_sees_once(g, from)) {
            kni_storage_written(x->storage);
            y->storage = kni_storage_retain(x->storage);
            y->offset = 0;
            kni_contiguous_strides(y->type.rank, y->type.dims, y->strides);
            continue;
        }
        kn_status s = kni_host_allocate(y);
        if (s) return s;
    }
    return KN_OK;
}

/* Copies the inputs that the program wants in order; `copies` are given back by end_copies. */
static kn_status start_copies(const kni_group *g, const kni_strip_program *p, strip_job *j,
                              kni_storage **copies)
{
    for (int i = 0; i < g->n_inputs; i++) copies[i] = NULL;
    for (int i = 0; i < g->n_inputs; i++) {
        if (!p->inputs[i].copied) continue;
        kni_tensor *x = kni_slot(g->inputs[i]);
        size_t bytes = kni_bytes_of(x->type.dtype);
        int64_t strides[KN_MAX_RANK];
        copies[i] = kni_storage_new((size_t)p->n * bytes);
        if (!copies[i])
            return kni_fail_op(KN_ERROR_MEMORY, g->records[0]->row->name,
                               "no memory for a copy of an operand");
        kni_contiguous_strides(x->type.rank, x->type.dims, strides);
        kni_host_copy(copies[i]->data, strides, kni_pointer(x), x->strides, x->type.rank, x->type.dims,
                      bytes);
        j->memory.inputs[i] = copies[i]->data;
    }
    return KN_OK;
}

static void end_copies(const kni_group *g, kni_storage **copies)
{
    for (int i = 0; i < g->n_inputs; i++)
        if (copies[i]) kni_storage_release(copies[i]);
}

static void run_program(const kni_strip_program *p, strip_job *j)
{
    if (p->n >= PARALLEL_MIN && p->jit && kni_group_jit_run(p->jit, &j->memory)) return; /* as compiled C */
    if (p->n < PARALLEL_MIN)
        kni_strip_run(p, &j->memory, 0, p->n);
    else
        kni_parallel_for((p->n + j->block - 1) / j->block, run_block, j);
}

kn_status kni_cpu_group_points(const kni_group *g)
{
    static const double no_params[4] = {0};
    strip_job j;
    kni_strip_program *p = g->cache ? *g->cache : NULL;
    if (!p) {
        p = g->cache ? kni_strip_compile(g, NULL) : kni_strip_compile_once(g);
        if (!p) return KN_ERROR_UNSUPPORTED;
        if (g->cache) {
            *g->cache = p;
            *g->release = kni_strip_free;
        }
    }
    kn_status s = give_memory(g, p);
    if (s == KN_OK && p->n > 0) {
        j.p = p;
        j.memory.ahead = NULL;
        j.block = kni_strip_block(p);
        for (int i = 0; i < g->n_inputs; i++) j.memory.inputs[i] = kni_pointer(kni_slot(g->inputs[i]));
        for (int i = 0; i < g->n_outputs; i++) j.memory.results[i] = kni_pointer(kni_slot(g->outputs[i]));
        for (int i = 0; i < g->n_records; i++)
            j.memory.params[i] = g->records[i]->attribute_bytes ? g->records[i]->attributes : no_params;
        kni_storage *copies[KNI_GROUP_INPUTS];
        s = start_copies(g, p, &j, copies);
        if (s == KN_OK) run_program(p, &j);
        end_copies(g, copies);
    }
    if (!g->cache) kni_strip_free(p);
    return s;
}

/* ---- many records of one op */

/* Whether no record of the group may write its result over what another one reads. */
static bool stand_apart(const kni_group *g)
{
    for (int i = 0; i < g->n_records; i++) {
        const kn_record *r = g->records[i];
        for (int k = 0; k < r->n_in; k++)
            if ((r->last_use >> k & 1) && !kni_group_has_one_reader(g, r->ids[r->n_out + k])) return false;
    }
    return true;
}

/* Results that nobody asked for (states that are absent) go at once. */
static void drop_hidden(const kni_group *g)
{
    for (int i = 0; i < g->n_records; i++)
        for (int k = 0; k < g->records[i]->n_out; k++) {
            bool asked = false;
            for (int o = 0; o < g->n_outputs && !asked; o++) asked = g->outputs[o] == g->records[i]->ids[k];
            kni_tensor *y = kni_out(g->records[i], k);
            if (asked || !y->storage) continue;
            kni_storage_release(y->storage);
            y->storage = NULL;
        }
}

static void forget(void *mark) { (void)mark; }

/* All of an optimiser's updates are one run of the team. */
static kn_status run_many(const kni_group *g)
{
    static char together, in_turn;
    const kni_native *native = g->records[0]->row->native;
    kn_status s = KN_OK;
    if (!native || !native->run_many) return KN_ERROR_UNSUPPORTED;
    void *mark = g->cache ? *g->cache : NULL;
    if (!mark) mark = stand_apart(g) ? &together : &in_turn;
    if (g->cache) {
        *g->cache = mark;
        *g->release = forget;
    }
    if (mark == &together) s = native->run_many(g->records, g->n_records);
    for (int i = 0; i < g->n_records && s == KN_OK && mark == &in_turn; i++) s = native->run(g->records[i]);
    if (s == KN_OK) drop_hidden(g);
    return s;
}

static kn_status run_group(kn_backend *b, const kn_group *g)
{
    (void)b;
    if (g->kind == KNI_GROUP_POINTWISE) return kni_cpu_group_points(g);
    if (g->kind == KNI_GROUP_MANY) return run_many(g);
#ifndef KN_FREESTANDING
    if (g->kind == KNI_GROUP_PRODUCT) return kni_cpu_group_product(g);
#endif
    return g->kind == KNI_GROUP_ROWS || g->kind == KNI_GROUP_REDUCTION ? kni_cpu_group_rows(g)
                                                                       : KN_ERROR_UNSUPPORTED;
}

static kn_status limits(kn_backend *b, kn_limits *l)
{
    (void)b;
    l->kinds = 1u << KNI_GROUP_POINTWISE | 1u << KNI_GROUP_REDUCTION | 1u << KNI_GROUP_ROWS |
               1u << KNI_GROUP_MANY | 1u << KNI_GROUP_PRODUCT;
    l->takes = KNI_TAKES_CHANNELS;
    l->max_records = KNI_GROUP_RECORDS;
    l->max_inputs = KNI_GROUP_INPUTS;
    l->max_outputs = KNI_GROUP_RESULTS;
    return KN_OK;
}

kn_backend *kni_cpu_backend_grouping(void)
{
    kn_backend *b = kni_cpu_backend();
    if (!b->run_group) {
        b->limits = limits;
        b->run_group = run_group;
#ifndef KN_FREESTANDING
        b->follows = kni_cpu_follows;
#endif
    }
    return b;
}
