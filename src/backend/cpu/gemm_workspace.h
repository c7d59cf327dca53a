/* Scratch memory that a thread keeps between kernels, so that a GEMM allocates only when it needs more than
   any before it. */
#ifndef KNI_BACKEND_CPU_GEMM_WORKSPACE_H
#define KNI_BACKEND_CPU_GEMM_WORKSPACE_H

#include <stddef.h>

/* What a thread may hold at the same time: memory of a whole operation, which its tasks share, and memory of
   one task. */
typedef enum { KNI_WORKSPACE_SHARED, KNI_WORKSPACE_TASK, KNI_WORKSPACE_COUNT } kni_workspace_slot;

/* At least `bytes` bytes, 64-byte aligned, of unknown content; valid until this thread asks for the same slot
   again. NULL without memory. */
void *kni_workspace(kni_workspace_slot slot, size_t bytes);

/* Frees what the calling thread holds. Threads that end do so by themselves. */
void kni_workspace_release(void);

#endif
