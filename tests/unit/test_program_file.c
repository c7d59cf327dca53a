/* Programs in files: what is saved and loaded gives the same bits, a file that is not what was written is refused with its name and the
   value, and weights have their names. */
#define _GNU_SOURCE
#include "ops/op.h"
#include "support/check.h"
#include <kn.h>
#include <kn/nn.h>
#include <kn/program.h>
#include <kn/store.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef kn_program_value value;
typedef kn_builder_attribute attribute;

static value op(kn_builder b, const char *name, value x, value y, const attribute *a)
{
    value in[2] = {x, y};
    return kn_builder_op(b, name, in, y.id ? 2 : 1, a);
}

static kn_tensor counted(kn_shape shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    return kn_reshape(kn_mul_scalar(kn_arange(0, (double)n, 1, KN_F32), 0.0625), shape);
}

static kn_program finish(kn_builder b, value *out, const char *const *names, int n)
{
    kn_program p = kn_builder_finish(b, out, names, n);
    if (!CHECK(p != NULL)) printf("  %s\n", kn_last_error());
    kn_builder_free(b);
    return p;
}

/* ---- programs of each kind, with an input "x" of "n, 4" and for some others */

static kn_program symbolic(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 64);
    value x = kn_builder_input(b, "x", KN_F32, "n, 4");
    value w = kn_builder_param(b, "layer.weight", counted(KN_SHAPE(4, 6)));
    value c = kn_builder_constant(b, kn_scalar(0.1, KN_F32));
    value y = op(b, "add", op(b, "matmul", x, w, NULL), c, NULL);
    y = op(b, "reshape", y, KN_NO_VALUE, (attribute[]){{"shape", "3 * n, 2", 0}, {0}});
    y = op(b, "softmax", y, KN_NO_VALUE, (attribute[]){{"axis", "-1", 0}, {0}});
    return finish(b, &y, (const char *[]){"y"}, 1);
}

static kn_program chooses(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 4"), y, large;
    value sum = op(b, "sum", x, KN_NO_VALUE, (attribute[]){{"axes", "0, 1", 0}, {0}});
    large = op(b, "greater", sum, kn_builder_constant(b, kn_scalar(10, KN_F32)), NULL);
    kn_builder_if(b, large);
    value first = op(b, "exp", x, KN_NO_VALUE, NULL);
    kn_builder_else(b, &first, 1);
    value second = op(b, "add", op(b, "neg", x, KN_NO_VALUE, NULL), sum, NULL);
    kn_builder_end(b, &second, 1, &y, 1);
    return finish(b, &y, NULL, 1);
}

static kn_program repeats(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 4"),
          h = kn_builder_param(b, "start", kn_ones(KN_SHAPE(4), KN_F32));
    value w = kn_builder_param(b, "w", kn_mul_scalar(counted(KN_SHAPE(4)), 0.5)), inside[3], out[2];
    kn_builder_loop(
        b, &(kn_loop_args){.trips = "n", .carried = &h, .n_carried = 1, .sliced = &x, .n_sliced = 1}, inside);
    value next =
        op(b, "tanh", op(b, "add", op(b, "mul", inside[1], w, NULL), inside[2], NULL), KN_NO_VALUE, NULL);
    value results[2] = {next, next};
    kn_builder_end(b, results, 2, out, 2);
    return finish(b, out, (const char *[]){"last", "all"}, 2);
}

static kn_program conditional(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 4"), inside[2], y;
    value limit = kn_builder_constant(b, kn_scalar(1000, KN_F32));
    attribute all[] = {{"axes", "0, 1", 0}, {0}};
    value one = op(b, "add", x, kn_builder_constant(b, kn_scalar(1, KN_F32)), NULL);
    value start = op(b, "less", op(b, "sum", one, KN_NO_VALUE, all), limit, NULL);
    kn_builder_loop(b, &(kn_loop_args){.condition = start, .max_trips = 50, .carried = &one, .n_carried = 1},
                    inside);
    value twice = op(b, "add", inside[1], inside[1], NULL);
    value results[2] = {op(b, "less", op(b, "sum", twice, KN_NO_VALUE, all), limit, NULL), twice};
    kn_builder_end(b, results, 2, &y, 1);
    return finish(b, &y, NULL, 1);
}

static kn_program calls(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 4"), inside, y;
    value w = kn_builder_param(b, "w", counted(KN_SHAPE(4)));
    kn_builder_function(b, "scaled", &x, 1, &inside);
    value scaled = op(b, "mul", inside, w, NULL);
    kn_builder_end(b, &scaled, 1, NULL, 0);
    kn_builder_function(b, "twice", &x, 1, &inside);
    kn_builder_call(b, "scaled", &inside, 1, &y, 1);
    kn_builder_call(b, "scaled", &y, 1, &y, 1);
    kn_builder_end(b, &y, 1, NULL, 0);
    kn_builder_call(b, "twice", &x, 1, &y, 1);
    return finish(b, &y, NULL, 1);
}

