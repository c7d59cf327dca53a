/* Handles of data sets, loaders, metrics, renderers and learners that are no good; objects that hold others. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "test_objects.h"
#include "test_train_run.h"

static kn_state good_state;
static kn_dataset good_dataset;
static kn_loader good_loader;

static kn_dataset make_dataset(void)
{
    return kn_dataset_fake(12, &(kn_fake_field){.dtype = KN_F32, .shape = KN_SHAPE(2)}, 1, 7);
}

static kn_loader make_loader(void)
{
    return kn_loader_make(good_dataset, &(kn_loader_args){.batch_size = 3});
}

static kn_status keep_sample(void *context, const kn_sample_key *key, kn_sample *sample)
{
    (void)context, (void)key, (void)sample;
    return KN_OK;
}

/* ---- every use of a kind */

static void use_dataset(kn_dataset h, const char *words)
{
    kn_sample sample;
    int64_t index = 0;
    kn_dataset out[2];
    USE_NULL(kn_dataset_retain, h);
    USE(kn_dataset_kind, h);
    USE(kn_dataset_length, h);
    USE_STATUS(kn_dataset_get, h, 0, &sample);
    USE_STATUS(kn_dataset_get_keyed, h, 0, NULL, &sample);
    USE_STATUS(kn_dataset_get_many, h, &index, 1, NULL, &sample);
    USE_NULL(kn_dataset_name_at, h, 0);
    USE_NULL(kn_dataset_map, h, keep_sample, NULL);
    USE_NULL(kn_dataset_map_many, h, keep_sample, NULL, NULL, NULL);
    USE_NULL(kn_dataset_compose, &h, 1);
    USE_NULL(kn_dataset_slice, h, 0, 1);
    USE_NULL(kn_dataset_partial, h, 0, 1); /* the old name */
    USE_NULL(kn_dataset_chunk, h, 0, 2);
    USE_STATUS(kn_dataset_split, h, (const double[]){0.5, 0.5}, 2, out);
    USE_NULL(kn_dataset_shuffle, h, 1);
    USE_NULL(kn_dataset_select, h, &index, 1);
    USE_NULL(kn_dataset_sample, h, NULL);
    USE_NULL(kn_dataset_window, h, 2, 1);
    USE_NULL(kn_dataset_augment, h, &(kn_augment_args){.flip_vertical = 0.5});
    USE_NULL(kn_dataset_normalise, h, NULL, NULL, 1);
    USE_NULL(kn_dataset_cache, h);
    USE(kn_table_category, h, 0, 0);
    USE(kn_table_category_count, h, 0);
    USE_STATUS(kn_dataset_write_sqlite, h, "/dev/null", "t");
    USE_NULL(kn_loader_make, h, NULL);
}

static void use_loader(kn_loader h, const char *words)
{
    int64_t epoch, batch;
    kn_sample sample;
    USE(kn_loader_length, h);
    USE(kn_loader_samples, h);
    USE_STATUS(kn_loader_epoch, h, 1);
    USE_STATUS(kn_loader_seek, h, 0, 1);
    USE(kn_loader_position, h, &epoch, &batch);
    USE_STATUS(kn_loader_next, h, &sample);
    USE_NULL(kn_loader_slice, h, 0, 1);
    USE_NULL(kn_loader_split, h, 0, 2, NULL);
    USE_STATUS(kn_loader_save, h, good_state, "");
    USE_STATUS(kn_loader_load, h, good_state, "");
}

static void use_metric(kn_metric h, const char *words)
{
    double value, mean;
    char text[20];
    kn_step_output output = {.items = 1};
    USE(kn_metric_name, h);
    USE(kn_metric_higher_is_better, h);
    USE_STATUS(kn_metric_update, h, &output, NULL, &value, &mean);
    USE(kn_metric_reset, h);
    USE(kn_metric_value, h);
    USE(kn_metric_format, h, 0.5, text, sizeof text);
    USE_STATUS(kn_metric_save, h, good_state, "");
    USE_STATUS(kn_metric_load, h, good_state, "");
}

static void use_of_states(kn_state h, const char *words)
{
    kn_metric metric = kn_metric_loss();
    USE_STATUS(kn_loader_save, good_loader, h, "");
    USE_STATUS(kn_loader_load, good_loader, h, "");
    USE_STATUS(kn_metric_save, metric, h, "");
    USE_STATUS(kn_metric_load, metric, h, "");
    kn_metric_free(metric);
}

