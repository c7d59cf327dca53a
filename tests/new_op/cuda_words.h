/* What NVIDIA's compiler knows by itself of the words in CUDA texts, so that clang can read them where there is no other. */
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct cuda_place {
    unsigned x, y, z;
};
extern __device__ const cuda_place threadIdx, blockIdx, blockDim, gridDim;

__device__ float __uint_as_float(unsigned bits);
__device__ unsigned __float_as_uint(float value);
__device__ double __longlong_as_double(long long bits);
__device__ long long __double_as_longlong(double value);
__device__ int __clzll(long long value);
__device__ float __fsqrt_rn(float value);
__device__ double __dsqrt_rn(double value);
__device__ float __fmaf_rn(float a, float b, float c);
__device__ double __fma_rn(double a, double b, double c);
__device__ void __syncthreads(void);
template <typename T> __device__ T __shfl_xor_sync(unsigned lanes, T value, int mask, int width = 32);
