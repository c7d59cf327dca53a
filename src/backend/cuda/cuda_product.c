/* Matrix products by cuBLASLt. Its matrices are column-major: a row-major product d = a b is its product of the
   transposes, d' = b' a', with the same memory, so operands change places and nothing is moved. Descriptors are kept for each shape,
   and the fastest of the algorithms that the heuristic names. */
#include "backend/cuda/cuda_choice.h"
#include "backend/cuda/cuda_hopper.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include "core/reproducible.h"
#include <string.h>

enum { SETS = 256, WAYS = 2, TRIED = 8 /* algorithms of a product that are timed */ };

/* Of cublasLt.h. */
enum {
    LT_F32 = 0,
    LT_F64 = 1,
    LT_F16 = 2,
    LT_BF16 = 14,
    LT_COMPUTE_32F = 68,
    LT_COMPUTE_64F = 70,
    LT_COMPUTE_TF32 = 77,
    LT_DESC_TRANSPOSE_A = 3,
    LT_DESC_TRANSPOSE_B = 4,
    LT_DESC_EPILOGUE = 7,
    LT_DESC_BIAS = 8,
    LT_DESC_AUX = 11,
    LT_DESC_AUX_LEADING = 12,
    LT_DESC_AUX_STEP = 13,
    LT_LAYOUT_BATCH = 5,
    LT_LAYOUT_STEP = 6,
    LT_PREFERENCE_WORKSPACE = 1,
    LT_PREFERENCE_REDUCTION = 3,
    LT_REDUCTION_WIDE = 2, /* parts of a sum are kept in the compute type, not rounded to the output's */
    LT_REDUCTION_ANY = 7,
    LT_PREFERENCE_ALIGNMENT = 5 /* of a; b, c and d follow */
};

/* All that a choice depends on; compared as bytes. */
typedef struct product_key {
    int64_t m, n, k, batch, row_a, row_b, row_c, row_d, step_a, step_b, step_c, step_d;
    uint8_t dtype, out_dtype, transpose_a, transpose_b, tf32, epilogue, adds, spare;
    uint32_t alignments[6]; /* of the operands as the library sees them, the bias and the other matrix */
} product_key;

typedef struct lt_algorithm {
    uint64_t bits[8];
    size_t workspace;
} lt_algorithm;

/* The library's descriptors of one key; `first` is our b. */
typedef struct product_entry {
    product_key key;
    void *desc, *first, *second, *c, *d;
    lt_algorithm choices[TRIED]; /* the first one is run */
    int n_choices;
    uint64_t used;  /* when; 0: free */
    bool supported; /* false: the library has none for this key */
} product_entry;

struct kni_cuda_products {
    const kni_cuda_product_api *api;
    void *handle, *workspace;
    uint64_t clock;
    bool times; /* not with KN_PRODUCT_TIME=off */
    product_entry entries[SETS][WAYS];
};

/* ---- keys */

/* -1 where the library has no such type. */
static int library_type(int dtype)
{
    static const int16_t types[KN_DTYPE_COUNT] = {
        [KN_F32] = LT_F32 + 1, [KN_F64] = LT_F64 + 1, [KN_F16] = LT_F16 + 1, [KN_BF16] = LT_BF16 + 1};
    return types[dtype] - 1;
}

static kni_runtime_address address_of(const kni_place *place, int dtype)
{
    return kni_runtime_at(place->memory, (size_t)place->offset * kni_bytes_of(dtype));
}

static uint32_t alignment_of(kni_runtime_address address)
{
    uint32_t bytes = 256;
    while (address % bytes) bytes /= 2;
    return bytes;
}

/* One stored row needs no distance to the next. */
static int64_t leading(int64_t row, int64_t rows, int64_t columns)
{
    return rows == 1 && row < columns ? columns : row;
}

static bool types_known(const kni_product *p)
{
    /* Its gelu of f64 is no better than one of f32. */
    if (p->dtype == KN_F64 && p->epilogue & (KNI_EPILOGUE_GELU | KNI_EPILOGUE_GELU_GRAD)) return false;
    if (p->dtype == p->out_dtype) return library_type(p->dtype) >= 0;
    return kni_is_half(p->dtype) && p->out_dtype == KN_F32;
}

