/* The programs, and the texts around them. */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "exported_programs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef kn_program_value value;
#define ATTRIBUTES(...) ((kn_builder_attribute[]){__VA_ARGS__, {0}})

static value op(kn_builder b, const char *name, int n, const value *in, const kn_builder_attribute *a)
{
    return kn_builder_op(b, name, in, n, a);
}
#define OP1(b, name, x, a) op(b, name, 1, (value[]){x}, a)
#define OP2(b, name, x, y, a) op(b, name, 2, (value[]){x, y}, a)
#define OP3(b, name, x, y, z, a) op(b, name, 3, (value[]){x, y, z}, a)

static uint32_t random_state = 1;

static float next_value(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (float)(random_state >> 8) / 8388608.0f - 1;
}

/* A weight, without a name a constant, with values of about the size that keeps those of activations. */
static value weight(kn_builder b, const char *name, float size, kn_shape shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    float *v = malloc((size_t)n * sizeof *v);
    for (int64_t i = 0; i < n; i++) v[i] = size * next_value();
    kn_tensor t = kn_from(v, KN_F32, shape);
    value w = name ? kn_builder_param(b, name, t) : kn_builder_constant(b, t);
    free(v);
    return w;
}

static value number(kn_builder b, double v) { return kn_builder_constant(b, kn_scalar(v, KN_F32)); }

static value positive(kn_builder b, const char *name, kn_shape shape)
{
    return OP1(b, "exp", weight(b, name, 0.5f, shape), NULL);
}

static kn_program finish(kn_builder b, const value *outputs, const char *const *names, int n)
{
    kn_program p = kn_builder_finish(b, outputs, names, n);
    kn_builder_free(b);
    if (!p) printf("  %s\n", kn_last_error());
    return p;
}

/* ---- programs */

static kn_program mlp(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "batch", 1, 8);
    value x = kn_builder_input(b, "x", KN_F32, "batch, 6");
    value h = OP1(b, "relu",
                  OP3(b, "linear", x, weight(b, "w1", 0.6f, KN_SHAPE(10, 6)),
                      weight(b, "b1", 0.2f, KN_SHAPE(10)), NULL),
                  NULL);
    value y =
        OP3(b, "linear", h, weight(b, "w2", 0.6f, KN_SHAPE(4, 10)), weight(b, "b2", 0.2f, KN_SHAPE(4)), NULL);
    value out[2] = {OP1(b, "softmax", y, ATTRIBUTES({"axis", "-1", 0})),
                    OP1(b, "argmax", y, ATTRIBUTES({"axis", "-1", 0}))};
    return finish(b, out, (const char *[]){"probabilities", "class"}, 2);
}

static kn_program cnn(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "batch", 1, 3);
    kn_builder_size(b, "width", 6, 13);
    value x = kn_builder_input(b, "x", KN_F32, "batch, 2, 8, width");
    value c = OP3(b, "conv", x, weight(b, "conv.weight", 0.4f, KN_SHAPE(4, 2, 3, 3)),
                  weight(b, "conv.bias", 0.2f, KN_SHAPE(4)),
                  ATTRIBUTES({"stride", "1, 1", 0}, {"padding", "1, 1", 0}, {"padding_end", "1, 1", 0},
                             {"dilation", "1, 1", 0}, {"groups", "1", 0}));
    value n = op(b, "batch_norm", 5,
                 (value[]){c, weight(b, "bn.mean", 0.3f, KN_SHAPE(4)), positive(b, "bn.var", KN_SHAPE(4)),
                           weight(b, "bn.weight", 1, KN_SHAPE(4)), weight(b, "bn.bias", 0.3f, KN_SHAPE(4))},
                 ATTRIBUTES({"eps", NULL, 1e-5}));
    value pooled = OP1(b, "max_pool_values", OP1(b, "relu", n, NULL),
                       ATTRIBUTES({"axes", "2", 0}, {"window", "2, 2", 0}, {"stride", "2, 2", 0},
                                  {"padding", "0, 0", 0}, {"dilation", "1, 1", 0}));
    value mean = OP1(b, "mean", pooled, ATTRIBUTES({"axes", "2, 3", 0}, {"keep", "0", 0}));
    value y = OP3(b, "linear", mean, weight(b, "head", 0.8f, KN_SHAPE(5, 4)),
                  weight(b, "head.bias", 0.2f, KN_SHAPE(5)), NULL);
    value out[2] = {y, pooled};
    return finish(b, out, NULL, 2);
}

