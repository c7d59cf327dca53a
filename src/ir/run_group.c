/* What invocations do together, in the interpreter: barriers, reductions, scans, shuffles and matrix tiles. All of a
   workgroup are at the same step, so that a barrier only ends an epoch of the checks. */
#include "ir/run_internal.h"
#include <string.h>

bool kni_ir_do_barrier(kni_ir_machine *m, const kni_ir_step *s)
{
    (void)s;
    m->epoch++;
    return true;
}

/* Combines the active of a part of the workgroup in order; a scan leaves each its own part of the total. */
static void combine_part(kni_ir_machine *m, const kni_ir_step *s, uint32_t from, uint32_t to, bool scan)
{
    size_t bytes = s->out_bytes;
    uint8_t *out = kni_ir_register(m, s->out);
    const uint8_t *in = kni_ir_register(m, s->a);
    kni_ir_apply combine = kni_ir_combine_apply(s->detail, s->dtype);
    kni_ir_step one = {.lanes = 1};
    uint64_t total = 0, next = 0;
    for (uint32_t i = from; i < to; i++) {
        const uint8_t *value = in + m->active[i] * bytes;
        if (i == from)
            memcpy(&next, value, bytes);
        else
            combine(&one, &next, &total, value, NULL, 1);
        total = next;
        if (scan) memcpy(out + m->active[i] * bytes, &total, bytes);
    }
    for (uint32_t i = from; !scan && i < to; i++) memcpy(out + m->active[i] * bytes, &total, bytes);
}

/* The first active after `from` who is in another subgroup. */
static uint32_t subgroup_end(const kni_ir_machine *m, uint32_t from)
{
    uint32_t i = from, number = m->active[from] / m->subgroup;
    while (i < m->n_active && m->active[i] / m->subgroup == number) i++;
    return i;
}

bool kni_ir_do_collective(kni_ir_machine *m, const kni_ir_step *s)
{
    int code = kni_ir_step_node(m, s)->code;
    if (code != KNI_IR_SUBGROUP) {
        combine_part(m, s, 0, m->n_active, code == KNI_IR_SCAN);
        return true;
    }
    for (uint32_t i = 0; i < m->n_active;) {
        uint32_t end = subgroup_end(m, i);
        combine_part(m, s, i, end, false);
        i = end;
    }
    return true;
}

static uint64_t integer_at(const kni_ir_machine *m, uint32_t reg, int dtype, uint32_t who)
{
    const void *values = kni_ir_register(m, reg);
    if (kni_dtypes[dtype].bits == 64) return ((const uint64_t *)values)[who];
    if (dtype == KN_I32) return (uint64_t)(int64_t)((const int32_t *)values)[who];
    return ((const uint32_t *)values)[who];
}

bool kni_ir_do_shuffle(kni_ir_machine *m, const kni_ir_step *s)
{
    size_t bytes = s->out_bytes;
    const kni_ir_node *node = kni_ir_step_node(m, s);
    int dtype = kni_ir_at(m->program->ir, node->b)->type.dtype;
    uint8_t *out = kni_ir_register(m, s->out);
    const uint8_t *in = kni_ir_register(m, s->a);
    for (uint32_t i = 0; i < m->n_active; i++) {
        uint32_t who = m->active[i], base = who / m->subgroup * m->subgroup;
        uint64_t lane = (who - base) ^ integer_at(m, s->b, dtype, who);
        uint32_t other = lane < m->subgroup && base + lane < m->count ? base + (uint32_t)lane : who;
        memcpy(out + who * bytes, in + other * bytes, bytes);
    }
    return true;
}

/* ---- tiles: 16 x 16 for each subgroup, in the order of memory */

enum { SIDE = 16 };

static float *tile_of(const kni_ir_machine *m, kni_ir_id tile, uint32_t subgroup)
{
    uint32_t number = kni_ir_at(m->program->ir, tile)->index;
    return m->tiles + ((size_t)number * m->n_subgroups + subgroup) * (SIDE * SIDE);
}

static bool tile_memory(kni_ir_machine *m, const kni_ir_step *s, const kni_ir_node *node, float *tile,
                        uint32_t who)
{
    const kni_ir *ir = m->program->ir;
    int dtype = ir->bindings[s->index].dtype;
    bool store = node->code == KNI_IR_TILE_STORE;
    int64_t at = (int64_t)integer_at(m, s->b, kni_ir_at(ir, node->b)->type.dtype, who);
    int64_t stride = (int64_t)integer_at(m, s->c, kni_ir_at(ir, node->c)->type.dtype, who);
    for (int row = 0; row < SIDE; row++) {
        uint8_t *memory = kni_ir_memory_at(m, s, who, at, SIDE);
        if (!memory) return false;
        for (int k = 0; m->check && k < SIDE; k++)
            if (!kni_ir_touch(m, s, who, at + k, store ? KNI_IR_TOUCH_WRITE : KNI_IR_TOUCH_READ))
                return false;
        if (store)
            kni_convert(memory, dtype, 1, tile + row * SIDE, KN_F32, 1, SIDE);
        else
            kni_convert(tile + row * SIDE, KN_F32, 1, memory, dtype, 1, SIDE);
        if (row + 1 < SIDE && __builtin_add_overflow(at, stride, &at))
            return kni_ir_run_fail(m, s, who, "a stride of %D leaves '%s'", stride,
                                   ir->bindings[s->index].name);
    }
    return true;
}

static void tile_fill(const kni_ir_machine *m, const kni_ir_step *s, const kni_ir_node *node, float *tile,
                      uint32_t who)
{
    int dtype = kni_ir_at(m->program->ir, node->a)->type.dtype;
    uint32_t stored = 0;
    float value = ((const float *)kni_ir_register(m, s->b))[who];
    kni_convert(&stored, dtype, 1, &value, KN_F32, 1, 1);
    kni_convert(&value, KN_F32, 1, &stored, dtype, 1, 1);
    for (int k = 0; k < SIDE * SIDE; k++) tile[k] = value;
}

static void tile_multiply(float *sum, const float *left, const float *right)
{
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            for (int j = 0; j < SIDE; j++) sum[i * SIDE + j] += left[i * SIDE + k] * right[k * SIDE + j];
}

bool kni_ir_do_tile(kni_ir_machine *m, const kni_ir_step *s)
{
    const kni_ir_node *node = kni_ir_step_node(m, s);
    for (uint32_t i = 0; i < m->n_active; i = subgroup_end(m, i)) {
        uint32_t who = m->active[i], subgroup = who / m->subgroup;
        float *tile = tile_of(m, node->a, subgroup);
        if (node->code == KNI_IR_TILE_FILL)
            tile_fill(m, s, node, tile, who);
        else if (node->code == KNI_IR_TILE_MULTIPLY)
            tile_multiply(tile, tile_of(m, node->b, subgroup), tile_of(m, node->c, subgroup));
        else if (!tile_memory(m, s, node, tile, who))
            return false;
    }
    return true;
}
