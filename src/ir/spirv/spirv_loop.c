/* Loops as SPIR-V wants them, and around drivers that end them too early: llvmpipe of Mesa leaves every loop of an invocation once all of
   them together have made 65,535 turns, and says nothing. For such a driver (caps.loop_turns) an innermost loop is printed as one
   around a loop of a fixed number of turns, which the driver is told to unroll and does not count; and at its end a kernel with loops looks
   whether one of two turns still makes both, and else says so in the alarm, a word that the driver of Kiln reads. */
#include "ir/spirv/spirv.h"

enum { UNROLL = 1, DO_NOT_UNROLL = 2, TURNS = 8, DEEP = 3 };

/* The labels of a loop, and what the loop around it had. */
typedef struct loop {
    uint32_t head, condition, body, step, after;
    uint32_t outer_after, outer_again;
} loop;

static loop begin(kni_spirv *s, uint32_t control)
{
    s->depth++;
    loop l = {kni_spirv_id(s), kni_spirv_id(s), kni_spirv_id(s), kni_spirv_id(s),
              kni_spirv_id(s), s->after,        s->again};
    s->after = l.after;
    s->again = l.step;
    kni_spirv_branch(s, l.head);
    kni_spirv_label(s, l.head);
    kni_spirv_put(s, &s->code, SPIRV_LOOP_MERGE, 3, l.after, l.step, control);
    kni_spirv_branch(s, l.condition);
    kni_spirv_label(s, l.condition);
    return l;
}

/* Goes on with the body where the truth holds, else behind the loop. */
static void go_on(kni_spirv *s, uint32_t truth, const loop *l)
{
    kni_spirv_put(s, &s->code, SPIRV_BRANCH_IF, 3, truth, l->body, l->after);
    kni_spirv_label(s, l->body);
}

/* What is printed now goes on with the step; then comes what is behind the loop. */
static void step(kni_spirv *s, const loop *l)
{
    kni_spirv_branch(s, l->step);
    kni_spirv_label(s, l->step);
}

static void finish(kni_spirv *s, const loop *l)
{
    kni_spirv_branch(s, l->head);
    kni_spirv_label(s, l->after);
    s->depth--;
    s->after = l->outer_after;
    s->again = l->outer_again;
}

static uint32_t is_less(kni_spirv *s, int dtype, uint32_t a, uint32_t b)
{
    return kni_spirv_make(s, dtype == KN_I32 ? SPIRV_S_LESS : SPIRV_U_LESS, kni_spirv_scalar(s, KN_BOOL), 2,
                          a, b);
}

/* ---- loops of a fixed number of turns */

static bool is_loop(int code) { return code == KNI_IR_FOR || code == KNI_IR_LOOP; }
static bool is_jump(int code)
{
    return code == KNI_IR_BREAK || code == KNI_IR_CONTINUE || code == KNI_IR_RETURN;
}

/* Whether a node of the kind is in the block or in a block inside it. */
static bool holds(const kni_spirv *s, uint32_t number, bool (*kind)(int))
{
    kni_ir_id id = number ? s->ir->blocks[number].first : 0;
    for (; id; id = kni_ir_at(s->ir, id)->next) {
        const kni_ir_node *node = kni_ir_at(s->ir, id);
        if (kind(node->code)) return true;
        for (int i = 0; i < kni_ir_block_count(node->code); i++)
            if (holds(s, node->u.blocks[i], kind)) return true;
    }
    return false;
}

/* Whether the loop is to be cut: one that is deep enough, innermost, and nothing jumps out of its body, since no driver unrolls such a
   one; but none of a few turns, whose bounds are known. */
static bool is_cut(const kni_spirv *s, const kni_ir_node *node)
{
    if (!s->caps->loop_turns || s->depth + 1 < DEEP) return false;
    bool cut = node->code == KNI_IR_LOOP || kni_ir_at(s->ir, node->a)->code != KNI_IR_CONSTANT ||
               kni_ir_at(s->ir, node->b)->code != KNI_IR_CONSTANT;
    for (int i = 0; i < kni_ir_block_count(node->code) && cut; i++)
        cut = !holds(s, node->u.blocks[i], is_loop) && !holds(s, node->u.blocks[i], is_jump);
    return cut;
}

