/* Optimisers, clipping, accumulation, averages of weights, learning-rate schedules. The learning rate is an argument of the
   step, so a schedule, a group and a warm-up never fight over hidden state. */
#ifndef KN_OPTIM_H
#define KN_OPTIM_H

#include <kn/nn/module.h>
#include <kn/state.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- optimisers. Formulas and defaults are PyTorch's; NULL with kn_last_error() on failure. args NULL: the defaults. In a
   struct momentum, dampening, decays and the initial accumulator are 0, switched off, unless they are given; the other numbers
   have defaults that 0 stands for (kn/base.h). */

/* The state of a param belongs to the param itself: make the optimiser (or load its state) after kn_module_to and
   kn_module_cast, which make new params. */
typedef struct kn_optim_object *kn_optim;

typedef struct kn_sgd_args {
    double momentum, dampening, weight_decay; /* 0 is off */
    bool nesterov;
} kn_sgd_args;
#define KN_SGD_ARGS_DEFAULTS KN_FIELDS(0.0, 0.0, 0.0, false)
KN_API kn_optim kn_optim_sgd(const kn_sgd_args *args);

typedef struct kn_adam_args {
    double beta1, beta2, eps; /* 0 = 0.9, 0.999, 1e-8; KN_ZERO = 0 */
    double
        weight_decay; /* Adam: added to the gradient; AdamW: decoupled, 0.01 where args is NULL; 0 is off */
    bool amsgrad;
    bool cautious; /* AdamW: no decay where the mean gradient and the weight have opposite signs */
} kn_adam_args;
#define KN_ADAM_ARGS_DEFAULTS KN_FIELDS(0.9, 0.999, 1e-8, 0.0, false, false)
/* The same fields with AdamW's defaults. */
typedef kn_adam_args kn_adamw_args;
#define KN_ADAMW_ARGS_DEFAULTS KN_FIELDS(0.9, 0.999, 1e-8, 0.01, false, false)
KN_API kn_optim kn_optim_adam(const kn_adam_args *args);
KN_API kn_optim kn_optim_adamw(const kn_adamw_args *args);

typedef struct kn_adan_args {
    double beta1, beta2, beta3, eps,
        weight_decay; /* 0 = 0.98, 0.92, 0.99, 1e-8; KN_ZERO = 0; decay 0 is off */
    bool no_prox;
} kn_adan_args;
#define KN_ADAN_ARGS_DEFAULTS KN_FIELDS(0.98, 0.92, 0.99, 1e-8, 0.0, false)
KN_API kn_optim kn_optim_adan(const kn_adan_args *args);

typedef struct kn_adagrad_args {
    double lr_decay, weight_decay, initial_accumulator,
        eps; /* the first three: 0 is off; eps: 0 = 1e-10, KN_ZERO = 0 */
} kn_adagrad_args;
#define KN_ADAGRAD_ARGS_DEFAULTS KN_FIELDS(0.0, 0.0, 0.0, 1e-10)
KN_API kn_optim kn_optim_adagrad(const kn_adagrad_args *args);

typedef struct kn_rmsprop_args {
    double alpha, eps;             /* 0 = 0.99, 1e-8; KN_ZERO = 0 */
    double weight_decay, momentum; /* 0 is off */
    bool centered;
} kn_rmsprop_args;
#define KN_RMSPROP_ARGS_DEFAULTS KN_FIELDS(0.99, 1e-8, 0.0, 0.0, false)
KN_API kn_optim kn_optim_rmsprop(const kn_rmsprop_args *args);

