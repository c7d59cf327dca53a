/* Segments that save no intermediates: run once to see which leaves they use, and again in backward with the
   same random numbers. */
#include "core/objects.h"
#include "ops/autocast_state.h"
#include "wrap/tape.h"
#include <string.h>

enum { MAX_INPUTS = 16, MAX_LEAVES = 48 };
_Static_assert(MAX_INPUTS + MAX_LEAVES <= KNI_NODE_OPERANDS, "a segment is one node");

typedef struct segment {
    kn_segment_fn fn;
    void *context;
    kn_device device;
    uint64_t rng_key, rng_counter;
    int n_inputs;
    uint8_t autocast; /* in force when it ran first */
} segment;

static void free_segment(void *context, size_t bytes) { kni_free(context, bytes); }

/* Aliases of the inputs, each the leaf of a tape of its own where a gradient is wanted. */
static kn_status fresh_inputs(const kni_tensor *const *from, int n, uint64_t tracked, kn_tensor *fresh)
{
    for (int i = 0; i < n; i++) {
        fresh[i] = kn_detach(kni_alias_kept(kni_thread_self(), from[i], from[i]->device));
        if (tracked >> i & 1) fresh[i] = kn_require_grad(fresh[i]);
        fresh[i] = kn_keep(fresh[i]);
        if (!kn_ok(fresh[i])) return kni_failure_again(fresh[i]);
    }
    return KN_OK;
}

/* What a segment returned, poisoned when it is no tensor. */
static kn_tensor checked_result(kn_tensor y)
{
    if (kni_is_poisoned(y)) return y;
    if (!y.bits)
        kni_fail_op(KN_ERROR_ARGUMENT, "recompute", "the segment returned KN_NONE; it must give a tensor");
    return y.bits && kni_resolve(y, "recompute") ? y : kni_poison_latest();
}

static kn_tensor run_again(segment *s, const kn_tensor *inputs)
{
    kni_thread *t = kni_thread_self();
    kni_context before = kni_context_push(t);
    uint64_t counter = s->rng_counter;
    t->context.replay_device = s->device;
    t->context.replay_key = s->rng_key;
    t->context.replay_counter = &counter;
    t->context.no_grad = 0;
    t->context.autocast = s->autocast;
    kn_tensor y = kn_keep(checked_result(s->fn(s->context, inputs, s->n_inputs)));
    kni_context_pop(t, &before);
    return y;
}

static kn_status backward(kni_node *node, kn_tensor dy, kn_tensor *grads, uint64_t needs)
{
    segment *s = node->context;
    const kni_tensor *saved[MAX_INPUTS];
    kn_tensor fresh[MAX_INPUTS];
    kni_wrt wrt[MAX_INPUTS + MAX_LEAVES];
    for (int i = 0; i < s->n_inputs; i++) saved[i] = kni_slot(node->saved_in[i]);
    kn_status status = fresh_inputs(saved, s->n_inputs, needs, fresh);
    if (status) return status;
    kn_tensor y = run_again(s, fresh);
    if (!kn_ok(y)) return kni_failure_again(y);
    for (int i = 0; i < node->n_in; i++) {
        wrt[i] = (kni_wrt){NULL, 0};
        if (!(needs >> i & 1)) continue;
        if (i < s->n_inputs)
            wrt[i].node = kni_peek(fresh[i])->node;
        else
            wrt[i] = (kni_wrt){node->inputs[i], node->input_output[i]};
    }
    return kni_tape_walk(&y, &dy, 1, wrt, node->n_in, 0, grads);
}

/* The node of the whole segment: its inputs, then every other leaf it uses. */
static kn_status make_node(kni_tensor *y, const kni_tensor *const *inputs, segment *s, kni_node **leaves,
                           int n_leaves)
{
    kni_node *node = kni_node_new(y->device, NULL, s->n_inputs + n_leaves, 1, NULL);
    if (!node) {
        free_segment(s, sizeof *s);
        return KN_ERROR_MEMORY;
    }
    node->special = backward;
    node->context = s;
    node->context_bytes = sizeof *s;
    node->free_context = free_segment;
    node->out_types[0] = y->type;
    kn_status status = KN_OK;
    for (int i = 0; i < s->n_inputs; i++) {
        node->in_types[i] = inputs[i]->type;
        node->saved_in[i] = kni_node_save(inputs[i]);
        if (node->saved_in[i] == KNI_NO_SLOT)
            status = kni_fail(KN_ERROR_MEMORY, "kn_recompute: no memory for an input");
        if (inputs[i]->node) kni_node_set_input(node, i, inputs[i]->node, inputs[i]->node_output);
    }
    for (int i = 0; i < n_leaves; i++) {
        kni_node_set_input(node, s->n_inputs + i, leaves[i], 0);
        node->in_types[s->n_inputs + i] = leaves[i]->out_types[0];
    }
    if (status == KN_OK) kni_node_attach(node, y, 0);
    kni_node_release_one(node);
    return status;
}

