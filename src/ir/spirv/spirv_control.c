/* Functions, blocks and control flow as SPIR-V wants them: every construct names where it ends, variables of a function come first. */
#include "ir/spirv/spirv.h"

static void block(kni_spirv *s, uint32_t number);

static void label(kni_spirv *s, uint32_t id)
{
    kni_spirv_put(s, &s->code, SPIRV_LABEL, 1, id);
    s->ended = false;
}

/* The last instruction of a block, unless it has one. */
static void end(kni_spirv *s, uint32_t code, int n, uint32_t operand)
{
    if (!s->ended) kni_spirv_put(s, &s->code, code, n, operand);
    s->ended = true;
}

static void branch(kni_spirv *s, uint32_t to) { end(s, SPIRV_BRANCH, 1, to); }

static void print_if(kni_spirv *s, const kni_ir_node *node)
{
    uint32_t condition = kni_spirv_value(s, node->a), then = kni_spirv_id(s), after = kni_spirv_id(s);
    uint32_t otherwise = node->u.blocks[1] ? kni_spirv_id(s) : after;
    kni_spirv_put(s, &s->code, SPIRV_SELECTION_MERGE, 2, after, 0);
    kni_spirv_put(s, &s->code, SPIRV_BRANCH_IF, 3, condition, then, otherwise);
    label(s, then);
    block(s, node->u.blocks[0]);
    bool left = s->ended;
    branch(s, after);
    if (node->u.blocks[1]) {
        label(s, otherwise);
        block(s, node->u.blocks[1]);
        left = left && s->ended;
        branch(s, after);
    } else {
        left = false;
    }
    label(s, after);
    if (left) end(s, SPIRV_UNREACHABLE, 0, 0); /* both branches leave: nothing comes here */
}

/* The labels of a loop, and those of the loop around it. */
typedef struct loop {
    uint32_t head, condition, body, step, after;
    uint32_t outer_after, outer_again;
} loop;

static loop loop_begin(kni_spirv *s)
{
    loop l = {kni_spirv_id(s), kni_spirv_id(s), kni_spirv_id(s), kni_spirv_id(s),
              kni_spirv_id(s), s->after,        s->again};
    s->after = l.after;
    s->again = l.step;
    branch(s, l.head);
    label(s, l.head);
    kni_spirv_put(s, &s->code, SPIRV_LOOP_MERGE, 3, l.after, l.step, 0);
    branch(s, l.condition);
    label(s, l.condition);
    return l;
}

/* What is printed now goes on with the step; then comes what is behind the loop. */
static void loop_step(kni_spirv *s, const loop *l)
{
    branch(s, l->step);
    label(s, l->step);
}

static void loop_end(kni_spirv *s, const loop *l)
{
    branch(s, l->head);
    label(s, l->after);
    s->after = l->outer_after;
    s->again = l->outer_again;
}

static void print_loop(kni_spirv *s, const kni_ir_node *node)
{
    loop l = loop_begin(s);
    uint32_t outer_body = s->test_body, outer_after = s->test_after;
    s->test_body = l.body;
    s->test_after = l.after;
    block(s, node->u.blocks[0]);
    branch(s, l.body); /* a condition that has no TEST holds */
    s->test_body = outer_body;
    s->test_after = outer_after;
    label(s, l.body);
    block(s, node->u.blocks[1]);
    loop_step(s, &l);
    block(s, node->u.blocks[2]);
    loop_end(s, &l);
}

static void print_for(kni_spirv *s, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(s->ir, id);
    uint32_t type = kni_spirv_type(s, node->type), slot = s->slots[id];
    uint32_t from = kni_spirv_value(s, node->a), below = kni_spirv_value(s, node->b),
             by = kni_spirv_value(s, node->c);
    uint32_t less = node->type.dtype == KN_I32 ? SPIRV_S_LESS : SPIRV_U_LESS;
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, slot, from);
    loop l = loop_begin(s);
    s->ids[id] = kni_spirv_make(s, SPIRV_LOAD, type, 1, slot);
    uint32_t goes_on = kni_spirv_make(s, less, kni_spirv_scalar(s, KN_BOOL), 2, s->ids[id], below);
    kni_spirv_put(s, &s->code, SPIRV_BRANCH_IF, 3, goes_on, l.body, l.after);
    label(s, l.body);
    block(s, node->u.blocks[0]);
    loop_step(s, &l);
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, slot,
                  kni_spirv_make(s, SPIRV_INT_ADD, type, 2, s->ids[id], by));
    loop_end(s, &l);
}

