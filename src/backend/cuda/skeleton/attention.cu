/* out = softmax(scale q k') v without scores in memory, f16 or bf16 with sums in f32. A workgroup has 128 queries of one
   head, 64 for each of two warpgroups; a third one loads keys and values. The scores of the next keys are computed while
   the values of the last ones are added up. Before this text stand hopper.cu, attention_terms.cu and:
     SIZE             of a query, key and value: 64 or 128
     CAUSAL, LSE      1 where query i sees keys 0 .. i only, where the logarithms of the sums are wanted
     pack(low, high)  two floats as two elements
     score(sums, q, k, keep)      a product 64 x KEYS x 16, both from shared memory
     gather(sums, p, v, keep)     a product 64 x SIZE x 16, p from registers */
enum {
    QUERIES = 128,
    KEYS = 128,
    STAGES = 2,
    BLOCKS = SIZE / 64, /* of 64 elements, in which rows lie in shared memory */
    BLOCK_BYTES = 128 * 128,
    TILE_BYTES = BLOCKS * BLOCK_BYTES,
    HEADS_AT_ONCE = 16, /* whose keys and values stay in the cache together */
    SCORES = KEYS / 2,
    SUMS = SIZE / 2
};

struct params {
    int queries, keys, heads, batch, ratio, tiles; /* ratio: heads that share a key head */
    float scale;
};

struct place {
    int query, head, batch, blocks; /* blocks of keys to walk over */
};

static inline place place_of(const params &p)
{
    int all = p.heads * p.batch, id = blockIdx.x, group = id / (HEADS_AT_ONCE * p.tiles), rest = id % (HEADS_AT_ONCE * p.tiles);
    int width = min(all - group * HEADS_AT_ONCE, (int)HEADS_AT_ONCE), head = group * HEADS_AT_ONCE + rest % width;
    place at;
    /* The longest walks begin first. */
    at.query = (p.tiles - 1 - rest / width) * QUERIES;
    at.head = head % p.heads;
    at.batch = head / p.heads;
    int seen = CAUSAL ? min(p.keys, at.query + QUERIES) : p.keys;
    at.blocks = (seen + KEYS - 1) / KEYS;
    return at;
}

struct barriers {
    u32 query, key_full, key_empty, value_full, value_empty;
};

static inline void load_rows(u32 to, const tensor_map *map, u32 ready, int row, int head, int batch)
{
    barrier_expect(ready, TILE_BYTES);
    for (int i = 0; i < BLOCKS; i++) load_tile(to + i * BLOCK_BYTES, map, ready, i * 64, row, head, batch);
}

static inline void produce(const tensor_map *q, const tensor_map *k, const tensor_map *v, const params &p, const place &at,
                           u32 memory, const barriers &b)
{
    int head = at.head / p.ratio;
    u32 keys = memory + TILE_BYTES, values = keys + STAGES * TILE_BYTES;
    load_rows(memory, q, b.query, at.query, at.head, at.batch);
    for (int i = 0; i <= at.blocks; i++) {
        if (i < at.blocks) {
            u32 stage = i % STAGES, turn = i / STAGES;
            barrier_wait(b.key_empty + stage * 8, (turn & 1) ^ 1);
            load_rows(keys + stage * TILE_BYTES, k, b.key_full + stage * 8, i * KEYS, head, at.batch);
        }
        if (i > 0) {
            u32 stage = (i - 1) % STAGES, turn = (i - 1) / STAGES;
            barrier_wait(b.value_empty + stage * 8, (turn & 1) ^ 1);
            load_rows(values + stage * TILE_BYTES, v, b.value_full + stage * 8, (i - 1) * KEYS, head, at.batch);
        }
    }
}

/* How scores lie in the registers of a thread: s[4 j + 2 half + k] is that of query `query` + 8 half and key `first` + 8 j +
   2 (lane mod 4) + k, where `query` is the tile's first one + 64 group + 16 warp + lane / 4. */

