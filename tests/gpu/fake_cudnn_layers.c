/* A stand-in for the recurrent layers of libcudnn, linked into the same object as fake_cuda.c. It computes them in plain C, in f32, when
   the work's turn comes. As in the library, weights lie where it says (elsewhere than in one row with FAKE_CUDNN_PADDED), the gradient
   needs what the forward pass reserved, and spoils it; gradients by the weights are added. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BAD = 2000, UNSUPPORTED = 3000, ALIGNMENT = 16 };
enum { RELU = 0, TANH = 1, LSTM = 2, GRU = 3 };
enum {
    SAVED = 16,
    BY_X = 8,
    BY_H = 12
}; /* of each element: gates, from 8 on the gradients by their two shares */

bool fake_cuda_records(void);
int fake_cuda_told(const char *name);
int fake_cuda_give(void (*run)(const void *data), void *data);
long fake_layers_live(void);
long fake_layers_runs(bool gradients);
static long alive, forwards, gradients;
long fake_layers_live(void) { return alive; }
long fake_layers_runs(bool of_gradients) { return of_gradients ? gradients : forwards; }

typedef struct object {
    int kind, dtype, sizes[3], steps[3];
    int cell, biased, directions, ins, hidden, layers, algorithm;
} object;
enum { TENSOR = 1, DROPOUT, LAYERS, DATA };

static int make(void **made, int kind, const char *name)
{
    int failed = fake_cuda_told(name);
    *made = NULL;
    if (failed) return failed;
    object *o = calloc(1, sizeof *o);
    o->kind = kind;
    alive++;
    *made = o;
    return 0;
}
static int end(void *given, int kind)
{
    if (!given || ((object *)given)->kind != kind) return BAD;
    alive--;
    free(given);
    return 0;
}
#define OBJECT(name, kind)                                                                                   \
    int cudnnCreate##name(void **made) { return make(made, kind, "cudnnCreate" #name); }                     \
    int cudnnDestroy##name(void *given) { return end(given, kind); }
OBJECT(TensorDescriptor, TENSOR)
OBJECT(DropoutDescriptor, DROPOUT)
OBJECT(RNNDescriptor, LAYERS)
OBJECT(RNNDataDescriptor, DATA)

#define ENTER                                                                                                \
    do {                                                                                                     \
        int failed = fake_cuda_told(__func__);                                                               \
        if (failed) return failed;                                                                           \
    } while (0)

int cudnnSetTensorNdDescriptor(void *tensor, int dtype, int rank, const int *dims, const int *steps)
{
    ENTER;
    object *o = tensor;
    if (o->kind != TENSOR || rank != 3) return BAD;
    o->dtype = dtype;
    memcpy(o->sizes, dims, sizeof o->sizes);
    memcpy(o->steps, steps, sizeof o->steps);
    return steps[2] == 1 && steps[1] == dims[2] && steps[0] == dims[1] * dims[2] ? 0 : BAD;
}
int cudnnSetDropoutDescriptor(void *dropout, void *handle, float p, void *states, size_t bytes,
                              unsigned long long seed)
{
    ENTER;
    return ((object *)dropout)->kind == DROPOUT && handle && p == 0 && !states && !bytes && !seed ? 0 : BAD;
}
int cudnnSetRNNDescriptor_v8(void *layers, int algorithm, int cell, int biases, int directions, int input,
                             int dtype, int computed, int math, int32_t ins, int32_t hidden,
                             int32_t projected, int32_t count, void *dropout, uint32_t flags)
{
    ENTER;
    object *o = layers;
    const bool fits = math == (dtype ? 1 : 3) && computed == 0 && projected == hidden && !flags && !input;
    if (o->kind != LAYERS || !dropout || !fits || algorithm < 0 || algorithm > 3 || cell < TANH || cell > GRU)
        return BAD;
    if (dtype == 9 && getenv("FAKE_CUDNN_NO_BF16")) return UNSUPPORTED;
    if (algorithm == 3 && cell == GRU) return UNSUPPORTED;
    o->algorithm = algorithm;
    o->dtype = dtype, o->cell = cell, o->biased = biases == 2, o->directions = directions + 1;
    o->ins = ins, o->hidden = hidden, o->layers = count;
    return biases == 0 || biases == 2 ? 0 : BAD;
}
int cudnnSetRNNDataDescriptor(void *data, int dtype, int layout, int steps, int batch, int size,
                              const int *lengths, void *fill)
{
    ENTER;
    object *o = data;
    for (int i = 0; i < batch; i++)
        if (lengths[i] != steps) return BAD;
    o->dtype = dtype, o->sizes[0] = steps, o->sizes[1] = batch, o->sizes[2] = size;
    return o->kind == DATA && layout == 1 && !fill ? 0 : BAD;
}

