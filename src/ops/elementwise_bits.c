/* Bitwise ops on integers, which on bool are the logical ones, and common divisors and multiples. */
#include "ops/movement_rows.h"
#include "ops/scalar_row.h"

#define BITS(name, body, text)                                                                               \
    ELEMENTWISE(name, 2, KNI_RULE_PROMOTE, KNI_INTS | KNI_BOOLS, body, .doc = text,                          \
                .flags = KNI_FLAG_COMMUTES | KNI_FLAG_ALIAS | KNI_FLAG_NO_GRADIENT)
#define SHIFT(name, body, text)                                                                              \
    ELEMENTWISE(name, 2, KNI_RULE_PROMOTE, KNI_INTS, body, .doc = text,                                      \
                .flags = KNI_FLAG_ALIAS | KNI_FLAG_NO_GRADIENT)

BITS(bitwise_and, "y = a & b", "a & b")
BITS(bitwise_or, "y = a | b", "a | b")
BITS(bitwise_xor, "y = a ^ b", "a ^ b")
ELEMENTWISE(bitwise_not, 1, KNI_RULE_PROMOTE, KNI_INTS, "y = ~x", .doc = "~x",
            .flags = KNI_FLAG_ALIAS | KNI_FLAG_NO_GRADIENT)
SHIFT(bitwise_left_shift, "y = a << b", "a << b; 0 when b is negative or passes the width")
SHIFT(bitwise_right_shift, "y = a >> b",
      "a >> b, keeping the sign; all sign when b is negative or passes the width")

#define DIVISORS(name, body, text)                                                                           \
    ELEMENTWISE(name, 2, KNI_RULE_PROMOTE, KNI_INTS, body, .doc = text,                                      \
                .flags = KNI_FLAG_COMMUTES | KNI_FLAG_ALIAS | KNI_FLAG_NO_GRADIENT)
DIVISORS(gcd, "y = gcd(a, b)", "the greatest common divisor of |a| and |b|; gcd(0, 0) is 0")
DIVISORS(lcm, "y = abs(a / gcd(a, b)) * abs(b)",
         "the least common multiple of |a| and |b|; 0 where either is 0")

kn_tensor kn_gcd(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_gcd, a, b); }
kn_tensor kn_lcm(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_lcm, a, b); }

kn_tensor kn_bitwise_and(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_bitwise_and, a, b); }
kn_tensor kn_bitwise_or(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_bitwise_or, a, b); }
kn_tensor kn_bitwise_xor(kn_tensor a, kn_tensor b) { return kni_binary(&kni_op_bitwise_xor, a, b); }
kn_tensor kn_bitwise_left_shift(kn_tensor a, kn_tensor b)
{
    return kni_binary(&kni_op_bitwise_left_shift, a, b);
}
kn_tensor kn_bitwise_right_shift(kn_tensor a, kn_tensor b)
{
    return kni_binary(&kni_op_bitwise_right_shift, a, b);
}

kn_tensor kn_bitwise_not(kn_tensor x)
{
    const kni_tensor *t = kni_peek(x);
    return kni_apply_as("bitwise_not",
                        t && kni_is_bool(t->type.dtype) ? &kni_op_logical_not : &kni_op_bitwise_not, &x, 1,
                        NULL);
}

static kn_tensor with_integer(const char *name, const kn_op *row, kn_tensor x, int64_t value)
{
    kn_tensor in[2] = {x, kni_integer(x, value)};
    return kni_apply_as(name, row, in, 2, NULL);
}

kn_tensor kn_bitwise_and_scalar(kn_tensor x, int64_t value)
{
    return with_integer("bitwise_and_scalar", &kni_op_bitwise_and, x, value);
}
kn_tensor kn_bitwise_or_scalar(kn_tensor x, int64_t value)
{
    return with_integer("bitwise_or_scalar", &kni_op_bitwise_or, x, value);
}
kn_tensor kn_bitwise_xor_scalar(kn_tensor x, int64_t value)
{
    return with_integer("bitwise_xor_scalar", &kni_op_bitwise_xor, x, value);
}

/* A count that is too large or negative stays so in the 32 bits that small integers are computed in. */
static int64_t shift_count(int64_t value) { return value < 0 ? -1 : value > 64 ? 64 : value; }

kn_tensor kn_bitwise_left_shift_scalar(kn_tensor x, int64_t value)
{
    return with_integer("bitwise_left_shift_scalar", &kni_op_bitwise_left_shift, x, shift_count(value));
}
kn_tensor kn_bitwise_right_shift_scalar(kn_tensor x, int64_t value)
{
    return with_integer("bitwise_right_shift_scalar", &kni_op_bitwise_right_shift, x, shift_count(value));
}
