/* The gradient of attention without scores in memory. A workgroup has 128 keys of a key head, 64 for each of two
   warpgroups, and walks over the queries that see them, 64 at a time; a third warpgroup loads. Scores are computed
   turned, keys by queries, so that they are the left operand of the products for dv and dk as they lie in registers;
   ds also goes through shared memory for dq, which is added up in device memory. Before this text stand hopper.cu,
   attention_terms.cu and:
     SIZE, CAUSAL     as in attention.cu
     pack(low, high)  two floats as two elements
     score(sums, a, b, keep)   64 x 64 x 16, both from shared memory
     gather(sums, a, b, keep)  64 x SIZE x 16, a from registers, b not along the inner axis
     spread(sums, a, b, keep)  64 x 64 x 16, both from shared memory, neither along the inner axis */
enum {
    KEYS = 128,
    QUERIES = 64,
    STAGES = 2,
    BLOCKS = SIZE / 64,
    KEY_BLOCK = KEYS * 128, /* bytes of 64 columns */
    QUERY_BLOCK = QUERIES * 128,
    KEY_BYTES = BLOCKS * KEY_BLOCK,
    QUERY_BYTES = BLOCKS * QUERY_BLOCK,
    STAGE_BYTES = 2 * QUERY_BYTES, /* q and dy */
    DS_BYTES = KEYS * 128,
    HEADS_AT_ONCE = 16,
    SCORES = QUERIES / 2,
    SUMS = SIZE / 2
};

struct params {
    int queries, keys, heads, key_heads, batch, padded, tiles; /* tiles of keys */
    float scale, scale_log2;
};

struct place {
    int key, head, batch, first, blocks, turns; /* blocks of queries from `first` on, for each of the heads */
};

static inline place place_of(const params &p)
{
    int all = p.key_heads * p.batch, id = blockIdx.x, group = id / (HEADS_AT_ONCE * p.tiles);
    int rest = id % (HEADS_AT_ONCE * p.tiles), width = min(all - group * HEADS_AT_ONCE, (int)HEADS_AT_ONCE);
    int head = group * HEADS_AT_ONCE + rest % width;
    place at;
    at.key = rest / width * KEYS; /* the first keys are seen by most */
    at.head = head % p.key_heads;
    at.batch = head / p.key_heads;
    at.first = CAUSAL && !SLOPES ? at.key / QUERIES : 0; /* hidden ones have slopes of 0 */
    at.blocks = max((p.queries + QUERIES - 1) / QUERIES - at.first, 0);
    at.turns = at.blocks * (p.heads / p.key_heads);
    return at;
}

struct barriers {
    u32 keys, full, empty;
};

static inline void produce(const tensor_map *q, const tensor_map *k, const tensor_map *v, const tensor_map *dy, const params &p,
                           const place &at, u32 memory, const barriers &b)
{
    u32 stages = memory + 2 * KEY_BYTES;
    int ratio = p.heads / p.key_heads;
    barrier_expect(b.keys, 2 * KEY_BYTES);
    for (int i = 0; i < BLOCKS; i++) {
        load_tile(memory + i * KEY_BLOCK, k, b.keys, i * 64, at.key, at.head, at.batch);
        load_tile(memory + KEY_BYTES + i * KEY_BLOCK, v, b.keys, i * 64, at.key, at.head, at.batch);
    }
    for (int turn = 0; turn < at.turns; turn++) {
        u32 stage = turn % STAGES, phase = turn / STAGES & 1, to = stages + stage * STAGE_BYTES, ready = b.full + stage * 8;
        int head = at.head * ratio + turn / at.blocks, row = (at.first + turn % at.blocks) * QUERIES;
        barrier_wait(b.empty + stage * 8, phase ^ 1);
        barrier_expect(ready, STAGE_BYTES);
        for (int i = 0; i < BLOCKS; i++) {
            load_tile(to + i * QUERY_BLOCK, q, ready, i * 64, row, head, at.batch);
            load_tile(to + QUERY_BYTES + i * QUERY_BLOCK, dy, ready, i * 64, row, head, at.batch);
        }
    }
}

