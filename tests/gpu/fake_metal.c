/* A stand-in for the Objective-C runtime and Metal over host memory, built by tests as one shared object under the names of both. Messages
   are found by class and selector and jumped to, as objc_msgSend does it. Work is kept until somebody waits for it, so that memory which is
   reused too early shows; any message can be told to fail; what is alive is counted, and a message to what is dead ends the process. What
   Metal's own validation refuses ends it too. Kernels are compiled and run by fake_metal_kernel.c. */
#include "fake_metal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_SELECTORS = 128,
    MAX_NAMES = 128,
    MAX_WORK = 1024,
    SLOTS = 31,
    DEAD = 4096,
    FAILED = 5,
    COMPLETED = 4
};

typedef struct size3 {
    uint64_t width, height, depth;
} size3;
typedef struct range {
    uint64_t at, length;
} range;

typedef struct object {
    const char *kind;
    long references;
} object;

typedef struct text {
    object o;
    char *characters;
} text;
typedef struct failure {
    object o;
    text *description;
    uint64_t code;
} failure;
typedef struct buffer {
    object o;
    unsigned char *bytes;
    uint64_t length;
    bool shared;
} buffer;
typedef struct function {
    object o;
    fake_kernel *kernel;
} function; /* libraries and pipelines too */

typedef struct work {
    enum { DISPATCH, COPY, FILL } kind;
    function *pipeline;
    buffer *buffers[SLOTS];
    uint64_t offsets[SLOTS], bytes;
    unsigned char *params[SLOTS];
    size3 groups, members;
    uint8_t value;
} work;

typedef struct commands {
    object o;
    work *list; /* MAX_WORK */
    int count, state;
    bool committed;
    object *encoder;
    failure *error;
    struct commands *next; /* committed and not yet run */
} commands;
typedef struct encoder {
    object o;
    commands *into;
    bool ended;
    work now;
} encoder;

static object device_object = {"Device", 1}, queue_object = {"Queue", 1};
static commands *first_waiting, *last_waiting;
static long live, used_bytes, memory_limit = 1L << 33;
static int break_code;

/* ---- failures on request, counts of calls, and what may not be */
static struct {
    char name[80];
    int after;
    long calls;
} notes[MAX_NAMES];
static int n_notes;

static int note_of(const char *name)
{
    for (int i = 0; i < n_notes; i++)
        if (!strcmp(notes[i].name, name)) return i;
    if (n_notes == MAX_NAMES) abort();
    snprintf(notes[n_notes].name, sizeof notes[0].name, "%s", name);
    return n_notes++;
}

void fake_metal_fail(const char *name, int after) { notes[note_of(name)].after = after; }
long fake_metal_calls(const char *name) { return notes[note_of(name)].calls; }
long fake_metal_live(void) { return live; }
void fake_metal_limit(long bytes) { memory_limit = bytes; }
void fake_metal_break(int code) { break_code = code; }

static bool fails(const char *name)
{
    int i = note_of(name);
    notes[i].calls++;
    return notes[i].after && --notes[i].after == 0;
}

