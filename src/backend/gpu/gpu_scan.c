/* Cumulative rows along long lines. A workgroup takes 2048 elements at a time, 8 to an invocation. Where there are many
   lines it walks along one of them; few lines are cut into spans: what each comes to is found first, then what comes
   before each, then the results. The spans do not depend on the device, so neither do the bits. */
#include "backend/gpu/gpu_scan.h"
#include "backend/gpu/gpu_text.h"
#include "ir/legalise.h"
#include "ops/scan_attributes.h"

/* As the text has them. SHARED: what `held`, `u`, `v`, `w` and the scan among them take. */
enum { PIECE = 2048, WORKGROUP = 256, SHARED = (2304 + (3 + KNI_SCAN_ARRAYS) * WORKGROUP) * 8 };
enum { SUM, LARGEST, LEAST, LOG_SUM };

/* Some elements in a row come to `top`, with `sum` (of the exponentials below top) or the place of it. */
#define JOINS                                                                                                \
    "function T first_top(index op) { return IS_FLOAT && op == 3 ? (T)(-INF) : 0; }\n"                       \
    "/* 1: the extreme is in the later ones; of equal ones, too. */\n"                                       \
    "function index is_later(index op, T a, index a_place, T b, index b_place)\n"                            \
    "{\n"                                                                                                    \
    "    if (a_place < 0 || b_place < 0) return a_place < 0 ? 1 : 0;\n"                                      \
    "    return is_nan(b) || (op == 1 ? b >= a : b <= a) ? 1 : 0;\n"                                         \
    "}\n"                                                                                                    \
    "function T join_tops(index op, T a, index a_place, T b, index b_place)\n"                               \
    "{\n"                                                                                                    \
    "    if (op == 0) return a + b;\n"                                                                       \
    "    if (op == 3) return a > b ? a : b;\n"                                                               \
    "    return is_later(op, a, a_place, b, b_place) != 0 ? b : a;\n"                                        \
    "}\n"                                                                                                    \
    "function T join_sums(index op, T a, T a_sum, T b, T b_sum)\n"                                           \
    "{\n"                                                                                                    \
    "    T total = 0;\n"                                                                                     \
    "    if (IS_FLOAT && op == 3) {\n"                                                                       \
    "        total = a >= b ? a_sum : a_sum * (T)exp(a - b);\n"                                              \
    "        total += b >= a ? b_sum : b_sum * (T)exp(b - a);\n"                                             \
    "    }\n"                                                                                                \
    "    return total;\n"                                                                                    \
    "}\n"                                                                                                    \
    "function index join_places(index op, T a, index a_place, T b, index b_place)\n"                         \
    "{\n"                                                                                                    \
    "    if (op == 0) return b_place;\n"                                                                     \
    "    return is_later(op, a, a_place, b, b_place) != 0 ? b_place : a_place;\n"                            \
    "}\n\n"

/* top, sum and place of each invocation become those of all up to it and with it, in u, v and w. */
#define JOIN_ALL                                                                                             \
    "        u[l] = top;\n"                                                                                  \
    "        v[l] = sum;\n"                                                                                  \
    "        w[l] = place;\n"                                                                                \
    "        barrier();\n"                                                                                   \
    "        if (op == 0) {\n"                                                                               \
    "            T through = workgroup_scan(top);\n"                                                         \
    "            u[l] = through;\n"                                                                          \
    "            barrier();\n"                                                                               \
    "        }\n"                                                                                            \
    "        for (i32 step = 1; step < 256 && op != 0; step *= 2) {\n"                                       \
    "            T a = first_top(op), a_sum = 0;\n"                                                          \
    "            index a_place = -1;\n"                                                                      \
    "            if (l >= step) {\n"                                                                         \
    "                a = u[l - step];\n"                                                                     \
    "                a_sum = v[l - step];\n"                                                                 \
    "                a_place = w[l - step];\n"                                                               \
    "            }\n"                                                                                        \
    "            barrier();\n"                                                                               \
    "            T b = u[l], b_sum = v[l];\n"                                                                \
    "            index b_place = w[l];\n"                                                                    \
    "            u[l] = join_tops(op, a, a_place, b, b_place);\n"                                            \
    "            v[l] = join_sums(op, a, a_sum, b, b_sum);\n"                                                \
    "            w[l] = join_places(op, a, a_place, b, b_place);\n"                                          \
    "            barrier();\n"                                                                               \
    "        }\n"

