/* From the values of a PyTorch file's pickle to named tensors and texts: finds the weights, joins names with ".", and turns
   plain values into texts. */
#include "store/pytorch.h"
#include "support/failure.h"
#include "support/json.h"
#include <string.h>

typedef kni_pickle_value value;

enum { DEEPEST = 32, LONGEST_NAME = 1024, NAME_BYTES_PER_BYTE = 64 };

/* Where programs keep a model's weights beside other things, in the order they are looked for. */
static const char *const weight_keys[] = {"state_dict", "model_state_dict", "model_state", "model", "module",
                                          "net",        "weights",          "params"};

typedef struct walk {
    kni_pytorch *f;
    kni_buffer name, text;
    size_t visits, name_bytes;
    bool tensors, texts; /* what is listed */
} walk;

kn_status kni_pytorch_storage(kni_pickle *p, const value *id, value **result)
{
    bool good = id->kind == KNI_PICKLE_TUPLE && id->count >= 5 &&
                kni_pickle_is_text(id->items[0], "storage") && id->items[1]->kind == KNI_PICKLE_GLOBAL &&
                id->items[2]->kind == KNI_PICKLE_TEXT && id->items[4]->kind == KNI_PICKLE_INT &&
                id->items[4]->integer >= 0;
    if (!good) return kni_pickle_bad(p, "a persistent id that is no storage");
    kni_pickle_storage *s = kni_pickle_take(p, sizeof *s);
    value *made = s ? kni_pickle_make(p, KNI_PICKLE_STORAGE) : NULL;
    if (!made) return p->status;
    *s = (kni_pickle_storage){id->items[2]->text, id->items[2]->length, id->items[1]->global->word,
                              id->items[4]->integer, 0};
    const value *view = id->count > 5 ? id->items[5] : NULL;
    if (view && view->kind != KNI_PICKLE_NONE) { /* (key of the view, offset, size) */
        if (view->kind != KNI_PICKLE_TUPLE || view->count != 3 || view->items[1]->kind != KNI_PICKLE_INT ||
            view->items[1]->integer < 0)
            return kni_pickle_bad(p, "a view of a storage that is none");
        s->view_offset = view->items[1]->integer;
    }
    made->storage = s;
    *result = made;
    return KN_OK;
}

/* ---- plain values as text */

static bool is_plain(const value *v) { return v->kind <= KNI_PICKLE_TEXT; }

static bool has_items(const value *v)
{
    return v->kind == KNI_PICKLE_LIST || v->kind == KNI_PICKLE_TUPLE || v->kind == KNI_PICKLE_SET;
}

static bool all_plain(const value *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (!is_plain(v->items[i])) return false;
    return true;
}

static void write_plain(kni_buffer *out, const value *v, bool quoted)
{
    switch (v->kind) {
    case KNI_PICKLE_NONE:
        kni_buffer_text(out, "null");
        break;
    case KNI_PICKLE_BOOL:
        kni_buffer_text(out, v->integer ? "true" : "false");
        break;
    case KNI_PICKLE_INT:
        kni_buffer_format(out, "%lld", (long long)v->integer);
        break;
    case KNI_PICKLE_REAL:
        kni_json_write_number(out, v->real);
        break;
    case KNI_PICKLE_TEXT:
        if (quoted)
            kni_json_write_text(out, v->text, v->length);
        else
            kni_buffer_append(out, v->text, v->length);
        break;
    default:
        kni_buffer_text(out, "a number of more than 64 bits");
        break;
    }
}

/* Values may be shared, so that a small pickle describes a huge tree: what is visited and written is bounded by its size. */
static bool too_much(const walk *w)
{
    return w->visits / 2 > w->f->pickle_size ||
           (w->name_bytes + w->text.length) / NAME_BYTES_PER_BYTE > w->f->pickle_size + 1024;
}

static kn_status refuse(const walk *w)
{
    return kni_source_bad(w->f->store->source, "the pickle describes more than its own size");
}

static void write_items(walk *w, const value *v)
{
    kni_buffer_text(&w->text, "[");
    for (size_t i = 0; i < v->count && !too_much(w); i++) {
        if (i) kni_buffer_text(&w->text, ", ");
        write_plain(&w->text, v->items[i], true);
    }
    kni_buffer_text(&w->text, "]");
}

static kn_status add_text(walk *w, const value *v)
{
    if (!w->texts) return KN_OK;
    kni_buffer_clear(&w->text);
    if (is_plain(v))
        write_plain(&w->text, v, false);
    else if (has_items(v))
        write_items(w, v);
    else
        kni_buffer_text(&w->text, "a NumPy array, which is not read");
    if (w->text.failed || w->name.failed) return kni_failure_memory("reading a PyTorch file");
    if (too_much(w)) return refuse(w);
    w->name_bytes += w->text.length;
    return kni_store_add_text(w->f->store, kni_buffer_string(&w->name), kni_buffer_string(&w->text),
                              w->text.length);
}

/* ---- tensors */