static value norm(kn_builder b, value x, const char *name)
{
    return OP3(b, "layer_norm", x, weight(b, name, 1, KN_SHAPE(8)), weight(b, NULL, 0.3f, KN_SHAPE(8)),
               ATTRIBUTES({"n_axes", "1", 0}, {"eps", NULL, 1e-5}));
}

static value linear(kn_builder b, value x, int64_t outs, int64_t ins)
{
    return OP3(b, "linear", x, weight(b, NULL, 0.5f, KN_SHAPE(outs, ins)),
               weight(b, NULL, 0.2f, KN_SHAPE(outs)), NULL);
}

static kn_program transformer(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "batch", 1, 2);
    kn_builder_size(b, "length", 1, 17);
    value ids = kn_builder_input(b, "ids", KN_I64, "batch, length");
    value x = OP2(b, "embedding", weight(b, "tokens", 1, KN_SHAPE(11, 8)), ids, NULL);
    value qkv = OP1(b, "reshape", linear(b, norm(b, x, "norm1"), 24, 8),
                    ATTRIBUTES({"shape", "batch, length, 3, 2, 4", 0}));
    value turned = OP1(b, "permute", qkv, ATTRIBUTES({"axes", "2, 0, 3, 1, 4", 0})), part[3];
    for (int i = 0; i < 3; i++) {
        char start[64], stop[64];
        snprintf(start, sizeof start, "%d, 0, 0, 0, 0", i);
        snprintf(stop, sizeof stop, "%d, batch, 2, length, 4", i + 1);
        part[i] = OP1(b, "reshape",
                      OP1(b, "slice", turned,
                          ATTRIBUTES({"start", start, 0}, {"stop", stop, 0}, {"step", "1, 1, 1, 1, 1", 0})),
                      ATTRIBUTES({"shape", "batch, 2, length, 4", 0}));
    }
    value mixed = op(b, "attention", 3, part,
                     ATTRIBUTES({"scale", NULL, 0.5}, {"softcap", NULL, 0}, {"is_causal", "1", 0}));
    value joined = OP1(b, "reshape", OP1(b, "permute", mixed, ATTRIBUTES({"axes", "0, 2, 1, 3", 0})),
                       ATTRIBUTES({"shape", "batch, length, 8", 0}));
    value h = OP2(b, "add", x, linear(b, joined, 8, 8), NULL);
    value y =
        OP2(b, "add", h, linear(b, OP1(b, "gelu", linear(b, norm(b, h, "norm2"), 16, 8), NULL), 8, 16), NULL);
    return finish(b, &y, NULL, 1);
}

static kn_program lstm(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "steps", 1, 7);
    kn_builder_size(b, "batch", 1, 3);
    value x = kn_builder_input(b, "x", KN_F32, "steps, batch, 4");
    value carried[2] = {kn_builder_input(b, "h", KN_F32, "batch, 5"),
                        kn_builder_input(b, "c", KN_F32, "batch, 5")};
    value wx = weight(b, "wx", 0.5f, KN_SHAPE(20, 4)), wh = weight(b, "wh", 0.5f, KN_SHAPE(20, 5)),
          bias = weight(b, "bias", 0.2f, KN_SHAPE(20)), inside[4], gates[4], out[3];
    kn_builder_loop(
        b, &(kn_loop_args){.trips = "steps", .carried = carried, .n_carried = 2, .sliced = &x, .n_sliced = 1},
        inside);
    value all = OP2(b, "add", OP3(b, "linear", inside[3], wx, bias, NULL),
                    OP2(b, "linear", inside[1], wh, NULL), NULL);
    for (int i = 0; i < 4; i++) {
        char start[32], stop[32];
        snprintf(start, sizeof start, "0, %d", 5 * i);
        snprintf(stop, sizeof stop, "batch, %d", 5 * i + 5);
        gates[i] =
            OP1(b, i == 2 ? "tanh" : "sigmoid",
                OP1(b, "slice", all, ATTRIBUTES({"start", start, 0}, {"stop", stop, 0}, {"step", "1, 1", 0})),
                NULL);
    }
    value c = OP2(b, "add", OP2(b, "mul", gates[1], inside[2], NULL), OP2(b, "mul", gates[0], gates[2], NULL),
                  NULL);
    value h = OP2(b, "mul", gates[3], OP1(b, "tanh", c, NULL), NULL), results[3] = {h, c, h};
    kn_builder_end(b, results, 3, out, 3);
    return finish(b, out, NULL, 3);
}

