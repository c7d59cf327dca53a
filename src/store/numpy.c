/* The reader of NumPy's .npy (versions 1 to 3) and .npz. A header is a Python literal of three known keys; nothing else of
   Python is understood. */
#include "store/numpy.h"
#include "store/zip.h"
#include "support/failure.h"
#include "support/json.h"
#include <stdlib.h>
#include <string.h>

/* NumPy writes bfloat16, float8_e4m3fn, int4 ... as bytes without a type. */
#define OF_ML_DTYPES                                                                                         \
    ": a type of ml_dtypes is not named in the file; save x.view('u1') (bfloat16: 'u2'), and give the "      \
    "dtype "                                                                                                 \
    "with kn_bitcast()"

enum { LARGEST_HEADER = 1 << 20, SMALL_TEXTS = 1 << 19, MAGIC = 6 };

/* Type letter and size as in NumPy's descr, without the mark of the byte order. */
static const kni_dtype_word words[] = {
    {"f8", KN_F64, 8, "f64"},
    {"f4", KN_F32, 4, "f32"},
    {"f2", KN_F16, 2, "f16"},
    {"i8", KN_I64, 8, "i64"},
    {"i4", KN_I32, 4, "i32"},
    {"i2", KN_I16, 2, "i16"},
    {"i1", KN_I8, 1, "i8"},
    {"u8", KN_U64, 8, "u64"},
    {"u4", KN_U32, 4, "u32"},
    {"u2", KN_U16, 2, "u16"},
    {"u1", KN_U8, 1, "u8"},
    {"b1", KN_BOOL, 1, "bool"},
    {"f1", KN_F8_E5M2, 1, "f8_e5m2"}, /* the one that ml_dtypes gives a letter */
    {"c8", KN_DTYPE_NONE, 8, "c64"},
    {"c16", KN_DTYPE_NONE, 16, "c128"},
    {"f16", KN_DTYPE_NONE, 16, "f128"},
    {0},
};

const char *kni_numpy_word(kn_dtype dtype) { return kni_dtype_word_of(words, dtype); }

const kni_dtype_word *kni_numpy_dtype(const char *text, size_t length, bool *swapped)
{
    char order = length ? text[0] : 0;
    bool marked = order == '<' || order == '>' || order == '|' || order == '=';
    if (marked) {
        text++;
        length--;
    }
    *swapped = marked && order != '|' && order != '=' && (order == '>') != kni_machine_is_big();
    return kni_dtype_word_find(words, text, length);
}

/* ---- the literal */

typedef struct literal {
    const char *at, *end;
} literal;

static void spaces(literal *l)
{
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\n' || *l->at == '\t')) l->at++;
}

static bool accept(literal *l, char c)
{
    spaces(l);
    if (l->at >= l->end || *l->at != c) return false;
    l->at++;
    return true;
}

static bool accept_word(literal *l, const char *word)
{
    size_t n = strlen(word);
    spaces(l);
    if ((size_t)(l->end - l->at) < n || memcmp(l->at, word, n)) return false;
    l->at += n;
    return true;
}

/* A text without escapes. */
static bool quoted(literal *l, const char **text, size_t *length)
{
    spaces(l);
    if (l->at >= l->end || (*l->at != '\'' && *l->at != '"')) return false;
    char quote = *l->at++;
    *text = l->at;
    while (l->at < l->end && *l->at != quote && *l->at != '\\') l->at++;
    *length = (size_t)(l->at - *text);
    return accept(l, quote);
}

static bool whole_number(literal *l, int64_t *value)
{
    spaces(l);
    const char *first = l->at;
    *value = 0;
    for (; l->at < l->end && *l->at >= '0' && *l->at <= '9'; l->at++) {
        if (*value > (INT64_MAX - 9) / 10) return false;
        *value = *value * 10 + (*l->at - '0');
    }
    if (first == l->at) return false;
    if (l->at < l->end && *l->at == 'L') l->at++; /* Python 2 */
    return true;
}

/* (), (3,) or (3, 4) */
static bool tuple(literal *l, kn_shape *shape)
{
    if (!accept(l, '(')) return false;
    shape->rank = 0;
    while (!accept(l, ')')) {
        if (shape->rank == KN_MAX_RANK || !whole_number(l, &shape->dims[shape->rank++])) return false;
        if (!accept(l, ',')) return accept(l, ')');
    }
    return true;
}