static inline float exp2_of(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 64 keys of this warpgroup by 64 queries, over the whole SIZE. */
static inline void score_all(float (&s)[SCORES], u32 keys, u32 queries)
{
#pragma unroll
    for (int i = 0; i < SIZE / 16; i++)
        score(s, tile_descriptor(keys + i / 4 * KEY_BLOCK + i % 4 * 32, 0),
              tile_descriptor(queries + i / 4 * QUERY_BLOCK + i % 4 * 32, 0), i > 0);
    products_commit();
}

static inline void gather_all(float (&sums)[SUMS], const u32 (&packed)[QUERIES / 16][4], u32 rows)
{
#pragma unroll
    for (int i = 0; i < QUERIES / 16; i++)
        gather(sums, packed[i], tile_descriptor(rows + i * 16 * 128, QUERY_BLOCK), 1);
    products_commit();
}

static inline void pack_all(const float (&s)[SCORES], u32 (&packed)[QUERIES / 16][4])
{
#pragma unroll
    for (int i = 0; i < QUERIES / 16; i++)
#pragma unroll
        for (int k = 0; k < 4; k++) packed[i][k] = pack(s[i * 8 + k * 2], s[i * 8 + k * 2 + 1]);
}

/* How turned scores lie in the registers of a thread: s[4 j + k] is that of query `query` + 8 j + k mod 2 and key `key` + 8 (k / 2),
   where `query` is the tile's first one + 2 (lane mod 4) and `key` the tile's first one + 64 group + 16 warp + lane / 4. */

/* The bias of the scores in powers of 2. */
static inline void read_bias(float (&added)[SCORES], const params &p, const terms &t, int batch, int head, int query, int key)
{
    const unsigned short *bias =
        t.bias + batch * t.bias_steps[0] + head * t.bias_steps[1] + query * t.bias_steps[2] + key * t.bias_steps[3];
#pragma unroll
    for (int i = 0; i < SCORES; i++) {
        int row = i / 4 * 8 + i % 2, column = i % 4 / 2 * 8;
        bool inside = query + row < p.queries && key + column < p.keys;
        added[i] = inside ? from_element(bias[row * t.bias_steps[2] + column * t.bias_steps[3]]) * LOG2_OF_E : 0;
    }
}

/* Bit i: the mask shows the key of s[i] to its query. */
static inline u32 read_mask(const params &p, const terms &t, int batch, int head, int query, int key)
{
    const unsigned char *mask =
        t.mask + batch * t.mask_steps[0] + head * t.mask_steps[1] + query * t.mask_steps[2] + key * t.mask_steps[3];
    u32 seen = 0;
    if (!MASK_ROWS) {
        if (key < p.keys && mask[0]) seen |= 0x33333333u;
        if (key + 8 < p.keys && mask[8 * t.mask_steps[3]]) seen |= 0xccccccccu;
        return seen;
    }
#pragma unroll
    for (int i = 0; i < SCORES; i++) {
        int row = i / 4 * 8 + i % 2, column = i % 4 / 2 * 8;
        bool inside = query + row < p.queries && key + column < p.keys;
        if (inside && mask[row * t.mask_steps[2] + column * t.mask_steps[3]]) seen |= 1u << i;
    }
    return seen;
}

/* Where drawn() tells of s[i]. */
static constexpr int draw_of(int i) { return i / 4 % 4 * 8 + i / 16 * 4 + i % 4; }

/* Which weights stay, a bit for each. `row`: the tile's first query, `first`: the warp's first key. A block of the generator has four
   keys of a query, which belong to four lanes: those of one lane mod 4 and one half of the warp. Each of them draws for a quarter
   of their 32 blocks, number `part` for those of j mod 4 = part, byte w holding the eight draws of word w; each then takes its own
   word's byte of all four. */
static inline u32 drawn(const params &p, const terms &t, int batch, int head, int row, int first)
{
    int lane = threadIdx.x % 32, part = lane / 4 % 4;
    u32 key0 = t.draws[0], key1 = t.draws[1], mine = 0, all = 0;
    u64 line = ((u64)batch * p.heads + head) * p.queries + row + lane % 4 * 2 + part * 8;
    u32 quads = p.keys / 4, quad = (first + (lane & 16) / 4) / 4;
#pragma unroll
    for (int m = 0; m < SCORES / 4; m++) {
        u32 words[4];
        philox(key0, key1, (line + m / 4 * 32 + m % 2) * quads + quad + m % 4 / 2 * 2, words);
#pragma unroll
        for (int w = 0; w < 4; w++) mine |= (u32)(words[w] >= t.threshold) << (w * 8 + m);
    }
#pragma unroll
    for (int source = 0; source < 4; source++) {
        u32 theirs = __shfl_sync(0xffffffff, mine, (lane & 19) | source << 2);
        all |= (theirs >> part * 8 & 255) << source * 8;
    }
    return all;
}

/* The scores become weights. `query` and `key` are those of the thread's first element. */
static inline void weigh(float (&s)[SCORES], const params &p, const float *logs, int query, int key, bool hides,
                         const float (&added)[SCORES], u32 seen)
{
#pragma unroll
    for (int j = 0; j < QUERIES / 8; j++) {
        float2 log = *(const float2 *)(logs + j * 8);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float less = k % 2 ? log.y : log.x;
            if (BIAS) less -= added[j * 4 + k];
            float e = exp2_of(__fmaf_rn(s[j * 4 + k], p.scale_log2, -less));
            int at = key + k / 2 * 8;
            if (hides && (at >= p.keys || (CAUSAL && at > query + j * 8 + k % 2))) e = 0;
            if (MASK && !(seen >> (j * 4 + k) & 1)) e = 0;
            s[j * 4 + k] = e;
        }
    }
}

