/* PyTorch's habits: wrappers that put a part before every name, attention with its three projections in one tensor, and other
   words for the same param. */
#include "store/load.h"
#include "support/failure.h"
#include <string.h>

/* Parts of a name, whole between dots, that mean the same. */
typedef struct synonym {
    const char *from, *to;
} synonym;

static const synonym synonyms[] = {{"gamma", "weight"},
                                   {"beta", "bias"},
                                   {"weight", "gamma"},
                                   {"bias", "beta"},
                                   {"out_proj", "output"},
                                   {"q_proj_weight", "query.weight"},
                                   {"k_proj_weight", "key.weight"},
                                   {"v_proj_weight", "value.weight"}};

/* Tensors that hold the rows of several params. */
typedef struct fused {
    const char *last;
    const char *parts[3];
} fused;

static const fused fusions[] = {{"in_proj_weight", {"query.weight", "key.weight", "value.weight"}},
                                {"in_proj_bias", {"query.bias", "key.bias", "value.bias"}}};

/* Parts that wrappers put into names: torch.compile anywhere, DataParallel at the beginning. */
static bool is_wrapper(const char *part, size_t length, bool first)
{
    return (length == 9 && !memcmp(part, "_orig_mod", 9)) ||
           (first && length == 6 && !memcmp(part, "module", 6));
}

/* Appends the parts of a name, without wrappers, with every part equal to from written as to. */
static void rewrite(kni_buffer *out, const char *name, const synonym *s)
{
    bool first = true;
    kni_buffer_clear(out);
    while (*name) {
        size_t length = strcspn(name, ".");
        if (!is_wrapper(name, length, first)) {
            first = false;
            if (out->length) kni_buffer_text(out, ".");
            if (s && strlen(s->from) == length && !memcmp(s->from, name, length))
                kni_buffer_text(out, s->to);
            else
                kni_buffer_append(out, name, length);
        }
        name += length + (name[length] == '.');
    }
}

/* Finds the params of a fused tensor; false when it is none or the module has no such params. */
static bool find_parts(const kni_load *load, const fused *f, kni_buffer *name, kni_load_target **parts)
{
    size_t length = name->length, last = strlen(f->last);
    if (length < last || strcmp(name->data + length - last, f->last)) return false;
    if (length > last && name->data[length - last - 1] != '.') return false;
    for (int i = 0; i < 3; i++) {
        name->length = length - last;
        name->data[name->length] = 0;
        kni_buffer_text(name, f->parts[i]);
        parts[i] = name->failed ? NULL : kni_load_find(load, name->data);
        if (!parts[i] || parts[i]->shape.rank < 1) return false;
    }
    return true;
}

static bool take_parts(kni_load *load, kni_load_target **parts, int64_t offer)
{
    int64_t row = 0;
    bool taken = false;
    for (int i = 0; i < 3; i++) {
        int64_t rows = parts[i]->shape.dims[0];
        taken = kni_load_take(load, parts[i], offer, row, rows) || taken;
        row += rows;
    }
    /* Rows that no part asks for make the whole a mismatch. */
    const kn_shape *shape = &load->offers[offer].entry.shape;
    if (shape->rank < 1 || shape->dims[0] != row)
        for (int i = 0; i < 3; i++) parts[i]->mismatched = parts[i]->mismatched || parts[i]->offer == offer;
    return taken;
}

bool kni_load_is_counter(const char *name)
{
    const char *last = strrchr(name, '.');
    return !strcmp(last ? last + 1 : name, "num_batches_tracked");
}

kn_status kni_load_adapt(kni_load *load, int64_t offer)
{
    kni_buffer name = {0};
    const char *original = load->offers[offer].name;
    kni_load_target *target, *parts[3];
    bool found = false;
    rewrite(&name, original, NULL);
    if (name.length && (target = kni_load_find(load, kni_buffer_string(&name))))
        found = kni_load_take(load, target, offer, 0, 0);
    for (size_t i = 0; !found && i < sizeof synonyms / sizeof *synonyms; i++) {
        rewrite(&name, original, &synonyms[i]);
        if (name.length && (target = kni_load_find(load, kni_buffer_string(&name))))
            found = kni_load_take(load, target, offer, 0, 0);
    }
    for (size_t i = 0; !found && i < sizeof fusions / sizeof *fusions; i++) {
        rewrite(&name, original, NULL);
        if (name.length && find_parts(load, &fusions[i], &name, parts))
            found = take_parts(load, parts, offer);
    }
    /* Batch norm counts its steps in PyTorch; a module without such a counter has no use for it. */
    const char *last = strrchr(original, '.');
    if (!found && !strcmp(last ? last + 1 : original, "num_batches_tracked"))
        load->offers[offer].ignored = true;
    kn_status status = name.failed ? kni_failure_memory(load->function) : KN_OK;
    kni_buffer_free(&name);
    return status;
}
