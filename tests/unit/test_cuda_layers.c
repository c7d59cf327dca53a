/* Recurrent layers of cuDNN over a stand-in that computes them: values and gradients are the CPU's, wherever the library has the weights,
   recorded or not; what it refuses or fails in leaves nothing behind. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/cuda/cuda_driver.h"
#include "test_runtime_driver.h"
#include <math.h>

enum { ALL = 15, STEPS = 4, BATCH = 3, INS = 5, HIDDEN = 6, MOST = 4096 };

#define SYMBOL(field, cuda, hip, arguments) {#field, cuda},
static const named_call calls[] = {EVERY_CALL(SYMBOL)};
static const char *cuda_call(const char *field) { return find_call(calls, KNI_COUNT(calls), field); }
static const char *const libraries[] = {"libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12",
                                        "libcudnn.so.9", NULL};
static const char *const other_calls[] = {NULL};
static const runtime_stand_in stand_in = {
    "tests/gpu/fake_cuda.c tests/gpu/fake_cublaslt.c tests/gpu/fake_cudnn.c tests/gpu/fake_cudnn_layers.c",
    "KN_CUDA_LIBRARIES",
    "KN_CUDA_PROFILE",
    "KN_CUDA_GRAPHS",
    libraries,
    other_calls,
    cuda_call,
    kni_cuda_driver_open};

/* What the layers read and make, by their places, with sizes in elements. */
enum { X, WEIGHTS, H, C, Y, LAST_H, LAST_C, DY, DLAST_H, DLAST_C, DX, DWEIGHTS, DH, DC, PLACES };
typedef struct layers {
    kni_driver *d;
    kni_recurrence p;
    kni_place *places[PLACES];
    int64_t sizes[PLACES];
    float values[PLACES][MOST]; /* given, or what the CPU makes of it */
} layers;

static long (*runs)(bool gradients), (*alive)(void);

static void find_function(const char *name, void *pointer)
{
    char path[200];
    snprintf(path, sizeof path, "%s/libfake.so", folder);
    void *handle = dlopen(path, RTLD_NOW), *address = handle ? dlsym(handle, name) : NULL;
    memcpy(pointer, &address, sizeof address);
}

static void find_sizes(layers *l)
{
    const kni_recurrence *p = &l->p;
    const int64_t gates = p->cell == KNI_RECURRENCE_LSTM ? 4 : p->cell == KNI_RECURRENCE_GRU ? 3 : 1;
    const int64_t state = p->layers * p->directions * BATCH * HIDDEN, wide = p->directions * HIDDEN;
    int64_t weights = 0;
    for (int i = 0; i < p->layers; i++)
        weights += p->directions * gates * HIDDEN * ((i ? wide : INS) + HIDDEN + (p->biased ? 2 : 0));
    const int64_t cell = p->cell == KNI_RECURRENCE_LSTM ? state : 0;
    const int64_t sizes[PLACES] = {STEPS * BATCH * INS,
                                   weights,
                                   state,
                                   cell,
                                   STEPS * BATCH * wide,
                                   state,
                                   cell,
                                   STEPS * BATCH * wide,
                                   state,
                                   cell,
                                   STEPS * BATCH * INS,
                                   weights,
                                   state,
                                   cell};
    memcpy(l->sizes, sizes, sizeof sizes);
}

static kn_tensor tensor_of(const layers *l, int i, kn_shape shape)
{
    if (!l->sizes[i]) return KN_NONE;
    return kn_keep(kn_require_grad(kn_from(l->values[i], KN_F32, shape)));
}

static void read_into(layers *l, int i, kn_tensor x)
{
    if (l->sizes[i]) CHECK(kn_read_as(x, KN_F32, l->values[i], (size_t)l->sizes[i] * sizeof(float)) == KN_OK);
}

