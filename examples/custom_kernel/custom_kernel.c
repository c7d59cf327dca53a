/* Kernels of your own: one text, run on every device that the command line names, with the same numbers; and a kernel that
   becomes an op, with a gradient that is a kernel too. */
#include "common/example.h"
#include <kn/kernels.h>

static const char *const source =
    "/* How many turns the point of this item stays near zero. One item for each point of a picture. */\n"
    "kernel mandelbrot(index item, out i32 turns[], index width, index height, index most)\n"
    "{\n"
    "    f32 x = (f32)(item % width) * 3 / width - 2.125, y = (f32)(item / width) * 2 / height - 1;\n"
    "    f32 a = 0, b = 0;\n"
    "    index n = 0;\n"
    "    while (n < most && a * a + b * b < 4) {\n"
    "        f32 next = a * a - b * b + x;\n"
    "        b = 2 * a * b + y;\n"
    "        a = next;\n"
    "        n++;\n"
    "    }\n"
    "    turns[item] = n;\n"
    "}\n"
    "\n"
    "/* y[r] = softmax of x[r]. One workgroup for each row; its 128 invocations share the work. */\n"
    "kernel softmax_rows(workgroup 128, in T x[], out T y[], index width)\n"
    "{\n"
    "    index first = group_id() * width;\n"
    "    T top = -INF, total = 0;\n"
    "    for (index i = local_id(); i < width; i += 128) top = max(top, x[first + i]);\n"
    "    top = workgroup_max(top);\n"
    "    for (index i = local_id(); i < width; i += 128) total += exp(x[first + i] - top);\n"
    "    total = workgroup_sum(total);\n"
    "    for (index i = local_id(); i < width; i += 128) y[first + i] = exp(x[first + i] - top) / total;\n"
    "}\n"
    "\n"
    "/* Its gradient: the names say that y is the op's result, d_y its cotangent and d_x the gradient of its "
    "operand. */\n"
    "kernel softmax_rows_grad(workgroup 128, in T y[], in T d_y[], out T d_x[], index width)\n"
    "{\n"
    "    index first = group_id() * width;\n"
    "    T dot = 0;\n"
    "    for (index i = local_id(); i < width; i += 128) dot += y[first + i] * d_y[first + i];\n"
    "    dot = workgroup_sum(dot);\n"
    "    for (index i = local_id(); i < width; i += 128) d_x[first + i] = y[first + i] * (d_y[first + i] - "
    "dot);\n"
    "}\n";

enum { WIDTH = 72, HEIGHT = 24, MOST = 200, ROWS = 12, COLUMNS = 1000 };

typedef struct Results {
    int32_t turns[WIDTH * HEIGHT];
    float soft[ROWS * COLUMNS];
} Results;

static kn_kernel *compile(const char *name)
{
    kn_kernel *kernel =
        kn_kernel_compile(source, &(kn_kernel_options){.name = name, .file = "custom_kernel.kn"});
    if (!kernel) fprintf(stderr, "%s\n", kn_last_error());
    return kernel;
}

/* A kernel alone: shapes, items and numbers are given with the call. */
static bool run(kn_device device, Results *results)
{
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor turns, soft;
    kn_shape picture = KN_SHAPE(HEIGHT, WIDTH);
    kn_kernel_number sizes[] = {{.whole = WIDTH}, {.whole = HEIGHT}, {.whole = MOST}};
    kn_kernel_run_args drawing = {.numbers = sizes, .n_numbers = 3, .shapes = &picture};
    bool good = kn_kernel_run(compile("mandelbrot"), NULL, 0, &drawing, &turns, 1) == KN_OK &&
                kn_read(turns, results->turns, sizeof results->turns) == KN_OK;

    kn_tensor x = kn_reshape(kn_sin(kn_arange(0, ROWS * COLUMNS, 1, KN_F32)), KN_SHAPE(ROWS, COLUMNS));
    kn_kernel_number width = {.whole = COLUMNS};
    kn_kernel_run_args rows = {.items = ROWS, .numbers = &width, .n_numbers = 1};
    good = good && kn_kernel_run(compile("softmax_rows"), &x, 1, &rows, &soft, 1) == KN_OK &&
           kn_read(soft, results->soft, sizeof results->soft) == KN_OK;
    kn_scope_end(scope, KN_NONE);
    return good;
}