/* Several dtypes, and casts between them. */
static kn_program mixed(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 9);
    value x = kn_builder_input(b, "x", KN_F32, "n, 4"), to_half = KN_NO_VALUE, out[4];
    value half = kn_builder_param(b, "half", kn_cast(counted(KN_SHAPE(4)), KN_F16));
    value brain = kn_builder_param(b, "brain", kn_cast(counted(KN_SHAPE(4, 2)), KN_BF16));
    value whole = kn_builder_param(b, "whole", kn_cast(kn_arange(0, 4, 1, KN_F32), KN_I32));
    to_half = op(b, "cast", x, KN_NO_VALUE, (attribute[]){{"dtype", "3", 0}, {0}});
    out[0] = op(b, "mul", to_half, half, NULL);
    value narrow = op(b, "cast", x, KN_NO_VALUE, (attribute[]){{"dtype", "4", 0}, {0}});
    out[1] = op(b, "matmul", narrow, brain, NULL);
    value index = op(b, "argmax", x, KN_NO_VALUE, (attribute[]){{"axis", "-1", 0}, {0}});
    out[2] = op(b, "add", op(b, "cast", index, KN_NO_VALUE, (attribute[]){{"dtype", "6", 0}, {0}}),
                op(b, "sum", whole, KN_NO_VALUE, (attribute[]){{"axes", "0", 0}, {0}}), NULL);
    value high = op(b, "cast", x, KN_NO_VALUE, (attribute[]){{"dtype", "1", 0}, {0}});
    out[3] = op(b, "greater", op(b, "exp", high, KN_NO_VALUE, NULL), high, NULL);
    return finish(b, out, NULL, 4);
}

/* Weights that are only stored. */
static kn_program stored(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 9);
    value x = kn_builder_input(b, "x", KN_F32, "n, 4"), sum = x, out[2];
    static const struct {
        const char *name, *dtype;
    } weights[] = {
        {"eight", "f8_e4m3"}, {"five", "f8_e5m2"}, {"four", "f4_e2m1"}, {"whole", "i4"}, {"two", "u2"}};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        kn_dtype dtype = kn_dtype_by_name(weights[i].dtype);
        if (!CHECK(dtype != KN_DTYPE_NONE)) printf("  %s\n", weights[i].dtype);
        value w = kn_builder_param(b, weights[i].name, kn_cast(kn_arange(0, 4, 1, KN_F32), dtype));
        sum = op(b, "add", sum, op(b, "cast", w, KN_NO_VALUE, (attribute[]){{"dtype", "2", 0}, {0}}), NULL);
    }
    out[0] = sum;
    char number[8];
    snprintf(number, sizeof number, "%d", (int)kn_dtype_by_name("f8_e4m3"));
    out[1] = op(b, "cast", sum, KN_NO_VALUE, (attribute[]){{"dtype", number, 0}, {0}});
    return finish(b, out, NULL, 2);
}

/* A loop that calls a function with an If in it. */
static kn_program nested(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 9);
    value x = kn_builder_input(b, "x", KN_F32, "n, 4"), inside[2], seen[3], out[2], y;
    value h = kn_builder_param(b, "start", kn_ones(KN_SHAPE(4), KN_F32));
    value like[2] = {h, h}, zero = kn_builder_constant(b, kn_scalar(0, KN_F32));
    kn_builder_function(b, "bend", like, 2, inside);
    value sum = op(b, "sum", inside[1], KN_NO_VALUE, (attribute[]){{"axes", "0", 0}, {0}});
    kn_builder_if(b, op(b, "greater", sum, zero, NULL));
    value first = op(b, "add", inside[0], inside[1], NULL);
    kn_builder_else(b, &first, 1);
    value second = op(b, "cos", inside[0], KN_NO_VALUE, NULL);
    kn_builder_end(b, &second, 1, &y, 1);
    kn_builder_end(b, &y, 1, NULL, 0);
    kn_builder_loop(
        b, &(kn_loop_args){.trips = "n", .carried = &h, .n_carried = 1, .sliced = &x, .n_sliced = 1}, seen);
    kn_builder_call(b, "bend", &seen[1], 2, &y, 1);
    value results[2] = {y, op(b, "neg", y, KN_NO_VALUE, NULL)};
    kn_builder_end(b, results, 2, out, 2);
    return finish(b, out, (const char *[]){"last", "all"}, 2);
}

/* Values of each kind with names, also the same ones. */
static kn_program named(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 4"), ends[2], inside[3], y;
    value h = kn_builder_constant(b, kn_ones(KN_SHAPE(4), KN_F32));
    kn_builder_name(b, h, "start");
    kn_loop_args loop = {.trips = "n", .carried = &h, .n_carried = 1, .sliced = &x, .n_sliced = 1};
    kn_builder_loop(b, &loop, inside);
    kn_builder_name(b, inside[2], "row");
    value next = op(b, "add", inside[1], inside[2], NULL), both[2] = {next, next};
    kn_builder_name(b, next, "row");
    kn_builder_end(b, both, 2, ends, 2);
    kn_builder_name(b, ends[1], "/net/\"all\"");
    y = op(b, "neg", ends[1], KN_NO_VALUE, NULL);
    return finish(b, &y, NULL, 1);
}