static void wrong(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("the stand-in for Metal: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    _exit(66);
}

/* ---- objects and pools */

static void *make(const char *kind, size_t bytes)
{
    object *o = calloc(1, bytes);
    o->kind = kind;
    o->references = 1;
    live++;
    return o;
}

static object *retain(object *o, const char *s)
{
    (void)s;
    o->references++;
    return o;
}

static void release(object *o, const char *s);
static void drop(void *o)
{
    if (o) release(o, NULL);
}

static void drop_work(work *w)
{
    drop(w->pipeline);
    for (int i = 0; i < SLOTS; i++) {
        drop(w->buffers[i]);
        free(w->params[i]);
    }
}

static void end_commands(commands *c)
{
    for (int i = 0; i < c->count; i++) drop_work(&c->list[i]);
    drop(c->error);
    free(c->list);
}

static void release(object *o, const char *s)
{
    (void)s;
    if (--o->references > 0) return;
    if (o->references < 0) wrong("a %s was released too often", o->kind);
    if (!strcmp(o->kind, "Device") || !strcmp(o->kind, "Queue")) return;
    live--;
    if (!strcmp(o->kind, "Text")) free(((text *)o)->characters);
    if (!strcmp(o->kind, "Failure")) drop(((failure *)o)->description);
    if (!strcmp(o->kind, "Commands")) end_commands((commands *)o);
    if (!strcmp(o->kind, "Encoder")) {
        if (!((encoder *)o)->ended) wrong("an encoder was released before endEncoding");
        drop_work(&((encoder *)o)->now);
    }
    if (!strcmp(o->kind, "Buffer")) {
        memset(((buffer *)o)->bytes, 0xdd, ((buffer *)o)->length);
        used_bytes -= (long)((buffer *)o)->length;
        free(((buffer *)o)->bytes);
    }
    /* Freed only after many more have died, so that a message to it is noticed. */
    static object *dead[DEAD];
    static unsigned next;
    o->kind = "Dead";
    free(dead[next]);
    dead[next] = o;
    next = (next + 1) % DEAD;
}

enum { POOL = 4096 };
static object *pool[POOL];
static long pooled;

void *objc_autoreleasePoolPush(void) { return (void *)(pooled + 1); }
void objc_autoreleasePoolPop(void *mark)
{
    for (long to = (long)mark - 1; pooled > to;) release(pool[--pooled], NULL);
}

static void *autoreleased(void *o)
{
    if (pooled == POOL) wrong("the pool of temporary objects is never emptied");
    return pool[pooled++] = o;
}

/* ---- texts and failures */

static object *alloc_text(const char *kind, const char *s)
{
    (void)kind, (void)s;
    return make("Text", sizeof(text));
}
static object *text_from(text *t, const char *s, const char *characters)
{
    (void)s;
    t->characters = strdup(characters);
    return &t->o;
}
static const char *characters_of(const text *t, const char *s) { return (void)s, t->characters; }

static failure *fail_with(const char *words, uint64_t code)
{
    failure *f = make("Failure", sizeof *f);
    f->description = make("Text", sizeof(text));
    f->description->characters = strdup(words);
    f->code = code;
    return f;
}
static object *description_of(failure *f, const char *s) { return (void)s, &f->description->o; }
static uint64_t code_of(failure *f, const char *s) { return (void)s, f->code; }

/* ---- the device */

static object *device_name(object *d, const char *s)
{
    text *t = make("Text", sizeof *t);
    (void)d, (void)s;
    t->characters = strdup("a GPU of paper");
    return autoreleased(t);
}
static bool is_unified(object *d, const char *s) { return (void)d, (void)s, true; }
static bool has_family(object *d, const char *s, int64_t family)
{
    const char *old = getenv("FAKE_METAL_FAMILY");
    (void)d, (void)s;
    return old ? family == atoi(old) : family == 1006 || family == 2002;
}
static uint64_t most_buffer(object *d, const char *s) { return (void)d, (void)s, UINT64_C(1) << 32; }
static uint64_t working_set(object *d, const char *s) { return (void)d, (void)s, UINT64_C(1) << 33; }
static uint64_t shared_bytes(object *d, const char *s) { return (void)d, (void)s, 32768; }

static object *new_queue(object *d, const char *s)
{
    (void)d;
    if (fails(s)) return NULL;
    queue_object.references++;
    return &queue_object;
}

static object *new_buffer(object *d, const char *s, uint64_t length, uint64_t options)
{
    (void)d;
    if (fails(s) || used_bytes + (long)length > memory_limit) return NULL;
    if (!length || (options != 0 && options != 32))
        wrong("a buffer of %lu bytes, options %lu", length, options);
    buffer *b = make("Buffer", sizeof *b);
    b->bytes = malloc(length);
    b->length = length;
    b->shared = options == 0;
    memset(b->bytes, 0xcd, length);
    used_bytes += (long)length;
    return &b->o;
}
static void *contents(buffer *b, const char *s)
{
    (void)s;
    if (!b->shared) wrong("the contents of a private buffer");
    return b->bytes;
}

/* ---- kernels */

static object *alloc_options(const char *kind, const char *s)
{
    (void)kind;
    return fails("MTLCompileOptions") ? NULL : ((void)s, make("Options", sizeof(object)));
}
static object *same(object *o, const char *s) { return (void)s, o; }
static bool responds(object *o, const char *s, const char *other)
{
    return (void)o, (void)s, getenv("FAKE_METAL_OLD") == NULL || !strstr(other, "setMath");
}
static bool fast_math_off, safe;
static void set_fast(object *o, const char *s, bool on) { (void)o, (void)s, fast_math_off = !on; }
static void set_mode(object *o, const char *s, int64_t mode) { (void)o, (void)s, safe = mode == 0; }
static void set_functions(object *o, const char *s, int64_t f) { (void)o, (void)s, (void)f; }

static object *new_library(object *d, const char *s, text *source, object *options, object **error)
{
    char words[600] = "the compiler was told to fail";
    (void)d;
    if (!options || !fast_math_off) wrong("kernels are compiled with fast math");
    fake_kernel *kernel = fails(s) ? NULL : fake_metal_compile(source->characters, words, sizeof words);
    if (!kernel) {
        *error = autoreleased(fail_with(words, 3));
        return NULL;
    }
    function *l = make("Library", sizeof *l);
    l->kernel = kernel;
    return &l->o;
}
static object *new_function(function *l, const char *s, text *name)
{
    if (fails(s)) return NULL;
    function *f = make("Function", sizeof *f);
    f->kernel = fake_metal_entry(l->kernel, name->characters);
    if (f->kernel) return &f->o;
    drop(f);
    return NULL;
}
static object *new_pipeline(object *d, const char *s, function *f, object **error)
{
    (void)d;
    if (fails(s)) {
        *error = autoreleased(fail_with("the kernel needs too many registers", 2));
        return NULL;
    }
    function *p = make("Pipeline", sizeof *p);
    p->kernel = f->kernel;
    return &p->o;
}
static uint64_t most_threads(function *p, const char *s)
{
    const char *few = getenv("FAKE_METAL_THREADS");
    return (void)p, (void)s, few ? (uint64_t)atoi(few) : 1024;
}
static uint64_t width(function *p, const char *s)
{
    const char *odd = getenv("FAKE_METAL_WIDTH");
    return (void)p, (void)s, odd ? (uint64_t)atoi(odd) : 32;
}

/* ---- commands */

static object *new_commands(object *q, const char *s)
{
    (void)q;
    if (fails(s)) return NULL;
    commands *c = make("Commands", sizeof *c);
    c->list = malloc(MAX_WORK * sizeof *c->list);
    return autoreleased(c);
}

static object *new_encoder(commands *c, const char *s)
{
    if (c->committed || c->encoder)
        wrong("an encoder of commands that are committed, or another one is open");
    if (fails(s)) return NULL;
    encoder *e = make("Encoder", sizeof *e);
    e->into = c;
    c->encoder = &e->o;
    return autoreleased(e);
}
static void end_encoding(encoder *e, const char *s)
{
    (void)s;
    if (e->ended) wrong("endEncoding twice");
    e->ended = true;
    e->into->encoder = NULL;
}

static work *add_work(encoder *e, int kind)
{
    if (e->ended) wrong("work for an encoder that has ended");
    if (e->into->count == MAX_WORK) wrong("more than %d commands", MAX_WORK);
    work *w = &e->into->list[e->into->count++];
    memset(w, 0, sizeof *w);
    w->kind = kind;
    return w;
}
static void keep(buffer **place, buffer *b)
{
    drop(*place);
    b->o.references++;
    *place = b;
}

static void set_pipeline(encoder *e, const char *s, function *p)
{
    (void)s;
    if (strcmp(p->o.kind, "Pipeline") != 0) wrong("a %s as a pipeline", p->o.kind);
    drop(e->now.pipeline);
    p->o.references++;
    e->now.pipeline = p;
}
static void set_buffer(encoder *e, const char *s, buffer *b, uint64_t offset, uint64_t slot)
{
    (void)s;
    if (slot >= SLOTS || offset >= b->length) wrong("buffer %lu at offset %lu", slot, offset);
    keep(&e->now.buffers[slot], b);
    free(e->now.params[slot]);
    e->now.params[slot] = NULL;
    e->now.offsets[slot] = offset;
}
static void set_bytes(encoder *e, const char *s, const void *bytes, uint64_t length, uint64_t slot)
{
    (void)s;
    if (slot >= SLOTS || length > 4096 || !length) wrong("%lu bytes in slot %lu", length, slot);
    free(e->now.params[slot]);
    e->now.params[slot] = memcpy(calloc(1, length + 16), bytes, length);
}
static void dispatch(encoder *e, const char *s, size3 groups, size3 members)
{
    uint64_t threads = members.width * members.height * members.depth;
    (void)s;
    if (!e->now.pipeline) wrong("a dispatch without a pipeline");
    if (!threads || threads > most_threads(e->now.pipeline, NULL) || !groups.width || !groups.height ||
        !groups.depth)
        wrong("a dispatch of %lu threads", threads);
    work *w = add_work(e, DISPATCH);
    *w = e->now;
    w->kind = DISPATCH;
    w->groups = groups;
    w->members = members;
    w->pipeline->o.references++;
    for (int i = 0; i < SLOTS; i++) {
        if (w->buffers[i]) w->buffers[i]->o.references++;
        e->now.params[i] = NULL; /* the dispatch has them; Metal's own would stay for the next one too */
    }
}
static void inside(const buffer *b, uint64_t at, uint64_t bytes)
{
    if (at % 4 || bytes % 4 || at + bytes > b->length)
        wrong("%lu bytes at %lu of a buffer of %lu, which must be words", bytes, at, b->length);
}
static void copy(encoder *e, const char *s, buffer *from, uint64_t from_at, buffer *to, uint64_t to_at,
                 uint64_t bytes)
{
    (void)s;
    inside(from, from_at, bytes);
    inside(to, to_at, bytes);
    work *w = add_work(e, COPY);
    keep(&w->buffers[0], to);
    keep(&w->buffers[1], from);
    w->offsets[0] = to_at;
    w->offsets[1] = from_at;
    w->bytes = bytes;
}
static void fill(encoder *e, const char *s, buffer *b, range r, uint8_t value)
{
    (void)s;
    inside(b, r.at, r.length);
    work *w = add_work(e, FILL);
    keep(&w->buffers[0], b);
    w->offsets[0] = r.at;
    w->bytes = r.length;
    w->value = value;
}

static void commit(commands *c, const char *s)
{
    (void)s;
    if (c->committed || c->encoder) wrong("commands are committed twice, or with an open encoder");
    c->committed = true;
    c->o.references++;
    if (last_waiting)
        last_waiting->next = c;
    else
        first_waiting = c;
    last_waiting = c;
}

static void run_work(const work *w)
{
    uint64_t addresses[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        addresses[i] = w->params[i]    ? (uint64_t)w->params[i]
                       : w->buffers[i] ? (uint64_t)(w->buffers[i]->bytes + w->offsets[i])
                                       : 0;
    if (w->kind == COPY)
        memmove((void *)addresses[0], (void *)addresses[1], w->bytes);
    else if (w->kind == FILL)
        memset((void *)addresses[0], w->value, w->bytes);
    else
        fake_metal_run(
            w->pipeline->kernel, addresses,
            (uint32_t[]){(uint32_t)w->groups.width, (uint32_t)w->groups.height, (uint32_t)w->groups.depth},
            (uint32_t)w->members.width);
}

/* Command buffers of the queue run one after the other, up to the one that is waited for. */
static void wait_for(commands *c, const char *s)
{
    (void)s;
    if (!c->committed) wrong("waiting for commands that are not committed");
    while (!c->state) {
        commands *now = first_waiting;
        first_waiting = now->next;
        if (!first_waiting) last_waiting = NULL;
        now->state = COMPLETED;
        if (break_code) {
            char words[100];
            snprintf(words, sizeof words, "Caused GPU Error\n(IOGPUCommandQueueErrorDomain)");
            now->error = fail_with(words, (uint64_t)break_code);
            now->state = FAILED;
            break_code = 0;
        } else {
            for (int i = 0; i < now->count; i++) run_work(&now->list[i]);
        }
        drop(now);
    }
}
static uint64_t state_of(commands *c, const char *s) { return (void)s, (uint64_t)c->state; }
static object *error_of(commands *c, const char *s) { return (void)s, c->error ? &c->error->o : NULL; }

static uint64_t count_of(object *a, const char *s)
{
    const char *none = getenv("FAKE_METAL_DEVICES");
    return (void)a, (void)s, none ? (uint64_t)atoi(none) : 1;
}
static object *object_at(object *a, const char *s, uint64_t i)
{
    return (void)a, (void)s, (void)i, &device_object;
}

/* ---- messages */

#define METHOD(kind, selector, function)                                                                     \
    {                                                                                                        \
        kind, selector, (void (*)(void))(function)                                                           \
    }
static const struct {
    const char *kind, *selector;
    void (*method)(void);
} methods[] = {
    METHOD(NULL, "retain", retain),
    METHOD(NULL, "release", release),
    METHOD("NSString", "alloc", alloc_text),
    METHOD("Text", "initWithUTF8String:", text_from),
    METHOD("Text", "UTF8String", characters_of),
    METHOD("Failure", "localizedDescription", description_of),
    METHOD("Failure", "code", code_of),
    METHOD("List", "count", count_of),
    METHOD("List", "objectAtIndex:", object_at),
    METHOD("Device", "name", device_name),
    METHOD("Device", "hasUnifiedMemory", is_unified),
    METHOD("Device", "supportsFamily:", has_family),
    METHOD("Device", "maxBufferLength", most_buffer),
    METHOD("Device", "recommendedMaxWorkingSetSize", working_set),
    METHOD("Device", "maxThreadgroupMemoryLength", shared_bytes),
    METHOD("Device", "newCommandQueue", new_queue),
    METHOD("Device", "newBufferWithLength:options:", new_buffer),
    METHOD("Device", "newLibraryWithSource:options:error:", new_library),
    METHOD("Device", "newComputePipelineStateWithFunction:error:", new_pipeline),
    METHOD("Buffer", "contents", contents),
    METHOD("MTLCompileOptions", "alloc", alloc_options),
    METHOD("Options", "init", same),
    METHOD("Options", "respondsToSelector:", responds),
    METHOD("Options", "setFastMathEnabled:", set_fast),
    METHOD("Options", "setMathMode:", set_mode),
    METHOD("Options", "setMathFloatingPointFunctions:", set_functions),
    METHOD("Library", "newFunctionWithName:", new_function),
    METHOD("Pipeline", "maxTotalThreadsPerThreadgroup", most_threads),
    METHOD("Pipeline", "threadExecutionWidth", width),
    METHOD("Queue", "commandBuffer", new_commands),
    METHOD("Commands", "computeCommandEncoder", new_encoder),
    METHOD("Commands", "blitCommandEncoder", new_encoder),
    METHOD("Commands", "commit", commit),
    METHOD("Commands", "waitUntilCompleted", wait_for),
    METHOD("Commands", "status", state_of),
    METHOD("Commands", "error", error_of),
    METHOD("Encoder", "endEncoding", end_encoding),
    METHOD("Encoder", "setComputePipelineState:", set_pipeline),
    METHOD("Encoder", "setBuffer:offset:atIndex:", set_buffer),
    METHOD("Encoder", "setBytes:length:atIndex:", set_bytes),
    METHOD("Encoder", "dispatchThreadgroups:threadsPerThreadgroup:", dispatch),
    METHOD("Encoder", "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", copy),
    METHOD("Encoder", "fillBuffer:range:value:", fill),
};

static uint64_t nothing(void) { return 0; }

/* Where a message goes. Classes are objects whose kind is their name. */
__attribute__((used)) void *fake_metal_find(object *o, const char *selector)
{
    void (*method)(void) = NULL;
    void *address;
    if (!o) {
        method = (void (*)(void))nothing;
    } else {
        for (size_t i = 0; i < sizeof methods / sizeof *methods && !method; i++) {
            bool all = !methods[i].kind && strcmp(o->kind, "Dead") != 0;
            if ((all || (methods[i].kind && !strcmp(methods[i].kind, o->kind))) &&
                !strcmp(methods[i].selector, selector))
                method = methods[i].method;
        }
        if (!method) wrong("a %s has no method %s", o->kind, selector);
    }
    memcpy(&address, &method, sizeof address);
    return address;
}

#if defined(__x86_64__)
__asm__(".globl objc_msgSend\nobjc_msgSend:\n"
        "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\nsub $8, %rsp\n"
        "call fake_metal_find@PLT\n"
        "add $8, %rsp\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"
        "jmp *%rax\n");
#elif defined(__aarch64__)
__asm__(".globl objc_msgSend\nobjc_msgSend:\n"
        "stp x29, x30, [sp, #-96]!\nstp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\nstp x4, x5, [sp, #48]\n"
        "stp x6, x7, [sp, #64]\nstr x8, [sp, #80]\n"
        "bl fake_metal_find\nmov x16, x0\n"
        "ldp x0, x1, [sp, #16]\nldp x2, x3, [sp, #32]\nldp x4, x5, [sp, #48]\nldp x6, x7, [sp, #64]\n"
        "ldr x8, [sp, #80]\nldp x29, x30, [sp], #96\nbr x16\n");
#endif

const char *sel_registerName(const char *name)
{
    static char *known[MAX_SELECTORS];
    static int count;
    for (int i = 0; i < count; i++)
        if (!strcmp(known[i], name)) return known[i];
    if (count == MAX_SELECTORS) abort();
    return known[count++] = strdup(name);
}

object *objc_getClass(const char *name)
{
    static object strings = {"NSString", 1}, options = {"MTLCompileOptions", 1};
    return !strcmp(name, "NSString") ? &strings : !strcmp(name, "MTLCompileOptions") ? &options : NULL;
}

object *MTLCopyAllDevices(void) { return fails("MTLCopyAllDevices") ? NULL : make("List", sizeof(object)); }

object *MTLCreateSystemDefaultDevice(void)
{
    if (fails("MTLCreateSystemDefaultDevice")) return NULL;
    device_object.references++;
    return &device_object;
}
