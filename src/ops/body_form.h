/* Short formulas that backends have code of their own for, found by the steps of a body: whatever row has one gets the same. */
#ifndef KNI_BODY_FORM_H
#define KNI_BODY_FORM_H

#include "ops/body.h"

typedef enum kni_form {
    KNI_FORM_OTHER,
    KNI_FORM_ADD, /* a + b */
    KNI_FORM_SUB,
    KNI_FORM_MUL,
    KNI_FORM_RELU, /* max(x, 0) */
    KNI_FORM_SQUARE
} kni_form;

/* body: NULL is OTHER. */
kni_form kni_body_form(const kni_body *body);

#endif
