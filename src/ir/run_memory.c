/* Memory of the interpreter: loads, stores and atomics, each index checked, elements converted as tensors' are. */
#include "ir/run_internal.h"
#include <string.h>

static size_t element_bytes(const kni_ir_binding *b) { return kni_bytes_of(b->dtype); }

static const kni_ir_binding *binding_of(const kni_ir_machine *m, const kni_ir_step *s)
{
    return &m->program->ir->bindings[s->index];
}

static int64_t elements_of(const kni_ir_machine *m, const kni_ir_step *s)
{
    const kni_ir_binding *b = binding_of(m, s);
    return b->space == KNI_IR_GLOBAL ? m->args->buffers[s->index].count : b->length;
}

uint8_t *kni_ir_memory_at(kni_ir_machine *m, const kni_ir_step *s, uint32_t who, int64_t at, int64_t n)
{
    const kni_ir_binding *b = binding_of(m, s);
    int64_t count = elements_of(m, s);
    if (at < 0 || n > count || at > count - n) {
        int64_t wrong = at >= 0 && at < count ? count : at;
        kni_ir_run_fail(m, s, who, "element %D of '%s', which has %D", wrong, b->name, count);
        return NULL;
    }
    size_t bytes = element_bytes(b);
    if (b->space == KNI_IR_GLOBAL) return (uint8_t *)m->args->buffers[s->index].data + (size_t)at * bytes;
    size_t first = b->space == KNI_IR_PRIVATE ? (size_t)who * (size_t)b->length : 0;
    return m->arrays[s->index] + (first + (size_t)at) * bytes;
}

/* The positions of those who are active, one after the other. A u64 past the signed range comes out negative. */
static void read_positions(kni_ir_machine *m, const kni_ir_step *s)
{
    const void *reg = kni_ir_register(m, s->a);
    int64_t *to = m->positions;
    const uint32_t *who = m->active;
    if (s->from == KN_I64 || s->from == KN_U64)
        for (uint32_t i = 0; i < m->n_active; i++) to[i] = ((const int64_t *)reg)[who[i]];
    else if (s->from == KN_I32)
        for (uint32_t i = 0; i < m->n_active; i++) to[i] = ((const int32_t *)reg)[who[i]];
    else
        for (uint32_t i = 0; i < m->n_active; i++) to[i] = ((const uint32_t *)reg)[who[i]];
}

/* Whether all are active and their elements follow each other in one buffer: then memory is a register. */
static uint8_t *in_a_row(kni_ir_machine *m, const kni_ir_step *s)
{
    const kni_ir_binding *b = binding_of(m, s);
    if (m->check || m->n_active != m->count || b->space == KNI_IR_PRIVATE || !m->n_active) return NULL;
    int64_t first = m->positions[0], lanes = s->lanes;
    uint64_t apart = 0;
    for (uint32_t i = 0; i < m->n_active; i++)
        apart |= (uint64_t)m->positions[i] ^ ((uint64_t)first + i * (uint64_t)lanes);
    int64_t n = (int64_t)m->n_active * lanes, count = elements_of(m, s);
    if (apart || first < 0 || n > count || first > count - n) return NULL;
    return kni_ir_memory_at(m, s, 0, first, n);
}

/* Values of those who are active, one after the other, as they lie in a register. */
static const uint8_t *compact(kni_ir_machine *m, uint32_t reg, size_t bytes, int buffer)
{
    const uint8_t *from = kni_ir_register(m, reg);
    if (m->n_active == m->count) return from;
    for (uint32_t i = 0; i < m->n_active; i++)
        memcpy(m->gathered[buffer] + i * bytes, from + m->active[i] * bytes, bytes);
    return m->gathered[buffer];
}

static bool touch_all(kni_ir_machine *m, const kni_ir_step *s, uint32_t who, int64_t at, const uint8_t *where,
                      int kind)
{
    if (!m->check) return true;
    for (int lane = 0; lane < s->lanes; lane++)
        if ((!where || where[lane]) && !kni_ir_touch(m, s, who, at + lane, kind)) return false;
    return true;
}

