/* The printed kernels: golden texts in each dialect, and the same numbers wherever they run: on the host through the C
   compiler, on OpenCL and CUDA devices where there are any. NVRTC compiles the CUDA texts where it is found (KN_NVRTC
   names the library). `KN_GOLDEN=write test_ir_emit` writes the texts anew. */
#define _POSIX_C_SOURCE 200809L
#include "../support/check.h"
#include "ir/run.h"
#include "test_ir_emit_kernels.h"
#include "test_ir_engines.h"
#include <sys/stat.h>

static const kni_ir_caps caps_c = {.dialect = KNI_IR_C,
                                   .f64 = true,
                                   .i64 = true,
                                   .half_storage = true,
                                   .atomics = true,
                                   .subgroup = 1,
                                   .max_workgroup = 1024,
                                   .shared_bytes = 65536,
                                   .vector_bytes = 16};
static const kni_ir_caps caps_cuda = {.dialect = KNI_IR_CUDA,
                                      .f64 = true,
                                      .i64 = true,
                                      .half_storage = true,
                                      .subgroups = true,
                                      .atomics = true,
                                      .float_atomics = true,
                                      .tiles = true,
                                      .subgroup = 32,
                                      .max_workgroup = 1024,
                                      .shared_bytes = 49152,
                                      .vector_bytes = 16};
static const kni_ir_caps caps_opencl = {.dialect = KNI_IR_OPENCL,
                                        .f64 = true,
                                        .i64 = true,
                                        .half_storage = true,
                                        .atomics = true,
                                        .subgroup = 1,
                                        .max_workgroup = 1024,
                                        .shared_bytes = 32768,
                                        .vector_bytes = 16};

/* Metal: no f64, atomics of 32 bits, the number of buffers and bytes that src/backend/metal gives. */
static const kni_ir_caps caps_metal = {.dialect = KNI_IR_METAL,
                                       .i64 = true,
                                       .half_storage = true,
                                       .subgroups = true,
                                       .atomics = true,
                                       .subgroup = 32,
                                       .max_workgroup = 1024,
                                       .shared_bytes = 32768,
                                       .max_buffers = 30,
                                       .param_bytes = 16384,
                                       .vector_bytes = 16};

/* HIP on a device whose waves have 64 lanes. */
static const kni_ir_caps caps_hip = {.dialect = KNI_IR_HIP,
                                     .f64 = true,
                                     .i64 = true,
                                     .half_storage = true,
                                     .subgroups = true,
                                     .atomics = true,
                                     .float_atomics = true,
                                     .subgroup = 64,
                                     .max_workgroup = 1024,
                                     .shared_bytes = 65536,
                                     .vector_bytes = 16};

/* Devices without 64-bit numbers and small elements; the C one is for running anywhere. */
static const kni_ir_caps caps_narrow = {.dialect = KNI_IR_OPENCL,
                                        .no_bytes = true,
                                        .atomics = true,
                                        .subgroup = 1,
                                        .max_workgroup = 1024,
                                        .shared_bytes = 32768,
                                        .max_buffers = 8,
                                        .vector_bytes = 16};
static const kni_ir_caps caps_wgsl = {.dialect = KNI_IR_WGSL,
                                      .narrow = true,
                                      .no_bytes = true,
                                      .no_aliases = true,
                                      .atomics = true,
                                      .subgroup = 1,
                                      .max_workgroup = 256,
                                      .shared_bytes = 16384,
                                      .max_buffers = 8,
                                      .param_bytes = 16384,
                                      .vector_bytes = 16};
static const kni_ir_caps caps_narrow_c = {.dialect = KNI_IR_C,
                                          .no_bytes = true,
                                          .atomics = true,
                                          .subgroup = 1,
                                          .max_workgroup = 1024,
                                          .shared_bytes = 65536,
                                          .vector_bytes = 16};

