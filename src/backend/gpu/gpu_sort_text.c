/* The kernels that sort, in the kernel language. A workgroup sorts 2304 or 4608 keys, 9 to an invocation, an odd number so
   that neighbours do not meet in one bank of the shared memory; then pairs of sorted runs are merged by all workgroups:
   where a piece of 2304 results begins in both runs is found first, and each invocation finds where its 9 begin in the
   piece. */
#include "backend/gpu/gpu_sort_text.h"

/* Each invocation takes 9 from two runs of shared keys that begin at a and b and end before a_end and b_end, the smaller
   first, from place `skip` of both together on. */
#define MERGE_NINE                                                                                           \
    "        i32 low = skip > b_end - b ? skip - (b_end - b) : 0, high = skip < a_end - a ? skip : a_end - " \
    "a;\n"                                                                                                   \
    "        while (low < high) {\n"                                                                         \
    "            i32 middle = (low + high) / 2;\n"                                                           \
    "            if (held[a + middle] < held[b + skip - 1 - middle]) low = middle + 1;\n"                    \
    "            else high = middle;\n"                                                                      \
    "        }\n"                                                                                            \
    "        a += low;\n"                                                                                    \
    "        b += skip - low;\n"                                                                             \
    "        u64 left = a < a_end ? held[a] : none, right = b < b_end ? held[b] : none;\n"                   \
    "        for (i32 k = 0; k < 9; k++) {\n"                                                                \
    "            bool first_run = left <= right;\n"                                                          \
    "            i32 next = first_run ? a + 1 : b + 1, stop = first_run ? a_end : b_end;\n"                  \
    "            u64 after = next < stop ? held[next] : none;\n"                                             \
    "            mine[k] = first_run ? left : right;\n"                                                      \
    "            a = first_run ? next : a;\n"                                                                \
    "            b = first_run ? b : next;\n"                                                                \
    "            left = first_run ? after : left;\n"                                                         \
    "            right = first_run ? right : after;\n"                                                       \
    "        }\n"                                                                                            \
    "        barrier();\n"                                                                                   \
    "        for (i32 k = 0; k < 9; k++) held[own + k] = mine[k];\n"                                         \
    "        barrier();\n"

#define ORDER                                                                                                \
    "/* The rank of an element among all values of its dtype, from its bits: -0 is 0, and NaN the "          \
    "greatest. "                                                                                             \
    "*/\n"                                                                                                   \
    "function u64 rank_of(u64 bits, index order, u64 half, u64 infinity, index descending)\n"                \
    "{\n"                                                                                                    \
    "    u64 rank = bits, last = half + half - 1;\n"                                                         \
    "    if (order == 1) rank = bits ^ half;\n"                                                              \
    "    if (order == 2) {\n"                                                                                \
    "        u64 size = bits & (half - 1);\n"                                                                \
    "        rank = bits >= half ? half - size : half + size;\n"                                             \
    "        if (size > infinity) rank = last;\n"                                                            \
    "    }\n"                                                                                                \
    "    return descending != 0 ? last - rank : rank;\n"                                                     \
    "}\n\n"

/* A line has `tiles` parts of `segment` elements; a short one is one part, and a workgroup sorts several. keep: how many of
   each part are written, to lines of `row` keys. direct: those from `first` on go to the results instead. */
