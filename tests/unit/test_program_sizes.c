/* Symbolic sizes in programs: every attribute takes one or says that it does not, slices of any direction have the type that comes out,
   and no chain of ops makes sizes that grow without end. */
#include "core/dim_symbols.h"
#include "support/check.h"
#include <kn.h>
#include <kn/op_info.h>
#include <kn/program.h>
#include <string.h>

typedef kn_program_value value;
#define ATTRIBUTES(...) ((kn_builder_attribute[]){__VA_ARGS__, {0}})
#define END_TEXT "9223372036854775807"

/* ---- what the sizes n and m are, beside the program */

static int64_t n_now, m_now;

static kn_shape shape_of_text(const char *text)
{
    kni_dims *own = kni_dims_new(), *before = kni_dims_enter(own);
    kn_dim names[2] = {kni_dim_symbol("n", 1, 8), kni_dim_symbol("m", 1, 8)};
    kn_shape shape = {0, {0}};
    while (*text) {
        kn_dim d = kni_dim_parse(&text);
        shape.dims[shape.rank++] = kni_dim_evaluate(d, names, (int64_t[]){n_now, m_now}, 2);
        if (*text == ',') text++;
        while (*text == ' ') text++;
    }
    kni_dims_enter(before);
    kni_dims_free(own);
    return shape;
}

/* Whether each result has the type that the program says. */
static bool types_hold(kn_program p, const kn_tensor *y, int32_t n)
{
    bool good = true;
    for (int32_t i = 0; i < n; i++) {
        kn_program_port port;
        if (kn_program_output(p, i, &port) != KN_OK) return false;
        kn_shape want = shape_of_text(port.shape), have = kn_shape_of_tensor(y[i]);
        bool same = want.rank == have.rank && port.dtype == kn_dtype_of(y[i]);
        for (int a = 0; a < have.rank && same; a++) same = want.dims[a] == have.dims[a];
        if (!same)
            printf("  output %d is [%s] with n %d and m %d, and has %d elements\n", (int)i, port.shape,
                   (int)n_now, (int)m_now, (int)kn_count(y[i]));
        good = good && same;
    }
    return good;
}

static kn_builder begin(value *sizes)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 8);
    kn_builder_size(b, "m", 1, 8);
    *sizes = kn_builder_input(b, "sizes", KN_U8, "n, m");
    return b;
}

static kn_tensor sizes_now(void) { return kn_keep(kn_zeros(KN_SHAPE(n_now, m_now), KN_U8)); }

/* ---- every whole-number attribute of every op */

typedef struct working {
    const char *op, *attribute;
    const char *in[2]; /* shapes of inputs; indices where the op takes integers */
    kn_dtype dtype;
    kn_builder_attribute given[6];
    int32_t n_out;
} working;

