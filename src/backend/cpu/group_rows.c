/* Row groups by tiles. A tile is a range of rows; each record runs its own kernel on the tile's part of its operands, so
   results are the same bits as those of whole records. Results that stay inside the group exist for one tile only. */
#include "backend/cpu/group_rows.h"
#include "backend/cpu/elementwise_run.h"
#include "backend/cpu/group_strips.h"
#include "backend/host/host.h"
#include "core/thread_pool.h"
#include "graph/row_domain.h"
#include <string.h>

/* CACHES: more elements than the caches hold of one tensor. */
enum {
    TILE = 1 << 14,
    CACHES = 1 << 22,
    MOST_OPERANDS = KNI_GROUP_RECORDS * 4,
    PARTS = KNI_GROUP_RECORDS,
    ALIGN = 64
};

/* A tensor as the tiles see it. */
typedef struct tensor {
    uint32_t id;   /* the slot outside */
    int8_t result; /* of a record of the group: its number, else -1 */
    int8_t axis;   /* that is cut into tiles; -1: the same for all */
    bool output;
    bool far;        /* read from memory in the order of the tiles, more than the caches hold */
    int64_t scratch; /* bytes from the start of a worker's memory, of results that stay inside */
} tensor;

/* What runs on a tile: a pointwise program over several records, or one record. */
typedef struct section {
    int32_t first, n; /* records */
    kni_strip_program
        *program[2]; /* for whole tiles, and for the last one where it is shorter; NULL: one record */
    int32_t n_inputs, n_outputs;
    int16_t inputs[KNI_GROUP_INPUTS], outputs[KNI_GROUP_RESULTS]; /* tensors */
} section;

typedef struct rows_program {
    kni_row_domain domain;
    kni_type shape; /* that the domain refers to */
    int axis;       /* of the domain that is cut */
    int64_t rows;   /* of a tile, along the axis */
    int64_t outer;  /* indices before the axis */
    int64_t inner;  /* elements behind it */
    int64_t per_outer, tiles;
    int32_t n_tensors, n_parts;
    int64_t scratch_bytes;
    int64_t work;      /* of a tile, in which memory can be asked for */
    bool long_work;    /* some of it is more than sums and products */
    int64_t far_lines; /* that a tile reads from memory in order */
    tensor tensors[MOST_OPERANDS];
    int16_t operands[KNI_GROUP_RECORDS][8]; /* tensors of each record: result first */
    section parts[PARTS];
} rows_program;

/* ---- which tensors there are */

static bool native_row(const kn_record *r)
{
    return r->row->native && (r->row->native->strips || r->row->native->run) && r->n_out == 1 && r->n_in <= 7;
}

/* The axis of a tensor that lines up with `axis` of the domain when it is broadcast to a result of rank `rank`. */
static int axis_for(const rows_program *p, const kni_type *t, int rank)
{
    int a = p->axis - (rank - t->rank);
    return a < 0 || t->dims[a] == 1 ? -1 : a;
}

static int add_tensor(rows_program *p, uint32_t id, int result, int axis)
{
    for (int i = 0; i < p->n_tensors; i++)
        if (p->tensors[i].id == id && p->tensors[i].axis == axis) return i;
    if (p->n_tensors == MOST_OPERANDS) return -1;
    p->tensors[p->n_tensors] = (tensor){id, (int8_t)result, (int8_t)axis, false, false, -1};
    return p->n_tensors++;
}

static int result_of(const kni_group *g, uint32_t id)
{
    for (int i = 0; i < g->n_records; i++)
        if (g->records[i]->ids[0] == id) return i;
    return -1;
}

/* Axes before the one that is cut must line up too, or not be there. */
static bool lines_up(const rows_program *p, const kni_type *t, int rank)
{
    int shift = rank - t->rank;
    for (int a = 0; a <= p->axis; a++) {
        int own = a - shift;
        if (own >= 0 && t->dims[own] != 1 && t->dims[own] != p->shape.dims[a]) return false;
    }
    return true;
}

static bool collect(rows_program *p, const kni_group *g)
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

static bool choose_tiles(rows_program *p, const kni_group *g)
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