static kn_program (*const makers[])(void) = {symbolic, chooses, repeats, conditional, calls,
                                             mixed,    stored,  nested,  named};
enum { MAKERS = sizeof makers / sizeof *makers };

/* ---- round trips */

static kn_program again(kn_program p, const kn_program_save_args *args)
{
    void *data;
    size_t bytes;
    if (kn_program_save_memory(p, &data, &bytes, args)) return NULL;
    kn_program q = kn_program_load_memory(data, bytes, NULL);
    void *second = NULL;
    size_t second_bytes = 0;
    /* What was loaded is written as the same bytes. */
    CHECK(!q || (kn_program_save_memory(q, &second, &second_bytes, NULL) == KN_OK && second_bytes == bytes &&
                 !memcmp(data, second, bytes)));
    free(data);
    free(second);
    return q;
}

static bool same_bits(kn_tensor a, kn_tensor b)
{
    int64_t n = kn_dtype_bytes(kn_dtype_of(a), kn_count(a));
    char x[4096], y[4096];
    return kn_ok(a) && kn_ok(b) && kn_dtype_of(a) == kn_dtype_of(b) && kn_count(a) == kn_count(b) && n >= 0 &&
           n <= 4096 && kn_read(a, x, (size_t)n) == KN_OK && kn_read(b, y, (size_t)n) == KN_OK &&
           !memcmp(x, y, (size_t)n);
}

static void loaded_ones_give_the_same(void)
{
    for (int i = 0; i < MAKERS; i++) {
        kn_program p = makers[i](), q = again(p, NULL);
        if (!CHECK(q != NULL)) {
            printf("  program %d: %s\n", i, kn_last_error());
            continue;
        }
        for (int64_t n = 1; n < 10; n += 4) {
            kn_tensor x = kn_keep(counted(KN_SHAPE(n, 4))), y[4], z[4];
            int outputs = kn_program_outputs(p);
            CHECK(kn_program_run(p, &x, 1, y, outputs) == KN_OK);
            CHECK(kn_program_run(q, &x, 1, z, outputs) == KN_OK);
            for (int k = 0; k < outputs; k++) CHECK(same_bits(y[k], z[k]));
        }
        kn_program_free(p);
        kn_program_free(q);
    }
}

static void names_of_values_come_back(void)
{
    kn_program p = named(), q = again(p, NULL);
    char text[1000];
    kn_program_print(q, text, sizeof text);
    if (!CHECK(!strcmp(text, "%6, %7:/net/\"all\" = loop(#1:start, $x, trips=n) f32[4]\n"
                             "  each trip (^2, ^3, ^4:row):\n"
                             "    %5:row = add(^3, ^4) f32[4]\n"
                             "    gives %5, %5\n"
                             "%8 = neg(%7) f32[n, 4]\n"
                             "outputs %8\n")))
        printf("%s", text);
    kn_program_free(p);
    kn_program_free(q);
}

static void bounds_and_names_come_back(void)
{
    kn_program p = symbolic(), q = again(p, NULL);
    kn_program_port port;
    kn_program_size_info size;
    kn_program_info info;
    CHECK(kn_program_input(q, 0, &port) == KN_OK && !strcmp(port.name, "x") && !strcmp(port.shape, "n, 4"));
    CHECK(kn_program_output(q, 0, &port) == KN_OK && !strcmp(port.name, "y") &&
          !strcmp(port.shape, "3 * n, 2"));
    CHECK(kn_program_size(q, 0, &size) == KN_OK && !strcmp(size.name, "n") && size.low == 1 &&
          size.high == 64);
    CHECK_ERROR(kn_program_size(q, 1, &size), "no number 1 of 1");
    CHECK(kn_program_describe(q, &info) == KN_OK && info.ops == 4 && info.params == 1 &&
          info.constants == 1 && info.elements == 24 && info.sizes == 1 && !info.trace && !info.controls);
    kn_tensor x = kn_ones(KN_SHAPE(65, 4), KN_F32), y;
    CHECK_ERROR(kn_program_run(q, &x, 1, &y, 1), "n may be 1 to 64");
    kn_program_free(p);
    kn_program_free(q);
}

/* Reals with all their bits: infinities, NaN, -0, the smallest. */
static void attributes_are_exact(void)
{
    static const double reals[] = {
        0.1, -0.0, 5e-324, 1.7976931348623157e308, __builtin_inf(), -__builtin_inf()};
    for (int i = 0; i < 8; i++) {
        double real = i < 6 ? reals[i] : __builtin_nan("");
        if (i == 7) memcpy(&real, &(uint64_t){0xFFF800000000BEEF}, sizeof real);
        kn_builder b = kn_builder_new();
        value none = KN_NO_VALUE;
        value y =
            kn_builder_op(b, "full", &none, 0,
                          (attribute[]){{"shape", "2", 0}, {"dtype", "1", 0}, {"value", NULL, real}, {0}});
        kn_program p = finish(b, &y, NULL, 1), q = again(p, NULL);
        kn_tensor got[2] = {KN_NONE, KN_NONE};
        CHECK(kn_program_run(p, NULL, 0, &got[0], 1) == KN_OK);
        CHECK(q && kn_program_run(q, NULL, 0, &got[1], 1) == KN_OK && same_bits(got[0], got[1]));
        kn_program_free(p);
        kn_program_free(q);
    }
}

