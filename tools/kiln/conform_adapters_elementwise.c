/* Elementwise functions whose signature differs from their row: numbers, borders, choices by dtype. */
#include "conform_adapter.h"

#define WITH_NUMBER(name)                                                                                    \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)    \
    {                                                                                                        \
        (void)n, (void)room;                                                                                 \
        out[0] = kn_##name(in[0], kiln_real(a, "value", 0));                                                 \
        return 1;                                                                                            \
    }
#define WITH_INTEGER(name)                                                                                   \
    static int run_##name(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)    \
    {                                                                                                        \
        (void)n, (void)room;                                                                                 \
        out[0] = kn_##name(in[0], kiln_int(a, "value", 0));                                                  \
        return 1;                                                                                            \
    }
#define NUMBER_FORMS(F)                                                                                      \
    F(add_scalar)                                                                                            \
    F(sub_scalar)                                                                                            \
    F(rsub_scalar)                                                                                           \
    F(mul_scalar)                                                                                            \
    F(div_scalar)                                                                                            \
    F(rdiv_scalar)                                                                                           \
    F(floor_div_scalar)                                                                                      \
    F(remainder_scalar)                                                                                      \
    F(fmod_scalar)                                                                                           \
    F(pow_scalar)                                                                                            \
    F(maximum_scalar)                                                                                        \
    F(minimum_scalar)                                                                                        \
    F(equal_scalar)                                                                                          \
    F(not_equal_scalar)                                                                                      \
    F(less_scalar)                                                                                           \
    F(less_equal_scalar)                                                                                     \
    F(greater_scalar)                                                                                        \
    F(greater_equal_scalar)
#define INTEGER_FORMS(F)                                                                                     \
    F(bitwise_and_scalar)                                                                                    \
    F(bitwise_or_scalar)                                                                                     \
    F(bitwise_xor_scalar)                                                                                    \
    F(bitwise_left_shift_scalar)                                                                             \
    F(bitwise_right_shift_scalar)
NUMBER_FORMS(WITH_NUMBER)
INTEGER_FORMS(WITH_INTEGER)

static int run_clamp_scalar(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)room;
    out[0] = kn_clamp(in[0], kiln_real(a, "low", 0), kiln_real(a, "high", 0));
    return 1;
}

static int run_bitwise_not(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)a, (void)room;
    out[0] = kn_bitwise_not(in[0]);
    return 1;
}

static int run_signbit(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)a, (void)room;
    out[0] = kn_signbit(in[0]);
    return 1;
}

static int run_is_close(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)room;
    bool equal_nan = kiln_int(a, "equal_nan", 0) != 0;
    out[0] = kn_is_close(in[0], in[1], kiln_real(a, "rtol", 0), kiln_real(a, "atol", 0), equal_nan);
    return 1;
}

#define ENTRY(name) {#name, run_##name},
const kiln_adapter kiln_adapters_elementwise[] = {NUMBER_FORMS(ENTRY) INTEGER_FORMS(ENTRY) ENTRY(
    clamp_scalar) ENTRY(bitwise_not) ENTRY(signbit) ENTRY(is_close){NULL, NULL}};
