/* The regions of a program that is being built: If, loops, functions; and its end. */
#include "core/allocator.h"
#include "core/error.h"
#include "program/build_state.h"
#include <string.h>

enum { MOST = KNI_BUILDER_VALUES };

static kn_status begin(kni_builder *b, kni_builder_frame frame, const char *name)
{
    if (b->n_frames == KNI_BUILDER_DEPTH)
        return kni_fail(KN_ERROR_UNSUPPORTED, "regions are nested deeper than %d", KNI_BUILDER_DEPTH);
    bool function = frame.node.kind == KNI_NODE_CALL;
    int32_t region = kni_build_region(b->p, function ? -1 : b->region, name);
    if (region < 0) return KN_ERROR_MEMORY;
    frame.region = b->region;
    frame.node.regions[0] = region;
    frame.node.regions[1] = -1;
    b->frames[b->n_frames++] = frame;
    b->region = region;
    return KN_OK;
}

/* The arguments of the region that ops are added to now, as the caller sees them. */
static void give_arguments(const kni_builder *b, kn_program_value *inside)
{
    const kni_program_region *r = &b->p->regions[b->region];
    for (int32_t i = 0; i < r->n_arguments; i++) inside[i].id = r->arguments[i] + 1;
}

/* Values of the caller's as numbers; false, with the failure told, where one is none. */
static bool take(const kni_builder *b, const kn_program_value *values, int32_t n, int32_t *numbers,
                 const char *what)
{
    if (n < 0 || n > MOST || (n && !values)) {
        kni_fail(KN_ERROR_ARGUMENT, "the list of %d %s is missing or longer than %d", n, what, (int)MOST);
        return false;
    }
    for (int32_t i = 0; i < n; i++) {
        numbers[i] = values[i].id - 1;
        if (numbers[i] >= 0 && numbers[i] < b->p->n_values) continue;
        kni_fail(KN_ERROR_ARGUMENT, "number %d of the %s is no value of this builder", i, what);
        return false;
    }
    return true;
}

/* The results of the region that ops are added to now, which then is full. */
static kn_status set_results(kni_builder *b, const kn_program_value *results, int32_t n)
{
    int32_t numbers[MOST];
    if (!take(b, results, n, numbers, "results")) return KN_ERROR_ARGUMENT;
    return kni_build_results(b->p, b->region, numbers, n);
}

/* ---- If */

kn_status kn_builder_if(kn_builder builder, kn_program_value condition)
{
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return KN_ERROR_ARGUMENT;
    kni_builder_frame f = {.node = {.kind = KNI_NODE_IF}, .n_in = 1};
    kn_status s = take(b, &condition, 1, f.in, "conditions") ? KN_OK : KN_ERROR_ARGUMENT;
    return kni_builder_noted(b, s ? s : begin(b, f, NULL));
}

kn_status kn_builder_else(kn_builder builder, const kn_program_value *results, int32_t n)
{
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return KN_ERROR_ARGUMENT;
    kni_builder_frame *f = b->n_frames ? &b->frames[b->n_frames - 1] : NULL;
    if (!f || f->node.kind != KNI_NODE_IF || f->node.regions[1] >= 0)
        return kni_builder_noted(b, kni_fail(KN_ERROR_ARGUMENT, "no If is open here that has no else yet"));
    kn_status s = set_results(b, results, n);
    int32_t region = s ? -1 : kni_build_region(b->p, f->region, NULL);
    if (region < 0) return kni_builder_noted(b, s ? s : KN_ERROR_MEMORY);
    f->node.regions[1] = region;
    b->region = region;
    return KN_OK;
}

/* ---- loops */

