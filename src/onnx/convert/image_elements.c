/* Reading and writing by index, and distinct elements. */
#include "onnx/convert/image_parts.h"

/* ---- by tuples of indices */

void kni_convert_gather_nd(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    out[0] = kni_emit(c, "gather_nd", in, 2,
                      KNI_GIVE(KNI_WHOLE("batch_axes", kni_node_int(node, "batch_dims", 0))));
}

/* The numbers of kn_update. */
static int32_t update_of(kni_conversion *c, const kni_onnx_node *node)
{
    static const char *const reductions[] = {"none", "add", "mul", "min", "max", NULL};
    return kni_node_choice(c, node, "reduction", "none", reductions);
}

void kni_convert_scatter_nd(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    out[0] = kni_emit(c, "scatter_nd", in, 3,
                      KNI_GIVE(KNI_WHOLE("negative", 1), KNI_WHOLE("update", update_of(c, node))));
}

/* The op's index has all of x but along the axis: an index of fewer elements updates a corner of x. */
void kni_convert_scatter_elements(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_extent starts[KN_MAX_RANK], stops[KN_MAX_RANK], steps[KN_MAX_RANK], x[KN_MAX_RANK],
        index[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], x), axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", 0));
    int32_t update = update_of(c, node);
    if (kni_extents_of(c, in[1], index) != rank && !kni_convert_failed(c))
        kni_convert_fail(c, KN_ERROR_SHAPE, "the indices have %d axes and the tensor %d",
                         kni_rank_of(c, in[1]), rank);
    if (kni_convert_failed(c)) return;
    bool whole = true;
    for (int32_t i = 0; i < rank; i++) {
        starts[i] = KNI_EXTENT(0);
        steps[i] = KNI_EXTENT(1);
        stops[i] = i == axis ? x[i] : index[i];
        whole = whole && kni_extent_same(stops[i], x[i]);
        if (!stops[i].text && !x[i].text && stops[i].value > x[i].value)
            kni_convert_fail(c, KN_ERROR_SHAPE,
                             "the indices have %lld elements on axis %d, the tensor has %lld",
                             (long long)stops[i].value, i, (long long)x[i].value);
    }
    const kni_given_attribute corner[] = {KNI_EXTENTS("start", starts, rank),
                                          KNI_EXTENTS("stop", stops, rank),
                                          KNI_EXTENTS("step", steps, rank),
                                          {0}};
    kni_datum part = whole ? in[0] : kni_emit(c, "slice", in, 1, corner);
    kni_datum y =
        kni_emit(c, "scatter", KNI_LIST(part, in[1], in[2]),
                 KNI_GIVE(KNI_WHOLE("axis", axis), KNI_WHOLE("negative", 1), KNI_WHOLE("update", update)));
    out[0] = whole ? y : kni_emit(c, "update_slice", KNI_LIST(in[0], y), corner);
}

/* ---- Unique */

/* How many there are is read first, since it is a size of the results. */
void kni_convert_unique(KNI_CONVERTS)
{
    enum { VALUES, FIRST, INVERSE, COUNTS, COUNT, RESULTS };
    bool by_axis = kni_node_attribute(node, "axis") != NULL;
    int32_t axis = by_axis ? kni_axis_of(c, in[0], kni_node_int(node, "axis", 0)) : 0;
    kni_datum y[RESULTS];
    (void)n_in;
    kni_emit_many(c, "distinct", in, 1,
                  KNI_GIVE(KNI_WHOLE("axis", axis), KNI_WHOLE("by_axis", by_axis),
                           KNI_WHOLE("unsorted", kni_node_int(node, "sorted", 1) == 0)),
                  y, RESULTS);
    kni_extent count = kni_known_count(c, y[COUNT], "the number of distinct elements");
    for (int32_t i = 0; i < n_out && i < COUNT && !kni_convert_failed(c); i++) {
        if (!kni_is_wanted(node, i)) continue;
        out[i] = i == INVERSE ? y[i] : kni_slice_of(c, y[i], i == VALUES ? axis : 0, KNI_EXTENT(0), count);
    }
}
