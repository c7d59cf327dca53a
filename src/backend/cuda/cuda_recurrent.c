/* Stacked recurrent layers by cuDNN in f32, f16 and bf16. Its descriptors are made once for each kind of layers; weights go to the
   library as they lie where it wants them so, else by copies of pieces. All sequences have the same length, so that what it calls packed
   is row-major. */
#include "backend/cuda/cuda_cudnn.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include <string.h>

/* Of cudnn_adv.h and cudnn_graph.h. */
enum {
    ALGORITHM_STANDARD = 0,
    ALGORITHM_PERSISTENT = 1,
    ALGORITHM_SMALL = 3,
    MODE_INFERENCE = 0,
    MODE_TRAINING = 1,
    BIASES_NONE = 0,
    BIASES_TWO = 2,
    INPUT_LINEAR = 0,
    LAYOUT_PACKED = 1,
    FLAGS_NONE = 0,
    GRADIENTS_ADD = 0,
    MATH_DEFAULT = 0,
    MATH_TENSOR = 1,
    MATH_EXACT = 3,
    NOT_SUPPORTED = 3000, /* and up to, but without, */
    NOT_SUPPORTED_END = 4000
};

enum { MOST_KINDS = 64, ALIGNMENT = 256 };

/* What descriptors depend on. */
typedef struct kind_key {
    int64_t dtype, cell, layers, directions, biased, tf32, steps, batch, ins, hidden;
} kind_key;

/* A piece of the vector of weights, and where the library has it, in bytes. */
typedef struct piece {
    size_t from, to, bytes;
} piece;

typedef struct kind {
    kind_key key;
    uint64_t used;
    int algorithm;
    bool refused;  /* by the library; it is not asked again */
    bool placed;   /* pieces are known */
    bool tried[2]; /* whether it can be recorded: forward, gradient */
    void *layers, *dropout, *x, *y, *state, *matrix, *bias;
    size_t weight_bytes, workspace[2], reserve; /* workspaces by mode */
    piece *pieces;
    uint32_t n_pieces, room;
} kind;

struct kni_cuda_layers {
    const kni_cuda_recurrent_api *api;
    void *handle;
    int algorithm;
    uint32_t refused; /* dtypes in which the library failed to run what it had agreed to */
    uint64_t clock;
    int count;
    kind kinds[MOST_KINDS];
};

static size_t element_bytes(const kind_key *k) { return kni_bytes_of((int)k->dtype); }
static size_t padded(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }
static int64_t gates_of(int64_t cell)
{
    return cell == KNI_RECURRENCE_LSTM ? 4 : cell == KNI_RECURRENCE_GRU ? 3 : 1;
}

/* ---- what is kept */

static int chosen_algorithm(void)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {
        {"standard", ALGORITHM_STANDARD}, {"persistent", ALGORITHM_PERSISTENT}, {"small", ALGORITHM_SMALL}};
    const char *text = kni_environment("KN_CUDNN_RNN");
    for (int i = 0; text && i < KNI_COUNT(names); i++)
        if (!strcmp(text, names[i].name)) return names[i].number;
    if (text)
        kni_log(KN_LOG_WARNING, "KN_CUDNN_RNN=%s says nothing: write standard, persistent or small", text);
    return ALGORITHM_STANDARD;
}

static struct kni_cuda_layers *state_of(kni_cuda *c)
{
    if (c->layers || !c->vendor) return c->layers;
    void *handle = kni_dnn_handle(c);
    const kni_cuda_recurrent_api *api = handle ? kni_cuda_recurrent_library() : NULL;
    struct kni_cuda_layers *s = api ? kni_allocate(sizeof *s) : NULL;
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->api = api;
    s->handle = handle;
    s->algorithm = chosen_algorithm();
    c->layers = s;
    return s;
}