/* Both sides of the If: the input's mean differs in sign from run to run. */
static kn_program choice(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 2, 9);
    value x = kn_builder_input(b, "x", KN_F32, "n"), y, outer = OP1(b, "exp", x, NULL);
    value mean = OP1(b, "mean", x, ATTRIBUTES({"axes", "0", 0}, {"keep", "0", 0}));
    kn_builder_if(b, OP2(b, "greater", mean, number(b, 0), NULL));
    value first = OP2(b, "add", outer, x, NULL);
    kn_builder_else(b, &first, 1);
    value second = OP2(b, "mul", x, OP2(b, "mul", outer, mean, NULL), NULL);
    kn_builder_end(b, &second, 1, &y, 1);
    value out[2] = {y, mean};
    return finish(b, out, NULL, 2);
}

/* A function that is called twice, a loop that a condition ends, values that change places, and a join. */
static kn_program control(void)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 1, 5);
    value x = kn_builder_input(b, "x", KN_F32, "n, 2"), y = kn_builder_input(b, "y", KN_F32, "n, 2"),
          argument, twice[2];
    kn_builder_function(b, "bend", &x, 1, &argument);
    value bent = OP1(b, "tanh", OP2(b, "add", argument, OP1(b, "cos", argument, NULL), NULL), NULL);
    kn_builder_end(b, &bent, 1, NULL, 0);
    kn_builder_call(b, "bend", &x, 1, &twice[0], 1);
    kn_builder_call(b, "bend", &twice[0], 1, &twice[1], 1);
    value limit = number(b, 40);
    kn_builder_attribute all[] = {{"axes", "0, 1", 0}, {"keep", "0", 0}, {0}};
    value carried[3] = {twice[0], twice[1], OP1(b, "sum", OP1(b, "abs", x, NULL), all)}, inside[4], out[4];
    kn_builder_loop(b,
                    &(kn_loop_args){.condition = OP2(b, "less", carried[2], limit, NULL),
                                    .max_trips = 20,
                                    .carried = carried,
                                    .n_carried = 3},
                    inside);
    value grown = OP2(b, "add", inside[3], inside[3], NULL);
    value next = OP2(b, "add", grown, OP1(b, "cast", inside[0], ATTRIBUTES({"dtype", "2", 0})), NULL);
    value results[4] = {OP2(b, "less", next, limit, NULL), inside[2], OP2(b, "add", inside[1], y, NULL),
                        next};
    kn_builder_end(b, results, 4, out, 3);
    out[3] = op(b, "concat", 3, (value[]){x, out[0], y}, ATTRIBUTES({"axis", "0", 0}));
    return finish(b, out, NULL, 4);
}

static const exported_program programs[] = {
    {"mlp", mlp, {{1}, {3}, {8}}, 1},
    {"cnn", cnn, {{1, 6}, {2, 9}, {3, 13}}, 2},
    {"transformer", transformer, {{1, 1}, {2, 6}, {1, 17}}, 2},
    {"lstm", lstm, {{1, 1}, {4, 3}, {7, 2}}, 2},
    {"choice", choice, {{2}, {5}, {9}}, 1},
    {"control", control, {{1}, {3}, {5}}, 1},
};

const exported_program *exported_program_at(int number)
{
    return number < (int)(sizeof programs / sizeof *programs) ? &programs[number] : NULL;
}

