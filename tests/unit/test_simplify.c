/* Passes on programs, each alone: constants, common subexpressions, dead values. What each changes, and what it must not. */
#include "support/programs.h"
#include <kn/autodiff.h>
#include <kn/custom_op.h>
#include <kn/nn.h>
#include <kn/system.h>

/* ---- constants */

/* y = x + exp(2 w), z = exp(2 w): both are the same from run to run but for x. */
static kn_program weighted(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 3");
    value w = kn_builder_param(b, "w", counted(KN_SHAPE(3))),
          two = kn_builder_constant(b, kn_scalar(2, KN_F32));
    value e = op1(b, "exp", op2(b, "mul", w, two)), out[2] = {op2(b, "add", x, e), e};
    return finished(b, out, 2);
}

static void constants_are_computed_once(void)
{
    kn_program before = weighted(), after = weighted();
    CHECK(count_nodes(after) == 3);
    simplify(after, KN_PASS_CONSTANTS);
    CHECK(count_nodes(after) == 1 && count_ops(after, "add") == 1);
    kn_tensor x = kn_keep(counted(KN_SHAPE(2, 3)));
    CHECK(same_outputs(before, after, &x, 1));
    kn_program_free(before);
    kn_program_free(after);
}

static kn_program one_op(const char *name, const attribute *a)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n");
    value out[2] = {x, kn_builder_op(b, name, NULL, 0, a)};
    return finished(b, out, 2);
}

static void what_differs_from_run_to_run_stays(void)
{
    const attribute fixed[] = {
        {"shape", "4", 0}, {"dtype", "2", 0}, {"high", NULL, 1}, {"top", NULL, 1}, {0}};
    kn_program p = one_op("random_uniform", fixed);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "random_uniform") == 1);
    kn_tensor x = kn_keep(counted(KN_SHAPE(2))), first[2], second[2];
    CHECK(kn_program_run(p, &x, 1, first, 2) == KN_OK && kn_program_run(p, &x, 1, second, 2) == KN_OK);
    CHECK(!same_bits(first[1], second[1]));
    kn_program_free(p);
    p = one_op("full", (attribute[]){{"shape", "n", 0}, {"dtype", "2", 0}, {"value", NULL, 3}, {0}});
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "full") == 1);
    kn_program_free(p);
    p = one_op("full", (attribute[]){{"shape", "4", 0}, {"dtype", "2", 0}, {"value", NULL, 3}, {0}});
    simplify(p, KN_PASS_CONSTANTS);
    CHECK(count_ops(p, "full") == 0);
    CHECK(kn_program_run(p, &x, 1, first, 2) == KN_OK);
    CHECK_VALUES(first[1], 0, 3, 3, 3, 3);
    kn_program_free(p);
}

/* A weight of 256 KiB turned around, which `others` further ops read. */
static kn_program turned(bool others)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 256");
    value w = kn_builder_param(b, "w", kn_ones(KN_SHAPE(256, 256), KN_F32));
    value t = op(b, "permute", w, KN_NO_VALUE, (attribute[]){{"axes", "1, 0", 0}, {0}});
    value y = op2(b, "matmul", x, t), out[2] = {y, others ? op2(b, "matmul", x, w) : y};
    return finished(b, out, 2);
}

static void nothing_large_is_stored_twice(void)
{
    kn_program p = turned(false);
    simplify(p, KN_PASS_CONSTANTS);
    CHECK(count_ops(p, "permute") == 0);
    kn_program_free(p);
    p = turned(true);
    simplify(p, KN_PASS_CONSTANTS);
    CHECK(count_ops(p, "permute") == 1);
    kn_program_free(p);
    p = one_op("full", (attribute[]){{"shape", "1000, 1000", 0}, {"dtype", "2", 0}, {0}});
    simplify(p, KN_PASS_CONSTANTS);
    CHECK(count_ops(p, "full") == 1);
    kn_program_free(p);
}

static void failures_stay_those_of_runs(void)
{
    kn_builder b = kn_builder_new();
    value table = kn_builder_constant(b, counted(KN_SHAPE(3))),
          index = kn_builder_constant(b, kn_from((int64_t[]){7}, KN_I64, KN_SHAPE(1)));
    value y = op(b, "take", table, index, (attribute[]){{"axis", "0", 0}, {0}});
    kn_program p = finished(b, &y, 1);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "take") == 1);
    kn_tensor got;
    float read;
    kn_status s = kn_program_run(p, NULL, 0, &got, 1);
    CHECK_ERROR(s ? s : kn_read(got, &read, sizeof read), "index 7"); /* a queue fails when it is read */
    kn_program_free(p);
}

