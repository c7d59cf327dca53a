/* Puts what all layers read before the first of them. A mask that each layer adds is computed once, where the first layer needs it; there it
   would make that layer differ from the others. */
#include "core/error.h"
#include "program/source/source_parts.h"
#include <stdlib.h>
#include <string.h>

typedef struct ordering {
    const kni_source *s;
    const kni_program_region *r;
    bool *light;      /* of each value made in region 0: weights have no part in it */
    bool *first;      /* of each node: it goes before all others */
    int32_t *readers; /* of each value: nodes that are not light */
    int32_t *made;    /* of each value: the node that makes it, -1 */
} ordering;

/* Whether a member is what a person calls a weight: a table of floats; not a scale, a list of frequencies or a mask. */
static bool is_weight(const kni_source *s, int32_t v)
{
    const kni_type *t = &s->p->values[v].type;
    if (s->values[v].place != KNI_SOURCE_FIELD || t->rank < 2 || !kn_dtype_is_float((kn_dtype)t->dtype))
        return false;
    int32_t wide = 0;
    for (int32_t a = 0; a < t->rank; a++) wide += t->dims[a] > 1;
    return wide > 1;
}

static bool is_light(const ordering *o, const kni_program_node *n)
{
    if (n->kind != KNI_NODE_OP || kni_node_is_opaque(n)) return false;
    for (int32_t k = 0; k < n->n_in; k++) {
        int32_t v = kni_node_in(o->s->p, n)[k];
        if (v >= 0 && (is_weight(o->s, v) || (o->made[v] >= 0 && !o->light[v]))) return false;
    }
    return true;
}

static void find_light(ordering *o)
{
    const kni_program *p = o->s->p;
    for (int32_t i = 0; i < o->r->n_nodes; i++) {
        const kni_program_node *n = &p->nodes[o->r->nodes[i]];
        bool light = is_light(o, n);
        for (int32_t k = 0; k < n->n_out; k++) {
            o->made[kni_node_out(p, n)[k]] = i;
            o->light[kni_node_out(p, n)[k]] = light;
        }
        for (int32_t k = 0; k < n->n_in && !light; k++)
            if (kni_node_in(p, n)[k] >= 0) o->readers[kni_node_in(p, n)[k]]++;
    }
}

/* Nodes whose result several others read, and, from the end, all that they are made of. Returns how many. */
static int32_t choose(ordering *o)
{
    const kni_program *p = o->s->p;
    int32_t chosen = 0;
    for (int32_t i = o->r->n_nodes - 1; i >= 0; i--) {
        const kni_program_node *n = &p->nodes[o->r->nodes[i]];
        for (int32_t k = 0; k < n->n_out && !o->first[i]; k++) {
            int32_t v = kni_node_out(p, n)[k];
            o->first[i] = o->light[v] && o->readers[v] > 1;
        }
        if (!o->first[i]) continue;
        chosen++;
        for (int32_t k = 0; k < n->n_in; k++) {
            int32_t v = kni_node_in(p, n)[k];
            if (v >= 0 && o->made[v] >= 0) o->readers[v] = 2;
        }
    }
    return chosen;
}

kn_status kni_source_order(const kni_source *s, int32_t *nodes)
{
    const kni_program_region *r = &s->p->regions[0];
    size_t values = (size_t)s->p->n_values + 1, n = (size_t)r->n_nodes + 1;
    ordering o = {s,
                  r,
                  calloc(values, 1),
                  calloc(n, 1),
                  calloc(values, sizeof(int32_t)),
                  malloc(values * sizeof(int32_t))};
    kn_status status = KN_OK;
    if (o.light && o.first && o.readers && o.made) {
        for (int32_t v = 0; v < s->p->n_values; v++) o.made[v] = -1;
        find_light(&o);
        /* What has a size that is read from a value stays behind where it is read. */
        int32_t before = 0, after = s->reads_sizes ? 0 : choose(&o);
        for (int32_t i = 0; i < r->n_nodes; i++) nodes[o.first[i] ? before++ : after++] = r->nodes[i];
    } else {
        status = kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for the order of ops");
    }
    free(o.light);
    free(o.first);
    free(o.readers);
    free(o.made);
    return status;
}
