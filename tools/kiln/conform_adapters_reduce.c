/* What `kiln conform` calls of the reductions and statistics that are no rows. */
#include "conform_adapter.h"

typedef kn_tensor (*reduction)(kn_tensor x, kn_ints axes, bool keep);
typedef kn_indexed (*position)(kn_tensor x, int32_t axis, bool keep);

static int reduce(reduction f, const kn_tensor *in, const kiln_attributes *a, kn_tensor *out)
{
    out[0] = f(in[0], kiln_ints(a, "axes"), kiln_int(a, "keep", 0) != 0);
    return 1;
}

static int indexed(position f, const kn_tensor *in, const kiln_attributes *a, kn_tensor *out)
{
    kn_indexed r = f(in[0], (int32_t)kiln_int(a, "axis", 0), kiln_int(a, "keep", 0) != 0);
    out[0] = r.values;
    out[1] = r.indices;
    return 2;
}

#define RUN(name)                                                                                            \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
#define UNUSED (void)n, (void)room

RUN(nansum) { return UNUSED, reduce(kn_nansum, in, a, out); }
RUN(nanmean) { return UNUSED, reduce(kn_nanmean, in, a, out); }
RUN(max_abs) { return UNUSED, reduce(kn_max_abs, in, a, out); }
RUN(count_nonzero) { return UNUSED, reduce(kn_count_nonzero, in, a, out); }
RUN(max_with_indices) { return UNUSED, indexed(kn_max_with_indices, in, a, out); }
RUN(min_with_indices) { return UNUSED, indexed(kn_min_with_indices, in, a, out); }

RUN(sum_to)
{
    UNUSED;
    out[0] = kn_sum_to(in[0], kiln_ints(a, "shape"));
    return 1;
}

RUN(aminmax)
{
    UNUSED;
    kn_minmax r = kn_aminmax(in[0], kiln_ints(a, "axes"), kiln_int(a, "keep", 0) != 0);
    out[0] = r.min;
    out[1] = r.max;
    return 2;
}

RUN(contains_nan)
{
    UNUSED, (void)a;
    out[0] = kn_contains_nan(in[0]);
    return 1;
}

static kn_var_args var_args(const kiln_attributes *a)
{
    return (kn_var_args){.biased = kiln_int(a, "biased", 0) != 0,
                         .correction = kiln_real(a, "correction", 0)};
}

RUN(var)
{
    UNUSED;
    kn_var_args args = var_args(a);
    out[0] = kn_var(in[0], kiln_ints(a, "axes"), kiln_int(a, "keep", 0) != 0, &args);
    return 1;
}

RUN(std)
{
    UNUSED;
    kn_var_args args = var_args(a);
    out[0] = kn_std(in[0], kiln_ints(a, "axes"), kiln_int(a, "keep", 0) != 0, &args);
    return 1;
}

RUN(cov)
{
    UNUSED;
    kn_var_args args = var_args(a);
    out[0] = kn_cov(in[0], &args);
    return 1;
}

RUN(corrcoef)
{
    UNUSED, (void)a;
    out[0] = kn_corrcoef(in[0]);
    return 1;
}

const kiln_adapter kiln_adapters_reduce[] = {{"nansum", run_nansum},
                                             {"nanmean", run_nanmean},
                                             {"max_abs", run_max_abs},
                                             {"count_nonzero", run_count_nonzero},
                                             {"max_with_indices", run_max_with_indices},
                                             {"min_with_indices", run_min_with_indices},
                                             {"sum_to", run_sum_to},
                                             {"aminmax", run_aminmax},
                                             {"contains_nan", run_contains_nan},
                                             {"var", run_var},
                                             {"std", run_std},
                                             {"cov", run_cov},
                                             {"corrcoef", run_corrcoef},
                                             {NULL, NULL}};
