/* What `kiln conform` calls of sorting, searching and counting that is no row. */
#include "conform_adapter.h"

#define RUN(name)                                                                                            \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
#define UNUSED (void)n, (void)room

static int32_t axis_of(const kiln_attributes *a) { return (int32_t)kiln_int(a, "axis", 0); }
static bool keeps(const kiln_attributes *a) { return kiln_int(a, "keep", 0) != 0; }

static int indexed(kn_indexed r, kn_tensor *out)
{
    out[0] = r.values;
    out[1] = r.indices;
    return 2;
}

RUN(argsort)
{
    UNUSED;
    out[0] = kn_argsort(in[0], axis_of(a), kiln_int(a, "descending", 0) != 0);
    return 1;
}

RUN(argtopk)
{
    UNUSED;
    kn_topk_args args = {.smallest = kiln_int(a, "smallest", 0) != 0,
                         .unsorted = kiln_int(a, "unsorted", 0) != 0};
    out[0] = kn_argtopk(in[0], kiln_int(a, "k", 1), axis_of(a), &args);
    return 1;
}

RUN(median) { return UNUSED, indexed(kn_median(in[0], axis_of(a), keeps(a)), out); }
RUN(mode) { return UNUSED, indexed(kn_mode(in[0], axis_of(a), keeps(a)), out); }

RUN(quantile)
{
    UNUSED;
    out[0] = kn_quantile(in[0], kiln_real(a, "q", 0.5), axis_of(a), keeps(a));
    return 1;
}

RUN(bucketize)
{
    UNUSED;
    out[0] = kn_bucketize(in[0], in[1], kiln_int(a, "right", 0) != 0);
    return 1;
}

RUN(unique)
{
    UNUSED, (void)a;
    kn_unique_result r = kn_unique(in[0]);
    out[0] = r.values;
    out[1] = r.inverse;
    out[2] = r.counts;
    return 3;
}

RUN(bincount_counted)
{
    (void)room;
    out[0] = kn_bincount(in[0], n > 1 ? in[1] : KN_NONE, kiln_int(a, "min_length", 0));
    return 1;
}

RUN(histogram)
{
    (void)room;
    kn_histogram_args args = {.low = kiln_real(a, "low", 0),
                              .high = kiln_real(a, "high", 0),
                              .weights = n > 1 ? in[1] : KN_NONE,
                              .density = kiln_int(a, "density", 0) != 0};
    kn_histogram_result r = kn_histogram(in[0], kiln_int(a, "bins", 1), &args);
    out[0] = r.counts;
    out[1] = r.edges;
    return 2;
}

const kiln_adapter kiln_adapters_sort[] = {
    {"argsort", run_argsort},     {"argtopk", run_argtopk},
    {"median", run_median},       {"mode", run_mode},
    {"quantile", run_quantile},   {"bucketize", run_bucketize},
    {"unique", run_unique},       {"bincount_counted", run_bincount_counted},
    {"histogram", run_histogram}, {NULL, NULL}};