static void release(const kni_cuda_recurrent_api *api, kind *k)
{
    if (k->layers) (void)api->layers_destroy(k->layers);
    if (k->dropout) (void)api->dropout_destroy(k->dropout);
    void *data[] = {k->x, k->y}, *tensors[] = {k->state, k->matrix, k->bias};
    for (int i = 0; i < KNI_COUNT(data); i++)
        if (data[i]) (void)api->data_destroy(data[i]);
    for (int i = 0; i < KNI_COUNT(tensors); i++)
        if (tensors[i]) (void)api->tensor_destroy(tensors[i]);
    if (k->pieces) kni_free(k->pieces, k->room * sizeof *k->pieces);
    memset(k, 0, sizeof *k);
}

void kni_cuda_layers_free(kni_cuda *c)
{
    struct kni_cuda_layers *s = c->layers;
    if (!s) return;
    for (int i = 0; i < s->count; i++) release(s->api, &s->kinds[i]);
    kni_free(s, sizeof *s);
    c->layers = NULL;
}

/* ---- making a kind. All answer the library's status. */

static int set_data(const struct kni_cuda_layers *s, const kind_key *key, int dtype, void **data,
                    int64_t size)
{
    const size_t bytes = (size_t)key->batch * sizeof(int);
    int *lengths = kni_allocate(bytes);
    if (!lengths) return NOT_SUPPORTED;
    for (int64_t i = 0; i < key->batch; i++) lengths[i] = (int)key->steps;
    int failed = s->api->data_create(data);
    if (!failed)
        failed = s->api->data_set(*data, dtype, LAYOUT_PACKED, (int)key->steps, (int)key->batch, (int)size,
                                  lengths, NULL);
    kni_free(lengths, bytes);
    return failed;
}

static int set_state(const struct kni_cuda_layers *s, kind *k, int dtype)
{
    const kind_key *key = &k->key;
    const int dims[3] = {(int)(key->layers * key->directions), (int)key->batch, (int)key->hidden};
    const int steps[3] = {(int)(key->batch * key->hidden), (int)key->hidden, 1};
    int failed = s->api->tensor_create(&k->state);
    if (!failed) failed = s->api->tensor_set(k->state, dtype, 3, dims, steps);
    if (!failed) failed = s->api->tensor_create(&k->matrix);
    return failed ? failed : s->api->tensor_create(&k->bias);
}

static int set_layers(const struct kni_cuda_layers *s, kind *k, int dtype)
{
    static const int cells[] = {
        [KNI_RECURRENCE_RNN] = 1, [KNI_RECURRENCE_LSTM] = 2, [KNI_RECURRENCE_GRU] = 3};
    const kind_key *key = &k->key;
    const int math = dtype != KNI_DNN_F32 ? MATH_TENSOR : key->tf32 ? MATH_DEFAULT : MATH_EXACT;
    int failed = s->api->dropout_create(&k->dropout);
    if (!failed) failed = s->api->dropout_set(k->dropout, s->handle, 0, NULL, 0, 0);
    if (!failed) failed = s->api->layers_create(&k->layers);
    if (failed) return failed;
    return s->api->layers_set(k->layers, k->algorithm, cells[key->cell],
                              key->biased ? BIASES_TWO : BIASES_NONE, key->directions == 2, INPUT_LINEAR,
                              dtype, KNI_DNN_F32, math, (int32_t)key->ins, (int32_t)key->hidden,
                              (int32_t)key->hidden, (int32_t)key->layers, k->dropout, FLAGS_NONE);
}

static int make(const struct kni_cuda_layers *s, kind *k)
{
    const kind_key *key = &k->key;
    const int dtype = !kni_is_half((int)key->dtype)   ? KNI_DNN_F32
                      : kni_is_brain((int)key->dtype) ? KNI_DNN_BF16
                                                      : KNI_DNN_F16;
    int failed = set_layers(s, k, dtype);
    if (!failed) failed = set_data(s, key, dtype, &k->x, key->ins);
    if (!failed) failed = set_data(s, key, dtype, &k->y, key->hidden * key->directions);
    if (!failed) failed = set_state(s, k, dtype);
    if (!failed) failed = s->api->weight_bytes(s->handle, k->layers, &k->weight_bytes);
    size_t unused = 0;
    if (!failed)
        failed = s->api->temporary_bytes(s->handle, k->layers, MODE_INFERENCE, k->x,
                                         &k->workspace[MODE_INFERENCE], &unused);
    if (!failed)
        failed = s->api->temporary_bytes(s->handle, k->layers, MODE_TRAINING, k->x,
                                         &k->workspace[MODE_TRAINING], &k->reserve);
    return failed;
}

