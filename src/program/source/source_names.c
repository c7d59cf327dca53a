/* Names of variables and members: from the names that values have, else from the ops that make them. */
#include "core/allocator.h"
#include "core/error.h"
#include "program/source/source_parts.h"
#include <kn/tensor.h>
#include <stdlib.h>

enum { LONGEST = 48, INLINE_ELEMENTS = 16 };

/* Words that cannot be names: those of C, and names that the printed functions use themselves. */
static const char reserved[] = " auto break case char const continue default do double else enum extern "
                               "float for goto if inline int long register restrict "
                               "return short signed sizeof static struct switch typedef union unsigned void "
                               "volatile while bool true false asm m n carried shared scope out main "
                               "step sizes size_in stacked grown places param_at divided larger smaller call "
                               "truth result results status errno NULL NAN "
                               "INFINITY and or not xor new class this template ";

bool kni_source_is_reserved(const char *text)
{
    char word[LONGEST + 24];
    size_t n = strlen(text);
    word[0] = ' ';
    memcpy(word + 1, text, n);
    word[n + 1] = ' ';
    word[n + 2] = 0;
    return strstr(reserved, word) || !strncmp(text, "kn_", 3) || !strncmp(text, "KN_", 3);
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A word of a path that the next one begins with says nothing: "layer1/layer1.0" is layer1.0. */
static size_t repeated(const char *text)
{
    size_t n = strcspn(text, "/");
    return n && text[n] && !strncmp(text + n + 1, text, n) && text[2 * n + 1] == '.' ? n + 1 : 0;
}

/* Letters, digits and single underscores; the end of a long text, from a whole word on. */
static void clean(const char *text, char *out)
{
    char all[512];
    size_t n = 0;
    bool begins = true; /* a word of a path */
    for (; *text && n + 1 < sizeof all; text++) {
        for (size_t k = 0; begins && (k = repeated(text)) != 0;) text += k;
        begins = *text == '/';
        bool good = is_letter(*text) || is_digit(*text);
        if (good)
            all[n++] = *text;
        else if (n && all[n - 1] != '_')
            all[n++] = '_';
    }
    static const char *const ends[] = {"_output_0", "_output"};
    for (size_t i = 0; i < 2; i++) {
        size_t k = strlen(ends[i]);
        if (n > k && !memcmp(all + n - k, ends[i], k)) n -= k;
    }
    while (n && all[n - 1] == '_') n--;
    all[n] = 0;
    const char *at = n > LONGEST ? all + n - LONGEST : all;
    if (at != all) {
        const char *word = strchr(at, '_');
        if (word && word[1]) at = word + 1;
    }
    size_t shift = is_digit(*at) || !*at;
    out[0] = 'v';
    memcpy(out + shift, at, strlen(at) + 1);
}

/* ---- names that differ: a set by hash */

typedef struct name_set {
    char **slots;
    size_t size, count;
} name_set;

static uint64_t hash_of(const char *text)
{
    uint64_t h = 1469598103934665603u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

static char **slot_of(const name_set *set, const char *text)
{
    size_t i = hash_of(text) & (set->size - 1);
    while (set->slots[i] && strcmp(set->slots[i], text) != 0) i = (i + 1) & (set->size - 1);
    return &set->slots[i];
}

static bool grow(name_set *set)
{
    if (set->size && set->count * 2 < set->size) return true;
    name_set larger = {NULL, set->size ? set->size * 2 : 256, set->count};
    larger.slots = calloc(larger.size, sizeof *larger.slots);
    if (!larger.slots) return false;
    for (size_t i = 0; i < set->size; i++)
        if (set->slots[i]) *slot_of(&larger, set->slots[i]) = set->slots[i];
    free(set->slots);
    *set = larger;
    return true;
}

const char *kni_source_name(kni_source *s, const char *text)
{
    char base[LONGEST + 8], name[LONGEST + 24];
    name_set *set = s->set;
    clean(text, base);
    snprintf(name, sizeof name, "%s", base);
    if (!grow(set)) return NULL;
    bool taken = kni_source_is_reserved(name);
    for (int32_t k = 2; taken || *slot_of(set, name); k++, taken = false)
        snprintf(name, sizeof name, "%s_%d", base, (int)k);
    size_t bytes = strlen(name) + 1;
    char *own = malloc(bytes);
    if (!own) return NULL;
    memcpy(own, name, bytes);
    *slot_of(set, name) = own;
    set->count++;
    return own;
}

void kni_source_free_names(kni_source *s)
{
    name_set *set = s->set;
    for (size_t i = 0; set && i < set->size; i++) free(set->slots[i]);
    if (set) free(set->slots);
    free(set);
    s->set = NULL;
}

/* ---- values */

static bool is_inline(const kni_program_value *v)
{
    if (v->origin != KNI_FROM_CONSTANT) return false;
    int64_t n = kn_count(v->tensor);
    kn_dtype d = (kn_dtype)v->type.dtype;
    bool plain =
        d == KN_F32 || d == KN_F64 || kni_is_bool(d) || (kn_dtype_is_integer(d) && !kn_dtype_is_stored(d));
    return n >= 1 && n <= INLINE_ELEMENTS && plain;
}

/* Names that say nothing: "123", "v". */
static bool says_something(const char *name)
{
    for (; *name; name++)
        if (is_letter(*name)) return true;
    return false;
}

static kn_status name_one(kni_source *s, int32_t v, const char *text, uint8_t place)
{
    kni_source_value *x = &s->values[v];
    x->place = place;
    if (x->name) return KN_OK;
    x->name = kni_source_name(s, text);
    return x->name ? KN_OK : kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for names");
}

static void note_readers(kni_source *s)
{
    const kni_program *p = s->p;
    for (int32_t i = p->n_nodes - 1; i >= 0; i--)
        for (int32_t k = 0; k < p->nodes[i].n_in; k++) {
            int32_t v = kni_node_in(p, &p->nodes[i])[k];
            if (v >= 0) s->values[v].reader = i + 1, s->values[v].operand = k;
        }
}

static kn_status name_fields(kni_source *s)
{
    kni_program *p = s->p;
    kn_status status = KN_OK;
    char text[300];
    for (int32_t v = 0, constants = 0; v < p->n_values && status == KN_OK; v++) {
        const kni_program_value *x = &p->values[v];
        s->values[v].block = -1;
        if (x->origin != KNI_FROM_PARAM && x->origin != KNI_FROM_CONSTANT) continue;
        if (is_inline(x)) {
            s->values[v].place = KNI_SOURCE_INLINE;
            continue;
        }
        char shown[300];
        const char *name = kni_source_weight_text(s, v, shown, sizeof shown);
        if (!says_something(name)) {
            snprintf(text, sizeof text, x->origin == KNI_FROM_PARAM ? "weight_%d" : "constant_%d",
                     (int)constants++);
            name = text;
        }
        status = name_one(s, v, name, KNI_SOURCE_FIELD);
        s->values[v].path =
            x->origin == KNI_FROM_PARAM && x->name >= 0 ? kni_name_at(p, x->name) : s->values[v].name;
    }
    return status;
}

static kn_status name_results(kni_source *s, int32_t region)
{
    const kni_program *p = s->p;
    kn_status status = KN_OK;
    char text[64];
    for (int32_t i = 0; i < p->regions[region].n_arguments && status == KN_OK; i++) {
        snprintf(text, sizeof text, i ? "inner_%d" : "trip", (int)i);
        status = name_one(s, p->regions[region].arguments[i], text, KNI_SOURCE_LOCAL);
    }
    for (int32_t i = 0; i < p->regions[region].n_nodes && status == KN_OK; i++) {
        const kni_program_node *n = &p->nodes[p->regions[region].nodes[i]];
        static const char *const words[] = {NULL, "chosen", "looped", "called", "size"};
        const int32_t *out = kni_node_out(p, n);
        for (int32_t k = 0; k < n->n_out && status == KN_OK; k++) {
            const char *name = kni_name_at(p, p->values[out[k]].name);
            if (!says_something(name)) name = n->kind == KNI_NODE_OP ? n->row->name : words[n->kind];
            status = name_one(s, out[k], name, KNI_SOURCE_LOCAL);
        }
        for (int r = 0; r < 2 && status == KN_OK; r++)
            if (n->kind != KNI_NODE_CALL && n->regions[r] >= 0) status = name_results(s, n->regions[r]);
    }
    return status;
}

kn_status kni_source_name_values(kni_source *s)
{
    kni_program *p = s->p;
    char text[32];
    s->set = calloc(1, sizeof(name_set));
    kn_status status =
        s->set ? KN_OK : kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for names");
    for (int32_t i = 0; i < p->n_inputs && status == KN_OK; i++) {
        snprintf(text, sizeof text, "input_%d", (int)i);
        const char *name = kni_name_at(p, p->input_names[i]);
        if (p->inputs[i] >= 0)
            status = name_one(s, p->inputs[i], says_something(name) ? name : text, KNI_SOURCE_LOCAL);
    }
    note_readers(s);
    if (status == KN_OK) status = name_fields(s);
    for (int32_t r = 0; r < p->n_regions && status == KN_OK; r++)
        if (p->regions[r].parent < 0) status = name_results(s, r);
    return status;
}
