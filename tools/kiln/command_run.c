/* kiln run: a program of a file with inputs from files, whole or some rows at a time. */
#define KN_NO_SITES 1 /* the line of a failure would be the tool's own */
#include "kiln.h"
#include <kn.h>
#include <kn/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 4096, SHOWN = 8 }; /* MOST: inputs or outputs, as many as a file may have */

/* NAME=FILE of an option. */
typedef struct binding {
    const char *name, *file;
    size_t length; /* of the name */
    bool used;
} binding;

typedef struct bindings {
    binding *of;
    int n, room;
} bindings;

typedef struct job {
    const char *path, *device;
    bindings inputs, outputs, labels;
    int64_t batch;
    bool cast;
    kn_program program;
    int32_t n_in, n_out;
    kn_program_port *in_ports, *out_ports;
    kn_tensor *in, *out;
} job;

static int failed(void)
{
    fprintf(stderr, "kiln run: %s\n", kn_last_error());
    return 1;
}

static bool bind(bindings *list, const char *text)
{
    const char *equals = text ? strchr(text, '=') : NULL;
    if (!equals || equals == text || !equals[1]) return false;
    if (list->n == list->room) {
        int room = list->room ? 2 * list->room : 16;
        binding *of = realloc(list->of, (size_t)room * sizeof *of);
        if (!of) return false;
        list->of = of, list->room = room;
    }
    list->of[list->n++] = (binding){text, equals + 1, (size_t)(equals - text), false};
    return true;
}

/* The binding of a name, marked as used; NULL: there is none. */
static binding *bound(bindings *list, const char *name)
{
    for (int i = 0; i < list->n; i++)
        if (strlen(name) == list->of[i].length && !strncmp(list->of[i].name, name, list->of[i].length)) {
            list->of[i].used = true;
            return &list->of[i];
        }
    return NULL;
}

/* ---- files */

/* FILE or FILE:ENTRY; without one the only tensor, or the one of the name. KN_NONE with the failure printed. */
static kn_tensor read_tensor(const binding *b)
{
    char path[4096], name[256];
    const char *colon = strrchr(b->file, ':');
    bool entry = colon && colon[1] && access(b->file, F_OK) != 0;
    snprintf(path, sizeof path, "%.*s", (int)(entry ? colon - b->file : (long)strlen(b->file)), b->file);
    snprintf(name, sizeof name, "%.*s", entry ? 255 : (int)b->length, entry ? colon + 1 : b->name);
    kn_store store = kn_store_open(path, NULL);
    if (!store) return failed(), KN_NONE;
    int64_t index = !entry && kn_store_count(store) == 1 ? 0 : kn_store_find(store, name);
    kn_tensor t = index < 0 ? KN_NONE : kn_store_tensor(store, index);
    if (index < 0)
        fprintf(stderr, "kiln run: %s holds %lld tensors, none called '%s'; write %.*s=%s:ENTRY\n", path,
                (long long)kn_store_count(store), name, (int)b->length, b->name, path);
    else if (!kn_ok(t))
        t = (failed(), KN_NONE);
    kn_store_close(store);
    return t;
}

static int write_tensor(const binding *b, kn_tensor t)
{
    kn_state state = kn_state_make();
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)b->length, b->name);
    kn_status s = state ? kn_state_put(state, "", name, t) : KN_ERROR_MEMORY;
    if (s == KN_OK) s = kn_state_write(state, b->file, KN_STORE_AUTO);
    kn_state_free(state);
    return s ? failed() : 0;
}

/* ---- inputs */

static int list_inputs(const job *j)
{
    for (int32_t i = 0; i < j->n_in; i++) kiln_print_port(stderr, "input", &j->in_ports[i]);
    return 1;
}

