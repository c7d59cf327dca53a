/* Runs IR on host memory, all invocations of a workgroup in step, one node after the other: slow, simple, and enough to
   compare schedules with the CPU. Vectors, variables, loops, collectives and shared memory; no functions and tiles. */
#ifndef TEST_SCHED_RUN_H
#define TEST_SCHED_RUN_H

#include "core/math/philox.h"
#include "ir/ir.h"
#include "ops/scalar.h"
#include "ops/scalar_words.h"
#include <stdlib.h>
#include <string.h>

typedef union run_cell {
    double f64;
    float f32;
    int64_t i64;
    uint64_t u64;
    int32_t i32;
    uint32_t u32;
    uint8_t truth;
} run_cell;

enum { RUN_LANES = 16, RUN_SUBGROUP = 32 };

typedef struct run_state {
    const kni_ir *ir;
    void *const *buffers;
    const size_t *bytes; /* of each buffer, to catch what reaches outside */
    const unsigned char *params;
    char *arrays[KNI_IR_MAX_BINDINGS];
    run_cell *values; /* [node][invocation][lane] */
    size_t *places;   /* of a node, for one invocation */
    uint8_t *lanes;
    int threads;
    uint32_t group[3], groups[3];
    int64_t item;
    int64_t fault, faults;
    const char *wrong;
} run_state;

static run_cell *run_value(const run_state *s, kni_ir_id id, int t)
{
    return s->values + s->places[id] * (size_t)s->threads + (size_t)t * s->lanes[id];
}

#define RUN_VALUE(S, FIELD, call) y->FIELD = call
#define RUN_TRUTH(S, FIELD, call) y->truth = (uint8_t)((call) != 0)
/* One function for each type, each a chain over the words in their order. */
#define RUN_DEFINE(S, FIELD)                                                                                 \
    static void run_word_##S(int word, const run_cell *a, const run_cell *b, run_cell *y)                    \
    {                                                                                                        \
        int n = 0;                                                                                           \
        (void)b;

RUN_DEFINE(f32, f32)
#define WORD1(name, result, f, i)                                                                            \
    if (word == n++) RUN_##result(f32, f32, kni_word_##name##_f32(a->f32));
#define WORD2(name, result, f, i)                                                                            \
    if (word == n++) RUN_##result(f32, f32, kni_word_##name##_f32(a->f32, b->f32));
#include "ops/scalar_words.def"
#undef WORD1
#undef WORD2
}
RUN_DEFINE(f64, f64)
#define WORD1(name, result, f, i)                                                                            \
    if (word == n++) RUN_##result(f64, f64, kni_word_##name##_f64(a->f64));
#define WORD2(name, result, f, i)                                                                            \
    if (word == n++) RUN_##result(f64, f64, kni_word_##name##_f64(a->f64, b->f64));
#include "ops/scalar_words.def"
#undef WORD1
#undef WORD2
}
RUN_DEFINE(i32, i32)
#define WORD1(name, result, f, i)                                                                            \
    if (word == n++) RUN_##result(i32, i32, kni_word_##name##_i32(a->i32));
#define WORD2(name, result, f, i)                                                                            \
    if (word == n++) RUN_##result(i32, i32, kni_word_##name##_i32(a->i32, b->i32));
#include "ops/scalar_words.def"
#undef WORD1
#undef WORD2
}
RUN_DEFINE(i64, i64)
#define WORD1(name, result, f, i)                                                                            \
    if (word == n++) RUN_##result(i64, i64, kni_word_##name##_i64(a->i64));
#define WORD2(name, result, f, i)                                                                            \
    if (word == n++) RUN_##result(i64, i64, kni_word_##name##_i64(a->i64, b->i64));
#include "ops/scalar_words.def"
#undef WORD1
#undef WORD2
}
RUN_DEFINE(u64, u64)
#define WORD1(name, result, f, i)                                                                            \
    if (word == n++) RUN_##result(u64, u64, kni_word_##name##_u64(a->u64));
#define WORD2(name, result, f, i)                                                                            \
    if (word == n++) RUN_##result(u64, u64, kni_word_##name##_u64(a->u64, b->u64));
#include "ops/scalar_words.def"
#undef WORD1
#undef WORD2
}

