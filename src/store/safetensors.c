/* The reader of safetensors: 8 bytes of header length, a JSON header, and the tensors without holes or overlap. */
#include "core/dtype.h"
#include "store/store_object.h"
#include "support/failure.h"
#include "support/json.h"
#include <stdlib.h>
#include <string.h>

#define LARGEST_HEADER 100000000

/* F6_E2M3 and F6_E3M2, four elements in three bytes, are not in the table: their files are refused as a whole. */
static const kni_dtype_word words[] = {
    {"F64", KN_F64, 8, "f64"},
    {"F32", KN_F32, 4, "f32"},
    {"F16", KN_F16, 2, "f16"},
    {"BF16", KN_BF16, 2, "bf16"},
    {"I64", KN_I64, 8, "i64"},
    {"I32", KN_I32, 4, "i32"},
    {"I16", KN_I16, 2, "i16"},
    {"I8", KN_I8, 1, "i8"},
    {"U64", KN_U64, 8, "u64"},
    {"U32", KN_U32, 4, "u32"},
    {"U16", KN_U16, 2, "u16"},
    {"U8", KN_U8, 1, "u8"},
    {"BOOL", KN_BOOL, 1, "bool"},
    {"F8_E4M3", KN_F8_E4M3, 1, "f8_e4m3"},
    {"F8_E5M2", KN_F8_E5M2, 1, "f8_e5m2"},
    {"F8_E4M3FNUZ", KN_F8_E4M3_FNUZ, 1, "f8_e4m3_fnuz"},
    {"F8_E5M2FNUZ", KN_F8_E5M2_FNUZ, 1, "f8_e5m2_fnuz"},
    {"F8_E8M0", KN_E8M0, 1, "e8m0"},
    {"F4", KN_F4_E2M1, 1, "f4_e2m1"},
    {"C64", KN_DTYPE_NONE, 8, "c64"},
    {0},
};

const char *kni_safetensors_word(kn_dtype dtype) { return kni_dtype_word_of(words, dtype); }

bool kni_store_is_own(const kni_store *store)
{
    for (int64_t i = 0; i < store->text_count; i++)
        if (!strcmp(store->texts[i].name, KNI_STORE_VERSION_NAME))
            return !kni_store_is_later(store->texts[i].text);
    return false;
}

static bool is_size(const kni_json *value)
{
    return value->kind == KNI_JSON_NUMBER && value->whole && value->integer >= 0;
}

kn_status kni_safetensors_shape(kni_store *store, const kni_json *value, const char *name, kn_shape *shape)
{
    if (!value || value->kind != KNI_JSON_ARRAY)
        return kni_source_damaged(store->source, "tensor '%s' has no shape", name);
    if (value->count > KN_MAX_RANK)
        return (kni_store_is_own(store) ? kni_source_damaged : kni_source_bad)(
            store->source, "tensor '%s' has %lld axes; at most %d are possible", name,
            (long long)value->count, KN_MAX_RANK);
    for (const kni_json *size = value->first; size; size = size->next) {
        if (!is_size(size))
            return kni_source_damaged(store->source, "the shape of tensor '%s' has an entry that is no size",
                                      name);
        shape->dims[shape->rank++] = size->integer;
    }
    return KN_OK;
}

static kn_status read_tensor(kni_store *store, const kni_json *value, uint64_t data)
{
    const char *name = value->key;
    kni_store_item *item = kni_store_add(store, name, strlen(name));
    if (!item) return KN_ERROR_MEMORY;
    if (value->kind != KNI_JSON_OBJECT)
        return kni_source_damaged(store->source, "tensor '%s' is no object", name);
    const kni_json *dtype = kni_json_member(value, "dtype"), *place = kni_json_member(value, "data_offsets");
    if (!dtype || dtype->kind != KNI_JSON_TEXT)
        return kni_source_damaged(store->source, "tensor '%s' has no dtype", name);
    item->word = kni_dtype_word_find(words, dtype->text, strlen(dtype->text));
    if (!item->word)
        return (kni_store_is_own(store) ? kni_source_damaged : kni_source_bad)(
            store->source, "tensor '%s' has the unknown dtype '%s'", name, dtype->text);
    kn_status status = kni_safetensors_shape(store, kni_json_member(value, "shape"), name, &item->shape);
    if (status) return status;
    if (!place || place->kind != KNI_JSON_ARRAY || place->count != 2 || !is_size(place->first) ||
        !is_size(place->first->next) || place->first->integer > place->first->next->integer)
        return kni_source_damaged(store->source, "tensor '%s' has no valid data_offsets", name);
    item->offset = (uint64_t)place->first->integer;
    item->container = data;
    item->swapped = kni_machine_is_big();
    item->packed = kni_narrow_bits(item->word->dtype);
    kni_store_contiguous(item);
    int64_t elements = kni_store_elements(&item->shape, item->word->size);
    int64_t bytes = place->first->next->integer - place->first->integer;
    if (elements < 0 || kni_store_item_bytes(item, elements) != bytes)
        return kni_source_damaged(store->source,
                                  "tensor '%s' has %lld bytes, which its shape and dtype do not give", name,
                                  (long long)bytes);
    item->span = (uint64_t)place->first->next->integer;
    return KN_OK;
}

