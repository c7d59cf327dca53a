/* Programs that are built: sizes that differ from run to run, attributes with sizes, If, loops, functions, and what is refused. */
#include "support/check.h"
#include <kn.h>
#include <kn/program.h>
#include <string.h>
#include <time.h>

static const char *const devices[] = {"cpu", "ref", "fusion(cpu)", "autodiff(cpu)"};

typedef kn_program_value value;

static value op(kn_builder b, const char *name, value x, value y, const kn_builder_attribute *a)
{
    value in[2] = {x, y};
    return kn_builder_op(b, name, in, y.id ? 2 : 1, a);
}

static kn_tensor counted(kn_shape shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    return kn_reshape(kn_mul_scalar(kn_arange(0, (double)n, 1, KN_F32), 0.125), shape);
}

static bool same(kn_tensor a, kn_tensor b)
{
    bool equal = false;
    kn_tensor all = kn_all(kn_is_close(a, b, 1e-5, 1e-6, false), KN_AXES_ALL, false);
    return kn_ok(all) && kn_read(all, &equal, 1) == KN_OK && equal;
}

/* ---- attention of a symbolic length: sizes flow through reshapes and products */

static kn_program attention(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "length", 1, 64);
    value x = kn_builder_input(b, "x", KN_F32, "batch, length, 8");
    value w = kn_builder_param(b, "w", counted(KN_SHAPE(8, 8)));
    value q = op(b, "matmul", x, w, NULL);
    value split =
        op(b, "reshape", q, KN_NO_VALUE, (kn_builder_attribute[]){{"shape", "batch, length, 2, 4", 0}, {0}});
    value heads =
        op(b, "permute", split, KN_NO_VALUE, (kn_builder_attribute[]){{"axes", "0, 2, 1, 3", 0}, {0}});
    value turned =
        op(b, "permute", heads, KN_NO_VALUE, (kn_builder_attribute[]){{"axes", "0, 1, 3, 2", 0}, {0}});
    value scores = op(b, "softmax", op(b, "matmul", heads, turned, NULL), KN_NO_VALUE,
                      (kn_builder_attribute[]){{"axis", "-1", 0}, {0}});
    value mixed = op(b, "permute", op(b, "matmul", scores, heads, NULL), KN_NO_VALUE,
                     (kn_builder_attribute[]){{"axes", "0, 2, 1, 3", 0}, {0}});
    value y =
        op(b, "reshape", mixed, KN_NO_VALUE, (kn_builder_attribute[]){{"shape", "-1, length, 8", 0}, {0}});
    kn_program p = kn_builder_finish(b, &y, (const char *[]){"y"}, 1);
    kn_builder_free(b);
    return p;
}

static kn_tensor attention_by_ops(kn_tensor x, int64_t batch, int64_t length)
{
    kn_tensor q = kn_matmul(x, counted(KN_SHAPE(8, 8)));
    kn_tensor heads = kn_keep(kn_permute(kn_reshape(q, KN_SHAPE(batch, length, 2, 4)), KN_INTS(0, 2, 1, 3)));
    kn_tensor scores = kn_softmax(kn_matmul(heads, kn_permute(heads, KN_INTS(0, 1, 3, 2))), -1);
    return kn_reshape(kn_permute(kn_matmul(scores, heads), KN_INTS(0, 2, 1, 3)), KN_SHAPE(batch, length, 8));
}

