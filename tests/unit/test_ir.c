/* The kernel language in memory: kernels made by hand, printed, verified, refused. */
#include "../support/check.h"
#include "ir/builder.h"
#include <stdlib.h>

/* The print of a kernel, which is freed. */
static bool prints(kni_ir *ir, const char *want)
{
    kni_ir_text text = {0};
    bool good = ir && kni_ir_print(ir, &text) == KN_OK && !strcmp(text.data, want);
    if (!good) printf("got:\n%s\n%s\n", text.data ? text.data : "", ir ? "" : kn_last_error());
    kni_ir_text_free(&text);
    kni_ir_free(ir);
    return good;
}

/* y[item] = x[item] * scale, of items, with offsets. */
static kni_ir *scale_kernel(void)
{
    kni_ir_builder b = kni_ir_begin("scale", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F16, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    uint32_t scale = kni_ir_param_add(&b, "scale", KN_F32, 0);
    kni_ir_id item = kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, KN_I64);
    kni_ir_id v = kni_ir_load(&b, x, item, KN_F32, 1);
    kni_ir_store(&b, y, item, kni_ir_word(&b, "mul", v, kni_ir_param_value(&b, scale)));
    return kni_ir_finish(&b);
}

static void printing(void)
{
    CHECK(prints(scale_kernel(), "kernel scale\n"
                                 "  buffer x: f16 read\n"
                                 "  buffer y: f32 write\n"
                                 "  param items: i64 at 0\n"
                                 "  param offset_x: i64 at 8\n"
                                 "  param offset_y: i64 at 16\n"
                                 "  param scale: f32 at 24\n"
                                 "body\n"
                                 "  %1: i64 = builtin item\n"
                                 "  %2: i64 = param offset_x\n"
                                 "  %3: i64 = word add %1, %2\n"
                                 "  %4: f32 = load x %3\n"
                                 "  %5: f32 = param scale\n"
                                 "  %6: f32 = word mul %4, %5\n"
                                 "  %7: i64 = param offset_y\n"
                                 "  %8: i64 = word add %1, %7\n"
                                 "  store y %8, %6\n"));
}

static const char control_text[] = "kernel control workgroup 32\n"
                                   "  buffer y: bf16 read write aliases\n"
                                   "  shared s: f32[32]\n"
                                   "  param t: f64[2] at 0\n"
                                   "function half(f32): f32\n"
                                   "  %1: f32 = argument 0\n"
                                   "  %2: f32 = constant 0.5\n"
                                   "  %3: f32 = word mul %1, %2\n"
                                   "  return %3\n"
                                   "body\n"
                                   "  %1: i32 = builtin local\n"
                                   "  %2: i32 = builtin group.1\n"
                                   "  %3: i32 = constant 1\n"
                                   "  %4: f64 = element t %3\n"
                                   "  %5: f32 = cast %4\n"
                                   "  %6: f32 = variable %5\n"
                                   "  %7: i32 = constant 1\n"
                                   "  %8: i32 = constant 9\n"
                                   "  %9: i32 = for %2, %8, %7 {\n"
                                   "    %10: bool = word lt %9, %1\n"
                                   "    if %10 {\n"
                                   "      continue\n"
                                   "    } else {\n"
                                   "      %11: f32 = get %6\n"
                                   "      %12: f32 = call half(%11)\n"
                                   "      set %6, %12\n"
                                   "    }\n"
                                   "  }\n"
                                   "  %13: f32 = get %6\n"
                                   "  store s %1, %13\n"
                                   "  barrier\n"
                                   "  %14: f32x4 = load y %1\n"
                                   "  %15: f32x4 = vector %5\n"
                                   "  %16: f32x4 = fma %14, %14, %15\n"
                                   "  %17: f32x4 = cast by f16 %16\n"
                                   "  %18: boolx4 = word isnan %17\n"
                                   "  %19: boolx4 = not %18\n"
                                   "  store y %1, %17, %19\n"
                                   "  loop {\n"
                                   "    %20: f32 = constant -1.0000000116860974e-7\n"
                                   "    %21: bool = word gt %5, %20\n"
                                   "    test %21\n"
                                   "  } body {\n"
                                   "    break\n"
                                   "  } step {\n"
                                   "    %22: f32 = constant 7.0\n"
                                   "    %23: f32 = workgroup max %22\n"
                                   "    set %6, %23\n"
                                   "  }\n";

