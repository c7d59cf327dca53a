/* Every op by name, over strided operands of dtypes that are converted on the way, with each of its allocations failing once:
   an error or the right result each time, the right result afterwards, operands as they were, and nothing leaked. Freeing what is
   not ours shows under a sanitizer. */
#include "support/check.h"
#include "support/operands.h"

enum { MOST_IN = 8, MOST_OUT = 8, MOST_FAILURES = 60, MOST_BYTES = 1 << 16 };

/* An operand of the kind in another dtype, whose axes are swapped in memory. */
static kn_tensor strided(int kind, kn_dtype dtype)
{
    kn_tensor x = operand_of_kind(kind, 0);
    if (dtype && kind % 3 == 0) x = kn_cast(x, dtype);
    int rank = kind < 3 ? 1 : kind < 6 ? 2 : 4;
    return kn_keep(rank > 1 ? kn_transpose(x, -1, -2) : kn_flip(x, KN_AXES(0)));
}

typedef struct trial {
    kn_op_info op;
    int32_t n_in;
    const kn_tensor *in;
    const kn_attribute_value *attributes;
} trial;

/* The bytes of a trial's results, one after the other. */
typedef struct results {
    size_t length;
    unsigned char bytes[MOST_BYTES];
} results;

static kn_status read_into(results *r, kn_tensor t)
{
    size_t bytes = (size_t)kn_dtype_bytes(kn_dtype_of(t), kn_count(t));
    if (!CHECK(r->length + bytes <= sizeof r->bytes)) return KN_ERROR_ARGUMENT;
    kn_status s = kn_read(t, r->bytes + r->length, bytes);
    r->length += bytes;
    return s;
}

/* Random ops draw the same numbers each time. */
static kn_status run(const trial *t, results *r)
{
    kn_tensor out[MOST_OUT];
    r->length = 0;
    kn_seed(kn_device_cpu(), 7);
    kn_scope scope = kn_scope_begin();
    kn_status s = kn_call(t->op.name, t->in, t->n_in, t->attributes, out, t->op.n_out);
    for (int i = 0; i < t->op.n_out && s == KN_OK; i++) s = read_into(r, out[i]);
    kn_scope_end(scope, KN_NONE);
    return s;
}

static bool same(const results *a, const results *b)
{
    return a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

static long failures, survivals; /* allocations that failed, with an error and without one */

/* Each allocation of the trial fails once, of `all`. */
static void fail_each(const trial *t, int64_t all, const results *want)
{
    static results got;
    for (int64_t n = 1; n <= all && n < MOST_FAILURES; n++) {
        kn_memory_fail_after(n);
        kn_status s = run(t, &got);
        kn_memory_fail_after(0);
        kn_memory_trim();
        failures += s != KN_OK, survivals += s == KN_OK;
        if (s != KN_OK && s != KN_ERROR_MEMORY) {
            printf("%s: failing allocation %d: %s\n", t->op.name, (int)n, kn_last_error());
            CHECK(!"an error of memory");
        }
        if (s == KN_OK && !same(&got, want)) {
            printf("%s: failing allocation %d gives another result\n", t->op.name, (int)n);
            CHECK(!"the right result");
        }
    }
}

static void sweep(const trial *t)
{
    static results want, got;
    if (run(t, &want) != KN_OK) return;
    kn_memory_trim();
    kn_memory before = kn_memory_stats();
    /* While a failure is due no cached block is used, so that every allocation counts. */
    kn_memory_fail_after(INT64_C(1) << 40);
    CHECK(run(t, &got) == KN_OK && same(&got, &want));
    fail_each(t, kn_memory_stats().allocations - before.allocations, &want);
    if (!CHECK(run(t, &got) == KN_OK && same(&got, &want))) printf("%s: wrong afterwards\n", t->op.name);
    kn_memory_trim();
    kn_memory now = kn_memory_stats();
    if (now.tensors_now != before.tensors_now || now.bytes_now > before.bytes_now + 65536) {
        printf("%s: %lld tensors and %lld bytes left\n", t->op.name,
               (long long)(now.tensors_now - before.tensors_now),
               (long long)(now.bytes_now - before.bytes_now));
        CHECK(!"nothing leaked");
    }
}

/* All operands alike, or the second one an index, and the last one too. */
static void all_of(const kn_op_info *op, kn_dtype dtype, int kind)
{
    kn_attribute_value attributes[OPERAND_ATTRIBUTES];
    kn_tensor in[MOST_IN];
    static results first, last;
    kn_scope scope = kn_scope_begin();
    kn_tensor x = strided(kind, dtype), index = strided(1, KN_DTYPE_NONE);
    first.length = last.length = 0;
    CHECK(read_into(&first, x) == KN_OK && read_into(&first, index) == KN_OK);
    int32_t most = op->max_in < 0 ? 2 : op->max_in;
    for (int32_t n = op->min_in; n <= most && n <= MOST_IN; n++)
        for (int whole = 0; whole < 2; whole++)
            for (int second = 0; second < 2; second++) {
                for (int i = 0; i < n; i++) in[i] = i == 1 && second ? index : x;
                operand_attributes(op, whole, attributes);
                sweep(&(trial){*op, n, in, attributes});
            }
    CHECK(read_into(&last, x) == KN_OK && read_into(&last, index) == KN_OK);
    if (!CHECK(same(&first, &last))) printf("%s: its operands have changed\n", op->name);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    static const kn_dtype dtypes[] = {KN_F16, KN_F64, KN_I32, KN_U8};
    kn_device_use(kn_device_cpu());
    for (int32_t number = 0; number < kn_op_count(); number++) {
        kn_op_info op;
        if (!kn_op_at(number, &op) || op.n_out > MOST_OUT || op.n_attributes >= OPERAND_ATTRIBUTES) continue;
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (int kind = 0; kind < OPERAND_KINDS; kind += 3) all_of(&op, dtypes[d], kind);
    }
    printf("%ld failures, %ld results in spite of one\n", failures, survivals);
    CHECK(failures > 2000 && survivals > 20);
    return check_report();
}
