/* Starting on a static buffer, counting, and shutting down. */
#include "core/device_object.h"
#include "core/error.h"
#include "core/static_arena.h"
#include "core/table.h"
#include "core/thread_pool.h"
#include <kn/tensor.h>

kn_status kn_init_static(void *buffer, size_t bytes)
{
    kn_memory m = kn_memory_stats();
    if (m.allocations > 0)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_init_static must be the first call: memory is in use already");
    if (!kni_arena_start(buffer, bytes))
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_init_static: the buffer is NULL or too small, or it was called before");
    return KN_OK;
}

kn_memory kn_memory_stats(void)
{
    kn_memory m = {0};
    kni_memory_counters(&m);
    kni_table_counters(&m.tensors_now, &m.slots);
    return m;
}

void kn_memory_trim(void)
{
    kni_small_trim(&kni_thread_self()->small);
    kni_cache_trim();
    kni_devices_trim();
}

int64_t kn_shutdown(void)
{
    kni_error_flush(kni_thread_self()); /* a failure that still waits for its line is logged without one */
    kni_thread_end_self();
    kni_pool_shutdown();
    kn_memory m = kn_memory_stats();
    if (m.tensors_now > 0) kni_table_list_alive();
    /* Other threads hold slots and devices: what is shared stays until they have ended. */
    if (kni_threads_others()) return m.tensors_now;
    kni_devices_shutdown();
    kni_thread_end_self(); /* closing devices may have started it again and returned slots */
    if (m.tensors_now == 0) kni_table_free();
    kni_cache_trim();
    return m.tensors_now;
}

void kn_set_threads(int32_t n) { kni_set_threads(n); }

int32_t kn_get_threads(void) { return kni_threads(); }
