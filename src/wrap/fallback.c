/* Running a record on the CPU that a leaf from outside has no kernel for: operands are read from the leaf, results written back
   to it. */
#include "core/backends.h"
#include "core/device_object.h"
#include "core/objects.h"
#include "core/text.h"
#include "ops/record.h"
#include "wrap/wrap.h"
#include <kn/tensor.h>
#include <string.h>

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

/* A kept tensor on the CPU of the type of x, without memory yet; KNI_NO_SLOT after a failure. */
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

/* Why the device has none: what it has just said, or what it says of the dtypes that it lacks. */
static void reason(kn_backend *b, const kn_record *r, char *text, size_t bytes)
{
    kni_text to = {text, bytes, 0};
    const char *why = "";
    if (kni_error_excused()) kni_text_string(&to, kni_failure_latest());
    for (int i = 0; i < r->n_in + r->n_out && !*text && b->supports; i++) {
        uint32_t id = r->ids[i];
        if (id == KNI_NO_SLOT) continue;
        kn_dtype dtype = (kn_dtype)kni_slot(id)->type.dtype;
        if (b->supports(b, r->row, dtype, &why) == KN_SUPPORT_NO && why) kni_text_string(&to, why);
    }
}

kn_status kni_run_on_cpu(kn_backend *b, const kn_record *r, _Atomic unsigned char *told)
{
    const char *allowed = kni_environment("KN_FALLBACK");
    if (allowed && !strcmp(allowed, "off")) {
        char why[200] = "";
        reason(b, r, why, sizeof why);
        return kni_fail_op(
            KN_ERROR_UNSUPPORTED, r->row->name,
            "the device %s has no kernel for it%s%s%s, and KN_FALLBACK=off forbids to fall back to the CPU",
            b->device->name, *why ? " (" : "", why, *why ? ")" : "");
    }
    kn_device cpu = kni_device_cpu();
    kn_record *copy = cpu ? kni_allocate(r->bytes) : NULL;
    if (!copy) return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory to fall back to the CPU");
    unsigned char bit = (unsigned char)(1u << (r->op & 7));
    if (!(atomic_fetch_or(&told[r->op >> 3], bit) & bit))
        kni_log(KN_LOG_WARNING, "kn_%s fell back to the CPU on device %s", r->row->name, b->device->name);
    kn_scope scope = kn_scope_begin();
    kn_status s = run_twins(b, r, copy, cpu);
    kn_scope_end(scope, KN_NONE);
    kni_free(copy, r->bytes);
    return s;
}
