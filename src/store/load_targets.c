/* The params that a load fills: collecting them, and setting all of them or none. */
#include "store/load.h"
#include "support/failure.h"
#include <kn/elementwise.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

static kn_status add_target(void *context, const kn_module_entry *entry)
{
    kni_load *load = context;
    if (load->target_count == load->target_capacity) {
        int64_t capacity = load->target_capacity ? load->target_capacity * 2 : 64;
        kni_load_target *bigger = realloc(load->targets, (size_t)capacity * sizeof *bigger);
        if (!bigger) return kni_failure_memory(load->function);
        load->targets = bigger;
        load->target_capacity = capacity;
    }
    size_t length = strlen(entry->path) + 1;
    kni_load_target target = {.path = malloc(length), .param = entry->param, .offer = -1};
    if (!target.path) return kni_failure_memory(load->function);
    memcpy(target.path, entry->path, length);
    target.shape = kn_shape_of_tensor(kn_value(*entry->param));
    load->targets[load->target_count++] = target;
    return KN_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const kni_load_target *)a)->path, ((const kni_load_target *)b)->path);
}

/* The paths of one param in their order: the first is the one that is saved. */
static int by_param(const void *a, const void *b)
{
    const kni_load_target *first = *(const kni_load_target *const *)a,
                          *second = *(const kni_load_target *const *)b;
    uint64_t x = first->param->handle.bits, y = second->param->handle.bits;
    return x != y ? (x < y ? -1 : 1) : (first > second) - (first < second);
}

kn_status kni_load_targets(kni_load *load, kn_module module)
{
    kn_status status = kn_module_visit(module, add_target, load);
    size_t count = (size_t)load->target_count;
    if (status || !count) return status;
    qsort(load->targets, count, sizeof *load->targets, by_path);
    load->by_param = malloc(count * sizeof *load->by_param);
    if (!load->by_param) return kni_failure_memory(load->function);
    for (size_t i = 0; i < count; i++) load->by_param[i] = &load->targets[i];
    qsort(load->by_param, count, sizeof *load->by_param, by_param);
    return KN_OK;
}

bool kni_load_fills(const kni_load *load, const kni_load_target *target)
{
    if (target->offer >= 0) return true;
    uint64_t bits = target->param->handle.bits;
    int64_t low = 0, high = load->target_count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (load->by_param[middle]->param->handle.bits < bits)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < load->target_count && load->by_param[low]->param->handle.bits == bits; low++)
        if (load->by_param[low]->offer >= 0) return true;
    return false;
}

kni_load_target *kni_load_find(const kni_load *load, const char *path)
{
    kni_load_target wanted = {.path = (char *)(uintptr_t)path};
    if (!load->target_count) return NULL;
    return bsearch(&wanted, load->targets, (size_t)load->target_count, sizeof *load->targets, by_path);
}

kn_tensor kni_load_convert(const kni_load_target *target, kn_tensor value)
{
    kn_tensor current = kn_value(*target->param);
    value = kn_to(value, kn_device_of(current));
    if (kn_ok(value) && kn_dtype_of(value) != kn_dtype_of(current))
        value = kn_cast(value, kn_dtype_of(current));
    return value;
}

/* Setting can fail for want of memory only; then those that were set get their old value back. */
kn_status kni_load_apply(kni_load *load)
{
    kn_tensor *old = calloc((size_t)load->target_count + 1, sizeof *old);
    if (!old) return kni_failure_memory(load->function);
    kn_status status = KN_OK;
    int64_t done = 0;
    for (; done < load->target_count && !status; done++) {
        kni_load_target *t = &load->targets[done];
        if (!t->value.bits) continue;
        old[done] = kn_own(kn_alias(kn_value(*t->param)));
        status = kni_failure_of(old[done]);
        if (!status) status = kn_param_set(t->param, t->value);
    }
    for (int64_t i = 0; i < done; i++) {
        if (!old[i].bits) continue;
        if (status && kn_ok(old[i]) && kn_param_set(load->targets[i].param, old[i]) != KN_OK)
            status = kni_failure(KN_ERROR_MEMORY, "%s: no memory to set '%s' back", load->function,
                                 load->targets[i].path);
        kn_drop(old[i]);
    }
    free(old);
    return status;
}

void kni_load_free(kni_load *load)
{
    for (int64_t i = 0; i < load->target_count; i++) {
        kn_drop(load->targets[i].value);
        free(load->targets[i].path);
    }
    for (int64_t i = 0; i < load->offer_count; i++) free(load->offers[i].name);
    free(load->targets);
    free(load->by_param);
    free(load->offers);
}
