/* Programs as data: one that is built op by op, with a size known only when it runs, a loop, an If and a function; and one that is traced
   from layers. Both are simplified, printed, and compared with what they gave before. */
#include "common/example.h"
#include <kn/nn.h>
#include <kn/program.h>

typedef kn_program_value value;

static value op(kn_builder b, const char *name, value x, value y, const kn_builder_attribute *attributes)
{
    return kn_builder_op(b, name, (value[]){x, y}, y.id ? 2 : 1, attributes);
}

/* h = tanh(0.5 * 2 * (x[t] + h w)) for each step t, then one of two endings. */
static kn_program build(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "steps", 1, 100);
    value x = kn_builder_input(b, "x", KN_F32, "steps, batch, 4");
    value h = kn_builder_input(b, "h", KN_F32, "batch, 4");
    value as_probabilities = kn_builder_input(b, "as_probabilities", KN_BOOL, "");
    value w = kn_builder_param(b, "w", kn_eye(4, 4, KN_F32));
    value half = kn_builder_constant(b, kn_scalar(0.5, KN_F32)),
          two = kn_builder_constant(b, kn_scalar(2, KN_F32));

    value inside, after[2], seen[3], y;
    kn_builder_function(b, "squash", &h, 1, &inside);
    value squashed =
        op(b, "tanh", op(b, "mul", inside, op(b, "mul", half, two, NULL), NULL), KN_NO_VALUE, NULL);
    kn_builder_end(b, &squashed, 1, NULL, 0);

    kn_loop_args loop = {.trips = "steps", .carried = &h, .n_carried = 1, .sliced = &x, .n_sliced = 1};
    kn_builder_loop(b, &loop, seen); /* the number of the step, h, and x[step] */
    value sum = op(b, "add", seen[2], op(b, "matmul", seen[1], w, NULL), NULL), next;
    kn_builder_call(b, "squash", &sum, 1, &next, 1);
    kn_builder_end(b, (value[]){next, next}, 2, after,
                   2); /* the last h, and all of them, which nobody reads */

    kn_builder_if(b, as_probabilities);
    value first = op(b, "softmax", after[0], KN_NO_VALUE, (kn_builder_attribute[]){{"axis", "-1", 0}, {0}});
    kn_builder_else(b, &first, 1);
    kn_builder_end(b, &after[0], 1, &y, 1);
    kn_program program =
        kn_builder_finish(b, &y, (const char *[]){"y"}, 1); /* tells the first failure of all */
    kn_builder_free(b);
    return program;
}

/* Layers, run once on an input of the size at hand, as they are after training. */
static kn_program trace(const kn_nn_conv2d *conv, const kn_nn_batch_norm *norm, kn_tensor x)
{
    if (kn_program_begin(NULL) != KN_OK) return NULL;
    kn_tensor y = kn_relu(kn_nn_batch_norm_forward(norm, kn_nn_conv2d_forward(conv, x)));
    return kn_program_end(&x, 1, &y, 1);
}

static void show(const char *title, kn_program program)
{
    char text[4000];
    kn_program_print(program, text, sizeof text);
    printf("---- %s\n%s", title, text);
}

/* The largest difference between the outputs of two programs; negative: one failed. */
static double compare(kn_program a, kn_program b, const kn_tensor *in, int32_t n)
{
    kn_tensor y, z;
    if (kn_program_run(a, in, n, &y, 1) != KN_OK || kn_program_run(b, in, n, &z, 1) != KN_OK) return -1;
    return kn_item(kn_max(kn_abs(kn_sub(y, z)), KN_AXES_ALL, false));
}

static bool built_program(void)
{
    kn_program plain = build(), simple = build();
    bool good = plain && simple && kn_program_simplify(simple, KN_PASS_ALL) == KN_OK;
    if (good) show("as built", plain);
    if (good) show("simplified", simple);
    for (int64_t steps = 1; steps < 8 && good; steps += 3) { /* one program for all sizes */
        kn_tensor in[3] = {kn_keep(kn_random_normal(KN_SHAPE(steps, 2, 4), 0, 1, KN_F32)),
                           kn_keep(kn_zeros(KN_SHAPE(2, 4), KN_F32)),
                           kn_keep(kn_scalar_int(steps > 1, KN_BOOL))};
        double apart = compare(plain, simple, in, 3);
        printf("%d steps: %g apart\n", (int)steps, apart);
        good = apart == 0;
    }
    kn_program_free(plain);
    kn_program_free(simple);
    return good;
}

static bool traced_program(void)
{
    kn_nn_conv2d conv;
    kn_nn_batch_norm norm;
    if (kn_nn_conv2d_init(&conv, 3, 8, KN_INTS(3, 3), NULL) != KN_OK ||
        kn_nn_batch_norm_init(&norm, 8, NULL) != KN_OK)
        return false;
    norm.training = false;
    kn_tensor x = kn_keep(kn_random_normal(KN_SHAPE(2, 3, 16, 16), 0, 1, KN_F32));
    kn_program plain = trace(&conv, &norm, x), simple = trace(&conv, &norm, x);
    /* Params are read anew in each run, so that training shows; to compute with them now they must be frozen. */
    bool good = plain && simple && kn_program_simplify(simple, KN_PASS_ALL | KN_PASS_FREEZE) == KN_OK;
    if (good) show("as traced", plain);
    if (good) show("simplified", simple);
    double apart = good ? compare(plain, simple, &x, 1) : -1;
    printf("batch norm in the weights: %g apart\n", apart);
    kn_program_free(plain);
    kn_program_free(simple);
    kn_module_drop(KN_MODULE_OF(kn_nn_conv2d, &conv));
    kn_module_drop(KN_MODULE_OF(kn_nn_batch_norm, &norm));
    return apart >= 0 && apart < 1e-5;
}

int main(int argc, char **argv)
{
    if (!example_begin(argc > 1 ? argv[1] : "cpu", 1)) return EXIT_FAILURE;
    kn_scope scope = kn_scope_begin();
    bool good = built_program() && traced_program();
    kn_scope_end(scope, KN_NONE);
    return example_end(good);
}
