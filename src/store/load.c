/* kn_load: names of a file to params of a module, then values, then all of them set at once. */
#include "store/load.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

static const kn_load_args default_args;

/* ---- matching */

static bool fits(const kni_load_target *t, const kn_shape *offered)
{
    if (t->shape.rank != offered->rank) return false;
    for (int32_t i = 0; i < t->shape.rank; i++) {
        bool part = i == 0 && t->rows;
        if (part ? t->row + t->rows > offered->dims[0] : t->shape.dims[i] != offered->dims[i]) return false;
    }
    return true;
}

bool kni_load_take(kni_load *load, kni_load_target *t, int64_t offer, int64_t row, int64_t rows)
{
    kni_load_offer *o = &load->offers[offer];
    if (t->skipped) return o->ignored = true;
    if (t->offer >= 0) return false;
    t->offer = offer;
    t->row = row;
    t->rows = rows;
    t->mismatched = !fits(t, &o->entry.shape);
    o->used = true;
    return true;
}

static kn_status name_offers(kni_load *load, kni_store *store, const kni_name_rules *rules, bool renumber)
{
    int64_t count = store->count;
    char **names = calloc((size_t)count + 1, sizeof *names);
    load->offers = calloc((size_t)count + 1, sizeof *load->offers);
    kn_status status = names && load->offers ? KN_OK : kni_failure_memory(load->function);
    kni_buffer name = {0};
    for (int64_t i = 0; i < count && !status; i++) {
        kni_load_offer *o = &load->offers[load->offer_count++];
        kni_store_entry_at(store, i, &o->entry);
        o->index = i;
        status = kni_name_rules_rename(rules, o->entry.name, &name);
        size_t length = name.length + 1;
        if (!status && !(names[i] = malloc(length))) status = kni_failure_memory(load->function);
        if (!status) memcpy(names[i], kni_buffer_string(&name), length);
    }
    if (!status && renumber) status = kni_names_renumber(names, count);
    for (int64_t i = 0; names && i < load->offer_count; i++) {
        load->offers[i].name = names[i];
        if (!status && !kni_name_rules_take(rules, names[i])) load->offers[i].ignored = true;
    }
    kni_buffer_free(&name);
    free(names);
    return status;
}

/* Exact names come first, so that an adapter never takes a param from its own tensor. */
static kn_status match(kni_load *load, const kn_load_args *args, const kni_name_rules *rules)
{
    kn_status status = KN_OK;
    for (int64_t i = 0; i < load->target_count; i++)
        load->targets[i].skipped = !kni_name_rules_take(rules, load->targets[i].path);
    for (int64_t i = 0; i < load->offer_count; i++) {
        kni_load_target *t = load->offers[i].ignored ? NULL : kni_load_find(load, load->offers[i].name);
        if (t) kni_load_take(load, t, i, 0, 0);
    }
    if (args->no_adapters) return KN_OK;
    for (int64_t i = 0; i < load->offer_count && !status; i++)
        if (!load->offers[i].used && !load->offers[i].ignored) status = kni_load_adapt(load, i);
    for (int64_t i = 0; i < load->target_count; i++)
        if (load->targets[i].offer < 0 && kni_load_is_counter(load->targets[i].path))
            load->targets[i].skipped = true;
    return status;
}

/* ---- judging */

static kn_status judge(const kni_load *load, const kni_source *source, const kn_load_args *args,
                       const kn_load_report *report)
{
    bool missing = report->missing && !args->allow_missing, unused = report->unused && !args->allow_unused;
    if (!missing && !unused && !report->mismatched) return KN_OK;
    const char *advice = missing && unused ? "; allow_missing and allow_unused permit it"
                         : missing         ? "; allow_missing permits it"
                         : unused          ? "; allow_unused permits it"
                                           : "";
    return kni_failure(report->mismatched ? KN_ERROR_SHAPE : KN_ERROR_ARGUMENT,
                       "%s: %s: %lld missing, %lld unused, %lld mismatched; nothing was changed%s\n%s",
                       load->function, source->name, (long long)report->missing, (long long)report->unused,
                       (long long)report->mismatched, report->mismatched ? "" : advice,
                       report->text ? report->text : "");
}

/* ---- values */

static kn_tensor read_target(const kni_load *load, const kni_load_target *t, kni_store *store)
{
    int64_t index = load->offers[t->offer].index;
    kn_tensor value =
        t->rows ? kni_store_rows(store, index, t->row, t->rows) : kni_store_tensor(store, index);
    return kni_load_convert(t, value);
}

static kn_status read_values(kni_load *load, kni_store *store)
{
    kn_status status = KN_OK;
    kn_no_grad_begin();
    for (int64_t i = 0; i < load->target_count && !status; i++) {
        kni_load_target *t = &load->targets[i];
        if (t->skipped || t->offer < 0) continue;
        kn_scope scope = kn_scope_begin();
        t->value = kn_own(kn_scope_end(scope, read_target(load, t, store)));
        status = kni_failure_of(t->value);
    }
    kn_no_grad_end();
    return status;
}

