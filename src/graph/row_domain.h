/* Records that work on rows: reductions, softmaxes, norms. Their domain is the shape of an operand and the axes of it that
   make up a row. */
#ifndef KNI_ROW_DOMAIN_H
#define KNI_ROW_DOMAIN_H

#include "ops/record.h"

typedef struct kni_row_domain {
    const kni_type *shape;
    uint32_t reduced; /* bit by axis */
    bool elements;    /* its results have the shape; else one for each row, or each place */
    uint32_t takes;   /* KNI_TAKES_ bits that a device must have to group it */
} kni_row_domain;

/* False: no such record. */
bool kni_row_domain_of(const kn_record *r, kni_row_domain *domain);
/* Whether two are the same but for axes of size 1. */
bool kni_row_domain_same(const kni_row_domain *a, const kni_row_domain *b);
/* Whether a tensor has one element for each row: the shape without the axes of the row, or with 1 in their place. */
bool kni_row_domain_rows(const kni_row_domain *d, const kni_type *t);
/* Whether a reduction of x, which has the elements of the shape in the same order, goes over all rows at each place. */
bool kni_row_domain_across(const kni_row_domain *d, const kni_type *x, uint32_t reduced);
/* Whether a tensor has one element for each place of the rows. */
bool kni_row_domain_places(const kni_row_domain *d, const kni_type *t);
/* Whether the axes of the row are the last ones. */
bool kni_row_domain_last(const kni_row_domain *d);

#endif
