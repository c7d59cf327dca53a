/* Sorted lines: parts of a line are sorted by workgroups, then merged pair by pair; or, where only the first few of a line
   are wanted, only those of each part are kept and sorted again, until one part is left. */
#include "backend/gpu/gpu_sort.h"
#include "backend/gpu/gpu_sort_text.h"
#include <string.h>

enum { TILE = KNI_GPU_SORT_TILE };

static int64_t pieces(int64_t n, int64_t tile) { return (n + tile - 1) / tile; }

/* How the dtype is ordered. */
static void find_order(kni_gpu_lines *l, int dtype)
{
    static const uint8_t raw[] = {KN_U8, KN_U16, KN_U32, KN_U64};
    const kni_dtype_row *t = &kni_dtypes[dtype];
    l->raw = raw[t->bits > 32 ? 3 : t->bits / 16];
    l->half = UINT64_C(1) << (t->bits - 1);
    l->order = t->kind == KNI_KIND_FLOAT    ? KNI_GPU_FLOAT
               : t->kind == KNI_KIND_SIGNED ? KNI_GPU_SIGNED
                                            : KNI_GPU_PLAIN;
    l->infinity = t->kind == KNI_KIND_FLOAT ? (l->half - 1) >> t->mantissa << t->mantissa : 0;
}

bool kni_gpu_lines_flat(kni_gpu_lines *l, kni_gpu *g, const kn_record *r)
{
    const kni_ir_caps *caps = &g->driver->caps;
    kni_tensor *x = kni_in(r, 0);
    *l = (kni_gpu_lines){.gpu = g, .record = r, .x = x, .lines = 1, .inner = 1, .cell = -1};
    l->axis = kni_count(&x->type);
    find_order(l, x->type.dtype);
    return l->axis > 0 && (!caps->max_workgroup || caps->max_workgroup >= KNI_GPU_SORT_WORKGROUP);
}

bool kni_gpu_lines_begin(kni_gpu_lines *l, kni_gpu *g, const kn_record *r, int64_t axis, bool flat,
                         bool descending)
{
    const kni_ir_caps *caps = &g->driver->caps;
    const kni_type *t = &kni_in(r, 0)->type;
    int64_t n = kni_count(t);
    /* Places and the numbers of pieces are computed in 32 bits, with room for a last piece. */
    if (!kni_gpu_lines_flat(l, g, r) || n > INT32_MAX - TILE * KNI_GPU_SORT_EACH) return false;
    l->descending = descending;
    if (!flat) l->axis = t->rank ? t->dims[axis] : 1;
    for (int64_t i = axis + 1; i < t->rank && !flat; i++) l->inner *= t->dims[i];
    l->lines = n / l->axis;
    bool large = l->axis > TILE && caps->shared_bytes >= 2 * TILE * sizeof(uint64_t) &&
                 (!caps->max_workgroup || caps->max_workgroup >= 2 * KNI_GPU_SORT_WORKGROUP);
    l->tile = large ? 2 * TILE : TILE;
    return caps->shared_bytes >= TILE * sizeof(uint64_t);
}

static bool is_wide(const kni_gpu_lines *l) { return l->raw == KN_U64; }

static kn_status take_block(kni_gpu_lines *l, kni_gpu_block **block, int64_t elements)
{
    if (*block) return KN_OK;
    *block = kni_gpu_take(l->gpu, (size_t)elements * sizeof(int64_t));
    return *block ? KN_OK : kni_latest_code();
}

static kn_status launch(kni_gpu_lines *l, kni_gpu_call *call)
{
    call->element = KN_U64;
    return kni_gpu_launch_text(l->gpu, &kni_gpu_sort_text, l->record, &l->cell, call);
}

/* The least 9, 18, 36 ... that holds n, at most a tile. */
static int64_t segment_of(const kni_gpu_lines *l, int64_t n)
{
    int64_t segment = KNI_GPU_SORT_EACH;
    while (segment < n && segment < l->tile) segment *= 2;
    return segment;
}

/* Parts of lines of n keys, or of elements of x where `from` is NULL; `keep` of each part go to `to`. */
typedef struct tiles {
    kni_gpu_block *from, *to;
    int64_t n, keep, row;
    const kni_gpu_pick *direct;
} tiles;

/* What stands for buffers that a launch does not use: one that is bound anyhow, or ones of their own where none may be bound twice. */
static kn_status find_spare(kni_gpu_lines *l, kni_gpu_block *written, kni_gpu_block **spare)
{
    kn_status s = KN_OK;
    spare[0] = spare[1] = written;
    for (int i = 0; i < 2 && s == KN_OK && l->gpu->driver->caps.no_aliases; i++) {
        s = take_block(l, &l->spare[i], 1);
        spare[i] = l->spare[i];
    }
    return s;
}