static kn_status read_loop(kni_builder *b, const kn_loop_args *a, kni_builder_frame *f)
{
    kni_loop *l = &f->node.loop;
    *l = (kni_loop){.trips = KNI_DIM_BAD, .max_trips = a->max_trips, .conditional = a->condition.id != 0};
    l->n_carried = a->n_carried;
    l->n_sliced = a->n_sliced;
    if (a->n_carried < 0 || a->n_sliced < 0 || a->n_carried > MOST || a->n_sliced > MOST ||
        1 + a->n_carried + a->n_sliced > MOST)
        return kni_fail(KN_ERROR_ARGUMENT, "a loop carries and cuts at most %d values", MOST - 1);
    if (a->trips) {
        kni_dims *before = kni_dims_enter(b->p->dims);
        const char *at = a->trips;
        l->trips = kni_dim_parse(&at);
        bool good = l->trips != KNI_DIM_BAD && !*at;
        kni_dims_enter(before);
        if (!good) return kni_fail(KN_ERROR_ARGUMENT, "'%s' is no number of trips", a->trips);
    }
    bool good = !l->conditional || take(b, &a->condition, 1, f->in, "conditions");
    f->n_in = l->conditional;
    good = good && take(b, a->carried, a->n_carried, f->in + f->n_in, "carried values");
    f->n_in += a->n_carried;
    good = good && take(b, a->sliced, a->n_sliced, f->in + f->n_in, "values to cut");
    f->n_in += a->n_sliced;
    return good ? KN_OK : KN_ERROR_ARGUMENT;
}

kn_status kn_builder_loop(kn_builder builder, const kn_loop_args *args, kn_program_value *inside)
{
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return KN_ERROR_ARGUMENT;
    kni_builder_frame f = {.node = {.kind = KNI_NODE_LOOP}};
    kn_status s =
        args && inside ? read_loop(b, args, &f) : kni_fail(KN_ERROR_ARGUMENT, "args or inside is NULL");
    if (s == KN_OK) s = begin(b, f, NULL);
    if (s == KN_OK) s = kni_build_loop(b->p, b->region, &f.node.loop, f.in, f.n_in);
    if (s == KN_OK) give_arguments(b, inside);
    return kni_builder_noted(b, s);
}

/* ---- functions */

static int32_t find_function(const kni_program *p, const char *name)
{
    for (int32_t i = 1; i < p->n_regions && name; i++)
        if (p->regions[i].name >= 0 && !strcmp(kni_name_at(p, p->regions[i].name), name)) return i;
    return -1;
}

kn_status kn_builder_function(kn_builder builder, const char *name, const kn_program_value *like, int32_t n,
                              kn_program_value *inside)
{
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return KN_ERROR_ARGUMENT;
    kni_builder_frame f = {.node = {.kind = KNI_NODE_CALL}};
    kn_status s = KN_OK;
    if (!name || !*name || find_function(b->p, name) >= 0 || b->n_frames || (n && !inside))
        s = kni_fail(KN_ERROR_ARGUMENT,
                     b->n_frames ? "a function stands in no other region%s"
                                 : "a function needs a name that no other one has: '%s'",
                     b->n_frames ? ""
                     : name      ? name
                                 : "");
    else if (!take(b, like, n, f.in, "values that arguments are like"))
        s = KN_ERROR_ARGUMENT;
    if (s == KN_OK) s = begin(b, f, name);
    for (int32_t i = 0; i < n && s == KN_OK; i++) {
        kni_type t = b->p->values[f.in[i]].type;
        if (kni_build_argument(b->p, b->region, &t) < 0) s = KN_ERROR_MEMORY;
    }
    if (s == KN_OK) give_arguments(b, inside);
    return kni_builder_noted(b, s);
}