/* The text of a sample; empty on failure. */
static kni_ir_text text_of(const sample *s, const kni_ir_caps *caps, kni_ir **ir, bool simplified)
{
    kni_ir_text text = {0};
    *ir = s->build();
    bool good = *ir && (!simplified || kni_ir_simplify(*ir) == KN_OK) &&
                kni_ir_legalise(*ir, caps) == KN_OK && kni_ir_emit(*ir, caps, &text) == KN_OK;
    if (!CHECK(good)) {
        printf("%s: %s\n", s->name, kn_last_error());
        kni_ir_text_free(&text);
    }
    return text;
}

/* ---- golden texts */

static const struct {
    const char *folder, *ending;
    const kni_ir_caps *caps;
} dialects[] = {{"c", "txt", &caps_c},         {"cuda", "cu", &caps_cuda},     {"opencl", "cl", &caps_opencl},
                {"metal", "msl", &caps_metal}, {"narrow", "cl", &caps_narrow}, {"hip", "hip", &caps_hip},
                {"wgsl", "wgsl", &caps_wgsl}};
enum { GOLDEN = sizeof dialects / sizeof *dialects };

/* What has no narrow form: an atomic of 64 bits whose old value is wanted. */
static bool has_narrow(const sample *s) { return strcmp(s->name, "atomics") != 0; }

static void compare_golden(const char *path, const kni_ir_text *text)
{
    static char golden[1 << 18];
    const char *mode = getenv("KN_GOLDEN");
    if (mode && !strcmp(mode, "write")) {
        FILE *out = fopen(path, "w");
        CHECK(out && fwrite(text->data, 1, text->length, out) == text->length);
        if (out) fclose(out);
        return;
    }
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(golden, 1, sizeof golden - 1, file) : 0;
    if (file) fclose(file);
    golden[n] = 0;
    if (CHECK(file && n == text->length && !memcmp(golden, text->data, n))) return;
    size_t at = 0, line = 1;
    for (; at < n && golden[at] == text->data[at]; at++) line += golden[at] == '\n';
    while (at && golden[at - 1] != '\n') at--;
    printf("%s:%zu: the text is now\n  %.*s\n", path, line, (int)strcspn(text->data + at, "\n"),
           text->data + at);
}

static void golden_texts(void)
{
    for (int d = 0; d < GOLDEN; d++)
        for (int i = 0; i < SAMPLES; i++) {
            if (!dialects[d].caps->f64 && !has_narrow(&samples[i])) continue;
            char path[128];
            kni_ir *ir;
            kni_ir_text text = text_of(&samples[i], dialects[d].caps, &ir, false);
            snprintf(path, sizeof path, "tests/golden/%s/%s.%s", dialects[d].folder, samples[i].name,
                     dialects[d].ending);
            if (text.data) compare_golden(path, &text);
            kni_ir_text_free(&text);
            kni_ir_free(ir);
        }
}

/* ---- data of a launch */

enum { BUFFERS = 8, ROOM = 64 };

typedef struct launch {
    const kni_ir *ir;
    void *buffers[BUFFERS + 2];
    size_t bytes[BUFFERS];
    int64_t fault[2], shape[3];
    _Alignas(8) unsigned char params[512];
    size_t param_bytes;
} launch;

static uint64_t random_state;
static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static void fill_params(launch *l, const sample *s)
{
    int next = 0;
    for (uint32_t i = 0; i < l->ir->n_params; i++) {
        const kni_ir_param *p = &l->ir->params[i];
        for (uint32_t k = 0; k < (p->count ? p->count : 1); k++) {
            double v = !strcmp(p->name, "items")         ? (double)s->count
                       : !strncmp(p->name, "offset_", 7) ? 0
                                                         : s->numbers[next] + k;
            kni_convert(l->params + p->offset + k * kni_bytes_of(p->dtype), p->dtype, 1, &v, KN_F64, 1, 1);
        }
        if (strcmp(p->name, "items") != 0 && strncmp(p->name, "offset_", 7) != 0) next++;
    }
    CHECK(l->ir->param_bytes % 8 == 0);
    l->param_bytes = l->ir->param_bytes;
}

