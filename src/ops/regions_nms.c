/* Boxes that hide each other: of those that share too much the one with the highest score stays. */
#include "ops/generated/regions_kernels.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/regions.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/shape.h>
#include <kn/spatial.h>

extern const kni_native kni_cpu_nms;

static const kn_attribute schema[] = {KNI_ATTR(kni_nms_attributes, limit, KNI_ATTR_INT, KNI_STATIC),
                                      KNI_ATTR(kni_nms_attributes, middle, KNI_ATTR_INT, KNI_STATIC),
                                      KNI_ATTR(kni_nms_attributes, bounded, KNI_ATTR_INT, KNI_STATIC),
                                      KNI_ATTR(kni_nms_attributes, share, KNI_ATTR_REAL, KNI_STATIC),
                                      KNI_ATTR(kni_nms_attributes, least, KNI_ATTR_REAL, KNI_STATIC),
                                      {0}};

static kn_status infer_nms(kni_infer *c)
{
    const kni_nms_attributes *a = c->attributes;
    const kni_type *boxes = c->in[0], *scores = c->in[1];
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s) return s;
    if (scores->dtype != boxes->dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "boxes are %T and scores %T: convert one with kn_cast()",
                              (int)boxes->dtype, (int)scores->dtype);
    if (boxes->rank != 3 || scores->rank != 3 || !kni_dims_agree(boxes->dims[2], 4) ||
        !kni_dims_agree(boxes->dims[0], scores->dims[0]) || !kni_dims_agree(boxes->dims[1], scores->dims[2]))
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "boxes must be [images, n, 4] with scores [images, classes, n]; got %S and %S",
                              boxes, scores);
    if (!kni_dim_is_size(a->limit))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%D boxes of each class asked for; 0 or more are",
                              a->limit);
    if (!(a->share >= 0 && a->share <= 1))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "boxes share 0 to 1 of what they cover, not %g",
                              a->share);
    *c->out[0] = *scores;
    c->out[0]->weak = 0;
    c->out[0]->dtype = KN_I64;
    c->out[0]->dims[2] = kni_dim_min(a->limit, scores->dims[2]);
    return KN_OK;
}

static kn_status launch_nms(kni_launch *l)
{
    const kni_nms_attributes *a = l->attributes;
    l->kernel = &kni_kernel_nms;
    l->items = kni_count_dims(2, l->in[1]->dims);
    kni_launch_int(l, l->in[1]->dims[2]);
    kni_launch_int(l, l->in[1]->dims[1]);
    kni_launch_int(l, l->out[0]->dims[2]);
    kni_launch_int(l, a->middle != 0);
    kni_launch_int(l, a->bounded != 0);
    kni_launch_real(l, a->share);
    kni_launch_real(l, a->least);
    l->n_temps = 1;
    l->temps[0] = kni_count(l->in[1]);
    return KN_OK;
}

OP(nms,
   .doc = "kept[b, c, j]: the box of class c of image b that stays as number j, by falling score; -1 behind "
          "them",
   .min_in = 2, .max_in = 2, .n_out = 1, .kind = KNI_SORTING, .flags = KNI_FLAG_NO_GRADIENT,
   .dtypes = KNI_FLOATS, .schema = schema, .attribute_bytes = sizeof(kni_nms_attributes), .infer = infer_nms,
   .launch = launch_nms, .native = &kni_cpu_nms)

kn_nms_result kn_nms(kn_tensor boxes, kn_tensor scores, const kn_nms_args *args)
{
    kni_call call = kni_call_begin("nms");
    kn_tensor in[2] = {boxes, scores}, out[2];
    kni_nms_attributes a = {0};
    if (args) a = (kni_nms_attributes){args->limit, args->middle, args->bounded, args->share, args->least};
    kn_tensor kept = kn_keep(kni_apply(&kni_op_nms, in, 2, &a));
    const kni_type *t = kni_type_of(kept);
    if (!t) {
        out[0] = out[1] = kept;
    } else {
        int64_t n = kni_count(t);
        kn_nonzero_result found = kn_nonzero_bounded(kn_greater_equal_scalar(kept, 0), n);
        kn_tensor places = kn_keep(found.indices), count = kn_keep(found.count);
        kn_tensor box = kn_reshape(kn_gather_nd(kept, places), KN_SHAPE(n, 1));
        kn_tensor parts[2] = {kn_narrow(places, 1, 0, 2), box};
        kn_tensor inside = kn_reshape(kn_less(kn_arange(0, (double)n, 1, KN_I64), count), KN_SHAPE(n, 1));
        out[0] = kn_where(inside, kn_concat(parts, 2, 1), kn_zeros(KN_SCALAR_SHAPE, KN_I64));
        out[1] = count;
    }
    kni_call_end_many(call, out, 2);
    return (kn_nms_result){out[0], out[1]};
}
