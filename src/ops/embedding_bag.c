/* Sums, means and largest elements of bags of table rows: rows are picked, then added up by the number of their bag. */
#include "ops/embedding.h"
#include "ops/linalg_rows.h"
#include "ops/movement_rows.h"
#include "ops/wide.h"

typedef struct bags {
    kn_tensor indices, number; /* [n]: the row and the bag of each */
    int64_t n, count;          /* of indices, of bags */
    int64_t padding;           /* the row that is left out, -1 for none */
} bags;

/* The row that an args struct names, -1 for none. */
static int64_t padding_row(int64_t given, int64_t rows)
{
    if (given == 0) return -1;
    return given == KN_ZERO ? 0 : given < 0 ? given + rows : given;
}

/* KN_OK, or the status of the failure. */
static kn_status check(const kni_type *w, const kni_type *i, const kni_type *o, const kni_type *s,
                       const kn_embedding_bag_args *a)
{
    if (w->rank != 2 || !kn_dtype_is_float((kn_dtype)w->dtype))
        return kni_fail_op(KN_ERROR_SHAPE, NULL, "the weight must be floats [rows, size], not %T %S",
                           (int)w->dtype, w);
    if (!kn_dtype_is_integer((kn_dtype)i->dtype) || i->rank != (o ? 1 : 2))
        return kni_fail_op(KN_ERROR_SHAPE, NULL, "indices must be integers %s, not %T %S",
                           o ? "[n] where there are offsets" : "[bags, size], or [n] with offsets",
                           (int)i->dtype, i);
    if (o && (o->rank != 1 || !kn_dtype_is_integer((kn_dtype)o->dtype) ||
              (a->include_last_offset && o->dims[0] < 1)))
        return kni_fail_op(KN_ERROR_SHAPE, NULL, "offsets must be integers [bags%s], not %T %S",
                           a->include_last_offset ? " + 1" : "", (int)o->dtype, o);
    if (!o && a->include_last_offset)
        return kni_fail_op(KN_ERROR_ARGUMENT, NULL, "include_last_offset is set but there are no offsets");
    if ((unsigned)a->mode > KN_BAG_MAX)
        return kni_fail_op(KN_ERROR_ARGUMENT, NULL, "there is no mode %d: KN_BAG_MEAN, _SUM or _MAX",
                           (int)a->mode);
    if (s && a->mode != KN_BAG_SUM)
        return kni_fail_op(KN_ERROR_ARGUMENT, NULL, "per_sample_weights are for KN_BAG_SUM alone");
    if (s && (!kni_same_dims(s, i) || !kn_dtype_is_float((kn_dtype)s->dtype)))
        return kni_fail_op(KN_ERROR_SHAPE, NULL,
                           "per_sample_weights %T %S must be floats of the shape of indices %S",
                           (int)s->dtype, s, i);
    int64_t padding = padding_row(a->padding_index, w->dims[0]);
    if (padding >= w->dims[0] || padding < -1 || (a->padding_index != 0 && padding < 0))
        return kni_fail_op(KN_ERROR_ARGUMENT, NULL, "padding_index %D is outside the table %S",
                           a->padding_index, w);
    return KN_OK;
}

/* bool [1]: the offsets do not begin with 0, descend, or pass the n indices. */
static kn_tensor wrong_offsets(kn_tensor offsets, int64_t n)
{
    int64_t more = kn_size(offsets, 0) - 1;
    kn_tensor first = kn_not_equal_scalar(kn_narrow(offsets, 0, 0, 1), 0);
    if (more < 1) return first;
    kn_tensor rest = kn_keep(kn_narrow(offsets, 0, 1, more)), before = kn_narrow(offsets, 0, 0, more);
    kn_tensor wrong = kn_logical_or(kn_less(rest, before), kn_greater(rest, kn_scalar_int(n, KN_I64)));
    return kn_logical_or(first, kn_any(wrong, KN_AXES(0), true));
}

/* The bag of each index. Wrong offsets give a number that no bag has, which fails as an index when it is used. Those of no bag (behind the last offset, the padding row) get the number `count`, a bag that is cut off
   at the end. */
