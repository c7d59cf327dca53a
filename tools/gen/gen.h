/* The generators of kiln-gen. Each writes the files it is responsible for, from the repository's root, and
   answers 0, or 1 after a message on standard error. */
#ifndef KILN_GEN_H
#define KILN_GEN_H

int gen_slopes(void); /* first: it adds rows */
int gen_compact(void);
int gen_elementwise(void);
int gen_lines(void);
int gen_update(void);
int gen_made_rows(void);

#endif
