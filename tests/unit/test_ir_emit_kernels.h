/* The kernels that the printer is tested with: one for each thing that it has to say. */
#ifndef TEST_IR_EMIT_KERNELS_H
#define TEST_IR_EMIT_KERNELS_H

#include "ir/builder.h"

/* A kernel, how often it runs, its buffers' lengths and the numbers after `items` and the offsets. */
typedef struct sample {
    const char *name;
    kni_ir *(*build)(void);
    int64_t count; /* items or workgroups */
    int64_t lengths[8];
    double numbers[8];
    bool loose; /* sums in another order or precision on some targets */
} sample;

static kni_ir_id item_of(kni_ir_builder *b) { return kni_ir_builtin_value(b, KNI_IR_ITEM, 0, KN_I64); }
static kni_ir_id local_of(kni_ir_builder *b) { return kni_ir_builtin_value(b, KNI_IR_LOCAL, 0, KN_I32); }
static kni_ir_id group_of(kni_ir_builder *b) { return kni_ir_builtin_value(b, KNI_IR_GROUP, 0, KN_I64); }
static kni_ir_id i64_of(kni_ir_builder *b, int64_t v) { return kni_ir_whole(b, KN_I64, v); }
static kni_ir_id i32_of(kni_ir_builder *b, int64_t v) { return kni_ir_whole(b, KN_I32, v); }
static kni_ir_id f32_of(kni_ir_builder *b, double v) { return kni_ir_real(b, KN_F32, v); }
#define W kni_ir_word

/* y[i, j] = max(x[i, j] * scale + bias[j], 0) / 3 */
static kni_ir *pointwise(void)
{
    kni_ir_builder b = kni_ir_begin("pointwise", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ),
             bias = kni_ir_buffer(&b, "bias", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    uint32_t scale = kni_ir_param_add(&b, "scale", KN_F32, 0),
             columns = kni_ir_param_add(&b, "columns", KN_I64, 0);
    kni_ir_id item = item_of(&b);
    kni_ir_id v = W(&b, "mul", kni_ir_load(&b, x, item, KN_F32, 1), kni_ir_param_value(&b, scale));
    kni_ir_id at = W(&b, "rem", item, kni_ir_param_value(&b, columns));
    v = W(&b, "add", v, kni_ir_load(&b, bias, at, KN_F32, 1));
    v = W(&b, "div", W(&b, "max", v, f32_of(&b, 0)), f32_of(&b, 3));
    kni_ir_store(&b, y, item, v);
    return kni_ir_finish(&b);
}

/* y = (x - max) / sum of each row; a workgroup takes a row. */
static kni_ir *rows(void)
{
    kni_ir_builder b = kni_ir_begin("rows", 64);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);
    uint32_t columns = kni_ir_param_add(&b, "columns", KN_I64, 0);
    kni_ir_id n = kni_ir_param_value(&b, columns), local = kni_ir_cast(&b, local_of(&b), KN_I64);
    kni_ir_id row = W(&b, "mul", group_of(&b), n);
    kni_ir_id most = kni_ir_variable(&b, KN_F32, 1, f32_of(&b, -__builtin_inf()));
    kni_ir_id sum = kni_ir_variable(&b, KN_F32, 1, f32_of(&b, 0));
    kni_ir_id j = kni_ir_for(&b, local, n, i64_of(&b, 64));
    kni_ir_id v = kni_ir_load(&b, x, W(&b, "add", row, j), KN_F32, 1);
    kni_ir_set(&b, most, W(&b, "max", kni_ir_get(&b, most), v));
    kni_ir_set(&b, sum, W(&b, "add", kni_ir_get(&b, sum), v));
    kni_ir_end(&b);
    kni_ir_id largest = kni_ir_workgroup(&b, KNI_IR_MAX, kni_ir_get(&b, most));
    kni_ir_id total = kni_ir_workgroup(&b, KNI_IR_ADD, kni_ir_get(&b, sum));
    j = kni_ir_for(&b, local, n, i64_of(&b, 64));
    kni_ir_id at = W(&b, "add", row, j);
    v = kni_ir_load(&b, x, at, KN_F32, 1);
    kni_ir_store(&b, y, at, W(&b, "div", W(&b, "sub", v, largest), total));
    kni_ir_end(&b);
    return kni_ir_finish(&b);
}

