/* Functions that store a tensor they are given: they take a temporary and share any other, so that the caller's tensor and the
   stored one end independently. One table of them all; each fact is checked for every row. */
#include "support/check.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/state.h>

typedef struct holder {
    kn_param leaf, param;
    kn_grads grads;
    kn_state state;
    kn_sample sample;
    kn_dataset dataset;
} holder;

static kn_tensor pair(float a, float b) { return kn_from((float[]){a, b}, KN_F32, KN_SHAPE(2)); }

/* ---- the table */

static kn_status make_param(holder *h, kn_tensor t)
{
    kn_param made = kn_param_make(t);
    if (h->param.handle.bits) kn_param_drop(&h->param);
    h->param = made;
    return kn_ok(made.handle) ? KN_OK : kn_error_code(made.handle);
}

static kn_status set_param(holder *h, kn_tensor t)
{
    if (!h->param.handle.bits) h->param = kn_param_make(pair(0, 0));
    return kn_param_set(&h->param, t);
}

static kn_status put_state(holder *h, kn_tensor t)
{
    if (!h->state) h->state = kn_state_make();
    return kn_state_put(h->state, "a.", "b", t);
}

static kn_status make_grads(holder *h, kn_tensor t)
{
    kn_tensor leaf = kn_value(h->leaf);
    kn_grads made = kn_grads_make(&leaf, &t, 1);
    if (h->grads) kn_grads_free(h->grads);
    h->grads = made;
    return made ? KN_OK : KN_ERROR_ARGUMENT;
}

static kn_status replace_grads(holder *h, kn_tensor t)
{
    if (!h->grads && make_grads(h, pair(0, 0)) != KN_OK) return KN_ERROR_ARGUMENT;
    return kn_grads_replace(h->grads, kn_value(h->leaf), t);
}

static kn_status add_to_sample(holder *h, kn_tensor t) { return kn_sample_add(&h->sample, t); }

static kn_status replace_in_sample(holder *h, kn_tensor t)
{
    kn_status s = h->sample.n ? KN_OK : kn_sample_add(&h->sample, pair(0, 0));
    return s ? s : kn_sample_replace(&h->sample, 0, t);
}

static kn_status make_dataset(holder *h, kn_tensor t)
{
    kn_dataset made = kn_dataset_tensors(&t, 1);
    if (h->dataset) kn_dataset_free(h->dataset);
    h->dataset = made;
    return made ? KN_OK : KN_ERROR_ARGUMENT;
}

static kn_tensor from_param(holder *h) { return kn_value(h->param); }
static kn_tensor from_state(holder *h) { return kn_state_get(h->state, "a.", "b"); }
static kn_tensor from_grads(holder *h) { return kn_grads_get(h->grads, kn_value(h->leaf)); }
static kn_tensor from_sample(holder *h) { return h->sample.fields[h->sample.n - 1]; }
static kn_tensor from_dataset(holder *h)
{
    kn_sample first, second;
    if (kn_dataset_get(h->dataset, 0, &first) || kn_dataset_get(h->dataset, 1, &second)) return KN_NONE;
    kn_tensor rows = kn_stack((const kn_tensor[]){first.fields[0], second.fields[0]}, 2, 0);
    kn_sample_drop(&first);
    kn_sample_drop(&second);
    return rows;
}

static const struct {
    const char *name;
    kn_status (*put)(holder *h, kn_tensor t);
    kn_tensor (*get)(holder *h);
} rows[] = {{"kn_param_make", make_param, from_param},
            {"kn_param_set", set_param, from_param},
            {"kn_state_put", put_state, from_state},
            {"kn_grads_make", make_grads, from_grads},
            {"kn_grads_replace", replace_grads, from_grads},
            {"kn_sample_add", add_to_sample, from_sample},
            {"kn_sample_replace", replace_in_sample, from_sample},
            {"kn_dataset_tensors", make_dataset, from_dataset}};
enum { ROWS = sizeof rows / sizeof *rows };

static holder begin(void) { return (holder){.leaf = kn_param_make(pair(5, 6))}; }

static void end(holder *h)
{
    if (h->grads) kn_grads_free(h->grads);
    if (h->state) kn_state_free(h->state);
    if (h->dataset) kn_dataset_free(h->dataset);
    kn_sample_drop(&h->sample);
    kn_param_drop(&h->param);
    kn_param_drop(&h->leaf);
}

static bool holds(kn_tensor t, float a, float b)
{
    float got[2] = {0};
    return kn_ok(t) && kn_read(t, got, sizeof got) == KN_OK && got[0] == a && got[1] == b;
}

#define ROW_CHECK(r, fact)                                                                                   \
    do {                                                                                                     \
        if (!(fact)) printf("%s:\n", rows[r].name);                                                          \
        CHECK(fact);                                                                                         \
    } while (0)

/* ---- facts */

