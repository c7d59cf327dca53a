/* Conformance adapters of what images are cut, resampled and searched with. */
#include "conform_adapter.h"
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

#define SIMPLE(name)                                                                                         \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)    \
    {                                                                                                        \
        (void)n, (void)room;                                                                                 \
        out[0] = name(in, a);                                                                                \
        return 1;                                                                                            \
    }
SIMPLE(resample_to)

#define ENTRY(name)                                                                                          \
    {                                                                                                        \
#name, run_##name                                                                                    \
    }
const kiln_adapter kiln_adapters_image[] = {ENTRY(resample_to), {NULL, NULL}};
