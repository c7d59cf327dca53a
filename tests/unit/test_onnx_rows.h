/* Tests of single operators of ONNX models: rows of a model of one node over constants and what it gives, computed ahead, when it runs, and
   as a program whose sizes are open. */
#ifndef TEST_ONNX_ROWS_H
#define TEST_ONNX_ROWS_H

#include "support/onnx_text.h"
#include "test_onnx_models.h"
#include <kn/program.h>

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

static inline void onnx_compare_all(const onnx_row *r, kn_status s, const kn_tensor *out, int32_t n)
{
    const char *at = r->expected;
    if (!CHECK(s == KN_OK)) printf("version %d, %s\n  %s\n", r->version, r->text, kn_last_error());
    for (int32_t k = 0; s == KN_OK && k < n; k++) at = onnx_compare(r, at, out[k]);
    CHECK(s != KN_OK || !*at);
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
        onnx_compare_all(r, s, out, n);
        kn_onnx_free(model);
        kn_scope_end(scope, KN_NONE);
        onnx_free_kept();
    }
}

/* The same model with its first constant as an input whose sizes are known only when the program runs, but for the channels. */
static inline void onnx_write_open(const onnx_row *r, char *text, size_t bytes)
{
    int64_t sizes[8];
    int type, rank;
    const char *behind = onnx_text_type(strchr(r->text, '=') + 1, &type, sizes, &rank);
    const char *open = strchr(r->text, '[');
    size_t n = (size_t)snprintf(text, bytes, "%c%.*s[", r->text[0], (int)(open - strchr(r->text, '=') - 1),
                                strchr(r->text, '=') + 1);
    for (int i = 0; i < rank; i++)
        n += (size_t)snprintf(text + n, bytes - n, "%s%d", i ? "," : "",
                              i == 1 && rank > 2 ? (int)sizes[1] : -1);
    snprintf(text + n, bytes - n, "]%s", strchr(behind, ';'));
}

static inline void onnx_run_open(const onnx_row *r)
{
    char text[4096], first[2048];
    kn_tensor x = KN_NONE, out[MOST_RESULTS];
    kn_scope scope = kn_scope_begin();
    onnx_write_open(r, text, sizeof text);
    snprintf(first, sizeof first, "%.*s; u = Identity(%c); > u", (int)strcspn(r->text, ";"), r->text,
             r->text[0]);
    kn_onnx constant = onnx_open(onnx_text_model(first, 17)),
            model = onnx_open(onnx_text_model(text, r->version));
    kn_program program = kn_onnx_program(model, NULL);
    CHECK(kn_onnx_run(constant, NULL, 0, &x, 1) == KN_OK);
    int32_t n = kn_program_outputs(program);
    kn_status s = n > 0 && n <= MOST_RESULTS ? kn_program_run(program, &x, 1, out, n) : KN_ERROR_ARGUMENT;
    onnx_compare_all(r, s, out, n);
    kn_program_free(program);
    kn_onnx_free(model);
    kn_onnx_free(constant);
    kn_scope_end(scope, KN_NONE);
    onnx_free_kept();
}

static inline void onnx_run_rows(const onnx_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        onnx_run_row(&rows[i]);
        if (!strstr(rows[i].text, "= i64[] ")) onnx_run_open(&rows[i]); /* a number is no size */
    }
}
/* Those that need their sizes. */
static inline void onnx_run_fixed(const onnx_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) onnx_run_row(&rows[i]);
}

#define ONNX_RUN_FIXED(rows) onnx_run_fixed(rows, sizeof(rows) / sizeof *(rows))
#define ONNX_RUN(rows) onnx_run_rows(rows, sizeof(rows) / sizeof *(rows))

#endif
