/* A stand-in for libcuda, libnvrtc and libcublasLt over host memory, built by tests as one shared object under the three
   names. Work on a stream is kept and done when somebody waits for it, so that a buffer that is reused too early shows;
   any function can be told to fail; what is alive is counted. Kernels are the few below, known by their names. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORK = 20000, MAX_NAMES = 128, OUT_OF_MEMORY = 2, ILLEGAL_ADDRESS = 700 };

typedef unsigned long long address;

typedef struct work {
    void (*run)(const struct work *w);
    void *to;
    const void *from;
    size_t bytes;
    unsigned char value;
    unsigned word;
    float scale;
    void *data;
} work;

enum { MOST_NODES = 512 };
/* after[i]: bit j where work i waits for work j. A graph runs its latest work first, as far as that lets it. */
typedef struct graph {
    work list[MOST_NODES];
    uint64_t after[MOST_NODES][MOST_NODES / 64];
    int count;
} graph;

static work queue[MAX_WORK];
static int64_t queued, done; /* numbers of the work given and finished */
static int64_t passed;       /* time that work of libraries took */
void fake_cuda_pass(int64_t time);
void fake_cuda_pass(int64_t time) { passed += time; }
static graph *recording, *captured; /* being captured; the last one that was: nodes are places in its list */
static int sticky;
static _Atomic long live;
static long contexts, memory_limit = 1L << 33, memory_used;

/* ---- failures on request, and counts of calls */
static struct {
    char name[64];
    int after, result;
    long calls;
} notes[MAX_NAMES];
static int n_notes;
static pthread_mutex_t notes_lock = PTHREAD_MUTEX_INITIALIZER; /* compilers are called by several threads */

static int note_of(const char *name)
{
    for (int i = 0; i < n_notes; i++)
        if (!strcmp(notes[i].name, name)) return i;
    snprintf(notes[n_notes].name, sizeof notes[0].name, "%s", name);
    return n_notes++;
}

/* The call number `after` from now on (1: the next) of a function fails with the result. */
void fake_cuda_fail(const char *name, int after, int result);
long fake_cuda_calls(const char *name);
long fake_cuda_live(void);
void fake_cuda_limit(long bytes);

void fake_cuda_fail(const char *name, int after, int result)
{
    pthread_mutex_lock(&notes_lock);
    int i = note_of(name);
    notes[i].after = after;
    notes[i].result = result;
    pthread_mutex_unlock(&notes_lock);
}
long fake_cuda_calls(const char *name)
{
    pthread_mutex_lock(&notes_lock);
    long calls = notes[note_of(name)].calls;
    pthread_mutex_unlock(&notes_lock);
    return calls;
}
long fake_cuda_live(void) { return live; }
void fake_cuda_limit(long bytes) { memory_limit = bytes; }

static int told_to_fail(const char *name)
{
    pthread_mutex_lock(&notes_lock);
    int i = note_of(name), result = 0;
    notes[i].calls++;
    if (notes[i].after && --notes[i].after == 0) {
        bool compiler = strstr(name, "rtc") != NULL;
        result = notes[i].result;
        if (!compiler && result >= 700 && result < 720) sticky = result;
    }
    pthread_mutex_unlock(&notes_lock);
    return result;
}

/* For the stand-ins of libraries: the same question, and work that is done in its turn; `data` stays theirs. */
int fake_cuda_told(const char *name);
int fake_cuda_give(void (*run)(const void *data), void *data);
bool fake_cuda_records(void);
bool fake_cuda_records(void) { return recording != NULL; }
int fake_cuda_told(const char *name) { return told_to_fail(name); }

#define ENTER                                                                                                \
    do {                                                                                                     \
        int failed = told_to_fail(__func__);                                                                 \
        if (failed) return failed;                                                                           \
        if (sticky) return sticky;                                                                           \
    } while (0)

/* ---- the stream */

static void finish_until(int64_t number)
{
    while (done < number) {
        work *w = &queue[done++ % MAX_WORK];
        if (!sticky) w->run(w);
    }
}