static const working table[] = {
    {"adaptive_avg_pool", "size", {"2, 3, n"}, KN_F32, {{"size", "m", 0}}, 1},
    {"adaptive_max_pool", "size", {"2, 3, n"}, KN_F32, {{"size", "m + 1", 0}}, 2},
    {"bincount", "length", {"n"}, KN_I64, {{"length", "m + 2", 0}}, 1},
    {"categorical", "samples", {"n, 3"}, KN_F32, {{"samples", "m", 0}}, 1},
    {"col2im", "size", {"1, 3, m"}, KN_F32, {{"axes", "1", 0}, {"window", "3", 0}, {"size", "m + 2", 0}}, 1},
    {"expand", "shape", {"n, 1"}, KN_F32, {{"shape", "m, n, m", 0}}, 1},
    {"full", "shape", {0}, KN_F32, {{"shape", "n, 2 * m", 0}, {"dtype", "2", 0}}, 1},
    {"full", "whole", {0}, KN_F32, {{"shape", "2", 0}, {"dtype", "5", 0}, {"whole", "m - 9 + n + 8", 0}}, 1},
    {"interpolate", "size", {"1, 2, n"}, KN_F32, {{"size", "2 * m", 0}}, 1},
    {"iota", "length", {0}, KN_F32, {{"length", "n * m", 0}, {"dtype", "5", 0}}, 1},
    {"iota", "whole_start", {0}, KN_F32, {{"length", "3", 0}, {"dtype", "5", 0}, {"whole_start", "m", 0}}, 1},
    {"iota", "whole_step", {0}, KN_F32, {{"length", "3", 0}, {"dtype", "5", 0}, {"whole_step", "m", 0}}, 1},
    {"linspace", "length", {0}, KN_F32, {{"length", "m", 0}, {"dtype", "2", 0}, {"stop", NULL, 1}}, 1},
    {"nms", "limit", {"1, n, 4", "1, 2, n"}, KN_F32, {{"limit", "m", 0}, {"share", NULL, 1}}, 1},
    {"nonzero", "capacity", {"n"}, KN_F32, {{"capacity", "m", 0}}, 2},
    {"pad", "before", {"n"}, KN_F32, {{"before", "m", 0}, {"after", "0", 0}}, 1},
    {"pad", "after", {"n"}, KN_F32, {{"before", "1", 0}, {"after", "2 * m", 0}}, 1},
    {"random_bernoulli", "shape", {0}, KN_F32, {{"shape", "n, m", 0}, {"dtype", "2", 0}, {"p", NULL, 1}}, 1},
    {"random_bits", "shape", {0}, KN_U32, {{"shape", "n, m", 0}, {"dtype", "u32", 0}}, 1},
    {"random_int", "shape", {0}, KN_F32, {{"shape", "n, m", 0}, {"dtype", "5", 0}, {"range", "3", 0}}, 1},
    {"random_normal",
     "shape",
     {0},
     KN_F32,
     {{"shape", "m", 0}, {"dtype", "2", 0}, {"deviation", NULL, 1}},
     1},
    {"random_uniform", "shape", {0}, KN_F32, {{"shape", "m", 0}, {"dtype", "2", 0}, {"high", NULL, 1}}, 1},
    {"resample",
     "size",
     {"1, 2, n"},
     KN_F32,
     {{"axes", "2", 0}, {"size", "2 * m + 1", 0}, {"mode", "1", 0}},
     1},
    {"reshape", "shape", {"n, m"}, KN_F32, {{"shape", "m, -1", 0}}, 1},
    {"slice", "start", {"n + 2"}, KN_F32, {{"start", "m", 0}, {"stop", END_TEXT, 0}, {"step", "1", 0}}, 1},
    {"slice", "stop", {"n + 2"}, KN_F32, {{"start", "1", 0}, {"stop", "m", 0}, {"step", "2", 0}}, 1},
    {"topk", "k", {"n + m"}, KN_F32, {{"k", "m", 0}, {"axis", "-1", 0}}, 2},
    {"update_slice",
     "start",
     {"n + m", "n"},
     KN_F32,
     {{"start", "m", 0}, {"stop", END_TEXT, 0}, {"step", "1", 0}},
     1},
    {"update_slice",
     "stop",
     {"n + m", "n"},
     KN_F32,
     {{"start", "0", 0}, {"stop", "n", 0}, {"step", "1", 0}},
     1},
};
enum { WORKING = sizeof table / sizeof *table };

static const working *works(const char *op, const char *attribute)
{
    for (int i = 0; i < WORKING; i++)
        if (!strcmp(table[i].op, op) && !strcmp(table[i].attribute, attribute)) return &table[i];
    return NULL;
}

