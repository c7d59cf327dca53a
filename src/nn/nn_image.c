/* Layers without params: patches, pixel shuffles, resizing, similarity and distance. */
#include "nn/layer.h"
#include "nn/window.h"
#include "support/failure.h"
#include "support/scalar_math.h"
#include <kn/linalg.h>
#include <kn/nn/image.h>
#include <kn/tensor.h>

/* ---- patches */

const kn_module_type kn_nn_unfold4d_type = {"Unfold4d", sizeof(kn_nn_unfold4d),
                                            (const kn_field[]){KN_INT_LIST(kn_nn_unfold4d, kernel_size),
                                                               KN_INT_LIST(kn_nn_unfold4d, stride),
                                                               KN_INT_LIST(kn_nn_unfold4d, padding),
                                                               KN_INT_LIST(kn_nn_unfold4d, dilation),
                                                               {0}}};
const kn_module_type kn_nn_fold4d_type = {"Fold4d", sizeof(kn_nn_fold4d),
                                          (const kn_field[]){KN_INT_LIST(kn_nn_fold4d, output_size),
                                                             KN_INT_LIST(kn_nn_fold4d, kernel_size),
                                                             KN_INT_LIST(kn_nn_fold4d, stride),
                                                             KN_INT_LIST(kn_nn_fold4d, padding),
                                                             KN_INT_LIST(kn_nn_fold4d, dilation),
                                                             {0}}};

static kn_status check_steps(const char *function, kn_ints stride, kn_ints padding, kn_ints dilation)
{
    kn_status s = kni_window_check(function, stride, 2);
    if (s == KN_OK) s = kni_window_check(function, dilation, 2);
    for (int i = 0; i < 2 && s == KN_OK; i++)
        if (padding.dims[i] < 0) s = kni_failure(KN_ERROR_ARGUMENT, "%s: a padding is negative", function);
    return s;
}

kn_status kn_nn_unfold4d_init(kn_nn_unfold4d *m, kn_ints kernel_size, const kn_unfold_args *args)
{
    static const kn_unfold_args usual = KN_UNFOLD_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_unfold4d made = {kernel_size, kni_window_steps(args->stride, 2),
                           kni_window_paddings(args->padding, 2), kni_window_steps(args->dilation, 2)};
    kn_status s = kni_window_check("kn_nn_unfold4d_init", kernel_size, 2);
    if (s == KN_OK) s = check_steps("kn_nn_unfold4d_init", made.stride, made.padding, made.dilation);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_unfold4d, &made), m, s);
}

static kn_unfold_args unfold_args(kn_ints stride, kn_ints padding, kn_ints dilation)
{
    return (kn_unfold_args){{stride.dims[0], stride.dims[1]},
                            {kn_int_given(padding.dims[0]), kn_int_given(padding.dims[1])},
                            {dilation.dims[0], dilation.dims[1]}};
}

kn_tensor kn_nn_unfold4d_forward(const kn_nn_unfold4d *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_unfold4d, m);
    kn_unfold_args args = unfold_args(m->stride, m->padding, m->dilation);
    return kn_unfold_patches(x, m->kernel_size, &args);
}

kn_status kn_nn_fold4d_init(kn_nn_fold4d *m, kn_ints output_size, kn_ints kernel_size,
                            const kn_unfold_args *args)
{
    static const kn_unfold_args usual = KN_UNFOLD_ARGS_DEFAULTS;
    if (!args) args = &usual;
    kn_nn_fold4d made = {output_size, kernel_size, kni_window_steps(args->stride, 2),
                         kni_window_paddings(args->padding, 2), kni_window_steps(args->dilation, 2)};
    kn_status s = kni_window_check("kn_nn_fold4d_init", kernel_size, 2);
    if (s == KN_OK) s = kni_window_check("kn_nn_fold4d_init", output_size, 2);
    if (s == KN_OK) s = check_steps("kn_nn_fold4d_init", made.stride, made.padding, made.dilation);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_fold4d, &made), m, s);
}

kn_tensor kn_nn_fold4d_forward(const kn_nn_fold4d *m, kn_tensor columns)
{
    KNI_NEEDS_INIT(kn_nn_fold4d, m);
    kn_unfold_args args = unfold_args(m->stride, m->padding, m->dilation);
    return kn_fold_patches(columns, m->output_size, m->kernel_size, &args);
}

/* ---- pixel shuffles */

