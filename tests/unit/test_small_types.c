/* Types that are only stored: every code has the value that its format says, and every value gets the nearest code. */
#include "core/small_types.h"
#include "support/check.h"
#include <math.h>
#include <string.h>

static bool same_value(double a, double b) { return a != a ? b != b : a == b && !signbit(a) == !signbit(b); }

/* Some values of each format, from their definitions. */
static void known_values(void)
{
    static const struct {
        int dtype;
        unsigned code;
        double value;
    } known[] = {{KN_F8_E4M3, 0x7E, 448},
                 {KN_F8_E4M3, 0x7F, NAN},
                 {KN_F8_E4M3, 0x01, 0x1p-9},
                 {KN_F8_E4M3, 0x80, -0.0},
                 {KN_F8_E4M3, 0x38, 1},
                 {KN_F8_E4M3, 0xFE, -448},
                 {KN_F8_E5M2, 0x7B, 57344},
                 {KN_F8_E5M2, 0x7C, INFINITY},
                 {KN_F8_E5M2, 0xFC, -INFINITY},
                 {KN_F8_E5M2, 0x7D, NAN},
                 {KN_F8_E5M2, 0x01, 0x1p-16},
                 {KN_F8_E4M3_FNUZ, 0x7F, 240},
                 {KN_F8_E4M3_FNUZ, 0x80, NAN},
                 {KN_F8_E4M3_FNUZ, 0x01, 0x1p-10},
                 {KN_F8_E5M2_FNUZ, 0x7F, 57344},
                 {KN_F8_E5M2_FNUZ, 0x01, 0x1p-17},
                 {KN_F8_E5M2_FNUZ, 0x80, NAN},
                 {KN_F4_E2M1, 7, 6},
                 {KN_F4_E2M1, 1, 0.5},
                 {KN_F4_E2M1, 15, -6},
                 {KN_F4_E2M1, 8, -0.0},
                 {KN_E8M0, 127, 1},
                 {KN_E8M0, 0, 0x1p-127},
                 {KN_E8M0, 254, 0x1p127},
                 {KN_E8M0, 255, NAN},
                 {KN_I4, 7, 7},
                 {KN_I4, 8, -8},
                 {KN_U4, 15, 15},
                 {KN_I2, 3, -1},
                 {KN_U2, 3, 3}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!CHECK(same_value(kni_small_value(known[i].dtype, known[i].code), known[i].value)))
            printf("  %s 0x%02x\n", kn_dtype_name((kn_dtype)known[i].dtype), known[i].code);
}

static void codes_come_back(int dtype)
{
    for (unsigned code = 0; code < kni_small_count(dtype); code++) {
        double value = kni_small_value(dtype, code);
        for (int saturate = 0; saturate < 2; saturate++) {
            unsigned back = kni_small_code(dtype, value, saturate);
            bool infinite = isinf(value) && saturate; /* becomes the largest */
            CHECK(value != value || infinite ? same_value(kni_small_value(dtype, back), value) || infinite
                                             : back == code);
        }
    }
}

/* The nearest code by trying all, of two as near the even one. */
static unsigned nearest(int dtype, double value)
{
    bool two_zeros = signbit(kni_small_value(dtype, kni_small_count(dtype) / 2)) != 0;
    unsigned best = 0;
    double gap = INFINITY;
    for (unsigned code = 0; code < kni_small_count(dtype); code++) {
        double v = kni_small_value(dtype, code);
        if (!isfinite(v) || (two_zeros && v == 0 && !signbit(v) != !signbit(value))) continue;
        double d = fabs(v - value);
        if (d < gap || (d == gap && !(code & 1))) best = code, gap = d;
    }
    return best;
}

