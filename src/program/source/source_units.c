/* Cuts a program into units that are functions of their own, where few values go from one to the next. */
#include "core/error.h"
#include "program/source/source_parts.h"
#include <stdlib.h>

enum { WHOLE = 60, FEWEST = 12, MOST = 48 };

typedef struct places {
    int32_t *made,
        *last; /* of each value: the node of region 0 that makes it (-1: none), and the last one that reads it */
    int32_t n; /* nodes */
} places;

/* Reads of a node and of the regions inside it. */
static void note_reads(const kni_source *s, const kni_program_node *node, int32_t at, int32_t *last)
{
    const kni_program *p = s->p;
    for (int32_t k = 0; k < node->n_in; k++)
        if (kni_node_in(p, node)[k] >= 0) last[kni_node_in(p, node)[k]] = at;
    for (int r = 0; r < 2 && node->kind != KNI_NODE_CALL; r++) {
        if (node->regions[r] < 0) continue;
        const kni_program_region *region = &p->regions[node->regions[r]];
        for (int32_t i = 0; i < region->n_nodes; i++) note_reads(s, &p->nodes[region->nodes[i]], at, last);
        for (int32_t i = 0; i < region->n_results; i++)
            if (region->results[i] >= 0) last[region->results[i]] = at;
    }
}

static kn_status find_places(const kni_source *s, places *at)
{
    const kni_program *p = s->p;
    const kni_program_region *r = &p->regions[0];
    size_t n = (size_t)p->n_values + 1;
    *at = (places){malloc(n * sizeof *at->made), malloc(n * sizeof *at->last), r->n_nodes};
    if (!at->made || !at->last)
        return kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory to cut the program");
    for (int32_t v = 0; v < p->n_values; v++) at->made[v] = at->last[v] = -1;
    for (int32_t i = 0; i < r->n_nodes; i++) {
        const kni_program_node *node = &p->nodes[r->nodes[i]];
        note_reads(s, node, i, at->last);
        for (int32_t k = 0; k < node->n_out; k++) at->made[kni_node_out(p, node)[k]] = i;
    }
    for (int32_t i = 0; i < r->n_results; i++)
        if (r->results[i] >= 0) at->last[r->results[i]] = r->n_nodes;
    return KN_OK;
}

/* Whether a value goes from one function to another: no member and no small constant. */
static bool is_passed(const kni_source *s, int32_t v) { return s->values[v].place == KNI_SOURCE_LOCAL; }

/* How many values cross each boundary: live[i] of those made before node i and read from it on. */
static int32_t *count_live(const kni_source *s, const places *at)
{
    int32_t *live = calloc((size_t)at->n + 2, sizeof *live);
    for (int32_t v = 0; live && v < s->p->n_values; v++) {
        if (at->made[v] < 0 || at->last[v] <= at->made[v]) continue;
        live[at->made[v] + 1]++;
        live[at->last[v] + 1 < at->n + 1 ? at->last[v] + 1 : at->n + 1]--;
    }
    for (int32_t i = 1; live && i <= at->n; i++) live[i] += live[i - 1];
    return live;
}

static kn_status add_unit(kni_source *s, int32_t first, int32_t last)
{
    if (last <= first) return KN_OK;
    kni_source_unit *units = realloc(s->units, ((size_t)s->n_units + 1) * sizeof *units);
    if (!units) return kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for units");
    s->units = units;
    units[s->n_units] = (kni_source_unit){.first = first, .last = last, .block = -1};
    s->n_units++;
    return KN_OK;
}

/* Nodes first .. last - 1 as units of a bearable length. */
static kn_status cut_range(kni_source *s, int32_t first, int32_t last, const int32_t *live)
{
    kn_status status = KN_OK;
    while (last - first > WHOLE && status == KN_OK) {
        int32_t best = first + FEWEST;
        for (int32_t i = first + FEWEST; i <= first + MOST && i <= last - FEWEST / 2; i++)
            if (live[i] <= live[best]) best = i;
        status = add_unit(s, first, best);
        first = best;
    }
    return status ? status : add_unit(s, first, last);
}