#define SORT_TILES(NAME, WORKGROUP, TILE)                                                                    \
    "kernel " NAME "(workgroup " WORKGROUP                                                                   \
    ", in T x[], out u64 keys[], out T y[], out index p[], index lines,\n"                                   \
    "                  index axis, index inner, index tiles, index segment, index keep, index row,\n"        \
    "                  index direct, index first, index order, u64 half, u64 infinity, index descending)\n"  \
    "{\n"                                                                                                    \
    "    shared u64 held[" TILE "];\n"                                                                       \
    "    u64 mine[9];\n"                                                                                     \
    "    u64 none = 0;\n"                                                                                    \
    "    none = none - 1;\n"                                                                                 \
    "    i32 l = (i32)local_id(), size = (i32)segment, parts = (i32)tiles, own = l * 9;\n"                   \
    "    i32 unit = (i32)group_id() * (" TILE " / size);\n"                                                  \
    "    for (i32 e = l; e < " TILE "; e += " WORKGROUP ") {\n"                                              \
    "        i32 part = e / size;\n"                                                                         \
    "        i32 line = (unit + part) / parts;\n"                                                            \
    "        i32 k = (unit + part - line * parts) * size + e - part * size;\n"                               \
    "        u64 key = none;\n"                                                                              \
    "        if (line < lines && k < axis) {\n"                                                              \
    "            index at = line * axis + k;\n"                                                              \
    "            if (inner > 1) at = line / (i32)inner * axis * inner + k * inner + line % (i32)inner;\n"    \
    "            key = x[at];\n"                                                                             \
    "            if (order != 3) key = (rank_of(key, order, half, infinity, descending) << 32) + k;\n"       \
    "        }\n"                                                                                            \
    "        held[e] = key;\n"                                                                               \
    "    }\n"                                                                                                \
    "    barrier();\n"                                                                                       \
    "    for (i32 k = 0; k < 9; k++) mine[k] = held[own + k];\n"                                             \
    "    for (i32 turn = 0; turn < 9; turn++)\n"                                                             \
    "        for (i32 k = 0; k < 4; k++) {\n"                                                                \
    "            u64 left = mine[2 * k + turn % 2], right = mine[2 * k + turn % 2 + 1];\n"                   \
    "            mine[2 * k + turn % 2] = left < right ? left : right;\n"                                    \
    "            mine[2 * k + turn % 2 + 1] = left < right ? right : left;\n"                                \
    "        }\n"                                                                                            \
    "    for (i32 k = 0; k < 9; k++) held[own + k] = mine[k];\n"                                             \
    "    barrier();\n"                                                                                       \
    "    for (i32 run = 9; run < size; run *= 2) {\n"                                                        \
    "        i32 a = own / (2 * run) * (2 * run);\n"                                                         \
    "        i32 b = a + run, a_end = a + run, b_end = a + 2 * run, skip = own - a;\n" MERGE_NINE "    }\n"  \
    "    for (i32 e = l; e < " TILE "; e += " WORKGROUP ") {\n"                                              \
    "        i32 part = e / size;\n"                                                                         \
    "        i32 line = (unit + part) / parts, k = e - part * size;\n"                                       \
    "        i32 tile = unit + part - line * parts;\n"                                                       \
    "        if (line < lines && tile * size + k < axis) {\n"                                                \
    "            if (direct != 0) {\n"                                                                       \
    "                if (k >= first && k < first + keep) {\n"                                                \
    "                    i32 outer = line / (i32)inner;\n"                                                   \
    "                    i32 column = line - outer * (i32)inner;\n"                                          \
    "                    index place = held[e] & 4294967295;\n"                                              \
    "                    index to = (outer * keep + k - first) * inner + column;\n"                          \
    "                    y[to] = x[(outer * axis + place) * inner + column];\n"                              \
    "                    p[to] = place;\n"                                                                   \
    "                }\n"                                                                                    \
    "            } else if (k < keep) {\n"                                                                   \
    "                keys[line * row + tile * keep + k] = held[e];\n"                                        \
    "            }\n"                                                                                        \
    "        }\n"                                                                                            \
    "    }\n"                                                                                                \
    "}\n\n"

/* Runs of `run` keys, a multiple of 2304, become runs of twice as many: where each piece of 2304 results begins in the first
   run, then the pieces. */
#define MERGE_TILES                                                                                          \
    "/* One group for each piece: 32 places are looked at at once, as often as the longest run needs. */\n"  \
    "kernel cut_tiles(workgroup 32, in u64 from[], out index cuts[], index row, index tiles, index run, "    \
    "index turns)\n"                                                                                         \
    "{\n"                                                                                                    \
    "    index line = group_id() / tiles;\n"                                                                 \
    "    index begin = (group_id() - line * tiles) * 2304, base = line * row;\n"                             \
    "    index a = begin / (2 * run) * (2 * run), end = row;\n"                                              \
    "    index b = a + run < row ? a + run : row, skip = begin - a;\n"                                       \
    "    if (b + run < row) end = b + run;\n"                                                                \
    "    index low = skip > end - b ? skip - (end - b) : 0, high = skip < b - a ? skip : b - a;\n"           \
    "    for (index turn = 0; turn < turns; turn++) {\n"                                                     \
    "        index size = high - low;\n"                                                                     \
    "        index at = low + size * (local_id() + 1) / 33;\n"                                               \
    "        index before = low < high && from[base + a + at] < from[base + b + skip - 1 - at] ? 1 : 0;\n"   \
    "        index count = workgroup_sum(before);\n"                                                         \
    "        if (count < 32) high = low + size * (count + 1) / 33;\n"                                        \
    "        if (count > 0) low = low + size * count / 33 + 1;\n"                                            \
    "    }\n"                                                                                                \
    "    if (local_id() == 0) cuts[group_id()] = low;\n"                                                     \
    "}\n\n"                                                                                                  \
    "kernel merge_tiles(workgroup 256, in u64 from[], in index cuts[], out u64 to[], index row, index "      \
    "tiles,\n"                                                                                               \
    "                   index run)\n"                                                                        \
    "{\n"                                                                                                    \
    "    shared u64 held[2304];\n"                                                                           \
    "    u64 mine[9];\n"                                                                                     \
    "    u64 none = 0;\n"                                                                                    \
    "    none = none - 1;\n"                                                                                 \
    "    index line = group_id() / tiles;\n"                                                                 \
    "    index begin = (group_id() - line * tiles) * 2304, base = line * row;\n"                             \
    "    index first = begin / (2 * run) * (2 * run), end = row, last = begin + 2304;\n"                     \
    "    index second = first + run < row ? first + run : row;\n"                                            \
    "    if (second + run < row) end = second + run;\n"                                                      \
    "    if (last > end) last = end;\n"                                                                      \
    "    index a_from = first + cuts[group_id()], a_to = second;\n"                                          \
    "    if (last < end) a_to = first + cuts[group_id() + 1];\n"                                             \
    "    index b_from = second + (begin - first) - (a_from - first);\n"                                      \
    "    i32 l = (i32)local_id(), own = l * 9, n = (i32)(last - begin), a = 0, a_end = (i32)(a_to - "        \
    "a_from);\n"                                                                                             \
    "    i32 b = a_end, b_end = n, skip = own < n ? own : n;\n"                                              \
    "    for (i32 e = l; e < n; e += 256)\n"                                                                 \
    "        held[e] = from[base + (e < a_end ? a_from + e : b_from + e - a_end)];\n"                        \
    "    barrier();\n"                                                                                       \
    "    {\n" MERGE_NINE "    }\n"                                                                           \
    "    for (i32 e = l; e < n; e += 256) to[base + begin + e] = held[e];\n"                                 \
    "}\n\n"