const kn_module_type kn_nn_pixel_shuffle_type = {
    "PixelShuffle", sizeof(kn_nn_pixel_shuffle),
    (const kn_field[]){KN_INT(kn_nn_pixel_shuffle, upscale_factor), {0}}};
const kn_module_type kn_nn_pixel_unshuffle_type = {
    "PixelUnshuffle", sizeof(kn_nn_pixel_unshuffle),
    (const kn_field[]){KN_INT(kn_nn_pixel_unshuffle, downscale_factor), {0}}};

kn_status kn_nn_pixel_shuffle_init(kn_nn_pixel_shuffle *m, int64_t upscale_factor)
{
    kn_nn_pixel_shuffle made = {upscale_factor};
    kn_status s = kni_layer_positive("kn_nn_pixel_shuffle_init", "upscale_factor", upscale_factor);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_pixel_shuffle, &made), m, s);
}

kn_tensor kn_nn_pixel_shuffle_forward(const kn_nn_pixel_shuffle *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_pixel_shuffle, m);
    return kn_pixel_shuffle(x, m->upscale_factor);
}

kn_status kn_nn_pixel_unshuffle_init(kn_nn_pixel_unshuffle *m, int64_t downscale_factor)
{
    kn_nn_pixel_unshuffle made = {downscale_factor};
    kn_status s = kni_layer_positive("kn_nn_pixel_unshuffle_init", "downscale_factor", downscale_factor);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_pixel_unshuffle, &made), m, s);
}

kn_tensor kn_nn_pixel_unshuffle_forward(const kn_nn_pixel_unshuffle *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_pixel_unshuffle, m);
    return kn_pixel_unshuffle(x, m->downscale_factor);
}

const kn_module_type kn_nn_channel_shuffle_type = {
    "ChannelShuffle", sizeof(kn_nn_channel_shuffle),
    (const kn_field[]){KN_INT(kn_nn_channel_shuffle, groups), {0}}};

kn_status kn_nn_channel_shuffle_init(kn_nn_channel_shuffle *m, int64_t groups)
{
    kn_nn_channel_shuffle made = {groups};
    kn_status s = kni_layer_positive("kn_nn_channel_shuffle_init", "groups", groups);
    return kni_layer_finish(KN_MODULE_OF(kn_nn_channel_shuffle, &made), m, s);
}

kn_tensor kn_nn_channel_shuffle_forward(const kn_nn_channel_shuffle *m, kn_tensor x)
{
    KNI_NEEDS_INIT(kn_nn_channel_shuffle, m);
    return kn_channel_shuffle(x, m->groups);
}

/* ---- resizing */

static const char *const modes[] = {"nearest", "nearest_exact", "linear", "cubic", "lanczos3", "area"};
static const kn_field resize_fields[] = {
    KN_INT_LIST(kn_nn_interpolate, output_size), KN_REAL(kn_nn_interpolate, scale_first),
    KN_REAL(kn_nn_interpolate, scale_second),    KN_ENUM(kn_nn_interpolate, mode, modes),
    KN_FLAG(kn_nn_interpolate, align_corners),   {0}};
const kn_module_type kn_nn_interpolate1d_type = {"Interpolate1d", sizeof(kn_nn_interpolate), resize_fields};
const kn_module_type kn_nn_interpolate2d_type = {"Interpolate2d", sizeof(kn_nn_interpolate), resize_fields};

static kn_status init_resize(const char *function, kn_nn_interpolate *m, const kn_nn_interpolate_args *args,
                             int32_t rank)
{
    if (!m || !args)
        return kni_layer_clear(
            m, sizeof *m, kni_failure(KN_ERROR_ARGUMENT, "%s: the module or the args are NULL", function));
    double second = args->scale[1] == 0 ? args->scale[0] : args->scale[1];
    *m = (kn_nn_interpolate){args->output_size, args->scale[0], rank == 2 ? second : 0, args->mode,
                             args->align_corners};
    kn_status s = KN_OK;
    if (args->output_size.rank > 0)
        s = kni_window_check(function, args->output_size, rank);
    else if (!(args->scale[0] > 0 && second > 0))
        s = kni_failure(KN_ERROR_ARGUMENT, "%s: give an output_size or a positive scale", function);
    return s == KN_OK ? s : kni_layer_clear(m, sizeof *m, s);
}

kn_status kn_nn_interpolate1d_init(kn_nn_interpolate1d *m, const kn_nn_interpolate_args *args)
{
    return init_resize("kn_nn_interpolate1d_init", m, args, 1);
}

