/* kiln conform --as-c: a case as a program that is traced, written as C, compiled without a library and called. */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "conform_run.h"
#include <dlfcn.h>
#include <kn/program.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int entry(const void *const *in, void *const *out);

/* A function with one signature for all programs. */
static bool write_wrapper(const char *path, int n_in, int n_out)
{
    FILE *f = fopen(path, "w");
    if (!f) return false;
    fprintf(f, "#define conform_HEADER\n#include \"conform.c\"\nint entry(const void *const *in, void *const "
               "*out);\n"
               "int entry(const void *const *in, void *const *out)\n{\n    (void)in, (void)out;\n    return "
               "conform_run(");
    for (int i = 0; i < n_in; i++) fprintf(f, "%sin[%d]", i ? ", " : "", i);
    for (int i = 0; i < n_out; i++) fprintf(f, "%sout[%d]", i + n_in ? ", " : "", i);
    fprintf(f, ");\n}\n");
    return fclose(f) == 0;
}

static void *compile(const char *folder, int n_in, int n_out)
{
    char path[320], command[1280];
    snprintf(path, sizeof path, "%s/entry.c", folder);
    if (!write_wrapper(path, n_in, n_out)) return NULL;
    snprintf(command, sizeof command,
             "cc -std=c99 -O0 -ffreestanding -nostdlib -shared -fPIC -Wl,--no-undefined -Wall -Wextra "
             "-Werror -pedantic "
             "-o %s/conform.so %s/conform.c %s/entry.c",
             folder, folder, folder);
    if (system(command)) return NULL;
    snprintf(path, sizeof path, "%s/conform.so", folder);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The operands that are there, as inputs of the program. */
static int list_inputs(const kiln_check *k, const kn_tensor *in, kn_tensor *inputs)
{
    int n = 0;
    for (int i = 0; i < k->c->n_in; i++)
        if (in[i].bits) inputs[n++] = in[i];
    return n;
}

static void *bytes_of(kn_tensor t, size_t *bytes)
{
    *bytes = (size_t)kn_dtype_bytes(kn_dtype_of(t), kn_count(t));
    return kiln_allocate(*bytes + 16);
}

static void call(const kiln_check *k, entry *run, const kn_tensor *inputs, int n_in, const kn_tensor *out,
                 int n_out, const kiln_array *values)
{
    void *in_data[KILN_MAX_INPUTS], *out_data[KILN_MAX_OUTPUTS];
    size_t bytes;
    bool good = true;
    for (int i = 0; i < n_in; i++) {
        in_data[i] = bytes_of(inputs[i], &bytes);
        good &= kn_read(inputs[i], in_data[i], bytes) == KN_OK;
    }
    for (int i = 0; i < n_out; i++) {
        out_data[i] = bytes_of(out[i], &bytes);
        memset(out_data[i], 0x5a, bytes);
    }
    int status = good ? run((const void *const *)in_data, out_data) : -1;
    if (status) kiln_result_text(k, "the program in C gave %d", status);
    for (int i = 0; i < n_out && !status; i++) {
        kn_tensor y = kn_from(out_data[i], kn_dtype_of(out[i]), kn_shape_of_tensor(out[i]));
        kiln_compare_output(k, i, y, values);
    }
    for (int i = 0; i < n_in; i++) free(in_data[i]);
    for (int i = 0; i < n_out; i++) free(out_data[i]);
}

/* Whether docs/export-to-c.md says that the op has no form in C: then a failure that names it is what is wanted. */
static bool is_refused(const char *text)
{
    static const char *const rows[] = {"solve",
                                       "pinverse",
                                       "attention_grad",
                                       "matmul_dequantized",
                                       "quantize_dynamic",
                                       "quantize_bytes",
                                       "dequantize_bytes",
                                       "byte_table",
                                       "quantized_sum",
                                       "quantized_product",
                                       "layer_norm_affine_grad",
                                       "rms_norm_affine_grad"};
    char words[96];
    bool found = strstr(text, "it draws random numbers") != NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !found; i++) {
        snprintf(words, sizeof words, "kn_%s: it has no freestanding form", rows[i]);
        found = strstr(text, words) != NULL;
    }
    return found;
}

static void run_program(const kiln_check *k, const char *folder, kn_program p, const kn_tensor *inputs,
                        int n_in, const kn_tensor *out, int n_out, const kiln_array *values)
{
    char path[320];
    snprintf(path, sizeof path, "%s/conform.c", folder);
    if (kn_program_to_c(p, path, &(kn_program_to_c_args){.name = "conform"})) {
        if (is_refused(kn_last_error()))
            kiln_result(k, NULL);
        else
            kiln_result_text(k, "unsupported: %s", kn_last_error());
        return;
    }
    void *library = compile(folder, n_in, n_out);
    void *symbol = library ? dlsym(library, "entry") : NULL;
    entry *run = NULL;
    memcpy(&run, &symbol, sizeof run);
    if (run)
        call(k, run, inputs, n_in, out, n_out, values);
    else
        kiln_result(k, "the program in C does not compile");
    if (library) dlclose(library);
}

void kiln_run_as_c(const kiln_check *k)
{
    kiln_array values[KILN_MAX_INPUTS];
    kn_tensor in[KILN_MAX_INPUTS], inputs[KILN_MAX_INPUTS], out[KILN_MAX_OUTPUTS];
    const char *base = getenv("TMPDIR");
    char folder[256], command[512];
    snprintf(folder, sizeof folder, "%s/kiln_conform_c_XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) {
        kiln_result(k, "no folder for its text");
        return;
    }
    kn_scope scope = kn_scope_begin();
    kiln_case_values(k->c, values);
    kiln_case_operands(k->c, values, KILN_CONTIGUOUS, NULL, in);
    int n_in = list_inputs(k, in, inputs), n = 0;
    if (kn_program_begin(k->run->device) == KN_OK) {
        n = kiln_invoke(k->c, k->row, in, out);
        for (int i = 0; i < n; i++) out[i] = kn_keep(out[i]);
    }
    kn_program p = kn_program_end(inputs, n_in, out, n);
    /* An op that hands on what it was given, such as dropout that does not train, makes no program. */
    bool none = !p && strstr(kn_last_error(), "is of no op between");
    if (p)
        run_program(k, folder, p, inputs, n_in, out, n, values);
    else if (!none)
        kiln_result_text(k, "unsupported: %s", kn_last_error());
    kn_program_free(p);
    kn_scope_end(scope, KN_NONE);
    kiln_free_values(values, k->c->n_in);
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command)) kiln_result(k, "its folder could not be removed");
}