/* The type of a tensor in a tile of `rows` rows. */
static kni_type tile_type(const tensor *t, int64_t rows)
{
    kni_type type = kni_slot(t->id)->type;
    if (t->axis < 0) return type;
    for (int a = 0; a < t->axis; a++) type.dims[a] = 1;
    type.dims[t->axis] = rows;
    return type;
}

static bool give_scratch(rows_program *p)
{
    for (int i = 0; i < p->n_tensors; i++) {
        tensor *t = &p->tensors[i];
        if (t->result < 0 || t->output) continue;
        kni_type type = tile_type(t, p->rows);
        int64_t bytes = kn_dtype_bytes((kn_dtype)type.dtype, kni_count(&type));
        if (bytes < 0) return false;
        t->scratch = p->scratch_bytes;
        p->scratch_bytes += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    return true;
}

/* Which inputs come from memory, tile after tile. */
static void find_far(rows_program *p)
{
    if (kni_count(&p->shape) < CACHES) return;
    for (int i = 0; i < p->n_tensors; i++) {
        tensor *t = &p->tensors[i];
        const kni_tensor *x = kni_slot(t->id);
        t->far = t->result < 0 && t->axis >= 0 && kni_count(&x->type) == kni_count(&p->shape) &&
                 kni_is_contiguous(x->type.rank, x->type.dims, x->strides);
        if (t->far) p->far_lines += p->rows * p->inner * (int64_t)kni_element_bytes(x) / KNI_AHEAD_LINE;
    }
}

/* ---- one worker's slots */

typedef struct worker {
    uint32_t slots[MOST_OPERANDS];
    kni_storage memory[MOST_OPERANDS]; /* of results: headers that point into scratch or into the outputs */
    char *records;
    size_t record_bytes;
    kni_ahead ahead;
    const kn_record *record[KNI_GROUP_RECORDS];
    char *scratch;
    int32_t n_slots;
} worker;

static void end_worker(const rows_program *p, worker *w)
{
    kni_thread *t = kni_thread_self();
    for (int i = 0; i < w->n_slots; i++) {
        kni_slot(w->slots[i])->storage = NULL;
        kni_tensor_end_handle(t, w->slots[i]);
    }
    if (w->records) kni_free(w->records, w->record_bytes);
    if (w->scratch) kni_free(w->scratch, (size_t)p->scratch_bytes + ALIGN);
}

/* Slots that see what the tiles see; records that name them. */
static bool start_worker(const rows_program *p, const kni_group *g, worker *w)
{
    kni_thread *t = kni_thread_self();
    w->n_slots = 0;
    w->record_bytes = 0;
    w->records = NULL;
    w->scratch = kni_allocate((size_t)p->scratch_bytes + ALIGN);
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

/* Points every slot at its part of a tile: `rows` rows from `begin` on, under index `outer` of the axes before. */
static void enter_tile(const rows_program *p, const worker *w, int64_t outer, int64_t begin, int64_t rows)
{
    int64_t index[KN_MAX_RANK];
    for (int a = p->axis - 1; a >= 0; a--) {
        index[a] = outer % p->shape.dims[a];
        outer /= p->shape.dims[a];
    }
    index[p->axis] = begin;
    for (int i = 0; i < p->n_tensors; i++) {
        const tensor *t = &p->tensors[i];
        const kni_tensor *x = kni_slot(t->id);
        kni_tensor *y = kni_slot(w->slots[i]);
        if (t->axis < 0) continue; /* the same for every tile */
        y->type = tile_type(t, rows);
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

static kn_status run_record(worker *w, const kn_record *r)
{
    kni_rows_ahead = w->ahead.at < w->ahead.n ? &w->ahead : NULL;
    kn_status s = r->row->native->strips ? kni_cpu_elementwise(r) : r->row->native->run(r);
    kni_rows_ahead = NULL;
    return s;
}

/* The next tile is asked for while this one is computed with. */
static void look_ahead(const rows_program *p, worker *w, int64_t rows)
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

static void run_program(worker *w, const section *part, const kni_strip_program *program)
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

/* ---- parts: neighbours that are pointwise over one shape are one program */

static bool pointwise(const kn_record *r) { return r->row->kind == KNI_ELEMENTWISE; }

/* The group that some records of the tile are; results are outputs where anything else reads them. */
static void describe_part(const rows_program *p, const kni_group *g, const worker *w, section *part,
                          kni_group *sub, uint32_t *inputs, uint32_t *outputs)
{
    part->n_inputs = part->n_outputs = 0;
    for (int i = part->first; i < part->first + part->n; i++) {
        for (int k = 1; k <= g->records[i]->n_in; k++) {
            int n = p->operands[i][k], known = 0;
            if (n < 0) continue;
            int from = p->tensors[n].result;
            if (from >= part->first && from < part->first + part->n) continue;
            while (known < part->n_inputs && part->inputs[known] != n) known++;
            if (known == part->n_inputs) part->inputs[part->n_inputs++] = (int16_t)n;
        }
        int n = p->operands[i][0];
        bool used = p->tensors[n].output;
        for (int j = part->first + part->n; j < g->n_records; j++)
            for (int k = 1; k <= g->records[j]->n_in; k++) used |= p->operands[j][k] == n;
        if (used) part->outputs[part->n_outputs++] = (int16_t)n;
    }
    for (int i = 0; i < part->n_inputs; i++) inputs[i] = w->slots[part->inputs[i]];
    for (int i = 0; i < part->n_outputs; i++) outputs[i] = w->slots[part->outputs[i]];
    *sub = (kni_group){.kind = KNI_GROUP_POINTWISE,
                       .n_records = part->n,
                       .records = w->record + part->first,
                       .n_inputs = part->n_inputs,
                       .n_outputs = part->n_outputs,
                       .inputs = inputs,
                       .outputs = outputs};
}

static bool is_read(const rows_program *p, const kni_group *g, int tensor_number)
{
    for (int i = 0; i < g->n_records; i++)
        for (int k = 1; k <= g->records[i]->n_in; k++)
            if (p->operands[i][k] == tensor_number) return true;
    return false;
}

static void compile_part(rows_program *p, const kni_group *g, worker *w, section *part)
{
    uint32_t inputs[KNI_GROUP_INPUTS], outputs[KNI_GROUP_RESULTS];
    int64_t rest = p->shape.dims[p->axis] % p->rows;
    kni_strip_parts parts = {.whole = kni_count(&p->shape)};
    kni_group sub;
    describe_part(p, g, w, part, &sub, inputs, outputs);
    for (int i = 0; i < part->n_inputs; i++)
        if (!p->tensors[part->inputs[i]].far) parts.near_inputs |= UINT64_C(1) << i;
    for (int i = 0; i < part->n_outputs; i++)
        if (!p->tensors[part->outputs[i]].output || is_read(p, g, part->outputs[i]))
            parts.near_results |= UINT64_C(1) << i;
    enter_tile(p, w, 0, 0, p->rows);
    part->program[0] = kni_strip_compile(&sub, &parts);
    if (!part->program[0] || !rest) return;
    enter_tile(p, w, 0, 0, rest);
    part->program[1] = kni_strip_compile(&sub, &parts);
    if (part->program[1]) return;
    kni_strip_free(part->program[0]);
    part->program[0] = NULL;
}

/* A single record is one where that fetches memory meanwhile or writes past the caches. */
static bool deserves_program(const rows_program *p, const kni_group *g, int i)
{
    const kn_record *r = g->records[i];
    return p->far_lines && pointwise(r) && (p->tensors[p->operands[i][0]].output || kni_strip_heavy(r));
}

/* Rows whose kernels ask for memory meanwhile, and the work of an element. */
static const struct {
    uint16_t op, work;
} asking_rows[] = {{KNI_OP_softmax, KNI_WORK_HEAVY + KNI_WORK_DIVISION},
                   {KNI_OP_layer_norm, KNI_WORK_STATISTICS},
                   {KNI_OP_rms_norm, KNI_WORK_STATISTICS}};

static void count_work(rows_program *p, const kni_group *g, const section *part)
{
    const kni_strip_program *program = part->program[0];
    const kn_record *r = g->records[part->first];
    for (int32_t i = 0; program && i < program->n_steps; i++) {
        p->work += program->n * (program->steps[i].heavy ? KNI_WORK_HEAVY : KNI_WORK_LIGHT);
        p->long_work |= program->steps[i].heavy;
    }
    for (size_t i = 0; !program && i < KNI_COUNT(asking_rows); i++) {
        if (r->row->number != asking_rows[i].op) continue;
        p->work += p->rows * p->inner * asking_rows[i].work;
        p->long_work |= asking_rows[i].work >= KNI_WORK_HEAVY;
    }
}

static bool make_parts(rows_program *p, const kni_group *g)
{
    worker *w = kni_allocate(sizeof *w);
    if (!w) return false;
    bool good = start_worker(p, g, w);
    for (int i = 0; i < g->n_records && good;) {
        section *part = &p->parts[p->n_parts++];
        int n = 1;
        while (pointwise(g->records[i]) && i + n < g->n_records && pointwise(g->records[i + n]) &&
               kni_same_dims(&kni_out(g->records[i], 0)->type, &kni_out(g->records[i + n], 0)->type))
            n++;
        part->first = i;
        part->n = n;
        if (n > 1 || deserves_program(p, g, i)) compile_part(p, g, w, part);
        if (!part->program[0]) part->n = n = 1;
        count_work(p, g, part);
        i += n;
    }
    end_worker(p, w);
    kni_free(w, sizeof *w);
    return good;
}

/* ---- compiling and running */

static void free_program(void *program)
{
    rows_program *p = program;
    for (int i = 0; i < p->n_parts; i++)
        for (int k = 0; k < 2; k++)
            if (p->parts[i].program[k]) kni_strip_free(p->parts[i].program[k]);
    kni_free(p, sizeof *p);
}

static rows_program *compile(const kni_group *g)
{
    rows_program *p = g->n_records > KNI_GROUP_RECORDS ? NULL : kni_allocate(sizeof *p);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    if (choose_tiles(p, g) && collect(p, g) && give_scratch(p)) {
        find_far(p);
        if (make_parts(p, g)) return p;
    }
    free_program(p);
    return NULL;
}

typedef struct job {
    const rows_program *p;
    const kni_group *g;
    int64_t tiles; /* of a task */
    bool goes_on;  /* the next task runs on the same thread */
    _Atomic int failed;
} job;

static void run_tiles(void *argument, int64_t task, int number)
{
    (void)number;
    job *j = argument;
    const rows_program *p = j->p;
    worker *w = kni_allocate(sizeof *w);
    kn_status s = KN_OK;
    if (w && start_worker(p, j->g, w)) {
        int64_t end = (task + 1) * j->tiles < p->tiles ? (task + 1) * j->tiles : p->tiles;
        for (int64_t tile = task * j->tiles; tile < end && s == KN_OK; tile++) {
            int64_t begin = tile % p->per_outer * p->rows, size = p->shape.dims[p->axis];
            int64_t rows = size - begin < p->rows ? size - begin : p->rows;
            enter_tile(p, w, tile / p->per_outer, begin, rows);
            w->ahead.n = w->ahead.at = 0;
            if (tile + 1 < (j->goes_on ? p->tiles : end) && rows == p->rows) look_ahead(p, w, rows);
            for (int i = 0; i < p->n_parts && s == KN_OK; i++) {
                const section *part = &p->parts[i];
                if (part->program[0])
                    run_program(w, part, part->program[rows != p->rows]);
                else
                    s = run_record(w, w->record[part->first]);
            }
        }
    } else {
        s = KN_ERROR_MEMORY;
    }
    if (w) {
        end_worker(p, w);
        kni_free(w, sizeof *w);
    }
    if (s) atomic_store(&j->failed, (int)s);
}

kn_status kni_cpu_group_rows(const kni_group *g)
{
    enum { TASK_ELEMENTS = 1 << 17 };
    rows_program *p = g->cache ? *g->cache : NULL;
    if (!p) {
        p = compile(g);
        if (!p) return KN_ERROR_UNSUPPORTED;
        if (g->cache) {
            *g->cache = p;
            *g->release = free_program;
        }
    }
    kn_status s = KN_OK;
    for (int i = 0; i < g->n_outputs && s == KN_OK; i++) s = kni_host_allocate(kni_slot(g->outputs[i]));
    if (s == KN_OK) {
        int64_t per_tile = p->rows * p->inner;
        job j = {p, g, per_tile < TASK_ELEMENTS ? TASK_ELEMENTS / per_tile : 1, kni_threads() == 1, 0};
        kni_parallel_for((p->tiles + j.tiles - 1) / j.tiles, run_tiles, &j);
        s = (kn_status)atomic_load(&j.failed);
    }
    if (!g->cache) free_program(p);
    return s;
}