static launch launch_of(const sample *s, const kni_ir *ir)
{
    launch l = {.ir = ir, .shape = {s->count, 1, 1}};
    random_state = 88172645463325252u;
    for (uint32_t i = 0; i < ir->n_buffers; i++) {
        int dtype = ir->bindings[i].dtype;
        size_t size = kni_bytes_of(dtype);
        l.bytes[i] = (size_t)s->lengths[i] * size;
        l.buffers[i] = aligned_alloc(64, (l.bytes[i] + 2 * ROOM) / 64 * 64);
        memset(l.buffers[i], 0, l.bytes[i] + ROOM);
        for (int64_t k = 0; k < s->lengths[i] && ir->bindings[i].access == KNI_IR_READ; k++) {
            double v = (double)(int64_t)(random_bits() >> 40) * 0x1p-21 - 4;
            if (!kni_is_float(dtype)) v = (double)(int64_t)(random_bits() % 41) - 20;
            kni_convert((char *)l.buffers[i] + (size_t)k * size, dtype, 1, &v, KN_F64, 1, 1);
        }
    }
    if (!strcmp(s->name, "subgroups")) l.shape[0] = s->count / 2, l.shape[1] = 2;
    fill_params(&l, s);
    return l;
}

static void free_launch(launch *l)
{
    for (uint32_t i = 0; i < l->ir->n_buffers; i++) free(l->buffers[i]);
}

/* Results are the same, NaN by NaN; loosely where a target sums in another way. */
static void compare_launches(const sample *s, const char *where, const launch *a, const launch *b)
{
    for (uint32_t i = 0; i < a->ir->n_buffers; i++) {
        int dtype = a->ir->bindings[i].dtype;
        for (int64_t k = 0; k < s->lengths[i]; k++) {
            double x, y;
            size_t size = kni_bytes_of(dtype);
            const char *p = (const char *)a->buffers[i] + (size_t)k * size,
                       *q = (const char *)b->buffers[i] + (size_t)k * size;
            kni_convert(&x, KN_F64, 1, p, dtype, 1, 1);
            kni_convert(&y, KN_F64, 1, q, dtype, 1, 1);
            double gap = x > y ? x - y : y - x;
            if (!memcmp(p, q, size) || (x != x && y != y) || (s->loose && gap <= 1e-3)) continue;
            printf("%s on %s: %s[%lld] is %.17g, not %.17g\n", s->name, where, a->ir->bindings[i].name,
                   (long long)k, y, x);
            CHECK(!"the same numbers");
            return;
        }
    }
    CHECK(a->fault[0] == b->fault[0]);
}

/* ---- where they run */

typedef void (*entry_fn)(void *const *, int64_t *, const void *, int64_t, int64_t);

/* Lock step on the host, with every index checked, and races. */
static bool interpret(launch *l, const sample *s, uint32_t subgroup)
{
    kni_ir_run_buffer buffers[BUFFERS];
    for (uint32_t i = 0; i < l->ir->n_buffers; i++)
        buffers[i] = (kni_ir_run_buffer){l->buffers[i], s->lengths[i]};
    kni_ir_run_args args = {.buffers = buffers,
                            .params = l->params,
                            .items = s->count,
                            .groups = {(uint32_t)l->shape[0], (uint32_t)l->shape[1], 1},
                            .subgroup = subgroup,
                            .fault = l->fault,
                            .check = true};
    bool good = kni_ir_run(l->ir, &args) == KN_OK;
    if (!good) printf("%s: %s\n", s->name, kn_last_error());
    return good;
}

static bool run_c(launch *l, const sample *s, const kni_ir_text *text, bool narrow)
{
    if (!c_build(text->data, text->length)) return false;
    entry_fn entry;
    void *symbol = symbol_of(c_library, l->ir->name);
    memcpy(&entry, &symbol, sizeof entry);
    if (!symbol) return false;
    uint32_t n = l->ir->n_buffers;
    if (narrow && l->ir->reports) l->buffers[n++] = l->fault;
    l->buffers[n] = l->shape;
    /* In two parts, as threads would. */
    entry(l->buffers, l->fault, l->params, 0, s->count / 3);
    entry(l->buffers, l->fault, l->params, s->count / 3, s->count);
    return true;
}

