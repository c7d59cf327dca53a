/* What handles that name no live tensor were, and dtypes that no tensor has. Every part of the library may include this header; it
   needs only the public types. */
#ifndef KNI_PAST_H
#define KNI_PAST_H

#include <kn/base.h>

typedef enum kni_past {
    KNI_PAST_NONE,   /* nothing that the library made: garbage, or KN_NONE */
    KNI_PAST_FAILED, /* the result of an op that failed */
    KNI_PAST_ENDED   /* a tensor that was dropped, was taken, or ended with its scope or the library */
} kni_past;

/* text: NULL, or where the failure's text or the reason of the end is written, n bytes. */
kni_past kni_tensor_past(kn_tensor handle, char *text, size_t n);

/* KN_ERROR_DTYPE with "kn_<name>: ", the dtype that was asked for and what can be done; for codes tensors cannot have. */
kn_status kni_fail_dtype(const char *op_name, int64_t dtype);
/* Whether tensors can have the dtype: its code is none of the reserved ones. */
bool kni_dtype_is_there(kn_dtype dtype);

/* Whether there was a failure that this poisoned handle names, also where its record was used again. */
bool kni_error_was_told(kn_tensor t);

#endif
