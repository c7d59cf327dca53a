/* Conformance adapters of functions that are made of other ops: solvers, transforms over several axes, windows, pooling by
   powers and at random places, bags of embeddings, losses of several labels. */
#include "conform_adapter_words.h"

#define REDUCTION ((kn_reduction)kiln_int(a, "reduction", 0))

/* Operand i, KN_NONE past the last one. */
static kn_tensor at(const kn_tensor *in, int n, int i) { return i < n ? in[i] : KN_NONE; }

/* Real attributes name0, name1, name2 into a list of three. */
static void reals(const kiln_attributes *a, const char *first, const char *second, const char *third,
                  double *to)
{
    to[0] = kiln_real(a, first, 0);
    to[1] = kiln_real(a, second, 0);
    to[2] = kiln_real(a, third, 0);
}

/* ---- linear algebra */

static kn_tensor solved_by_lu(const kn_tensor *in, const kiln_attributes *a)
{
    kn_lu_decomposition_result f = kn_lu_decomposition(in[0]);
    return kn_lu_solve(f.lu, f.permutation, in[1], &(kn_lu_solve_args){FLAG("transpose"), FLAG("right")});
}

/* The product again, since the factors alone have a case of their own. */
ADAPTER(lu_unpacked)
{
    (void)n, (void)a, (void)room;
    kn_lu_decomposition_result f = kn_lu_decomposition(in[0]);
    kn_lu_result r = kn_lu_unpack(f.lu, f.permutation);
    out[0] = kn_matmul(kn_matmul(r.p, r.l), r.u);
    return 1;
}

SIMPLE(lu_solve, solved_by_lu(in, a))
SIMPLE(lu_solve_factors, kn_lu_solve(in[0], in[1], in[2], NULL))
SIMPLE(matrix_exp, kn_matrix_exp(in[0]))
SIMPLE(cond, kn_cond(in[0], (kn_matrix_norm_kind)kiln_int(a, "kind", 0)))
SIMPLE(matrix_norm_least, kn_matrix_norm(in[0], (kn_matrix_norm_kind)kiln_int(a, "kind", 0)))
SIMPLE(cholesky_inverse, kn_cholesky_inverse(in[0], FLAG("upper")))
SIMPLE(tensorinv, kn_tensorinv(in[0], I32("n_axes")))
SIMPLE(tensorsolve, kn_tensorsolve(in[0], in[1], LIST("axes")))
SIMPLE(vander, kn_vander(in[0], kiln_int(a, "columns", -1), FLAG("decreasing")))
SIMPLE(householder_product, kn_householder_product(in[0], in[1]))
SIMPLE(eigvalsh, kn_eigvalsh(in[0], FLAG("upper")))
SIMPLE(svdvals, kn_svdvals(in[0]))
SIMPLE(pdist, kn_pdist(in[0], kiln_real(a, "order", 2) >= 1000 ? KN_NORM_INF : kiln_real(a, "order", 2)))

/* ---- transforms and windows */

#define FFTN_ARGS (&(kn_fftn_args){LIST("sizes"), (kn_fft_norm)kiln_int(a, "norm", 0)})
#define FFT_ARGS (&(kn_fft_args){kiln_int(a, "n", 0), (kn_fft_norm)kiln_int(a, "norm", 0)})
#define COMPLEX ((kn_complex){in[0], at(in, n, 1)})
#define TRANSFORM(name, call) PAIR(name, kn_complex, real, imag, call)