/* Running sums of a workgroup, and a running product in whole numbers. */
static kni_ir *scan(void)
{
    kni_ir_builder b = kni_ir_begin("scan", 48);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE),
             z = kni_ir_buffer(&b, "z", KN_I64, KNI_IR_WRITE);
    kni_ir_id at =
        W(&b, "add", W(&b, "mul", group_of(&b), i64_of(&b, 48)), kni_ir_cast(&b, local_of(&b), KN_I64));
    kni_ir_id v = kni_ir_load(&b, x, at, KN_F32, 1);
    kni_ir_store(&b, y, at, kni_ir_scan(&b, KNI_IR_ADD, v));
    kni_ir_store(&b, z, at, kni_ir_scan(&b, KNI_IR_MULTIPLY, kni_ir_cast(&b, v, KN_I64)));
    return kni_ir_finish(&b);
}

/* Counts, sums and extremes of many items in few elements. */
static kni_ir *atomics(void)
{
    kni_ir_builder b = kni_ir_begin("atomics", 0);
    int both = KNI_IR_READ | KNI_IR_WRITE;
    uint32_t x = kni_ir_buffer(&b, "x", KN_I32, KNI_IR_READ),
             counts = kni_ir_buffer(&b, "counts", KN_I32, both),
             sums = kni_ir_buffer(&b, "sums", KN_F32, both), wide = kni_ir_buffer(&b, "wide", KN_F64, both),
             totals = kni_ir_buffer(&b, "totals", KN_I64, both),
             flags = kni_ir_buffer(&b, "flags", KN_U32, both);
    kni_ir_add_item_params(&b);
    kni_ir_id v = kni_ir_load(&b, x, item_of(&b), KN_I32, 1), bin = W(&b, "and", v, i32_of(&b, 3));
    kni_ir_atomic(&b, counts, bin, i32_of(&b, 1), KNI_IR_ADD);
    kni_ir_atomic(&b, sums, bin, kni_ir_cast(&b, v, KN_F32), KNI_IR_ADD);
    kni_ir_atomic(&b, sums, W(&b, "add", bin, i32_of(&b, 4)), kni_ir_cast(&b, v, KN_F32), KNI_IR_MAX);
    kni_ir_atomic(&b, wide, bin, kni_ir_cast(&b, v, KN_F64), KNI_IR_ADD);
    kni_ir_atomic(&b, wide, W(&b, "add", bin, i32_of(&b, 4)), kni_ir_cast(&b, v, KN_F64), KNI_IR_MIN);
    kni_ir_atomic(&b, totals, bin, kni_ir_cast(&b, v, KN_I64), KNI_IR_ADD);
    kni_ir_atomic(&b, totals, W(&b, "add", bin, i32_of(&b, 4)), kni_ir_cast(&b, v, KN_I64), KNI_IR_MIN);
    kni_ir_id old =
        kni_ir_atomic_compare(&b, flags, bin, kni_ir_whole(&b, KN_U32, 7), kni_ir_whole(&b, KN_U32, 0));
    kni_ir_if(&b, W(&b, "eq", old, kni_ir_whole(&b, KN_U32, 0)));
    kni_ir_atomic(&b, counts, W(&b, "add", bin, i32_of(&b, 4)), i32_of(&b, 1), KNI_IR_ADD);
    kni_ir_end(&b);
    return kni_ir_finish(&b);
}

