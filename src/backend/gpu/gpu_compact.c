/* Rows that keep some elements in their order: nonzero and unique_bounded. What is marked is counted by blocks, the counts
   are summed up, and each marked element then knows its place. */
#include "backend/gpu/gpu_sort.h"
#include "backend/gpu/gpu_sort_text.h"
#include "ir/legalise.h"
#include "ops/indexing_rows.h"

/* Elements of a block and the shared memory at most, that of sum_counts, as the text has them; a place of shared memory is
   left out after every 8, so that neighbours do not meet in one bank. */
enum { BLOCK = 2048, SHARED = (2304 + KNI_SCAN_ARRAYS * KNI_GPU_SORT_WORKGROUP) * 8, RANK = KN_MAX_RANK };

/* Each invocation looks at 8 neighbours; `before` becomes how many are marked before them. */
#define LOOK                                                                                                 \
    "    shared i32 marks[2304];\n"                                                                          \
    "    i32 l = (i32)local_id(), here = 0;\n"                                                               \
    "    index begin = group_id() * 2048;\n"                                                                 \
    "    for (i32 e = l; e < 2048; e += 256)\n"                                                              \
    "        marks[e + e / 8] = begin + e < n && (x[begin + e] & mask) != 0 ? 1 : 0;\n"                      \
    "    barrier();\n"                                                                                       \
    "    for (i32 e = 0; e < 8; e++) here += marks[l * 9 + e];\n"                                            \
    "    i32 through = workgroup_scan(here);\n"                                                              \
    "    index rank = starts[group_id()] + through - here;\n"

static const char text[] =
    "kernel count_marks(workgroup 256, in T x[], out index counts[], index n, u64 mask)\n"
    "{\n"
    "    index begin = group_id() * 2048;\n"
    "    i32 here = 0;\n"
    "    for (index e = begin + local_id(); e < begin + 2048 && e < n; e += 256)\n"
    "        here += (x[e] & mask) != 0 ? 1 : 0;\n"
    "    i32 all = workgroup_sum(here);\n"
    "    if (local_id() == 0) counts[group_id()] = all;\n"
    "}\n\n"
    "/* One group: counts become what came before them. */\n"
    "kernel sum_counts(workgroup 256, inout index counts[], out index total[], index n)\n"
    "{\n"
    "    shared index held[2304];\n"
    "    index l = local_id(), all = 0;\n"
    "    for (index begin = 0; begin < n; begin += 2048) {\n"
    "        for (index e = l; e < 2048; e += 256)\n"
    "            held[e + e / 8] = begin + e < n ? counts[begin + e] : 0;\n"
    "        barrier();\n"
    "        index own = 0;\n"
    "        for (index e = 0; e < 8; e++) own += held[l * 9 + e];\n"
    "        index through = workgroup_scan(own);\n"
    "        index before = all + through - own;\n"
    "        for (index e = 0; e < 8; e++) {\n"
    "            index count = held[l * 9 + e];\n"
    "            held[l * 9 + e] = before;\n"
    "            before += count;\n"
    "        }\n"
    "        barrier();\n"
    "        for (index e = l; e < 2048; e += 256)\n"
    "            if (begin + e < n) counts[begin + e] = held[e + e / 8];\n"
    "        all += workgroup_sum(own);\n"
    "        barrier();\n"
    "    }\n"
    "    if (l == 0) total[0] = all;\n"
    "}\n\n"
    "/* The index tuples; rows behind the last are 0. */\n"
    "kernel place_tuples(workgroup 256, in T x[], in index starts[], in index total[], out index y[],\n"
    "                    index n, u64 mask, index capacity, index rank_of_x, uniform index dims[8])\n"
    "{\n" LOOK "    for (i32 e = 0; e < 8; e++) {\n"
    "        if (marks[l * 9 + e] != 0) {\n"
    "            index rest = begin + l * 8 + e;\n"
    "            for (index k = 0; k < rank_of_x && rank < capacity; k++) {\n"
    "                index a = rank_of_x - 1 - k;\n"
    "                index above = k + 1 < rank_of_x ? rest / dims[a] : 0;\n"
    "                y[rank * rank_of_x + a] = rest - above * dims[a];\n"
    "                rest = above;\n"
    "            }\n"
    "            rank++;\n"
    "        }\n"
    "    }\n"
    "    for (index e = total[0] * rank_of_x + begin / 8 + l; e < capacity * rank_of_x;\n"
    "         e += group_count() * 256)\n"
    "        y[e] = 0;\n"
    "}\n\n"
    "/* Where a sorted element differs from the one before. NaN differs from NaN. */\n"
    "kernel mark_runs(index item, in T x[], in u64 sorted[], in u64 earlier[], out u8 marks[],\n"
    "                 index through, index is_float, u64 half, u64 infinity)\n"
    "{\n"
    "    index at = sorted[item] & 4294967295, other = 0, differs = 1;\n"
    "    if (through != 0) at = earlier[at] & 4294967295;\n"
    "    if (item > 0) {\n"
    "        other = sorted[item - 1] & 4294967295;\n"
    "        if (through != 0) other = earlier[other] & 4294967295;\n"
    "        u64 a = x[at], b = x[other];\n"
    "        if (a == b) differs = 0;\n"
    "        if (is_float != 0) {\n"
    "            u64 a_size = a & (half - 1), b_size = b & (half - 1);\n"
    "            if (a_size == 0 && b_size == 0) differs = 0;\n"
    "            if (a_size > infinity) differs = 1;\n"
    "        }\n"
    "    }\n"
    "    marks[item] = (i32)differs;\n"
    "}\n\n"
    "/* The first element of each run, where it begins, and the number of its run for each element. */\n"
    "kernel place_runs(workgroup 256, in u8 x[], in index starts[], in u64 sorted[], in u64 earlier[],\n"
    "                  in T from[], out T values[], out index inverse[], out index begins[], index n,\n"
    "                  u64 mask, index earlier_too)\n"
    "{\n" LOOK "    for (i32 e = 0; e < 8; e++) {\n"
    "        index k = begin + l * 8 + e;\n"
    "        if (k < n) {\n"
    "            index place = sorted[k] & 4294967295;\n"
    "            if (earlier_too != 0) place = earlier[place] & 4294967295;\n"
    "            if (marks[l * 9 + e] != 0) {\n"
    "                values[rank] = from[place];\n"
    "                begins[rank] = k;\n"
    "                rank++;\n"
    "            }\n"
    "            inverse[place] = rank - 1;\n"
    "        }\n"
    "    }\n"
    "}\n\n"
    "kernel count_runs(index item, in index begins[], in index total[], inout T values[],\n"
    "                  out index counts[], index n)\n"
    "{\n"
    "    index found = total[0];\n"
    "    if (item < found) {\n"
    "        counts[item] = (item + 1 < found ? begins[item + 1] : n) - begins[item];\n"
    "    } else {\n"
    "        counts[item] = 0;\n"
    "        values[item] = 0;\n"
    "    }\n"
    "}\n";