/* No operands: an attribute that takes no size is refused before anything else is looked at. */
static void sweep_attribute(const kn_op_info *op, const kn_attribute_info *a, int *refused)
{
    value sizes, out[16];
    kn_builder b = begin(&sizes);
    kn_status s = kn_builder_op_many(b, op->name, NULL, 0, ATTRIBUTES({a->name, "n + m", 0}), out, op->n_out);
    const char *text = s ? kn_last_error() : "";
    bool told = strstr(text, "takes no symbolic size") && strstr(text, a->name) && strstr(text, "'n + m'");
    *refused += told;
    if (!CHECK(told != (works(op->name, a->name) != NULL)) || !CHECK(!strstr(text, "46116860184")))
        printf("  %s, %s: %s\n", op->name, a->name, text);
    kn_builder_free(b);
}

static void every_attribute_takes_sizes_or_says_so(void)
{
    int refused = 0;
    for (int32_t i = 0; i < kn_op_count(); i++) {
        kn_op_info op;
        kn_attribute_info a;
        if (!kn_op_at(i, &op) || !strcmp(op.kind, "system")) continue;
        for (int32_t k = 0; k < op.n_attributes; k++)
            if (kn_op_attribute(i, k, &a) && a.type != KN_ATTRIBUTE_REAL) sweep_attribute(&op, &a, &refused);
    }
    CHECK(refused > 100);
}

static kn_program program_of(const working *w, int32_t *n_in)
{
    value in[3], out[2];
    kn_builder b = begin(&in[0]);
    int32_t n = 0;
    char number[16];
    snprintf(number, sizeof number, "%d", (int)w->dtype);
    kn_builder_attribute given[6];
    memcpy(given, w->given, sizeof given);
    for (int i = 0; i < 6; i++)
        if (given[i].sizes && !strcmp(given[i].sizes, "u32")) given[i].sizes = number;
    for (; n < 2 && w->in[n]; n++) in[n + 1] = kn_builder_input(b, n ? "y" : "x", w->dtype, w->in[n]);
    kn_builder_op_many(b, w->op, in + 1, n, given, out, w->n_out);
    kn_program p = kn_builder_finish(b, out, NULL, w->n_out);
    kn_builder_free(b);
    *n_in = n + 1;
    return p;
}

static void those_that_take_sizes_run(void)
{
    for (int i = 0; i < WORKING; i++) {
        const working *w = &table[i];
        int32_t n_in;
        kn_program p = program_of(w, &n_in);
        if (!CHECK(p != NULL)) printf("  %s, %s: %s\n", w->op, w->attribute, kn_last_error());
        for (int k = 0; k < 6 && p; k++) {
            kn_scope scope = kn_scope_begin();
            n_now = 1 + k % 4, m_now = 1 + k % 3;
            kn_tensor in[3] = {sizes_now()}, y[2];
            for (int j = 0; j < n_in - 1; j++)
                in[j + 1] = kn_keep(kn_ones(shape_of_text(w->in[j]), w->dtype));
            bool ran = kn_program_run(p, in, n_in, y, w->n_out) == KN_OK;
            if (!CHECK(ran && types_hold(p, y, w->n_out)))
                printf("  %s, %s: %s\n", w->op, w->attribute, ran ? "another type" : kn_last_error());
            kn_scope_end(scope, KN_NONE);
        }
        kn_program_free(p);
    }
}

/* ---- slices */

static value slice(kn_builder b, value x, const char *start, const char *stop, const char *step)
{
    return kn_builder_op(b, "slice", &x, 1,
                         ATTRIBUTES({"start", start, 0}, {"stop", stop, 0}, {"step", step, 0}));
}

static const char *const places[] = {"0",     "1",     "3",     "-1",        "-2", "-9",    "n - 1",
                                     "n - 3", "1 - m", "m - n", "2 - 2 * n", "m",  END_TEXT};
enum { PLACES = sizeof places / sizeof *places };

static int64_t place_at(int i)
{
    const int64_t numbers[] = {
        0, 1, 3, -1, -2, -9, n_now - 1, n_now - 3, 1 - m_now, m_now - n_now, 2 - 2 * n_now, m_now, KN_END};
    return numbers[i];
}

