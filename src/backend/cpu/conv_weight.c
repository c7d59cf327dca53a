/* The gradient of a convolution by its weights on the CPU. Images are cut into chunks, each summed by one task into
   a partial result [channels * taps, outs] per group, and the partial results are added in order. */
#include "backend/cpu/conv_pack.h"
#include "backend/cpu/gemm_workspace.h"
#include "backend/cpu/matmul_run.h"
#include "backend/host/host.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include <string.h>

enum {
    MAX_CHUNKS = 16,
    WANTED_UNITS = 8,
    FEW_OUTS = 3,             /* up to here vectors run along positions, not along output channels */
    SUM_POSITIONS = 512,      /* summed in registers before they are added in memory */
    PLANES_BYTES = 768 << 10, /* as in a convolution */
    ALONE_WORK = 1 << 18
};
#define PARTIAL_BYTES (INT64_C(64) << 20)

typedef struct {
    kni_conv_plan plan;
    kni_conv_tensor x, dy;
    int64_t taps;
    int64_t y[KNI_CONV_AXES];
    int64_t chunks, chunk; /* how many, and how many images each has */
    int64_t parts, part;   /* the same for channels */
    int64_t bands, band;   /* the same for the outermost axis of positions */
    int band_axis;
    bool by_dots;
    int64_t columns; /* outs, padded to whole vectors unless by_dots */
    char *sums;      /* [chunks][groups][channels * taps][columns] */
    bool separate;
    _Atomic bool failed;
} weight_job;

/* What one task works in. */
typedef struct {
    char *planes, *dy;
    int64_t *offsets;
} memory;

static kni_conv_part band_of(const weight_job *job, int64_t band)
{
    kni_conv_part part;
    for (int i = 0; i < KNI_CONV_AXES; i++) {
        part.first[i] = 0;
        part.count[i] = job->y[i];
    }
    const int64_t first = band * job->band, left = job->y[job->band_axis] - first;
    part.first[job->band_axis] = first;
    part.count[job->band_axis] = left < job->band ? left : job->band;
    return part;
}

/* The positions of dy in a band: [positions][columns], or [columns][positions] for dots. */
#define MOVE_TILE(type)                                                                                      \
    for (int64_t i = 0; i < n; i++)                                                                          \
        for (int64_t o = 0; o < outs; o++) ((type *)to)[i * columns + o] = ((const type *)row)[o * ROOM + i];

enum { ROOM = 64 };

static void copy_positions(const weight_job *job, int64_t n_image, int64_t group,
                           const int64_t at[KNI_CONV_AXES], int64_t n, char *to)
{
    const kni_conv_plan *p = &job->plan;
    const kni_conv_tensor *dy = &job->dy;
    const int64_t columns = job->columns, size = p->kernels->size;
    _Alignas(64) char row[16 * ROOM * sizeof(double)];
    const char *from = dy->data + (n_image * dy->batch + group * p->outs * dy->channel +
                                   at[0] * dy->sizes[0] + at[1] * dy->sizes[1] + at[2] * dy->sizes[2]) *
                                      dy->bytes;
    for (int64_t first = 0; first < p->outs; first += 16) {
        const int64_t outs = p->outs - first < 16 ? p->outs - first : 16;
        for (int64_t o = 0; o < outs; o++)
            kni_convert(row + o * ROOM * size, p->compute, 1, from + (first + o) * dy->channel * dy->bytes,
                        dy->dtype, dy->sizes[2], n);
        if (size == 8) {
            MOVE_TILE(double)
        } else {
            MOVE_TILE(float)
        }
        to += outs * size;
    }
    const int64_t rest = (columns - p->outs) * size;
    for (int64_t i = 0; rest && i < n; i++) memset(to + i * columns * size, 0, (size_t)rest);
}