static const kni_gpu_text compact_text = {"compact", text, sizeof text - 1};

static kn_status launch(kni_gpu_lines *l, kni_gpu_call *call)
{
    call->element = KN_U64;
    return kni_gpu_launch_text(l->gpu, &compact_text, l->record, &l->cell, call);
}

static int64_t blocks_of(int64_t n) { return (n + BLOCK - 1) / BLOCK; }

/* The blocks' counts of what is marked among n elements, summed up, and their number into `total`. */
static kn_status sum_marks(kni_gpu_lines *l, const kni_gpu_call *marks, kni_gpu_block *counts,
                           kni_gpu_block *total)
{
    kni_gpu_call count = *marks;
    count.kernel = "count_marks";
    count.n_buffers = count.n_numbers = 2;
    count.storage[1] = KN_I64;
    count.blocks[1] = counts;
    kni_gpu_call sum = {.kernel = "sum_counts",
                        .n_buffers = 2,
                        .storage = {KN_I64, KN_I64},
                        .blocks = {counts, total},
                        .n_numbers = 1,
                        .numbers = {count.size},
                        .size = 1};
    kn_status s = launch(l, &count);
    return s ? s : launch(l, &sum);
}

static kni_gpu_block *take(kni_gpu *g, int64_t elements, size_t each)
{
    return kni_gpu_take(g, (size_t)elements * each);
}

static kn_status find_nonzero(kni_gpu_lines *l, kni_gpu_block *counts)
{
    const kni_nonzero_attributes *a = l->record->attributes;
    const kni_type *t = &l->x->type;
    kni_gpu_block *total = kni_gpu_block_of(kni_out(l->record, 1)->storage);
    kni_gpu_call call = {
        .kernel = "place_tuples",
        .n_buffers = 4,
        .storage = {(uint8_t)l->raw, KN_I64, KN_I64, KN_I64},
        .blocks = {l->block, counts, total, kni_gpu_block_of(kni_out(l->record, 0)->storage)},
        .offsets = {l->offset},
        .n_numbers = 4 + RANK,
        .numbers = {l->axis, -1, a->capacity, t->rank},
        .size = blocks_of(l->axis)};
    /* -0 is 0. */
    if (l->order == KNI_GPU_FLOAT) call.numbers[1] = (int64_t)(l->half - 1);
    for (int i = 0; i < t->rank; i++) call.numbers[4 + i] = t->dims[i];
    kn_status s = sum_marks(l, &call, counts, total);
    return s || t->rank == 0 || a->capacity == 0 ? s : launch(l, &call);
}

