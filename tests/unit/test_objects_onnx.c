/* Handles of ONNX models and values that are no good; see test_objects.c. */
#include "test_objects.h"
#include "test_onnx_models.h"

static kn_onnx_value good_value;

static void use_model(kn_onnx h, const char *words)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(1, 3), KN_F32)), y;
    kn_onnx_value out;
    kn_onnx_port port;
    kn_onnx_info info;
    kn_onnx_examined found;
    kn_onnx_problem problem;
    kn_onnx_operator_use use;
    kn_onnx_open_size size;
    char text[100];
    USE(kn_onnx_inputs, h);
    USE(kn_onnx_outputs, h);
    USE_STATUS(kn_onnx_input, h, 0, &port);
    USE_STATUS(kn_onnx_output, h, 0, &port);
    USE_STATUS(kn_onnx_describe, h, &info);
    USE(kn_onnx_inspect, h, text, sizeof text);
    USE(kn_onnx_print, h, text, sizeof text);
    USE_STATUS(kn_onnx_examine, h, NULL, 0, &found);
    USE_STATUS(kn_onnx_examined_problem, h, 0, &problem);
    USE_STATUS(kn_onnx_examined_operator, h, 0, &use);
    USE_STATUS(kn_onnx_examined_size, h, 0, &size);
    USE_STATUS(kn_onnx_run, h, &x, 1, &y, 1);
    USE_STATUS(kn_onnx_run_values, h, &good_value, 1, &out, 1);
    USE_STATUS(kn_onnx_profile_begin, h);
    USE_STATUS(kn_onnx_profile_end, h);
    USE(kn_onnx_profile, h, text, sizeof text);
    USE(kn_onnx_output_is_random, h, 0);
    USE_NULL(kn_onnx_program, h, NULL);
}

static void use_value(kn_onnx_value h, const char *words)
{
    const char *text;
    kn_onnx model = onnx_open(onnx_one_node("Relu", false));
    kn_onnx_value out;
    if (h) USE_STATUS(kn_onnx_run_values, model, &h, 1, &out, 1);
    if (h) USE_NULL(kn_onnx_value_optional, h);
    USE_NULL(kn_onnx_value_sequence, &h, 1);
    USE_NULL(kn_onnx_value_map, h, good_value);
    USE_NULL(kn_onnx_value_map, good_value, h);
    USE(kn_onnx_value_kind, h);
    USE_TENSOR(kn_onnx_value_as_tensor, h);
    USE(kn_onnx_value_count, h);
    USE(kn_onnx_value_shape, h);
    USE_STATUS(kn_onnx_value_string, h, 0, &text, NULL);
    USE_NULL(kn_onnx_value_item, h, 0);
    kn_onnx_free(model);
}

/* A value is used on while it belongs to nobody but other values. */
static void values_count_their_users(void)
{
    kn_onnx_value item = kn_onnx_value_tensor(kn_ones(KN_SHAPE(2), KN_F32)),
                  list = kn_onnx_value_sequence(&item, 1);
    kn_onnx_value_free(item);
    kn_onnx_value again = kn_onnx_value_item(list, 0);
    kn_onnx_value_free(list);
    CHECK_VALUES(kn_onnx_value_as_tensor(again), 0, 1, 1);
    kn_onnx_value_free(again);
}

int main(void)
{
    good_value = kn_onnx_value_tensor(kn_ones(KN_SHAPE(1, 3), KN_F32));
    kn_onnx good_model = onnx_open(onnx_one_node("Relu", false));
    TRY_ALL_BUT_NULL(kn_onnx, use_model, onnx_open(onnx_one_node("Relu", false)), kn_onnx_free, "model",
                     "freed", good_value, "kn_onnx_value");
    TRY_ALL_BUT_NULL(kn_onnx_value, use_value, kn_onnx_value_tensor(kn_ones(KN_SHAPE(2), KN_F32)),
                     kn_onnx_value_free, "value", "freed", good_model, "kn_onnx");
    values_count_their_users();
    kn_onnx_free(good_model);
    kn_onnx_value_free(good_value);
    onnx_free_kept();
    return check_report();
}