static void runs_with_other_sizes(void)
{
    kn_program p = attention();
    if (!CHECK(p != NULL)) {
        printf("  %s\n", kn_last_error());
        return;
    }
    kn_program_port port;
    CHECK(kn_program_input(p, 0, &port) == KN_OK && !strcmp(port.name, "x") &&
          !strcmp(port.shape, "batch, length, 8"));
    CHECK(kn_program_output(p, 0, &port) == KN_OK && !strcmp(port.name, "y") &&
          !strcmp(port.shape, "batch, length, 8"));
    const int64_t sizes[][2] = {{1, 1}, {2, 5}, {3, 7}, {2, 5}};
    for (int i = 0; i < 4; i++) {
        kn_tensor x = kn_keep(counted(KN_SHAPE(sizes[i][0], sizes[i][1], 8))), y;
        CHECK(kn_program_run(p, &x, 1, &y, 1) == KN_OK);
        if (!CHECK(same(y, attention_by_ops(x, sizes[i][0], sizes[i][1])))) printf("  %s\n", kn_last_error());
    }
    kn_tensor long_one = kn_ones(KN_SHAPE(1, 65, 8), KN_F32), wrong = kn_ones(KN_SHAPE(1, 2, 9), KN_F32), y;
    CHECK_ERROR(kn_program_run(p, &long_one, 1, &y, 1), "length may be 1 to 64");
    CHECK_ERROR(kn_program_run(p, &wrong, 1, &y, 1),
                "input 'x' is [1, 2, 9]; the program takes [batch, length, 8]");
    kn_program_free(p);
}

/* ---- control */

static void chooses(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), c = kn_builder_input(b, "c", KN_BOOL, ""), y, outer;
    outer = op(b, "exp", x, KN_NO_VALUE, NULL);
    kn_builder_if(b, c);
    value first = op(b, "add", outer, x, NULL);
    kn_builder_else(b, &first, 1);
    value second = op(b, "neg", x, KN_NO_VALUE, NULL);
    CHECK(kn_builder_end(b, &second, 1, &y, 1) == KN_OK);
    kn_program p = kn_builder_finish(b, &y, NULL, 1);
    kn_builder_free(b);
    if (!CHECK(p != NULL)) return;
    for (int holds = 0; holds < 2; holds++) {
        kn_tensor in[2] = {kn_keep(counted(KN_SHAPE(3 + holds))), kn_scalar_int(holds, KN_BOOL)}, got;
        CHECK(kn_program_run(p, in, 2, &got, 1) == KN_OK);
        CHECK(same(got, holds ? kn_add(kn_exp(in[0]), in[0]) : kn_neg(in[0])));
    }
    kn_program_free(p);
}

/* h = tanh(h w + x[t]) over the slices of x: a recurrent layer, with all h stacked. */
static void repeats(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "steps, batch, 4"),
          h = kn_builder_input(b, "h", KN_F32, "batch, 4");
    value w = kn_builder_param(b, "w", kn_mul_scalar(counted(KN_SHAPE(4, 4)), 0.1)), inside[3], out[2];
    CHECK(kn_builder_loop(
              b,
              &(kn_loop_args){.trips = "steps", .carried = &h, .n_carried = 1, .sliced = &x, .n_sliced = 1},
              inside) == KN_OK);
    value next =
        op(b, "tanh", op(b, "add", op(b, "matmul", inside[1], w, NULL), inside[2], NULL), KN_NO_VALUE, NULL);
    value results[2] = {next, next};
    CHECK(kn_builder_end(b, results, 2, out, 2) == KN_OK);
    kn_program p = kn_builder_finish(b, out, NULL, 2);
    kn_builder_free(b);
    if (!CHECK(p != NULL)) {
        printf("  %s\n", kn_last_error());
        return;
    }
    for (int64_t steps = 1; steps < 6; steps += 2) {
        kn_tensor in[2] = {kn_keep(counted(KN_SHAPE(steps, 2, 4))), kn_keep(kn_ones(KN_SHAPE(2, 4), KN_F32))},
                  got[2];
        kn_tensor now = in[1], weight = kn_keep(kn_mul_scalar(counted(KN_SHAPE(4, 4)), 0.1));
        for (int64_t t = 0; t < steps; t++)
            now = kn_keep(kn_tanh(kn_add(kn_matmul(now, weight), kn_select(in[0], 0, t))));
        CHECK(kn_program_run(p, in, 2, got, 2) == KN_OK);
        got[1] = kn_keep(got[1]);
        CHECK(kn_size(got[1], 0) == steps && same(kn_select(got[1], 0, steps - 1), now) && same(got[0], now));
    }
    kn_program_free(p);
}

