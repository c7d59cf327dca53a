/* From IR to a flat program: steps in order, registers given to values for as long as they are needed. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/run_internal.h"
#include <string.h>

enum { STRIP = 128, PRIVATE_AT_ONCE = 1 << 20, SIZES = 8 };

typedef struct compiler {
    kni_ir_program *p;
    const kni_ir *ir;
    uint32_t n_ids;            /* nodes, then arguments and results of functions */
    uint32_t *alias;           /* of ids: what stands for it */
    uint32_t *reg;             /* of ids; 0 none yet */
    uint32_t *first, *last;    /* steps */
    uint32_t *expires, *chain; /* of steps: the first id that ends there; of ids: the next */
    uint32_t *function_frames;
    uint32_t frames, most_frames;
    uint32_t function; /* being compiled */
    bool failed;
} compiler;

static void compile_block(compiler *k, uint32_t block);

/* ---- growing */

static bool grow_array(void **data, uint32_t count, uint32_t *room, size_t size)
{
    void *p = kni_grow(*data, room, count + 1, size);
    if (p) *data = p;
    return p != NULL;
}

static kni_ir_step *emit(compiler *k, kni_ir_id id, kni_ir_action action)
{
    kni_ir_program *p = k->p;
    if (k->failed || !grow_array((void **)&p->steps, p->n_steps, &p->step_room, sizeof *p->steps)) {
        k->failed = true;
        return NULL;
    }
    kni_ir_step *s = &p->steps[p->n_steps++];
    memset(s, 0, sizeof *s);
    s->action = action;
    s->node = id;
    return s;
}

static uint8_t value_bytes(kni_ir_type t) { return (uint8_t)(kni_bytes_of(t.dtype) * t.lanes); }

static kni_ir_type type_of(const compiler *k, kni_ir_id id) { return kni_ir_at(k->ir, id)->type; }

/* A step with the operands and the type of the node. */
static kni_ir_step *emit_node(compiler *k, kni_ir_id id, kni_ir_action action)
{
    kni_ir_step *s = emit(k, id, action);
    if (!s) return NULL;
    const kni_ir_node *node = kni_ir_at(k->ir, id);
    s->index = node->index;
    s->detail = node->detail;
    s->lanes = node->type.lanes;
    s->dtype = node->type.dtype;
    if (node->type.dtype != KN_DTYPE_NONE) s->out = id, s->out_bytes = value_bytes(node->type);
    s->a = node->a;
    s->b = node->b;
    s->c = node->c;
    if (s->a) s->a_bytes = value_bytes(type_of(k, s->a)), s->from = type_of(k, s->a).dtype;
    if (s->b) s->b_bytes = value_bytes(type_of(k, s->b));
    if (s->c) s->c_bytes = value_bytes(type_of(k, s->c));
    return s;
}

/* out becomes value for those who are active. */
static void emit_set(compiler *k, kni_ir_id node, uint32_t out, uint32_t value, kni_ir_type type)
{
    kni_ir_step *s = emit(k, node, kni_ir_do_set);
    if (!s) return;
    s->out = out;
    s->a = value;
    s->lanes = type.lanes;
    s->dtype = type.dtype;
    s->out_bytes = s->a_bytes = value_bytes(type);
}

/* ---- functions' arguments and results */

static uint32_t argument_id(const compiler *k, uint32_t function, uint32_t number)
{
    return k->ir->n_nodes + function * (KNI_IR_MAX_ARGUMENTS + 1) + number;
}

static uint32_t result_id(const compiler *k, uint32_t function)
{
    return argument_id(k, function, KNI_IR_MAX_ARGUMENTS);
}

/* A register for as long as the program. */
static uint32_t pinned(compiler *k, kni_ir_type type)
{
    uint32_t bytes = value_bytes(type);
    uint32_t reg = (k->p->register_bytes + bytes - 1) / bytes * bytes;
    k->p->register_bytes = reg + bytes;
    return reg;
}