static int read_inputs(job *j)
{
    for (int32_t i = 0; i < j->n_in; i++) {
        const kn_program_port *port = &j->in_ports[i];
        const binding *b = bound(&j->inputs, port->name);
        j->in[i] = KN_NONE;
        if (!b && !port->dtype) continue; /* no op reads it */
        if (!b) {
            fprintf(stderr, "kiln run: the input '%s' is missing: --input %s=FILE. The program takes\n",
                    port->name, port->name);
            return list_inputs(j);
        }
        kn_tensor t = read_tensor(b);
        if (!kn_ok(t)) return 1;
        if (port->dtype && kn_dtype_of(t) != port->dtype && !j->cast) {
            fprintf(stderr, "kiln run: %s is %s, the input '%s' %s; --cast converts it\n", b->file,
                    kn_dtype_name(kn_dtype_of(t)), port->name, kn_dtype_name(port->dtype));
            return 1;
        }
        if (port->dtype && kn_dtype_of(t) != port->dtype) t = kn_cast(t, port->dtype);
        j->in[i] = kn_keep(t);
        if (!kn_ok(t)) return failed();
    }
    return 0;
}

/* Names that the program does not have. */
static int unknown_names(const job *j)
{
    const bindings *lists[] = {&j->inputs, &j->outputs, &j->labels};
    static const char *const words[] = {"input", "output", "output"};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < lists[k]->n; i++) {
            const binding *b = &lists[k]->of[i];
            if (b->used) continue;
            fprintf(stderr, "kiln run: the program has no %s called '%.*s'; it has\n", words[k],
                    (int)b->length, b->name);
            for (int32_t p = 0; p < (k ? j->n_out : j->n_in); p++)
                kiln_print_port(stderr, words[k], k ? &j->out_ports[p] : &j->in_ports[p]);
            return 1;
        }
    return 0;
}

/* ---- running */

/* Runs the program on rows from .. to - 1. Inputs with another number of rows than the first are given whole. */
static kn_status run_part(job *j, int64_t rows, int64_t from, int64_t to, kn_tensor *out)
{
    kn_tensor part[MOST];
    for (int32_t i = 0; i < j->n_in; i++) {
        bool cut = kn_ok(j->in[i]) && kn_rank(j->in[i]) > 0 && kn_size(j->in[i], 0) == rows;
        part[i] = cut ? kn_narrow(j->in[i], 0, from, to - from) : j->in[i];
    }
    kn_status s = kn_program_run(j->program, part, j->n_in, out, j->n_out);
    for (int32_t k = 0; k < j->n_out && s == KN_OK; k++) out[k] = kn_keep(out[k]);
    return s;
}

static int run_parts(job *j)
{
    int64_t rows = j->n_in && kn_ok(j->in[0]) && kn_rank(j->in[0]) > 0 ? kn_size(j->in[0], 0) : 0;
    if (j->batch > rows) j->batch = rows;
    int64_t n = rows ? (rows - 1) / j->batch + 1 : 0;
    kn_tensor *parts = calloc((size_t)(n * j->n_out) + 1, sizeof *parts), out[MOST];
    int code = parts && n ? 0 : 1;
    if (!n) fprintf(stderr, "kiln run: --batch needs a first input with rows\n");
    for (int64_t i = 0; i < n && !code; i++) {
        int64_t from = i * j->batch, to = from + j->batch < rows ? from + j->batch : rows;
        if (run_part(j, rows, from, to, out)) code = failed();
        for (int32_t k = 0; k < j->n_out && !code && n > 1; k++)
            if (kn_rank(out[k]) < 1 || kn_size(out[k], 0) != to - from) {
                fprintf(stderr,
                        "kiln run: --batch cannot cut this program: output '%s' has no row for each row of "
                        "the first input\n",
                        j->out_ports[k].name);
                code = 1;
            }
        for (int32_t k = 0; k < j->n_out && !code; k++) parts[k * n + i] = out[k];
    }
    for (int32_t k = 0; k < j->n_out && !code; k++) {
        kn_tensor first = parts[k * n];
        j->out[k] = kn_keep(kn_rank(first) > 0 ? kn_concat(parts + k * n, (int32_t)n, 0)
                                               : kn_stack(parts + k * n, (int32_t)n, 0));
        if (!kn_ok(j->out[k])) code = failed();
    }
    free(parts);
    return code;
}

