/* kiln conform: chooses cases, runs them, adds up and reports. */
#define _POSIX_C_SOURCE 200809L
#include "conform_run.h"
#include "kiln.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 64 };

typedef struct file_list {
    kiln_file file[MAX_FILES];
    int n;
} file_list;

/* ---- what is run */

static uint64_t hash_text(const char *text, uint64_t hash)
{
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    return hash;
}

/* Where an op stands among all: which process runs it, and in which slice it is. */
static uint64_t place_of(const char *op) { return kiln_mix(hash_text(op, UINT64_C(0xCBF29CE484222325))); }

bool kiln_wanted(const kiln_run *run, const char *op, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s:%s", op, name);
    if (run->filter && !strstr(full, run->filter)) return false;
    const uint64_t place = place_of(op);
    if (run->slices && (int)((place >> 32) % (uint64_t)run->slices) != run->slice) return false;
    return !run->parts || kiln_claim(run, op, place);
}

static void run_timed(kiln_run *run, const kiln_case *c)
{
    const double begun = kiln_conform_now();
    kiln_run_case(run, c);
    if (run->parts) kiln_claim_took(run, place_of(c->op), kiln_conform_now() - begun);
}

static bool wanted(const kiln_run *run, const kiln_case *c)
{
    if (!kiln_wanted(run, c->op, c->name)) return false;
    if (run->sample >= 100) return true;
    uint64_t hash = hash_text(c->op, UINT64_C(0xCBF29CE484222325) ^ run->seed);
    hash = kiln_mix(hash_text(c->name, hash) + (uint64_t)c->dtype);
    /* Of a part of a percent: among the cases of that percent. */
    return (int)(hash % 100) < run->sample && (!run->permille || (int)(hash / 100 % 1000) < run->permille);
}

bool kiln_first_time(kiln_run *run, const char *op, kn_dtype dtype)
{
    uint64_t hash = kiln_mix(hash_text(op, UINT64_C(0xCBF29CE484222325)) + (uint64_t)dtype) | 1;
    if (run->seen_count * 2 >= run->seen_room) {
        size_t room = run->seen_room ? run->seen_room * 2 : 4096;
        uint64_t *seen = kiln_allocate(room * sizeof *seen);
        memset(seen, 0, room * sizeof *seen);
        for (size_t i = 0; i < run->seen_room; i++) {
            if (!run->seen[i]) continue;
            size_t at = run->seen[i] % room;
            while (seen[at]) at = (at + 1) % room;
            seen[at] = run->seen[i];
        }
        free(run->seen);
        run->seen = seen;
        run->seen_room = room;
    }
    size_t at = hash % run->seen_room;
    for (; run->seen[at]; at = (at + 1) % run->seen_room)
        if (run->seen[at] == hash) return false;
    run->seen[at] = hash;
    run->seen_count++;
    return true;
}

static void cover(kiln_run *run, const char *name)
{
    kn_op_info row;
    if (kn_op_find(name, &row)) run->covered[row.number] = true;
}

/* The first case of a row stands for it in run_table; a sample may have left that one out. */
static void note_lead(kiln_run *run, const kiln_case *c)
{
    kn_op_info row;
    if (!kn_op_find(c->op, &row)) return;
    if (!c->status) run->stored[row.number] |= UINT32_C(1) << c->dtype;
    if (run->met[row.number]) return;
    run->met[row.number] = true;
    run->led[row.number] = wanted(run, c);
}

/* ---- files */

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool open_files(file_list *list, const char *folder)
{
    char *paths[MAX_FILES];
    int n = 0;
    DIR *directory = opendir(folder);
    if (!directory) {
        fprintf(stderr, "kiln: no folder %s; run this in the root of the repository or give --data\n",
                folder);
        return false;
    }
    for (struct dirent *entry; n < MAX_FILES && (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 4, ".knc")) continue;
        size_t room = strlen(folder) + length + 2;
        paths[n] = kiln_allocate(room);
        snprintf(paths[n++], room, "%s/%s", folder, entry->d_name);
    }
    closedir(directory);
    qsort(paths, (size_t)n, sizeof *paths, compare_paths);
    bool good = true;
    for (int i = 0; i < n; i++) {
        good = good && kiln_file_open(&list->file[list->n], paths[i]) && ++list->n;
        free(paths[i]);
    }
    return good;
}

/* ---- the parts of a run */

static bool run_files(kiln_run *run, file_list *list)
{
    kiln_case *c = kiln_allocate(sizeof *c);
    int more = 0;
    for (int f = 0; f < list->n && more >= 0; f++) {
        while ((more = kiln_file_next(&list->file[f], c)) > 0) {
            note_lead(run, c);
            if (!c->status) cover(run, c->op);
            for (int i = 0; i < c->n_covers; i++) cover(run, c->covers[i]);
            if (!wanted(run, c)) continue;
            if (run->list)
                printf("%s:%s %s\n", c->op, c->name, kn_dtype_name(c->dtype));
            else
                run_timed(run, c);
        }
    }
    free(c);
    return more >= 0;
}