static void give(compiler *k, kni_ir_id id, bool each)
{
    kni_ir_program *p = k->p;
    kni_ir_given **list = each ? &p->each : &p->once;
    uint32_t *n = each ? &p->n_each : &p->n_once, *room = each ? &p->each_room : &p->once_room;
    if (!grow_array((void **)list, *n, room, sizeof **list)) {
        k->failed = true;
        return;
    }
    k->reg[id] = pinned(k, type_of(k, id));
    (*list)[(*n)++] = (kni_ir_given){k->reg[id], id};
}

/* ---- statements */

static void enter(compiler *k)
{
    if (++k->frames > k->most_frames) k->most_frames = k->frames;
}

static void compile_if(compiler *k, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(k->ir, id);
    uint32_t branch = k->p->n_steps;
    emit_node(k, id, kni_ir_do_if);
    enter(k);
    compile_block(k, node->u.blocks[0]);
    if (k->failed) return;
    k->p->steps[branch].target = k->p->n_steps;
    if (node->u.blocks[1]) {
        uint32_t other = k->p->n_steps;
        emit_node(k, id, kni_ir_do_else);
        compile_block(k, node->u.blocks[1]);
        if (k->failed) return;
        k->p->steps[other].target = k->p->n_steps;
    }
    emit(k, id, kni_ir_do_end_if);
    k->frames--;
}

static void compile_loop(compiler *k, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(k->ir, id);
    bool counted = node->code == KNI_IR_FOR;
    uint32_t head = k->p->n_steps;
    kni_ir_step *s = emit_node(k, id, counted ? kni_ir_do_count : kni_ir_do_loop);
    if (!s) return;
    s->b = s->c = 0;
    enter(k);
    uint32_t again = k->p->n_steps, test;
    if (counted) {
        test = again;
        s = emit_node(k, id, kni_ir_do_count_test);
        if (s) s->out = 0, s->a = id, s->c = 0;
    } else {
        compile_block(k, node->u.blocks[0]);
        test = k->p->n_steps - 1;
    }
    compile_block(k, node->u.blocks[counted ? 0 : 1]);
    emit(k, id, kni_ir_do_body_end);
    if (counted) {
        s = emit_node(k, id, kni_ir_do_count_step);
        if (s) s->a = id, s->b = node->c, s->c = 0;
    } else {
        if (node->u.blocks[2]) compile_block(k, node->u.blocks[2]);
        s = emit(k, id, kni_ir_do_jump);
    }
    if (k->failed) return;
    s->target = again;
    k->p->steps[test].target = k->p->n_steps;
    k->p->steps[head].target = k->p->n_steps;
    emit(k, id, kni_ir_do_loop_end);
    k->frames--;
}

static void compile_call(compiler *k, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(k->ir, id);
    const kni_ir_function *f = &k->ir->functions[node->index];
    for (uint32_t i = 0; i < node->u.list.count; i++)
        emit_set(k, id, argument_id(k, node->index, i), k->ir->lists[node->u.list.first + i],
                 f->arguments[i]);
    kni_ir_step *s = emit(k, id, kni_ir_do_call);
    if (!s) return;
    s->target = k->p->function_entry[node->index];
    uint32_t frames = k->frames + 1 + k->function_frames[node->index];
    if (frames > k->most_frames) k->most_frames = frames;
    emit_set(k, id, id, result_id(k, node->index), f->result);
}

static void compile_pack(compiler *k, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(k->ir, id);
    for (uint32_t i = 0; i < node->u.list.count; i++) {
        kni_ir_step *s = emit_node(k, id, kni_ir_do_insert);
        if (!s) return;
        s->a = k->ir->lists[node->u.list.first + i];
        s->a_bytes = value_bytes(type_of(k, s->a));
        s->index = i;
    }
}

