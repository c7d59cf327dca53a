/* What a leaf gets from a queue: groups within its limits, each input once, what may follow a product, and nothing in memory
   that is not needed any more. */
#include "core/device_object.h"
#include "core/made_forms.h"
#include "support/check.h"
#include "wrap/decorator.h"
#include "wrap/wrap.h"
#include <kn/backend.h>

/* ---- a device that notes the groups it gets and runs their records one by one on the CPU */

enum { MAX_RECORDS = 6, MAX_INPUTS = 5, MAX_OUTPUTS = 4, MAX_NOTED = 400 };

static kn_device noting;
static struct noted {
    int kind, records, inputs, outputs;
} noted[MAX_NOTED];
static int n_noted, n_singles;
static int64_t bytes_before[MAX_NOTED]; /* of each single record, without packed weights that are kept */

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    if (n_singles < MAX_NOTED)
        bytes_before[n_singles++] = kn_memory_stats().bytes_now - kni_form_counted().bytes;
    return b->inner[0]->execute(b->inner[0], records, n);
}

static kn_status limits(kn_backend *b, kn_limits *l)
{
    (void)b;
    l->kinds = 1u << KN_GROUP_POINTWISE | 1u << KN_GROUP_PRODUCT;
    l->max_records = MAX_RECORDS;
    l->max_inputs = MAX_INPUTS;
    l->max_outputs = MAX_OUTPUTS;
    return KN_OK;
}

/* One launch for small tensors of the same formula. */
static kn_status small_limits(kn_backend *b, kn_limits *l)
{
    kn_status s = limits(b, l);
    l->kinds |= 1u << KN_GROUP_MANY;
    l->takes = KN_TAKES_SMALL;
    return s;
}

/* Products have a bound of their own. */
static kn_status wide_limits(kn_backend *b, kn_limits *l)
{
    kn_status s = limits(b, l);
    l->max_records = 64;
    return s;
}

static kn_status run_group(kn_backend *b, const kn_group *g)
{
    (void)b;
    if (n_noted < MAX_NOTED)
        noted[n_noted++] = (struct noted){g->kind, g->n_records, g->n_inputs, g->n_outputs};
    return KN_ERROR_UNSUPPORTED;
}

static kn_follow follows(kn_backend *b, const kn_record *const *records, int32_t n, const kn_record *next)
{
    (void)b, (void)records, (void)n, (void)next;
    return KN_FOLLOW_YES;
}

static kn_backend *open_noting(const char *argument, kn_backend *const *inner, int32_t n)
{
    kn_backend *b = n == 1 ? kni_decorator_new("noting", 0, inner, n, execute, 0) : NULL;
    if (!b) return NULL;
    b->limits = strstr(argument, "wide") ? wide_limits : strstr(argument, "small") ? small_limits : limits;
    b->run_group = run_group;
    b->follows = follows;
    return b;
}

static void begin(const char *spec)
{
    noting = kn_device_open(spec);
    if (!CHECK(noting != NULL)) printf("%s\n", kn_last_error());
    kn_device_use(noting);
    n_noted = n_singles = 0;
}

static void end(void)
{
    kn_device_use(NULL);
    kn_device_close(noting);
}

static kn_tensor two(double first) { return kn_from((float[]){(float)first, 2}, KN_F32, KN_SHAPE(2)); }

/* ---- limits */

static kn_tensor negated(kn_tensor x, int times)
{
    for (int i = 0; i < times; i++) x = kn_neg(x);
    return x;
}

static bool within_limits(void)
{
    bool good = n_noted > 0;
    for (int i = 0; i < n_noted; i++)
        good &= noted[i].records <= MAX_RECORDS && noted[i].inputs <= MAX_INPUTS &&
                noted[i].outputs <= MAX_OUTPUTS;
    for (int i = 0; i < n_noted && !good; i++)
        printf("  group %d: %d records, %d inputs, %d outputs\n", i, noted[i].records, noted[i].inputs,
               noted[i].outputs);
    return good;
}

static int largest_group(void)
{
    int most = 0;
    for (int i = 0; i < n_noted; i++)
        if (noted[i].records > most) most = noted[i].records;
    return most;
}