static bool run_opencl(launch *l, const sample *s, const kni_ir_text *text)
{
    if (!opencl_build(text->data, text->length)) return false;
    const kni_ir *ir = l->ir;
    void *kernel = cl.clCreateKernel(cl_program, l->ir->name, NULL), *memory[BUFFERS + 1] = {NULL};
    bool good = kernel != NULL;
    unsigned argument = 0;
    size_t local = ir->workgroup ? ir->workgroup : 1;
    size_t global[2] = {ir->workgroup ? (size_t)l->shape[0] * local : ((size_t)s->count + 63) / 64 * 64,
                        (size_t)l->shape[1]};
    size_t group[2] = {ir->workgroup ? local : 64, 1};
    for (uint32_t i = 0; i < ir->n_buffers + ir->reports && good; i++) {
        bool cell = i == ir->n_buffers;
        /* A copy (1 << 5) that is read and written (1). */
        memory[i] = cl.clCreateBuffer(cl_context, 33, cell ? sizeof l->fault : l->bytes[i] + ROOM,
                                      cell ? (void *)l->fault : l->buffers[i], NULL);
        good = memory[i] && cl.clSetKernelArg(kernel, argument++, sizeof memory[i], &memory[i]) == 0;
    }
    if (good && l->param_bytes) good = cl.clSetKernelArg(kernel, argument, l->param_bytes, l->params) == 0;
    good = good && cl.clEnqueueNDRangeKernel(cl_queue, kernel, 2, NULL, global, group, 0, NULL, NULL) == 0;
    for (uint32_t i = 0; i < ir->n_buffers && good; i++)
        good =
            cl.clEnqueueReadBuffer(cl_queue, memory[i], 1, 0, l->bytes[i], l->buffers[i], 0, NULL, NULL) == 0;
    if (good && ir->reports)
        good = cl.clEnqueueReadBuffer(cl_queue, memory[ir->n_buffers], 1, 0, sizeof l->fault, l->fault, 0,
                                      NULL, NULL) == 0;
    for (int i = 0; i <= BUFFERS; i++)
        if (memory[i]) cl.clReleaseMemObject(memory[i]);
    if (kernel) cl.clReleaseKernel(kernel);
    return good;
}

static bool run_cuda(launch *l, const sample *s, const kni_ir_text *text)
{
    if (!cuda_build(text->data, text->length)) return false;
    if (!cu_there) return true;
    const kni_ir *ir = l->ir;
    void *function = NULL, *arguments[BUFFERS + 2];
    uint64_t memory[BUFFERS + 1] = {0};
    bool good = cu.cuModuleGetFunction(&function, cu_module, l->ir->name) == 0;
    uint32_t n = ir->n_buffers + ir->reports;
    for (uint32_t i = 0; i < n && good; i++) {
        bool cell = i == ir->n_buffers;
        size_t bytes = cell ? sizeof l->fault : l->bytes[i] + ROOM;
        good = cu.cuMemAlloc_v2(&memory[i], bytes) == 0 &&
               cu.cuMemcpyHtoD_v2(memory[i], cell ? (void *)l->fault : l->buffers[i], bytes) == 0;
        arguments[i] = &memory[i];
    }
    arguments[n] = l->params;
    unsigned groups = ir->workgroup ? (unsigned)l->shape[0] : (unsigned)((s->count + 127) / 128);
    good =
        good && cu.cuLaunchKernel(function, groups, (unsigned)l->shape[1], 1,
                                  ir->workgroup ? ir->workgroup : 128, 1, 1, 0, NULL, arguments, NULL) == 0;
    for (uint32_t i = 0; i < n && good; i++) {
        bool cell = i == ir->n_buffers;
        good = cu.cuMemcpyDtoH_v2(cell ? (void *)l->fault : l->buffers[i], memory[i],
                                  cell ? sizeof l->fault : l->bytes[i]) == 0;
    }
    for (uint32_t i = 0; i < n; i++) cu.cuMemFree_v2(memory[i]);
    return good;
}