/* Adds the bias to scores, which are then those of powers of 2, and hides what the mask does. */
static inline void adjust(float (&s)[SCORES], const params &p, const terms &t, const place &at, int query, int first)
{
    int column = first + threadIdx.x % 4 * 2;
    const unsigned char *mask = t.mask + at.batch * t.mask_steps[0] + at.head * t.mask_steps[1];
    const unsigned short *bias = t.bias + at.batch * t.bias_steps[0] + at.head * t.bias_steps[1];
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int row = query + half * 8;
        bool there = row < p.queries;
        const unsigned char *seen = mask + (MASK_ROWS ? row * t.mask_steps[2] : 0) + column * t.mask_steps[3];
        const unsigned short *added = bias + row * t.bias_steps[2] + column * t.bias_steps[3];
#pragma unroll
        for (int j = 0; j < SCORES / 4; j++) {
            bool inside[2] = {column + j * 8 < p.keys, column + j * 8 + 1 < p.keys};
            u32 sees = 0, adds = 0;
            if (MASK && (there || !MASK_ROWS)) {
                if (MASK_PAIR) {
                    if (inside[0]) sees = *(const unsigned short *)(seen + j * 8);
                } else {
                    if (inside[0]) sees = seen[j * 8 * t.mask_steps[3]];
                    if (inside[1]) sees |= (u32)seen[(j * 8 + 1) * t.mask_steps[3]] << 8;
                }
            }
            if (BIAS && there) {
                if (BIAS_PAIR) {
                    if (inside[0]) adds = *(const u32 *)(added + j * 8);
                } else {
                    if (inside[0]) adds = added[j * 8 * t.bias_steps[3]];
                    if (inside[1]) adds |= (u32)added[(j * 8 + 1) * t.bias_steps[3]] << 16;
                }
            }
#pragma unroll
            for (int k = 0; k < 2; k++) {
                float &x = s[j * 4 + half * 2 + k];
                if (BIAS) x = __fmaf_rn(from_element((unsigned short)(adds >> k * 16)), LOG2_OF_E, x * p.scale);
                if (MASK && !(sees >> k * 8 & 255)) x = -INFINITY_VALUE;
            }
        }
    }
}

/* Which weights stay: bit 2 j + k of word `half` is that of s[4 j + 2 half + k]. The four keys of a block of the generator belong to
   two neighbouring lanes; the even one draws for query `query`, the odd one for `query` + 8, and they exchange halves. */
static inline void draw(u32 (&kept)[2], const params &p, const terms &t, const place &at, int query, int first)
{
    int lane = threadIdx.x % 32, odd = lane & 1;
    u32 key0 = t.draws[0], key1 = t.draws[1], own = 0, other = 0;
    u64 line = ((u64)at.batch * p.heads + at.head) * p.queries + query + odd * 8;
    u64 block = line * (u32)(p.keys / 4) + (u32)((first + (lane & 2) * 2) / 4);
#pragma unroll
    for (int j = 0; j < SCORES / 4; j++) {
        u32 words[4];
        philox(key0, key1, block + j * 2, words);
        u32 low = (words[0] >= t.threshold) | (words[1] >= t.threshold) << 1;
        u32 high = (words[2] >= t.threshold) | (words[3] >= t.threshold) << 1;
        own |= (odd ? high : low) << j * 2;
        other |= (odd ? low : high) << j * 2;
    }
    other = __shfl_xor_sync(0xffffffff, other, 1);
    kept[0] = odd ? other : own;
    kept[1] = odd ? own : other;
}

static inline void drop(float (&s)[SCORES], const u32 (&kept)[2])
{
#pragma unroll
    for (int i = 0; i < SCORES; i++)
        if (!(kept[i % 4 / 2] >> (i / 4 * 2 + i % 2) & 1)) s[i] = 0;
}

/* Scores of hidden keys become -inf. */
static inline void hide(float (&s)[SCORES], const params &p, int query, int first)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < SCORES; i++) {
        int key = first + i / 4 * 8 + lane % 4 * 2 + i % 2, row = query + i % 4 / 2 * 8;
        if (key >= p.keys || (CAUSAL && key > row)) s[i] = -INFINITY_VALUE;
    }
}