/* Takes in the element b at place k; `old` is the top before it. NaN is kept by the sum. */
#define TAKE_IN                                                                                              \
    "                T b = held[l * 9 + e], b_sum = 1, old = top;\n"                                         \
    "                if (op == 3 && b == first_top(op)) b_sum = 0;\n"                                        \
    "                if (op == 3 && is_nan(b)) {\n"                                                          \
    "                    b_sum = b;\n"                                                                       \
    "                    b = first_top(op);\n"                                                               \
    "                }\n"                                                                                    \
    "                sum = join_sums(op, top, sum, b, b_sum);\n"                                             \
    "                index next = join_places(op, top, place, b, k);\n"                                      \
    "                top = join_tops(op, top, place, b, k);\n"                                               \
    "                place = next;\n"

static const char text[] = JOINS
    "/* apply 0: what each span comes to; 1: the results, from what comes before it; 2: the results of "
    "whole\n"
    "   lines. */\n"
    "kernel scan_spans(workgroup 256, in T x[], inout T tops[], inout T sums[], inout index places[],\n"
    "                  out T y[], out index p[], index axis, index inner, index spans, index span, index "
    "op,\n"
    "                  index reverse, index exclusive, index apply)\n"
    "{\n"
    "    shared T held[2304];\n"
    "    shared T u[256];\n"
    "    shared T v[256];\n"
    "    shared index w[256];\n"
    "    i32 l = (i32)local_id();\n"
    "    index line = spans > 1 ? group_id() / spans : group_id();\n"
    "    index first = (group_id() - line * spans) * span, last = axis - 1, before = -1;\n"
    "    index stop = first + span < axis ? first + span : axis;\n"
    "    index base = line / inner * axis * inner + line % inner;\n"
    "    T before_top = first_top(op), before_sum = 0;\n"
    "    if (apply == 1) {\n"
    "        before_top = tops[group_id()];\n"
    "        before_sum = sums[group_id()];\n"
    "        before = places[group_id()];\n"
    "    }\n"
    "    for (index begin = first; begin < stop; begin += 2048) {\n"
    "        for (i32 e = l; e < 2048; e += 256) {\n"
    "            index k = begin + e;\n"
    "            if (k < axis) held[e + e / 8] = x[base + (reverse != 0 ? last - k : k) * inner];\n"
    "        }\n"
    "        barrier();\n"
    "        T top = first_top(op), sum = 0;\n"
    "        index place = -1;\n"
    "        for (i32 e = 0; e < 8; e++) {\n"
    "            index k = begin + l * 8 + e;\n"
    "            if (k < axis) {\n" TAKE_IN "            }\n"
    "        }\n" JOIN_ALL "        if (apply != 0) {\n"
    "            top = before_top;\n"
    "            sum = before_sum;\n"
    "            place = before;\n"
    "            if (l > 0) {\n"
    "                sum = join_sums(op, top, sum, u[l - 1], v[l - 1]);\n"
    "                index next = join_places(op, top, place, u[l - 1], w[l - 1]);\n"
    "                top = join_tops(op, top, place, u[l - 1], w[l - 1]);\n"
    "                place = next;\n"
    "            }\n"
    "            for (i32 e = 0; e < 8; e++) {\n"
    "                index k = begin + l * 8 + e;\n"
    "                if (k < axis) {\n" TAKE_IN "                    T result = exclusive != 0 ? old : top;\n"
    "                    if (IS_FLOAT && op == 3) result = sum == 0 ? (T)(-INF) : top + (T)log(sum);\n"
    "                    held[l * 9 + e] = result;\n"
    "                    if (op == 1 || op == 2) p[base + k * inner] = place;\n"
    "                }\n"
    "            }\n"
    "        }\n"
    "        before_sum = join_sums(op, before_top, before_sum, u[255], v[255]);\n"
    "        index following = join_places(op, before_top, before, u[255], w[255]);\n"
    "        before_top = join_tops(op, before_top, before, u[255], w[255]);\n"
    "        before = following;\n"
    "        barrier();\n"
    "        for (i32 e = l; e < 2048 && apply != 0; e += 256) {\n"
    "            index k = begin + e;\n"
    "            if (k < axis) y[base + (reverse != 0 ? last - k : k) * inner] = held[e + e / 8];\n"
    "        }\n"
    "        barrier();\n"
    "    }\n"
    "    if (apply == 0 && l == 255) {\n"
    "        tops[group_id()] = before_top;\n"
    "        sums[group_id()] = before_sum;\n"
    "        places[group_id()] = before;\n"
    "    }\n"
    "}\n\n"
    "/* A group for each line: what spans come to becomes what comes before them. */\n"
    "kernel scan_totals(workgroup 256, inout T tops[], inout T sums[], inout index places[], index spans,\n"
    "                   index op)\n"
    "{\n"
    "    shared T u[256];\n"
    "    shared T v[256];\n"
    "    shared index w[256];\n"
    "    i32 l = (i32)local_id();\n"
    "    index each = (spans + 255) / 256, base = group_id() * spans;\n"
    "    index begin = l * each;\n"
    "    index end = begin + each < spans ? begin + each : spans;\n"
    "    T top = first_top(op), sum = 0;\n"
    "    index place = -1;\n"
    "    for (index k = base + begin; k < base + end; k++) {\n"
    "        sum = join_sums(op, top, sum, tops[k], sums[k]);\n"
    "        index next = join_places(op, top, place, tops[k], places[k]);\n"
    "        top = join_tops(op, top, place, tops[k], places[k]);\n"
    "        place = next;\n"
    "    }\n"
    "    {\n" JOIN_ALL "    }\n"
    "    top = l > 0 ? u[l - 1] : first_top(op);\n"
    "    sum = l > 0 ? v[l - 1] : 0;\n"
    "    place = l > 0 ? w[l - 1] : -1;\n"
    "    for (index k = base + begin; k < base + end; k++) {\n"
    "        T b = tops[k], b_sum = sums[k];\n"
    "        index b_place = places[k];\n"
    "        tops[k] = top;\n"
    "        sums[k] = sum;\n"
    "        places[k] = place;\n"
    "        sum = join_sums(op, top, sum, b, b_sum);\n"
    "        index next = join_places(op, top, place, b, b_place);\n"
    "        top = join_tops(op, top, place, b, b_place);\n"
    "        place = next;\n"
    "    }\n"
    "}\n";

