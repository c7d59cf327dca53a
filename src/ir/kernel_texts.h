/* The texts of the reference kernels, for devices that compile kernels at run time. Linked only by who asks. */
#ifndef KNI_IR_KERNEL_TEXTS_H
#define KNI_IR_KERNEL_TEXTS_H

#include <stddef.h>

/* The text of the file that holds the kernel, with its length and the file's name for messages; NULL when there is no
   such kernel. */
const char *kni_kernel_text(const char *kernel_name, size_t *bytes, const char **file);
/* The names of all of them in order; NULL past the last. */
const char *kni_kernel_text_name(int number);

#endif
