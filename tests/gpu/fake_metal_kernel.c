/* Kernels of the stand-in for Metal: clang compiles the text against tests/gpu/metal/metal_stdlib, and the host runs it. The invocations of
   a workgroup run one after the other, and as fibers where they meet: at a barrier each waits for all, at a shuffle for its SIMD group. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fake_metal.h"
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { MAX_KERNELS = 4, MAX_MEMBERS = 1024, LANES = 32, STACK = 256 << 10, POSITIONS = 13 };

typedef void (*entry_fn)(const uint64_t *addresses, const uint32_t *positions);

struct fake_kernel {
    char name[64];
    entry_fn run;
    bool meets;
    struct fake_kernel *next; /* of the same text */
};

static bool runs(void)
{
    const char *mode = getenv("FAKE_METAL_RUN");
    return !mode || strcmp(mode, "off") != 0;
}

/* ---- how a kernel is called */

typedef struct part {
    char attribute[64], type[128];
} part;

static const struct {
    const char *attribute, *value;
} positions[] = {
    {"threadgroup_position_in_grid", "group"},    {"threadgroups_per_grid", "groups"},
    {"thread_position_in_threadgroup", "member"}, {"threads_per_threadgroup", "members"},
    {"thread_index_in_simdgroup", "at[12]"},
};

/* "device const float *u_x [[buffer(0)]]" */
static bool read_part(const char *text, size_t length, part *p)
{
    char copy[300];
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    char *attribute = strstr(copy, " [["), *end = attribute ? strstr(attribute, "]]") : NULL;
    if (!end) return false;
    *end = *attribute = 0;
    snprintf(p->attribute, sizeof p->attribute, "%s", attribute + 3);
    char *name = attribute;
    while (name > copy && (isalnum((unsigned char)name[-1]) || name[-1] == '_')) name--;
    *name = 0;
    snprintf(p->type, sizeof p->type, "%.*s", (int)sizeof p->type - 1, copy);
    return true;
}

static bool write_argument(FILE *out, const part *p)
{
    unsigned slot;
    if (sscanf(p->attribute, "buffer(%u)", &slot) == 1 && slot < 31) {
        size_t n = strlen(p->type);
        bool reference = n && p->type[n - 1] == '&';
        if (reference)
            fprintf(out, "*(%.*s *)b[%u]", (int)n - 1, p->type, slot);
        else
            fprintf(out, "(%s)b[%u]", p->type, slot);
        return true;
    }
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++)
        if (!strcmp(positions[i].attribute, p->attribute)) return fputs(positions[i].value, out) >= 0;
    return false;
}

/* Writes `kn_run_NAME(addresses, positions)` for a kernel whose parameters begin at `at`. */
static bool write_call(FILE *out, const char *name, const char *at)
{
    fprintf(out,
            "extern \"C\" void kn_run_%s(const ulong *b, const uint *at)\n{\n"
            "    const uint3 group = {at[0], at[1], at[2]}, groups = {at[3], at[4], at[5]};\n"
            "    const uint3 member = {at[6], at[7], at[8]}, members = {at[9], at[10], at[11]};\n    %s(",
            name, name);
    for (const char *comma = "";; comma = ", ") {
        size_t n = strcspn(at, ",");
        const char *end = strstr(at, "]])");
        bool last = end && end + 2 < at + n + 1;
        part p;
        if (last) n = (size_t)(end + 2 - at);
        if (!read_part(at, n, &p)) return false;
        fputs(comma, out);
        if (!write_argument(out, &p)) return false;
        at += n + 2;
        if (last) break;
    }
    fputs(");\n}\n", out);
    return true;
}

static fake_kernel *read_kernels(const char *text, FILE *out)
{
    fake_kernel *first = NULL;
    for (const char *at = text; (at = strstr(at, "kernel void ")) != NULL;) {
        fake_kernel *k = calloc(1, sizeof *k);
        at += strlen("kernel void ");
        snprintf(k->name, sizeof k->name, "%.*s", (int)strcspn(at, "("), at);
        k->meets = strstr(at, "threadgroup_barrier(") || strstr(at, "kni_shuffle(");
        k->next = first;
        first = k;
        if (out && !write_call(out, k->name, at + strcspn(at, "(") + 1)) {
            fprintf(stderr, "the stand-in for Metal: the parameters of %s are not understood\n", k->name);
            _exit(66);
        }
    }
    return first;
}

/* ---- compiling */

