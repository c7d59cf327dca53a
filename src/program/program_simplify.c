/* kn_program_simplify: the passes in their order, again until none finds anything. */
#include "core/allocator.h"
#include "core/error.h"
#include "program/passes.h"
#include <kn/autodiff.h>
#include <kn/tensor.h>
#include <string.h>

/* The value that each live param has now, owned. */
static kn_status read_params(const kni_program *p, kn_tensor *now)
{
    kni_pass_run run;
    kn_status s = kni_pass_run_begin(&run);
    if (s) return s;
    for (int32_t i = 0; i < p->n_values && s == KN_OK; i++) {
        if (p->values[i].live) now[i] = kn_own(kn_detach(p->values[i].tensor));
        if (kni_is_poisoned(now[i])) s = kni_fail_again(now[i], "program_simplify");
    }
    kni_pass_run_end(&run);
    return s;
}

/* All params of a trace or none of them. */
kn_status kni_pass_freeze(kni_program *p, int64_t *changed)
{
    size_t bytes = (size_t)(p->n_values ? p->n_values : 1) * sizeof(kn_tensor);
    kn_tensor *now = kni_allocate(bytes);
    if (!now) return kni_fail(KN_ERROR_MEMORY, "kn_program_simplify: no memory for %d values", p->n_values);
    memset(now, 0, bytes);
    kn_status s = read_params(p, now);
    for (int32_t i = 0; i < p->n_values; i++) {
        if (s) kn_drop(now[i]);
        if (s || !now[i].bits) continue;
        kni_value_set_tensor(&p->values[i], now[i]);
        (*changed)++;
    }
    kni_free(now, bytes);
    return s;
}

static const struct {
    uint32_t bit;
    kni_pass *run;
} passes[] = {{KN_PASS_CONSTANTS, kni_pass_constants},
              {KN_PASS_COMMON, kni_pass_common},
              {KN_PASS_BATCH_NORM, kni_pass_batch_norm},
              {KN_PASS_DEAD, kni_pass_dead}};
enum { N_PASSES = sizeof passes / sizeof *passes };

static kn_status run_passes(kni_program *p, uint32_t which)
{
    int64_t changed = 0, before;
    kn_status s = which & KN_PASS_FREEZE ? kni_pass_freeze(p, &changed) : KN_OK;
    do {
        before = changed;
        for (int i = 0; i < N_PASSES && s == KN_OK; i++)
            if (which & passes[i].bit) s = passes[i].run(p, &changed);
    } while (s == KN_OK && changed > before);
    return s;
}

kn_status kn_program_simplify(kn_program program, uint32_t which)
{
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    if (which & ~(uint32_t)(KN_PASS_ALL | KN_PASS_FREEZE | KN_PASS_KEEP_PARAMS))
        return kni_fail(KN_ERROR_ARGUMENT,
                        "kn_program_simplify: %D has bits that are no pass: give KN_PASS_ALL",
                        (int64_t)which);
    p->keeps_params = (which & KN_PASS_KEEP_PARAMS) != 0;
    kn_status s = run_passes(p, which);
    p->keeps_params = false;
    int64_t rest = 0;
    kn_status swept = kni_pass_unused(p, &rest);
    kni_program_settle(p);
    return s ? s : swept;
}
