/* Functions, blocks and control flow as SPIR-V wants them: every construct names where it ends, variables of a function come first. */
#include "ir/spirv/spirv.h"

void kni_spirv_label(kni_spirv *s, uint32_t id)
{
    kni_spirv_put(s, &s->code, SPIRV_LABEL, 1, id);
    s->ended = false;
}

/* The last instruction of a block, unless it has one. */
void kni_spirv_end(kni_spirv *s, uint32_t code, int n, uint32_t operand)
{
    if (!s->ended) kni_spirv_put(s, &s->code, code, n, operand);
    s->ended = true;
}

void kni_spirv_branch(kni_spirv *s, uint32_t to) { kni_spirv_end(s, SPIRV_BRANCH, 1, to); }

static void print_if(kni_spirv *s, const kni_ir_node *node)
{
    uint32_t condition = kni_spirv_value(s, node->a), then = kni_spirv_id(s), after = kni_spirv_id(s);
    uint32_t otherwise = node->u.blocks[1] ? kni_spirv_id(s) : after;
    kni_spirv_put(s, &s->code, SPIRV_SELECTION_MERGE, 2, after, 0);
    kni_spirv_put(s, &s->code, SPIRV_BRANCH_IF, 3, condition, then, otherwise);
    kni_spirv_label(s, then);
    kni_spirv_block(s, node->u.blocks[0]);
    bool left = s->ended;
    kni_spirv_branch(s, after);
    if (node->u.blocks[1]) {
        kni_spirv_label(s, otherwise);
        kni_spirv_block(s, node->u.blocks[1]);
        left = left && s->ended;
        kni_spirv_branch(s, after);
    } else {
        left = false;
    }
    kni_spirv_label(s, after);
    if (left) kni_spirv_end(s, SPIRV_UNREACHABLE, 0, 0); /* both branches leave: nothing comes here */
}

/* Everybody of the workgroup comes here, and what was written to shared memory and buffers is seen behind it. */
static void barrier(kni_spirv *s)
{
    enum { WORKGROUP = 2, ACQUIRE_RELEASE = 0x8, BUFFERS = 0x40, SHARED = 0x100 };
    uint32_t scope = kni_spirv_u32(s, WORKGROUP),
             order = kni_spirv_u32(s, ACQUIRE_RELEASE | BUFFERS | SHARED);
    kni_spirv_put(s, &s->code, SPIRV_BARRIER, 3, scope, scope, order);
}

static void print_return(kni_spirv *s, const kni_ir_node *node)
{
    if (node->a)
        kni_spirv_end(s, SPIRV_RETURN_VALUE, 1, kni_spirv_value(s, node->a));
    else
        kni_spirv_end(s, SPIRV_RETURN, 0, 0);
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
        kni_spirv_for(s, id);
        break;
    case KNI_IR_LOOP:
        kni_spirv_loop(s, node);
        break;
    case KNI_IR_TEST:
        kni_spirv_test(s, node);
        break;
    case KNI_IR_BREAK:
        kni_spirv_branch(s, s->after);
        break;
    case KNI_IR_CONTINUE:
        kni_spirv_branch(s, s->again);
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
void kni_spirv_block(kni_spirv *s, uint32_t number)
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
    kni_spirv_label(s, kni_spirv_id(s));
    declare(s, body);
    kni_spirv_declare_turns(s, body);
    kni_spirv_block(s, body);
    if (!function && !s->ended && s->alarm) kni_spirv_watch(s);
    kni_spirv_end(s, function ? SPIRV_UNREACHABLE : SPIRV_RETURN, 0, 0);
    kni_spirv_put(s, &s->code, SPIRV_FUNCTION_END, 0);
}