static uint64_t hash_of(const char *text)
{
    uint64_t h = 1469598103934665603u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

static const char *folder(void)
{
    static char own[64] = P_tmpdir "/kiln_fake_metal_XXXXXX";
    static bool made;
    const char *given = getenv("FAKE_METAL_FOLDER");
    if (given) return given;
    if (!made && !mkdtemp(own)) return P_tmpdir;
    made = true;
    return own;
}

static void first_error(const char *path, char *words, size_t bytes)
{
    FILE *file = fopen(path, "r");
    char line[600];
    snprintf(words, bytes, "clang says nothing");
    while (file && fgets(line, sizeof line, file))
        if (strstr(line, "error:")) {
            snprintf(words, bytes, "%s", line);
            break;
        }
    if (file) fclose(file);
}

static fake_kernel *load(const char *path, fake_kernel *kernels)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "the stand-in for Metal: %s\n", dlerror());
    for (fake_kernel *k = kernels; k && library; k = k->next) {
        char name[80];
        snprintf(name, sizeof name, "kn_run_%s", k->name);
        void *address = dlsym(library, name);
        memcpy(&k->run, &address, sizeof address);
    }
    return library ? kernels : NULL;
}

fake_kernel *fake_metal_compile(const char *text, char *words, size_t bytes)
{
    char base[200], path[220], shared[220], told[220], command[1600];
    Dl_info own;
    if (!runs()) return read_kernels(text, NULL);
    snprintf(base, sizeof base, "%s/%016llx", folder(), (unsigned long long)hash_of(text));
    snprintf(shared, sizeof shared, "%s.so", base);
    if (access(shared, R_OK) == 0) return load(shared, read_kernels(text, NULL));
    snprintf(path, sizeof path, "%s-%d.cc", base, (int)getpid());
    snprintf(told, sizeof told, "%s-%d.txt", base, (int)getpid());
    FILE *out = fopen(path, "w");
    if (!out || !dladdr(&positions, &own)) return NULL;
    fputs(text, out);
    fake_kernel *kernels = read_kernels(text, out);
    fclose(out);
    snprintf(command, sizeof command,
             "clang $(cat tests/gpu/metal/flags) -O1 -fPIC -shared -Wl,-Bsymbolic -o %s-%d.so %s -x none %s "
             "-lm 2> %s && mv %s-%d.so %s",
             base, (int)getpid(), path, own.dli_fname, told, base, (int)getpid(), shared);
    bool good = system(command) == 0;
    if (!good) first_error(told, words, bytes);
    if (!getenv("FAKE_METAL_KEEP")) unlink(path);
    unlink(told);
    fake_kernel *loaded = good ? load(shared, kernels) : NULL;
    if (!getenv("FAKE_METAL_FOLDER")) unlink(shared);
    return loaded;
}

fake_kernel *fake_metal_entry(fake_kernel *library, const char *name)
{
    while (library && strcmp(library->name, name) != 0) library = library->next;
    return library;
}

/* ---- running */

typedef struct fiber {
    ucontext_t context;
    enum { READY, AT_BARRIER, AT_SHUFFLE, ENDED } state;
    uint32_t value, by;
} fiber;

static fiber *fibers;
static char *stacks;
static ucontext_t home;
static uint32_t running;
static const fake_kernel *now;
static const uint64_t *now_addresses;
static uint32_t now_positions[MAX_MEMBERS][POSITIONS];

static void wait_as(int state)
{
    fibers[running].state = (int)state;
    swapcontext(&fibers[running].context, &home);
}

void kn_stand_in_barrier(void);
uint32_t kn_stand_in_shuffle(uint32_t value, uint32_t by);
bool kn_stand_in_fails(void);
float __gnu_h2f_ieee(uint16_t h);
uint16_t __gnu_f2h_ieee(float f);

void kn_stand_in_barrier(void) { wait_as(AT_BARRIER); }
uint32_t kn_stand_in_shuffle(uint32_t value, uint32_t by)
{
    fibers[running].value = value;
    fibers[running].by = by;
    wait_as(AT_SHUFFLE);
    return fibers[running].value;
}
/* Compare and exchange may fail though nobody wrote: here every third time. */
bool kn_stand_in_fails(void)
{
    static unsigned turn;
    return ++turn % 3 == 0;
}