/* Every kind of statement once. */
static void printing_control(void)
{
    kni_ir_builder b = kni_ir_begin("control", 32);
    uint32_t y = kni_ir_buffer(&b, "y", KN_BF16, KNI_IR_READ | KNI_IR_WRITE | KNI_IR_ALIASES);
    uint32_t s = kni_ir_array(&b, "s", KN_F32, KNI_IR_SHARED, 32);
    uint32_t t = kni_ir_param_add(&b, "t", KN_F64, 2);
    kni_ir_type f32 = {KN_F32, 1};
    uint32_t f = kni_ir_function_begin(&b, "half", f32, &f32, 1);
    kni_ir_id argument = kni_ir_argument(&b, 0);
    kni_ir_return(&b, kni_ir_word(&b, "mul", argument, kni_ir_real(&b, KN_F32, 0.5)));
    kni_ir_function_end(&b);
    kni_ir_id local = kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, KN_I32);
    kni_ir_id group = kni_ir_builtin_value(&b, KNI_IR_GROUP, 1, KN_I32);
    kni_ir_id e = kni_ir_cast(&b, kni_ir_element(&b, t, kni_ir_whole(&b, KN_I32, 1)), KN_F32);
    kni_ir_id sum = kni_ir_variable(&b, KN_F32, 1, e);
    kni_ir_id one = kni_ir_whole(&b, KN_I32, 1);
    kni_ir_id i = kni_ir_for(&b, group, kni_ir_whole(&b, KN_I32, 9), one);
    kni_ir_if(&b, kni_ir_word(&b, "lt", i, local));
    kni_ir_continue(&b);
    kni_ir_else(&b);
    kni_ir_set(&b, sum, kni_ir_call(&b, f, (kni_ir_id[]){kni_ir_get(&b, sum)}, 1));
    kni_ir_end(&b);
    kni_ir_end(&b);
    kni_ir_store(&b, s, local, kni_ir_get(&b, sum));
    kni_ir_barrier(&b);
    kni_ir_id v = kni_ir_load(&b, y, local, KN_F32, 4);
    v = kni_ir_round_to(&b, kni_ir_fma(&b, v, v, kni_ir_spread(&b, e, 4)), KN_F16);
    kni_ir_store_where(&b, y, local, v, kni_ir_not(&b, kni_ir_word(&b, "isnan", v, 0)));
    kni_ir_loop(&b);
    kni_ir_loop_test(&b, kni_ir_word(&b, "gt", e, kni_ir_real(&b, KN_F32, -1e-7)));
    kni_ir_break(&b);
    kni_ir_loop_step(&b);
    kni_ir_set(&b, sum, kni_ir_workgroup(&b, KNI_IR_MAX, kni_ir_whole(&b, KN_F32, 7)));
    kni_ir_end(&b);
    CHECK(prints(kni_ir_finish(&b), control_text));
}