/* Params of a trace are read anew until they are frozen. */
static void params_of_a_trace_are_not_constants(void)
{
    kn_param w = kn_param_make(kn_full(KN_SHAPE(2), 3, KN_F32));
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32)), y, got;
    CHECK(kn_program_begin(NULL) == KN_OK);
    y = kn_keep(kn_add(x, kn_square(kn_value(w))));
    kn_program p = kn_program_end(&x, 1, &y, 1);
    if (!CHECK(p != NULL)) return;
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "square") == 1);
    CHECK(kn_param_set(&w, kn_full(KN_SHAPE(2), 5, KN_F32)) == KN_OK);
    CHECK(kn_program_run(p, &x, 1, &got, 1) == KN_OK);
    CHECK_VALUES(got, 0, 26, 26);
    simplify(p, KN_PASS_ALL | KN_PASS_FREEZE);
    CHECK(count_nodes(p) == 1);
    CHECK(kn_param_set(&w, kn_full(KN_SHAPE(2), 7, KN_F32)) == KN_OK);
    CHECK(kn_program_run(p, &x, 1, &got, 1) == KN_OK);
    CHECK_VALUES(got, 0, 26, 26);
    kn_program_free(p);
    kn_param_drop(&w);
}

/* if c then exp(x) * 2 else neg(x), where c is a constant; inside the first branch stands another If over an input. */
static kn_program chosen(bool holds)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), d = kn_builder_input(b, "d", KN_BOOL, "");
    value c = kn_builder_constant(b, kn_scalar_int(holds, KN_BOOL)), inner, y;
    kn_builder_if(b, c);
    value e = op1(b, "exp", x);
    kn_builder_if(b, d);
    value sum = op2(b, "add", e, e);
    kn_builder_else(b, &sum, 1);
    kn_builder_end(b, &e, 1, &inner, 1);
    value twice = op2(b, "add", inner, x);
    kn_builder_else(b, &twice, 1);
    value n = op1(b, "neg", x);
    kn_builder_end(b, &n, 1, &y, 1);
    value out[2] = {op1(b, "relu", y), y};
    return finished(b, out, 2);
}

static void a_constant_condition_chooses(void)
{
    for (int holds = 0; holds < 2; holds++) {
        kn_program before = chosen(holds), after = chosen(holds);
        simplify(after, KN_PASS_CONSTANTS);
        CHECK(count_ops(after, "if") == holds && count_ops(after, "exp") == holds);
        CHECK(count_ops(after, "neg") == 1 - holds && count_ops(after, "relu") == 1);
        for (int d = 0; d < 2; d++) {
            kn_tensor in[2] = {kn_keep(counted(KN_SHAPE(3))), kn_keep(kn_scalar_int(d, KN_BOOL))};
            CHECK(same_outputs(before, after, in, 2));
        }
        kn_program_free(before);
        kn_program_free(after);
    }
}

/* A name stays with the value, and what stands for another one takes its name where it has none. */
static void names_stay(void)
{
    char text[1000];
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), one = kn_builder_constant(b, kn_scalar(1, KN_F32));
    value folded = op1(b, "neg", one), first = op2(b, "add", x, folded), again = op2(b, "add", x, folded), y;
    kn_builder_if(b, kn_builder_constant(b, kn_scalar_int(1, KN_BOOL)));
    value chosen = op2(b, "mul", first, again);
    kn_builder_else(b, &chosen, 1);
    kn_builder_end(b, &x, 1, &y, 1);
    kn_builder_name(b, folded, "folded");
    kn_builder_name(b, again, "sum");
    kn_builder_name(b, y, "chosen");
    kn_program p = finished(b, &y, 1);
    simplify(p, KN_PASS_ALL);
    kn_program_print(p, text, sizeof text);
    if (!CHECK(!strcmp(text, "%2:sum = add($x, #1:folded) f32[n]\n"
                             "%3:chosen = mul(%2, %2) f32[n]\n"
                             "outputs %3\n")))
        printf("%s", text);
    kn_program_free(p);
}

/* ---- common subexpressions */

