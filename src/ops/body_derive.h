/* Gradients of bodies, derived: reverse mode over the tree of a body gives another body. */
#ifndef KNI_BODY_DERIVE_H
#define KNI_BODY_DERIVE_H

#include "ops/body_graph.h"

/* The gradient of one operand of a body, from its operands and the cotangents of its results. The graph's operand i < n_in is
   the body's, operand n_in + k the cotangent of result k, and operand n_in + n_out + k result k where it may be read. */
typedef struct kni_body_gradient {
    kni_body_graph graph;
    int root; /* the node that is the gradient; -1: it is zero everywhere */
    int level; /* of the operand; for an operand of level ALL that of a line, and lines are yet to be added up */
    char error[160];
} kni_body_gradient;

/* The operands' levels are those of the body. `saves_results`: slopes through a result read it instead of computing it again.
   False with `error`: a word has no slope, it became too long, or the gradient cannot be said by a body. */
bool kni_body_derive(const kni_body *body, int operand, bool saves_results, kni_body_gradient *gradient);
/* The shorter of the two: results are read where that spares words. */
bool kni_body_derive_short(const kni_body *body, int operand, kni_body_gradient *gradient);
/* What a word's table of slopes says of operand k: a formula over its operands a and b, its result y and the cotangent d; ""
   where nothing flows. NULL: the word is missing there. */
const char *kni_body_slope(int word, int k);

#endif
