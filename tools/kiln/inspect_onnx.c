/* kiln inspect model.onnx: what the model takes and gives, its parameters and operators, what it costs, and what cannot run. */
#define _POSIX_C_SOURCE 200809L
#define KN_NO_SITES 1 /* the line of a failure would be the tool's own */
#include "kiln.h"
#include "run_inputs.h"
#include <kn.h>
#include <kn/onnx.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

typedef struct job {
    const char *path;
    value_source from; /* its dims are those given */
    kn_onnx_size sizes[MOST];
    char *names[MOST];
    int n_sizes;
    bool no_simplify, dump, program;
} job;

/* A model begins with the version of its format, in field 1; safetensors files have a '{' behind 8 bytes. */
bool kiln_looks_like_onnx(const char *path)
{
    unsigned char head[9] = {0};
    size_t length = strlen(path);
    if (length > 5 && !strcmp(path + length - 5, ".onnx")) return true;
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(head, 1, sizeof head, file) : 0;
    if (file) fclose(file);
    return n > 2 && head[0] == 0x08 && head[1] >= 1 && head[1] < 32 && head[8] != '{';
}

static int failed(void)
{
    fprintf(stderr, "kiln inspect: %s\n", kn_last_error());
    return 1;
}

/* Sizes that are named as sums or quotients of others ("past + sequence") are given as INPUT.AXIS where the others are given. */
static void add_derived_sizes(job *j, kn_onnx model)
{
    kn_onnx_port port;
    for (int32_t i = 0; i < kn_onnx_inputs(model) && kn_onnx_input(model, i, &port) == KN_OK; i++)
        for (int32_t a = 0; a < port.rank && j->n_sizes < MOST; a++) {
            char own[300];
            int64_t size = port.sizes[a] < 0 && port.names[a] && strpbrk(port.names[a], "+-*/")
                               ? kiln_known_size(&j->from, &port, a)
                               : -1;
            snprintf(own, sizeof own, "%s.%d", port.name, (int)a);
            char *name = size < 0 || kiln_bound(&j->from.dims, port.names[a]) ? NULL : strdup(own);
            if (!name) continue;
            j->names[j->n_sizes] = name;
            j->sizes[j->n_sizes++] = (kn_onnx_size){name, size, size};
        }
}

static int print_model(job *j, kn_onnx model)
{
    add_derived_sizes(j, model);
    if (kn_onnx_examine(model, j->sizes, j->n_sizes, NULL)) return failed();
    size_t bytes = kn_onnx_inspect(model, NULL, 0) + 1;
    char *text = bytes > 1 ? malloc(bytes) : NULL;
    if (!text) return failed();
    kn_onnx_inspect(model, text, bytes);
    printf("%s: ONNX\n%s", j->path, text); /* the library has escaped what is not plain */
    free(text);
    return 0;
}

/* The graph as it is in the file, and with passes as it runs. */
static int dump(const job *j, bool simplified)
{
    kn_onnx model = kn_onnx_load(j->path, &(kn_onnx_args){.no_simplify = !simplified});
    if (!model) return failed();
    printf("\nnodes %s:\n", simplified ? "after the passes of loading" : "of the file");
    int code = kiln_print_nodes(model);
    kn_onnx_free(model);
    return code;
}

/* Whether the model can be C: what kiln import would say. The sizes that were derived are not its own. */
static int try_program(const job *j)
{
    kn_onnx model = kn_onnx_load(j->path, &(kn_onnx_args){.no_simplify = j->no_simplify});
    if (!model) return failed();
    kn_onnx_program_args args = {.sizes = j->sizes, .n_sizes = j->from.dims.n, .no_simplify = j->no_simplify};
    kn_program_info info;
    kn_program p = kn_onnx_program(model, &args);
    if (p && kn_program_describe(p, &info) == KN_OK)
        printf("kiln import makes a program of it: %d ops, %d of If, loop and call, %d params\n", info.ops,
               info.controls, info.params);
    else
        printf("kiln import makes no program of it: %s\n", kn_last_error());
    kn_program_free(p);
    kn_onnx_free(model);
    return 0;
}

static int inspect(job *j)
{
    kn_onnx model = kn_onnx_load(j->path, &(kn_onnx_args){.no_simplify = true});
    if (!model) return failed();
    int code = print_model(j, model);
    kn_onnx_free(model);
    if (!code && j->program) code = try_program(j);
    if (!code && j->dump) code = dump(j, false);
    if (!code && j->dump && !j->no_simplify) code = dump(j, true);
    return code;
}

static int read_options(job *j, int count, char **arguments)
{
    bool bad = false;
    for (int i = 0; i < count; i++) {
        const char *text = NULL;
        if (kiln_option(arguments, i, "--no-simplify"))
            j->no_simplify = true;
        else if (kiln_option(arguments, i, "--dump"))
            j->dump = true;
        else if (kiln_option(arguments, i, "--program"))
            j->program = true;
        else if (kiln_option_value(count, arguments, &i, "--dim", &text, &bad)) {
            int n = j->n_sizes;
            if (bad) return kiln_usage_error("--dim needs a size: NAME=8");
            bool good = n < MOST && kiln_read_size(&j->from.dims, text, &j->sizes[n], &j->names[n]);
            j->n_sizes += n < MOST;
            if (!good) return kiln_usage_error("'%s' is no size; write --dim NAME=8", text);
        } else if (arguments[i][0] == '-' || j->path)
            return kiln_usage_error("inspect takes of an ONNX model one file, --dim, --program, --dump and "
                                    "--no-simplify, not '%s'",
                                    arguments[i]);
        else
            j->path = arguments[i];
        if (bad) return kiln_usage_error("%s needs a value", arguments[i]);
    }
    return 0;
}

int kiln_inspect_onnx(int count, char **arguments)
{
    job *j = calloc(1, sizeof *j);
    if (!j) return fputs("kiln inspect: no memory\n", stderr), 1;
    int code = read_options(j, count, arguments);
    if (!code) code = inspect(j);
    for (int i = 0; i < j->n_sizes; i++) free(j->names[i]);
    free(j->from.dims.of);
    free(j);
    return code;
}
