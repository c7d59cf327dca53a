/* Shorter names: a block's variables and members without the words that say which block it is, and weights that a tool only numbered after
   the layer that reads them. */
#include "core/error.h"
#include "ops/body_form.h"
#include "program/source/source_parts.h"
#include <stdlib.h>
#include <string.h>

enum { WORDS = 32, TEXT = 300 };

/* "/encoder/layer.0/query/MatMul" as words. */
typedef struct words {
    const char *at[WORDS];
    size_t length[WORDS];
    int32_t n;
} words;

static words split(const char *text)
{
    words w = {.n = 0};
    while (w.n < WORDS) {
        text += strspn(text, "/.:");
        if (!*text) break;
        w.at[w.n] = text;
        w.length[w.n] = strcspn(text, "/.:");
        text += w.length[w.n++];
    }
    return w;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Words up to the last one with a number at its end; what the text itself is called does not count. */
static int32_t numbered(const words *w)
{
    for (int32_t i = w->n - 1; i > 0; i--)
        if (is_digit(w->at[i - 1][w->length[i - 1] - 1])) return i;
    return 0;
}

static bool begins_with(const words *w, const words *prefix, int32_t n)
{
    if (w->n <= n) return false;
    for (int32_t i = 0; i < n; i++)
        if (w->length[i] != prefix->length[i] || memcmp(w->at[i], prefix->at[i], w->length[i]) != 0)
            return false;
    return true;
}

/* ---- weights without a name */

const char *kni_source_weight_text(const kni_source *s, int32_t v, char *text, size_t room)
{
    const kni_program *p = s->p;
    const char *name = kni_name_at(p, p->values[v].name);
    const kni_source_value *x = &s->values[v];
    if (strncmp(name, "onnx::", 6) != 0 || !x->reader) return name;
    const kni_program_node *n = &p->nodes[x->reader - 1];
    const char *made = kni_name_at(p, p->values[kni_node_out(p, n)[0]].name);
    words w = split(made);
    if (w.n < 2 || made[0] != '/') return name;
    const char *what =
        n->kind == KNI_NODE_OP && (x->operand == 2 || kni_body_form(n->row->body) == KNI_FORM_ADD) ? "bias"
                                                                                                   : "weight";
    snprintf(text, room, "%.*s%s", (int)(w.at[w.n - 1] - made), made, what);
    return text;
}

/* ---- blocks */

typedef struct entry {
    int32_t value;
    char text[TEXT];
    words w;
} entry;

/* The words that most of the texts begin with, up to a number. */
static int32_t find_prefix(const entry *list, int32_t n, const words **prefix)
{
    int32_t best = 0, structured = 0;
    for (int32_t i = 0; i < n; i++) structured += list[i].w.n > 1;
    for (int32_t i = 0; i < n; i++) {
        int32_t length = numbered(&list[i].w), like = 0;
        if (length <= best) continue;
        for (int32_t k = 0; k < n; k++) like += begins_with(&list[k].w, &list[i].w, length);
        if (2 * like > structured) best = length, *prefix = &list[i].w;
    }
    return best;
}

static kn_status rename_all(kni_source *s, entry *list, int32_t n)
{
    const words *prefix = NULL;
    for (int32_t i = 0; i < n; i++) list[i].w = split(list[i].text);
    int32_t length = find_prefix(list, n, &prefix);
    for (int32_t i = 0; i < n; i++) {
        if (!length || !begins_with(&list[i].w, prefix, length)) continue;
        const char *name = kni_source_name(s, list[i].w.at[length]);
        if (!name) return kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for names");
        s->values[list[i].value].name = name;
    }
    return KN_OK;
}

static kn_status name_block(kni_source *s, const kni_source_group *g)
{
    const kni_program *p = s->p;
    int32_t room = 0, n = 0;
    for (int32_t i = g->first; i < g->first + g->length; i++) room += p->nodes[p->regions[0].nodes[i]].n_out;
    entry *list = malloc(((size_t)room + (size_t)g->n_members + 1) * sizeof *list);
    if (!list) return kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for names");
    for (int32_t i = g->first; i < g->first + g->length; i++) {
        const kni_program_node *node = &p->nodes[p->regions[0].nodes[i]];
        for (int32_t k = 0; k < node->n_out; k++) {
            int32_t v = list[n].value = kni_node_out(p, node)[k];
            snprintf(list[n++].text, TEXT, "%s", kni_name_at(p, p->values[v].name));
        }
    }
    kn_status status = rename_all(s, list, n);
    n = 0;
    for (int32_t i = 0; i < g->n_members; i++) {
        char text[TEXT];
        list[n].value = g->members[i];
        snprintf(list[n++].text, TEXT, "%s", kni_source_weight_text(s, g->members[i], text, sizeof text));
    }
    if (status == KN_OK) status = rename_all(s, list, n);
    free(list);
    return status;
}

kn_status kni_source_name_blocks(kni_source *s)
{
    kn_status status = KN_OK;
    for (int32_t i = 0; i < s->n_groups && status == KN_OK; i++) status = name_block(s, &s->groups[i]);
    return status;
}
