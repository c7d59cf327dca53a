/* Scopes and the three states of ownership. */
#include "core/error.h"
#include "core/objects.h"
#include "core/stored.h"
#include "core/table.h"
#include <kn/tensor.h>
#include <string.h>

static uint32_t *head_of(kni_thread *t, uint32_t depth)
{
    return t->scopes ? &t->scopes[depth] : &t->root_scope;
}

void kni_scope_link(kni_thread *t, uint32_t index, uint32_t depth)
{
    kni_tensor *x = kni_slot(index);
    uint32_t *head = head_of(t, depth);
    x->scope = depth;
    x->previous = KNI_NO_SLOT;
    x->next = *head;
    if (*head != KNI_NO_SLOT) kni_slot(*head)->previous = index;
    *head = index;
}

void kni_scope_unlink(kni_thread *t, uint32_t index)
{
    const kni_tensor *x = kni_slot(index);
    if (x->previous != KNI_NO_SLOT)
        kni_slot(x->previous)->next = x->next;
    else
        *head_of(t, x->scope) = x->next;
    if (x->next != KNI_NO_SLOT) kni_slot(x->next)->previous = x->previous;
}

/* A level's serial counts the scopes that began there. It tells a scope that has ended from a later one at the same
   depth. Serials lie behind the heads in the same block, and behind them the lines where the scopes began. */
static uint32_t *serials(kni_thread *t) { return t->scopes + t->scope_capacity; }
static const char **sites(kni_thread *t)
{
    return (const char **)(t->scopes + 2 * (size_t)t->scope_capacity);
}

static size_t block_bytes(uint32_t capacity)
{
    return (size_t)capacity * (2 * sizeof(uint32_t) + sizeof(const char *));
}

static bool grow(kni_thread *t)
{
    if (t->scopes && t->depth + 1 < t->scope_capacity) return true;
    uint32_t old = t->scope_capacity, capacity = old ? 2 * old : 8;
    if (capacity < old) return false;
    uint32_t *scopes = kni_allocate(block_bytes(capacity));
    if (!scopes) return false;
    memset(scopes, 0, block_bytes(capacity));
    if (t->scopes) {
        memcpy(scopes, t->scopes, old * sizeof *scopes);
        memcpy(scopes + capacity, serials(t), old * sizeof *scopes);
        memcpy(scopes + 2 * (size_t)capacity, sites(t), old * sizeof *sites(t));
        kni_free(t->scopes, block_bytes(old));
    } else {
        scopes[0] = t->root_scope;
    }
    t->scopes = scopes;
    t->scope_capacity = capacity;
    return true;
}

/* Without memory for another level the scope is the enclosing one again: what it makes is freed later. */
kn_scope kn_scope_begin(void)
{
    kni_thread *t = kni_thread_self();
    if (!grow(t)) {
        kni_fail(KN_ERROR_MEMORY,
                 "kn_scope_begin: no memory for a scope; its tensors join the enclosing scope");
        return (kn_scope){0, t->id, 0};
    }
    t->scopes[++t->depth] = KNI_NO_SLOT;
    sites(t)[t->depth] = NULL;
    return (kn_scope){t->depth, t->id, ++serials(t)[t->depth]};
}

void kn_site_scope(kn_scope scope, const char *site)
{
    kni_thread *t = kni_thread_self();
    if (scope.depth && scope.thread == t->id && scope.depth <= t->depth) sites(t)[scope.depth] = site;
    if (KNI_UNLIKELY(t->pending_error != 0)) kni_error_site(t, site);
}

/* The line is in the slot or still in the ring: NULL. */
static const char *placed_site(const kni_tensor *x) { return x->flags & KNI_TENSOR_PLACED ? x->site : NULL; }

static void place_tensor(kni_tensor *x)
{
    x->site = kni_tensor_site(x);
    x->flags |= KNI_TENSOR_PLACED;
}

static void free_level(kni_thread *t, uint32_t depth, bool told)
{
    uint32_t *head = head_of(t, depth);
    kni_history *h = told ? t->history : NULL;
    const char *begun = h && depth ? sites(t)[depth] : NULL;
    while (*head != KNI_NO_SLOT) {
        if (h)
            h->ended[h->ended_next++ % KNI_TAKEN_RING] = (kni_ended){.bits = kni_handle(*head).bits,
                                                                     .serial = t->serial,
                                                                     .made = kni_slot(*head)->serial,
                                                                     .site = placed_site(kni_slot(*head)),
                                                                     .begun = begun};
        kni_tensor_end_handle(t, *head);
    }
}

void kni_scope_place(kni_thread *t)
{
    for (uint32_t d = 0; d <= t->depth; d++)
        for (uint32_t at = *head_of(t, d); at != KNI_NO_SLOT; at = kni_slot(at)->next) {
            kni_tensor *x = kni_slot(at);
            if (x->serial <= t->placed) break;
            place_tensor(x);
        }
    t->placed = t->serial;
}

void kni_scope_forget_all(kni_thread *t)
{
    t->depth = 0;
    if (t->scopes) kni_free(t->scopes, block_bytes(t->scope_capacity));
    t->scopes = NULL;
    t->scope_capacity = 0;
    t->root_scope = KNI_NO_SLOT;
}

void kni_scope_free_all(kni_thread *t)
{
    for (uint32_t d = t->depth + 1; d-- > 0;) free_level(t, d, false);
    kni_scope_forget_all(t);
}

