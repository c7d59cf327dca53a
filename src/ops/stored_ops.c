/* Which rows take tensors of stored dtypes, and how. */
#include "ops/stored_ops.h"
#include "core/allocator.h"
#include "core/small_types.h"
#include "ops/indexing_rows.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/tensor.h>
#include <string.h>

enum { MOST_OPERANDS = 64, ATTRIBUTE_BYTES = 512 };

typedef struct call {
    const kn_op *row;
    const kn_tensor *in;
    int n_in, dtype; /* of the first operand that is stored */
} call;

static int dtype_at(const call *c, int i)
{
    return c->in[i].bits ? (int)kn_dtype_of(c->in[i]) : KN_DTYPE_NONE;
}

static bool is_stored(const call *c, int i) { return kni_dtype_stored(dtype_at(c, i)); }

/* Whether the operand's elements are those of the result; the others are indices and conditions. */
static bool is_moved(const kn_op *row, int i)
{
    if (row->kind == KNI_INDEXING || row->number == KNI_OP_slice_at) return i != 1;
    if (row->number == KNI_OP_update_at) return i != 2;
    return row->rule != KNI_RULE_SELECT || i != 0;
}

static kn_status refuse(const kn_op *row, int dtype, int operand)
{
    char name[8] = "KN_";
    const char *lower = kn_dtype_name((kn_dtype)kni_natural_dtype(dtype));
    for (int k = 0; lower[k] && k < 4; k++)
        name[3 + k] = (char)(lower[k] >= 'a' && lower[k] <= 'z' ? lower[k] - 'a' + 'A' : lower[k]);
    return kni_fail_op(
        KN_ERROR_DTYPE, row->name,
        "does not take %T, which is only stored: cast operand %d first, as with kn_cast(x, %s)", dtype,
        operand, name);
}

static kn_tensor cast_first(const call *c)
{
    int i = 0;
    while (!is_stored(c, i)) i++;
    refuse(c->row, dtype_at(c, i), i);
    return kni_poison_latest();
}

static kn_status refuse_mixed(const kn_op *row, int i, int dtype, int stored)
{
    return kni_fail_op(KN_ERROR_DTYPE, row->name,
                       "operand %d is %T and another one %T, which is only stored: cast one with kn_cast()",
                       i, dtype, stored);
}

/* Fill values become codes. False where the row does more with elements than move them. */
static bool move_attributes(const kn_op *row, int dtype, const void *attributes, char *to)
{
    if (!row->attribute_bytes) return true;
    memcpy(to, attributes, row->attribute_bytes);
    for (const kn_attribute *a = row->schema; a && a->name; a++) {
        if (a->type == KNI_ATTR_REAL) {
            double value;
            memcpy(&value, to + a->offset, sizeof value);
            value = (double)kni_small_code(dtype, value, false);
            memcpy(to + a->offset, &value, sizeof value);
        } else if (!strcmp(a->name, "update")) {
            int64_t update;
            memcpy(&update, to + a->offset, sizeof update);
            if (update != KN_UPDATE_ASSIGN) return false;
        }
    }
    return true;
}

/* A row that moves elements, on the codes. */
static kn_tensor move(const call *c, const void *attributes)
{
    _Alignas(8) char own[ATTRIBUTE_BYTES];
    kn_tensor codes[MOST_OPERANDS];
    if (c->n_in > MOST_OPERANDS || c->row->attribute_bytes > sizeof own ||
        !move_attributes(c->row, c->dtype, attributes, own))
        return cast_first(c);
    for (int i = 0; i < c->n_in; i++) {
        codes[i] = c->in[i];
        if (!c->in[i].bits || (!is_moved(c->row, i) && !is_stored(c, i))) continue;
        if (dtype_at(c, i) != c->dtype) {
            refuse_mixed(c->row, i, dtype_at(c, i), c->dtype);
            return kni_poison_latest();
        }
        if (!is_moved(c->row, i)) return cast_first(c);
        codes[i] = kn_bitcast(c->in[i], KN_U8);
    }
    return kni_bitcast(kni_apply(c->row, codes, c->n_in, own), c->dtype);
}

