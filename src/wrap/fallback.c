/* The guard around a leaf that was registered from outside: an op that the leaf has no kernel for is lowered, and
   what cannot be lowered runs on the CPU: operands are read from the leaf, results written back to it. */
#include "core/backends.h"
#include "core/device_object.h"
#include "ops/record.h"
#include "wrap/decorator.h"
#include "wrap/wrap.h"
#include <kn/device.h>
#include <kn/tensor.h>
#include <string.h>

enum { ROWS = 1 << 16 };

typedef struct guard {
    kn_backend backend; /* first, so that the backend's address is the guard's */
    kn_backend *leaf;
    _Atomic unsigned char told[ROWS / 8]; /* bit per row: its fallback has been logged */
} guard;

static kn_backend *leaf_of(kn_backend *b) { return ((guard *)b)->leaf; }

static kn_support supports(kn_backend *b, const struct kn_op *row, kn_dtype dtype, const char **why)
{
    kn_backend *leaf = leaf_of(b);
    kn_support s = leaf->supports ? leaf->supports(leaf, row, dtype, why) : KN_SUPPORT_NATIVE;
    return s == KN_SUPPORT_NO && row->lower ? KN_SUPPORT_LOWERED : s;
}

static kn_status write_leaf(kn_backend *b, uint32_t id, const void *data)
{
    kn_backend *leaf = leaf_of(b);
    return leaf->write ? leaf->write(leaf, id, data) : kni_cpu_backend()->write(kni_cpu_backend(), id, data);
}

static kn_status read_leaf(kn_backend *b, uint32_t id, void *buffer)
{
    kn_backend *leaf = leaf_of(b);
    return leaf->read ? leaf->read(leaf, id, buffer) : kni_cpu_backend()->read(kni_cpu_backend(), id, buffer);
}

static kn_status sync_leaf(kn_backend *b) { return leaf_of(b)->sync ? leaf_of(b)->sync(leaf_of(b)) : KN_OK; }

static kn_status control_leaf(kn_backend *b, const char *request, void *argument)
{
    kn_backend *leaf = leaf_of(b);
    return leaf->control ? leaf->control(leaf, request, argument) : KN_ERROR_UNSUPPORTED;
}

/* A buffer for the elements of x; at least one byte, so that NULL always means no memory. */
static void *buffer_for(const kni_tensor *x, size_t *bytes)
{
    int64_t n = kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
    *bytes = n > 0 ? (size_t)n : 1;
    void *buffer = n < 0 ? NULL : kni_allocate(*bytes);
    if (!buffer) kni_fail(KN_ERROR_MEMORY, "no memory to move %D bytes between the device and the CPU", n);
    return buffer;
}

/* Copies the elements of `from`, which lie with one backend, to `to` with the other. */
static kn_status move(kn_backend *source, uint32_t from, kn_backend *target, uint32_t to)
{
    size_t bytes;
    void *buffer = buffer_for(kni_slot(from), &bytes);
    if (!buffer) return KN_ERROR_MEMORY;
    kn_status s = source->read(source, from, buffer);
    if (s == KN_OK) s = target->write(target, to, buffer);
    kni_free(buffer, bytes);
    return s;
}

/* A kept tensor on the CPU of the type of x, without memory yet; KNI_NO_SLOT with the failure told. */
static uint32_t twin_of(const kni_tensor *x, kn_device cpu)
{
    uint32_t id = kni_tensor_new(kni_thread_self());
    if (id == KNI_NO_SLOT) {
        kni_fail(KN_ERROR_MEMORY, "no memory for another tensor");
        return id;
    }
    kni_tensor *y = kni_slot(id);
    y->type = x->type;
    y->device = cpu;
    y->state = KNI_KEPT;
    return id;
}

/* A number that lies in its slot needs no reading: no backend has it. */
static kn_status twin_operand(kn_backend *b, uint32_t id, kn_device cpu, uint32_t *twin)
{
    const kni_tensor *x = kni_slot(id);
    if (!x->storage && (x->flags & KNI_TENSOR_SCALAR)) {
        kn_tensor alias = kni_alias_kept(kni_thread_self(), x, cpu);
        *twin = kni_slot_of(alias);
        return kni_is_poisoned(alias) ? KN_ERROR_MEMORY : KN_OK;
    }
    *twin = twin_of(x, cpu);
    return *twin == KNI_NO_SLOT ? KN_ERROR_MEMORY : move(b, id, cpu->backend, *twin);
}

