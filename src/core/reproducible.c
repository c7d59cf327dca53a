/* The process setting that makes results bit-equal on every instruction set. */
#include "core/reproducible.h"
#include "core/platform.h"
#include <kn/tensor.h>
#include <stdatomic.h>

enum { UNKNOWN, OFF, ON };
static _Atomic int mode;

bool kni_reproducible(void)
{
    int m = atomic_load_explicit(&mode, memory_order_relaxed);
    if (m == UNKNOWN) {
        const char *text = kni_environment("KN_REPRODUCIBLE");
        m = text && text[0] == '1' ? ON : OFF;
        atomic_store(&mode, m);
    }
    return m == ON;
}

void kn_set_reproducible(bool reproducible) { atomic_store(&mode, reproducible ? ON : OFF); }
