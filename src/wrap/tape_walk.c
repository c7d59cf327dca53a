/* Backward: collects the nodes that outputs reach, keeps those that lead to what is asked for, and runs their
   gradients from the latest to the earliest. Fan-in adds in that order, so results are deterministic. */
#include "core/objects.h"
#include "ops/autocast_state.h"
#include "wrap/tape.h"
#include <string.h>

/* A node on the way, with the cotangents of its outputs gathered so far. */
typedef struct stop {
    kni_node *node;
    kn_tensor *dy;             /* n_out of them, KN_NONE where nothing has arrived */
    kni_cotangent_part *parts; /* that have arrived and are not in dy yet */
    bool leads;                /* to something asked for */
    bool asked;                /* its cotangents are results */
} stop;

typedef struct walk {
    stop *stops; /* by sequence, earliest first, once sorted */
    int n, capacity;
    int *table; /* open addressing: node -> 1 + index of its stop while collecting */
    int table_size;
    uint32_t flags;
} walk;

static size_t hash_of(const kni_node *node)
{
    return (size_t)((node->sequence * UINT64_C(0x9E3779B97F4A7C15)) >> 20);
}

static int *place_of(walk *w, const kni_node *node)
{
    size_t i = hash_of(node) & (size_t)(w->table_size - 1);
    while (w->table[i] && w->stops[w->table[i] - 1].node != node) i = (i + 1) & (size_t)(w->table_size - 1);
    return &w->table[i];
}

static bool grow(walk *w)
{
    int capacity = w->capacity ? 2 * w->capacity : 64, size = 2 * capacity;
    stop *stops =
        kni_reallocate(w->stops, (size_t)w->capacity * sizeof *stops, (size_t)capacity * sizeof *stops);
    if (!stops) return false;
    w->stops = stops;
    int *table = kni_allocate((size_t)size * sizeof *table);
    /* The old table may be lost now: only a full rebuild follows. */
    if (!table) {
        kni_free(w->table, (size_t)w->table_size * sizeof *table);
        w->table = NULL;
        w->capacity = capacity;
        w->table_size = 0;
        return false;
    }
    memset(table, 0, (size_t)size * sizeof *table);
    kni_free(w->table, (size_t)w->table_size * sizeof *table);
    w->table = table;
    w->capacity = capacity;
    w->table_size = size;
    for (int i = 0; i < w->n; i++) *place_of(w, w->stops[i].node) = i + 1;
    return true;
}

static bool add_stop(walk *w, kni_node *node)
{
    if (w->n == w->capacity && !grow(w)) return false;
    int *place = place_of(w, node);
    if (*place) return true;
    size_t bytes = (size_t)node->n_out * sizeof(kn_tensor);
    kn_tensor *dy = kni_small_allocate(&kni_thread_self()->small, bytes);
    if (!dy) return false;
    memset(dy, 0, bytes);
    w->stops[w->n] = (stop){.node = node, .dy = dy};
    *place = ++w->n;
    return true;
}

/* Everything reachable: the list of stops is its own work list. */
static bool collect(walk *w, const kn_tensor *outputs, int n)
{
    for (int i = 0; i < n; i++) {
        const kni_tensor *x = kni_peek(outputs[i]);
        if (x && x->node && !add_stop(w, x->node)) return false;
    }
    for (int i = 0; i < w->n; i++) {
        kni_node *node = w->stops[i].node;
        for (int k = 0; k < node->n_in; k++)
            if (node->inputs[k] && !add_stop(w, node->inputs[k])) return false;
    }
    return true;
}

static void free_walk(walk *w)
{
    kni_small_cache *small = &kni_thread_self()->small;
    for (int i = 0; i < w->n; i++) {
        kni_small_free(small, w->stops[i].dy, (size_t)w->stops[i].node->n_out * sizeof(kn_tensor));
        kni_parts_free(&w->stops[i].parts);
    }
    kni_free(w->stops, (size_t)w->capacity * sizeof *w->stops);
    kni_free(w->table, (size_t)w->table_size * sizeof *w->table);
}