/* ---- what units take and give */

static kn_status add_value(int32_t **list, int32_t *n, int32_t value)
{
    for (int32_t i = 0; i < *n; i++)
        if ((*list)[i] == value) return KN_OK;
    int32_t *grown = realloc(*list, ((size_t)*n + 1) * sizeof *grown);
    if (!grown) return kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for the values of a unit");
    *list = grown;
    grown[(*n)++] = value;
    return KN_OK;
}

static kn_status add_inputs(const kni_source *s, kni_source_unit *u, const kni_program_node *node,
                            const places *at)
{
    const kni_program *p = s->p;
    kn_status status = KN_OK;
    for (int32_t k = 0; k < node->n_in && status == KN_OK; k++) {
        int32_t v = kni_node_in(p, node)[k];
        if (v < 0 || !is_passed(s, v)) continue;
        bool outside = p->values[v].region == 0 && (at->made[v] < u->first || at->made[v] >= u->last);
        if (outside) status = add_value(&u->in, &u->n_in, v);
    }
    for (int r = 0; r < 2 && node->kind != KNI_NODE_CALL && status == KN_OK; r++) {
        if (node->regions[r] < 0) continue;
        const kni_program_region *region = &p->regions[node->regions[r]];
        for (int32_t i = 0; i < region->n_nodes && status == KN_OK; i++)
            status = add_inputs(s, u, &p->nodes[region->nodes[i]], at);
        for (int32_t i = 0; i < region->n_results && status == KN_OK; i++) {
            int32_t v = region->results[i];
            bool outside = v >= 0 && is_passed(s, v) && p->values[v].region == 0 &&
                           (at->made[v] < u->first || at->made[v] >= u->last);
            if (outside) status = add_value(&u->in, &u->n_in, v);
        }
    }
    return status;
}

static kn_status find_values(const kni_source *s, kni_source_unit *u, const places *at)
{
    const kni_program *p = s->p;
    kn_status status = KN_OK;
    for (int32_t i = u->first; i < u->last && status == KN_OK; i++) {
        const kni_program_node *node = &p->nodes[p->regions[0].nodes[i]];
        status = add_inputs(s, u, node, at);
        for (int32_t k = 0; k < node->n_out && status == KN_OK; k++) {
            int32_t v = kni_node_out(p, node)[k];
            if (at->last[v] >= u->last) status = add_value(&u->out, &u->n_out, v);
        }
    }
    return status;
}

kn_status kni_source_cut(kni_source *s)
{
    places at;
    kn_status status = find_places(s, &at);
    int32_t *live = status ? NULL : count_live(s, &at);
    if (status == KN_OK && !live)
        status = kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory to cut the program");
    if (status == KN_OK) status = kni_source_find_groups(s, at.made);
    int32_t place = 0;
    for (int32_t g = 0; g < s->n_groups && status == KN_OK; g++) {
        kni_source_group *group = &s->groups[g];
        status = cut_range(s, place, group->first, live);
        group->first_unit = s->n_units;
        for (int32_t k = 0; k < group->count && status == KN_OK; k++) {
            status = add_unit(s, group->first + k * group->length, group->first + (k + 1) * group->length);
            if (status == KN_OK) s->units[s->n_units - 1].block = g;
        }
        place = group->first + group->count * group->length;
    }
    if (status == KN_OK) status = cut_range(s, place, at.n, live);
    for (int32_t i = 0, parts = 0; i < s->n_units && status == KN_OK; i++) {
        kni_source_unit *u = &s->units[i];
        if (u->block < 0) snprintf(u->name, sizeof u->name, "part_%d", (int)++parts);
        status = find_values(s, u, &at);
    }
    free(live);
    free(at.made);
    free(at.last);
    return status;
}

void kni_source_free_units(kni_source *s)
{
    for (int32_t i = 0; i < s->n_units; i++) free(s->units[i].in), free(s->units[i].out);
    for (int32_t i = 0; i < s->n_groups; i++) free(s->groups[i].members);
    free(s->units);
    free(s->groups);
}
