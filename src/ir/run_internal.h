/* What the files of the interpreter share: programs, and the machine that runs one. */
#ifndef KNI_IR_RUN_INTERNAL_H
#define KNI_IR_RUN_INTERNAL_H

#include "ir/ir_internal.h"
#include "ir/run.h"

typedef struct kni_ir_step kni_ir_step;
typedef struct kni_ir_machine kni_ir_machine;

/* Computes n invocations; operands and result are contiguous, each with its lanes in a row. */
typedef void (*kni_ir_apply)(const kni_ir_step *step, void *out, const void *a, const void *b, const void *c,
                             int64_t n);
/* A step that is more than that; false once the machine failed. */
typedef bool (*kni_ir_action)(kni_ir_machine *m, const kni_ir_step *step);

struct kni_ir_step {
    kni_ir_apply apply;                           /* either this */
    kni_ir_action action;                         /* or this */
    uint32_t out, a, b, c;                        /* registers: bytes of one invocation before them; 0 none */
    uint8_t out_bytes, a_bytes, b_bytes, c_bytes; /* of one invocation */
    uint8_t lanes, dtype;                         /* of the result, or of what is stored */
    uint8_t from;                                 /* dtype of operand a */
    uint8_t detail;
    uint32_t index;  /* as the node's */
    uint32_t target; /* another step's number */
    kni_ir_id node;
};

/* Filled before the first step of a program, or before each strip. */
typedef struct kni_ir_given {
    uint32_t reg;
    kni_ir_id node;
} kni_ir_given;

struct kni_ir_program {
    kni_ir *ir; /* a copy: nodes for messages, bindings, params */
    kni_ir_step *steps;
    uint32_t n_steps, step_room;
    kni_ir_given *once, *each; /* constants and params; items and groups */
    uint32_t n_once, once_room, n_each, each_room;
    uint32_t entry;          /* the kernel's first step */
    uint32_t register_bytes; /* of one invocation */
    uint32_t max_frames;
    uint32_t *function_entry, *function_result, *function_arguments; /* by function; arguments: 16 for each */
    uint32_t n_tiles;
    uint64_t private_bytes; /* of one invocation */
    uint32_t strip;         /* invocations at a time */
};

/* How far an invocation has left what it is in. */
enum { KNI_IR_STAYS, KNI_IR_CONTINUES, KNI_IR_BREAKS, KNI_IR_RETURNS };

typedef struct kni_ir_frame {
    uint32_t *entry, *turn; /* who came; who took this turn of a loop */
    uint32_t n_entry, n_turn;
    uint32_t back; /* step to go on with after a call */
} kni_ir_frame;

/* Who touched an element last. An actor is 1 + an invocation's number in the launch. */
typedef struct kni_ir_cell {
    int64_t writer, reader; /* reader -1: several */
    int64_t reader_group;   /* 1 + group; -1: several */
    uint32_t write_epoch, read_epoch;
    uint32_t atomic;
} kni_ir_cell;

struct kni_ir_machine {
    const kni_ir_program *program;
    const kni_ir_run_args *args;
    kn_status status;
    uint32_t room, count; /* invocations of a strip, and of this one */
    uint32_t *active;     /* who is at this step, in order */
    uint32_t n_active;
    uint8_t *left;
    uint8_t *registers;
    kni_ir_frame *frames;
    uint32_t depth, pc;
    int64_t first; /* number of the strip's first invocation */
    int64_t group;
    uint32_t groups[3], subgroup, n_subgroups;
    uint8_t *gathered[4]; /* of a, b, c and the result, when few are active */
    uint8_t *raw;         /* elements as they lie in memory */
    int64_t *positions;
    uint8_t *arrays[KNI_IR_MAX_BINDINGS]; /* of the kernel itself */
    float *tiles;
    uint64_t steps, max_steps, all_steps; /* of the strip's invocations together, and of all so far */
    /* of checking */
    bool check;
    uint32_t epoch;
    kni_ir_cell *cells[KNI_IR_MAX_BINDINGS];
    uint8_t *written[KNI_IR_MAX_BINDINGS]; /* of arrays: which elements hold something */
};

static inline void *kni_ir_register(const kni_ir_machine *m, uint32_t reg)
{
    return m->registers + (size_t)reg * m->room;
}
static inline const kni_ir_node *kni_ir_step_node(const kni_ir_machine *m, const kni_ir_step *s)
{
    return kni_ir_at(m->program->ir, s->node);
}

/* Tells a failure at a step for the invocation (index in the strip); false. */
bool kni_ir_run_fail(kni_ir_machine *m, const kni_ir_step *step, uint32_t who, const char *format, ...);

/* Pure steps: the function for a node, NULL where it is an action. */
kni_ir_apply kni_ir_apply_of(const kni_ir *ir, const kni_ir_node *node);
/* A word, or a way to combine, on a dtype. */
kni_ir_apply kni_ir_word_apply(uint32_t word, int dtype);
kni_ir_apply kni_ir_combine_apply(uint32_t combine, int dtype);
void kni_ir_copy_apply(const kni_ir_step *s, void *out, const void *a, const void *b, const void *c,
                       int64_t n);

/* Actions, by file. */
bool kni_ir_do_load(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_store(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_atomic(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_element(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_collective(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_shuffle(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_barrier(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_tile(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_insert(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_set(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_report(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_if(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_else(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_end_if(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_loop(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_count(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_test(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_count_test(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_body_end(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_count_step(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_jump(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_loop_end(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_leave(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_call(kni_ir_machine *m, const kni_ir_step *s);
bool kni_ir_do_function_end(kni_ir_machine *m, const kni_ir_step *s);

/* Where element `at` of a binding lies, checked against its count together with the `n` that follow; NULL told. */
uint8_t *kni_ir_memory_at(kni_ir_machine *m, const kni_ir_step *s, uint32_t who, int64_t at, int64_t n);
enum { KNI_IR_TOUCH_READ, KNI_IR_TOUCH_WRITE, KNI_IR_TOUCH_ATOMIC };
/* Notes that an invocation touches an element; false told when it races with another. */
bool kni_ir_touch(kni_ir_machine *m, const kni_ir_step *s, uint32_t who, int64_t at, int kind);
/* Makes and frees what checking needs; before each workgroup its arrays are forgotten. */
bool kni_ir_check_begin(kni_ir_machine *m);
void kni_ir_check_forget(kni_ir_machine *m);
void kni_ir_check_end(kni_ir_machine *m);
/* After a run: fails where an element that has to be written was not. */
void kni_ir_check_whole(kni_ir_machine *m);

#endif