static void run_word(int dtype, int word, const run_cell *a, const run_cell *b, run_cell *y)
{
    run_cell wide_a, wide_b = {0}, wide_y = {0};
    switch (dtype) {
    case KN_F32:
        run_word_f32(word, a, b, y);
        break;
    case KN_F64:
        run_word_f64(word, a, b, y);
        break;
    case KN_I32:
        run_word_i32(word, a, b, y);
        break;
    case KN_I64:
        run_word_i64(word, a, b, y);
        break;
    case KN_U32:
        wide_a.u64 = a->u32;
        if (b) wide_b.u64 = b->u32;
        run_word_u64(word, &wide_a, &wide_b, &wide_y);
        if (kni_word_at(word)->truth)
            y->truth = wide_y.truth;
        else
            y->u32 = (uint32_t)wide_y.u64;
        break;
    default:
        run_word_u64(word, a, b, y);
        break;
    }
}

static int run_word_number(const char *name)
{
    for (int i = 0; i < kni_word_count(); i++)
        if (!strcmp(kni_word_at(i)->name, name)) return i;
    return -1;
}

static void run_combine(int dtype, int detail, run_cell *total, const run_cell *x)
{
    static const char *const names[] = {"add", "mul", "min", "max"};
    run_cell y = {0};
    run_word(dtype, run_word_number(names[detail]), total, x, &y);
    *total = y;
}

static void run_collective(run_state *s, const kni_ir_node *n, kni_ir_id id, const uint8_t *mask)
{
    int span = n->code == KNI_IR_SUBGROUP ? RUN_SUBGROUP : s->threads;
    for (int first = 0; first < s->threads; first += span) {
        int end = first + span < s->threads ? first + span : s->threads;
        run_cell total = {0};
        for (int t = first; t < end; t++) {
            if (!mask[t]) {
                if (mask[first]) s->wrong = "a collective that not all invocations reach";
                continue;
            }
            const run_cell *x = run_value(s, n->a, t);
            if (t == first)
                total = *x;
            else
                run_combine(n->type.dtype, n->detail, &total, x);
            if (n->code == KNI_IR_SCAN) *run_value(s, id, t) = total;
        }
        for (int t = first; n->code != KNI_IR_SCAN && t < end; t++) *run_value(s, id, t) = total;
    }
}

static int64_t run_whole(int dtype, const run_cell *c)
{
    int64_t v = 0;
    kni_convert(&v, KN_I64, 1, c, dtype, 1, 1);
    return v;
}

static char *run_place(run_state *s, const kni_ir_node *n, int t, int64_t at, int lanes, kni_ir_id id)
{
    const kni_ir_binding *k = &s->ir->bindings[n->index];
    size_t size = kni_dtypes[k->dtype].bits / 8u;
    char *base = n->index < s->ir->n_buffers ? s->buffers[n->index] : s->arrays[n->index];
    int64_t length = n->index < s->ir->n_buffers ? (int64_t)(s->bytes[n->index] / size) : k->length;
    (void)t, (void)id;
    if (at < 0 || at + lanes > length) {
        s->wrong = "an element outside its buffer";
        return NULL;
    }
    if (lanes > 1 && n->index < s->ir->n_buffers && at % lanes && !(k->aligned == 1))
        s->wrong = "a vector that is not aligned";
    return base + (size_t)at * size;
}

static void run_memory(run_state *s, const kni_ir_node *n, kni_ir_id id, int t)
{
    const kni_ir_binding *k = &s->ir->bindings[n->index];
    int64_t at = run_whole(kni_ir_at(s->ir, n->a)->type.dtype, run_value(s, n->a, t));
    size_t size = kni_dtypes[k->dtype].bits / 8u;
    bool load = n->code == KNI_IR_LOAD;
    kni_ir_id where = load ? n->b : n->c;
    int lanes = load ? n->type.lanes : kni_ir_at(s->ir, n->b)->type.lanes;
    int any = !where;
    for (int i = 0; where && i < lanes; i++) any |= run_value(s, where, t)[i].truth;
    run_cell *y = load ? run_value(s, id, t) : run_value(s, n->b, t);
    if (!any) {
        for (int i = 0; load && i < lanes; i++) y[i] = run_value(s, n->c, t)[i];
        return;
    }
    char *p = run_place(s, n, t, at, lanes, id);
    int dtype = load ? n->type.dtype : kni_ir_at(s->ir, n->b)->type.dtype;
    for (int i = 0; p && i < lanes; i++) {
        if (load)
            kni_convert(&y[i], dtype, 1, p + (size_t)i * size, k->dtype, 1, 1);
        else
            kni_convert(p + (size_t)i * size, k->dtype, 1, &y[i], dtype, 1, 1);
    }
}