static const char text[] =
    ORDER SORT_TILES("sort_tiles", "256", "2304") SORT_TILES("sort_large_tiles", "512", "4608") MERGE_TILES
    "/* The keys of the high halves of elements of 64 bits, in the order of the low ones. */\n"
    "kernel upper_keys(index item, in T x[], in u64 lower[], out u64 keys[], index axis, index inner,\n"
    "                  index order, u64 half, u64 infinity, index descending)\n"
    "{\n"
    "    index line = item / axis;\n"
    "    index place = lower[item] & 4294967295;\n"
    "    u64 bits = x[(line / inner * axis + place) * inner + line % inner];\n"
    "    u64 rank = rank_of(bits, order, half, infinity, descending);\n"
    "    keys[item] = (rank >> 32 << 32) + (item - line * axis);\n"
    "}\n\n"
    "/* Keys that are places alone, n of each line. */\n"
    "kernel place_keys(index item, in u64 sorted[], in u64 earlier[], out u64 keys[], index n, index row,\n"
    "                  index axis, index through)\n"
    "{\n"
    "    index line = item / n;\n"
    "    index place = sorted[line * row + item - line * n] & 4294967295;\n"
    "    if (through != 0) place = earlier[line * axis + place] & 4294967295;\n"
    "    keys[item] = place;\n"
    "}\n\n"
    "/* Items: the results, [outer, n, inner]. ranked: a key says what the element is, but for 0 and NaN, of "
    "which\n"
    "   there are several. */\n"
    "kernel place_lines(index item, in T x[], in u64 sorted[], in u64 earlier[], out T y[], out index p[],\n"
    "                   index axis, index inner, index row, index first, index n, index through,\n"
    "                   index propagate, u64 half, u64 infinity, index order, index ranked,\n"
    "                   index descending)\n"
    "{\n"
    "    index above = item / inner;\n"
    "    index outer = above / n, column = item - above * inner;\n"
    "    index line = outer * inner + column, k = first + above - outer * n;\n"
    "    index place = sorted[line * row + k] & 4294967295;\n"
    "    if (through != 0) place = earlier[line * axis + place] & 4294967295;\n"
    "    if (propagate != 0) {\n"
    "        index low = 0, high = axis;\n"
    "        while (low < high) {\n"
    "            index middle = (low + high) / 2;\n"
    "            index at = sorted[line * row + middle] & 4294967295;\n"
    "            if (through != 0) at = earlier[line * axis + at] & 4294967295;\n"
    "            u64 bits = x[(outer * axis + at) * inner + column];\n"
    "            if ((bits & (half - 1)) > infinity) high = middle;\n"
    "            else low = middle + 1;\n"
    "        }\n"
    "        if (low < axis) {\n"
    "            place = sorted[line * row + low] & 4294967295;\n"
    "            if (through != 0) place = earlier[line * axis + place] & 4294967295;\n"
    "        }\n"
    "    }\n"
    "    u64 last = half + half - 1, rank = sorted[line * row + k] >> 32, bits = 0;\n"
    "    if (descending != 0) rank = last - rank;\n"
    "    if (ranked == 0 || (order == 2 && (rank == half || rank == last))) {\n"
    "        bits = x[(outer * axis + place) * inner + column];\n"
    "    } else {\n"
    "        bits = order == 1 ? rank ^ half : rank;\n"
    "        if (order == 2) bits = rank > half ? rank - half : last + 1 - rank;\n"
    "    }\n"
    "    y[item] = bits;\n"
    "    p[item] = place;\n"
    "}\n";

const kni_gpu_text kni_gpu_sort_text = {"sort", text, sizeof text - 1};
