/* Running IR on the host: values, divergence, functions, workgroups, tiles, and what checking finds. */
#include "../support/check.h"
#include "ir/builder.h"
#include "ir/run.h"
#include "ops/body.h"
#include <math.h>
#include <stdlib.h>

static kni_ir_id item_of(kni_ir_builder *b) { return kni_ir_builtin_value(b, KNI_IR_ITEM, 0, KN_I64); }

static kni_ir_id local_of(kni_ir_builder *b) { return kni_ir_builtin_value(b, KNI_IR_LOCAL, 0, KN_I64); }

static kni_ir_id whole(kni_ir_builder *b, int64_t v) { return kni_ir_whole(b, KN_I64, v); }

/* Runs and frees the kernel over the buffers, once quickly and once checked; both must be well. */
static bool runs_on(kni_ir *ir, const kni_ir_run_buffer *buffers, const void *params, int64_t items,
                    uint32_t groups)
{
    if (!ir) {
        printf("%s\n", kn_last_error());
        return false;
    }
    kni_ir_run_args args = {.buffers = buffers, .params = params, .items = items, .groups = {groups, 1, 1}};
    bool good = kni_ir_run(ir, &args) == KN_OK;
    args.check = true;
    good = good && kni_ir_run(ir, &args) == KN_OK;
    if (!good) printf("%s\n", kn_last_error());
    kni_ir_free(ir);
    return good;
}

/* Runs and frees it checked; the failure has the words. */
static bool fails_on(kni_ir *ir, const kni_ir_run_buffer *buffers, int64_t items, uint32_t groups,
                     const char *words)
{
    if (!ir) {
        printf("%s\n", kn_last_error());
        return false;
    }
    kni_ir_run_args args = {
        .buffers = buffers, .items = items, .groups = {groups, 1, 1}, .check = true, .max_steps = 100000};
    kn_status s = kni_ir_run(ir, &args);
    kni_ir_free(ir);
    bool good = s != KN_OK && strstr(kn_last_error(), words);
    if (!good) printf("wanted '%s', got %d '%s'\n", words, (int)s, kn_last_error());
    return good;
}
#define BUFFERS(...)                                                                                         \
    (const kni_ir_run_buffer[]) { __VA_ARGS__ }

/* y = word(x, z) over items, in any dtype of computing. */
static void words_agree(void)
{
    enum { N = 300 };
    double x[N], z[N], y[N], want[N];
    for (int i = 0; i < N; i++) {
        x[i] = (double)((i * 37) % 101 - 50) / 7;
        z[i] = (double)((i * 53) % 89 - 44) / 5;
    }
    for (int w = 0; w < kni_word_count(); w++) {
        const kni_word *word = kni_word_at(w);
        if (!word->floats) continue;
        kni_ir_builder b = kni_ir_begin("one", 0);
        uint32_t bx = kni_ir_buffer(&b, "x", KN_F64, KNI_IR_READ),
                 bz = kni_ir_buffer(&b, "z", KN_F64, KNI_IR_READ);
        uint32_t by = kni_ir_buffer(&b, "y", KN_F64, KNI_IR_WRITE);
        kni_ir_id item = item_of(&b), v = kni_ir_load(&b, bx, item, KN_F64, 1);
        kni_ir_id u = kni_ir_load(&b, bz, item, KN_F64, 1);
        v = kni_ir_word_at(&b, w, v, word->arity == 2 ? u : 0);
        kni_ir_store(&b, by, item, word->truth ? kni_ir_cast(&b, v, KN_F64) : v);
        CHECK(runs_on(kni_ir_finish(&b), BUFFERS({x, N}, {z, N}, {y, N}), NULL, N, 0));
        uint8_t code[] = {(uint8_t)KNI_BODY_CODE(KNI_STEP_INPUT, 0), (uint8_t)KNI_BODY_CODE(KNI_STEP_WORD, w),
                          (uint8_t)KNI_BODY_CODE(KNI_STEP_WORD, w)};
        if (word->arity == 2) code[1] = (uint8_t)KNI_BODY_CODE(KNI_STEP_INPUT, 1);
        const kni_body body = {.code = code, .n = (uint8_t)(1 + word->arity)};
        const void *in[] = {x, z};
        kni_body_evaluate(&body, KNI_COMPUTE_F64, N, want, in, 0, NULL);
        if (!CHECK(!memcmp(want, y, sizeof y))) printf("%s differs\n", word->name);
    }
}

