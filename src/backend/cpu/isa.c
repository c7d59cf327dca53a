/* Detects the instruction-set tier. Compiled without architecture flags, so that it runs on every machine the
   library can be loaded on. */
#include "backend/cpu/isa.h"

#include "core/error.h"
#include "core/platform.h"
#include "core/text.h"

#include <stdatomic.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

typedef struct {
    uint32_t eax, ebx, ecx, edx;
} cpuid_leaf;

static cpuid_leaf leaf_part(uint32_t number, uint32_t part)
{
    cpuid_leaf r = {0, 0, 0, 0};
    if (!__get_cpuid_count(number, part, &r.eax, &r.ebx, &r.ecx, &r.edx)) r = (cpuid_leaf){0, 0, 0, 0};
    return r;
}

static cpuid_leaf leaf(uint32_t number) { return leaf_part(number, 0); }

/* The register states that the operating system saves (XCR0); valid only where OSXSAVE is set. */
static uint64_t saved_states(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

static bool has(uint32_t reg, uint32_t bits) { return (reg & bits) == bits; }

/* The micro-architecture levels of the x86-64 ABI. */
static kni_tier detect(void)
{
    enum {
        V2_ECX1 =
            1 << 0 | 1 << 9 | 1 << 13 | 1 << 19 | 1 << 20 | 1 << 23, /* sse3 ssse3 cx16 sse4.1/2 popcnt */
        V3_ECX1 = 1 << 12 | 1 << 22 | 1 << 27 | 1 << 28 | 1 << 29,   /* fma movbe osxsave avx f16c */
        V3_EBX7 = 1 << 3 | 1 << 5 | 1 << 8,                          /* bmi1 avx2 bmi2 */
        STATE_V3 = 0x6,                                              /* xmm and ymm */
        STATE_V4 = 0xe6                                              /* also mask and zmm registers */
    };
    const uint32_t v4_ebx7 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31; /* avx512 f dq cd bw vl */
    const cpuid_leaf one = leaf(1), seven = leaf(7), extended = leaf(0x80000001u);

    if (!has(one.ecx, V2_ECX1) || !has(extended.ecx, 1u << 0)) return KNI_ISA_SCALAR; /* lahf */
    if (!has(one.ecx, V3_ECX1) || !has(seven.ebx, V3_EBX7) || !has(extended.ecx, 1u << 5)) return KNI_ISA_V2;
    const uint64_t states = saved_states();
    if ((states & STATE_V3) != STATE_V3) return KNI_ISA_V2;
    if (!has(seven.ebx, v4_ebx7) || (states & STATE_V4) != STATE_V4) return KNI_ISA_V3;
    return KNI_ISA_V4;
}

static bool runs_on(kni_tier machine, kni_tier tier) { return tier <= machine; }

static bool has_dot_products(kni_tier tier)
{
    if (tier == KNI_ISA_V4) return has(leaf(7).ecx, 1u << 11);
    return tier == KNI_ISA_V3 && leaf(7).eax >= 1 && has(leaf_part(7, 1).eax, 1u << 4);
}

static bool has_byte_permutes(kni_tier tier) { return tier == KNI_ISA_V4 && has(leaf(7).ecx, 1u << 1); }

#else

/* NEON is part of AArch64 and a wasm module with simd128 does not load without it: what was built runs. */
static kni_tier detect(void)
{
#if defined(KNI_HAVE_TIER_NEON)
    return KNI_ISA_NEON;
#elif defined(KNI_HAVE_TIER_SIMD128)
    return KNI_ISA_SIMD128;
#else
    return KNI_ISA_SCALAR;
#endif
}

static bool runs_on(kni_tier machine, kni_tier tier) { return tier == machine || tier == KNI_ISA_SCALAR; }

static bool has_dot_products(kni_tier tier)
{
    (void)tier;
    return false;
}

static bool has_byte_permutes(kni_tier tier) { return has_dot_products(tier); }

#endif

static const char *const tier_names[KNI_ISA_COUNT] = {
    [KNI_ISA_SCALAR] = "scalar", [KNI_ISA_V2] = "v2",     [KNI_ISA_V3] = "v3",
    [KNI_ISA_V4] = "v4",         [KNI_ISA_NEON] = "neon", [KNI_ISA_SIMD128] = "simd128"};

static const char tier_built[KNI_ISA_COUNT] = {
#ifdef KNI_HAVE_TIER_SCALAR
    [KNI_ISA_SCALAR] = 1,
#endif
#ifdef KNI_HAVE_TIER_V2
    [KNI_ISA_V2] = 1,
#endif
#ifdef KNI_HAVE_TIER_V3
    [KNI_ISA_V3] = 1,
#endif
#ifdef KNI_HAVE_TIER_V4
    [KNI_ISA_V4] = 1,
#endif
#ifdef KNI_HAVE_TIER_NEON
    [KNI_ISA_NEON] = 1,
#endif
#ifdef KNI_HAVE_TIER_SIMD128
    [KNI_ISA_SIMD128] = 1,
#endif
};

static _Atomic int tier_in_use = -1;

bool kni_cpu_tier_available(kni_tier tier)
{
    return (unsigned)tier < KNI_ISA_COUNT && tier_built[tier] && runs_on(detect(), tier);
}

const char *kni_cpu_tier_name(kni_tier tier)
{
    return (unsigned)tier < KNI_ISA_COUNT ? tier_names[tier] : "unknown";
}

kni_tier kni_cpu_set_tier(kni_tier tier)
{
    int t = (unsigned)tier < KNI_ISA_COUNT ? (int)tier : KNI_ISA_COUNT - 1;
    while (t > KNI_ISA_SCALAR && !kni_cpu_tier_available((kni_tier)t)) t--;
    atomic_store_explicit(&tier_in_use, t, memory_order_relaxed);
    return (kni_tier)t;
}

/* The tier of this name, KNI_ISA_COUNT when there is none. */
static int tier_called(const char *name)
{
    int t = 0;
    while (t < KNI_ISA_COUNT && strcmp(name, tier_names[t])) t++;
    return t;
}

kn_status kni_cpu_tier_check(void)
{
    const char *name = kni_environment("KN_ISA");
    if (!name || !*name || kni_cpu_tier_available((kni_tier)tier_called(name))) return KN_OK;
    char known[64] = "";
    kni_text text = {known, sizeof known, 0};
    for (int t = 0; t < KNI_ISA_COUNT; t++)
        if (kni_cpu_tier_available((kni_tier)t))
            kni_text_format(&text, "%s%s", text.length ? ", " : "", tier_names[t]);
    return kni_fail(KN_ERROR_DEVICE, "KN_ISA=%s: %s; here are %s; unset it for the best of them", name,
                    tier_called(name) < KNI_ISA_COUNT ? "this machine or build has no such tier"
                                                      : "there is no tier of this name",
                    known);
}

static kni_tier wanted_tier(void)
{
    const char *name = kni_environment("KN_ISA");
    int t = name ? tier_called(name) : KNI_ISA_COUNT;
    return t < KNI_ISA_COUNT ? (kni_tier)t : detect();
}

/* Two threads may both detect at first use: they find the same. */
kni_tier kni_cpu_tier(void)
{
    int t = atomic_load_explicit(&tier_in_use, memory_order_relaxed);
    return t >= 0 ? (kni_tier)t : kni_cpu_set_tier(wanted_tier());
}

/* Asks once for each tier. known: 1 + the answer */
static bool asked_once(_Atomic int known[KNI_ISA_COUNT], bool (*ask)(kni_tier tier))
{
    const kni_tier tier = kni_cpu_tier();
    int answer = atomic_load_explicit(&known[tier], memory_order_relaxed);
    if (answer == 0) {
        answer = 1 + ask(tier);
        atomic_store_explicit(&known[tier], answer, memory_order_relaxed);
    }
    return answer == 2;
}

bool kni_cpu_has_dot_products(void)
{
    static _Atomic int known[KNI_ISA_COUNT];
    return asked_once(known, has_dot_products);
}

bool kni_cpu_has_byte_permutes(void)
{
    static _Atomic int known[KNI_ISA_COUNT];
    return asked_once(known, has_byte_permutes);
}
