/* kn_onnx_value: making, reading and asking values from outside. */
#include "onnx/run/file_tensor.h"
#include "onnx/run/session.h"
#include "support/argument.h"
#include "support/failure.h"
#include "support/file.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

static void destroy(void *held) { kni_held_leave(held); }

const kni_object_kind kni_kind_onnx_datum = {"kn_onnx_value", "value", "freed", destroy};

static kn_onnx_value made(kni_held *held, const char *function)
{
    return held ? kni_object_make(&kni_kind_onnx_datum, held, function) : NULL;
}

void kn_onnx_value_free(kn_onnx_value value) { kni_object_free(value, &kni_kind_onnx_datum, __func__); }

/* ---- making */

kn_onnx_value kn_onnx_value_tensor(kn_tensor t)
{
    KNI_NAMED;
    if (!t.bits) return kni_given(NULL, __func__, "tensor"), NULL;
    if (!kn_ok(t)) return kni_failure_again(t), NULL;
    return made(kni_held_tensor(kn_alias(t)), __func__);
}

kn_onnx_value kn_onnx_value_strings(const char *const *texts, const size_t *bytes, kn_shape shape)
{
    KNI_NAMED;
    int64_t n = 1;
    if (shape.rank < 0 || shape.rank > KN_MAX_RANK) n = -1;
    for (int32_t a = 0; n >= 0 && a < shape.rank; a++)
        if (shape.dims[a] < 0 || __builtin_mul_overflow(n, shape.dims[a], &n)) n = -1;
    if (n < 0 || n > PTRDIFF_MAX / 64) return kni_failure(KN_ERROR_SHAPE, "%s: no shape", __func__), NULL;
    if (n && kni_given(texts, __func__, "texts")) return NULL;
    kni_onnx_text *list = calloc((size_t)n + 1, sizeof *list);
    if (!list) return kni_failure_memory(__func__), NULL;
    for (int64_t i = 0; i < n; i++) {
        const char *text = texts[i] ? texts[i] : "";
        list[i] = (kni_onnx_text){text, bytes && texts[i] ? bytes[i] : strlen(text)};
    }
    kni_held *held = kni_held_strings(list, shape.dims, shape.rank);
    free(list);
    return made(held, __func__);
}

static int64_t count_of(const kni_held *held)
{
    return held->kind == KNI_IS_TENSOR ? kn_count(held->tensor) : held->n;
}

/* Keys are strings or i64 of rank 1, and there are as many values. */
static bool is_map(const kni_held *map, const char *function)
{
    const kni_held *keys = map->items[0], *values = map->items[1];
    bool flat = keys->kind == KNI_IS_STRINGS ? keys->rank == 1
                                             : keys->kind == KNI_IS_TENSOR && kn_rank(keys->tensor) == 1;
    bool typed = keys->kind == KNI_IS_STRINGS || (flat && kn_dtype_of(keys->tensor) == KN_I64);
    bool listed = values->kind == KNI_IS_TENSOR || values->kind == KNI_IS_STRINGS;
    if (flat && typed && listed && count_of(keys) == count_of(values)) return true;
    kni_failure(KN_ERROR_ARGUMENT, "%s: a map has keys of rank 1, strings or i64, and as many values",
                function);
    return false;
}

/* A value made of those behind handles. */
static kn_onnx_value made_of(kni_datum_kind kind, const kn_onnx_value *items, int64_t n, const char *function)
{
    kni_held *held = kni_held_list(kind, n);
    bool good = held != NULL;
    for (int64_t i = 0; good && i < n; i++) {
        kni_object_use use = kni_object_enter(items[i], &kni_kind_onnx_datum, function);
        kni_held_place(held, i, kni_held_use(use.object));
        kni_object_leave(&use);
        good = held->items[i] != NULL;
    }
    if (good && held->depth > KNI_DEEPEST_LIST)
        good = !kni_failure(KN_ERROR_UNSUPPORTED, "%s: more than %d lists in lists", function,
                            (int)KNI_DEEPEST_LIST);
    if (good && kind == KNI_IS_MAP) good = is_map(held, function);
    if (good) return made(held, function);
    kni_held_leave(held);
    return NULL;
}

kn_onnx_value kn_onnx_value_sequence(const kn_onnx_value *items, int64_t n)
{
    KNI_NAMED;
    if (n > 0 && kni_given(items, __func__, "items")) return NULL;
    return made_of(KNI_IS_SEQUENCE, items, n, __func__);
}

kn_onnx_value kn_onnx_value_optional(kn_onnx_value item)
{
    KNI_NAMED;
    return made_of(KNI_IS_OPTIONAL, &item, item ? 1 : 0, __func__);
}

kn_onnx_value kn_onnx_value_map(kn_onnx_value keys, kn_onnx_value values)
{
    KNI_NAMED;
    return made_of(KNI_IS_MAP, (kn_onnx_value[]){keys, values}, 2, __func__);
}

/* ---- asking */

