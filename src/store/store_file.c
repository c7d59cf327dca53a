/* Stores: opening a file by its content, the directory of its tensors and texts, and finding names. */
#include "core/objects.h"
#include "store/store_checksum.h"
#include "store/zip.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

/* An expanded view (stride 0) needs no bytes in the file; up to this size, of all such views of a store together, they are taken
   without a limit being named. Tensors that share their bytes, or are compressed, may have this many times the file. */
enum { FREE_BYTES = 1 << 24, SHARED_TIMES = 32 };

/* ---- the directory */

static bool grow(void **array, int64_t *capacity, int64_t count, size_t size)
{
    if (count < *capacity) return true;
    int64_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted > (int64_t)(SIZE_MAX / 2 / size)) return false;
    void *bigger = realloc(*array, (size_t)wanted * size);
    if (!bigger) return false;
    *array = bigger;
    *capacity = wanted;
    return true;
}

static char *copy_text(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    if (!copy) return NULL;
    if (length) memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

/* False with the failure noted when the directory becomes larger than the file's size justifies. */
static bool spend(kni_store *store, size_t bytes)
{
    uint64_t allowed = kni_source_allowance(store->source);
    store->spent += bytes;
    if (store->spent <= allowed) return true;
    kni_source_bad(store->source, "its names and texts need more than the %llu bytes that its size justifies",
                   (unsigned long long)allowed);
    return false;
}

kni_store_item *kni_store_add(kni_store *store, const char *name, size_t length)
{
    if (!spend(store, sizeof *store->items + length + 1)) return NULL;
    void *items = store->items;
    char *copy = copy_text(name, length);
    if (!copy || !grow(&items, &store->capacity, store->count, sizeof *store->items)) {
        free(copy);
        kni_failure_memory("kn_store_open");
        return NULL;
    }
    store->items = items;
    kni_store_item *item = &store->items[store->count++];
    memset(item, 0, sizeof *item);
    item->name = copy;
    item->member = -1;
    return item;
}

kn_status kni_store_add_text(kni_store *store, const char *name, const char *text, size_t length)
{
    if (!spend(store, sizeof *store->texts + strlen(name) + length + 2)) return KN_ERROR_IO;
    void *texts = store->texts;
    char *name_copy = copy_text(name, strlen(name)), *text_copy = copy_text(text, length);
    if (!name_copy || !text_copy ||
        !grow(&texts, &store->text_capacity, store->text_count, sizeof *store->texts)) {
        free(name_copy);
        free(text_copy);
        return kni_failure_memory("kn_store_open");
    }
    store->texts = texts;
    store->texts[store->text_count++] = (kni_store_text){name_copy, text_copy, length};
    return KN_OK;
}

int64_t kni_store_elements(const kn_shape *shape, int32_t size)
{
    /* An axis of no elements makes the whole empty, however large the others are. */
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] == 0) return 0;
    int64_t n = 1, limit = INT64_MAX / (size > 0 ? size : 1);
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] < 0 || shape->dims[i] > limit / n) return -1;
        n *= shape->dims[i];
    }
    return n;
}

int64_t kni_store_item_bytes(const kni_store_item *item, int64_t elements)
{
    if (!item->packed) return elements * item->word->size;
    int64_t each = 8 / item->packed;
    return elements / each + (elements % each != 0);
}

void kni_store_contiguous(kni_store_item *item)
{
    int64_t stride = 1;
    for (int32_t i = item->shape.rank - 1; i >= 0; i--) {
        item->strides[i] = stride;
        if (item->shape.dims[i] > 1) stride *= item->shape.dims[i];
    }
}

/* The position of the last element, -1 past 2^63. */
static int64_t last_element(const kni_store_item *item)
{
    int64_t last = 0;
    for (int32_t i = 0; i < item->shape.rank; i++) {
        int64_t steps = item->shape.dims[i] - 1;
        if (item->strides[i] < 0 || (steps > 0 && item->strides[i] > (INT64_MAX - last) / steps)) return -1;
        last += steps * item->strides[i];
    }
    return last;
}

uint64_t kni_store_free_bytes(const kni_source *source)
{
    uint64_t shared =
        source->bytes < UINT64_MAX / 2 / SHARED_TIMES ? source->bytes * SHARED_TIMES : UINT64_MAX / 2;
    return FREE_BYTES + shared;
}

static kn_status check_total(kni_store *store, const kni_store_item *item, uint64_t wanted)
{
    uint64_t held = store->source->bytes;
    /* Unpacking makes a few bytes of one, which is no repetition. */
    if (!item->packed && wanted > item->span &&
        (wanted > FREE_BYTES || (store->repeated += wanted) > FREE_BYTES))
        return kni_source_bad(store->source,
                              "tensor '%s' repeats %llu bytes of the file to %llu; name a limit in "
                              "kn_store_args to read it",
                              item->name, (unsigned long long)item->span, (unsigned long long)wanted);
    store->described = wanted > INT64_MAX - store->described ? INT64_MAX : store->described + wanted;
    if (store->described > kni_store_free_bytes(store->source))
        return kni_source_bad(
            store->source,
            "the tensors up to '%s' have %llu bytes, more than %d times the %llu of the file; name a limit "
            "in kn_store_args to read them",
            item->name, (unsigned long long)store->described, SHARED_TIMES, (unsigned long long)held);
    return KN_OK;
}

