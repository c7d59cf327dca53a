/* Gradients of defined rows: each operand's is a row of its own, with a body that is derived or was written. */
#include "core/allocator.h"
#include "core/life.h"
#include "core/text.h"
#include "ops/body_derive.h"
#include "ops/custom_rows.h"
#include "ops/defined.h"
#include <string.h>

static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_OUTER);

/* ---- making a row */

/* Operands of the gradient row. One is always among them for the shape: of a row along lines operand 0, of others the cotangent, so
   that a gradient which does not name it (`da = b`, `da = 0`) is still one for each element of the result. Those that may be
   absent come last. `numbers` says what each operand of the graph is called. */
static int choose_operands(const kni_defined *d, uint32_t used, kni_gradient_row *gradient, uint8_t *numbers,
                           uint8_t *bits)
{
    int n_in = d->body.n_in, n_all = n_in + d->body.n_out, n = 0;
    used |= d->row.line.axes ? 1 : 1u << n_in;
    for (int optional = 0; optional < 2; optional++)
        for (int i = 0; i < n_all; i++) {
            uint8_t own = d->operands[i];
            if (!(used >> i & 1) || ((own & KNI_OPERAND_OPTIONAL) != 0) != optional) continue;
            if (n == KNI_BODY_OPERANDS) return -1;
            numbers[i] = (uint8_t)n;
            gradient->from[n] = (uint8_t)i;
            bits[n++] = own;
        }
    return n;
}

static kn_status refuse(const kni_defined *d, int i, const char *why)
{
    return kni_fail(KN_ERROR_GRADIENT, "'%s' has no gradient for %s: %s", d->name,
                    d->first ? d->definition->operands[i] : "an operand", why);
}

static kn_status no_memory(const kni_defined *d)
{
    return kni_fail(KN_ERROR_MEMORY, "'%s': no memory for its gradient", d->name);
}

static kn_status make_row(kni_defined *d, int i, const kni_body_graph *graph, int root, int level)
{
    kni_gradient_row *gradient = &d->gradients[i];
    kni_step steps[KNI_BODY_MAX_STEPS];
    uint8_t numbers[2 * KNI_BODY_OPERANDS] = {0}, bits[KNI_BODY_OPERANDS + 1];
    char name[KNI_DEFINED_NAME] = "";
    kni_text text = {name, sizeof name, 0};
    if (root < 0) return KN_OK; /* zero */
    int n_in = choose_operands(d, kni_graph_operands(graph, root), gradient, numbers, bits);
    if (n_in < 0) return refuse(d, i, "it takes more than 8 operands: write it with other ops");
    int n = kni_graph_steps(graph, root, numbers, steps, KNI_BODY_MAX_STEPS);
    if (!n) return refuse(d, i, "it has more steps than a body can have: write .gradient");
    bits[n_in] = (uint8_t)level;
    kni_text_format(&text, "%s_grad%d", d->name, i);
    kni_defined *row = kni_defined_new(d->definition, name, steps, n, bits, n_in, 1);
    if (!row) return no_memory(d);
    if (!kni_custom_number(&row->row)) {
        kni_defined_free(row);
        return refuse(d, i, "there are too many ops");
    }
    gradient->row = row;
    return KN_OK;
}

static kn_status derive_row(kni_defined *d, int i)
{
    kni_body_gradient *gradient = kni_allocate(sizeof *gradient);
    if (!gradient) return no_memory(d);
    kn_status s = kni_body_derive(&d->body, i, false, gradient)
                      ? make_row(d, i, &gradient->graph, gradient->root, gradient->level)
                      : refuse(d, i, gradient->error);
    kni_free(gradient, sizeof *gradient);
    return s;
}

static kn_status ensure_row(kni_defined *d, int i)
{
    kni_gradient_row *gradient = &d->gradients[i];
    const kni_written_gradients *written = d->first ? d->definition->written : NULL;
    if (atomic_load_explicit(&gradient->known, memory_order_acquire)) return KN_OK;
    int level = d->operands[i] & KNI_OPERAND_LEVEL;
    if (level == KNI_LEVEL_ALL) level = KNI_LEVEL_LINE;
    kni_guard_lock(&lock);
    kn_status s = KN_OK;
    if (!atomic_load(&gradient->known)) {
        s = written ? make_row(d, i, &written->graph, written->roots[i], level) : derive_row(d, i);
        atomic_store_explicit(&gradient->known, s == KN_OK, memory_order_release);
    }
    kni_guard_unlock(&lock);
    return s;
}

/* ---- running it */

/* What gradient row operand `from` is; nothing that flows into a result is zero. */
static kn_tensor operand_of(kni_vjp *v, int from)
{
    if (from < v->n_in) return kni_vjp_in(v, from);
    int k = from - v->n_in;
    if (v->dy[k].bits) return v->dy[k];
    return kn_zeros(kni_shape_from_type(&v->out_types[k]), (kn_dtype)v->out_types[k].dtype);
}

static kn_tensor run_row(kni_vjp *v, const kni_gradient_row *gradient)
{
    const kni_defined *row = gradient->row;
    kn_tensor in[KNI_BODY_OPERANDS];
    for (int k = 0; k < row->body.n_in; k++) in[k] = operand_of(v, gradient->from[k]);
    return kni_apply(&row->row, in, row->body.n_in, v->attributes);
}

kn_status kni_defined_gradient(kni_vjp *v)
{
    kni_defined *d = kni_defined_of(v->row);
    for (int i = 0; i < v->n_in; i++) {
        if (!kni_vjp_needs(v, i) || !kni_is_float(v->in_types[i].dtype)) continue;
        kn_status s = ensure_row(d, i);
        if (s) return s;
        const kni_gradient_row *gradient = &d->gradients[i];
        kn_shape want = kni_vjp_shape(v, i);
        kn_tensor g = gradient->row ? run_row(v, gradient) : kn_zeros(want, (kn_dtype)v->in_types[i].dtype);
        const kni_tensor *slot = kni_peek(g);
        if (slot && kni_count(&slot->type) == kni_count(&v->in_types[i]) &&
            !kni_same_dims(&slot->type, &v->in_types[i]))
            g = kn_reshape(g, want);
        kni_vjp_set(v, i, g);
    }
    return KN_OK;
}