static void sift_down(stop *a, int i, int n)
{
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && a[child + 1].node->sequence > a[child].node->sequence) child++;
        if (a[i].node->sequence >= a[child].node->sequence) return;
        stop swap = a[i];
        a[i] = a[child];
        a[child] = swap;
    }
}

static void sort_by_sequence(walk *w)
{
    for (int i = w->n / 2 - 1; i >= 0; i--) sift_down(w->stops, i, w->n);
    for (int n = w->n - 1; n > 0; n--) {
        stop swap = w->stops[0];
        w->stops[0] = w->stops[n];
        w->stops[n] = swap;
        sift_down(w->stops, 0, n);
    }
    memset(w->table, 0, (size_t)w->table_size * sizeof *w->table);
    for (int i = 0; i < w->n; i++) *place_of(w, w->stops[i].node) = i + 1;
}

static stop *find(walk *w, const kni_node *node)
{
    int *place = place_of(w, node);
    return *place ? &w->stops[*place - 1] : NULL;
}

static void mark_leading(walk *w, const kni_wrt *wrt, int n_wrt)
{
    for (int i = 0; i < n_wrt; i++) {
        stop *s = wrt[i].node ? find(w, wrt[i].node) : NULL;
        if (s) s->leads = s->asked = true;
    }
    for (int i = 0; i < w->n; i++) {
        stop *s = &w->stops[i];
        for (int k = 0; k < s->node->n_in && !s->leads; k++)
            s->leads = s->node->inputs[k] && find(w, s->node->inputs[k])->leads;
    }
}

/* Adds a gradient to what output k of a node has. A gradient that is somebody else's handle (an addition hands
   its cotangent on to both operands) gets one of its own, because cotangents are dropped when they are used. */
static kn_status accumulate(stop *s, uint32_t k, kn_tensor gradient)
{
    const kni_tensor *g = kni_peek(gradient);
    if (g && g->state != KNI_TEMPORARY) gradient = kn_alias(gradient);
    kn_tensor sum = s->dy[k].bits ? kn_add(s->dy[k], gradient) : gradient;
    if (s->dy[k].bits && kn_ok(s->dy[k])) kn_drop(s->dy[k]);
    s->dy[k] = kn_keep(sum);
    return kni_is_poisoned(sum) ? kni_failure_again(sum) : KN_OK;
}

/* A kept alias of a saved value, in its place of the tape when gradients are to be differentiated again. */
static kn_tensor revive(const walk *w, uint32_t saved, kn_device device, kni_node *node, uint32_t output)
{
    if (saved == KNI_NO_SLOT) return KN_NONE;
    kn_tensor h = kni_alias_kept(kni_thread_self(), kni_slot(saved), device);
    kni_tensor *x = kni_peek(h);
    if (!x) return h;
    if (x->node) kni_node_release_one(x->node);
    x->node = NULL;
    if (node && (w->flags & KN_GRAD_CREATE_GRAPH)) kni_node_attach(node, x, output);
    return h;
}

static kn_status run_row(walk *w, stop *s, uint64_t needs, kn_tensor *grads)
{
    kni_node *node = s->node;
    kn_tensor in[KNI_NODE_OPERANDS], out[KNI_NODE_OPERANDS];
    for (int i = 0; i < node->n_in; i++)
        in[i] = revive(w, node->saved_in[i], node->device, node->inputs[i], node->input_output[i]);
    for (int i = 0; i < node->n_out; i++)
        out[i] = revive(w, node->saved_out[i], node->device, node, (uint32_t)i);
    kni_vjp v = {node->row,
                 node->attributes,
                 node->n_in,
                 node->n_out,
                 in,
                 out,
                 node->in_types,
                 node->out_types,
                 s->dy,
                 grads,
                 needs,
                 0,
                 0};
    kni_gradient_fn fn = kni_gradient_of(node->row);
    if (fn) return kni_vjp_run(&v, fn);
    if (node->row->flags & KNI_FLAG_ZERO_GRADIENT) {
        for (int i = 0; i < node->n_in; i++)
            if (needs >> i & 1) grads[i] = kn_zeros(kni_vjp_shape(&v, i), (kn_dtype)node->in_types[i].dtype);
        return KN_OK;
    }
    const kn_op *row = node->row;
    if (row->source)
        return kni_fail(
            KN_ERROR_GRADIENT,
            "the kernel '%s' has no gradient: make an op of it with kn_kernel_op() and .gradient_kernel (or "
            ".gradient), or cut the tape before it with kn_detach()",
            row->name);
    if (row->host)
        return kni_fail(
            KN_ERROR_GRADIENT,
            "the op '%s' has no gradient: give kn_custom_register() its .gradient, or cut the tape before "
            "it with kn_detach()",
            row->name);
    return kni_fail(KN_ERROR_GRADIENT, "kn_%s has no gradient: cut the tape before it with kn_detach()",
                    row->name);
}

