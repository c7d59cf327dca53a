/* The machine that runs a program: its memory, the loop over its steps, and the strips or workgroups of a launch. */
#include "ir/run.h"
#include "core/allocator.h"
#include "core/error.h"
#include "ir/run_internal.h"
#include <stdarg.h>
#include <string.h>

enum {
    FEW = 4,
    LARGEST_STRIP = 1 << 16,
    CHECKED_STRIP =
        16, /* items at a time when checking, so that an endless loop of many is found as soon as of one */
    MOST_STEPS =
        1
        << 26, /* of the invocations of a strip together when checking, or MOST_EACH of each if that is more */
    MOST_EACH = 1 << 18
};
static const uint64_t most_of_all = UINT64_C(1) << 32; /* of all invocations together when checking */

bool kni_ir_run_fail(kni_ir_machine *m, const kni_ir_step *s, uint32_t who, const char *format, ...)
{
    if (m->status != KN_OK) return false;
    const kni_ir *ir = m->program->ir;
    const kni_ir_node *node = kni_ir_step_node(m, s);
    char message[320];
    kni_text text = {message, sizeof message, 0};
    va_list arguments;
    va_start(arguments, format);
    kni_text_format_list(&text, format, arguments);
    va_end(arguments);
    if (ir->workgroup)
        kni_text_format(&text, " (invocation %u of workgroup %D)", who, m->group);
    else
        kni_text_format(&text, " (item %D)", m->first + who);
    if (node->line)
        m->status = kni_fail(KN_ERROR_INDEX, "%s:%u:%u: %s", ir->file[0] ? ir->file : ir->name, node->line,
                             node->column, message);
    else
        m->status =
            kni_fail(KN_ERROR_INDEX, "kernel %s, %s: %s", ir->name, kni_ir_codes[node->code].name, message);
    return false;
}

/* ---- steps */

static void gather(uint8_t *to, const uint8_t *from, const uint32_t *who, uint32_t n, size_t bytes)
{
    for (uint32_t i = 0; i < n; i++) memcpy(to + i * bytes, from + who[i] * bytes, bytes);
}

/* A pure step is computed for all, also those who wait, unless few are active: their values are not looked at. */
static void apply_step(kni_ir_machine *m, const kni_ir_step *s)
{
    uint8_t *out = kni_ir_register(m, s->out);
    const uint8_t *in[3] = {kni_ir_register(m, s->a), kni_ir_register(m, s->b), kni_ir_register(m, s->c)};
    if (m->n_active * FEW >= m->count) {
        s->apply(s, out, in[0], in[1], in[2], m->count);
        return;
    }
    const uint32_t regs[3] = {s->a, s->b, s->c};
    const uint8_t bytes[3] = {s->a_bytes, s->b_bytes, s->c_bytes};
    for (int i = 0; i < 3; i++)
        if (regs[i]) gather(m->gathered[i], in[i], m->active, m->n_active, bytes[i]);
    s->apply(s, m->gathered[3], m->gathered[0], m->gathered[1], m->gathered[2], m->n_active);
    for (uint32_t i = 0; i < m->n_active; i++)
        memcpy(out + (size_t)m->active[i] * s->out_bytes, m->gathered[3] + (size_t)i * s->out_bytes,
               s->out_bytes);
}

/* One more step of those who are active; false told when that is too many. */
static bool count_steps(kni_ir_machine *m, const kni_ir_step *s)
{
    uint64_t n = m->n_active + 3; /* a step costs something by itself */
    uint32_t who = m->n_active ? m->active[0] : 0;
    m->steps += n;
    m->all_steps += n;
    if (m->steps > m->max_steps)
        return kni_ir_run_fail(m, s, who, "does not end: it is still here after about %D steps",
                               (int64_t)(m->steps / n));
    if (m->all_steps > m->max_steps && m->all_steps > most_of_all)
        return kni_ir_run_fail(m, s, who,
                               "the run is too long to check, more than %D steps: give it fewer items",
                               (int64_t)most_of_all);
    return true;
}

/* From the kernel's entry to its end, for the strip. */
static bool run_steps(kni_ir_machine *m)
{
    const kni_ir_step *steps = m->program->steps;
    for (m->pc = m->program->entry;;) {
        const kni_ir_step *s = &steps[m->pc++];
        if (s->apply)
            apply_step(m, s);
        else if (!s->action)
            return true;
        else if (!s->action(m, s))
            return false;
        if (m->max_steps && !count_steps(m, s)) return false;
    }
}

/* ---- what a launch gives */