/* y = sum(exp(x), last axis) + sum(exp(x), axis 1), where `axis` is another way to write the last one. */
static kn_program twice(const char *axis)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 3");
    value s = op(b, "sum", op1(b, "exp", x), KN_NO_VALUE, (attribute[]){{"axes", "1", 0}, {0}});
    value t =
        op(b, "sum", op1(b, "exp", x), KN_NO_VALUE, (attribute[]){{"axes", axis, 0}, {"keep", "0", 0}, {0}});
    value out[3] = {s, t, op1(b, "neg", t)};
    return finished(b, out, 3);
}

static void the_same_is_computed_once(void)
{
    static const char *const axes[] = {"1", "-1", "0"};
    for (int i = 0; i < 3; i++) {
        kn_program before = twice(axes[i]), after = twice(axes[i]);
        if (!before || !after) return;
        simplify(after, KN_PASS_COMMON);
        CHECK(count_ops(after, "exp") == 1 && count_ops(after, "sum") == (i == 2 ? 2 : 1));
        kn_tensor x = kn_keep(counted(KN_SHAPE(3, 3)));
        CHECK(same_outputs(before, after, &x, 1));
        kn_program_free(before);
        kn_program_free(after);
    }
}

/* Two ops that draw, two differences of the same values in two orders, two constants of the same number. */
static void what_only_looks_the_same_stays(void)
{
    const attribute drawn[] = {
        {"shape", "4", 0}, {"dtype", "2", 0}, {"high", NULL, 1}, {"top", NULL, 1}, {0}};
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "4"), y = kn_builder_input(b, "y", KN_F32, "4");
    value two = kn_builder_constant(b, kn_scalar(2, KN_F32)),
          also = kn_builder_constant(b, kn_scalar(2, KN_F32));
    value three = kn_builder_constant(b, kn_scalar(3, KN_F32)),
          wide = kn_builder_constant(b, kn_scalar(2, KN_F64));
    value out[8] = {kn_builder_op(b, "random_uniform", NULL, 0, drawn),
                    kn_builder_op(b, "random_uniform", NULL, 0, drawn),
                    op2(b, "sub", x, y),
                    op2(b, "sub", y, x),
                    op2(b, "mul", x, two),
                    op2(b, "mul", x, also),
                    op2(b, "mul", x, three),
                    op2(b, "mul", x, wide)};
    kn_program p = finished(b, out, 8);
    simplify(p, KN_PASS_ALL);
    CHECK(count_ops(p, "random_uniform") == 2 && count_ops(p, "sub") == 2 && count_ops(p, "mul") == 3);
    kn_tensor in[2] = {kn_keep(counted(KN_SHAPE(4))), kn_keep(kn_ones(KN_SHAPE(4), KN_F32))}, got[8];
    CHECK(kn_program_run(p, in, 2, got, 8) == KN_OK);
    CHECK(!same_bits(got[0], got[1]) && same_bits(got[4], got[5]) && !same_bits(got[4], got[6]));
    kn_program_free(p);
}

/* exp(x) outside, in both branches and behind them; neg(x) in both branches and behind them alone. */
static kn_program in_regions(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), c = kn_builder_input(b, "c", KN_BOOL, ""), y;
    value outside = op1(b, "exp", x);
    kn_builder_if(b, c);
    value first = op2(b, "add", op1(b, "exp", x), op1(b, "neg", x));
    kn_builder_else(b, &first, 1);
    value second = op2(b, "mul", op1(b, "exp", x), op1(b, "neg", x));
    kn_builder_end(b, &second, 1, &y, 1);
    value out[4] = {y, outside, op1(b, "neg", x), op1(b, "exp", x)};
    return finished(b, out, 4);
}

static void only_what_surely_ran_before_is_used(void)
{
    kn_program before = in_regions(), after = in_regions();
    simplify(after, KN_PASS_COMMON);
    CHECK(count_ops(after, "exp") == 1 && count_ops(after, "neg") == 3);
    for (int c = 0; c < 2; c++) {
        kn_tensor in[2] = {kn_keep(counted(KN_SHAPE(3))), kn_keep(kn_scalar_int(c, KN_BOOL))};
        CHECK(same_outputs(before, after, in, 2));
    }
    kn_program_free(before);
    kn_program_free(after);
}

