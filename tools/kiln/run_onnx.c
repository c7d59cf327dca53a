/* kiln run model.onnx: inputs from files or random ones, outputs to files or shown, times. */
#define _POSIX_C_SOURCE 200809L
#define KN_NO_SITES 1
#include "kiln.h"
#include "run_files.h"
#include "run_inputs.h"
#include <kn.h>
#include <kn/onnx.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHOWN_STRINGS = 4 };

typedef struct times {
    double wall, processor; /* seconds; of all threads */
} times;

typedef struct job {
    const char *path, *device;
    bindings outputs;
    value_source from;
    int64_t seed, repeat;
    bool profile, no_simplify, dump;
    kn_onnx model;
    kn_onnx_port *in, *out;
    int32_t n_in, n_out;
    kn_onnx_value *given, *made;
    times load;
} job;

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static times times_now(void)
{
    return (times){seconds_of(CLOCK_MONOTONIC), seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
}

static times times_since(times begun)
{
    times now = times_now();
    return (times){now.wall - begun.wall, now.processor - begun.processor};
}

/* ---- inputs */

static void list_ports(const kn_onnx_port *ports, int32_t n, const char *word)
{
    for (int32_t i = 0; i < n; i++)
        fprintf(stderr, "  %s %s: %s [%s]%s\n", word, ports[i].name, ports[i].type, ports[i].shape,
                ports[i].has_default ? ", may be left out" : "");
}

static int read_inputs(job *j)
{
    for (int32_t i = 0; i < j->n_in; i++) {
        const binding *b = kiln_bound(&j->from.inputs, j->in[i].name);
        if (b) j->given[i] = kiln_read_value(&j->from, &j->in[i], b);
        if (b && !j->given[i]) return 1;
        if (b || j->in[i].has_default || !j->from.inputs.n || j->from.random) continue;
        fprintf(
            stderr,
            "kiln run: the input '%s' is missing: --input %s=FILE, or --random for all that are not given. "
            "The model takes\n",
            j->in[i].name, j->in[i].name);
        list_ports(j->in, j->n_in, "input");
        return 1;
    }
    return 0;
}

/* Random values after those that are read, whose sizes they share. */
static int make_inputs(job *j)
{
    bool any = false;
    if (read_inputs(j)) return 1;
    for (int32_t i = 0; i < j->n_in; i++) any |= !j->given[i] && !j->in[i].has_default;
    if (any) kiln_say_random(&j->from, j->seed);
    for (int32_t i = 0; i < j->n_in; i++) {
        if (j->given[i] || j->in[i].has_default) continue;
        j->given[i] = kiln_random_value(&j->from, &j->in[i]);
        if (!j->given[i]) return 1;
    }
    return 0;
}

/* Names that the model does not have. */
static int unknown_names(job *j)
{
    const bindings *lists[] = {&j->from.inputs, &j->outputs, &j->from.dims};
    static const char *const words[] = {"input", "output", "size"};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < lists[k]->n; i++) {
            const binding *b = &lists[k]->of[i];
            if (b->used) continue;
            fprintf(stderr, "kiln run: the model has no %s called '%.*s'; it has\n", words[k], (int)b->length,
                    b->name);
            list_ports(k == 1 ? j->out : j->in, k == 1 ? j->n_out : j->n_in, k == 1 ? "output" : "input");
            if (k == 2) fputs("a size without a name is INPUT.AXIS, as x.0\n", stderr);
            return 1;
        }
    return 0;
}

static void mark_names(job *j)
{
    for (int32_t i = 0; i < j->n_in; i++) {
        kiln_bound(&j->from.inputs, j->in[i].name);
        for (int32_t a = 0; a < j->in[i].rank; a++) kiln_size_of(&j->from, &j->in[i], a);
    }
    for (int32_t k = 0; k < j->n_out; k++) kiln_bound(&j->outputs, j->out[k].name);
}

/* ---- running */

static void free_made(job *j)
{
    for (int32_t k = 0; k < j->n_out; k++) {
        kn_onnx_value_free(j->made[k]);
        j->made[k] = NULL;
    }
}

/* Waits for the outputs. */
static kn_status run_once(job *j, times *t)
{
    times begun = times_now();
    free_made(j);
    kn_scope scope = kn_scope_begin();
    kn_status s = kn_onnx_run_values(j->model, j->given, j->n_in, j->made, j->n_out);
    if (s == KN_OK) s = kn_sync(kn_device_current());
    kn_scope_end(scope, KN_NONE);
    *t = times_since(begun);
    return s;
}

static int by_size(const void *a, const void *b)
{
    double x = ((const times *)a)->wall, y = ((const times *)b)->wall;
    return (x > y) - (x < y);
}