static void run_builtin(run_state *s, const kni_ir_node *n, run_cell *y, int t)
{
    int64_t v = 0;
    switch (n->index) {
    case KNI_IR_ITEM:
        v = s->item;
        break;
    case KNI_IR_GROUP:
        v = s->group[n->detail];
        break;
    case KNI_IR_GROUPS:
        v = s->groups[n->detail];
        break;
    case KNI_IR_LOCAL:
        v = t;
        break;
    case KNI_IR_LOCALS:
        v = s->threads;
        break;
    case KNI_IR_LANE_ID:
        v = t % RUN_SUBGROUP;
        break;
    default:
        v = RUN_SUBGROUP;
        break;
    }
    kni_convert(y, n->type.dtype, 1, &v, KN_I64, 1, 1);
}

static void run_node(run_state *s, kni_ir_id id, int t)
{
    const kni_ir_node *n = kni_ir_at(s->ir, id);
    run_cell *y = run_value(s, id, t);
    const run_cell *a = n->a ? run_value(s, n->a, t) : NULL, *b = n->b ? run_value(s, n->b, t) : NULL,
                   *c = n->c ? run_value(s, n->c, t) : NULL;
    int from = n->a ? kni_ir_at(s->ir, n->a)->type.dtype : 0;
    int lanes = n->type.lanes;
    switch (n->code) {
    case KNI_IR_CONSTANT:
        if (kni_is_float(n->type.dtype))
            kni_convert(y, n->type.dtype, 1, &n->u.real, KN_F64, 1, 1);
        else
            kni_convert(y, n->type.dtype, 1, &n->u.whole, KN_I64, 1, 1);
        for (int i = 1; i < lanes; i++) y[i] = y[0];
        break;
    case KNI_IR_PARAM:
        memcpy(y, s->params + s->ir->params[n->index].offset, kni_dtypes[n->type.dtype].bits / 8u);
        break;
    case KNI_IR_ELEMENT:
        memcpy(y,
               s->params + s->ir->params[n->index].offset +
                   (size_t)run_whole(from, a) * (kni_dtypes[n->type.dtype].bits / 8u),
               kni_dtypes[n->type.dtype].bits / 8u);
        break;
    case KNI_IR_BUILTIN:
        run_builtin(s, n, y, t);
        break;
    case KNI_IR_WORD:
        for (int i = 0; i < lanes; i++) run_word(from, (int)n->index, a + i, b ? b + i : NULL, y + i);
        break;
    case KNI_IR_FMA:
        for (int i = 0; i < lanes; i++)
            if (n->type.dtype == KN_F32)
                y[i].f32 = __builtin_fmaf(a[i].f32, b[i].f32, c[i].f32);
            else
                y[i].f64 = __builtin_fma(a[i].f64, b[i].f64, c[i].f64);
        break;
    case KNI_IR_AND:
        for (int i = 0; i < lanes; i++) y[i].truth = a[i].truth & b[i].truth;
        break;
    case KNI_IR_OR:
        for (int i = 0; i < lanes; i++) y[i].truth = a[i].truth | b[i].truth;
        break;
    case KNI_IR_NOT:
        for (int i = 0; i < lanes; i++) y[i].truth = !a[i].truth;
        break;
    case KNI_IR_SELECT:
        for (int i = 0; i < lanes; i++) y[i] = a[i].truth ? b[i] : c[i];
        break;
    case KNI_IR_CAST:
        for (int i = 0; i < lanes; i++) {
            run_cell by = a[i];
            if (n->detail) kni_convert(&by, n->detail, 1, &a[i], from, 1, 1);
            run_cell to = {0};
            kni_convert(&to, n->type.dtype, 1, &by, n->detail ? n->detail : from, 1, 1);
            y[i] = to;
        }
        break;
    case KNI_IR_BITCAST:
    case KNI_IR_GET:
        for (int i = 0; i < lanes; i++) y[i] = a[i];
        break;
    case KNI_IR_VECTOR:
        for (int i = 0; i < lanes; i++) y[i] = a[0];
        break;
    case KNI_IR_LANE:
        y[0] = a[n->index];
        break;
    case KNI_IR_PACK:
        for (int i = 0; i < lanes; i++) y[i] = *run_value(s, s->ir->lists[n->u.list.first + (uint32_t)i], t);
        break;
    case KNI_IR_PHILOX: {
        uint32_t words[4];
        kni_philox(a->u64, b->u64, words);
        y->i64 = words[c->i64 & 3];
        break;
    }
    case KNI_IR_LOAD:
    case KNI_IR_STORE:
        run_memory(s, n, id, t);
        break;
    case KNI_IR_VARIABLE:
        for (int i = 0; a && i < lanes; i++) y[i] = a[i];
        break;
    case KNI_IR_SET: {
        run_cell *v = run_value(s, n->a, t);
        for (int i = 0; i < kni_ir_at(s->ir, n->a)->type.lanes; i++) v[i] = b[i];
        break;
    }
    case KNI_IR_REPORT:
        s->faults++;
        s->fault = a->i64;
        break;
    case KNI_IR_BARRIER:
        break;
    default:
        s->wrong = "a node that this interpreter does not know";
        break;
    }
}

