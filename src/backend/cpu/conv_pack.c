/* Sections of a convolution's results, offsets of taps in the planes, and packed weights. */
#include "backend/cpu/conv_pack.h"
#include "backend/cpu/gemm_problem.h"
#include "backend/cpu/gemm_workspace.h"
#include "backend/host/host.h"
#include "core/made_forms.h"
#include "core/thread_pool.h"
#include <string.h>

enum { PANEL_PART = 2048 }; /* elements */

int64_t kni_conv_phase_count(const kni_conv_plan *p)
{
    int64_t n = 1;
    for (int i = 0; i < KNI_CONV_AXES && p->transposed; i++) {
        if (p->axes[i].stride > KNI_CONV_MAX_PHASES) return KNI_CONV_MAX_PHASES + 1;
        n *= p->axes[i].stride;
    }
    return n;
}

static void split_tap(const kni_conv_plan *p, int64_t tap, int64_t t[KNI_CONV_AXES])
{
    for (int i = KNI_CONV_AXES - 1; i >= 0; i--) {
        t[i] = tap % p->axes[i].taps;
        tap /= p->axes[i].taps;
    }
}

static int64_t phase_of_tap(const kni_conv_plan *p, int64_t tap)
{
    int64_t t[KNI_CONV_AXES], phase = 0;
    split_tap(p, tap, t);
    for (int i = 0; i < KNI_CONV_AXES && p->transposed; i++)
        phase = phase * p->axes[i].stride + t[i] * p->axes[i].dilation % p->axes[i].stride;
    return phase;
}

static void start_grid(const kni_conv_plan *p, kni_conv_phase *phase, int64_t index)
{
    for (int i = KNI_CONV_AXES - 1; i >= 0; i--) {
        const int64_t phases = p->transposed ? p->axes[i].stride : 1;
        kni_conv_section(p, i, index % phases, &phase->first[i], &phase->count[i], &phase->start[i],
                         &phase->step[i]);
        index /= phases;
    }
}

/* Where each tap of each channel begins. */
static void set_offsets(const kni_conv_plan *p, const kni_conv_part *part, const kni_conv_phase *phase)
{
    const int64_t of_channel = kni_conv_planes_size(p, part, 1);
    for (int64_t k = 0; k < phase->n_taps; k++) {
        int64_t t[KNI_CONV_AXES], at = 0;
        split_tap(p, phase->taps[k], t);
        for (int i = 0; i < KNI_CONV_AXES; i++) at = at * p->axes[i].planes + kni_conv_tap_plane(p, i, t[i]);
        for (int i = 0; i < KNI_CONV_AXES; i++)
            at = at * kni_conv_plane_axis(p, part, i) + kni_conv_tap_shift(p, i, t[i]);
        for (int64_t c = 0; c < p->channels; c++) phase->offsets[c * phase->n_taps + k] = c * of_channel + at;
    }
}

static int64_t packed_bytes(const kni_conv_plan *p)
{
    return p->groups * kni_conv_packed_outs(p) * p->channels * kni_conv_taps(p) * p->kernels->size;
}

kni_conv_phase *kni_conv_phases_start(const kni_conv_plan *p, const kni_conv_part *part)
{
    const int64_t n = kni_conv_phase_count(p), taps = kni_conv_taps(p), depth = p->channels * taps;
    const int64_t tables = (int64_t)sizeof(kni_conv_phase) * n + 8 * (taps + depth);
    const int64_t weights = packed_bytes(p);
    char *memory = kni_workspace(KNI_WORKSPACE_SHARED, (size_t)(tables + weights + 64));
    if (!memory) return NULL;
    kni_conv_phase *phases = (kni_conv_phase *)memory;
    for (int64_t i = 0; i < n; i++) {
        phases[i].n_taps = 0;
        start_grid(p, &phases[i], i);
    }
    for (int64_t t = 0; t < taps; t++) phases[phase_of_tap(p, t)].n_taps++;
    int64_t *table = (int64_t *)(phases + n);
    char *packed = (char *)(((uintptr_t)memory + (uintptr_t)tables + 63) & ~(uintptr_t)63);
    for (int64_t i = 0; i < n; i++) {
        kni_conv_phase *phase = &phases[i];
        phase->depth = p->channels * phase->n_taps;
        phase->taps = table;
        phase->offsets = table + phase->n_taps;
        phase->weights = packed;
        table += phase->n_taps + phase->depth;
        packed += p->groups * kni_conv_packed_outs(p) * phase->depth * p->kernels->size;
        phase->n_taps = 0;
    }
    for (int64_t t = 0; t < taps; t++) {
        kni_conv_phase *phase = &phases[phase_of_tap(p, t)];
        phase->taps[phase->n_taps++] = t;
    }
    for (int64_t i = 0; i < n; i++) set_offsets(p, part, &phases[i]);
    return phases;
}

typedef struct {
    const kni_conv_plan *plan;
    const kni_conv_phase *phases;
    const char *weights;
    int64_t n_phases, blocks; /* of rows in a group */
} pack_job;

/* to[k * rows] = from[taps[k]] for so many channels. */
#define PACK_ROW(type)                                                                                       \
    {                                                                                                        \
        const type *from = (const type *)j->weights + source;                                                \
        type *to = (type *)panel + channel * phase->n_taps * rows + r;                                       \
        for (int64_t c = 0; c < now; c++, from += by_channel)                                                \
            for (int64_t k = 0; k < phase->n_taps; k++, to += rows) *to = from[phase->taps[k]];              \
    }

