/* The stand-in for libamdhip64 (fake_hip.c) with the host behind it: each text is compiled by the host's C++ compiler with hip_on_host.h
   (FAKE_HIP_HEADER names the file), in the folder FAKE_HIP_FOLDER, and launched here, each invocation a fibre. Waves have 64 lanes,
   or FAKE_HIP_WAVE. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <immintrin.h>
#include <math.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define FAKE_HIP_RUNS
#define nvrtcCreateProgram fake_create
#define nvrtcDestroyProgram fake_destroy
#define nvrtcCompileProgram fake_compile
#define nvrtcGetProgramLogSize fake_log_bytes
#define nvrtcGetProgramLog fake_log
#define nvrtcGetCUBINSize fake_code_bytes
#define nvrtcGetCUBIN fake_code
#define cuModuleLoadData fake_load
#define cuLaunchKernel fake_launch
#include "fake_hip.c"

/* ---- compiling */

typedef struct program {
    char *text, *log;
    char image[600];
} program;

/* The entry's name: kn_ and what follows, up to the bracket. */
static void entry_of(const char *text, char name[128])
{
    const char *at = strstr(text, "__attribute__((global))");
    at = at ? strstr(at, " kn_") : NULL;
    size_t n = at ? strcspn(at + 1, "(") : 0;
    if (n > 127) n = 127;
    if (n) memcpy(name, at + 1, n);
    name[n] = 0;
}

static bool write_text(const program *p, const char *path)
{
    static const char shared[] = "__attribute__((shared)) ";
    FILE *f = fopen(path, "w");
    if (!f) return false;
    const char *at = p->text;
    for (const char *next; (next = strstr(at, shared)) != NULL; at = next + sizeof shared - 1)
        fprintf(f, "%.*sstatic ", (int)(next - at), at);
    fputs(at, f);
    char name[128];
    entry_of(p->text, name);
    fprintf(f,
            "\nextern \"C\" void hip_host_run(void **arguments) { hip_host_call(&%s, arguments); }\n"
            "extern \"C\" void **hip_host_keep(void **arguments) { return hip_host_copy(&%s, arguments); }\n",
            name, name);
    return fclose(f) == 0;
}

static char *read_all(const char *path)
{
    char *text = calloc(1, 8192);
    FILE *f = fopen(path, "r");
    if (f) {
        size_t n = fread(text, 1, 8191, f);
        text[n] = 0;
        fclose(f);
    }
    return text;
}

int hiprtcCreateProgram(void **made, const char *text, const char *name, int headers,
                        const char *const *texts, const char *const *names)
{
    program *p = calloc(1, sizeof *p);
    p->text = strdup(text);
    strcpy(p->image, "\177ELF");
    live++;
    *made = p;
    (void)name, (void)headers, (void)texts, (void)names;
    return 0;
}

int hiprtcDestroyProgram(void **made)
{
    program *p = *made;
    free(p->text);
    free(p->log);
    free_object(p);
    *made = NULL;
    return 0;
}

int hiprtcCompileProgram(void *made, int n, const char *const *options)
{
    static int number;
    program *p = made;
    const char *folder = getenv("FAKE_HIP_FOLDER"), *header = getenv("FAKE_HIP_HEADER");
    char base[600], source[620], told[620], command[2600];
    (void)n, (void)options;
    snprintf(base, sizeof base, "%s/host_%d_%d", folder ? folder : ".", (int)getpid(), number++);
    snprintf(source, sizeof source, "%s.cpp", base);
    snprintf(told, sizeof told, "%s.log", base);
    snprintf(p->image, sizeof p->image, "HOST%s.so", base);
    snprintf(command, sizeof command,
             "c++ -std=c++17 -O1 -w -shared -fPIC -Wl,-Bsymbolic -ffp-contract=off -fwrapv "
             "-fno-strict-aliasing -include %s "
             "%s -o %s "
             ">%s 2>&1",
             header ? header : "tests/gpu/hip_on_host.h", source, p->image + 4, told);
    if (!write_text(p, source)) return 6;
    if (system(command)) {
        p->log = read_all(told);
        return 6;
    }
    unlink(source);
    unlink(told);
    return 0;
}

int hiprtcGetProgramLogSize(void *made, size_t *bytes)
{
    program *p = made;
    *bytes = (p->log ? strlen(p->log) : 0) + 1;
    return 0;
}
int hiprtcGetProgramLog(void *made, char *log)
{
    program *p = made;
    strcpy(log, p->log ? p->log : "");
    return 0;
}
int hiprtcGetCodeSize(void *made, size_t *bytes)
{
    *bytes = strlen(((program *)made)->image) + 1;
    return 0;
}
int hiprtcGetCode(void *made, char *code)
{
    strcpy(code, ((program *)made)->image);
    return 0;
}

/* ---- launching: fibres of one workgroup take turns */