/* ---- the header */

typedef struct npy_header {
    const char *descr;
    size_t descr_length;
    kn_shape shape;
    bool fortran;
} npy_header;

static kn_status parse_header(const kni_source *source, const char *name, const char *text, size_t length,
                              npy_header *h)
{
    literal l = {text, text + length};
    const char *key = "";
    size_t n = 0;
    unsigned seen = 0;
    bool good = accept(&l, '{');
    while (good && !accept(&l, '}')) {
        good = quoted(&l, &key, &n) && accept(&l, ':');
        if (good && n == 5 && !memcmp(key, "descr", n)) {
            seen |= 1;
            if (!quoted(&l, &h->descr, &h->descr_length))
                return kni_source_bad(source, "'%s' has records or objects; only plain numbers are read",
                                      name);
        } else if (good && n == 13 && !memcmp(key, "fortran_order", n)) {
            seen |= 2;
            h->fortran = accept_word(&l, "True");
            good = h->fortran || accept_word(&l, "False");
        } else if (good && n == 5 && !memcmp(key, "shape", n)) {
            seen |= 4;
            good = tuple(&l, &h->shape);
        } else
            good = false;
        if (good && !accept(&l, ',')) {
            good = accept(&l, '}');
            break;
        }
    }
    if (good && seen == 7) return KN_OK;
    return kni_source_bad(source, "the header of '%s' is not one of NumPy's (or has more than %d axes)", name,
                          KN_MAX_RANK);
}

/* A piece of a .npy file: of the file itself or of an entry of an archive. */
typedef struct npy_place {
    kni_store *store;
    int64_t entry; /* -1: the file */
    uint64_t bytes;
} npy_place;

static kn_status read_piece(const npy_place *p, uint64_t offset, void *out, size_t bytes)
{
    if (p->entry < 0) return kni_source_read(p->store->source, offset, out, bytes);
    return kni_zip_read(p->store->zip, p->store->source, p->entry, offset, out, bytes);
}

/* The text of the header in new memory; *data is where the elements begin. */
static kn_status read_header(const npy_place *p, const char *name, char **text, size_t *length,
                             uint64_t *data)
{
    const kni_source *source = p->store->source;
    unsigned char head[12] = {0};
    if (p->bytes < 10) return kni_source_damaged(source, "'%s' is too short for a NumPy array", name);
    kn_status status = read_piece(p, 0, head, p->bytes < 12 ? 10 : 12);
    if (status) return status;
    if (memcmp(head, "\x93NUMPY", MAGIC)) return kni_source_bad(source, "'%s' is no NumPy array", name);
    if (head[6] < 1 || head[6] > 3)
        return kni_source_bad(source, "'%s' has version %d of the NumPy format; 1 to 3 are known", name,
                              head[6]);
    uint64_t begin = head[6] == 1 ? 10 : 12, bytes = kni_little(head + 8, head[6] == 1 ? 2 : 4);
    if (bytes > LARGEST_HEADER || begin > p->bytes || bytes > p->bytes - begin)
        return kni_source_damaged(source, "the header of '%s' claims %llu bytes", name,
                                  (unsigned long long)bytes);
    *text = malloc((size_t)bytes + 1);
    if (!*text) return kni_failure_memory("reading a NumPy array");
    *length = (size_t)bytes;
    *data = begin + bytes;
    return read_piece(p, begin, *text, (size_t)bytes);
}

static void fortran_strides(kni_store_item *item)
{
    int64_t stride = 1;
    for (int32_t i = 0; i < item->shape.rank; i++) {
        item->strides[i] = stride;
        if (item->shape.dims[i] > 1) stride *= item->shape.dims[i];
    }
}

