/* Every op by name over operands of different dtypes, on every kind of stack: it works or refuses with a reason, and never
   finds itself at fault. */
#include "support/check.h"
#include "support/operands.h"

enum { MOST_IN = 8, MOST_OUT = 8 };

static const char *const stacks[] = {"cpu", "ref", "fusion(cpu)", "autodiff(cpu)", "check(cpu,ref)"};
static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_F16, KN_BF16, KN_I32, KN_U8, KN_BOOL};
enum { STACKS = sizeof stacks / sizeof *stacks, DTYPES = sizeof dtypes / sizeof *dtypes };

static long worked, refused;

/* Operand `odd` has the dtype, all others are f32 (or indices, where `index` says so). */
static void try_row(const kn_op_info *op, int n, int odd, kn_dtype dtype, int kind, int index,
                    const char *stack)
{
    kn_attribute_value attributes[OPERAND_ATTRIBUTES];
    kn_tensor in[MOST_IN], out[MOST_OUT];
    char bytes[4096];
    kn_scope scope = kn_scope_begin();
    for (int i = 0; i < n; i++) in[i] = kn_keep(operand_of_kind(i == index ? kind + 1 : kind, 0));
    if (odd < n) in[odd] = kn_keep(kn_cast(in[odd], dtype));
    operand_attributes(op, 1, attributes);
    kn_status s = kn_call(op->name, in, n, attributes, out, op->n_out);
    for (int i = 0; i < op->n_out && s == KN_OK; i++) {
        int64_t size = kn_dtype_bytes(kn_dtype_of(out[i]), kn_count(out[i]));
        if (size <= (int64_t)sizeof bytes) s = kn_read(out[i], bytes, (size_t)size);
    }
    if (s == KN_ERROR_INTERNAL) {
        printf("%s on %s, operand %d of %d %s: %s\n", op->name, stack, odd, n, kn_dtype_name(dtype),
               kn_last_error());
        CHECK(!"works or refuses");
    }
    *(s == KN_OK ? &worked : &refused) += 1;
    kn_scope_end(scope, KN_NONE);
}

static void try_all(const kn_op_info *op, const char *stack)
{
    int most = op->max_in < 0 ? 2 : op->max_in < MOST_IN ? op->max_in : MOST_IN;
    for (int n = op->min_in > 2 ? op->min_in : 2; n <= most; n++)
        for (int odd = 0; odd < n; odd++)
            for (int d = 0; d < DTYPES; d++)
                for (int kind = 0; kind < OPERAND_KINDS; kind += 3)
                    for (int index = 0; index < 2; index++)
                        try_row(op, n, odd, dtypes[d], kind, index ? 1 : -1, stack);
}

/* An integer that the half does not hold becomes infinite in every op, with a kernel or lowered. */
static void large_integers(void)
{
    static const float halves[2] = {0.62109375f, 0.5f};
    static const int32_t wide[2] = {70000, 3};
    long compared = 0;
    kn_device_use(kn_device_open("check(cpu,ref)"));
    for (int32_t number = 0; number < kn_op_count(); number++) {
        kn_op_info op;
        kn_tensor y = KN_NONE;
        if (!kn_op_at(number, &op) || op.min_in > 2 || op.max_in < 2 || op.n_out != 1 || op.n_attributes > 0)
            continue;
        for (int turned = 0; turned < 2; turned++) {
            kn_scope scope = kn_scope_begin();
            kn_tensor in[2];
            in[turned] = kn_keep(kn_cast(kn_from(halves, KN_F32, KN_SHAPE(2)), KN_F16));
            in[!turned] = kn_keep(kn_from(wide, KN_I32, KN_SHAPE(2)));
            kn_status s = kn_call(op.name, in, 2, NULL, &y, 1);
            if (!CHECK(s != KN_ERROR_NUMERIC)) printf("  %s\n", kn_last_error());
            compared += s == KN_OK;
            kn_scope_end(scope, KN_NONE);
        }
    }
    CHECK(compared > 60);
}

int main(void)
{
    large_integers();
    for (int k = 0; k < STACKS; k++) {
        kn_device_use(kn_device_open(stacks[k]));
        for (int32_t number = 0; number < kn_op_count(); number++) {
            kn_op_info op;
            if (!kn_op_at(number, &op) || op.n_out > MOST_OUT || op.n_attributes >= OPERAND_ATTRIBUTES)
                continue;
            try_all(&op, stacks[k]);
        }
    }
    printf("%ld worked, %ld were refused\n", worked, refused);
    CHECK(worked > 10000 && refused > 10000);
    return check_report();
}
