/* Fuzzes the reader of ONNX models: what it accepts is whole, and is described, and
   whole after the passes. Other inputs are items of test data. Seeds come from test_onnx_hostile --seeds. */
#include "../support/onnx_sound.h"
#include "fuzz.h"
#include "onnx/describe.h"
#include "onnx/pass/pass.h"
#include "onnx_mutator.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- reading */

static void read_model(const uint8_t *data, size_t bytes)
{
    kni_onnx_model *m = kni_onnx_model_read_memory(data, bytes, "/no/such/folder");
    kni_buffer text = {0};
    if (!m) return;
    const char *fault = onnx_sound_fault(m);
    if (fault || kni_onnx_describe(m, &text) != KN_OK || !text.length) {
        fprintf(stderr, "%s\n", fault ? fault : "describe");
        abort();
    }
    kni_buffer_free(&text);
    fault = kni_onnx_simplify(m, NULL) == KN_OK ? onnx_sound_fault(m) : NULL;
    if (fault) {
        fprintf(stderr, "simplified: %s\n", fault);
        abort();
    }
    kni_onnx_model_free(m);
}

static void touch_item(onnx_sound *s, const kni_onnx_item *item)
{
    if (item->kind == KNI_ONNX_TENSOR) sound_tensor(s, &item->tensor);
    for (int64_t i = 0; i < item->count; i++) touch_item(s, &item->items[i]);
}

static void read_item(const uint8_t *data, size_t bytes, kni_onnx_kind kind)
{
    kni_onnx_arena *arena = kni_onnx_arena_new();
    kni_onnx_declared declared = {.kind = kind};
    kni_onnx_item item;
    onnx_sound s = {0};
    if (kni_onnx_item_read(arena, data, bytes, &declared, "item", &item) == KN_OK) touch_item(&s, &item);
    if (s.wrong) {
        fprintf(stderr, "%s\n", s.wrong);
        abort();
    }
    kni_onnx_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    read_model(data, bytes);
    if (bytes < 4096)
        for (int kind = KNI_ONNX_TENSOR; kind <= KNI_ONNX_OPTIONAL; kind++)
            read_item(data, bytes, (kni_onnx_kind)kind);
    return 0;
}
