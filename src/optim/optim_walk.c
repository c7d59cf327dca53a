/* From a module and gradients to the list of params to update, each checked before anything changes. */
#include "core/objects.h"
#include "optim/optim_object.h"
#include "support/failure.h"
#include "support/module_ready.h"
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct collection {
    kni_optim_jobs *jobs;
    kni_optim *optim;
    const double *rates;
    int32_t n_rates;
    kn_grads grads;
    const char *function;
} collection;

void kni_optim_jobs_free(kni_optim_jobs *jobs)
{
    free(jobs->at);
    free(jobs->paths);
    *jobs = (kni_optim_jobs){0};
}

kn_status kni_optim_fail(const kni_optim_job *job, const char *function, kn_status code, const char *what)
{
    char text[KNI_FAILURE_TEXT];
    snprintf(text, sizeof text, "%s", kni_failure_taken());
    return kni_failure(code, "%s: %s: %s: %s", function, job->path, what, text);
}

static void shape_text(kn_tensor t, char *text, size_t n)
{
    kn_shape shape = kn_shape_of_tensor(t);
    size_t used = (size_t)snprintf(text, n, "%s [", kn_dtype_name(kn_dtype_of(t)));
    for (int32_t i = 0; i < shape.rank && used < n; i++)
        used += (size_t)snprintf(text + used, n - used, i ? ", %lld" : "%lld", (long long)shape.dims[i]);
    if (used < n) snprintf(text + used, n - used, "]");
}

static kn_status check_gradient(const collection *c, const char *path, kn_tensor value, kn_tensor gradient)
{
    if (!kn_ok(gradient)) {
        char text[KNI_FAILURE_TEXT];
        kni_error_text(gradient, text, sizeof text);
        kn_status s = kn_error_code(gradient);
        return kni_failure(s ? s : KN_ERROR_HANDLE, "%s: the gradient of %s carries an error: %s",
                           c->function, path, text);
    }
    kn_shape a = kn_shape_of_tensor(value), b = kn_shape_of_tensor(gradient);
    bool fits = a.rank == b.rank && kn_dtype_of(value) == kn_dtype_of(gradient);
    for (int32_t i = 0; i < a.rank && fits; i++) fits = a.dims[i] == b.dims[i];
    if (fits) return KN_OK;
    char have[120], want[120];
    shape_text(gradient, have, sizeof have);
    shape_text(value, want, sizeof want);
    return kni_failure(KN_ERROR_SHAPE, "%s: the gradient of %s is %s, the param %s", c->function, path, have,
                       want);
}

static bool reserve(kni_optim_jobs *jobs, size_t path_bytes)
{
    if (jobs->n == jobs->room) {
        int64_t room = jobs->room ? jobs->room * 2 : 32;
        kni_optim_job *at = realloc(jobs->at, (size_t)room * sizeof *at);
        if (!at) return false;
        jobs->at = at;
        jobs->room = room;
    }
    if (jobs->path_bytes + path_bytes > jobs->path_room) {
        size_t room = jobs->path_room * 2 + path_bytes + 1024;
        char *paths = realloc(jobs->paths, room);
        if (!paths) return false;
        jobs->paths = paths;
        jobs->path_room = room;
    }
    return true;
}

/* The owner, its slot and the rate that the param's group gives. */
static kn_status assign_owner(const collection *c, kni_optim_job *job, const char *path)
{
    int64_t own = kni_optim_slot_of(c->optim, kn_value(*job->param), path);
    if (own < 0) return kni_failure_memory(c->function);
    const kni_optim_slot *slot = &c->optim->slots[own];
    const kn_optim_group *group = slot->group < 0 ? NULL : &c->optim->parts[slot->group].group;
    int32_t schedule = group ? group->schedule : 0;
    if (schedule >= c->n_rates)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: the group of %s asks for rate %d; %d given: use kn_optim_step_rates",
                           c->function, path, schedule, c->n_rates);
    job->lr = c->rates[schedule] * (group ? group->lr_scale : 1);
    job->decay = group && group->no_decay ? 0 : 1;
    job->owner = kni_optim_owner(c->optim, slot);
    job->slot = job->owner == c->optim ? own : kni_optim_slot_of(job->owner, kn_value(*job->param), path);
    return job->slot < 0 ? kni_failure_memory(c->function) : KN_OK;
}

static kn_status visit(void *context, const kn_module_entry *entry)
{
    collection *c = context;
    if (entry->buffer || entry->tied) return KN_OK;
    kn_tensor value = kn_value(*entry->param), gradient = kn_grads_get(c->grads, value);
    if (!gradient.bits) return KN_OK;
    kn_status s = check_gradient(c, entry->path, value, gradient);
    if (s) return s;
    size_t bytes = strlen(entry->path) + 1;
    if (!reserve(c->jobs, bytes)) return kni_failure_memory(c->function);
    kni_optim_job job = {.param = entry->param, .gradient = gradient, .scale = KN_NONE, .lr = 0, .decay = 1};
    if (c->optim) s = assign_owner(c, &job, entry->path);
    if (s) return s;
    memcpy(c->jobs->paths + c->jobs->path_bytes, entry->path, bytes);
    c->jobs->path_bytes += bytes;
    c->jobs->at[c->jobs->n++] = job;
    return KN_OK;
}

/* ---- groups */

typedef struct matching {
    const kni_optim_part *part;
    bool found;
} matching;

static kn_status match(void *context, const kn_module_entry *entry)
{
    matching *m = context;
    m->found = m->found ||
               (!entry->buffer && !entry->tied && regexec(&m->part->pattern, entry->path, 0, NULL, 0) == 0);
    return KN_OK;
}

/* At the first step: a pattern with a slip of the pen would change nothing and say nothing. */
static kn_status check_groups(kni_optim *optim, kn_module module, const char *function)
{
    kn_status s = KN_OK;
    for (int32_t i = 0; i < optim->n_parts && s == KN_OK; i++) {
        matching m = {&optim->parts[i], false};
        s = kn_module_visit(module, match, &m);
        if (s == KN_OK && !m.found)
            s = kni_failure(KN_ERROR_ARGUMENT,
                            "%s: the group's pattern '%s' matches no param of the module; kn_module_print "
                            "shows their paths",
                            function, optim->parts[i].text);
    }
    optim->parts_checked = s == KN_OK;
    return s;
}

kn_status kni_optim_collect(kni_optim_jobs *jobs, kni_optim *optim, const double *rates, int32_t n_rates,
                            kn_module module, kn_grads grads, const char *function)
{
    collection c = {jobs, optim, rates, n_rates, grads, function};
    kni_object_use held = kni_object_enter(grads, &kni_kind_grads, function);
    if (!held.object) return KNI_NO_OBJECT(grads);
    kn_status s = optim ? kni_module_filled(module, function) : kni_module_ready(module, function);
    if (s == KN_OK && optim && !optim->parts_checked) s = check_groups(optim, module, function);
    if (s == KN_OK) s = kn_module_visit(module, visit, &c);
    const char *path = jobs->paths;
    for (int64_t i = 0; i < jobs->n; i++) {
        jobs->at[i].path = path;
        path += strlen(path) + 1;
    }
    kni_object_leave(&held);
    return s;
}