/* bf16 = f16 * f32, with what is between rounded to f16; truths of a comparison. */
static kni_ir *halves(void)
{
    kni_ir_builder b = kni_ir_begin("halves", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F16, KNI_IR_READ), s = kni_ir_buffer(&b, "s", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_BF16, KNI_IR_WRITE),
             t = kni_ir_buffer(&b, "t", KN_BOOL, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    kni_ir_id item = item_of(&b), v = kni_ir_load(&b, x, item, KN_F32, 1);
    v = kni_ir_round_to(&b, W(&b, "mul", v, kni_ir_load(&b, s, item, KN_F32, 1)), KN_F16);
    kni_ir_store(&b, y, item, v);
    kni_ir_store(&b, t, item, W(&b, "gt", v, f32_of(&b, 0.5)));
    return kni_ir_finish(&b);
}

/* Four f32 and eight f16 at a time, the last ones where they are inside. */
static kni_ir *vectors(void)
{
    kni_ir_builder b = kni_ir_begin("vectors", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ), h = kni_ir_buffer(&b, "h", KN_F16, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE),
             g = kni_ir_buffer(&b, "g", KN_BF16, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    uint32_t n = kni_ir_param_add(&b, "n", KN_I64, 0);
    if (b.ir) {
        b.ir->bindings[x].aligned = b.ir->bindings[y].aligned = 4;
        b.ir->bindings[h].aligned = b.ir->bindings[g].aligned = 8;
    }
    kni_ir_id item = item_of(&b), at = W(&b, "mul", item, i64_of(&b, 4));
    kni_ir_id inside = W(&b, "lt", at, kni_ir_param_value(&b, n));
    kni_ir_id v = kni_ir_load_where(&b, x, at, KN_F32, 4, inside, f32_of(&b, 1));
    kni_ir_id w = W(&b, "add", W(&b, "mul", v, v), f32_of(&b, 0.25));
    w = kni_ir_select(&b, W(&b, "lt", v, f32_of(&b, 0)), W(&b, "neg", w, 0), w);
    kni_ir_store_where(&b, y, at, w, inside);
    at = W(&b, "mul", item, i64_of(&b, 8));
    v = kni_ir_load(&b, h, at, KN_F32, 8);
    kni_ir_id lanes[8];
    for (int i = 0; i < 8; i++) lanes[i] = W(&b, "mul", kni_ir_lane(&b, v, i), kni_ir_lane(&b, v, 7 - i));
    kni_ir_store(&b, g, at, kni_ir_pack(&b, lanes, 8));
    return kni_ir_finish(&b);
}

/* A polynomial by a function with an array, called by another. */
static kni_ir *functions(void)
{
    kni_ir_builder b = kni_ir_begin("functions", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    kni_ir_type f32 = {KN_F32, 1}, i32 = {KN_I32, 1};
    uint32_t polynomial = kni_ir_function_begin(&b, "polynomial", f32, (kni_ir_type[]){f32, i32}, 2);
    uint32_t powers = kni_ir_array(&b, "powers", KN_F32, KNI_IR_PRIVATE, 4);
    kni_ir_id a = kni_ir_argument(&b, 0), degree = kni_ir_argument(&b, 1);
    kni_ir_store(&b, powers, i32_of(&b, 0), f32_of(&b, 1));
    kni_ir_id i = kni_ir_for(&b, i32_of(&b, 1), i32_of(&b, 4), i32_of(&b, 1));
    kni_ir_id before = kni_ir_load(&b, powers, W(&b, "sub", i, i32_of(&b, 1)), KN_F32, 1);
    kni_ir_store(&b, powers, i, W(&b, "mul", before, a));
    kni_ir_end(&b);
    kni_ir_id sum = kni_ir_variable(&b, KN_F32, 1, f32_of(&b, 0));
    i = kni_ir_for(&b, i32_of(&b, 0), degree, i32_of(&b, 1));
    kni_ir_set(&b, sum, W(&b, "add", kni_ir_get(&b, sum), kni_ir_load(&b, powers, i, KN_F32, 1)));
    kni_ir_end(&b);
    kni_ir_return(&b, kni_ir_get(&b, sum));
    kni_ir_function_end(&b);
    uint32_t clipped = kni_ir_function_begin(&b, "clipped", f32, (kni_ir_type[]){f32}, 1);
    a = kni_ir_argument(&b, 0);
    kni_ir_if(&b, W(&b, "gt", a, f32_of(&b, 1.5)));
    kni_ir_return(&b, f32_of(&b, 1.5));
    kni_ir_end(&b);
    kni_ir_return(&b, kni_ir_call(&b, polynomial, (kni_ir_id[]){a, i32_of(&b, 4)}, 2));
    kni_ir_function_end(&b);
    kni_ir_id item = item_of(&b), v = kni_ir_load(&b, x, item, KN_F32, 1);
    v = W(&b, "sub", kni_ir_call(&b, clipped, &v, 1),
          kni_ir_call(&b, polynomial, (kni_ir_id[]){v, i32_of(&b, 2)}, 2));
    kni_ir_store(&b, y, item, v);
    return kni_ir_finish(&b);
}

/* Loops of all forms, left and continued in the middle, inside others, with a return. */
static kni_ir *loops(void)
{
    kni_ir_builder b = kni_ir_begin("loops", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_I32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_I64, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    kni_ir_id item = item_of(&b), v = kni_ir_load(&b, x, item, KN_I32, 1);
    kni_ir_id k = kni_ir_variable(&b, KN_I64, 1, i64_of(&b, 0)),
              sum = kni_ir_variable(&b, KN_I64, 1, i64_of(&b, 0));
    kni_ir_loop(&b);
    kni_ir_loop_test(&b, W(&b, "lt", kni_ir_get(&b, k), i64_of(&b, 20)));
    kni_ir_id now = kni_ir_get(&b, k);
    kni_ir_if(&b, W(&b, "eq", W(&b, "and", now, i64_of(&b, 3)), i64_of(&b, 1)));
    kni_ir_continue(&b);
    kni_ir_end(&b);
    kni_ir_if(&b, W(&b, "gt", kni_ir_cast(&b, now, KN_I32), v));
    kni_ir_break(&b);
    kni_ir_end(&b);
    kni_ir_set(&b, sum, W(&b, "add", kni_ir_get(&b, sum), now));
    kni_ir_loop_step(&b);
    kni_ir_set(&b, k, W(&b, "add", kni_ir_get(&b, k), i64_of(&b, 1)));
    kni_ir_end(&b);
    /* A step that needs statements of its own. */
    kni_ir_loop(&b);
    now = kni_ir_get(&b, k);
    kni_ir_loop_test(&b, kni_ir_and(&b, W(&b, "gt", now, i64_of(&b, 0)),
                                    W(&b, "lt", W(&b, "mul", now, now), i64_of(&b, 1000))));
    kni_ir_id i = kni_ir_for(&b, i64_of(&b, 0), kni_ir_get(&b, k), i64_of(&b, 2));
    kni_ir_if(&b, W(&b, "eq", i, i64_of(&b, 4)));
    kni_ir_continue(&b);
    kni_ir_end(&b);
    kni_ir_if(&b, W(&b, "gt", kni_ir_get(&b, sum), i64_of(&b, 5000)));
    kni_ir_store(&b, y, item, i64_of(&b, -1));
    kni_ir_return(&b, 0);
    kni_ir_end(&b);
    kni_ir_set(&b, sum, W(&b, "add", kni_ir_get(&b, sum), i));
    kni_ir_end(&b);
    kni_ir_if(&b, W(&b, "eq", kni_ir_get(&b, k), i64_of(&b, 7)));
    kni_ir_continue(&b);
    kni_ir_end(&b);
    kni_ir_set(&b, sum, W(&b, "add", kni_ir_get(&b, sum), i64_of(&b, 100)));
    kni_ir_loop_step(&b);
    kni_ir_if(&b, W(&b, "gt", kni_ir_get(&b, k), i64_of(&b, 10)));
    kni_ir_set(&b, k, W(&b, "sub", kni_ir_get(&b, k), i64_of(&b, 3)));
    kni_ir_else(&b);
    kni_ir_set(&b, k, W(&b, "sub", kni_ir_get(&b, k), i64_of(&b, 1)));
    kni_ir_end(&b);
    kni_ir_end(&b);
    kni_ir_store(&b, y, item, kni_ir_get(&b, sum));
    return kni_ir_finish(&b);
}

/* Loads and stores where a truth holds, one for each lane too. */
static kni_ir *masked(void)
{
    kni_ir_builder b = kni_ir_begin("masked", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE),
             z = kni_ir_buffer(&b, "z", KN_I8, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    uint32_t n = kni_ir_param_add(&b, "n", KN_I64, 0);
    kni_ir_id item = item_of(&b), limit = kni_ir_param_value(&b, n);
    kni_ir_id at = W(&b, "sub", item, i64_of(&b, 3));
    kni_ir_id good = kni_ir_and(&b, W(&b, "ge", at, i64_of(&b, 0)), W(&b, "lt", at, limit));
    kni_ir_id v = kni_ir_load_where(&b, x, at, KN_F32, 1, good, f32_of(&b, -1));
    kni_ir_store_where(&b, z, item, v, W(&b, "ne", v, f32_of(&b, -1)));
    at = W(&b, "mul", item, i64_of(&b, 4));
    kni_ir_id each[4];
    for (int i = 0; i < 4; i++) each[i] = W(&b, "lt", W(&b, "add", at, i64_of(&b, i)), limit);
    kni_ir_id mask = kni_ir_pack(&b, each, 4);
    kni_ir_id w = kni_ir_load_where(&b, x, at, KN_F32, 4, mask, v);
    kni_ir_store_where(&b, y, at, W(&b, "mul", w, f32_of(&b, 2)), mask);
    return kni_ir_finish(&b);
}

/* c = a b + 1 of 16 x 16 tiles over k, by the first subgroup. */
static kni_ir *tiles_of(const char *name, int dtype)
{
    kni_ir_builder b = kni_ir_begin(name, 32);
    uint32_t x = kni_ir_buffer(&b, "x", dtype, KNI_IR_READ), y = kni_ir_buffer(&b, "y", dtype, KNI_IR_READ),
             z = kni_ir_buffer(&b, "z", KN_F32, KNI_IR_WRITE);
    uint32_t depth = kni_ir_param_add(&b, "depth", KN_I64, 0);
    kni_ir_id k = kni_ir_param_value(&b, depth), columns = i64_of(&b, 16);
    kni_ir_id number = W(&b, "div", local_of(&b), kni_ir_builtin_value(&b, KNI_IR_LANES, 0, KN_I32));
    kni_ir_if(&b, W(&b, "eq", number, i32_of(&b, 0)));
    kni_ir_id left = kni_ir_tile(&b, KNI_IR_TILE_LEFT, dtype),
              right = kni_ir_tile(&b, KNI_IR_TILE_RIGHT, dtype),
              sum = kni_ir_tile(&b, KNI_IR_TILE_SUM, KN_F32);
    kni_ir_tile_fill(&b, sum, f32_of(&b, 1));
    kni_ir_id first = W(&b, "mul", W(&b, "mul", group_of(&b), i64_of(&b, 16)), k);
    kni_ir_id i = kni_ir_for(&b, i64_of(&b, 0), k, i64_of(&b, 16));
    kni_ir_tile_load(&b, left, x, W(&b, "add", first, i), k);
    kni_ir_tile_load(&b, right, y, W(&b, "mul", i, columns), columns);
    kni_ir_tile_multiply(&b, sum, left, right);
    kni_ir_end(&b);
    kni_ir_tile_store(&b, sum, z, W(&b, "mul", group_of(&b), i64_of(&b, 256)), columns);
    kni_ir_end(&b);
    return kni_ir_finish(&b);
}
static kni_ir *tiles(void) { return tiles_of("tiles", KN_F16); }
static kni_ir *tiles_bf16(void) { return tiles_of("tiles_bf16", KN_BF16); }
static kni_ir *tiles_f32(void) { return tiles_of("tiles_f32", KN_F32); }

/* Conversions between all types, bits, integers that wrap, random bits. */
static kni_ir *numbers(void)
{
    kni_ir_builder b = kni_ir_begin("numbers", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F64, KNI_IR_READ), u = kni_ir_buffer(&b, "u", KN_U8, KNI_IR_READ),
             i = kni_ir_buffer(&b, "i", KN_I32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_I64, KNI_IR_WRITE),
             h = kni_ir_buffer(&b, "h", KN_I16, KNI_IR_WRITE),
             f = kni_ir_buffer(&b, "f", KN_F32, KNI_IR_WRITE),
             w = kni_ir_buffer(&b, "w", KN_U32, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    uint32_t table = kni_ir_param_add(&b, "table", KN_I32, 3);
    kni_ir_id item = item_of(&b), d = kni_ir_load(&b, x, item, KN_F64, 1),
              n = kni_ir_load(&b, i, item, KN_I32, 1);
    kni_ir_id byte = kni_ir_load(&b, u, item, KN_U32, 1);
    kni_ir_id wrapped = W(&b, "mul", W(&b, "add", n, i32_of(&b, INT32_MAX)), W(&b, "neg", n, 0));
    kni_ir_id bits = kni_ir_philox(&b, kni_ir_cast(&b, n, KN_I64), item, i64_of(&b, 2));
    kni_ir_id shifted = W(&b, "shl", wrapped, W(&b, "and", n, i32_of(&b, 7)));
    kni_ir_id whole =
        W(&b, "add", kni_ir_cast(&b, W(&b, "mul", d, kni_ir_real(&b, KN_F64, 1e18)), KN_I64), bits);
    whole = W(&b, "add", whole, kni_ir_cast(&b, shifted, KN_I64));
    kni_ir_store(&b, y, item, W(&b, "sub", whole, i64_of(&b, INT64_MIN)));
    kni_ir_store(&b, h, item, W(&b, "mul", d, kni_ir_real(&b, KN_F64, 12345.678)));
    kni_ir_id single = kni_ir_cast(&b, d, KN_F32);
    kni_ir_id fused = kni_ir_fma(&b, single, kni_ir_cast(&b, byte, KN_F32), f32_of(&b, 1e-7));
    kni_ir_id flipped = kni_ir_bitcast(&b, W(&b, "xor", kni_ir_bitcast(&b, fused, KN_U32), byte), KN_F32);
    kni_ir_id entry = kni_ir_element(&b, table, W(&b, "rem", n, i32_of(&b, 3)));
    flipped = kni_ir_select(&b, kni_ir_cast(&b, byte, KN_BOOL), W(&b, "sqrt", W(&b, "abs", flipped, 0), 0),
                            flipped);
    kni_ir_store(&b, f, item, W(&b, "div", flipped, kni_ir_cast(&b, entry, KN_F32)));
    kni_ir_id third = W(&b, "shr", kni_ir_cast(&b, wrapped, KN_U32), kni_ir_whole(&b, KN_U32, 3));
    kni_ir_store(&b, w, item, W(&b, "div", third, W(&b, "or", byte, kni_ir_whole(&b, KN_U32, 1))));
    return kni_ir_finish(&b);
}

/* Barriers in loops that are left and continued by all, arrays of members' own, a group that returns. */
static kni_ir *barriers(void)
{
    kni_ir_builder b = kni_ir_begin("barriers", 16);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);
    uint32_t limit = kni_ir_param_add(&b, "limit", KN_I64, 0);
    uint32_t shared = kni_ir_array(&b, "shared", KN_F32, KNI_IR_SHARED, 16),
             own = kni_ir_array(&b, "own", KN_F32, KNI_IR_PRIVATE, 3);
    kni_ir_id group = group_of(&b), local = local_of(&b), most = kni_ir_param_value(&b, limit);
    kni_ir_if(&b, W(&b, "ge", group, most));
    kni_ir_return(&b, 0);
    kni_ir_end(&b);
    kni_ir_id at = W(&b, "add", W(&b, "mul", group, i64_of(&b, 16)), kni_ir_cast(&b, local, KN_I64));
    kni_ir_id v = kni_ir_variable(&b, KN_F32, 1, kni_ir_load(&b, x, at, KN_F32, 1));
    kni_ir_id i = kni_ir_for(&b, i32_of(&b, 0), i32_of(&b, 3), i32_of(&b, 1));
    kni_ir_store(&b, own, i, W(&b, "mul", kni_ir_get(&b, v), kni_ir_cast(&b, i, KN_F32)));
    kni_ir_end(&b);
    kni_ir_id k = kni_ir_variable(&b, KN_I64, 1, i64_of(&b, 0));
    kni_ir_loop(&b);
    kni_ir_loop_test(&b, W(&b, "lt", kni_ir_get(&b, k), i64_of(&b, 6)));
    kni_ir_if(&b, W(&b, "eq", kni_ir_get(&b, k), i64_of(&b, 1)));
    kni_ir_continue(&b);
    kni_ir_end(&b);
    kni_ir_store(&b, shared, local, kni_ir_get(&b, v));
    kni_ir_barrier(&b);
    kni_ir_id other = kni_ir_load(&b, shared, W(&b, "xor", local, i32_of(&b, 5)), KN_F32, 1);
    kni_ir_set(&b, v, W(&b, "add", W(&b, "mul", other, f32_of(&b, 0.5)), kni_ir_get(&b, v)));
    kni_ir_barrier(&b);
    kni_ir_if(&b, W(&b, "eq", kni_ir_get(&b, k), W(&b, "add", group, i64_of(&b, 2))));
    kni_ir_break(&b);
    kni_ir_end(&b);
    kni_ir_loop_step(&b);
    kni_ir_set(&b, k, W(&b, "add", kni_ir_get(&b, k), i64_of(&b, 1)));
    kni_ir_end(&b);
    kni_ir_id sum = kni_ir_variable(&b, KN_F32, 1, kni_ir_get(&b, v));
    i = kni_ir_for(&b, i32_of(&b, 0), i32_of(&b, 3), i32_of(&b, 1));
    kni_ir_store(&b, shared, local, kni_ir_load(&b, own, i, KN_F32, 1));
    kni_ir_barrier(&b);
    kni_ir_if(&b, W(&b, "lt", local, i32_of(&b, 15)));
    other = kni_ir_load(&b, shared, W(&b, "add", local, i32_of(&b, 1)), KN_F32, 1);
    kni_ir_set(&b, sum, W(&b, "add", kni_ir_get(&b, sum), other));
    kni_ir_end(&b);
    kni_ir_barrier(&b);
    kni_ir_end(&b);
    kni_ir_if(&b, W(&b, "eq", local, i32_of(&b, 3)));
    kni_ir_return(&b, 0);
    kni_ir_end(&b);
    kni_ir_store(&b, y, at, kni_ir_get(&b, sum));
    return kni_ir_finish(&b);
}

/* Two axes of workgroups; each subgroup's sum, and what a neighbour has. */
static kni_ir *subgroups(void)
{
    kni_ir_builder b = kni_ir_begin("subgroups", 64);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);
    kni_ir_id row = kni_ir_builtin_value(&b, KNI_IR_GROUP, 1, KN_I64);
    kni_ir_id place =
        W(&b, "add", W(&b, "mul", row, kni_ir_builtin_value(&b, KNI_IR_GROUPS, 0, KN_I64)), group_of(&b));
    kni_ir_id at = W(&b, "add", W(&b, "mul", place, i64_of(&b, 64)), kni_ir_cast(&b, local_of(&b), KN_I64));
    kni_ir_id v = kni_ir_load(&b, x, at, KN_F32, 1), total = kni_ir_subgroup(&b, KNI_IR_ADD, v);
    kni_ir_id most = kni_ir_subgroup(&b, KNI_IR_MAX, v), other = kni_ir_shuffle(&b, v, i32_of(&b, 1));
    kni_ir_id lane = kni_ir_builtin_value(&b, KNI_IR_LANE_ID, 0, KN_I32);
    kni_ir_id sum =
        W(&b, "add", W(&b, "sub", total, most), W(&b, "mul", other, kni_ir_cast(&b, lane, KN_F32)));
    kni_ir_store(&b, y, at, sum);
    return kni_ir_finish(&b);
}

/* Faults of a launch, and names that languages keep for themselves. */
static kni_ir *faults(void)
{
    kni_ir_builder b = kni_ir_begin("faults", 0);
    uint32_t at = kni_ir_buffer(&b, "kernel", KN_I64, KNI_IR_READ),
             x = kni_ir_buffer(&b, "float4", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "t1", KN_F32, KNI_IR_WRITE | KNI_IR_ALIASES);
    kni_ir_add_item_params(&b);
    uint32_t n = kni_ir_param_add(&b, "int", KN_I64, 0);
    kni_ir_id item = item_of(&b), i = kni_ir_load(&b, at, item, KN_I64, 1);
    kni_ir_id below = W(&b, "lt", i, kni_ir_param_value(&b, n)), above = W(&b, "ge", i, i64_of(&b, 0));
    kni_ir_if(&b, kni_ir_and(&b, above, below));
    kni_ir_store(&b, y, item, kni_ir_load(&b, x, i, KN_F32, 1));
    kni_ir_else(&b);
    kni_ir_report(&b, i);
    kni_ir_end(&b);
    return kni_ir_finish(&b);
}

/* y = 1 / (1 + 2^x), as near as the target's own instructions come. */
static kni_ir *near_words(void)
{
    kni_ir_builder b = kni_ir_begin("near_words", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F32, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    kni_ir_id item = item_of(&b), one = f32_of(&b, 1);
    kni_ir_id power = kni_ir_near(&b, "exp2", kni_ir_load(&b, x, item, KN_F32, 1), 0);
    kni_ir_store(&b, y, item, kni_ir_near(&b, "div", one, W(&b, "add", one, power)));
    return kni_ir_finish(&b);
}

static const sample samples[] = {
    {"pointwise", pointwise, 1000, {1000, 10, 1000}, {1.7, 10}, false},
    {"rows", rows, 5, {5 * 150, 5 * 150}, {150}, false},
    {"scan", scan, 4, {4 * 48, 4 * 48, 4 * 48}, {0}, false},
    {"atomics", atomics, 700, {700, 8, 8, 8, 8, 8}, {0}, false},
    {"halves", halves, 500, {500, 500, 500, 500}, {0}, false},
    {"vectors", vectors, 64, {256, 512, 256, 512}, {240}, false},
    {"functions", functions, 300, {300, 300}, {0}, false},
    {"loops", loops, 300, {300, 300}, {0}, false},
    {"masked", masked, 50, {200, 200, 50}, {37}, false},
    {"tiles", tiles, 3, {3 * 16 * 48, 48 * 16, 3 * 256}, {48}, true},
    {"tiles_bf16", tiles_bf16, 2, {2 * 16 * 32, 32 * 16, 2 * 256}, {32}, true},
    {"tiles_f32", tiles_f32, 2, {2 * 16 * 32, 32 * 16, 2 * 256}, {32}, false},
    {"numbers", numbers, 400, {400, 400, 400, 400, 400, 400, 400}, {3}, false},
    {"barriers", barriers, 6, {6 * 16, 6 * 16}, {4}, false},
    {"subgroups", subgroups, 6, {6 * 64, 6 * 64}, {0}, true},
    {"faults", faults, 60, {60, 60, 60}, {15}, false},
    {"near_words", near_words, 300, {300, 300}, {0}, false},
};
enum { SAMPLES = sizeof samples / sizeof *samples };
#undef W

#endif