static void print_times(const job *j, times first, times *all)
{
    const size_t n = (size_t)j->repeat;
    double least = all[0].processor;
    for (size_t i = 1; i < n; i++)
        if (all[i].processor < least) least = all[i].processor;
    qsort(all, n, sizeof *all, by_size);
    printf("loaded in %.3f ms; first run %.3f ms; %lld runs: %.3f ms at best, %.3f ms in the middle\n",
           j->load.wall * 1e3, first.wall * 1e3, (long long)j->repeat, all[0].wall * 1e3,
           all[n / 2].wall * 1e3);
    printf("the processors' time: %.3f ms, %.3f ms and %.3f ms at best\n", j->load.processor * 1e3,
           first.processor * 1e3, least * 1e3);
}

static int run_model(job *j)
{
    times *all = calloc((size_t)j->repeat, sizeof *all), first = {0, 0};
    int code = !all || run_once(j, &first) ? kiln_run_failed() : 0;
    if (!code && j->profile && kn_onnx_profile_begin(j->model)) code = kiln_run_failed();
    for (int64_t i = 0; i < j->repeat && !code && (j->repeat > 1 || j->profile); i++)
        if (run_once(j, &all[i])) code = kiln_run_failed();
    if (!code && j->repeat > 1) print_times(j, first, all);
    if (!code && j->profile) {
        size_t n = kn_onnx_profile(j->model, NULL, 0);
        char *text = malloc(n + 1);
        if (text && kn_onnx_profile(j->model, text, n + 1)) fputs(text, stdout);
        free(text);
    }
    free(all);
    return code;
}

/* ---- outputs */

static int show_value(const char *name, kn_onnx_value value)
{
    static const char *const kinds[] = {"nothing",    "a tensor",    "strings",
                                        "a sequence", "an optional", "a map"};
    kn_onnx_kind kind = value ? kn_onnx_value_kind(value) : KN_ONNX_NOTHING;
    if (kind == KN_ONNX_TENSOR) return kiln_show_tensor(name, kn_onnx_value_as_tensor(value));
    kiln_print_plain(stdout, name, 64);
    if (kind == KN_ONNX_NOTHING) return puts(": nothing"), 0;
    int64_t n = kn_onnx_value_count(value);
    printf(": %s of %lld", kinds[kind], (long long)n);
    for (int64_t i = 0; i < n && i < SHOWN_STRINGS && kind == KN_ONNX_STRINGS; i++) {
        const char *text;
        if (kn_onnx_value_string(value, i, &text, NULL)) return kiln_run_failed();
        fputs(" \"", stdout);
        kiln_print_plain(stdout, text, 64);
        fputs("\"", stdout);
    }
    puts("");
    int code = 0;
    for (int64_t i = 0; i < n && kind != KN_ONNX_STRINGS && !code; i++) {
        char inner[96];
        snprintf(inner, sizeof inner, "  %.60s[%lld]", name, (long long)i);
        kn_onnx_value item = kn_onnx_value_item(value, i);
        code = show_value(inner, item);
        kn_onnx_value_free(item);
    }
    return code;
}

static bool is_message(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && !strcmp(path + n - 3, ".pb");
}

static int give_outputs(job *j)
{
    int code = 0;
    const binding **to = calloc((size_t)j->n_out + 1, sizeof *to);
    const char **names = calloc((size_t)j->n_out + 1, sizeof *names);
    kn_tensor *tensors = calloc((size_t)j->n_out + 1, sizeof *tensors);
    if (!to || !names || !tensors) code = (fprintf(stderr, "kiln run: no memory\n"), 1);
    for (int32_t k = 0; k < j->n_out && !code; k++) {
        to[k] = kiln_bound(&j->outputs, j->out[k].name);
        names[k] = j->out[k].name;
        bool tensor = j->made[k] && kn_onnx_value_kind(j->made[k]) == KN_ONNX_TENSOR;
        if (tensor) tensors[k] = kn_onnx_value_as_tensor(j->made[k]);
        if (!to[k]) {
            code = show_value(names[k], j->made[k]);
        } else if (is_message(to[k]->file) && j->made[k]) {
            code = kiln_write_value(to[k]->file, j->made[k]);
            to[k] = NULL; /* it is written */
        } else if (!tensor) {
            code = (fprintf(stderr, "kiln run: output '%s' is no tensor: it can be written to a file .pb\n",
                            names[k]),
                    1);
        }
    }
    if (!code) code = kiln_write_files(to, names, tensors, j->n_out);
    free(to);
    free(names);
    free(tensors);
    return code;
}

/* ---- the whole */