/* Two chains that meet become one group if that has room for both and for the record in which they meet; what comes after
   joins it while there is room. */
static void chains_that_meet(int first, int second, int after)
{
    begin("fusion(noting(cpu))");
    kn_scope scope = kn_scope_begin();
    kn_tensor sum = kn_add(negated(two(3), first), negated(two(5), second));
    sum = kn_keep(negated(sum, after));
    CHECK(kn_sync(noting) == KN_OK);
    bool good = CHECK(within_limits());
    if (after == 0) {
        bool together = first + second + 1 <= MAX_RECORDS;
        good &= CHECK((largest_group() == first + second + 1) == together);
    }
    if (!good) printf("  chains of %d and %d, %d after them\n", first, second, after);
    double x = (first & 1 ? -3 : 3) + (second & 1 ? -5 : 5), y = (first & 1 ? -2 : 2) + (second & 1 ? -2 : 2);
    CHECK_VALUES(sum, 0, after & 1 ? -x : x, after & 1 ? -y : y);
    kn_scope_end(scope, KN_NONE);
    end();
}

static void records_have_a_limit(void)
{
    for (int first = 1; first <= MAX_RECORDS; first++)
        for (int second = 1; second <= MAX_RECORDS; second++)
            for (int after = 0; after <= MAX_RECORDS; after++) chains_that_meet(first, second, after);
}

/* Each sum reads tensors that no other does, before two groups meet and after. */
static void inputs_have_a_limit(int after)
{
    begin("fusion(noting(cpu))");
    kn_scope scope = kn_scope_begin();
    kn_tensor sum = kn_add(kn_add(two(1), two(2)), kn_add(two(3), two(4)));
    for (int i = 0; i < after; i++) sum = kn_add(sum, two(10));
    sum = kn_keep(sum);
    CHECK(kn_sync(noting) == KN_OK && within_limits());
    CHECK((largest_group() == 3 + after) == (4 + after <= MAX_INPUTS));
    CHECK_VALUES(sum, 0, 10 + 10 * after, 8 + 2 * after);
    kn_scope_end(scope, KN_NONE);
    end();
}

/* Each result is kept, before two groups meet and after. */
static void outputs_have_a_limit(int after)
{
    begin("fusion(noting(cpu))");
    kn_scope scope = kn_scope_begin();
    kn_tensor a = kn_keep(kn_neg(two(1))), b = kn_keep(kn_exp(two(0)));
    kn_tensor sum = kn_keep(kn_add(a, b));
    for (int i = 0; i < after; i++) sum = kn_keep(kn_neg(sum));
    CHECK(kn_sync(noting) == KN_OK && within_limits());
    CHECK((largest_group() == 3 + after) == (3 + after <= MAX_OUTPUTS));
    CHECK(kn_ok(sum) && kn_ok(a) && kn_ok(b));
    kn_scope_end(scope, KN_NONE);
    end();
}

/* ---- inputs */

/* What a group reads at both ends of a long queue is one input, however many tensors were read in between. */
static void inputs_come_once(int others)
{
    begin("fusion(noting(cpu))");
    kn_scope scope = kn_scope_begin();
    kn_tensor first = kn_keep(two(4)), x = kn_keep(two(3)), last = KN_NONE;
    kn_tensor y = kn_add(first, x);
    for (int i = 0; i < others; i++) last = kn_keep(kn_neg(kn_keep(two(i))));
    y = kn_keep(kn_mul(y, x));
    CHECK(kn_sync(noting) == KN_OK);
    if (!CHECK(n_noted == 1 && noted[0].records == 2 && noted[0].inputs == 2))
        printf("  %d others: %d groups, %d records, %d inputs\n", others, n_noted, noted[0].records,
               noted[0].inputs);
    CHECK_VALUES(y, 0, 21, 8);
    CHECK_VALUES(last, 0, 1 - others, -2);
    kn_scope_end(scope, KN_NONE);
    end();
}

/* ---- products */

