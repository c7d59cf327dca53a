/* The kernel language in memory: kernels made by hand, printed, verified, refused. */
#include "../support/check.h"
#include "ir/builder.h"
#include <stdlib.h>

static const kni_ir_type f32_type = {KN_F32, 1}, i64_type = {KN_I64, 1};

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

int main(void)
{
    (void)f32_type, (void)i64_type;
    printing();
    return check_report();
}