static void use_learner(kn_learner h, const char *words)
{
    bool resumed;
    char text[20];
    USE_STATUS(kn_learner_add_metric, h, kn_metric_loss());
    USE_STATUS(kn_learner_add_metric_to, h, kn_metric_loss(), KN_SPLIT_TRAIN);
    USE_STATUS(kn_learner_add_renderer, h, kn_renderer_plain());
    USE_STATUS(kn_learner_set_checkpoints, h, &(kn_checkpoint_policy){0});
    USE_STATUS(kn_learner_resume, h, &resumed);
    USE_STATUS(kn_learner_load, h, "x");
    USE_STATUS(kn_learner_load_best, h);
    USE_STATUS(kn_learner_save, h);
    USE_STATUS(kn_learner_set_early_stopping, h, &(kn_early_stopping){0});
    USE_STATUS(kn_learner_fit, h);
    USE(kn_learner_ended, h);
    USE_STATUS(kn_learner_evaluate, h, good_loader);
    USE(kn_learner_value, h, KN_SPLIT_TRAIN, "loss");
    USE(kn_learner_step_count, h);
    USE(kn_learner_epoch_count, h);
    USE(kn_learner_summary, h, text, sizeof text);
    kn_learner_interrupt(h); /* notes no line, as a signal handler may call it */
    CHECK(strstr(kn_last_error(), "kn_learner_interrupt: ") && strstr(kn_last_error(), words));
}

/* ---- a learner of a run that is made by hand, so that its parts can end before it */

static Net net;
static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    (void)context;
    output->loss = kn_mean(kn_square(kn_nn_linear_forward(&net.in, batch->fields[0])), KN_AXES_ALL, false);
    return KN_OK;
}

static kn_learner_args arguments(kn_optim optim, kn_loader train)
{
    return (kn_learner_args){.model = KN_MODULE_OF(Net, &net),
                             .optim = optim,
                             .lr = 0.1,
                             .train = train,
                             .epochs = 1,
                             .train_step = step,
                             .valid_step = step};
}

static kn_learner learner_of(kn_optim optim, kn_loader train)
{
    kn_learner_args args = arguments(optim, train);
    return kn_learner_make(&args);
}

static kn_optim good_optim;
static kn_learner make_learner(void) { return learner_of(good_optim, good_loader); }

/* What takes learners' objects: the learner's own arguments, metrics and renderers. */
static void use_in_a_learner(void *bad, const char *words)
{
    kn_learner learner = make_learner();
    kn_learner_args args = arguments(good_optim, good_loader);
    if (bad) {
        args.optim = bad;
        USE_NULL(kn_learner_make, &args);
        args = arguments(good_optim, bad);
        USE_NULL(kn_learner_make, &args);
    }
    USE_STATUS(kn_learner_add_metric, learner, bad);
    USE_STATUS(kn_learner_add_metric_to, learner, bad, KN_SPLIT_VALID);
    USE_STATUS(kn_learner_add_renderer, learner, bad);
    USE_STATUS(kn_learner_evaluate, learner, bad);
    kn_learner_free(learner);
}

static void renderers(void)
{
    static const kn_renderer_type type = {.name = "none"};
    kn_renderer r = kn_renderer_make(&type, NULL);
    kn_renderer_free(r);
    kn_renderer_free(r);
    check_told("kn_renderer_free", "the renderer was freed at ", __FILE__, __LINE__ - 1);
    kn_renderer_free((kn_renderer)(void *)good_state);
    check_told("kn_renderer_free", "this is a kn_state, not a kn_renderer", __FILE__, __LINE__ - 1);
    kn_learner learner = make_learner();
    CHECK_ERROR(kn_learner_add_renderer(learner, r), "kn_learner_add_renderer: the renderer was freed at ");
    kn_learner_free(learner);
}

static void a_view_outlives_its_base(void)
{
    kn_dataset base = make_dataset(), view = kn_dataset_shuffle(base, 3);
    kn_loader loader = kn_loader_make(view, &(kn_loader_args){.batch_size = 4, .workers = 2});
    kn_dataset_free(base);
    CHECK(kn_dataset_length(base) == -1 &&
          strstr(kn_last_error(), "kn_dataset_length: the data set was freed"));
    kn_dataset_free(base); /* takes nothing from the view */
    kn_dataset_free(base);
    kn_sample sample;
    CHECK(kn_dataset_get(view, 11, &sample) == KN_OK);
    kn_sample_drop(&sample);
    kn_dataset_free(view);
    kn_dataset_free(view);
    int64_t batches = 0;
    while (kn_loader_next(loader, &sample) == KN_OK && sample.n) batches++, kn_sample_drop(&sample);
    CHECK(batches == 3);
    kn_loader_free(loader);
}

static void references_are_counted(void)
{
    kn_dataset d = make_dataset();
    CHECK(kn_dataset_retain(d) == d);
    kn_dataset_free(d);
    CHECK(kn_dataset_length(d) == 12);
    kn_dataset_free(d);
    CHECK(kn_dataset_length(d) == -1);
}