kn_status kni_gpu_run_nonzero(kni_gpu *g, const kn_record *r)
{
    kni_gpu_lines l;
    if (!kni_gpu_lines_flat(&l, g, r) || g->driver->caps.shared_bytes < SHARED ||
        blocks_of(l.axis) > INT32_MAX)
        return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_gpu_dense(g, l.x, &l.block, &l.offset, &l.made);
    for (int i = 0; i < 2 && s == KN_OK; i++) s = kni_gpu_allocate(g, kni_out(r, i));
    kni_gpu_block *counts = s ? NULL : take(g, blocks_of(l.axis), sizeof(int64_t));
    if (s == KN_OK) s = counts ? find_nonzero(&l, counts) : kni_latest_code();
    if (s == KN_OK) kni_gpu_finish(g, r, l.cell);
    if (counts) kni_gpu_give(counts);
    kni_gpu_lines_end(&l);
    return s;
}

/* The scratch of unique: a mark for each element, the blocks' counts, where runs begin. */
enum { MARKS, COUNTS, BEGINS, SCRATCH };

static kn_status find_runs(kni_gpu_lines *l, kni_gpu_block *const *scratch)
{
    const kn_record *r = l->record;
    int64_t n = l->axis;
    uint8_t raw = (uint8_t)l->raw;
    kni_gpu_block *out[4], *earlier = l->earlier ? l->earlier : l->sorted;
    for (int i = 0; i < 4; i++) out[i] = kni_gpu_block_of(kni_out(r, i)->storage);
    kni_gpu_call mark = {
        .kernel = "mark_runs",
        .n_buffers = 4,
        .storage = {raw, KN_U64, KN_U64, KN_U8},
        .blocks = {l->block, l->sorted, earlier, scratch[MARKS]},
        .offsets = {l->offset},
        .n_numbers = 4,
        .numbers = {l->earlier != NULL, l->order == KNI_GPU_FLOAT, (int64_t)l->half, (int64_t)l->infinity},
        .size = n};
    kni_gpu_call place = {.kernel = "place_runs",
                          .n_buffers = 8,
                          .storage = {KN_U8, KN_I64, KN_U64, KN_U64, raw, raw, KN_I64, KN_I64},
                          .blocks = {scratch[MARKS], scratch[COUNTS], l->sorted, earlier, l->block, out[0],
                                     out[1], scratch[BEGINS]},
                          .offsets = {0, 0, 0, 0, l->offset},
                          .n_numbers = 3,
                          .numbers = {n, -1, l->earlier != NULL},
                          .size = blocks_of(n)};
    kni_gpu_call count = {.kernel = "count_runs",
                          .n_buffers = 4,
                          .storage = {KN_I64, KN_I64, raw, KN_I64},
                          .blocks = {scratch[BEGINS], out[3], out[0], out[2]},
                          .n_numbers = 1,
                          .numbers = {n},
                          .size = n};
    kn_status s = launch(l, &mark);
    if (s == KN_OK) s = sum_marks(l, &place, scratch[COUNTS], out[3]);
    if (s == KN_OK) s = launch(l, &place);
    return s ? s : launch(l, &count);
}

kn_status kni_gpu_run_unique(kni_gpu *g, const kn_record *r)
{
    kni_gpu_lines l;
    kni_gpu_block *scratch[SCRATCH] = {NULL, NULL, NULL};
    bool done;
    if (!kni_gpu_lines_begin(&l, g, r, 0, true, false) || g->driver->caps.shared_bytes < SHARED)
        return KN_ERROR_UNSUPPORTED;
    const int64_t sizes[SCRATCH] = {l.axis, blocks_of(l.axis), l.axis};
    kn_status s = KN_OK;
    for (int i = 0; i < 4 && s == KN_OK; i++) s = kni_gpu_allocate(g, kni_out(r, i));
    if (s == KN_OK) s = kni_gpu_lines_sort(&l, l.axis, NULL, &done);
    for (int i = 0; i < SCRATCH && s == KN_OK; i++) {
        scratch[i] = take(g, sizes[i], i == MARKS ? 1 : sizeof(int64_t));
        if (!scratch[i]) s = kni_latest_code();
    }
    if (s == KN_OK) s = find_runs(&l, scratch);
    if (s == KN_OK) kni_gpu_finish(g, r, l.cell);
    for (int i = 0; i < SCRATCH; i++)
        if (scratch[i]) kni_gpu_give(scratch[i]);
    kni_gpu_lines_end(&l);
    return s;
}