/* A loop whose body computes again what stands before it, and gives it as results. */
static kn_program in_a_loop(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), inside[2], out[3];
    value e = op1(b, "exp", x);
    kn_builder_loop(b, &(kn_loop_args){.trips = "3", .carried = &x, .n_carried = 1}, inside);
    value again = op1(b, "exp", x), own = op1(b, "exp", inside[1]);
    value results[3] = {own, again, op1(b, "exp", inside[1])};
    kn_builder_end(b, results, 3, out, 3);
    value all[4] = {out[0], out[1], out[2], e};
    return finished(b, all, 4);
}

static void loops_use_what_ran_before_them(void)
{
    kn_program before = in_a_loop(), after = in_a_loop();
    simplify(after, KN_PASS_COMMON);
    CHECK(count_ops(before, "exp") == 4 && count_ops(after, "exp") == 2);
    kn_tensor x = kn_keep(kn_full(KN_SHAPE(2), -1, KN_F32));
    CHECK(same_outputs(before, after, &x, 1));
    kn_program_free(before);
    kn_program_free(after);
}

/* ---- dead values */

static void what_leads_to_no_output_goes(void)
{
    kn_memory empty = kn_memory_stats();
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), unused = kn_builder_input(b, "unused", KN_F32, "m");
    static const float zeros[100000];
    kn_scope scope = kn_scope_begin();
    value w = kn_builder_param(b, "w", kn_from(zeros, KN_F32, KN_SHAPE(100000)));
    value v = kn_builder_param(b, "v", counted(KN_SHAPE(1)));
    op2(b, "add", op1(b, "exp", op1(b, "neg", w)), unused);
    value y = op2(b, "mul", x, v);
    op1(b, "relu", y);
    kn_program p = finished(b, &y, 1);
    kn_scope_end(scope, KN_NONE);
    simplify(p, KN_PASS_COMMON);
    CHECK(count_nodes(p) == 5);
    int64_t before = kn_memory_stats().bytes_now;
    simplify(p, KN_PASS_DEAD);
    CHECK(count_nodes(p) == 1 && before - kn_memory_stats().bytes_now >= 400000);
    CHECK(kn_program_inputs(p) == 2);
    kn_program_port port;
    CHECK(kn_program_input(p, 1, &port) == KN_OK && !strcmp(port.name, "unused") && !strcmp(port.shape, "m"));
    kn_tensor in[2] = {kn_keep(counted(KN_SHAPE(2))), kn_keep(counted(KN_SHAPE(5)))}, got;
    CHECK(kn_program_run(p, in, 2, &got, 1) == KN_OK);
    CHECK_VALUES(got, 0, 0.015625, 0.03125);
    kn_program_free(p);
    kn_drop(got);
    kn_drop(in[0]);
    kn_drop(in[1]);
    CHECK(kn_memory_stats().tensors_now == empty.tensors_now);
}

/* An op that draws and that nobody reads stands before one that is an output: this draws the same numbers without it as with it. */
static void random_ops_draw_the_same_numbers(void)
{
    const attribute drawn[] = {
        {"shape", "4", 0}, {"dtype", "2", 0}, {"high", NULL, 1}, {"top", NULL, 1}, {0}};
    kn_tensor got[2];
    for (int simple = 0; simple < 2; simple++) {
        kn_builder b = kn_builder_new();
        value c = kn_builder_input(b, "c", KN_BOOL, ""), one, y;
        op1(b, "exp", kn_builder_op(b, "random_uniform", NULL, 0, drawn));
        kn_builder_if(b, c);
        one = kn_builder_op(b, "random_uniform", NULL, 0, drawn);
        kn_builder_else(b, &one, 1);
        one = kn_builder_constant(b, kn_zeros(KN_SHAPE(4), KN_F32));
        kn_builder_end(b, &one, 1, &y, 1);
        y = kn_builder_op(b, "random_uniform", NULL, 0, drawn);
        kn_program p = finished(b, &y, 1);
        if (simple) simplify(p, KN_PASS_ALL);
        if (simple) CHECK(count_ops(p, "random_uniform") == 3 && count_ops(p, "exp") == 0);
        kn_seed(NULL, 7);
        kn_tensor in = kn_scalar_int(1, KN_BOOL);
        CHECK(kn_program_run(p, &in, 1, &got[simple], 1) == KN_OK);
        kn_program_free(p);
    }
    CHECK(same_bits(got[0], got[1]));
}

/* A function of the user's, of which nothing is known, runs as often as it stands there; a formula is an op like any other. */
static int calls;

static kn_status same_type(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    *out = *in;
    return KN_OK;
}