/* ---- traces */

typedef struct Net {
    kn_nn_linear first, second;
    kn_nn_dropout dropout;
} Net;
static const kn_module_type Net_type = {"Net", sizeof(Net),
                                        (const kn_field[]){KN_MODULE(Net, first, kn_nn_linear),
                                                           KN_MODULE(Net, second, kn_nn_linear),
                                                           KN_MODULE(Net, dropout, kn_nn_dropout),
                                                           {0}}};

static kn_program trace(Net *net, kn_tensor x, bool training)
{
    kn_module_train(KN_MODULE_OF(Net, net), training);
    CHECK(kn_program_begin(NULL) == KN_OK);
    kn_tensor h = kn_relu(kn_nn_linear_forward(&net->first, x));
    h = kn_mul_scalar(kn_nn_dropout_forward(&net->dropout, h), 0.3);
    kn_tensor y = kn_keep(kn_nn_linear_forward(&net->second, h));
    kn_program p = kn_program_end(&x, 1, &y, 1);
    if (!CHECK(p != NULL)) printf("  %s\n", kn_last_error());
    return p;
}

static void traces_keep_the_names_of_params(void)
{
    Net net = {0};
    kn_seed(NULL, 7);
    CHECK(kn_nn_linear_init(&net.first, 4, 8, NULL) == KN_OK &&
          kn_nn_linear_init(&net.second, 8, 3, NULL) == KN_OK);
    CHECK(kn_nn_dropout_init(&net.dropout, 0.5, NULL) == KN_OK);
    kn_tensor x = kn_keep(counted(KN_SHAPE(5, 4))), y = KN_NONE, z = KN_NONE;
    for (int training = 0; training < 2; training++) {
        kn_program p = trace(&net, x, training);
        kn_program_save_args args = {.inputs = (const char *[]){"features"},
                                     .outputs = (const char *[]){"scores"},
                                     .module = KN_MODULE_OF(Net, &net),
                                     .metadata = (const char *[]){"author", "we", NULL}};
        void *data;
        size_t bytes;
        CHECK(kn_program_save_memory(p, &data, &bytes, &args) == KN_OK);
        kn_store store = kn_store_open_memory(data, bytes, NULL);
        CHECK(kn_store_find(store, "first.weight") >= 0 && kn_store_find(store, "second.bias") >= 0);
        kn_store_close(store);
        kn_program q = kn_program_load_memory(data, bytes, NULL);
        if (!CHECK(q != NULL)) printf("  %s\n", kn_last_error());
        kn_program_port port;
        CHECK(kn_program_input(q, 0, &port) == KN_OK && !strcmp(port.name, "features"));
        kn_seed(NULL, 11);
        CHECK(kn_program_run(p, &x, 1, &y, 1) == KN_OK);
        kn_seed(NULL, 11); /* random ops draw the same numbers from the same place */
        if (!CHECK(q && kn_program_run(q, &x, 1, &z, 1) == KN_OK && same_bits(y, z)))
            printf("  %s\n", kn_last_error());
        free(data);
        kn_program_free(q);
        /* Later changes of the params are not in the file. */
        q = again(p, NULL);
        CHECK(kn_program_run(p, &x, 1, &y, 1) == KN_OK);
        y = kn_keep(y);
        CHECK(kn_param_set(&net.second.bias, kn_ones(KN_SHAPE(3), KN_F32)) == KN_OK);
        CHECK(q && kn_program_run(q, &x, 1, &z, 1) == KN_OK && (training || same_bits(y, z)));
        kn_program_free(p);
        kn_program_free(q);
    }
    kn_module_drop(KN_MODULE_OF(Net, &net));
}

/* A C number beside a half leaves it a half, also after a load. */
static void numbers_stay_weak(void)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F16)), y = KN_NONE;
    CHECK(kn_program_begin(NULL) == KN_OK);
    kn_tensor h = kn_keep(kn_rsub_scalar(kn_mul_scalar(x, 1.5), 4));
    kn_program p = kn_program_end(&x, 1, &h, 1), q = again(p, NULL);
    CHECK(q && kn_program_run(q, &x, 1, &y, 1) == KN_OK && kn_dtype_of(y) == KN_F16 && same_bits(h, y));
    kn_program_free(p);
    kn_program_free(q);
}

/* ---- all ops, as far as they take operands of these types without any attributes */

enum { OPERANDS = 9, IN_A_SEED = 24 };