static void forget(const walk *w, kni_node *node)
{
    if (!(w->flags & (KN_GRAD_RETAIN | KN_GRAD_CREATE_GRAPH))) kni_node_forget(node);
}

static kn_status run_stop(walk *w, stop *s)
{
    kni_node *node = s->node;
    kn_tensor grads[KNI_NODE_OPERANDS] = {{0}};
    uint64_t needs = 0;
    for (int i = 0; i < node->n_in; i++)
        if (node->inputs[i] && find(w, node->inputs[i])->leads) needs |= UINT64_C(1) << i;
    if (atomic_load(&node->walked))
        return kni_fail(
            KN_ERROR_GRADIENT,
            "the tape was walked before and its saved values are gone: compute the loss again, or "
            "take the first gradients by kn_grad() with KN_GRAD_RETAIN");
    if (node->special && (w->flags & KN_GRAD_CREATE_GRAPH))
        return kni_fail(
            KN_ERROR_GRADIENT,
            "gradients of gradients do not pass through kn_recompute(): call the segment directly");
    if (needs && kni_part_fits(node)) {
        kn_tensor at = KN_NONE;
        if (kni_part_of_rows(node)) at = revive(w, node->saved_in[1], node->device, NULL, 0);
        if (!kni_part_add(&find(w, node->inputs[0])->parts, node, s->dy[0], at))
            return kni_fail(KN_ERROR_MEMORY, "kn_grad: no memory to walk the tape");
        forget(w, node);
        return KN_OK;
    }
    kn_scope scope = kn_scope_begin();
    kn_status status =
        node->special ? node->special(node, s->dy[0], grads, needs) : run_row(w, s, needs, grads);
    kn_scope_end_many(scope, grads, node->n_in);
    for (int i = 0; i < node->n_in && status == KN_OK; i++) {
        if (!(needs >> i & 1) || !grads[i].bits) continue;
        status = kni_is_poisoned(grads[i])
                     ? kni_failure_again(grads[i])
                     : accumulate(find(w, node->inputs[i]), node->input_output[i], grads[i]);
    }
    forget(w, node);
    return status;
}

/* Everything that reads the value has been walked: its parts are complete. */
static kn_status join_parts(stop *s)
{
    kn_status status = KN_OK;
    while (s->parts && status == KN_OK) {
        uint32_t output;
        bool replaces;
        kn_tensor whole = kni_parts_take(&s->parts, s->dy, &output, &replaces);
        status = kni_is_poisoned(whole) ? kni_failure_again(whole) : KN_OK;
        if (replaces && status == KN_OK) {
            if (kn_ok(s->dy[output])) kn_drop(s->dy[output]);
            s->dy[output] = KN_NONE;
        }
        if (status == KN_OK) status = accumulate(s, output, whole);
    }
    return status;
}

static bool has_cotangent(const stop *s)
{
    for (int k = 0; k < s->node->n_out; k++)
        if (s->dy[k].bits) return true;
    return false;
}

/* Gradients that have been handed on need no memory any more. */
static void drop_cotangents(stop *s)
{
    for (int k = 0; k < s->node->n_out && !s->asked; k++) {
        if (kn_ok(s->dy[k])) kn_drop(s->dy[k]);
        s->dy[k] = KN_NONE;
    }
}