static void tell_refused(const kni_cuda *c, kind *k, int failed)
{
    const kind_key *key = &k->key;
    k->refused = true;
    kni_log(KN_LOG_WARNING,
            "%s: cuDNN does not run %D recurrent layers of cell %D, %D directions, %D to %D, in %T (its "
            "error %d): they "
            "go step by step",
            c->runtime.name, key->layers, key->cell, key->directions, key->ins, key->hidden, (int)key->dtype,
            (int32_t)failed);
}

static bool takes(const kni_recurrence *p)
{
    const int64_t sizes[] = {p->steps, p->batch, p->ins, p->hidden, p->layers};
    if (p->dtype != KN_F32 && !kni_is_half(p->dtype)) return false;
    for (int i = 0; i < KNI_COUNT(sizes); i++)
        if (sizes[i] < 1 || sizes[i] > 1 << 20) return false;
    return p->batch * p->hidden <= INT32_MAX / 2;
}

/* Makes the kind in a place that is free; NULL where the library has none. */
static kind *remake(kni_cuda *c, kind *k, const kind_key *key)
{
    struct kni_cuda_layers *s = c->layers;
    *k = (kind){.key = *key, .used = ++s->clock, .algorithm = s->algorithm};
    int failed = make(s, k);
    if (failed && k->algorithm != ALGORITHM_STANDARD) {
        release(s->api, k);
        *k = (kind){.key = *key, .used = s->clock, .algorithm = ALGORITHM_STANDARD};
        failed = make(s, k);
    }
    if (failed) tell_refused(c, k, failed);
    return failed ? NULL : k;
}

/* The kind of the layers, made at its first use; NULL where the library has none. */
static kind *find(kni_cuda *c, const kni_recurrence *p)
{
    struct kni_cuda_layers *s = takes(p) ? state_of(c) : NULL;
    if (!s || s->refused >> p->dtype & 1) return NULL;
    const kind_key key = {p->dtype, p->cell,  p->layers, p->directions, p->biased,
                          p->tf32,  p->steps, p->batch,  p->ins,        p->hidden};
    kind *oldest = &s->kinds[0];
    for (int i = 0; i < s->count; i++) {
        kind *k = &s->kinds[i];
        if (k->used < oldest->used) oldest = k;
        if (memcmp(&k->key, &key, sizeof key) != 0) continue;
        if (k->refused && k->algorithm != s->algorithm && k->algorithm != ALGORITHM_STANDARD) {
            release(s->api, k);
            return remake(c, k, &key);
        }
        k->used = ++s->clock;
        return k->refused ? NULL : k;
    }
    if (s->count == MOST_KINDS) {
        /* What it launched may run again, or still. */
        if (kni_runtime_is_held(&c->runtime) || c->api->common.stream_wait(c->runtime.stream)) return NULL;
        release(s->api, oldest);
    }
    kind *k = s->count < MOST_KINDS ? &s->kinds[s->count++] : oldest;
    return remake(c, k, &key);
}

/* ---- where the library has the weights */

static int add_piece(kind *k, const void *base, const void *at, size_t from, size_t bytes)
{
    const uintptr_t begin = (uintptr_t)base, found = (uintptr_t)at;
    if (found < begin || found - begin > k->weight_bytes || bytes > k->weight_bytes - (found - begin))
        return NOT_SUPPORTED;
    const size_t to = found - begin;
    piece *last = k->n_pieces ? &k->pieces[k->n_pieces - 1] : NULL;
    if (last && last->from + last->bytes == from && last->to + last->bytes == to) {
        last->bytes += bytes;
        return 0;
    }
    piece *pieces = kni_grow(k->pieces, &k->room, k->n_pieces + 1, sizeof *pieces);
    if (!pieces) return NOT_SUPPORTED;
    k->pieces = pieces;
    k->pieces[k->n_pieces++] = (piece){from, to, bytes};
    return 0;
}

