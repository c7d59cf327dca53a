/* What kiln run --test is made of: cases in ONNX's layout, each a folder with model.onnx and folders test_data_set_*. */
#ifndef KILN_ONNX_CASES_H
#define KILN_ONNX_CASES_H

#include <kn/onnx.h>
#include <stdbool.h>

enum { CASE_REASON = 400 };

typedef struct case_result {
    bool passed;
    char reason[CASE_REASON]; /* why not; of a case that passed: what is to be said */
} case_result;

/* Runs a case, a folder, on the current device. */
void kiln_run_onnx_case(const char *folder, case_result *result);
/* False with the reason where a value is not the expected one. many: the graph has more than one node, so that errors grow; random: only
   dtype, shape and distribution count. */
bool kiln_compare_onnx_values(kn_onnx_value got, kn_onnx_value expected, bool many, bool random,
                              char *reason);

#endif
