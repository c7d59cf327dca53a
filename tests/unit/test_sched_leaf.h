/* A leaf device for tests: every record goes through the schedules and the IR interpreter on host memory; what has no
   schedule runs its reference kernel and is counted. While `leaf_holds`, records are kept and run as one group. */
#ifndef TEST_SCHED_LEAF_H
#define TEST_SCHED_LEAF_H

#include "backend/host/host.h"
#include "ir/run.h"
#include "ops/record.h"
#include "ops/word_numbers.h"
#include "sched/sched.h"
#include <kn/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kni_ir_caps leaf_caps = {.dialect = KNI_IR_CUDA,
                                .f64 = true,
                                .i64 = true,
                                .half_storage = true,
                                .subgroups = true,
                                .subgroup = 32,
                                .max_workgroup = 64,
                                .shared_bytes = 48 << 10,
                                .vector_bytes = 16};
static kni_sched_target leaf_target = {&leaf_caps, 2};
static int leaf_scheduled, leaf_missing, leaf_groups, leaf_refused, leaf_launched;
static const kn_op *leaf_last_missing;
static bool leaf_holds, leaf_checks = true;
enum { LEAF_RECORDS = 64 };
static kn_record *leaf_records[LEAF_RECORDS];
static int leaf_count;
static char leaf_text[160];
static int leaf_divisions; /* of indices, in the text of the latest kernel */
static int leaf_schedule;  /* of the first kernel of the latest group */
static int leaf_aligned;   /* the least that a binding of the latest kernel is aligned to, in elements */

static void *leaf_memory(uint32_t id, void *const *temps, const size_t *temp_bytes, size_t *bytes)
{
    if (id & KNI_SCHED_TEMP) {
        *bytes = temp_bytes[id & ~KNI_SCHED_TEMP];
        return temps[id & ~KNI_SCHED_TEMP];
    }
    kni_tensor *x = kni_slot(id);
    *bytes = x->storage->bytes;
    return x->storage->data;
}

static kn_status leaf_launch(const kni_group *g, const kni_sched *sched, int kernel, void *const *temps)
{
    const kni_sched_kernel *k = &sched->kernels[kernel];
    kni_ir *ir = kni_sched_build(g, &leaf_target, sched, kernel);
    leaf_launched++;
    if (!ir) return KN_ERROR_INTERNAL;
    kni_ir_run_buffer buffers[KNI_SCHED_MAX_BUFFERS];
    int64_t fault[2] = {0, 0};
    kn_status s = kni_ir_verify(ir);
    if (s == KN_OK && (ir->n_buffers != k->n_buffers || ir->param_bytes != k->param_bytes))
        s = kni_fail(KN_ERROR_INTERNAL, "the kernel has %D params and %D buffers, the launch gives %D and %D",
                     (int64_t)ir->param_bytes, (int64_t)ir->n_buffers, (int64_t)k->param_bytes,
                     (int64_t)k->n_buffers);
    leaf_aligned = 255;
    leaf_divisions = 0;
    for (uint32_t i = 1; i < ir->n_nodes; i++) {
        const kni_ir_node *n = &ir->nodes[i];
        leaf_divisions +=
            n->code == KNI_IR_WORD &&
            (n->index == KNI_WORD_div || n->index == KNI_WORD_rem || n->index == KNI_WORD_fmod) &&
            !kni_is_float(n->type.dtype);
    }
    for (uint32_t i = 0; i < k->n_buffers && s == KN_OK; i++) {
        size_t bytes;
        if (ir->bindings[i].aligned < leaf_aligned) leaf_aligned = ir->bindings[i].aligned;
        buffers[i].data = leaf_memory(k->buffers[i], temps, sched->temp_bytes, &bytes);
        buffers[i].count = (int64_t)(bytes / kni_bytes_of(ir->bindings[i].dtype));
    }
    kni_ir_run_args args = {.buffers = buffers, .params = k->params, .fault = fault, .check = leaf_checks};
    memcpy(&args.items, k->params, sizeof args.items);
    memcpy(args.groups, k->shape.groups, sizeof args.groups);
    if (s == KN_OK) s = kni_ir_run(ir, &args);
    if (s == KN_OK && fault[0]) s = kni_fail(KN_ERROR_INDEX, "index %D is out of range", fault[1]);
    kni_ir_free(ir);
    return s;
}

static kn_status leaf_run_group(const kni_group *g)
{
    static kni_sched sched;
    void *temps[KNI_SCHED_MAX_TEMPS] = {0};
    static kni_sched again;
    kn_status s = kni_sched_prepare(g, &leaf_target, &sched);
    if (s) return s;
    leaf_schedule = sched.n_kernels ? sched.kernels[0].schedule : -1;
    /* The same group has the same signature and params, byte for byte. */
    s = kni_sched_prepare(g, &leaf_target, &again);
    for (int i = 0; i < sched.n_kernels && s == KN_OK; i++) {
        const kni_sched_kernel *a = &sched.kernels[i], *b = &again.kernels[i];
        if (a->signature_bytes != b->signature_bytes || a->param_bytes != b->param_bytes ||
            memcmp(a->signature, b->signature, a->signature_bytes) != 0 ||
            memcmp(a->params, b->params, a->param_bytes) != 0)
            s = kni_fail(KN_ERROR_INTERNAL, "two signatures of one group differ");
    }
    if (s) return s;
    for (int i = 0; i < g->n_outputs && s == KN_OK; i++) {
        s = kni_host_allocate(kni_slot(g->outputs[i]));
        kni_promised_strides(kni_slot(g->outputs[i]));
    }
    for (int i = 0; i < sched.n_temps; i++) temps[i] = malloc(sched.temp_bytes[i] + 64);
    for (int i = 0; i < sched.n_kernels && s == KN_OK; i++) s = leaf_launch(g, &sched, i, temps);
    for (int i = 0; i < sched.n_temps; i++) free(temps[i]);
    return s;
}