static kn_builder with_operands(value *x)
{
    static const struct {
        kn_dtype dtype;
        const char *shape;
    } types[OPERANDS] = {{KN_F32, "n, 4"},  {KN_F32, "4, 4"},       {KN_I64, "n, 4"},
                         {KN_F32, "4"},     {KN_F32, "2, 3, n, n"}, {KN_F32, "4, 3, 3, 3"},
                         {KN_BOOL, "n, 4"}, {KN_F32, "2, 3, n"},    {KN_I32, ""}};
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 4, 4);
    for (int i = 0; i < OPERANDS; i++) {
        char name[2] = {(char)('a' + i), 0};
        x[i] = kn_builder_input(b, name, types[i].dtype, types[i].shape);
    }
    return b;
}

/* Operands that the row takes, by number: the first of them, or -1. */
static int fitting(const kn_op *row, int n_in, int *second)
{
    value x[OPERANDS], in[4], out[16];
    for (int k = 0; k < OPERANDS * OPERANDS; k++) {
        kn_builder b = with_operands(x);
        for (int i = 0; i < n_in; i++) in[i] = x[i ? k % OPERANDS : k / OPERANDS];
        kn_status s = kn_builder_op_many(b, row->name, in, n_in, NULL, out, row->n_out);
        kn_builder_free(b);
        *second = k % OPERANDS;
        if (s == KN_OK) return k / OPERANDS;
    }
    return -1;
}

/* A program of the rows from *number on that can be had, at most IN_A_SEED of them. */
static kn_program of_rows(int *number, int *found)
{
    value x[OPERANDS], in[4], out[16], last = KN_NO_VALUE;
    kn_builder b = with_operands(x);
    *found = 0;
    for (; *number < kni_op_count() && *found < IN_A_SEED; ++*number) {
        const kn_op *row = kni_op_by_number(*number);
        int second = 0, n_in = row ? row->min_in : 0;
        if (!row || row->kind == KNI_SYSTEM || n_in < 1 || n_in > 4 || row->n_out < 1 || row->n_out > 16)
            continue;
        int first = fitting(row, n_in, &second);
        if (first < 0) continue;
        for (int i = 0; i < n_in; i++) in[i] = x[i ? second : first];
        if (kn_builder_op_many(b, row->name, in, n_in, NULL, out, row->n_out)) break;
        last = out[0];
        ++*found;
    }
    kn_program p = *found ? kn_builder_finish(b, &last, NULL, 1) : NULL;
    kn_builder_free(b);
    return p;
}

static void all_ops_come_back(void)
{
    int total = 0, found = 0;
    static char before[20000], after[20000];
    for (int number = 0; number < kni_op_count(); total += found) {
        kn_program p = of_rows(&number, &found), q = p ? again(p, NULL) : NULL;
        if (!p) break;
        if (!CHECK(q != NULL)) printf("  %s\n", kn_last_error());
        kn_program_print(p, before, sizeof before);
        kn_program_print(q, after, sizeof after);
        CHECK(!strcmp(before, after));
        kn_program_free(p);
        kn_program_free(q);
    }
    if (!CHECK(total > 150)) printf("  only %d ops\n", total);
}

/* ---- files that are not what was written */

/* The text of a saved program, and its tensors. */
static kn_state taken_apart(kn_program p)
{
    void *data;
    size_t bytes;
    kn_state state = kn_state_make();
    CHECK(kn_program_save_memory(p, &data, &bytes, NULL) == KN_OK);
    CHECK(kn_state_read_memory(state, data, bytes) == KN_OK);
    free(data);
    return state;
}

static kn_program load_text(kn_state state, const char *text)
{
    void *data = NULL;
    size_t bytes = 0;
    CHECK(kn_state_put_text(state, "kiln.program", text) == KN_OK);
    CHECK(kn_state_write_memory(state, &data, &bytes, KN_STORE_SAFETENSORS) == KN_OK);
    kn_program p = kn_program_load_memory(data, bytes, NULL);
    free(data);
    return p;
}

static void change(char *text, size_t room, const char *from, const char *to)
{
    char *at = strstr(text, from);
    if (!CHECK(at != NULL)) {
        printf("  '%s' is not in %s\n", from, text);
        return;
    }
    CHECK(strlen(text) + strlen(to) < room);
    memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
    memcpy(at, to, strlen(to));
}