static bool has_aux(int epilogue) { return epilogue & KNI_EPILOGUE_GELU_GRAD; }

/* 0 where the epilogue has none. */
static kni_runtime_address bias_of(const kni_product *p)
{
    return p->epilogue & KNI_EPILOGUE_BIAS ? address_of(&p->bias, p->out_dtype) : 0;
}

static kni_runtime_address aux_of(const kni_product *p)
{
    return has_aux(p->epilogue) ? address_of(&p->aux, p->out_dtype) : 0;
}

/* Whether all that a product touches begins at multiples of 16 bytes, the rows and matrices too. */
static bool is_even(const product_key *k)
{
    const int64_t steps[] = {k->row_a,  k->row_b,  k->row_c,  k->row_d,
                             k->step_a, k->step_b, k->step_c, k->step_d};
    int64_t elements = 16 / kni_bytes_of(k->dtype);
    for (int i = 0; i < KNI_COUNT(steps); i++)
        if (steps[i] % elements) return false;
    for (int i = 0; i < 5; i++)
        if (k->alignments[i] < 16) return false;
    return true;
}

/* False where the library cannot take it. */
static bool make_key(const kni_product *p, product_key *key)
{
    memset(key, 0, sizeof *key);
    if (!types_known(p) || p->k < 1 || p->batch > INT32_MAX) return false;
    key->m = p->m, key->n = p->n, key->k = p->k, key->batch = p->batch;
    key->row_a = leading(p->row_a, p->transpose_a ? p->k : p->m, p->transpose_a ? p->m : p->k);
    key->row_b = leading(p->row_b, p->transpose_b ? p->n : p->k, p->transpose_b ? p->k : p->n);
    key->row_d = leading(p->row_d, p->m, p->n);
    key->adds = p->beta != 0;
    key->row_c = key->adds ? leading(p->row_c, p->m, p->n) : key->row_d;
    if (key->row_a < (p->transpose_a ? p->m : p->k) || key->row_b < (p->transpose_b ? p->k : p->n) ||
        key->row_d < p->n || key->row_c < p->n)
        return false;
    if (p->batch > 1) {
        key->step_a = p->step_a, key->step_b = p->step_b, key->step_d = p->step_d;
        key->step_c = key->adds ? p->step_c : p->step_d;
        if (!key->step_d) return false;
    }
    key->dtype = (uint8_t)p->dtype, key->out_dtype = (uint8_t)p->out_dtype;
    key->transpose_a = p->transpose_a, key->transpose_b = p->transpose_b;
    key->tf32 = p->tf32 && p->dtype == KN_F32, key->epilogue = (uint8_t)p->epilogue;
    kni_runtime_address d = address_of(&p->d, p->out_dtype);
    key->alignments[0] = alignment_of(address_of(&p->b, p->dtype));
    key->alignments[1] = alignment_of(address_of(&p->a, p->dtype));
    key->alignments[2] = alignment_of(key->adds ? address_of(&p->c, p->out_dtype) : d);
    key->alignments[3] = alignment_of(d);
    key->alignments[4] = alignment_of(bias_of(p));
    key->alignments[5] = alignment_of(aux_of(p));
    /* Where operands are uneven, the library rounds narrow results before it adds the bias, and again after. */
    if (p->epilogue & KNI_EPILOGUE_BIAS && kni_dtypes[p->out_dtype].bits < 32 && !is_even(key)) return false;
    /* The library's rules for the other matrix. */
    return !has_aux(p->epilogue) || (key->row_d % 8 == 0 && key->step_d % 8 == 0 && key->alignments[5] >= 16);
}

static uint32_t set_of(const product_key *key)
{
    const unsigned char *bytes = (const unsigned char *)key;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < sizeof *key; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return (uint32_t)(hash >> 32) % SETS;
}

/* ---- descriptors */

static void entry_clear(kni_cuda_products *s, product_entry *e)
{
    if (e->desc) (void)s->api->desc_destroy(e->desc);
    void *layouts[] = {e->first, e->second, e->c, e->d};
    for (int i = 0; i < KNI_COUNT(layouts); i++)
        if (layouts[i]) (void)s->api->layout_destroy(layouts[i]);
    memset(e, 0, sizeof *e);
}

