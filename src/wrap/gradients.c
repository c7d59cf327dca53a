/* The public face of the tape: require_grad, detach, kn_grad, kn_backward and the gradients it returns. */
#include "core/call_site.h"
#include "core/objects.h"
#include "core/stored.h"
#include "wrap/fusion.h"
#include "wrap/tape.h"
#include <string.h>

kn_tensor kn_require_grad(kn_tensor t)
{
    kni_call_counts(kni_thread_self());
    if (kni_is_poisoned(t)) return t;
    kni_tensor *x = kni_resolve(t, "require_grad");
    if (!x) return kni_poison_latest();
    if (!kn_dtype_is_float((kn_dtype)x->type.dtype)) {
        kni_fail(KN_ERROR_DTYPE, "kn_require_grad: only float tensors have gradients, not %T",
                 (int)x->type.dtype);
        return kni_poison_latest();
    }
    if (!x->device->tape) {
        kni_fail(
            KN_ERROR_DEVICE,
            "kn_require_grad: the device %s records nothing: open autodiff(%s) and make the tensor there",
            x->device->name, x->device->name);
        return kni_poison_latest();
    }
    if (!x->node) {
        kni_node *leaf = kni_node_new(x->device, NULL, 0, 1, NULL);
        if (!leaf) return kni_poison_latest();
        leaf->out_types[0] = x->type;
        kni_node_attach(leaf, x, 0);
        kni_node_release_one(leaf);
    }
    x->flags |= KNI_TENSOR_REQUIRES_GRAD;
    return kn_keep(t);
}

bool kn_is_require_grad(kn_tensor t)
{
    const kni_tensor *x = kni_peek(t);
    return x && x->node;
}

kn_tensor kn_detach(kn_tensor t)
{
    kni_call_counts(kni_thread_self());
    if (kni_is_poisoned(t)) return t;
    kn_tensor y = kn_alias(t);
    kni_tensor *x = kni_peek(y);
    if (!x) return y;
    if (x->node) kni_node_release_one(x->node);
    x->node = NULL;
    x->flags &= (uint8_t)~KNI_TENSOR_REQUIRES_GRAD;
    const kni_tensor *from = kni_peek(t);
    if (from && from->state == KNI_TEMPORARY) kni_tensor_take(kni_thread_self(), kni_slot_of(t), "detach");
    return y;
}

void kn_no_grad_begin(void) { kni_thread_self()->context.no_grad++; }

void kn_no_grad_end(void)
{
    kni_thread *t = kni_thread_self();
    if (t->context.no_grad > 0) t->context.no_grad--;
}

bool kn_grad_enabled(void) { return kni_thread_self()->context.no_grad == 0; }

/* Every output must be a good tensor; at least one must be on a tape. */
static kn_status check_outputs(const char *name, const kn_tensor *outputs, int n, uint32_t flags)
{
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (kni_is_poisoned(outputs[i])) return kni_fail_carried(outputs[i], name, "the output");
        const kni_tensor *x = kni_resolve(outputs[i], name);
        if (!x) return KN_ERROR_HANDLE;
        any |= x->node != NULL;
    }
    if (any || (flags & KN_GRAD_ALLOW_UNUSED)) return KN_OK;
    return kni_fail_op(
        KN_ERROR_GRADIENT, name,
        "no output depends on a param or a kn_require_grad() tensor: was it computed "
        "under kn_no_grad_begin(), on a device without autodiff, or detached, or are all params "
        "frozen (kn_module_freeze)?");
}

/* A cotangent is absent or a good tensor of its output's dtype; the walk compares the shapes. */
static kn_status check_cotangents(const kn_tensor *outputs, const kn_tensor *cotangents, int n)
{
    for (int i = 0; cotangents && i < n; i++) {
        if (!cotangents[i].bits) continue;
        if (kni_is_poisoned(cotangents[i])) return kni_fail_carried(cotangents[i], "grad", "cotangent %d", i);
        const kni_tensor *c = kni_resolve(cotangents[i], "grad"), *y = kni_peek(outputs[i]);
        if (!c) return KN_ERROR_HANDLE;
        if (c->type.dtype != y->type.dtype)
            return kni_fail_op(KN_ERROR_DTYPE, "grad",
                               "cotangent %d is %T, its output %T: convert it with kn_cast()", i,
                               (int)c->type.dtype, (int)y->type.dtype);
    }
    return KN_OK;
}

