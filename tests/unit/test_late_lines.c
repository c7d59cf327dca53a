/* Lines of failures that a queue finds late: a call has its own line or none, never that of another call. */
#include "support/check.h"
#include <kn/custom_op.h>
#include <kn/nn.h>

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

/* Calls that have a line and run no op, or are refused before it. */
static kn_nn_dropout evaluated;
static void to_the_same_leaf(void) { (void)kn_to(x, kn_device_of(x)); }
static void to_of_poison(void) { (void)kn_to(kn_poison(KN_ERROR_IO, "of no luck"), kn_device_of(x)); }
static void dropout_of_nothing(void) { (void)kn_dropout(x, 0, true); }
static void dropout_in_evaluation(void) { (void)kn_dropout(x, 0.5, false); }
static void feature_dropout_in_evaluation(void) { (void)kn_feature_dropout(x, 0.5, false); }
static void alpha_dropout_in_evaluation(void) { (void)kn_alpha_dropout(x, 0.5, false); }
static void dropout_layer_in_evaluation(void) { (void)kn_nn_dropout_forward(&evaluated, x); }
static void detach(void) { (void)kn_detach(x); }
static void refused_require_grad(void) { (void)kn_require_grad(x); }
static void refused_multi_dot(void) { (void)kn_multi_dot(&x, 1); }
static void roll_by_nothing(void) { (void)kn_roll_dim(x, 0, 0); }
static void refused_squeeze(void) { (void)kn_squeeze(x, 7); }
static void refused_unsqueeze(void) { (void)kn_unsqueeze(x, 77); }
static void refused_matrix_power(void) { (void)kn_matrix_power(x, 2); }
static void poison(void) { (void)kn_poison(KN_ERROR_IO, "of no luck"); }
static void a_param(void)
{
    kn_param p = kn_param_make(x);
    kn_param_drop(&p);
}
static const struct {
    const char *name;
    void (*call)(void);
} runs_no_op[] = {{"kn_to", to_the_same_leaf},
                  {"kn_to of poison", to_of_poison},
                  {"kn_dropout, p = 0", dropout_of_nothing},
                  {"kn_dropout", dropout_in_evaluation},
                  {"kn_feature_dropout", feature_dropout_in_evaluation},
                  {"kn_alpha_dropout", alpha_dropout_in_evaluation},
                  {"kn_nn_dropout_forward", dropout_layer_in_evaluation},
                  {"kn_detach", detach},
                  {"kn_require_grad", refused_require_grad},
                  {"kn_multi_dot", refused_multi_dot},
                  {"kn_roll_dim", roll_by_nothing},
                  {"kn_squeeze", refused_squeeze},
                  {"kn_unsqueeze", refused_unsqueeze},
                  {"kn_matrix_power", refused_matrix_power},
                  {"kn_poison", poison},
                  {"kn_param_make", a_param}};

static void a_call_that_runs_no_op_gives_no_line(kn_tensor (*bad_call)(void), int line)
{
    for (size_t i = 0; i < sizeof runs_no_op / sizeof *runs_no_op; i++) {
        kn_scope s = kn_scope_begin();
        kn_tensor y = kn_keep(bad_call());
        runs_no_op[i].call();
        read_it(y);
        if (!CHECK(has_line(y, line))) printf("  after %s\n", runs_no_op[i].name);
        kn_scope_end(s, KN_NONE);
    }
}

/* What a call made that ran no op was made there; and what was made before it was not. */
static void tensors_know_where_they_were_made(void)
{
    char here[64];
    for (int second = 0; second < 2; second++) {
        kn_scope s = kn_scope_begin();
        kn_tensor made = kn_exp(x);
        kn_tensor same = kn_to(x, kn_device_of(x));
        int line = __LINE__ - 2 + second;
        kn_scope_end(s, KN_NONE);
        (void)kn_neg(second ? same : made);
        snprintf(here, sizeof here, "made at %s:%d ", __FILE__, line);
        if (!CHECK(strstr(kn_last_error(), here) != NULL)) printf("%s%s\n", here, kn_last_error());
    }
}

/* A custom op whose lowering is full of lines. */
static kn_status infer_same(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    *out = *in;
    return KN_OK;
}

static kn_status lower_with_lines(void *context, const kn_tensor *in, kn_tensor *out)
{
    (void)context;
    kn_tensor t = kn_keep(kn_to(in[0], kn_device_of(in[0])));
    for (int i = 0; i < 40; i++) t = kn_keep(kn_neg(t));
    out[0] = kn_neg(t);
    return KN_OK;
}