/* ---- sizes and places, in elements */

static int gates_of(const object *o) { return o->cell == LSTM ? 4 : o->cell == GRU ? 3 : 1; }
static int passes_of(const object *o) { return o->layers * o->directions; }
static int ins_of(const object *o, int pass)
{
    return pass < o->directions ? o->ins : o->hidden * o->directions;
}
static size_t gap_of(void) { return getenv("FAKE_CUDNN_PADDED") ? ALIGNMENT : 0; }

/* With gaps each bias stands behind its pass's matrices. */
static size_t place(const object *o, int pass, int part, bool bias)
{
    const size_t gap = gap_of(), rows = (size_t)gates_of(o) * (size_t)o->hidden, hidden = (size_t)o->hidden;
    size_t at = 0, matrices = 0;
    for (int i = 0; i < passes_of(o); i++) {
        if (i == pass) at = matrices;
        matrices += rows * ((size_t)ins_of(o, i) + hidden) + (gap ? gap + 2 * rows : 0);
    }
    const size_t ins = (size_t)ins_of(o, pass), gates = (size_t)gates_of(o), k = (size_t)part;
    if (bias)
        return (gap ? at + gap + rows * (ins + hidden) : matrices + 2 * rows * (size_t)pass) + k * hidden;
    return at + (k < gates ? k * hidden * ins : rows * ins + (k - gates) * hidden * hidden);
}
static size_t weights_of(const object *o)
{
    const int last = passes_of(o) - 1;
    if (gap_of()) return place(o, last, 0, true) + 2 * (size_t)(gates_of(o) * o->hidden);
    return place(o, 0, 0, true) + (o->biased ? 2 * (size_t)(gates_of(o) * o->hidden * passes_of(o)) : 0);
}
static size_t size_of(int dtype) { return dtype ? 2 : 4; }

int cudnnGetRNNWeightSpaceSize(void *handle, void *layers, size_t *bytes)
{
    ENTER;
    *bytes = weights_of(layers) * size_of(((object *)layers)->dtype);
    return handle ? 0 : BAD;
}
static size_t reserve_of(const object *o, const object *x)
{
    const size_t each = (size_t)(x->sizes[0] * x->sizes[1] * o->hidden);
    return 1 + (size_t)passes_of(o) * each * (SAVED + 1);
}
int cudnnGetRNNTempSpaceSizes(void *handle, void *layers, int mode, void *x, size_t *workspace,
                              size_t *reserve)
{
    ENTER;
    const object *o = layers, *data = x;
    *workspace = 4 * 2 * (size_t)(data->sizes[0] * data->sizes[1] * (o->hidden * o->directions + o->ins));
    *reserve = mode ? 4 * reserve_of(o, data) : 0;
    return handle && data->kind == DATA ? 0 : BAD;
}
int cudnnGetRNNWeightParams(void *handle, void *layers, int32_t pass, size_t bytes, const void *weights,
                            int32_t part, void *matrix, void **matrix_at, void *bias, void **bias_at)
{
    ENTER;
    const object *o = layers;
    const size_t each = size_of(o->dtype);
    if (!handle || !matrix || !bias || pass < 0 || pass >= passes_of(o) || part < 0 ||
        part >= 2 * gates_of(o))
        return BAD;
    *matrix_at = (char *)weights + place(o, pass, part, false) * each;
    *bias_at = o->biased ? (char *)weights + place(o, pass, part, true) * each : NULL;
    return bytes == weights_of(o) * each ? 0 : BAD;
}

/* ---- computing */