/* The number of Collatz steps: loops of different lengths, breaks and continues. */
static void divergence(void)
{
    enum { N = 333 };
    int32_t y[N] = {0};
    kni_ir_builder b = kni_ir_begin("collatz", 0);
    uint32_t by = kni_ir_buffer(&b, "y", KN_I32, KNI_IR_WRITE);
    kni_ir_id item = item_of(&b);
    kni_ir_id n = kni_ir_variable(&b, KN_I64, 1, kni_ir_word(&b, "add", item, whole(&b, 1)));
    kni_ir_id steps = kni_ir_variable(&b, KN_I64, 1, whole(&b, 0));
    kni_ir_loop(&b);
    kni_ir_loop_test(&b, kni_ir_whole(&b, KN_BOOL, 1));
    kni_ir_if(&b, kni_ir_word(&b, "eq", kni_ir_get(&b, n), whole(&b, 1)));
    kni_ir_break(&b);
    kni_ir_end(&b);
    kni_ir_id odd =
        kni_ir_word(&b, "eq", kni_ir_word(&b, "fmod", kni_ir_get(&b, n), whole(&b, 2)), whole(&b, 1));
    kni_ir_if(&b, odd);
    kni_ir_id up =
        kni_ir_word(&b, "add", kni_ir_word(&b, "mul", kni_ir_get(&b, n), whole(&b, 3)), whole(&b, 1));
    kni_ir_set(&b, n, up);
    kni_ir_continue(&b);
    kni_ir_else(&b);
    kni_ir_set(&b, n, kni_ir_word(&b, "div", kni_ir_get(&b, n), whole(&b, 2)));
    kni_ir_end(&b);
    kni_ir_loop_step(&b);
    kni_ir_set(&b, steps, kni_ir_word(&b, "add", kni_ir_get(&b, steps), whole(&b, 1)));
    kni_ir_end(&b);
    kni_ir_store(&b, by, item, kni_ir_get(&b, steps));
    CHECK(runs_on(kni_ir_finish(&b), BUFFERS({y, N}), NULL, N, 0));
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        int64_t v = i + 1, k = 0;
        for (; v != 1; k++) v = v % 2 ? 3 * v + 1 : v / 2;
        wrong += y[i] != k;
    }
    CHECK(wrong == 0);
}

/* ---- random kernels, before and after simplification */

static uint64_t random_state = 1;

static uint32_t draw(uint32_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % below;
}

typedef struct maker {
    kni_ir_builder b;
    kni_ir_id ints[64], reals[64], variables[8]; /* what is in sight; the last 4 variables are reals */
    int n_ints, n_reals, depth, budget;
    uint32_t x, y, scratch;
    kni_ir_id item;
} maker;

static kni_ir_id any_int(maker *k) { return k->ints[draw((uint32_t)k->n_ints)]; }

static kni_ir_id any_real(maker *k) { return k->reals[draw((uint32_t)k->n_reals)]; }