static void the_callers_tensor_survives_the_holder(int r, bool owned)
{
    holder h = begin();
    kn_tensor mine = owned ? kn_own(pair(1, 2)) : kn_keep(pair(1, 2));
    ROW_CHECK(r, rows[r].put(&h, mine) == KN_OK);
    ROW_CHECK(r, holds(rows[r].get(&h), 1, 2));
    end(&h);
    ROW_CHECK(r, holds(mine, 1, 2));
    kn_drop(mine);
}

static void the_stored_tensor_survives_the_callers(int r, bool owned)
{
    holder h = begin();
    kn_scope scope = kn_scope_begin();
    kn_tensor mine = owned ? kn_own(pair(1, 2)) : kn_keep(pair(1, 2));
    ROW_CHECK(r, rows[r].put(&h, mine) == KN_OK);
    if (owned) kn_drop(mine);
    kn_scope_end(scope, KN_NONE);
    ROW_CHECK(r, !kn_ok(mine));
    kn_scope reading = kn_scope_begin();
    ROW_CHECK(r, holds(rows[r].get(&h), 1, 2));
    kn_scope_end(reading, KN_NONE);
    end(&h);
}

static void temporaries_are_taken(int r)
{
    holder h = begin();
    int64_t before = kn_memory_stats().tensors_now;
    ROW_CHECK(r, rows[r].put(&h, pair(1, 2)) == KN_OK);
    kn_scope reading = kn_scope_begin();
    ROW_CHECK(r, holds(rows[r].get(&h), 1, 2));
    kn_scope_end(reading, KN_NONE);
    end(&h);
    ROW_CHECK(r, kn_memory_stats().tensors_now == before - 1); /* the leaf */
}

static void what_is_stored_can_be_stored_again(int r)
{
    int64_t before = kn_memory_stats().tensors_now;
    kn_scope scope = kn_scope_begin();
    holder h = begin();
    ROW_CHECK(r, rows[r].put(&h, pair(1, 2)) == KN_OK);
    ROW_CHECK(r, rows[r].put(&h, rows[r].get(&h)) == KN_OK);
    ROW_CHECK(r, holds(rows[r].get(&h), 1, 2));
    end(&h);
    kn_scope_end(scope, KN_NONE);
    ROW_CHECK(r, kn_memory_stats().tensors_now == before);
}

static void the_value_of_a_param_stays_the_params(int r)
{
    holder h = begin();
    kn_param p = kn_param_make(pair(1, 2));
    ROW_CHECK(r, rows[r].put(&h, kn_value(p)) == KN_OK);
    end(&h);
    ROW_CHECK(r, holds(kn_value(p), 1, 2) && kn_is_param(kn_value(p)));
    kn_param_drop(&p);
}

static void dropped_tensors_are_refused(int r)
{
    holder h = begin();
    kn_tensor mine = kn_own(pair(1, 2));
    kn_drop(mine);
    ROW_CHECK(r, rows[r].put(&h, mine) != KN_OK);
    ROW_CHECK(r, rows[r].put(&h, kn_poison(KN_ERROR_IO, "broken on purpose")) != KN_OK);
    ROW_CHECK(r, strstr(kn_last_error(), "broken on purpose") != NULL);
    end(&h);
}

/* A value fails while it waits in a queue: before it is stored, or after; a tensor, or what a param was to become. Nothing is left
   of it. */
static void values_that_fail_late_leave_nothing(int r)
{
    kn_device before = kn_device_current();
    kn_device_use(kn_device_open("autodiff(fusion(cpu))"));
    for (int way = 0; way < 8; way++) {
        bool known = way & 1, of_param = way & 2, kept = way & 4;
        int64_t alive = kn_memory_stats().tensors_now;
        kn_scope scope = kn_scope_begin();
        holder h = begin();
        kn_param p = kn_param_make(pair(3, 4));
        kn_tensor late = kn_gather(pair(1, 2), 0, kn_from((int64_t[]){0, 77}, KN_I64, KN_SHAPE(2)));
        if (of_param)
            CHECK(kn_sgd_update(&p, late, NULL, &(kn_sgd_update_args){.lr = 0.1}) == KN_OK);
        else if (kept)
            kn_keep(late);
        if (known) CHECK(kn_sync(kn_device_current()) != KN_OK);
        (void)!rows[r].put(&h,
                           of_param ? kn_value(p) : late); /* it may be stored, and fail when it is used */
        end(&h);
        kn_param_drop(&p);
        kn_scope_end(scope, KN_NONE);
        (void)!kn_sync(kn_device_current());
        ROW_CHECK(r, kn_memory_stats().tensors_now == alive);
    }
    kn_device_use(before);
}

/* ---- what is special */