static int run_program(job *j)
{
    if (j->batch) return run_parts(j);
    if (kn_program_run(j->program, j->in, j->n_in, j->out, j->n_out)) return failed();
    for (int32_t k = 0; k < j->n_out; k++) j->out[k] = kn_keep(j->out[k]);
    return 0;
}

/* ---- outputs */

static int show(const kn_program_port *port, kn_tensor t)
{
    int64_t count = kn_count(t), n = count < SHOWN ? count : SHOWN;
    double reals[SHOWN];
    int64_t whole[SHOWN];
    kn_dtype dtype = kn_dtype_of(t);
    bool integer = !(kn_dtype_limits(dtype).max > 0); /* stored floats have limits, too */
    kn_tensor some = kn_narrow(kn_flatten(t, 0, -1), 0, 0, n);
    kn_status s = integer ? kn_read_as(some, KN_I64, whole, (size_t)n * sizeof *whole)
                          : kn_read_as(some, KN_F64, reals, (size_t)n * sizeof *reals);
    if (s) return failed();
    kiln_print_plain(stdout, port->name, 64);
    printf(": %s [", kn_dtype_name(kn_dtype_of(t)));
    for (int32_t a = 0; a < kn_rank(t); a++) printf(a ? ", %lld" : "%lld", (long long)kn_size(t, a));
    printf("]");
    for (int64_t i = 0; i < n; i++)
        if (integer)
            printf(" %lld", (long long)whole[i]);
        else
            printf(" %.9g", reals[i]);
    puts(count > n ? " ..." : "");
    return 0;
}

/* How often the largest value of a row is at its label. */
static int compare(const kn_program_port *port, const binding *b, kn_tensor t)
{
    kn_tensor labels = read_tensor(b);
    if (!kn_ok(labels)) return 1;
    if (kn_rank(t) < 1 || kn_size(t, -1) < 1 || kn_count(labels) != kn_count(t) / kn_size(t, -1)) {
        fprintf(stderr, "kiln run: %s has %lld labels, which are not one for each row of '%s'\n", b->file,
                (long long)kn_count(labels), port->name);
        return 1;
    }
    int64_t right = 0, n = kn_count(labels);
    kn_tensor found = kn_flatten(kn_argmax(t, -1, false), 0, -1);
    kn_tensor equal = kn_equal(found, kn_cast(kn_flatten(labels, 0, -1), KN_I64));
    if (kn_read_as(kn_sum(equal, KN_AXES_ALL, false), KN_I64, &right, sizeof right)) return failed();
    kiln_print_plain(stdout, port->name, 64);
    printf(": the largest value is at the label in %lld of %lld rows, %.2f %%\n", (long long)right,
           (long long)n, n ? 100.0 * (double)right / (double)n : 0.0);
    return 0;
}

static int give_outputs(job *j)
{
    int code = 0;
    for (int32_t k = 0; k < j->n_out && !code; k++) {
        const binding *to = bound(&j->outputs, j->out_ports[k].name),
                      *labels = bound(&j->labels, j->out_ports[k].name);
        if (labels) code = compare(&j->out_ports[k], labels, j->out[k]);
        if (to && !code) code = write_tensor(to, j->out[k]);
        if (!to && !labels) code = show(&j->out_ports[k], j->out[k]);
    }
    return code;
}

/* ---- the whole */

