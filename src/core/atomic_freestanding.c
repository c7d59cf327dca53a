/* 64-bit atomics for processors that have none and run one thread: the names the compiler calls, as plain
   loads and stores. */
#include <stdbool.h>
#include <stdint.h>

#if defined(KN_FREESTANDING) && UINTPTR_MAX == UINT32_MAX
typedef volatile uint64_t word;
uint64_t kni_load_8(const word *p, int order) __asm__("__atomic_load_8");
void kni_store_8(word *p, uint64_t v, int order) __asm__("__atomic_store_8");
uint64_t kni_exchange_8(word *p, uint64_t v, int order) __asm__("__atomic_exchange_8");
uint64_t kni_fetch_add_8(word *p, uint64_t v, int order) __asm__("__atomic_fetch_add_8");
uint64_t kni_fetch_sub_8(word *p, uint64_t v, int order) __asm__("__atomic_fetch_sub_8");
bool kni_compare_exchange_8(word *p, uint64_t *expected, uint64_t v, int success,
                            int failure) __asm__("__atomic_compare_exchange_8");

uint64_t kni_load_8(const word *p, int order)
{
    (void)order;
    return *p;
}

void kni_store_8(word *p, uint64_t v, int order)
{
    (void)order;
    *p = v;
}

uint64_t kni_exchange_8(word *p, uint64_t v, int order)
{
    (void)order;
    uint64_t old = *p;
    *p = v;
    return old;
}

uint64_t kni_fetch_add_8(word *p, uint64_t v, int order)
{
    (void)order;
    uint64_t old = *p;
    *p = old + v;
    return old;
}

uint64_t kni_fetch_sub_8(word *p, uint64_t v, int order) { return kni_fetch_add_8(p, 0 - v, order); }

bool kni_compare_exchange_8(word *p, uint64_t *expected, uint64_t v, int success, int failure)
{
    (void)success, (void)failure;
    if (*p != *expected) {
        *expected = *p;
        return false;
    }
    *p = v;
    return true;
}
#else
/* A translation unit is not empty. */
typedef int kni_atomics_are_native;
#endif