kn_status kn_nn_interpolate2d_init(kn_nn_interpolate2d *m, const kn_nn_interpolate_args *args)
{
    return init_resize("kn_nn_interpolate2d_init", m, args, 2);
}

static kn_tensor resize(const char *function, const kn_nn_interpolate *m, kn_tensor x, int32_t rank)
{
    kn_ints size = m->output_size;
    const double scales[2] = {m->scale_first, m->scale_second};
    if (kn_ok(x) && kn_rank(x) != rank + 2)
        return kni_poisoned(KN_ERROR_SHAPE, "%s: x has rank %d; it needs [batch, channels, %s]", function,
                            (int)kn_rank(x), rank == 1 ? "length" : "height, width");
    if (size.rank == 0) size.rank = rank;
    for (int i = 0; i < rank && m->output_size.rank == 0 && kn_ok(x); i++)
        size.dims[i] = (int64_t)kni_floor((double)kn_size(x, 2 + i) * scales[i]);
    return kn_interpolate(x, size,
                          &(kn_interpolate_args){.mode = m->mode, .align_corners = m->align_corners});
}

kn_tensor kn_nn_interpolate1d_forward(const kn_nn_interpolate1d *m, kn_tensor x)
{
    KNI_NEEDS_SENSE(kn_nn_interpolate1d, m);
    return resize("kn_nn_interpolate1d_forward", m, x, 1);
}

kn_tensor kn_nn_interpolate2d_forward(const kn_nn_interpolate2d *m, kn_tensor x)
{
    KNI_NEEDS_SENSE(kn_nn_interpolate2d, m);
    return resize("kn_nn_interpolate2d_forward", m, x, 2);
}

/* ---- similarity and distance */

const kn_module_type kn_nn_cosine_similarity_type = {
    "CosineSimilarity", sizeof(kn_nn_cosine_similarity),
    (const kn_field[]){KN_INT(kn_nn_cosine_similarity, axis), KN_REAL(kn_nn_cosine_similarity, eps), {0}}};
const kn_module_type kn_nn_pairwise_distance_type = {
    "PairwiseDistance", sizeof(kn_nn_pairwise_distance),
    (const kn_field[]){KN_REAL(kn_nn_pairwise_distance, p),
                       KN_REAL(kn_nn_pairwise_distance, eps),
                       KN_FLAG(kn_nn_pairwise_distance, keep),
                       {0}}};

kn_status kn_nn_cosine_similarity_init(kn_nn_cosine_similarity *m, const kn_nn_cosine_similarity_args *args)
{
    if (!m) return kni_failure(KN_ERROR_ARGUMENT, "kn_nn_cosine_similarity_init: the module is NULL");
    int64_t axis = kn_int_or(args ? args->axis : 0, 1);
    kn_status s = kni_layer_axis("kn_nn_cosine_similarity_init", axis);
    if (s != KN_OK) return kni_layer_clear(m, sizeof *m, s);
    *m = (kn_nn_cosine_similarity){axis, kn_real_or(args ? args->eps : 0, 1e-8)};
    return KN_OK;
}

kn_tensor kn_nn_cosine_similarity_forward(const kn_nn_cosine_similarity *m, kn_tensor a, kn_tensor b)
{
    KNI_NEEDS_SENSE(kn_nn_cosine_similarity, m);
    kn_status s = kni_layer_axis("kn_nn_cosine_similarity_forward", m->axis);
    if (s != KN_OK) return kn_poison(s, NULL);
    return kn_cosine_similarity(a, b, (int32_t)m->axis, kn_real_given(m->eps));
}

kn_status kn_nn_pairwise_distance_init(kn_nn_pairwise_distance *m, const kn_nn_pairwise_distance_args *args)
{
    if (!m) return kni_failure(KN_ERROR_ARGUMENT, "kn_nn_pairwise_distance_init: the module is NULL");
    *m = (kn_nn_pairwise_distance){kn_real_or(args ? args->p : 0, 2), kn_real_or(args ? args->eps : 0, 1e-6),
                                   args && args->keep};
    return KN_OK;
}

kn_tensor kn_nn_pairwise_distance_forward(const kn_nn_pairwise_distance *m, kn_tensor a, kn_tensor b)
{
    KNI_NEEDS_SENSE(kn_nn_pairwise_distance, m);
    kn_pairwise_distance_args args = {kn_real_given(m->p), kn_real_given(m->eps), m->keep};
    return kn_pairwise_distance(a, b, &args);
}
