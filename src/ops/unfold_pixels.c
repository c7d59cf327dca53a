/* Shuffles: channels to blocks of pixels and back, and channels among groups. */
#include "ops/movement_rows.h"
#include <kn/shape.h>
#include <kn/spatial.h>

/* Splits the last three axes into five parts, permutes these and joins them to the result's three. */
static kn_tensor rearrange(kn_tensor x, const int64_t *parts, const int *order, const int64_t *joined)
{
    kn_shape split = kni_shape_from_type(kni_type_of(x)), result = split;
    int first = split.rank - 3;
    kn_ints axes = {first + 5, {0}};
    split.rank += 2;
    for (int i = 0; i < axes.rank; i++) axes.dims[i] = i < first ? i : first + order[i - first];
    for (int i = 0; i < 5; i++) split.dims[first + i] = parts[i];
    for (int i = 0; i < 3; i++) result.dims[first + i] = joined[i];
    return kn_reshape(kn_permute(kn_reshape(x, split), axes), result);
}

/* What both directions ask of x; KN_OK, or the status of the failure. */
static kn_status check(const kni_type *t, int64_t factor)
{
    if (factor < 1 || factor > INT32_MAX)
        return kni_fail_op(KN_ERROR_ARGUMENT, NULL, "the factor is %D; it must be 1 to 2^31 - 1", factor);
    if (t->rank < 3 || t->rank > KN_MAX_RANK - 2)
        return kni_fail_op(KN_ERROR_SHAPE, NULL, "x must be [..., channels, height, width]; got %S", t);
    return KN_OK;
}

kn_tensor kn_pixel_shuffle(kn_tensor x, int64_t factor)
{
    static const int order[] = {0, 3, 1, 4, 2};
    kni_call call = kni_call_begin("pixel_shuffle");
    const kni_type *t = kni_type_of(x);
    if (!t) return kni_call_end(call, kn_reshape(x, KN_SHAPE(-1)));
    if (check(t, factor)) return kni_call_end(call, kni_poison_latest());
    const int64_t *d = t->dims + t->rank - 3;
    if (d[0] % (factor * factor) != 0)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "the channels of x %S are no multiple of the squared factor %D", t, factor);
    int64_t parts[] = {d[0] / (factor * factor), factor, factor, d[1], d[2]};
    int64_t joined[] = {parts[0], d[1] * factor, d[2] * factor};
    return kni_call_end(call, rearrange(x, parts, order, joined));
}

kn_tensor kn_pixel_unshuffle(kn_tensor x, int64_t factor)
{
    static const int order[] = {0, 2, 4, 1, 3};
    kni_call call = kni_call_begin("pixel_unshuffle");
    const kni_type *t = kni_type_of(x);
    if (!t) return kni_call_end(call, kn_reshape(x, KN_SHAPE(-1)));
    if (check(t, factor)) return kni_call_end(call, kni_poison_latest());
    const int64_t *d = t->dims + t->rank - 3;
    if (d[1] % factor != 0 || d[2] % factor != 0)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "height and width of x %S are no multiples of the factor %D", t, factor);
    int64_t parts[] = {d[0], d[1] / factor, factor, d[2] / factor, factor};
    int64_t joined[] = {d[0] * factor * factor, parts[1], parts[3]};
    return kni_call_end(call, rearrange(x, parts, order, joined));
}

kn_tensor kn_channel_shuffle(kn_tensor x, int64_t groups)
{
    kni_call call = kni_call_begin("channel_shuffle");
    const kni_type *t = kni_type_of(x);
    if (!t) return kni_call_end(call, kn_reshape(x, KN_SHAPE(-1)));
    if (t->rank < 3 || t->rank > KN_MAX_RANK - 1)
        return kni_call_fail(call, KN_ERROR_SHAPE, "x must be [batch, channels, 1 to 5 axes]; got %S", t);
    if (groups < 1 || t->dims[1] % groups != 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "the channels of x %S cannot be cut into %D equal groups", t, groups);
    kn_shape shape = kni_shape_from_type(t);
    kn_tensor dealt = kn_transpose(kn_unflatten(x, 1, KN_SHAPE(groups, t->dims[1] / groups)), 1, 2);
    return kni_call_end(call, kn_reshape(dealt, shape));
}
