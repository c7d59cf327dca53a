/* Numbers beside integer tensors, ops x dtypes x numbers: one that is stored must fit the dtype, comparisons and extremes are
   exact, arithmetic wraps, and all devices say the same. */
#include "../support/check.h"
#include <math.h>

enum { LENGTH = 6, ROOM = 2 * LENGTH };

typedef kn_tensor (*op_fn)(kn_tensor x, double value);

/* ---- ops that store the number */

static kn_tensor full(kn_tensor x, double v) { return kn_full(KN_SHAPE(2), v, kn_dtype_of(x)); }
static kn_tensor pad(kn_tensor x, double v)
{
    return kn_pad(x, &(kn_pad_args){KN_INTS(1), KN_INTS(0), KN_PAD_CONSTANT, v});
}
static kn_tensor slice_fill(kn_tensor x, double v) { return kn_slice_fill(x, &(kn_range){0, 1, 1}, 1, v); }
static kn_tensor mask_fill(kn_tensor x, double v)
{
    return kn_mask_fill(x, kn_ones(KN_SHAPE(LENGTH), KN_BOOL), v);
}
static kn_tensor all_below(kn_tensor x, double v) { return kn_threshold(x, 1e300, v); }

/* ---- ops that compare or compute with it */

static kn_tensor clamp_up(kn_tensor x, double v) { return kn_clamp_min(x, v); }
static kn_tensor clamp_down(kn_tensor x, double v) { return kn_clamp_max(x, v); }
static kn_tensor hardtanh(kn_tensor x, double v) { return kn_hardtanh(x, -fabs(v), fabs(v)); }
static kn_tensor threshold(kn_tensor x, double v) { return kn_threshold(x, v, 0); }

static const struct op {
    const char *name;
    op_fn run;
    bool stores;
} ops[] = {{"full", full, true},
           {"full_like", kn_full_like, true},
           {"pad", pad, true},
           {"slice_fill", slice_fill, true},
           {"mask_fill", mask_fill, true},
           {"threshold's value", all_below, true},
           {"add", kn_add_scalar, false},
           {"sub", kn_sub_scalar, false},
           {"rsub", kn_rsub_scalar, false},
           {"mul", kn_mul_scalar, false},
           {"floor_div", kn_floor_div_scalar, false},
           {"remainder", kn_remainder_scalar, false},
           {"fmod", kn_fmod_scalar, false},
           {"pow", kn_pow_scalar, false},
           {"rpow", kn_rpow_scalar, false},
           {"maximum", kn_maximum_scalar, false},
           {"minimum", kn_minimum_scalar, false},
           {"clamp_min", clamp_up, false},
           {"clamp_max", clamp_down, false},
           {"hardtanh", hardtanh, false},
           {"hard_shrink", kn_hard_shrink, false},
           {"threshold", threshold, false},
           {"equal", kn_equal_scalar, false},
           {"not_equal", kn_not_equal_scalar, false},
           {"less", kn_less_scalar, false},
           {"less_equal", kn_less_equal_scalar, false},
           {"greater", kn_greater_scalar, false},
           {"greater_equal", kn_greater_equal_scalar, false}};
enum { OPS = sizeof ops / sizeof *ops };