static kn_status check_arguments(kn_module module, const char *function)
{
    if (module.self && module.type) return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT, "%s: the module is NULL", function);
}

static kn_status load_from(kni_load *load, kn_module module, kni_store *store, const kn_load_args *args,
                           kn_load_report *report)
{
    kni_name_rules rules;
    kn_status status =
        kni_name_rules_make(&rules, load->function, args->include, args->exclude, args->renames);
    if (!status) status = kni_store_check_version(store);
    if (!status) status = kni_load_targets(load, module);
    if (!status) status = name_offers(load, store, &rules, args->renumber);
    if (!status) status = match(load, args, &rules);
    if (!status) status = kni_load_report(load, report);
    if (!status) status = judge(load, store->source, args, report);
    if (!status) status = read_values(load, store);
    if (!status) status = kni_load_apply(load);
    kni_name_rules_free(&rules);
    return status;
}

static kn_status load_store(kn_module module, kni_store *store, const kn_load_args *args,
                            kn_load_report *report, const char *function)
{
    kni_load load = {.function = function};
    kn_load_report own = {0, 0, 0, 0, NULL};
    kn_status status = load_from(&load, module, store, args ? args : &default_args, report ? report : &own);
    if (status && report) report->applied = 0;
    kn_load_report_free(&own);
    kni_load_free(&load);
    return status;
}

/* The report is good to free whatever comes after. */
static kn_status begin(kn_module module, const char *function, kn_load_report *report)
{
    if (report) *report = (kn_load_report){0, 0, 0, 0, NULL};
    return check_arguments(module, function);
}

kn_status kn_load_store(kn_module module, kn_store handle, const kn_load_args *args, kn_load_report *report)
{
    kn_status status = begin(module, __func__, report);
    if (status) return status;
    KNI_USE(store, store, handle);
    return store ? load_store(module, store, args, report, __func__) : KNI_NO_OBJECT(handle);
}

static kn_status load_and_close(kn_module module, kni_store *store, const kn_load_args *args,
                                kn_load_report *report, const char *function)
{
    if (!store) return KN_ERROR_IO;
    kn_status status = load_store(module, store, args, report, function);
    kni_store_close(store);
    return status;
}

kn_status kn_load(kn_module module, const char *path, const kn_load_args *args, kn_load_report *report)
{
    KNI_NAMED;
    kn_status status = begin(module, "kn_load", report);
    if (status) return status;
    return load_and_close(module, kni_store_open(path, args ? &args->store : NULL, __func__), args, report,
                          __func__);
}

kn_status kn_load_memory(kn_module module, const void *data, size_t bytes, const kn_load_args *args,
                         kn_load_report *report)
{
    KNI_NAMED;
    kn_status status = begin(module, "kn_load_memory", report);
    if (status) return status;
    return load_and_close(module, kni_store_open_memory(data, bytes, args ? &args->store : NULL, __func__),
                          args, report, __func__);
}

/* ---- states */

static kn_status read_state(kni_load *load, kn_state state, const char *prefix)
{
    for (int64_t i = 0; i < load->target_count; i++) {
        kni_load_target *t = &load->targets[i];
        kn_tensor value = kn_state_get(state, prefix, t->path);
        /* The other path of a tied param has no entry of its own. */
        if (!value.bits) continue;
        kn_shape shape = kn_shape_of_tensor(value);
        t->offer = 0;
        if (!fits(t, &shape))
            return kni_failure(KN_ERROR_SHAPE, "kn_module_load: '%s%s' has another shape in the state",
                               prefix, t->path);
        t->value = kn_own(kni_load_convert(t, kn_alias(value)));
        kn_status status = kni_failure_of(t->value);
        if (status) return status;
    }
    return KN_OK;
}

static kn_status check_complete(const kni_load *load, const char *prefix)
{
    for (int64_t i = 0; i < load->target_count; i++) {
        if (!kni_load_fills(load, &load->targets[i]))
            return kni_failure(KN_ERROR_ARGUMENT, "kn_module_load: the state has no '%s%s'", prefix,
                               load->targets[i].path);
    }
    return KN_OK;
}

kn_status kn_module_load(kn_module module, kn_state state, const char *prefix)
{
    kni_load load = {.function = "kn_module_load"};
    kn_status status = check_arguments(module, load.function);
    if (status) return status;
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    if (!prefix) prefix = "";
    kn_no_grad_begin();
    status = kni_load_targets(&load, module);
    if (!status) status = read_state(&load, state, prefix);
    if (!status) status = check_complete(&load, prefix);
    if (!status) status = kni_load_apply(&load);
    kn_no_grad_end();
    kni_load_free(&load);
    return status;
}