/* What the interpreter makes of the kernel as it is legalised for C is what all others are compared with, bit by bit;
   of the kernel as it was written, loosely, since a workgroup's sum may go in another order there. */
static void run_everywhere(const sample *s, bool has_c, bool has_opencl, bool has_cuda)
{
    kni_ir *ir[4];
    kni_ir_text text[3];
    launch l[5];
    for (int d = 0; d < 3; d++) {
        text[d] = text_of(s, dialects[d].caps, &ir[d], true);
        l[d] = launch_of(s, ir[d]);
    }
    ir[3] = s->build();
    l[3] = launch_of(s, ir[0]);
    l[4] = launch_of(s, ir[3]);
    sample loosely = *s;
    loosely.loose = true;
    uint32_t subgroup = strncmp(s->name, "tiles", 5) == 0 ? 32 : 1;
    if (CHECK(interpret(&l[3], s, 1)) && CHECK(interpret(&l[4], s, subgroup)))
        compare_launches(&loosely, "the interpreter as written", &l[3], &l[4]);
    if (has_c && CHECK(run_c(&l[0], s, &text[0], false))) compare_launches(s, "c", &l[3], &l[0]);
    /* A device's subgroups are of another size than the host's. */
    bool comparable = cu_there && strcmp(s->name, "subgroups") != 0;
    if (has_cuda && CHECK(run_cuda(&l[1], s, &text[1])) && comparable)
        compare_launches(s, "cuda", &l[3], &l[1]);
    if (has_opencl && CHECK(run_opencl(&l[2], s, &text[2]))) compare_launches(s, "opencl", &l[3], &l[2]);
    for (int d = 0; d < 5; d++) free_launch(&l[d]);
    for (int d = 0; d < 3; d++) kni_ir_text_free(&text[d]);
    for (int d = 0; d < 4; d++) kni_ir_free(ir[d]);
}

/* In the narrow form a kernel is given what it is given in the wide one, and gives the same numbers. */
static void run_narrow(const sample *s, bool has_c, bool has_opencl)
{
    const kni_ir_caps *caps[] = {&caps_narrow_c, &caps_narrow};
    const bool there[] = {has_c, has_opencl};
    static const char *const names[] = {"c, narrow", "opencl, narrow"};
    kni_ir *wide;
    kni_ir_text unused = text_of(s, &caps_c, &wide, true);
    launch want = launch_of(s, wide);
    bool good = CHECK(interpret(&want, s, 1));
    for (int i = 0; i < 2 && good && has_narrow(s); i++) {
        kni_ir *ir;
        kni_ir_text text = text_of(s, caps[i], &ir, true);
        launch l = launch_of(s, wide);
        if (there[i] && text.data && CHECK(i ? run_opencl(&l, s, &text) : run_c(&l, s, &text, true)))
            compare_launches(s, names[i], &want, &l);
        free_launch(&l);
        kni_ir_text_free(&text);
        kni_ir_free(ir);
    }
    free_launch(&want);
    kni_ir_text_free(&unused);
    kni_ir_free(wide);
}

int main(void)
{
    golden_texts();
    c_compiler = getenv("CC") ? getenv("CC") : "cc";
    bool has_c = system("cc --version >/dev/null 2>&1") == 0, has_opencl = opencl_open(),
         has_cuda = cuda_open();
    if (!has_c) check_skip("no C compiler");
    if (!has_opencl) check_skip("no OpenCL device");
    if (!has_cuda) check_skip(nvrtc_absent);
    for (int i = 0; i < SAMPLES; i++) run_everywhere(&samples[i], has_c, has_opencl, has_cuda);
    for (int i = 0; i < SAMPLES; i++) run_narrow(&samples[i], has_c, has_opencl);
    if (has_cuda) printf("NVRTC compiled %d golden kernels\n", (int)SAMPLES);
    return check_report();
}