static int give(work w)
{
    if (recording) {
        if (recording->count == MOST_NODES) return 900;
        int i = recording->count++;
        recording->list[i] = w;
        if (i) recording->after[i][(i - 1) / 64] |= (uint64_t)1 << (i - 1) % 64;
        return 0;
    }
    if (queued - done == MAX_WORK) finish_until(done + 1);
    queue[queued++ % MAX_WORK] = w;
    return 0;
}

static void run_call(const work *w) { ((void (*)(const void *))w->to)(w->data); }
int fake_cuda_give(void (*run)(const void *data), void *data)
{
    return give((work){.run = run_call, .to = (void *)run, .data = data});
}
static void run_copy(const work *w) { memmove(w->to, w->from, w->bytes); }
static void run_set(const work *w) { memset(w->to, w->value, w->bytes); }
static void run_set_words(const work *w)
{
    for (size_t i = 0; i < w->bytes; i++) memcpy((char *)w->to + 4 * i, &w->word, 4);
}
static void run_scale_add(const work *w)
{
    for (size_t i = 0; i < w->bytes; i++)
        ((float *)w->to)[i] = ((const float *)w->from)[i] * w->scale + ((float *)w->to)[i];
}
static void run_wild(const work *w)
{
    (void)w;
    sticky = ILLEGAL_ADDRESS;
}

/* ---- driver */

int cuInit(unsigned flags)
{
    (void)flags;
    ENTER;
    return 0;
}
int cuDriverGetVersion(int *version)
{
    const char *text = getenv("FAKE_CUDA_VERSION");
    *version = text ? atoi(text) : 12080;
    return told_to_fail(__func__);
}
int cuGetErrorString(int error, const char **text)
{
    static char line[64];
    snprintf(line, sizeof line, "fake error %d", error);
    *text = line;
    return 0;
}
int cuGetErrorName(int error, const char **text) { return cuGetErrorString(error, text); }
int cuDeviceGet(int *device, int ordinal)
{
    ENTER;
    *device = ordinal;
    return 0;
}
int cuDeviceGetCount(int *count)
{
    ENTER;
    *count = 2;
    return 0;
}
int cuDeviceGetName(char *name, int bytes, int device)
{
    ENTER;
    snprintf(name, (size_t)bytes, "Fake %d", device);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)memory_limit;
    return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    const char *major = getenv("FAKE_CUDA_MAJOR");
    (void)device;
    ENTER;
    *value = attribute == 1    ? 1024
             : attribute == 8  ? 49152
             : attribute == 16 ? 132
             : attribute == 75 ? (major ? atoi(major) : 9)
             : attribute == 97 ? 232448
                               : 0;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    static int object;
    (void)device;
    ENTER;
    live++;
    contexts++;
    *context = &object;
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    live--;
    contexts--;
    return told_to_fail(__func__);
}
/* All that the context held goes with it. */
int cuDevicePrimaryCtxReset_v2(int device)
{
    (void)device;
    sticky = 0;
    done = queued;
    recording = NULL;
    live = contexts;
    memory_used = 0;
    return told_to_fail(__func__);
}
static _Thread_local void *current; /* context of the thread */
int cuCtxSetCurrent(void *context)
{
    int failed = told_to_fail(__func__);
    if (!failed) current = context;
    return failed;
}
int cuMemAlloc_v2(address *memory, size_t bytes)
{
    ENTER;
    if ((long)bytes < 0 || memory_used + (long)bytes > memory_limit) return OUT_OF_MEMORY;
    size_t *block = aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (!block) return OUT_OF_MEMORY;
    memset(block, getenv("FAKE_CUDA_ZERO") ? 0 : 0xee, (bytes + 511) / 256 * 256);
    block[0] = bytes;
    memory_used += (long)bytes;
    live++;
    *memory = (address)(uintptr_t)block + 256;
    return 0;
}
int cuMemFree_v2(address memory)
{
    ENTER;
    if (recording) return 900;
    finish_until(queued);
    size_t *block = (size_t *)(uintptr_t)(memory - 256);
    memory_used -= (long)block[0];
    live--;
    free(block);
    return 0;
}
int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    (void)flags;
    ENTER;
    live++;
    *memory = malloc(bytes);
    return *memory ? 0 : OUT_OF_MEMORY;
}
int cuMemFreeHost(void *memory)
{
    ENTER;
    live--;
    free(memory);
    return 0;
}
static int give_copy(void *to, const void *from, size_t bytes)
{
    return give((work){.run = run_copy, .to = to, .from = from, .bytes = bytes});
}
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    ENTER;
    return give_copy((void *)(uintptr_t)to, from, bytes);
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, void *stream)
{
    (void)stream;
    ENTER;
    return give_copy(to, (void *)(uintptr_t)from, bytes);
}
int cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, void *stream)
{
    (void)stream;
    ENTER;
    return give_copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
}
int cuMemsetD8Async(address to, unsigned char value, size_t bytes, void *stream)
{
    (void)stream;
    ENTER;
    return give((work){.run = run_set, .to = (void *)(uintptr_t)to, .bytes = bytes, .value = value});
}
int cuMemsetD32Async(address to, unsigned word, size_t words, void *stream)
{
    (void)stream;
    ENTER;
    return give((work){.run = run_set_words, .to = (void *)(uintptr_t)to, .bytes = words, .word = word});
}
static int make_object(void **object)
{
    *object = calloc(1, 64);
    live++;
    return *object ? 0 : OUT_OF_MEMORY;
}
static int free_object(void *object)
{
    free(object);
    live--;
    return 0;
}
int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    ENTER;
    if (!current) return 201; /* CUDA_ERROR_INVALID_CONTEXT */
    return make_object(stream);
}
int cuStreamSynchronize(void *stream)
{
    (void)stream;
    ENTER;
    if (recording) return 900;
    finish_until(queued);
    return sticky;
}
int cuStreamDestroy_v2(void *stream) { return free_object(stream); }
int cuEventCreate(void **event, unsigned flags)
{
    ENTER;
    if (flags & ~2u)
        return 1; /* only the flag "no times" is expected: other ones change how a thread waits */
    return make_object(event);
}
int cuEventRecord(void *event, void *stream)
{
    (void)stream;
    ENTER;
    ((int64_t *)event)[0] = queued;
    ((int64_t *)event)[1] = passed;
    return 0;
}
int cuEventSynchronize(void *event)
{
    ENTER;
    finish_until(*(int64_t *)event);
    return sticky;
}
int cuEventQuery(void *event)
{
    ENTER;
    return sticky ? sticky : *(int64_t *)event <= done ? 0 : 600;
}
int cuEventElapsedTime(float *milliseconds, void *start, void *end)
{
    ENTER;
    const int64_t *from = start, *to = end;
    *milliseconds = (float)(to[0] - from[0] + to[1] - from[1]);
    return 0;
}
int cuEventDestroy_v2(void *event) { return free_object(event); }