typedef struct hip_host {
    unsigned group[3], groups[3], size, item, wave;
    void (*barrier)(void);
    int (*permute)(int address, int value);
    float (*root)(float);
    double (*root_64)(double);
    unsigned short (*to_half)(float);
    float (*from_half)(unsigned short);
} hip_host;

/* Begins as fake_cuda.c's modules do: a name, and in its last place that it is another kind. */
typedef struct host_module {
    char name[64];
    void (*run)(void **arguments);
    void **(*keep)(void **arguments);
} host_module;

typedef struct host_launch {
    host_module *module;
    unsigned groups[3], size;
    void **arguments;
} host_launch;

enum { MOST_ITEMS = 1024, STACK = 1 << 18, HOST = 2 };
static struct {
    ucontext_t context;
    bool ended;
    unsigned long long arrived; /* how often it stopped */
    int given[2];               /* to other lanes, in turn */
} fibres[MOST_ITEMS];
static ucontext_t scheduler;
static char *stacks;
static host_module *running;
static void **running_arguments;

static void stop(void);
static int permute(int address, int value);
__attribute__((target("f16c"))) static unsigned short to_half(float x) { return _cvtss_sh(x, 0); }
__attribute__((target("f16c"))) static float from_half(unsigned short x) { return _cvtsh_ss(x); }
static hip_host host = {.barrier = stop,
                        .permute = permute,
                        .root = sqrtf,
                        .root_64 = sqrt,
                        .to_half = to_half,
                        .from_half = from_half};

/* All of a workgroup stop equally often, so each goes on when all have come. */
static void stop(void)
{
    unsigned item = host.item;
    fibres[item].arrived++;
    swapcontext(&fibres[item].context, &scheduler);
}

static int permute(int address, int value)
{
    unsigned item = host.item, from = item / host.wave * host.wave + (unsigned)address / 4 % host.wave;
    int turn = fibres[item].arrived & 1;
    fibres[item].given[turn] = value;
    stop();
    return from < host.size ? fibres[from].given[turn] : 0;
}

static void fibre(unsigned item)
{
    running->run(running_arguments);
    fibres[item].ended = true;
}

static void run_group(void)
{
    for (unsigned i = 0; i < host.size; i++) {
        getcontext(&fibres[i].context);
        fibres[i].context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
        fibres[i].context.uc_stack.ss_size = STACK;
        fibres[i].context.uc_link = &scheduler;
        fibres[i].ended = false;
        fibres[i].arrived = 0;
        makecontext(&fibres[i].context, (void (*)(void))fibre, 1, i);
    }
    for (bool left = true; left;) {
        left = false;
        for (unsigned i = 0; i < host.size; i++) {
            if (fibres[i].ended) continue;
            host.item = i;
            swapcontext(&scheduler, &fibres[i].context);
            left = left || !fibres[i].ended;
        }
    }
}

int hipModuleLoadData(void **module, const void *image)
{
    ENTER;
    if (memcmp(image, "HOST", 4)) return fake_load(module, image);
    void *library = dlopen((const char *)image + 4, RTLD_NOW | RTLD_LOCAL);
    unlink((const char *)image + 4);
    hip_host **now = library ? dlsym(library, "hip_host_now") : NULL;
    host_module *m = calloc(1, sizeof *m);
    if (library) *(void **)&m->run = dlsym(library, "hip_host_run");
    if (library) *(void **)&m->keep = dlsym(library, "hip_host_keep");
    if (!now || !m->run || !m->keep) return 200;
    *now = &host;
    m->name[63] = HOST;
    live++;
    *module = m;
    return 0;
}

static void run_launch(const void *data)
{
    const host_launch *l = data;
    const char *wave = getenv("FAKE_HIP_WAVE");
    if (!stacks)
        stacks = mmap(NULL, (size_t)MOST_ITEMS * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    running = l->module;
    running_arguments = l->arguments;
    memcpy(host.groups, l->groups, sizeof host.groups);
    host.size = l->size;
    host.wave = wave ? (unsigned)atoi(wave) : 64;
    for (host.group[2] = 0; host.group[2] < l->groups[2]; host.group[2]++)
        for (host.group[1] = 0; host.group[1] < l->groups[1]; host.group[1]++)
            for (host.group[0] = 0; host.group[0] < l->groups[0]; host.group[0]++) run_group();
}

static int fake_call_changed(void *call, void **parameters)
{
    host_launch *l = call;
    l->arguments = l->module->keep(parameters);
    return 0;
}

int hipModuleLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void *stream,
                          void **parameters, void **extra)
{
    host_module *m = function;
    ENTER;
    if (m->name[63] != HOST)
        return fake_launch(function, x, y, z, block_x, block_y, block_z, shared, stream, parameters, extra);
    if (block_x > MOST_ITEMS) return 801;
    host_launch l = {m, {x, y, z}, block_x, parameters};
    if (recording) {
        host_launch *kept = malloc(sizeof *kept);
        *kept = l;
        kept->arguments = m->keep(parameters);
        return fake_cuda_give(run_launch, kept);
    }
    finish_until(queued);
    run_launch(&l);
    return 0;
}