/* What a kernel becomes by simplification. */
static void simplifying(void)
{
    kni_ir_builder b = kni_ir_begin("plain", 0);
    uint32_t x = kni_ir_buffer(&b, "x", KN_F16, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);
    uint32_t n = kni_ir_param_add(&b, "n", KN_I64, 0);
    kni_ir_id item = kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, KN_I64), zero = kni_ir_whole(&b, KN_I64, 0);
    kni_ir_id total = kni_ir_variable(&b, KN_F32, 1, kni_ir_real(&b, KN_F32, 0));
    kni_ir_id scale = kni_ir_variable(&b, KN_F32, 1, kni_ir_real(&b, KN_F32, 2)); /* never set again */
    kni_ir_variable(&b, KN_I64, 1, item);                                         /* never read */
    kni_ir_id below = kni_ir_param_value(&b, n);
    kni_ir_id i = kni_ir_for(&b, zero, below, kni_ir_whole(&b, KN_I64, 1));
    kni_ir_id row = kni_ir_word(&b, "mul", item, kni_ir_param_value(&b, n)); /* the same in every turn */
    kni_ir_id at = kni_ir_word(&b, "add", kni_ir_word(&b, "add", row, zero), i);
    kni_ir_id v = kni_ir_load(&b, x, at, KN_F32, 1),
              w = kni_ir_load(&b, x, kni_ir_word(&b, "add", row, i), KN_F32, 1);
    v = kni_ir_round_to(&b, v, KN_F16);
    kni_ir_id by = kni_ir_get(&b, scale);
    kni_ir_id factor = kni_ir_word(&b, "mul", by, kni_ir_real(&b, KN_F32, 1.5));
    kni_ir_id product = kni_ir_word(&b, "mul", kni_ir_word(&b, "mul", v, w), factor);
    kni_ir_set(&b, total, kni_ir_word(&b, "add", kni_ir_get(&b, total), product));
    kni_ir_end(&b);
    kni_ir_if(&b, kni_ir_whole(&b, KN_BOOL, 0));
    kni_ir_store(&b, y, zero, kni_ir_get(&b, scale));
    kni_ir_end(&b);
    kni_ir_for(&b, kni_ir_whole(&b, KN_I64, 3), kni_ir_whole(&b, KN_I64, 3), kni_ir_whole(&b, KN_I64, 1));
    kni_ir_store(&b, y, zero, kni_ir_get(&b, scale));
    kni_ir_end(&b);
    kni_ir_store(&b, y, item, kni_ir_get(&b, total));
    kni_ir_return(&b, 0);
    kni_ir_store(&b, y, item, kni_ir_get(&b, scale));
    kni_ir *ir = kni_ir_finish(&b);
    CHECK(ir && kni_ir_simplify(ir) == KN_OK);
    CHECK(prints(ir, "kernel plain\n"
                     "  buffer x: f16 read\n"
                     "  buffer y: f32 write\n"
                     "  param n: i64 at 0\n"
                     "body\n"
                     "  %1: i64 = builtin item\n"
                     "  %2: i64 = constant 0\n"
                     "  %3: f32 = constant 0.0\n"
                     "  %4: f32 = variable %3\n"
                     "  %5: i64 = param n\n"
                     "  %6: i64 = constant 1\n"
                     "  %7: i64 = word mul %1, %5\n"
                     "  %8: f32 = constant 3.0\n"
                     "  %9: i64 = for %2, %5, %6 {\n"
                     "    %10: i64 = word add %7, %9\n"
                     "    %11: f32 = load x %10\n"
                     "    %12: f32 = word mul %11, %11\n"
                     "    %13: f32 = word mul %12, %8\n"
                     "    %14: f32 = get %4\n"
                     "    %15: f32 = word add %14, %13\n"
                     "    set %4, %15\n"
                     "  }\n"
                     "  %16: f32 = get %4\n"
                     "  store y %1, %16\n"));
}

/* ---- what is refused */

static void builder_refuses(void)
{
    kni_ir_builder b;
#define START                                                                                                \
    b = kni_ir_begin("k", 0);                                                                                \
    b.line = 3, b.column = 9;                                                                                \
    uint32_t y = kni_ir_buffer(&b, "y", KN_F32, KNI_IR_WRITE);                                               \
    kni_ir_id i = kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, KN_I64), f = kni_ir_real(&b, KN_F32, 1);          \
    (void)y, (void)i, (void)f
