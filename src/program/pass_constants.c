/* Constant folding: ops whose operands are the same in every run are run once, now. What fails, and what would take more room than it
   frees, is left to the runs. An If whose condition is constant becomes the region that it chooses. */
#include "core/allocator.h"
#include "core/error.h"
#include "program/passes.h"
#include <kn/tensor.h>
#include <string.h>

/* Results up to this size are stored whatever their operands take. */
enum { SMALL_BYTES = 64 * 1024, MOST_OPERANDS = KNI_PROGRAM_VALUES };

typedef struct folding {
    kni_program *p;
    kni_readers readers;
    int64_t *changed;
} folding;

static bool has_expressions(const kni_program *p, const kni_program_node *n)
{
    const char *place = kni_node_attributes(p, n);
    for (const kn_attribute *a = kni_schema_of(n->row); a->name; a++) {
        kn_ints list = kni_whole_numbers(a, place);
        for (int32_t i = 0; i < list.rank && i < KN_MAX_RANK; i++)
            if (kni_dim_is_expression(list.dims[i])) return true;
    }
    return false;
}

/* Whether elements of an operand become wider ones. */
static bool widens(const kni_program *p, const kni_program_node *n)
{
    bool found = false;
    for (int32_t i = 0; n->n_out && i < n->n_in; i++) {
        const int32_t v = kni_node_in(p, n)[i];
        const kni_type *x = v < 0 ? NULL : &p->values[v].type, *y = &p->values[kni_node_out(p, n)[0]].type;
        found |= x && kni_dtype_widens(x->dtype, y->dtype, kni_count(x));
    }
    return found;
}

/* Whether the results may be stored: they are small, or no larger than what nobody needs any more once they are. */
static bool is_worth_storing(const folding *f, const kni_program_node *n)
{
    const kni_program *p = f->p;
    int64_t stored = 0, freed = widens(p, n) ? 0 : SMALL_BYTES;
    for (int32_t i = 0; i < n->n_out; i++) {
        int64_t bytes = kni_type_bytes(&p->values[kni_node_out(p, n)[i]].type);
        if (bytes < 0 || stored > INT64_MAX - bytes) return false;
        stored += bytes;
    }
    for (int32_t i = 0; i < n->n_in; i++) {
        int32_t v = kni_node_in(p, n)[i];
        if (v >= 0 && kni_reads_of(&f->readers, v) == 1) freed += kni_type_bytes(&p->values[v].type);
    }
    return stored <= freed;
}

static bool can_fold(const folding *f, const kni_program_node *n)
{
    const kni_program *p = f->p;
    if (n->n_in > MOST_OPERANDS || n->n_out > MOST_OPERANDS || kni_node_is_opaque(n)) return false;
    for (int32_t i = 0; i < n->n_in; i++) {
        int32_t v = kni_node_in(p, n)[i];
        if (v >= 0 && !kni_value_may_fold(p, &p->values[v])) return false;
    }
    return !has_expressions(p, n) && is_worth_storing(f, n);
}

/* Runs the op; false where it fails or gives something else than the program says, which then every run will tell. */
static bool compute(const kni_program *p, const kni_program_node *n, kn_tensor *out)
{
    kn_tensor in[MOST_OPERANDS];
    bool good = true;
    for (int32_t i = 0; i < n->n_in; i++) {
        int32_t v = kni_node_in(p, n)[i];
        in[i] = v < 0 ? KN_NONE : kni_pass_tensor(&p->values[v]);
        if (kni_is_poisoned(in[i])) return false;
    }
    kni_apply_many(n->row, in, n->n_in, n->row->attribute_bytes ? kni_node_attributes(p, n) : NULL, out,
                   n->n_out);
    for (int32_t i = 0; i < n->n_out; i++) {
        const kni_tensor *y = kni_is_poisoned(out[i]) ? NULL : kni_peek(out[i]);
        good = good && y && kni_same_type(&y->type, &p->values[kni_node_out(p, n)[i]].type);
    }
    return good;
}

/* The node's values become constants; false: it stays. */
static bool fold(folding *f, const kni_program_node *n)
{
    kni_pass_run run;
    kn_tensor out[MOST_OPERANDS];
    if (!can_fold(f, n) || kni_pass_run_begin(&run)) return false;
    bool good = compute(f->p, n, out);
    for (int32_t i = 0; i < n->n_out && good; i++) {
        out[i] = kn_own(out[i]);
        good = !kni_is_poisoned(out[i]);
        for (int32_t k = 0; k < i && !good; k++) kn_drop(out[k]);
    }
    if (!good) kni_error_forget(kni_thread_self());
    kni_pass_run_end(&run);
    for (int32_t i = 0; i < n->n_out && good; i++) {
        kni_program_value *v = &f->p->values[kni_node_out(f->p, n)[i]];
        v->origin = KNI_FROM_CONSTANT;
        v->region = 0;
        kni_value_set_tensor(v, out[i]);
    }
    return good;
}

