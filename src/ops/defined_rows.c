/* Making the rows of defined ops. */
#include "core/allocator.h"
#include "ops/body_tree.h"
#include "ops/defined.h"
#include "ops/scalar_row.h"
#include "ops/wide.h"
#include <string.h>

/* What the results of a row along lines belong to. */
static uint8_t results_of(const kni_body *body)
{
    static const uint8_t per[] = {[KNI_LEVEL_ALL] = KNI_PER_SEVERAL,
                                  [KNI_LEVEL_LINE] = KNI_PER_LINE,
                                  [KNI_LEVEL_PLACE] = KNI_PER_PLACE,
                                  [KNI_LEVEL_ELEMENT] = KNI_PER_ELEMENT};
    uint8_t first = per[body->operands[body->n_in] & KNI_OPERAND_LEVEL];
    for (int k = 1; k < body->n_out; k++)
        if (per[body->operands[body->n_in + k] & KNI_OPERAND_LEVEL] != first) return KNI_PER_SEVERAL;
    return first;
}

/* ---- numbers beside integers */

/* A number that integers meet must be one of those that they are computed in: no backend rounds it or cuts it. */
static kn_status check_number(const kni_infer *c, int dtype, double value, const char *scalar)
{
    static const double
        low[] = {[KNI_COMPUTE_I32] = -0x1p31, [KNI_COMPUTE_I64] = -0x1p63},
        past[] = {[KNI_COMPUTE_I32] = 0x1p31, [KNI_COMPUTE_I64] = 0x1p63, [KNI_COMPUTE_U64] = 0x1p64};
    int compute = kni_compute_of[dtype];
    double least = compute == KNI_COMPUTE_U64 ? 0 : low[compute];
    const char *before = scalar ? scalar : "the body's constant", *between = scalar ? " = " : " ";
    if (!(value >= least && value < past[compute]))
        return kni_fail_op(KN_ERROR_ARGUMENT, c->row->name,
                           "%s%s%g does not fit %T, and %T is computed in that", before, between, value,
                           (int)kni_compute_dtype[compute], dtype);
    if (value != (double)kni_body_real(value).whole)
        return kni_fail_op(KN_ERROR_ARGUMENT, c->row->name,
                           "%s%s%g is a fraction, and the operands are %T: cast them to a float dtype",
                           before, between, value, dtype);
    return KN_OK;
}

static kn_status infer_points(kni_infer *c)
{
    kn_status s = kni_infer_row(c);
    if (s) return s;
    int dtype =
        c->row->rule == KNI_RULE_COMPARE ? kni_operand_dtype(c->row, c->in, 0, c->n_in) : c->out[0]->dtype;
    if (kni_is_float(dtype)) return KN_OK;
    const double *scalars = c->attributes;
    for (int i = 0; i < c->row->body->n && s == KN_OK; i++) {
        kni_step step = kni_body_step(c->row->body, i);
        if (step.kind == KNI_STEP_CONSTANT) s = check_number(c, dtype, step.value, NULL);
        if (step.kind == KNI_STEP_PARAM)
            s = check_number(c, dtype, scalars[step.index], c->row->schema[step.index].name);
    }
    return s;
}

/* ---- lines without elements */

/* Words that need an element of the line. */
static bool needs_element(const kni_step *s)
{
    static const bool words[KNI_LINE_WORDS] = {[KNI_LINE_HIGHEST] = true,
                                               [KNI_LINE_LOWEST] = true,
                                               [KNI_LINE_TOP] = true,
                                               [KNI_LINE_ARGMAX] = true,
                                               [KNI_LINE_ARGMIN] = true};
    return s->kind == KNI_STEP_LINE && words[s->index];
}

static bool has_empty_lines(const kni_infer *c)
{
    int64_t attribute = *(const int64_t *)((const char *)c->attributes + c->row->line.attribute);
    const kni_type *x = c->in[0];
    bool lines = true, empty = false;
    for (int a = 0; a < x->rank; a++) {
        bool in_line = c->row->line.axes == KNI_LINE_AXIS ? a == attribute : a >= x->rank - attribute;
        if (x->dims[a] == 0) *(in_line ? &empty : &lines) = in_line;
    }
    return lines && empty;
}