typedef struct kn_muon_args {
    double momentum, weight_decay; /* 0.95 and 0.1 where args is NULL; 0 is off */
    double eps;                    /* 0 = 1e-7, KN_ZERO = 0 */
    bool plain_momentum;           /* without Nesterov */
    double a, b, c;                /* of the Newton-Schulz step, 0 = 3.4445, -4.775, 2.0315; KN_ZERO = 0 */
    int64_t steps;                 /* of Newton-Schulz, 0 = 5, KN_ZERO = 0 */
    bool match_rms_adamw; /* lr 0.2 sqrt(max(rows, columns)) instead of sqrt(max(1, rows / columns)) */
} kn_muon_args;
#define KN_MUON_ARGS_DEFAULTS KN_FIELDS(0.95, 0.1, 1e-7, false, 3.4445, -4.775, 2.0315, 5, false)
/* For matrices (others are an error: give them to another optimiser with a group). The momentum is orthogonalised in the
   param's dtype, halves in f32; PyTorch rounds to bf16 there. */
KN_API kn_optim kn_optim_muon(const kn_muon_args *args);

typedef struct kn_lbfgs_args {
    int32_t max_iterations, history;         /* 0 = 20, 100; at least 1 */
    double tolerance_grad, tolerance_change; /* 0 = 1e-7, 1e-9; KN_ZERO = 0 */
    bool strong_wolfe;
} kn_lbfgs_args; /* at most 1.25 max_iterations evaluations in a step */
#define KN_LBFGS_ARGS_DEFAULTS KN_FIELDS(20, 100, 1e-7, 1e-9, false)
KN_API kn_optim kn_optim_lbfgs(const kn_lbfgs_args *args);

KN_API void kn_optim_free(kn_optim optim);

/* One step of every param that has a gradient; frozen params and buffers stay. All gradients are checked (shape, dtype, poison)
   before anything is changed. Refused: a rate below 0 or not finite, and gradients that hold none of this module's params, such as
   another module's. Params are written in place: views and tapes made before keep the old value. Not for L-BFGS. */
KN_API KN_MUST_CHECK kn_status kn_optim_step(kn_optim optim, double lr, kn_module module, kn_grads grads);
/* The loss at the module's present values and its gradients. */
typedef kn_status (*kn_closure_fn)(void *context, double *loss, kn_grads *grads);
/* For optimisers that evaluate the loss several times; the others call it once. *loss: that of the first call. */
KN_API KN_MUST_CHECK kn_status kn_optim_step_closure(kn_optim optim, double lr, kn_module module,
                                                     kn_closure_fn closure, void *context, double *loss);

/* ---- groups: params whose path matches an extended regular expression are treated differently. The first match counts.
   Add them before the first step, where a pattern that matches no param of the module is an error. */

typedef struct kn_optim_group {
    const char *pattern;
    double lr_scale; /* 0 = 1, KN_ZERO = 0 */
    bool no_decay;   /* no weight decay */
    kn_optim optim;  /* another optimiser, which then belongs to this one (also on failure); NULL: the same */
    int32_t schedule; /* index into the rates of kn_optim_step_rates, 0 = the first */
} kn_optim_group;
#define KN_OPTIM_GROUP_DEFAULTS KN_FIELDS(NULL, 1.0, false, NULL, 0)
KN_API kn_status kn_optim_add_group(kn_optim optim, const kn_optim_group *group);
/* One learning rate for each number that groups name. */
KN_API KN_MUST_CHECK kn_status kn_optim_step_rates(kn_optim optim, const double *lr, int32_t n,
                                                   kn_module module, kn_grads grads);

/* ---- clipping */

typedef enum kn_clip_kind {
    KN_CLIP_NONE = 0,
    KN_CLIP_VALUE = 1,      /* each element to -limit .. limit */
    KN_CLIP_NORM = 2,       /* each gradient to a norm of at most limit */
    KN_CLIP_GLOBAL_NORM = 3 /* all gradients together */
} kn_clip_kind;
/* Clips at each step. */
KN_API kn_status kn_optim_set_clip(kn_optim optim, kn_clip_kind kind, double limit);
/* Clips gradients now; *norm (may be NULL) gets their global norm before, which waits for the device. Norms scale by
   min(1, limit / (norm + 1e-6)), as PyTorch does. */