static void a_sample_drops_each_field_once(void)
{
    kn_sample s = {0};
    CHECK(kn_sample_add(&s, pair(1, 2)) == KN_OK);
    CHECK(kn_sample_add(&s, s.fields[0]) == KN_OK);
    CHECK(kn_sample_add(&s, pair(3, 4)) == KN_OK);
    CHECK(s.fields[0].bits != s.fields[1].bits);
    CHECK(kn_sample_replace(&s, 2, s.fields[0]) == KN_OK);
    kn_drop(s.fields[0]);
    s.fields[0] = KN_NONE;
    CHECK(holds(s.fields[1], 1, 2) && holds(s.fields[2], 1, 2));
    kn_sample_drop(&s);
}

static void refused_fields_stay_the_callers(void)
{
    kn_sample s = {0};
    kn_tensor mine = kn_own(pair(1, 2));
    for (int i = 0; i < KN_SAMPLE_FIELDS; i++) CHECK(kn_sample_add(&s, pair(1, 2)) == KN_OK);
    CHECK_ERROR(kn_sample_add(&s, mine), "at most");
    CHECK_ERROR(kn_sample_add(NULL, mine), "NULL");
    CHECK_ERROR(kn_sample_replace(&s, 99, mine), "field 99");
    CHECK(holds(mine, 1, 2));
    int64_t before = kn_memory_stats().tensors_now;
    CHECK_ERROR(kn_sample_replace(&s, 99, pair(1, 2)), "field 99");
    CHECK(kn_memory_stats().tensors_now == before);
    kn_sample_drop(&s);
    kn_drop(mine);
}

/* The list takes its samples over, whoever owned their fields. */
static void a_list_takes_samples_over(void)
{
    int64_t before = kn_memory_stats().tensors_now;
    kn_sample samples[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) CHECK(kn_sample_add(&samples[i], pair(1, 2)) == KN_OK);
    kn_dataset list = kn_dataset_list(samples, 2);
    CHECK(kn_memory_stats().tensors_now == before + 2);
    kn_dataset_free(list);
    CHECK(kn_memory_stats().tensors_now == before);
    kn_sample twice = {0};
    CHECK(kn_sample_add(&twice, pair(1, 2)) == KN_OK);
    CHECK(!kn_dataset_list((const kn_sample[]){twice, twice}, 2));
    CHECK(kn_memory_stats().tensors_now == before);
}

static void gradients_are_named(void)
{
    kn_param p[2] = {kn_param_make(pair(1, 2)), kn_param_make(pair(1, 2))};
    kn_tensor leaves[2] = {kn_value(p[0]), kn_value(p[1])}, same[2] = {leaves[0], leaves[0]};
    kn_tensor mine = kn_own(pair(3, 4)), bad[2] = {mine, KN_NONE};
    CHECK(!kn_grads_make(same, (const kn_tensor[]){mine, mine}, 2));
    CHECK(strstr(kn_last_error(), "leaf 1 is leaf 0 again"));
    CHECK(!kn_grads_make(leaves, bad, 2));
    CHECK(strstr(kn_last_error(), "the gradient of leaf 1 is KN_NONE"));
    bad[1] = kn_poison(KN_ERROR_IO, "broken on purpose");
    CHECK(!kn_grads_make(leaves, bad, 2));
    CHECK(strstr(kn_last_error(), "the gradient of leaf 1 carries an error: broken on purpose"));
    kn_grads both = kn_grads_make(leaves, (const kn_tensor[]){mine, mine}, 2);
    CHECK(holds(kn_grads_get(both, leaves[0]), 3, 4) && holds(kn_grads_get(both, leaves[1]), 3, 4));
    CHECK_ERROR(kn_grads_replace(both, leaves[0], KN_NONE), "the gradient is KN_NONE");
    CHECK_ERROR(kn_grads_replace(both, leaves[0], bad[1]), "carries an error: broken on purpose");
    kn_tensor first = kn_grads_get(both, leaves[0]);
    CHECK(kn_grads_replace(both, leaves[0], first) == KN_OK && holds(first, 3, 4));
    CHECK(kn_grads_replace(both, leaves[1], first) == KN_OK);
    kn_grads_free(both);
    CHECK(holds(mine, 3, 4));
    kn_drop(mine);
    for (int i = 0; i < 2; i++) kn_param_drop(&p[i]);
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    int64_t before = kn_memory_stats().tensors_now;
    kn_scope scope = kn_scope_begin();
    for (int r = 0; r < ROWS; r++) {
        for (int owned = 0; owned < 2; owned++) {
            the_callers_tensor_survives_the_holder(r, owned);
            the_stored_tensor_survives_the_callers(r, owned);
        }
        temporaries_are_taken(r);
        what_is_stored_can_be_stored_again(r);
        the_value_of_a_param_stays_the_params(r);
        dropped_tensors_are_refused(r);
        values_that_fail_late_leave_nothing(r);
    }
    a_sample_drops_each_field_once();
    refused_fields_stay_the_callers();
    a_list_takes_samples_over();
    gradients_are_named();
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_memory_stats().tensors_now == before);
    return check_report();
}