static kn_status leaf_single(const kn_record *r)
{
    uint32_t outputs[16], inputs[16];
    kni_group g = {
        .kind = KNI_GROUP_SINGLE, .n_records = 1, .records = &r, .outputs = outputs, .inputs = inputs};
    if (r->n_out > 16 || r->n_in > 16) return KN_ERROR_UNSUPPORTED;
    for (int i = 0; i < r->n_out; i++) outputs[g.n_outputs++] = r->ids[i];
    for (int i = 0; i < r->n_in; i++)
        if (r->ids[r->n_out + i] != KNI_NO_SLOT) inputs[g.n_inputs++] = r->ids[r->n_out + i];
    return leaf_run_group(&g);
}

static kn_status leaf_compute(kn_backend *b, const kn_record *r)
{
    const kn_op *row = r->row;
    if (row->view) return kni_host_view(r);
    kn_status s = leaf_single(r);
    if (s != KN_ERROR_UNSUPPORTED) {
        leaf_scheduled++;
        return s;
    }
    leaf_missing++;
    leaf_last_missing = row;
    if (getenv("LEAF_SHOW")) fprintf(stderr, "no schedule: %s\n", row->name);
    if (row->host) return kni_host_custom(r);
    if (kni_is_pointwise(row)) return kni_host_body(r);
    if (row->launch) return kni_host_reference(r, false);
    return row->lower ? kni_lower_record(r, b->device) : KN_ERROR_UNSUPPORTED;
}

static kn_status leaf_execute_one(kn_backend *b, const kn_record *r)
{
    kn_status s = leaf_compute(b, r);
    return s ? s : kni_host_arrange(r);
}

static kn_status leaf_execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        const kn_record *r = records[i];
        if (r->flags & KN_RECORD_DROP) continue;
        if (leaf_holds && leaf_count < LEAF_RECORDS) {
            kn_record *copy = malloc(r->bytes + 8);
            memcpy(copy, r, r->bytes);
            if (r->attribute_bytes)
                copy->attributes = (const char *)copy + ((const char *)r->attributes - (const char *)r);
            for (int k = 0; k < r->n_out; k++) {
                kni_promised_strides(kni_slot(r->ids[k]));
            }
            for (int k = 0; k < r->n_out + r->n_in; k++)
                if (r->ids[k] != KNI_NO_SLOT) kni_tensor_retain(kni_slot(r->ids[k]));
            leaf_records[leaf_count++] = copy;
            continue;
        }
        kn_status s = leaf_execute_one(b, r);
        if (s) return s;
    }
    return KN_OK;
}

/* Under fusion: groups of every kind that there are schedules for. */
static kn_status leaf_group(kn_backend *b, const kn_group *group)
{
    (void)b;
    kn_status s = leaf_run_group(group);
    leaf_groups += s == KN_OK;
    leaf_refused += s == KN_ERROR_UNSUPPORTED;
    return s;
}

static kn_status leaf_limits(kn_backend *b, kn_limits *limits)
{
    (void)b;
    limits->kinds =
        1u << KNI_GROUP_POINTWISE | 1u << KNI_GROUP_REDUCTION | 1u << KNI_GROUP_ROWS | 1u << KNI_GROUP_MANY;
    limits->max_records = 64;
    limits->max_inputs = 32;
    limits->max_outputs = 16;
    limits->takes = KNI_TAKES_VIEWS | KNI_TAKES_CREATION | KNI_TAKES_ANY_AXES | KNI_TAKES_WHOLE |
                    KNI_TAKES_LOSSES | KNI_TAKES_COLUMNS | KNI_TAKES_CASTS | KNI_TAKES_SEVERAL |
                    KNI_TAKES_MAPS;
    return KN_OK;
}

/* Images keep their channels last, and convolutions make them so. */
static const kn_want leaf_wants = {KN_WANT_ANY, 2, UINT32_MAX};

static kn_backend leaf_backend = {
    .size = sizeof(kn_backend),
    .abi = KN_BACKEND_ABI,
    .name = "leaf",
    .traits = KN_TRAIT_HOST,
    .execute = leaf_execute,
    .write = kni_host_write,
    .read = kni_host_read,
    .sync = kni_host_sync,
    .limits = leaf_limits,
    .run_group = leaf_group,
    .wants = &leaf_wants,
    .n_wants = 1,
};

static kn_backend *leaf_open(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument, (void)inner, (void)n_inner;
    return &leaf_backend;
}

/* Runs what is held as one group that gives the tensors; they must all be alive. */
static inline kn_status leaf_release(int kind, const kn_tensor *results, int n)
{
    uint32_t outputs[LEAF_RECORDS], inputs[LEAF_RECORDS * 4];
    kni_group g = {.kind = (uint8_t)kind,
                   .n_records = leaf_count,
                   .records = (const kn_record *const *)leaf_records,
                   .inputs = inputs,
                   .outputs = outputs};
    for (int i = 0; i < n; i++) outputs[g.n_outputs++] = kni_slot_of(results[i]);
    leaf_holds = false;
    kn_status s = leaf_run_group(&g);
    for (int i = 0; i < leaf_count; i++) {
        const kn_record *r = leaf_records[i];
        for (int k = 0; k < r->n_out + r->n_in; k++)
            if (r->ids[k] != KNI_NO_SLOT) kni_tensor_release(kni_thread_self(), r->ids[k]);
        free(leaf_records[i]);
    }
    leaf_count = 0;
    snprintf(leaf_text, sizeof leaf_text, "%s", s ? kn_last_error() : "");
    return s;
}

#endif