/* What the CPU makes of it, step by step. */
static void compute(layers *l)
{
    const kni_recurrence *p = &l->p;
    const kn_shape state = KN_SHAPE(p->layers * p->directions, BATCH, HIDDEN);
    const kn_shape y = KN_SHAPE(STEPS, BATCH, p->directions * HIDDEN);
    kn_scope scope = kn_scope_begin();
    kn_tensor in[4] = {tensor_of(l, X, KN_SHAPE(STEPS, BATCH, INS)),
                       tensor_of(l, WEIGHTS, KN_SHAPE(l->sizes[WEIGHTS])), tensor_of(l, H, state),
                       tensor_of(l, C, state)};
    const kn_recurrent_layers_args args = {.cell = (kn_layers_cell)(p->cell + 1),
                                           .layers = p->layers,
                                           .hidden = HIDDEN,
                                           .bidirectional = p->directions == 2,
                                           .no_bias = !p->biased,
                                           .h = in[2],
                                           .c = in[3]};
    kn_recurrent_result r = kn_recurrent_layers(in[0], in[1], &args);
    kn_tensor out[3] = {kn_keep(r.y), kn_keep(r.h), r.c.bits ? kn_keep(r.c) : KN_NONE}, loss = KN_NONE;
    for (int i = 0; i < 3; i++) {
        if (!out[i].bits) continue;
        read_into(l, Y + i, out[i]);
        kn_tensor part = kn_sum(kn_mul(out[i], tensor_of(l, DY + i, i ? state : y)), KN_AXES_ALL, false);
        loss = loss.bits ? kn_add(loss, part) : part;
    }
    kn_grads grads = NULL;
    CHECK(kn_backward(loss, &grads) == KN_OK);
    for (int i = 0; i < 4; i++)
        if (in[i].bits) read_into(l, DX + i, kn_grads_get(grads, in[i]));
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
}

static bool begin(layers *l, int cell, int count, int directions, bool biased)
{
    memset(l, 0, sizeof *l);
    l->p = (kni_recurrence){
        .dtype = KN_F32, .cell = cell, .layers = count, .directions = directions, .biased = biased};
    l->p.steps = STEPS, l->p.batch = BATCH, l->p.ins = INS, l->p.hidden = HIDDEN;
    find_sizes(l);
    for (int i = 0; i < PLACES; i++)
        for (int64_t k = 0; k < l->sizes[i]; k++)
            l->values[i][k] = (float)(((k + 3 * i) * 7919 + cell) % 101 - 50) / 97;
    l->d = kni_cuda_driver_open(0);
    kni_recurrence *p = &l->p;
    kni_place *places[PLACES] = {&p->x,      &p->weights,  &p->h,  &p->c,       &p->y,
                                 &p->last_h, &p->last_c,   &p->dy, &p->dlast_h, &p->dlast_c,
                                 &p->dx,     &p->dweights, &p->dh, &p->dc};
    memcpy(l->places, places, sizeof places);
    return CHECK(l->d && l->d->recurrence);
}

/* All that is given goes to the device; results hold something else. */
static void place(layers *l)
{
    for (int i = 0; i < PLACES; i++) {
        const size_t bytes = (size_t)l->sizes[i] * sizeof(float);
        l->places[i]->memory = bytes ? l->d->allocate(l->d, bytes) : NULL;
        if (bytes) CHECK(l->d->upload(l->d, l->places[i]->memory, 0, l->values[i], bytes) == KN_OK);
    }
}

static bool made(const layers *l, int i)
{
    float got[MOST];
    const size_t bytes = (size_t)l->sizes[i] * sizeof(float);
    if (!bytes) return true;
    if (l->d->download(l->d, got, l->places[i]->memory, 0, bytes)) return false;
    for (int64_t k = 0; k < l->sizes[i]; k++)
        if (!(fabsf(got[k] - l->values[i][k]) <= 1e-5f * fmaxf(1, fabsf(l->values[i][k])))) return false;
    return true;
}

/* The gradient reads y and what was reserved, and makes no last states. */
static kni_recurrence direction_of(const layers *l, bool gradient)
{
    kni_recurrence p = l->p;
    p.gradient = gradient, p.training = !gradient;
    kni_place *ends[] = {&p.last_h, &p.last_c},
              *slopes[] = {&p.dy, &p.dlast_h, &p.dlast_c, &p.dx, &p.dweights, &p.dh, &p.dc};
    for (int i = 0; i < KNI_COUNT(ends) && gradient; i++) ends[i]->memory = NULL;
    for (int i = 0; i < KNI_COUNT(slopes) && !gradient; i++) slopes[i]->memory = NULL;
    return p;
}

static kn_status run(const layers *l, bool gradient)
{
    const kni_recurrence p = direction_of(l, gradient);
    return l->d->recurrence(l->d, &p);
}