typedef struct piece {
    uint64_t begin, end;
    const char *name;
} piece;

static int by_place(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* The tensors must tile the data: a hole could hide something, an overlap could be changed by one and seen by another. */
static kn_status check_tiling(kni_store *store, uint64_t bytes)
{
    size_t n = (size_t)store->count;
    piece *pieces = malloc((n + 1) * sizeof *pieces);
    if (!pieces) return kni_failure_memory("reading safetensors");
    for (size_t i = 0; i < n; i++)
        pieces[i] = (piece){store->items[i].offset, store->items[i].span, store->items[i].name};
    qsort(pieces, n, sizeof *pieces, by_place);
    uint64_t end = 0;
    kn_status status = KN_OK;
    for (size_t i = 0; i < n && !status; end = pieces[i++].end) {
        if (pieces[i].begin != end)
            status = kni_source_damaged(
                store->source, "tensor '%s' begins at byte %llu of the data and not at %llu", pieces[i].name,
                (unsigned long long)pieces[i].begin, (unsigned long long)end);
    }
    free(pieces);
    if (!status && end != bytes)
        status = kni_source_damaged(store->source, "the tensors need %llu bytes, the file has %llu",
                                    (unsigned long long)end, (unsigned long long)bytes);
    return status;
}

static kn_status read_metadata(kni_store *store, const kni_json *metadata)
{
    if (metadata->kind != KNI_JSON_OBJECT)
        return kni_source_damaged(store->source, "__metadata__ is no object");
    for (const kni_json *text = metadata->first; text; text = text->next) {
        if (text->kind != KNI_JSON_TEXT)
            return kni_source_damaged(store->source, "the metadata '%s' is no text", text->key);
        kn_status status = kni_store_add_text(store, text->key, text->text, text->length);
        if (status) return status;
    }
    return KN_OK;
}

static kn_status read_header(kni_store *store, const kni_json *root, uint64_t data)
{
    if (root->kind != KNI_JSON_OBJECT)
        return kni_source_damaged(store->source, "the header is no JSON object");
    const kni_json *metadata = kni_json_member(root, "__metadata__");
    kn_status status = metadata ? read_metadata(store, metadata) : KN_OK;
    for (const kni_json *value = root->first; value && !status; value = value->next)
        if (strcmp(value->key, "__metadata__"))
            status = read_tensor(store, value, data);
        else if (value != metadata)
            status = kni_source_damaged(store->source, "there are two __metadata__");
    if (!status) status = check_tiling(store, store->source->bytes - data);
    for (int64_t i = 0; i < store->count && !status; i++)
        status = kni_store_check_item(store, &store->items[i]);
    return status;
}

/* NULL with the failure noted. */
static kni_json_document parse_header(const kni_source *source, const char *text, size_t length,
                                      kn_status *status)
{
    kni_failure_held held;
    kni_failure_hold(&held);
    kni_json_document document = kni_json_parse(text, length, "the header");
    kni_failure_release(&held, KN_OK, KN_NONE);
    if (document) return document;
    *status = held.status == KN_ERROR_MEMORY ? kni_failure_memory("reading safetensors")
                                             : kni_source_damaged(source, "%s", held.text);
    return NULL;
}

kn_status kni_safetensors_read(kni_store *store)
{
    const kni_source *source = store->source;
    unsigned char head[8];
    kn_status status = kni_source_read(source, 0, head, sizeof head);
    if (status) return status;
    uint64_t length = kni_little(head, 8);
    if (length > LARGEST_HEADER || length > source->bytes - 8)
        return kni_source_damaged(source, "the header claims %llu bytes, the file has %llu",
                                  (unsigned long long)length, (unsigned long long)source->bytes);
    char *text = malloc((size_t)length + 1);
    if (!text) return kni_failure_memory("reading safetensors");
    text[length] = 0;
    status = kni_source_read(source, 8, text, (size_t)length);
    if (!status) {
        kni_json_document document = parse_header(source, text, (size_t)length, &status);
        if (document) status = read_header(store, kni_json_root(document), 8 + length);
        kni_json_free(document);
    }
    free(text);
    return status;
}
