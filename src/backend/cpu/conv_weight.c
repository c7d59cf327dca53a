/* The gradient of a convolution by its weights on the CPU. Images are cut into chunks, each summed by one task into
   a partial result [channels * taps, outs] per group, and the partial results are added in order. */
#include "backend/cpu/conv_pack.h"
#include "backend/cpu/conv_padding.h"
#include "backend/cpu/conv_pointwise.h"
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
    ALONE_WORK = 1 << 18,
    OVERREAD = 16, /* elements that kernels may read past the end */
    BLOCK_OUTS = 16,
    BLOCK_ROWS = 64
};
#define PARTIAL_BYTES (INT64_C(8) << 20)

typedef struct {
    kni_conv_plan plan;
    kni_conv_tensor x, dy;
    int64_t taps;
    int64_t y[KNI_CONV_AXES];
    int64_t chunks, chunk; /* how many, and how many images each has */
    int64_t parts, part;   /* the same for channels */
    int64_t bands, band;   /* the same for the outermost axis of positions */
    int64_t together;      /* images whose planes a task holds at a time */
    int band_axis;
    bool by_dots;
    int64_t lane;    /* the kernels' lanes, 1 where by_dots */
    int64_t columns; /* outs, padded to whole lanes */
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

enum { ROOM = 64 };

/* dy is copied as [columns / lane][positions][lane], so that a tile reads each vector of columns in a stream. */
#define MOVE_TILE(type)                                                                                      \
    for (int64_t v = 0; v < outs; v += lane) {                                                               \
        type *into = (type *)to + ((first + v) * positions + position * lane);                               \
        const type *tile = (const type *)row + v * ROOM;                                                     \
        for (int64_t i = 0; i < n; i++)                                                                      \
            for (int64_t l = 0; l < lane; l++) into[i * lane + l] = tile[l * ROOM + i];                      \
    }

/* n neighbouring positions that begin with number `position` of the band, at most ROOM. */
static void copy_positions(const weight_job *job, const char *from, int64_t n, int64_t position,
                           int64_t positions, char *to)
{
    const kni_conv_plan *p = &job->plan;
    const kni_conv_tensor *dy = &job->dy;
    const int64_t lane = job->lane, size = p->kernels->size;
    _Alignas(64) char row[BLOCK_OUTS * ROOM * sizeof(double)];
    for (int64_t first = 0; first < job->columns; first += BLOCK_OUTS) {
        const int64_t outs = job->columns - first < BLOCK_OUTS ? job->columns - first : BLOCK_OUTS;
        for (int64_t o = 0; o < outs; o++) {
            char *into = lane == 1 ? to + ((first + o) * positions + position) * size : row + o * ROOM * size;
            if (first + o >= p->outs)
                memset(into, 0, (size_t)(n * size));
            else if (dy->dtype == p->compute && dy->sizes[2] == 1)
                memcpy(into, from + (first + o) * dy->channel * size, (size_t)(n * size));
            else
                kni_convert(into, p->compute, 1, from + (first + o) * dy->channel * dy->bytes, dy->dtype,
                            dy->sizes[2], n);
        }
        if (lane == 1) continue;
        if (size == 8) {
            MOVE_TILE(double)
        } else {
            MOVE_TILE(float)
        }
    }
}

static void copy_dy(const weight_job *job, int64_t n, int64_t group, const kni_conv_part *part, char *to)
{
    const kni_conv_tensor *dy = &job->dy;
    const int64_t *count = part->count, positions = count[0] * count[1] * count[2];
    for (int64_t i = 0; i < count[0] * count[1]; i++)
        for (int64_t c = 0; c < count[2]; c += ROOM) {
            const int64_t now = count[2] - c < ROOM ? count[2] - c : ROOM;
            const int64_t a = part->first[0] + i / count[1], b = part->first[1] + i % count[1];
            const int64_t at = n * dy->batch + group * job->plan.outs * dy->channel + a * dy->sizes[0] +
                               b * dy->sizes[1] + (part->first[2] + c) * dy->sizes[2];
            copy_positions(job, dy->data + at * dy->bytes, now, i * count[2] + c, positions, to);
        }
}

/* The positions of one image's band, in rectangles of at most about SUM_POSITIONS that are summed in registers. */
typedef struct {
    const weight_job *job;
    const kni_conv_part *part;
    const memory *m;
    int64_t planes, dy, positions; /* elements of one image */
} band_shape;

/* Adds the positions of `images` images to one tile of sums; dy_first is where the tile's columns begin. */
static void add_positions(const band_shape *s, kni_conv_gradient g, int64_t images, int64_t dy_first)
{
    const kni_conv_kernels *kernels = s->job->plan.kernels;
    const int64_t *count = s->part->count, size = kernels->size, lane = s->job->lane;
    const int64_t q1 = kni_conv_plane_axis(&s->job->plan, s->part, 1), q2 = g.x_step;
    const int64_t inner = count[2] < SUM_POSITIONS ? count[2] : SUM_POSITIONS, outer = SUM_POSITIONS / inner;
    for (int64_t n = 0; n < images; n++)
        for (int64_t a = 0; a < count[0]; a++)
            for (int64_t b = 0; b < count[1]; b += outer)
                for (int64_t c = 0; c < count[2]; c += inner) {
                    const int64_t position = (a * count[1] + b) * count[2] + c;
                    g.outer = count[1] - b < outer ? count[1] - b : outer;
                    g.inner = count[2] - c < inner ? count[2] - c : inner;
                    g.x = s->m->planes + (n * s->planes + (a * q1 + b) * q2 + c) * size;
                    g.dy = s->m->dy + (n * s->dy + dy_first * s->positions + position * lane) * size;
                    if (s->job->by_dots)
                        kernels->dots(&g);
                    else
                        kernels->gradient(&g);
                }
}

/* All tiles of sums for the planes that are in memory. */
static void add_images(const band_shape *s, int64_t images, int64_t channels, char *sums)
{
    const weight_job *job = s->job;
    const kni_conv_kernels *kernels = job->plan.kernels;
    const int64_t rows = channels * job->taps, vectors = job->columns / kernels->lanes;
    const int64_t passes = (vectors + kernels->vectors - 1) / kernels->vectors;
    kni_conv_gradient g = {.x_step = kni_conv_plane_axis(&job->plan, s->part, 2),
                           .dy_step = s->part->count[2],
                           .dy_vector = s->positions * job->lane,
                           .sums_row = job->columns,
                           .separate = job->separate};
    if (job->by_dots) {
        g.rows = (int)rows;
        g.offsets = s->m->offsets;
        for (int64_t o = 0; o < job->columns; o++) {
            g.sums = sums + o * kernels->size;
            add_positions(s, g, images, o);
        }
        return;
    }
    for (int64_t pass = 0, first = 0; pass < passes; pass++) {
        g.vectors = (int)((vectors - first + passes - pass - 1) / (passes - pass));
        for (int64_t r = 0; r < rows; r += g.rows) {
            g.rows = kni_conv_panel_rows(&job->plan, rows - r);
            g.offsets = s->m->offsets + r;
            g.sums = sums + (r * job->columns + first * kernels->lanes) * kernels->size;
            add_positions(s, g, images, first * kernels->lanes);
        }
        first += g.vectors;
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

static bool get_memory(const weight_job *job, int64_t channels, const band_shape *s, memory *m)
{
    const int64_t size = job->plan.kernels->size, table = (channels * job->taps * 8 + 63) / 64 * 64;
    const int64_t elements = job->together * (s->dy + s->planes) + OVERREAD;
    char *block = kni_workspace(KNI_WORKSPACE_TASK, (size_t)(table + elements * size));
    if (!block) return false;
    m->offsets = (int64_t *)block;
    m->dy = block + table;
    m->planes = m->dy + job->together * s->dy * size;
    memset(m->planes + job->together * s->planes * size, 0, (size_t)(OVERREAD * size));
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
    const int64_t size = p->kernels->size, row = job->columns * size;
    kni_conv_part part = band_of(job, 0);
    kni_conv_filler filler;
    memory m;
    (void)worker;
    char *sums = job->sums + (((chunk * p->groups + group) * p->channels + first) * job->taps) * row;
    memset(sums, 0, (size_t)(channels * job->taps * row));
    band_shape s = {.job = job, .part = &part, .m = &m};
    for (int64_t n = chunk * job->chunk; n < last; n += job->together)
        for (int64_t band = 0; band < job->bands; band++) {
            const int64_t images = last - n < job->together ? last - n : job->together;
            part = band_of(job, band);
            s.planes = kni_conv_planes_size(p, &part, channels);
            s.positions = part.count[0] * part.count[1] * part.count[2];
            s.dy = s.positions * job->columns;
            if (!get_memory(job, channels, &s, &m)) {
                job->failed = true;
                return;
            }
            set_offsets(job, &part, channels, m.offsets);
            kni_conv_filler_start(&filler, p, &part, &job->x);
            for (int64_t i = 0; i < images; i++) {
                kni_conv_fill_planes(&filler, p, &job->x, n + i, group * p->channels + first, channels,
                                     m.planes + i * s.planes * size);
                copy_dy(job, n + i, group, &part, m.dy + i * s.dy * size);
            }
            add_images(&s, images, channels, sums);
        }
}

/* ---- the sum of the chunks, in order, as [outs, channels, taps] */

/* Rows first .. first + n - 1 of output channels out .. out + outs - 1, chunk after chunk, then turned. */
#define ADD_CHUNKS(type)                                                                                     \
    {                                                                                                        \
        type sums[BLOCK_ROWS][BLOCK_OUTS] = {{0}};                                                           \
        for (int64_t c = 0; c < job->chunks; c++)                                                            \
            for (int64_t r = 0; r < n; r++) {                                                                \
                const int64_t at = c * of_chunk + (group * rows + first + r) * job->columns + out;           \
                for (int64_t o = 0; o < outs; o++) sums[r][o] += ((const type *)job->sums)[at + o];          \
            }                                                                                                \
        for (int64_t o = 0; o < outs; o++)                                                                   \
            for (int64_t r = 0; r < n; r++) ((type *)block)[o * BLOCK_ROWS + r] = sums[r][o];                \
    }

typedef struct {
    const weight_job *job;
    char *w;
    int dtype, bytes;
    int64_t blocks; /* of output channels in a group */
} sum_job;

static void sum_task(void *argument, int64_t task, int worker)
{
    const sum_job *s = argument;
    const weight_job *job = s->job;
    const kni_conv_plan *p = &job->plan;
    const int64_t rows = p->channels * job->taps, of_chunk = p->groups * rows * job->columns;
    const int64_t group = task / s->blocks, out = task % s->blocks * BLOCK_OUTS;
    const int64_t outs = p->outs - out < BLOCK_OUTS ? p->outs - out : BLOCK_OUTS;
    _Alignas(64) char block[BLOCK_OUTS * BLOCK_ROWS * sizeof(double)];
    (void)worker;
    for (int64_t first = 0; first < rows; first += BLOCK_ROWS) {
        const int64_t n = rows - first < BLOCK_ROWS ? rows - first : BLOCK_ROWS;
        if (p->kernels->size == 8) {
            ADD_CHUNKS(double)
        } else {
            ADD_CHUNKS(float)
        }
        for (int64_t o = 0; o < outs && s->dtype == p->compute; o++)
            memcpy(s->w + ((group * p->outs + out + o) * rows + first) * s->bytes,
                   block + o * BLOCK_ROWS * p->kernels->size, (size_t)(n * s->bytes));
        for (int64_t o = 0; o < outs && s->dtype != p->compute; o++)
            kni_convert(s->w + ((group * p->outs + out + o) * rows + first) * s->bytes, s->dtype, 1,
                        block + o * BLOCK_ROWS * p->kernels->size, p->compute, 1, n);
    }
}

/* ---- setting up */

static void cut(weight_job *job)
{
    const kni_conv_plan *p = &job->plan;
    const int64_t size = p->kernels->size;
    job->taps = kni_conv_taps(p);
    job->by_dots = p->outs <= FEW_OUTS;
    job->lane = job->by_dots ? 1 : p->kernels->lanes;
    job->columns = (p->outs + job->lane - 1) / job->lane * job->lane;
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
    const int64_t bytes = kni_conv_planes_size(p, &whole, job->part) * size, grid = job->band;
    job->bands = (bytes + PLANES_BYTES - 1) / PLANES_BYTES;
    if (job->bands > grid) job->bands = grid;
    job->band = (grid + job->bands - 1) / job->bands;
    job->bands = (grid + job->band - 1) / job->band;
    job->together = job->bands > 1 ? 1 : PLANES_BYTES / (bytes + 1);
    if (job->together < 1) job->together = 1;
    if (job->together > job->chunk) job->together = job->chunk;
}

static void run(double work, int64_t tasks, void (*fn)(void *argument, int64_t task, int worker),
                void *argument)
{
    if (work >= ALONE_WORK)
        kni_parallel_for(tasks, fn, argument);
    else
        for (int64_t i = 0; i < tasks; i++) fn(argument, i, 0);
}

static bool run_job(weight_job *job, kni_tensor *w)
{
    const kni_conv_plan *p = &job->plan;
    const int64_t count = kni_count(&w->type), size = p->kernels->size;
    cut(job);
    const int64_t sums = job->chunks * p->groups * p->channels * job->taps * job->columns * size;
    job->sums = kni_workspace(KNI_WORKSPACE_SHARED, (size_t)sums);
    if (!job->sums) return false;
    const int64_t tasks = job->chunks * p->groups * job->parts;
    const double work =
        (double)count * (double)job->y[0] * (double)job->y[1] * (double)job->y[2] * (double)p->batch;
    sum_job total = {job, w->storage->data, w->type.dtype, kni_bytes_of(w->type.dtype),
                     (p->outs + BLOCK_OUTS - 1) / BLOCK_OUTS};
    run(work, tasks, run_task, job);
    if (!job->failed) run((double)count * (double)job->chunks, p->groups * total.blocks, sum_task, &total);
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
    if (x->type.dtype == job.plan.compute && kni_conv_is_pointwise(&job.plan, &job.x) &&
        kni_conv_pointwise_weight(&job.plan, &job.x, &job.dy, w->storage->data))
        return KN_OK;
    if (!run_job(&job, w)) return kni_gemm_no_memory(r->row->name);
    kni_conv_padding_mend_weight(&job.plan, &job.x, &job.dy, w->storage->data);
    return KN_OK;
}

const kni_native kni_cpu_conv_weight_grad = {.run = run_weight_grad};
