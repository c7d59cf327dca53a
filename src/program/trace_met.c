/* Values of a trace by handle and by elements: two tables of chains, the latest value first. */
#include "program/trace_met.h"
#include "core/allocator.h"
#include "ops/record.h"
#include <kn/tensor.h>
#include <string.h>

/* ---- hashes */

static uint32_t mixed(uint64_t word)
{
    word ^= word >> 31;
    word *= UINT64_C(0x9E3779B97F4A7C15);
    uint32_t hash = (uint32_t)(word >> 32);
    return hash ? hash : 1;
}

/* What same_value compares of all tensors; no storage, no hash: nothing else has the elements. */
static uint32_t hash_of_elements(const kni_tensor *x)
{
    if (!x->storage) return 0;
    uint64_t type = (uint64_t)x->type.dtype << 8 | x->type.rank;
    return mixed((uint64_t)(uintptr_t)x->storage ^ (uint64_t)x->offset << 20 ^ type << 48);
}

/* The same elements in the same memory: keeping, detaching and naming anew make other slots for one value. */
static bool same_value(const kni_tensor *a, const kni_tensor *b)
{
    if (!a || !b || !a->storage || a->storage != b->storage || a->offset != b->offset ||
        a->type.dtype != b->type.dtype || !kni_same_dims(&a->type, &b->type))
        return false;
    return !memcmp(a->strides, b->strides, a->type.rank * sizeof *a->strides);
}

/* ---- chains */

static void put(kni_met_list *list, int32_t value, int way)
{
    kni_met *s = &list->of[value];
    int32_t *head = &list->heads[way][s->hash[way] & (uint32_t)(list->n_heads - 1)];
    s->next[way] = *head;
    if (s->hash[way]) *head = value;
}

/* Room for one more; chains stay short. */
static bool make_room(kni_met_list *list)
{
    if (!kni_program_room((void **)&list->of, &list->room, list->n + 1, sizeof *list->of)) return false;
    if (list->n < list->n_heads) return true;
    int32_t n_heads = list->n_heads ? 2 * list->n_heads : 64;
    size_t bytes = (size_t)n_heads * sizeof **list->heads, old = (size_t)list->n_heads * sizeof **list->heads;
    int32_t *heads[KNI_MET_WAYS] = {kni_allocate(bytes), kni_allocate(bytes)};
    for (int way = 0; way < KNI_MET_WAYS; way++)
        if (!heads[0] || !heads[1]) kni_free(heads[way], heads[way] ? bytes : 0);
    if (!heads[0] || !heads[1]) return false;
    list->n_heads = n_heads;
    for (int way = 0; way < KNI_MET_WAYS; way++) {
        kni_free(list->heads[way], list->heads[way] ? old : 0);
        list->heads[way] = heads[way];
        memset(heads[way], -1, bytes);
        for (int32_t i = 0; i < list->n; i++) put(list, i, way);
    }
    return true;
}

static kn_tensor own_alias(const kni_tensor *x)
{
    kn_tensor t = kni_alias_kept(kni_thread_self(), x, x->device);
    return kni_is_poisoned(t) ? t : kn_own(t);
}

bool kni_met_note(kni_met_list *list, kn_tensor handle, const kni_tensor *x, bool param)
{
    if (!make_room(list)) return false;
    uint32_t elements = param ? 0 : hash_of_elements(x);
    kn_tensor alias = param ? KN_NONE : own_alias(x);
    if (kni_is_poisoned(alias)) return false;
    list->of[list->n] = (kni_met){.handle = handle, .alias = alias, .hash = {mixed(handle.bits), elements}};
    for (int way = 0; way < KNI_MET_WAYS; way++) put(list, list->n, way);
    list->n++;
    return true;
}

/* The first of the chain, or behind value `before` in it. */
static int32_t next_of(const kni_met_list *list, int way, uint32_t hash, int32_t before)
{
    if (!list->n_heads || !hash) return -1;
    int32_t i =
        before < 0 ? list->heads[way][hash & (uint32_t)(list->n_heads - 1)] : list->of[before].next[way];
    while (i >= 0 && list->of[i].hash[way] != hash) i = list->of[i].next[way];
    return i;
}

int32_t kni_met_find(const kni_met_list *list, kn_tensor handle)
{
    const kni_tensor *x = kni_peek(handle);
    uint32_t hash = mixed(handle.bits);
    for (int32_t i = -1; (i = next_of(list, KNI_BY_HANDLE, hash, i)) >= 0;)
        if (list->of[i].handle.bits == handle.bits) return i;
    if (!x || x->flags & KNI_TENSOR_PARAM) return -1;
    hash = hash_of_elements(x);
    for (int32_t i = -1; (i = next_of(list, KNI_BY_ELEMENTS, hash, i)) >= 0;)
        if (list->of[i].alias.bits && same_value(kni_peek(list->of[i].alias), x)) return i;
    return -1;
}

void kni_met_free(kni_met_list *list)
{
    for (int32_t i = 0; i < list->n; i++)
        if (list->of[i].alias.bits) kn_drop(list->of[i].alias);
    kni_free(list->of, (size_t)list->room * sizeof *list->of);
    for (int way = 0; way < KNI_MET_WAYS; way++)
        kni_free(list->heads[way], (size_t)list->n_heads * sizeof **list->heads);
    *list = (kni_met_list){0};
}