static bool run_both(const layers *l) { return run(l, false) == KN_OK && run(l, true) == KN_OK; }

static void end(layers *l)
{
    for (int i = 0; i < PLACES; i++)
        if (l->places[i]->memory) l->d->free(l->d, l->places[i]->memory);
    if (l->p.reserve.memory) l->d->free(l->d, l->p.reserve.memory);
    l->d->close(l->d);
    CHECK(alive() == 0 && fake_live() == 0);
}

static void take_reserve(layers *l)
{
    const int64_t bytes = l->d->recurrence_reserve(l->d, &l->p);
    if (CHECK(bytes > 0)) l->p.reserve.memory = l->d->allocate(l->d, (size_t)bytes);
}

static bool find_layers(void)
{
    find_function("fake_layers_runs", &runs), find_function("fake_layers_live", &alive);
    kn_device_use(kn_device_open("autodiff(cpu)"));
    return CHECK(runs && alive);
}

/* Each cell, in layers and both ways, with states and without biases; twice from one forward pass's reserve. */
static void computes(void)
{
    static layers l;
    if (!find_layers()) return;
    for (int i = 0; i < 12; i++) {
        if (!begin(&l, i % 3, i & 4 ? 2 : 1, i & 2 ? 2 : 1, i % 5 != 0)) return;
        place(&l);
        take_reserve(&l);
        compute(&l);
        CHECK(run_both(&l));
        for (int k = Y; k < PLACES; k++)
            if (k <= LAST_C || k >= DX) CHECK(made(&l, k));
        CHECK(l.d->fill_zero(l.d, l.p.dx.memory, 0, (size_t)l.sizes[DX] * 4) == KN_OK);
        CHECK(run(&l, true) == KN_OK && made(&l, DX) && made(&l, DWEIGHTS));
        end(&l);
    }
}

static void computes_from_pieces(void)
{
    setenv("FAKE_CUDNN_PADDED", "1", 1);
    computes();
}

/* A recording does the same each time, and what it launches stays when the memory of calls grows. */
static void records(void)
{
    static layers l;
    if (!find_layers() || !begin(&l, KNI_RECURRENCE_GRU, 2, 2, true)) return;
    place(&l);
    take_reserve(&l);
    compute(&l);
    CHECK(run_both(&l)); /* so that the library is asked nothing while it records */
    long before = runs(false);
    CHECK(l.d->record_begin(l.d) == KN_OK && run_both(&l));
    kni_recording *r = l.d->record_end(l.d);
    CHECK(r && runs(false) == before + 1); /* the first call was captured once before */
    for (int turn = 0; turn < 2 && r; turn++) {
        const int zeroed[] = {Y, LAST_H, DX, DWEIGHTS, DH};
        for (int i = 0; i < KNI_COUNT(zeroed); i++)
            CHECK(l.d->fill_zero(l.d, l.places[zeroed[i]]->memory, 0, (size_t)l.sizes[zeroed[i]] * 4) ==
                  KN_OK);
        CHECK(l.d->replay(l.d, r) == KN_OK);
        for (int i = 0; i < KNI_COUNT(zeroed); i++) CHECK(made(&l, zeroed[i]));
    }
    l.d->record_free(l.d, r);
    end(&l);
}

/* What is for inference reserves nothing; bf16 that the library does not have is told once, and asked no more. */
static void refuses(void)
{
    static layers l;
    if (!find_layers() || !begin(&l, KNI_RECURRENCE_LSTM, 1, 1, true)) return;
    place(&l);
    compute(&l);
    kni_recurrence p = direction_of(&l, false);
    p.training = false;
    CHECK(l.d->recurrence(l.d, &p) == KN_OK && made(&l, Y) && made(&l, LAST_C));
    setenv("FAKE_CUDNN_NO_BF16", "1", 1);
    p.dtype = KN_BF16;
    const long asked = fake_calls("cudnnSetRNNDescriptor_v8");
    CHECK(l.d->recurrence(l.d, &p) == KN_ERROR_UNSUPPORTED && l.d->recurrence_reserve(l.d, &p) == -1);
    CHECK(fake_calls("cudnnSetRNNDescriptor_v8") == asked + 1);
    p.dtype = KN_F16;
    CHECK(l.d->recurrence_reserve(l.d, &p) > 0);
    p.dtype = KN_F64;
    CHECK(l.d->recurrence_reserve(l.d, &p) == -1);
    p = l.p, p.steps = 0;
    CHECK(l.d->recurrence_reserve(l.d, &p) == -1);
    end(&l);
}

