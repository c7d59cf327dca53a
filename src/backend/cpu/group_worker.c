/* Row groups by tiles: the slots that a thread moves from tile to tile, and the kernels that run on them. */
#include "backend/cpu/elementwise_run.h"
#include "backend/cpu/group_tiles.h"
#include "backend/host/host.h"
#include <string.h>

void kni_rows_end_worker(const kni_rows_program *p, kni_rows_worker *w)
{
    kni_thread *t = kni_thread_self();
    for (int i = 0; i < w->n_slots; i++) {
        kni_slot(w->slots[i])->storage = NULL;
        kni_tensor_end_handle(t, w->slots[i]);
    }
    if (w->records) kni_free(w->records, w->record_bytes);
    if (w->scratch) kni_free(w->scratch, (size_t)p->scratch_bytes + KNI_ROWS_ALIGN);
}

bool kni_rows_start_worker(const kni_rows_program *p, const kni_group *g, kni_rows_worker *w)
{
    kni_thread *t = kni_thread_self();
    w->n_slots = 0;
    w->record_bytes = 0;
    w->records = NULL;
    w->scratch = kni_allocate((size_t)p->scratch_bytes + KNI_ROWS_ALIGN);
    for (int i = 0; i < g->n_records; i++) w->record_bytes += (g->records[i]->bytes + 7u) & ~7u;
    w->records = w->scratch ? kni_allocate(w->record_bytes) : NULL;
    bool good = w->records != NULL;
    for (; w->n_slots < p->n_tensors && good; w->n_slots++) {
        uint32_t id = kni_tensor_new(t);
        if (id == KNI_NO_SLOT) good = false;
        if (!good) break;
        w->slots[w->n_slots] = id;
        const kni_tensor *x = kni_slot(p->tensors[w->n_slots].id);
        kni_tensor *y = kni_slot(id);
        y->device = NULL;
        y->state = KNI_KEPT;
        y->type = x->type;
        y->flags = x->flags & KNI_TENSOR_SCALAR;
        y->inline_value = x->inline_value;
        y->offset = x->offset;
        memcpy(y->strides, x->strides, sizeof y->strides);
        y->storage = x->storage;
        if (p->tensors[w->n_slots].result < 0) continue;
        kni_storage *s = &w->memory[w->n_slots];
        memset(s, 0, sizeof *s);
        atomic_init(&s->references, 2); /* nobody may write over it or free it */
        y->flags |= KNI_TENSOR_BOUND;
        y->storage = s;
        y->offset = 0;
    }
    char *at = w->records;
    for (int i = 0; i < g->n_records && good; i++) {
        const kn_record *r = g->records[i];
        memcpy(at, r, r->bytes);
        kn_record *copy = (kn_record *)at;
        copy->attributes = at + ((const char *)r->attributes - (const char *)r);
        copy->last_use = 0;
        for (int k = 0; k < 1 + r->n_in; k++)
            copy->ids[k] = p->operands[i][k] < 0 ? KNI_NO_SLOT : w->slots[p->operands[i][k]];
        w->record[i] = copy;
        at += (r->bytes + 7u) & ~7u;
    }
    return good;
}

void kni_rows_enter(const kni_rows_program *p, const kni_rows_worker *w, int64_t outer, int64_t begin,
                    int64_t rows)
{
    int64_t index[KN_MAX_RANK];
    for (int a = p->axis - 1; a >= 0; a--) {
        index[a] = outer % p->shape.dims[a];
        outer /= p->shape.dims[a];
    }
    index[p->axis] = begin;
    for (int i = 0; i < p->n_tensors; i++) {
        const kni_rows_tensor *t = &p->tensors[i];
        const kni_tensor *x = kni_slot(t->id);
        kni_tensor *y = kni_slot(w->slots[i]);
        if (t->axis < 0) continue; /* the same for every tile */
        y->type = kni_rows_tile_type(t, rows);
        if (t->result >= 0) {
            kni_contiguous_strides(y->type.rank, y->type.dims, y->strides);
            int64_t first = 0, step = 1;
            for (int a = x->type.rank - 1; a > p->axis; a--) step *= x->type.dims[a];
            for (int a = p->axis; a >= 0; a--) {
                first += index[a] * step;
                step *= x->type.dims[a];
            }
            /* While the group is compiled outputs have no memory yet. */
            char *base = t->output ? x->storage ? x->storage->data : NULL : w->scratch + t->scratch;
            if (t->output && base) base += first * (int64_t)kni_element_bytes(x);
            y->storage->data = base;
            continue;
        }
        y->offset = x->offset;
        int shift = t->axis - p->axis;
        for (int a = 0; a <= t->axis; a++) {
            int of = a - shift;
            if (of >= 0 && x->type.dims[a] != 1) y->offset += index[of] * x->strides[a];
        }
    }
}

kn_status kni_rows_run_record(kni_rows_worker *w, const kn_record *r)
{
    kni_rows_ahead = w->ahead.at < w->ahead.n ? &w->ahead : NULL;
    kn_status s = r->row->native->strips ? kni_cpu_elementwise(r) : r->row->native->run(r);
    kni_rows_ahead = NULL;
    return s;
}

void kni_rows_look_ahead(const kni_rows_program *p, kni_rows_worker *w, int64_t rows)
{
    kni_ahead *a = &w->ahead;
    a->n = a->at = 0;
    if (!p->long_work) return;
    a->rate = p->far_lines * KNI_AHEAD_UNIT / p->work + 1;
    a->credit = 0;
    for (int i = 0; i < p->n_tensors && a->n < KNI_AHEAD_RANGES; i++) {
        if (!p->tensors[i].far) continue;
        kni_tensor *x = kni_slot(w->slots[i]);
        int64_t bytes = rows * p->inner * (int64_t)kni_element_bytes(x);
        a->ranges[a->n].from = (const char *)kni_pointer(x) + bytes;
        a->ranges[a->n++].lines = bytes / KNI_AHEAD_LINE;
    }
}

void kni_rows_run_part(kni_rows_worker *w, const kni_rows_part *part, const kni_strip_program *program)
{
    static const double no_params[4] = {0};
    kni_strip_memory m;
    m.ahead = w->ahead.at < w->ahead.n ? &w->ahead : NULL;
    for (int i = 0; i < part->n_inputs; i++) m.inputs[i] = kni_pointer(kni_slot(w->slots[part->inputs[i]]));
    for (int i = 0; i < part->n_outputs; i++)
        m.results[i] = kni_pointer(kni_slot(w->slots[part->outputs[i]]));
    for (int i = 0; i < part->n; i++) {
        const kn_record *r = w->record[part->first + i];
        m.params[i] = r->attribute_bytes ? r->attributes : no_params;
    }
    kni_strip_run(program, &m, 0, program->n);
}
