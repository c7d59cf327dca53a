/* What the operands of rows are called, in their order. Bodies have names of their own, of which these are the words. */
#include "ops/operand_names.h"

static const struct {
    uint16_t number;
    const char *names;
} named[] = {
#define NAMES(op, text)                                                                                      \
    {                                                                                                        \
        KNI_OP_##op, text                                                                                    \
    }
    /* elementwise */
    NAMES(where, "condition a b"),
    NAMES(clamp, "x low high"),
    NAMES(clamp_min, "x low"),
    NAMES(clamp_max, "x high"),
    NAMES(lerp, "a b weight"),
    NAMES(addcmul, "x a b value"),
    NAMES(addcdiv, "x a b value"),
    NAMES(prelu, "x weight"),
    NAMES(binary_cross_entropy, "x t"),
    NAMES(tanh_grad, "dy y"),
    NAMES(relu_grad, "dy y"),
    NAMES(sigmoid_grad, "dy y"),
    NAMES(leaky_relu_grad, "dy x"),
    NAMES(gelu_grad, "dy x"),
    NAMES(gelu_approximate_grad, "dy x"),
    NAMES(softplus_grad, "dy x"),
    NAMES(silu_grad, "dy x"),
    NAMES(mish_grad, "dy x"),
    NAMES(elu_grad, "dy x"),
    /* movement and indexing */
    NAMES(concat, "x ..."),
    NAMES(update_slice, "x values"),
    NAMES(slice_at, "x position"),
    NAMES(update_at, "x values position"),
    NAMES(take, "x indices"),
    NAMES(gather, "x index"),
    NAMES(gather_nd, "x indices"),
    NAMES(select_assign, "x indices values"),
    NAMES(scatter, "x index values"),
    NAMES(scatter_nd, "x indices values"),
    NAMES(embedding, "weight indices"),
    NAMES(embedding_grad, "dy indices"),
    NAMES(searchsorted, "sorted values"),
    NAMES(bincount, "x weights"),
    /* contractions */
    NAMES(linear, "x weight bias"),
    NAMES(conv, "x weight bias"),
    NAMES(conv_transpose, "x weight bias"),
    NAMES(conv_weight_grad, "x dy"),
    NAMES(attention, "q k v mask bias"),
    NAMES(attention_grad, "q k v dy mask bias y"),
    NAMES(dropout_attention, "q k v mask bias"),
    NAMES(dropout_attention_grad, "q k v dy mask bias y"),
    NAMES(attention_at, "q k v lengths mask bias"),
    NAMES(deform_sample, "x offset mask"),
    NAMES(deform_sample_grad, "x offset dy mask"),
    NAMES(recurrent_layers, "x weights h c"),
    NAMES(recurrent_layers_grad, "x weights y dy h c dh dc"),
    NAMES(lstm, "x weight weight_h bias lengths h c peepholes"),
    NAMES(gru, "x weight weight_h bias lengths h"),
    NAMES(rnn, "x weight weight_h bias lengths h"),
    NAMES(matmul_integer, "a b a_zero b_zero bias scale y_zero"),
    NAMES(matmul_dequantized, "a b a_zero b_zero bias scale"),
    NAMES(quantize_bytes, "x scale zero"),
    NAMES(dequantize_bytes, "x scale zero"),
    NAMES(byte_table, "x table"),
    NAMES(quantized_sum, "a a_scale a_zero b b_scale b_zero y_scale y_zero"),
    NAMES(quantized_product, "a a_scale a_zero b b_scale b_zero y_scale y_zero"),
    NAMES(linear_quantized, "x weight scale zero bias"),
    NAMES(conv_integer, "x weight x_zero weight_zero bias scale y_zero"),
    /* composites */
    NAMES(softmax_grad, "dy y"),
    NAMES(log_softmax_grad, "dy y"),
    NAMES(layer_norm, "x weight bias"),
    NAMES(layer_norm_grad, "dy x weight"),
    NAMES(layer_norm_affine_grad, "dy x"),
    NAMES(rms_norm, "x weight"),
    NAMES(rms_norm_grad, "dy x weight"),
    NAMES(rms_norm_affine_grad, "dy x"),
    NAMES(batch_norm, "x mean variance weight bias"),
    NAMES(batch_norm_train, "x weight bias"),
    NAMES(batch_norm_train_grad, "dy x mean variance weight"),
    NAMES(rope, "x cos sin"),
    NAMES(cross_entropy, "x target weight"),
    NAMES(cross_entropy_grad, "dy x target lse weight"),
    NAMES(ctc_loss, "log_probs targets input_lengths target_lengths"),
    NAMES(ctc_loss_grad, "dy log_probs targets input_lengths target_lengths loss forward"),
    /* windows, linear algebra, updates */
    NAMES(max_pool_grad, "dy at"),
    NAMES(adaptive_max_pool_grad, "dy at"),
    NAMES(grid_sample, "x grid"),
    NAMES(grid_sample_grad, "dy grid"),
    NAMES(fft, "real imag"),
    NAMES(sgd_update, "param gradient buffer scale"),
    NAMES(adam_update, "param gradient m v w scale"),
    NAMES(rmsprop_update, "param gradient square mean buffer scale"),
    NAMES(adagrad_update, "param gradient sum scale"),
    NAMES(adan_update, "param gradient m d v previous scale"),
#undef NAMES
};

const char *kni_operand_names(const kn_op *row)
{
    static const char *const plain[] = {"", "x", "a b", "a b c", "a b c d"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (named[i].number == row->number) return named[i].names;
    return row->max_in < 0                                     ? "x ..."
           : row->max_in < (int)(sizeof plain / sizeof *plain) ? plain[row->max_in]
                                                               : "";
}
