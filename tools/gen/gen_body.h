/* The bodies of the rows, parsed. */
#ifndef KILN_GEN_BODY_H
#define KILN_GEN_BODY_H

#include "ops/body_parse.h"
#include "ops/op.h"

/* The rows with a body, in the order of their numbers. */
int gen_row_count(void);
const kn_op *gen_row(int i);
const char *gen_text(int i);
const kni_body_draft *gen_draft(int i);
/* The text of row i's `.host` and what it makes, or NULL. */
const char *gen_host_text(int i);
const kni_body_draft *gen_host(int i);

/* Parses all of them; after messages that name file, line and column: false. */
bool gen_parse_bodies(void);
/* A message about the body of row i, at an offset of its text. */
void gen_complain(int i, int offset, const char *what);
/* Whether the row computes in a type: one of its dtypes does. */
bool gen_row_computes(const kn_op *row, int compute);

#endif