static void run_block(run_state *s, uint32_t block, const uint8_t *mask);

static void run_for(run_state *s, kni_ir_id id, const uint8_t *mask)
{
    const kni_ir_node *n = kni_ir_at(s->ir, id);
    int dtype = n->type.dtype;
    uint8_t *inside = malloc((size_t)s->threads);
    for (int t = 0; t < s->threads; t++)
        if (mask[t]) *run_value(s, id, t) = *run_value(s, n->a, t);
    for (;;) {
        bool any = false;
        for (int t = 0; t < s->threads; t++) {
            inside[t] =
                mask[t] && run_whole(dtype, run_value(s, id, t)) < run_whole(dtype, run_value(s, n->b, t));
            any |= inside[t] != 0;
        }
        if (!any) break;
        run_block(s, n->u.blocks[0], inside);
        for (int t = 0; t < s->threads; t++)
            if (inside[t]) {
                int64_t next =
                    run_whole(dtype, run_value(s, id, t)) + run_whole(dtype, run_value(s, n->c, t));
                kni_convert(run_value(s, id, t), dtype, 1, &next, KN_I64, 1, 1);
            }
    }
    free(inside);
}

static void run_if(run_state *s, const kni_ir_node *n, const uint8_t *mask)
{
    uint8_t *inside = malloc((size_t)s->threads);
    for (int side = 0; side < 2; side++) {
        bool any = false;
        if (!n->u.blocks[side]) continue;
        for (int t = 0; t < s->threads; t++) {
            inside[t] = mask[t] && run_value(s, n->a, t)->truth == !side;
            any |= inside[t] != 0;
        }
        if (any) run_block(s, n->u.blocks[side], inside);
    }
    free(inside);
}

static void run_block(run_state *s, uint32_t block, const uint8_t *mask)
{
    for (kni_ir_id id = s->ir->blocks[block].first; id && !s->wrong; id = kni_ir_at(s->ir, id)->next) {
        const kni_ir_node *n = kni_ir_at(s->ir, id);
        if (n->code == KNI_IR_FOR)
            run_for(s, id, mask);
        else if (n->code == KNI_IR_IF)
            run_if(s, n, mask);
        else if (n->code == KNI_IR_SUBGROUP || n->code == KNI_IR_WORKGROUP || n->code == KNI_IR_SCAN)
            run_collective(s, n, id, mask);
        else
            for (int t = 0; t < s->threads; t++)
                if (mask[t]) run_node(s, id, t);
    }
}

/* Runs a launch; NULL when all went well, else what was wrong. */
static const char *run_launch(const kni_ir *ir, const uint32_t groups[3], int64_t items, void *const *buffers,
                              const size_t *bytes, const void *params, int64_t *faults)
{
    run_state s = {.ir = ir, .buffers = buffers, .bytes = bytes, .params = params};
    s.threads = ir->workgroup ? (int)ir->workgroup : 1;
    s.places = malloc((ir->n_nodes + 1) * sizeof *s.places);
    s.lanes = malloc(ir->n_nodes);
    s.places[0] = 0;
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        s.lanes[i] = ir->nodes[i].type.lanes ? ir->nodes[i].type.lanes : 1;
        s.places[i + 1] = s.places[i] + s.lanes[i];
    }
    s.values = calloc(s.places[ir->n_nodes] * (size_t)s.threads, sizeof *s.values);
    uint8_t *mask = malloc((size_t)s.threads);
    memset(mask, 1, (size_t)s.threads);
    for (uint32_t i = ir->n_buffers; i < ir->n_bindings; i++)
        s.arrays[i] = calloc((size_t)ir->bindings[i].length, 8);
    for (int i = 0; i < 3; i++) s.groups[i] = groups[i];
    if (!ir->workgroup) {
        for (s.item = 0; s.item < items && !s.wrong; s.item++) run_block(&s, ir->body, mask);
    } else {
        for (s.group[2] = 0; s.group[2] < groups[2]; s.group[2]++)
            for (s.group[1] = 0; s.group[1] < groups[1]; s.group[1]++)
                for (s.group[0] = 0; s.group[0] < groups[0] && !s.wrong; s.group[0]++)
                    run_block(&s, ir->body, mask);
    }
    for (uint32_t i = ir->n_buffers; i < ir->n_bindings; i++) free(s.arrays[i]);
    free(mask);
    free(s.values);
    free(s.places);
    free(s.lanes);
    if (faults) *faults = s.faults;
    return s.wrong;
}

#endif
