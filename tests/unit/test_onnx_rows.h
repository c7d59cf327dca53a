/* Tests of single operators of ONNX models: rows of a model of one node over constants and what it gives. */
#ifndef TEST_ONNX_ROWS_H
#define TEST_ONNX_ROWS_H

#include "support/onnx_text.h"
#include "test_onnx_models.h"

typedef struct row {
    int version;
    const char *text, *expected; /* as support/onnx_text.h has them; results parted by ';' */
} onnx_row;

enum { MOST_RESULTS = 6, MOST_ELEMENTS = 256 };

static inline const char *onnx_compare(const onnx_row *r, const char *at, kn_tensor got)
{
    static const int numbers[KN_DTYPE_COUNT] = {[KN_F32] = 1, [KN_U8] = 2,   [KN_I8] = 3,   [KN_I32] = 6,
                                                [KN_I64] = 7, [KN_BOOL] = 9, [KN_F16] = 10, [KN_F64] = 11};
    int64_t sizes[8], n = 1;
    double values[MOST_ELEMENTS];
    int type, rank, before = check_failed;
    while (*at == ' ') at++;
    at = onnx_text_type(at, &type, sizes, &rank);
    bool same = kn_ok(got) && numbers[kn_dtype_of(got)] == type && kn_rank(got) == rank;
    for (int i = 0; i < rank; i++) {
        same = same && kn_size(got, i) == sizes[i];
        n *= sizes[i];
    }
    for (int64_t i = 0; i < n && i < MOST_ELEMENTS; i++) values[i] = strtod(at, (char **)(uintptr_t)&at);
    if (CHECK(same)) check_values(got, values, (int)n, type == 10 ? 2e-3 : 3e-5, __FILE__, __LINE__);
    if (check_failed > before)
        printf("version %d, %s\n  gives %s of rank %d\n", r->version, r->text,
               kn_dtype_name(kn_dtype_of(got)), kn_rank(got));
    while (*at == ' ') at++;
    return *at == ';' ? at + 1 : at;
}

static inline void onnx_run_row(const onnx_row *r)
{
    kn_tensor out[MOST_RESULTS];
    for (int plain = 0; plain < 2; plain++) { /* computed when the model is loaded, and when it runs */
        kn_onnx_args args = {.no_simplify = plain};
        kn_scope scope = kn_scope_begin();
        kn_onnx model = onnx_open_with(onnx_text_model(r->text, r->version), &args);
        int32_t n = kn_onnx_outputs(model);
        kn_status s = n > 0 && n <= MOST_RESULTS ? kn_onnx_run(model, NULL, 0, out, n) : KN_ERROR_ARGUMENT;
        const char *at = r->expected;
        if (!CHECK(s == KN_OK)) printf("version %d, %s\n  %s\n", r->version, r->text, kn_last_error());
        for (int32_t k = 0; s == KN_OK && k < n; k++) at = onnx_compare(r, at, out[k]);
        CHECK(s != KN_OK || !*at);
        kn_onnx_free(model);
        kn_scope_end(scope, KN_NONE);
        onnx_free_kept();
    }
}

static inline void onnx_run_rows(const onnx_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) onnx_run_row(&rows[i]);
}
#define ONNX_RUN(rows) onnx_run_rows(rows, sizeof(rows) / sizeof *(rows))

#endif