/* A comparison, on the values. */
static kn_tensor compare(const call *c, const void *attributes)
{
    kn_tensor values[MOST_OPERANDS];
    if (c->n_in > MOST_OPERANDS) return cast_first(c);
    for (int i = 0; i < c->n_in; i++)
        values[i] =
            is_stored(c, i) ? kni_cast_stored(c->in[i], kni_natural_dtype(dtype_at(c, i)), false) : c->in[i];
    return kni_apply(c->row, values, c->n_in, attributes);
}

bool kn_stored_dtypes_use(void) { return true; }

kn_tensor kni_full_stored(const char *name, kn_shape shape, double value, kn_dtype dtype)
{
    kni_call scope = kni_call_begin(name);
    return kni_call_end(scope,
                        kni_bitcast(kn_full_int(shape, kni_small_code(dtype, value, false), KN_U8), dtype));
}

void kni_apply_stored(const kn_op *row, const kn_tensor *in, int n_in, const void *attributes, kn_tensor *out,
                      int n_out)
{
    kni_call scope = kni_call_begin(row->name);
    call c = {row, in, n_in, KN_DTYPE_NONE};
    for (int i = n_in - 1; i >= 0; i--)
        if (is_stored(&c, i)) c.dtype = dtype_at(&c, i);
    kn_tensor y;
    int64_t to;
    if (kni_converts(row)) {
        memcpy(&to, (const char *)attributes + row->schema->offset, sizeof to);
        y = kni_cast_stored(in[0], (int)to, false);
    } else if (row->flags & KNI_FLAG_MOVES) {
        y = move(&c, attributes);
    } else if (row->rule == KNI_RULE_COMPARE) {
        y = compare(&c, attributes);
    } else {
        y = cast_first(&c);
    }
    out[0] = y;
    for (int i = 1; i < n_out; i++) out[i] = y; /* of rows with several results none is moved */
    kni_call_end_many(scope, out, 1);
    for (int i = 1; i < n_out; i++) out[i] = out[0];
}

/* ---- types */

/* As an elementwise row would see the operand: its codes where it moves them, else its values. */
static kn_status seen_type(const kni_infer *c, int i, int stored, kni_type *seen)
{
    int dtype = c->in[i]->dtype;
    bool moves = c->row->flags & KNI_FLAG_MOVES;
    *seen = *c->in[i];
    if (!moves) {
        if (kni_dtype_stored(dtype)) seen->dtype = (uint8_t)kni_natural_dtype(dtype);
        return KN_OK;
    }
    if (!is_moved(c->row, i)) return kni_dtype_stored(dtype) ? refuse(c->row, dtype, i) : KN_OK;
    if (dtype != stored) return refuse_mixed(c->row, i, dtype, stored);
    seen->dtype = KN_U8;
    return KN_OK;
}

kn_status kni_infer_stored(kni_infer *c)
{
    _Alignas(8) char own[ATTRIBUTE_BYTES];
    kni_type types[MOST_OPERANDS];
    const kni_type *seen[MOST_OPERANDS];
    int first = 0;
    while (first < c->n_in && !(c->in[first] && kni_dtype_stored(c->in[first]->dtype))) first++;
    if (first == c->n_in || kni_converts(c->row) || c->row->dtypes >> c->in[first]->dtype & 1)
        return c->row->infer(c);
    int stored = c->in[first]->dtype;
    bool moves = c->row->flags & KNI_FLAG_MOVES;
    if (!kni_takes_stored(c->row) || c->n_in > MOST_OPERANDS || c->row->attribute_bytes > sizeof own ||
        (moves && !move_attributes(c->row, stored, c->attributes, own)))
        return refuse(c->row, stored, first);
    for (int i = 0; i < c->n_in; i++) {
        seen[i] = c->in[i] ? &types[i] : NULL;
        kn_status s = c->in[i] ? seen_type(c, i, stored, &types[i]) : KN_OK;
        if (s) return s;
    }
    kni_infer codes = *c;
    codes.in = seen;
    if (moves && c->row->attribute_bytes) codes.attributes = own;
    kn_status s = c->row->infer(&codes);
    for (int i = 0; i < c->n_out && s == KN_OK && moves; i++) c->out[i]->dtype = (uint8_t)stored;
    return s;
}
