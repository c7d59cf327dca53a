/* The world of one program: a few slots that hold tensors, how they are drawn as operands, what is noted of each call for the
   script, and what is checked after it. Every call has random numbers of its own, so that a call can be left out and the
   others stay what they are. */
#ifndef FUZZ_WORLD_H
#define FUZZ_WORLD_H

#define _DEFAULT_SOURCE
#include <kn.h>
#include <kn/autodiff.h>
#include <kn/nn/losses.h>
#include <kn/op_info.h>
#include <kn/program.h>
#include <kn/state.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 10,
    PARAMS = 3,
    MAX_CALLS = 48,
    MAX_DEPTH = 4,
    LONGEST_LIST = 100,
    LONGEST_RANGES = 12,
    LONGEST_TEXT = 1 << 15,
    MAX_OPERANDS = 128
};

/* Shared with the process that watches. */
typedef struct report {
    _Atomic uint64_t program;
    _Atomic int64_t calls, programs, compared, failed_calls, call_now; /* call_now changes with each call */
    _Atomic int finding;
    char what[1024];
    int used;
    char script[LONGEST_TEXT];
} report;

typedef enum role { TEMPORARY, KEPT, OWNED } role;

typedef struct slot {
    kn_tensor t;
    role role;
    int depth;     /* of scopes when it was made */
    uint64_t hash; /* of its elements, when `watched` */
    bool watched;
} slot;

/* What a run leaves to compare: the type of every result as it came, and the elements of the slots at the end. */
typedef struct outcome {
    int n_results;
    struct noted {
        bool good;
        kn_status code;
        kn_dtype dtype;
        kn_shape shape;
        int call;
    } results[MAX_CALLS * 8];
    unsigned char *data[SLOTS + PARAMS];
    size_t bytes[SLOTS + PARAMS];
    kn_status status[SLOTS + PARAMS];
} outcome;

typedef struct world {
    uint64_t state, seed;
    report *out;
    outcome *left;
    kn_device device;
    const char *spec;
    slot slots[SLOTS];
    kn_param params[PARAMS];
    kn_scope scopes[MAX_DEPTH];
    int depth;
    int64_t side;                           /* the size that most axes have */
    int32_t rank;                           /* that most tensors have */
    kn_dtype dtype;                         /* that most tensors have */
    kn_tensor last;                         /* operand that was drawn, which axes and sizes refer to */
    int operands[MAX_OPERANDS], n_operands; /* slots of the call */
    int call, fails;                        /* fails: percent of calls with a failing allocation */
    bool watch, strange; /* watch: reads values as they come; strange: draws what no function takes */
    bool thread;         /* beside another one: no script, no allocation that fails */
    const char *name;    /* of the call */
    bool whole;          /* every field of the next struct is set */
    bool unspecified;    /* a result had elements of no particular value */
} world;

typedef struct api_call {
    const char *name;
    void (*run)(world *w);
} api_call;

/* ---- random numbers */