TRANSFORM(fftn_with, kn_fftn_with(COMPLEX, LIST("axes"), FFTN_ARGS))
TRANSFORM(ifftn_with, kn_ifftn_with(COMPLEX, LIST("axes"), FFTN_ARGS))
TRANSFORM(rfftn, kn_rfftn(in[0], LIST("axes"), FFTN_ARGS))
TRANSFORM(rfft2, kn_rfft2(in[0], FFTN_ARGS))
TRANSFORM(ihfftn, kn_ihfftn(in[0], LIST("axes"), FFTN_ARGS))
TRANSFORM(ihfft2, kn_ihfft2(in[0], FFTN_ARGS))
TRANSFORM(ihfft, kn_ihfft(in[0], I32("axis"), FFT_ARGS))
SIMPLE(irfftn, kn_irfftn(COMPLEX, LIST("axes"), FFTN_ARGS))
SIMPLE(irfft2, kn_irfft2(COMPLEX, FFTN_ARGS))
SIMPLE(hfftn, kn_hfftn(COMPLEX, LIST("axes"), FFTN_ARGS))
SIMPLE(hfft2, kn_hfft2(COMPLEX, FFTN_ARGS))
SIMPLE(hfft, kn_hfft(COMPLEX, I32("axis"), FFT_ARGS))

#define N kiln_int(a, "n", 0)
#define FORM FLAG("periodic"), (kn_dtype)kiln_int(a, "dtype", KN_F32)
SIMPLE(general_cosine_window,
       kn_general_cosine_window(N, (const double[]){0.5, 0.25, 0.125, 0.0625}, I32("terms"), FORM))
SIMPLE(general_hamming_window, kn_general_hamming_window(N, REAL("alpha"), FORM))
SIMPLE(nuttall_window, kn_nuttall_window(N, FORM))
SIMPLE(cosine_window, kn_cosine_window(N, FORM))
SIMPLE(gaussian_window, kn_gaussian_window(N, REAL("deviation"), FORM))
SIMPLE(kaiser_window, kn_kaiser_window(N, REAL("beta"), FORM))
SIMPLE(exponential_window,
       kn_exponential_window(N, REAL("tau"), kiln_real(a, "center", __builtin_nan("")), FORM))

/* ---- pooling, resizing, channels */

static kn_pool_args pool_args(const kiln_attributes *a)
{
    kn_pool_args p = {.ceil_mode = FLAG("ceil_mode")};
    kn_ints stride = LIST("stride");
    for (int i = 0; i < stride.rank && i < 3; i++) p.stride[i] = stride.dims[i];
    return p;
}

static kn_fractional_pool_args fractional_args(const kn_tensor *in, int n, const kiln_attributes *a)
{
    kn_fractional_pool_args f = {.size = LIST("size"), .samples = at(in, n, 1)};
    reals(a, "ratio0", "ratio1", "ratio2", f.ratio);
    return f;
}

static kn_tensor resized(const kn_tensor *in, const kiln_attributes *a)
{
    kn_interpolate_scale_args s = {.mode = (kn_interpolate_mode)kiln_int(a, "mode", 0),
                                   .align_corners = FLAG("align_corners"),
                                   .antialias = FLAG("antialias"),
                                   .recompute = FLAG("recompute")};
    reals(a, "scale0", "scale1", "scale2", s.scale);
    return kn_interpolate_scale(in[0], &s);
}

SIMPLE(lp_pool1d, kn_lp_pool1d(in[0], REAL("order"), LIST("window"), (kn_pool_args[1]){pool_args(a)}))
SIMPLE(lp_pool2d, kn_lp_pool2d(in[0], REAL("order"), LIST("window"), (kn_pool_args[1]){pool_args(a)}))
SIMPLE(lp_pool3d, kn_lp_pool3d(in[0], REAL("order"), LIST("window"), (kn_pool_args[1]){pool_args(a)}))
PAIR(fractional_max_pool2d, kn_pooled, values, indices,
     kn_fractional_max_pool2d(in[0], LIST("window"), (kn_fractional_pool_args[1]){fractional_args(in, n, a)}))
PAIR(fractional_max_pool3d, kn_pooled, values, indices,
     kn_fractional_max_pool3d(in[0], LIST("window"), (kn_fractional_pool_args[1]){fractional_args(in, n, a)}))
SIMPLE(interpolate_scale, resized(in, a))
SIMPLE(channel_shuffle, kn_channel_shuffle(in[0], kiln_int(a, "groups", 1)))

/* ---- embeddings, norms, statistics, losses */