static const kni_gpu_text scan_text = {"scan", text, sizeof text - 1};

/* tops, sums, places, and the operand's copy */
enum { SCRATCH = 3 };
typedef struct run {
    kni_gpu *gpu;
    const kn_record *record;
    int64_t lines, axis, inner, spans, span, op;
    kni_gpu_block *scratch[SCRATCH], *made;
} run;

static int64_t op_of(const kn_record *r)
{
    int combine = r->row->combine;
    return combine == KNI_COMBINE_SUM       ? SUM
           : combine == KNI_COMBINE_LARGEST ? LARGEST
           : combine == KNI_COMBINE_LEAST   ? LEAST
                                            : LOG_SUM;
}

static kn_status launch(run *a, int element)
{
    const kn_record *r = a->record;
    const kni_scan_attributes *how = r->attributes;
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    uint8_t wide = (uint8_t)element;
    int cell = -1;
    bool directed = a->op == SUM;
    kni_gpu_call spans = {.kernel = "scan_spans",
                          .element = element,
                          .n_buffers = 6,
                          .storage = {x->type.dtype, wide, wide, KN_I64, y->type.dtype, KN_I64},
                          .blocks = {NULL, a->scratch[0], a->scratch[1], a->scratch[2],
                                     kni_gpu_block_of(y->storage),
                                     r->n_out > 1 ? kni_gpu_block_of(kni_out(r, 1)->storage) : a->scratch[2]},
                          .n_numbers = 8,
                          .numbers = {a->axis, a->inner, a->spans, a->span, a->op, directed && how->reverse,
                                      directed && how->exclusive, a->spans > 1 ? 0 : 2},
                          .size = a->lines * a->spans};
    kni_gpu_call totals = {.kernel = "scan_totals",
                           .element = element,
                           .n_buffers = 3,
                           .storage = {wide, wide, KN_I64},
                           .blocks = {a->scratch[0], a->scratch[1], a->scratch[2]},
                           .n_numbers = 2,
                           .numbers = {a->spans, a->op},
                           .size = a->lines};
    kn_status s = kni_gpu_dense(a->gpu, x, &spans.blocks[0], &spans.offsets[0], &a->made);
    if (s == KN_OK) s = kni_gpu_launch_text(a->gpu, &scan_text, r, &cell, &spans);
    if (s || a->spans == 1) return s;
    s = kni_gpu_launch_text(a->gpu, &scan_text, r, &cell, &totals);
    spans.numbers[7] = 1;
    return s ? s : kni_gpu_launch_text(a->gpu, &scan_text, r, &cell, &spans);
}