/* Everybody of the workgroup comes here, and what was written to shared memory and buffers is seen behind it. */
static void barrier(kni_spirv *s)
{
    enum { WORKGROUP = 2, ACQUIRE_RELEASE = 0x8, BUFFERS = 0x40, SHARED = 0x100 };
    uint32_t scope = kni_spirv_u32(s, WORKGROUP),
             order = kni_spirv_u32(s, ACQUIRE_RELEASE | BUFFERS | SHARED);
    kni_spirv_put(s, &s->code, SPIRV_BARRIER, 3, scope, scope, order);
}

static void print_test(kni_spirv *s, const kni_ir_node *node)
{
    kni_spirv_put(s, &s->code, SPIRV_BRANCH_IF, 3, kni_spirv_value(s, node->a), s->test_body, s->test_after);
    s->ended = true;
}

static void print_return(kni_spirv *s, const kni_ir_node *node)
{
    if (node->a)
        end(s, SPIRV_RETURN_VALUE, 1, kni_spirv_value(s, node->a));
    else
        end(s, SPIRV_RETURN, 0, 0);
}

static void statement(kni_spirv *s, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(s->ir, id);
    switch (node->code) {
    case KNI_IR_VARIABLE:
        if (node->a) kni_spirv_put(s, &s->code, SPIRV_STORE, 2, s->slots[id], kni_spirv_value(s, node->a));
        break;
    case KNI_IR_SET:
        kni_spirv_put(s, &s->code, SPIRV_STORE, 2, s->slots[node->a], kni_spirv_value(s, node->b));
        break;
    case KNI_IR_IF:
        print_if(s, node);
        break;
    case KNI_IR_FOR:
        print_for(s, id);
        break;
    case KNI_IR_LOOP:
        print_loop(s, node);
        break;
    case KNI_IR_TEST:
        print_test(s, node);
        break;
    case KNI_IR_BREAK:
        branch(s, s->after);
        break;
    case KNI_IR_CONTINUE:
        branch(s, s->again);
        break;
    case KNI_IR_RETURN:
        print_return(s, node);
        break;
    case KNI_IR_BARRIER:
        barrier(s);
        break;
    default:
        kni_spirv_node(s, id);
    }
}

/* What stands behind a branch is never reached, and is not printed. */
static void block(kni_spirv *s, uint32_t number)
{
    kni_ir_id id = number ? s->ir->blocks[number].first : 0;
    for (; id && !s->ended && s->status == KN_OK; id = kni_ir_at(s->ir, id)->next) statement(s, id);
}

/* Variables and counters of a block and of all inside it, at the beginning of their function. */
static void declare(kni_spirv *s, uint32_t number)
{
    kni_ir_id id = number ? s->ir->blocks[number].first : 0;
    for (; id && s->status == KN_OK; id = kni_ir_at(s->ir, id)->next) {
        const kni_ir_node *node = kni_ir_at(s->ir, id);
        if (node->code == KNI_IR_VARIABLE || node->code == KNI_IR_FOR) {
            uint32_t pointer = kni_spirv_pointer(s, kni_spirv_type(s, node->type), SPIRV_LOCAL);
            s->slots[id] = kni_spirv_make(s, SPIRV_VARIABLE, pointer, 1, SPIRV_LOCAL);
        }
        for (int i = 0; i < kni_ir_block_count(node->code); i++) declare(s, node->u.blocks[i]);
    }
}

static uint32_t function_type(kni_spirv *s, const kni_ir_function *function, uint32_t result)
{
    uint32_t types[KNI_IR_MAX_ARGUMENTS + 1] = {result};
    int n = function ? function->n_arguments : 0;
    for (int i = 0; i < n; i++) types[1 + i] = kni_spirv_type(s, function->arguments[i]);
    return kni_spirv_signature(s, types, (uint32_t)n + 1);
}

void kni_spirv_function(kni_spirv *s, const kni_ir_function *function, uint32_t id)
{
    uint32_t result = function ? kni_spirv_type(s, function->result) : kni_spirv_void(s);
    uint32_t type = function_type(s, function, result), body = function ? function->body : s->ir->body;
    kni_spirv_put(s, &s->code, SPIRV_FUNCTION, 4, result, id, 0, type);
    for (int i = 0; function && i < function->n_arguments; i++)
        s->arguments[i] = kni_spirv_make(s, SPIRV_PARAMETER, kni_spirv_type(s, function->arguments[i]), 0);
    label(s, kni_spirv_id(s));
    declare(s, body);
    block(s, body);
    end(s, function ? SPIRV_UNREACHABLE : SPIRV_RETURN, 0, 0);
    kni_spirv_put(s, &s->code, SPIRV_FUNCTION_END, 0);
}
