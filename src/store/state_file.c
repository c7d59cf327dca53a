/* States to and from files and memory. */
#include "store/store_checksum.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

static kn_status write_state(kn_state state, kni_store_writing *w, kn_store_format format)
{
    int64_t count = kn_state_count(state), texts = kn_state_text_count(state);
    w->count = count;
    w->text_count = texts;
    w->values = calloc((size_t)count + 1, sizeof *w->values);
    w->texts = calloc((size_t)texts + 1, sizeof *w->texts);
    kn_status status = w->values && w->texts ? KN_OK : kni_failure_memory("kn_state_write");
    for (int64_t i = 0; i < count && !status; i++) {
        kni_store_value *value = &w->values[i];
        value->name = kn_state_name(state, i, &value->tensor);
        value->dtype = kn_dtype_of(value->tensor);
    }
    for (int64_t i = 0; i < texts && !status; i++) {
        const char *text = NULL;
        w->texts[i].name = (char *)(uintptr_t)kn_state_text_name(state, i, &text);
        w->texts[i].text = (char *)(uintptr_t)text;
    }
    if (!status) status = kni_store_write(w, format);
    free(w->values);
    free(w->texts);
    return status;
}

kn_status kn_state_write(kn_state state, const char *path, kn_store_format format)
{
    kni_store_writing w = {.path = path};
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    if (!path) return kni_failure(KN_ERROR_ARGUMENT, "kn_state_write: the path is NULL");
    return write_state(state, &w, format);
}

kn_status kn_state_write_memory(kn_state state, void **data, size_t *bytes, kn_store_format format)
{
    kni_store_writing w = {.path = "memory", .to_memory = true};
    if (data) *data = NULL;
    if (bytes) *bytes = 0;
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    if (!data || !bytes)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_state_write_memory: data or bytes is NULL");
    kn_status status = write_state(state, &w, format);
    if (status) {
        free(w.memory);
        return status;
    }
    *data = w.memory;
    *bytes = w.memory_bytes;
    return KN_OK;
}

/* All tensors are read before the first is put, so that a damaged file changes nothing. */
static kn_status read_all(kni_store *store, kn_tensor *tensors)
{
    for (int64_t i = 0; i < store->count; i++) {
        tensors[i] = kni_store_tensor(store, i); /* a temporary, which put_all gives to the state */
        if (kn_ok(tensors[i])) continue;
        kn_status status = kni_failure_of(tensors[i]);
        return status ? status : KN_ERROR_IO;
    }
    return KN_OK;
}

static kn_status put_all(kn_state state, kni_store *store, kn_tensor *tensors)
{
    kn_status status = KN_OK;
    for (int64_t i = 0; i < store->count && !status; i++) {
        status = kn_state_put(state, "", store->items[i].name, tensors[i]);
        tensors[i] = KN_NONE;
    }
    for (int64_t i = 0; i < store->text_count && !status; i++)
        if (!kni_store_is_own_text(store->texts[i].name))
            status = kn_state_put_text(state, store->texts[i].name, store->texts[i].text);
    return status;
}

static kn_status read_and_close(kn_state state, kni_store *store)
{
    if (!store) return KN_ERROR_IO;
    kn_tensor *tensors = calloc((size_t)store->count + 1, sizeof *tensors);
    kn_status status = tensors ? kni_store_check_version(store) : kni_failure_memory("kn_state_read");
    if (!status) status = read_all(store, tensors);
    if (!status) status = put_all(state, store, tensors);
    for (int64_t i = 0; tensors && i < store->count; i++) kn_drop(tensors[i]);
    free(tensors);
    kni_store_close(store);
    return status;
}

kn_status kn_state_read(kn_state state, const char *path)
{
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    return read_and_close(state, kni_store_open(path, NULL, __func__));
}

kn_status kn_state_read_memory(kn_state state, const void *data, size_t bytes)
{
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    if (!data) return kni_failure(KN_ERROR_ARGUMENT, "kn_state_read_memory: data is NULL");
    return read_and_close(state, kni_store_open_memory(data, bytes, NULL, __func__));
}