/* A whole panel of a turned product, whose taps lie in order: matrices that are packed as right sides of products are. */
static bool pack_turned(const kni_conv_plan *p, const kni_conv_phase *phase, const float *from,
                        int64_t by_out, float *panel, int rows)
{
    const kni_gemm_kernels *gemm = kni_gemm_kernels_for(KNI_GEMM_F32);
    const int64_t taps = kni_conv_taps(p);
    if (!p->turned || phase->n_taps != taps || !gemm || gemm->tile_columns != rows) return false;
    if (!p->transposed) {
        gemm->pack_b(panel, &(kni_gemm_view){from, 1, by_out, KNI_GEMM_F32}, phase->depth, rows);
        return true;
    }
    for (int64_t c = 0; c < p->channels; c++, from += p->outs * taps, panel += taps * rows)
        gemm->pack_b(panel, &(kni_gemm_view){from, 1, by_out, KNI_GEMM_F32}, taps, rows);
    return true;
}

/* One block of the tile's rows of one group, all sections. */
static void pack_task(void *argument, int64_t task, int worker)
{
    const pack_job *j = argument;
    const kni_conv_plan *p = j->plan;
    const int64_t group = task / j->blocks, block = kni_conv_block_outs(p);
    const int64_t first = task % j->blocks * block;
    const int64_t taps = kni_conv_taps(p), by_out = p->transposed ? taps : p->channels * taps;
    const int64_t by_channel = p->transposed ? p->outs * taps : taps;
    const int64_t last = first + block < p->outs ? first + block : p->outs;
    (void)worker;
    for (int64_t s = 0; s < j->n_phases; s++) {
        const kni_conv_phase *phase = &j->phases[s];
        for (int64_t o = first; o < last;) {
            const int rows = kni_conv_panel_rows(p, p->outs - o);
            const int there = last - o < rows ? (int)(last - o) : rows;
            char *panel =
                phase->weights + (group * kni_conv_packed_outs(p) + o) * phase->depth * p->kernels->size;
            if (there < rows) memset(panel, 0, (size_t)(rows * phase->depth * p->kernels->size));
            const int64_t first_weight = group * p->channels * p->outs * taps + o * by_out;
            if (there == rows && pack_turned(p, phase, (const float *)j->weights + first_weight, by_out,
                                             (float *)panel, rows)) {
                o += rows;
                continue;
            }
            /* A few channels at a time, whose part of the panel stays in the first-level cache while its rows are written. */
            const int64_t together = PANEL_PART / (phase->n_taps * rows + 1) + 1;
            for (int64_t channel = 0; channel < p->channels; channel += together) {
                const int64_t now = p->channels - channel < together ? p->channels - channel : together;
                for (int r = 0; r < there; r++) {
                    const int64_t source = first_weight + r * by_out + channel * by_channel;
                    if (p->kernels->size == 8)
                        PACK_ROW(double)
                    else
                        PACK_ROW(float)
                }
            }
            o += rows;
        }
    }
}

/* All that the packed weights depend on, besides the bytes of the storage. */
static kni_form_key key_of(const kni_conv_plan *p, const kni_tensor *w)
{
    static const char kind;
    kni_form_key key = {&kind,
                        {w->offset, w->type.dtype, p->transposed, p->compute, kni_conv_block_outs(p),
                         p->groups, p->channels, p->outs}};
    int n = 8;
    for (int i = 0; i < KNI_CONV_AXES; i++) key.words[n++] = p->axes[i].taps;
    for (int i = 0; i < KNI_CONV_AXES && p->transposed; i++) {
        key.words[n++] = p->axes[i].stride;
        key.words[n++] = p->axes[i].dilation;
    }
    return key;
}

/* The sections' weights lie one after the other from there on. */
static void place_weights(const kni_conv_plan *p, kni_conv_phase *phases, char *packed)
{
    const int64_t n = kni_conv_phase_count(p);
    for (int64_t i = 0; i < n; i++) {
        phases[i].weights = packed;
        packed += p->groups * kni_conv_packed_outs(p) * phases[i].depth * p->kernels->size;
    }
}

static void pack(const kni_conv_plan *p, const kni_conv_phase *phases, const void *weights, bool parallel)
{
    pack_job job = {.plan = p, .phases = phases, .weights = weights, .n_phases = kni_conv_phase_count(p)};
    job.blocks = (p->outs + kni_conv_block_outs(p) - 1) / kni_conv_block_outs(p);
    const int64_t tasks = p->groups * job.blocks;
    if (parallel)
        kni_parallel_for(tasks, pack_task, &job);
    else
        for (int64_t i = 0; i < tasks; i++) pack_task(&job, i, 0);
}

void kni_conv_pack_weights(const kni_conv_plan *p, kni_conv_phase *phases, const kni_tensor *w,
                           const void *weights, bool parallel)
{
    const kni_form_key key = key_of(p, w);
    const bool lasts = kni_contiguous(w);
    const void *found = lasts ? kni_form_find(w->storage, &key) : NULL;
    void *made = lasts && !found ? kni_form_new(w->storage, &key, (size_t)packed_bytes(p)) : NULL;
    if (found || made) place_weights(p, phases, found ? (char *)(uintptr_t)found : made);
    if (!found) pack(p, phases, weights, parallel);
    if (made) place_weights(p, phases, (char *)(uintptr_t)kni_form_keep(w->storage, made));
}
