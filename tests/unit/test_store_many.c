/* Writing, reading, saving and loading grow linearly with the number of tensors: four times the tensors take about four times as
   long, where quadratic work would take sixteen. The table of tensors copies its lists only a few times. */
#define _GNU_SOURCE
#include "core/table.h"
#include "support/check.h"
#include <kn/nn.h>
#include <kn/store.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Processor time, which other programs do not add to. */
static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static char file[64] = "many_XXXXXX";

/* ---- what is timed: n tensors each */

typedef struct Item {
    kn_param weight;
} Item;
static const kn_module_type Item_type = {"Item", sizeof(Item),
                                         (const kn_field[]){KN_PARAM(Item, weight), {0}}};
typedef struct Net {
    Item *items, *others;
    int32_t n_items, n_others;
} Net;
static const kn_module_type Net_type = {
    "Net", sizeof(Net),
    (const kn_field[]){KN_LIST(Net, items, n_items, Item), KN_LIST(Net, others, n_others, Item), {0}}};

typedef struct subject {
    int64_t n;
    Net net;
    kn_state state;
} subject;

/* tied: each param has two paths. */
static void make(subject *s, int64_t n, bool tied)
{
    *s = (subject){.n = n, .state = kn_state_make()};
    s->net.n_items = (int32_t)(tied ? n / 2 : n);
    s->net.items = calloc((size_t)n, sizeof *s->net.items);
    for (int32_t i = 0; i < s->net.n_items; i++)
        s->net.items[i].weight = kn_param_make(kn_full(KN_SHAPE(1), i, KN_F32));
    s->net.others = calloc((size_t)n, sizeof *s->net.others);
    s->net.n_others = tied ? s->net.n_items : 0;
    memcpy(s->net.others, s->net.items, (size_t)s->net.n_others * sizeof *s->net.others);
    CHECK(kn_module_save(KN_MODULE_OF(Net, &s->net), s->state, "") == KN_OK);
    CHECK(kn_save(KN_MODULE_OF(Net, &s->net), file, NULL) == KN_OK);
}

static void drop(subject *s)
{
    for (int32_t i = 0; i < s->net.n_items; i++) kn_param_drop(&s->net.items[i].weight);
    free(s->net.items);
    free(s->net.others);
    kn_state_free(s->state);
}

static bool puts_numbers(const subject *s)
{
    kn_state state = kn_state_make();
    bool good = true;
    for (int64_t i = 0; i < s->n; i++) {
        char name[40];
        snprintf(name, sizeof name, "layers.%lld.weight", (long long)i);
        good = good && kn_state_put_int(state, "", name, i) == KN_OK;
    }
    good = good && kn_state_count(state) == s->n;
    kn_state_free(state);
    return good;
}
static bool writes_state(const subject *s)
{
    return kn_state_write(s->state, file, KN_STORE_SAFETENSORS) == KN_OK;
}
static bool writes_npz(const subject *s)
{
    void *data = NULL;
    size_t bytes = 0;
    kn_status status = kn_state_write_memory(s->state, &data, &bytes, KN_STORE_NUMPY);
    free(data);
    return status == KN_OK;
}
static bool reads_state(const subject *s)
{
    kn_state back = kn_state_make();
    bool good = kn_state_read(back, file) == KN_OK && kn_state_count(back) == kn_state_count(s->state);
    kn_state_free(back);
    return good;
}
static bool reads_npz(const subject *s)
{
    void *data = NULL;
    size_t bytes = 0;
    kn_state back = kn_state_make();
    bool good = kn_state_write_memory(s->state, &data, &bytes, KN_STORE_NUMPY) == KN_OK &&
                kn_state_read_memory(back, data, bytes) == KN_OK;
    free(data);
    kn_state_free(back);
    return good;
}
static bool saves_module(const subject *s)
{
    kn_state state = kn_state_make();
    kn_status status = kn_module_save(KN_MODULE_OF(Net, (Net *)(uintptr_t)&s->net), state, "");
    kn_state_free(state);
    return status == KN_OK;
}
static bool loads_module(const subject *s)
{
    return kn_module_load(KN_MODULE_OF(Net, (Net *)(uintptr_t)&s->net), s->state, "") == KN_OK;
}
static bool saves_file(const subject *s)
{
    return kn_save(KN_MODULE_OF(Net, (Net *)(uintptr_t)&s->net), file, NULL) == KN_OK;
}
static bool loads_file(const subject *s)
{
    return kn_load(KN_MODULE_OF(Net, (Net *)(uintptr_t)&s->net), file, NULL, NULL) == KN_OK;
}

static const struct {
    const char *name;
    bool (*run)(const subject *s);
} works[] = {{"kn_state_put_int", puts_numbers},
             {"kn_state_write", writes_state},
             {"kn_state_read", reads_state},
             {"kn_state_write_memory, npz", writes_npz},
             {"kn_state_read_memory, npz", reads_npz},
             {"kn_module_save", saves_module},
             {"kn_module_load", loads_module},
             {"kn_save", saves_file},
             {"kn_load", loads_file}};
enum { WORKS = sizeof works / sizeof *works, TRIES = 6 };

/* ---- growth */

static void best_time(const subject *s, double *best)
{
    for (int w = 0; w < WORKS; w++) {
        double start = seconds();
        bool good = works[w].run(s);
        double took = seconds() - start;
        if (!CHECK(good)) printf("  %s: %s\n", works[w].name, kn_last_error());
        if (best[w] == 0 || took < best[w]) best[w] = took;
    }
}

static bool all_grow_less_than(double factor, const double *few, const double *many)
{
    for (int w = 0; w < WORKS; w++)
        if (many[w] >= factor * few[w]) return false;
    return true;
}

/* The least of several times, since programs beside this one spoil its caches; more than one only where there is doubt. */
static void growth(bool tied)
{
    enum { FEW = 10000 };
    double few[WORKS] = {0}, many[WORKS] = {0};
    for (int i = 0; i < TRIES && (i < 1 || !all_grow_less_than(7, few, many)); i++)
        for (int large = 0; large < 2; large++) {
            subject s;
            make(&s, large ? 4 * FEW : FEW, tied);
            best_time(&s, large ? many : few);
            drop(&s);
        }
    for (int w = 0; w < WORKS; w++)
        if (!CHECK(many[w] < 8 * few[w]) || getenv("KN_SHOW"))
            printf("  %s%s: %g s for %d, %g s for %d\n", works[w].name, tied ? ", tied" : "", few[w], FEW,
                   many[w], 4 * FEW);
}

/* A chunk of slots is one allocation; the list of the free ones is allocated as often as it doubles. */
static void the_table_doubles(void)
{
    enum { CHUNKS = 64, DOUBLINGS = 12 };
    kn_scope scope = kn_scope_begin();
    int64_t before = kn_memory_stats().allocations;
    for (int i = 0; i < CHUNKS * KNI_CHUNK_SLOTS; i++) (void)kn_keep(kn_scalar(i, KN_F32));
    int64_t made = kn_memory_stats().allocations - before;
    if (!CHECK(made >= CHUNKS / 2 && made <= CHUNKS + DOUBLINGS)) printf("  %d\n", (int)made);
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    int handle = mkstemp(file);
    if (!CHECK(handle >= 0)) return check_report();
    close(handle);
    kn_device_use(kn_device_cpu());
    the_table_doubles();
    growth(false);
    growth(true);
    CHECK(unlink(file) == 0);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