static kni_ir_id any_truth(maker *k)
{
    static const char *const compares[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    const char *name = compares[draw(6)];
    kni_ir_id t = draw(2) ? kni_ir_word(&k->b, name, any_int(k), any_int(k))
                          : kni_ir_word(&k->b, name, any_real(k), any_real(k));
    if (!draw(4)) t = kni_ir_not(&k->b, t);
    if (!draw(4)) t = kni_ir_and(&k->b, t, kni_ir_word(&k->b, "le", any_int(k), any_int(k)));
    if (!draw(6)) t = kni_ir_or(&k->b, t, kni_ir_whole(&k->b, KN_BOOL, draw(2)));
    return t;
}

static void keep_int(maker *k, kni_ir_id id)
{
    if (k->n_ints < 64) k->ints[k->n_ints++] = id;
}

static void keep_real(maker *k, kni_ir_id id)
{
    if (k->n_reals < 64) k->reals[k->n_reals++] = id;
}

/* A place in the 4 elements of the item, of any integer. */
static kni_ir_id own_place(maker *k)
{
    kni_ir_id part = kni_ir_word(&k->b, "and", any_int(k), whole(&k->b, 3));
    return kni_ir_word(&k->b, "add", kni_ir_word(&k->b, "mul", k->item, whole(&k->b, 4)), part);
}

static void make_value(maker *k)
{
    static const char *const int_words[] = {"add", "sub", "mul", "div", "floordiv", "rem", "fmod", "and",
                                            "or",  "xor", "shl", "shr", "min",      "max", "pow",  "add"};
    static const char *const real_words[] = {"add", "sub", "mul", "div", "min", "max", "hypot", "atan2"};
    static const char *const singles[] = {"neg", "abs", "floor", "exp", "sqrt", "tanh", "sign", "neg"};
    kni_ir_builder *b = &k->b;
    switch (draw(14)) {
    case 0:
        keep_int(k, whole(b, (int64_t)draw(5) - 2));
        break;
    case 1:
        keep_real(k, kni_ir_real(b, KN_F32, (double)draw(5) - 2));
        break;
    case 2:
    case 3:
        keep_int(k, kni_ir_word(b, int_words[draw(16)], any_int(k), any_int(k)));
        break;
    case 4:
    case 5:
        keep_real(k, kni_ir_word(b, real_words[draw(8)], any_real(k), any_real(k)));
        break;
    case 6:
        keep_real(k, kni_ir_word(b, singles[draw(8)], any_real(k), 0));
        break;
    case 7:
        keep_int(k, kni_ir_word(b, draw(2) ? "neg" : "abs", any_int(k), 0));
        break;
    case 8:
        keep_int(k, kni_ir_cast(b, any_real(k), KN_I64));
        break;
    case 9:
        keep_real(k, kni_ir_cast(b, any_int(k), KN_F32));
        break;
    case 10:
        keep_real(k, kni_ir_select(b, any_truth(k), any_real(k), any_real(k)));
        break;
    case 11:
        keep_int(k, kni_ir_select(b, any_truth(k), any_int(k), any_int(k)));
        break;
    case 12:
        keep_real(k, kni_ir_round_to(b, any_real(k), draw(2) ? KN_F16 : KN_BF16));
        break;
    default: {
        kni_ir_id v = kni_ir_spread(b, any_real(k), 4);
        v = kni_ir_word(b, "add", v,
                        kni_ir_pack(b, (kni_ir_id[]){any_real(k), any_real(k), any_real(k), any_real(k)}, 4));
        keep_real(k, kni_ir_lane(b, v, (int)draw(4)));
        break;
    }
    }
}

static void make_block(maker *k);

static void make_statement(maker *k)
{
    kni_ir_builder *b = &k->b;
    int choice = (int)draw(k->depth > 3 ? 5 : 8), n_ints = k->n_ints, n_reals = k->n_reals, v = (int)draw(4);
    switch (choice) {
    case 0:
        kni_ir_set(b, k->variables[v], any_int(k));
        return;
    case 1:
        kni_ir_set(b, k->variables[4 + v], any_real(k));
        return;
    case 2:
        keep_int(k, kni_ir_get(b, k->variables[v]));
        keep_real(k, kni_ir_get(b, k->variables[4 + v]));
        return;
    case 3:
        kni_ir_store(b, draw(2) ? k->y : k->scratch, own_place(k), any_real(k));
        return;
    case 4:
        keep_real(k, kni_ir_load(b, draw(2) ? k->y : k->x, own_place(k), KN_F32, 1));
        return;
    case 5:
        kni_ir_if(b, any_truth(k));
        make_block(k);
        k->n_ints = n_ints, k->n_reals = n_reals;
        if (draw(2)) {
            kni_ir_else(b);
            make_block(k);
        }
        kni_ir_end(b);
        break;
    case 6: {
        kni_ir_id below = draw(3) ? kni_ir_word(b, "and", any_int(k), whole(b, 3)) : whole(b, draw(4));
        kni_ir_id i = kni_ir_for(b, whole(b, draw(2)), below, whole(b, 1 + draw(2)));
        keep_int(k, i);
        make_block(k);
        kni_ir_end(b);
        break;
    }
    default: {
        kni_ir_id turns = kni_ir_variable(b, KN_I64, 1, whole(b, 0));
        kni_ir_loop(b);
        kni_ir_id go = kni_ir_word(b, "lt", kni_ir_get(b, turns), whole(b, draw(4)));
        kni_ir_loop_test(b, kni_ir_and(b, go, draw(2) ? kni_ir_whole(b, KN_BOOL, 1) : any_truth(k)));
        make_block(k);
        if (draw(2)) {
            kni_ir_if(b, any_truth(k));
            if (draw(2))
                kni_ir_break(b);
            else
                kni_ir_continue(b);
            kni_ir_end(b);
            k->n_ints = n_ints, k->n_reals = n_reals;
            make_block(k);
        }
        kni_ir_loop_step(b);
        kni_ir_set(b, turns, kni_ir_word(b, "add", kni_ir_get(b, turns), whole(b, 1)));
        kni_ir_end(b);
        break;
    }
    }
    k->n_ints = n_ints, k->n_reals = n_reals;
}

static void make_block(maker *k)
{
    k->depth++;
    for (int i = (int)draw(6) + 1; i > 0 && k->budget > 0; i--, k->budget--) {
        if (draw(3))
            make_value(k);
        else
            make_statement(k);
    }
    if (k->depth > 2 && !draw(30)) kni_ir_return(&k->b, 0);
    k->depth--;
}

static kni_ir *random_kernel(void)
{
    maker k = {.b = kni_ir_begin("random", 0), .budget = 60};
    kni_ir_builder *b = &k.b;
    k.x = kni_ir_buffer(b, "x", KN_F16, KNI_IR_READ);
    k.y = kni_ir_buffer(b, "y", KN_F32, KNI_IR_READ | KNI_IR_WRITE);
    k.scratch = kni_ir_buffer(b, "z", KN_BF16, KNI_IR_READ | KNI_IR_WRITE);
    kni_ir_add_item_params(b);
    k.item = item_of(b);
    keep_int(&k, k.item);
    keep_int(&k, whole(b, 1));
    keep_real(&k, kni_ir_load(b, k.x, k.item, KN_F32, 1));
    for (int i = 0; i < 8; i++) {
        kni_ir_id first = i < 4 ? any_int(&k) : any_real(&k);
        k.variables[i] = kni_ir_variable(b, i < 4 ? KN_I64 : KN_F32, 1, first);
    }
    while (k.budget > 0) make_block(&k);
    kni_ir_id total = kni_ir_get(b, k.variables[4]);
    for (int i = 0; i < 8; i++)
        total = kni_ir_word(b, "add", total, kni_ir_cast(b, kni_ir_get(b, k.variables[i]), KN_F32));
    kni_ir_store(b, k.y, kni_ir_word(b, "mul", k.item, whole(b, 4)), total);
    return kni_ir_finish(b);
}

enum { ITEMS = 150 };
typedef struct memory {
    uint16_t x[4 * ITEMS], z[4 * ITEMS];
    float y[4 * ITEMS];
} memory;

static kn_status run_random(const kni_ir *ir, memory *m, bool check)
{
    for (int i = 0; i < 4 * ITEMS; i++) {
        m->x[i] = (uint16_t)(0x3c00 + i * 7);
        m->y[i] = (float)i / 8;
        m->z[i] = 0;
    }
    int64_t params[4] = {ITEMS, 0, 0, 0};
    kni_ir_run_args args = {.buffers = BUFFERS({m->x, 4 * ITEMS}, {m->y, 4 * ITEMS}, {m->z, 4 * ITEMS}),
                            .params = params,
                            .items = ITEMS,
                            .check = check};
    return kni_ir_run(ir, &args);
}

static bool same_memory(const memory *a, const memory *b)
{
    for (int i = 0; i < 4 * ITEMS; i++) {
        bool nan = a->y[i] != a->y[i] && b->y[i] != b->y[i];
        if ((memcmp(&a->y[i], &b->y[i], 4) && !nan) || a->z[i] != b->z[i]) return false;
    }
    return true;
}

static void random_kernels(int n)
{
    static memory before, after;
    int ran = 0, different = 0, failed = 0;
    for (int i = 0; i < n; i++) {
        random_state = (uint64_t)i * 77 + 5;
        kni_ir *ir = random_kernel();
        if (!CHECK(ir != NULL)) {
            printf("%s\n", kn_last_error());
            continue;
        }
        kn_status s = run_random(ir, &before, false);
        if (!CHECK(s == KN_OK)) printf("%d: %s\n", i, kn_last_error());
        if (!CHECK(kni_ir_simplify(ir) == KN_OK)) printf("%d: %s\n", i, kn_last_error());
        failed += run_random(ir, &after, i % 2 == 0) != KN_OK;
        if (!same_memory(&before, &after)) {
            if (!different++) printf("kernel %d differs after simplification\n", i);
        }
        ran++;
        kni_ir_free(ir);
    }
    CHECK(ran == n && different == 0 && failed == 0);
}

/* ---- workgroups */

/* Each workgroup sums its 48 elements by halves in shared memory, and by one word. */
static void workgroup_sum(void)
{
    enum { GROUPS = 5, SIZE = 64 };
    float x[GROUPS * SIZE], y[GROUPS], z[GROUPS * SIZE];
    for (int i = 0; i < GROUPS * SIZE; i++) x[i] = (float)(i % 17);
    kni_ir_builder b = kni_ir_begin("sums", SIZE);
    uint32_t bx = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ),
             by = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);
    uint32_t bz = kni_ir_buffer(&b, "z", KN_F32, KNI_IR_WRITE);
    uint32_t shared = kni_ir_array(&b, "s", KN_F32, KNI_IR_SHARED, SIZE);
    kni_ir_id local = local_of(&b), group = kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, KN_I64);
    kni_ir_id at = kni_ir_word(&b, "add", kni_ir_word(&b, "mul", group, whole(&b, SIZE)), local);
    kni_ir_id v = kni_ir_load(&b, bx, at, KN_F32, 1);
    kni_ir_store(&b, shared, local, v);
    kni_ir_barrier(&b);
    kni_ir_id width = kni_ir_variable(&b, KN_I64, 1, whole(&b, SIZE / 2));
    kni_ir_loop(&b);
    kni_ir_loop_test(&b, kni_ir_word(&b, "gt", kni_ir_get(&b, width), whole(&b, 0)));
    kni_ir_if(&b, kni_ir_word(&b, "lt", local, kni_ir_get(&b, width)));
    kni_ir_id mine = kni_ir_load(&b, shared, local, KN_F32, 1);
    kni_ir_id other =
        kni_ir_load(&b, shared, kni_ir_word(&b, "add", local, kni_ir_get(&b, width)), KN_F32, 1);
    kni_ir_store(&b, shared, local, kni_ir_word(&b, "add", mine, other));
    kni_ir_end(&b);
    kni_ir_barrier(&b);
    kni_ir_loop_step(&b);
    kni_ir_set(&b, width, kni_ir_word(&b, "div", kni_ir_get(&b, width), whole(&b, 2)));
    kni_ir_end(&b);
    kni_ir_if(&b, kni_ir_word(&b, "eq", local, whole(&b, 0)));
    kni_ir_store(&b, by, group, kni_ir_load(&b, shared, whole(&b, 0), KN_F32, 1));
    kni_ir_end(&b);
    kni_ir_id total = kni_ir_workgroup(&b, KNI_IR_ADD, v), most = kni_ir_subgroup(&b, KNI_IR_MAX, v);
    kni_ir_id up_to = kni_ir_scan(&b, KNI_IR_ADD, v);
    kni_ir_id sum =
        kni_ir_word(&b, "add", kni_ir_word(&b, "mul", total, kni_ir_real(&b, KN_F32, 1000)), most);
    kni_ir_store(&b, bz, at, kni_ir_word(&b, "sub", sum, up_to));
    kni_ir *ir = kni_ir_finish(&b);
    CHECK(ir && kni_ir_simplify(ir) == KN_OK);
    CHECK(runs_on(ir, BUFFERS({x, GROUPS * SIZE}, {y, GROUPS}, {z, GROUPS * SIZE}), NULL, 0, GROUPS));
    int wrong = 0;
    for (int g = 0; g < GROUPS; g++) {
        float all = 0, part = 0, largest[2] = {0, 0};
        for (int i = 0; i < SIZE; i++) {
            float value = x[g * SIZE + i];
            all += value;
            if (value > largest[i / 32]) largest[i / 32] = value;
        }
        wrong += y[g] != all;
        for (int i = 0; i < SIZE; i++) {
            part += x[g * SIZE + i];
            wrong += z[g * SIZE + i] != all * 1000 + largest[i / 32] - part;
        }
    }
    CHECK(wrong == 0);
}

