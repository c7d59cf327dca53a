/* Starting on a static buffer, counting, and shutting down. */
#include "core/device_object.h"
#include "core/error.h"
#include "core/life.h"
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

/* Why the library cannot end now, told; KN_OK when its end has begun. */
static kn_status begin_end(void)
{
    const kni_thread *t = kni_thread_self();
    if (kni_pool_inside() || t->context.call_name || t->runs_for || t->depth_of_calls)
        return kni_fail(
            KN_ERROR_UNSUPPORTED,
            "kn_shutdown: called from a function that the library itself is running; call it when that "
            "has returned. Nothing was freed");
    int32_t others = kni_threads_close();
    if (!others) return KN_OK;
    return kni_fail(
        KN_ERROR_UNSUPPORTED,
        "kn_shutdown: %d other thread%s that used the library run%s still; join %s first, and free loaders "
        "with workers. Nothing was freed",
        others, others > 1 ? "s" : "", others > 1 ? "" : "s", others > 1 ? "them" : "it");
}

int64_t kn_shutdown(void)
{
    kn_status busy = begin_end();
    if (busy) return -(int64_t)busy;
    kni_error_flush(kni_thread_self()); /* a failure that still waits for its line is logged without one */
    kni_thread_end_self();
    kn_memory m = kn_memory_stats();
    if (m.tensors_now > 0) kni_table_list_alive();
    kni_life_shutdown();
    kni_table_end_all(kni_thread_self());
    kni_pool_shutdown();
    kni_devices_shutdown();
    kni_thread_end_self(); /* all of this has started it again */
    kni_table_free();
    kni_cache_trim();
    kni_threads_reopen();
    return m.tensors_now;
}

void kn_set_threads(int32_t n) { kni_set_threads(n); }

int32_t kn_get_threads(void) { return kni_threads(); }
