/* Turned products: positions are taken in chunks, whose sums [positions][output channels] stay in the first-level cache through all of the
   depth, and are turned into rows of the result at the end. */
#include "backend/cpu/conv_turned.h"
#include "core/made_forms.h"
#include <string.h>

enum { CHUNK = 128, PANEL = 32, LEAST_DEPTH = 16 };

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

bool kni_conv_wants_turned(const kni_conv_plan *p, const kni_conv_tensor *y)
{
    const kni_conv_kernels *k = p->kernels;
    const kni_conv_axis *a = p->axes;
    int64_t n[KNI_CONV_AXES], size[KNI_CONV_AXES];
    if (!k->run || y->dtype != KN_F32 || p->compute != KN_F32 || p->channels * kni_conv_taps(p) < LEAST_DEPTH)
        return false;
    for (int i = 0; i < KNI_CONV_AXES; i++) {
        n[i] = p->transposed ? (a[i].target + a[i].stride - 1) / a[i].stride : a[i].target;
        size[i] = n[i] + a[i].reach;
    }
    const int64_t width = size[2] == n[2] ? size[1] == n[1] ? n[0] * n[1] * n[2] : n[1] * n[2] : n[2];
    const int64_t columns = ((n[0] - 1) * size[1] + n[1] - 1) * size[2] + n[2];
    const double straight = (double)round_up(columns, k->lanes) * (double)p->outs;
    const double turned = (double)(n[0] * n[1]) * (double)n[2] * (double)round_up(p->outs, k->lanes);
    return width >= 3 && turned <= straight;
}

bool kni_conv_turned_pays(const kni_conv_plan *p, const kni_tensor *w)
{
    enum { LEAST_CHANNELS = 64, MOST_POSITIONS = 256 };
    const kni_conv_axis *a = p->axes;
    return p->channels >= LEAST_CHANNELS && a[0].target * a[1].target * a[2].target <= MOST_POSITIONS &&
           kni_form_lasts(w->storage) && kni_is_contiguous(w->type.rank, w->type.dims, w->strides);
}

/* Neighbouring positions: in the planes, and in the sums. */
typedef struct {
    int64_t x;
    int at, n;
} piece;

/* Neighbouring results. */
typedef struct {
    int64_t y;
    int at, n;
} stretch;

typedef struct {
    piece pieces[CHUNK];
    stretch stretches[CHUNK];
    int n_pieces, n_stretches, positions;
} chunk;

/* Where the next chunk begins. */
typedef struct {
    int64_t row, column;
} place;

static void add_stretch(chunk *c, int64_t y, int64_t step, int n)
{
    stretch *last = c->n_stretches ? &c->stretches[c->n_stretches - 1] : NULL;
    if (last && step == 1 && last->y + last->n == y)
        last->n += n;
    else
        c->stretches[c->n_stretches++] = (stretch){y, c->positions, n};
}

/* Rows are cut into pieces of nearly equal length. False where nothing is left. */
static bool next_chunk(const kni_conv_turned_part *t, place *at, chunk *c)
{
    const int64_t *n = t->count, rows = n[0] * n[1],
                  pieces = (n[2] + t->plan->kernels->run - 1) / t->plan->kernels->run;
    c->n_pieces = c->n_stretches = c->positions = 0;
    while (at->row < rows) {
        const int64_t first = at->column * n[2] / pieces, end = (at->column + 1) * n[2] / pieces;
        const int64_t a = at->row / n[1], b = at->row % n[1];
        if (c->positions + end - first > CHUNK) break;
        c->pieces[c->n_pieces++] =
            (piece){(a * t->size[1] + b) * t->size[2] + first, c->positions, (int)(end - first)};
        add_stretch(c, a * t->y_step[0] + b * t->y_step[1] + first * t->y_step[2], t->y_step[2],
                    (int)(end - first));
        c->positions += (int)(end - first);
        if (++at->column < pieces) continue;
        at->column = 0;
        at->row++;
    }
    return c->n_pieces > 0;
}