typedef struct call {
    object o, x;
    const int32_t *lengths;
    const float *in, *h, *c, *weights, *out, *dy, *dlast_h, *dlast_c;
    float *y, *last_h, *last_c, *reserve, *workspace, *dx, *dh, *dc, *dweights;
} call;

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }
static float *saved_of(const call *k, int pass, int t, int b, int j)
{
    const int hidden = k->o.hidden;
    const size_t at = (((size_t)pass * k->x.sizes[0] + t) * k->x.sizes[1] + b) * hidden + j;
    return k->reserve + 1 + at * SAVED;
}
/* The results of a layer's passes lie behind what is saved, as y does. */
static float *result_of(const call *k, int layer)
{
    const size_t each = (size_t)(k->x.sizes[0] * k->x.sizes[1] * k->o.hidden);
    return k->reserve + 1 + each * (size_t)passes_of(&k->o) * SAVED +
           each * (size_t)(layer * k->o.directions);
}
static float bias_of(const call *k, int pass, int part, int j)
{
    return k->o.biased ? k->weights[place(&k->o, pass, part, true) + (size_t)j] : 0;
}
static float dot(const float *a, const float *b, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void element(const call *k, int pass, const float *x, const float *h, float c, int j, float *s)
{
    const object *o = &k->o;
    const int gates = gates_of(o), ins = ins_of(o, pass);
    float of_x[4], of_h[4];
    for (int g = 0; g < gates; g++) {
        of_x[g] = dot(k->weights + place(o, pass, g, false) + j * ins, x, ins) + bias_of(k, pass, g, j);
        of_h[g] = dot(k->weights + place(o, pass, gates + g, false) + j * o->hidden, h, o->hidden) +
                  bias_of(k, pass, gates + g, j);
    }
    s[6] = h[j];
    if (o->cell == TANH) {
        s[7] = s[0] = tanhf(of_x[0] + of_h[0]);
    } else if (o->cell == GRU) {
        s[0] = sigmoid(of_x[0] + of_h[0]), s[1] = sigmoid(of_x[1] + of_h[1]), s[3] = of_h[2];
        s[2] = tanhf(of_x[2] + s[0] * of_h[2]);
        s[7] = (1 - s[1]) * s[2] + s[1] * h[j];
    } else {
        for (int g = 0; g < 4; g++) s[g] = g == 2 ? tanhf(of_x[g] + of_h[g]) : sigmoid(of_x[g] + of_h[g]);
        s[4] = c;
        s[5] = s[1] * c + s[0] * s[2];
        s[7] = s[3] * tanhf(s[5]);
    }
}

static void run_forward(const void *data)
{
    const call *k = data;
    const object *o = &k->o;
    const int steps = k->x.sizes[0], batch = k->x.sizes[1], hidden = o->hidden, wide = hidden * o->directions;
    for (int b = 0; b < batch; b++)
        if (k->lengths[b] != steps) return;
    k->reserve[0] = 7;
    for (int pass = 0; pass < passes_of(o); pass++) {
        const int layer = pass / o->directions, ins = ins_of(o, pass), back = pass % o->directions;
        const float *x = layer ? result_of(k, layer - 1) : k->in;
        for (int i = 0; i < steps; i++)
            for (int b = 0; b < batch; b++) {
                const int t = back ? steps - 1 - i : i, before = back ? t + 1 : t - 1;
                float h[256];
                for (int j = 0; j < hidden; j++)
                    h[j] = i      ? saved_of(k, pass, before, b, j)[7]
                           : k->h ? k->h[(pass * batch + b) * hidden + j]
                                  : 0;
                for (int j = 0; j < hidden; j++) {
                    const float c = i      ? saved_of(k, pass, before, b, j)[5]
                                    : k->c ? k->c[(pass * batch + b) * hidden + j]
                                           : 0;
                    float *s = saved_of(k, pass, t, b, j);
                    element(k, pass, x + (t * batch + b) * ins, h, c, j, s);
                    result_of(k, layer)[(t * batch + b) * wide + back * hidden + j] = s[7];
                    if (i == steps - 1) k->last_h[(pass * batch + b) * hidden + j] = s[7];
                    if (i == steps - 1 && o->cell == LSTM) k->last_c[(pass * batch + b) * hidden + j] = s[5];
                }
            }
    }
    memcpy(k->y, result_of(k, o->layers - 1), sizeof(float) * (size_t)(steps * batch * wide));
}

/* The gradients by the gates of an element from those by h and c after the step; c's before it, and h's own share. */
static void element_back(const object *o, float *s, float dh, float dc, float *before_c, float *before_h)
{
    float *x = s + BY_X, *h = s + BY_H;
    *before_c = *before_h = 0;
    if (o->cell == TANH) {
        x[0] = h[0] = dh * (1 - s[0] * s[0]);
    } else if (o->cell == GRU) {
        x[2] = dh * (1 - s[1]) * (1 - s[2] * s[2]);
        x[1] = h[1] = dh * (s[6] - s[2]) * s[1] * (1 - s[1]);
        x[0] = h[0] = x[2] * s[3] * s[0] * (1 - s[0]);
        h[2] = x[2] * s[0];
        *before_h = dh * s[1];
    } else {
        const float t = tanhf(s[5]), all = dc + dh * s[3] * (1 - t * t);
        x[0] = all * s[2] * s[0] * (1 - s[0]), x[1] = all * s[4] * s[1] * (1 - s[1]);
        x[2] = all * s[0] * (1 - s[2] * s[2]), x[3] = dh * t * s[3] * (1 - s[3]);
        memcpy(h, x, 4 * sizeof *h);
        *before_c = all * s[1];
    }
}

/* The gradients of one pass; from: those by its results, to: by what it reads, which is added to. */
static void pass_back(const call *k, int pass, const float *from, float *to)
{
    const object *o = &k->o;
    const int steps = k->x.sizes[0], batch = k->x.sizes[1], hidden = o->hidden, wide = hidden * o->directions;
    const int ins = ins_of(o, pass), back = pass % o->directions, gates = gates_of(o);
    for (int b = 0; b < batch; b++) {
        float dh[256], dc[256], own[256];
        for (int j = 0; j < hidden; j++) {
            const int at = (pass * batch + b) * hidden + j;
            dh[j] = k->dlast_h ? k->dlast_h[at] : 0;
            dc[j] = k->dlast_c ? k->dlast_c[at] : 0;
        }
        for (int i = steps - 1; i >= 0; i--) {
            const int t = back ? steps - 1 - i : i;
            for (int j = 0; j < hidden; j++) {
                const float whole = dh[j] + from[(t * batch + b) * wide + back * hidden + j];
                element_back(o, saved_of(k, pass, t, b, j), whole, dc[j], &dc[j], &own[j]);
            }
            memcpy(dh, own, sizeof dh);
            for (int g = 0; g < gates; g++)
                for (int j = 0; j < hidden; j++) {
                    const float *s = saved_of(k, pass, t, b, j);
                    const float *by_x = k->weights + place(o, pass, g, false) + j * ins;
                    const float *by_h = k->weights + place(o, pass, gates + g, false) + j * hidden;
                    for (int n = 0; n < ins; n++) to[(t * batch + b) * ins + n] += s[BY_X + g] * by_x[n];
                    for (int n = 0; n < hidden; n++) dh[n] += s[BY_H + g] * by_h[n];
                }
        }
        for (int j = 0; j < hidden; j++) {
            k->dh[(pass * batch + b) * hidden + j] = dh[j];
            if (o->cell == LSTM) k->dc[(pass * batch + b) * hidden + j] = dc[j];
        }
    }
}

static void run_data(const void *data)
{
    const call *k = data;
    const object *o = &k->o;
    const int lines = k->x.sizes[0] * k->x.sizes[1], wide = o->hidden * o->directions;
    if (k->reserve[0] != 7) return; /* nothing was reserved, or it was spoiled */
    k->reserve[0] = 8;
    float *from = k->workspace, *to = from + lines * (wide + o->ins);
    memcpy(from, k->dy, sizeof(float) * (size_t)(lines * wide));
    for (int layer = o->layers - 1; layer >= 0; layer--) {
        const int ins = ins_of(o, layer * o->directions);
        memset(to, 0, sizeof(float) * (size_t)(lines * ins));
        for (int d = 0; d < o->directions; d++) pass_back(k, layer * o->directions + d, from, to);
        memcpy(layer ? from : k->dx, to, sizeof(float) * (size_t)(lines * ins));
    }
}

static void run_weights(const void *data)
{
    const call *k = data;
    const object *o = &k->o;
    const int steps = k->x.sizes[0], batch = k->x.sizes[1], hidden = o->hidden, gates = gates_of(o);
    if (k->reserve[0] != 8) return;
    for (int pass = 0; pass < passes_of(o); pass++) {
        const int layer = pass / o->directions, ins = ins_of(o, pass);
        const float *x = layer ? result_of(k, layer - 1) : k->in;
        for (int line = 0; line < steps * batch; line++)
            for (int j = 0; j < hidden; j++)
                for (int g = 0; g < gates; g++) {
                    const float *s = saved_of(k, pass, line / batch, line % batch, j);
                    float *by_x = k->dweights + place(o, pass, g, false) + j * ins;
                    float *by_h = k->dweights + place(o, pass, gates + g, false) + j * hidden;
                    for (int n = 0; n < ins; n++) by_x[n] += s[BY_X + g] * x[line * ins + n];
                    for (int n = 0; n < hidden; n++)
                        by_h[n] += s[BY_H + g] * saved_of(k, pass, line / batch, line % batch, n)[6];
                    if (!o->biased) continue;
                    k->dweights[place(o, pass, g, true) + (size_t)j] += s[BY_X + g];
                    k->dweights[place(o, pass, gates + g, true) + (size_t)j] += s[BY_H + g];
                }
    }
    k->reserve[0] = 9;
}

static int give(const call *k, void (*run)(const void *))
{
    if (k->o.dtype) return 0; /* 16 bits are not computed */
    call *copy = malloc(sizeof *copy);
    *copy = *k;
    return fake_cuda_give(run, copy);
}

/* Whether x, y, h and what belongs to them were described alike. */
static bool fit(const object *o, const object *x, const object *y, const object *h)
{
    return o->kind == LAYERS && x->kind == DATA && y->kind == DATA && h->kind == TENSOR &&
           x->dtype == o->dtype && y->dtype == o->dtype && h->dtype == o->dtype && x->sizes[2] == o->ins &&
           y->sizes[0] == x->sizes[0] && y->sizes[1] == x->sizes[1] &&
           y->sizes[2] == o->hidden * o->directions && h->sizes[0] == passes_of(o) &&
           h->sizes[1] == x->sizes[1] && h->sizes[2] == o->hidden;
}

int cudnnRNNForward(void *handle, void *layers, int mode, const int32_t *lengths, void *x_data, const void *x,
                    void *y_data, void *y, void *h_tensor, const void *h, void *last_h, void *c_tensor,
                    const void *c, void *last_c, size_t weight_bytes, const void *weights,
                    size_t workspace_bytes, void *workspace, size_t reserve_bytes, void *reserve)
{
    ENTER;
    const object *o = layers;
    if (!handle || !lengths || !x || !y || !last_h || !c_tensor || !workspace || !weights) return BAD;
    if (!fit(o, x_data, y_data, h_tensor) || weight_bytes != weights_of(o) * size_of(o->dtype)) return BAD;
    if (mode ? !reserve || reserve_bytes != 4 * reserve_of(o, x_data) : reserve || reserve_bytes) return BAD;
    if (!workspace_bytes || (o->cell == LSTM) != (last_c != NULL)) return BAD;
    call k = {
        .o = *o, .x = *(object *)x_data, .lengths = lengths, .in = x, .h = h, .c = c, .weights = weights};
    k.y = y, k.last_h = last_h, k.last_c = last_c;
    k.reserve = mode ? reserve : malloc(4 * reserve_of(o, x_data));
    if (o->algorithm == 1 && o->cell == TANH) return UNSUPPORTED;
    forwards++;
    return give(&k, run_forward);
}

int cudnnRNNBackwardData_v8(void *handle, void *layers, const int32_t *lengths, void *y_data, const void *y,
                            const void *dy, void *x_data, void *dx, void *h_tensor, const void *h,
                            const void *dlast_h, void *dh, void *c_tensor, const void *c, const void *dlast_c,
                            void *dc, size_t weight_bytes, const void *weights, size_t workspace_bytes,
                            void *workspace, size_t reserve_bytes, void *reserve)
{
    ENTER;
    const object *o = layers;
    (void)h, (void)c;
    if (!handle || !lengths || !y || !dy || !dx || !dh || !c_tensor || !workspace || !weights || !reserve)
        return BAD;
    if (!fit(o, x_data, y_data, h_tensor) || weight_bytes != weights_of(o) * size_of(o->dtype)) return BAD;
    if (reserve_bytes != 4 * reserve_of(o, x_data) || !workspace_bytes) return BAD;
    call k = {.o = *o,
              .x = *(object *)x_data,
              .dy = dy,
              .dx = dx,
              .dlast_h = dlast_h,
              .dh = dh,
              .dlast_c = dlast_c};
    k.dc = dc, k.weights = weights, k.workspace = workspace, k.reserve = reserve;
    if (fake_cuda_records() && getenv("FAKE_CUDNN_NO_RECORDING")) return BAD;
    gradients++;
    return give(&k, run_data);
}

int cudnnRNNBackwardWeights_v8(void *handle, void *layers, int adds, const int32_t *lengths, void *x_data,
                               const void *x, void *h_tensor, const void *h, void *y_data, const void *y,
                               size_t weight_bytes, void *dweights, size_t workspace_bytes, void *workspace,
                               size_t reserve_bytes, void *reserve)
{
    ENTER;
    const object *o = layers;
    (void)h;
    if (!handle || adds || !lengths || !x || !y || !dweights || !workspace || !reserve || !workspace_bytes)
        return BAD;
    if (!fit(o, x_data, y_data, h_tensor) || weight_bytes != weights_of(o) * size_of(o->dtype)) return BAD;
    if (reserve_bytes != 4 * reserve_of(o, x_data)) return BAD;
    call k = {.o = *o, .x = *(object *)x_data, .in = x, .dweights = dweights, .reserve = reserve};
    return give(&k, run_weights);
}
