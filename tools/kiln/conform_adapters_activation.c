/* Activation functions that are no rows, or that reshape an operand first. */
#include "conform_adapter.h"

static int run_prelu(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)a, (void)room;
    out[0] = kn_prelu(in[0], in[1]);
    return 1;
}

static int run_glu(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)room;
    out[0] = kn_glu(in[0], (int32_t)kiln_int(a, "axis", -1));
    return 1;
}

static int run_thresholded_relu(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out,
                                int room)
{
    (void)n, (void)room;
    out[0] = kn_thresholded_relu(in[0], kiln_real(a, "alpha", 1));
    return 1;
}

/* Whether a row gives numbers, without saying which: where they are too small for a device to tell them from 0. */
static int run_is_number(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    kn_tensor y;
    (void)room;
    (void)kn_call(kiln_text(a, "row", ""), in, n, NULL, &y, 1);
    out[0] = kn_is_finite(y);
    return 1;
}

const kiln_adapter kiln_adapters_activation[] = {{"is_number", run_is_number},
                                                 {"prelu", run_prelu},
                                                 {"glu", run_glu},
                                                 {"thresholded_relu", run_thresholded_relu},
                                                 {NULL, NULL}};