static int describe(job *j)
{
    j->n_in = kn_program_inputs(j->program);
    j->n_out = kn_program_outputs(j->program);
    if (j->n_in > MOST || j->n_out > MOST) {
        fprintf(stderr, "kiln run: the program has more than %d inputs or outputs\n", (int)MOST);
        return 1;
    }
    j->in_ports = calloc((size_t)j->n_in + 1, sizeof *j->in_ports);
    j->out_ports = calloc((size_t)j->n_out + 1, sizeof *j->out_ports);
    if (!j->in_ports || !j->out_ports) {
        fprintf(stderr, "kiln run: no memory\n");
        return 1;
    }
    for (int32_t i = 0; i < j->n_in; i++)
        if (kn_program_input(j->program, i, &j->in_ports[i])) return failed();
    for (int32_t k = 0; k < j->n_out; k++) {
        if (kn_program_output(j->program, k, &j->out_ports[k])) return failed();
        bound(&j->outputs, j->out_ports[k].name); /* only to know which names there are */
        bound(&j->labels, j->out_ports[k].name);
    }
    for (int32_t i = 0; i < j->n_in; i++) bound(&j->inputs, j->in_ports[i].name);
    return unknown_names(j);
}

static int execute(job *j)
{
    kn_device device = j->device ? kn_device_open(j->device) : NULL;
    if (j->device && !device) return failed();
    if (device) kn_device_use(device);
    j->program = kn_program_load(j->path, NULL);
    if (!j->program) return failed();
    kn_tensor in[MOST], out[MOST];
    j->in = in, j->out = out;
    int code = describe(j);
    if (!code) code = read_inputs(j);
    if (!code) code = run_program(j);
    if (!code) code = give_outputs(j);
    kn_program_free(j->program);
    free(j->in_ports);
    free(j->out_ports);
    return code;
}

/* 0, or the exit code of a mistake. */
static int read_options(job *j, int count, char **arguments)
{
    bool bad = false;
    for (int i = 0; i < count; i++) {
        const char *text = NULL;
        if (kiln_option(arguments, i, "--cast"))
            j->cast = true;
        else if (kiln_option_value(count, arguments, &i, "--input", &text, &bad))
            bad = bad || !bind(&j->inputs, text);
        else if (kiln_option_value(count, arguments, &i, "--output", &text, &bad))
            bad = bad || !bind(&j->outputs, text);
        else if (kiln_option_value(count, arguments, &i, "--labels", &text, &bad))
            bad = bad || !bind(&j->labels, text);
        else if (kiln_option_value(count, arguments, &i, "--device", &j->device, &bad))
            bad = bad || !*j->device;
        else if (kiln_option_value(count, arguments, &i, "--batch", &text, &bad))
            bad = bad || (j->batch = strtoll(text, NULL, 10)) < 1;
        else if (arguments[i][0] == '-' || j->path)
            return kiln_usage_error("run takes one file, --input, --output, --labels, --device, --batch and "
                                    "--cast, not '%s'",
                                    arguments[i]);
        else
            j->path = arguments[i];
        if (bad)
            return kiln_usage_error("%s: '%s' makes no sense here", arguments[i - (text != NULL)],
                                    text ? text : "");
    }
    return j->path ? 0 : kiln_usage_error("run needs a file that holds a program");
}

/* Programs are safetensors files: the length of a header, then the header; everything else is taken for an ONNX model. */
static bool is_onnx(const char *path)
{
    unsigned char head[9];
    FILE *file = fopen(path, "rb");
    size_t n = file ? fread(head, 1, sizeof head, file) : 0;
    if (file) fclose(file);
    return n > 0 && (n < sizeof head || head[8] != '{');
}

int kiln_command_run(int count, char **arguments)
{
    for (int i = 0; i < count; i++)
        if (kiln_option(arguments, i, "--test")) return kiln_test_onnx(count, arguments);
    for (int i = 0; i < count; i++)
        if (arguments[i][0] != '-' &&
            (i == 0 || arguments[i - 1][0] != '-' || strchr(arguments[i - 1], '=')) && is_onnx(arguments[i]))
            return kiln_run_onnx(count, arguments);
    job j = {0};
    int code = read_options(&j, count, arguments);
    if (!code) {
        kn_scope scope = kn_scope_begin();
        code = execute(&j);
        kn_scope_end(scope, KN_NONE);
    }
    free(j.inputs.of);
    free(j.outputs.of);
    free(j.labels.of);
    return code;
}