kn_status kni_store_check_item(kni_store *store, const kni_store_item *item)
{
    const kni_source *source = store->source;
    int32_t size = item->word->size;
    int64_t elements = kni_store_elements(&item->shape, size);
    for (int32_t i = 0; i < item->shape.rank; i++)
        if (item->shape.dims[i] < 0 || item->strides[i] < 0) elements = -1;
    if (elements < 0) return kni_source_bad(source, "tensor '%s' has an impossible shape", item->name);
    if (elements == 0) return KN_OK;
    uint64_t wanted = (uint64_t)elements * (uint64_t)size;
    int64_t last = last_element(item);
    /* A view into compressed bytes needs memory for all of them from its first element to its last. */
    if (kni_zip_packed(store->zip, item->member) && last >= elements && last < INT64_MAX / size)
        wanted = (uint64_t)(last + 1) * (uint64_t)size;
    if (store->limit > 0 && wanted > (uint64_t)store->limit)
        return kni_source_bad(source, "tensor '%s' has %llu bytes, more than the limit of %lld", item->name,
                              (unsigned long long)wanted, (long long)store->limit);
    uint64_t held = item->offset > item->span ? 0 : item->span - item->offset;
    if (last < 0 || (item->packed ? (uint64_t)last / (uint64_t)(8 / item->packed) >= held
                                  : (uint64_t)last >= held / (uint64_t)size))
        return kni_source_bad(source, "tensor '%s' reaches past the %llu bytes that the file has for it",
                              item->name, (unsigned long long)item->span);
    return store->limit > 0 ? KN_OK : check_total(store, item, wanted);
}

/* ---- names */

typedef struct named {
    const char *name;
    int64_t position;
} named;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static kn_status sort_names(kni_store *store)
{
    size_t n = (size_t)store->count;
    named *sorted = malloc((n + 1) * sizeof *sorted);
    store->by_name = malloc((n + 1) * sizeof *store->by_name);
    if (!sorted || !store->by_name) {
        free(sorted);
        return kni_failure_memory("kn_store_open");
    }
    for (size_t i = 0; i < n; i++) sorted[i] = (named){store->items[i].name, (int64_t)i};
    qsort(sorted, n, sizeof *sorted, by_name);
    kn_status status = KN_OK;
    for (size_t i = 0; i < n && !status; i++) {
        store->by_name[i] = sorted[i].position;
        if (i && !strcmp(sorted[i].name, sorted[i - 1].name))
            /* Nested names of PyTorch's may meet in a whole file: {"a.b": ...} and {"a": {"b": ...}}. */
            status = (store->format == KN_STORE_PYTORCH ? kni_source_bad : kni_source_damaged)(
                store->source, "two tensors are called '%s'", sorted[i].name);
    }
    free(sorted);
    return status;
}