/* Doubles x until it is 100 or more. */
static void ends_by_a_condition(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, ""), inside[2], y;
    value hundred = kn_builder_constant(b, kn_scalar(100, KN_F32));
    value start = op(b, "less", x, hundred, NULL);
    kn_builder_loop(b, &(kn_loop_args){.condition = start, .max_trips = 10, .carried = &x, .n_carried = 1},
                    inside);
    value twice = op(b, "add", inside[1], inside[1], NULL);
    value results[2] = {op(b, "less", twice, hundred, NULL), twice};
    CHECK(kn_builder_end(b, results, 2, &y, 1) == KN_OK);
    kn_program p = kn_builder_finish(b, &y, NULL, 1);
    kn_builder_free(b);
    if (!CHECK(p != NULL)) {
        printf("  %s\n", kn_last_error());
        return;
    }
    kn_tensor in = kn_scalar(3, KN_F32), got;
    CHECK(kn_program_run(p, &in, 1, &got, 1) == KN_OK);
    CHECK_VALUES(got, 0, 192);
    in = kn_scalar(500, KN_F32);
    CHECK(kn_program_run(p, &in, 1, &got, 1) == KN_OK);
    CHECK_VALUES(got, 0, 500);
    in = kn_scalar(0.001, KN_F32);
    CHECK_ERROR(kn_program_run(p, &in, 1, &got, 1), "still holds after 10 trips");
    kn_program_free(p);
}

/* Doubles x up to six times, until it is 100 or more, and keeps what each trip gives: stacked, or written into a tensor of six elements,
   beside the number of trips. */
static kn_program doubled(bool stacks)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, ""), hundred = kn_builder_constant(b, kn_scalar(100, KN_F32));
    value room = kn_builder_constant(b, kn_zeros(KN_SHAPE(6), KN_F32));
    value zero = kn_builder_constant(b, kn_scalar_int(0, KN_I64)),
          one = kn_builder_constant(b, kn_scalar_int(1, KN_I64));
    value carried[3] = {x, zero, room}, seen[4], out[3];
    kn_loop_args loop = {.trips = "6", .carried = carried, .n_carried = stacks ? 2 : 3};
    loop.condition = op(b, "less", x, hundred, NULL);
    kn_builder_loop(b, &loop, seen);
    const kn_builder_attribute single[] = {{"shape", "1", 0}, {0}};
    value twice = op(b, "add", seen[1], seen[1], NULL), kept = twice;
    value at[3] = {seen[3], op(b, "reshape", seen[0], KN_NO_VALUE, single),
                   op(b, "reshape", twice, KN_NO_VALUE, single)};
    if (!stacks) kept = kn_builder_op(b, "select_assign", at, 3, NULL);
    value results[4] = {op(b, "less", twice, hundred, NULL), twice, op(b, "add", seen[2], one, NULL), kept};
    kn_builder_end(b, results, 4, out, 3);
    kn_program p = kn_builder_finish(b, out, NULL, 3);
    if (!CHECK(p != NULL)) printf("  %s\n", kn_last_error());
    kn_builder_free(b);
    return p;
}

/* A stack has as many slices as there were trips. */
static void keeps_what_trips_give_until_a_condition(void)
{
    kn_program stacks = doubled(true), writes = doubled(false);
    kn_tensor in = kn_keep(kn_scalar(3, KN_F32)), got[3];
    CHECK(kn_program_run(stacks, &in, 1, got, 3) == KN_OK); /* after six trips, which is not early */
    CHECK_VALUES(got[2], 0, 6, 12, 24, 48, 96, 192);
    in = kn_keep(kn_scalar(30, KN_F32));
    CHECK(kn_program_run(stacks, &in, 1, got, 3) == KN_OK && kn_size(got[2], 0) == 2);
    CHECK_VALUES(got[2], 0, 60, 120);
    CHECK(kn_program_run(writes, &in, 1, got, 3) == KN_OK && kn_item_int(got[1]) == 2);
    CHECK_VALUES(got[2], 0, 60, 120, 0, 0, 0, 0);
    kn_program_free(stacks);
    kn_program_free(writes);
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, ""), go = kn_builder_input(b, "go", KN_BOOL, ""), seen[2],
          out[2];
    kn_builder_loop(b, &(kn_loop_args){.condition = go, .max_trips = 6, .carried = &x, .n_carried = 1}, seen);
    CHECK(kn_builder_end(b, (value[]){go, seen[1], seen[1]}, 3, out, 2) == KN_OK);
    kn_program_port port;
    CHECK(kn_builder_type(b, out[1], &port) == KN_OK && !strcmp(port.shape, "loop_size_0"));
    kn_program endless = kn_builder_finish(b, out, NULL, 2);
    kn_builder_free(b);
    for (int holds = 0; holds < 2; holds++) {
        kn_tensor given[2] = {kn_keep(kn_scalar(3, KN_F32)), kn_keep(kn_scalar_int(holds, KN_BOOL))};
        if (holds)
            CHECK_ERROR(kn_program_run(endless, given, 2, got, 2), "still holds after 6 trips");
        else
            CHECK(kn_program_run(endless, given, 2, got, 2) == KN_OK && kn_size(got[1], 0) == 0);
    }
    kn_program_free(endless);
}

