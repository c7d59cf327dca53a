/* From the single line of a captured stream to the edges that its work needs: who reads what others wrote, and who writes
   what others read or wrote. Memory is told apart by its first address, as the device's blocks are. */
#include "backend/runtime/runtime.h"
#include "core/allocator.h"
#include <string.h>

/* Of larger recordings each piece fills the device by itself. */
enum { MOST = 512, WORDS = MOST / 64, PLACES = 4096 /* a power of 2, of the table */ };

typedef struct piece {
    void *first, *last; /* nodes */
    bool alone;         /* everything before comes first, everything after later */
    uint32_t at;        /* of its addresses */
    uint16_t n_reads, n_writes;
} piece;

/* The latest pieces that wrote and read an address: for each of them a bit. */
typedef struct place {
    const void *address;
    int writer; /* 1 + its number */
    uint64_t readers[WORDS];
} place;

struct kni_runtime_spread {
    bool failed;
    void *latest; /* node of the last piece */
    int n;
    piece pieces[MOST];
    void **addresses;
    uint32_t n_addresses, room;
};

kni_runtime_spread *kni_runtime_spread_new(void)
{
    kni_runtime_spread *s = kni_allocate(sizeof *s);
    if (s) memset(s, 0, sizeof *s);
    return s;
}

void kni_runtime_spread_free(kni_runtime_spread *s)
{
    if (!s) return;
    if (s->addresses) kni_free(s->addresses, s->room * sizeof *s->addresses);
    kni_free(s, sizeof *s);
}

static piece *add(kni_runtime_spread *s, void *last)
{
    if (s->n == MOST) s->failed = true;
    if (s->failed) return NULL;
    piece *p = &s->pieces[s->n++];
    *p = (piece){.last = last, .alone = true, .at = s->n_addresses};
    s->latest = last;
    return p;
}

void kni_runtime_spread_begin(kni_runtime *rt, kni_runtime_spread *s)
{
    /* Work that nobody named. */
    void *latest = kni_runtime_latest_node(rt);
    if (latest != s->latest) (void)add(s, latest);
}

static bool note(kni_runtime_spread *s, void *address)
{
    void **addresses = kni_grow(s->addresses, &s->room, s->n_addresses + 1, sizeof *addresses);
    if (!addresses) return false;
    s->addresses = addresses;
    s->addresses[s->n_addresses++] = address;
    return true;
}

void kni_runtime_spread_end(kni_runtime *rt, kni_runtime_spread *s, void *const *reads, int n_reads,
                            void *const *writes, int n_writes)
{
    void *latest = kni_runtime_latest_node(rt);
    if (latest == s->latest) return; /* there was nothing to do */
    piece *p = add(s, latest);
    if (!p) return;
    for (int i = 0; i < n_reads; i++) {
        if (!reads[i]) continue;
        s->failed |= !note(s, reads[i]);
        p->n_reads++;
    }
    for (int i = 0; i < n_writes; i++) {
        if (!writes[i]) continue;
        s->failed |= !note(s, writes[i]);
        p->n_writes++;
    }
    p->alone = false;
}

/* ---- edges */

typedef struct spreading {
    const kni_runtime_spread *s;
    place *places;
    uint64_t (*before)[WORDS]; /* by piece: all that it comes after */
    void **from, **to;         /* edges to be added */
    size_t n_edges, room;
    bool full;
} spreading;