static void copy_dy(const weight_job *job, int64_t n, int64_t group, const kni_conv_part *part, char *to)
{
    const int64_t size = job->plan.kernels->size,
                  positions = part->count[0] * part->count[1] * part->count[2];
    int64_t at[KNI_CONV_AXES];
    for (int64_t i = 0; i < part->count[0] * part->count[1]; i++) {
        at[0] = part->first[0] + i / part->count[1];
        at[1] = part->first[1] + i % part->count[1];
        at[2] = part->first[2];
        if (job->by_dots) {
            const kni_conv_tensor *dy = &job->dy;
            const int64_t outs = job->plan.outs;
            for (int64_t o = 0; o < outs; o++)
                kni_convert(to + (o * positions + i * part->count[2]) * size, job->plan.compute, 1,
                            dy->data + (n * dy->batch + (group * outs + o) * dy->channel +
                                        at[0] * dy->sizes[0] + at[1] * dy->sizes[1] + at[2] * dy->sizes[2]) *
                                           dy->bytes,
                            dy->dtype, dy->sizes[2], part->count[2]);
            continue;
        }
        for (int64_t done = 0; done < part->count[2]; done += ROOM) {
            const int64_t now = part->count[2] - done < ROOM ? part->count[2] - done : ROOM;
            copy_positions(job, n, group, at, now, to + (i * part->count[2] + done) * job->columns * size);
            at[2] += now;
        }
    }
}

/* All tiles of sums for one rectangle of positions: rows of `inner` positions, one behind the other in planes of
   row length x_step. */
static void add_rectangle(const weight_job *job, const memory *m, const kni_conv_gradient *shape,
                          int64_t rows, int64_t positions, int64_t plane_at, int64_t dy_at, char *sums)
{
    const kni_conv_kernels *kernels = job->plan.kernels;
    kni_conv_gradient g = *shape;
    g.x = m->planes + plane_at * kernels->size;
    g.sums_row = job->columns;
    g.separate = job->separate;
    if (job->by_dots) {
        g.rows = (int)rows;
        g.offsets = m->offsets;
        for (int64_t o = 0; o < job->columns; o++) {
            g.dy = m->dy + (o * positions + dy_at) * kernels->size;
            g.sums = sums + o * kernels->size;
            kernels->dots(&g);
        }
        return;
    }
    const int64_t vectors = job->columns / kernels->lanes,
                  passes = (vectors + kernels->vectors - 1) / kernels->vectors;
    g.dy_row = job->columns;
    for (int64_t pass = 0, first = 0; pass < passes; pass++) {
        g.vectors = (int)((vectors - first + passes - pass - 1) / (passes - pass));
        g.dy = m->dy + (dy_at * job->columns + first * kernels->lanes) * kernels->size;
        for (int64_t r = 0; r < rows; r += g.rows) {
            g.rows = kni_conv_panel_rows(&job->plan, rows - r);
            g.offsets = m->offsets + r;
            g.sums = sums + (r * job->columns + first * kernels->lanes) * kernels->size;
            kernels->gradient(&g);
        }
        first += g.vectors;
    }
}

/* Adds one image's band: rectangles of at most about SUM_POSITIONS positions. */
static void add_band(const weight_job *job, const memory *m, const kni_conv_part *part, int64_t channels,
                     char *sums)
{
    const kni_conv_plan *p = &job->plan;
    const int64_t q1 = kni_conv_plane_axis(p, part, 1), q2 = kni_conv_plane_axis(p, part, 2);
    const int64_t inner = part->count[2] < SUM_POSITIONS ? part->count[2] : SUM_POSITIONS;
    const int64_t outer = SUM_POSITIONS / inner, rows = channels * job->taps;
    const int64_t positions = part->count[0] * part->count[1] * part->count[2];
    for (int64_t a = 0; a < part->count[0]; a++)
        for (int64_t b = 0; b < part->count[1]; b += outer)
            for (int64_t c = 0; c < part->count[2]; c += inner) {
                kni_conv_gradient shape = {.outer = part->count[1] - b < outer ? part->count[1] - b : outer,
                                           .inner = part->count[2] - c < inner ? part->count[2] - c : inner,
                                           .x_step = q2,
                                           .dy_step = part->count[2]};
                add_rectangle(job, m, &shape, rows, positions, (a * q1 + b) * q2 + c,
                              (a * part->count[1] + b) * part->count[2] + c, sums);
            }
}

