/* Rows along lines, and those that make values of scalars, by their bodies: operands are widened, the interpreter runs, results are rounded once. */
#include "backend/host/host.h"
#include "ops/body.h"
#include "ops/body_lines.h"
#include "ops/line.h"
#include <string.h>

typedef struct lines {
    const kn_record *r;
    kni_borrowed in[KNI_BODY_OPERANDS],
        out[KNI_BODY_OPERANDS];    /* of out: copy_bytes 0, the result's own memory */
    int dtypes[KNI_BODY_OPERANDS]; /* of the results while they are wide */
} lines;

/* Operands of defined ops may broadcast to the elements. */
static bool borrow_operands(lines *l, const kni_type *shape, int wide, const void **in)
{
    for (int i = 0; i < l->r->n_in; i++) {
        kni_tensor *x = kni_in(l->r, i);
        uint8_t bits = l->r->row->body->operands[i];
        int dtype = bits & KNI_OPERAND_INDEX ? KN_I64 : kni_compute_dtype[wide];
        bool spread = x && (bits & KNI_OPERAND_LEVEL) == KNI_LEVEL_ELEMENT && !kni_same_dims(&x->type, shape);
        if (spread && !kni_host_borrow_expanded(x, shape, dtype, &l->in[i])) return false;
        if (x && !spread && !kni_host_borrow(x, dtype, &l->in[i])) return false;
        in[i] = x ? l->in[i].data : NULL;
    }
    return true;
}

/* Truths and indices are i64 until they are stored. */
static kn_status make_results(lines *l, int wide, void **out)
{
    const kni_body *body = l->r->row->body;
    for (int k = 0; k < l->r->n_out; k++) {
        kni_tensor *y = kni_out(l->r, k);
        uint8_t bits = body->operands[body->n_in + k];
        kn_status s = kni_host_allocate(y);
        if (s) return s;
        l->dtypes[k] = bits & (KNI_OPERAND_INDEX | KNI_OPERAND_TRUTH) ? KN_I64 : kni_compute_dtype[wide];
        out[k] = y->storage->data;
        if (y->type.dtype == l->dtypes[k]) continue;
        int64_t bytes = kn_dtype_bytes(KN_F64, kni_count(&y->type));
        out[k] = l->out[k].data = bytes < 0 ? NULL : kni_allocate((size_t)bytes);
        if (!out[k]) return KN_ERROR_MEMORY;
        l->out[k].copy_bytes = bytes ? (size_t)bytes : 1;
    }
    return KN_OK;
}

/* Reals become integers of 64 bits, and those the dtype's. */
static void store_integers(kni_tensor *y, const double *from)
{
    int64_t whole[256], n = kni_count(&y->type), bytes = (int64_t)kni_element_bytes(y);
    for (int64_t at = 0; at < n; at += 256) {
        int64_t count = n - at < 256 ? n - at : 256;
        kni_convert(whole, KN_I64, 1, from + at, KN_F64, 1, count);
        kni_convert((char *)y->storage->data + at * bytes, y->type.dtype, 1, whole, KN_I64, 1, count);
    }
}

static void store_results(lines *l)
{
    for (int k = 0; k < l->r->n_out; k++) {
        kni_tensor *y = kni_out(l->r, k);
        if (!l->out[k].copy_bytes) continue;
        if (kni_is_float(l->dtypes[k]) && !kni_is_float(y->type.dtype))
            store_integers(y, l->out[k].data);
        else
            kni_convert(y->storage->data, y->type.dtype, 1, l->out[k].data, l->dtypes[k], 1,
                        kni_count(&y->type));
    }
}

kn_status kni_host_lines(const kn_record *r)
{
    lines l;
    const void *in[KNI_BODY_OPERANDS] = {NULL};
    void *out[KNI_BODY_OPERANDS] = {NULL};
    kni_body_lines run = {.row = r->row, .attributes = r->attributes, .in = in, .out = out};
    const kni_type *y = &kni_out(r, 0)->type;
    if (!r->row->line.axes)
        run.apart = true, run.shape = y;
    else if (!kni_line_levels(r, &run.shape, &run.axes))
        return KN_ERROR_UNSUPPORTED;
    run.choices = kni_body_dtype_choices(y->dtype);
    run.wide = r->row->sums == KNI_SUMS_REAL ? KNI_COMPUTE_F64 : kni_wide_of[run.shape->dtype];
    memset(&l, 0, sizeof l);
    l.r = r;
    kn_status s =
        borrow_operands(&l, run.shape, run.wide, in) ? make_results(&l, run.wide, out) : KN_ERROR_MEMORY;
    if (s == KN_OK && !kni_body_lines_run(&run)) s = KN_ERROR_MEMORY;
    if (s == KN_OK && run.failed)
        s = kni_fail_op(KN_ERROR_INDEX, r->row->name, "index %D is out of range", run.reported);
    else if (s == KN_OK)
        store_results(&l);
    else if (s == KN_ERROR_MEMORY)
        s = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    for (int i = 0; i < r->n_in; i++) kni_host_unborrow(&l.in[i]);
    for (int k = 0; k < r->n_out; k++) kni_host_unborrow(&l.out[k]);
    return s;
}