#define REFUSES(words, ...)                                                                                  \
    {                                                                                                        \
        START;                                                                                               \
        __VA_ARGS__;                                                                                         \
        CHECK(kni_ir_finish(&b) == NULL);                                                                    \
        CHECK_ERROR(b.status, words);                                                                        \
    }
    REFUSES("k:3:9: 'add' of i64 and f32", kni_ir_word(&b, "add", i, f))
    REFUSES("'exp' has no meaning for i64", kni_ir_word(&b, "exp", i, 0))
    REFUSES("'and' has no meaning for f32", kni_ir_word(&b, "and", f, f))
    REFUSES("'add' takes 2 operands", kni_ir_word(&b, "add", f, 0))
    REFUSES("'plus' is no word", kni_ir_word(&b, "plus", f, f))
    REFUSES("an operand has no value", kni_ir_word(&b, "neg", 4000, 0))
    REFUSES("fma takes three floats of one type", kni_ir_fma(&b, i, i, i))
    REFUSES("fma takes three floats of one type", kni_ir_fma(&b, f, kni_ir_real(&b, KN_F64, 1), f))
    REFUSES("fma takes three floats of one type", kni_ir_fma(&b, f, f, kni_ir_real(&b, KN_F64, 1)))
    REFUSES("and, or and not take truths", kni_ir_and(&b, i, kni_ir_word(&b, "lt", i, i)))
    REFUSES("and, or and not take truths", kni_ir_or(&b, kni_ir_word(&b, "lt", i, i), i))
    REFUSES("and, or and not take truths", kni_ir_not(&b, f))
    REFUSES("a condition is a truth", kni_ir_if(&b, i))
    REFUSES("else without an if", kni_ir_else(&b))
    REFUSES("nothing is open", kni_ir_end(&b))
    REFUSES("a block was not closed", kni_ir_if(&b, kni_ir_word(&b, "lt", i, i)))
    REFUSES("break outside a loop", kni_ir_break(&b))
    REFUSES("continue outside a loop", kni_ir_continue(&b))
    REFUSES("a kernel returns no value", kni_ir_return(&b, f))
    REFUSES("a loop counts with integers", kni_ir_for(&b, f, f, f))
    REFUSES("a loop has no test", kni_ir_loop(&b), kni_ir_end(&b))
    REFUSES("'y' is not read", kni_ir_load(&b, y, i, KN_F32, 1))
    REFUSES("a position is one integer", kni_ir_store(&b, y, f, f))
    REFUSES("no such buffer", kni_ir_store(&b, 5, i, f))
    REFUSES("two buffers are called 'y'", kni_ir_buffer(&b, "y", KN_F32, KNI_IR_READ))
    REFUSES("'a b' is no name for a buffer", kni_ir_buffer(&b, "a b", KN_F32, KNI_IR_READ))
    REFUSES("'a' is declared after an array", kni_ir_array(&b, "s", KN_F32, KNI_IR_PRIVATE, 4),
            kni_ir_buffer(&b, "a", KN_F32, KNI_IR_READ))
    REFUSES("has 0 elements", kni_ir_array(&b, "s", KN_F32, KNI_IR_PRIVATE, 0))
    REFUSES("vectors of 2 and 4 lanes",
            kni_ir_word(&b, "add", kni_ir_spread(&b, f, 2), kni_ir_spread(&b, f, 4)))
    REFUSES("no such lane", kni_ir_lane(&b, kni_ir_spread(&b, f, 2), 2))
    REFUSES("the bits of i64 are no f32", kni_ir_bitcast(&b, i, KN_F32))
    REFUSES("no such variable", kni_ir_set(&b, f, f))
    REFUSES("a variable is set to a value of another type",
            kni_ir_set(&b, kni_ir_variable(&b, KN_I64, 1, i), f))
    REFUSES("a kernel of items has no workgroup", kni_ir_barrier(&b))
    REFUSES("a kernel of items has no workgroup", kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, KN_I64))
    REFUSES("a loop counts upwards", kni_ir_for(&b, i, i, kni_ir_whole(&b, KN_I64, -1)), kni_ir_end(&b))
    REFUSES("is not well formed", kni_ir_array(&b, "s", KN_F32, KNI_IR_SHARED, 4))
    REFUSES("outside the array", kni_ir_store(&b, kni_ir_array(&b, "s", KN_F32, KNI_IR_PRIVATE, 4),
                                              kni_ir_whole(&b, KN_I64, 4), f))
    REFUSES("outside the array of numbers",
            kni_ir_element(&b, kni_ir_param_add(&b, "n", KN_I64, 4), kni_ir_whole(&b, KN_I64, 4)))
    REFUSES("nested deeper than 64", for (int k = 0; k < 70; k++) kni_ir_if(&b, kni_ir_word(&b, "lt", i, i)))
    kni_ir_type t = {KN_F32, 1};
    REFUSES("function 'f' ends without a return", kni_ir_function_begin(&b, "f", t, NULL, 0),
            kni_ir_function_end(&b))
    REFUSES("a function calls only those before it", kni_ir_function_begin(&b, "f", t, NULL, 0),
            kni_ir_call(&b, 0, NULL, 0))
    REFUSES("used before it is there", kni_ir_function_begin(&b, "f", t, NULL, 0), kni_ir_return(&b, f),
            kni_ir_function_end(&b))
    REFUSES("a function knows its arguments", kni_ir_function_begin(&b, "f", t, NULL, 0),
            kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, KN_I64), kni_ir_return(&b, kni_ir_real(&b, KN_F32, 0)),
            kni_ir_function_end(&b))
    /* What failed once stays failed, with the first failure. */
    REFUSES("k:3:9: 'plus' is no word", kni_ir_word(&b, "plus", f, f), kni_ir_else(&b))
}