kn_onnx_kind kn_onnx_value_kind(kn_onnx_value value)
{
    static const uint8_t kinds[] = {[KNI_IS_TENSOR] = KN_ONNX_TENSOR,
                                    [KNI_IS_STRINGS] = KN_ONNX_STRINGS,
                                    [KNI_IS_SEQUENCE] = KN_ONNX_SEQUENCE,
                                    [KNI_IS_OPTIONAL] = KN_ONNX_OPTIONAL,
                                    [KNI_IS_MAP] = KN_ONNX_MAP};
    KNI_USE(onnx_datum, held, value);
    return held ? (kn_onnx_kind)kinds[held->kind] : KN_ONNX_NOTHING;
}

kn_tensor kn_onnx_value_as_tensor(kn_onnx_value value)
{
    KNI_USE(onnx_datum, held, value);
    if (!held) return kn_poison(KNI_NO_OBJECT(value), kni_failure_latest());
    if (held->kind == KNI_IS_TENSOR) return kn_alias(held->tensor);
    return kni_poisoned(KN_ERROR_DTYPE, "%s: the value is no tensor of numbers", __func__);
}

int64_t kn_onnx_value_count(kn_onnx_value value)
{
    KNI_USE(onnx_datum, held, value);
    if (!held) return -1;
    return count_of(held);
}

kn_shape kn_onnx_value_shape(kn_onnx_value value)
{
    KNI_USE(onnx_datum, held, value);
    kn_shape shape = {-1, {0}};
    if (held && held->kind == KNI_IS_TENSOR) return kn_shape_of_tensor(held->tensor);
    if (held && held->kind == KNI_IS_STRINGS) {
        shape.rank = held->rank;
        for (int32_t a = 0; a < held->rank; a++) shape.dims[a] = held->sizes[a];
    } else if (held) {
        kni_failure(KN_ERROR_DTYPE, "%s: the value is neither a tensor nor strings", __func__);
    }
    return shape;
}

kn_status kn_onnx_value_string(kn_onnx_value value, int64_t i, const char **text, size_t *bytes)
{
    KNI_USE(onnx_datum, held, value);
    if (!held) return KNI_NO_OBJECT(value);
    if (held->kind != KNI_IS_STRINGS)
        return kni_failure(KN_ERROR_DTYPE, "%s: the value holds no strings", __func__);
    if (i < 0 || i >= held->n)
        return kni_failure(KN_ERROR_INDEX, "%s: string %lld of %lld", __func__, (long long)i,
                           (long long)held->n);
    kn_status s = kni_given(text, __func__, "text");
    if (s) return s;
    *text = held->strings[i].data;
    if (bytes) *bytes = held->strings[i].bytes;
    return KN_OK;
}

kn_onnx_value kn_onnx_value_item(kn_onnx_value value, int64_t i)
{
    KNI_USE(onnx_datum, held, value);
    if (!held) return NULL;
    if (!held->items || i < 0 || i >= held->n)
        return kni_failure(KN_ERROR_INDEX, "%s: item %lld of %lld", __func__, (long long)i,
                           (long long)(held->items ? held->n : 0)),
               NULL;
    return made(kni_held_use(held->items[i]), __func__);
}

/* ---- reading */

static kni_held *held_of_item(const kni_onnx_item *item)
{
    if (item->kind == KNI_ONNX_TENSOR) {
        if (item->tensor.type == KNI_ONNX_STRING) return kni_file_strings(&item->tensor);
        return kni_held_tensor(kni_file_tensor(&item->tensor, NULL, NULL));
    }
    kni_held *held = kni_held_list(item->kind == KNI_ONNX_MAP        ? KNI_IS_MAP
                                   : item->kind == KNI_ONNX_OPTIONAL ? KNI_IS_OPTIONAL
                                                                     : KNI_IS_SEQUENCE,
                                   item->count);
    for (int64_t i = 0; held && i < item->count; i++) {
        kni_held_place(held, i, held_of_item(&item->items[i]));
        if (held->items[i]) continue;
        kni_held_leave(held);
        return NULL;
    }
    return held;
}

static kni_held *read_bytes(const void *data, size_t bytes, const char *type, const char *file)
{
    kni_onnx_arena *arena = kni_onnx_arena_new();
    if (!arena) return kni_failure_memory("kn_onnx_value_read"), NULL;
    kni_onnx_item item = {0};
    const kni_onnx_declared *declared = type ? kni_type_parse(arena, type) : NULL;
    kni_held *held = NULL;
    if ((declared || !type) && !kni_onnx_item_read(arena, data, bytes, declared, file, &item))
        held = held_of_item(&item);
    kni_onnx_arena_free(arena);
    return held;
}

kn_onnx_value kn_onnx_value_read_memory(const void *data, size_t bytes, const char *type)
{
    KNI_NAMED;
    if (bytes && kni_given(data, __func__, "data")) return NULL;
    return made(read_bytes(data, bytes, type, "memory"), __func__);
}

kn_onnx_value kn_onnx_value_read(const char *path, const char *type)
{
    KNI_NAMED;
    kni_file_map map;
    if (kni_given(path, __func__, "path") || kni_file_map_open(&map, path)) return NULL;
    kni_held *held = read_bytes(map.data, map.bytes, type, path);
    kni_file_map_close(&map);
    return made(held, __func__);
}