static const struct {
    kn_program (*make)(void);
    const char *from, *to, *words;
} spoilt[] = {
    {symbolic, "\"version\":1", "\"version\":2", "memory: written by a later Kiln (program version 2"},
    {symbolic, "\"version\":1", "\"version\":0", "memory: damaged: the program has no version"},
    {symbolic, "\"matmul\":1", "\"matmul\":2", "version 2 of the op 'matmul' needs a later Kiln"},
    {symbolic, "\"matmul\":1", "\"gather\":1", "'ops' tells no version of the op"},
    {symbolic, "\"op\":\"matmul\"", "\"op\":\"mat_mul\"", "no op is called 'mat_mul': it needs a later Kiln"},
    {symbolic, "\"op\":\"matmul\"", "\"op\":\"drop\"", "no op is called 'drop'"},
    {symbolic, "[\"f32\",\"3 * n\",2]", "[\"f32\",\"3 * n\",3]",
     "value 5 is f32[3 * n, 2], but the file says f32[3 * n, 3]"},
    {symbolic, "[\"f32\",\"3 * n\",2]", "[\"f64\",\"3 * n\",2]", "but the file says f64[3 * n, 2]"},
    {symbolic, "\"3 * n\",2", "\"3 * m\",2", "'3 * m' is no size of the program"},
    {symbolic, "\"3 * n\",2", "\"3 *\",2", "'3 *' is no size of the program"},
    {symbolic, "\"low\":1", "\"low\":-1", "the size 'n' has no valid name or bounds"},
    {symbolic, "\"name\":\"n\"", "\"name\":\"n n\"", "the size 'n n' has no valid name or bounds"},
    {symbolic, "[\"f32\",4,6]", "[\"f32\",6,4]",
     "tensor 'layer.weight': the tensor has another dtype or shape"},
    {symbolic, "\"layer.weight\"", "\"layer.bias\"", "tensor 'layer.bias': it is not in the file"},
    {symbolic, "\"kiln.constant.0\"", "\"layer.weight\"", "two values are made of it"},
    {symbolic, "\"in\":[0,1]", "\"in\":[0,9]",
     "value 3 (matmul): operand 1 is no value that was made before"},
    {symbolic, "\"in\":[0,1]", "\"in\":[0,3]",
     "operand 1 is no value that was made before"}, /* itself: a cycle */
    {symbolic, "\"in\":[0,1]", "\"in\":[0]", "value 3 (matmul): kn_matmul: 1 operands given"},
    {symbolic, "\"in\":[0,1]", "\"in\":[1,1]", "value 3 (matmul): kn_matmul: "},
    {symbolic, "\"out\":[3]", "\"out\":[4]", "value 3 is due here"},
    {symbolic, "\"out\":[3]", "\"out\":[]", "kn_matmul: room for 0 results given"},
    {symbolic, "\"axis\":-1", "\"axes\":-1", "the attribute 'axes' is unknown"},
    {symbolic, "\"axis\":-1", "\"axis\":7", "value 6 (softmax): kn_softmax: "},
    {symbolic, "\"axis\":-1", "\"axis\":\"-1\"", "'-1' is no size of the program"},
    {symbolic, "\"axis\":-1", "\"axis\":-4611686018427387904",
     "out of range"}, /* the number of an expression */
    {symbolic, "\"axis\":-1", "\"axis\":-4611686018427387999",
     "the attribute 'axis' is out of range: -4611686018427387999"}, /* of one that is not there yet */
    {symbolic, "\"axis\":-1", "\"axis\":\"n\"", "softmax): kn_softmax: axis takes no symbolic size"},
    {symbolic, "\"axis\":-1", "\"axis\":[1]", "a size or whole number is missing"},
    {symbolic, "\"results\":[6]", "\"results\":[7]", "operand 0 is no value that was made before"},
    {symbolic, "\"outputs\":[\"y\"]", "\"outputs\":[]", "outputs: 0 have names, but the program gives 1"},
    {symbolic, "\"inputs\":[", "\"inputs\":[{\"name\":\"x\"},", "input 'x': another one has this name"},
    {symbolic, "\"outputs\"", "\"inputs\"", "the list 'outputs' is missing"},
    {symbolic, "{\"version\"", "[\"version\"", "memory: damaged: kiln.program:1:"},
    {chooses, "\"if\":[3]", "\"if\":[2]", "if: the condition must be one bool"},
    {chooses, "\"else\"", "\"other\"", "'else' is missing"},
    {chooses, "\"results\":[7]", "\"results\":[5]", "is no value of this region"},
    {chooses, "\"in\":[5,2]", "\"in\":[4,2]", "belongs to a region that this op is not in"},
    {repeats, "\"trips\":\"n\"", "\"max_trips\":3", "a loop needs .trips, or .condition and .max_trips"},
    {repeats, "\"trips\":\"n\"", "\"trips\":-3", "a size or whole number is missing or out of range"},
    {repeats, "\"sliced\":[0]", "\"sliced\":[]", "(loop): "},
    {repeats, "{\"tensor\":\"w\",", "{\"tensor\":\"w\",\"weak\":true,",
     "tensor 'w': the tensor has another dtype"},
    {repeats, "\"carried\":[1]", "\"carried\":[99]", "operand 0 is no value that was made before"},
    {calls, "\"call\":\"scaled\"", "\"call\":\"twice\"", "no function that stands before is called 'twice'"},
    {named, "[null,null,\"row\"]", "[null,\"row\"]", "'names' is no list of 3"},
    {named, "[\"row\"]", "\"row\"", "'names' is no list of 1"},
    {named, "[\"row\"]", "[7]", "the name of value 5 is no text"},
    {named, "[\"row\"]", "[\"ro\\nw\"]", "the name of value 5 is no text"},
    {named, "\"name\":\"start\"", "\"name\":\"\"", "the name of value 1 is no text"},
    {calls, "\"name\":\"twice\"", "\"name\":\"scaled\"", "function 'scaled': another one has this name"},
};