static void compile_return(compiler *k, kni_ir_id id, uint32_t function)
{
    const kni_ir_node *node = kni_ir_at(k->ir, id);
    if (node->a) emit_set(k, id, result_id(k, function), node->a, type_of(k, node->a));
    kni_ir_step *s = emit(k, id, kni_ir_do_leave);
    if (s) s->detail = KNI_IR_RETURNS;
}

static const struct {
    uint8_t code;
    kni_ir_action action;
} actions[] = {{KNI_IR_ELEMENT, kni_ir_do_element},
               {KNI_IR_LOAD, kni_ir_do_load},
               {KNI_IR_STORE, kni_ir_do_store},
               {KNI_IR_ATOMIC, kni_ir_do_atomic},
               {KNI_IR_TEST, kni_ir_do_test},
               {KNI_IR_REPORT, kni_ir_do_report},
               {KNI_IR_BARRIER, kni_ir_do_barrier},
               {KNI_IR_SUBGROUP, kni_ir_do_collective},
               {KNI_IR_WORKGROUP, kni_ir_do_collective},
               {KNI_IR_SCAN, kni_ir_do_collective},
               {KNI_IR_SHUFFLE, kni_ir_do_shuffle},
               {KNI_IR_TILE_FILL, kni_ir_do_tile},
               {KNI_IR_TILE_LOAD, kni_ir_do_tile},
               {KNI_IR_TILE_STORE, kni_ir_do_tile},
               {KNI_IR_TILE_MULTIPLY, kni_ir_do_tile}};

static void compile_plain(compiler *k, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(k->ir, id);
    kni_ir_apply apply = kni_ir_apply_of(k->ir, node);
    kni_ir_action action = NULL;
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (actions[i].code == node->code) action = actions[i].action;
    kni_ir_step *s = emit_node(k, id, action);
    if (!s) return;
    s->apply = apply;
    if (node->code == KNI_IR_STORE)
        s->lanes = type_of(k, node->b).lanes, s->dtype = type_of(k, node->b).dtype;
    bool tiles = node->code >= KNI_IR_TILE_FILL && node->code <= KNI_IR_TILE_MULTIPLY;
    if (!tiles) return;
    /* Tiles are no registers: the copy of the IR keeps their numbers. */
    s->a = 0;
    if (node->code == KNI_IR_TILE_MULTIPLY) s->b = s->c = 0;
}

static void compile_node(compiler *k, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(k->ir, id);
    kni_ir_step *s;
    switch (node->code) {
    case KNI_IR_CONSTANT:
    case KNI_IR_PARAM:
        give(k, id, false);
        break;
    case KNI_IR_BUILTIN:
        give(k, id, true);
        break;
    case KNI_IR_ARGUMENT:
        k->alias[id] = argument_id(k, k->function, node->index);
        break;
    case KNI_IR_VARIABLE:
        emit_set(k, id, id, node->a, node->type);
        break;
    case KNI_IR_SET:
        emit_set(k, id, node->a, node->b, type_of(k, node->a));
        break;
    case KNI_IR_TILE:
        k->p->ir->nodes[id].index = k->p->n_tiles++;
        break;
    case KNI_IR_IF:
        compile_if(k, id);
        break;
    case KNI_IR_FOR:
    case KNI_IR_LOOP:
        compile_loop(k, id);
        break;
    case KNI_IR_CALL:
        compile_call(k, id);
        break;
    case KNI_IR_PACK:
        compile_pack(k, id);
        break;
    case KNI_IR_RETURN:
        compile_return(k, id, k->function);
        break;
    case KNI_IR_BREAK:
    case KNI_IR_CONTINUE:
        s = emit(k, id, kni_ir_do_leave);
        if (s) s->detail = node->code == KNI_IR_BREAK ? KNI_IR_BREAKS : KNI_IR_CONTINUES;
        break;
    default:
        compile_plain(k, id);
        break;
    }
}

static void compile_block(compiler *k, uint32_t block)
{
    for (kni_ir_id id = k->ir->blocks[block].first; id && !k->failed; id = kni_ir_at(k->ir, id)->next)
        compile_node(k, id);
}

