/* Checking of the interpreter: who touched each element last. Two invocations race when one of them writes and nothing
   orders them; inside a workgroup a barrier does, between workgroups and items nothing. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/run_internal.h"
#include <string.h>

static int64_t element_count(const kni_ir_machine *m, uint32_t binding)
{
    const kni_ir_binding *b = &m->program->ir->bindings[binding];
    if (b->space == KNI_IR_GLOBAL) return m->args->buffers[binding].count;
    return b->space == KNI_IR_PRIVATE ? b->length * (int64_t)m->room : b->length;
}

/* Buffers that nobody writes cannot race. */
static bool has_cells(const kni_ir_machine *m, uint32_t binding)
{
    const kni_ir_binding *b = &m->program->ir->bindings[binding];
    return b->space != KNI_IR_PRIVATE && (b->access & KNI_IR_WRITE);
}

bool kni_ir_check_begin(kni_ir_machine *m)
{
    for (uint32_t i = 0; i < m->program->ir->n_bindings; i++) {
        uint64_t n = (uint64_t)element_count(m, i);
        if (n > SIZE_MAX / 4 / sizeof(kni_ir_cell)) return false;
        if (n && has_cells(m, i)) {
            m->cells[i] = kni_allocate((size_t)n * sizeof(kni_ir_cell));
            if (!m->cells[i]) return false;
            memset(m->cells[i], 0, (size_t)n * sizeof(kni_ir_cell));
        }
        if (i < m->program->ir->n_buffers) continue;
        m->written[i] = kni_allocate((size_t)n);
        if (!m->written[i]) return false;
        memset(m->written[i], 0, (size_t)n);
    }
    return true;
}

void kni_ir_check_forget(kni_ir_machine *m)
{
    for (uint32_t i = m->program->ir->n_buffers; i < m->program->ir->n_bindings; i++) {
        size_t n = (size_t)element_count(m, i);
        memset(m->written[i], 0, n);
        if (m->cells[i]) memset(m->cells[i], 0, n * sizeof(kni_ir_cell));
    }
}

void kni_ir_check_end(kni_ir_machine *m)
{
    for (uint32_t i = 0; i < m->program->ir->n_bindings; i++) {
        size_t n = (size_t)element_count(m, i);
        if (m->cells[i]) kni_free(m->cells[i], n * sizeof(kni_ir_cell));
        if (m->written[i]) kni_free(m->written[i], n);
        m->cells[i] = NULL;
        m->written[i] = NULL;
    }
}

static bool marked(uint64_t bits, uint32_t binding) { return binding < 64 && bits >> binding & 1; }

void kni_ir_check_whole(kni_ir_machine *m)
{
    const kni_ir *ir = m->program->ir;
    for (uint32_t i = 0; i < ir->n_buffers; i++) {
        int64_t n = marked(m->args->whole, i) ? element_count(m, i) : 0, at = 0;
        while (at < n && m->cells[i] && m->cells[i][at].writer) at++;
        if (at == n) continue;
        m->status = kni_fail(KN_ERROR_INDEX,
                             "%s: kernel %s: element %D of '%s' is never written, which leaves it undefined: "
                             "write it, or make '%s' an `inout` buffer",
                             ir->file[0] ? ir->file : "kernel", ir->name, at, ir->bindings[i].name,
                             ir->bindings[i].name);
        return;
    }
}

static int64_t group_of(const kni_ir_machine *m, int64_t actor)
{
    return m->program->ir->workgroup ? (actor - 1) / m->program->ir->workgroup : actor - 1;
}

static bool race(kni_ir_machine *m, const kni_ir_step *s, uint32_t who, int64_t at, const char *what,
                 int64_t other)
{
    const char *name = m->program->ir->bindings[s->index].name;
    if (other < 0) return kni_ir_run_fail(m, s, who, "element %D of '%s' is %s others", at, name, what);
    if (!m->program->ir->workgroup)
        return kni_ir_run_fail(m, s, who, "element %D of '%s' is %s item %D", at, name, what, other - 1);
    return kni_ir_run_fail(m, s, who, "element %D of '%s' is %s invocation %D of workgroup %D", at, name,
                           what, (other - 1) % m->program->ir->workgroup, group_of(m, other));
}

/* Whether nothing orders what `actor` does now after what `other` did in its epoch. */
static bool unordered(const kni_ir_machine *m, int64_t actor, int64_t other, uint32_t epoch)
{
    return other != actor && (epoch == m->epoch || group_of(m, other) != group_of(m, actor));
}

static bool readers_conflict(const kni_ir_machine *m, const kni_ir_cell *cell, int64_t actor)
{
    if (!cell->reader) return false;
    int64_t group = group_of(m, actor) + 1;
    if (cell->reader_group != group) return true;
    return cell->read_epoch == m->epoch && cell->reader != actor;
}

static void note_reader(const kni_ir_machine *m, kni_ir_cell *cell, int64_t actor)
{
    int64_t group = group_of(m, actor) + 1;
    if (!cell->reader)
        cell->reader_group = group;
    else if (cell->reader_group != group)
        cell->reader_group = -1;
    bool same_time = cell->reader && cell->read_epoch == m->epoch;
    cell->reader = same_time && cell->reader != actor ? -1 : actor;
    cell->read_epoch = m->epoch;
}

bool kni_ir_touch(kni_ir_machine *m, const kni_ir_step *s, uint32_t who, int64_t at, int kind)
{
    uint8_t *written = m->written[s->index];
    if (written) {
        bool is_private = m->program->ir->bindings[s->index].space == KNI_IR_PRIVATE;
        uint8_t *mark =
            &written[is_private ? at + m->program->ir->bindings[s->index].length * (int64_t)who : at];
        if (kind == KNI_IR_TOUCH_WRITE)
            *mark = 1;
        else if (!*mark)
            return kni_ir_run_fail(m, s, who, "element %D of '%s' is read before it was written", at,
                                   m->program->ir->bindings[s->index].name);
    }
    if (!m->cells[s->index]) return true;
    kni_ir_cell *cell = &m->cells[s->index][at];
    int64_t actor = m->first + who + 1;
    if (!cell->writer && kind != KNI_IR_TOUCH_WRITE && marked(m->args->fresh, s->index))
        return kni_ir_run_fail(m, s, who, "element %D of '%s' is read before it was written", at,
                               m->program->ir->bindings[s->index].name);
    bool both_atomic = kind == KNI_IR_TOUCH_ATOMIC && cell->atomic;
    if (cell->writer && !both_atomic && unordered(m, actor, cell->writer, cell->write_epoch))
        return race(m, s, who, at,
                    kind == KNI_IR_TOUCH_READ ? "read here and written by" : "written here and by",
                    cell->writer);
    if (kind != KNI_IR_TOUCH_READ && readers_conflict(m, cell, actor))
        return race(m, s, who, at, "written here and read by", cell->reader == actor ? -1 : cell->reader);
    if (kind == KNI_IR_TOUCH_READ) {
        note_reader(m, cell, actor);
    } else {
        cell->writer = actor;
        cell->write_epoch = m->epoch;
        cell->atomic = kind == KNI_IR_TOUCH_ATOMIC;
    }
    return true;
}