static void changes_are_found(void)
{
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        kn_program p = spoilt[i].make();
        kn_state state = taken_apart(p);
        static char text[20000];
        snprintf(text, sizeof text, "%s", kn_state_get_text(state, "kiln.program"));
        change(text, sizeof text, spoilt[i].from, spoilt[i].to);
        kn_program q = load_text(state, text);
        bool told = q == NULL && strstr(kn_last_error(), spoilt[i].words);
        if (!CHECK(told))
            printf("  %s -> %s: wanted '%s', got %s\n", spoilt[i].from, spoilt[i].to, spoilt[i].words,
                   q ? "a program" : kn_last_error());
        kn_program_free(q);
        kn_program_free(p);
        kn_state_free(state);
    }
}

/* Every cut, and every digit changed: a program or an error that names the file. */
static void nothing_crashes(void)
{
    for (int i = 0; i < MAKERS; i++) {
        kn_program p = makers[i]();
        kn_state state = taken_apart(p);
        void *data;
        size_t bytes;
        static char text[20000], other[20000];
        snprintf(text, sizeof text, "%s", kn_state_get_text(state, "kiln.program"));
        int wrong = 0;
        for (size_t k = 0; k < strlen(text); k++) {
            if (text[k] < '0' || text[k] > '9') continue;
            strcpy(other, text);
            other[k] = (char)('0' + (text[k] - '0' + 1 + (int)k % 8) % 10);
            kn_program q = load_text(state, other);
            wrong += !q && strncmp(kn_last_error(), "kn_program_load_memory: memory: ", 32) != 0;
            kn_program_free(q);
        }
        CHECK(wrong == 0);
        CHECK(kn_program_save_memory(p, &data, &bytes, NULL) == KN_OK);
        for (size_t k = 0; k < bytes; k += 37) {
            kn_program q = kn_program_load_memory(data, k, NULL);
            CHECK(q == NULL);
        }
        free(data);
        kn_program_free(p);
        kn_state_free(state);
    }
}

/* A file of brackets, or of regions in regions, is no reason for a stack to end. */
static void depth_is_bounded(void)
{
    kn_program p = symbolic();
    kn_state state = taken_apart(p);
    static char text[200001];
    memset(text, '[', sizeof text - 1);
    CHECK(load_text(state, text) == NULL && strstr(kn_last_error(), "nested too deeply"));
    kn_state_free(state);
    kn_program_free(p);
}

/* Each allocation fails once: an error with a text, and a program when none fails any more. */
static void memory_may_end(void)
{
    for (int i = 0; i < MAKERS; i++) {
        kn_program p = makers[i](), q = NULL;
        void *data, *second = NULL;
        size_t bytes, other;
        CHECK(kn_program_save_memory(p, &data, &bytes, NULL) == KN_OK);
        int n = 1, silent = 0;
        for (; n < 2000 && !q; n++) {
            kn_memory_fail_after(n);
            q = kn_program_load_memory(data, bytes, NULL);
            kn_memory_fail_after(0);
            if (!q && kni_latest_code() != KN_ERROR_MEMORY) silent++, printf("  %s\n", kn_last_error());
        }
        CHECK(q != NULL && n > 5 && silent == 0);
        for (n = 1; n < 2000 && !second; n++) {
            kn_memory_fail_after(n);
            kn_status s = kn_program_save_memory(p, &second, &other, NULL);
            kn_memory_fail_after(0);
            if (s && s != KN_ERROR_MEMORY) silent++, printf("  %s\n", kn_last_error());
        }
        CHECK(second && other == bytes && silent == 0);
        free(data);
        free(second);
        kn_program_free(p);
        kn_program_free(q);
    }
}

/* ---- what cannot be saved or loaded */

static void mistakes_are_told(void)
{
    kn_program p = symbolic();
    void *data;
    size_t bytes;
    CHECK_ERROR(kn_program_save(p, NULL, NULL), "the path is NULL");
    CHECK_ERROR(kn_program_save(p, "/there/is/no/such/folder/p.safetensors", NULL),
                "/there/is/no/such/folder");
    CHECK_ERROR(kn_program_save_memory(p, NULL, &bytes, NULL), "is NULL");
    CHECK(kn_program_load(NULL, NULL) == NULL && strstr(kn_last_error(), "the path is NULL"));
    CHECK(kn_program_load("/there/is/no/file", NULL) == NULL && strstr(kn_last_error(), "/there/is/no/file"));
    CHECK(kn_program_load_memory(NULL, 4, NULL) == NULL && strstr(kn_last_error(), "the data is NULL"));
    CHECK_ERROR(kn_program_save_memory(
                    p, &data, &bytes,
                    &(kn_program_save_args){.metadata = (const char *[]){"kiln.program", "mine", NULL}}),
                "its name is Kiln's own");
    kn_program_free(p);
    kn_state state = kn_state_make();
    CHECK(kn_state_put(state, "", "w", kn_ones(KN_SHAPE(2), KN_F32)) == KN_OK);
    CHECK(kn_state_write_memory(state, &data, &bytes, KN_STORE_SAFETENSORS) == KN_OK);
    CHECK(kn_program_load_memory(data, bytes, NULL) == NULL &&
          strstr(kn_last_error(), "it holds no program"));
    free(data);
    kn_state_free(state);
    kn_builder b = kn_builder_new();
    value w = kn_builder_param(b, "kiln.w", kn_ones(KN_SHAPE(2), KN_F32));
    p = finish(b, &w, NULL, 1);
    CHECK_ERROR(kn_program_save_memory(p, &data, &bytes, NULL), "a param cannot be called 'kiln.w'");
    kn_program_free(p);
}