/* A value of a branch is not seen after it. */
static void scopes(void)
{
    kni_ir_builder b = kni_ir_begin("k", 0);
    uint32_t y = kni_ir_buffer(&b, "y", KN_I64, KNI_IR_WRITE);
    kni_ir_id i = kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, KN_I64);
    kni_ir_if(&b, kni_ir_word(&b, "lt", i, i));
    kni_ir_id inner = kni_ir_word(&b, "neg", i, 0);
    kni_ir_end(&b);
    kni_ir_store(&b, y, i, inner);
    CHECK(kni_ir_finish(&b) == NULL);
    CHECK_ERROR(b.status, "is used outside the block it stands in");
    b = kni_ir_begin("k", 0);
    y = kni_ir_buffer(&b, "y", KN_I64, KNI_IR_WRITE);
    i = kni_ir_whole(&b, KN_I64, 4);
    kni_ir_id counter = kni_ir_for(&b, i, i, i);
    kni_ir_end(&b);
    kni_ir_store(&b, y, i, counter);
    CHECK(kni_ir_finish(&b) == NULL);
    CHECK_ERROR(b.status, "is used outside the block it stands in");
}

/* Modules that no builder makes. */
static void verifier_refuses(void)
{
    for (int k = 0; k < 12; k++) {
        kni_ir *ir = scale_kernel();
        if (!CHECK(ir != NULL)) return;
        kni_ir_node *n = ir->nodes;
        kni_ir_id load = 0, word = 0, store = 0;
        for (kni_ir_id i = 1; i < ir->n_nodes; i++) {
            if (n[i].code == KNI_IR_LOAD) load = i;
            if (n[i].code == KNI_IR_WORD && n[i].type.dtype == KN_F32) word = i;
            if (n[i].code == KNI_IR_STORE) store = i;
        }
        static const char *const words[] = {"no such buffer",
                                            "used before it is there",
                                            "operand 9999 does not exist",
                                            "stands in two places",
                                            "has no code",
                                            "of one type",
                                            "no such word",
                                            "lacks an operand",
                                            "not well formed",
                                            "too many",
                                            "ends with another node",
                                            "that nothing is computed in"};
        if (k == 0) n[load].index = 7;
        if (k == 1) n[load].a = store;
        if (k == 2) n[word].b = 9999;
        if (k == 3) n[store].next = load;
        if (k == 4) n[word].code = 0;
        if (k == 5) n[word].b = n[load].a;
        if (k == 6) n[word].index = 4000;
        if (k == 7) n[store].b = 0;
        if (k == 8) ir->bindings[0].dtype = KN_F4_E2M1;
        if (k == 9) n[word].c = load;
        if (k == 10) ir->blocks[ir->body].last = load;
        if (k == 11) n[word].type.dtype = KN_F16;
        CHECK_ERROR(kni_ir_verify(ir), words[k]);
        kni_ir_free(ir);
    }
}

/* ---- barriers that not all come to */

typedef enum flow {
    PLAIN,
    LOCAL_IF,
    PARAM_IF,
    LOADED_IF,
    CONSTANT_LOAD_IF,
    LOCAL_LOOP,
    UNIFORM_LOOP,
    LEFT_LOOP,
    RETURNED,
    BEFORE_RETURN,
    SET_APART,
    SUBGROUP_IF,
    REDUCED_IF,
    FLOWS
} flow;