kn_status kn_builder_call(kn_builder builder, const char *name, const kn_program_value *in, int32_t n_in,
                          kn_program_value *out, int32_t n_out)
{
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return KN_ERROR_ARGUMENT;
    kni_program_node node = {.kind = KNI_NODE_CALL, .regions = {find_function(b->p, name), -1}};
    int32_t operands[MOST], results[MOST];
    kn_status s = KN_OK;
    bool open = false;
    for (int i = 0; i < b->n_frames; i++) open |= b->frames[i].node.regions[0] == node.regions[0];
    if (node.regions[0] < 0 || open || n_out < 0 || n_out > MOST || (n_out && !out))
        s = kni_fail(KN_ERROR_ARGUMENT,
                     open ? "'%s' calls itself"
                          : "no function is called '%s', or there is no room for results",
                     name ? name : "(null)");
    else if (!take(b, in, n_in, operands, "operands"))
        s = KN_ERROR_ARGUMENT;
    if (s == KN_OK) s = kni_build_control(b->p, b->region, &node, operands, n_in, results, n_out);
    for (int32_t i = 0; i < n_out && s == KN_OK; i++) out[i].id = results[i] + 1;
    return kni_builder_noted(b, s);
}

/* ---- ends */

static kn_status end(kni_builder *b, const kn_program_value *results, int32_t n, kn_program_value *out,
                     int32_t n_out)
{
    if (!b->n_frames) return kni_fail(KN_ERROR_ARGUMENT, "no If, loop or function is open");
    kni_builder_frame *f = &b->frames[b->n_frames - 1];
    if (f->node.kind == KNI_NODE_IF && f->node.regions[1] < 0)
        return kni_fail(KN_ERROR_ARGUMENT, "the If has no else yet: call kn_builder_else first");
    kn_status s = set_results(b, results, n);
    if (s) return s;
    b->n_frames--;
    b->region = f->region;
    if (f->node.kind == KNI_NODE_CALL) return KN_OK;
    int32_t gives = n;
    if (f->node.kind == KNI_NODE_LOOP) {
        gives -= f->node.loop.conditional;
        f->node.loop.n_stacked = gives - f->node.loop.n_carried;
        if (f->node.loop.n_stacked < 0)
            return kni_fail(KN_ERROR_ARGUMENT, "the loop's body gives %d values and carries %d", gives,
                            f->node.loop.n_carried);
    }
    int32_t numbers[MOST];
    if (n_out != gives || (n_out && !out))
        return kni_fail(KN_ERROR_ARGUMENT, "room for %d results given; there are %d", n_out, gives);
    s = kni_build_control(b->p, b->region, &f->node, f->in, f->n_in, numbers, n_out);
    for (int32_t i = 0; i < n_out && s == KN_OK; i++) out[i].id = numbers[i] + 1;
    return s;
}

kn_status kn_builder_end(kn_builder builder, const kn_program_value *results, int32_t n,
                         kn_program_value *out, int32_t n_out)
{
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return KN_ERROR_ARGUMENT;
    return kni_builder_noted(b, end(b, results, n, out, n_out));
}

static kn_status finish(kni_builder *b, const kn_program_value *outputs, const char *const *names, int32_t n)
{
    if (b->n_frames) return kni_fail(KN_ERROR_ARGUMENT, "an If, a loop or a function is open: end it first");
    kni_program *p = b->p;
    kn_status s = set_results(b, outputs, n);
    if (s) return s;
    p->output_names = kni_allocate((size_t)n * sizeof *p->output_names);
    if (!p->output_names) return kni_fail(KN_ERROR_MEMORY, "no memory for the outputs");
    p->n_outputs = n;
    for (int32_t i = 0; i < n; i++) {
        p->output_names[i] = names && names[i] ? kni_program_name(p, names[i]) : -1;
        if (names && names[i] && p->output_names[i] < 0)
            return kni_fail(KN_ERROR_MEMORY, "no memory for the names");
    }
    kni_program_settle(p);
    return kni_program_check_sizes(p);
}

kn_program kn_builder_finish(kn_builder builder, const kn_program_value *outputs, const char *const *names,
                             int32_t n)
{
    KNI_USE(builder, b, builder);
    if (!b || !kni_builder_goes_on(b) || kni_builder_noted(b, finish(b, outputs, names, n))) return NULL;
    kni_program *p = b->p;
    b->p = NULL;
    return kni_object_make(&kni_kind_program, p, __func__);
}
