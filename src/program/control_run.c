/* If, loops and calls. A region's values are its own; what it gives is handed on as further handles. */
#include "core/allocator.h"
#include "core/error.h"
#include "program/run_state.h"
#include <kn/creation.h>
#include <kn/indexing.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <string.h>

static kn_status read_condition(const kni_run *run, int32_t value, bool *holds)
{
    return kn_read(run->now[value], holds, 1);
}

/* The size has this value from now on. */
static kn_status bind_size(kni_run *run, kn_dim symbol, int64_t size)
{
    int64_t low = kni_dim_low(symbol), high = kni_dim_high(symbol);
    int32_t at = 0;
    if (size < low || size > high)
        return kni_fail_op(KN_ERROR_SHAPE, "size", "%s is %D with these inputs; it may be %D to %D",
                           kni_dim_name(symbol), size, low, high);
    while (at < run->n_sizes && run->symbols[at] != symbol) at++;
    if (at == KNI_RUN_SIZES) return kni_fail_op(KN_ERROR_UNSUPPORTED, "size", "too many sizes");
    run->symbols[at] = symbol;
    run->sizes[at] = size;
    run->told[at] = run->axes[at] = -1;
    if (at == run->n_sizes) run->n_sizes++;
    return KN_OK;
}

/* A handle of its own for a value that another region, or the outside, also holds. */
static kn_status hand_on(kni_run *run, int32_t from, int32_t to)
{
    kn_tensor t = kn_keep(kn_alias(run->now[from]));
    if (kni_is_poisoned(t)) return kni_latest_code();
    run->now[to] = t;
    return KN_OK;
}

/* Ends what a region that has run still holds of its own: arguments and results. */
static void end_region(kni_run *run, int32_t region)
{
    const kni_program_region *r = &run->p->regions[region];
    kni_run_drop_read(run, region, INT32_MAX, r->results, r->n_results);
    kni_run_drop_read(run, region, INT32_MAX, r->arguments, r->n_arguments);
}

static kn_status give(kni_run *run, const kni_program_node *n, int32_t region)
{
    const kni_program_region *r = &run->p->regions[region];
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n->n_out && s == KN_OK; i++)
        s = hand_on(run, r->results[i], kni_node_out(run->p, n)[i]);
    end_region(run, region);
    return s;
}

/* Sizes that the regions give differently are those of what came. */
static kn_status bind_chosen(kni_run *run, const kni_program_node *n)
{
    const kni_program *p = run->p;
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n->n_out; i++) {
        int32_t v = kni_node_out(p, n)[i];
        for (int32_t a = 0; a < p->values[v].type.rank && s == KN_OK; a++)
            if (kni_binds_axis(p, n, i, a))
                s = bind_size(run, p->values[v].type.dims[a], kn_size(run->now[v], a));
    }
    return s;
}

static kn_status run_if(kni_run *run, const kni_program_node *n)
{
    bool holds = false;
    kn_status s = read_condition(run, kni_node_in(run->p, n)[0], &holds);
    int32_t region = n->regions[holds ? 0 : 1];
    if (s == KN_OK) s = kni_run_region(run, region);
    if (s == KN_OK) s = give(run, n, region);
    return s ? s : bind_chosen(run, n);
}

static kn_status run_call(kni_run *run, const kni_program_node *n)
{
    const kni_program_region *f = &run->p->regions[n->regions[0]];
    kn_status s = KN_OK;
    for (int32_t i = 0; i < n->n_in && s == KN_OK; i++)
        s = hand_on(run, kni_node_in(run->p, n)[i], f->arguments[i]);
    if (s == KN_OK) s = kni_run_region(run, n->regions[0]);
    return s ? s : give(run, n, n->regions[0]);
}

/* ---- loops */

typedef struct looping {
    kni_run *run;
    const kni_program_node *n;
    const kni_program_region *body;
    const int32_t *in, *out;
    int64_t trips;   /* INT64_MAX: as many as the condition says */
    int64_t made;    /* that were run */
    kn_tensor *rows; /* what is stacked: of trip t those from t * n_stacked on */
    int64_t n_rows, room;
} looping;

static kn_tensor slice_of(kn_tensor x, int64_t trip) { return kn_select(x, 0, trip); }