/* ds, but for the scale. */
static inline void differ(float (&dp)[SCORES], const float (&s)[SCORES], const float *dots, u32 kept, float factor)
{
#pragma unroll
    for (int j = 0; j < QUERIES / 8; j++) {
        float2 dot = *(const float2 *)(dots + j * 8);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (DROPS) dp[j * 4 + k] = kept >> draw_of(j * 4 + k) & 1 ? dp[j * 4 + k] * factor : 0;
            dp[j * 4 + k] = s[j * 4 + k] * (dp[j * 4 + k] - (k % 2 ? dot.y : dot.x));
        }
    }
}

/* Packs the weights that stay. */
static inline void pack_kept(const float (&s)[SCORES], u32 (&packed)[QUERIES / 16][4], u32 kept)
{
#pragma unroll
    for (int i = 0; i < QUERIES / 16; i++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            int at = i * 8 + k * 2;
            packed[i][k] = pack(kept >> draw_of(at) & 1 ? s[at] : 0, kept >> draw_of(at + 1) & 1 ? s[at + 1] : 0);
        }
}

static inline void store_slopes(const float (&ds)[SCORES], const params &p, const terms &t, int batch, int head, int query, int key)
{
    float *to = t.slopes + (((long long)batch * p.heads + head) * p.queries + query) * p.keys + key;
#pragma unroll
    for (int i = 0; i < SCORES; i++) {
        int row = i / 4 * 8 + i % 2, column = i % 4 / 2 * 8;
        if (query + row < p.queries && key + column < p.keys) to[(long long)row * p.keys + column] = ds[i];
    }
}

/* Rows are keys, 128 bytes of queries each, swizzled as the tensor cores read them. */
static inline void store_ds(const u32 (&packed)[QUERIES / 16][4], u32 to)
{
    int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane / 4;
#pragma unroll
    for (int i = 0; i < QUERIES / 16; i++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            u32 chunk = i * 2 + k / 2, line = row + k % 2 * 8;
            u32 at = to + line * 128 + ((chunk ^ (line & 7)) << 4) + lane % 4 * 4;
            asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(packed[i][k]) : "memory");
        }
    store_fence();
}

static inline void add_pair(float *to, float x, float y)
{
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(x), "f"(y) : "memory");
}

/* Half of the columns of dq over all keys, or all columns over this warpgroup's keys when there are 64 columns only. */
static inline void spread_all(float (&sums)[SCORES], u32 ds, u32 keys, int group)
{
    const int first = BLOCKS == 2 ? 0 : 64, steps = BLOCKS == 2 ? KEYS / 16 : 4;
    u32 column = BLOCKS == 2 ? group * KEY_BLOCK : 0, row = BLOCKS == 2 ? 0 : group * first * 128;
#pragma unroll
    for (int i = 0; i < steps; i++)
        spread(sums, tile_descriptor(ds + row + i * 16 * 128, 0), tile_descriptor(keys + column + row + i * 16 * 128, 0), i > 0);
    products_commit();
}

static inline void add_dq(const float (&sums)[SCORES], float *to)
{
    int lane = threadIdx.x % 32;
    to += (threadIdx.x / 32 % 4 * 16 + lane / 4) * SIZE + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < SCORES / 4; i++) {
        add_pair(to + i * 8, sums[i * 4], sums[i * 4 + 1]);
        add_pair(to + 8 * SIZE + i * 8, sums[i * 4 + 2], sums[i * 4 + 3]);
    }
}

static inline void store_rows(const float (&sums)[SUMS], const params &p, const place &at, int key, float scale,
                              unsigned short *to)
{
    long long head = (long long)at.batch * p.key_heads + at.head;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        int row = key + half * 8;
        if (row < p.keys) {
            unsigned short *line = to + (head * p.keys + row) * SIZE + threadIdx.x % 4 * 2;
#pragma unroll
            for (int i = 0; i < SIZE / 8; i++)
                *(u32 *)(line + i * 8) = pack(sums[i * 4 + half * 2] * scale, sums[i * 4 + half * 2 + 1] * scale);
        }
    }
}