/* Enough lines keep a device busy as they are; few are cut so that what comes before each span is found by one workgroup. */
static void cut(run *a)
{
    enum { ENOUGH = 256, MOST = 4096 };
    a->span = PIECE;
    while (a->span < a->axis && (a->lines >= ENOUGH || a->axis / a->span > MOST)) a->span *= 2;
    a->spans = (a->axis + a->span - 1) / a->span;
}

kn_status kni_gpu_run_scan(kni_gpu *g, const kn_record *r)
{
    enum { SHORTEST = 256 };
    const kni_ir_caps *caps = &g->driver->caps;
    const kni_type *t = &kni_in(r, 0)->type;
    int64_t n = kni_count(t), axis = ((const kni_scan_attributes *)r->attributes)->axis;
    run a = {.gpu = g, .record = r, .axis = t->rank ? t->dims[axis] : 1, .inner = 1, .op = op_of(r)};
    int element = kni_compute_dtype[kni_compute_of[kni_out(r, 0)->type.dtype]];
    if (element == KN_I32) element = KN_I64;
    for (int64_t i = axis + 1; i < t->rank; i++) a.inner *= t->dims[i];
    if (a.axis < SHORTEST || n > INT32_MAX - PIECE || (element == KN_F64 && !caps->f64) ||
        (caps->max_workgroup && caps->max_workgroup < WORKGROUP) || caps->shared_bytes < SHARED)
        return KN_ERROR_UNSUPPORTED;
    a.lines = n / a.axis;
    cut(&a);
    kn_status s = KN_OK;
    for (int i = 0; i < r->n_out && s == KN_OK; i++) s = kni_gpu_allocate(g, kni_out(r, i));
    for (int i = 0; i < SCRATCH && s == KN_OK; i++) {
        a.scratch[i] = kni_gpu_take(g, (size_t)(a.lines * a.spans) * sizeof(int64_t));
        if (!a.scratch[i]) s = kni_latest_code();
    }
    if (s == KN_OK) s = launch(&a, element);
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    for (int i = 0; i < SCRATCH; i++)
        if (a.scratch[i]) kni_gpu_give(a.scratch[i]);
    if (a.made) kni_gpu_give(a.made);
    return s;
}
