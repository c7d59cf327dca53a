/* Control of the interpreter: who is at a step. Those who take another way wait in frames; those who left a loop, turn
   or function are marked until its end. */
#include "ir/run_internal.h"
#include <string.h>

static kni_ir_frame *push(kni_ir_machine *m)
{
    kni_ir_frame *f = &m->frames[m->depth++];
    memcpy(f->entry, m->active, m->n_active * sizeof *m->active);
    f->n_entry = m->n_active;
    return f;
}

/* Those of the list who did not leave become active. */
static void stay(kni_ir_machine *m, const uint32_t *list, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        m->active[kept] = list[i];
        kept += m->left[list[i]] == KNI_IR_STAYS;
    }
    m->n_active = kept;
}

/* Those of the list whose truth is `want` become active. */
static void choose(kni_ir_machine *m, const uint32_t *list, uint32_t n, const uint8_t *truths, uint8_t want)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t who = list[i];
        m->active[kept] = who;
        kept += truths[who] == want;
    }
    m->n_active = kept;
}

bool kni_ir_do_if(kni_ir_machine *m, const kni_ir_step *s)
{
    kni_ir_frame *f = push(m);
    choose(m, f->entry, f->n_entry, kni_ir_register(m, s->a), 1);
    if (!m->n_active) m->pc = s->target;
    return true;
}

bool kni_ir_do_else(kni_ir_machine *m, const kni_ir_step *s)
{
    kni_ir_frame *f = &m->frames[m->depth - 1];
    choose(m, f->entry, f->n_entry, kni_ir_register(m, s->a), 0);
    if (!m->n_active) m->pc = s->target;
    return true;
}

bool kni_ir_do_end_if(kni_ir_machine *m, const kni_ir_step *s)
{
    (void)s;
    kni_ir_frame *f = &m->frames[--m->depth];
    stay(m, f->entry, f->n_entry);
    return true;
}

bool kni_ir_do_loop(kni_ir_machine *m, const kni_ir_step *s)
{
    push(m);
    if (!m->n_active) m->pc = s->target;
    return true;
}

bool kni_ir_do_count(kni_ir_machine *m, const kni_ir_step *s)
{
    return kni_ir_do_set(m, s) && kni_ir_do_loop(m, s);
}

static void begin_turn(kni_ir_machine *m, const kni_ir_step *s)
{
    kni_ir_frame *f = &m->frames[m->depth - 1];
    memcpy(f->turn, m->active, m->n_active * sizeof *m->active);
    f->n_turn = m->n_active;
    if (!m->n_active) m->pc = s->target;
}

bool kni_ir_do_test(kni_ir_machine *m, const kni_ir_step *s)
{
    choose(m, m->active, m->n_active, kni_ir_register(m, s->a), 1);
    begin_turn(m, s);
    return true;
}

/* The counters of those who go on; false where a step does not lead upwards. */
#define DEFINE_COUNTING(S, T)                                                                                \
    static void below_##S(kni_ir_machine *m, const void *counters, const void *limits)                       \
    {                                                                                                        \
        const T *counter = counters, *limit = limits;                                                        \
        uint32_t kept = 0;                                                                                   \
        for (uint32_t i = 0; i < m->n_active; i++) {                                                         \
            uint32_t who = m->active[i];                                                                     \
            m->active[kept] = who;                                                                           \
            kept += counter[who] < limit[who];                                                               \
        }                                                                                                    \
        m->n_active = kept;                                                                                  \
    }                                                                                                        \
    static bool advance_##S(kni_ir_machine *m, const kni_ir_step *s, void *counters, const void *steps)      \
    {                                                                                                        \
        T *counter = counters;                                                                               \
        const T *step = steps;                                                                               \
        uint32_t kept = 0;                                                                                   \
        for (uint32_t i = 0; i < m->n_active; i++) {                                                         \
            uint32_t who = m->active[i];                                                                     \
            T next = (T)(counter[who] + step[who]);                                                          \
            m->active[kept] = who;                                                                           \
            if (next > counter[who])                                                                         \
                kept++;                                                                                      \
            else if (m->check && !(step[who] > 0))                                                           \
                return kni_ir_run_fail(m, s, who, "a loop does not count upwards");                          \
            counter[who] = next;                                                                             \
        }                                                                                                    \
        m->n_active = kept;                                                                                  \
        return true;                                                                                         \
    }
DEFINE_COUNTING(i32, int32_t)
DEFINE_COUNTING(i64, int64_t)
DEFINE_COUNTING(u32, uint32_t)
DEFINE_COUNTING(u64, uint64_t)