/* What the body sees in a trip; carried values are there already. */
static kn_status set_arguments(looping *l, int64_t trip)
{
    const kni_loop *loop = &l->n->loop;
    kn_tensor *now = l->run->now;
    const int32_t *arguments = l->body->arguments;
    kn_tensor number = kn_keep(kn_scalar_int(trip, KN_I64));
    if (kni_is_poisoned(number)) return kni_latest_code();
    now[arguments[0]] = number;
    for (int32_t i = 0; i < loop->n_sliced; i++) {
        kn_tensor part = kn_keep(slice_of(now[l->in[loop->conditional + loop->n_carried + i]], trip));
        if (kni_is_poisoned(part)) return kni_latest_code();
        now[arguments[1 + loop->n_carried + i]] = part;
    }
    return KN_OK;
}

/* Room grows with the trips that were made, not with those that a file speaks of. */
static bool rows_have_room(looping *l, int64_t more)
{
    if (l->n_rows + more <= l->room) return true;
    int64_t room = 2 * l->room > 64 + more ? 2 * l->room : 64 + more;
    kn_tensor *rows = kni_allocate((size_t)room * sizeof *rows);
    if (!rows) return false;
    if (l->rows) memcpy(rows, l->rows, (size_t)l->n_rows * sizeof *rows);
    kni_free(l->rows, (size_t)l->room * sizeof *rows);
    l->rows = rows;
    l->room = room;
    return true;
}

static kn_status no_memory(void) { return kni_fail_op(KN_ERROR_MEMORY, "loop", "no memory for the stacks"); }

static kn_status keep_rows(looping *l)
{
    const kni_loop *loop = &l->n->loop;
    if (!rows_have_room(l, loop->n_stacked)) return no_memory();
    for (int32_t i = 0; i < loop->n_stacked; i++) {
        int32_t v = l->body->results[loop->conditional + loop->n_carried + i];
        kn_tensor row = kn_keep(kn_unsqueeze(l->run->now[v], 0));
        if (kni_is_poisoned(row)) return kni_latest_code();
        l->rows[l->n_rows++] = row;
    }
    return KN_OK;
}

/* Results of the body become arguments of its next trip; several may be one value. */
static kn_status carry_on(looping *l)
{
    const kni_loop *loop = &l->n->loop;
    kn_tensor next[KNI_PROGRAM_VALUES];
    for (int32_t i = 0; i < loop->n_carried; i++) {
        next[i] = kn_keep(kn_alias(l->run->now[l->body->results[loop->conditional + i]]));
        if (kni_is_poisoned(next[i])) return kni_latest_code();
    }
    end_region(l->run, l->n->regions[0]);
    for (int32_t i = 0; i < loop->n_carried; i++) l->run->now[l->body->arguments[1 + i]] = next[i];
    return KN_OK;
}

static kn_status run_trips(looping *l, bool holds)
{
    const kni_loop *loop = &l->n->loop;
    int64_t limit = l->trips < INT64_MAX ? l->trips : loop->max_trips;
    kn_status s = KN_OK;
    for (int64_t trip = 0; holds && s == KN_OK; trip++) {
        if (trip == limit && l->trips < INT64_MAX) break;
        if (trip == limit)
            return kni_fail_op(KN_ERROR_UNSUPPORTED, "loop", "the condition still holds after %D trips",
                               limit);
        s = set_arguments(l, trip);
        if (s == KN_OK) s = kni_run_region(l->run, l->n->regions[0]);
        if (s == KN_OK && loop->n_stacked) s = keep_rows(l);
        if (s == KN_OK && loop->conditional) s = read_condition(l->run, l->body->results[0], &holds);
        if (s == KN_OK) s = carry_on(l);
        l->made = trip + 1;
    }
    return s;
}

static kn_tensor stack_rows(const looping *l, int32_t i)
{
    const kni_type *t = &l->run->p->values[l->out[l->n->loop.n_carried + i]].type;
    kn_shape shape = {t->rank, {0}};
    for (int a = 0; a < t->rank; a++) shape.dims[a] = kni_run_size(l->run, t->dims[a]);
    if (l->made == 0) return kn_zeros(shape, (kn_dtype)t->dtype);
    size_t bytes = (size_t)l->made * sizeof(kn_tensor);
    kn_tensor *list = kni_allocate(bytes);
    if (!list) return no_memory(), kni_poison_latest();
    for (int64_t trip = 0; trip < l->made; trip++) list[trip] = l->rows[trip * l->n->loop.n_stacked + i];
    kn_tensor y = kn_concat(list, (int32_t)l->made, 0);
    kni_free(list, bytes);
    return y;
}

