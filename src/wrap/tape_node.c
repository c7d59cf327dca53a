/* Making, sharing and freeing tape nodes. */
#include "wrap/tape.h"
#include <string.h>

/* The sequence of the thread's latest node. Threads count apart; a node that uses another thread's is lifted past
   it (kni_node_set_input). */
static KNI_THREAD_LOCAL uint64_t latest;

static size_t aligned(size_t n) { return (n + 7) & ~(size_t)7; }

kni_node *kni_node_new(kn_device device, const kn_op *row, int n_in, int n_out, const void *attributes)
{
    size_t pointers = aligned((size_t)n_in * sizeof(kni_node *)),
           ids = aligned((size_t)n_in * sizeof(uint32_t));
    size_t out_ids = aligned((size_t)n_out * sizeof(uint32_t)), head = aligned(sizeof(kni_node));
    size_t types = aligned((size_t)(n_in + n_out) * sizeof(kni_type));
    size_t attribute_bytes = row ? row->attribute_bytes : 0;
    size_t bytes = head + pointers + 2 * ids + out_ids + types + aligned(attribute_bytes);
    char *p = bytes > UINT32_MAX ? NULL : kni_small_allocate(&kni_thread_self()->small, bytes);
    if (!p) {
        kni_fail_op(KN_ERROR_MEMORY, row ? row->name : NULL, "no memory to record the op for its gradient");
        return NULL;
    }
    kni_node *n = (kni_node *)p;
    memset(n, 0, sizeof *n);
    atomic_init(&n->references, 1);
    n->n_in = (uint16_t)n_in;
    n->n_out = (uint16_t)n_out;
    n->bytes = (uint32_t)bytes;
    n->sequence = ++latest;
    n->row = row;
    n->device = device;
    n->inputs = (kni_node **)(p += head);
    n->input_output = (uint32_t *)(p += pointers);
    n->saved_in = (uint32_t *)(p += ids);
    n->saved_out = (uint32_t *)(p += ids);
    n->in_types = (kni_type *)(p += out_ids);
    n->out_types = n->in_types + n_in;
    n->attributes = p + types;
    for (int i = 0; i < n_in; i++) n->inputs[i] = NULL, n->saved_in[i] = KNI_NO_SLOT;
    for (int i = 0; i < n_out; i++) n->saved_out[i] = KNI_NO_SLOT;
    if (attribute_bytes) memcpy(n->attributes, attributes, attribute_bytes);
    return n;
}

void kni_node_retain_one(kni_node *node)
{
    atomic_fetch_add_explicit(&node->references, 1, memory_order_relaxed);
}

void kni_node_set_input(kni_node *node, int i, kni_node *from, uint32_t output)
{
    kni_node_retain_one(from);
    node->inputs[i] = from;
    node->input_output[i] = output;
    if (KNI_UNLIKELY(from->sequence >= node->sequence)) {
        node->sequence = from->sequence + 1;
        if (latest < node->sequence) latest = node->sequence;
    }
}

uint32_t kni_node_save(const kni_tensor *x)
{
    kni_thread *t = kni_thread_self();
    uint32_t id = kni_tensor_new(t);
    if (id == KNI_NO_SLOT) return id;
    kni_tensor *y = kni_slot(id);
    kni_scope_unlink(t, id);
    kni_tensor_copy_value(y, x);
    y->state = KNI_GONE;
    if (y->node) kni_node_release_one(y->node);
    y->node = NULL;
    return id;
}

static void release_saved(kni_thread *t, kni_node *n)
{
    for (int i = 0; i < n->n_in; i++) {
        if (n->saved_in[i] != KNI_NO_SLOT) kni_tensor_release(t, n->saved_in[i]);
        n->saved_in[i] = KNI_NO_SLOT;
    }
    for (int i = 0; i < n->n_out; i++) {
        if (n->saved_out[i] != KNI_NO_SLOT) kni_tensor_release(t, n->saved_out[i]);
        n->saved_out[i] = KNI_NO_SLOT;
    }
}

void kni_node_forget(kni_node *n)
{
    atomic_store(&n->walked, true);
    release_saved(kni_thread_self(), n);
}

/* Nodes to free; a long chain is freed in a loop, never by recursion. */
static KNI_THREAD_LOCAL kni_node *dying;
static KNI_THREAD_LOCAL bool freeing;

static void free_node(kni_node *n)
{
    kni_thread *t = kni_thread_self();
    release_saved(t, n);
    for (int i = 0; i < n->n_in; i++)
        if (n->inputs[i]) kni_node_release_one(n->inputs[i]);
    if (n->free_context) n->free_context(n->context, n->context_bytes);
    kni_small_free(&t->small, n, n->bytes);
}

void kni_node_release_one(kni_node *node)
{
    /* The only owner needs no locked instruction. */
    if (atomic_load_explicit(&node->references, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&node->references, 1, memory_order_acq_rel) != 1)
        return;
    node->next = dying;
    dying = node;
    if (freeing) return;
    freeing = true;
    while (dying) {
        kni_node *n = dying;
        dying = n->next;
        free_node(n);
    }
    freeing = false;
}

void kni_node_attach(kni_node *node, kni_tensor *x, uint32_t output)
{
    kni_node_retain_one(node);
    kni_node_hand_on(node, x, output);
}

void kni_node_hand_on(kni_node *node, kni_tensor *x, uint32_t output)
{
    if (x->node) kni_node_release_one(x->node);
    x->node = node;
    x->node_output = output;
}
