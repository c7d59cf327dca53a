/* Kernels made to fit a target: what workgroups and subgroups do together gives the same bits by shuffles and by shared
   memory, at every size; what cannot be helped is refused with a reason. */
#include "../support/check.h"
#include "ir/builder.h"
#include "ir/run.h"
#include <stdlib.h>

enum { LARGEST = 1024, GROUPS = 2, RESULTS = 5 };

static const kni_ir_caps whole_caps = {
    .dialect = KNI_IR_C, .f64 = true, .i64 = true, .half_storage = true, .atomics = true, .subgroup = 1};

static kni_ir_caps caps_of(int dialect, bool subgroups, uint32_t size)
{
    kni_ir_caps caps = whole_caps;
    caps.dialect = (uint8_t)dialect;
    caps.subgroups = subgroups;
    caps.subgroup = size;
    return caps;
}

/* Five results of each member: sum, largest, running sum and two of its subgroup. */
static kni_ir *together(uint32_t size)
{
    kni_ir_builder b = kni_ir_begin("together", size);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);
    kni_ir_id local = kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, KN_I64);
    kni_ir_id first = kni_ir_word(&b, "mul", kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, KN_I64),
                                  kni_ir_builtin_value(&b, KNI_IR_LOCALS, 0, KN_I64));
    kni_ir_id at = kni_ir_word(&b, "add", first, local), v = kni_ir_load(&b, x, at, KN_F32, 1);
    kni_ir_id results[RESULTS] = {kni_ir_workgroup(&b, KNI_IR_ADD, v), kni_ir_workgroup(&b, KNI_IR_MAX, v),
                                  kni_ir_scan(&b, KNI_IR_ADD, v), kni_ir_subgroup(&b, KNI_IR_MIN, v),
                                  kni_ir_shuffle(&b, v, kni_ir_whole(&b, KN_I32, 1))};
    kni_ir_id place = kni_ir_word(&b, "mul", at, kni_ir_whole(&b, KN_I64, RESULTS));
    for (int i = 0; i < RESULTS; i++)
        kni_ir_store(&b, y, kni_ir_word(&b, "add", place, kni_ir_whole(&b, KN_I64, i)), results[i]);
    return kni_ir_finish(&b);
}

static bool run(const kni_ir *ir, uint32_t size, uint32_t subgroup, float *y)
{
    static float x[GROUPS * LARGEST];
    for (uint32_t i = 0; i < GROUPS * size; i++) x[i] = (float)(i * 2654435761u % 1000) / 7 - 60;
    kni_ir_run_buffer buffers[] = {{x, GROUPS * size}, {y, GROUPS * size * RESULTS}};
    kni_ir_run_args args = {
        .buffers = buffers, .groups = {GROUPS, 1, 1}, .subgroup = subgroup, .check = true};
    bool good = kni_ir_run(ir, &args) == KN_OK;
    if (!good) printf("size %u: %s\n", size, kn_last_error());
    return good;
}

/* Legalised for the caps and run; sums agree with the kernel as written loosely, all else exactly. */
static void legalised(uint32_t size, const kni_ir_caps *caps, float *y)
{
    static float want[GROUPS * LARGEST * RESULTS];
    kni_ir *written = together(size), *ir = together(size);
    bool good = CHECK(written && ir && kni_ir_legalise(ir, caps) == KN_OK);
    if (!good) printf("size %u: %s\n", size, kn_last_error());
    good = good && CHECK(run(written, size, caps->subgroup, want)) && CHECK(run(ir, size, caps->subgroup, y));
    int wrong = 0;
    for (uint32_t i = 0; good && i < GROUPS * size * RESULTS; i++) {
        bool sum = i % RESULTS == 0 || i % RESULTS == 2;
        float gap = y[i] - want[i];
        wrong += sum ? !(gap < 0.05f && gap > -0.05f) : y[i] != want[i];
    }
    if (!CHECK(wrong == 0)) printf("size %u, subgroups of %u: %d wrong\n", size, caps->subgroup, wrong);
    for (uint32_t i = 1; good && ir && i < ir->n_nodes; i++)
        if (ir->nodes[i].code == KNI_IR_WORKGROUP || ir->nodes[i].code == KNI_IR_SCAN ||
            ir->nodes[i].code == KNI_IR_SUBGROUP)
            good = CHECK(!"nothing is left to legalise");
    kni_ir_free(written);
    kni_ir_free(ir);
}

