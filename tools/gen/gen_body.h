/* The bodies of the rows, parsed. */
#ifndef KILN_GEN_BODY_H
#define KILN_GEN_BODY_H

#include "ops/body_parse.h"
#include "ops/op.h"
#include <stdio.h>

/* The rows with a body, in the order of their numbers. */
int gen_row_count(void);
const kn_op *gen_row(int i);
const char *gen_text(int i);
const kni_body_draft *gen_draft(int i);
/* Rows that are gradients follow behind them: gen_add_row gives another one its place, and keeps what it is given. */
int gen_all_count(void);
int gen_add_row(const kn_op *row, const char *text, const kni_body_draft *draft);
/* What a body of the row may name. */
kni_body_names gen_names_of(const kn_op *row);
/* The text of row i's gradient: NULL where it has none, and "" where it is derived: of which operands alone, or NULL. */
const char *gen_slope_text(int i);
const char *gen_slope_operands(int i);
/* The text of row i's `.host` and what it makes, or NULL. */
const char *gen_host_text(int i);
const kni_body_draft *gen_host(int i);

/* Parses all of them; after messages that name file, line and column: false. */
bool gen_parse_bodies(void);
/* A message about the body of row i, at an offset of its text; or about another text of the row. */
void gen_complain(int i, int offset, const char *what);
bool gen_complain_about(int i, const char *text, int offset, const char *what);
/* The two arrays of a body's compact form, in braces. */
void gen_print_code(FILE *f, const kni_body_draft *draft);
void gen_print_constants(FILE *f, const kni_body_draft *draft);
/* Whether the row computes in a type: one of its dtypes does. */
bool gen_row_computes(const kn_op *row, int compute);

#endif