/* ---- If */

static void rename_values(kni_program *p, const kni_program_node *n, const int32_t *to)
{
    const int32_t *from = kni_node_out(p, n);
    for (int32_t r = 0; r < p->n_regions; r++) {
        kni_program_region *region = &p->regions[r];
        for (int32_t k = 0; k < region->n_nodes; k++) {
            const kni_program_node *reader = &p->nodes[region->nodes[k]];
            int32_t *in = p->operands + reader->first + reader->n_out;
            for (int32_t o = 0; o < reader->n_in; o++)
                for (int32_t i = 0; i < n->n_out; i++)
                    if (in[o] == from[i]) in[o] = to[i];
        }
        for (int32_t k = 0; k < region->n_results; k++)
            for (int32_t i = 0; i < n->n_out; i++)
                if (region->results[k] == from[i]) region->results[k] = to[i];
    }
}

/* Puts the nodes of a region in the place of the If that holds it. */
static kn_status splice(kni_program *p, int32_t region, int32_t place, int32_t chosen)
{
    kni_program_region *r = &p->regions[region], *inner = &p->regions[chosen];
    const kni_program_node n = p->nodes[r->nodes[place]];
    if (!kni_program_room((void **)&r->nodes, &r->node_room, r->n_nodes + inner->n_nodes, sizeof *r->nodes))
        return kni_fail(KN_ERROR_MEMORY, "kn_program_simplify: no memory to place a region");
    rename_values(p, &n, inner->results);
    for (int32_t i = 0; i < n.n_out; i++)
        if (p->values[inner->results[i]].origin == KNI_FROM_NODE)
            kni_value_inherit(p, inner->results[i], kni_node_out(p, &n)[i]);
    memmove(r->nodes + place + inner->n_nodes, r->nodes + place + 1,
            (size_t)(r->n_nodes - place - 1) * sizeof *r->nodes);
    if (inner->n_nodes) memcpy(r->nodes + place, inner->nodes, (size_t)inner->n_nodes * sizeof *r->nodes);
    r->n_nodes += inner->n_nodes - 1;
    for (int32_t i = 0; i < p->n_values; i++)
        if (p->values[i].region == chosen) p->values[i].region = region;
    for (int32_t i = 0; i < p->n_regions; i++)
        if (p->regions[i].parent == chosen) p->regions[i].parent = region;
    inner->n_nodes = inner->n_results = 0;
    return KN_OK;
}

/* Whether the condition is the same in every run, and then what it is. */
static bool knows_condition(const kni_program *p, const kni_program_node *n, bool *holds)
{
    const kni_program_value *v = &p->values[kni_node_in(p, n)[0]];
    if (!kni_value_may_fold(p, v)) return false;
    if (kn_read(v->tensor, holds, sizeof *holds) == KN_OK) return true;
    kni_error_forget(kni_thread_self());
    return false;
}

/* ---- all nodes, in the order they run */

static kn_status fold_region(folding *f, int32_t region)
{
    kni_program *p = f->p;
    kn_status s = KN_OK;
    int32_t i = 0, kept = 0;
    while (i < p->regions[region].n_nodes && s == KN_OK) {
        const kni_program_node *n = &p->nodes[p->regions[region].nodes[i]];
        bool holds;
        if (n->kind == KNI_NODE_OP && fold(f, n)) {
            i++;
            (*f->changed)++;
            continue;
        }
        if (n->kind == KNI_NODE_IF && !kni_binds_sizes(p, n) && knows_condition(p, n, &holds)) {
            s = splice(p, region, i, n->regions[holds ? 0 : 1]);
            (*f->changed)++;
            continue; /* with the first node of the region */
        }
        for (int k = 0; k < 2 && (n->kind == KNI_NODE_IF || n->kind == KNI_NODE_LOOP) && s == KN_OK; k++)
            if (n->regions[k] >= 0) s = fold_region(f, n->regions[k]);
        p->regions[region].nodes[kept++] = p->regions[region].nodes[i++];
    }
    kni_program_region *r = &p->regions[region];
    while (i < r->n_nodes) r->nodes[kept++] = r->nodes[i++];
    r->n_nodes = kept;
    return s;
}

kn_status kni_pass_constants(kni_program *p, int64_t *changed)
{
    folding f = {.p = p, .changed = changed};
    kn_status s = kni_readers_find(p, &f.readers);
    for (int32_t i = 0; i < p->n_regions && s == KN_OK; i++)
        if (i == 0 || p->regions[i].name >= 0) s = fold_region(&f, i);
    kni_readers_free(&f.readers);
    return s;
}
