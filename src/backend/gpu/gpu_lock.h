/* The lock of a device, which a thread may take again, and how often this process was forked from one that had opened a device. Where there
   is one thread there is neither. */
#ifndef KNI_GPU_LOCK_H
#define KNI_GPU_LOCK_H

#include "core/platform.h"

#if KNI_THREADS
#include <stdatomic.h>
typedef pthread_mutex_t kni_gpu_mutex;
static inline void kni_gpu_mutex_lock(kni_gpu_mutex *m) { pthread_mutex_lock(m); }
static inline void kni_gpu_mutex_unlock(kni_gpu_mutex *m) { pthread_mutex_unlock(m); }
static inline void kni_gpu_mutex_destroy(kni_gpu_mutex *m) { pthread_mutex_destroy(m); }
#else
typedef int kni_gpu_mutex;
static inline void kni_gpu_mutex_lock(kni_gpu_mutex *m) { (void)m; }
static inline void kni_gpu_mutex_unlock(kni_gpu_mutex *m) { (void)m; }
static inline void kni_gpu_mutex_destroy(kni_gpu_mutex *m) { (void)m; }
#endif

#endif