kn_status kn_grad(const kn_tensor *outputs, const kn_tensor *cotangents, int32_t n_outputs,
                  const kn_tensor *wrt, int32_t n_wrt, uint32_t flags, kn_tensor *grads)
{
    enum { FEW = 32 };
    kni_wrt few[FEW], *places = few;
    if (n_outputs < 1 || n_wrt < 0)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_grad: %d outputs and %d inputs; at least 1 and 0", n_outputs,
                        n_wrt);
    if (!outputs || (n_wrt > 0 && (!wrt || !grads)))
        return kni_fail(KN_ERROR_ARGUMENT, "kn_grad: the list of %s is NULL",
                        !outputs ? "outputs"
                        : !wrt   ? "inputs"
                                 : "gradients");
    for (int i = 0; i < n_wrt; i++) grads[i] = KN_NONE;
    kn_status s = check_outputs("grad", outputs, n_outputs, flags);
    if (s == KN_OK) s = check_cotangents(outputs, cotangents, n_outputs);
    if (s == KN_OK && n_wrt > FEW) {
        places = kni_allocate((size_t)n_wrt * sizeof *places);
        if (!places) s = kni_fail(KN_ERROR_MEMORY, "kn_grad: no memory to walk the tape");
    }
    for (int i = 0; i < n_wrt && s == KN_OK; i++) {
        const kni_tensor *x = kni_resolve(wrt[i], "grad");
        if (!x)
            s = kni_is_poisoned(wrt[i]) ? kni_failure_again(wrt[i]) : KN_ERROR_HANDLE;
        else if (!x->node && !(flags & KN_GRAD_ALLOW_UNUSED))
            s = kni_fail(KN_ERROR_GRADIENT, "kn_grad: input %d is on no tape: make it with kn_require_grad()",
                         i);
        else
            places[i] = (kni_wrt){x->node, x->node_output};
    }
    if (s == KN_OK) s = kni_tape_walk(outputs, cotangents, n_outputs, places, n_wrt, flags, grads);
    for (int i = 0; i < n_wrt && s == KN_OK; i++)
        if (!grads[i].bits && !(flags & KN_GRAD_ALLOW_UNUSED))
            s = kni_fail(KN_ERROR_GRADIENT,
                         "kn_grad: no output depends on input %d; KN_GRAD_ALLOW_UNUSED gives KN_NONE for it",
                         i);
    if (places && places != few) kni_free(places, (size_t)n_wrt * sizeof *places);
    if (s) kni_error_named("grad");
    if (s)
        for (int i = 0; i < n_wrt; i++) {
            if (kn_ok(grads[i])) kn_drop(grads[i]);
            grads[i] = kni_poison_latest();
        }
    return s;
}

typedef struct kni_grads {
    int32_t n;
    size_t bytes;
    struct {
        kni_node *leaf;
        kn_tensor gradient; /* owned */
    } at[];
} kni_grads;

static void destroy_grads(void *object)
{
    kni_grads *g = object;
    for (int i = 0; i < g->n; i++) {
        if (g->at[i].gradient.bits) kn_drop(g->at[i].gradient);
        if (g->at[i].leaf) kni_node_release_one(g->at[i].leaf);
    }
    kni_free(g, g->bytes);
}

const kni_object_kind kni_kind_grads = {"kn_grads", "gradients object", "freed", destroy_grads};

static kni_grads *new_grads(int32_t n)
{
    size_t bytes = sizeof(kni_grads) + (size_t)n * sizeof(((kni_grads *)NULL)->at[0]);
    kni_grads *g = kni_allocate(bytes);
    if (!g) return NULL;
    memset(g, 0, bytes);
    g->bytes = bytes;
    return g;
}

static kn_status fill_grads(kn_tensor loss, kni_grads *g, kni_node **leaves)
{
    kni_wrt *wrt = kni_allocate((size_t)g->n * sizeof *wrt);
    kn_tensor *grads = kni_allocate((size_t)g->n * sizeof *grads);
    kn_status s =
        wrt && grads ? KN_OK : kni_fail(KN_ERROR_MEMORY, "kn_backward: no memory for the gradients");
    for (int i = 0; i < g->n && s == KN_OK; i++) wrt[i] = (kni_wrt){leaves[i], 0}, grads[i] = KN_NONE;
    if (s == KN_OK) s = kni_tape_walk(&loss, NULL, 1, wrt, g->n, 0, grads);
    for (int i = 0; i < g->n && s == KN_OK; i++) {
        kni_node_retain_one(leaves[i]);
        g->at[i].leaf = leaves[i];
        g->at[i].gradient = grads[i].bits ? kn_own(grads[i]) : KN_NONE;
    }
    kni_free(wrt, (size_t)g->n * sizeof *wrt);
    kni_free(grads, (size_t)g->n * sizeof *grads);
    return s;
}

kn_status kn_backward(kn_tensor loss, kn_grads *grads)
{
    if (!grads) return kni_fail(KN_ERROR_ARGUMENT, "kn_backward: the place for the gradients is NULL");
    *grads = NULL;
    kn_status s = check_outputs("backward", &loss, 1, 0);
    if (s) return s;
#ifndef KN_FREESTANDING
    /* A device that works beside the host runs the forward pass while the gradients are recorded. */
    kni_fusion_begin(kni_peek(loss)->device);
#endif
    int n = kni_tape_leaves(loss, NULL, 0);
    if (n < 0) return KN_ERROR_MEMORY;
    kni_node **leaves = kni_allocate((size_t)n * sizeof *leaves);
    kni_grads *g = leaves ? new_grads(n) : NULL;
    if (!g) {
        kni_free(leaves, (size_t)n * sizeof *leaves);
        return kni_fail(KN_ERROR_MEMORY, "kn_backward: no memory for the gradients");
    }
    g->n = n;
    if (kni_tape_leaves(loss, leaves, n) != n) s = KN_ERROR_MEMORY;
    if (s == KN_OK) s = fill_grads(loss, g, leaves);
    kni_free(leaves, (size_t)n * sizeof *leaves);
    if (s) {
        kni_error_named("backward");
        destroy_grads(g);
        return s;
    }
    *grads = kni_object_make(&kni_kind_grads, g, __func__);
    return *grads ? KN_OK : KN_ERROR_MEMORY;
}