/* ---- modules and graphs */

int cuModuleLoadData(void **module, const void *image)
{
    ENTER;
    /* What a real compiler made loads too, but launching it does nothing. */
    bool real = !memcmp(image, "\177ELF", 4);
    if (!real && memcmp(image, "FAKE", 4)) return 200;
    int failed = make_object(module);
    if (!failed && real) ((char *)*module)[63] = 1;
    return failed;
}
int cuModuleUnload(void *module)
{
    (void)told_to_fail(__func__); /* counted */
    return free_object(module);
}
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    ENTER;
    snprintf(module, 63, "%s", name);
    *function = module;
    return 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    (void)function;
    ENTER;
    *value = attribute == 0 ? 1024 : attribute == 1 ? 1000 : 0;
    return 0;
}
int cuFuncSetAttribute(void *function, int attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    ENTER;
    return 0;
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared, void *stream, void **parameters, void **extra)
{
    (void)x, (void)y, (void)z, (void)block_x, (void)block_y, (void)block_z, (void)shared, (void)stream,
        (void)extra;
    ENTER;
    if (((char *)function)[63] || getenv("FAKE_CUDA_TEXTS")) return 0;
    if (!strcmp(function, "wild")) return give((work){.run = run_wild});
    if (strcmp(function, "scale_add")) return 400;
    struct {
        int64_t n;
        float scale;
    } p;
    memcpy(&p, parameters[2], sizeof p);
    return give((work){.run = run_scale_add,
                       .from = *(void **)parameters[0],
                       .to = *(void **)parameters[1],
                       .bytes = (size_t)p.n,
                       .scale = p.scale});
}
int cuStreamBeginCapture_v2(void *stream, int mode)
{
    (void)stream, (void)mode;
    ENTER;
    recording = calloc(1, sizeof *recording);
    live++;
    return 0;
}
int cuStreamEndCapture(void *stream, void **found)
{
    (void)stream;
    *found = captured = recording;
    recording = NULL;
    int failed = told_to_fail(__func__);
    if (failed) {
        free_object(*found);
        *found = NULL;
    }
    return failed ? failed : sticky;
}
int cuGraphInstantiateWithFlags(void **executable, void *given, unsigned long long flags)
{
    (void)flags;
    ENTER;
    graph *copy = malloc(sizeof *copy);
    *copy = *(graph *)given;
    live++;
    *executable = copy;
    return 0;
}
int cuGraphUpload(void *executable, void *stream)
{
    (void)executable, (void)stream;
    ENTER;
    return 0;
}
/* A node is named by its place in the list, counted from 1. */
int cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **found, void *const **nodes,
                              size_t *n)
{
    static void *latest[1];
    (void)stream;
    ENTER;
    if (!recording) return 401;
    latest[0] = (void *)(intptr_t)recording->count;
    *status = 1;
    *id = 1;
    *found = recording;
    *nodes = latest;
    *n = recording->count ? 1 : 0;
    return 0;
}
typedef struct node_launch {
    void *function;
    unsigned grid[3], block[3], shared;
    void **parameters, **extra;
    void *kernel, *context;
} node_launch;
#ifdef FAKE_HIP_RUNS
static int fake_call_changed(void *call, void **parameters);
#endif
int cuGraphExecKernelNodeSetParams_v2(void *executable, void *node, const node_launch *launch)
{
    graph *g = executable;
    intptr_t place = (intptr_t)node - 1;
    ENTER;
    if (place < 0 || place >= g->count) return 1;
#ifdef FAKE_HIP_RUNS
    if (g->list[place].run == run_call) return fake_call_changed(g->list[place].data, launch->parameters);
#endif
    if (g->list[place].run != run_scale_add) return 1;
    struct {
        int64_t n;
        float scale;
    } p;
    memcpy(&p, launch->parameters[2], sizeof p);
    g->list[place].from = *(void **)launch->parameters[0];
    g->list[place].to = *(void **)launch->parameters[1];
    g->list[place].bytes = (size_t)p.n;
    g->list[place].scale = p.scale;
    return 0;
}
int cuGraphLaunch(void *executable, void *stream)
{
    const graph *g = executable;
    (void)stream;
    ENTER;
    uint64_t done_bits[MOST_NODES / 64] = {0};
    for (int turn = 0; turn < g->count; turn++)
        for (int i = g->count - 1; i >= 0; i--) {
            bool ready = true;
            for (int k = 0; k < MOST_NODES / 64; k++) ready = ready && !(g->after[i][k] & ~done_bits[k]);
            if (!ready || done_bits[i / 64] >> i % 64 & 1) continue;
            done_bits[i / 64] |= (uint64_t)1 << i % 64;
            give(g->list[i]);
            break;
        }
    return 0;
}
int cuGraphNodeGetDependentNodes(void *node, void **nodes, size_t *n)
{
    intptr_t from = (intptr_t)node - 1;
    size_t found = 0, room = *n;
    ENTER;
    for (int i = 0; i < captured->count; i++)
        if (captured->after[i][from / 64] >> from % 64 & 1 && found < room)
            nodes[found++] = (void *)(intptr_t)(i + 1);
    *n = found;
    return 0;
}
int cuGraphAddDependencies(void *given, void *const *from, void *const *to, size_t n)
{
    graph *g = given;
    ENTER;
    for (size_t i = 0; i < n; i++) {
        intptr_t a = (intptr_t)from[i] - 1, b = (intptr_t)to[i] - 1;
        if (a >= b || g->after[b][a / 64] >> a % 64 & 1) return 1;
        g->after[b][a / 64] |= (uint64_t)1 << a % 64;
    }
    return 0;
}
int cuGraphRemoveDependencies(void *given, void *const *from, void *const *to, size_t n)
{
    graph *g = given;
    ENTER;
    for (size_t i = 0; i < n; i++) {
        intptr_t a = (intptr_t)from[i] - 1, b = (intptr_t)to[i] - 1;
        if (!(g->after[b][a / 64] >> a % 64 & 1)) return 1;
        g->after[b][a / 64] &= ~((uint64_t)1 << a % 64);
    }
    return 0;
}
int cuGraphDestroy(void *given) { return free_object(given); }
int cuGraphExecDestroy(void *executable) { return free_object(executable); }
int cuTensorMapEncodeTiled(void *map, int dtype, uint32_t rank, void *memory, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion, int fill)
{
    (void)map, (void)dtype, (void)rank, (void)memory, (void)dims, (void)strides, (void)box, (void)steps;
    (void)interleave, (void)swizzle, (void)promotion, (void)fill;
    ENTER;
    return 0;
}