/* Elements of one invocation that a truth chooses, one by one. */
static bool move_where(kni_ir_machine *m, const kni_ir_step *s, uint32_t who, int64_t at, uint8_t *raw,
                       const uint8_t *where, bool store)
{
    size_t bytes = element_bytes(binding_of(m, s));
    for (int lane = 0; lane < s->lanes; lane++) {
        if (where && !where[lane]) continue;
        /* No overflow: positions far outside were refused by the lane before or are refused here. */
        uint8_t *memory = kni_ir_memory_at(m, s, who, at > INT64_MAX - lane ? -1 : at + lane, 1);
        if (!memory) return false;
        memcpy(store ? memory : raw + (size_t)lane * bytes, store ? raw + (size_t)lane * bytes : memory,
               bytes);
    }
    return true;
}

/* Copies the elements of all who are active between memory and m->raw. */
#define COPY_ONE(type)                                                                                       \
    if (store)                                                                                               \
        *(type *)memory = *(type *)raw;                                                                      \
    else                                                                                                     \
        *(type *)raw = *(const type *)memory
static bool move_elements(kni_ir_machine *m, const kni_ir_step *s, const uint8_t *where, bool store)
{
    size_t bytes = element_bytes(binding_of(m, s)), each = bytes * s->lanes;
    for (uint32_t i = 0; i < m->n_active; i++) {
        uint32_t who = m->active[i];
        uint8_t *raw = m->raw + i * each;
        const uint8_t *truths = where ? where + (size_t)i * s->lanes : NULL;
        int64_t at = m->positions[i];
        if (truths) {
            if (!move_where(m, s, who, at, raw, truths, store)) return false;
        } else {
            uint8_t *memory = kni_ir_memory_at(m, s, who, at, s->lanes);
            if (!memory) return false;
            if (each == 4) {
                COPY_ONE(uint32_t);
            } else if (each == 8 && bytes == 8) {
                COPY_ONE(uint64_t);
            } else {
                memcpy(store ? memory : raw, store ? raw : memory, each);
            }
        }
        if (!touch_all(m, s, who, at, truths, store ? KNI_IR_TOUCH_WRITE : KNI_IR_TOUCH_READ)) return false;
    }
    return true;
}

/* Scalars of a buffer or shared array to `to`, as they lie in memory; false where one lies outside. */
#define DEFINE_GATHER(bits)                                                                                  \
    static bool gather_##bits(const kni_ir_machine *m, void *to, const void *from, uint64_t count)           \
    {                                                                                                        \
        uint##bits##_t *y = to;                                                                              \
        const uint##bits##_t *x = from;                                                                      \
        for (uint32_t i = 0; i < m->n_active; i++) {                                                         \
            uint64_t at = (uint64_t)m->positions[i];                                                         \
            if (at >= count) return false;                                                                   \
            y[i] = x[at];                                                                                    \
        }                                                                                                    \
        return true;                                                                                         \
    }
DEFINE_GATHER(8)
DEFINE_GATHER(16)
DEFINE_GATHER(32)
DEFINE_GATHER(64)

/* The quick way of most loads; false where it is not one of them, or wrong, which the slow way tells. */
static bool gather_scalars(kni_ir_machine *m, const kni_ir_step *s, void *to)
{
    const kni_ir_binding *b = binding_of(m, s);
    if (m->check || s->lanes != 1 || s->b || b->space == KNI_IR_PRIVATE) return false;
    bool global = b->space == KNI_IR_GLOBAL;
    const void *from = global ? m->args->buffers[s->index].data : m->arrays[s->index];
    uint64_t count = (uint64_t)elements_of(m, s);
    switch (element_bytes(b)) {
    case 1:
        return gather_8(m, to, from, count);
    case 2:
        return gather_16(m, to, from, count);
    case 4:
        return gather_32(m, to, from, count);
    default:
        return gather_64(m, to, from, count);
    }
}

bool kni_ir_do_load(kni_ir_machine *m, const kni_ir_step *s)
{
    if (!m->n_active) return true;
    const kni_ir_binding *b = binding_of(m, s);
    uint8_t *out = kni_ir_register(m, s->out);
    int64_t n = (int64_t)m->n_active * s->lanes;
    read_positions(m, s);
    const uint8_t *row = s->b ? NULL : in_a_row(m, s);
    if (row) {
        kni_convert(out, s->dtype, 1, row, b->dtype, 1, n);
        return true;
    }
    bool all = m->n_active == m->count;
    if (all && s->dtype == b->dtype && !kni_is_bool(s->dtype) && gather_scalars(m, s, out)) return true;
    const uint8_t *where = s->b ? compact(m, s->b, s->b_bytes, 1) : NULL;
    if (where) memset(m->raw, 0, (size_t)n * element_bytes(b));
    if (!gather_scalars(m, s, m->raw) && !move_elements(m, s, where, false)) return false;
    uint8_t *to = all ? out : m->gathered[3];
    kni_convert(to, s->dtype, 1, m->raw, b->dtype, 1, n);
    if (where) {
        const uint8_t *otherwise = compact(m, s->c, s->c_bytes, 2);
        size_t bytes = kni_bytes_of(s->dtype);
        for (int64_t k = 0; k < n; k++)
            if (!where[k]) memcpy(to + (size_t)k * bytes, otherwise + (size_t)k * bytes, bytes);
    }
    for (uint32_t i = 0; !all && i < m->n_active; i++)
        memcpy(out + (size_t)m->active[i] * s->out_bytes, to + (size_t)i * s->out_bytes, s->out_bytes);
    return true;
}

