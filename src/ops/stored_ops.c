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
static bool is_moved(const call *c, int i)
{
    if (c->row->kind == KNI_INDEXING) return i != 1;
    return c->row->rule != KNI_RULE_SELECT || i != 0;
}

static kn_tensor cast_first(const call *c)
{
    int i = 0;
    while (!is_stored(c, i)) i++;
    int dtype = dtype_at(c, i), natural = kni_natural_dtype(dtype);
    char name[8] = "KN_";
    const char *lower = kn_dtype_name((kn_dtype)natural);
    for (int k = 0; lower[k] && k < 4; k++)
        name[3 + k] = (char)(lower[k] >= 'a' && lower[k] <= 'z' ? lower[k] - 'a' + 'A' : lower[k]);
    kni_fail_op(KN_ERROR_DTYPE, c->row->name,
                "does not take %T, which is only stored: cast operand %d first, as with kn_cast(x, %s)",
                dtype, i, name);
    return kni_poison_latest();
}

/* Fill values become codes. False where the row does more with elements than move them. */
static bool move_attributes(const call *c, const void *attributes, char *to)
{
    if (!c->row->attribute_bytes) return true;
    memcpy(to, attributes, c->row->attribute_bytes);
    for (const kn_attribute *a = c->row->schema; a && a->name; a++) {
        if (a->type == KNI_ATTR_REAL) {
            double value;
            memcpy(&value, to + a->offset, sizeof value);
            value = (double)kni_small_code(c->dtype, value, false);
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
        !move_attributes(c, attributes, own))
        return cast_first(c);
    for (int i = 0; i < c->n_in; i++) {
        codes[i] = c->in[i];
        if (!c->in[i].bits || (!is_moved(c, i) && !is_stored(c, i))) continue;
        if (dtype_at(c, i) != c->dtype) {
            kni_fail_op(KN_ERROR_DTYPE, c->row->name,
                        "operand %d is %T and another one %T, which is only stored: cast one with kn_cast()",
                        i, dtype_at(c, i), c->dtype);
            return kni_poison_latest();
        }
        if (!is_moved(c, i)) return cast_first(c);
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
