/* What paper_device.h says: work is noted or done at once, memory is the heap. */
#include "support/paper_device.h"
#include "core/error.h"
#include <stdlib.h>
#include <string.h>

enum { BUFFERS = 100, HEADER = 64 };

paper_counts paper_now;
paper_orders paper_do;
kni_product paper_product;
kni_convolution paper_convolution;

struct kni_module {
    uint32_t hash;
    bool reports;
    bool reads_only[BUFFERS];
};

/* One piece of queued work. */
typedef struct work {
    enum { LAUNCH, LIBRARY, COPY, ZERO } kind;
    const kni_module *module;
    void *buffers[BUFFERS];
    uint32_t n_buffers;
    unsigned char *params;
    uint32_t param_bytes;
    size_t to, from, bytes;
} work;

struct kni_recording {
    work *list;
    int n, room;
};

static kni_recording *recording;

static uint32_t mix(uint32_t hash, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 16777619u;
    return hash;
}

static unsigned char *bytes_of(const void *memory) { return (unsigned char *)(uintptr_t)memory + HEADER; }

static kn_status alive(void)
{
    return paper_do.lost ? kni_fail(KN_ERROR_DEVICE, "paper: it fell off the desk") : KN_OK;
}

static kn_status cannot_record(const char *what)
{
    return recording ? kni_fail(KN_ERROR_INTERNAL, "paper: %s cannot be recorded", what) : alive();
}

/* ---- memory */

static void *allocate(kni_driver *d, size_t bytes)
{
    (void)d;
    if (paper_now.used + (int64_t)bytes > paper_do.room) return NULL;
    int64_t *block = calloc(1, bytes + HEADER);
    if (!block) return NULL;
    block[0] = (int64_t)bytes;
    paper_now.used += (int64_t)bytes;
    paper_now.blocks++;
    return block;
}

static void free_block(kni_driver *d, void *memory)
{
    (void)d;
    paper_now.used -= *(int64_t *)memory;
    paper_now.blocks--;
    free(memory);
}

/* ---- work */

/* The first four bytes stand for the whole: each result's become those of all that it was made from, and the others too
   where that is wanted. */
static void leave(void *memory, uint32_t value)
{
    size_t bytes = (size_t) * (int64_t *)memory, at = sizeof value;
    memcpy(bytes_of(memory), &value, sizeof value);
    for (; paper_do.fills && at + sizeof value <= bytes; at += sizeof value)
        memcpy(bytes_of(memory) + at, &value, sizeof value);
}

static void run_launch(const work *w)
{
    uint32_t hash = mix(w->module->hash, w->params, w->param_bytes);
    uint32_t n = w->n_buffers - w->module->reports;
    paper_now.launches++;
    if (paper_do.quick) return;
    for (uint32_t i = 0; i < n; i++)
        if (w->module->reads_only[i] || paper_do.adds) hash = mix(hash, bytes_of(w->buffers[i]), 4);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t value = mix(hash, &i, sizeof i);
        if (!w->module->reads_only[i]) leave(w->buffers[i], value);
    }
    if (w->module->reports && paper_do.fault >= 0) {
        int64_t cell[2] = {1, paper_do.fault};
        memcpy(bytes_of(w->buffers[n]), cell, sizeof cell);
        paper_do.fault = -1;
    }
}

/* The first `to` buffers are read, the others written. */
static void run_library(const work *w)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < w->to; i++) hash = mix(hash, bytes_of(w->buffers[i]), 4);
    for (uint32_t i = (uint32_t)w->to; i < w->n_buffers; i++) {
        uint32_t value = mix(hash, &i, sizeof i);
        leave(w->buffers[i], value);
    }
}

/* A value of less than four bytes leaves nothing of what lay behind it before. */
static void clear_before(void *memory, size_t offset)
{
    if (paper_do.fills && offset == 0) memset(bytes_of(memory), 0, 4);
}

static void run_work(const work *w)
{
    if (w->kind >= COPY && w->buffers[0] != w->buffers[1]) clear_before(w->buffers[0], w->to);
    paper_now.copies += w->kind == COPY;
    if (w->kind == LAUNCH)
        run_launch(w);
    else if (w->kind == LIBRARY)
        run_library(w);
    else if (w->kind == COPY)
        memmove(bytes_of(w->buffers[0]) + w->to, bytes_of(w->buffers[1]) + w->from, w->bytes);
    else
        memset(bytes_of(w->buffers[0]) + w->to, 0, w->bytes);
}