/* The offsets of the taps of a part's channels in the planes of a band. */
static void set_offsets(const weight_job *job, const kni_conv_part *part, int64_t channels, int64_t *offsets)
{
    const kni_conv_plan *p = &job->plan;
    const kni_conv_axis *a = p->axes;
    const int64_t of_channel = kni_conv_planes_size(p, part, 1);
    for (int64_t k = 0; k < job->taps; k++) {
        const int64_t t[KNI_CONV_AXES] = {k / a[2].taps / a[1].taps, k / a[2].taps % a[1].taps,
                                          k % a[2].taps};
        int64_t at = 0;
        for (int i = 0; i < KNI_CONV_AXES; i++) at = at * a[i].planes + kni_conv_tap_plane(p, i, t[i]);
        for (int i = 0; i < KNI_CONV_AXES; i++)
            at = at * kni_conv_plane_axis(p, part, i) + kni_conv_tap_shift(p, i, t[i]);
        for (int64_t c = 0; c < channels; c++) offsets[c * job->taps + k] = c * of_channel + at;
    }
}

static bool get_memory(const weight_job *job, const kni_conv_part *part, int64_t channels, memory *m)
{
    const kni_conv_plan *p = &job->plan;
    const int64_t planes = kni_conv_planes_size(p, part, channels), size = p->kernels->size;
    const int64_t dy = part->count[0] * part->count[1] * part->count[2] * job->columns;
    const int64_t table = (channels * job->taps * 8 + 63) / 64 * 64;
    char *block = kni_workspace(KNI_WORKSPACE_TASK, (size_t)(table + (dy + planes) * size + 64));
    if (!block) return false;
    m->offsets = (int64_t *)block;
    m->dy = block + table;
    m->planes = m->dy + dy * size;
    return true;
}

static void run_task(void *argument, int64_t task, int worker)
{
    weight_job *job = argument;
    const kni_conv_plan *p = &job->plan;
    const int64_t part_index = task % job->parts, group = task / job->parts % p->groups;
    const int64_t chunk = task / job->parts / p->groups, first = part_index * job->part;
    const int64_t channels = p->channels - first < job->part ? p->channels - first : job->part;
    const int64_t last = (chunk + 1) * job->chunk < p->batch ? (chunk + 1) * job->chunk : p->batch;
    const int64_t row = job->columns * p->kernels->size;
    kni_conv_part part = band_of(job, 0);
    memory m;
    (void)worker;
    char *sums = job->sums + (((chunk * p->groups + group) * p->channels + first) * job->taps) * row;
    memset(sums, 0, (size_t)(channels * job->taps * row));
    if (!get_memory(job, &part, channels, &m)) {
        job->failed = true;
        return;
    }
    for (int64_t n = chunk * job->chunk; n < last; n++)
        for (int64_t band = 0; band < job->bands; band++) {
            part = band_of(job, band);
            if (job->bands > 1 || n == chunk * job->chunk) set_offsets(job, &part, channels, m.offsets);
            kni_conv_fill_planes(p, &part, &job->x, n, group * p->channels + first, channels, m.planes);
            copy_dy(job, n, group, &part, m.dy);
            add_band(job, &m, &part, channels, sums);
        }
}

/* ---- the sum of the chunks, in order, as [outs, channels, taps] */

#define ADD_CHUNKS(type)                                                                                     \
    for (int64_t o = 0; o < p->outs; o++) {                                                                  \
        const type *from = (const type *)job->sums + (g * rows + r) * job->columns + o;                      \
        type total = 0;                                                                                      \
        for (int64_t c = 0; c < job->chunks; c++) total += from[c * of_chunk];                               \
        *((type *)sum + o) = total;                                                                          \
    }

static void add_chunks(const weight_job *job, kni_tensor *w, char *sum)
{
    const kni_conv_plan *p = &job->plan;
    const int64_t rows = p->channels * job->taps, of_chunk = p->groups * rows * job->columns;
    const int bytes = kni_dtypes[w->type.dtype].bits / 8;
    for (int64_t g = 0; g < p->groups; g++)
        for (int64_t r = 0; r < rows; r++) {
            if (p->kernels->size == 8) {
                ADD_CHUNKS(double)
            } else {
                ADD_CHUNKS(float)
            }
            kni_convert((char *)w->storage->data + (g * p->outs * rows + r) * bytes, w->type.dtype, rows, sum,
                        p->compute, 1, p->outs);
        }
}

