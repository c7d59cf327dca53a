/* What backends ask of a body: whether it is a short formula that they have code of their own for, whatever row has it, and whether it
   may fail. */
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

/* Whether it has a condition (require) whose failure is reported. body: NULL has none. */
bool kni_body_requires(const kni_body *body);

#endif
