/* The unknowns of a set of sizes, for who writes the set down or reads it back. */
#ifndef KNI_DIM_SYMBOLS_H
#define KNI_DIM_SYMBOLS_H

#include "core/dim.h"

/* How many symbols the set that the thread has entered holds. */
int32_t kni_dim_symbol_count(void);
/* The next symbol of that set, in the order they came, *at being 0 before the first; KNI_DIM_BAD: there is no other. */
kn_dim kni_dim_symbol_next(uint32_t *at);
/* Whether an expression of the set was KNI_DIM_BAD because there was no memory for it, or too many others. */
bool kni_dims_are_full(const kni_dims *dims);
/* Whether a text is the name of a size: a letter, then letters, digits, _ and dots. */
bool kni_dim_is_name(const char *text);

#endif