int64_t kni_store_find(const kni_store *store, const char *name)
{
    int64_t low = 0, high = store->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(store->items[store->by_name[middle]].name, name);
        if (order == 0) return store->by_name[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

int64_t kn_store_find(kn_store handle, const char *name)
{
    KNI_USE(store, store, handle);
    return store && name ? kni_store_find(store, name) : -1;
}

/* ---- opening */

typedef struct reader {
    kn_store_format format;
    const char *magic;
    size_t length, at;
    kn_status (*read)(kni_store *store);
} reader;

/* In the order they are tried. A zip archive is PyTorch's or NumPy's by what is in it. */
static const reader readers[] = {
    {KN_STORE_NUMPY, "\x93NUMPY", 6, 0, kni_npy_read},
    {KN_STORE_PYTORCH, "PK", 2, 0, kni_pytorch_zip_read},
    {KN_STORE_NUMPY, "PK", 2, 0, kni_npz_read},
    {KN_STORE_PYTORCH, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 14, 0,
     kni_pytorch_legacy_read},
    {KN_STORE_PYTORCH, "ustar", 5, 257, kni_pytorch_tar_read},
    {KN_STORE_SAFETENSORS, "{", 1, 8, kni_safetensors_read},
};

static kn_status read_directory(kni_store *store, kn_store_format wanted)
{
    unsigned char head[264] = {0};
    size_t known = store->source->bytes < sizeof head ? (size_t)store->source->bytes : sizeof head;
    kn_status status = kni_source_read(store->source, 0, head, known);
    if (status) return status;
    if (known == 0) return kni_source_damaged(store->source, "the file is empty");
    bool zip = false;
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        const reader *r = &readers[i];
        if (r->at + r->length > known || memcmp(head + r->at, r->magic, r->length)) continue;
        zip = zip || !strcmp(r->magic, "PK");
        if (wanted != KN_STORE_AUTO && wanted != r->format) continue;
        store->format = r->format;
        store->foreign = false;
        status = r->read(store);
        if (!store->foreign) return status;
        /* An archive that is not PyTorch's is offered to the next reader, without a word. */
        if (wanted != KN_STORE_AUTO)
            return kni_failure(KN_ERROR_UNSUPPORTED, "%s: the archive has no data.pkl", store->source->name);
    }
    if (wanted == KN_STORE_AUTO)
        return kni_source_damaged(
            store->source,
            "not a safetensors, PyTorch or NumPy file by its beginning (%02x %02x %02x %02x ... %02x)",
            head[0], head[1], head[2], head[3], head[8]);
    return kni_source_bad(store->source, "not a file of the format that was asked for");
}

static kni_store *open_source(kni_source *source, const kn_store_args *args)
{
    if (!source) return NULL;
    kni_store *store = calloc(1, sizeof *store);
    if (!store) {
        kni_source_release(source);
        kni_failure_memory("kn_store_open");
        return NULL;
    }
    store->source = source;
    kn_status status = KN_OK;
    if (args) {
        store->map = args->map;
        store->skip_checksum = args->skip_checksum;
        store->limit = args->limit;
        if (args->top_key && !(store->top_key = copy_text(args->top_key, strlen(args->top_key))))
            status = kni_failure_memory("kn_store_open");
    }
    if (!status) status = read_directory(store, args ? args->format : KN_STORE_AUTO);
    if (!status) status = sort_names(store);
    if (!status) status = kni_store_read_dtypes(store);
    if (!status) status = kni_checksum_read(store);
    if (!status && !store->skip_checksum) status = kni_checksum_check_header(store);
    if (!status) return store;
    kni_store_close(store);
    return NULL;
}

static bool bad_args(const kn_store_args *args, const char *function)
{
    if (!args || ((int)args->format >= KN_STORE_AUTO && args->format <= KN_STORE_NUMPY && args->limit >= 0))
        return false;
    kni_failure(KN_ERROR_ARGUMENT, "%s: unknown format %d or negative limit", function, (int)args->format);
    return true;
}

kni_store *kni_store_open(const char *path, const kn_store_args *args, const char *function)
{
    if (!path) {
        kni_failure(KN_ERROR_ARGUMENT, "%s: the path is NULL", function);
        return NULL;
    }
    if (bad_args(args, function)) return NULL;
    return open_source(kni_source_open(path, args && args->map), args);
}

kni_store *kni_store_open_memory(const void *data, size_t bytes, const kn_store_args *args,
                                 const char *function)
{
    if (!data && bytes) {
        kni_failure(KN_ERROR_ARGUMENT, "%s: data is NULL", function);
        return NULL;
    }
    if (bad_args(args, function)) return NULL;
    return open_source(kni_source_memory(data, bytes), args);
}

void kni_store_close(kni_store *store)
{
    if (!store) return;
    for (int64_t i = 0; i < store->count; i++) free(store->items[i].name);
    for (int64_t i = 0; i < store->text_count; i++) {
        free(store->texts[i].name);
        free(store->texts[i].text);
    }
    free(store->items);
    free(store->texts);
    free(store->by_name);
    free(store->top_key);
    kni_zip_free(store->zip);
    kni_source_release(store->source);
    free(store);
}

static void destroy_store(void *object) { kni_store_close(object); }

const kni_object_kind kni_kind_store = {"kn_store", "store", "closed", destroy_store};

static kn_store handle_of(kni_store *store, const char *function)
{
    return store ? kni_object_make(&kni_kind_store, store, function) : NULL;
}

kn_store kn_store_open(const char *path, const kn_store_args *args)
{
    KNI_NAMED;
    return handle_of(kni_store_open(path, args, __func__), __func__);
}

kn_store kn_store_open_memory(const void *data, size_t bytes, const kn_store_args *args)
{
    KNI_NAMED;
    return handle_of(kni_store_open_memory(data, bytes, args, __func__), __func__);
}

void kn_store_close(kn_store store) { kni_object_free(store, &kni_kind_store, __func__); }

/* ---- asking */

kn_store_format kn_store_format_of(kn_store handle)
{
    KNI_USE(store, store, handle);
    return store ? store->format : KN_STORE_AUTO;
}

int64_t kn_store_count(kn_store handle)
{
    KNI_USE(store, store, handle);
    return store ? store->count : 0;
}

void kni_store_entry_at(const kni_store *store, int64_t index, kn_store_entry *entry)
{
    const kni_store_item *item = &store->items[index];
    entry->name = item->name;
    entry->dtype = item->word->dtype;
    entry->dtype_text = item->word->label;
    entry->shape = item->shape;
    entry->bytes = kni_store_item_bytes(item, kni_store_elements(&item->shape, item->word->size));
}

bool kn_store_at(kn_store handle, int64_t index, kn_store_entry *entry)
{
    KNI_USE(store, store, handle);
    if (!store || !entry || index < 0 || index >= store->count) return false;
    kni_store_entry_at(store, index, entry);
    return true;
}

bool kn_store_text(kn_store handle, int64_t index, const char **name, const char **text)
{
    KNI_USE(store, store, handle);
    if (!store || index < 0 || index >= store->text_count) return false;
    if (name) *name = store->texts[index].name;
    if (text) *text = store->texts[index].text;
    return true;
}