static inline float exp2_of(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
static inline float log2_of(float x)
{
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* The scores become exponentials against the new maxima; `shrink` is what earlier sums are to be multiplied by. */
static inline void exponentials(float (&s)[SCORES], float scale, float (&most)[2], float (&total)[2], float (&shrink)[2])
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        float highest = most[half];
#pragma unroll
        for (int i = 0; i < SCORES / 4; i++) highest = fmaxf(highest, fmaxf(s[i * 4 + half * 2], s[i * 4 + half * 2 + 1]));
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffff, highest, 1));
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffff, highest, 2));
        /* A row that has seen nothing yet keeps zeros instead of NaN. */
        float base = highest == -INFINITY_VALUE ? 0 : highest * scale, sum = 0;
        shrink[half] = exp2_of(__fmaf_rn(most[half], scale, -base));
        most[half] = highest;
#pragma unroll
        for (int i = 0; i < SCORES / 4; i++) {
#pragma unroll
            for (int k = 0; k < 2; k++) {
                float e = exp2_of(__fmaf_rn(s[i * 4 + half * 2 + k], scale, -base));
                s[i * 4 + half * 2 + k] = e;
                sum += e;
            }
        }
        total[half] = __fmaf_rn(total[half], shrink[half], sum);
    }
}

/* Sixteen keys of the exponentials as the left operand of a product: exactly how the scores lie in registers. */
static inline void pack_all(const float (&s)[SCORES], u32 (&packed)[KEYS / 16][4])
{
#pragma unroll
    for (int i = 0; i < KEYS / 16; i++)
#pragma unroll
        for (int k = 0; k < 4; k++) packed[i][k] = pack(s[i * 8 + k * 2], s[i * 8 + k * 2 + 1]);
}

static inline void score_all(float (&s)[SCORES], u32 query, u32 key)
{
#pragma unroll
    for (int i = 0; i < SIZE / 16; i++) {
        u32 step = i / 4 * BLOCK_BYTES + i % 4 * 32;
        score(s, tile_descriptor(query + step, 0), tile_descriptor(key + step, 0), i > 0);
    }
    products_commit();
}

static inline void gather_all(float (&sums)[SUMS], const u32 (&packed)[KEYS / 16][4], u32 value, int keep)
{
#pragma unroll
    for (int i = 0; i < KEYS / 16; i++)
        gather(sums, packed[i], tile_descriptor(value + i * 16 * 128, BLOCK_BYTES), keep || i > 0);
    products_commit();
}

static inline void store_rows(const float (&sums)[SUMS], const params &p, const terms &t, const place &at, int query,
                              float scale, float (&most)[2], float (&total)[2], unsigned short *out, float *lse)
{
    int lane = threadIdx.x % 32;
    long long head = (long long)at.batch * p.heads + at.head;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int row = query + half * 8;
        float sum = total[half];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        float inverse = sum == 0 ? 0 : __frcp_rn(sum);
        if (DROPS) inverse *= t.kept;
        if (row < p.queries) {
            long long first = (head * p.queries + row) * SIZE + lane % 4 * 2;
#pragma unroll
            for (int i = 0; i < SIZE / 8; i++)
                *(u32 *)(out + first + i * 8) = pack(sums[i * 4 + half * 2] * inverse, sums[i * 4 + half * 2 + 1] * inverse);
            if (LSE && lane % 4 == 0)
                lse[head * p.queries + row] =
                    (MASK || BIAS) && sum == 0 ? 0 : __fmaf_rn(most[half], scale, log2_of(sum)) * 0.69314718056f;
        }
    }
}

