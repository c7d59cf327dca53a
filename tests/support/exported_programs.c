/* The texts around programs that are written as C. */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "exported_programs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static bool write_run(FILE *f, kn_program p, const char *name, int run, const exported_truth *truth,
                      int n_sizes, bool weights, FILE *code)
{
    kn_tensor in[PROOF_INPUTS], out[PROOF_OUTPUTS];
    const proof_run *r = &truth->runs[run];
    int n_in = kn_program_inputs(p), n_out = kn_program_outputs(p);
    bool good = n_in <= PROOF_INPUTS && n_out <= PROOF_OUTPUTS;
    for (int i = 0; i < n_in && good; i++) {
        in[i] = proof_input(p, i, r);
        good = write_bytes(f, "in", run, i, in[i]);
    }
    if (!good || truth->eager(truth->net, in, out)) return false;
    fprintf(code, "    status = %s_run(", name);
    const char *comma = "";
    if (weights) fprintf(code, "weights"), comma = ", ";
    for (int i = 0; i < n_sizes; i++, comma = ", ") fprintf(code, "%s%lld", comma, (long long)r->sizes[i]);
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
                            const exported_truth *truth)
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
    while (n_sizes < PROOF_SIZES && truth->runs[0].sizes[n_sizes]) n_sizes++;
    snprintf(path, sizeof path, "%s/%s_main.c", folder, name);
    FILE *f = fopen(path, "w"), *code = fmemopen(code_text, sizeof code_text - 1, "w");
    bool good = f && code;
    if (good) {
        fprintf(f, "#define %s_HEADER\n#include \"%s.c\"\n", name, name);
        if (weights) good = write_weights(f, blob);
        for (int i = 0; i < truth->n_runs && good; i++)
            good = write_run(f, p, name, i, truth, n_sizes, weights, code);
        if (!good) printf("  %s\n", kn_last_error());
        fflush(code);
        fprintf(f, "%s\nint main(void);\nint main(void)\n{\n    int status;\n%s    return 0;\n}\n%s",
                compare_text, code_text, start_text);
    }
    if (code) fclose(code);
    if (f) fclose(f);
    return good;
}

bool exported_write(const proof_program *e, const char *folder, bool weights)
{
    proof_net net;
    bool good = proof_init(e, &net) == KN_OK;
    kn_program p = good ? e->build(&net, e->dtype) : NULL;
    exported_truth truth = {&net, e->eager, e->runs, e->n_runs};
    good = p && exported_write_program(p, e->name, folder, weights, &truth);
    kn_program_free(p);
    kn_module_drop(KN_MODULE_OF(proof_net, &net));
    return good;
}
