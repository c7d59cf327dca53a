/* Conformance adapters of what images are cut, resampled and searched with. */
#include "conform_adapter_words.h"
#include <stdio.h>

static kn_tensor resample_to(const kn_tensor *in, const kiln_attributes *a)
{
    kn_resample_args r = {.axes = kiln_ints(a, "axes"),
                          .mode = (kn_resample_mode)kiln_int(a, "mode", 0),
                          .transform = (kn_resample_transform)kiln_int(a, "transform", 0),
                          .rule = (kn_resample_rule)kiln_int(a, "rule", 0),
                          .antialias = kiln_int(a, "antialias", 0) != 0,
                          .exclude_outside = kiln_int(a, "exclude_outside", 0) != 0,
                          .cubic = kiln_real(a, "cubic", 0),
                          .outside = kiln_real(a, "outside", 0)};
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "scale%d", i);
        r.scale[i] = kiln_real(a, name, 0);
        snprintf(name, sizeof name, "begin%d", i);
        r.begin[i] = kiln_real(a, name, 0);
        snprintf(name, sizeof name, "end%d", i);
        r.end[i] = kiln_real(a, name, 0);
    }
    return kn_resample(in[0], kiln_ints(a, "size"), &r);
}

static void copy(int64_t *to, kn_ints list, bool zeros)
{
    for (int i = 0; i < list.rank && i < 3; i++) to[i] = zeros ? kn_int_given(list.dims[i]) : list.dims[i];
}

static kn_im2col_args columns_args(const kiln_attributes *a)
{
    kn_im2col_args c = {{0}, {0}, {0}, {0}};
    copy(c.stride, kiln_ints(a, "stride"), false);
    copy(c.padding, kiln_ints(a, "padding"), true);
    copy(c.padding_end, kiln_ints(a, "padding_end"), true);
    copy(c.dilation, kiln_ints(a, "dilation"), false);
    return c;
}

static kn_tensor im2col(const kn_tensor *in, const kiln_attributes *a)
{
    kn_im2col_args c = columns_args(a);
    return kn_im2col(in[0], kiln_ints(a, "window"), &c);
}

static kn_tensor col2im(const kn_tensor *in, const kiln_attributes *a)
{
    kn_im2col_args c = columns_args(a);
    return kn_col2im(in[0], kiln_ints(a, "size"), kiln_ints(a, "window"), &c);
}

static kn_tensor roi_align(const kn_tensor *in, const kiln_attributes *a)
{
    kn_roi_align_args r = {kiln_real(a, "scale", 0), kiln_int(a, "samples", 0), kiln_int(a, "most", 0) != 0,
                           kiln_int(a, "half", 0) != 0};
    return kn_roi_align(in[0], in[1], in[2], kiln_ints(a, "size"), &r);
}

SIMPLE(resample_to, resample_to(in, a))
SIMPLE(im2col, im2col(in, a))
SIMPLE(col2im, col2im(in, a))
SIMPLE(roi_align, roi_align(in, a))
SIMPLE(gather_nd_batch, kn_gather_nd_batch(in[0], in[1], (int32_t)kiln_int(a, "batch_axes", 0)))

ADAPTER(max_roi_pool)
{
    (void)n, (void)room;
    kn_pooled p = kn_max_roi_pool(in[0], in[1], kiln_ints(a, "size"), kiln_real(a, "scale", 1));
    out[0] = p.values;
    out[1] = p.indices;
    return 2;
}

ADAPTER(distinct)
{
    (void)n, (void)room;
    kn_distinct_args d = {kiln_int(a, "by_axis", 0) != 0, (int32_t)kiln_int(a, "axis", 0),
                          kiln_int(a, "unsorted", 0) != 0};
    kn_distinct_result r = kn_distinct(in[0], &d);
    kn_tensor all[] = {r.values, r.first, r.inverse, r.counts, r.count};
    for (int i = 0; i < 5; i++) out[i] = all[i];
    return 5;
}

ADAPTER(nms_found)
{
    (void)n, (void)room;
    kn_nms_args m = {kiln_int(a, "limit", 0), kiln_real(a, "share", 0), kiln_int(a, "bounded", 0) != 0,
                     kiln_real(a, "least", 0), kiln_int(a, "middle", 0) != 0};
    kn_nms_result r = kn_nms(in[0], in[1], &m);
    out[0] = r.kept;
    out[1] = r.count;
    return 2;
}

const kiln_adapter kiln_adapters_image[] = {ENTRY(resample_to), ENTRY(im2col),          ENTRY(col2im),
                                            ENTRY(roi_align),   ENTRY(gather_nd_batch), ENTRY(max_roi_pool),
                                            ENTRY(distinct),    ENTRY(nms_found),       {NULL, NULL}};