static kn_status count_call(void *context, const kn_span *in, const kn_span *out)
{
    (void)context;
    calls++;
    memcpy(out->data, in->data, 2 * sizeof(float));
    return KN_OK;
}

static void functions_of_the_user_stay(void)
{
    static bool registered;
    if (!registered) {
        CHECK(
            kn_custom_register(&(kn_custom_op){
                .name = "counts_calls", .n_in = 1, .n_out = 1, .infer = same_type, .forward = count_call}) !=
            NULL);
        CHECK(kn_op_define("plus_three", &(kn_body_args){.body = "y = x + 3"}) != NULL);
        registered = true;
    }
    kn_builder b = kn_builder_new();
    value c = kn_builder_constant(b, counted(KN_SHAPE(2)));
    value out[3] = {op1(b, "counts_calls", c), op1(b, "counts_calls", c), op1(b, "plus_three", c)};
    op1(b, "counts_calls", c);
    kn_program p = finished(b, out, 3);
    calls = 0;
    simplify(p, KN_PASS_ALL);
    CHECK(calls == 0 && count_ops(p, "counts_calls") == 3 && count_ops(p, "plus_three") == 0);
    kn_tensor got[3];
    CHECK(kn_program_run(p, NULL, 0, got, 3) == KN_OK);
    CHECK_VALUES(got[2], 0, 3.125, 3.25);
    kn_program_free(p);
}

/* An If with two results of which one is read, whose other one costs an op in each branch. */
static void regions_lose_results_that_nobody_reads(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), c = kn_builder_input(b, "c", KN_BOOL, ""), out[2];
    value only_inside = op1(b, "sin", x);
    kn_builder_if(b, c);
    value first[2] = {op1(b, "exp", only_inside), op1(b, "neg", x)};
    kn_builder_else(b, first, 2);
    value second[2] = {op1(b, "cos", x), op1(b, "relu", x)};
    kn_builder_end(b, second, 2, out, 2);
    kn_program p = finished(b, &out[1], 1);
    simplify(p, KN_PASS_DEAD);
    CHECK(count_nodes(p) == 3 && count_ops(p, "neg") == 1 && count_ops(p, "relu") == 1);
    for (int holds = 0; holds < 2; holds++) {
        kn_tensor in[2] = {kn_from((float[]){-1, 2}, KN_F32, KN_SHAPE(2)), kn_scalar_int(holds, KN_BOOL)},
                  got;
        CHECK(kn_program_run(p, in, 2, &got, 1) == KN_OK);
        CHECK_VALUES(got, 0, holds ? 1 : 0, holds ? -2 : 2);
    }
    kn_program_free(p);
}

/* Carried: a (read behind the loop), b (needed by a), d (needed by itself alone). Cut: s (needed), t (not). Stacked: two, one is read. */
static kn_program loop_with_rests(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), s = kn_builder_input(b, "s", KN_F32, "k, n"),
          t = kn_builder_input(b, "t", KN_F32, "k, n"),
          more = kn_builder_constant(b, kn_scalar_int(1, KN_BOOL));
    value carried[3] = {x, op1(b, "neg", x), op1(b, "exp", x)}, sliced[2] = {t, s}, in[6], out[5];
    kn_builder_loop(b,
                    &(kn_loop_args){.trips = "k",
                                    .condition = more,
                                    .carried = carried,
                                    .n_carried = 3,
                                    .sliced = sliced,
                                    .n_sliced = 2},
                    in);
    value a = op2(b, "add", in[1], in[2]), c = op2(b, "mul", in[2], in[5]), d = op2(b, "sub", in[3], in[4]);
    value results[6] = {more, a, c, d, op1(b, "sin", d), op1(b, "cos", a)};
    kn_builder_end(b, results, 6, out, 5);
    value all[2] = {out[0], out[4]};
    return finished(b, all, 2);
}

static void loops_lose_what_nobody_reads(void)
{
    kn_program before = loop_with_rests(), after = loop_with_rests();
    simplify(after, KN_PASS_DEAD);
    CHECK(count_ops(after, "sub") == 0 && count_ops(after, "sin") == 0 && count_ops(after, "exp") == 0);
    CHECK(count_ops(after, "add") == 1 && count_ops(after, "mul") == 1 && count_ops(after, "cos") == 1);
    kn_tensor in[3] = {kn_keep(counted(KN_SHAPE(2))), kn_keep(counted(KN_SHAPE(3, 2))),
                       kn_keep(counted(KN_SHAPE(3, 2)))};
    CHECK(same_outputs(before, after, in, 3));
    kn_program_free(before);
    kn_program_free(after);
}