static kn_status give_loop(looping *l)
{
    const kni_loop *loop = &l->n->loop;
    kn_tensor *now = l->run->now;
    for (int32_t i = 0; i < loop->n_carried; i++) {
        now[l->out[i]] = now[l->body->arguments[1 + i]];
        now[l->body->arguments[1 + i]] = KN_NONE;
    }
    if (loop->n_stacked && kni_binds_sizes(l->run->p, l->n)) {
        int32_t first = l->out[loop->n_carried];
        kn_status s = bind_size(l->run, l->run->p->values[first].type.dims[0], l->made);
        if (s) return s;
    }
    for (int32_t i = 0; i < loop->n_stacked; i++) {
        kn_tensor y = kn_keep(stack_rows(l, i));
        if (kni_is_poisoned(y)) return kni_latest_code();
        now[l->out[loop->n_carried + i]] = y;
    }
    return KN_OK;
}

/* What is cut has a slice for each trip. */
static kn_status check_slices(const looping *l)
{
    const kni_loop *loop = &l->n->loop;
    char told[200] = "";
    for (int32_t i = 0; i < loop->n_sliced; i++) {
        int64_t slices = kn_size(l->run->now[l->in[loop->conditional + loop->n_carried + i]], 0);
        if (slices != l->trips && loop->trips != KNI_DIM_BAD)
            kni_run_tell(l->run, loop->trips, &(kni_text){told, sizeof told, 0});
        if (slices != l->trips)
            return kni_fail_op(KN_ERROR_SHAPE, "loop",
                               "the value that it cuts as number %d has %D slices along axis 0 with these "
                               "inputs, and there are %D trips%s",
                               (int)i, slices, l->trips, told);
    }
    return KN_OK;
}

static kn_status bad_trips(const kni_run *run, const kni_loop *loop)
{
    char told[200] = "";
    kni_run_tell(run, loop->trips, &(kni_text){told, sizeof told, 0});
    return kni_fail_op(KN_ERROR_SHAPE, "loop",
                       "the number of trips is unknown or above 2^31 with these inputs%s", told);
}

static kn_status run_loop(kni_run *run, const kni_program_node *n)
{
    const kni_loop *loop = &n->loop;
    looping l = {run,
                 n,
                 &run->p->regions[n->regions[0]],
                 kni_node_in(run->p, n),
                 kni_node_out(run->p, n),
                 INT64_MAX,
                 0,
                 NULL,
                 0,
                 0};
    bool holds = true;
    kn_status s = loop->conditional ? read_condition(run, l.in[0], &holds) : KN_OK;
    if (loop->trips != KNI_DIM_BAD) l.trips = kni_run_size(run, loop->trips);
    if (s == KN_OK && (l.trips < 0 || (l.trips < INT64_MAX && l.trips > INT32_MAX)))
        return bad_trips(run, loop);
    if (s == KN_OK) s = check_slices(&l);
    for (int32_t i = 0; i < loop->n_carried && s == KN_OK; i++)
        s = hand_on(run, l.in[loop->conditional + i], l.body->arguments[1 + i]);
    if (s == KN_OK) s = run_trips(&l, holds);
    if (s == KN_OK) s = give_loop(&l);
    for (int64_t i = 0; i < l.n_rows; i++) kn_drop(l.rows[i]);
    kni_free(l.rows, (size_t)l.room * sizeof *l.rows);
    return s;
}

/* ---- sizes that are values */

static kn_status run_size(kni_run *run, const kni_program_node *n)
{
    int64_t size = 0;
    kn_status s = kn_read_as(run->now[kni_node_in(run->p, n)[0]], KN_I64, &size, sizeof size);
    return s ? s : bind_size(run, n->size, size);
}

kn_status kni_run_control(kni_run *run, const kni_program_node *n)
{
    return n->kind == KNI_NODE_IF     ? run_if(run, n)
           : n->kind == KNI_NODE_LOOP ? run_loop(run, n)
           : n->kind == KNI_NODE_SIZE ? run_size(run, n)
                                      : run_call(run, n);
}