static bool same(kn_tensor a, kn_tensor b)
{
    bool equal = false;
    if (kn_count(a) != kn_count(b)) return false;
    kn_tensor all = kn_all(kn_equal(a, b), KN_AXES_ALL, false);
    return kn_ok(all) && kn_read(all, &equal, 1) == KN_OK && equal;
}

static void compare_slices(kn_program p, int start, int64_t step)
{
    for (n_now = 1; n_now <= 8; n_now++)
        for (m_now = 1; m_now <= 8; m_now += 3) {
            kn_scope scope = kn_scope_begin();
            kn_tensor in[2] = {sizes_now(), kn_keep(kn_arange(0, (double)n_now, 1, KN_F32))}, y[PLACES];
            if (!CHECK(kn_program_run(p, in, 2, y, PLACES) == KN_OK)) printf("  %s\n", kn_last_error());
            CHECK(types_hold(p, y, PLACES));
            for (int k = 0; k < PLACES; k++) {
                kn_tensor want = kn_slice(in[1], 0, place_at(start), place_at(k), step);
                if (!CHECK(same(kn_keep(y[k]), kn_keep(want))))
                    printf("  x[%s:%s:%d] with n %d\n", places[start], places[k], (int)step, (int)n_now);
            }
            kn_scope_end(scope, KN_NONE);
        }
}

static void slices_have_the_type_that_comes_out(void)
{
    static const char *const steps[] = {"1", "2", "-1", "-3", END_TEXT};
    static const int64_t paces[] = {1, 2, -1, -3, INT64_MAX};
    for (int s = 0; s < 5; s++)
        for (int start = 0; start < PLACES; start++) {
            value in[2], y[PLACES];
            kn_builder b = begin(&in[0]);
            in[1] = kn_builder_input(b, "x", KN_F32, "n");
            for (int k = 0; k < PLACES; k++) y[k] = slice(b, in[1], places[start], places[k], steps[s]);
            kn_program p = kn_builder_finish(b, y, NULL, PLACES);
            kn_builder_free(b);
            if (CHECK(p != NULL))
                compare_slices(p, start, paces[s]);
            else
                printf("  x[%s::%s]: %s\n", places[start], steps[s], kn_last_error());
            kn_program_free(p);
        }
}

static void is_typed(const char *start, const char *stop, const char *step, const char *type)
{
    kn_program_port port = {0};
    value in[2], y;
    kn_builder b = begin(&in[0]);
    in[1] = kn_builder_input(b, "x", KN_F32, "n");
    y = slice(b, in[1], start, stop, step);
    kn_program p = kn_builder_finish(b, &y, NULL, 1);
    if (!CHECK(p && kn_program_output(p, 0, &port) == KN_OK && !strcmp(port.shape, type)))
        printf("  x[%s:%s:%s] is [%s], not [%s]: %s\n", start, stop, step, port.shape, type,
               p ? "" : kn_last_error());
    kn_program_free(p);
    kn_builder_free(b);
}

static void types_of_slices_are_short(void)
{
    is_typed("-2", END_TEXT, "1", "min(2, n)");
    is_typed(END_TEXT, END_TEXT, "-1", "n");
    is_typed("n - 1", END_TEXT, "-1", "n");
    is_typed("-1", "0", "-1", "n - 1");
    is_typed("1", "n", "1", "n - 1");
    is_typed("0", "n + 3", "1", "n");
    is_typed("0", "n", "2", "((n + 1) / 2)");
}

