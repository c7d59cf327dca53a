/* Gradients of elementwise rows with a bool or an integer beside floats: they are those of the same operand as a float,
   which is what the row computes with. */
#include "support/check.h"
#include "support/operands.h"
#include <kn/op_info.h>
#include <string.h>

enum { ELEMENTS = 4, MOST_OPERANDS = 3 };

/* The second of the i32 has no square in 32 bits. */
static const uint8_t truths[ELEMENTS] = {1, 0, 1, 1};
static const int32_t numbers[ELEMENTS] = {2, 70000, -3, 0};
static const float floats[MOST_OPERANDS][ELEMENTS] = {
    {0.25f, 0.75f, 0.5f, 0.625f}, {0.5f, 0.25f, 0.75f, 0.375f}, {0.625f, 0.375f, 0.25f, 0.875f}};

/* Its first operand is a bool, to which no gradient flows. */
static bool is_where(const kn_op_info *row) { return !strcmp(row->name, "where"); }

static kn_tensor other_operand(kn_dtype dtype)
{
    return kn_from(dtype == KN_BOOL ? (const void *)truths : numbers, dtype, KN_SHAPE(ELEMENTS));
}

static kn_tensor call(const kn_op_info *row, const kn_tensor *in)
{
    kn_attribute_value attributes[5] = {{0}};
    kn_tensor y;
    for (int i = 0; i < row->n_attributes && i < 4; i++) {
        kn_attribute_info a;
        if (!kn_op_attribute(row->number, i, &a)) continue;
        attributes[i].name = a.name;
        attributes[i].real = 0.5 * (i + 1);
        attributes[i].integer = 1;
    }
    (void)!kn_call(row->name, in, row->max_in, attributes, &y, 1);
    return kn_keep(y);
}

/* The gradient of operand `wrt` where operand `other` is of another dtype, or was and is cast to f32 before. False where
   the row takes no such operand; *good tells whether its gradient is there. */
static bool gradient_of(const kn_op_info *row, int wrt, int other, kn_dtype dtype, bool cast, float *gradient,
                        bool *good)
{
    kn_scope s = kn_scope_begin();
    kn_tensor in[MOST_OPERANDS] = {{0}}, g = KN_NONE;
    for (int i = 0; i < row->max_in; i++)
        in[i] = kn_keep(i == other ? other_operand(dtype) : kn_from(floats[i], KN_F32, KN_SHAPE(ELEMENTS)));
    if (is_where(row)) in[0] = kn_keep(other_operand(other ? KN_BOOL : dtype));
    if (cast) in[other] = kn_keep(kn_cast(in[other], KN_F32));
    in[wrt] = kn_require_grad(in[wrt]);
    kn_tensor y = call(row, in);
    bool takes = kn_ok(y);
    kn_tensor total = takes ? kn_keep(kn_sum(y, KN_AXES_ALL, false)) : KN_NONE;
    *good = takes && kn_grad(&total, NULL, 1, &in[wrt], 1, 0, &g) == KN_OK && kn_dtype_of(g) == KN_F32 &&
            kn_read(g, gradient, ELEMENTS * sizeof *gradient) == KN_OK;
    if (takes && !*good)
        printf("%s by operand %d, operand %d %s: %s\n", row->name, wrt, other, kn_dtype_name(dtype),
               kn_last_error());
    kn_scope_end(s, KN_NONE);
    return takes;
}

/* What takes no such operand at all: a bool has no difference, and a condition is a bool and nothing else. */
static bool refuses(const kn_op_info *row, int other, kn_dtype dtype)
{
    return (!strcmp(row->name, "sub") && dtype == KN_BOOL) ||
           (is_where(row) && other == 0 && dtype != KN_BOOL);
}

static void check_pair(const kn_op_info *row, int wrt, int other, kn_dtype dtype)
{
    float mixed[ELEMENTS] = {0}, plain[ELEMENTS] = {0};
    bool good, plain_good, condition = is_where(row) && other == 0;
    bool takes = gradient_of(row, wrt, other, dtype, false, mixed, &good);
    if (!CHECK(takes != refuses(row, other, dtype)))
        printf("%s: operand %d %s\n", row->name, other, kn_dtype_name(dtype));
    if (!takes) return;
    CHECK(good);
    if (condition) return; /* as a float it is refused */
    CHECK(gradient_of(row, wrt, other, dtype, true, plain, &plain_good) && plain_good);
    if (!CHECK(!memcmp(mixed, plain, sizeof mixed)))
        for (int i = 0; i < ELEMENTS; i++)
            printf("%s by operand %d, operand %d %s: %g, as a float %g\n", row->name, wrt, other,
                   kn_dtype_name(dtype), mixed[i], plain[i]);
}

int main(void)
{
    static const kn_dtype dtypes[] = {KN_BOOL, KN_I32};
    kn_device_use(kn_device_autodiff(kn_device_cpu()));
    int rows = 0;
    for (int32_t n = 0; n < kn_op_count(); n++) {
        kn_op_info row;
        if (!kn_op_at(n, &row) || strcmp(row.kind, "elementwise") || row.gradient != KN_GRADIENT_YES)
            continue;
        if (row.n_out != 1 || row.min_in != row.max_in || row.max_in < 2 || row.max_in > MOST_OPERANDS)
            continue;
        rows++;
        for (int wrt = 0; wrt < row.max_in; wrt++)
            for (int other = 0; other < row.max_in; other++)
                for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
                    if (other != wrt && (wrt || !(is_where(&row) || operand_lacks_gradient(row.name))))
                        check_pair(&row, wrt, other, dtypes[d]);
                }
    }
    printf("%d rows\n", rows);
    CHECK(rows >= 20);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