/* As an op the kernel finds its sizes by itself. */
static kn_status row_sizes(void *context, const kn_type *in, kn_type *out, kn_kernel_sizes *sizes)
{
    (void)context, (void)out;
    if (in[0].shape.rank != 2) return kn_custom_fail(KN_ERROR_SHAPE, "softmax_rows takes matrices");
    sizes->items = in[0].shape.dims[0];
    sizes->numbers[0].whole = in[0].shape.dims[1];
    return KN_OK;
}

static kn_op_handle make_op(void)
{
    return kn_kernel_op(&(kn_kernel_op_options){.name = "softmax_rows",
                                                .kernel = compile("softmax_rows"),
                                                .prepare = row_sizes,
                                                .gradient_kernel = compile("softmax_rows_grad"),
                                                .prepare_gradient = row_sizes});
}

static kn_tensor weighted(void *context, const kn_tensor *inputs, int32_t n)
{
    kn_tensor y;
    (void)n;
    kn_custom_call(*(kn_op_handle *)context, inputs, &y);
    return kn_sum(kn_mul(y, inputs[1]), KN_AXES_ALL, false);
}

/* The gradient kernel against differences of the forward one. */
static bool check_gradient(const char *name, kn_op_handle op)
{
    kn_device device = example_open_taped(name);
    if (!device) return false;
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor inputs[2];
    for (int i = 0; i < 2; i++)
        inputs[i] =
            kn_keep(kn_reshape(kn_cos(kn_mul_scalar(kn_arange(0, 15, 1, KN_F64), i + 1)), KN_SHAPE(3, 5)));
    kn_status status = kn_gradcheck(weighted, &op, inputs, 2, 1e-6);
    kn_scope_end(scope, KN_NONE);
    return status == KN_OK;
}

static void draw(const Results *results)
{
    static const char ink[] = " .:-=+*%@#";
    for (int i = 0; i < HEIGHT; i++) {
        for (int j = 0; j < WIDTH; j++) {
            int n = results->turns[i * WIDTH + j];
            putchar(n == MOST ? '#' : ink[n > 36 ? 9 : n / 4]);
        }
        putchar('\n');
    }
}

/* Whether the device has the first one's numbers: the picture to the bit, the softmax to rounding. */
static bool compare(const char *name, const Results *first, const Results *now, bool gradient)
{
    int64_t other = 0;
    double most = 0;
    for (int i = 0; i < WIDTH * HEIGHT; i++) other += first->turns[i] != now->turns[i];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        double gap = (double)now->soft[i] / first->soft[i] - 1;
        if (gap < 0) gap = -gap;
        if (!(gap <= most)) most = gap;
    }
    printf("%-24s picture: %lld points differ; softmax: %.1e apart at most; gradient: %s\n", name,
           (long long)other, most, gradient ? "right" : "wrong");
    return other == 0 && most < 1e-6 && gradient;
}

int main(int argc, char **argv)
{
    static char *usual[] = {"cpu", "ref"};
    static Results first, now;
    char **names = argc > 1 ? argv + 1 : usual;
    int n = argc > 1 ? argc - 1 : 2;
    kn_log_set(example_log, NULL);
    kn_op_handle op = make_op();
    bool good = op != NULL;
    for (int i = 0; i < n && good; i++) {
        kn_device device = kn_device_open(names[i]);
        good = device && run(device, i ? &now : &first);
        if (!good) break;
        if (i == 0) draw(&first);
        good = compare(names[i], &first, i ? &now : &first, check_gradient(names[i], op));
        kn_device_use(NULL);
    }
    return example_end(good);
}