/* ---- setting up */

static void cut(weight_job *job)
{
    const kni_conv_plan *p = &job->plan;
    const int64_t lanes = p->kernels->lanes, size = p->kernels->size;
    job->taps = kni_conv_taps(p);
    job->by_dots = p->outs <= FEW_OUTS;
    job->columns = job->by_dots ? p->outs : (p->outs + lanes - 1) / lanes * lanes;
    for (int i = 0; i < KNI_CONV_AXES; i++) job->y[i] = p->axes[i].target;
    const int64_t result = p->groups * p->channels * job->taps * (p->outs < 16 ? 16 : p->outs) * size;
    job->chunks = PARTIAL_BYTES / (result + 1);
    if (job->chunks > MAX_CHUNKS) job->chunks = MAX_CHUNKS;
    if (job->chunks > p->batch) job->chunks = p->batch;
    if (job->chunks < 1) job->chunks = 1;
    job->chunk = (p->batch + job->chunks - 1) / job->chunks;
    job->chunks = (p->batch + job->chunk - 1) / job->chunk;
    const int64_t units = job->chunks * p->groups;
    job->parts = units < WANTED_UNITS ? (WANTED_UNITS + units - 1) / units : 1;
    if (job->parts > p->channels) job->parts = p->channels;
    job->part = (p->channels + job->parts - 1) / job->parts;
    job->parts = (p->channels + job->part - 1) / job->part;
    job->band_axis = job->y[0] > 1 ? 0 : job->y[1] > 1 ? 1 : 2;
    job->band = job->y[job->band_axis];
    const kni_conv_part whole = band_of(job, 0);
    const int64_t bytes = kni_conv_planes_size(p, &whole, p->channels) * size, grid = job->band;
    job->bands = (bytes + PLANES_BYTES - 1) / PLANES_BYTES;
    if (job->bands > grid) job->bands = grid;
    job->band = (grid + job->bands - 1) / job->bands;
    job->bands = (grid + job->band - 1) / job->band;
}

static bool run_job(weight_job *job, kni_tensor *w)
{
    const kni_conv_plan *p = &job->plan;
    const int64_t count = kni_count(&w->type), size = p->kernels->size;
    cut(job);
    const int64_t sums = job->chunks * p->groups * p->channels * job->taps * job->columns * size;
    char *memory_block = kni_workspace(KNI_WORKSPACE_SHARED, (size_t)(sums + job->columns * size));
    if (!memory_block) return false;
    job->sums = memory_block;
    const int64_t tasks = job->chunks * p->groups * job->parts;
    const double work =
        (double)count * (double)job->y[0] * (double)job->y[1] * (double)job->y[2] * (double)p->batch;
    if (work >= ALONE_WORK)
        kni_parallel_for(tasks, run_task, job);
    else
        for (int64_t i = 0; i < tasks; i++) run_task(job, i, 0);
    if (!job->failed) add_chunks(job, w, memory_block + sums);
    return !job->failed;
}

static kn_status run_weight_grad(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *dy = kni_in(r, 1), *w = kni_out(r, 0);
    if (!kni_conv_kernels_for(x->type.dtype)) return KN_ERROR_UNSUPPORTED;
    weight_job job = {.separate = kni_reproducible()};
    kni_conv_plan_start(&job.plan, r->attributes, &x->type, &w->type, &dy->type, false);
    kn_status s = kni_host_allocate(w);
    if (s || kni_count(&w->type) == 0) return s;
    if (kni_count(&dy->type) == 0) {
        memset(w->storage->data, 0, (size_t)kn_dtype_bytes((kn_dtype)w->type.dtype, kni_count(&w->type)));
        return KN_OK;
    }
    job.x = kni_conv_tensor_of(x);
    job.dy = kni_conv_tensor_of(dy);
    return run_job(&job, w) ? KN_OK : kni_gemm_no_memory(r->row->name);
}

const kni_native kni_cpu_conv_weight_grad = {.run = run_weight_grad};
