/* What an optimiser is made of: a rule (a row of a table), its numbers, groups, and a slot of state for each param. */
#ifndef KNI_OPTIM_OBJECT_H
#define KNI_OPTIM_OBJECT_H

#include "core/objects.h"
#include <kn/optim.h>
#include <kn/update.h>
#include <regex.h>

enum { KNI_OPTIM_STATES = 4 };

typedef struct kni_optim kni_optim;

/* The state of one param. */
typedef struct kni_optim_slot {
    uint64_t bits;                      /* of the param's handle */
    int64_t step;                       /* taken so far */
    int32_t group;                      /* -1: none */
    kn_tensor states[KNI_OPTIM_STATES]; /* owned, none before the first step */
} kni_optim_slot;

/* One param to be updated. */
typedef struct kni_optim_job {
    const char *path;
    kn_param *param;
    kn_tensor gradient, scale; /* both borrowed; scale may be none */
    kni_optim *owner;          /* whose rule applies */
    int64_t slot;              /* in the owner */
    double lr, decay;          /* decay: 0 where the group has none, else 1 */
} kni_optim_job;

typedef struct kni_optim_rule {
    const char *name;
    const char *states[KNI_OPTIM_STATES]; /* their names when saved */
    unsigned (*used)(kni_optim *optim);   /* bit i: state i is used */
    kn_status (*check)(const kni_optim_job *job);
    kn_status (*update)(const kni_optim_job *job, kni_optim_slot *slot);
} kni_optim_rule;

typedef struct kni_optim_part {
    regex_t pattern;
    char *text; /* of the pattern */
    kn_optim_group group;
    kni_optim *optim; /* of the group, NULL: the same */
} kni_optim_part;

typedef struct kni_lbfgs kni_lbfgs;

struct kni_optim {
    const kni_optim_rule *rule;
    union {
        kn_sgd_args sgd;
        kn_adam_args adam;
        kn_adan_args adan;
        kn_adagrad_args adagrad;
        kn_rmsprop_args rmsprop;
        kn_muon_args muon;
        kn_lbfgs_args lbfgs;
    } args;
    bool decoupled; /* AdamW */
    kn_clip_kind clip;
    double clip_limit;
    double loss_scale; /* of the gradients of the step that runs, 0 = 1; set by a loss scaler */
    kni_optim_part *parts;
    int32_t n_parts;
    bool parts_checked; /* each pattern has matched a param */
    kni_optim_slot *slots;
    int64_t n_slots, slot_room;
    int32_t *table; /* positions + 1 by handle, twice slot_room of them */
    kni_lbfgs *lbfgs;
};

/* ---- optim.c */

/* An optimiser with a copy of args; NULL with kn_last_error(). */
kni_optim *kni_optim_new(const kni_optim_rule *rule, const void *args, size_t bytes, const char *function);
void kni_optim_destroy(void *optim);
/* Its handle. */
kn_optim kni_optim_make(const kni_optim_rule *rule, const void *args, size_t bytes, const char *function);
/* kn_optim_step over the object itself. */
kn_status kni_optim_step(kni_optim *optim, const double *rates, int32_t n, kn_module module, kn_grads grads,
                         const char *function);
/* The position of the param's slot, made when there is none; -1 without memory. */
int64_t kni_optim_slot_of(kni_optim *optim, kn_tensor param, const char *path);
/* The optimiser that updates params of that slot: a group's own, or this. */
kni_optim *kni_optim_owner(kni_optim *optim, const kni_optim_slot *slot);
/* A number of the arguments under the name of its field. */
typedef struct kni_optim_field {
    const char *name;
    double value;
} kni_optim_field;
/* KN_ERROR_ARGUMENT, with the field's name, unless every number is finite and not negative. */
kn_status kni_optim_check_fields(const kni_optim_field *fields, int n, const char *function);
/* The same for a rate that is a plain argument, where KN_ZERO has no place. what: "the learning rate" */
kn_status kni_optim_check_rate(const char *what, double value, const char *function);

/* ---- optim_walk.c: the params of a module that are to be updated */

typedef struct kni_optim_jobs {
    kni_optim_job *at;
    int64_t n, room;
    char *paths; /* the jobs' paths, one after the other */
    size_t path_bytes, path_room;
} kni_optim_jobs;

void kni_optim_jobs_free(kni_optim_jobs *jobs);
/* The params of the module that have a gradient, checked; optim may be NULL (no slots then). */
kn_status kni_optim_collect(kni_optim_jobs *jobs, kni_optim *optim, const double *rates, int32_t n_rates,
                            kn_module module, kn_grads grads, const char *function);
/* An error that names the param. */
kn_status kni_optim_fail(const kni_optim_job *job, const char *function, kn_status code, const char *what);

/* ---- grads_clip.c */

/* Fills the scales of all jobs, or replaces their gradients (KN_CLIP_VALUE), with tensors of the present scope. */
kn_status kni_optim_clip(kni_optim_jobs *jobs, kn_clip_kind kind, double limit, const char *function);

/* ---- optim_lbfgs.c */

extern const kni_optim_rule kni_rule_lbfgs;
kn_status kni_lbfgs_step(kni_optim *optim, double lr, kn_module module, kn_closure_fn closure, void *context,
                         double *loss);
kn_status kni_lbfgs_save(kni_optim *optim, kn_state state, const char *prefix);
kn_status kni_lbfgs_load(kni_optim *optim, kn_state state, const char *prefix);
void kni_lbfgs_free(kni_lbfgs *lbfgs);

#endif
