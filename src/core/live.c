/* What is alive: the list for users, and the warning of a loop that keeps what it makes. */
#include "core/live.h"
#include "core/dtype.h"
#include "core/table.h"
#include <kn/tensor.h>

static kn_tensor_state state_of(const kni_tensor *x)
{
    if (x->flags & KNI_TENSOR_PARAM) return KN_TENSOR_PARAM;
    return x->state == KNI_OWNED  ? KN_TENSOR_OWNED
           : x->state == KNI_KEPT ? KN_TENSOR_KEPT
                                  : KN_TENSOR_TEMPORARY;
}

int64_t kn_live_tensors(kn_live_tensor *list, int64_t capacity)
{
    int64_t n = 0, slots, tensors;
    if (capacity < 0 || (capacity > 0 && !list)) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_live_tensors: room for %D tensors, %s", capacity,
                 capacity < 0 ? "which is negative" : "but the list is NULL");
        return -1;
    }
    kni_table_counters(&tensors, &slots);
    for (int64_t i = 0; i < slots; i++) {
        const kni_tensor *x = kni_slot((uint32_t)i);
        if (x->state == KNI_FREE || x->state == KNI_GONE) continue;
        if (n < capacity)
            list[n] = (kn_live_tensor){.shape = kni_shape_from_type(&x->type),
                                       .dtype = (kn_dtype)x->type.dtype,
                                       .state = state_of(x),
                                       .bytes = kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type)),
                                       .site = kni_tensor_site(x)};
        n++;
    }
    return n;
}

bool kni_live_devices(void (*see)(kn_device device))
{
    int64_t slots, tensors;
    bool taped = false;
    kni_table_counters(&tensors, &slots);
    for (int64_t i = 0; i < slots; i++) {
        const kni_tensor *x = kni_slot((uint32_t)i);
        if (x->state == KNI_FREE) continue;
        if (x->device) see(x->device);
        taped = taped || x->node;
    }
    return taped;
}

/* How many tensors each of some lines has made, and in how many calls. */
enum { LINES = 32 };
typedef struct line {
    const char *site;
    int n, calls;
    uint32_t call; /* the one that was counted last */
} line;

/* The line with the most so far is at *best. */
static void count_line(line *lines, int *best, const char *site, uint32_t call)
{
    int k = 0;
    while (k < LINES && lines[k].n && lines[k].site != site) k++;
    if (!site || k == LINES) return;
    line *l = &lines[k];
    if (!l->n || l->call != call) l->calls++;
    l->call = call;
    l->site = site;
    if (++l->n > lines[*best].n) *best = k;
}

/* The line that made most of the latest tensors of a scope. */
static line common_site(uint32_t head, int *seen)
{
    enum { LATEST = 4096 };
    line lines[LINES] = {{0}};
    int best = 0;
    *seen = 0;
    for (uint32_t at = head; at != KNI_NO_SLOT && *seen < LATEST; at = kni_slot(at)->next, ++*seen)
        count_line(lines, &best, kni_tensor_site(kni_slot(at)), 0);
    return lines[best];
}

/* The same of those that the thread owned last and that are alive still. */
static line common_owner(const kni_history *h, int *alive)
{
    line lines[LINES] = {{0}};
    int best = 0;
    *alive = 0;
    uint64_t seen = h->n_owned < KNI_OWNED_RING ? h->n_owned : KNI_OWNED_RING;
    for (uint64_t i = h->n_owned - seen; i < h->n_owned; i++) {
        const kni_owned *o = &h->owned[i % KNI_OWNED_RING];
        const kni_tensor *x = kni_peek((kn_tensor){o->bits});
        if (!x || x->state != KNI_OWNED) continue;
        ++*alive;
        count_line(lines, &best, x->site, o->call);
    }
    return lines[best];
}

static bool warned_before(kni_history *h, const char *site)
{
    for (int i = 0; i < KNI_GROWTH_SITES; i++) {
        if (h->grown[i] == site) return true;
        if (h->grown[i]) continue;
        h->grown[i] = site;
        return false;
    }
    return true;
}

/* What outlives scopes grows where one line makes what stays, call after call: the params of a large model come from few calls. */
static void owned_growth(kni_thread *t, int64_t live)
{
    enum { FEW = 64 };
    int alive;
    if (!t->history) return;
    line most = common_owner(t->history, &alive);
    if (most.calls < FEW || warned_before(t->history, most.site)) return;
    kni_log(KN_LOG_WARNING,
            "%D tensors are alive, and %d of the latest %d that outlive their scope were made at %s, in %d "
            "calls: free what each step leaves behind (kn_grads_free(), kn_sample_drop(), kn_drop() ...; "
            "kn_live_tensors() lists all)",
            live, most.n, alive, most.site, most.calls);
}

void kni_growth_seen(kni_thread *t)
{
    int64_t live = atomic_load_explicit(&t->live, memory_order_relaxed), most = 0;
    uint32_t head = KNI_NO_SLOT;
    for (uint32_t d = 0; d <= t->depth; d++) {
        uint32_t first = t->scopes ? t->scopes[d] : t->root_scope;
        int64_t n = 0;
        for (uint32_t at = first; at != KNI_NO_SLOT; at = kni_slot(at)->next) n++;
        if (n > most) most = n, head = first;
    }
    t->watch = 2 * (live > KNI_GROWTH_WATCH ? live : KNI_GROWTH_WATCH);
    if (most <= live / 2) {
        owned_growth(t, live);
        return;
    }
    int seen;
    line latest = common_site(head, &seen);
    if (!latest.site || !t->history) return;
    if (warned_before(t->history, latest.site)) {
        owned_growth(t, live);
        return;
    }
    kni_log(KN_LOG_WARNING,
            "%D tensors are alive in one scope, and %d of the latest %d were made at %s: put "
            "kn_scope_begin() and "
            "kn_scope_end() around each step of the loop, or drop with kn_drop() what it only reads "
            "(kn_live_tensors() lists all)",
            most, latest.n, seen, latest.site);
}
