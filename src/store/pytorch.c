/* PyTorch files of today: a zip archive with data.pkl and one entry for each storage. */
#include "store/pytorch.h"
#include "store/zip.h"
#include "support/failure.h"
#include <stdlib.h>
#include <string.h>

enum { LONGEST_PREFIX = 300, LONGEST_ENTRY = 600 };

typedef struct zip_form {
    char prefix[LONGEST_PREFIX]; /* "archive/" */
} zip_form;

/* The entry "archive/data.pkl" under any first folder; -1 when there is none. */
static int64_t find_pickle(const kni_zip *zip)
{
    for (int64_t i = 0; i < zip->count; i++) {
        const char *name = zip->entries[i].name, *slash = strrchr(name, '/');
        if (!strcmp(slash ? slash + 1 : name, "data.pkl") && strlen(name) < LONGEST_PREFIX) return i;
    }
    return -1;
}

static int64_t find_part(const kni_zip *zip, const zip_form *form, const char *part)
{
    char name[LONGEST_ENTRY];
    snprintf(name, sizeof name, "%s%s", form->prefix, part);
    return kni_zip_find(zip, name);
}

static kn_status locate(kni_pytorch *f, const kni_pickle_storage *storage, kni_storage_place *place)
{
    const zip_form *form = f->context;
    kni_store *store = f->store;
    char name[LONGEST_ENTRY];
    int length = (int)(storage->key_length < 200 ? storage->key_length : 200);
    snprintf(name, sizeof name, "%sdata/%.*s", form->prefix, length, storage->key);
    int64_t entry = kni_zip_find(store->zip, name);
    if (entry < 0)
        return kni_source_bad(store->source, "the archive has no entry '%s' with a tensor's data", name);
    const kni_zip_entry *e = &store->zip->entries[entry];
    place->span = e->bytes;
    place->member = entry;
    return kni_zip_packed(store->zip, entry)
               ? KN_OK
               : kni_zip_place(store->zip, store->source, entry, &place->container);
}

static kn_status read_byteorder(kni_store *store, const zip_form *form, bool *big)
{
    int64_t entry = find_part(store->zip, form, "byteorder");
    char text[8] = {0};
    *big = false;
    if (entry < 0) return KN_OK;
    size_t bytes = store->zip->entries[entry].bytes < 7 ? (size_t)store->zip->entries[entry].bytes : 7;
    kn_status status = kni_zip_check(store->zip, store->source, entry);
    if (!status) status = kni_zip_read(store->zip, store->source, entry, 0, text, bytes);
    if (status) return status;
    *big = !strncmp(text, "big", 3);
    if (*big || !strncmp(text, "little", 6)) return KN_OK;
    return kni_source_bad(store->source, "the byte order '%s' is neither little nor big", text);
}

static kn_status run_pickle(kni_store *store, int64_t entry, zip_form *form)
{
    kni_buffer pickle = {0};
    kni_pytorch f = {.store = store, .locate = locate, .context = form};
    kn_status status = read_byteorder(store, form, &f.swapped);
    uint64_t allowed = kni_source_allowance(store->source);
    if (allowed > SIZE_MAX / 2) allowed = SIZE_MAX / 2;
    if (!status) status = kni_zip_read_all(store->zip, store->source, entry, (size_t)allowed, &pickle);
    if (!status) {
        kni_pickle p = {.data = (const unsigned char *)kni_buffer_string(&pickle),
                        .bytes = pickle.length,
                        .source = store->source,
                        .memory = pickle.length,
                        .persistent = kni_pytorch_storage};
        f.pickle_size = pickle.length;
        const kni_pickle_value *root = kni_pickle_run(&p);
        status = root ? kni_pytorch_list(&f, root) : p.status;
        kni_pickle_free(&p);
    }
    kni_buffer_free(&pickle);
    return status;
}

/* Sets foreign for an archive that is not PyTorch's. */
kn_status kni_pytorch_zip_read(kni_store *store)
{
    kn_status status = kni_zip_open_store(store);
    if (status) return status;
    int64_t entry = find_pickle(store->zip);
    store->foreign = entry < 0;
    if (store->foreign) return KN_ERROR_UNSUPPORTED;
    zip_form form = {{0}};
    const char *name = store->zip->entries[entry].name;
    memcpy(form.prefix, name, strlen(name) - strlen("data.pkl"));
    if (find_part(store->zip, &form, "constants.pkl") >= 0)
        return kni_source_bad(store->source, "this is a TorchScript program; save its state_dict() instead");
    return run_pickle(store, entry, &form);
}
