/* Reverse-mode differentiation over any device opened as autodiff(...). */
#ifndef KN_AUTODIFF_H
#define KN_AUTODIFF_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A trainable value: an op can neither take nor poison it. */
typedef struct kn_param {
    kn_tensor handle;
} kn_param;

/* Makes a param of t (takes temporaries); requires grad on an autodiff device. Free with kn_param_drop. */
KN_API kn_param kn_param_make(kn_tensor t);
/* The handle for an op; borrowed, never taken. */
KN_API kn_tensor kn_value(kn_param p);
KN_API void kn_param_drop(kn_param *p);
/* Replaces the value in place; shape and dtype must stay. Tapes and views made before see the old value. Other
   threads may use the param meanwhile: each op and read sees the old value or the new one, never a mixture. Making,
   freezing and dropping a param are for one thread alone. */
KN_API kn_status kn_param_set(kn_param *p, kn_tensor value);
KN_API void kn_param_freeze(kn_param *p, bool frozen);
/* Whether t is the handle of a param that lives. Any bits may be asked about. */
KN_API bool kn_is_param(kn_tensor t);

/* Starts a tape at t: returns t as a kept tensor that gradients flow to. */
KN_API kn_tensor kn_require_grad(kn_tensor t);
KN_API bool kn_is_require_grad(kn_tensor t);
/* The same value outside of any tape. */
KN_API kn_tensor kn_detach(kn_tensor t);

/* Between begin and end the calling thread records nothing. They nest; an end without a begin does nothing. */
KN_API void kn_no_grad_begin(void);
KN_API void kn_no_grad_end(void);
KN_API bool kn_grad_enabled(void);

enum {
    KN_GRAD_CREATE_GRAPH = 1, /* the gradients can be differentiated again */
    KN_GRAD_RETAIN = 2,       /* the tape may be walked again */
    KN_GRAD_ALLOW_UNUSED = 4  /* KN_NONE instead of an error for an input that no output depends on */
};

/* grads[i] = sum over outputs of d outputs . cotangents / d wrt[i]. cotangents may be NULL (ones; the
   outputs must then have one element each). Fills n_wrt temporaries, poisoned on failure. */
KN_API kn_status kn_grad(const kn_tensor *outputs, const kn_tensor *cotangents, int32_t n_outputs,
                         const kn_tensor *wrt, int32_t n_wrt, uint32_t flags, kn_tensor *grads);

/* Gradients of every param and require_grad leaf that a loss depends on. */
typedef struct kn_grads_object *kn_grads;
KN_API KN_MUST_CHECK kn_status kn_backward(kn_tensor loss, kn_grads *grads);
/* The gradient of t as a kept tensor that lives as long as grads; KN_NONE when there is none. */
KN_API kn_tensor kn_grads_get(kn_grads grads, kn_tensor t);
/* Hands the gradient out as a temporary and removes it. */
KN_API kn_tensor kn_grads_take(kn_grads grads, kn_tensor t);
/* Takes a temporary, shares others (kn_alias); a gradient may replace itself. */
KN_API kn_status kn_grads_replace(kn_grads grads, kn_tensor t, kn_tensor gradient);
/* Gradients of your own making for n params or leaves, one for each: accumulated, averaged over processes ... Takes
   temporaries, shares others (kn_alias). NULL with kn_last_error(), for a leaf that comes twice too. */
KN_API kn_grads kn_grads_make(const kn_tensor *leaves, const kn_tensor *gradients, int32_t n);
KN_API int32_t kn_grads_count(kn_grads grads);
KN_API void kn_grads_free(kn_grads grads);

/* Runs segment(context, inputs) without saving its intermediates and runs it again in backward, with the
   same random numbers. The segment returns one tensor. KN_GRAD_CREATE_GRAPH does not pass through it: an error. */
typedef kn_tensor (*kn_segment_fn)(void *context, const kn_tensor *inputs, int32_t n);
KN_API kn_tensor kn_recompute(kn_segment_fn segment, void *context, const kn_tensor *inputs, int32_t n);

/* Compares analytic gradients of f with central differences in f64; inputs are borrowed. Returns KN_OK or
   KN_ERROR_NUMERIC with the worst element in kn_last_error(). tolerance 0 = 1e-5. */
typedef kn_tensor (*kn_gradcheck_fn)(void *context, const kn_tensor *inputs, int32_t n);
KN_API kn_status kn_gradcheck(kn_gradcheck_fn f, void *context, const kn_tensor *inputs, int32_t n,
                              double tolerance);

#ifdef __cplusplus
}
#endif
#endif