KN_API kn_status kn_grads_clip(kn_grads grads, kn_module module, kn_clip_kind kind, double limit,
                               double *norm);
/* The 2-norm over the gradients of all params as a tensor (no wait for the device). */
KN_API kn_tensor kn_grads_norm(kn_grads grads, kn_module module);

/* ---- state: everything a bit-exact resume needs, under prefix + path + "." + name */

KN_API kn_status kn_optim_save(kn_optim optim, kn_module module, kn_state state, const char *prefix);
/* An error where the state lacks a param that is not frozen or, under a prefix that is not "", has an entry of no param; nothing
   is changed then. */
KN_API kn_status kn_optim_load(kn_optim optim, kn_module module, kn_state state, const char *prefix);

/* ---- loss scaling, for f16 (kn/autocast.h): gradients of a scaled loss do not vanish in its short range */

typedef struct kn_loss_scaler {
    double scale;     /* of the loss now */
    double growth;    /* after `interval` good steps in a row */
    double backoff;   /* after a step whose gradients were not finite */
    int64_t interval; /* good steps before the scale grows */
    int64_t good;     /* so far in a row */
} kn_loss_scaler;
/* PyTorch's: 65536, 2, 0.5, 2000. */
KN_API kn_loss_scaler kn_loss_scaler_make(void);
/* loss times the scale, in f32; kn_backward it. Takes temporaries. */
KN_API kn_tensor kn_loss_scaler_scale(const kn_loss_scaler *scaler, kn_tensor loss);
/* A step with the gradients of the scaled loss, scaled back; clipping sees them scaled back. Where one is not finite no
   param and no state changes and the scale shrinks. *stepped (may be NULL) says which. Waits for the device. */
KN_API KN_MUST_CHECK kn_status kn_loss_scaler_step(kn_loss_scaler *scaler, kn_optim optim, double lr,
                                                   kn_module module, kn_grads grads, bool *stepped);
KN_API kn_status kn_loss_scaler_save(const kn_loss_scaler *scaler, kn_state state, const char *prefix);
KN_API kn_status kn_loss_scaler_load(kn_loss_scaler *scaler, kn_state state, const char *prefix);

/* ---- accumulation of gradients over several backward passes */

typedef struct kn_accumulator_object *kn_accumulator;
KN_API kn_accumulator kn_accumulator_make(void);
KN_API void kn_accumulator_free(kn_accumulator accumulator);
/* Adds scale times the gradients of the module's params. Where that fails in the middle, all sums are forgotten. */
KN_API kn_status kn_accumulator_add(kn_accumulator accumulator, kn_module module, kn_grads grads,
                                    double scale);
KN_API int64_t kn_accumulator_count(kn_accumulator accumulator); /* additions since the last take */
/* Hands the sum out and starts again. */
KN_API kn_status kn_accumulator_take(kn_accumulator accumulator, kn_grads *grads);

/* ---- exponential moving average of weights */

typedef struct kn_ema_object *kn_ema;
/* average = decay average + (1 - decay) value at each update. warm_up: decay is min(decay, (1 + n) / (10 + n)). */
KN_API kn_ema kn_ema_make(kn_module module, double decay, bool warm_up);
KN_API void kn_ema_free(kn_ema ema);
KN_API kn_status kn_ema_update(kn_ema ema, kn_module module);
/* Exchanges the module's weights with the average; call it again to go back. */
KN_API kn_status kn_ema_swap(kn_ema ema, kn_module module);
KN_API kn_status kn_ema_save(kn_ema ema, kn_module module, kn_state state, const char *prefix);
KN_API kn_status kn_ema_load(kn_ema ema, kn_module module, kn_state state, const char *prefix);

/* ---- learning-rate schedules. t counts from 0. NULL with kn_last_error() on failure; schedules that were to be taken over
   are then freed. */

