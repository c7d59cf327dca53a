/* Memory may end anywhere while an ONNX model is read: that is an error, and the next reading goes well. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/failing_calloc.h"
#include "support/onnx_sound.h"
#include "support/onnx_writer.h"

#if !FAILING_CALLOC
int main(void)
{
    check_skip("a sanitizer's own calloc");
    return check_report();
}
#else
/* A function that is called often, backwards, beside tensors whose numbers must be converted. */
static onnx_message long_model(void)
{
    enum { CALLS = 300 };
    char in[16], out[16];
    onnx_message g = {0}, f = onnx_function("f", "a", "c"), n;
    onnx_function_node(&f, onnx_node("Neg", "b", "c"));
    n = onnx_node("Op", "a", "b");
    onnx_attribute_reference(&n, "axis", 2, "axis");
    onnx_function_node(&f, n);
    onnx_graph_input(&g, onnx_float_value("v0", ONNX_SIZES(-1, 4)));
    for (int i = CALLS; i > 0; i--) {
        snprintf(in, sizeof in, "v%d", i - 1);
        snprintf(out, sizeof out, "v%d", i);
        n = onnx_node("f", in, out);
        onnx_put_text(&n, 7, "local");
        onnx_attribute_int(&n, "axis", i);
        onnx_graph_node(&g, n);
        onnx_message t = onnx_tensor_head(in + 1, 7, ONNX_SIZES(30));
        for (int k = 0; k < 30; k++) onnx_put_int(&t, 7, k);
        onnx_graph_tensor(&g, t);
    }
    onnx_graph_output(&g, onnx_float_value(out, ONNX_SIZES(-1, 4)));
    onnx_message model = onnx_model(g);
    onnx_model_function(&model, f);
    return model;
}

/* Reads with the nth calloc failing; false where it has fewer. */
static bool read_once(const onnx_message *model, int64_t n, int *failures)
{
    until_failure = n;
    kni_onnx_model *m = kni_onnx_model_read_memory(model->data, model->length, NULL);
    bool failed = !until_failure;
    until_failure = 0;
    CHECK(failed == (m == NULL));
    if (m) CHECK(onnx_sound_fault(m) == NULL);
    if (!m) CHECK_ERROR(KN_ERROR_MEMORY, "memory");
    *failures += !m;
    kni_onnx_model_free(m);
    return failed;
}

static void items_too(void)
{
    kni_onnx_item item;
    onnx_message t = onnx_tensor_head("w", 7, ONNX_SIZES(1));
    onnx_put_int(&t, 7, 1);
    for (int64_t n = 1; n <= 2; n++) {
        kni_onnx_arena *arena = kni_onnx_arena_new();
        until_failure = n;
        CHECK(kni_onnx_item_read(arena, t.data, t.length, NULL, "file", &item) == KN_ERROR_MEMORY);
        until_failure = 0;
        kni_onnx_arena_free(arena);
    }
    kni_buffer_free(&t);
}

int main(void)
{
    onnx_message model = long_model();
    int failures = 0;
    int64_t n = 1;
    while (n < 1000 && read_once(&model, n, &failures)) n++;
    CHECK(n < 1000 && failures > 10);
    items_too();
    kni_buffer_free(&model);
    return check_report();
}
#endif