static void lines_inside_a_lowering_end_with_it(void)
{
    kn_op_handle lines = kn_custom_register(&(kn_custom_op){
        .name = "late_lines", .n_in = 1, .n_out = 1, .infer = infer_same, .lower = lower_with_lines});
    CHECK(lines != NULL);
    static kn_tensor (*const calls[])(void) = {composite_with_line, composite_without_line, op_with_line,
                                               op_without_line};
    static const int expected[] = {COMPOSITE_LINE, 0, OP_LINE, 0};
    for (int i = 0; i < 4; i++)
        for (int run = 0; run < 2; run++) {
            kn_scope s = kn_scope_begin();
            kn_tensor out = KN_NONE;
            float values[4];
            CHECK(kn_custom_call(lines, &x, &out) == KN_OK);
            kn_keep(out);
            if (run) CHECK(kn_read(out, values, sizeof values) == KN_OK);
            kn_tensor y = kn_keep(calls[i]());
            read_it(y);
            CHECK(has_line(y, expected[i]));
            kn_scope_end(s, KN_NONE);
        }
}

static bool is_named(kn_tensor y, const char *function)
{
    char text[TEXT];
    kn_error_text(y, text, sizeof text);
    return !strncmp(text, function, strlen(function)) && text[strlen(function)] == ':';
}

/* Layers and losses are calls too: of one op, of several, and inside another layer. */
static void layers_have_the_line_of_their_caller(void)
{
    kn_scope s = kn_scope_begin();
    kn_nn_embedding table = {0};
    kn_nn_embedding_bag bag = {0};
    CHECK(kn_nn_embedding_init(&table, 4, 2, NULL) == KN_OK);
    CHECK(kn_nn_embedding_bag_init(&bag, 4, 2, NULL) == KN_OK);
    kn_tensor rows = kn_keep(kn_ones(KN_SHAPE(2, 4), KN_F32));
    kn_tensor pair = kn_keep(kn_reshape(bad, KN_SHAPE(1, 2))), y[4];
    y[0] = kn_keep(kn_nn_embedding_forward(&table, bad));
    y[1] = kn_keep(kn_nn_embedding_bag_forward(&bag, pair, KN_NONE, KN_NONE));
    y[2] = kn_keep(kn_cross_entropy(rows, bad, NULL));
    y[3] = kn_keep(kn_cross_entropy_tokens(rows, bad, NULL));
    const int line = __LINE__ - 4;
    static const char *const names[] = {"kn_nn_embedding_forward", "kn_nn_embedding_bag_forward",
                                        "kn_cross_entropy", "kn_cross_entropy_tokens"};
    for (int i = 0; i < CALLS; i++) (void)kn_exp(x);
    for (int i = 0; i < 4; i++) {
        read_it(y[i]);
        CHECK(has_line(y[i], line + i));
        if (!CHECK(is_named(y[i], names[i]))) printf("  %s has another name\n", names[i]);
    }
    (void)kn_item(y[3]);
    if (!CHECK(!strncmp(kn_last_error(), "kn_item: ", 9))) printf("  %s\n", kn_last_error());
    (void)!kn_read_as(y[3], KN_F64, &(double){0}, sizeof(double));
    if (!CHECK(!strncmp(kn_last_error(), "kn_read_as: ", 12))) printf("  %s\n", kn_last_error());
    kn_module_drop(KN_MODULE_OF(kn_nn_embedding, &table));
    kn_module_drop(KN_MODULE_OF(kn_nn_embedding_bag, &bag));
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
    CHECK(kn_nn_dropout_init(&evaluated, 0.5, NULL) == KN_OK);
    evaluated.training = false;
    a_call_that_runs_no_op_gives_no_line(op_with_line, OP_LINE);
    a_call_that_runs_no_op_gives_no_line(composite_with_line, COMPOSITE_LINE);
    a_call_that_runs_no_op_gives_no_line(op_without_line, 0);
    a_call_that_runs_no_op_gives_no_line(one_op_composite_without_line, 0);
    a_call_that_runs_no_op_gives_no_line(composite_without_line, 0);
    tensors_know_where_they_were_made();
    layers_have_the_line_of_their_caller();
    lines_inside_a_lowering_end_with_it();
    a_queue_that_runs_inside_the_call_waits(op_with_line, OP_LINE);
    a_queue_that_runs_inside_the_call_waits(composite_with_line, COMPOSITE_LINE);
    kn_drop(x);
    kn_drop(two);
    kn_drop(bad);
    kn_drop(pairs);
    return check_report();
}