typedef struct kn_schedule_object *kn_schedule;

KN_API kn_schedule kn_schedule_constant(double lr);
/* From first to last over `steps`, then last. */
KN_API kn_schedule kn_schedule_linear(double first, double last, int64_t steps);
/* low + (high - low) (1 + cos(pi t / steps)) / 2; with restart it begins again after `steps`, else it stays at low. */
KN_API kn_schedule kn_schedule_cosine(double high, double low, int64_t steps, bool restart);
KN_API kn_schedule kn_schedule_exponential(double first, double gamma);
/* factor size^-0.5 min(t^-0.5, t warm_up^-1.5), t from 1 */
KN_API kn_schedule kn_schedule_noam(double factor, int64_t warm_up, int64_t size);
KN_API kn_schedule kn_schedule_step(double first, double gamma, int64_t every);
typedef struct kn_one_cycle_args {
    double max_lr;
    int64_t steps;
    double rise; /* part of the steps that rises, 0 = 0.3 */
    double start_factor,
        end_factor; /* lr = max_lr / start_factor at first, that / end_factor at last; 0 = 25, 1e4 */
    bool linear;    /* instead of cosine */
} kn_one_cycle_args;
#define KN_ONE_CYCLE_ARGS_DEFAULTS KN_FIELDS(0.0, 0, 0.3, 25.0, 1e4, false)
KN_API kn_schedule kn_schedule_one_cycle(const kn_one_cycle_args *args);
/* Rises from 0 to the first rate of `after` over `steps` (that rate times t / steps), then runs it. Takes over `after`. */
KN_API kn_schedule kn_schedule_warm_up(int64_t steps, kn_schedule after);
typedef enum kn_schedule_reduction {
    KN_SCHEDULE_PRODUCT = 0,
    KN_SCHEDULE_SUM = 1,
    KN_SCHEDULE_MEAN = 2
} kn_schedule_reduction;
/* All at once, combined; takes them over. */
KN_API kn_schedule kn_schedule_composed(const kn_schedule *parts, int32_t n, kn_schedule_reduction reduction);
/* One after the other: part i + 1 begins, with its own t from 0, at milestones[i], i < n - 1; takes them over. */
KN_API kn_schedule kn_schedule_sequential(const kn_schedule *parts, int32_t n, const int64_t *milestones);
typedef struct kn_plateau_args {
    double lr, factor; /* 0 = 1e-3, 0.1 */
    double min_lr;     /* the rate does not fall below it; 0 is off */
    double threshold;  /* relative: a value that is not better by it counts as bad; 0 = 1e-4, KN_ZERO = 0 */
    int64_t patience;  /* bad reports that are borne, 0 = 10, KN_ZERO (or less than 0) = 0 */
    int64_t cooldown;  /* reports after a cut that do not count; 0 is off */
    bool higher_is_better;
} kn_plateau_args;
#define KN_PLATEAU_ARGS_DEFAULTS KN_FIELDS(1e-3, 0.1, 0.0, 1e-4, 10, 0, false)
KN_API kn_schedule kn_schedule_plateau(const kn_plateau_args *args);
/* A function of your own. */
KN_API kn_schedule kn_schedule_custom(double (*rate)(void *context, int64_t step), void *context);
KN_API void kn_schedule_free(kn_schedule schedule);
/* The rate for the next step; each call advances. */
KN_API double kn_schedule_next(kn_schedule schedule);
/* The rate that kn_schedule_next would give. */
KN_API double kn_schedule_peek(kn_schedule schedule);
/* Tells a plateau schedule (also inside others) how the watched metric went. */
KN_API void kn_schedule_report(kn_schedule schedule, double metric);
KN_API kn_status kn_schedule_save(kn_schedule schedule, kn_state state, const char *prefix);
KN_API kn_status kn_schedule_load(kn_schedule schedule, kn_state state, const char *prefix);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/optim_sites.h>
#endif

#endif
