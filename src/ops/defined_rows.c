/* Making the rows of defined ops. */
#include "core/allocator.h"
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
                     .infer = lines ? kni_infer_lines : kni_infer_row,
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
