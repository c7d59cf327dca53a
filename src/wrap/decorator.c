/* Forwarding to the inner backend. */
#include "wrap/decorator.h"
#include "core/allocator.h"
#include "core/error.h"
#include <string.h>

/* The decorator's state lies behind its backend in one allocation. */
typedef struct decorator {
    kn_backend backend;
    size_t bytes;
    _Alignas(16) char self[];
} decorator;

static kn_support supports(kn_backend *b, const struct kn_op *row, kn_dtype dtype, const char **why)
{
    return b->inner[0]->supports(b->inner[0], row, dtype, why);
}

static kn_status write_inner(kn_backend *b, uint32_t id, const void *data)
{
    return b->inner[0]->write(b->inner[0], id, data);
}

static kn_status read_inner(kn_backend *b, uint32_t id, void *buffer)
{
    return b->inner[0]->read(b->inner[0], id, buffer);
}

static kn_status sync_inner(kn_backend *b)
{
    return b->inner[0]->sync ? b->inner[0]->sync(b->inner[0]) : KN_OK;
}

static void close_self(kn_backend *b) { kni_free(b, ((decorator *)b)->bytes); }

kn_backend *kni_decorator_new(const char *name, uint32_t traits, kn_backend *const *inner, int32_t n_inner,
                              kni_execute_fn execute, size_t self_bytes)
{
    size_t bytes = sizeof(decorator) + self_bytes;
    decorator *d = kni_allocate(bytes);
    if (!d) {
        kni_fail(KN_ERROR_MEMORY, "no memory to open %s", name);
        return NULL;
    }
    memset(d, 0, bytes);
    d->bytes = bytes;
    d->backend = (kn_backend){.size = sizeof(kn_backend),
                              .abi = KN_BACKEND_ABI,
                              .name = name,
                              .traits = traits,
                              .inner = {inner[0], n_inner > 1 ? inner[1] : NULL},
                              .self = self_bytes ? d->self : NULL,
                              .wants_drops = inner[0]->wants_drops,
                              .execute = execute,
                              .supports = supports,
                              .write = write_inner,
                              .read = read_inner,
                              .sync = sync_inner,
                              .close = close_self};
    return &d->backend;
}