/* A product of 16 x 32 and 32 x 16 by tiles, in f16, with two subgroups that take a half each. */
static void tiles(void)
{
    uint16_t left[16 * 32], right[32 * 16];
    float sum[2 * 256], want[256] = {0};
    for (int i = 0; i < 512; i++) {
        float v = (float)(i % 7 - 3), w = (float)(i % 5 - 2);
        kni_convert(&left[i], KN_F16, 1, &v, KN_F32, 1, 1);
        kni_convert(&right[i], KN_F16, 1, &w, KN_F32, 1, 1);
    }
    kni_ir_builder b = kni_ir_begin("product", 64);
    uint32_t bl = kni_ir_buffer(&b, "left", KN_F16, KNI_IR_READ),
             br = kni_ir_buffer(&b, "right", KN_F16, KNI_IR_READ);
    uint32_t bs = kni_ir_buffer(&b, "sum", KN_F32, KNI_IR_WRITE);
    kni_ir_id l = kni_ir_tile(&b, KNI_IR_TILE_LEFT, KN_F16), r = kni_ir_tile(&b, KNI_IR_TILE_RIGHT, KN_F16);
    kni_ir_id s = kni_ir_tile(&b, KNI_IR_TILE_SUM, KN_F32);
    kni_ir_tile_fill(&b, s, kni_ir_real(&b, KN_F32, 0));
    kni_ir_id part = kni_ir_word(&b, "div", local_of(&b), kni_ir_builtin_value(&b, KNI_IR_LANES, 0, KN_I64));
    kni_ir_tile_load(&b, l, bl, kni_ir_word(&b, "mul", part, whole(&b, 16)), whole(&b, 32));
    kni_ir_tile_load(&b, r, br, kni_ir_word(&b, "mul", part, whole(&b, 256)), whole(&b, 16));
    kni_ir_tile_multiply(&b, s, l, r);
    kni_ir_tile_store(&b, s, bs, kni_ir_word(&b, "mul", part, whole(&b, 256)), whole(&b, 16));
    CHECK(runs_on(kni_ir_finish(&b), BUFFERS({left, 512}, {right, 512}, {sum, 512}), NULL, 0, 1));
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            for (int k = 0; k < 32; k++)
                want[i * 16 + j] += (float)((i * 32 + k) % 7 - 3) * (float)((k * 16 + j) % 5 - 2);
    int wrong = 0;
    for (int i = 0; i < 256; i++) wrong += sum[i] + sum[256 + i] != want[i];
    CHECK(wrong == 0);
}

