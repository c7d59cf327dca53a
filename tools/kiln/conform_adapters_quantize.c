/* The functions of quantization as conformance calls them. */
#include "conform_adapter.h"
#include <kn/quantize.h>

static kn_quantize_args args_of(const kiln_attributes *a)
{
    return (kn_quantize_args){.dtype = (kn_dtype)kiln_int(a, "dtype", 0),
                              .axis = (int32_t)kiln_int(a, "axis", 0),
                              .block = kiln_int(a, "block", 0),
                              .overflows = kiln_int(a, "overflows", 0) != 0};
}

static int run_quantized(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    const kn_quantize_args args = args_of(a);
    (void)n;
    (void)room;
    out[0] = kn_quantize(in[0], in[1], in[2], &args);
    return 1;
}

static int run_dequantized(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    const kn_quantize_args args = args_of(a);
    (void)n;
    (void)room;
    out[0] = kn_dequantize(in[0], in[1], in[2], &args);
    return 1;
}

/* To the stored dtype `dtype` and back to the dtype of x, which the other dtypes of a case are. */
static int run_through(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    kn_quantize_args args = args_of(a);
    (void)n;
    (void)room;
    kn_tensor y = kn_quantize(in[0], in[1], KN_NONE, &args);
    out[0] = kn_dequantize(y, in[1], KN_NONE, &args);
    return 1;
}

const kiln_adapter kiln_adapters_quantize[] = {{"quantized", run_quantized},
                                               {"dequantized", run_dequantized},
                                               {"quantized_and_back", run_through},
                                               {NULL, NULL}};
