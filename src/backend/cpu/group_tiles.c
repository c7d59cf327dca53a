/* Row groups by tiles: which tensors a group has and how its rows are cut. */
#include "backend/cpu/group_tiles.h"
#include "backend/host/host.h"

/* CACHES: more elements than the caches hold of one tensor. */
enum { TILE = 1 << 14, CACHES = 1 << 22 };

static bool native_row(const kn_record *r)
{
    return r->row->native && (r->row->native->strips || r->row->native->run) && r->n_out == 1 && r->n_in <= 7;
}

/* The axis of a tensor that lines up with `axis` of the domain when it is broadcast to a result of rank `rank`. */
static int axis_for(const kni_rows_program *p, const kni_type *t, int rank)
{
    int a = p->axis - (rank - t->rank);
    return a < 0 || t->dims[a] == 1 ? -1 : a;
}

static int add_tensor(kni_rows_program *p, uint32_t id, int result, int axis)
{
    for (int i = 0; i < p->n_tensors; i++)
        if (p->tensors[i].id == id && p->tensors[i].axis == axis) return i;
    if (p->n_tensors == KNI_ROWS_TENSORS) return -1;
    p->tensors[p->n_tensors] = (kni_rows_tensor){id, (int8_t)result, (int8_t)axis, false, false, -1};
    return p->n_tensors++;
}

static int result_of(const kni_group *g, uint32_t id)
{
    for (int i = 0; i < g->n_records; i++)
        if (g->records[i]->ids[0] == id) return i;
    return -1;
}

/* Axes before the one that is cut must line up too, or not be there. */
static bool lines_up(const kni_rows_program *p, const kni_type *t, int rank)
{
    int shift = rank - t->rank;
    for (int a = 0; a <= p->axis; a++) {
        int own = a - shift;
        if (own >= 0 && t->dims[own] != 1 && t->dims[own] != p->shape.dims[a]) return false;
    }
    return true;
}

static bool collect(kni_rows_program *p, const kni_group *g)
{
    for (int i = 0; i < g->n_records; i++) {
        const kn_record *r = g->records[i];
        kni_row_domain d;
        if (!native_row(r)) return false;
        bool rows = kni_row_domain_of(r, &d);
        int rank = rows ? p->shape.rank : kni_out(r, 0)->type.rank;
        /* Results have the axes up to the one that is cut, whatever their rank. */
        if (kni_out(r, 0)->type.rank <= p->axis ||
            !lines_up(p, &kni_out(r, 0)->type, kni_out(r, 0)->type.rank))
            return false;
        if (kni_out(r, 0)->type.dims[p->axis] != p->shape.dims[p->axis]) return false;
        for (int k = 0; k < r->n_in; k++) {
            uint32_t id = r->ids[1 + k];
            p->operands[i][1 + k] = -1;
            if (id == KNI_NO_SLOT) continue;
            int from = result_of(g, id);
            const kni_type *t = &kni_slot(id)->type;
            if (!lines_up(p, t, rank)) return false;
            int n = add_tensor(p, id, from, from >= 0 ? p->axis : axis_for(p, t, rank));
            if (n < 0) return false;
            for (int a = 0; from < 0 && a < p->axis && p->tensors[n].axis < 0; a++) {
                int own = a - (rank - t->rank);
                if (own >= 0 && t->dims[own] != 1) return false;
            }
            if ((from >= 0 && (from >= i || axis_for(p, t, rank) != p->axis))) return false;
            p->operands[i][1 + k] = (int16_t)n;
        }
        int n = add_tensor(p, r->ids[0], i, p->axis);
        if (n < 0) return false;
        for (int k = 0; k < g->n_outputs; k++) p->tensors[n].output |= g->outputs[k] == r->ids[0];
        p->operands[i][0] = (int16_t)n;
    }
    return true;
}

/* ---- tiles */

static bool choose_tiles(kni_rows_program *p, const kni_group *g)
{
    kni_row_domain d;
    int i = 0;
    while (i < g->n_records && !kni_row_domain_of(g->records[i], &d)) i++;
    if (i == g->n_records || !kni_row_domain_last(&d) || kni_count(d.shape) == 0) return false;
    p->shape = *d.shape;
    p->domain = (kni_row_domain){.shape = &p->shape, .reduced = d.reduced, .elements = d.elements};
    int first = 0; /* axis of the rows */
    while (first < p->shape.rank && !(d.reduced >> first & 1)) first++;
    if (first == 0 || first == p->shape.rank) return false;
    p->inner = 1;
    for (int a = 1; a < p->shape.rank; a++) p->inner *= p->shape.dims[a];
    p->outer = 1;
    /* The first axis whose indices are small enough, or the last one before the rows. */
    while (p->axis < first - 1 && p->inner > TILE / 2) {
        p->outer *= p->shape.dims[p->axis++];
        p->inner /= p->shape.dims[p->axis];
    }
    int64_t size = p->shape.dims[p->axis];
    p->rows = p->inner < TILE ? TILE / p->inner : 1;
    if (p->rows > size) p->rows = size;
    p->per_outer = (size + p->rows - 1) / p->rows;
    p->tiles = p->outer * p->per_outer;
    return true;
}

kni_type kni_rows_tile_type(const kni_rows_tensor *t, int64_t rows)
{
    kni_type type = kni_slot(t->id)->type;
    if (t->axis < 0) return type;
    for (int a = 0; a < t->axis; a++) type.dims[a] = 1;
    type.dims[t->axis] = rows;
    return type;
}

static bool give_scratch(kni_rows_program *p)
{
    for (int i = 0; i < p->n_tensors; i++) {
        kni_rows_tensor *t = &p->tensors[i];
        if (t->result < 0 || t->output) continue;
        kni_type type = kni_rows_tile_type(t, p->rows);
        int64_t bytes = kn_dtype_bytes((kn_dtype)type.dtype, kni_count(&type));
        if (bytes < 0) return false;
        t->scratch = p->scratch_bytes;
        p->scratch_bytes += (bytes + KNI_ROWS_ALIGN - 1) / KNI_ROWS_ALIGN * KNI_ROWS_ALIGN;
    }
    return true;
}

/* Which inputs come from memory, tile after tile. */
static void find_far(kni_rows_program *p)
{
    if (kni_count(&p->shape) < CACHES) return;
    for (int i = 0; i < p->n_tensors; i++) {
        kni_rows_tensor *t = &p->tensors[i];
        const kni_tensor *x = kni_slot(t->id);
        t->far = t->result < 0 && t->axis >= 0 && kni_count(&x->type) == kni_count(&p->shape) &&
                 kni_is_contiguous(x->type.rank, x->type.dims, x->strides);
        if (t->far) p->far_lines += p->rows * p->inner * (int64_t)kni_element_bytes(x) / KNI_AHEAD_LINE;
    }
}

bool kni_rows_cut(kni_rows_program *p, const kni_group *g)
{
    if (!choose_tiles(p, g) || !collect(p, g) || !give_scratch(p)) return false;
    find_far(p);
    return true;
}
