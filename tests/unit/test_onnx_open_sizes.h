/* Tests of programs of ONNX models whose sizes stay open. */
#ifndef TEST_ONNX_OPEN_SIZES_H
#define TEST_ONNX_OPEN_SIZES_H

#include "support/onnx_text.h"
#include "test_onnx_models.h"
#include <kn/program.h>

/* A program of a model of x f32[1,2,-1,-1] has results of a shape in n2 and n3 (NULL: any), and for two pairs of these gives what the model gives. */
static inline void onnx_open_sizes(const char *text, int version, const char *shape,
                                   const int64_t (*sizes)[2])
{
    kn_scope scope = kn_scope_begin();
    kn_onnx model = onnx_open(onnx_text_model(text, version));
    kn_program p = kn_onnx_program(model, NULL);
    kn_program_port port;
    if (!CHECK(p && kn_program_output(p, 0, &port) == KN_OK && (!shape || !strcmp(port.shape, shape))))
        printf("  %s\n  %s\n", text, p ? port.shape : kn_last_error());
    for (int i = 0; p && i < 2; i++) {
        kn_tensor x = kn_arange(0, (double)(2 * sizes[i][0] * sizes[i][1]), 1, KN_F32), y, at_once;
        x = kn_keep(kn_reshape(x, KN_SHAPE(1, 2, sizes[i][0], sizes[i][1])));
        bool good =
            kn_program_run(p, &x, 1, &y, 1) == KN_OK && kn_onnx_run(model, &x, 1, &at_once, 1) == KN_OK;
        if (!CHECK(good &&
                   kn_item_int(kn_cast(kn_all(kn_equal(y, at_once), KN_AXES_ALL, false), KN_I64)) == 1))
            printf("  %s\n  %s\n", text, good ? "other values" : kn_last_error());
    }
    kn_program_free(p);
    kn_onnx_free(model);
    kn_scope_end(scope, KN_NONE);
    onnx_free_kept();
}

#endif