/* ---- inputs */

/* The sizes of a port with those of the run; names are found in the order of the program. */
static kn_shape shape_of(kn_program p, int input, const int64_t *sizes)
{
    char names[EXPORTED_SIZES][64] = {{0}};
    int n_names = 0;
    kn_shape s = {0, {0}};
    for (int i = 0; i <= input; i++) {
        kn_program_port port;
        if (kn_program_input(p, i, &port)) return s;
        s.rank = 0;
        for (char *word = strtok(port.shape, ", "); word; word = strtok(NULL, ", ")) {
            int at = 0;
            if (word[0] >= '0' && word[0] <= '9') {
                s.dims[s.rank++] = atoi(word);
                continue;
            }
            while (at < n_names && strcmp(names[at], word)) at++;
            if (at == n_names) snprintf(names[n_names++], sizeof *names, "%s", word);
            s.dims[s.rank++] = sizes[at];
        }
    }
    return s;
}

static kn_tensor input_of(kn_program p, int input, const int64_t *sizes)
{
    kn_program_port port;
    if (kn_program_input(p, input, &port)) return KN_NONE;
    kn_shape shape = shape_of(p, input, sizes);
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    float *v = malloc((size_t)(n ? n : 1) * sizeof *v);
    for (int64_t i = 0; i < n; i++)
        v[i] = kn_dtype_is_float(port.dtype) ? 1.5f * next_value()
                                             : (float)(random_state >> 16 ? (next_value() + 1) * 5 : 0);
    kn_tensor x = kn_cast(kn_from(v, KN_F32, shape), port.dtype);
    free(v);
    return kn_keep(x);
}

/* ---- texts */

/* Elements as bytes, which lie as the dtype asks. */
static bool write_bytes(FILE *f, const char *name, int run, int number, kn_tensor t)
{
    size_t bytes = (size_t)kn_dtype_bytes(kn_dtype_of(t), kn_count(t));
    unsigned char *data = malloc(bytes ? bytes : 1);
    bool good = kn_read(t, data, bytes) == KN_OK;
    fprintf(f, "static const unsigned char %s_%d_%d[] __attribute__((aligned(16))) = {", name, run, number);
    for (size_t i = 0; i < bytes && good; i++) fprintf(f, "%u,", data[i]);
    fprintf(f, bytes ? "};\n" : "0};\n");
    free(data);
    return good;
}

static const char compare_text[] =
    "static int wrong(const unsigned char *got, const unsigned char *want, int64_t bytes, int real, double "
    "tolerance)\n"
    "{\n"
    "    const float *a = (const float *)(const void *)got, *b = (const float *)(const void *)want;\n"
    "    float largest = 1;\n"
    "    if (!real) {\n"
    "        for (int64_t i = 0; i < bytes; i++)\n"
    "            if (got[i] != want[i]) return 1;\n"
    "        return 0;\n"
    "    }\n"
    "    for (int64_t i = 0; i < bytes / 4; i++) {\n"
    "        float gap = a[i] - b[i], size = b[i] < 0 ? -b[i] : b[i];\n"
    "        if (size < largest) size = largest;\n"
    "        if (gap < 0) gap = -gap;\n"
    "        if (a[i] != b[i] && !(a[i] != a[i] && b[i] != b[i]) && !(gap <= (float)tolerance * size)) "
    "return 1;\n"
    "    }\n"
    "    return 0;\n"
    "}\n";

/* Without a library there is nobody who calls main. */
static const char start_text[] = "#if defined(__x86_64__) && defined(__linux__)\n"
                                 "void _start(void);\n"
                                 "void _start(void)\n"
                                 "{\n"
                                 "    __asm__ volatile(\"andq $-16, %rsp\\n call main\\n movl %eax, %edi\\n "
                                 "movl $60, %eax\\n syscall\");\n"
                                 "    __builtin_unreachable();\n"
                                 "}\n"
                                 "#endif\n";

