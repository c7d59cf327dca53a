/* Which of several ways of a library is the fastest: measured once and kept on disk, so that a process times only what no process
   before it has timed. */
#ifndef KNI_CUDA_CHOICE_H
#define KNI_CUDA_CHOICE_H

#include "backend/cuda/cuda_driver.h"

enum { KNI_CUDA_CHOICE_KEY = 400 };

/* All that a choice depends on beside the device. */
typedef struct kni_cuda_choice {
    const char *kind; /* a short word for the library */
    int64_t version;  /* the library's */
    const void *key;  /* at most KNI_CUDA_CHOICE_KEY bytes */
    size_t bytes;
} kni_cuda_choice;

/* The one that was kept, below `most`; -1: none was. */
int kni_cuda_choice_known(const kni_cuda *c, const kni_cuda_choice *choice, int most);
void kni_cuda_choice_keep(const kni_cuda *c, const kni_cuda_choice *choice, int32_t fastest);

/* The fastest of so many ways, each run four times outside of a recording; -1 where none of them runs. `run` answers the library's
   status, and `more` is what each takes beside that, in milliseconds; NULL: nothing. */
int kni_cuda_choice_time(kni_cuda *c, int count, int (*run)(void *self, int way), void *self,
                         const float *more);

#endif
