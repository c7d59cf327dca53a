/* Building small programs in tests, and looking at what became of them. */
#ifndef PROGRAMS_H
#define PROGRAMS_H

#include "program/program_data.h"
#include "support/check.h"
#include <kn/program.h>
#include <stdlib.h>
#include <string.h>

typedef kn_program_value value;
typedef kn_builder_attribute attribute;

/* An op of one or two operands. */
static inline value op(kn_builder b, const char *name, value x, value y, const attribute *a)
{
    value in[2] = {x, y};
    return kn_builder_op(b, name, in, y.id ? 2 : 1, a);
}
static inline value op1(kn_builder b, const char *name, value x)
{
    return kn_builder_op(b, name, &x, 1, NULL);
}
static inline value op2(kn_builder b, const char *name, value x, value y) { return op(b, name, x, y, NULL); }

/* The program with these outputs; the builder is freed. */
static inline kn_program finished(kn_builder b, const value *outputs, int32_t n)
{
    kn_program p = kn_builder_finish(b, outputs, NULL, n);
    if (!CHECK(p != NULL)) printf("  %s\n", kn_last_error());
    kn_builder_free(b);
    return p;
}

/* How often the program's text names an op. */
static inline int count_ops(kn_program p, const char *name)
{
    static char text[200000];
    char words[64];
    int n = 0;
    if (kn_program_print(p, text, sizeof text) >= sizeof text) return -1;
    snprintf(words, sizeof words, " = %s(", name);
    for (const char *at = text; (at = strstr(at, words)); at++) n++;
    return n;
}

/* All ops and control. */
static inline int count_nodes(kn_program p)
{
    static char text[200000];
    int n = 0;
    if (kn_program_print(p, text, sizeof text) >= sizeof text) return -1;
    for (const char *at = text; (at = strstr(at, " = ")); at++) n++;
    return n;
}

/* What stands in a region comes after what it reads, in the region or one around it; each value belongs where it is made. `made` has a
   flag for each value. */
static inline bool is_sound_region(const kni_program *p, int32_t region, int32_t parent, char *made)
{
    const kni_program_region *r = &p->regions[region];
    bool good = r->parent == parent;
    for (int32_t i = 0; i < r->n_arguments; i++) {
        good = good && p->values[r->arguments[i]].region == region && !made[r->arguments[i]];
        made[r->arguments[i]] = 1;
    }
    for (int32_t i = 0; i < r->n_nodes && good; i++) {
        const kni_program_node *n = &p->nodes[r->nodes[i]];
        for (int32_t k = 0; k < n->n_in; k++)
            good = good && (kni_node_in(p, n)[k] < 0 || made[kni_node_in(p, n)[k]]);
        for (int k = 0; k < 2 && n->kind != KNI_NODE_OP && n->kind != KNI_NODE_CALL; k++)
            if (n->regions[k] >= 0) good = good && is_sound_region(p, n->regions[k], region, made);
        for (int32_t k = 0; k < n->n_out && good; k++) {
            int32_t v = kni_node_out(p, n)[k];
            good = p->values[v].region == region && p->values[v].origin == KNI_FROM_NODE && !made[v];
            made[v] = 1;
        }
    }
    for (int32_t i = 0; i < r->n_results; i++) good = good && made[r->results[i]];
    for (int32_t v = 0; v < p->n_values && region; v++) /* nobody outside sees them; none is made twice */
        if (p->values[v].region == region && p->values[v].origin != KNI_FROM_CONSTANT && made[v]) made[v] = 0;
    return good;
}

static inline bool is_sound(kn_program program)
{
    KNI_USE(program, p, program);
    char *made = p ? calloc((size_t)p->n_values + 1, 1) : NULL;
    bool good = made != NULL;
    for (int32_t i = 0; i < p->n_values && good; i++)
        made[i] = p->values[i].origin != KNI_FROM_NODE && p->values[i].origin != KNI_FROM_ARGUMENT;
    int32_t nodes = 0;
    for (int32_t i = 0; i < p->n_regions && good; i++) {
        nodes += p->regions[i].n_nodes;
        if (i == 0 || p->regions[i].name >= 0) good = is_sound_region(p, i, -1, made);
    }
    good = good && nodes == p->n_nodes;
    free(made);
    return good;
}

static inline bool simplify(kn_program p, uint32_t passes)
{
    bool good = CHECK(kn_program_simplify(p, passes) == KN_OK);
    if (!good) printf("  %s\n", kn_last_error());
    return good && CHECK(is_sound(p));
}

/* f32 numbers 0.125, 0.25, ... in this shape. */
static inline kn_tensor counted(kn_shape shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    return kn_reshape(kn_mul_scalar(kn_arange(1, (double)n + 1, 1, KN_F32), 0.125), shape);
}

/* Reads a tensor; *bytes is its length. NULL and a failed check where that does not work. */
static inline void *bits_of(kn_tensor t, size_t *bytes)
{
    *bytes = (size_t)kn_dtype_bytes(kn_dtype_of(t), kn_count(t));
    void *data = kn_ok(t) ? malloc(*bytes + 1) : NULL;
    if (data && kn_read(t, data, *bytes) == KN_OK) return data;
    CHECK(!"the tensor can be read");
    printf("  %s\n", kn_last_error());
    free(data);
    return NULL;
}

static inline bool same_bits(kn_tensor a, kn_tensor b)
{
    size_t n, m;
    void *x = bits_of(a, &n), *y = bits_of(b, &m);
    bool same = x && y && n == m && kn_dtype_of(a) == kn_dtype_of(b) && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

/* Two programs give the same bits for these inputs, which are kept. */
static inline bool same_outputs(kn_program a, kn_program b, const kn_tensor *inputs, int32_t n)
{
    kn_tensor x[16], y[16];
    int32_t n_out = kn_program_outputs(a);
    bool same = n_out == kn_program_outputs(b) && n_out <= 16;
    same = same && kn_program_run(a, inputs, n, x, n_out) == KN_OK &&
           kn_program_run(b, inputs, n, y, n_out) == KN_OK;
    if (!same) printf("  %s\n", kn_last_error());
    for (int32_t i = 0; i < n_out && same; i++) same = same_bits(x[i], y[i]);
    return same;
}

#endif
