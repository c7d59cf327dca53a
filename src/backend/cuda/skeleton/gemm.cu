/* d = epilogue(alpha a b + beta c) for many matrices, f16 or bf16 with sums in f32. One warpgroup loads tiles through the
   copy engine, two multiply them; workgroups stay and walk over the output tiles. Before this text stand hopper.cu and:
     COLUMNS          of an output tile, which has 128 rows
     STAGES           tiles of the inner axis that are on their way at once
     A_INNER, B_INNER 1 where memory runs along the inner axis (a as stored, b transposed), else 0
     OUT, OUT_BYTES   type of d, c and bias in memory; load_out and store_out convert (store_pair: two neighbours)
     PAIRS            1 where neighbours may be stored at once
     ADDS             1 where beta is not 0
     finish(x, bias, aux)  the epilogue of one element
     multiply(sums, a, b, keep)  sums = (keep ? sums : 0) + a tile times b tile, 16 deep */
enum {
    ROWS = 128,
    DEPTH = 64,
    A_BYTES = ROWS * DEPTH * 2,
    B_BYTES = COLUMNS * DEPTH * 2,
    STAGE_BYTES = A_BYTES + B_BYTES,
    BLOCK_BYTES = 64 * 128, /* 64 rows of 64 elements */
    A_STEP = A_INNER ? 32 : 16 * 128,
    B_STEP = B_INNER ? 32 : 16 * 128,
    BAND = 8, /* rows of tiles that are walked together, so that they share what is in the cache */
    SUMS = COLUMNS / 2
};

struct params {
    long long m, n, row_c, row_d, step_c, step_d;
    int tiles_m, tiles_n, depth_tiles, batch, repeat_a, repeat_b;
    float alpha, beta;
};

struct place {
    int row, column, matrix;
};

static inline place place_of(const params &p, int tile)
{
    int area = p.tiles_m * p.tiles_n, in = tile % area, band = in / (BAND * p.tiles_n), first = band * BAND;
    int rows = min(p.tiles_m - first, (int)BAND), rest = in - band * BAND * p.tiles_n;
    place at;
    at.matrix = tile / area;
    at.row = (first + rest % rows) * ROWS;
    at.column = rest / rows * COLUMNS;
    return at;
}

static inline void produce(const tensor_map *a, const tensor_map *b, const params &p, u32 tiles, u32 full, u32 empty)
{
    u32 stage = 0, phase = 1;
    int total = p.tiles_m * p.tiles_n * p.batch;
    for (int tile = blockIdx.x; tile < total; tile += gridDim.x) {
        place at = place_of(p, tile);
        int za = p.repeat_a ? 0 : at.matrix, zb = p.repeat_b ? 0 : at.matrix;
        for (int t = 0; t < p.depth_tiles; t++) {
            u32 to = tiles + stage * STAGE_BYTES, ready = full + stage * 8;
            barrier_wait(empty + stage * 8, phase);
            barrier_expect(ready, STAGE_BYTES);
            int inner = t * DEPTH;
            if (A_INNER)
                load_tile(to, a, ready, inner, at.row, za, 0);
            else
                for (int i = 0; i < ROWS / 64; i++)
                    load_tile(to + i * BLOCK_BYTES, a, ready, at.row + i * 64, inner, za, 0);
            to += A_BYTES;
            if (B_INNER)
                load_tile(to, b, ready, inner, at.column, zb, 0);
            else
                for (int i = 0; i < COLUMNS / 64; i++)
                    load_tile(to + i * BLOCK_BYTES, b, ready, at.column + i * 64, inner, zb, 0);
            if (++stage == STAGES) stage = 0, phase ^= 1;
        }
    }
}

static inline void store_sums(const float (&sums)[SUMS], const params &p, const place &at, const OUT *c, OUT *d,
                              const OUT *bias, const OUT *aux)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32 - 4;
    c += at.matrix * p.step_c;
    d += at.matrix * p.step_d;
    aux += at.matrix * p.step_d;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        long long row = at.row + warp * 16 + lane / 4 + half * 8;
        if (row < p.m) {
            OUT *to = d + row * p.row_d;
            const OUT *beside = aux + row * p.row_d;
            const OUT *add = c + row * p.row_c;
#pragma unroll
            for (int j = 0; j < COLUMNS / 8; j++) {
                long long column = at.column + j * 8 + lane % 4 * 2;
                float x = sums[j * 4 + half * 2] * p.alpha, y = sums[j * 4 + half * 2 + 1] * p.alpha;
                if (column < p.n) {
                    if (ADDS) x = __fmaf_rn(p.beta, load_out(add[column]), x);
                    x = finish(x, bias + column, beside + column);
                    bool second = column + 1 < p.n;
                    if (second) {
                        if (ADDS) y = __fmaf_rn(p.beta, load_out(add[column + 1]), y);
                        y = finish(y, bias + column + 1, beside + column + 1);
                    }
                    if (PAIRS && second)
                        store_pair(to + column, x, y);
                    else {
                        store_out(to + column, x);
                        if (second) store_out(to + column + 1, y);
                    }
                }
            }
        }
    }
}

static inline void consume(const params &p, u32 tiles, u32 full, u32 empty, const OUT *c, OUT *d, const OUT *bias,
                           const OUT *aux)
{
    u32 stage = 0, phase = 0, half = (threadIdx.x / 128 - 1) * BLOCK_BYTES;
    int total = p.tiles_m * p.tiles_n * p.batch;
    bool speaks = threadIdx.x % 32 == 0;
    for (int tile = blockIdx.x; tile < total; tile += gridDim.x) {
        float sums[SUMS];
        u32 before = 0;
        for (int t = 0; t < p.depth_tiles; t++) {
            u32 at = tiles + stage * STAGE_BYTES;
            barrier_wait(full + stage * 8, phase);
            products_begin();
#pragma unroll
            for (int i = 0; i < DEPTH / 16; i++)
                multiply(sums, tile_descriptor(at + half + i * A_STEP, BLOCK_BYTES),
                         tile_descriptor(at + A_BYTES + i * B_STEP, BLOCK_BYTES), t + i > 0);
            products_commit();
            /* The tile before this one has been read when only this one's products are left. */
            products_wait<1>();
            if (t > 0 && speaks) barrier_arrive(empty + before * 8);
            before = stage;
            if (++stage == STAGES) stage = 0, phase ^= 1;
        }
        products_wait<0>();
        products_ready(sums);
        if (speaks) barrier_arrive(empty + before * 8);
        store_sums(sums, p, place_of(p, tile), c, d, bias, aux);
    }
}

extern "C" __global__ void __launch_bounds__(384, 1)
    gemm(const __grid_constant__ tensor_map a, const __grid_constant__ tensor_map b, const OUT *c, OUT *d, const OUT *bias,
         const OUT *aux, const __grid_constant__ params p)
{
    extern __shared__ unsigned char memory[];
    __shared__ alignas(8) u64 barriers[2 * STAGES];
    u32 tiles = (shared_address(memory) + 1023) & ~1023u, full = shared_address(barriers), empty = full + STAGES * 8;
    if (threadIdx.x == 0) {
        prefetch_map(&a);
        prefetch_map(&b);
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + i * 8, 1);
            barrier_init(empty + i * 8, 8); /* one arrival for each warp that multiplies */
        }
        barrier_fence();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        give_registers<40>();
        if (threadIdx.x == 0) produce(&a, &b, p, tiles, full, empty);
    } else {
        take_registers<232>();
        consume(p, tiles, full, empty, c, d, bias, aux);
    }
}