static int position(const kni_grads *g, kn_tensor t)
{
    const kni_tensor *x = kni_peek(t);
    for (int i = 0; x && x->node && i < g->n; i++)
        if (g->at[i].leaf == x->node) return i;
    return -1;
}

/* What failed inside fails under the name of the function that was called. */
static kn_status handed_on(kn_tensor poison, const char *function)
{
    kn_status s = kni_failure_again(poison);
    kni_error_renamed_by(function);
    return s;
}

/* Stores the gradient of the next leaf. */
static kn_status add_gradient(kni_grads *g, kn_tensor leaf, kn_tensor gradient)
{
    const kni_tensor *x = kni_peek(leaf);
    if (!x || !x->node)
        return kni_fail(KN_ERROR_GRADIENT,
                        "kn_grads_make: leaf %d is on no tape: make it with kn_param_make()", g->n);
    int earlier = position(g, leaf);
    if (earlier >= 0)
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_grads_make: leaf %d is leaf %d again: add their gradients with kn_add()", g->n,
                        earlier);
    if (!gradient.bits)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_grads_make: the gradient of leaf %d is KN_NONE", g->n);
    if (kni_is_poisoned(gradient))
        return kni_fail_carried(gradient, "grads_make", "the gradient of leaf %d", g->n);
    kn_tensor owned = kni_stored(gradient);
    if (kni_is_poisoned(owned)) return handed_on(owned, "kn_grads_make");
    kni_node_retain_one(x->node);
    g->at[g->n].leaf = x->node;
    g->at[g->n++].gradient = owned;
    return KN_OK;
}

kn_grads kn_grads_make(const kn_tensor *leaves, const kn_tensor *gradients, int32_t n)
{
    if (n < 0 || (n > 0 && (!leaves || !gradients))) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_grads_make: the lists of %d leaves and gradients are missing", n);
        return NULL;
    }
    kni_grads *g = new_grads(n);
    if (!g) {
        kni_fail(KN_ERROR_MEMORY, "kn_grads_make: no memory for the gradients");
        return NULL;
    }
    while (g->n < n) {
        if (add_gradient(g, leaves[g->n], gradients[g->n]) == KN_OK) continue;
        destroy_grads(g);
        return NULL;
    }
    return kni_object_make(&kni_kind_grads, g, __func__);
}

kn_tensor kn_grads_get(kn_grads grads, kn_tensor t)
{
    KNI_USE(grads, g, grads);
    if (!g) return kni_poison_latest();
    int i = position(g, t);
    return i < 0 ? KN_NONE : g->at[i].gradient;
}

kn_tensor kn_grads_take(kn_grads grads, kn_tensor t)
{
    KNI_ENDS;
    KNI_USE(grads, g, grads);
    if (!g) return kni_poison_latest();
    int i = position(g, t);
    if (i < 0 || !g->at[i].gradient.bits) return KN_NONE;
    kn_tensor gradient = kn_alias(g->at[i].gradient);
    kn_drop(g->at[i].gradient);
    g->at[i].gradient = KN_NONE;
    return gradient;
}

kn_status kn_grads_replace(kn_grads grads, kn_tensor t, kn_tensor gradient)
{
    KNI_ENDS;
    KNI_USE(grads, g, grads);
    if (!g) return KNI_NO_OBJECT(grads);
    int i = position(g, t);
    if (i < 0) return kni_fail(KN_ERROR_ARGUMENT, "kn_grads_replace: this tensor has no gradient here");
    if (gradient.bits && gradient.bits == g->at[i].gradient.bits) return KN_OK;
    if (!gradient.bits) return kni_fail(KN_ERROR_ARGUMENT, "kn_grads_replace: the gradient is KN_NONE");
    if (kni_is_poisoned(gradient)) return kni_fail_carried(gradient, "grads_replace", "the gradient");
    kn_tensor owned = kni_stored(gradient);
    if (kni_is_poisoned(owned)) return handed_on(owned, __func__);
    kn_drop(g->at[i].gradient);
    g->at[i].gradient = owned;
    return KN_OK;
}

int32_t kn_grads_count(kn_grads grads)
{
    KNI_USE(grads, g, grads);
    return g ? g->n : 0;
}

void kn_grads_free(kn_grads grads) { kni_object_free(grads, &kni_kind_grads, __func__); }