static void a_learner_hears_of_its_parts_end(void)
{
    kn_optim optim = kn_optim_sgd(NULL);
    kn_learner learner = learner_of(optim, good_loader);
    CHECK(kn_learner_fit(learner) == KN_OK);
    kn_optim_free(optim);
    CHECK_ERROR(kn_learner_fit(learner), "kn_learner_fit: the optimiser was freed at ");
    kn_learner_free(learner);
    kn_loader loader = make_loader();
    learner = learner_of(good_optim, loader);
    kn_loader_free(loader);
    CHECK_ERROR(kn_learner_fit(learner), "kn_learner_fit: the loader was freed at ");
    kn_learner_free(learner);
}

static void metrics_belong_to_their_learner(void)
{
    kn_learner learner = make_learner(), other = make_learner();
    kn_metric metric = kn_metric_grad_norm();
    CHECK(kn_learner_add_metric(learner, metric) == KN_OK);
    CHECK_ERROR(kn_learner_add_metric(other, metric), "the metric belongs to a kn_learner already");
    kn_metric_free(metric);
    CHECK(strstr(kn_last_error(), "kn_metric_free: the metric belongs to a kn_learner, which frees it"));
    CHECK(!strcmp(kn_metric_name(metric), "grad_norm"));
    kn_learner_free(learner);
    CHECK(!*kn_metric_name(metric));
    CHECK(strstr(kn_last_error(), "kn_metric_name: the metric was freed by kn_learner_free at "));
    kn_learner_free(other);
}

static kn_learner running;
static kn_status free_the_learner(void *context, const kn_sample *batch, kn_step_output *output)
{
    kn_learner_free(running);
    return step(context, batch, output);
}

/* The fit ends as it would have; the learner goes with it. */
static void freed_by_its_own_step(void)
{
    kn_learner_args args = arguments(good_optim, good_loader);
    args.train_step = free_the_learner;
    running = kn_learner_make(&args);
    CHECK(kn_learner_fit(running) == KN_OK);
    CHECK_ERROR(kn_learner_fit(running), "kn_learner_fit: the learner was freed at ");
}

static _Atomic(kn_loader) collating;
static kn_status free_the_loader(void *context, const kn_sample *samples, int64_t n, kn_sample *batch)
{
    (void)context, (void)n;
    kn_loader_free(collating);
    return kn_sample_add(batch, kn_alias(samples[0].fields[0]));
}

static void a_loader_freed_by_its_collation(void)
{
    for (int workers = 0; workers < 2; workers++) {
        kn_sample sample;
        collating = kn_loader_make(
            good_dataset,
            &(kn_loader_args){.batch_size = 3, .workers = workers, .collate_function = free_the_loader});
        if (workers) kn_loader_free(collating);
        if (!workers) CHECK(kn_loader_next(collating, &sample) == KN_OK);
        if (!workers) kn_sample_drop(&sample);
        CHECK_ERROR(kn_loader_next(collating, &sample), "kn_loader_next: the loader was freed at ");
    }
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    CHECK(kn_nn_linear_init(&net.in, 2, 2, NULL) == KN_OK &&
          kn_nn_linear_init(&net.out, 2, 2, NULL) == KN_OK);
    CHECK(kn_nn_dropout_init(&net.dropout, 0.5, NULL) == KN_OK);
    good_state = kn_state_make();
    good_dataset = make_dataset();
    good_loader = make_loader();
    good_optim = kn_optim_sgd(NULL);
    TRY_ALL_BUT_NULL(kn_dataset, use_dataset, make_dataset(), kn_dataset_free, "data set", "freed",
                     good_state, "kn_state");
    TRY_ALL_BUT_NULL(kn_loader, use_loader, make_loader(), kn_loader_free, "loader", "freed", good_state,
                     "kn_state");
    TRY_ALL_BUT_NULL(kn_metric, use_metric, kn_metric_loss(), kn_metric_free, "metric", "freed", good_state,
                     "kn_state");
    TRY_ALL_BUT_NULL(kn_learner, use_learner, make_learner(), kn_learner_free, "learner", "freed", good_state,
                     "kn_state");
    TRY_ALL_BUT_NULL(kn_state, use_of_states, kn_state_make(), kn_state_free, "state", "freed", good_optim,
                     "kn_optim");
    use_in_a_learner(good_state, "this is a kn_state, not a kn_");
    use_in_a_learner(NULL, " is NULL: it is missing, or could not be made");
    renderers();
    a_view_outlives_its_base();
    references_are_counted();
    a_learner_hears_of_its_parts_end();
    metrics_belong_to_their_learner();
    freed_by_its_own_step();
    a_loader_freed_by_its_collation();
    kn_loader_free(good_loader);
    kn_dataset_free(good_dataset);
    kn_optim_free(good_optim);
    kn_state_free(good_state);
    kn_module_drop(KN_MODULE_OF(Net, &net));
    return check_report();
}