/* As kn_max: the highest of no elements has no value. It is no mistake where no result is made of it. */
static kn_status infer_along(kni_infer *c)
{
    kn_status s = kni_infer_lines(c);
    if (s || !has_empty_lines(c)) return s;
    const kni_body *body = c->row->body;
    kni_body_tree tree;
    bool needed[KNI_BODY_MAX_STEPS] = {false};
    kni_body_tree_of(body, &tree);
    for (int k = 0; k < body->n_out; k++)
        if (!(body->operands[body->n_in + k] & KNI_LEVEL_PLACE)) needed[tree.results[k]] = true;
    for (int i = tree.n; i-- > 0;) {
        if (!needed[i]) continue;
        if (needs_element(&tree.nodes[i].step))
            return kni_fail_op(KN_ERROR_SHAPE, c->row->name,
                               "'%s' along a line without elements has no value: operand 0 is %S; test "
                               "kn_size() before the call",
                               kni_line_word_name(tree.nodes[i].step.index), c->in[0]);
        for (int k = 0; k < tree.nodes[i].n_in; k++) needed[tree.nodes[i].in[k]] = true;
    }
    return KN_OK;
}

static void fill_row(kni_defined *d)
{
    const kni_definition *own = d->definition;
    bool lines = own->line.axes != KNI_LINE_NONE;
    int n_needed = d->body.n_in;
    while (n_needed > 0 && d->operands[n_needed - 1] & KNI_OPERAND_OPTIONAL) n_needed--;
    d->row = (kn_op){.name = d->name,
                     .doc = "defined by a body",
                     .min_in = (int8_t)n_needed,
                     .max_in = (int8_t)d->body.n_in,
                     .n_out = (int8_t)d->body.n_out,
                     .kind = lines ? KNI_COMPOSITE : KNI_ELEMENTWISE,
                     .rule = KNI_RULE_FLOAT,
                     .dtypes = lines ? KNI_FLOATS : KNI_ALL,
                     .tolerance = {16, lines ? 2.0f : 0},
                     .schema = own->n_scalars || lines ? own->schema : NULL,
                     .line = own->line,
                     .infer = lines ? infer_along : infer_points,
                     .body = &d->body,
                     .lower = kni_defined_lower,
                     .wide = &kni_wide,
                     .custom_gradient = kni_defined_gradient,
                     .native = lines ? &kni_cpu_defined_lines : &kni_cpu_defined_points};
    if (lines)
        d->row.attribute_bytes = (uint16_t)((own->n_scalars + 1) * (int)sizeof(double));
    else if (own->n_scalars)
        d->row.attribute_bytes = sizeof(kni_scalar_params);
    if (lines) d->row.line.results = results_of(&d->body);
}

kni_defined *kni_defined_new(kni_definition *definition, const char *name, const kni_step *steps, int n,
                             const uint8_t *operands, int n_in, int n_out)
{
    size_t bytes = sizeof(kni_defined) + (size_t)n * sizeof *steps;
    kni_defined *d = kni_allocate(bytes);
    if (!d) return NULL;
    memset(d, 0, bytes);
    d->bytes = bytes;
    d->definition = definition;
    memcpy(d->steps, steps, (size_t)n * sizeof *steps);
    memcpy(d->operands, operands, (size_t)(n_in + n_out));
    size_t length = strlen(name);
    if (length >= sizeof d->name) length = sizeof d->name - 1;
    memcpy(d->name, name, length);
    d->body = (kni_body){.operands = d->operands,
                         .steps = d->steps,
                         .n = (uint8_t)n,
                         .n_in = (uint8_t)n_in,
                         .n_out = (uint8_t)n_out};
    fill_row(d);
    return d;
}

void kni_defined_free(kni_defined *d) { kni_free(d, d->bytes); }