static int describe(job *j)
{
    j->n_in = kn_onnx_inputs(j->model);
    j->n_out = kn_onnx_outputs(j->model);
    j->in = calloc((size_t)j->n_in + 1, sizeof *j->in);
    j->out = calloc((size_t)j->n_out + 1, sizeof *j->out);
    j->given = calloc((size_t)j->n_in + 1, sizeof *j->given);
    j->made = calloc((size_t)j->n_out + 1, sizeof *j->made);
    if (!j->in || !j->out || !j->given || !j->made) return fputs("kiln run: no memory\n", stderr), 1;
    j->from.ports = j->in;
    j->from.given = j->given;
    j->from.n = j->n_in;
    for (int32_t i = 0; i < j->n_in; i++)
        if (kn_onnx_input(j->model, i, &j->in[i])) return kiln_run_failed();
    for (int32_t k = 0; k < j->n_out; k++)
        if (kn_onnx_output(j->model, k, &j->out[k])) return kiln_run_failed();
    mark_names(j);
    return unknown_names(j);
}

static int execute(job *j)
{
    kn_device device = j->device ? kn_device_open(j->device) : NULL;
    if (j->device && !device) return kiln_run_failed();
    if (device) kn_device_use(device);
    kn_seed(NULL, (uint64_t)j->seed);
    times begun = times_now();
    j->model = kn_onnx_load(j->path, &(kn_onnx_args){.no_simplify = j->no_simplify});
    j->load = times_since(begun);
    if (!j->model) return kiln_run_failed();
    int code = describe(j);
    if (!code && j->dump) code = kiln_print_nodes(j->model);
    if (!code && !kiln_can_write(&j->outputs, ".pb")) code = 1;
    if (!code) code = make_inputs(j);
    if (!code) code = run_model(j);
    if (!code) code = give_outputs(j);
    for (int32_t i = 0; j->given && i < j->n_in; i++) kn_onnx_value_free(j->given[i]);
    if (j->made) free_made(j);
    kn_onnx_free(j->model);
    return code;
}

static bool is_number(const char *text, int64_t low, int64_t *number)
{
    char *end = NULL;
    *number = text ? strtoll(text, &end, 10) : 0;
    return text && end != text && !*end && *number >= low;
}

/* 0, or the exit code of a mistake. */
static int read_options(job *j, int count, char **arguments)
{
    bool bad = false;
    for (int i = 0; i < count; i++) {
        const char *text = NULL;
        int64_t number;
        if (kiln_option(arguments, i, "--profile"))
            j->profile = true;
        else if (kiln_option(arguments, i, "--cast"))
            j->from.cast = true;
        else if (kiln_option(arguments, i, "--random"))
            j->from.random = true;
        else if (kiln_option(arguments, i, "--no-simplify"))
            j->no_simplify = true;
        else if (kiln_option(arguments, i, "--dump"))
            j->dump = true;
        else if (kiln_option_value(count, arguments, &i, "--mean", &text, &bad))
            bad = bad || !kiln_read_channels(text, j->from.mean);
        else if (kiln_option_value(count, arguments, &i, "--std", &text, &bad))
            bad = bad || !kiln_read_channels(text, j->from.std);
        else if (kiln_option_value(count, arguments, &i, "--input", &text, &bad))
            bad = bad || !kiln_bind(&j->from.inputs, text);
        else if (kiln_option_value(count, arguments, &i, "--output", &text, &bad))
            bad = bad || !kiln_bind(&j->outputs, text);
        else if (kiln_option_value(count, arguments, &i, "--dim", &text, &bad))
            bad = bad || !kiln_bind(&j->from.dims, text) || !is_number(strchr(text, '=') + 1, 0, &number);
        else if (kiln_option_value(count, arguments, &i, "--device", &j->device, &bad))
            bad = bad || !*j->device;
        else if (kiln_option_value(count, arguments, &i, "--seed", &text, &bad))
            bad = bad || !is_number(text, 0, &j->seed);
        else if (kiln_option_value(count, arguments, &i, "--repeat", &text, &bad))
            bad = bad || !is_number(text, 1, &j->repeat) || j->repeat > 1000000;
        else if (arguments[i][0] == '-' || j->path)
            return kiln_usage_error(
                "run takes of an ONNX model one file, --input, --output, --device, --dim, --seed, --repeat, "
                "--profile, --cast, --random, --mean, --std, --dump and --no-simplify, not '%s'",
                arguments[i]);
        else
            j->path = arguments[i];
        if (bad) return kiln_option_error(arguments[i - (text != NULL)], text);
    }
    return 0;
}

int kiln_run_onnx(int count, char **arguments)
{
    job j = {.repeat = 1, .from = KILN_VALUE_SOURCE};
    int code = read_options(&j, count, arguments);
    if (!code) {
        kn_scope scope = kn_scope_begin();
        code = execute(&j);
        kn_scope_end(scope, KN_NONE);
    }
    free(j.from.inputs.of);
    free(j.outputs.of);
    free(j.from.dims.of);
    free(j.in);
    free(j.out);
    free(j.given);
    free(j.made);
    return code;
}