/* One variable for each will do, since no innermost loop is inside another. */
void kni_spirv_declare_turns(kni_spirv *s, uint32_t body)
{
    s->turn = s->left = 0;
    if (!s->caps->loop_turns || !holds(s, body, is_loop)) return;
    uint32_t count = kni_spirv_pointer(s, kni_spirv_scalar(s, KN_U32), SPIRV_LOCAL);
    uint32_t truth = kni_spirv_pointer(s, kni_spirv_scalar(s, KN_BOOL), SPIRV_LOCAL);
    s->turn = kni_spirv_make(s, SPIRV_VARIABLE, count, 1, SPIRV_LOCAL);
    s->left = kni_spirv_make(s, SPIRV_VARIABLE, truth, 1, SPIRV_LOCAL);
    s->made = kni_spirv_make(s, SPIRV_VARIABLE, count, 1, SPIRV_LOCAL);
}

/* The two loops: the outer one goes on until `left` is set, the inner one has no end but its number of turns, so that every compiler can
   unroll it, and does nothing once `left` is set. */
typedef struct cut_loop {
    loop outer, inner;
} cut_loop;

static uint32_t goes_on(kni_spirv *s)
{
    uint32_t truth = kni_spirv_scalar(s, KN_BOOL), left = kni_spirv_make(s, SPIRV_LOAD, truth, 1, s->left);
    return kni_spirv_make(s, SPIRV_LOGICAL_NOT, truth, 1, left);
}

/* What is printed now runs where the truth holds; the label that ends it. */
static uint32_t only_where(kni_spirv *s, uint32_t truth)
{
    uint32_t inside = kni_spirv_id(s), after = kni_spirv_id(s);
    kni_spirv_put(s, &s->code, SPIRV_SELECTION_MERGE, 2, after, 0);
    kni_spirv_put(s, &s->code, SPIRV_BRANCH_IF, 3, truth, inside, after);
    kni_spirv_label(s, inside);
    return after;
}

static void all_again(kni_spirv *s, uint32_t after)
{
    kni_spirv_branch(s, after);
    kni_spirv_label(s, after);
}

static cut_loop cut_begin(kni_spirv *s)
{
    uint32_t u32 = kni_spirv_scalar(s, KN_U32);
    cut_loop c;
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, s->left, kni_spirv_constant(s, KN_BOOL, 0));
    c.outer = begin(s, 0);
    go_on(s, goes_on(s), &c.outer);
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, s->turn, kni_spirv_u32(s, 0));
    c.inner = begin(s, UNROLL);
    uint32_t turn = kni_spirv_make(s, SPIRV_LOAD, u32, 1, s->turn);
    go_on(s, is_less(s, KN_U32, turn, kni_spirv_u32(s, TURNS)), &c.inner);
    return c;
}

/* The body, which runs while nothing left the loop and the truth holds. */
static void cut_body(kni_spirv *s, uint32_t truth, uint32_t body)
{
    uint32_t leaves = kni_spirv_make(s, SPIRV_LOGICAL_NOT, kni_spirv_scalar(s, KN_BOOL), 1, truth);
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, s->left, leaves);
    uint32_t after = only_where(s, truth);
    kni_spirv_block(s, body);
    all_again(s, after);
}

static void cut_end(kni_spirv *s, const cut_loop *c)
{
    uint32_t u32 = kni_spirv_scalar(s, KN_U32), turn = kni_spirv_make(s, SPIRV_LOAD, u32, 1, s->turn);
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, s->turn,
                  kni_spirv_make(s, SPIRV_INT_ADD, u32, 2, turn, kni_spirv_u32(s, 1)));
    finish(s, &c->inner);
    step(s, &c->outer);
    finish(s, &c->outer);
}

/* ---- the loops of a kernel */

static void cut_for(kni_spirv *s, kni_ir_id id, uint32_t below, uint32_t by)
{
    const kni_ir_node *node = kni_ir_at(s->ir, id);
    uint32_t type = kni_spirv_type(s, node->type), slot = s->slots[id];
    cut_loop c = cut_begin(s);
    s->ids[id] = kni_spirv_make(s, SPIRV_LOAD, type, 1, slot);
    uint32_t after = only_where(s, goes_on(s));
    cut_body(s, is_less(s, node->type.dtype, s->ids[id], below), node->u.blocks[0]);
    all_again(s, after);
    step(s, &c.inner);
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, slot,
                  kni_spirv_make(s, SPIRV_INT_ADD, type, 2, s->ids[id], by));
    cut_end(s, &c);
}

