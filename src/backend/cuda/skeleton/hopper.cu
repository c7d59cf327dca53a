/* What the skeletons for Hopper share: barriers of the copy engine, loads of tiles, products of warpgroups, conversions.
   No header is included: NVRTC runs without any. Shared memory is addressed by 32-bit numbers. */
typedef unsigned int u32;
typedef unsigned long long u64;
struct alignas(64) tensor_map {
    u64 opaque[16];
};

static inline u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

static inline void barrier_init(u32 barrier, u32 count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
static inline void barrier_expect(u32 barrier, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
static inline void barrier_arrive(u32 barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/* Returns when the phase of this parity has ended. */
static inline void barrier_wait(u32 barrier, u32 parity)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra ready;\n"
                 "bra again;\n"
                 "ready:\n"
                 "}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}
/* Makes barriers that were just initialised visible to the copy engine. */
static inline void barrier_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
/* Makes what this thread stored in shared memory visible to copy engine and tensor cores. */
static inline void store_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

static inline void load_tile(u32 to, const tensor_map *map, u32 barrier, int x, int y, int z, int w)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
                 "%6}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w)
                 : "memory");
}
static inline void prefetch_map(const tensor_map *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/* A tile in shared memory as the tensor cores read it, 128-byte swizzle. `leading`: bytes between blocks of 64 elements
   of a tile whose rows run along the inner axis of the product; rows of 128 bytes lie in groups of 8. */
static inline u64 tile_descriptor(u32 address, u32 leading)
{
    return (u64)((address & 0x3ffff) >> 4) | (u64)(leading >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}
static inline void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static inline void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int left> static inline void products_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}
/* After a wait: no use of these values moves before it. */
template <int count> static inline void products_ready(float (&sums)[count])
{
#pragma unroll
    for (int i = 0; i < count; i++) asm volatile("" : "+f"(sums[i])::"memory");
}
template <int registers> static inline void take_registers()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers> static inline void give_registers()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

/* Two floats as two 16-bit elements, the first one in the low half, rounded to nearest even. */
static inline u32 pack_bf16(float low, float high)
{
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
static inline u32 pack_f16(float low, float high)
{
    u32 both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}
static inline float from_bf16(unsigned short bits) { return __uint_as_float((u32)bits << 16); }
static inline float from_f16(unsigned short bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
