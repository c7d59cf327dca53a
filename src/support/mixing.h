/* The mixing function of splitmix64, for keys and counters of random choices on the host. */
#ifndef KNI_SUPPORT_MIXING_H
#define KNI_SUPPORT_MIXING_H

#include <stdint.h>

/* What a counter goes on by between two numbers of splitmix64. */
#define KNI_MIX_STEP UINT64_C(0x9e3779b97f4a7c15)

/* Every bit of the result depends on every bit of x. */
static inline uint64_t kni_mix(uint64_t x)
{
    x += KNI_MIX_STEP;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

#endif
