/* A record's body while it is taken apart: what the parts of work_body share. work_body_known.c knows what is settled before
   anything runs and makes scalars, work_body_line.c reduces along lines and reads at places, work_body.c does the rest. */
#ifndef KNI_SCHED_WORK_BODY_H
#define KNI_SCHED_WORK_BODY_H

#include "ops/body_tree.h"
#include "sched/work_rows.h"

typedef struct kni_work_body {
    kni_work *w;
    const kn_record *r;
    const kni_body *form;
    kni_body_tree tree;
    uint16_t all; /* the frame of the elements */
    int compute, dtype;
    uint32_t choices;
    uint16_t numbers[KNI_BODY_NUMBERS];
    uint16_t known[KNI_BODY_MAX_STEPS];
} kni_work_body;

/* Node i, which is computed when it is first asked for, so that nothing is made of a side that is not chosen. */
uint16_t kni_work_body_node(kni_work_body *b, int i);
/* A number as what it stands beside; other nodes are what they are. */
uint16_t kni_work_body_node_as(kni_work_body *b, int i, uint8_t gives);
/* The IR dtype of what a node gives. */
int kni_work_body_dtype(const kni_work_body *b, uint8_t gives);

/* ---- what is known before anything runs */

/* Whether node i is made of constants, static attributes, choices and the length alone: its value, in f64. */
bool kni_work_body_static(const kni_work_body *b, int i, double *v);
/* The node that a choice between nodes comes to, where that is known. */
int kni_work_body_chosen(const kni_work_body *b, int i);
/* A number in the dtype that it is asked in: whole ones stand beside indices. */
uint16_t kni_work_body_number(kni_work_body *b, int i, int dtype);
/* A result that is an attribute, rounded to the dtype once. */
uint16_t kni_work_body_rounded(kni_work_body *b, int index);

/* ---- operands and lines */

bool kni_work_body_absent(const kni_work_body *b, int i);
/* What an absent operand is. */
double kni_work_body_default(const kni_work_body *b, int i);
uint16_t kni_work_body_operand(kni_work_body *b, int index, uint8_t gives);
/* Whether the place along the line is t, which is the same along it. */
uint16_t kni_work_body_here(kni_work_body *b, int t);
/* at(v, t) */
uint16_t kni_work_body_at(kni_work_body *b, const kni_body_node *n);
/* A line word. */
uint16_t kni_work_body_along(kni_work_body *b, const kni_body_node *n);
/* The digits that matter of expn, node i. */
kni_power_digits kni_work_body_digits(const kni_work_body *b, int i);
/* A sum over all lines of a group that has others, at each place of them. */
uint16_t kni_work_body_across(kni_work_body *b);

#endif