static void compile_all(compiler *k)
{
    const kni_ir *ir = k->ir;
    for (uint32_t i = 0; i < ir->n_functions && !k->failed; i++) {
        const kni_ir_function *f = &ir->functions[i];
        for (int n = 0; n < f->n_arguments; n++)
            k->reg[argument_id(k, i, (uint32_t)n)] = pinned(k, f->arguments[n]);
        k->reg[result_id(k, i)] = pinned(k, f->result);
        k->p->function_entry[i] = k->p->n_steps;
        k->function = i;
        k->frames = k->most_frames = 0;
        compile_block(k, f->body);
        emit(k, 0, kni_ir_do_function_end);
        k->function_frames[i] = k->most_frames;
    }
    k->p->entry = k->p->n_steps;
    k->frames = k->most_frames = 0;
    compile_block(k, ir->body);
    emit(k, 0, NULL);
    k->p->max_frames = k->most_frames + 1;
}

/* ---- registers */

static int size_class(uint32_t bytes)
{
    int n = 0;
    while (1u << n < bytes) n++;
    return n;
}

static uint32_t *step_id(kni_ir_step *s, int i)
{
    return i == 0 ? &s->out : i == 1 ? &s->a : i == 2 ? &s->b : &s->c;
}

static uint8_t step_bytes(const kni_ir_step *s, int i)
{
    return i == 0 ? s->out_bytes : i == 1 ? s->a_bytes : i == 2 ? s->b_bytes : s->c_bytes;
}

/* A step that begins what runs again, up to its target. */
static bool begins_loop(const kni_ir_step *s)
{
    return s->action == kni_ir_do_loop || s->action == kni_ir_do_count;
}

/* From where to where each value is needed: one that is older than a loop lives through all of its turns. */
static void find_lives(compiler *k)
{
    uint32_t ends[2 * 64 + 8], begins[2 * 64 + 8];
    int depth = 0;
    for (uint32_t i = 0; i < k->p->n_steps; i++) {
        kni_ir_step *s = &k->p->steps[i];
        while (depth && ends[depth - 1] < i) depth--;
        for (int o = 0; o < 4; o++) {
            uint32_t *id = step_id(s, o);
            if (!*id) continue;
            *id = k->alias[*id];
            if (k->first[*id] == UINT32_MAX) k->first[*id] = i;
            uint32_t until = i;
            for (int d = 0; d < depth && until == i; d++)
                if (begins[d] > k->first[*id]) until = ends[d];
            if (until > k->last[*id]) k->last[*id] = until;
        }
        if (begins_loop(s) && depth < (int)(sizeof ends / sizeof *ends)) {
            begins[depth] = i + 1;
            ends[depth++] = s->target;
        }
    }
}

static void assign_registers(compiler *k)
{
    uint32_t *free_lists[SIZES] = {0}, counts[SIZES] = {0}, rooms[SIZES] = {0};
    for (uint32_t i = 0; i < k->p->n_steps; i++) k->expires[i] = 0;
    for (uint32_t i = 0; i < k->p->n_steps && !k->failed; i++) {
        kni_ir_step *s = &k->p->steps[i];
        for (int o = 0; o < 4; o++) {
            uint32_t id = *step_id(s, o);
            if (!id || k->reg[id]) continue;
            int size = size_class(step_bytes(s, o));
            k->reg[id] = counts[size] ? free_lists[size][--counts[size]]
                                      : pinned(k, (kni_ir_type){KN_BOOL, (uint8_t)(1 << size)});
            k->chain[id] = k->expires[k->last[id]];
            k->expires[k->last[id]] = id;
            k->first[id] = (uint32_t)size;
        }
        for (uint32_t id = k->expires[i]; id && !k->failed; id = k->chain[id]) {
            uint32_t size = k->first[id];
            if (!grow_array((void **)&free_lists[size], counts[size], &rooms[size], sizeof **free_lists))
                k->failed = true;
            else
                free_lists[size][counts[size]++] = k->reg[id];
        }
        for (int o = 0; o < 4; o++)
            if (*step_id(s, o)) *step_id(s, o) = k->reg[*step_id(s, o)];
        /* A function's registers are not its callers'. */
        if (s->action == kni_ir_do_function_end) memset(counts, 0, sizeof counts);
    }
    for (int i = 0; i < SIZES; i++)
        if (free_lists[i]) kni_free(free_lists[i], rooms[i] * sizeof **free_lists);
}