/* A function with two results and two arguments, of which one each is needed, called twice; and one that is never called. */
static void functions_lose_what_nobody_needs(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), like[2] = {x, x}, in[2], out[2], last[2];
    kn_builder_function(b, "never", like, 1, in);
    value r = op1(b, "cos", in[0]);
    kn_builder_end(b, &r, 1, NULL, 0);
    kn_builder_function(b, "pair", like, 2, in);
    value results[2] = {op1(b, "neg", in[1]), op1(b, "exp", in[0])};
    kn_builder_end(b, results, 2, NULL, 0);
    value first[2] = {x, op1(b, "sin", x)};
    CHECK(kn_builder_call(b, "pair", first, 2, out, 2) == KN_OK);
    value second[2] = {out[1], out[0]};
    CHECK(kn_builder_call(b, "pair", second, 2, last, 2) == KN_OK);
    value third[2] = {op1(b, "cos", x), x}, unread[2]; /* a call that nobody reads, and what only it reads */
    CHECK(kn_builder_call(b, "pair", third, 2, unread, 2) == KN_OK);
    kn_program p = finished(b, &last[1], 1);
    simplify(p, KN_PASS_DEAD);
    CHECK(count_ops(p, "cos") == 0 && count_ops(p, "neg") == 0 && count_ops(p, "sin") == 0);
    CHECK(count_ops(p, "exp") == 1 && count_ops(p, "call") == 2);
    kn_tensor given = kn_zeros(KN_SHAPE(1), KN_F32), got;
    CHECK(kn_program_run(p, &given, 1, &got, 1) == KN_OK);
    CHECK_VALUES(got, 1e-6, 2.718281828);
    kn_program_free(p);
}

/* ---- all of it */

static void bad_calls_are_told(void)
{
    kn_program p = weighted();
    CHECK_ERROR(kn_program_simplify(p, 64), "64 has bits that are no pass");
    CHECK(kn_program_simplify(p, 0) == KN_OK && count_nodes(p) == 3);
    kn_program_free(p);
}

/* Whichever allocation fails, the program goes on giving the same. */
static void a_failure_leaves_the_program_good(void)
{
    kn_program (*const make[])(void) = {in_a_loop, in_regions, weighted};
    kn_tensor in[2] = {KN_NONE, kn_keep(kn_scalar_int(1, KN_BOOL))};
    int failures = 0;
    for (int k = 0; k < 3; k++) {
        kn_program before = make[k]();
        in[0] = kn_keep(k == 2 ? counted(KN_SHAPE(2, 3)) : kn_full(KN_SHAPE(2), -1, KN_F32));
        for (int64_t n = 1; n < 20; n++) {
            kn_program after = make[k]();
            kn_memory_fail_after(n);
            failures += kn_program_simplify(after, KN_PASS_ALL) != KN_OK;
            kn_memory_fail_after(0);
            CHECK(same_outputs(before, after, in, kn_program_inputs(before)));
            kn_program_free(after);
        }
        kn_program_free(before);
    }
    CHECK(failures > 4);
}

int main(void)
{
    static const char *const devices[] = {"cpu", "ref", "fusion(cpu)", "autodiff(cpu)"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        kn_device_use(kn_device_open(devices[i]));
        kn_scope scope = kn_scope_begin();
        constants_are_computed_once();
        what_differs_from_run_to_run_stays();
        nothing_large_is_stored_twice();
        failures_stay_those_of_runs();
        params_of_a_trace_are_not_constants();
        a_constant_condition_chooses();
        names_stay();
        the_same_is_computed_once();
        what_only_looks_the_same_stays();
        only_what_surely_ran_before_is_used();
        loops_use_what_ran_before_them();
        what_leads_to_no_output_goes();
        random_ops_draw_the_same_numbers();
        functions_of_the_user_stay();
        regions_lose_results_that_nobody_reads();
        loops_lose_what_nobody_reads();
        functions_lose_what_nobody_needs();
        bad_calls_are_told();
        a_failure_leaves_the_program_good();
        kn_scope_end(scope, KN_NONE);
        kn_device_use(NULL);
    }
    CHECK(kn_shutdown() == 0);
    return check_report();
}
