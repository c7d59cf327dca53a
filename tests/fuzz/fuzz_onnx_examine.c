/* Fuzzes what comes after the reader: models are loaded, with and without passes and folding, looked at node by node with types and sizes
   alone, so that all converters see what no checker has let through, and printed. Seeds come from test_onnx_hostile --seeds and from
   ONNX's own cases. */
#include "fuzz.h"
#include "onnx_mutator.h"
#include <kn/onnx.h>
#include <stdio.h>

static void look(const uint8_t *data, size_t bytes, bool no_simplify)
{
    kn_onnx model = kn_onnx_load_memory(data, bytes, &(kn_onnx_args){.no_simplify = no_simplify});
    kn_onnx_examined found;
    kn_onnx_problem p;
    if (!model) return;
    if (kn_onnx_examine(model, NULL, 0, &found) == KN_OK) {
        for (int32_t i = 0; i < found.problems; i++)
            if (kn_onnx_examined_problem(model, i, &p) || !p.reason || !*p.reason) {
                fprintf(stderr, "a problem without a reason\n");
                abort();
            }
        if (!kn_onnx_inspect(model, NULL, 0) || !kn_onnx_print(model, NULL, 0)) abort();
    }
    kn_onnx_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    look(data, bytes, true);
    look(data, bytes, false);
    return 0;
}