static uint64_t mix(uint64_t z)
{
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t draw(world *w) { return w->state = mix(w->state); }
static int64_t below(world *w, int64_t n) { return n > 0 ? (int64_t)(draw(w) % (uint64_t)n) : 0; }
static bool chance(world *w, int percent) { return below(w, 100) < percent; }

/* ---- the script and findings */

static void say(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(world *w, const char *format, ...)
{
    if (w->thread) return;
    va_list arguments;
    va_start(arguments, format);
    int room = LONGEST_TEXT - w->out->used;
    int n = vsnprintf(w->out->script + w->out->used, (size_t)room, format, arguments);
    w->out->used += n < room ? n : room - 1;
    va_end(arguments);
}

/* What is wrong is told once; the process ends with the program. */
static void find(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void find(world *w, const char *format, ...)
{
    if (atomic_exchange(&w->out->finding, 1)) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(w->out->what, sizeof w->out->what, format, arguments);
    va_end(arguments);
}

/* ---- values of any dtype */

static const kn_dtype all_dtypes[] = {KN_F32, KN_F64, KN_F16, KN_BF16, KN_I64, KN_I32, KN_I16,
                                      KN_I8,  KN_U64, KN_U32, KN_U16,  KN_U8,  KN_BOOL};
enum { N_DTYPES = sizeof all_dtypes / sizeof *all_dtypes };

static uint16_t short_float(double value, kn_dtype dtype)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (dtype == KN_BF16) return (uint16_t)(bits >> 16);
    int exponent = (int)(bits >> 23 & 255) - 127 + 15;
    uint32_t sign = bits >> 16 & 0x8000;
    if (f != f) return 0x7e00;
    if (exponent >= 31) return (uint16_t)(sign | 0x7c00);
    return (uint16_t)(exponent <= 0 ? sign : sign | (uint32_t)exponent << 10 | (bits >> 13 & 0x3ff));
}

static void store_value(void *place, kn_dtype dtype, double real, int64_t whole)
{
    float f = (float)real;
    uint16_t half = short_float(real, dtype);
    bool truth = whole & 1;
    if (dtype == KN_F64)
        memcpy(place, &real, 8);
    else if (dtype == KN_F32)
        memcpy(place, &f, 4);
    else if (dtype == KN_F16 || dtype == KN_BF16)
        memcpy(place, &half, 2);
    else if (dtype == KN_BOOL)
        memcpy(place, &truth, 1);
    else
        memcpy(place, &whole, (size_t)kn_dtype_bytes(dtype, 1));
}

static double strange_real(world *w)
{
    static const double list[] = {
        0,     -0.0,  INFINITY, -INFINITY, NAN,   1e30,         -1e30,
        1e-30, 1e300, 4.9e-324, 65504,     65520, 2147483648.0, -9223372036854775808.0,
        0.5,   1};
    return list[below(w, sizeof list / sizeof *list)];
}

static int64_t strange_int(world *w)
{
    static const int64_t list[] = {0,    -1, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, 255,     256,  128,
                                   -128, -9, 8,         9,         1000,      -2,        1 << 30, 65536};
    return list[below(w, sizeof list / sizeof *list)];
}

/* small: 0 to side - 1, as an index has it. */
static void fill_values(world *w, void *data, kn_dtype dtype, int64_t n, bool small)
{
    bool odd = !small && chance(w, 15), positive = chance(w, 25);
    size_t size = (size_t)kn_dtype_bytes(dtype, 1);
    for (int64_t i = 0; i < n; i++) {
        double real = ((double)(draw(w) >> 11) * 0x1p-53 - (positive ? 0 : 0.5)) * 4;
        int64_t whole = small ? below(w, w->side) : below(w, 7) - (positive ? 0 : 3);
        if (odd && chance(w, 30)) real = strange_real(w), whole = strange_int(w);
        store_value((char *)data + (size_t)i * size, dtype, real, whole);
    }
}

/* ---- what slots hold */

static uint64_t hash_bytes(const unsigned char *data, size_t n)
{
    uint64_t h = n + 1;
    for (size_t i = 0; i < n; i++) h = (h ^ data[i]) * 0x100000001b3u;
    return h;
}

/* All NaN are one. */
static void settle_nan(unsigned char *data, size_t bytes, kn_dtype dtype)
{
    size_t size = (size_t)kn_dtype_bytes(dtype, 1);
    static const uint64_t infinity[] = {
        [KN_F64] = 0x7ff0000000000000u, [KN_F32] = 0x7f800000u, [KN_F16] = 0x7c00, [KN_BF16] = 0x7f80};
    if (!kn_dtype_is_float(dtype) || dtype > KN_BF16) return;
    for (size_t i = 0; i + size <= bytes; i += size) {
        uint64_t bits = 0;
        memcpy(&bits, data + i, size);
        uint64_t magnitude = bits & ~(UINT64_C(1) << (8 * size - 1));
        if (magnitude <= infinity[dtype]) continue;
        bits = infinity[dtype] + 1;
        memcpy(data + i, &bits, size);
    }
}

static kn_status read_elements(kn_tensor t, unsigned char **data, size_t *bytes)
{
    *data = NULL;
    *bytes = 0;
    kn_dtype dtype = kn_dtype_of(t);
    int64_t n = kn_count(t), size = n < 0 ? -1 : kn_dtype_bytes(dtype, n);
    if (size < 0) return KN_ERROR_HANDLE;
    if (size > 1 << 24) return KN_ERROR_MEMORY;
    *data = malloc(size ? (size_t)size : 1);
    kn_status status = kn_read(t, *data, (size_t)size);
    if (status == KN_OK) *bytes = (size_t)size, settle_nan(*data, *bytes, dtype);
    return status;
}

static bool hash_of(kn_tensor t, uint64_t *hash)
{
    unsigned char *data;
    size_t bytes;
    bool good = read_elements(t, &data, &bytes) == KN_OK;
    if (good) *hash = hash_bytes(data, bytes);
    free(data);
    return good;
}

/* No op changes a value that somebody holds. */
static void look_again(world *w, int i)
{
    slot *s = &w->slots[i];
    uint64_t hash;
    if (!s->watched) return;
    if (!kn_ok(s->t)) {
        find(w, "t%d, which is %s, is gone after a call that may not take it: %s", i,
             s->role == KEPT ? "kept" : "owned", kn_last_error());
        return;
    }
    if (!hash_of(s->t, &hash)) return;
    if (hash != s->hash) find(w, "the elements of t%d changed", i);
}

/* Results of a function: the slot's earlier tensor is dropped unless a call took it. */
static void put_slot(world *w, int i, kn_tensor t, role r)
{
    slot *s = &w->slots[i];
    if (s->t.bits && (s->role == OWNED || chance(w, 50))) kn_drop(s->t);
    *s = (slot){.t = t, .role = r, .depth = w->depth};
    s->watched = w->watch && r != TEMPORARY && kn_ok(t) && hash_of(t, &s->hash);
}

#endif
