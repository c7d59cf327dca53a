/* Times one matrix product of the CPU backend: bench_gemm M N K [nn|nt|tn|tt] [f32|f64] [separate]
   nt means that B is stored as [n, k]. Prints the best time of a call in nanoseconds; KN_ISA and KN_THREADS
   choose tier and threads. `bench_gemm peak` prints the multiply-add peak of the machine instead. */
#define _GNU_SOURCE
#include "backend/cpu/gemm.h"
#include "backend/cpu/isa.h"
#include "core/thread_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#if defined(__x86_64__)
/* Independent multiply-adds on registers: 12 chains cover the latency of two units. */
#define DEFINE_PEAK(name, isa, bytes)                                                                        \
    __attribute__((target(isa))) static double name(void)                                                    \
    {                                                                                                        \
        typedef float vec __attribute__((vector_size(bytes)));                                               \
        enum { CHAINS = 12, ROUNDS = 2000000 };                                                              \
        const vec x = {0}, y = {0};                                                                          \
        double best = 1e30;                                                                                  \
        for (int repeat = 0; repeat < 40; repeat++) {                                                        \
            const double from = now();                                                                       \
            for (int i = 0; i < ROUNDS; i++)                                                                 \
                __asm__ volatile(                                                                            \
                    "vfmadd231ps %0, %1, " R "4\n vfmadd231ps %0, %1, " R "5\n vfmadd231ps %0, %1, " R "6\n" \
                    "vfmadd231ps %0, %1, " R "7\n vfmadd231ps %0, %1, " R "8\n vfmadd231ps %0, %1, " R "9\n" \
                    "vfmadd231ps %0, %1, " R "10\nvfmadd231ps %0, %1, " R "11\nvfmadd231ps %0, %1, " R       \
                    "12\n"                                                                                   \
                    "vfmadd231ps %0, %1, " R "13\nvfmadd231ps %0, %1, " R "14\nvfmadd231ps %0, %1, " R       \
                    "15\n" ::"v"(x),                                                                         \
                    "v"(y)                                                                                   \
                    : "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",    \
                      "xmm14", "xmm15");                                                                     \
            const double ns = now() - from;                                                                  \
            if (ns < best) best = ns;                                                                        \
        }                                                                                                    \
        return (double)ROUNDS * CHAINS * (bytes / 4) * 2 / best;                                             \
    }
#define R "%%ymm"
DEFINE_PEAK(peak_v3, "avx2,fma", 32)
#undef R
#define R "%%zmm"
DEFINE_PEAK(peak_v4, "avx512f", 64)

static double peak(void)
{
    if (kni_cpu_tier() == KNI_ISA_V4) return peak_v4();
    return kni_cpu_tier() == KNI_ISA_V3 ? peak_v3() : 0;
}
#else
static double peak(void) { return 0; }
#endif

static void *filled(int64_t n, kni_gemm_type type)
{
    void *p = aligned_alloc(64, (size_t)(n * (type == KNI_GEMM_F64 ? 8 : 4) + 63) / 64 * 64);
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)(i * 7919 % 2003) / 1000 - 1;
        if (type == KNI_GEMM_F64)
            ((double *)p)[i] = x;
        else
            ((float *)p)[i] = (float)x;
    }
    return p;
}

static double best_time(const kni_gemm_args *g)
{
    const double flops = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    const int calls = flops > 2e6 ? 1 : (int)(2e6 / (flops + 100)) + 1;
    double best = 1e30;
    const double end = now() + 4e8;
    for (int i = 0; i < 10 || now() < end; i++) {
        const double from = now();
        for (int j = 0; j < calls; j++) kni_gemm(g);
        const double ns = (now() - from) / calls;
        if (ns < best) best = ns;
    }
    return best;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "peak")) {
        printf("%s %.1f GFLOP/s\n", kni_cpu_tier_name(kni_cpu_tier()), peak());
        return 0;
    }
    if (argc < 4) {
        fprintf(stderr, "usage: bench_gemm peak | M N K [nn|nt|tn|tt] [f32|f64] [separate]\n");
        return 2;
    }
    const char *turned = argc > 4 ? argv[4] : "nn";
    const kni_gemm_type type = argc > 5 && !strcmp(argv[5], "f64") ? KNI_GEMM_F64 : KNI_GEMM_F32;
    kni_gemm_args g = {.m = atoll(argv[1]), .n = atoll(argv[2]), .k = atoll(argv[3]), .alpha = 1};
    g.type_a = g.type_b = g.type_c = type;
    g.reproducible = argc > 6;
    g.a_row = turned[0] == 't' ? 1 : g.k;
    g.a_col = turned[0] == 't' ? g.m : 1;
    g.b_row = turned[1] == 't' ? 1 : g.n;
    g.b_col = turned[1] == 't' ? g.k : 1;
    g.c_row = g.n;
    g.c_col = 1;
    g.a = filled(g.m * g.k, type);
    g.b = filled(g.k * g.n, type);
    g.c = filled(g.m * g.n, type);
    const double ns = best_time(&g);
    printf("%.0f ns %.1f GFLOP/s\n", ns, 2.0 * (double)g.m * (double)g.n * (double)g.k / ns);
    kni_pool_shutdown();
    return 0;
}