static bool write_run(FILE *f, kn_program p, const char *name, int run, const int64_t *sizes, int n_sizes,
                      bool weights, FILE *code)
{
    kn_tensor in[EXPORTED_INPUTS], out[64];
    int n_in = kn_program_inputs(p), n_out = kn_program_outputs(p);
    bool good = n_in <= EXPORTED_INPUTS && n_out <= 64;
    for (int i = 0; i < n_in && good; i++) {
        in[i] = input_of(p, i, sizes);
        good = write_bytes(f, "in", run, i, in[i]);
    }
    if (!good || kn_program_run(p, in, n_in, out, n_out)) return false;
    fprintf(code, "    status = %s_run(", name);
    const char *comma = "";
    if (weights) fprintf(code, "weights"), comma = ", ";
    for (int i = 0; i < n_sizes; i++, comma = ", ") fprintf(code, "%s%lld", comma, (long long)sizes[i]);
    for (int i = 0; i < n_in; i++, comma = ", ") fprintf(code, "%s(const void *)in_%d_%d", comma, run, i);
    for (int i = 0; i < n_out; i++, comma = ", ") fprintf(code, "%s(void *)out_%d_%d", comma, run, i);
    fprintf(code, ");\n    if (status) return 100 + status;\n");
    for (int i = 0; i < n_out && good; i++) {
        out[i] = kn_keep(out[i]);
        int real = kn_dtype_of(out[i]) == KN_F32;
        good = write_bytes(f, "want", run, i, out[i]);
        fprintf(f, "static unsigned char out_%d_%d[sizeof want_%d_%d] __attribute__((aligned(16)));\n", run,
                i, run, i);
        fprintf(code, "    if (wrong(out_%d_%d, want_%d_%d, sizeof want_%d_%d, %d, 4e-6)) return %d;\n", run,
                i, run, i, run, i, real, 1 + run * 10 + i);
    }
    return good;
}

static bool write_weights(FILE *f, const char *path)
{
    FILE *w = fopen(path, "rb");
    int byte;
    if (!w) return false;
    fprintf(f, "static const unsigned char weights[] __attribute__((aligned(16))) = {");
    while ((byte = fgetc(w)) != EOF) fprintf(f, "%d,", byte);
    fprintf(f, "0};\n");
    fclose(w);
    return true;
}

bool exported_write_program(kn_program p, const char *name, const char *folder, bool weights,
                            const int64_t (*runs)[EXPORTED_SIZES], int n_runs)
{
    char path[512], blob[512], code_text[1 << 16] = {0};
    snprintf(path, sizeof path, "%s/%s.c", folder, name);
    snprintf(blob, sizeof blob, "%s/%s.weights", folder, name);
    kn_program_to_c_args args = {.name = name, .weights = weights ? blob : NULL};
    if (kn_program_to_c(p, path, &args)) {
        printf("  %s\n", kn_last_error());
        return false;
    }
    int n_sizes = 0;
    while (n_sizes < EXPORTED_SIZES && runs[0][n_sizes]) n_sizes++;
    snprintf(path, sizeof path, "%s/%s_main.c", folder, name);
    FILE *f = fopen(path, "w"), *code = fmemopen(code_text, sizeof code_text - 1, "w");
    bool good = f && code;
    if (good) {
        fprintf(f, "#define %s_HEADER\n#include \"%s.c\"\n", name, name);
        if (weights) good = write_weights(f, blob);
        for (int i = 0; i < n_runs && good; i++)
            good = write_run(f, p, name, i, runs[i], n_sizes, weights, code);
        if (!good) printf("  %s\n", kn_last_error());
        fflush(code);
        fprintf(f, "%s\nint main(void);\nint main(void)\n{\n    int status;\n%s    return 0;\n}\n%s",
                compare_text, code_text, start_text);
    }
    if (code) fclose(code);
    if (f) fclose(f);
    return good;
}

bool exported_write(const exported_program *e, const char *folder, bool weights)
{
    random_state = 1;
    kn_program p = e->make();
    if (!p) return false;
    bool good = exported_write_program(p, e->name, folder, weights, e->runs, EXPORTED_RUNS);
    kn_program_free(p);
    return good;
}
