/* Tests of programs of ONNX models whose sizes stay open. */
#ifndef TEST_ONNX_OPEN_SIZES_H
#define TEST_ONNX_OPEN_SIZES_H

#include "support/onnx_text.h"
#include "test_onnx_models.h"
#include <kn/program.h>

enum { ONNX_OPEN_OUTPUTS = 4 };

/* The same bits in the same shape. */
static inline bool onnx_open_same(kn_tensor a, kn_tensor b)
{
    kn_shape s = kn_shape_of_tensor(a), t = kn_shape_of_tensor(b);
    if (!kn_ok(a) || s.rank != t.rank || memcmp(s.dims, t.dims, (size_t)s.rank * sizeof *s.dims))
        return false;
    return kn_item_int(kn_cast(kn_all(kn_equal(a, b), KN_AXES_ALL, false), KN_I64)) == 1;
}

/* The program as it comes back from a file; NULL with a failed check. */
static inline kn_program onnx_open_loaded(kn_program p)
{
    void *data = NULL;
    size_t bytes = 0;
    kn_program loaded = NULL;
    if (CHECK(kn_program_save_memory(p, &data, &bytes, NULL) == KN_OK))
        loaded = kn_program_load_memory(data, bytes, NULL);
    if (!CHECK(loaded)) printf("  %s\n", kn_last_error());
    free(data);
    return loaded;
}

/* A program of a model of x f32[1,2,-1,-1] has results of a shape in n2 and n3 (NULL: any), and for two pairs of these gives what the model
   gives, also when it was saved and loaded. */
static inline void onnx_open_sizes(const char *text, int version, const char *shape,
                                   const int64_t (*sizes)[2])
{
    kn_scope scope = kn_scope_begin();
    kn_onnx model = onnx_open(onnx_text_model(text, version));
    kn_program p = kn_onnx_program(model, NULL), loaded = p ? onnx_open_loaded(p) : NULL;
    kn_program_port port;
    int32_t n = kn_onnx_outputs(model);
    if (!CHECK(p && kn_program_output(p, 0, &port) == KN_OK && (!shape || !strcmp(port.shape, shape))))
        printf("  %s\n  %s\n", text, p ? port.shape : kn_last_error());
    for (int i = 0; p && loaded && i < 2; i++) {
        kn_tensor x = kn_arange(0, (double)(2 * sizes[i][0] * sizes[i][1]), 1, KN_F32);
        kn_tensor y[ONNX_OPEN_OUTPUTS], again[ONNX_OPEN_OUTPUTS], at_once[ONNX_OPEN_OUTPUTS];
        x = kn_keep(kn_reshape(x, KN_SHAPE(1, 2, sizes[i][0], sizes[i][1])));
        bool good = kn_program_run(p, &x, 1, y, n) == KN_OK &&
                    kn_program_run(loaded, &x, 1, again, n) == KN_OK &&
                    kn_onnx_run(model, &x, 1, at_once, n) == KN_OK;
        if (!CHECK(good)) printf("  %s\n  %s\n", text, kn_last_error());
        for (int k = 0; good && k < n; k++) {
            kn_tensor want = kn_keep(at_once[k]);
            if (!CHECK(onnx_open_same(kn_keep(y[k]), want) && onnx_open_same(kn_keep(again[k]), want)))
                printf("  %s\n  output %d has other values\n", text, k);
        }
    }
    kn_program_free(loaded);
    kn_program_free(p);
    kn_onnx_free(model);
    kn_scope_end(scope, KN_NONE);
    onnx_free_kept();
}

#endif