/* Adds a block of depth to all sums: two pieces of one length at a time. */
static void multiply_chunk(const kni_conv_turned_part *t, const chunk *c, const float *weights, int64_t first,
                           int64_t depth, int width, float *sums)
{
    const int64_t tiles =
        (c->n_pieces + 1) / 2; /* in all of which the weights of the next block are asked for */
    const piece *waiting[2] = {
        NULL,
        NULL}; /* by the lowest bit of the length: pieces have two lengths at most, which follow each other */
    kni_conv_turned p = {.depth = depth,
                         .w = weights,
                         .offsets = t->phase->offsets + first,
                         .vectors = width / t->plan->kernels->lanes,
                         .adds = first > 0,
                         .ahead = (const char *)(weights + depth * width),
                         .ahead_step = (int64_t)sizeof(float) * width / tiles,
                         .separate = t->separate};
    for (int i = 0; i < c->n_pieces + 2; i++) {
        const piece *one = i < c->n_pieces ? &c->pieces[i] : waiting[i - c->n_pieces];
        const piece **other = one && i < c->n_pieces ? &waiting[one->n & 1] : NULL;
        if (!one) continue;
        if (other && !*other) {
            *other = one;
            continue;
        }
        p.count = one->n;
        p.runs = other ? 2 : 1;
        p.x[0] = t->planes + (other ? *other : one)->x;
        p.x[1] = t->planes + one->x;
        p.sums[0] = sums + (other ? *other : one)->at * width;
        p.sums[1] = sums + one->at * width;
        t->plan->kernels->turned(&p);
        p.ahead += p.ahead_step * depth;
        if (other) *other = NULL;
    }
}

static void store_chunk(const kni_conv_turned_part *t, const chunk *c, int64_t out, int64_t outs, int width,
                        const float *sums)
{
    const float *bias = t->bias ? t->bias + out : NULL;
    for (int i = 0; i < c->n_stretches; i++) {
        const stretch *s = &c->stretches[i];
        float *y = t->y + out * t->y_channel + s->y;
        if (t->y_step[2] == 1) {
            t->plan->kernels->turned_store(
                &(kni_conv_turned_store){.sums = sums + s->at * width,
                                         .sums_row = width,
                                         .positions = s->n,
                                         .outs = outs,
                                         .bias = bias,
                                         .y = y,
                                         .y_channel = t->y_channel,
                                         .finish = kni_finish_from(t->finish, (long)out)});
            continue;
        }
        for (int64_t o = 0; o < outs; o++)
            for (int k = 0; k < s->n; k++) {
                const float sum = sums[(s->at + k) * width + o];
                y[o * t->y_channel + k * t->y_step[2]] = bias ? sum + bias[o] : sum;
            }
    }
}

/* Rows that lie behind each other in planes and results are one. */
static void merge_rows(kni_conv_turned_part *t)
{
    while (t->count[0] * t->count[1] > 1 && t->size[2] == t->count[2] &&
           (t->count[1] == 1 || t->y_step[1] == t->count[2] * t->y_step[2])) {
        t->count[2] *= t->count[1];
        t->size[2] *= t->size[1];
        t->count[1] = t->count[0];
        t->size[1] = t->size[0];
        t->y_step[1] = t->y_step[0];
        t->count[0] = t->size[0] = 1;
    }
}

void kni_conv_turned_run(const kni_conv_turned_part *part, int64_t out, int64_t last)
{
    _Alignas(64) float sums[CHUNK * PANEL];
    kni_conv_turned_part t = *part;
    const int64_t depth = t.phase->depth;
    chunk c;
    merge_rows(&t);
    while (out < last) {
        const int width = kni_conv_panel_rows(t.plan, t.plan->outs - out);
        const int64_t outs = last - out < width ? last - out : width;
        const float *weights = t.weights + out * depth;
        place at = {0, 0};
        while (next_chunk(&t, &at, &c)) {
            /* No tap reaches these positions of a transposed convolution. */
            if (depth == 0) memset(sums, 0, sizeof sums);
            for (int64_t k = 0; k < depth; k += KNI_CONV_DEPTH)
                multiply_chunk(&t, &c, weights + k * width, k,
                               depth - k < KNI_CONV_DEPTH ? depth - k : KNI_CONV_DEPTH, width, sums);
            store_chunk(&t, &c, out, outs, width, sums);
        }
        out += width;
    }
}