void kni_scope_end_many(kn_scope scope, kn_tensor *results, int32_t n, bool told)
{
    kni_thread *t = kni_thread_self();
    if (told) t->serial++; /* a call of its own, whose line a later message names */
    if (scope.depth == 0 && scope.thread == t->id) return; /* begun without memory */
    if (n > 0 && !results) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_scope_end_many: %d results, but the list is NULL", n);
        n = 0;
    }
    if (scope.thread != t->id) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_scope_end: %s",
                 kni_thread_is_older(scope.thread) ? "kn_shutdown() has ended this scope"
                                                   : "this scope was begun on another thread, or never");
        return;
    }
    if (scope.depth > t->depth || serials(t)[scope.depth] != scope.serial) {
        kni_fail(KN_ERROR_ARGUMENT,
                 "kn_scope_end: this scope has ended already, by itself or with a scope around it");
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        kni_tensor *x = kni_peek(results[i]);
        if (!x || x->thread != t->id || x->scope < scope.depth) continue;
        if (x->state != KNI_TEMPORARY && x->state != KNI_KEPT) continue;
        kni_scope_unlink(t, kni_slot_of(results[i]));
        kni_scope_link(t, kni_slot_of(results[i]), scope.depth - 1);
        x->state = KNI_TEMPORARY;
    }
    for (uint32_t d = t->depth; d >= scope.depth; d--) free_level(t, d, told);
    t->depth = scope.depth - 1;
    /* What has shrunk may grow again. */
    int64_t live = atomic_load_explicit(&t->live, memory_order_relaxed);
    if (KNI_UNLIKELY(t->watch > KNI_GROWTH_WATCH && live < t->watch / 4))
        t->watch = live > KNI_GROWTH_WATCH / 2 ? 2 * live : KNI_GROWTH_WATCH;
}

void kn_scope_end_many(kn_scope scope, kn_tensor *results, int32_t n)
{
    kni_scope_end_many(scope, results, n, true);
}

kn_tensor kn_scope_end(kn_scope scope, kn_tensor result)
{
    kn_scope_end_many(scope, &result, 1);
    return result;
}

kn_tensor kn_keep(kn_tensor handle)
{
    kni_thread *t = kni_thread_self();
    if (kni_is_poisoned(handle) || handle.bits == 0) return handle;
    kni_tensor *x = kni_resolve(handle, "keep");
    if (!x) return kni_poison_latest();
    if (t->context.call_name && !t->context.call_device) t->context.call_device = x->device;
    if (x->state != KNI_TEMPORARY) return handle;
    if (x->scope != t->depth) {
        kni_scope_unlink(t, kni_slot_of(handle));
        kni_scope_link(t, kni_slot_of(handle), t->depth);
    }
    x->state = KNI_KEPT;
    return handle;
}

kn_tensor kn_own(kn_tensor handle)
{
    kni_thread *t = kni_thread_self();
    if (kni_is_poisoned(handle)) return handle;
    kni_tensor *x = kni_resolve(handle, "own");
    if (!x) return kni_poison_latest();
    if (x->state == KNI_TEMPORARY || x->state == KNI_KEPT) {
        place_tensor(x); /* it leaves the scope, where lines are kept */
        kni_scope_unlink(t, kni_slot_of(handle));
        x->state = KNI_OWNED;
        kni_owned_note(t, kni_slot_of(handle));
    }
    return handle;
}

kn_tensor kni_stored(kn_tensor t)
{
    const kni_tensor *x = kni_peek(t);
    return kn_own(x && x->state != KNI_TEMPORARY ? kn_alias(t) : t);
}

void kn_drop(kn_tensor handle)
{
    kni_thread *t = kni_thread_self();
    t->serial++; /* a call of its own, so that its line is not the latest op's */
    if (kni_is_poisoned(handle) || handle.bits == 0 || kni_handle_is_older(handle)) return;
    kni_tensor *x = kni_resolve(handle, "drop");
    if (!x) return;
    if (x->flags & KNI_TENSOR_PARAM) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_drop: this is a param; free it with kn_param_drop");
        return;
    }
    kni_tensor_take(t, kni_slot_of(handle), t->ends_by ? t->ends_by + strlen("kn_") : "drop");
    if (t->ends_by) kni_taken_waits(t);
}

const char *kni_ends_enter(const char *function)
{
    kni_thread *t = kni_thread_self();
    const char *before = t->ends_by;
    if (!before && !strncmp(function, "kn_", 3)) t->ends_by = function;
    return before;
}

void kni_ends_leave(const char **before) { kni_thread_self()->ends_by = *before; }

kn_status kn_assign(kn_tensor *handle, kn_tensor value)
{
    KNI_ENDS;
    if (!handle) return kni_fail(KN_ERROR_ARGUMENT, "kn_assign: the place to assign to is NULL");
    if (kni_is_poisoned(value)) return kni_failure_again(value);
    if (handle->bits == value.bits) return KN_OK;
    const kni_tensor *old = kni_peek(*handle);
    if (old && (old->flags & KNI_TENSOR_PARAM))
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_assign: the place holds a param; give it a value with kn_param_set");
    value = kn_own(value);
    if (kni_is_poisoned(value)) return kni_failure_again(value);
    kn_drop(*handle);
    *handle = value;
    return KN_OK;
}