/* ---- the rest of the language */

/* A function with a loop, an array and returns on several ways; vectors; masks; arrays of numbers; random bits. */
static void functions_and_vectors(void)
{
    enum { N = 100 };
    kni_ir_type i64 = {KN_I64, 1};
    int64_t y[N];
    int8_t narrow[N];
    float v[8 * N], w[8 * N];
    for (int i = 0; i < 8 * N; i++) v[i] = (float)i / 4, w[i] = -1;
    kni_ir_builder b = kni_ir_begin("several", 0);
    uint32_t by = kni_ir_buffer(&b, "y", KN_I64, KNI_IR_WRITE),
             bn = kni_ir_buffer(&b, "n", KN_I8, KNI_IR_WRITE);
    uint32_t bv = kni_ir_buffer(&b, "v", KN_F32, KNI_IR_READ),
             bw = kni_ir_buffer(&b, "w", KN_F32, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    uint32_t table = kni_ir_param_add(&b, "table", KN_I64, 3);
    uint32_t array = kni_ir_array(&b, "stack", KN_I64, KNI_IR_PRIVATE, 10);
    uint32_t f = kni_ir_function_begin(&b, "digits", i64, (kni_ir_type[]){i64, i64}, 2);
    kni_ir_id rest = kni_ir_variable(&b, KN_I64, 1, kni_ir_argument(&b, 0));
    kni_ir_id n = kni_ir_variable(&b, KN_I64, 1, whole(&b, 0)), base = kni_ir_argument(&b, 1);
    kni_ir_if(&b, kni_ir_word(&b, "lt", base, whole(&b, 2)));
    kni_ir_return(&b, whole(&b, -1));
    kni_ir_end(&b);
    kni_ir_loop(&b);
    kni_ir_loop_test(&b, kni_ir_word(&b, "gt", kni_ir_get(&b, rest), whole(&b, 0)));
    kni_ir_store(&b, array, kni_ir_get(&b, n), kni_ir_word(&b, "fmod", kni_ir_get(&b, rest), base));
    kni_ir_set(&b, rest, kni_ir_word(&b, "div", kni_ir_get(&b, rest), base));
    kni_ir_set(&b, n, kni_ir_word(&b, "add", kni_ir_get(&b, n), whole(&b, 1)));
    kni_ir_end(&b);
    kni_ir_id total = kni_ir_variable(&b, KN_I64, 1, whole(&b, 0));
    kni_ir_id i = kni_ir_for(&b, whole(&b, 0), kni_ir_get(&b, n), whole(&b, 1));
    kni_ir_set(&b, total,
               kni_ir_word(&b, "add", kni_ir_get(&b, total), kni_ir_load(&b, array, i, KN_I64, 1)));
    kni_ir_end(&b);
    kni_ir_return(&b, kni_ir_get(&b, total));
    kni_ir_function_end(&b);
    kni_ir_id item = item_of(&b);
    kni_ir_id which = kni_ir_word(&b, "fmod", item, whole(&b, 3));
    kni_ir_id sum = kni_ir_call(&b, f, (kni_ir_id[]){item, kni_ir_element(&b, table, which)}, 2);
    kni_ir_store(&b, by, item, sum);
    kni_ir_id bits = kni_ir_philox(&b, whole(&b, 7), item, whole(&b, 2));
    kni_ir_store(&b, bn, item, bits);
    kni_ir_id at = kni_ir_word(&b, "mul", item, whole(&b, 8));
    kni_ir_id odd = kni_ir_word(&b, "eq", kni_ir_word(&b, "fmod", item, whole(&b, 2)), whole(&b, 1));
    kni_ir_id x = kni_ir_load_where(&b, bv, at, KN_F32, 8, odd, kni_ir_real(&b, KN_F32, 3));
    x = kni_ir_fma(&b, x, kni_ir_real(&b, KN_F32, 2), kni_ir_spread(&b, kni_ir_lane(&b, x, 7), 8));
    kni_ir_store_where(&b, bw, at, x, kni_ir_word(&b, "gt", x, kni_ir_real(&b, KN_F32, 20)));
    kni_ir *ir = kni_ir_finish(&b);
    struct {
        int64_t items, offsets[4], table[3];
    } params = {N, {0, 0, 0, 0}, {10, 1, 2}};
    const kni_ir_run_buffer *buffers = BUFFERS({y, N}, {narrow, N}, {v, 8 * N}, {w, 8 * N});
    kni_ir_run_args args = {.buffers = buffers, .params = &params, .items = N};
    CHECK(ir && kni_ir_run(ir, &args) == KN_OK);
    CHECK(ir && kni_ir_simplify(ir) == KN_OK);
    CHECK(runs_on(ir, buffers, &params, N, 0));
    int wrong = 0;
    for (int k = 0; k < N; k++) {
        int64_t digits = k % 3 == 1 ? -1 : 0, left = k, radix = k % 3 ? 2 : 10;
        for (; digits >= 0 && left > 0; left /= radix) digits += left % radix;
        wrong += y[k] != digits;
        for (int lane = 0; lane < 8; lane++) {
            float value = k % 2 ? v[8 * k + lane] : 3, last = k % 2 ? v[8 * k + 7] : 3;
            value = value * 2 + last;
            wrong += w[8 * k + lane] != (value > 20 ? value : -1);
        }
    }
    CHECK(wrong == 0);
}

static void reports_and_atomics(void)
{
    int32_t counts[4] = {0}, old[64];
    kni_ir_builder b = kni_ir_begin("count", 0);
    uint32_t bc = kni_ir_buffer(&b, "counts", KN_I32, KNI_IR_READ | KNI_IR_WRITE);
    uint32_t bo = kni_ir_buffer(&b, "old", KN_I32, KNI_IR_WRITE);
    kni_ir_id item = item_of(&b), place = kni_ir_word(&b, "and", item, whole(&b, 3));
    kni_ir_store(&b, bo, item, kni_ir_atomic(&b, bc, place, kni_ir_whole(&b, KN_I32, 1), KNI_IR_ADD));
    kni_ir_if(&b, kni_ir_word(&b, "ge", item, whole(&b, 37)));
    kni_ir_report(&b, item);
    kni_ir_end(&b);
    kni_ir *ir = kni_ir_finish(&b);
    int64_t fault[2] = {0, 0};
    kni_ir_run_args args = {
        .buffers = BUFFERS({counts, 4}, {old, 64}), .items = 64, .check = true, .fault = fault};
    CHECK(ir && kni_ir_run(ir, &args) == KN_OK);
    CHECK(counts[0] == 16 && counts[3] == 16 && old[63] == 15 && fault[0] == 1 && fault[1] == 37);
    kni_ir_free(ir);
}

/* Each item compares with a value of its own: those of even items are there, those of odd items are not. */
static void compares_by_item(void)
{
    enum { N = 70 };
    uint32_t cells[N], old[N], expected[N];
    for (uint32_t i = 0; i < N; i++) cells[i] = 1000 + i, expected[i] = 1000 + i + i % 2;
    kni_ir_builder b = kni_ir_begin("compare", 0);
    uint32_t bm = kni_ir_buffer(&b, "m", KN_U32, KNI_IR_READ | KNI_IR_WRITE),
             be = kni_ir_buffer(&b, "e", KN_U32, KNI_IR_READ),
             bo = kni_ir_buffer(&b, "o", KN_U32, KNI_IR_WRITE);
    kni_ir_id item = item_of(&b), e = kni_ir_load(&b, be, item, KN_U32, 1);
    kni_ir_store(&b, bo, item, kni_ir_atomic_compare(&b, bm, item, kni_ir_whole(&b, KN_U32, 7), e));
    kni_ir *ir = kni_ir_finish(&b);
    kni_ir_run_args args = {.buffers = BUFFERS({cells, N}, {expected, N}, {old, N}), .items = N};
    CHECK(ir && kni_ir_run(ir, &args) == KN_OK);
    for (uint32_t i = 0; i < N; i++) CHECK(old[i] == 1000 + i && cells[i] == (i % 2 ? 1000 + i : 7));
    kni_ir_free(ir);
}

/* a b + c in f64 is rounded once: also where the product and c nearly cancel, and where c is far larger or smaller. */
static void fuses_doubles(void)
{
    /* The last eight: half a unit of the product or of c, which something far below turns up or down, and the smallest. */
    enum { N = 14 };
    static double a[N] = {1 + 0x1p-30, 1 + 0x1p-52, 3,           0x1.123456789abcdp10,
                          1 + 0x1p-27, 5,           1 + 0x1p-30, 1 + 0x1p-30,
                          1 + 0x1p-30, 0x1p-150,    0x1p-150,    0x1p-1074,
                          0x1p-1074,   0x1p-600},
                  z[N] = {1 - 0x1p-30, 1 - 0x1p-53, 1e-3,        0x1.fedcba9876543p-7,
                          1 + 0x1p-27, 0x1p-80,     1 + 0x1p-23, 1 + 0x1p-23,
                          1 + 0x1p-23, -0x1p-150,   0x1p-150,    0x1p500,
                          -0x1p-1,     0x1p-600},
                  c[N] = {-1,      -1,        0x1p60, -0x1.1p3, 0x1p-60,   -1,        1e-200,
                          -1e-200, 0x1p-1074, 1,      1,        0x1p-1074, 0x1p-1074, -0x1p-1074},
                  y[N];
    kni_ir_builder b = kni_ir_begin("fused", 0);
    uint32_t ba = kni_ir_buffer(&b, "a", KN_F64, KNI_IR_READ),
             bz = kni_ir_buffer(&b, "z", KN_F64, KNI_IR_READ),
             bc = kni_ir_buffer(&b, "c", KN_F64, KNI_IR_READ),
             by = kni_ir_buffer(&b, "y", KN_F64, KNI_IR_WRITE);
    kni_ir_id item = item_of(&b);
    kni_ir_store(&b, by, item,
                 kni_ir_fma(&b, kni_ir_load(&b, ba, item, KN_F64, 1), kni_ir_load(&b, bz, item, KN_F64, 1),
                            kni_ir_load(&b, bc, item, KN_F64, 1)));
    CHECK(runs_on(kni_ir_finish(&b), BUFFERS({a, N}, {z, N}, {c, N}, {y, N}), NULL, N, 0));
    for (int i = 0; i < N; i++) CHECK(y[i] == fma(a[i], z[i], c[i]));
}

/* ---- what checking finds */

typedef enum mistake { OUTSIDE, BOTH_WRITE, READS_OTHER, ENDLESS, UNSET, UPWARDS, MISTAKES } mistake;

static kni_ir *wrong_kernel(mistake what)
{
    kni_ir_builder b = kni_ir_begin("wrong", 0);
    uint32_t by = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_READ | KNI_IR_WRITE);
    uint32_t array = kni_ir_array(&b, "a", KN_F32, KNI_IR_PRIVATE, 4);
    kni_ir_id item = item_of(&b), one = kni_ir_real(&b, KN_F32, 1);
    b.line = 12, b.column = 5;
    if (what == OUTSIDE) kni_ir_store(&b, by, kni_ir_word(&b, "add", item, whole(&b, 3)), one);
    if (what == BOTH_WRITE) kni_ir_store(&b, by, kni_ir_word(&b, "div", item, whole(&b, 2)), one);
    if (what == READS_OTHER) {
        kni_ir_id next = kni_ir_word(&b, "rem", kni_ir_word(&b, "add", item, whole(&b, 1)), whole(&b, 10));
        kni_ir_store(&b, by, item, kni_ir_load(&b, by, next, KN_F32, 1));
    }
    if (what == ENDLESS) {
        kni_ir_loop(&b);
        kni_ir_loop_test(&b, kni_ir_whole(&b, KN_BOOL, 1));
        kni_ir_end(&b);
    }
    if (what == UNSET) kni_ir_store(&b, by, item, kni_ir_load(&b, array, whole(&b, 2), KN_F32, 1));
    if (what == UPWARDS) {
        kni_ir_for(&b, whole(&b, 0), whole(&b, 3), item);
        kni_ir_store(&b, by, item, one);
        kni_ir_end(&b);
    }
    return kni_ir_finish(&b);
}