void kni_spirv_for(kni_spirv *s, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(s->ir, id);
    uint32_t type = kni_spirv_type(s, node->type), slot = s->slots[id];
    uint32_t from = kni_spirv_value(s, node->a), below = kni_spirv_value(s, node->b),
             by = kni_spirv_value(s, node->c);
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, slot, from);
    if (is_cut(s, node)) {
        cut_for(s, id, below, by);
        return;
    }
    loop l = begin(s, 0);
    s->ids[id] = kni_spirv_make(s, SPIRV_LOAD, type, 1, slot);
    go_on(s, is_less(s, node->type.dtype, s->ids[id], below), &l);
    kni_spirv_block(s, node->u.blocks[0]);
    step(s, &l);
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, slot,
                  kni_spirv_make(s, SPIRV_INT_ADD, type, 2, s->ids[id], by));
    finish(s, &l);
}

static void cut_while(kni_spirv *s, const kni_ir_node *node)
{
    cut_loop c = cut_begin(s);
    uint32_t after = only_where(s, goes_on(s));
    s->tested = 0;
    kni_spirv_block(s, node->u.blocks[0]);
    cut_body(s, s->tested ? s->tested : kni_spirv_constant(s, KN_BOOL, 1), node->u.blocks[1]);
    all_again(s, after);
    step(s, &c.inner);
    after = only_where(s, goes_on(s));
    kni_spirv_block(s, node->u.blocks[2]);
    all_again(s, after);
    cut_end(s, &c);
    s->tested = 0;
}

void kni_spirv_loop(kni_spirv *s, const kni_ir_node *node)
{
    if (is_cut(s, node)) {
        cut_while(s, node);
        return;
    }
    loop l = begin(s, 0);
    s->tested = 0;
    kni_spirv_block(s, node->u.blocks[0]);
    if (s->tested) { /* a condition that has no TEST holds */
        go_on(s, s->tested, &l);
    } else {
        kni_spirv_branch(s, l.body);
        kni_spirv_label(s, l.body);
    }
    kni_spirv_block(s, node->u.blocks[1]);
    step(s, &l);
    kni_spirv_block(s, node->u.blocks[2]);
    finish(s, &l);
    s->tested = 0; /* no TEST of the loop around */
}

/* The last of a condition: the loop that it belongs to branches. */
void kni_spirv_test(kni_spirv *s, const kni_ir_node *node) { s->tested = kni_spirv_value(s, node->a); }

/* ---- the alarm */

bool kni_spirv_watches(const kni_spirv *s)
{
    return s->caps->loop_turns && s->ir->param_bytes && holds(s, s->ir->body, is_loop);
}

/* made = 4 made + 1, twice: turns whose number no compiler knows, since only a launch has at least one workgroup, and a value that
   none derives from the end of the loop. */
void kni_spirv_watch(kni_spirv *s)
{
    enum { AFTER_ONE = 1, AFTER_TWO = 5 };
    uint32_t u32 = kni_spirv_scalar(s, KN_U32), one = kni_spirv_u32(s, 1), four = kni_spirv_u32(s, 4);
    uint32_t any = is_less(s, KN_U32, kni_spirv_u32(s, 0), kni_spirv_group_count(s, 0));
    uint32_t turns = kni_spirv_make(s, SPIRV_SELECT, u32, 3, any, kni_spirv_u32(s, 2), one);
    uint32_t wanted = kni_spirv_make(s, SPIRV_SELECT, u32, 3, any, kni_spirv_u32(s, AFTER_TWO),
                                     kni_spirv_u32(s, AFTER_ONE));
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, s->turn, kni_spirv_u32(s, 0));
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, s->made, kni_spirv_u32(s, 0));
    loop l = begin(s, DO_NOT_UNROLL);
    uint32_t turn = kni_spirv_make(s, SPIRV_LOAD, u32, 1, s->turn);
    go_on(s, is_less(s, KN_U32, turn, turns), &l);
    uint32_t made = kni_spirv_make(s, SPIRV_LOAD, u32, 1, s->made);
    made = kni_spirv_make(s, SPIRV_INT_MUL, u32, 2, made, four);
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, s->made, kni_spirv_make(s, SPIRV_INT_ADD, u32, 2, made, one));
    step(s, &l);
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, s->turn, kni_spirv_make(s, SPIRV_INT_ADD, u32, 2, turn, one));
    finish(s, &l);
    uint32_t ended = is_less(s, KN_U32, kni_spirv_make(s, SPIRV_LOAD, u32, 1, s->made), wanted);
    uint32_t after = only_where(s, ended);
    uint32_t place = kni_spirv_make(s, SPIRV_ACCESS, kni_spirv_pointer(s, u32, SPIRV_BUFFER), 3, s->alarm,
                                    kni_spirv_u32(s, 0), kni_spirv_u32(s, 0));
    kni_spirv_put(s, &s->code, SPIRV_STORE, 2, place, one);
    all_again(s, after);
}
