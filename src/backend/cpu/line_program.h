/* Bodies along lines as programs of strips with line reducers. A program depends on the body alone: one serves all sizes, tiers
   and dtypes. kiln-gen makes those of built-in rows, kn_op_define makes its own at run time. */
#ifndef KNI_LINE_PROGRAM_H
#define KNI_LINE_PROGRAM_H

#include "ops/body_tree.h"
#include "ops/native.h"

enum { KNI_LINE_STEPS = 3 * KNI_BODY_MAX_STEPS, KNI_LINE_REGISTERS = 64, KNI_LINE_NUMBERS = 64 };

/* A value is wide (an element for each place of each line) or narrow (one for each line). Registers of both kinds are numbered
   apart. Those that are filled once keep what they hold for all lines. */
typedef enum kni_line_kind {
    KNI_LINE_CALL,    /* a word, on wide or on narrow values */
    KNI_LINE_LOAD,    /* operand `index` */
    KNI_LINE_FILL,    /* number `index`: filled once */
    KNI_LINE_PLACES,  /* 0, 1, 2 ... along each line: filled once */
    KNI_LINE_SPREAD,  /* from a narrow register to a wide one */
    KNI_LINE_REDUCE,  /* from a wide register to a narrow one, by the kni_line_word `index` */
    KNI_LINE_PICK,    /* in[0] where number `index` is true, else in[1] */
    KNI_LINE_ELEMENT, /* the element of in[0] at place in[1] */
    KNI_LINE_REQUIRE  /* in[1]; the op fails with it where in[0] is false */
} kni_line_kind;

typedef struct kni_line_step {
    uint8_t kind, n_in;
    bool wide;        /* its result */
    uint8_t type;     /* of its result: a kni_gives, never a number */
    uint8_t types[3]; /* of what it takes */
    uint8_t index;
    int16_t in[3], out;
    uint8_t word_kind, word; /* of a call: the step of the body */
    const kni_native *entry; /* of a call: its strips */
} kni_line_step;

/* What is known before anything runs, computed once for each record in f64. */
typedef struct kni_line_number {
    uint8_t kind; /* the step of the body: a constant, a scalar, the length, has, a choice, or a word */
    uint8_t index, n_in;     /* of a word: the numbers it takes */
    uint8_t in[3], truths;   /* operands that are truths, a bit each */
    bool truth;              /* its result */
    double value;            /* of a constant */
    const kni_native *entry; /* of a word */
} kni_line_number;

typedef struct kni_line_result {
    int16_t from; /* a register */
    uint8_t type;
    bool wide, down;
} kni_line_result;

typedef struct kni_line_program {
    int16_t n_numbers, n_once, n_steps, n_wide, n_narrow, n_results;
    bool picks;   /* has KNI_LINE_PICK */
    bool indices; /* has registers of indices */
    const kni_line_number *numbers;
    const kni_line_step *steps; /* first those that run once */
    kni_line_result results[KNI_BODY_OPERANDS];
    size_t bytes; /* of one made at run time: all of it is one block */
} kni_line_program;

/* The strips of what is no row: truths, and the words that have none. */
extern const kni_native kni_line_and, kni_line_or, kni_line_xor, kni_line_not, kni_line_normal_cdf,
    kni_line_polygamma, kni_line_stop;
/* The entry whose strips are a step of a body; NULL: it has none. Linked by programs that define ops. */
const kni_native *kni_line_entry_of(int step_kind, int word);

/* NULL: no memory, or *why says why it cannot be a program of lines. Entries are empty; kni_line_bind fills them. */
kni_line_program *kni_line_compile(const kni_body *body, const char **why);
bool kni_line_bind(kni_line_program *p);

struct kn_record;
/* Runs a record; KN_ERROR_UNSUPPORTED without a text where the program cannot: no elements in a line, or kinds of operands that
   its words have no strips for. `longest`: lines with more elements are refused too; 0: none are. */
kn_status kni_line_run(const struct kn_record *r, const kni_line_program *p, int64_t longest);
/* The same of a built-in row, whose entry holds its program. What that cannot do is lowered or interpreted. */
kn_status kni_line_run_entry(const struct kn_record *r);

#endif