static inline void consume(const params &p, const terms &t, const place &at, u32 memory, const barriers &b, unsigned short *out,
                           float *lse)
{
    int group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    int query = at.query + group * 64 + warp * 16 + lane / 4;
    u32 queries = memory + group * 64 * 128, keys = memory + TILE_BYTES, values = keys + STAGES * TILE_BYTES;
    float s[SCORES], sums[SUMS], most[2] = {-INFINITY_VALUE, -INFINITY_VALUE}, total[2] = {0, 0}, shrink[2];
    u32 packed[KEYS / 16][4], kept[2];
    float scale = BIAS ? 1 : p.scale;
    bool speaks = lane == 0;
    barrier_wait(b.query, 0);
    barrier_wait(b.key_full, 0);
    products_begin();
    score_all(s, queries, keys);
    if (DROPS) draw(kept, p, t, at, query, 0);
    products_wait<0>();
    products_ready(s);
    if (speaks) barrier_arrive(b.key_empty);
    /* Only the last block of keys, and the one on the diagonal, have hidden ones. */
    int open = CAUSAL ? at.query / KEYS : p.keys / KEYS;
    if (MASK || BIAS) adjust(s, p, t, at, query, 0);
    if (open == 0 || at.blocks == 1) hide(s, p, query, 0);
    exponentials(s, scale, most, total, shrink);
    if (DROPS) drop(s, kept);
    pack_all(s, packed);
    for (int i = 1; i < at.blocks; i++) {
        u32 stage = i % STAGES, phase = i / STAGES & 1, last = (i - 1) % STAGES, last_phase = (i - 1) / STAGES & 1;
        barrier_wait(b.key_full + stage * 8, phase);
        products_begin();
        score_all(s, queries, keys + stage * TILE_BYTES);
        barrier_wait(b.value_full + last * 8, last_phase);
        gather_all(sums, packed, values + last * TILE_BYTES, i > 1);
        if (DROPS) draw(kept, p, t, at, query, i * KEYS);
        products_wait<1>();
        products_ready(s);
        if (speaks) barrier_arrive(b.key_empty + stage * 8);
        if (MASK || BIAS) adjust(s, p, t, at, query, i * KEYS);
        if (i >= open || i + 1 == at.blocks) hide(s, p, query, i * KEYS);
        exponentials(s, scale, most, total, shrink);
        if (DROPS) drop(s, kept);
        products_wait<0>();
        products_ready(sums);
        if (speaks) barrier_arrive(b.value_empty + last * 8);
#pragma unroll
        for (int k = 0; k < SUMS; k++) sums[k] *= shrink[k % 4 / 2];
        pack_all(s, packed);
    }
    u32 last = (at.blocks - 1) % STAGES, last_phase = (at.blocks - 1) / STAGES & 1;
    barrier_wait(b.value_full + last * 8, last_phase);
    products_begin();
    gather_all(sums, packed, values + last * TILE_BYTES, at.blocks > 1);
    products_wait<0>();
    products_ready(sums);
    store_rows(sums, p, t, at, query, scale, most, total, out, lse);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    attention(const __grid_constant__ tensor_map q, const __grid_constant__ tensor_map k, const __grid_constant__ tensor_map v,
              unsigned short *out, float *lse, const __grid_constant__ params p, const __grid_constant__ terms t)
{
    extern __shared__ unsigned char shared[];
    __shared__ alignas(8) u64 cells[1 + 4 * STAGES];
    u32 memory = (shared_address(shared) + 1023) & ~1023u, first = shared_address(cells);
    barriers b = {first, first + 8, first + 8 + STAGES * 8, first + 8 + STAGES * 16, first + 8 + STAGES * 24};
    place at = place_of(p);
    if (threadIdx.x == 0) {
        barrier_init(b.query, 1);
        for (int i = 0; i < STAGES; i++) {
            barrier_init(b.key_full + i * 8, 1);
            barrier_init(b.value_full + i * 8, 1);
            barrier_init(b.key_empty + i * 8, 8); /* one arrival for each warp that multiplies */
            barrier_init(b.value_empty + i * 8, 8);
        }
        barrier_fence();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        give_registers<24>();
        if (threadIdx.x == 0) produce(&q, &k, &v, p, at, memory, b);
    } else {
        take_registers<240>();
        consume(p, t, at, memory, b, out, lse);
    }
}