/* The last of every pair x, x; then a running sum from the end: what goes in is turned around, and what comes out too. */
static void slices_fit_loops(void)
{
    value sizes, inside[3], after[2], moved;
    kn_builder b = begin(&sizes);
    value x = kn_builder_input(b, "x", KN_F32, "n"), zero = kn_builder_constant(b, kn_scalar(0, KN_F32));
    kn_builder_loop(b, &(kn_loop_args){.trips = "m", .carried = &x, .n_carried = 1}, inside);
    value twice =
        kn_builder_op(b, "concat", (value[]){inside[1], inside[1]}, 2, ATTRIBUTES({"axis", "0", 0}));
    value next = slice(b, twice, "1", "n + 1", "1");
    kn_builder_end(b, &next, 1, &moved, 1);
    value turned = slice(b, moved, "-1", END_TEXT, "-1");
    kn_builder_loop(
        b, &(kn_loop_args){.trips = "n", .carried = &zero, .n_carried = 1, .sliced = &turned, .n_sliced = 1},
        inside);
    value sum = kn_builder_op(b, "add", &inside[1], 2, NULL);
    kn_builder_end(b, (value[]){sum, sum}, 2, after, 2);
    value y = slice(b, after[1], "-1", END_TEXT, "-1");
    kn_program p = kn_builder_finish(b, (value[]){moved, y}, NULL, 2);
    kn_builder_free(b);
    if (!CHECK(p != NULL)) printf("  %s\n", kn_last_error());
    for (n_now = 1; n_now < 5 && p; n_now++) {
        kn_scope scope = kn_scope_begin();
        m_now = 3;
        kn_tensor in[2] = {sizes_now(), kn_keep(kn_arange(1, (double)n_now + 1, 1, KN_F32))}, out[2];
        CHECK(kn_program_run(p, in, 2, out, 2) == KN_OK && types_hold(p, out, 2));
        kn_tensor rolled = kn_keep(kn_roll(in[1], KN_INTS(-3), KN_INTS(0)));
        kn_tensor sums = kn_flip(kn_cumsum(kn_flip(rolled, KN_INTS(0)), 0), KN_INTS(0));
        CHECK(same(kn_keep(out[0]), rolled) && same(kn_keep(out[1]), kn_keep(sums)));
        kn_scope_end(scope, KN_NONE);
    }
    kn_program_free(p);
}

/* ---- parts of sizes below 0, and sizes without end */

static void parts_of_sizes_may_be_negative(void)
{
    value sizes, y[2];
    kn_builder b = begin(&sizes);
    y[0] = kn_builder_op(b, "full", NULL, 0, ATTRIBUTES({"shape", "max(n - 5, 0)", 0}, {"dtype", "2", 0}));
    y[1] = kn_builder_op(b, "full", NULL, 0,
                         ATTRIBUTES({"shape", "max(n - 5, 2), (n - 5) / 2 + 2", 0}, {"dtype", "2", 0}));
    kn_program p = kn_builder_finish(b, y, NULL, 2);
    kn_builder_free(b);
    m_now = 1;
    for (n_now = 1; n_now <= 8 && CHECK(p != NULL); n_now++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor in = sizes_now(), out[2];
        CHECK(kn_program_run(p, &in, 1, out, 2) == KN_OK && types_hold(p, out, 2));
        CHECK(kn_shape_of_tensor(out[0]).dims[0] == (n_now > 5 ? n_now - 5 : 0));
        kn_scope_end(scope, KN_NONE);
    }
    kn_program_free(p);
}

static kn_program chain(int steps, const char *start, const char *stop, const char *step)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 1000);
    value x = kn_builder_input(b, "x", KN_F32, "n"), y = x;
    for (int i = 0; i < steps; i++) {
        y = kn_builder_op(b, "concat", (value[]){y, x}, 2, ATTRIBUTES({"axis", "0", 0}));
        y = slice(b, y, start, stop, step);
    }
    kn_program p = kn_builder_finish(b, &y, NULL, 1);
    kn_builder_free(b);
    return p;
}