static void calls_functions(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), inside, y;
    CHECK(kn_builder_function(b, "square", &x, 1, &inside) == KN_OK);
    value squared = op(b, "mul", inside, inside, NULL);
    CHECK(kn_builder_end(b, &squared, 1, NULL, 0) == KN_OK);
    CHECK(kn_builder_call(b, "square", &x, 1, &y, 1) == KN_OK);
    CHECK(kn_builder_call(b, "square", &y, 1, &y, 1) == KN_OK);
    kn_program p = kn_builder_finish(b, &y, NULL, 1);
    kn_builder_free(b);
    if (!CHECK(p != NULL)) return;
    kn_tensor in = kn_from((float[]){1, 2, 3}, KN_F32, KN_SHAPE(3)), got;
    CHECK(kn_program_run(p, &in, 1, &got, 1) == KN_OK);
    CHECK_VALUES(got, 0, 1, 16, 81);
    kn_program_free(p);
}

/* ---- refusals */

static void mistakes_are_told(void)
{
    static const char *const shapes[] = {"a b", "2 *", "-1", "1, 2, 3, 4, 5, 6, 7, 8, 9", "a / 0"};
    for (int i = 0; i < 5; i++) {
        kn_builder b = kn_builder_new();
        CHECK(kn_builder_input(b, "x", KN_F32, shapes[i]).id == 0 && strstr(kn_last_error(), "is no list"));
        kn_builder_free(b);
    }
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 3"), y = kn_builder_input(b, "y", KN_F32, "4, 5");
    CHECK(op(b, "matmul", x, y, NULL).id == 0);
    CHECK(kn_builder_op(b, "exp", &x, 1, NULL).id == 0); /* everything fails after the first */
    CHECK(kn_builder_finish(b, &x, NULL, 1) == NULL && strstr(kn_last_error(), "kn_matmul"));
    kn_builder_free(b);
    b = kn_builder_new();
    x = kn_builder_input(b, "x", KN_F32, "n");
    kn_builder_if(b, x);
    kn_builder_else(b, &x, 1);
    CHECK(kn_builder_end(b, &x, 1, &y, 1) != KN_OK &&
          strstr(kn_last_error(), "the condition must be one bool"));
    kn_builder_free(b);
    b = kn_builder_new();
    x = kn_builder_input(b, "x", KN_F32, "n");
    value c = kn_builder_input(b, "c", KN_BOOL, "");
    kn_builder_if(b, c);
    value hidden = op(b, "exp", x, KN_NO_VALUE, NULL);
    kn_builder_else(b, &hidden, 1);
    CHECK(op(b, "neg", hidden, KN_NO_VALUE, NULL).id == 0 && strstr(kn_last_error(), "belongs to a region"));
    kn_builder_free(b);
    b = kn_builder_new();
    x = kn_builder_input(b, "x", KN_F32, "n"), c = kn_builder_input(b, "c", KN_BOOL, "");
    kn_builder_if(b, c);
    hidden = op(b, "exp", x, KN_NO_VALUE, NULL);
    kn_builder_else(b, &hidden, 1);
    CHECK(kn_builder_end(b, &x, 1, &y, 1) == KN_OK);
    CHECK(kn_builder_finish(b, &hidden, NULL, 1) == NULL &&
          strstr(kn_last_error(), "result 0 is no value of this region"));
    kn_builder_free(b);
}