/* All of a register's room becomes the value. */
static void fill(kni_ir_machine *m, uint32_t reg, const void *value, size_t bytes)
{
    uint8_t *to = kni_ir_register(m, reg);
    for (uint32_t i = 0; i < m->room; i++) memcpy(to + i * bytes, value, bytes);
}

static void fill_once(kni_ir_machine *m)
{
    const kni_ir *ir = m->program->ir;
    for (uint32_t i = 0; i < m->program->n_once; i++) {
        const kni_ir_given *g = &m->program->once[i];
        const kni_ir_node *node = kni_ir_at(ir, g->node);
        size_t bytes = kni_bytes_of(node->type.dtype);
        if (node->code == KNI_IR_PARAM) {
            fill(m, g->reg, (const uint8_t *)m->args->params + ir->params[node->index].offset, bytes);
            continue;
        }
        uint64_t value = 0;
        if (kni_is_float(node->type.dtype))
            kni_convert(&value, node->type.dtype, 1, &node->u.real, KN_F64, 1, 1);
        else
            kni_convert(&value, node->type.dtype, 1, &node->u.whole, KN_I64, 1, 1);
        fill(m, g->reg, &value, bytes);
    }
}

static int64_t launch_number(const kni_ir_machine *m, const kni_ir_node *node, uint32_t who)
{
    int64_t x = m->groups[0], y = m->groups[1];
    switch (node->index) {
    case KNI_IR_ITEM:
        return m->first + who;
    case KNI_IR_GROUP:
        return node->detail == 0 ? m->group % x : node->detail == 1 ? m->group / x % y : m->group / x / y;
    case KNI_IR_GROUPS:
        return m->groups[node->detail];
    case KNI_IR_LOCAL:
        return who;
    case KNI_IR_LOCALS:
        return m->program->ir->workgroup;
    case KNI_IR_LANE_ID:
        return who % m->subgroup;
    default:
        return m->subgroup;
    }
}

static void fill_each(kni_ir_machine *m)
{
    for (uint32_t i = 0; i < m->program->n_each; i++) {
        const kni_ir_given *g = &m->program->each[i];
        const kni_ir_node *node = kni_ir_at(m->program->ir, g->node);
        bool wide = kni_dtypes[node->type.dtype].bits == 64;
        int64_t *long_values = kni_ir_register(m, g->reg);
        int32_t *short_values = kni_ir_register(m, g->reg);
        for (uint32_t who = 0; who < m->count; who++) {
            int64_t v = launch_number(m, node, who);
            if (wide)
                long_values[who] = v;
            else
                short_values[who] = (int32_t)v;
        }
    }
}

/* ---- memory */

/* Parts of one block, in the order in which they are asked for; NULL base: sizes are only added up. */
static void *part(uint8_t *base, size_t *used, uint64_t count, uint64_t bytes, bool *too_large)
{
    size_t at = *used;
    if (count && bytes > (SIZE_MAX / 4 - at) / count) {
        *too_large = true;
        return NULL;
    }
    *used = at + ((size_t)(count * bytes) + 63) / 64 * 64;
    return base ? base + at : NULL;
}

static bool lay_out(kni_ir_machine *m, uint8_t *base, size_t *used)
{
    const kni_ir_program *p = m->program;
    bool too_large = false;
    *used = 0;
    m->registers = part(base, used, m->room, p->register_bytes, &too_large);
    m->active = part(base, used, m->room, sizeof *m->active, &too_large);
    m->left = part(base, used, m->room, 1, &too_large);
    m->positions = part(base, used, m->room, sizeof *m->positions, &too_large);
    m->raw = part(base, used, m->room, 16 * 8, &too_large);
    for (int i = 0; i < 4; i++) m->gathered[i] = part(base, used, m->room, 16 * 8, &too_large);
    m->frames = part(base, used, p->max_frames, sizeof *m->frames, &too_large);
    uint32_t *lists = part(base, used, (uint64_t)p->max_frames * 2, m->room * sizeof *lists, &too_large);
    for (uint32_t i = 0; base && i < p->max_frames; i++) {
        m->frames[i].entry = lists + (size_t)(2 * i) * m->room;
        m->frames[i].turn = lists + (size_t)(2 * i + 1) * m->room;
    }
    m->tiles = part(base, used, (uint64_t)p->n_tiles * m->n_subgroups, 256 * sizeof *m->tiles, &too_large);
    for (uint32_t i = p->ir->n_buffers; i < p->ir->n_bindings; i++) {
        const kni_ir_binding *b = &p->ir->bindings[i];
        uint64_t copies = b->space == KNI_IR_PRIVATE ? m->room : 1;
        m->arrays[i] = part(base, used, copies * (uint64_t)b->length, kni_bytes_of(b->dtype), &too_large);
    }
    return !too_large;
}