bool kni_ir_do_store(kni_ir_machine *m, const kni_ir_step *s)
{
    if (!m->n_active) return true;
    const kni_ir_binding *b = binding_of(m, s);
    const uint8_t *values = compact(m, s->b, s->b_bytes, 0);
    int64_t n = (int64_t)m->n_active * s->lanes;
    read_positions(m, s);
    uint8_t *row = s->c ? NULL : in_a_row(m, s);
    kni_convert(row ? row : m->raw, b->dtype, 1, values, s->dtype, 1, n);
    if (row) return true;
    return move_elements(m, s, s->c ? compact(m, s->c, s->c_bytes, 1) : NULL, true);
}

/* ---- atomics: one after the other inside a strip; threads that share a launch need the machine's. */

static uint64_t exchange(uint8_t *memory, size_t bytes, uint64_t expected, uint64_t desired, bool *done)
{
    if (bytes == 8) {
        *done = __atomic_compare_exchange_n((uint64_t *)memory, &expected, desired, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED);
        return expected;
    }
    uint32_t narrow = (uint32_t)expected;
    *done = __atomic_compare_exchange_n((uint32_t *)memory, &narrow, (uint32_t)desired, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return narrow;
}

static void atomic_one(const kni_ir_step *s, uint8_t *memory, uint8_t *out, const uint8_t *value,
                       const uint8_t *expected, size_t bytes)
{
    uint64_t old = 0, next = 0;
    kni_ir_step one = {.lanes = 1};
    memcpy(&old, memory, bytes);
    for (bool done = false; !done;) {
        if (s->detail <= KNI_IR_MAX)
            kni_ir_combine_apply(s->detail, s->dtype)(&one, &next, &old, value, NULL, 1);
        else
            memcpy(&next, value, bytes);
        if (s->detail == KNI_IR_COMPARE && memcmp(&old, expected, bytes) != 0) break;
        old = exchange(memory, bytes, old, next, &done);
    }
    memcpy(out, &old, bytes);
}

bool kni_ir_do_atomic(kni_ir_machine *m, const kni_ir_step *s)
{
    size_t bytes = kni_bytes_of(s->dtype);
    uint8_t *out = kni_ir_register(m, s->out);
    const uint8_t *value = kni_ir_register(m, s->b), *expected = kni_ir_register(m, s->c);
    read_positions(m, s);
    for (uint32_t i = 0; i < m->n_active; i++) {
        uint32_t who = m->active[i];
        uint8_t *memory = kni_ir_memory_at(m, s, who, m->positions[i], 1);
        if (!memory) return false;
        if (m->check && !kni_ir_touch(m, s, who, m->positions[i], KNI_IR_TOUCH_ATOMIC)) return false;
        atomic_one(s, memory, out + who * bytes, value + who * bytes, expected + who * bytes, bytes);
    }
    return true;
}

bool kni_ir_do_element(kni_ir_machine *m, const kni_ir_step *s)
{
    const kni_ir_param *p = &m->program->ir->params[s->index];
    const uint8_t *numbers = (const uint8_t *)m->args->params + p->offset;
    uint8_t *out = kni_ir_register(m, s->out);
    read_positions(m, s);
    for (uint32_t i = 0; i < m->n_active; i++) {
        int64_t at = m->positions[i];
        if (at < 0 || at >= (int64_t)p->count)
            return kni_ir_run_fail(m, s, m->active[i], "element %D of '%s', which has %u", at, p->name,
                                   p->count);
        memcpy(out + (size_t)m->active[i] * s->out_bytes, numbers + (size_t)at * s->out_bytes, s->out_bytes);
    }
    return true;
}
