#ifndef KILN_GEN_SOURCE_H
#define KILN_GEN_SOURCE_H

#include <stdbool.h>

typedef struct gen_place {
    char path[300];
    int line, column;
} gen_place;

/* Finds a text of an op, its body or a list, among the sources of the rows; run in the repository's root. */
bool gen_find_text(const char *op, const char *text, int offset, gen_place *place);

#endif
