/* The projections of attention in PyTorch's form. */
#define _POSIX_C_SOURCE 200809L
#include "store/save_adapters.h"
#include "support/failure.h"
#include <kn/autodiff.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

enum { QUERY, KEY, VALUE, OUTPUT, LAYERS, WEIGHT = 0, BIAS = 1, KINDS = 2 };
static const char *const layers[LAYERS] = {"query", "key", "value", "output"};
static const char *const kinds[KINDS] = {"weight", "bias"};
static const char *const apart[] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};

/* The values of one attention, -1 where there is none. */
typedef struct attention {
    size_t prefix; /* bytes of the path before "query.weight", with the dot */
    int64_t at[LAYERS][KINDS];
} attention;

/* "a.b.query.weight" -> 0, 0 and the length of "a.b." */
static bool split_name(const char *name, int *layer, int *kind, size_t *prefix)
{
    for (*layer = 0; *layer < LAYERS; ++*layer)
        for (*kind = 0; *kind < KINDS; ++*kind) {
            char end[32];
            size_t length = strlen(name),
                   n = (size_t)snprintf(end, sizeof end, "%s.%s", layers[*layer], kinds[*kind]);
            if (length < n || strcmp(name + length - n, end)) continue;
            *prefix = length - n;
            return true;
        }
    return false;
}

/* The values of one module follow each other. Returns the index behind them. */
static int64_t collect(const kni_store_writing *w, const kni_save_source *sources, int64_t i, attention *a)
{
    int64_t first = i;
    memset(a->at, -1, sizeof a->at);
    for (; i < w->count && sources[i].in_attention; i++) {
        int layer, kind;
        size_t prefix;
        const char *name = w->values[i].name;
        if (!split_name(name, &layer, &kind, &prefix)) continue; /* of an adapter of low rank, say */
        if (i > first && (prefix != a->prefix || memcmp(name, w->values[first].name, prefix))) break;
        if (a->at[layer][kind] >= 0) break;
        a->prefix = prefix;
        a->at[layer][kind] = i;
    }
    return i > first ? i : first + 1;
}

static kn_shape shape_at(const kni_store_writing *w, int64_t i)
{
    return kn_shape_of_tensor(w->values[i].tensor);
}

/* Whether nn.MultiheadAttention has such params; *same: all projections read the same width. */
static bool is_expressible(const kni_store_writing *w, const attention *a, bool *same)
{
    bool biased = a->at[QUERY][BIAS] >= 0;
    for (int i = 0; i < LAYERS; i++)
        if (a->at[i][WEIGHT] < 0 || (a->at[i][BIAS] >= 0) != biased) return false;
    kn_shape q = shape_at(w, a->at[QUERY][WEIGHT]), k = shape_at(w, a->at[KEY][WEIGHT]),
             v = shape_at(w, a->at[VALUE][WEIGHT]), o = shape_at(w, a->at[OUTPUT][WEIGHT]);
    int64_t width = q.dims[1];
    *same = k.dims[1] == width && v.dims[1] == width;
    for (int kind = 0; kind < KINDS && (kind == WEIGHT || biased); kind++)
        for (int i = 1; i < OUTPUT; i++)
            if (w->values[a->at[i][kind]].dtype != w->values[a->at[0][kind]].dtype) return false;
    return q.dims[0] == width && k.dims[0] == width && v.dims[0] == width && o.dims[0] == width &&
           o.dims[1] == width;
}

static kn_status set_name(kni_store_value *value, size_t prefix, const char *last)
{
    kni_buffer name = {0};
    kni_buffer_append(&name, value->name, prefix);
    kni_buffer_text(&name, last);
    char *copy = name.failed ? NULL : strdup(kni_buffer_string(&name));
    kni_buffer_free(&name);
    if (!copy) return kni_failure_memory("kn_save");
    free((void *)(uintptr_t)value->name);
    value->name = copy;
    return KN_OK;
}

/* The rows of query, key and value in the place of query; the other two have no tensor any more. */
static kn_status merge(kni_store_writing *w, kni_save_source *sources, const attention *a, int kind)
{
    int64_t first = a->at[QUERY][kind];
    kn_tensor parts[3];
    for (int i = 0; i < 3; i++) parts[i] = w->values[a->at[i][kind]].tensor;
    kn_no_grad_begin();
    kn_tensor all = kn_own(kn_concat(parts, 3, 0));
    kn_no_grad_end();
    sources[first].made = w->values[first].tensor = all;
    for (int i = 1; i < 3; i++) w->values[a->at[i][kind]].tensor = KN_NONE;
    kn_status status = kni_failure_of(all);
    return status
               ? status
               : set_name(&w->values[first], a->prefix, kind == WEIGHT ? "in_proj_weight" : "in_proj_bias");
}

static kn_status adapt_one(kni_store_writing *w, kni_save_source *sources, const attention *a)
{
    bool same = false, biased = a->at[QUERY][BIAS] >= 0;
    if (!is_expressible(w, a, &same)) return KN_OK;
    kn_status status = same ? merge(w, sources, a, WEIGHT) : KN_OK;
    for (int i = 0; i < 3 && !same && !status; i++)
        status = set_name(&w->values[a->at[i][WEIGHT]], a->prefix, apart[i]);
    if (!status && biased) status = merge(w, sources, a, BIAS);
    if (!status) status = set_name(&w->values[a->at[OUTPUT][WEIGHT]], a->prefix, "out_proj.weight");
    if (!status && biased) status = set_name(&w->values[a->at[OUTPUT][BIAS]], a->prefix, "out_proj.bias");
    return status;
}

kn_status kni_save_adapt(kni_store_writing *w, kni_save_source *sources)
{
    kn_status status = KN_OK;
    for (int64_t i = 0, next; i < w->count && !status; i = next) {
        attention a;
        next = i + 1;
        if (!sources[i].in_attention) continue;
        next = collect(w, sources, i, &a);
        status = adapt_one(w, sources, &a);
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < w->count; i++) {
        if (!w->values[i].tensor.bits) {
            free((void *)(uintptr_t)w->values[i].name);
            continue;
        }
        w->values[kept] = w->values[i];
        sources[kept++] = sources[i];
    }
    w->count = kept;
    return status;
}
