/* PyTorch files before version 0.1.10: a tar archive with the members storages, tensors and pickle, where numbers stand for
   storages and tensors. */
#include "store/pytorch.h"
#include "support/failure.h"
#include <stdlib.h>
#include <string.h>

enum { TAR_BLOCK = 512, WINDOW = 1 << 16 };
#define LARGEST_PICKLE ((uint64_t)1 << 28)

typedef struct member {
    uint64_t at, end;
} member;

/* A storage or a tensor by its number. */
typedef struct tar_object {
    int64_t key;
    bool tensor;
    kni_storage_place place;    /* STORAGE */
    const kni_dtype_word *word; /* STORAGE */
    kni_pickle_value *value;    /* TENSOR */
} tar_object;

typedef struct tar_form {
    kni_store *store;
    tar_object *objects;
    size_t count, capacity;
    kni_pickle pickle; /* its arena holds the values of all members */
    unsigned char *window;
} tar_form;

/* ---- the archive */

static bool read_octal(const unsigned char *text, size_t length, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < length && text[i] && text[i] != ' '; i++) {
        if (text[i] < '0' || text[i] > '7' || *value >> 60) return false;
        *value = *value * 8 + (uint64_t)(text[i] - '0');
    }
    return true;
}

static kn_status find_member(const kni_source *source, const char *name, member *m)
{
    unsigned char block[TAR_BLOCK];
    uint64_t at = 0, bytes;
    while (source->bytes >= TAR_BLOCK && at <= source->bytes - TAR_BLOCK) {
        kn_status status = kni_source_read(source, at, block, sizeof block);
        if (status) return status;
        if (block[0] == 0) break;
        if (!read_octal(block + 124, 12, &bytes) || bytes > source->bytes - at - TAR_BLOCK)
            return kni_source_bad(source, "a member of the tar archive reaches past the file's end");
        const char *found = (const char *)block;
        if (found[0] == '.' && found[1] == '/') found += 2;
        if (!strncmp(found, name, 90)) {
            *m = (member){at + TAR_BLOCK, at + TAR_BLOCK + bytes};
            return KN_OK;
        }
        at += TAR_BLOCK + (bytes + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    }
    return kni_source_bad(source, "the tar archive has no member '%s', so it is none of PyTorch's", name);
}

static kn_status read_from(tar_form *f, member *m, void *out, size_t bytes)
{
    if (bytes > m->end - m->at)
        return kni_source_bad(f->store->source, "a member of the tar archive was cut");
    kn_status status = kni_source_read(f->store->source, m->at, out, bytes);
    m->at += bytes;
    return status;
}

/* A small pickle between other data; its texts are lost with the next one. */
static const kni_pickle_value *small_pickle(tar_form *f, member *m)
{
    uint64_t left = m->end - m->at;
    size_t bytes = left < WINDOW ? (size_t)left : WINDOW;
    if (kni_source_read(f->store->source, m->at, f->window, bytes)) return NULL;
    f->pickle.data = f->window;
    f->pickle.bytes = bytes;
    f->pickle.at = 0;
    f->pickle.persistent = NULL;
    const kni_pickle_value *value = kni_pickle_run(&f->pickle);
    m->at += f->pickle.at;
    return value;
}

/* ---- numbered objects */

static tar_object *find_object(tar_form *f, int64_t key, bool tensor)
{
    for (size_t i = f->count; i-- > 0;)
        if (f->objects[i].key == key && f->objects[i].tensor == tensor) return &f->objects[i];
    return NULL;
}

static tar_object *add_object(tar_form *f, int64_t key, bool tensor)
{
    enum { MOST_OBJECTS = 1 << 14 }; /* they are searched one by one; files of that time had hundreds */
    if (f->count == MOST_OBJECTS) {
        kni_source_bad(f->store->source, "more than %d tensors in PyTorch's oldest format", MOST_OBJECTS);
        return NULL;
    }
    if (f->count == f->capacity) {
        size_t capacity = f->capacity ? f->capacity * 2 : 64;
        tar_object *bigger = realloc(f->objects, capacity * sizeof *bigger);
        if (!bigger) {
            kni_failure_memory("reading a PyTorch file");
            return NULL;
        }
        f->objects = bigger;
        f->capacity = capacity;
    }
    tar_object *object = &f->objects[f->count++];
    *object = (tar_object){.key = key, .tensor = tensor};
    return object;
}

static bool is_tuple(const kni_pickle_value *v, size_t count)
{
    return v && v->kind == KNI_PICKLE_TUPLE && v->count == count && v->items[0]->kind == KNI_PICKLE_INT;
}

static kn_status bad_object(tar_form *f)
{
    return f->pickle.status
               ? f->pickle.status
               : kni_source_bad(f->store->source, "a storage or tensor of the archive is damaged");
}

/* ---- members */

static kn_status read_views(tar_form *f, member *m)
{
    const kni_pickle_value *views = small_pickle(f, m);
    if (!views || views->kind != KNI_PICKLE_LIST) return bad_object(f);
    for (size_t i = 0; i < views->count; i++) {
        const kni_pickle_value *v = views->items[i];
        if (!is_tuple(v, 4) || v->items[1]->kind != KNI_PICKLE_INT || v->items[2]->kind != KNI_PICKLE_INT)
            return bad_object(f);
        tar_object *root = find_object(f, v->items[1]->integer, false);
        int64_t offset = v->items[2]->integer;
        if (!root || offset < 0 || (uint64_t)offset > root->place.span / (uint64_t)root->word->size)
            return bad_object(f);
        tar_object copy = *root, *view = add_object(f, v->items[0]->integer, false);
        if (!view) return KN_ERROR_IO;
        uint64_t skipped = (uint64_t)offset * (uint64_t)copy.word->size;
        view->word = copy.word;
        view->place = (kni_storage_place){copy.place.container + skipped, copy.place.span - skipped, -1};
    }
    return KN_OK;
}

/* (key, location, class), the number of elements, and the elements */
static kn_status read_storages(tar_form *f, member *m)
{
    const kni_pickle_value *count = small_pickle(f, m);
    if (!count || count->kind != KNI_PICKLE_INT) return bad_object(f);
    for (int64_t i = 0, n = count->integer; i < n; i++) {
        const kni_pickle_value *head = small_pickle(f, m);
        unsigned char size[8];
        if (!is_tuple(head, 3) || head->items[2]->kind != KNI_PICKLE_GLOBAL || !head->items[2]->global->word)
            return bad_object(f);
        tar_object *object = add_object(f, head->items[0]->integer, false);
        if (!object) return KN_ERROR_IO;
        object->word = head->items[2]->global->word;
        kn_status status = read_from(f, m, size, sizeof size);
        if (status) return status;
        uint64_t elements = kni_little(size, 8), bytes = (uint64_t)object->word->size;
        if (elements > (m->end - m->at) / bytes) return bad_object(f);
        object->place = (kni_storage_place){m->at, elements * bytes, -1};
        m->at += elements * bytes;
    }
    return read_views(f, m);
}

/* (key, key of the storage, class), axes, sizes, strides, offset */
static kn_status read_tensor(tar_form *f, member *m)
{
    const kni_pickle_value *head = small_pickle(f, m);
    unsigned char bytes[8 * (2 * KN_MAX_RANK + 1)], axes[8];
    if (!is_tuple(head, 3) || head->items[1]->kind != KNI_PICKLE_INT) return bad_object(f);
    int64_t key = head->items[0]->integer, storage_key = head->items[1]->integer;
    const tar_object *storage = find_object(f, storage_key, false);
    kn_status status = read_from(f, m, axes, sizeof axes);
    if (status) return status;
    size_t rank = (size_t)kni_little(axes, 4);
    if (!storage || rank > KN_MAX_RANK) return bad_object(f);
    status = read_from(f, m, bytes, 8 * (2 * rank + 1));
    if (status) return status;
    kni_pickle_tensor *t = kni_pickle_take(&f->pickle, sizeof *t);
    kni_pickle_value *value = t ? kni_pickle_make(&f->pickle, KNI_PICKLE_TENSOR) : NULL;
    if (!value) return KN_ERROR_MEMORY;
    memset(t, 0, sizeof *t);
    t->word = t->storage.word = storage->word;
    t->storage.elements = storage_key;
    t->shape.rank = (int32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        t->shape.dims[i] = (int64_t)kni_little(bytes + 8 * i, 8);
        t->strides[i] = (int64_t)kni_little(bytes + 8 * (rank + i), 8);
        if (t->shape.dims[i] < 0 || t->strides[i] < 0) return bad_object(f);
    }
    t->offset = (int64_t)kni_little(bytes + 16 * rank, 8);
    if (t->offset < 0) return bad_object(f);
    value->tensor = t;
    tar_object *object = add_object(f, key, true);
    if (!object) return KN_ERROR_IO;
    object->value = value;
    return KN_OK;
}

static kn_status read_tensors(tar_form *f, member *m)
{
    const kni_pickle_value *count = small_pickle(f, m);
    if (!count || count->kind != KNI_PICKLE_INT) return bad_object(f);
    kn_status status = KN_OK;
    for (int64_t i = 0, n = count->integer; i < n && !status; i++) status = read_tensor(f, m);
    return status;
}

/* ---- the content */

static kn_status numbered(kni_pickle *p, const kni_pickle_value *id, kni_pickle_value **result)
{
    if (id->kind != KNI_PICKLE_INT) return kni_pickle_bad(p, "a persistent id that is no number");
    tar_object *object = find_object(p->context, id->integer, true);
    if (!object) return kni_pickle_bad(p, "there is no tensor %lld", (long long)id->integer);
    *result = object->value;
    return KN_OK;
}

static kn_status locate(kni_pytorch *f, const kni_pickle_storage *storage, kni_storage_place *place)
{
    const tar_object *object = find_object(f->context, storage->elements, false);
    if (!object) return kni_source_bad(f->store->source, "the data of a storage is missing");
    *place = object->place;
    return KN_OK;
}

static kn_status read_content(tar_form *f, const member *m)
{
    uint64_t bytes = m->end - m->at;
    if (bytes > LARGEST_PICKLE) return kni_source_bad(f->store->source, "a pickle that is too large");
    unsigned char *data = malloc((size_t)bytes + 1);
    if (!data) return kni_failure_memory("reading a PyTorch file");
    kn_status status = kni_source_read(f->store->source, m->at, data, (size_t)bytes);
    if (!status) {
        f->pickle.data = data;
        f->pickle.bytes = (size_t)bytes;
        f->pickle.at = 0;
        f->pickle.persistent = numbered;
        f->pickle.context = f;
        kni_pytorch list = {.store = f->store, .pickle_size = (size_t)bytes, .locate = locate, .context = f};
        const kni_pickle_value *root = kni_pickle_run(&f->pickle);
        status = root ? kni_pytorch_list(&list, root) : f->pickle.status;
    }
    free(data);
    return status;
}

kn_status kni_pytorch_tar_read(kni_store *store)
{
    tar_form f = {.store = store, .pickle = {.source = store->source}};
    member storages, tensors, content;
    kn_status status = find_member(store->source, "storages", &storages);
    if (!status) status = find_member(store->source, "tensors", &tensors);
    if (!status) status = find_member(store->source, "pickle", &content);
    if (!status && !(f.window = malloc(WINDOW))) status = kni_failure_memory("reading a PyTorch file");
    if (!status) status = read_storages(&f, &storages);
    if (!status) status = read_tensors(&f, &tensors);
    if (!status) status = read_content(&f, &content);
    kni_pickle_free(&f.pickle);
    free(f.objects);
    free(f.window);
    return status;
}