static kn_status describe(const npy_place *p, const npy_header *h, uint64_t data, const char *name,
                          size_t name_length)
{
    kni_store *store = p->store;
    kni_store_item *item = kni_store_add(store, name, name_length);
    if (!item) return KN_ERROR_MEMORY;
    item->word = kni_numpy_dtype(h->descr, h->descr_length, &item->swapped);
    if (!item->word)
        return kni_source_bad(store->source, "'%s' has the NumPy dtype '%.*s', which Kiln does not have%s",
                              item->name, (int)(h->descr_length < 40 ? h->descr_length : 40), h->descr,
                              h->descr_length && memchr(h->descr, 'V', h->descr_length) ? OF_ML_DTYPES : "");
    item->shape = h->shape;
    item->offset = data;
    item->span = p->bytes;
    int64_t elements = kni_store_elements(&item->shape, item->word->size);
    if (elements < 0 || (uint64_t)elements > (p->bytes - data) / (uint64_t)item->word->size)
        return kni_source_damaged(store->source,
                                  "'%s' was cut: its shape needs more than the %llu bytes it has", item->name,
                                  (unsigned long long)(p->bytes - data));
    if (h->fortran)
        fortran_strides(item);
    else
        kni_store_contiguous(item);
    kn_status status = KN_OK;
    item->member = p->entry;
    if (p->entry >= 0 && !kni_zip_packed(store->zip, p->entry))
        status = kni_zip_place(store->zip, store->source, p->entry, &item->container);
    return status ? status : kni_store_check_item(store, item);
}

static kn_status read_array(const npy_place *p, const char *name, size_t name_length)
{
    char *text = NULL;
    size_t length = 0;
    uint64_t data = 0;
    npy_header h = {0};
    kn_status status = read_header(p, name, &text, &length, &data);
    if (!status) status = parse_header(p->store->source, name, text, length, &h);
    if (!status) status = describe(p, &h, data, name, name_length);
    free(text);
    return status;
}

kn_status kni_npy_read(kni_store *store)
{
    npy_place p = {store, -1, store->source->bytes};
    return read_array(&p, KNI_NPY_NAME, strlen(KNI_NPY_NAME));
}

/* ---- texts of archives that Kiln wrote */

static kn_status read_texts(kni_store *store, int64_t entry)
{
    kni_buffer text = {0};
    /* Kiln stores them as they are. A compressed text could be a thousand times the file, and its values fifty times that. */
    uint64_t limit = store->source->bytes > SMALL_TEXTS ? store->source->bytes : SMALL_TEXTS;
    kn_status status = kni_zip_read_all(store->zip, store->source, entry, (size_t)limit, &text);
    kni_json_document document = NULL;
    if (!status && !(document = kni_json_parse(kni_buffer_string(&text), text.length, store->source->name)))
        status = KN_ERROR_IO;
    const kni_json *root = status ? NULL : kni_json_root(document);
    if (root && root->kind != KNI_JSON_OBJECT)
        status = kni_source_bad(store->source, "its texts are no object");
    for (const kni_json *t = root && !status ? root->first : NULL; t && !status; t = t->next)
        status = t->kind == KNI_JSON_TEXT ? kni_store_add_text(store, t->key, t->text, t->length)
                                          : kni_source_bad(store->source, "the text '%s' is none", t->key);
    kni_json_free(document);
    kni_buffer_free(&text);
    return status;
}

/* A header that makes no sense may come from a damaged entry, so we check the entry's checksum before we report it. Otherwise we
   check it when the tensor is read, so that opening a file does not read all of it. */
static kn_status read_entry(kni_store *store, int64_t entry, const char *name, size_t name_length)
{
    npy_place p = {store, entry, store->zip->entries[entry].bytes};
    kni_failure_held held;
    kni_failure_hold(&held);
    kn_status status = read_array(&p, name, name_length);
    kni_failure_release(&held, KN_OK, KN_NONE);
    if (status == KN_OK) return KN_OK;
    kn_status damage = status == KN_ERROR_IO ? kni_zip_check(store->zip, store->source, entry) : KN_OK;
    return damage ? damage : kni_failure(status, "%s", held.text);
}

kn_status kni_npz_read(kni_store *store)
{
    kn_status status = kni_zip_open_store(store);
    if (status) return status;
    for (int64_t i = 0; i < store->zip->count && !status; i++) {
        const kni_zip_entry *e = &store->zip->entries[i];
        size_t length = strlen(e->name);
        if (length > 4 && !strcmp(e->name + length - 4, ".npy"))
            status = read_entry(store, i, e->name, length - 4);
        else if (!strcmp(e->name, KNI_NPZ_TEXTS))
            status = read_texts(store, i);
    }
    if (!status && store->zip->count && !store->count && !store->text_count)
        status = kni_source_bad(store->source, "the archive has neither PyTorch's data.pkl nor NumPy arrays");
    return status;
}