static kn_status give(const work *w)
{
    if (!recording) {
        run_work(w);
        return alive();
    }
    kni_recording *r = recording;
    if (r->n == r->room) {
        r->room = r->room ? 2 * r->room : 16;
        r->list = realloc(r->list, (size_t)r->room * sizeof *r->list);
    }
    work *kept = &r->list[r->n++];
    *kept = *w;
    if (w->param_bytes) {
        kept->params = malloc(w->param_bytes);
        memcpy(kept->params, w->params, w->param_bytes);
    }
    return alive();
}

static kn_status upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes)
{
    (void)d;
    if (recording) return cannot_record("copying to the device");
    clear_before(to, offset);
    memcpy(bytes_of(to) + offset, from, bytes);
    paper_now.uploads++;
    return alive();
}

static kn_status download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes)
{
    (void)d;
    if (recording) return cannot_record("copying from the device");
    memcpy(to, bytes_of(from) + offset, bytes);
    return alive();
}

static kn_status copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                      size_t bytes)
{
    (void)d;
    return give(&(work){.kind = COPY,
                        .buffers = {to, (void *)(uintptr_t)from},
                        .to = to_offset,
                        .from = from_offset,
                        .bytes = bytes});
}

static kn_status fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes)
{
    (void)d;
    return give(&(work){.kind = ZERO, .buffers = {to}, .to = offset, .bytes = bytes});
}

static kn_status sync_paper(kni_driver *d)
{
    (void)d;
    paper_now.syncs++;
    return cannot_record("waiting");
}

/* ---- kernels */

/* The entry's parameters: constant ones are only read, the one for faults is the last. */
static void read_parameters(kni_module *m, const char *text, const char *entry)
{
    const char *at = strstr(text, "__global__");
    char name[128];
    size_t n = strlen(entry);
    memcpy(name, entry, n);
    memcpy(name + n, "(", 2);
    at = at ? strstr(at, name) : NULL;
    int k = 0;
    for (at = at ? at + n + 1 : ""; *at && *at != ')' && k < BUFFERS; at++) {
        while (*at == ' ') at++;
        size_t length = strcspn(at, ",)");
        m->reads_only[k++] = !strncmp(at, "const ", 6);
        for (size_t i = 0; i + 5 <= length; i++) m->reports |= !strncmp(at + i, "fault", 5);
        at += length;
        if (*at == ')') break;
    }
}

/* What was handed over since it was last forgotten. */
enum { MOST_AHEAD = 512 };
static uint32_t ahead[MOST_AHEAD];
static int n_ahead;

static void compile_ahead(kni_driver *d, const char *text, const char *entry)
{
    (void)d, (void)entry;
    paper_now.ahead++;
    if (n_ahead < MOST_AHEAD) ahead[n_ahead++] = mix(2166136261u, text, strlen(text));
}

static void forget_ahead(kni_driver *d)
{
    (void)d;
    n_ahead = 0;
}

static bool was_foreseen(uint32_t hash)
{
    for (int i = 0; i < n_ahead; i++)
        if (ahead[i] == hash) return true;
    return false;
}

static kni_module *compile(kni_driver *d, const char *text, size_t bytes, const char *entry)
{
    paper_now.compiles++;
    paper_now.foreseen += was_foreseen(mix(2166136261u, text, bytes));
    d->loaded += paper_do.on_disk;
    if (paper_do.refuses) {
        (void)kni_fail(KN_ERROR_INTERNAL, "paper: %s does not compile: line 1: nonsense", entry);
        return NULL;
    }
    kni_module *m = calloc(1, sizeof *m);
    m->hash = mix(2166136261u, text, bytes);
    read_parameters(m, text, entry);
    return m;
}

static void unload(kni_driver *d, kni_module *m)
{
    (void)d;
    free(m);
}

