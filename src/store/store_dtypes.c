/* Dtypes that a format has no name for. The metadata of a file says them, so that other programs read the codes as bytes:

       "kiln.dtypes": {"name": {"dtype": "i4", "shape": [3, 5]}, ...}      (JSON, as the text of one entry)

   In safetensors such a tensor is U8 with one axis, the bytes of its packed codes; in .npz it is an array u1 of the same shape, a
   code to a byte. */
#include "core/dtype.h"
#include "store/store_checksum.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <string.h>

#define WORD(dtype, name)                                                                                    \
    {                                                                                                        \
        "U8", dtype, 1, name                                                                                 \
    }
static const kni_dtype_word words[] = {
    WORD(KN_F8_E4M3, "f8_e4m3"),
    WORD(KN_F8_E5M2, "f8_e5m2"),
    WORD(KN_F8_E4M3_FNUZ, "f8_e4m3_fnuz"),
    WORD(KN_F8_E5M2_FNUZ, "f8_e5m2_fnuz"),
    WORD(KN_F4_E2M1, "f4_e2m1"),
    WORD(KN_E8M0, "e8m0"),
    WORD(KN_I4, "i4"),
    WORD(KN_U4, "u4"),
    WORD(KN_I2, "i2"),
    WORD(KN_U2, "u2"),
    {0},
};

bool kni_store_is_own_text(const char *name)
{
    return !strcmp(name, KNI_STORE_VERSION_NAME) || !strcmp(name, KNI_STORE_CHECKSUM_NAME) ||
           !strcmp(name, KNI_STORE_DTYPES_NAME);
}

/* ---- reading */

static const kni_dtype_word *word_of(const kni_json *dtype)
{
    if (!dtype || dtype->kind != KNI_JSON_TEXT) return NULL;
    for (const kni_dtype_word *w = words; w->word; w++)
        if (strlen(w->label) == dtype->length && !memcmp(w->label, dtype->text, dtype->length)) return w;
    return NULL;
}