/* Matrices, or biases, of all gates of all layers, in the order of the vector. */
static int place_all(const struct kni_cuda_layers *s, kind *k, const void *base, bool biases, size_t *from)
{
    const kind_key *key = &k->key;
    const int64_t gates = gates_of(key->cell), hidden = key->hidden;
    for (int64_t layer = 0; layer < key->layers * key->directions; layer++) {
        const int64_t ins = layer < key->directions ? key->ins : hidden * key->directions;
        for (int64_t i = 0; i < 2 * gates; i++) {
            void *matrix = NULL, *bias = NULL;
            const int64_t columns = biases ? 1 : i < gates ? ins : hidden;
            const size_t bytes = (size_t)(hidden * columns) * element_bytes(key);
            int failed = s->api->weight_place(s->handle, k->layers, (int32_t)layer, k->weight_bytes, base,
                                              (int32_t)i, k->matrix, &matrix, k->bias, &bias);
            if (!failed) failed = add_piece(k, base, biases ? bias : matrix, *from, bytes);
            if (failed) return failed;
            *from += bytes;
        }
    }
    return 0;
}

static bool place_weights(kni_cuda *c, kind *k, const void *base)
{
    const struct kni_cuda_layers *s = c->layers;
    size_t from = 0;
    if (k->placed) return true;
    k->n_pieces = 0;
    int failed = place_all(s, k, base, false, &from);
    if (!failed && k->key.biased) failed = place_all(s, k, base, true, &from);
    if (failed) tell_refused(c, k, failed);
    k->placed = !failed;
    return k->placed;
}

/* Whether the vector is the library's memory of weights as it lies. */
static bool lies_so(const kind *k, const void *weights)
{
    return k->n_pieces == 1 && !k->pieces[0].from && !k->pieces[0].to &&
           k->pieces[0].bytes == k->weight_bytes && (uintptr_t)weights % 16 == 0;
}

/* ---- running */

/* What a call needs for itself, in one piece of memory. */
typedef struct scratch {
    char *lengths, *weights, *dweights, *reserve, *workspace, *end;
    bool copies_weights, copies_dweights;
} scratch;

static char *address_of(const kni_place *at, size_t bytes)
{
    return at->memory ? (char *)at->memory + at->offset * (int64_t)bytes : NULL;
}

static bool take_scratch(kni_cuda *c, const kind *k, const kni_recurrence *p, scratch *w)
{
    const size_t each = element_bytes(&k->key);
    w->copies_weights = !lies_so(k, address_of(&p->weights, each));
    w->copies_dweights = p->gradient && !lies_so(k, address_of(&p->dweights, each));
    const size_t sizes[] = {
        padded((size_t)p->batch * sizeof(int32_t)),       w->copies_weights ? padded(k->weight_bytes) : 0,
        w->copies_dweights ? padded(k->weight_bytes) : 0, p->gradient ? padded(k->reserve) : 0,
        padded(k->workspace[p->gradient || p->training]), ALIGNMENT};
    char **const places[] = {&w->lengths, &w->weights, &w->dweights, &w->reserve, &w->workspace, &w->end};
    size_t total = 0;
    for (int i = 0; i < KNI_COUNT(sizes); i++) total += sizes[i];
    char *memory = kni_cuda_scratch(c, total);
    if (!memory) return false;
    for (int i = 0; i < KNI_COUNT(sizes); i++) {
        *places[i] = memory;
        memory += sizes[i];
    }
    return true;
}

static int copy_pieces(kni_cuda *c, const kind *k, char *vector, char *library, bool back)
{
    int failed = 0;
    for (uint32_t i = 0; i < k->n_pieces && !failed; i++) {
        const piece *s = &k->pieces[i];
        char *to = back ? vector + s->from : library + s->to,
             *from = back ? library + s->to : vector + s->from;
        failed = c->api->common.copy_on(kni_runtime_at(to, 0), kni_runtime_at(from, 0), s->bytes,
                                        c->runtime.stream);
    }
    return failed;
}