static bool run_strip(kni_ir_machine *m)
{
    m->n_active = m->count;
    m->depth = 0;
    m->steps = 0;
    m->epoch++;
    for (uint32_t i = 0; i < m->count; i++) m->active[i] = i, m->left[i] = KNI_IR_STAYS;
    fill_each(m);
    if (m->check) kni_ir_check_forget(m);
    return run_steps(m);
}

static void run_all(kni_ir_machine *m, int64_t begin, int64_t end)
{
    if (m->program->ir->workgroup) {
        m->count = m->program->ir->workgroup;
        for (m->group = begin; m->group < end; m->group++) {
            m->first = m->group * m->count;
            if (!run_strip(m)) return;
        }
        return;
    }
    uint32_t strip = m->check && m->program->strip > CHECKED_STRIP ? CHECKED_STRIP : m->program->strip;
    for (m->first = begin; m->first < end; m->first += m->count) {
        m->count = end - m->first < strip ? (uint32_t)(end - m->first) : strip;
        if (!run_strip(m)) return;
    }
}

/* ---- calls */

static int64_t launch_size(const kni_ir *ir, const kni_ir_run_args *args)
{
    if (!ir->workgroup) return args->items;
    int64_t n = 1;
    for (int i = 0; i < 3; i++)
        if (__builtin_mul_overflow(n, args->groups[i] ? (int64_t)args->groups[i] : 1, &n)) return -1;
    return n;
}

static kn_status check_args(const kni_ir *ir, const kni_ir_run_args *args)
{
    if ((ir->n_buffers && !args->buffers) || (ir->param_bytes && !args->params))
        return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: buffers or numbers are missing", ir->name);
    for (uint32_t i = 0; i < ir->n_buffers; i++)
        if (args->buffers[i].count < 0 || (args->buffers[i].count && !args->buffers[i].data))
            return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: buffer '%s' is missing", ir->name,
                            ir->bindings[i].name);
    if (launch_size(ir, args) < 0) return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: too many items", ir->name);
    if (ir->workgroup > LARGEST_STRIP)
        return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: a workgroup of more than %d", ir->name, LARGEST_STRIP);
    return KN_OK;
}

kn_status kni_ir_program_run(const kni_ir_program *p, const kni_ir_run_args *args, int64_t begin, int64_t end)
{
    kn_status s = check_args(p->ir, args);
    if (s != KN_OK) return s;
    int64_t size = launch_size(p->ir, args);
    if (begin < 0 || end > size) return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: no such items", p->ir->name);
    if (begin >= end) return KN_OK;
    kni_ir_machine *m = kni_allocate(sizeof *m);
    if (!m) return kni_fail(KN_ERROR_MEMORY, "no memory to run kernel %s", p->ir->name);
    memset(m, 0, sizeof *m);
    m->program = p;
    m->args = args;
    m->check = args->check;
    m->max_steps = args->max_steps;
    if (m->check && !m->max_steps) {
        uint64_t each = (uint64_t)MOST_EACH * p->ir->workgroup;
        m->max_steps = each > MOST_STEPS ? each : MOST_STEPS;
    }
    m->room = (p->strip + 15) / 16 * 16;
    for (int i = 0; i < 3; i++) m->groups[i] = args->groups[i] ? args->groups[i] : 1;
    m->subgroup = args->subgroup ? args->subgroup : 32;
    if (m->subgroup > p->strip) m->subgroup = p->strip;
    m->n_subgroups = (p->strip + m->subgroup - 1) / m->subgroup;
    size_t bytes = 0;
    uint8_t *base = lay_out(m, NULL, &bytes) ? kni_allocate(bytes) : NULL;
    if (base && (!m->check || kni_ir_check_begin(m))) {
        memset(base, 0, bytes);
        lay_out(m, base, &bytes);
        fill_once(m);
        run_all(m, begin, end);
        if (m->check && m->status == KN_OK) kni_ir_check_whole(m);
        s = m->status;
    } else {
        s = kni_fail(KN_ERROR_MEMORY, "no memory to run kernel %s", p->ir->name);
    }
    if (m->check) kni_ir_check_end(m);
    if (base) kni_free(base, bytes);
    kni_free(m, sizeof *m);
    return s;
}

kn_status kni_ir_run(const kni_ir *ir, const kni_ir_run_args *args)
{
    kni_ir_program *p = kni_ir_program_new(ir);
    if (!p) return kni_latest_code();
    int64_t size = launch_size(ir, args);
    kn_status s = size < 0 ? check_args(ir, args) : kni_ir_program_run(p, args, 0, size);
    kni_ir_program_free(p);
    return s;
}
