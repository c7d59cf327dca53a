/* How the parts above the tensors report failures: the text goes to kn_last_error(), the status is the result. */
#ifndef KNI_SUPPORT_FAILURE_H
#define KNI_SUPPORT_FAILURE_H

#include <kn/base.h>

/* Formats the text as printf does and returns code. */
kn_status kni_failure(kn_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* KN_ERROR_MEMORY with the name of the function that ran out. */
kn_status kni_failure_memory(const char *function);
/* The error of a poisoned tensor as a status with its text, KN_OK for a good one. */
kn_status kni_failure_of(kn_tensor t);
/* A poisoned tensor with that text. */
kn_tensor kni_poisoned(kn_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