static kn_status sort_tiles(kni_gpu_lines *l, const tiles *t)
{
    kni_gpu_block *spare[2];
    const kni_gpu_pick *d = t->direct;
    kn_status s = find_spare(l, d ? kni_gpu_block_of(d->values->storage) : t->to, spare);
    if (s) return s;
    int64_t segment = segment_of(l, t->n), parts = pieces(t->n, l->tile), per = l->tile / segment;
    bool keys = t->from != NULL;
    kni_gpu_block *x = keys ? t->from : l->block;
    kni_gpu_call call = {.kernel = l->tile > TILE ? "sort_large_tiles" : "sort_tiles",
                         .n_buffers = 4,
                         .storage = {keys ? KN_U64 : (uint8_t)l->raw, KN_U64, (uint8_t)l->raw, KN_I64},
                         .blocks = {x, t->to, spare[0], spare[1]},
                         .offsets = {keys ? 0 : l->offset},
                         .n_numbers = 13,
                         .numbers = {l->lines, t->n, keys ? 1 : l->inner, parts, segment, t->keep, t->row,
                                     d != NULL, d ? d->first : 0, keys ? KNI_GPU_KEYS : l->order,
                                     (int64_t)l->half, (int64_t)l->infinity, l->descending}};
    if (d) {
        call.blocks[1] = spare[0];
        call.blocks[2] = kni_gpu_block_of(d->values->storage);
        call.blocks[3] = kni_gpu_block_of(d->positions->storage);
        call.numbers[5] = d->n;
    }
    call.size = (l->lines * parts + per - 1) / per;
    return launch(l, &call);
}

/* How often 32 places of a run are looked at until one is found: 33 pieces are left of it each time. */
static int64_t turns_of(int64_t run)
{
    int64_t turns = 1;
    for (; run > 1; run = (run + 32) / 33) turns++;
    return turns;
}

/* Sorted parts in *from become sorted lines, in *from again; *to is the other block. */
static kn_status merge_tiles(kni_gpu_lines *l, int64_t row, kni_gpu_block **from, kni_gpu_block **to)
{
    int64_t parts = pieces(row, TILE);
    kn_status s = row > l->tile ? take_block(l, &l->cuts, l->lines * parts) : KN_OK;
    for (int64_t run = l->tile; run < row && s == KN_OK; run *= 2) {
        kni_gpu_call cut = {.kernel = "cut_tiles",
                            .n_buffers = 2,
                            .storage = {KN_U64, KN_I64},
                            .blocks = {*from, l->cuts},
                            .n_numbers = 4,
                            .numbers = {row, parts, run, turns_of(run)},
                            .size = l->lines * parts};
        kni_gpu_call merge = {.kernel = "merge_tiles",
                              .n_buffers = 3,
                              .storage = {KN_U64, KN_I64, KN_U64},
                              .blocks = {*from, l->cuts, *to},
                              .n_numbers = 3,
                              .numbers = {row, parts, run},
                              .size = l->lines * parts};
        s = launch(l, &cut);
        if (s == KN_OK) s = launch(l, &merge);
        kni_gpu_block *swap = *from;
        *from = *to;
        *to = swap;
    }
    return s;
}

/* Whole lines of n from `from` (NULL: of x), into keys[a], by way of keys[b]. */
static kn_status sort_whole(kni_gpu_lines *l, kni_gpu_block *from, int64_t n, int a, int b)
{
    kn_status s = take_block(l, &l->keys[a], l->lines * n);
    if (s == KN_OK && n > l->tile) s = take_block(l, &l->keys[b], l->lines * n);
    tiles t = {from, l->keys[a], n, segment_of(l, n), n, NULL};
    if (s == KN_OK) s = sort_tiles(l, &t);
    if (s == KN_OK) s = merge_tiles(l, n, &l->keys[a], &l->keys[b]);
    l->sorted = l->keys[a];
    l->row = n;
    return s;
}

/* Only the first `want` of each part, at most half of it, are kept. */
static kn_status sort_first(kni_gpu_lines *l, int64_t want)
{
    kn_status s = KN_OK;
    kni_gpu_block *from = NULL;
    int to = 0;
    for (int64_t n = l->axis; s == KN_OK;) {
        int64_t parts = pieces(n, l->tile), rest = n - (parts - 1) * l->tile;
        tiles t = {from, NULL, n, want, (parts - 1) * want + (rest < want ? rest : want), NULL};
        s = take_block(l, &l->keys[to], l->lines * t.row);
        t.to = l->keys[to];
        if (s == KN_OK) s = sort_tiles(l, &t);
        l->sorted = from = t.to;
        l->row = n = t.row;
        to = 1 - to;
        if (parts == 1) break;
    }
    return s;
}

