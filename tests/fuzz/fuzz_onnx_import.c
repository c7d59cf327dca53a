/* Fuzzes the whole import of ONNX models: what the reader accepts becomes a program, with and without bounds of its sizes, and C of both
   kinds. Whatever is wrong with a model ends in a message. Sizes that a small file may name are bounded by a limit of memory. Changes are
   those of the reader's fuzzer. */
#include "fuzz.h"
#include "onnx_mutator.h"
#include <kn/onnx.h>
#include <kn/program.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MEMORY = 64 << 20, MOST_PORTS = 8, MOST_AXES = 8 };

static char folder[256];

static void remove_folder(void)
{
    static const char *const files[] = {"model.c", "model.h", "model.safetensors", "model_weights.c",
                                        "alone.c"};
    char path[300];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

static void make_folder(void)
{
    if (*folder) return;
    const char *place = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.200s/fuzz_onnx_import_%ld", place && *place ? place : "/tmp",
             (long)getpid());
    mkdir(folder, 0700);
    atexit(remove_folder);
}

/* A failure has a text. */
static void expect_text(bool failed)
{
    if (failed && !*kn_last_error()) {
        fprintf(stderr, "a failure without a text\n");
        abort();
    }
}

static void print_both(kn_program p)
{
    char path[300];
    expect_text(kn_program_to_source(p, folder, &(kn_program_to_source_args){.name = "model"}) != KN_OK);
    snprintf(path, sizeof path, "%s/alone.c", folder);
    expect_text(kn_program_to_c(p, path, &(kn_program_to_c_args){.name = "alone"}) != KN_OK);
}

/* Sizes stay open, or all get bounds by the places of their axes. */
static void import(kn_onnx model, bool bounded)
{
    kn_onnx_size sizes[MOST_PORTS * MOST_AXES];
    char names[MOST_PORTS * MOST_AXES][300];
    int32_t n = 0;
    for (int32_t i = 0; bounded && i < MOST_PORTS; i++) {
        kn_onnx_port port;
        if (i >= kn_onnx_inputs(model) || kn_onnx_input(model, i, &port)) break;
        for (int32_t a = 0; a < port.rank && a < MOST_AXES; a++, n++) {
            snprintf(names[n], sizeof names[n], "%s.%d", port.name, (int)a);
            sizes[n] = (kn_onnx_size){.name = names[n], .low = 1, .high = 4};
        }
    }
    kn_onnx_program_args args = {.sizes = sizes, .n_sizes = n};
    kn_program p = kn_onnx_program(model, &args);
    expect_text(!p);
    if (p) print_both(p);
    kn_program_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    make_folder();
    kn_memory_limit(MEMORY);
    kn_onnx model = kn_onnx_load_memory(data, bytes, &(kn_onnx_args){.max_trips = 16});
    expect_text(!model);
    if (model) import(model, false);
    if (model) import(model, true);
    kn_onnx_free(model);
    return 0;
}
