/* The op of each word: who computes a body word by word calls these. */
#ifndef KNI_BODY_WORDS_H
#define KNI_BODY_WORDS_H

#include "ops/op.h"

/* A row whose body is the word alone; NULL for the few that have none. Linked by programs that define ops, and by
   those with a tape: gradients that are bodies are lowered word by word. */
const kn_op *kni_word_row(int word);
/* The same of integers: the row `div` makes floats of them. */
const kn_op *kni_word_row_of_integers(int word);
/* The one whose body is a choice: c ? a : b. */
const kn_op *kni_select_row(void);

#endif
