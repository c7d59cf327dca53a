/* Row groups by tiles. A tile is a range of rows; each record runs its own kernel on the tile's part of its operands, so
   results are the same bits as those of whole records. Results that stay inside the group exist for one tile only. */
#include "backend/cpu/group_rows.h"
#include "backend/cpu/group_tiles.h"
#include "backend/host/host.h"
#include "core/thread_pool.h"
#include <string.h>

/* ---- parts: neighbours that are pointwise over one shape are one program */

static bool pointwise(const kn_record *r) { return r->row->kind == KNI_ELEMENTWISE; }

/* The group that some records of the tile are; results are outputs where anything else reads them. False where it has too many
   inputs: those of the whole group and what earlier parts give it. */
static bool describe_part(const kni_rows_program *p, const kni_group *g, const kni_rows_worker *w,
                          kni_rows_part *part, kni_group *sub, uint32_t *inputs, uint32_t *outputs)
{
    part->n_inputs = part->n_outputs = 0;
    for (int i = part->first; i < part->first + part->n; i++) {
        for (int k = 1; k <= g->records[i]->n_in; k++) {
            int n = p->operands[i][k], known = 0;
            if (n < 0) continue;
            int from = p->tensors[n].result;
            if (from >= part->first && from < part->first + part->n) continue;
            while (known < part->n_inputs && part->inputs[known] != n) known++;
            if (known == KNI_GROUP_INPUTS) return false;
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
    return true;
}

static bool is_read(const kni_rows_program *p, const kni_group *g, int tensor_number)
{
    for (int i = 0; i < g->n_records; i++)
        for (int k = 1; k <= g->records[i]->n_in; k++)
            if (p->operands[i][k] == tensor_number) return true;
    return false;
}

static void compile_part(kni_rows_program *p, const kni_group *g, kni_rows_worker *w, kni_rows_part *part)
{
    uint32_t inputs[KNI_GROUP_INPUTS], outputs[KNI_GROUP_RESULTS];
    int64_t rest = p->shape.dims[p->axis] % p->rows;
    kni_strip_parts parts = {.whole = kni_count(&p->shape)};
    kni_group sub;
    _Static_assert(KNI_GROUP_RESULTS >= KNI_GROUP_RECORDS, "each record of a part may have a result");
    if (!describe_part(p, g, w, part, &sub, inputs, outputs)) return;
    for (int i = 0; i < part->n_inputs; i++)
        if (!p->tensors[part->inputs[i]].far) parts.near_inputs |= UINT64_C(1) << i;
    for (int i = 0; i < part->n_outputs; i++)
        if (!p->tensors[part->outputs[i]].output || is_read(p, g, part->outputs[i]))
            parts.near_results |= UINT64_C(1) << i;
    kni_rows_enter(p, w, 0, 0, p->rows);
    part->program[0] = kni_strip_compile(&sub, &parts);
    if (!part->program[0] || !rest) return;
    kni_rows_enter(p, w, 0, 0, rest);
    part->program[1] = kni_strip_compile(&sub, &parts);
    if (part->program[1]) return;
    kni_strip_free(part->program[0]);
    part->program[0] = NULL;
}

/* A single record is one where that fetches memory meanwhile or writes past the caches. */
static bool deserves_program(const kni_rows_program *p, const kni_group *g, int i)
{
    const kn_record *r = g->records[i];
    return p->far_lines && pointwise(r) && (p->tensors[p->operands[i][0]].output || kni_strip_heavy(r));
}

static void count_work(kni_rows_program *p, const kni_group *g, const kni_rows_part *part)
{
    const kni_strip_program *program = part->program[0];
    const kn_record *r = g->records[part->first];
    for (int32_t i = 0; program && i < program->n_steps; i++) {
        p->work += program->n * (program->steps[i].heavy ? KNI_WORK_HEAVY : KNI_WORK_LIGHT);
        p->long_work |= program->steps[i].heavy;
    }
    int work = program ? 0 : kni_native_ahead(r->row->native);
    p->work += p->rows * p->inner * work;
    p->long_work |= work >= KNI_WORK_HEAVY;
}

static bool make_parts(kni_rows_program *p, const kni_group *g)
{
    kni_rows_worker *w = kni_allocate(sizeof *w);
    if (!w) return false;
    bool good = kni_rows_start_worker(p, g, w);
    for (int i = 0; i < g->n_records && good;) {
        kni_rows_part *part = &p->parts[p->n_parts++];
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
    kni_rows_end_worker(p, w);
    kni_free(w, sizeof *w);
    return good;
}

/* ---- compiling and running */

static void free_program(void *program)
{
    kni_rows_program *p = program;
    for (int i = 0; i < p->n_parts; i++)
        for (int k = 0; k < 2; k++)
            if (p->parts[i].program[k]) kni_strip_free(p->parts[i].program[k]);
    kni_free(p, sizeof *p);
}

static kni_rows_program *compile(const kni_group *g)
{
    kni_rows_program *p = g->n_records > KNI_GROUP_RECORDS ? NULL : kni_allocate(sizeof *p);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    if (kni_rows_cut(p, g) && make_parts(p, g)) return p;
    free_program(p);
    return NULL;
}

typedef struct job {
    const kni_rows_program *p;
    const kni_group *g;
    int64_t tiles; /* of a task */
    bool goes_on;  /* the next task runs on the same thread */
    _Atomic int failed;
} job;

static void run_tiles(void *argument, int64_t task, int number)
{
    (void)number;
    job *j = argument;
    const kni_rows_program *p = j->p;
    kni_rows_worker *w = kni_allocate(sizeof *w);
    kn_status s = KN_OK;
    if (w && kni_rows_start_worker(p, j->g, w)) {
        int64_t end = (task + 1) * j->tiles < p->tiles ? (task + 1) * j->tiles : p->tiles;
        for (int64_t tile = task * j->tiles; tile < end && s == KN_OK; tile++) {
            int64_t begin = tile % p->per_outer * p->rows, size = p->shape.dims[p->axis];
            int64_t rows = size - begin < p->rows ? size - begin : p->rows;
            kni_rows_enter(p, w, tile / p->per_outer, begin, rows);
            w->ahead.n = w->ahead.at = 0;
            if (tile + 1 < (j->goes_on ? p->tiles : end) && rows == p->rows) kni_rows_look_ahead(p, w, rows);
            for (int i = 0; i < p->n_parts && s == KN_OK; i++) {
                const kni_rows_part *part = &p->parts[i];
                if (part->program[0])
                    kni_rows_run_part(w, part, part->program[rows != p->rows]);
                else
                    s = kni_rows_run_record(w, w->record[part->first]);
            }
        }
    } else {
        s = KN_ERROR_MEMORY;
    }
    if (w) {
        kni_rows_end_worker(p, w);
        kni_free(w, sizeof *w);
    }
    if (s) atomic_store(&j->failed, (int)s);
}

kn_status kni_cpu_group_rows(const kni_group *g)
{
    enum { TASK_ELEMENTS = 1 << 17 };
    kni_rows_program *p = g->cache ? *g->cache : NULL;
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