static void sizes_do_not_double(void)
{
    kn_program p = chain(24, "3", "n + 7", "1");
    CHECK(p && kn_program_print(p, NULL, 0) < 40000);
    kn_program_free(p);
    p = chain(500, "3", "n + 7", "1");
    CHECK(!p && strstr(kn_last_error(), "kn_slice: a size of the result is too long an expression"));
    p = chain(500, "0", END_TEXT, "3");
    CHECK(p && kn_program_print(p, NULL, 0) < 1000000); /* quotients of quotients are one */
    kn_program_free(p);
    p = chain(500, "0", "n", "1"); /* always n */
    CHECK(p && kn_program_print(p, NULL, 0) < 100000);
    kn_program_free(p);
}

/* ---- sizes that no input has as they are */

static kn_program of_input(const char *shape, const char *other)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 8);
    value x[2] = {kn_builder_input(b, "wide", KN_F32, shape)}, y;
    if (other) x[1] = kn_builder_input(b, "other", KN_F32, other);
    y = kn_builder_op(b, "full", NULL, 0, ATTRIBUTES({"shape", "n", 0}, {"dtype", "2", 0}));
    kn_program p = kn_builder_finish(b, (value[]){y, x[0]}, NULL, 2);
    kn_builder_free(b);
    return p;
}

/* The size of n that a run finds, or 0. */
static int64_t found(kn_program p, int64_t wide, int64_t other)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor in[2] = {kn_keep(kn_ones(KN_SHAPE(wide), KN_F32)), kn_keep(kn_ones(KN_SHAPE(other), KN_F32))},
              y[2];
    bool good = p && kn_program_run(p, in, kn_program_inputs(p), y, 2) == KN_OK;
    int64_t n = good ? kn_shape_of_tensor(y[0]).dims[0] : 0;
    kn_scope_end(scope, KN_NONE);
    return n;
}

/* A size that two inputs tell differently: both are named. */
static void inputs_that_differ_are_named(void)
{
    static const struct {
        const char *x, *y, *words;
        kn_shape sx, sy;
    } wrong[] = {
        {"length",
         "length",
         "input 'y' is [8]; the program takes [length]: length is 65 by input 'x', but 8 by input 'y'",
         {1, {65}},
         {1, {8}}},
        {"n",
         "2 * n + 1",
         "takes [2 * n + 1]: n is 3 by input 'x', so 2 * n + 1 is 7, but 8 here",
         {1, {3}},
         {1, {8}}},
        {"n, n",
         "m",
         "input 'x' is [3, 4]; the program takes [n, n]: n is 3 by axis 0, but 4 by axis 1",
         {2, {3, 4}},
         {1, {1}}},
        {"n, 5", "m", "input 'x' is [3, 4]; the program takes [n, 5]", {2, {3, 4}}, {1, {1}}},
        {"n",
         "m",
         "shape is negative or unknown with these inputs: n - m - 1: n is 3 by input 'x', m is 4 by input "
         "'y'",
         {1, {3}},
         {1, {4}}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kn_builder b = kn_builder_new();
        value in[2] = {kn_builder_input(b, "x", KN_F32, wrong[i].x),
                       kn_builder_input(b, "y", KN_F32, wrong[i].y)};
        value out[3] = {in[0], in[1], in[1]};
        if (strstr(wrong[i].words, "shape is"))
            out[2] =
                kn_builder_op(b, "full", NULL, 0, ATTRIBUTES({"shape", "n - m - 1", 0}, {"dtype", "f32", 0}));
        kn_program p = kn_builder_finish(b, out, NULL, 3);
        kn_builder_free(b);
        kn_tensor given[2] = {kn_ones(wrong[i].sx, KN_F32), kn_ones(wrong[i].sy, KN_F32)}, y[3];
        CHECK_ERROR(kn_program_run(p, given, 2, y, 3), wrong[i].words);
        if (!strcmp(wrong[i].x, "n, 5")) CHECK(!strstr(kn_last_error(), "n is 3"));
        kn_program_free(p);
    }
}

/* A trace has the sizes that it was made with; what fails because of them says so, and nothing else does. */
static void traces_tell_their_sizes(void)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2, 6), KN_F32)), index = kn_keep(kn_zeros(KN_SHAPE(1), KN_I64)), y;
    CHECK(kn_program_begin(NULL) == KN_OK);
    y = kn_keep(kn_index_take(kn_reshape(x, KN_SHAPE(3, 4)), 0, index));
    kn_tensor in[2] = {x, index};
    kn_program p = kn_program_end(in, 2, &y, 1);
    in[0] = kn_keep(kn_ones(KN_SHAPE(5, 6), KN_F32));
    CHECK_ERROR(kn_program_run(p, in, 2, &y, 1), "kn_reshape: ");
    CHECK(strstr(kn_last_error(), "input '0' is [5, 6], and the program is a trace made with [2, 6]"));
    CHECK(strstr(kn_last_error(), "kn_builder") && strstr(kn_last_error(), "test_program_sizes.c"));
    in[0] = x;
    in[1] = kn_keep(kn_from((int64_t[]){9}, KN_I64, KN_SHAPE(1)));
    kn_status s = kn_program_run(p, in, 2, &y, 1);
    if (s == KN_OK) s = kn_read(y, (float[4]){0}, 4 * sizeof(float));
    CHECK(s == KN_ERROR_INDEX && !strstr(kn_last_error(), "trace"));
    kn_program_free(p);
}