/* So many elementwise records after a product: its group takes them until it is full, the others are a group of their own. */
static void products_are_followed(int followers)
{
    begin("fusion(noting:wide(cpu))");
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_from((float[]){1, 2, 3, 4}, KN_F32, KN_SHAPE(2, 2)));
    kn_tensor y = kn_keep(negated(kn_matmul(x, x), followers));
    CHECK(kn_sync(noting) == KN_OK);
    int inside = followers < KN_FOLLOW_RECORDS ? followers + 1 : KN_FOLLOW_RECORDS;
    int left = followers + 1 - inside;
    bool good = CHECK(n_noted == 1 + (left > 1) && n_singles == followers + 1);
    good &= CHECK(noted[0].kind == KN_GROUP_PRODUCT && noted[0].records == inside);
    good &= CHECK(left < 2 || (noted[1].kind == KN_GROUP_POINTWISE && noted[1].records == left));
    if (!good) printf("  %d followers: %d groups, %d in the first\n", followers, n_noted, noted[0].records);
    double sign = followers & 1 ? -1 : 1;
    CHECK_VALUES(y, 0, 7 * sign, 10 * sign, 15 * sign, 22 * sign);
    kn_scope_end(scope, KN_NONE);
    end();
}

/* ---- small tensors of the same formula */

static kn_tensor row_of(int64_t n, double first)
{
    return kn_keep(kn_arange(first, first + (double)n, 1, KN_F32));
}

static bool noted_one(int kind, int records, int inputs, int outputs)
{
    int n = 0;
    for (int i = 0; i < n_noted; i++)
        n += noted[i].kind == kind && noted[i].records == records && noted[i].inputs == inputs &&
             noted[i].outputs == outputs;
    return n == 1;
}

static int noted_many(void)
{
    int n = 0;
    for (int i = 0; i < n_noted; i++) n += noted[i].kind == KN_GROUP_MANY;
    return n;
}

enum { TENSORS = 9 };

/* So many chains, each of `length` records over a tensor of its own, all of which are kept. */
static void chains(int n, int length, int64_t size, kn_tensor *out)
{
    kn_tensor in[TENSORS];
    for (int i = 0; i < n; i++) in[i] = row_of(size + i, i);
    CHECK(kn_sync(noting) == KN_OK);
    n_noted = 0;
    for (int i = 0; i < n; i++) {
        out[i] = kn_exp(in[i]);
        for (int k = 1; k < length; k++) out[i] = kn_neg(out[i]);
        out[i] = kn_keep(out[i]);
    }
    CHECK(kn_sync(noting) == KN_OK);
}

/* They run together, whatever their sizes, as many as fit; large ones do not. */
static void small_ones_run_together(void)
{
    kn_tensor out[TENSORS];
    begin("fusion(noting:small(cpu))");
    kn_scope scope = kn_scope_begin();
    chains(3, 1, 5, out);
    CHECK(noted_one(KN_GROUP_MANY, 3, 3, 3) && noted_many() == 1);
    CHECK_VALUES(kn_neg(kn_log(kn_slice(out[2], 0, 0, 2, 1))), 0, -2, -3);
    chains(3, 2, 7, out);
    CHECK(noted_one(KN_GROUP_MANY, 6, 3, 3) && noted_many() == 1);
    chains(MAX_RECORDS + 2, 1, 9, out);
    CHECK(noted_one(KN_GROUP_MANY, MAX_RECORDS, MAX_RECORDS, MAX_RECORDS) &&
          noted_one(KN_GROUP_MANY, 2, 2, 2));
    chains(2, 2, 3, out);
    CHECK(noted_one(KN_GROUP_MANY, 4, 2, 2));
    chains(2, 2, 8193, out);
    CHECK(noted_many() == 0 && n_noted == 2);
    kn_scope_end(scope, KN_NONE);
    end();
}

