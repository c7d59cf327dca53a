/* Finding the name that somebody probably meant. */
#ifndef KNI_SUPPORT_SIMILAR_H
#define KNI_SUPPORT_SIMILAR_H

#include <stdbool.h>
#include <stddef.h>

/* The number of letters to insert, remove, replace or swap with a neighbour to make b of a; limit + 1 where it is more than
   limit, or a name is very long. */
size_t kni_edit_distance(const char *a, const char *b, size_t limit);
/* Whether b is close enough to a to be suggested for it. */
bool kni_is_similar(const char *a, const char *b);

#endif