static kn_status run_twins(kn_backend *b, const kn_record *r, kn_record *copy, kn_device cpu)
{
    kn_status s = KN_OK;
    memcpy(copy, r, r->bytes);
    copy->attributes = (const char *)copy + ((const char *)r->attributes - (const char *)r);
    copy->last_use = 0;
    for (int i = 0; i < r->n_out && s == KN_OK; i++) {
        copy->ids[i] = twin_of(kni_out(r, i), cpu);
        if (copy->ids[i] == KNI_NO_SLOT) s = KN_ERROR_MEMORY;
    }
    for (int i = r->n_out; i < r->n_out + r->n_in && s == KN_OK; i++)
        if (r->ids[i] != KNI_NO_SLOT) s = twin_operand(b, r->ids[i], cpu, &copy->ids[i]);
    const kn_record *run = copy;
    if (s == KN_OK) s = cpu->backend->execute(cpu->backend, &run, 1);
    for (int i = 0; i < r->n_out && s == KN_OK; i++) s = move(cpu->backend, copy->ids[i], b, r->ids[i]);
    return s;
}

static kn_status run_on_cpu(kn_backend *b, const kn_record *r)
{
    guard *g = (guard *)b;
    const char *allowed = kni_environment("KN_FALLBACK");
    if (allowed && !strcmp(allowed, "off"))
        return kni_fail_op(
            KN_ERROR_UNSUPPORTED, r->row->name,
            "the device %s has no kernel for it, and KN_FALLBACK=off forbids to fall back to the CPU",
            b->device->name);
    kn_device cpu = kni_device_cpu();
    kn_record *copy = cpu ? kni_allocate(r->bytes) : NULL;
    if (!copy) return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory to fall back to the CPU");
    unsigned char bit = (unsigned char)(1u << (r->op & 7));
    if (!(atomic_fetch_or(&g->told[r->op >> 3], bit) & bit))
        kni_log(KN_LOG_WARNING, "kn_%s fell back to the CPU on device %s", r->row->name, b->device->name);
    kn_scope scope = kn_scope_begin();
    kn_status s = run_twins(b, r, copy, cpu);
    kn_scope_end(scope, KN_NONE);
    kni_free(copy, r->bytes);
    return s;
}

/* The dtype that decides whether a kernel is there: that of the first operand, else of the first result. */
static kn_dtype deciding_dtype(const kn_record *r)
{
    for (int i = 0; i < r->n_in; i++)
        if (kni_in(r, i)) return (kn_dtype)kni_in(r, i)->type.dtype;
    return (kn_dtype)kni_out(r, 0)->type.dtype;
}

static kn_status execute_one(kn_backend *b, const kn_record *r)
{
    kn_backend *leaf = leaf_of(b);
    if (r->flags & KN_RECORD_DROP) return leaf->execute(leaf, &r, 1);
    if (!leaf->supports || leaf->supports(leaf, r->row, deciding_dtype(r), NULL) != KN_SUPPORT_NO) {
        uint32_t before = kni_thread_self()->last_error;
        kn_status s = leaf->execute(leaf, &r, 1);
        if (s != KN_ERROR_UNSUPPORTED || kni_thread_self()->last_error != before) return s;
    }
    return r->row->lower ? kni_lower_record(r, b->device) : run_on_cpu(b, r);
}

static kn_status execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    return kni_each_record(b, records, n, execute_one);
}

static void close_guard(kn_backend *b)
{
    kn_backend *leaf = leaf_of(b);
    leaf->device = NULL;
    if (leaf->close) leaf->close(leaf);
    kni_free(b, sizeof(guard));
}

kn_backend *kni_fallback_open(kn_backend *leaf)
{
    if (leaf->device) return leaf->device->backend; /* opened before: one guard for each leaf */
    guard *g = kni_allocate(sizeof *g);
    if (!g) {
        kni_fail(KN_ERROR_MEMORY, "no memory to open %s", leaf->name);
        if (leaf->close) leaf->close(leaf);
        return NULL;
    }
    memset(g, 0, sizeof *g);
    g->leaf = leaf;
    g->backend = (kn_backend){.size = sizeof(kn_backend),
                              .abi = KN_BACKEND_ABI,
                              .name = leaf->name,
                              .self = g,
                              .wants_drops = leaf->wants_drops,
                              .execute = execute,
                              .supports = supports,
                              .write = write_leaf,
                              .read = read_leaf,
                              .sync = sync_leaf,
                              .control = control_leaf,
                              .close = close_guard};
    return &g->backend;
}

void kni_fallback_opened(kn_backend *b) { leaf_of(b)->device = b->device; }