static void mistakes(void)
{
    float y[10] = {0};
    static const char *const words[MISTAKES] = {
        "wrong:12:5: element 10 of 'y', which has 10 (item 7)",
        "wrong:12:5: element 0 of 'y' is written here and by item 0 (item 1)",
        "wrong:12:5: element 0 of 'y' is written here and read by item 9 (item 0)",
        "wrong:12:5: does not end",
        "wrong:12:5: element 2 of 'a' is read before it was written (item 0)",
        "wrong:12:5: a loop does not count upwards (item 0)",
    };
    for (int i = 0; i < MISTAKES; i++)
        CHECK(fails_on(wrong_kernel((mistake)i), BUFFERS({y, 10}), 10, 0, words[i]));
    /* Indices are checked always. */
    kni_ir *ir = wrong_kernel(OUTSIDE);
    CHECK_ERROR(kni_ir_run(ir, &(kni_ir_run_args){.buffers = BUFFERS({y, 10}), .items = 10}),
                "element 10 of 'y'");
    CHECK_ERROR(kni_ir_run(ir, &(kni_ir_run_args){.items = 10}), "are missing");
    CHECK_ERROR(kni_ir_run(ir, &(kni_ir_run_args){.buffers = BUFFERS({NULL, 10}), .items = 10}),
                "'y' is missing");
    CHECK(kni_ir_run(ir, &(kni_ir_run_args){.buffers = BUFFERS({NULL, 0}), .items = 0}) == KN_OK);
    CHECK_ERROR(kni_ir_run(ir, &(kni_ir_run_args){.buffers = BUFFERS({y, 10}), .items = -1}),
                "too many items");
    kni_ir_free(ir);
}

