/* kiln run: a program of a file with inputs from files, whole or some rows at a time. */
#define KN_NO_SITES 1 /* the line of a failure would be the tool's own */
#include "kiln.h"
#include "run_files.h"
#include <kn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 }; /* MOST: inputs or outputs, as many as a file may have */

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
        const binding *b = kiln_bound(&j->inputs, port->name);
        j->in[i] = KN_NONE;
        if (!b && !port->dtype) continue; /* no op reads it */
        if (!b) {
            fprintf(stderr, "kiln run: the input '%s' is missing: --input %s=FILE. The program takes\n",
                    port->name, port->name);
            return list_inputs(j);
        }
        kn_tensor t = kiln_read_tensor("kiln run", b);
        if (!kn_ok(t)) return 1;
        if (port->dtype && kn_dtype_of(t) != port->dtype && !j->cast) {
            fprintf(stderr, "kiln run: %s is %s, the input '%s' %s; --cast converts it\n", b->file,
                    kn_dtype_name(kn_dtype_of(t)), port->name, kn_dtype_name(port->dtype));
            return 1;
        }
        if (port->dtype && kn_dtype_of(t) != port->dtype) t = kn_cast(t, port->dtype);
        j->in[i] = kn_keep(t);
        if (!kn_ok(t)) return kiln_run_failed();
    }
    return 0;
}