static kn_status add_tensor(walk *w, const kni_pickle_tensor *t)
{
    if (!w->tensors) return KN_OK;
    kni_pytorch *f = w->f;
    kni_storage_place place = {0, 0, -1};
    const char *name = w->name.length ? kni_buffer_string(&w->name) : "tensor";
    kni_store_item *item = kni_store_add(f->store, name, strlen(name));
    if (!item) return KN_ERROR_MEMORY;
    item->word = t->word;
    item->shape = t->shape;
    memcpy(item->strides, t->strides, sizeof item->strides);
    item->swapped = f->swapped != kni_machine_is_big() && t->word->size > 1;
    bool empty = kni_store_elements(&t->shape, t->word->size) == 0;
    kn_status status = empty ? KN_OK : f->locate(f, &t->storage, &place);
    if (status) return status;
    item->container = place.container;
    item->span = place.span;
    item->member = place.member;
    uint64_t size = (uint64_t)t->word->size;
    if (t->offset > (INT64_MAX - t->storage.view_offset) ||
        (uint64_t)(t->offset + t->storage.view_offset) > UINT64_MAX / 2 / size)
        return kni_source_bad(f->store->source, "tensor '%s' has an impossible offset", name);
    item->offset = (uint64_t)(t->offset + t->storage.view_offset) * size;
    return kni_store_check_item(f->store, item);
}

/* ---- the walk */

/* Appends ".key"; the caller cuts it off again. */
static kn_status append_key(walk *w, const value *key)
{
    const kni_source *source = w->f->store->source;
    if (w->name.length) kni_buffer_text(&w->name, ".");
    if (key->kind == KNI_PICKLE_TEXT && memchr(key->text, 0, key->length))
        return kni_source_bad(source, "a name with a zero byte");
    if (!is_plain(key))
        return kni_source_bad(source, "a dict with a key that is neither a text nor a number");
    write_plain(&w->name, key, false);
    if (w->name.failed) return kni_failure_memory("reading a PyTorch file");
    if (w->name.length > LONGEST_NAME)
        return kni_source_bad(source, "a name of more than %d bytes", LONGEST_NAME);
    w->name_bytes += w->name.length;
    return KN_OK;
}

static kn_status visit(walk *w, const value *v, int depth);

static kn_status visit_member(walk *w, const value *key, const value *v, int depth)
{
    size_t length = w->name.length;
    kn_status status = append_key(w, key);
    if (!status) status = visit(w, v, depth + 1);
    w->name.length = length;
    if (w->name.data) w->name.data[length] = 0;
    return status;
}

static kn_status visit(walk *w, const value *v, int depth)
{
    const kni_source *source = w->f->store->source;
    if (depth > DEEPEST) return kni_source_bad(source, "values are nested more than %d deep", DEEPEST);
    w->visits += has_items(v) ? 1 + v->count : 1;
    if (too_much(w)) return refuse(w);
    kn_status status = KN_OK;
    if (v->kind == KNI_PICKLE_TENSOR) return add_tensor(w, v->tensor);
    if (v->kind == KNI_PICKLE_DICT) {
        for (size_t i = 0; i + 1 < v->count && !status; i += 2)
            status = visit_member(w, v->items[i], v->items[i + 1], depth);
        return status;
    }
    if (is_plain(v) || (has_items(v) && all_plain(v)) || v->kind == KNI_PICKLE_NUMPY_ARRAY)
        return add_text(w, v);
    if (!has_items(v)) return KN_OK; /* bytes, names and storages say nothing to a reader */
    for (size_t i = 0; i < v->count && !status; i++) {
        value key = {.kind = KNI_PICKLE_INT};
        key.integer = (int64_t)i;
        status = visit_member(w, &key, v->items[i], depth);
    }
    return status;
}

/* ---- the entry that holds the weights */

static const value *member(const value *dict, const char *key, size_t length)
{
    if (dict->kind != KNI_PICKLE_DICT) return NULL;
    for (size_t i = 0; i + 1 < dict->count; i += 2)
        if (dict->items[i]->kind == KNI_PICKLE_TEXT && dict->items[i]->length == length &&
            !memcmp(dict->items[i]->text, key, length))
            return dict->items[i + 1];
    return NULL;
}

static bool holds_tensors(const value *dict)
{
    for (size_t i = 0; dict && dict->kind == KNI_PICKLE_DICT && i + 1 < dict->count; i += 2)
        if (dict->items[i + 1]->kind == KNI_PICKLE_TENSOR) return true;
    return false;
}

/* The known entries come first: a tensor beside them is a best accuracy rather than a weight. */
static const value *find_weights(const value *root)
{
    for (size_t i = 0; i < sizeof weight_keys / sizeof *weight_keys; i++) {
        const value *found = member(root, weight_keys[i], strlen(weight_keys[i]));
        if (holds_tensors(found)) return found;
    }
    return root;
}

/* "a.b": the entry b of the entry a. */
static const value *follow(const value *root, const char *path)
{
    while (root && *path) {
        size_t length = strcspn(path, ".");
        root = member(root, path, length);
        path += length + (path[length] == '.');
    }
    return root;
}

kn_status kni_pytorch_list(kni_pytorch *f, const value *root)
{
    const char *key = f->store->top_key;
    const value *top = key ? follow(root, key) : find_weights(root);
    if (!top) return kni_source_bad(f->store->source, "there is no entry '%s' in the file", key);
    walk w = {.f = f, .tensors = true, .texts = top == root};
    kn_status status = visit(&w, top, 0);
    if (!status && top != root) {
        w.tensors = false;
        w.texts = true;
        w.visits = 0;
        status = visit(&w, root, 0);
    }
    kni_buffer_free(&w.name);
    kni_buffer_free(&w.text);
    return status;
}