/* A neighbour's element of shared memory without a barrier in between, and between workgroups. */
static void workgroup_mistakes(void)
{
    for (int k = 0; k < 3; k++) {
        int32_t y[64];
        kni_ir_builder b = kni_ir_begin("race", 32);
        uint32_t by = kni_ir_buffer(&b, "y", KN_I32, KNI_IR_READ | KNI_IR_WRITE);
        uint32_t s = kni_ir_array(&b, "s", KN_I32, KNI_IR_SHARED, 32);
        kni_ir_id local = local_of(&b), one = kni_ir_whole(&b, KN_I32, 1);
        kni_ir_id next = kni_ir_word(&b, "xor", local, whole(&b, 1));
        kni_ir_store(&b, s, local, one);
        if (k != 0) kni_ir_barrier(&b);
        kni_ir_id v = kni_ir_load(&b, s, next, KN_I32, 1);
        if (k == 2) {
            kni_ir_barrier(&b);
            kni_ir_store(&b, s, next, v);
        }
        kni_ir_id group = kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, KN_I64);
        kni_ir_id at =
            kni_ir_word(&b, "add", local, kni_ir_word(&b, "mul", group, whole(&b, k == 2 ? 32 : 8)));
        kni_ir_store(&b, by, at, v);
        kni_ir *ir = kni_ir_finish(&b);
        if (k == 2)
            CHECK(runs_on(ir, BUFFERS({y, 64}), NULL, 0, 2));
        else
            CHECK(fails_on(ir, BUFFERS({y, 64}), 0, 2,
                           k == 0 ? "element 1 of 's' is read here and written by invocation 1 of workgroup 0"
                                  : "element 8 of 'y' is written here and by invocation 8 of workgroup 0"));
    }
}