static kn_status seed(walk *w, const kn_tensor *outputs, const kn_tensor *cotangents, int n)
{
    for (int i = 0; i < n; i++) {
        const kni_tensor *y = kni_peek(outputs[i]);
        if (!y || !y->node) continue;
        stop *s = find(w, y->node);
        uint32_t k = y->node_output;
        kn_shape shape = kni_shape_from_type(&y->type);
        kn_tensor dy;
        if (cotangents && cotangents[i].bits) {
            const kni_tensor *c = kni_peek(cotangents[i]);
            if (c && !kni_same_dims(&c->type, &y->type))
                return kni_fail(KN_ERROR_SHAPE,
                                "kn_grad: cotangent %S does not have the shape of its output %S", &c->type,
                                &y->type);
            dy = kn_alias(cotangents[i]);
        } else {
            if (kni_count(&y->type) != 1)
                return kni_fail(
                    KN_ERROR_GRADIENT,
                    "kn_grad: output %S has more than one element: give a cotangent or reduce it, "
                    "for example with kn_mean()",
                    &y->type);
            dy = kn_ones(shape, (kn_dtype)y->type.dtype);
        }
        kn_status status = kni_is_poisoned(dy) ? kni_failure_again(dy) : accumulate(s, k, dy);
        if (status) return status;
    }
    return KN_OK;
}

static kn_status go(walk *w, const kn_tensor *outputs, const kn_tensor *cotangents, int n, const kni_wrt *wrt,
                    int n_wrt, kn_tensor *grads)
{
    if (!collect(w, outputs, n)) return kni_fail(KN_ERROR_MEMORY, "kn_grad: no memory to walk the tape");
    if (w->n) sort_by_sequence(w);
    if (w->n) mark_leading(w, wrt, n_wrt);
    kn_status s = w->n ? seed(w, outputs, cotangents, n) : KN_OK;
    for (int i = w->n - 1; i >= 0 && s == KN_OK; i--) {
        stop *at = &w->stops[i];
        if (at->parts) s = join_parts(at);
        if (s || !at->leads || !has_cotangent(at) || (!at->node->row && !at->node->special)) continue;
        s = run_stop(w, at);
        drop_cotangents(at);
    }
    for (int i = 0; i < n_wrt; i++) {
        stop *at = w->n && wrt[i].node ? find(w, wrt[i].node) : NULL;
        kn_tensor found = at ? at->dy[wrt[i].output] : KN_NONE;
        grads[i] = s ? kni_poison_latest() : found.bits ? kn_alias(found) : KN_NONE;
        if (!s && kni_is_poisoned(grads[i])) s = kni_failure_again(grads[i]);
    }
    return s;
}

kn_status kni_tape_walk(const kn_tensor *outputs, const kn_tensor *cotangents, int n_outputs,
                        const kni_wrt *wrt, int n_wrt, uint32_t flags, kn_tensor *grads)
{
    walk w = {.flags = flags};
    kni_thread *t = kni_thread_self();
    kni_context before = kni_context_push(t);
    const kni_tensor *first = n_outputs ? kni_peek(outputs[0]) : NULL;
    kn_scope scope = kn_scope_begin();
    /* What gradients make from nothing belongs to the device they run on. */
    if (first) t->context.current = first->device, t->context.call_device = NULL;
    t->context.no_grad = flags & KN_GRAD_CREATE_GRAPH ? 0 : before.no_grad + 1;
    t->context.autocast = KN_DTYPE_NONE;
    kn_status s = go(&w, outputs, cotangents, n_outputs, wrt, n_wrt, grads);
    kni_context_pop(t, &before);
    kn_scope_end_many(scope, grads, n_wrt);
    free_walk(&w);
    return s;
}

int kni_tape_leaves(kn_tensor t, kni_node **leaves, int room)
{
    walk w = {0};
    int n = 0;
    if (collect(&w, &t, 1)) {
        if (w.n) sort_by_sequence(&w);
        for (int i = 0; i < w.n; i++) {
            if (w.stops[i].node->row || w.stops[i].node->special) continue;
            if (n < room) leaves[n] = w.stops[i].node;
            n++;
        }
    } else {
        n = -1;
        kni_fail(KN_ERROR_MEMORY, "no memory to walk the tape");
    }
    free_walk(&w);
    return n;
}