/* What follows from the table itself: dtypes without stored values, and rows without a case. */
static void run_table(kiln_run *run)
{
    for (int number = 0; number < run->n_ops; number++) {
        kn_op_info row;
        if (!kn_op_at(number, &row) || !strcmp(row.kind, "system") || !kiln_wanted(run, row.name, ""))
            continue;
        if (!run->covered[number]) {
            printf("FAIL no case for op %s\n", row.name);
            run->failed++;
        }
        if (run->tapes && run->sample == 100 && !run->parts && row.gradient == KN_GRADIENT_YES &&
            !run->second[number] && !run->no_second[number]) {
            printf("FAIL no second gradient of op %s, and no reason\n", row.name);
            run->failed++;
        }
        if (!run->first[number] || !run->led[number]) continue;
        kiln_check k = {run, run->first[number], "", &row};
        const double begun = kiln_conform_now();
        kiln_run_dtypes(&k);
        if (run->parts) kiln_claim_took(run, place_of(row.name), kiln_conform_now() - begun);
    }
}

/* The table of the self-test; a spoilt result that passed is a failure. */
static void tell_self_test(kiln_run *run)
{
    static const char *const names[KILN_CLASS_COUNT] = {"halves",      "gradients in halves",
                                                        "f32 and f64", "gradients in f32 and f64",
                                                        "differences", "integers"};
    printf("self-test: spoilt results not noticed / tried\n%-26s %20s %20s %20s %20s\n", "", "zeroed",
           "negated", "a tenth off", "a hundredth off");
    for (int class = 0; class < KILN_CLASS_COUNT; class ++) {
        printf("%-26s", names[class]);
        for (int spoil = 0; spoil < KILN_SPOIL_COUNT; spoil++) {
            const kiln_spoiled *x = &run->spoiled[class][spoil];
            printf(" %7lld / %-10lld", (long long)x->missed, (long long)x->tried);
            run->failed += x->missed;
        }
        printf("\n");
    }
}

static void note_log(void *context, kn_log_level level, const char *text)
{
    kiln_run *run = context;
    if (level != KN_LOG_ERROR && strstr(text, "fell back")) run->fell_back++;
}

/* A device tapes when gradients can be asked of its tensors. */
static bool device_tapes(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_require_grad(kn_scalar(1, KN_F32));
    bool tapes = kn_ok(x) && kn_is_require_grad(x);
    kn_scope_end(scope, KN_NONE);
    return tapes;
}

static bool open_devices(kiln_run *run)
{
    run->device = kn_device_open(run->spec);
    if (!run->device) {
        fprintf(stderr, "kiln: cannot open the device '%s': %s\n", run->spec, kn_last_error());
        return false;
    }
    run->oracle = kn_device_open(strstr(run->spec, "cpu") ? "ref" : "cpu");
    if (!run->oracle) {
        fprintf(stderr, "kiln: cannot open the device to compare with: %s\n", kn_last_error());
        return false;
    }
    kn_device_use(run->device);
    run->tapes = device_tapes();
    kn_log_set(note_log, run);
    return true;
}

static void allocate_tables(kiln_run *run)
{
    run->n_ops = kn_op_count();
    size_t n = (size_t)run->n_ops;
    run->covered = kiln_allocate(n * sizeof *run->covered);
    run->met = kiln_allocate(n * sizeof *run->met);
    run->led = kiln_allocate(n * sizeof *run->led);
    run->stored = kiln_allocate(n * sizeof *run->stored);
    memset(run->stored, 0, n * sizeof *run->stored);
    run->first = kiln_allocate(n * sizeof *run->first);
    run->cells = kiln_allocate(n * sizeof *run->cells);
    run->second = kiln_allocate(n * sizeof *run->second);
    run->no_second = kiln_allocate(n * sizeof *run->no_second);
    memset(run->second, 0, n * sizeof *run->second);
    memset(run->no_second, 0, n * sizeof *run->no_second);
    memset(run->covered, 0, n * sizeof *run->covered);
    memset(run->met, 0, n * sizeof *run->met);
    memset(run->led, 0, n * sizeof *run->led);
    memset(run->first, 0, n * sizeof *run->first);
    memset(run->cells, 0, n * sizeof *run->cells);
}

static void free_tables(kiln_run *run)
{
    for (int i = 0; i < run->n_ops; i++) {
        free(run->first[i]);
        free(run->no_second[i]);
        for (int d = 0; d <= KN_U2; d++)
            for (int layout = 0; layout < KILN_LAYOUT_COUNT; layout++) free(run->cells[i][d][layout].no);
    }
    free(run->covered);
    free(run->met);
    free(run->led);
    free(run->stored);
    free(run->second);
    free(run->no_second);
    free(run->first);
    free(run->cells);
    free(run->seen);
}