static bool same_shape(const kn_shape *a, const kn_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

/* A tensor of bytes becomes what the entry says, where its bytes are as many as that takes. */
static kn_status retype(kni_store *store, const kni_json *entry)
{
    int64_t index = kni_store_find(store, entry->key);
    kni_store_item *item = index < 0 ? NULL : &store->items[index];
    const char *name = entry->key;
    if (!item)
        return kni_source_damaged(store->source, KNI_STORE_DTYPES_NAME " names '%s', which is not there",
                                  name);
    if (item->word->dtype != KN_U8 || item->retyped)
        return kni_source_damaged(store->source, KNI_STORE_DTYPES_NAME " names '%s', which has the dtype %s",
                                  name, item->word->label);
    if (entry->kind != KNI_JSON_OBJECT)
        return kni_source_damaged(store->source, KNI_STORE_DTYPES_NAME ": '%s' is no object", name);
    const kni_dtype_word *word = word_of(kni_json_member(entry, "dtype"));
    if (!word)
        return (kni_store_is_own(store) ? kni_source_damaged : kni_source_bad)(
            store->source, KNI_STORE_DTYPES_NAME ": '%s' has no dtype that is only stored", name);
    kni_store_item made = *item;
    made.word = word;
    made.retyped = true;
    made.shape = (kn_shape){0, {0}};
    kn_status status = kni_safetensors_shape(store, kni_json_member(entry, "shape"), name, &made.shape);
    if (status) return status;
    int64_t elements = kni_store_elements(&made.shape, 1);
    bool fits = elements >= 0;
    if (store->format == KN_STORE_SAFETENSORS) {
        made.packed = kni_narrow_bits(word->dtype);
        fits = fits && item->shape.rank == 1 && kni_store_item_bytes(&made, elements) == item->shape.dims[0];
        if (fits) kni_store_contiguous(&made);
    } else {
        fits = fits && same_shape(&made.shape, &item->shape);
    }
    if (!fits)
        return kni_source_damaged(
            store->source, KNI_STORE_DTYPES_NAME ": the shape of '%s' does not fit the bytes it has", name);
    *item = made;
    return kni_store_check_item(store, item);
}

static const kni_store_text *dtypes_text(const kni_store *store)
{
    for (int64_t i = 0; i < store->text_count; i++)
        if (!strcmp(store->texts[i].name, KNI_STORE_DTYPES_NAME)) return &store->texts[i];
    return NULL;
}

kn_status kni_store_read_dtypes(kni_store *store)
{
    const kni_store_text *text = store->format == KN_STORE_PYTORCH ? NULL : dtypes_text(store);
    if (!text) return KN_OK;
    kni_failure_held held;
    kni_failure_hold(&held);
    kni_json_document document = kni_json_parse(text->text, text->length, KNI_STORE_DTYPES_NAME);
    kni_failure_release(&held, KN_OK, KN_NONE);
    if (!document)
        return held.status == KN_ERROR_MEMORY ? kni_failure_memory("kn_store_open")
                                              : kni_source_damaged(store->source, "%s", held.text);
    const kni_json *root = kni_json_root(document);
    kn_status status = KN_OK;
    if (root->kind != KNI_JSON_OBJECT)
        status = kni_source_damaged(store->source, KNI_STORE_DTYPES_NAME " is no JSON object");
    for (const kni_json *e = status ? NULL : root->first; e && !status; e = e->next)
        status = retype(store, e);
    kni_json_free(document);
    return status;
}

/* ---- writing */

/* safetensors has F4 where the elements fill their bytes, and no integers below eight bits. */
static bool has_word(const kni_store_value *value)
{
    if (!value->packed) return true;
    return kni_safetensors_word(value->dtype) && kn_count(value->tensor) % (8 / value->packed) == 0;
}

void kni_store_pack_values(kni_store_writing *w)
{
    for (int64_t i = 0; i < w->count; i++) {
        kni_store_value *value = &w->values[i];
        value->packed = kni_narrow_bits(value->dtype);
        value->retyped = !has_word(value);
    }
}

const char *kni_store_entry_form(const kni_store_value *value, kn_shape *shape)
{
    *shape = kn_shape_of_tensor(value->tensor);
    if (!value->retyped) return kni_safetensors_word(value->dtype);
    *shape = (kn_shape){1, {kni_store_value_bytes(value)}};
    return kni_safetensors_word(KN_U8);
}

bool kni_store_has_retyped(const kni_store_writing *w)
{
    for (int64_t i = 0; i < w->count; i++)
        if (w->values[i].retyped) return true;
    return false;
}

void kni_store_write_sizes(kni_buffer *out, const kn_shape *shape)
{
    for (int32_t i = 0; i < shape->rank; i++) {
        if (i) kni_buffer_append(out, ",", 1);
        kni_buffer_decimal(out, shape->dims[i]);
    }
}

void kni_store_write_dtypes(kni_buffer *out, const kni_store_writing *w)
{
    const char *before = "{";
    for (int64_t i = 0; i < w->count; i++) {
        const kni_store_value *value = &w->values[i];
        if (!value->retyped) continue;
        kn_shape shape = kn_shape_of_tensor(value->tensor);
        kni_buffer_text(out, before);
        kni_json_write_text(out, value->name, strlen(value->name));
        kni_buffer_format(out, ":{\"dtype\":\"%s\",\"shape\":[", kn_dtype_name(value->dtype));
        kni_store_write_sizes(out, &shape);
        kni_buffer_text(out, "]}");
        before = ",";
    }
    kni_buffer_text(out, *before == '{' ? "{}" : "}");
}

void kni_store_write_dtypes_entry(kni_buffer *out, const kni_store_writing *w)
{
    if (!kni_store_has_retyped(w)) return;
    kni_buffer text = {0};
    kni_store_write_dtypes(&text, w);
    kni_buffer_text(out, ",\"" KNI_STORE_DTYPES_NAME "\":");
    kni_json_write_text(out, kni_buffer_string(&text), text.length);
    out->failed = out->failed || text.failed;
    kni_buffer_free(&text);
}