static void sizes(void)
{
    static const uint32_t all[] = {1, 2, 7, 16, 31, 32, 33, 48, 64, 96, 100, 256, 1000, 1024};
    static float alone[GROUPS * LARGEST * RESULTS], shuffled[GROUPS * LARGEST * RESULTS],
        shared[GROUPS * LARGEST * RESULTS];
    kni_ir_caps host = caps_of(KNI_IR_C, false, 1), cuda = caps_of(KNI_IR_CUDA, true, 32),
                small = caps_of(KNI_IR_OPENCL, false, 8);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint32_t size = all[i];
        legalised(size, &host, alone);
        if (size % 32 == 0) legalised(size, &cuda, shuffled);
        if (size % 8 == 0) legalised(size, &small, shared);
        /* The workgroup's sum and the running sum have one order everywhere. */
        int wrong = 0;
        for (uint32_t k = 0; k < GROUPS * size * RESULTS; k += RESULTS)
            for (int r = 0; r < 3; r++) {
                wrong +=
                    size % 32 == 0 && memcmp(&alone[k + (uint32_t)r], &shuffled[k + (uint32_t)r], 4) != 0;
                wrong += size % 8 == 0 && memcmp(&alone[k + (uint32_t)r], &shared[k + (uint32_t)r], 4) != 0;
            }
        if (!CHECK(wrong == 0)) printf("size %u: %d results depend on the target\n", size, wrong);
    }
}

/* ---- refusals */

typedef kni_ir *(*make_fn)(void);

static kni_ir *atomic(void)
{
    kni_ir_builder b = kni_ir_begin("atomic", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_I32, KNI_IR_READ | KNI_IR_WRITE);
    kni_ir_id at = kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, KN_I32);
    kni_ir_atomic(&b, x, at, at, KNI_IR_ADD);
    return kni_ir_finish(&b);
}

static kni_ir *large(void) { return together(1024); }

static void refused(make_fn make, kni_ir_caps caps, const char *words)
{
    kni_ir *ir = make();
    if (CHECK(ir != NULL)) CHECK_ERROR(kni_ir_legalise(ir, &caps), words);
    kni_ir_free(ir);
}

static void refusals(void)
{
    kni_ir_caps caps = whole_caps;
    caps.atomics = false;
    refused(atomic, caps, "no atomics");
    caps = whole_caps;
    caps.max_workgroup = 512;
    refused(large, caps, "its workgroup of 1024 is larger than the device's largest, 512");
    caps.max_workgroup = 1024;
    caps.shared_bytes = 4096;
    refused(large, caps, "bytes in a workgroup and the device has 4096");
    caps.dialect = KNI_IR_DIALECTS;
    refused(atomic, caps, "no such dialect");
}

/* ---- names */

static void names(void)
{
    static const char *const given[] = {"scale", "mix", "template", "half"}, *const entries[] = {
                                                                                 "kn_scale", "kn_mix",
                                                                                 "kn_template", "kn_half"};
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < 4; i++) {
            kni_ir_builder b = kni_ir_begin(given[i], 0);
            kni_ir *ir = kni_ir_finish(&b);
            kni_ir_caps caps = caps_of(d, false, 1);
            if (!CHECK(ir && kni_ir_legalise(ir, &caps) == KN_OK && !strcmp(ir->name, entries[i])))
                printf("%s: %s\n", given[i], ir ? ir->name : kn_last_error());
            kni_ir_free(ir);
        }
}

int main(void)
{
    sizes();
    refusals();
    names();
    return check_report();
}
