/* What stands before and after the gradient of attention: for each query the logarithm of its sum and the product of its
   row of dy with its row of out, padded to a multiple of 64 rows; then the wide sums of dq as elements. Before this text
   stand hopper.cu and SIZE, from_element(bits), pack(low, high). A warp has a row. */
struct params {
    long long dy_batch, dy_head, dy_row; /* steps of dy */
    int queries, padded, heads, batch;
    float scale;
};

extern "C" __global__ void __launch_bounds__(256)
    attention_prepare(const unsigned short *dy, const unsigned short *out, const float *lse, float *logs, float *dots,
                      float *wide, const __grid_constant__ params p)
{
    int lane = threadIdx.x % 32;
    long long row = (long long)blockIdx.x * 8 + threadIdx.x / 32, all = (long long)p.heads * p.batch * p.padded;
    if (row >= all) return;
    long long head = row / p.padded, query = row % p.padded;
    float sum = 0;
    if (query < p.queries) {
        const unsigned short *a = dy + head / p.heads * p.dy_batch + head % p.heads * p.dy_head + query * p.dy_row;
        const unsigned short *b = out + (head * p.queries + query) * SIZE;
#pragma unroll
        for (int i = 0; i < SIZE / 32; i++)
            sum = __fmaf_rn(from_element(a[i * 32 + lane]), from_element(b[i * 32 + lane]), sum);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (lane == 0) {
        /* A row that is not there has no weights. */
        logs[row] = query < p.queries ? lse[head * p.queries + query] * 1.44269504089f : __int_as_float(0x7f800000);
        dots[row] = sum;
    }
    if (lane < SIZE / 4) *(float4 *)(wide + row * SIZE + lane * 4) = make_float4(0, 0, 0, 0);
}

extern "C" __global__ void __launch_bounds__(256)
    attention_finish(const float *wide, unsigned short *dq, const __grid_constant__ params p)
{
    long long at = ((long long)blockIdx.x * 256 + threadIdx.x) * 4, row = at / SIZE;
    long long all = (long long)p.heads * p.batch * p.padded;
    if (row >= all) return;
    long long head = row / p.padded, query = row % p.padded;
    if (query >= p.queries) return;
    float4 x = *(const float4 *)(wide + at);
    u32 *to = (u32 *)(dq + (head * p.queries + query) * SIZE + at % SIZE);
    to[0] = pack(x.x * p.scale, x.y * p.scale);
    to[1] = pack(x.z * p.scale, x.w * p.scale);
}
