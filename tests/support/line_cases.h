/* Every built-in row along lines twice: as it is, and as the program of lines that its body is. For the test that compares them
   and for bench/lines. Operands and attributes follow from the row: a new row needs no line here. */
#ifndef LINE_CASES_H
#define LINE_CASES_H

#include "backend/cpu/line_program.h"
#include "core/allocator.h"
#include "ops/line.h"
#include "ops/op.h"
#include <kn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_ROWS = 64 };

typedef struct line_row {
    const kn_op *row;
    kn_op own;  /* the same without its body: by its kernel or lowering */
    kn_op copy; /* and by its body */
    kni_line_entry entry;
    const char *why; /* it has no program */
} line_row;

static line_row line_rows[LINE_ROWS];
static int n_line_rows, line_runs; /* line_runs: of programs */

static inline kn_status line_counted(const kn_record *r)
{
    line_runs++;
    return kni_line_run_entry(r);
}

/* Fills the list; true where there was memory. */
static inline bool line_rows_find(void)
{
    for (int i = 0; i < kni_op_count(); i++) {
        const kn_op *row = kni_op_by_number(i);
        if (!row || !row->body || !row->line.axes || kni_body_updates(row->body)) continue;
        if (n_line_rows == LINE_ROWS) return false;
        line_row *l = &line_rows[n_line_rows++];
        kni_line_program *p = kni_line_compile(row->body, &l->why);
        if (!p && !l->why) return false;
        l->row = row;
        l->copy = l->own = *row;
        if (row->native && row->native->run == kni_line_run_entry) l->own.native = NULL;
        l->copy.native = &l->entry.native;
        l->entry.native.run = line_counted;
        l->entry.program = p;
        if (p && !kni_line_bind(p)) l->why = "a word has no strips";
    }
    return true;
}

static inline void line_rows_free(void)
{
    for (int i = 0; i < n_line_rows; i++) {
        kni_line_program *p = (kni_line_program *)line_rows[i].entry.program;
        if (p) kni_free(p, p->bytes);
    }
}

/* ---- a case: shape [outer, middle, last], and which axes make up a line */

typedef struct line_case {
    kn_shape shape;
    int axis;     /* for rows along one axis, or the first of the last ones */
    bool variant; /* of what attributes choose */
    kn_dtype dtype;
} line_case;

typedef struct line_operands {
    kn_tensor in[KNI_BODY_OPERANDS];
    union {
        double alignment;
        char bytes[256];
    } attributes;
} line_operands;

static inline void line_attributes(const line_row *l, const line_case *c, line_operands *o)
{
    memset(&o->attributes, 0, sizeof o->attributes);
    for (const kn_attribute *a = l->row->schema; a && a->name; a++) {
        char *at = o->attributes.bytes + a->offset;
        int64_t whole = !strcmp(a->name, "axis")           ? c->axis
                        : !strcmp(a->name, "n_axes")       ? c->shape.rank - c->axis
                        : !strcmp(a->name, "ignore_index") ? 1
                                                           : c->variant;
        double real = !strcmp(a->name, "eps") ? 1e-5 : c->variant ? 0.125 : 0;
        kn_ints axes = c->variant ? (kn_ints){2, {0, c->axis ? c->axis : 1}} : (kn_ints){1, {c->axis}};
        if (a->type == KNI_ATTR_INT)
            memcpy(at, &whole, sizeof whole);
        else if (a->type == KNI_ATTR_REAL)
            memcpy(at, &real, sizeof real);
        else
            memcpy(at, &axes, sizeof axes);
    }
}

/* Elements are 0 or less, in steps, so that there are ties; what a line has one of is above them, so that differences are 0 or
   less where a body promises it. */
static inline kn_tensor line_values(kn_shape shape, int seed, int level, kn_dtype dtype)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    double *v = malloc(sizeof *v * (size_t)(n + 1));
    if (!v) exit(1);
    for (int64_t i = 0; i < n; i++) {
        double wave = sin((double)i * 12.9898 + seed) * 43758.5453;
        wave -= floor(wave);
        bool whole = !kn_dtype_is_float(dtype);
        v[i] = level == KNI_LEVEL_LINE ? 3 + wave : whole ? floor(wave * 4) : -floor(wave * 512) / 256;
    }
    kn_tensor y = kn_cast(kn_from(v, KN_F64, shape), dtype);
    free(v);
    return kn_keep(y);
}

static inline kn_tensor line_indices(kn_shape shape, int64_t below)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    int64_t *v = malloc(sizeof *v * (size_t)(n + 1));
    if (!v) exit(1);
    for (int64_t i = 0; i < n; i++) v[i] = i * 7 % below;
    kn_tensor y = kn_keep(kn_from(v, KN_I64, shape));
    free(v);
    return y;
}

/* The axes of the shape that lie in a line, or those that do not. */
static inline kn_shape line_axes(const line_case *c, uint32_t axes, bool inside)
{
    kn_shape s = {0, {0}};
    for (int a = 0; a < c->shape.rank; a++)
        if ((axes >> a & 1) == inside) s.dims[s.rank++] = c->shape.dims[a];
    return s;
}

static inline uint32_t line_mask(const line_row *l, const line_case *c, const line_operands *o)
{
    const void *at = o->attributes.bytes + l->row->line.attribute;
    uint32_t mask = 0;
    switch (l->row->line.axes) {
    case KNI_LINE_AXIS:
        return 1u << c->axis;
    case KNI_LINE_AXES:
        for (int i = 0; i < ((const kn_ints *)at)->rank; i++) mask |= 1u << ((const kn_ints *)at)->dims[i];
        return mask;
    case KNI_LINE_LAST:
        return 7u & ~((1u << c->axis) - 1);
    case KNI_LINE_CLASSES:
        return 2u;
    default:
        return 5u;
    }
}

/* Operands that may be absent are, where the case is a variant. */
static inline void line_start(const line_row *l, const line_case *c, line_operands *o)
{
    const kni_body *body = l->row->body;
    line_attributes(l, c, o);
    uint32_t axes = line_mask(l, c, o);
    kn_shape inside = line_axes(c, axes, true), outside = line_axes(c, axes, false);
    for (int i = 0; i < body->n_in; i++) {
        int bits = body->operands[i], level = bits & KNI_OPERAND_LEVEL;
        kn_shape shape = level == KNI_LEVEL_ELEMENT ? c->shape
                         : level == KNI_LEVEL_LINE  ? outside
                         : level == KNI_LEVEL_PLACE ? inside
                                                    : (kn_shape){0, {0}};
        int64_t n = 1;
        for (int k = 0; k < inside.rank; k++) n *= inside.dims[k];
        o->in[i] = bits & KNI_OPERAND_OPTIONAL && c->variant ? KN_NONE
                   : bits & KNI_OPERAND_INDEX                ? line_indices(shape, n)
                                                             : line_values(shape, i + 1, level, c->dtype);
    }
}

#endif