/* ---- compiler: the image is the text; a text with the word `nothing` does not compile */

int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 8;
    return told_to_fail(__func__);
}
int nvrtcGetNumSupportedArchs(int *count)
{
    *count = 3;
    return told_to_fail(__func__);
}
int nvrtcGetSupportedArchs(int *list)
{
    const int known[] = {75, 80, 90};
    memcpy(list, known, sizeof known);
    return told_to_fail(__func__);
}
/* Texts are kept in the folder FAKE_CUDA_TEXTS, where somebody reads them; launching what they make does nothing. */
static void keep_text(const char *text)
{
    static int number;
    char path[600];
    const char *folder = getenv("FAKE_CUDA_TEXTS");
    if (!folder) return;
    snprintf(path, sizeof path, "%s/kernel_%d.cu", folder, number++);
    FILE *f = fopen(path, "w");
    if (!f) return;
    fputs(text, f);
    fclose(f);
}

int nvrtcCreateProgram(void **program, const char *text, const char *name, int headers,
                       const char *const *texts, const char *const *names)
{
    (void)name, (void)headers, (void)texts, (void)names;
    int failed = told_to_fail(__func__);
    if (failed) return failed;
    live++;
    keep_text(text);
    *program = malloc(strlen(text) + 8);
    sprintf(*program, "FAKE%s", text);
    return 0;
}
int nvrtcDestroyProgram(void **program)
{
    free_object(*program);
    *program = NULL;
    return 0;
}
/* Sets how many milliseconds each compilation takes, and returns the most that ran at once since the last call. */
static _Atomic int compiling, overlap, compile_takes;
int fake_cuda_overlap(int milliseconds);
int fake_cuda_overlap(int milliseconds)
{
    atomic_store(&compile_takes, milliseconds);
    return atomic_exchange(&overlap, 0);
}