/* Names that the program does not have, or that stand there twice. */
static int unknown_names(const job *j)
{
    const bindings *lists[] = {&j->inputs, &j->outputs, &j->labels};
    static const char *const words[] = {"input", "output", "output"};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < lists[k]->n; i++) {
            const binding *b = &lists[k]->of[i];
            for (int p = 0; p < i; p++) {
                const binding *other = &lists[k]->of[p];
                if (other->length != b->length || strncmp(other->name, b->name, b->length) != 0) continue;
                fprintf(stderr, "kiln run: --%s %.*s is given twice\n", k < 2 ? words[k] : "labels",
                        (int)b->length, b->name);
                return 1;
            }
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

/* Whether the first size is a number, and so no count of rows that differs from run to run. */
static bool has_fixed_rows(const kn_program_port *port)
{
    size_t digits = strspn(port->shape, "0123456789");
    return digits > 0 && (!port->shape[digits] || port->shape[digits] == ',');
}

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

/* The first input that an op reads; 0 where there is none. */
static int32_t first_read(const job *j)
{
    for (int32_t i = 0; i < j->n_in; i++)
        if (j->in_ports[i].dtype) return i;
    return 0;
}

static int run_parts(job *j)
{
    const int32_t first = first_read(j);
    int64_t rows = j->n_in && kn_ok(j->in[first]) && kn_rank(j->in[first]) > 0 ? kn_size(j->in[first], 0) : 0;
    if (j->batch > rows) j->batch = rows;
    int64_t n = rows ? (rows - 1) / j->batch + 1 : 0;
    kn_tensor *parts = calloc((size_t)(n * j->n_out) + 1, sizeof *parts), out[MOST];
    int code = parts && n ? 0 : 1;
    if (!n) fprintf(stderr, "kiln run: --batch needs a first input with rows\n");
    for (int64_t i = 0; i < n && !code; i++) {
        int64_t from = i * j->batch, to = from + j->batch < rows ? from + j->batch : rows;
        if (run_part(j, rows, from, to, out)) code = kiln_run_failed();
        for (int32_t k = 0; k < j->n_out && !code && n > 1; k++)
            if (kn_rank(out[k]) < 1 || kn_size(out[k], 0) != to - from ||
                (has_fixed_rows(&j->out_ports[k]) && !has_fixed_rows(&j->in_ports[first]))) {
                fprintf(stderr,
                        "kiln run: --batch cannot cut this program: output '%s' has no row for each row of "
                        "the first input\n",
                        j->out_ports[k].name);
                code = 1;
            }
        for (int32_t k = 0; k < j->n_out && !code; k++) parts[k * n + i] = out[k];
    }
    for (int32_t k = 0; k < j->n_out && !code; k++) {
        j->out[k] = kn_keep(kn_rank(parts[k * n]) > 0 ? kn_concat(parts + k * n, (int32_t)n, 0)
                                                      : kn_stack(parts + k * n, (int32_t)n, 0));
        if (!kn_ok(j->out[k])) code = kiln_run_failed();
    }
    free(parts);
    return code;
}

static int run_program(job *j)
{
    if (j->batch) return run_parts(j);
    if (kn_program_run(j->program, j->in, j->n_in, j->out, j->n_out)) return kiln_run_failed();
    for (int32_t k = 0; k < j->n_out; k++) j->out[k] = kn_keep(j->out[k]);
    return 0;
}

/* ---- outputs */

/* How often the largest value of a row is at its label. */
static int compare(const kn_program_port *port, const binding *b, kn_tensor t)
{
    kn_tensor labels = kiln_read_tensor("kiln run", b);
    if (!kn_ok(labels)) return 1;
    if (kn_rank(t) < 1 || kn_size(t, -1) < 1 || kn_count(labels) != kn_count(t) / kn_size(t, -1)) {
        fprintf(stderr, "kiln run: %s has %lld labels, which are not one for each row of '%s'\n", b->file,
                (long long)kn_count(labels), port->name);
        return 1;
    }
    int64_t right = 0, n = kn_count(labels);
    kn_tensor found = kn_flatten(kn_argmax(t, -1, false), 0, -1);
    kn_tensor equal = kn_equal(found, kn_cast(kn_flatten(labels, 0, -1), KN_I64));
    if (kn_read_as(kn_sum(equal, KN_AXES_ALL, false), KN_I64, &right, sizeof right)) return kiln_run_failed();
    kiln_print_plain(stdout, port->name, 64);
    printf(": the largest value is at the label in %lld of %lld rows, %.2f %%\n", (long long)right,
           (long long)n, n ? 100.0 * (double)right / (double)n : 0.0);
    return 0;
}

static int give_outputs(job *j)
{
    const binding *to[MOST], *labels;
    const char *names[MOST];
    int code = 0;
    for (int32_t k = 0; k < j->n_out; k++) {
        to[k] = kiln_bound(&j->outputs, j->out_ports[k].name);
        names[k] = j->out_ports[k].name;
    }
    for (int32_t k = 0; k < j->n_out && !code; k++) {
        labels = kiln_bound(&j->labels, names[k]);
        if (labels) code = compare(&j->out_ports[k], labels, j->out[k]);
        if (!to[k] && !labels) code = kiln_show_tensor(names[k], j->out[k]);
    }
    return code ? code : kiln_write_files(to, names, j->out, j->n_out);
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
        if (kn_program_input(j->program, i, &j->in_ports[i])) return kiln_run_failed();
    for (int32_t k = 0; k < j->n_out; k++) {
        if (kn_program_output(j->program, k, &j->out_ports[k])) return kiln_run_failed();
        kiln_bound(&j->outputs, j->out_ports[k].name); /* only to know which names there are */
        kiln_bound(&j->labels, j->out_ports[k].name);
    }
    for (int32_t i = 0; i < j->n_in; i++) kiln_bound(&j->inputs, j->in_ports[i].name);
    return unknown_names(j);
}

static int execute(job *j)
{
    kn_device device = j->device ? kn_device_open(j->device) : NULL;
    if (j->device && !device) return kiln_run_failed();
    if (device) kn_device_use(device);
    j->program = kn_program_load(j->path, NULL);
    if (!j->program) return kiln_run_failed();
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
            bad = bad || !kiln_bind(&j->inputs, text);
        else if (kiln_option_value(count, arguments, &i, "--output", &text, &bad))
            bad = bad || !kiln_bind(&j->outputs, text);
        else if (kiln_option_value(count, arguments, &i, "--labels", &text, &bad))
            bad = bad || !kiln_bind(&j->labels, text);
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
        if (bad) return kiln_option_error(arguments[i - (text != NULL)], text);
    }
    return j->path ? 0
                   : kiln_usage_error(
                         "run needs a file: an ONNX model, or a program that kn_program_save has written");
}

int kiln_command_run(int count, char **arguments)
{
    for (int i = 0; i < count; i++)
        if (kiln_option(arguments, i, "--test")) return kiln_test_onnx(count, arguments);
    for (int i = 0; i < count; i++)
        if (arguments[i][0] != '-' && kiln_looks_like_onnx(arguments[i]))
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