/* What a builder knows of values while it builds. */
static void values_have_types(void)
{
    kn_builder b = kn_builder_new();
    kn_program_port port;
    value x = kn_builder_input(b, "x", KN_F16, "n, 4"), c = kn_builder_input(b, "c", KN_BOOL, "");
    value y = op(b, "reshape", x, KN_NO_VALUE, (kn_builder_attribute[]){{"shape", "2 * n, 2", 0}, {0}});
    CHECK(kn_builder_type(b, x, &port) == KN_OK && !strcmp(port.name, "x") && port.dtype == KN_F16 &&
          port.rank == 2 && !strcmp(port.shape, "n, 4"));
    CHECK(kn_builder_type(b, c, &port) == KN_OK && port.dtype == KN_BOOL && port.rank == 0 && !*port.shape);
    CHECK(kn_builder_type(b, y, &port) == KN_OK && !strcmp(port.shape, "2 * n, 2") && !*port.name);
    CHECK(kn_builder_name(b, y, "folded") == KN_OK);
    CHECK(kn_builder_type(b, y, &port) == KN_OK && !strcmp(port.name, "folded"));
    CHECK_ERROR(kn_builder_type(b, KN_NO_VALUE, &port), "no value of the builder");
    CHECK_ERROR(kn_builder_type(b, y, NULL), "the port is NULL");
    CHECK(op(b, "neg", y, KN_NO_VALUE, NULL).id > 0); /* a question that has no answer ends nothing */
    CHECK_ERROR(kn_builder_name(b, KN_NO_VALUE, "nothing"), "'nothing' is to name what is no value");
    CHECK(kn_builder_type(b, y, &port) != KN_OK && !*port.shape);
    kn_builder_free(b);
}

static void long_shapes_are_told(void)
{
    kn_builder b = kn_builder_new();
    char name[48] = "", shape[2000] = "";
    kn_program_port port;
    memset(name, 'n', sizeof name - 1);
    for (int i = 0; i < 28; i++) /* seven sums of four names */
        snprintf(shape + strlen(shape), 60, "%s%02d%s", name + 2, i, i % 4 == 3 ? ", " : " + ");
    value x = kn_builder_input(b, "x", KN_F32, shape);
    CHECK_ERROR(kn_builder_type(b, x, &port), "longer than the 1023 bytes");
    kn_builder_free(b);
}

static void values_have_names(void)
{
    kn_builder b = kn_builder_new();
    char text[1000];
    value x = kn_builder_input(b, "x", KN_F32, "4"), two = kn_builder_constant(b, kn_scalar(2, KN_F32));
    value seen[2], after, twice = op(b, "mul", x, two, NULL);
    kn_loop_args loop = {.trips = "3", .carried = &twice, .n_carried = 1};
    CHECK(kn_builder_name(b, x, "not_this") == KN_OK && kn_builder_name(b, two, "two") == KN_OK);
    CHECK(kn_builder_name(b, twice, "first") == KN_OK && kn_builder_name(b, twice, "twice x") == KN_OK);
    CHECK(kn_builder_loop(b, &loop, seen) == KN_OK && kn_builder_name(b, seen[1], "h") == KN_OK);
    value next = op(b, "tanh", seen[1], KN_NO_VALUE, NULL);
    CHECK(kn_builder_name(b, next, "gone") == KN_OK && kn_builder_name(b, next, NULL) == KN_OK);
    CHECK(kn_builder_end(b, &next, 1, &after, 1) == KN_OK && kn_builder_name(b, after, "last") == KN_OK);
    kn_program p = kn_builder_finish(b, &after, NULL, 1);
    kn_builder_free(b);
    kn_program_print(p, text, sizeof text);
    if (!CHECK(!strcmp(text, "%2:twice x = mul($x, #1:two) f32[4]\n"
                             "%6:last = loop(%2, trips=3) f32[4]\n"
                             "  each trip (^3, ^4:h):\n"
                             "    %5 = tanh(^4) f32[4]\n"
                             "    gives %5\n"
                             "outputs %6\n")))
        printf("%s", text);
    kn_program_free(p);
    b = kn_builder_new();
    x = kn_builder_input(b, "x", KN_F32, "4");
    CHECK_ERROR(kn_builder_name(b, op(b, "neg", x, KN_NO_VALUE, NULL), "two\nlines"), "control characters");
    kn_builder_free(b);
}