static kn_status launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                        uint32_t n_buffers, const void *params, uint32_t param_bytes)
{
    (void)d, (void)shape;
    work w = {.kind = LAUNCH,
              .module = m,
              .n_buffers = n_buffers,
              .params = (unsigned char *)(uintptr_t)params,
              .param_bytes = params ? param_bytes : 0};
    memcpy(w.buffers, buffers, n_buffers * sizeof *buffers);
    if (paper_do.short_launch && --paper_do.short_launch == 0)
        return kni_fail(KN_ERROR_MEMORY, "paper: no memory to launch");
    return give(&w);
}

/* ---- products and convolutions, where it has a library */

static kn_status product(kni_driver *d, const kni_product *p)
{
    (void)d;
    bool more = p->epilogue & ~KNI_EPILOGUE_BIAS || p->beta != 0 || p->out_dtype != p->dtype;
    if (paper_do.no_library || (paper_do.no_epilogues && more)) return KN_ERROR_UNSUPPORTED;
    paper_now.products++;
    paper_now.epilogues += more;
    paper_product = *p;
    return give(&(work){
        .kind = LIBRARY, .buffers = {p->a.memory, p->b.memory, p->d.memory}, .n_buffers = 3, .to = 2});
}

static kn_status convolution(kni_driver *d, const kni_convolution *p)
{
    (void)d;
    if (paper_do.no_library) return KN_ERROR_UNSUPPORTED;
    paper_now.products++;
    paper_convolution = *p;
    return alive();
}

/* ---- attention, so that something is computed beside a result */

static kn_status attention(kni_driver *d, const kni_attention *p)
{
    (void)d;
    return give(&(work){.kind = LIBRARY,
                        .buffers = {p->q.memory, p->k.memory, p->v.memory, p->out.memory, p->lse.memory},
                        .n_buffers = p->lse.memory ? 5 : 4,
                        .to = 3});
}

static kn_status attention_grad(kni_driver *d, const kni_attention *p)
{
    (void)d;
    return give(&(work){.kind = LIBRARY,
                        .buffers = {p->q.memory, p->k.memory, p->v.memory, p->out.memory, p->lse.memory,
                                    p->dy.memory, p->dq.memory, p->dk.memory, p->dv.memory},
                        .n_buffers = 9,
                        .to = 6});
}

/* ---- recurrent layers, which also leave what the gradient reads */

static int64_t recurrence_reserve(kni_driver *d, const kni_recurrence *p)
{
    (void)d, (void)p;
    return paper_do.no_layers ? -1 : 64;
}

static kn_status recurrence(kni_driver *d, const kni_recurrence *p)
{
    (void)d;
    work w = {.kind = LIBRARY};
    const bool g = p->gradient;
    void *reads[] = {p->x.memory,  p->weights.memory,      p->h.memory,
                     p->c.memory,  g ? p->y.memory : NULL, g ? p->reserve.memory : NULL,
                     p->dy.memory, p->dlast_h.memory,      p->dlast_c.memory};
    void *writes[] = {
        g ? NULL : p->y.memory, g ? NULL : p->reserve.memory, p->last_h.memory, p->last_c.memory,
        p->dx.memory,           p->dweights.memory,           p->dh.memory,     p->dc.memory};
    if (paper_do.no_layers) return KN_ERROR_UNSUPPORTED;
    paper_now.layers[g ? 2 : p->training]++;
    for (int i = 0; i < KNI_COUNT(reads); i++)
        if (reads[i]) w.buffers[w.n_buffers++] = reads[i];
    w.to = w.n_buffers;
    for (int i = 0; i < KNI_COUNT(writes); i++)
        if (writes[i]) w.buffers[w.n_buffers++] = writes[i];
    return give(&w);
}

/* ---- recordings */

static bool told(bool *order)
{
    bool was = *order;
    *order = false;
    return was;
}

static void free_recording(kni_driver *d, kni_recording *r)
{
    (void)d;
    for (int i = 0; i < r->n; i++) free(r->list[i].param_bytes ? r->list[i].params : NULL);
    free(r->list);
    free(r);
    paper_now.alive--;
}

static kn_status record_begin(kni_driver *d)
{
    (void)d;
    if (told(&paper_do.no_begin)) return kni_fail(KN_ERROR_INTERNAL, "paper: no beginning");
    if (recording) return cannot_record("another recording");
    paper_now.begun++;
    paper_now.alive++;
    recording = calloc(1, sizeof *recording);
    return alive();
}