static inline void consume(const params &p, const terms &t, const place &at, u32 memory, const barriers &b, const float *logs,
                           const float *dots, float *wide, unsigned short *dk, unsigned short *dv)
{
    int group = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32, ratio = p.heads / p.key_heads;
    int key = at.key + group * 64 + warp * 16 + lane / 4;
    u32 values = memory + KEY_BYTES, stages = memory + 2 * KEY_BYTES, ds = stages + STAGES * STAGE_BYTES;
    float sums_k[SUMS], sums_v[SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; i++) sums_k[i] = sums_v[i] = 0;
    barrier_wait(b.keys, 0);
    for (int turn = 0; turn < at.turns; turn++) {
        u32 stage = turn % STAGES, phase = turn / STAGES & 1, q = stages + stage * STAGE_BYTES, dy = q + QUERY_BYTES;
        int row = (at.first + turn % at.blocks) * QUERIES, head = at.head * ratio + turn / at.blocks;
        long long line = ((long long)at.batch * p.heads + head) * p.padded + row;
        u32 packed[QUERIES / 16][4], packed_ds[QUERIES / 16][4], mine = ds + turn % 2 * DS_BYTES;
        float s[SCORES], dp[SCORES], added[SCORES];
        u32 seen = 0, kept = 0;
        barrier_wait(b.full + stage * 8, phase);
        products_begin();
        score_all(s, memory + group * 64 * 128, q);
        score_all(dp, values + group * 64 * 128, dy);
        if (BIAS) read_bias(added, p, t, at.batch, head, row + lane % 4 * 2, key);
        if (MASK) seen = read_mask(p, t, at.batch, head, row + lane % 4 * 2, key);
        if (DROPS) kept = drawn(p, t, at.batch, head, row, key - lane / 4);
        products_wait<1>();
        products_ready(s);
        weigh(s, p, logs + line + lane % 4 * 2, row + lane % 4 * 2, key,
              at.key + KEYS > p.keys || (CAUSAL && row < at.key + KEYS), added, seen);
        if (DROPS)
            pack_kept(s, packed, kept);
        else
            pack_all(s, packed);
        products_wait<0>();
        products_ready(dp);
        products_begin();
        gather_all(sums_v, packed, dy);
        differ(dp, s, dots + line + lane % 4 * 2, kept, t.kept);
        if (SLOPES) store_slopes(dp, p, t, at.batch, head, row + lane % 4 * 2, key);
        pack_all(dp, packed_ds);
        store_ds(packed_ds, mine + group * 64 * 128);
        /* Both halves of ds are there; and whoever comes here has done with the other buffer. */
        asm volatile("bar.sync 1, 256;" ::: "memory");
        products_begin();
        spread_all(s, mine, memory, group);
        gather_all(sums_k, packed_ds, q);
        products_wait<1>();
        products_ready(s);
        add_dq(s, wide + line * SIZE + (BLOCKS == 2 ? group * 64 : 0));
        products_wait<0>();
        products_ready(sums_v);
        products_ready(sums_k);
        if (lane == 0) barrier_arrive(b.empty + stage * 8);
    }
    store_rows(sums_k, p, at, key, p.scale, dk);
    store_rows(sums_v, p, at, key, DROPS ? t.kept : 1, dv);
}

extern "C" __global__ void __launch_bounds__(384, 1)
    attention_grad(const __grid_constant__ tensor_map q, const __grid_constant__ tensor_map k,
                   const __grid_constant__ tensor_map v, const __grid_constant__ tensor_map dy, const float *logs,
                   const float *dots, float *wide, unsigned short *dk, unsigned short *dv, const __grid_constant__ params p,
                   const __grid_constant__ terms t)
{
    extern __shared__ unsigned char shared[];
    __shared__ alignas(8) u64 cells[1 + 2 * STAGES];
    u32 memory = (shared_address(shared) + 1023) & ~1023u, first = shared_address(cells);
    barriers b = {first, first + 8, first + 8 + STAGES * 8};
    place at = place_of(p);
    if (threadIdx.x == 0) {
        barrier_init(b.keys, 1);
        for (int i = 0; i < STAGES; i++) {
            barrier_init(b.full + i * 8, 1);
            barrier_init(b.empty + i * 8, 8); /* one arrival for each warp that multiplies */
        }
        barrier_fence();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        give_registers<24>();
        if (threadIdx.x == 0) produce(&q, &k, &v, &dy, p, at, memory, b);
    } else {
        take_registers<240>();
        consume(p, t, at, memory, b, logs, dots, wide, dk, dv);
    }
}
