/* Bodies of rows that make values of scalars as C: statements of one element, in which numbers become what they stand beside. */
#ifndef KILN_GEN_MADE_H
#define KILN_GEN_MADE_H

#include "gen_expression.h"
#include "ops/body_tree.h"

enum { GEN_MADE_KNOWN = 8 };

typedef struct gen_made {
    const kn_op *row;
    const kni_body_tree *tree;
    int compute;
    char before[GEN_TEXT];     /* what is the same for all elements */
    char statements[GEN_TEXT]; /* of element k */
    char result[64];
    /* Conditions that are the same for all elements and that an element's select asks for: the loop exists once for each outcome. */
    uint8_t known[GEN_MADE_KNOWN];
    int n_known;
    bool failed;
    bool done[KNI_BODY_MAX_STEPS][4]; /* has a name, by form */
    bool asked[KNI_BODY_OPERANDS];    /* operands that are read */
} gen_made;

/* What a node is asked as. */
typedef enum gen_form {
    GEN_VALUE, /* of the compute type */
    GEN_WHOLE, /* an integer: int64_t, or uint32_t where it is gen_made_is_narrow */
    GEN_TRUTH,
    GEN_SCALAR /* a double that is the same for all elements */
} gen_form;

/* Statements for node i, whose value is named in m->result; what cannot be printed sets m->failed. */
void gen_made_node(gen_made *m, int i, gen_form form);
/* The name of a condition in the loop's arguments. */
void gen_made_condition(const gen_made *m, int i, char *name, size_t n);
/* Whether index i is known to fit 32 bits without a sign. */
bool gen_made_is_narrow(const kni_body_tree *tree, int i);
/* How many words of the generator an element of the result draws, 0, 1, 2 or 4: as many as the draws need that are left when the
   choices are made. */
int gen_made_words(const kni_body_tree *tree, uint32_t choices);
/* What all draws take their words at: a node, -1 where nothing is drawn, -2 where they differ. */
int gen_made_place(const kni_body_tree *tree);

#endif