/* Operands: weight, indices, offsets, per_sample_weights. */
SIMPLE(embedding_bag,
       kn_embedding_bag(in[0], in[1],
                        &(kn_embedding_bag_args){.mode = (kn_bag_mode)kiln_int(a, "mode", 0),
                                                 .offsets = at(in, n, 2),
                                                 .per_sample_weights = at(in, n, 3),
                                                 .include_last_offset = FLAG("include_last_offset"),
                                                 .padding_index = kiln_int(a, "padding_index", 0)}))
SIMPLE(cov_weighted, kn_cov_weighted(in[0], &(kn_cov_args){at(in, n, 1), at(in, n, 2), REAL("correction")}))
SIMPLE(multilabel_soft_margin_loss, kn_multilabel_soft_margin_loss(in[0], in[1], at(in, n, 2), REDUCTION))
SIMPLE(multilabel_margin_loss, kn_multilabel_margin_loss(in[0], in[1], REDUCTION))
SIMPLE(rrelu, kn_rrelu(in[0], REAL("low"), REAL("high"), FLAG("training")))
SIMPLE(attention_dropout, kn_attention(in[0], in[1], in[2],
                                       &(kn_attention_args){.mask = at(in, n, 3),
                                                            .bias = at(in, n, 4),
                                                            .scale = REAL("scale"),
                                                            .softcap = REAL("softcap"),
                                                            .is_causal = FLAG("is_causal"),
                                                            .dropout = REAL("dropout")}))

ADAPTER(instance_norm_train)
{
    (void)room;
    kn_batch_norm_result r =
        kn_instance_norm_train(in[0], at(in, n, 1), at(in, n, 2), kiln_real(a, "eps", 1e-5));
    out[0] = r.y;
    out[1] = r.mean;
    out[2] = r.variance;
    return 3;
}

const kiln_adapter kiln_adapters_composites[] = {ENTRY(lu_unpacked),
                                                 ENTRY(lu_solve),
                                                 ENTRY(lu_solve_factors),
                                                 ENTRY(matrix_exp),
                                                 ENTRY(cond),
                                                 ENTRY(matrix_norm_least),
                                                 ENTRY(cholesky_inverse),
                                                 ENTRY(tensorinv),
                                                 ENTRY(tensorsolve),
                                                 ENTRY(vander),
                                                 ENTRY(householder_product),
                                                 ENTRY(eigvalsh),
                                                 ENTRY(svdvals),
                                                 ENTRY(pdist),
                                                 ENTRY(fftn_with),
                                                 ENTRY(ifftn_with),
                                                 ENTRY(rfftn),
                                                 ENTRY(rfft2),
                                                 ENTRY(ihfftn),
                                                 ENTRY(ihfft2),
                                                 ENTRY(ihfft),
                                                 ENTRY(irfftn),
                                                 ENTRY(irfft2),
                                                 ENTRY(hfftn),
                                                 ENTRY(hfft2),
                                                 ENTRY(hfft),
                                                 ENTRY(general_cosine_window),
                                                 ENTRY(general_hamming_window),
                                                 ENTRY(nuttall_window),
                                                 ENTRY(cosine_window),
                                                 ENTRY(gaussian_window),
                                                 ENTRY(exponential_window),
                                                 ENTRY(kaiser_window),
                                                 ENTRY(lp_pool1d),
                                                 ENTRY(lp_pool2d),
                                                 ENTRY(lp_pool3d),
                                                 ENTRY(fractional_max_pool2d),
                                                 ENTRY(fractional_max_pool3d),
                                                 ENTRY(interpolate_scale),
                                                 ENTRY(channel_shuffle),
                                                 ENTRY(embedding_bag),
                                                 ENTRY(cov_weighted),
                                                 ENTRY(multilabel_soft_margin_loss),
                                                 ENTRY(multilabel_margin_loss),
                                                 ENTRY(rrelu),
                                                 ENTRY(attention_dropout),
                                                 ENTRY(instance_norm_train),
                                                 {NULL, NULL}};