static void take_time(void)
{
    int now = atomic_fetch_add(&compiling, 1) + 1, most = atomic_load(&overlap);
    while (now > most && !atomic_compare_exchange_weak(&overlap, &most, now)) {}
    if (atomic_load(&compile_takes)) usleep((unsigned)atomic_load(&compile_takes) * 1000);
    atomic_fetch_sub(&compiling, 1);
}

int nvrtcCompileProgram(void *program, int count, const char *const *options)
{
    (void)options;
    int failed = told_to_fail(__func__);
    take_time();
    return failed ? failed : count < 1 || strstr(program, "nothing;") ? 6 : 0;
}
static const char bad_log[] = "a note\nkernel.cu(3): error: identifier \"nothing\" is undefined\n\n1 error\n";
int nvrtcGetProgramLogSize(void *program, size_t *bytes)
{
    (void)program;
    *bytes = sizeof bad_log;
    return told_to_fail(__func__);
}
int nvrtcGetProgramLog(void *program, char *log)
{
    (void)program;
    memcpy(log, bad_log, sizeof bad_log);
    return told_to_fail(__func__);
}
int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    *bytes = strlen(program) + 1;
    return told_to_fail(__func__);
}
int nvrtcGetCUBIN(void *program, char *image)
{
    memcpy(image, program, strlen(program) + 1);
    return told_to_fail(__func__);
}
int nvrtcGetPTXSize(void *program, size_t *bytes)
{
    *bytes = strlen(program) + 1;
    return told_to_fail(__func__);
}
int nvrtcGetPTX(void *program, char *image)
{
    memcpy(image, program, strlen(program) + 1);
    return told_to_fail(__func__);
}