/* The lengths of the sequences, the weights, and copies of what the library changes; the driver's status. */
static int prepare(kni_cuda *c, const kind *k, const kni_recurrence *p, const scratch *w)
{
    const kni_runtime_api *api = &c->api->common;
    const size_t each = element_bytes(&k->key);
    void *stream = c->runtime.stream;
    int failed =
        c->api->set_words(kni_runtime_at(w->lengths, 0), (unsigned)p->steps, (size_t)p->batch, stream);
    if (!failed && w->copies_weights)
        failed = copy_pieces(c, k, address_of(&p->weights, each), w->weights, false);
    if (failed || !p->gradient) return failed;
    if (k->reserve)
        failed = api->copy_on(kni_runtime_at(w->reserve, 0), kni_runtime_at(address_of(&p->reserve, 1), 0),
                              k->reserve, stream);
    if (failed) return failed;
    char *dweights = w->copies_dweights ? w->dweights : address_of(&p->dweights, each);
    return api->set_bytes(kni_runtime_at(dweights, 0), 0, k->weight_bytes, stream);
}

static int forward(const struct kni_cuda_layers *s, const kind *k, const kni_recurrence *p, const scratch *w)
{
    const size_t each = element_bytes(&k->key);
    const int mode = p->training ? MODE_TRAINING : MODE_INFERENCE;
    const char *weights = w->copies_weights ? w->weights : address_of(&p->weights, each);
    return s->api->forward(
        s->handle, k->layers, mode, (const int32_t *)(void *)w->lengths, k->x, address_of(&p->x, each), k->y,
        address_of(&p->y, each), k->state, address_of(&p->h, each), address_of(&p->last_h, each), k->state,
        address_of(&p->c, each), address_of(&p->last_c, each), k->weight_bytes, weights, k->workspace[mode],
        w->workspace, p->training ? k->reserve : 0, p->training ? address_of(&p->reserve, 1) : NULL);
}

static int backward(const struct kni_cuda_layers *s, const kind *k, const kni_recurrence *p, const scratch *w)
{
    const size_t each = element_bytes(&k->key), workspace = k->workspace[MODE_TRAINING];
    const int32_t *lengths = (const int32_t *)(void *)w->lengths;
    const char *weights = w->copies_weights ? w->weights : address_of(&p->weights, each);
    char *dweights = w->copies_dweights ? w->dweights : address_of(&p->dweights, each);
    const char *x = address_of(&p->x, each), *y = address_of(&p->y, each), *h = address_of(&p->h, each);
    int failed = s->api->backward_data(
        s->handle, k->layers, lengths, k->y, y, address_of(&p->dy, each), k->x, address_of(&p->dx, each),
        k->state, h, address_of(&p->dlast_h, each), address_of(&p->dh, each), k->state,
        address_of(&p->c, each), address_of(&p->dlast_c, each), address_of(&p->dc, each), k->weight_bytes,
        weights, workspace, w->workspace, k->reserve, w->reserve);
    if (failed) return failed;
    return s->api->backward_weights(s->handle, k->layers, GRADIENTS_ADD, lengths, k->x, x, k->state, h, k->y,
                                    y, k->weight_bytes, dweights, workspace, w->workspace, k->reserve,
                                    w->reserve);
}

static int call(kni_cuda *c, const kind *k, const kni_recurrence *p, const scratch *w)
{
    return p->gradient ? backward(c->layers, k, p, w) : forward(c->layers, k, p, w);
}

/* A failure inside a recording would spoil all of it. So the first call of a kind outside of one is captured too, for nothing: where that
   fails, the library is asked no more. */
static void try_recording(kni_cuda *c, kind *k, const kni_recurrence *p, const scratch *w)
{
    const kni_runtime_api *api = &c->api->common;
    void *stream = c->runtime.stream, *graph = NULL;
    if (KNI_LIKELY(k->tried[p->gradient]) || c->runtime.recording || !c->runtime.driver.record_begin) return;
    k->tried[p->gradient] = true;
    if (api->capture_begin(stream, KNI_RT_CAPTURE_RELAXED)) return;
    const int failed = call(c, k, p, w), ended = api->capture_end(stream, &graph);
    if (graph) (void)api->graph_destroy(graph);
    if (!failed && !ended) return;
    tell_refused(c, k, failed ? failed : ended);
    c->layers->refused |= UINT32_C(1) << p->dtype;
}

