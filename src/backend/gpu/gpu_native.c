/* Ops that a device runs by something better than a schedule or a reference kernel, and the support matrix. */
#include "backend/gpu/gpu_conv.h"
#include "backend/gpu/gpu_pool.h"
#include "backend/gpu/gpu_scan.h"
#include "backend/gpu/gpu_sort.h"

static const struct {
    const kn_op *row;
    kn_status (*run)(kni_gpu *g, const kn_record *r);
} entries[] = {
    {&kni_op_attention, kni_gpu_run_attention},
    {&kni_op_attention_grad, kni_gpu_run_attention_grad},
    {&kni_op_dropout_attention, kni_gpu_run_attention},
    {&kni_op_dropout_attention_grad, kni_gpu_run_attention_grad},
    {&kni_op_rope, kni_gpu_run_rope},
    {&kni_op_recurrent_layers, kni_gpu_run_layers},
    {&kni_op_recurrent_layers_grad, kni_gpu_run_layers_grad},
    {&kni_op_update_slice, kni_gpu_run_update_slice},
    {&kni_op_update_at, kni_gpu_run_update_at},
    {&kni_op_attention_at, kni_gpu_run_attention_at},
    {&kni_op_concat, kni_gpu_run_concat},
    {&kni_op_pad, kni_gpu_run_pad},
    {&kni_op_max_pool, kni_gpu_run_max_pool},
    {&kni_op_max_pool_values, kni_gpu_run_max_pool_values},
    {&kni_op_max_pool_grad, kni_gpu_run_max_pool_grad},
    {&kni_op_avg_pool, kni_gpu_run_avg_pool},
    {&kni_op_avg_pool_grad, kni_gpu_run_avg_pool_grad},
    {&kni_op_embedding, kni_gpu_run_embedding},
    {&kni_op_embedding_grad, kni_gpu_run_embedding_grad},
    {&kni_op_select_assign, kni_gpu_run_select_assign},
    {&kni_op_scatter, kni_gpu_run_scatter},
    {&kni_op_scatter_nd, kni_gpu_run_scatter_nd},
    {&kni_op_bincount, kni_gpu_run_bincount},
    {&kni_op_sort, kni_gpu_run_sort},
    {&kni_op_topk, kni_gpu_run_topk},
    {&kni_op_kthvalue, kni_gpu_run_kthvalue},
    {&kni_op_unique_bounded, kni_gpu_run_unique},
    {&kni_op_nonzero, kni_gpu_run_nonzero},
    {&kni_op_cumsum, kni_gpu_run_scan},
    {&kni_op_cummax, kni_gpu_run_scan},
    {&kni_op_cummin, kni_gpu_run_scan},
    {&kni_op_cumlogsumexp, kni_gpu_run_scan},
};

static const kni_gpu_product_entry products[] = {
    {&kni_op_matmul, kni_gpu_run_matmul, kni_gpu_sizes_of_matmul, 0},
    {&kni_op_linear, kni_gpu_run_linear, kni_gpu_sizes_of_linear, 0},
    {&kni_op_conv, kni_gpu_run_conv, NULL, KNI_CONV_FORWARD},
    {&kni_op_conv_transpose, kni_gpu_run_conv_transpose, NULL, KNI_CONV_TRANSPOSED},
    {&kni_op_conv_weight_grad, kni_gpu_run_conv_weight_grad, NULL, KNI_CONV_WEIGHT},
};

const kni_gpu_product_entry *kni_gpu_product_of(const kn_op *row)
{
    for (int i = 0; i < KNI_COUNT(products); i++)
        if (products[i].row == row) return &products[i];
    return NULL;
}

kn_status kni_gpu_native(kni_gpu *g, const kn_record *r)
{
    static const kni_gpu_way any = {KNI_GPU_BY_ANY, NULL};
    const kni_gpu_product_entry *product = kni_gpu_product_of(r->row);
    if (product) return product->run(g, r, &any);
    for (int i = 0; i < KNI_COUNT(entries); i++)
        if (entries[i].row == r->row) return entries[i].run(g, r);
    return KN_ERROR_UNSUPPORTED;
}

bool kni_gpu_has_native(const kn_op *row)
{
    for (int i = 0; i < KNI_COUNT(entries); i++)
        if (entries[i].row == row) return true;
    return kni_gpu_product_of(row) != NULL;
}

kn_support kni_gpu_supports(kn_backend *b, const kn_op *row, kn_dtype dtype, const char **why)
{
    const char *unused;
    kni_gpu *g = kni_gpu_of(b);
    if (!why) why = &unused;
    *why = "";
    if (dtype == KN_F64 && !g->driver->caps.f64) {
        *why = "the device has no f64: cast to f32, kn_cast(x, KN_F32), or use the device \"cpu\" for it";
        return KN_SUPPORT_NO;
    }
    if (row->view || row->body) return KN_SUPPORT_NATIVE;
    const bool layers = row == &kni_op_recurrent_layers || row == &kni_op_recurrent_layers_grad;
    if (layers && !kni_gpu_has_layers(g, dtype)) return KN_SUPPORT_LOWERED;
    if (kni_gpu_has_native(row)) return KN_SUPPORT_NATIVE;
    if (row->lower) return KN_SUPPORT_LOWERED;
    if (row->launch) return KN_SUPPORT_REFERENCE;
    *why = row->host ? "its function runs on the host" : "no kernel";
    return KN_SUPPORT_NO;
}