/* The attributes that there are, the one that was probably meant first. */
static void wrong_attributes_are_told(void)
{
    static const struct {
        const char *op, *given, *words;
    } wrong[] = {{"sum", "kept", "kn_sum: it has no attribute 'kept'; there is keep, axes"},
                 {"sum", "nothing_like_it", "'nothing_like_it'; there is axes, keep"},
                 {"exp", "axis", "kn_exp: it has no attribute 'axis'; there is none"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kn_builder b = kn_builder_new();
        value x = kn_builder_input(b, "x", KN_F32, "n");
        kn_builder_attribute a[] = {{wrong[i].given, "0", 0}, {0}};
        CHECK(op(b, wrong[i].op, x, KN_NO_VALUE, a).id == 0 && strstr(kn_last_error(), wrong[i].words));
        kn_builder_free(b);
    }
}

static void dtypes_have_names(void)
{
    kn_builder b = kn_builder_new();
    kn_program_port port;
    value x = kn_builder_input(b, "x", KN_F32, "n");
    value y = op(b, "cast", x, KN_NO_VALUE, (kn_builder_attribute[]){{"dtype", "i16", 0}, {0}});
    CHECK(kn_builder_type(b, y, &port) == KN_OK && port.dtype == KN_I16);
    y = op(b, "cast", x, KN_NO_VALUE, (kn_builder_attribute[]){{"dtype", "f23", 0}, {0}});
    CHECK(y.id == 0 && strstr(kn_last_error(), "dtype takes no symbolic size"));
    kn_builder_free(b);
}

/* A region's results are values that it sees. */
static void foreign_results_are_refused(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), c = kn_builder_input(b, "c", KN_BOOL, ""), y;
    kn_builder_if(b, c);
    value hidden = op(b, "exp", x, KN_NO_VALUE, NULL);
    kn_builder_else(b, &hidden, 1);
    CHECK(kn_builder_end(b, &hidden, 1, &y, 1) != KN_OK &&
          strstr(kn_last_error(), "is no value of this region"));
    kn_builder_free(b);
    b = kn_builder_new();
    x = kn_builder_input(b, "x", KN_F32, "n");
    kn_builder_function(b, "f", &x, 1, &y);
    kn_builder_end(b, &y, 1, NULL, 0);
    CHECK(kn_builder_finish(b, &y, NULL, 1) == NULL && strstr(kn_last_error(), "is no value of this region"));
    kn_builder_free(b);
}

/* f1 calls f0, f2 calls f1 and so on: as deep as the stack allows, and no deeper. */
static void calls_have_a_depth(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), inside, y;
    kn_status s = KN_OK;
    int made = 0;
    for (; made < 200 && s == KN_OK; made++) {
        char name[8], before[8];
        snprintf(name, sizeof name, "f%d", made);
        snprintf(before, sizeof before, "f%d", made - 1);
        kn_builder_function(b, name, &x, 1, &inside);
        y = op(b, "neg", inside, KN_NO_VALUE, NULL);
        if (made) s = kn_builder_call(b, before, &inside, 1, &y, 1);
        if (s == KN_OK) s = kn_builder_end(b, &y, 1, NULL, 0);
    }
    CHECK(made > 16 && made < 100 && strstr(kn_last_error(), "nested deeper than 64"));
    kn_builder_free(b);
}