static void nearest_codes(int dtype)
{
    double largest = 0;
    for (unsigned code = 0; code < kni_small_count(dtype); code++)
        if (isfinite(kni_small_value(dtype, code))) largest = fmax(largest, kni_small_value(dtype, code));
    for (uint32_t high = 0; high < 0x10000; high++) { /* every bf16 */
        uint32_t bits = high << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        if (value != value) continue;
        double most = value > largest ? largest : value < -largest ? -largest : value;
        unsigned want = nearest(dtype, most), got = kni_small_code(dtype, value, true);
        if (!CHECK(got == want))
            printf("  %s of %g: 0x%02x, not 0x%02x\n", kn_dtype_name((kn_dtype)dtype), (double)value, got,
                   want);
    }
}

/* What lies above the largest: halfway to the next step that would be there it is still the largest. */
static void overflow(void)
{
    CHECK(kni_small_code(KN_F8_E4M3, 464, false) == 0x7E && kni_small_code(KN_F8_E4M3, 464.1, false) == 0x7F);
    CHECK(kni_small_code(KN_F8_E4M3, -1e300, false) == 0xFF &&
          kni_small_code(KN_F8_E4M3, -1e300, true) == 0xFE);
    CHECK(kni_small_code(KN_F8_E5M2, 61439, false) == 0x7B &&
          kni_small_code(KN_F8_E5M2, 61440, false) == 0x7C);
    CHECK(kni_small_code(KN_F8_E5M2, INFINITY, false) == 0x7C &&
          kni_small_code(KN_F8_E5M2, INFINITY, true) == 0x7B);
    CHECK(kni_small_code(KN_F8_E4M3_FNUZ, 248, false) == 0x80 &&
          kni_small_code(KN_F8_E4M3_FNUZ, 248, true) == 0x7F);
    CHECK(kni_small_code(KN_F4_E2M1, INFINITY, false) == 7 && kni_small_code(KN_F4_E2M1, -100, false) == 15);
    CHECK(kni_small_code(KN_F4_E2M1, NAN, false) == 8);
    CHECK(kni_small_code(KN_E8M0, 3e38, false) == 255 && kni_small_code(KN_E8M0, 3e38, true) == 254);
    CHECK(kni_small_code(KN_E8M0, -1, false) == 255 && kni_small_code(KN_E8M0, 0, false) == 0);
    CHECK(kni_small_code(KN_E8M0, 1.5, false) == 128 && kni_small_code(KN_E8M0, 3, false) == 129);
    CHECK(kni_small_code(KN_I4, 8, false) == 8 && kni_small_code(KN_I4, 8, true) == 7);
    CHECK(kni_small_code(KN_I4, -9.5, false) == 7 && kni_small_code(KN_I4, -9.5, true) == 8);
    CHECK(kni_small_code(KN_U4, -1, true) == 0 && kni_small_code(KN_U2, NAN, true) == 0);
}

static void packing(void)
{
    for (int bits = 2; bits <= 8; bits *= 2)
        for (int n = 0; n < 20; n++) {
            uint8_t codes[20], packed[24], back[20];
            for (int i = 0; i < n; i++) codes[i] = (uint8_t)((unsigned)(i * 7 + 3) & ((1u << bits) - 1));
            memset(packed, 0xAA, sizeof packed);
            kni_pack(packed, codes, n, bits);
            int bytes = (n * bits + 7) / 8;
            CHECK(packed[bytes] == 0xAA);
            kni_unpack(back, packed, n, bits);
            CHECK(n == 0 || !memcmp(codes, back, (size_t)n));
            memcpy(back, packed, (size_t)bytes > sizeof back ? sizeof back : (size_t)bytes);
            kni_unpack(back, back, n, bits); /* in place */
            CHECK(n == 0 || !memcmp(codes, back, (size_t)n));
        }
    uint8_t two[2] = {1, 2}, byte;
    kni_pack(&byte, two, 2, 4);
    CHECK(byte == 0x21);
}

int main(void)
{
    known_values();
    for (int dtype = KN_F8_E4M3; dtype <= KN_U2; dtype++) {
        codes_come_back(dtype);
        if (kni_dtypes[dtype].kind == KNI_KIND_FLOAT && dtype != KN_E8M0) nearest_codes(dtype);
    }
    overflow();
    packing();
    return check_report();
}