static place *place_of(spreading *w, const void *address)
{
    uint32_t at = (uint32_t)((uintptr_t)address / 256 * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (PLACES - 1);
    for (int tries = 0; tries < PLACES / 2; tries++, at = (at + 1) & (PLACES - 1)) {
        place *p = &w->places[at];
        if (p->address == address) return p;
        if (p->address) continue;
        p->address = address;
        return p;
    }
    w->full = true;
    return NULL;
}

static void set(uint64_t *bits, int i) { bits[i / 64] |= UINT64_C(1) << i % 64; }
static bool is_set(const uint64_t *bits, int i) { return bits[i / 64] >> i % 64 & 1; }

/* The pieces that number i must come after. */
static void find_needs(spreading *w, int i, uint64_t *needs)
{
    const piece *p = &w->s->pieces[i];
    void *const *address = p->n_reads + p->n_writes ? w->s->addresses + p->at : NULL;
    for (int k = 0; k < p->n_reads + p->n_writes && !w->full; k++) {
        place *at = place_of(w, address[k]);
        if (!at) return;
        if (at->writer) set(needs, at->writer - 1);
        if (k < p->n_reads) continue;
        for (int j = 0; j < WORDS; j++) needs[j] |= at->readers[j];
    }
    for (int j = 0; j < i; j++)
        if (p->alone || w->s->pieces[j].alone) set(needs, j);
    for (int k = 0; k < p->n_reads + p->n_writes && !w->full; k++) {
        place *at = place_of(w, address[k]);
        if (!at) return;
        if (k < p->n_reads) {
            set(at->readers, i);
        } else {
            memset(at->readers, 0, sizeof at->readers);
            at->writer = i + 1;
        }
    }
    /* One that reads what it writes itself does not come after itself. */
    needs[i / 64] &= ~(UINT64_C(1) << i % 64);
}

static void add_edge(spreading *w, void *from, void *to)
{
    if (w->n_edges == w->room) {
        w->full = true;
        return;
    }
    w->from[w->n_edges] = from;
    w->to[w->n_edges++] = to;
}

/* Edges for what no other one implies; the line to the piece before stays where it is one of them. */
static void find_edges(spreading *w, bool *keeps_line)
{
    const kni_runtime_spread *s = w->s;
    for (int i = 0; i < s->n && !w->full; i++) {
        uint64_t needs[WORDS] = {0};
        find_needs(w, i, needs);
        for (int j = i - 1; j >= 0 && !w->full; j--) {
            if (!is_set(needs, j) || is_set(w->before[i], j)) continue;
            for (int k = 0; k < WORDS; k++) w->before[i][k] |= w->before[j][k];
            set(w->before[i], j);
            if (j == i - 1)
                keeps_line[i] = true;
            else
                add_edge(w, s->pieces[j].last, s->pieces[i].first);
        }
    }
}

/* The first node of a piece is what alone follows the last one of the piece before. */
static bool find_firsts(const kni_runtime *rt, kni_runtime_spread *s)
{
    for (int i = 1; i < s->n; i++) {
        void *next[2] = {NULL, NULL};
        size_t n = 2;
        if (!s->pieces[i - 1].last || rt->api->node_dependents(s->pieces[i - 1].last, next, &n) || n != 1)
            return false;
        s->pieces[i].first = next[0];
    }
    return s->n > 0 && s->pieces[s->n - 1].last != NULL;
}

static void spread(kni_runtime *rt, kni_runtime_spread *s, spreading *w, void *graph)
{
    bool keeps_line[MOST] = {false};
    find_edges(w, keeps_line);
    if (w->full) return;
    /* First all that are new, so that whatever fails leaves an order that is good. */
    if (w->n_edges && rt->api->edges_add(graph, w->from, w->to, w->n_edges)) return;
    for (int i = 1; i < s->n; i++)
        if (!keeps_line[i])
            (void)rt->api->edges_remove(graph, &s->pieces[i - 1].last, &s->pieces[i].first, 1);
}

void kni_runtime_spread_edges(kni_runtime *rt, kni_runtime_spread *s, void *graph)
{
    enum { EDGES = 8 * MOST };
    if (s->failed || s->n < 3 || !rt->api->node_dependents || !rt->api->edges_add || !rt->api->edges_remove)
        return;
    if (!find_firsts(rt, s)) return;
    spreading w = {.s = s, .room = EDGES};
    size_t places = PLACES * sizeof *w.places, before = (size_t)s->n * sizeof *w.before;
    w.places = kni_allocate(places);
    w.before = kni_allocate(before);
    w.from = kni_allocate(EDGES * sizeof *w.from);
    w.to = kni_allocate(EDGES * sizeof *w.to);
    if (w.places && w.before && w.from && w.to) {
        memset(w.places, 0, places);
        memset(w.before, 0, before);
        spread(rt, s, &w, graph);
    }
    if (w.places) kni_free(w.places, places);
    if (w.before) kni_free(w.before, before);
    if (w.from) kni_free(w.from, EDGES * sizeof *w.from);
    if (w.to) kni_free(w.to, EDGES * sizeof *w.to);
}
