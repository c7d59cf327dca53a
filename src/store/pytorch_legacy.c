/* PyTorch files before version 1.6: four pickles (magic number, protocol, system, content), the keys of the storages, and the
   storages one behind the other, each with its number of elements. */
#include "store/pytorch.h"
#include "support/failure.h"
#include <stdlib.h>
#include <string.h>

enum { PROTOCOL = 1001, MAGIC_BYTES = 15, FIRST_SCAN = 1 << 20 };
#define LARGEST_SCAN ((uint64_t)1 << 30)

/* A storage and where it was found. The sizes of its elements are known from the tensors that use it. */
typedef struct legacy_storage {
    const char *key;
    size_t length;
    uint64_t place;
    uint64_t elements;
    int32_t size;
} legacy_storage;

typedef struct legacy_form {
    legacy_storage *storages; /* sorted by key */
    size_t count, capacity;
} legacy_form;

static int compare_keys(const char *a, size_t a_length, const char *b, size_t b_length)
{
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    if (order) return order;
    return a_length < b_length ? -1 : a_length > b_length;
}

static int by_key(const void *a, const void *b)
{
    const legacy_storage *x = a, *y = b;
    return compare_keys(x->key, x->length, y->key, y->length);
}

static legacy_storage *find(const legacy_form *form, const char *key, size_t length)
{
    size_t low = 0, high = form->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        legacy_storage *s = &form->storages[middle];
        int order = compare_keys(s->key, s->length, key, length);
        if (order == 0) return s;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Notes each storage that the content names, with the size of its elements. */
static kn_status note_storage(kni_pickle *p, const kni_pickle_value *id, kni_pickle_value **result)
{
    kn_status status = kni_pytorch_storage(p, id, result);
    if (status) return status;
    legacy_form *form = p->context;
    const kni_pickle_storage *s = (*result)->storage;
    if (form->count == form->capacity) {
        size_t capacity = form->capacity ? form->capacity * 2 : 16;
        legacy_storage *bigger = realloc(form->storages, capacity * sizeof *bigger);
        if (!bigger) return p->status = kni_failure_memory("reading a PyTorch file");
        form->storages = bigger;
        form->capacity = capacity;
    }
    form->storages[form->count++] =
        (legacy_storage){s->key, s->key_length, 0, 0, s->word ? s->word->size : 1};
    return KN_OK;
}

/* One entry for each key. */
static void sort_storages(legacy_form *form)
{
    size_t kept = 0;
    if (form->count) qsort(form->storages, form->count, sizeof *form->storages, by_key);
    for (size_t i = 0; i < form->count; i++)
        if (i == 0 || by_key(&form->storages[i], &form->storages[kept - 1]))
            form->storages[kept++] = form->storages[i];
    form->count = kept;
}

/* Goes over the storages behind the pickles, in the order of the list of keys. */
static kn_status place_storages(kni_store *store, legacy_form *form, const kni_pickle_value *keys,
                                uint64_t at)
{
    const kni_source *source = store->source;
    if (keys->kind != KNI_PICKLE_LIST) return kni_source_bad(source, "the list of storages is missing");
    for (size_t i = 0; i < keys->count; i++) {
        unsigned char head[8];
        const kni_pickle_value *key = keys->items[i];
        if (key->kind != KNI_PICKLE_TEXT) return kni_source_bad(source, "a key of a storage is no text");
        legacy_storage *s = find(form, key->text, key->length);
        if (!s) return kni_source_bad(source, "storage %zu is used by no tensor, so its size is unknown", i);
        kn_status status = kni_source_read(source, at, head, sizeof head);
        if (status) return status;
        s->elements = kni_little(head, 8);
        s->place = at + 8;
        if (s->elements > (source->bytes - s->place) / (uint64_t)s->size)
            return kni_source_bad(source, "the file was cut inside storage %zu of %zu", i, keys->count);
        at = s->place + s->elements * (uint64_t)s->size;
    }
    return KN_OK;
}

static kn_status locate(kni_pytorch *f, const kni_pickle_storage *storage, kni_storage_place *place)
{
    const legacy_storage *s = find(f->context, storage->key, storage->key_length);
    if (!s || !s->place) return kni_source_bad(f->store->source, "the data of a storage is missing");
    int32_t size = storage->word ? storage->word->size : 1;
    if (size != s->size) return kni_source_bad(f->store->source, "one storage has elements of two sizes");
    *place = (kni_storage_place){s->place, s->elements * (uint64_t)s->size, -1};
    return KN_OK;
}

typedef struct legacy_pickles {
    const kni_pickle_value *content, *keys;
    size_t content_size;
} legacy_pickles;

static kn_status read_pickles(kni_store *store, kni_pickle *p, legacy_form *form, legacy_pickles *found)
{
    p->at = MAGIC_BYTES;
    const kni_pickle_value *version = kni_pickle_run(p);
    if (!version) return p->status;
    if (version->kind != KNI_PICKLE_INT || version->integer != PROTOCOL)
        return kni_source_bad(store->source, "an unknown version of PyTorch's old format; %d is known",
                              PROTOCOL);
    if (!kni_pickle_run(p)) return p->status;
    p->persistent = note_storage;
    p->context = form;
    size_t start = p->at;
    if (!(found->content = kni_pickle_run(p))) return p->status;
    found->content_size = p->at - start;
    p->persistent = NULL;
    found->keys = kni_pickle_run(p);
    return found->keys ? KN_OK : p->status;
}

/* Reads the file from the first bytes of it; *cut when the pickles may go on behind them. */
static kn_status read_with(kni_store *store, const unsigned char *data, size_t bytes, bool *cut)
{
    legacy_form form = {0};
    legacy_pickles found = {0};
    kni_pickle p = {.data = data, .bytes = bytes, .source = store->source};
    kn_status status = read_pickles(store, &p, &form, &found);
    *cut = status != KN_OK;
    if (!status) {
        sort_storages(&form);
        status = place_storages(store, &form, found.keys, p.at);
    }
    kni_pytorch f = {.store = store, .pickle_size = found.content_size, .locate = locate, .context = &form};
    if (!status) status = kni_pytorch_list(&f, found.content);
    kni_pickle_free(&p);
    free(form.storages);
    return status;
}

/* The pickles have no length before them, and the storages behind them should stay unread: more and more of the file is
   tried until the pickles end inside of it. */
kn_status kni_pytorch_legacy_read(kni_store *store)
{
    const kni_source *source = store->source;
    size_t all = (size_t)(source->bytes < LARGEST_SCAN ? source->bytes : LARGEST_SCAN), bytes = FIRST_SCAN;
    bool cut = true;
    if (all < MAGIC_BYTES) return kni_source_bad(source, "the file was cut inside its magic number");
    if (source->data) return read_with(store, source->data, all, &cut);
    for (;; bytes *= 8) {
        if (bytes > all) bytes = all;
        unsigned char *data = malloc(bytes);
        if (!data) return kni_failure_memory("reading a PyTorch file");
        kn_status status = kni_source_read(source, 0, data, bytes);
        if (!status) status = read_with(store, data, bytes, &cut);
        free(data);
        if (!cut || bytes == all || status == KN_ERROR_MEMORY) return status;
    }
}
