/* What the readers and writers of NumPy's formats share. */
#ifndef KNI_STORE_NUMPY_H
#define KNI_STORE_NUMPY_H

#include "store/store_object.h"

/* The name of the only array of a .npy file. */
#define KNI_NPY_NAME "value"
/* The entry of an archive with the metadata, as a JSON object of texts. */
#define KNI_NPZ_TEXTS "__metadata__.json"

/* "f4" for KN_F32; NULL where NumPy has no such dtype. */
const char *kni_numpy_word(kn_dtype dtype);
/* The dtype of a text such as "<f4"; NULL when there is none. *swapped: in the other byte order. */
const kni_dtype_word *kni_numpy_dtype(const char *text, size_t length, bool *swapped);

#endif
