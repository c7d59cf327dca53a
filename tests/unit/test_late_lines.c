/* Lines of failures that a queue finds late: a call has its own line or none, never that of another call. */
#include "support/check.h"

enum { CALLS = 100, TEXT = 700 };

static kn_tensor x, two, bad,
    pairs; /* f32 [4], f32 [2], i64 [2] and [2, 1] of indices of x, one of which is none */

/* The functions themselves, as a wrapper or another language calls them: they note no line. */
static kn_tensor op_without_line(void) { return (kn_scatter_nd)(x, pairs, two, KN_UPDATE_ASSIGN); }
static kn_tensor one_op_composite_without_line(void) { return (kn_index_select)(x, 0, bad); }
static kn_tensor composite_without_line(void) { return (kn_put)(x, bad, two, KN_UPDATE_ASSIGN); }

static void read_it(kn_tensor y)
{
    float values[4];
    CHECK((kn_read)(y, values, sizeof(float) * (size_t)kn_count(y)) != KN_OK);
}

static bool has_line(kn_tensor y, int line)
{
    char text[TEXT], wanted[64];
    kn_error_text(y, text, sizeof text);
    snprintf(wanted, sizeof wanted, "test_late_lines.c:%d", line);
    CHECK(strstr(text, "out of range") != NULL);
    bool good = line ? strstr(text, wanted) != NULL : strstr(text, "test_late_lines.c") == NULL;
    if (!good) printf("line %d wanted: %s\n", line, text);
    return good;
}

/* So many calls without a line come before one that has one. */
static void a_call_without_a_line_takes_none(kn_tensor (*call)(void), int calls)
{
    kn_scope s = kn_scope_begin();
    kn_tensor first = kn_keep(call()), last = first;
    for (int i = 1; i < calls; i++) last = kn_keep(call());
    kn_tensor innocent = kn_keep(kn_exp(x));
    read_it(first);
    CHECK(has_line(first, 0));
    CHECK(has_line(last, 0));
    CHECK(kn_ok(innocent));
    kn_scope_end(s, KN_NONE);
}

/* What runs the queue has a line, which is its own. */
static void what_runs_the_queue_gives_no_line(kn_tensor (*call)(void))
{
    kn_scope s = kn_scope_begin();
    kn_tensor y = kn_keep(call());
    float values[4];
    CHECK(kn_read(y, values, sizeof(float) * (size_t)kn_count(y)) != KN_OK);
    CHECK(has_line(y, 0));
    y = kn_keep(call());
    CHECK(kn_sync(kn_device_of(x)) != KN_OK);
    CHECK(has_line(y, 0));
    kn_scope_end(s, KN_NONE);
}

static void calls_with_lines_keep_them(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor a = kn_keep(op_without_line());
    kn_tensor b = kn_keep(kn_scatter_nd(x, pairs, two, KN_UPDATE_ASSIGN));
    int line_b = __LINE__ - 1;
    kn_tensor c = kn_keep(composite_without_line());
    kn_tensor d = kn_keep(kn_put(x, bad, two, KN_UPDATE_ASSIGN));
    int line_d = __LINE__ - 1;
    for (int i = 0; i < CALLS; i++) (void)kn_exp(x);
    read_it(a);
    CHECK(has_line(a, 0) && has_line(b, line_b) && has_line(c, 0) && has_line(d, line_d));
    kn_scope_end(s, KN_NONE);
}

enum { OP_LINE = __LINE__ + 1 };
static kn_tensor op_with_line(void) { return kn_scatter_nd(x, pairs, two, KN_UPDATE_ASSIGN); }
enum { COMPOSITE_LINE = __LINE__ + 1 };
static kn_tensor composite_with_line(void) { return kn_put(x, bad, two, KN_UPDATE_ASSIGN); }

/* The queue is full at some call and runs inside it: the failure of that call waits for its line. */
static void a_queue_that_runs_inside_the_call_waits(kn_tensor (*call)(void), int line)
{
    enum { MANY = 4200, LATEST = MANY - 900 }; /* of older ones the texts are gone */
    static kn_tensor y[MANY];
    kn_scope s = kn_scope_begin();
    for (int i = 0; i < MANY; i++) y[i] = kn_keep(call());
    read_it(y[MANY - 1]);
    int good = 0;
    for (int i = LATEST; i < MANY; i++) good += has_line(y[i], line);
    CHECK(good == MANY - LATEST);
    kn_scope_end(s, KN_NONE);
}

int main(void)
{
    kn_device_use(kn_device_open("fusion(cpu)"));
    float values[4];
    int64_t index[2];
    x = kn_own(kn_ones(KN_SHAPE(4), KN_F32));
    two = kn_own(kn_ones(KN_SHAPE(2), KN_F32));
    bad = kn_own(kn_from((int64_t[]){1, 77}, KN_I64, KN_SHAPE(2)));
    CHECK(kn_read(x, values, sizeof values) == KN_OK && kn_read(bad, index, sizeof index) == KN_OK);
    pairs = kn_own(kn_reshape(bad, KN_SHAPE(2, 1)));
    CHECK(kn_read(pairs, index, sizeof index) == KN_OK);
    for (int calls = 1; calls <= CALLS; calls += CALLS - 1) {
        a_call_without_a_line_takes_none(op_without_line, calls);
        a_call_without_a_line_takes_none(one_op_composite_without_line, calls);
        a_call_without_a_line_takes_none(composite_without_line, calls);
    }
    what_runs_the_queue_gives_no_line(op_without_line);
    what_runs_the_queue_gives_no_line(one_op_composite_without_line);
    what_runs_the_queue_gives_no_line(composite_without_line);
    calls_with_lines_keep_them();
    a_queue_that_runs_inside_the_call_waits(op_with_line, OP_LINE);
    a_queue_that_runs_inside_the_call_waits(composite_with_line, COMPOSITE_LINE);
    kn_drop(x);
    kn_drop(two);
    kn_drop(bad);
    kn_drop(pairs);
    return check_report();
}