static int make_layout(kni_cuda_products *s, void **layout, int dtype, int64_t rows, int64_t columns,
                       int64_t lead, int64_t batch, int64_t step)
{
    int32_t count = (int32_t)batch;
    int result = s->api->layout_create(layout, library_type(dtype), (uint64_t)rows, (uint64_t)columns, lead);
    if (result) *layout = NULL;
    if (!result && batch > 1) result = s->api->layout_set(*layout, LT_LAYOUT_BATCH, &count, sizeof count);
    if (!result && batch > 1) result = s->api->layout_set(*layout, LT_LAYOUT_STEP, &step, sizeof step);
    return result;
}

static int make_desc(kni_cuda_products *s, product_entry *e)
{
    static const int32_t bits[] = {4, 2, 32, 64 | 128}; /* the library's, by ours */
    const product_key *key = &e->key;
    int32_t epilogue = 0;
    for (int i = 0; i < KNI_COUNT(bits); i++)
        if (key->epilogue >> i & 1) epilogue |= bits[i];
    if (!epilogue) epilogue = 1;
    bool wide = key->dtype == KN_F64;
    int compute = wide ? LT_COMPUTE_64F : key->tf32 ? LT_COMPUTE_TF32 : LT_COMPUTE_32F;
    int32_t first = key->transpose_b, second = key->transpose_a;
    int result = s->api->desc_create(&e->desc, compute, wide ? LT_F64 : LT_F32);
    if (result) e->desc = NULL;
    if (!result) result = s->api->desc_set(e->desc, LT_DESC_TRANSPOSE_A, &first, sizeof first);
    if (!result) result = s->api->desc_set(e->desc, LT_DESC_TRANSPOSE_B, &second, sizeof second);
    if (!result) result = s->api->desc_set(e->desc, LT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (!result && has_aux(key->epilogue))
        result = s->api->desc_set(e->desc, LT_DESC_AUX_LEADING, &key->row_d, sizeof key->row_d);
    if (!result && has_aux(key->epilogue) && key->batch > 1)
        result = s->api->desc_set(e->desc, LT_DESC_AUX_STEP, &key->step_d, sizeof key->step_d);
    return result;
}

/* Both operands as stored; the transposes say how they are read. */
static int make_layouts(kni_cuda_products *s, product_entry *e)
{
    const product_key *k = &e->key;
    int result = make_layout(s, &e->first, k->dtype, k->transpose_b ? k->k : k->n,
                             k->transpose_b ? k->n : k->k, k->row_b, k->batch, k->step_b);
    if (!result)
        result = make_layout(s, &e->second, k->dtype, k->transpose_a ? k->m : k->k,
                             k->transpose_a ? k->k : k->m, k->row_a, k->batch, k->step_a);
    if (!result) result = make_layout(s, &e->c, k->out_dtype, k->n, k->m, k->row_c, k->batch, k->step_c);
    if (!result) result = make_layout(s, &e->d, k->out_dtype, k->n, k->m, k->row_d, k->batch, k->step_d);
    return result;
}

/* Where a narrow result is too small to fill the device, the library cuts the sums into parts, and adds those up in the
   result's type unless it is told not to. Larger results are left alone: telling may cost the best kernel. */
static bool splits(const product_key *k)
{
    enum { TILE = 128, FULL = 256 };
    int64_t tiles = (k->m + TILE - 1) / TILE * ((k->n + TILE - 1) / TILE);
    return kni_dtypes[k->out_dtype].bits < 32 && tiles < FULL && tiles * k->batch < FULL;
}

static int make_preference(kni_cuda_products *s, const product_key *key, void **preference)
{
    size_t workspace = s->workspace ? KNI_CUDA_WORKSPACE : 0;
    int result = s->api->preference_create(preference);
    if (result) {
        *preference = NULL;
        return result;
    }
    result = s->api->preference_set(*preference, LT_PREFERENCE_WORKSPACE, &workspace, sizeof workspace);
    uint32_t reduction = splits(key) ? LT_REDUCTION_WIDE : LT_REDUCTION_ANY;
    if (!result)
        result = s->api->preference_set(*preference, LT_PREFERENCE_REDUCTION, &reduction, sizeof reduction);
    for (int i = 0; i < 4 && !result; i++) /* those of the four matrices */
        result = s->api->preference_set(*preference, LT_PREFERENCE_ALIGNMENT + i, &key->alignments[i],
                                        sizeof key->alignments[i]);
    return result;
}

/* Small products take as long as their launch. Where results must be reproducible, no clock decides. */
static bool is_timed(const kni_cuda_products *s, const product_key *k)
{
    const double least = 1 << 22;
    return s->times && !kni_reproducible() &&
           (double)k->m * (double)k->n * (double)k->k * (double)k->batch >= least;
}

static kni_cuda_choice choice_of(const kni_cuda_products *s, const product_key *key)
{
    return (kni_cuda_choice){"cublaslt", s->api->version(), key, sizeof *key};
}

static void put_first(product_entry *e, int fastest)
{
    const lt_algorithm first = e->choices[0];
    e->choices[0] = e->choices[fastest];
    e->choices[fastest] = first;
}

/* The algorithms that are to be timed, or the one that is run. */
static int choose(kni_cuda *c, kni_cuda_products *s, product_entry *e)
{
    kni_lt_choice choices[TRIED];
    const kni_cuda_choice choice = choice_of(s, &e->key);
    const bool timed = is_timed(s, &e->key);
    const int known = timed ? kni_cuda_choice_known(c, &choice, TRIED) : -1;
    void *preference = NULL;
    int found = 0, result = make_preference(s, &e->key, &preference);
    if (!result)
        result = s->api->choose(s->handle, e->desc, e->first, e->second, e->c, e->d, preference,
                                timed ? TRIED : 1, choices, &found);
    if (preference) (void)s->api->preference_destroy(preference);
    if (result || found < 1) return result ? result : KNI_LT_NOT_SUPPORTED;
    for (int i = 0; i < found; i++) {
        memcpy(e->choices[i].bits, choices[i].algorithm, sizeof e->choices[i].bits);
        e->choices[i].workspace = choices[i].workspace;
    }
    e->n_choices = found;
    if (known < 0 || known >= found) return 0;
    put_first(e, known);
    e->n_choices = 1;
    return 0;
}

/* ---- the library's state */

/* NULL where there is no library, and after a failure of it, which is tried again at the next product. */
static kni_cuda_products *products_of(kni_cuda *c)
{
    if (c->products) return c->products;
    const kni_cuda_product_api *api = c->vendor ? kni_cuda_product_library() : NULL;
    kni_cuda_products *s = api ? kni_allocate(sizeof *s) : NULL;
    if (!s) return NULL;
    memset(s, 0, sizeof *s);
    s->api = api;
    if (api->create(&s->handle)) {
        kni_free(s, sizeof *s);
        return NULL;
    }
    const char *times = kni_environment("KN_PRODUCT_TIME");
    s->times = !times || strcmp(times, "off") != 0;
    /* Without a workspace there are fewer algorithms, no more. */
    s->workspace = kni_cuda_own(c, KNI_CUDA_WORKSPACE);
    c->products = s;
    return s;
}

void kni_cuda_products_free(kni_cuda *c)
{
    kni_cuda_products *s = c->products;
    if (!s) return;
    for (int i = 0; i < SETS; i++)
        for (int k = 0; k < WAYS; k++) entry_clear(s, &s->entries[i][k]);
    if (!c->runtime.lost) (void)s->api->destroy(s->handle);
    kni_cuda_disown(c, s->workspace, KNI_CUDA_WORKSPACE);
    kni_free(s, sizeof *s);
    c->products = NULL;
}

/* The heuristic looks at how these are aligned. */
static int set_addresses(kni_cuda_products *s, product_entry *e, const kni_product *p)
{
    kni_runtime_address bias = bias_of(p), aux = aux_of(p);
    int result = bias ? s->api->desc_set(e->desc, LT_DESC_BIAS, &bias, sizeof bias) : 0;
    return !result && aux ? s->api->desc_set(e->desc, LT_DESC_AUX, &aux, sizeof aux) : result;
}

static product_entry *entry_of(kni_cuda *c, kni_cuda_products *s, const kni_product *p,
                               const product_key *key)
{
    product_entry *set = s->entries[set_of(key)], *e = NULL;
    for (int i = 0; i < WAYS; i++)
        if (set[i].used && !memcmp(&set[i].key, key, sizeof *key)) {
            set[i].used = ++s->clock;
            return &set[i];
        }
    e = set[0].used <= set[1].used ? &set[0] : &set[1];
    entry_clear(s, e);
    e->key = *key;
    e->used = ++s->clock;
    int result = make_desc(s, e);
    if (!result) result = set_addresses(s, e, p);
    if (!result) result = make_layouts(s, e);
    if (!result) result = choose(c, s, e);
    e->supported = !result;
    return e;
}

/* One call of a product. */
typedef struct call {
    kni_cuda *cuda;
    const kni_product *product;
    product_entry *entry;
} call;

static int multiply(void *self, int way)
{
    const call *a = self;
    kni_cuda *c = a->cuda;
    const kni_cuda_products *s = c->products;
    const kni_product *p = a->product;
    const product_entry *e = a->entry;
    const kni_runtime_address at_d = address_of(&p->d, p->out_dtype),
                              at_c = p->beta != 0 ? address_of(&p->c, p->out_dtype) : at_d;
    const float narrow[2] = {(float)p->alpha, (float)p->beta};
    const double wide[2] = {p->alpha, p->beta};
    const bool is_wide = p->dtype == KN_F64;
    return s->api->matmul(s->handle, e->desc, is_wide ? (const void *)&wide[0] : &narrow[0],
                          (const void *)(uintptr_t)address_of(&p->b, p->dtype), e->first,
                          (const void *)(uintptr_t)address_of(&p->a, p->dtype), e->second,
                          is_wide ? (const void *)&wide[1] : &narrow[1], (const void *)(uintptr_t)at_c, e->c,
                          (void *)(uintptr_t)at_d, e->d, e->choices[way].bits,
                          kni_cuda_record_workspace(c, s->workspace, !kni_is_half(p->dtype)),
                          e->choices[way].workspace, c->runtime.stream);
}

/* A product that adds to its own result cannot run several times over. */
static void take_fastest(call *a)
{
    product_entry *e = a->entry;
    const kni_product *p = a->product;
    if (KNI_LIKELY(e->n_choices < 2) || a->cuda->runtime.recording) return;
    if (p->beta != 0 && address_of(&p->c, p->out_dtype) == address_of(&p->d, p->out_dtype)) return;
    const int fastest = kni_cuda_choice_time(a->cuda, e->n_choices, multiply, a, NULL);
    if (fastest >= 0) {
        const kni_cuda_choice choice = choice_of(a->cuda->products, &e->key);
        put_first(e, fastest);
        kni_cuda_choice_keep(a->cuda, &choice, fastest);
    }
    e->n_choices = 1;
}

kn_status kni_cuda_product(kni_driver *d, const kni_product *p)
{
    kni_cuda *c = kni_cuda_of(d);
    product_key key;
    kn_status status = kni_runtime_enter(&c->runtime);
    if (status || !p->m || !p->n || !p->batch) return status;
    kni_cuda_products *s = make_key(p, &key) ? products_of(c) : NULL;
    if (!s) return kni_hopper_gemm(c, p);
    call a = {c, p, entry_of(c, s, p, &key)};
    if (!a.entry->supported) return kni_hopper_gemm(c, p);
    if (set_addresses(s, a.entry, p)) return KN_ERROR_UNSUPPORTED;
    take_fastest(&a);
    bool timed = kni_runtime_profile_begin(&c->runtime);
    int result = multiply(&a, 0);
    if (timed) kni_runtime_profile_end(&c->runtime, "cublasLt");
    if (!result) return KN_OK;
    /* A fault of an earlier kernel shows up here as a bare failure; the driver knows more. */
    if (!c->runtime.recording &&
        (status = kni_runtime_result(&c->runtime, c->api->common.stream_wait(c->runtime.stream),
                                     "a matrix product")))
        return status;
    if (result == KNI_LT_NOT_SUPPORTED) {
        a.entry->supported = false;
        return KN_ERROR_UNSUPPORTED;
    }
    return kni_fail(KN_ERROR_INTERNAL, "%s: cuBLASLt failed in a product of %D x %D x %D (its error %d)",
                    c->runtime.name, p->m, p->n, p->k, (int32_t)result);
}
