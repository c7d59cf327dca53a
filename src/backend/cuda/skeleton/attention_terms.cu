/* What attention adds to scores, hides of them and drops of the weights. Before this text stand hopper.cu, from_element(bits) and:
     MASK, BIAS, DROPS    1 where there is one
     MASK_ROWS            1 where the mask differs from query to query
     MASK_PAIR, BIAS_PAIR 1 where two neighbouring keys can be read at once: they are dense, their number and all other steps are even
     SLOPES               1 where the gradient by the biased scores is wanted too
   Dropout needs a number of keys that is a multiple of four: block b of Philox is that of elements 4 b .. 4 b + 3 of the weights
   [batch, heads, queries, keys], four keys of one query. */
#define LOG2_OF_E 1.44269504089f

struct terms {
    const unsigned char *mask;  /* a byte for each element: 0 hides */
    const unsigned short *bias;
    const u32 *draws; /* the key of the generator */
    float *slopes;    /* [batch, heads, queries, keys] */
    long long mask_steps[4], bias_steps[4];
    u32 threshold; /* smaller draws drop */
    float kept;    /* what remains is multiplied by it */
};

static inline void philox(u32 key0, u32 key1, u64 block, u32 (&words)[4])
{
    u32 c0 = (u32)block, c1 = (u32)(block >> 32), c2 = 0, c3 = 0;
#pragma unroll
    for (int i = 0; i < 10; i++) {
        u64 a = (u64)c0 * 0xd2511f53u, b = (u64)c2 * 0xcd9e8d57u;
        c0 = (u32)(b >> 32) ^ c1 ^ key0;
        c1 = (u32)b;
        c2 = (u32)(a >> 32) ^ c3 ^ key1;
        c3 = (u32)a;
        key0 += 0x9e3779b9u;
        key1 += 0xbb67ae85u;
    }
    words[0] = c0;
    words[1] = c1;
    words[2] = c2;
    words[3] = c3;
}