static void choose_strip(compiler *k)
{
    kni_ir_program *p = k->p;
    for (uint32_t i = 0; i < k->ir->n_bindings; i++) {
        const kni_ir_binding *b = &k->ir->bindings[i];
        if (b->space == KNI_IR_PRIVATE) p->private_bytes += (uint64_t)b->length * kni_bytes_of(b->dtype);
    }
    p->strip = k->ir->workgroup ? k->ir->workgroup : STRIP;
    while (!k->ir->workgroup && p->strip > 16 && p->strip * p->private_bytes > PRIVATE_AT_ONCE) p->strip /= 2;
}

/* ---- the whole */

static bool prepare(compiler *k, size_t *bytes, uint32_t **memory)
{
    uint32_t n = k->n_ids;
    *bytes = ((size_t)n * 5 + k->ir->n_functions) * sizeof(uint32_t);
    *memory = kni_allocate(*bytes);
    if (!*memory) return false;
    memset(*memory, 0, *bytes);
    k->alias = *memory;
    k->reg = k->alias + n;
    k->first = k->reg + n;
    k->last = k->first + n;
    k->chain = k->last + n;
    k->function_frames = k->chain + n;
    for (uint32_t i = 0; i < n; i++) k->alias[i] = i, k->first[i] = UINT32_MAX;
    size_t entries = (size_t)(k->ir->n_functions + 1) * sizeof(uint32_t);
    k->p->function_entry = kni_allocate(entries);
    return k->p->function_entry != NULL;
}

kni_ir_program *kni_ir_program_new(const kni_ir *ir)
{
    if (kni_ir_verify(ir) != KN_OK) return NULL;
    kni_ir_program *p = kni_allocate(sizeof *p);
    if (!p) {
        kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
        return NULL;
    }
    memset(p, 0, sizeof *p);
    p->ir = kni_ir_copy(ir);
    p->register_bytes = 16;
    compiler k = {.p = p, .ir = p->ir};
    k.n_ids = ir->n_nodes + ir->n_functions * (KNI_IR_MAX_ARGUMENTS + 1);
    size_t bytes = 0;
    uint32_t *memory = NULL;
    k.failed = !p->ir || !prepare(&k, &bytes, &memory);
    if (!k.failed) compile_all(&k);
    if (!k.failed) {
        k.expires = kni_allocate(p->n_steps * sizeof(uint32_t));
        k.failed = !k.expires;
    }
    if (!k.failed) {
        find_lives(&k);
        assign_registers(&k);
        choose_strip(&k);
    }
    if (k.expires) kni_free(k.expires, p->n_steps * sizeof(uint32_t));
    if (memory) kni_free(memory, bytes);
    if (!k.failed) return p;
    kni_ir_program_free(p);
    kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
    return NULL;
}

void kni_ir_program_free(kni_ir_program *p)
{
    if (!p) return;
    if (p->function_entry) kni_free(p->function_entry, (size_t)(p->ir->n_functions + 1) * sizeof(uint32_t));
    if (p->steps) kni_free(p->steps, p->step_room * sizeof *p->steps);
    if (p->once) kni_free(p->once, p->once_room * sizeof *p->once);
    if (p->each) kni_free(p->each, p->each_room * sizeof *p->each);
    kni_ir_free(p->ir);
    kni_free(p, sizeof *p);
}