static kn_status barrier_in(flow how, bool subgroup)
{
    kni_ir_builder b = kni_ir_begin("k", 64);
    uint32_t x = kni_ir_buffer(&b, "x", KN_I64, KNI_IR_READ),
             y = kni_ir_buffer(&b, "y", KN_I64, KNI_IR_READ | KNI_IR_WRITE);
    uint32_t p = kni_ir_param_add(&b, "p", KN_I64, 0);
    kni_ir_id local = kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, KN_I64), n = kni_ir_param_value(&b, p);
    kni_ir_id zero = kni_ir_whole(&b, KN_I64, 0), one = kni_ir_whole(&b, KN_I64, 1);
    kni_ir_id lanes = kni_ir_builtin_value(&b, KNI_IR_LANES, 0, KN_I64);
    kni_ir_id truths[FLOWS] = {0};
    truths[LOCAL_IF] = kni_ir_word(&b, "eq", local, zero);
    truths[PARAM_IF] = kni_ir_word(&b, "eq", n, zero);
    truths[LOADED_IF] = kni_ir_word(&b, "eq", kni_ir_load(&b, y, zero, KN_I64, 1), zero);
    truths[CONSTANT_LOAD_IF] = kni_ir_word(&b, "eq", kni_ir_load(&b, x, zero, KN_I64, 1), zero);
    truths[SUBGROUP_IF] = kni_ir_word(&b, "eq", kni_ir_word(&b, "div", local, lanes), zero);
    truths[REDUCED_IF] = kni_ir_word(&b, "eq", kni_ir_workgroup(&b, KNI_IR_MAX, local), zero);
    kni_ir_id v = kni_ir_variable(&b, KN_I64, 1, zero);
    if (truths[how]) kni_ir_if(&b, truths[how]);
    if (how == LOCAL_LOOP) kni_ir_for(&b, local, n, one);
    if (how == UNIFORM_LOOP || how == LEFT_LOOP) kni_ir_for(&b, zero, n, one);
    if (how == RETURNED) {
        kni_ir_if(&b, truths[LOCAL_IF]);
        kni_ir_return(&b, 0);
        kni_ir_end(&b);
    }
    if (how == SET_APART) {
        kni_ir_if(&b, truths[LOCAL_IF]);
        kni_ir_set(&b, v, n);
        kni_ir_end(&b);
        kni_ir_if(&b, kni_ir_word(&b, "eq", kni_ir_get(&b, v), zero));
    }
    if (subgroup)
        kni_ir_store(&b, y, local, kni_ir_subgroup(&b, KNI_IR_ADD, local));
    else
        kni_ir_barrier(&b);
    if (how == LEFT_LOOP || how == BEFORE_RETURN) {
        kni_ir_if(&b, truths[LOCAL_IF]);
        if (how == LEFT_LOOP)
            kni_ir_break(&b);
        else
            kni_ir_return(&b, 0);
        kni_ir_end(&b);
    }
    if (truths[how] || how == LOCAL_LOOP || how == UNIFORM_LOOP || how == LEFT_LOOP || how == SET_APART)
        kni_ir_end(&b);
    kni_ir_free(kni_ir_finish(&b));
    return b.status;
}

static void barriers(void)
{
    static const bool whole[FLOWS] = {[PLAIN] = 1,        [PARAM_IF] = 1,      [CONSTANT_LOAD_IF] = 1,
                                      [UNIFORM_LOOP] = 1, [BEFORE_RETURN] = 1, [REDUCED_IF] = 1};
    for (int i = 0; i < FLOWS; i++) {
        if (whole[i]) {
            CHECK(barrier_in((flow)i, false) == KN_OK);
            CHECK(barrier_in((flow)i, true) == KN_OK);
        } else {
            CHECK_ERROR(barrier_in((flow)i, false),
                        "not all invocations of a workgroup come to this barrier");
            if (i == SUBGROUP_IF)
                CHECK(barrier_in((flow)i, true) == KN_OK);
            else
                CHECK_ERROR(barrier_in((flow)i, true),
                            "not all invocations of a subgroup come to this subgroup");
        }
    }
}

static void texts(void)
{
    kni_ir_text t = {0};
    kni_ir_text_add(&t, "%s %d %u %lld %llu %c%% ", "a", -3, 4u, -5ll, 18446744073709551615ull, 'x');
    static const double reals[] = {1,         -0.0, 0.1,   1e23, 5e-324,      1.7976931348623157e308,
                                   123456.75, 1e17, 0.001, 1e-5, (double)0.1f};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) kni_ir_text_add(&t, "%r ", reals[i]);
    kni_ir_text_add(&t, "%r %r", strtod("inf", NULL), strtod("nan", NULL));
    CHECK(!strcmp(t.data, "a -3 4 -5 18446744073709551615 x% 1.0 -0.0 0.1 1e23 5e-324 1.7976931348623157e308 "
                          "123456.75 1e17 0.001 0.00001 0.10000000149011612 inf nan"));
    kni_ir_text_free(&t);
}

int main(void)
{
    texts();
    printing();
    printing_control();
    simplifying();
    builder_refuses();
    scopes();
    verifier_refuses();
    barriers();
    return check_report();
}