/* Half numbers, which clang leaves to functions. */
float __gnu_h2f_ieee(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 0x1f, m = h & 0x3ff, u;
    float f = (float)m * 0x1p-24f;
    memcpy(&u, &f, sizeof u);
    if (e == 0x1f)
        u = 0x7f800000 | m << 13;
    else if (e)
        u = (e + 112) << 23 | m << 13;
    u |= sign;
    memcpy(&f, &u, sizeof f);
    return f;
}
uint16_t __gnu_f2h_ieee(float f)
{
    uint32_t u, shift = 13;
    memcpy(&u, &f, sizeof u);
    uint32_t sign = u >> 16 & 0x8000, e = u >> 23 & 0xff, m = u & 0x7fffff, exact;
    if (e == 0xff) return (uint16_t)(sign | 0x7c00 | (m ? 0x200 | m >> 13 : 0));
    if (e > 142) return (uint16_t)(sign | 0x7c00);
    if (e < 113) {
        exact = e ? m | 0x800000 : m;
        shift = e > 101 ? 126 - e : 31;
    } else {
        exact = (e - 112) << 23 | m;
    }
    uint32_t rest = exact & ((1u << shift) - 1), half = 1u << (shift - 1);
    exact >>= shift;
    if (rest > half || (rest == half && exact & 1)) exact++;
    return (uint16_t)(sign | exact);
}

static void member_main(void)
{
    now->run(now_addresses, now_positions[running]);
    fibers[running].state = ENDED;
    swapcontext(&fibers[running].context, &home);
}

static void resume(uint32_t i)
{
    running = i;
    fibers[i].state = READY;
    swapcontext(&home, &fibers[i].context);
}

/* Runs the lanes of a SIMD group until all are at a barrier or have ended. */
static void run_lanes(uint32_t first, uint32_t end)
{
    for (;;) {
        uint32_t handed[LANES], meeting = 0;
        for (uint32_t i = first; i < end; i++)
            if (fibers[i].state == READY) resume(i);
        for (uint32_t i = first; i < end; i++) meeting += fibers[i].state == AT_SHUFFLE;
        if (!meeting) return;
        for (uint32_t i = first; i < end; i++) {
            uint32_t other = first + ((i - first) ^ fibers[i].by);
            handed[i - first] = other < end ? fibers[other].value : 0;
            if (fibers[i].state == AT_BARRIER) {
                fprintf(stderr, "the stand-in for Metal: %s: lanes are at a shuffle and at a barrier\n",
                        now->name);
                _exit(66);
            }
        }
        for (uint32_t i = first; i < end; i++)
            if (fibers[i].state == AT_SHUFFLE) {
                fibers[i].value = handed[i - first];
                fibers[i].state = READY;
            }
    }
}

static void run_group(uint32_t members)
{
    if (!fibers) {
        fibers = calloc(MAX_MEMBERS, sizeof *fibers);
        stacks = mmap(NULL, (size_t)MAX_MEMBERS * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    for (uint32_t i = 0; i < members; i++) {
        fibers[i].state = READY;
        getcontext(&fibers[i].context);
        fibers[i].context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
        fibers[i].context.uc_stack.ss_size = STACK;
        fibers[i].context.uc_link = &home;
        makecontext(&fibers[i].context, member_main, 0);
    }
    for (;;) {
        uint32_t waiting = 0, ended = 0;
        for (uint32_t first = 0; first < members; first += LANES)
            run_lanes(first, first + LANES < members ? first + LANES : members);
        for (uint32_t i = 0; i < members; i++) {
            waiting += fibers[i].state == AT_BARRIER;
            ended += fibers[i].state == ENDED;
        }
        if (ended == members) return;
        if (waiting != members) {
            fprintf(stderr, "the stand-in for Metal: %s: %u of %u come to a barrier\n", now->name, waiting,
                    members);
            _exit(66);
        }
        for (uint32_t i = 0; i < members; i++) fibers[i].state = READY;
    }
}

void fake_metal_run(const fake_kernel *kernel, const uint64_t *addresses, const uint32_t groups[3],
                    uint32_t members)
{
    if (!runs()) return;
    now = kernel;
    now_addresses = addresses;
    for (uint32_t z = 0; z < groups[2]; z++)
        for (uint32_t y = 0; y < groups[1]; y++)
            for (uint32_t x = 0; x < groups[0]; x++) {
                for (uint32_t i = 0; i < members; i++) {
                    const uint32_t at[POSITIONS] = {x, y, z,       groups[0], groups[1], groups[2], i,
                                                    0, 0, members, 1,         1,         i % LANES};
                    memcpy(now_positions[i], at, sizeof at);
                    if (!kernel->meets) kernel->run(addresses, now_positions[i]);
                }
                if (kernel->meets) run_group(members);
            }
}