static kni_recording *record_end(kni_driver *d)
{
    kni_recording *r = recording;
    recording = NULL;
    if (told(&paper_do.short_end)) d->make_room(d->owner);
    if (!told(&paper_do.no_end) && !alive()) return r;
    (void)kni_fail(paper_do.lost ? KN_ERROR_DEVICE : KN_ERROR_MEMORY, "paper: no end");
    free_recording(d, r);
    return NULL;
}

static kn_status replay(kni_driver *d, kni_recording *r)
{
    (void)d;
    if (recording) return cannot_record("replaying");
    if (told(&paper_do.short_replay)) return kni_fail(KN_ERROR_MEMORY, "paper: no memory to replay");
    if (told(&paper_do.no_replay)) return kni_fail(KN_ERROR_INTERNAL, "paper: no replay");
    kn_status s = alive();
    paper_now.replays++;
    for (int i = 0; i < r->n && !s; i++) run_work(&r->list[i]);
    return s;
}

static kn_status record_params(kni_driver *d, kni_recording *r, uint32_t number, const void *params,
                               uint32_t param_bytes)
{
    (void)d;
    if (told(&paper_do.no_params)) return kni_fail(KN_ERROR_INTERNAL, "paper: no numbers");
    for (int i = 0; i < r->n; i++) {
        if (r->list[i].kind != LAUNCH || number--) continue;
        if (r->list[i].param_bytes != param_bytes) return KN_ERROR_UNSUPPORTED;
        memcpy(r->list[i].params, params, param_bytes);
        paper_now.renumbered++;
        return KN_OK;
    }
    return KN_ERROR_UNSUPPORTED;
}

static void close_paper(kni_driver *d)
{
    if (recording) free_recording(d, recording);
    recording = NULL;
    free(d);
}

static kni_driver *open_driver(int32_t number)
{
    (void)number;
    kni_driver *d = calloc(1, sizeof *d);
    paper_now.opened++;
    *d = (kni_driver){.name = "paper",
                      .description = "a device of paper",
                      .caps = {.dialect = KNI_IR_CUDA,
                               .subgroups = true,
                               .f64 = true,
                               .i64 = true,
                               .half_storage = true,
                               .atomics = true,
                               .subgroup = 32,
                               .max_workgroup = paper_do.library ? 1024 : 256,
                               .shared_bytes = paper_do.library ? 49152 : 32768,
                               .vector_bytes = 16},
                      .processors = paper_do.library ? 16 : 4,
                      .memory_bytes = paper_do.room,
                      .addresses = paper_do.addresses,
                      .allocate = allocate,
                      .free = free_block,
                      .upload = upload,
                      .download = download,
                      .copy = copy,
                      .fill_zero = fill_zero,
                      .sync = sync_paper,
                      .compile = compile,
                      .unload = unload,
                      .launch = launch,
                      .attention = attention,
                      .attention_grad = attention_grad,
                      .product = paper_do.library ? product : NULL,
                      .convolution = paper_do.library ? convolution : NULL,
                      .recurrence = paper_do.layers ? recurrence : NULL,
                      .recurrence_reserve = paper_do.layers ? recurrence_reserve : NULL,
                      .close = close_paper};
    d->wants = paper_do.wants;
    d->n_wants = paper_do.n_wants;
    if (paper_do.ahead) {
        d->compile_ahead = compile_ahead;
        d->forget_ahead = forget_ahead;
    }
    if (paper_do.shared_bytes) d->caps.shared_bytes = paper_do.shared_bytes;
    if (paper_do.records) {
        d->record_begin = record_begin;
        d->record_end = record_end;
        d->replay = replay;
        d->record_params = record_params;
        d->record_free = free_recording;
    }
    return d;
}

/* One for all stacks over it. */
static kn_backend *open_paper(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)inner;
    return kni_gpu_open_numbered("paper", argument, n_inner, open_driver);
}

void paper_register(void)
{
    static bool done;
    if (!done) (void)kn_backend_register("paper", open_paper);
    done = true;
}