/* Not so those that read the same tensor, leave two results, or compute something else. */
static void unlike_ones_run_apart(void)
{
    begin("fusion(noting:small(cpu))");
    kn_scope scope = kn_scope_begin();
    kn_tensor x = row_of(4, 1), y = row_of(4, 2), z = row_of(6, 3);
    CHECK(kn_sync(noting) == KN_OK);
    n_noted = 0;
    kn_tensor a = kn_keep(kn_add(x, y)), b = kn_keep(kn_add(y, x));
    CHECK(kn_sync(noting) == KN_OK && noted_many() == 0);
    kn_tensor c = kn_keep(kn_exp(x)), d = kn_keep(kn_exp(z)), e = kn_keep(kn_neg(c)), f = kn_keep(kn_neg(d));
    CHECK(kn_sync(noting) == KN_OK && noted_many() == 0);
    kn_tensor g = kn_keep(kn_neg(x)), h = kn_keep(kn_square(z));
    CHECK(kn_sync(noting) == KN_OK && noted_many() == 0);
    CHECK(kn_ok(a) && kn_ok(b) && kn_ok(e) && kn_ok(f) && kn_ok(g) && kn_ok(h));
    kn_scope_end(scope, KN_NONE);
    end();
}

/* What is read before the later one can run is not kept waiting for it. */
static void nobody_waits(void)
{
    begin("fusion(noting:small(cpu))");
    kn_scope scope = kn_scope_begin();
    kn_tensor w = kn_keep(kn_from((float[]){1, 2, 3, 4}, KN_F32, KN_SHAPE(2, 2))),
              v = kn_keep(kn_from((float[]){1, 0, 0, 1}, KN_F32, KN_SHAPE(2, 2)));
    CHECK(kn_sync(noting) == KN_OK);
    n_noted = 0;
    /* The second product needs the first negation, and the second negation that product. */
    kn_tensor first = kn_keep(kn_neg(kn_cumsum(w, 0)));
    kn_tensor second = kn_keep(kn_neg(kn_cumsum(first, 1)));
    CHECK(kn_sync(noting) == KN_OK && noted_many() == 0);
    CHECK_VALUES(second, 0, 1, 3, 4, 10);
    /* These need different products, and nobody needs them. */
    first = kn_keep(kn_exp(kn_cumsum(w, 0)));
    second = kn_keep(kn_exp(kn_cumsum(v, 1)));
    CHECK(kn_sync(noting) == KN_OK && noted_one(KN_GROUP_MANY, 2, 2, 2));
    CHECK_VALUES(kn_log(second), 0, 1, 1, 0, 1);
    kn_scope_end(scope, KN_NONE);
    end();
}

/* ---- memory */

/* In a chain of steps what one step has read is gone before the next, the first operand of all too. */
static void values_die(void)
{
    enum { SIDE = 64, STEPS = 5, BYTES = SIDE * SIDE * (int)sizeof(float) };
    begin("fusion(noting(cpu))");
    kn_scope scope = kn_scope_begin();
    kn_tensor w = kn_keep(kn_eye(SIDE, SIDE, KN_F32));
    CHECK(kn_sync(noting) == KN_OK);
    kn_tensor x = kn_full(KN_SHAPE(SIDE, SIDE), 2, KN_F32);
    CHECK(kn_sync(noting) == KN_OK);
    n_singles = 0;
    for (int i = 0; i < STEPS; i++) x = kn_cumsum(kn_matmul(x, w), 0);
    x = kn_keep(x);
    CHECK(kn_sync(noting) == KN_OK && n_singles == 2 * STEPS);
    for (int i = 1; i < n_singles; i++)
        if (!CHECK(bytes_before[i] < bytes_before[0] + BYTES / 2))
            printf("  step %d has %lld bytes more than the first\n", i,
                   (long long)(bytes_before[i] - bytes_before[0]));
    CHECK(kn_item(kn_max(x, KN_AXES_ALL, false)) > 2);
    kn_scope_end(scope, KN_NONE);
    end();
}

int main(void)
{
    CHECK(kn_backend_register("noting", open_noting) == KN_OK);
    records_have_a_limit();
    for (int after = 0; after <= 3; after++) {
        inputs_have_a_limit(after);
        outputs_have_a_limit(after);
    }
    inputs_come_once(3);
    inputs_come_once(300);
    for (int followers = 1; followers <= KN_FOLLOW_RECORDS + 3; followers++) products_are_followed(followers);
    small_ones_run_together();
    unlike_ones_run_apart();
    nobody_waits();
    values_die();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