/* The gradient of a square is derived: it is no op of the table. The trace runs. */
static void derived_gradients_are_refused(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_tensor x = kn_require_grad(kn_full(KN_SHAPE(2), 3, KN_F32)), y;
    kn_grads grads = NULL;
    void *data;
    size_t bytes;
    CHECK(kn_program_begin(NULL) == KN_OK);
    CHECK(kn_backward(kn_sum(kn_square(x), KN_AXES_ALL, false), &grads) == KN_OK);
    y = kn_grads_get(grads, x);
    kn_program p = kn_program_end(&x, 1, &y, 1);
    CHECK(p && kn_program_run(p, &x, 1, &y, 1) == KN_OK && kn_item(kn_sum(y, KN_AXES_ALL, false)) == 12);
    CHECK_ERROR(kn_program_save_memory(p, &data, &bytes, NULL), "derived gradients");
    kn_program_free(p);
    kn_grads_free(grads);
    kn_device_use(NULL);
    kn_scope_end(scope, KN_NONE);
}

static void files_are_written_and_mapped(void)
{
    char path[64];
    snprintf(path, sizeof path, "test_program_file_%ld.tmp", (long)getpid());
    kn_program p = symbolic();
    CHECK(kn_program_save(p, path, NULL) == KN_OK);
    for (int map = 0; map < 2; map++) {
        kn_program q = kn_program_load(path, &(kn_program_load_args){.map = map});
        kn_tensor x = kn_keep(counted(KN_SHAPE(3, 4))), y = KN_NONE, z = KN_NONE;
        CHECK(q && kn_program_run(p, &x, 1, &y, 1) == KN_OK && kn_program_run(q, &x, 1, &z, 1) == KN_OK);
        CHECK(same_bits(y, z));
        kn_program_free(q);
    }
    kn_program_free(p);
    remove(path);
}

static bool write_text(kn_program p, const char *folder, const char *name, int number)
{
    char path[600];
    kn_state state = taken_apart(p);
    snprintf(path, sizeof path, number < 0 ? "%s/%s.json" : "%s/%s_%d.json", folder, name, number);
    FILE *file = fopen(path, "w");
    bool good = file && fputs(kn_state_get_text(state, "kiln.program"), file) >= 0;
    if (file) fclose(file);
    kn_state_free(state);
    return good;
}

/* The fuzzer's seeds: each program as its text and as a file. */
static int write_seeds(const char *folder)
{
    static const char *const names[] = {"symbolic", "chooses", "repeats", "conditional", "calls",
                                        "mixed",    "stored",  "nested",  "named"};
    bool good = true;
    for (int i = 0; i < MAKERS; i++) {
        char path[600];
        kn_program p = makers[i]();
        snprintf(path, sizeof path, "%s/%s.safetensors", folder, names[i]);
        good = good && kn_program_save(p, path, NULL) == KN_OK && write_text(p, folder, names[i], -1);
        kn_program_free(p);
    }
    int found = 0;
    for (int number = 0, i = 0; number < kni_op_count(); i++) {
        kn_program p = of_rows(&number, &found);
        if (!p) break;
        good = good && write_text(p, folder, "ops", i);
        kn_program_free(p);
    }
    return !good;
}

int main(int count, char **arguments)
{
    if (count == 3 && !strcmp(arguments[1], "--seeds")) return write_seeds(arguments[2]);
    static const char *const devices[] = {"cpu", "ref", "fusion(cpu)", "autodiff(cpu)"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        kn_device_use(kn_device_open(devices[i]));
        kn_scope scope = kn_scope_begin();
        loaded_ones_give_the_same();
        traces_keep_the_names_of_params();
        numbers_stay_weak();
        kn_scope_end(scope, KN_NONE);
        kn_device_use(NULL);
    }
    kn_scope scope = kn_scope_begin();
    names_of_values_come_back();
    bounds_and_names_come_back();
    attributes_are_exact();
    all_ops_come_back();
    changes_are_found();
    nothing_crashes();
    depth_is_bounded();
    memory_may_end();
    mistakes_are_told();
    derived_gradients_are_refused();
    files_are_written_and_mapped();
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
