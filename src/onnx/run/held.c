/* Values outside of runs: making and ending them. */
#include "onnx/run/held.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

static kni_held *new_held(kni_datum_kind kind, int64_t n, size_t bytes)
{
    kni_held *held = n >= 0 && bytes <= PTRDIFF_MAX - sizeof *held ? calloc(1, sizeof *held + bytes) : NULL;
    if (!held) {
        kni_failure_memory("kn_onnx_value");
        return NULL;
    }
    atomic_init(&held->users, 1);
    held->kind = kind;
    held->n = n;
    return held;
}

kni_held *kni_held_tensor(kn_tensor t)
{
    if (!kn_ok(t)) return kni_failure_of(t), NULL;
    kni_held *held = new_held(KNI_IS_TENSOR, 0, 0);
    if (!held) return kn_drop(t), NULL;
    held->tensor = kn_own(t);
    if (kn_ok(held->tensor)) return held;
    kni_failure_of(held->tensor);
    free(held);
    return NULL;
}

kni_held *kni_held_strings(const kni_onnx_text *texts, const int64_t *sizes, int32_t rank)
{
    int64_t n = 1;
    for (int32_t a = 0; a < rank; a++)
        if (sizes[a] < 0 || __builtin_mul_overflow(n, sizes[a], &n) || n > PTRDIFF_MAX / 64) {
            kni_failure(KN_ERROR_SHAPE, "too many strings");
            return NULL;
        }
    size_t bytes = (size_t)n * sizeof *texts;
    for (int64_t i = 0; i < n; i++)
        if (__builtin_add_overflow(bytes, texts[i].bytes + 1, &bytes)) bytes = SIZE_MAX / 2;
    kni_held *held = new_held(KNI_IS_STRINGS, n, bytes);
    if (!held) return NULL;
    held->strings = (kni_onnx_text *)(void *)(held + 1);
    char *place = (char *)(held->strings + n);
    for (int64_t i = 0; i < n; i++) {
        if (texts[i].bytes) memcpy(place, texts[i].data, texts[i].bytes);
        held->strings[i] = (kni_onnx_text){place, texts[i].bytes};
        place += texts[i].bytes + 1;
    }
    held->rank = rank;
    for (int32_t a = 0; a < rank; a++) held->sizes[a] = sizes[a];
    return held;
}

kni_held *kni_held_list(kni_datum_kind kind, int64_t n)
{
    if (n < 0 || n > PTRDIFF_MAX / 64) return kni_failure_memory("kn_onnx_value"), NULL;
    kni_held *held = new_held(kind, n, (size_t)n * sizeof(kni_held *));
    if (!held) return NULL;
    held->items = (kni_held **)(void *)(held + 1);
    held->depth = 1;
    return held;
}

void kni_held_place(kni_held *list, int64_t i, kni_held *item)
{
    list->items[i] = item;
    if (item && item->depth >= list->depth) list->depth = item->depth + 1;
}

kni_held *kni_held_use(kni_held *held)
{
    if (held) atomic_fetch_add(&held->users, 1);
    return held;
}

void kni_held_leave(kni_held *held)
{
    if (!held || atomic_fetch_sub(&held->users, 1) > 1) return;
    if (held->kind == KNI_IS_TENSOR) kn_drop(held->tensor);
    for (int64_t i = 0; held->items && i < held->n; i++) kni_held_leave(held->items[i]);
    free(held);
}