static int parse(kiln_run *run, int count, char **arguments)
{
    const char *sample = NULL, *seed = NULL, *jobs = NULL, *slice = NULL, *seconds = NULL;
    for (int i = 0; i < count; i++) {
        bool bad = false;
        if (kiln_option(arguments, i, "--verbose"))
            run->verbose = true;
        else if (kiln_option(arguments, i, "--list"))
            run->list = true;
        else if (kiln_option(arguments, i, "--coverage"))
            run->coverage = true;
        else if (kiln_option(arguments, i, "--self-test"))
            run->self_test = true;
        else if (kiln_option(arguments, i, "--as-c"))
            run->as_c = true;
        else if (kiln_option(arguments, i, "--write-refused"))
            run->write_refused = true;
        else if (!kiln_option_value(count, arguments, &i, "--device", &run->spec, &bad) &&
                 !kiln_option_value(count, arguments, &i, "--filter", &run->filter, &bad) &&
                 !kiln_option_value(count, arguments, &i, "--data", &run->data, &bad) &&
                 !kiln_option_value(count, arguments, &i, "--refused", &run->refused, &bad) &&
                 !kiln_option_value(count, arguments, &i, "--sample", &sample, &bad) &&
                 !kiln_option_value(count, arguments, &i, "--jobs", &jobs, &bad) &&
                 !kiln_option_value(count, arguments, &i, "--slice", &slice, &bad) &&
                 !kiln_option_value(count, arguments, &i, "--seconds", &seconds, &bad) &&
                 !kiln_option_value(count, arguments, &i, "--seed", &seed, &bad))
            return kiln_usage_error("conform has no option '%s'", arguments[i]);
        if (bad) return kiln_usage_error("%s needs a value", arguments[i]);
    }
    char *end = NULL;
    if (sample) run->sample = (int)strtol(sample, &end, 10);
    if (sample && *end == '.' && !run->sample) {
        run->permille = (int)(strtod(sample, &end) * 1000 + 0.5);
        run->sample = run->permille > 0;
    }
    if (sample && (*end || end == sample || run->sample < 1 || run->sample > 100))
        return kiln_usage_error("--sample is a percentage, 0.001 to 100, not '%s'", sample);
    if (seed) run->seed = strtoull(seed, &end, 10);
    if (seed && (*end || end == seed)) return kiln_usage_error("--seed is a whole number, not '%s'", seed);
    if (jobs) run->parts = (int)strtol(jobs, &end, 10);
    if (jobs && (*end || end == jobs || run->parts < 1 || run->parts > KILN_MAX_JOBS))
        return kiln_usage_error("--jobs is a number of processes from 1 to %d, not '%s'", (int)KILN_MAX_JOBS,
                                jobs);
    if (run->parts == 1) run->parts = 0;
    int read = 0;
    if (slice && (sscanf(slice, "%d/%d%n", &run->slice, &run->slices, &read) != 2 || slice[read] ||
                  run->slice < 1 || run->slice > run->slices))
        return kiln_usage_error("--slice is K/N, the K-th of N slices of all ops, not '%s'", slice);
    run->slice--;
    if (seconds) run->seconds = (int)strtol(seconds, &end, 10);
    if (seconds && (*end || end == seconds || run->seconds < 1 || !run->parts))
        return kiln_usage_error("--seconds is a whole number and goes with --jobs, not '%s'", seconds);
    if (!run->spec && !run->list) return kiln_usage_error("conform needs --device SPEC");
    return 0;
}

/* All that one process does. */
static bool run_all(kiln_run *run)
{
    static file_list list;
    allocate_tables(run);
    bool good = open_files(&list, run->data) && (run->list || open_devices(run)) && run_files(run, &list);
    if (good && !run->list && !run->as_c) {
        run_table(run);
        kiln_coverage_check(run);
        if (run->coverage) kiln_coverage_print(run);
        if (run->self_test) tell_self_test(run);
    }
    kn_log_set(NULL, NULL);
    for (int i = 0; i < list.n; i++) kiln_file_close(&list.file[i]);
    free_tables(run);
    return good;
}

int kiln_command_conform(int count, char **arguments)
{
    kiln_run run = {.data = "tests/conform/data", .refused = "tests/conform/refused.txt", .sample = 100};
    int code = parse(&run, count, arguments);
    if (code) return code;
    /* Lists and tables over all ops are made by one process. */
    if (run.list || run.coverage || run.self_test || run.write_refused) run.parts = 0;
    bool good = run.parts ? kiln_conform_jobs(&run, run_all) : run_all(&run);
    if (good && !run.list) {
        if (run.own_tolerance)
            printf("%lld cases have a tolerance of their own\n", (long long)run.own_tolerance);
        if (run.lacking) printf("%lld checks are none of a device without f64\n", (long long)run.lacking);
        printf("%lld skipped, %lld fell back\n", (long long)run.skipped, (long long)run.fell_back);
        if (!run.passed && !run.failed)
            printf(
                "no case was run: no op's name contains the filter, or the sample has none of its cases\n");
        printf("%lld passed, %lld failed\n", (long long)run.passed, (long long)run.failed);
    }
    if (!good) return 1;
    return run.failed || run.not_begun || (!run.list && !run.passed) ? 1 : 0;
}
