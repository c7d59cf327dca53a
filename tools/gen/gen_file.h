/* Writing a generated file, with its notice. */
#ifndef KILN_GEN_FILE_H
#define KILN_GEN_FILE_H

#include <stdio.h>

/* NULL after a message. */
FILE *gen_start_file(const char *path);
/* 1 after a message. */
int gen_finish_file(FILE *f, const char *path);

#endif