/* Each function calls the one before it twice, and the first one reads a size: 2^60 calls, which no builder may walk. */
static void calls_are_not_walked(void)
{
    enum { LEVELS = 60 };
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n"), count = kn_builder_input(b, "count", KN_I64, ""), y;
    value like[2] = {x, count}, inside[2];
    kn_status s = KN_OK;
    for (int level = 0; level < LEVELS && s == KN_OK; level++) {
        char name[8], before[8];
        snprintf(name, sizeof name, "f%d", level);
        snprintf(before, sizeof before, "f%d", level - 1);
        kn_builder_function(b, name, like, 2, inside);
        y = inside[0];
        if (!level) s = kn_builder_read_size(b, "read", inside[1], 0, 9);
        for (int k = 0; k < 2 && level && s == KN_OK; k++)
            s = kn_builder_call(b, before, (value[]){y, inside[1]}, 2, &y, 1);
        if (s == KN_OK) s = kn_builder_end(b, &y, 1, NULL, 0);
    }
    kn_program p = s ? NULL : kn_builder_finish(b, &x, NULL, 1);
    if (!CHECK(p != NULL)) printf("  %s\n", kn_last_error());
    kn_builder_free(b);
    kn_program_free(p);
}

/* A key of all 64 bits is no expression of sizes. */
static void random_numbers_with_any_seed(void)
{
    static const uint64_t seeds[] = {1, 0x8000000000000001, 0xA000000000000001, 0xC000000000000001};
    for (int i = 0; i < 4; i++) {
        kn_seed(NULL, seeds[i]);
        CHECK(kn_program_begin(NULL) == KN_OK);
        kn_tensor x = kn_keep(kn_random_uniform(KN_SHAPE(4), 0, 1, KN_F32)), y;
        kn_program p = kn_program_end(NULL, 0, &x, 1);
        if (!CHECK(kn_program_run(p, NULL, 0, &y, 1) == KN_OK)) printf("  %s\n", kn_last_error());
        kn_program_free(p);
    }
}

/* Adds x n times while it is traced, sometimes by another handle of the sum; returns the seconds of that. */
static double trace_long(int n, kn_program *p)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32)), y = kn_alias(x);
    clock_t start = clock();
    CHECK(kn_program_begin(NULL) == KN_OK);
    for (int i = 0; i < n; i++) {
        if (i % 3 == 0) y = kn_detach(y);
        y = kn_add(y, x);
    }
    y = kn_keep(y);
    *p = kn_program_end(&x, 1, &y, 1);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    kn_scope_end(scope, KN_NONE);
    return seconds;
}

/* Sixteen times the ops take some sixteen times the time: with a search through all values it would be 256 times. */
static void long_traces_take_their_time(void)
{
    double least = 1e9, ratio = 1e9;
    for (int attempt = 0; attempt < 5 && ratio > 64; attempt++) {
        kn_program small = NULL, large = NULL;
        double seconds = trace_long(4000, &small);
        if (seconds < least) least = seconds;
        ratio = trace_long(64000, &large) / (least > 1e-4 ? least : 1e-4);
        kn_tensor x = kn_ones(KN_SHAPE(2), KN_F32), y = KN_NONE;
        CHECK(large && kn_program_run(large, &x, 1, &y, 1) == KN_OK);
        CHECK_VALUES(y, 0, 64001, 64001);
        kn_program_free(small);
        kn_program_free(large);
    }
    if (!CHECK(ratio <= 64)) printf("  %g times as long\n", ratio);
}

int main(void)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        kn_device device = kn_device_open(devices[i]);
        kn_device_use(device);
        kn_scope scope = kn_scope_begin();
        runs_with_other_sizes();
        chooses();
        repeats();
        ends_by_a_condition();
        keeps_what_trips_give_until_a_condition();
        calls_functions();
        kn_scope_end(scope, KN_NONE);
        kn_device_use(NULL);
    }
    mistakes_are_told();
    foreign_results_are_refused();
    wrong_attributes_are_told();
    dtypes_have_names();
    values_have_types();
    long_shapes_are_told();
    values_have_names();
    calls_have_a_depth();
    calls_are_not_walked();
    random_numbers_with_any_seed();
    long_traces_take_their_time();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
