/* Fuzzes the parser of kernel texts; what it accepts is simplified, printed and run for two items with all checks. */
#include "fuzz.h"
#include "ir/parse.h"
#include "ir/run.h"
#include <string.h>

static void run(const kni_ir *ir)
{
    static char memory[16][256];
    kni_ir_run_buffer buffers[16];
    if (ir->n_buffers > 16 || ir->param_bytes > 4096) return;
    static _Alignas(8) char params[4096];
    int64_t items = 2, fault[2] = {0, 0};
    memset(memory, 0, sizeof memory);
    memset(params, 0, sizeof params);
    memcpy(params, &items, sizeof items);
    for (uint32_t i = 0; i < ir->n_buffers; i++) buffers[i] = (kni_ir_run_buffer){memory[i], 16};
    kni_ir_run_args args = {.buffers = buffers,
                            .params = params,
                            .items = items,
                            .groups = {2, 1, 1},
                            .fault = fault,
                            .check = true,
                            .max_steps = 2000};
    (void)kni_ir_run(ir, &args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const uint8_t elements[] = {KN_F32, KN_F64, KN_I32, KN_I64, KN_U64};
    kni_ir_parse_options options = {
        .file = "fuzz", .element = elements[bytes % 5], .real = bytes % 2 ? KN_F64 : KN_F32};
    kni_ir *ir = kni_ir_parse((const char *)data, bytes, &options);
    kni_ir_text text = {0};
    if (ir && kni_ir_print(ir, &text) == KN_OK && ir->n_nodes < 2000) {
        run(ir);
        if (kni_ir_simplify(ir) == KN_OK) run(ir);
    }
    kni_ir_text_free(&text);
    kni_ir_free(ir);
    return 0;
}