static const double numbers[] = {
    0,      -1,     3,       2.5,    -0.5,   127,        128,     255,      256,       300,         -128,
    -129,   32768,  65536,   0x1p31, 0x1p32, 0x1p32 + 1, -0x1p31, -0x1p32,  0x1p40,    -0x1p31 - 1, 0x1p53,
    0x1p62, 0x1p63, -0x1p63, 1e19,   0x1p64, 1e30,       -1e30,   INFINITY, -INFINITY, NAN};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static const struct kind {
    kn_dtype dtype;
    double least, end;
    bool few; /* of devices that compile slowly */
} kinds[] = {{KN_U8, 0, 256, true},      {KN_I8, -128, 128, false},
             {KN_U16, 0, 65536, false},  {KN_I16, -32768, 32768, false},
             {KN_U32, 0, 0x1p32, false}, {KN_I32, -0x1p31, 0x1p31, false},
             {KN_U64, 0, 0x1p64, false}, {KN_I64, -0x1p63, 0x1p63, false}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* What an op gives: its dtype and bits, or that it fails. */
typedef struct {
    bool failed;
    kn_dtype dtype;
    int64_t n;
    int64_t whole[ROOM];
    double real[ROOM];
} answer;

/* Small numbers and both ends of the dtype. */
static kn_tensor elements(const struct kind *k)
{
    const int64_t least = k->least == -0x1p63 ? INT64_MIN : (int64_t)k->least;
    const int64_t most = k->end == 0x1p64 ? -1 : k->end == 0x1p63 ? INT64_MAX : (int64_t)(k->end - 1);
    const int64_t values[LENGTH] = {0, 1, 3, 100, least, most};
    return kn_cast(kn_from(values, KN_I64, KN_SHAPE(LENGTH)), k->dtype);
}

static answer ask(kn_device device, const struct op *op, const struct kind *k, double number)
{
    answer a = {.n = 0};
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor y = kn_keep(op->run(elements(k), number));
    a.failed = kn_sync(NULL) != KN_OK || !kn_ok(y);
    if (!a.failed) {
        a.dtype = kn_dtype_of(y);
        a.n = kn_count(y);
        bool real = kn_dtype_is_float(a.dtype);
        kn_status s = real ? kn_read_as(y, KN_F64, a.real, (size_t)a.n * 8)
                           : kn_read_as(y, KN_I64, a.whole, (size_t)a.n * 8);
        a.failed = s != KN_OK;
    }
    kn_scope_end(scope, KN_NONE);
    return a;
}

static bool same(const answer *a, const answer *b)
{
    if (a->failed || b->failed) return a->failed == b->failed;
    if (a->dtype != b->dtype || a->n != b->n) return false;
    for (int64_t i = 0; i < a->n; i++) {
        if (a->whole[i] != b->whole[i]) return false;
        if (a->real[i] != b->real[i] && !(isnan(a->real[i]) && isnan(b->real[i])) &&
            fabs(a->real[i] - b->real[i]) > 1e-5 * fabs(a->real[i]))
            return false;
    }
    return true;
}

/* Stored numbers are held, cut toward zero (threshold takes no fractions), or refused with both named. */
static bool stores_or_refuses(kn_device ref, const struct op *op, const struct kind *k, double number)
{
    const answer a = ask(ref, op, k, number);
    const double whole = trunc(number);
    const bool held = whole >= k->least && whole < k->end && (whole == number || op->run != all_below);
    if (!held) return a.failed && strstr(kn_last_error(), "cannot hold the number") != NULL;
    const int64_t want = whole >= 0x1p63 ? (int64_t)(uint64_t)whole : (int64_t)whole;
    return !a.failed && a.dtype == k->dtype && a.whole[0] == want;
}

static void compare_devices(const char *name, kn_device device, kn_device ref, bool few)
{
    for (int k = 0; k < KINDS; k++) {
        if (few && !kinds[k].few) continue;
        for (int o = 0; o < OPS; o++) {
            bool good = true;
            for (int n = 0; n < NUMBERS; n++) {
                const answer a = ask(ref, &ops[o], &kinds[k], numbers[n]),
                             b = ask(device, &ops[o], &kinds[k], numbers[n]);
                if (same(&a, &b)) continue;
                printf("%s, %s of %s with %g: failed %d, not %d;", name, ops[o].name,
                       kn_dtype_name(kinds[k].dtype), numbers[n], b.failed, a.failed);
                for (int i = 0; i < a.n && i < LENGTH; i++)
                    printf(" %lld %g, not %lld %g;", (long long)b.whole[i], b.real[i], (long long)a.whole[i],
                           a.real[i]);
                printf("\n");
                good = false;
            }
            CHECK(good);
        }
    }
}

/* f32 has no digits left for these. */
static void check_digits(void)
{
    const int64_t x[3] = {-16777217, 16777217, (INT64_C(1) << 40) + 1};
    int64_t y[3];
    kn_scope scope = kn_scope_begin();
    kn_tensor wide = kn_keep(kn_from(x, KN_I64, KN_SHAPE(3)));
    kn_tensor bounded = kn_keep(kn_hardtanh(wide, -16777217.5, 0x1p40 + 0.5));
    CHECK(kn_dtype_of(bounded) == KN_I64 && kn_read(bounded, y, sizeof y) == KN_OK);
    CHECK(y[0] == -16777217 && y[1] == 16777217 && y[2] == INT64_C(1) << 40);
    CHECK(kn_read(kn_threshold(wide, 16777216.5, -16777217), y, sizeof y) == KN_OK);
    CHECK(y[0] == -16777217 && y[1] == 16777217 && y[2] == x[2]);
    CHECK(kn_read(kn_hard_shrink(wide, 16777216.5), y, sizeof y) == KN_OK && y[0] == x[0] && y[1] == x[1]);
    CHECK(kn_read(kn_thresholded_relu(wide, 16777216.5), y, sizeof y) == KN_OK && y[0] == 0 && y[1] == x[1]);
    CHECK_POISON(kn_hardtanh(wide, 0.25, 0.75), "no integer lies between the bounds 0.25 and 0.75");
    kn_scope_end(scope, KN_NONE);
}

/* einsum follows kn_sum where one operand is summed alone, and kn_dot and kn_matmul for products. */
static void check_einsum(void)
{
    const uint8_t x[2] = {200, 100};
    kn_scope scope = kn_scope_begin();
    kn_tensor in[2] = {kn_keep(kn_from(x, KN_U8, KN_SHAPE(2)))};
    in[1] = in[0];
    kn_tensor same[3] = {kn_einsum("i,i->", in, 2), kn_dot(in[0], in[0]), kn_matmul(in[0], in[0])};
    for (int i = 0; i < 3; i++) {
        same[i] = kn_keep(same[i]);
        CHECK(kn_dtype_of(same[i]) == KN_U8 && kn_item_int(same[i]) == 50000 % 256);
    }
    kn_tensor sum = kn_keep(kn_einsum("i->", in, 1));
    CHECK(kn_dtype_of(sum) == KN_I64 && kn_item_int(sum) == 300);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    kn_device ref = kn_device_open("ref");
    for (int o = 0; o < OPS; o++)
        for (int k = 0; k < KINDS && ops[o].stores; k++)
            for (int n = 0; n < NUMBERS; n++)
                if (!CHECK(stores_or_refuses(ref, &ops[o], &kinds[k], numbers[n])))
                    printf("  %s of %s with %g\n", ops[o].name, kn_dtype_name(kinds[k].dtype), numbers[n]);
    compare_devices("cpu", kn_device_open("cpu"), ref, false);
    compare_devices("fusion(cpu)", kn_device_open("fusion(cpu)"), ref, false);
    const char *const all[] = {"ref", "cpu", "fusion(cpu)"};
    for (int i = 0; i < 3; i++) {
        kn_device_use(kn_device_open(all[i]));
        check_digits();
        check_einsum();
    }
    kn_device gpu = kn_device_open("opencl:0");
    if (gpu)
        compare_devices("opencl:0", gpu, ref, true);
    else
        check_skip("no OpenCL device");
    return check_report();
}