/* Elements of 64 bits: by the low halves, then by the high ones. */
static kn_status sort_halves(kni_gpu_lines *l)
{
    int64_t n = l->lines * l->axis;
    kn_status s = sort_whole(l, NULL, l->axis, 0, 1);
    if (s == KN_OK) s = take_block(l, &l->keys[1], n);
    if (s == KN_OK) s = take_block(l, &l->keys[2], n);
    if (s) return s;
    l->earlier = l->keys[0];
    kni_gpu_call upper = {
        .kernel = "upper_keys",
        .n_buffers = 3,
        .storage = {(uint8_t)l->raw, KN_U64, KN_U64},
        .blocks = {l->block, l->earlier, l->keys[1]},
        .offsets = {l->offset},
        .n_numbers = 6,
        .numbers = {l->axis, l->inner, l->order, (int64_t)l->half, (int64_t)l->infinity, l->descending},
        .size = n};
    s = launch(l, &upper);
    return s ? s : sort_whole(l, l->keys[1], l->axis, 2, 1);
}

kn_status kni_gpu_lines_sort(kni_gpu_lines *l, int64_t want, const kni_gpu_pick *direct, bool *done)
{
    kn_status s = kni_gpu_dense(l->gpu, l->x, &l->block, &l->offset, &l->made);
    *done = false;
    if (s) return s;
    if (is_wide(l)) return sort_halves(l);
    if (direct && l->axis <= l->tile) {
        tiles t = {NULL, NULL, l->axis, direct->n, l->axis, direct};
        *done = true;
        return sort_tiles(l, &t);
    }
    l->ranked = true;
    if (l->axis > l->tile && want <= l->tile / 2) return sort_first(l, want);
    return sort_whole(l, NULL, l->axis, 0, 1);
}

kn_status kni_gpu_lines_by_place(kni_gpu_lines *l, int64_t n)
{
    kni_gpu_block *made = NULL;
    kn_status s = take_block(l, &made, l->lines * n);
    if (s) return s;
    kni_gpu_call places = {.kernel = "place_keys",
                           .n_buffers = 3,
                           .storage = {KN_U64, KN_U64, KN_U64},
                           .blocks = {l->sorted, l->earlier ? l->earlier : l->sorted, made},
                           .n_numbers = 4,
                           .numbers = {n, l->row, l->axis, l->earlier != NULL},
                           .size = l->lines * n};
    s = launch(l, &places);
    /* What was sorted is not needed any more. */
    for (int i = 0; i < KNI_COUNT(l->keys); i++) {
        if (l->keys[i]) kni_gpu_give(l->keys[i]);
        l->keys[i] = NULL;
    }
    if (l->cuts) kni_gpu_give(l->cuts);
    l->cuts = l->earlier = NULL;
    l->ranked = false;
    l->keys[2] = made;
    return s ? s : sort_whole(l, made, n, 0, 1);
}

kn_status kni_gpu_lines_place(kni_gpu_lines *l, const kni_gpu_pick *pick, bool propagate)
{
    kni_gpu_call place = {.kernel = "place_lines",
                          .n_buffers = 5,
                          .storage = {(uint8_t)l->raw, KN_U64, KN_U64, (uint8_t)l->raw, KN_I64},
                          .blocks = {l->block, l->sorted, l->earlier ? l->earlier : l->sorted,
                                     kni_gpu_block_of(pick->values->storage),
                                     kni_gpu_block_of(pick->positions->storage)},
                          .offsets = {l->offset},
                          .n_numbers = 12,
                          .numbers = {l->axis, l->inner, l->row, pick->first, pick->n, l->earlier != NULL,
                                      propagate && l->order == KNI_GPU_FLOAT, (int64_t)l->half,
                                      (int64_t)l->infinity, l->order, l->ranked && !propagate, l->descending},
                          .size = l->lines * pick->n};
    return launch(l, &place);
}

void kni_gpu_lines_end(kni_gpu_lines *l)
{
    kni_gpu_block *all[] = {l->keys[0], l->keys[1], l->keys[2], l->cuts, l->made, l->spare[0], l->spare[1]};
    for (int i = 0; i < KNI_COUNT(all); i++)
        if (all[i]) kni_gpu_give(all[i]);
}
