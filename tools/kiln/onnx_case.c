/* kiln run --test: one case, that is one model with all its sets of data. */
#define _POSIX_C_SOURCE 200809L
#define KN_NO_SITES 1
#include "onnx_cases.h"
#include <dirent.h>
#include <kn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH = 4096 };

static void say(case_result *r, const char *before, const char *text)
{
    r->passed = false;
    snprintf(r->reason, sizeof r->reason, "%.100s%.290s", before, text);
}

/* Values of the files input_0.pb ... in a folder; those without a file stay NULL. False with the reason. */
static bool read_values(const char *folder, const char *word, const kn_onnx_port *ports, int32_t n,
                        kn_onnx_value *values, case_result *r)
{
    for (int32_t i = 0; i < n; i++) {
        char path[PATH];
        snprintf(path, sizeof path, "%.3900s/%s_%d.pb", folder, word, i);
        values[i] = NULL;
        if (access(path, F_OK) != 0) continue;
        values[i] = kn_onnx_value_read(path, ports[i].type && *ports[i].type ? ports[i].type : NULL);
        if (!values[i]) return say(r, "", kn_last_error()), false;
    }
    return true;
}

static void free_values(kn_onnx_value *values, int32_t n)
{
    for (int32_t i = 0; i < n; i++) kn_onnx_value_free(values[i]);
}

typedef struct loaded {
    kn_onnx model;
    kn_onnx_port *in, *out;
    int32_t n_in, n_out;
    bool many;
} loaded;

static bool compare_all(const loaded *l, const kn_onnx_value *got, const kn_onnx_value *expected,
                        case_result *r)
{
    for (int32_t k = 0; k < l->n_out; k++) {
        char reason[CASE_REASON] = "", before[120];
        if (kiln_compare_onnx_values(got[k], expected[k], l->many, kn_onnx_output_is_random(l->model, k),
                                     reason))
            continue;
        snprintf(before, sizeof before, "output '%.80s': ", l->out[k].name);
        return say(r, before, reason), false;
    }
    return true;
}

static void run_set(const loaded *l, const char *folder, case_result *r)
{
    int32_t n = l->n_in + 2 * l->n_out;
    kn_onnx_value *values = calloc((size_t)n + 1, sizeof *values);
    kn_onnx_value *got = values + l->n_in, *expected = got + l->n_out;
    if (!values) {
        say(r, "", "no memory");
        return;
    }
    if (read_values(folder, "input", l->in, l->n_in, values, r) &&
        read_values(folder, "output", l->out, l->n_out, expected, r)) {
        if (kn_onnx_run_values(l->model, values, l->n_in, got, l->n_out))
            say(r, "", kn_last_error());
        else
            compare_all(l, got, expected, r);
    }
    free_values(values, n);
    free(values);
}

static bool load(const char *folder, loaded *l, case_result *r)
{
    char path[PATH];
    kn_onnx_info info;
    snprintf(path, sizeof path, "%.4000s/model.onnx", folder);
    l->model = kn_onnx_load(path, NULL);
    if (!l->model || kn_onnx_describe(l->model, &info)) return say(r, "", kn_last_error()), false;
    l->many = info.nodes > 1;
    l->n_in = kn_onnx_inputs(l->model);
    l->n_out = kn_onnx_outputs(l->model);
    l->in = calloc((size_t)l->n_in + 1, sizeof *l->in);
    l->out = calloc((size_t)l->n_out + 1, sizeof *l->out);
    for (int32_t i = 0; l->in && l->out && i < l->n_in; i++)
        if (kn_onnx_input(l->model, i, &l->in[i])) return say(r, "", kn_last_error()), false;
    for (int32_t k = 0; l->in && l->out && k < l->n_out; k++)
        if (kn_onnx_output(l->model, k, &l->out[k])) return say(r, "", kn_last_error()), false;
    return l->in && l->out;
}

void kiln_run_onnx_case(const char *folder, case_result *r)
{
    loaded l = {0};
    *r = (case_result){.passed = true};
    int sets = 0;
    DIR *list = load(folder, &l, r) ? opendir(folder) : NULL;
    for (const struct dirent *entry; list && (entry = readdir(list)) != NULL && r->passed;) {
        char path[PATH];
        if (strncmp(entry->d_name, "test_data_set_", 14) != 0) continue;
        snprintf(path, sizeof path, "%.3800s/%.200s", folder, entry->d_name);
        run_set(&l, path, r);
        sets++;
    }
    if (list) closedir(list);
    if (!sets && r->passed) say(r, "", "there is no data beside the model");
    kn_onnx_free(l.model);
    free(l.in);
    free(l.out);
}