bool kni_ir_do_count_test(kni_ir_machine *m, const kni_ir_step *s)
{
    const void *counter = kni_ir_register(m, s->a), *limit = kni_ir_register(m, s->b);
    if (s->dtype == KN_I64)
        below_i64(m, counter, limit);
    else if (s->dtype == KN_I32)
        below_i32(m, counter, limit);
    else if (s->dtype == KN_U32)
        below_u32(m, counter, limit);
    else
        below_u64(m, counter, limit);
    begin_turn(m, s);
    return true;
}

bool kni_ir_do_count_step(kni_ir_machine *m, const kni_ir_step *s)
{
    void *counter = kni_ir_register(m, s->a);
    const void *step = kni_ir_register(m, s->b);
    m->pc = s->target;
    if (s->dtype == KN_I64) return advance_i64(m, s, counter, step);
    if (s->dtype == KN_I32) return advance_i32(m, s, counter, step);
    if (s->dtype == KN_U32) return advance_u32(m, s, counter, step);
    return advance_u64(m, s, counter, step);
}

/* Those marked with `how` are no longer. */
static void forgive(kni_ir_machine *m, const uint32_t *list, uint32_t n, uint8_t how)
{
    for (uint32_t i = 0; i < n; i++)
        if (m->left[list[i]] == how) m->left[list[i]] = KNI_IR_STAYS;
}

bool kni_ir_do_body_end(kni_ir_machine *m, const kni_ir_step *s)
{
    (void)s;
    kni_ir_frame *f = &m->frames[m->depth - 1];
    if (m->n_active == f->n_turn) return true;
    forgive(m, f->turn, f->n_turn, KNI_IR_CONTINUES);
    stay(m, f->turn, f->n_turn);
    return true;
}

bool kni_ir_do_jump(kni_ir_machine *m, const kni_ir_step *s)
{
    m->pc = s->target;
    return true;
}

bool kni_ir_do_loop_end(kni_ir_machine *m, const kni_ir_step *s)
{
    (void)s;
    kni_ir_frame *f = &m->frames[--m->depth];
    forgive(m, f->entry, f->n_entry, KNI_IR_BREAKS);
    stay(m, f->entry, f->n_entry);
    return true;
}

bool kni_ir_do_leave(kni_ir_machine *m, const kni_ir_step *s)
{
    for (uint32_t i = 0; i < m->n_active; i++) m->left[m->active[i]] = s->detail;
    m->n_active = 0;
    return true;
}

bool kni_ir_do_call(kni_ir_machine *m, const kni_ir_step *s)
{
    if (!m->n_active) return true;
    push(m)->back = m->pc;
    m->pc = s->target;
    return true;
}

bool kni_ir_do_function_end(kni_ir_machine *m, const kni_ir_step *s)
{
    (void)s;
    kni_ir_frame *f = &m->frames[--m->depth];
    forgive(m, f->entry, f->n_entry, KNI_IR_RETURNS);
    stay(m, f->entry, f->n_entry);
    m->pc = f->back;
    return true;
}

/* ---- small steps that only the active take part in */

bool kni_ir_do_set(kni_ir_machine *m, const kni_ir_step *s)
{
    uint8_t *out = kni_ir_register(m, s->out);
    const uint8_t *value = s->a ? kni_ir_register(m, s->a) : NULL;
    size_t bytes = s->out_bytes;
    if (m->n_active == m->count) {
        if (value)
            memcpy(out, value, bytes * m->count);
        else
            memset(out, 0, bytes * m->count);
        return true;
    }
    for (uint32_t i = 0; i < m->n_active; i++) {
        size_t at = m->active[i] * bytes;
        if (value)
            memcpy(out + at, value + at, bytes);
        else
            memset(out + at, 0, bytes);
    }
    return true;
}

bool kni_ir_do_insert(kni_ir_machine *m, const kni_ir_step *s)
{
    uint8_t *out = (uint8_t *)kni_ir_register(m, s->out) + s->index * s->a_bytes;
    const uint8_t *value = kni_ir_register(m, s->a);
    for (uint32_t i = 0; i < m->n_active; i++) {
        uint32_t who = m->active[i];
        memcpy(out + (size_t)who * s->out_bytes, value + (size_t)who * s->a_bytes, s->a_bytes);
    }
    return true;
}

bool kni_ir_do_report(kni_ir_machine *m, const kni_ir_step *s)
{
    const int64_t *value = kni_ir_register(m, s->a);
    int64_t *fault = m->args->fault;
    if (!m->n_active || !fault || __atomic_load_n(&fault[0], __ATOMIC_RELAXED)) return true;
    __atomic_store_n(&fault[1], value[m->active[0]], __ATOMIC_RELAXED);
    __atomic_store_n(&fault[0], (int64_t)1, __ATOMIC_RELAXED);
    return true;
}