/* Leaves of y that are not the fresh inputs: params the segment refers to by itself. */
static int other_leaves(kn_tensor y, const kn_tensor *fresh, int n, kni_node **leaves)
{
    kni_node *all[MAX_LEAVES + MAX_INPUTS];
    int found = kni_tape_leaves(y, all, MAX_LEAVES + MAX_INPUTS), kept = 0;
    if (found > MAX_LEAVES + MAX_INPUTS) return found;
    for (int i = 0; i < found; i++) {
        bool input = false;
        for (int k = 0; k < n; k++) input |= kni_peek(fresh[k])->node == all[i];
        if (!input && kept < MAX_LEAVES) leaves[kept] = all[i];
        if (!input) kept++;
    }
    return found < 0 ? found : kept;
}

static kn_tensor run_first(kn_segment_fn fn, void *context, const kni_tensor *const *from, int n)
{
    kn_tensor fresh[MAX_INPUTS];
    kni_node *leaves[MAX_LEAVES];
    uint64_t tracked = 0;
    for (int i = 0; i < n; i++)
        if (from[i]->node) tracked |= UINT64_C(1) << i;
    if (fresh_inputs(from, n, tracked, fresh)) return kni_poison_latest();
    kn_device device = n ? from[0]->device : kni_device_current();
    if (!device) return kni_poison_latest();
    const kni_thread *t = kni_thread_self();
    bool replaying = t->context.replay_device == device;
    uint64_t counter = replaying ? *t->context.replay_counter : atomic_load(&device->rng_counter),
             key = kni_rng_key(device);
    kn_tensor y = checked_result(fn(context, fresh, n));
    const kni_tensor *result = kni_peek(y);
    if (!result || !result->node) return y;
    int n_leaves = other_leaves(y, fresh, n, leaves);
    if (n_leaves < 0) return kni_poison_latest();
    if (n_leaves > MAX_LEAVES) {
        kni_fail(KN_ERROR_UNSUPPORTED, "kn_recompute: a segment may use at most %d params: make it smaller",
                 (int)MAX_LEAVES);
        return kni_poison_latest();
    }
    segment *s = kni_allocate(sizeof *s);
    if (!s) {
        kni_fail(KN_ERROR_MEMORY, "kn_recompute: no memory for the segment");
        return kni_poison_latest();
    }
    *s = (segment){fn, context, device, key, counter, n, kni_this_thread.context.autocast};
    y = kn_detach(y);
    if (!kn_ok(y)) {
        free_segment(s, sizeof *s);
        return y;
    }
    return make_node(kni_peek(y), from, s, leaves, n_leaves) ? kni_poison_latest() : y;
}

kn_tensor kn_recompute(kn_segment_fn fn, void *context, const kn_tensor *inputs, int32_t n)
{
    kni_call call = kni_call_begin("recompute");
    const kni_tensor *from[MAX_INPUTS] = {NULL};
    if (n > 0 && !inputs) return kni_call_fail(call, KN_ERROR_ARGUMENT, "the list of %d inputs is NULL", n);
    if (!fn || n < 0 || n > MAX_INPUTS)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "needs a function and at most %d inputs",
                             (int)MAX_INPUTS);
    for (int i = 0; i < n; i++) {
        const kni_tensor *x = kni_peek(inputs[i]);
        /* A param may get another value while the segment runs: both passes see the one it has now. */
        kn_tensor kept = kn_keep(x && (x->flags & KNI_TENSOR_PARAM) ? kn_alias(inputs[i]) : inputs[i]);
        from[i] = kni_is_poisoned(kept) ? NULL : kni_resolve(kept, "recompute");
        if (!from[i]) return kni_call_end(call, kni_is_poisoned(kept) ? kept : kni_poison_latest());
    }
    return kni_call_end(call, run_first(fn, context, from, n));
}