/* What an algorithm does not have, when it is described or when it runs, the standard one has. */
static void chooses_algorithms(void)
{
    static layers l;
    setenv("KN_CUDNN_RNN", "small", 1);
    if (!find_layers() || !begin(&l, KNI_RECURRENCE_GRU, 1, 1, true)) return;
    place(&l);
    take_reserve(&l);
    compute(&l);
    const long asked = fake_calls("cudnnSetRNNDescriptor_v8");
    CHECK(asked == 2 && run_both(&l) && made(&l, Y) && made(&l, DWEIGHTS));
    end(&l);
    setenv("KN_CUDNN_RNN", "persistent", 1);
    if (!begin(&l, KNI_RECURRENCE_RNN, 1, 1, true)) return;
    place(&l);
    take_reserve(&l);
    compute(&l);
    CHECK(run(&l, false) == KN_ERROR_UNSUPPORTED && run_both(&l) && made(&l, Y) && made(&l, DWEIGHTS));
    end(&l);
}

/* What cannot be recorded shows in the first call, which is good all the same; later ones are refused. */
static void tries_recording(void)
{
    static layers l;
    setenv("FAKE_CUDNN_NO_RECORDING", "1", 1);
    if (!find_layers() || !begin(&l, KNI_RECURRENCE_LSTM, 1, 1, true)) return;
    place(&l);
    take_reserve(&l);
    compute(&l);
    CHECK(run_both(&l) && made(&l, Y) && made(&l, DWEIGHTS));
    CHECK(run(&l, false) == KN_ERROR_UNSUPPORTED && l.d->recurrence_reserve(l.d, &l.p) == -1);
    end(&l);
    setenv("KN_CUDA_GRAPHS", "off", 1);
    if (!begin(&l, KNI_RECURRENCE_LSTM, 1, 1, true)) return;
    place(&l);
    take_reserve(&l);
    CHECK(run_both(&l) && run_both(&l));
    end(&l);
}

/* Every call fails once: that is told or refused, later calls work, and nothing is left. */
static void survives(void)
{
    static const char *const names[] = {"cudnnCreateTensorDescriptor",
                                        "cudnnSetTensorNdDescriptor",
                                        "cudnnCreateDropoutDescriptor",
                                        "cudnnSetDropoutDescriptor",
                                        "cudnnCreateRNNDescriptor",
                                        "cudnnSetRNNDescriptor_v8",
                                        "cudnnCreateRNNDataDescriptor",
                                        "cudnnSetRNNDataDescriptor",
                                        "cudnnGetRNNTempSpaceSizes",
                                        "cudnnGetRNNWeightSpaceSize",
                                        "cudnnGetRNNWeightParams",
                                        "cudnnRNNForward",
                                        "cudnnRNNBackwardData_v8",
                                        "cudnnRNNBackwardWeights_v8",
                                        "cuMemsetD32Async",
                                        "cuMemsetD8Async",
                                        "cuMemcpyDtoDAsync_v2"};
    static layers l;
    if (!find_layers()) return;
    for (int i = 0; i < KNI_COUNT(names); i++)
        for (int after = 1; after < 3; after++) {
            if (!begin(&l, KNI_RECURRENCE_LSTM, 1, 1, true)) return;
            place(&l);
            l.p.reserve.memory = l.d->allocate(l.d, 1 << 16);
            fake_fail(names[i], after, i % 2 ? 3000 : 2000);
            kn_status first = run(&l, false), second = run(&l, true);
            CHECK(first != KN_OK || second != KN_OK || after == 2);
            fake_fail(names[i], 0, 0);
            end(&l);
        }
}

int main(void)
{
#ifdef SKIPPED
    check_skip("MemorySanitizer: stand-ins of the driver");
    return check_report();
#endif
    if (!build_fake()) {
        check_skip("no C compiler");
        remove_fake();
        return check_report();
    }
    situation(computes, ALL);
    situation(computes_from_pieces, ALL);
    situation(records, ALL);
    situation(refuses, ALL);
    situation(chooses_algorithms, ALL);
    situation(tries_recording, ALL);
    situation(survives, ALL);
    remove_fake();
    return check_report();
}
