/* quantize_dynamic on the CPU: one walk for the extremes, one for the bytes. */
#include "backend/cpu/isa.h"
#include "backend/cpu/quantize_kernels.h"
#include "backend/host/host.h"
#include "core/thread_pool.h"
#include "ops/native.h"

static const kni_quantize_kernels *const kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_quantize_f32);

enum { PIECE = 1 << 14, MAX_PIECES = 64 };

typedef struct job {
    const kni_quantize_kernels *kernels;
    const float *x;
    uint8_t *y;
    int64_t n, piece;
    float bounds[MAX_PIECES][2];
    bool finite[MAX_PIECES];
    float scale, zero;
} job;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static void find_range(void *context, int64_t task, int worker)
{
    job *j = context;
    const int64_t first = task * j->piece;
    (void)worker;
    j->bounds[task][0] = j->bounds[task][1] = 0;
    j->finite[task] = j->kernels->range(j->x + first, smaller(j->piece, j->n - first), j->bounds[task]);
}

static void make_bytes(void *context, int64_t task, int worker)
{
    const job *j = context;
    const int64_t first = task * j->piece;
    (void)worker;
    j->kernels->to_bytes(j->y + first, j->x + first, smaller(j->piece, j->n - first), false, j->scale,
                         j->zero);
}

/* Scale and zero point, in the order of operations of the lowering; false where these are no ordinary numbers. */
static bool find_scale(job *j, int64_t pieces)
{
    float low = 0, high = 0;
    bool finite = true;
    for (int64_t i = 0; i < pieces; i++) {
        low = j->bounds[i][0] < low ? j->bounds[i][0] : low;
        high = j->bounds[i][1] > high ? j->bounds[i][1] : high;
        finite &= j->finite[i];
    }
    j->scale = (high == low ? 1 : high - low) / 255.0f;
    const float least = 0x1p-126f;
    if (!finite || !(j->scale >= least) || j->scale - j->scale != 0) return false;
    float zero = 0 - low / j->scale;
    zero = zero < 0 ? 0 : zero > 255 ? 255 : zero;
    const float whole = 0x1.8p23f;
    volatile float rounded = zero + whole;
    j->zero = rounded - whole;
    return true;
}

static kn_status run_quantize_dynamic(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0);
    kni_borrowed in;
    if (!kni_host_borrow(x, KN_F32, &in)) return KN_ERROR_MEMORY;
    job j = {.kernels = kernels[kni_cpu_tier()], .x = in.data, .n = kni_count(&x->type)};
    j.piece = (j.n + MAX_PIECES - 1) / MAX_PIECES;
    if (j.piece < PIECE) j.piece = PIECE;
    const int64_t pieces = (j.n + j.piece - 1) / j.piece;
    kni_parallel_for(pieces, find_range, &j);
    kn_status s = find_scale(&j, pieces) ? KN_OK : KN_ERROR_UNSUPPORTED;
    for (int i = 0; i < 3 && s == KN_OK; i++) s = kni_host_allocate(kni_out(r, i));
    if (s == KN_OK) {
        j.y = kni_out(r, 0)->storage->data;
        *(float *)kni_out(r, 1)->storage->data = j.scale;
        *(uint8_t *)kni_out(r, 2)->storage->data = (uint8_t)j.zero;
        kni_parallel_for(pieces, make_bytes, &j);
    }
    kni_host_unborrow(&in);
    return s;
}

const kni_native kni_cpu_quantize_dynamic = {.run = run_quantize_dynamic};