/* Everything once: made, simplified, printed, run checked. */
static kn_status whole_life(void)
{
    kni_ir_text text = {0};
    random_state = 99;
    kn_status s = KN_ERROR_MEMORY;
    static memory m;
    kni_ir *ir = random_kernel();
    if (ir) s = kni_ir_simplify(ir);
    if (s == KN_OK) s = kni_ir_print(ir, &text);
    if (s == KN_OK) s = run_random(ir, &m, true);
    kni_ir_text_free(&text);
    kni_ir_free(ir);
    return s;
}

/* Each allocation fails once: an error every time, nothing is lost. */
static void without_memory(void)
{
    CHECK(whole_life() == KN_OK);
    kn_memory_trim();
    int64_t before = kn_memory_stats().bytes_now;
    int failures = 0, n = 1;
    for (; n < 10000; n++) {
        kn_memory_fail_after(n);
        kn_status s = whole_life();
        kn_memory_fail_after(0);
        if (s == KN_OK) break;
        failures += s == KN_ERROR_MEMORY;
    }
    CHECK(n > 10 && n < 10000 && failures == n - 1);
    kn_memory_trim();
    CHECK(kn_memory_stats().bytes_now == before);
}

int main(void)
{
    words_agree();
    divergence();
    random_kernels(1000);
    workgroup_sum();
    tiles();
    functions_and_vectors();
    reports_and_atomics();
    compares_by_item();
    fuses_doubles();
    mistakes();
    workgroup_mistakes();
    without_memory();
    return check_report();
}