static bags find_bags(const kni_type *indices_type, kn_tensor indices, const kn_embedding_bag_args *a,
                      int64_t rows)
{
    bags b = {.n = kni_count(indices_type), .padding = padding_row(a->padding_index, rows)};
    kn_tensor place = kn_arange(0, (double)b.n, 1, KN_I64);
    if (a->offsets.bits) {
        kn_tensor offsets = kn_keep(kn_cast(a->offsets, KN_I64));
        b.count = kn_size(offsets, 0) - (a->include_last_offset ? 1 : 0);
        b.number = kn_sub_scalar(kn_searchsorted(offsets, place, true), 1);
        if (kn_size(offsets, 0) > 0)
            b.number = kn_where(wrong_offsets(offsets, b.n), kn_scalar_int(b.count + 1, KN_I64), b.number);
    } else {
        int64_t size = indices_type->dims[1];
        b.count = indices_type->dims[0];
        b.number = kn_floor_div_scalar(place, (double)(size ? size : 1));
    }
    b.indices = kn_keep(kn_cast(kn_reshape(indices, KN_SHAPE(b.n)), KN_I64));
    if (b.padding >= 0)
        b.number = kn_where(kn_equal(b.indices, kn_scalar_int(b.padding, KN_I64)),
                            kn_scalar_int(b.count, KN_I64), b.number);
    b.number = kn_keep(b.number);
    return b;
}

/* The rows of one bag joined, [count, size]; bag number `count` is dropped. */
static kn_tensor joined(const bags *b, kn_tensor rows, double start, kn_update update)
{
    kn_tensor into = kn_full(KN_SHAPE(b->count + 1, kn_size(rows, 1)), start, kn_dtype_of(rows));
    return kn_narrow(kn_index_assign(into, 0, b->number, rows, update), 0, 0, b->count);
}

/* How many rows each bag has, [count, 1] in dtype. */
static kn_tensor sizes_of(const bags *b, kn_dtype dtype)
{
    return joined(b, kn_ones(KN_SHAPE(b->n, 1), dtype), 0, KN_UPDATE_ADD);
}

kn_tensor kn_embedding_bag(kn_tensor weight, kn_tensor indices, const kn_embedding_bag_args *args)
{
    static const kn_embedding_bag_args usual;
    const kn_embedding_bag_args a = args ? *args : usual;
    kni_call call = kni_call_begin("embedding_bag");
    const kni_type *w = kni_type_of(weight), *i = kni_type_of(indices);
    const kni_type *o = a.offsets.bits ? kni_type_of(a.offsets) : NULL;
    const kni_type *s = a.per_sample_weights.bits ? kni_type_of(a.per_sample_weights) : NULL;
    if (!w || !i) return kni_call_end(call, kn_add(weight, indices));
    if (a.offsets.bits && !o) return kni_call_end(call, kn_neg(a.offsets));
    if (a.per_sample_weights.bits && !s) return kni_call_end(call, kn_neg(a.per_sample_weights));
    if (check(w, i, o, s, &a)) return kni_call_end(call, kni_poison_latest());
    int dtype = w->dtype;
    weight = kn_keep(weight);
    kni_context before = kni_stand_by(weight);
    bags b = find_bags(i, indices, &a, w->dims[0]);
    kn_tensor rows = kni_widen(kn_embedding(weight, b.indices, NULL));
    if (s)
        rows = kn_mul(rows, kn_reshape(kni_as(a.per_sample_weights, kni_sum_dtype(dtype)), KN_SHAPE(b.n, 1)));
    kn_dtype wide = (kn_dtype)kni_sum_dtype(dtype);
    if (!kn_ok(rows)) {
        kni_stand_back(before);
        return kni_call_end(call, rows);
    }
    kn_tensor y;
    if (a.mode == KN_BAG_MAX) {
        kn_tensor empty = kn_keep(kn_equal_scalar(sizes_of(&b, wide), 0));
        y = kn_keep(joined(&b, rows, -__builtin_inf(), KN_UPDATE_MAX));
        y = kn_where(empty, kni_number(y, 0), y);
    } else {
        y = joined(&b, rows, 0, KN_UPDATE_ADD);
        if (a.mode == KN_BAG_MEAN) y = kn_div(y, kn_maximum_scalar(sizes_of(&b, wide), 1));
    }
    kni_stand_back(before);
    return kni_call_end_as(call, y, dtype);
}