static void inputs_tell_their_sizes(void)
{
    kn_program p = of_input("2 * n", NULL);
    CHECK(found(p, 6, 1) == 3 && found(p, 16, 1) == 8);
    CHECK(found(p, 7, 1) == 0 && strstr(kn_last_error(), "input 'wide' is [7]; the program takes [2 * n]"));
    CHECK(found(p, 18, 1) == 0); /* n is at most 8 */
    kn_program_free(p);
    p = of_input("3 * n + m - 1", "m + 2");
    CHECK(found(p, 9, 6) == 2 && found(p, 10, 6) == 0);
    kn_program_free(p);
    CHECK(!of_input("n * n", NULL) &&
          strstr(kn_last_error(), "input 'wide' is [n * n], which does not tell n"));
    CHECK(!of_input("n + m", NULL) && strstr(kn_last_error(), "input 'wide' is [n + m]"));
    CHECK(!of_input("max(n, 2)", "m") && strstr(kn_last_error(), "does not tell n"));
}

/* ---- numbers that stand for expressions */

static void numbers_are_no_expressions(void)
{
    value sizes, y;
    kn_builder b = begin(&sizes);
    y = kn_builder_input(b, "x", KN_F32, "n");
    y = slice(b, y, "-4611686018427387905", END_TEXT, "1");
    CHECK(!kn_builder_finish(b, &y, NULL, 1) &&
          strstr(kn_last_error(), "'-4611686018427387905' as start is no list"));
    kn_builder_free(b);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F32)); /* clamped, as any other start */
    CHECK(kn_count(kn_slice(x, 0, -4611686018427387905, KN_END, 1)) == 3);
    kn_scope_end(scope, KN_NONE);
    b = begin(&sizes);
    value in[2] = {kn_builder_input(b, "x", KN_F32, "n + 1"), kn_builder_input(b, "y", KN_F32, "n + 3")};
    kn_builder_op(b, "add", in, 2, NULL);
    CHECK(strstr(kn_last_error(), "n + 1 against n + 3"));
    kn_builder_free(b);
}

int main(void)
{
    every_attribute_takes_sizes_or_says_so();
    those_that_take_sizes_run();
    slices_have_the_type_that_comes_out();
    types_of_slices_are_short();
    slices_fit_loops();
    parts_of_sizes_may_be_negative();
    sizes_do_not_double();
    inputs_tell_their_sizes();
    inputs_that_differ_are_named();
    traces_tell_their_sizes();
    numbers_are_no_expressions();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