static kn_status run(kni_cuda *c, const kni_recurrence *p, void **used)
{
    static const char *const doing[] = {"recurrent layers", "the gradient of recurrent layers"};
    kni_runtime *rt = &c->runtime;
    scratch w;
    kn_status status = kni_runtime_enter(rt);
    kind *k = status ? NULL : find(c, p);
    if (!k || !place_weights(c, k, address_of(&p->weights, element_bytes(&k->key))) ||
        !take_scratch(c, k, p, &w))
        return status ? status : KN_ERROR_UNSUPPORTED;
    *used = w.lengths;
    const bool profiled = kni_runtime_profile_begin(rt);
    status = kni_runtime_result(rt, prepare(c, k, p, &w), doing[p->gradient]);
    if (status) return status;
    const int failed = call(c, k, p, &w);
    if (failed >= NOT_SUPPORTED && failed < NOT_SUPPORTED_END) {
        tell_refused(c, k, failed);
        /* What a special algorithm does not run, the standard one may, from the next layers on. */
        if (k->algorithm != ALGORITHM_STANDARD)
            c->layers->algorithm = ALGORITHM_STANDARD;
        else
            c->layers->refused |= UINT32_C(1) << p->dtype;
        return KN_ERROR_UNSUPPORTED;
    }
    if (failed)
        return kni_fail(KN_ERROR_INTERNAL, "%s: cuDNN failed in %s (its error %d)", rt->name,
                        doing[p->gradient], (int32_t)failed);
    int last = 0;
    if (w.copies_dweights)
        last = copy_pieces(c, k, address_of(&p->dweights, element_bytes(&k->key)), w.dweights, true);
    /* The library may end in several streams: one last node joins them. */
    if (!last && rt->recording) last = rt->api->set_bytes(kni_runtime_at(w.end, 0), 0, 1, rt->stream);
    status = kni_runtime_result(rt, last, doing[p->gradient]);
    if (!status) try_recording(c, k, p, &w);
    if (profiled) kni_runtime_profile_end(rt, p->gradient ? "cudnn layers_grad" : "cudnn layers");
    return status;
}

int64_t kni_cuda_recurrence_reserve(kni_driver *d, const kni_recurrence *p)
{
    kni_cuda *c = kni_cuda_of(d);
    const kind *k = kni_runtime_enter(&c->runtime) ? NULL : find(c, p);
    return k ? (int64_t)k->reserve : -1;
}

/* Every place of the layers must be named below: what is not known to be read or written is run too early. */
enum { RECURRENCE_BYTES = 296 };
_Static_assert(sizeof(kni_recurrence) == RECURRENCE_BYTES, "say below what else it reads and writes");

kn_status kni_cuda_recurrence(kni_driver *d, const kni_recurrence *p)
{
    kni_cuda *c = kni_cuda_of(d);
    void *used = NULL;
    if (KNI_LIKELY(!c->runtime.recording)) return run(c, p, &used);
    kni_runtime_record_before(&c->runtime);
    kn_status status = run(c, p, &used);
    const bool g = p->gradient;
    void *reads[] = {p->x.memory,  p->weights.memory,      p->h.memory,
                     p->c.memory,  g ? p->y.memory : NULL, g ? p->reserve.memory : NULL,
                     p->dy.memory, p->dlast_h.memory,      p->dlast_c.memory};
    void *writes[] = {g ? NULL : p->y.memory,
                      g ? NULL : p->reserve.memory,
                      p->last_h.memory,
                      p->last_c.memory,
                      p->dx.memory,
                      p->dweights.memory,
                      p->dh.memory,
                      p->dc.memory,
                      used};
    if (!status) kni_runtime_record_after(&c->runtime, reads, KNI_COUNT(reads), writes, KNI_COUNT(writes));
    return status;
}
