/* A renderer of one's own: it hears of everything that happens in a run and shows it in its own way, here one line for each
   epoch with a bar of the validation loss, and it ends the run when it has seen enough. */
#include "common/example.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/train.h>

enum { SAMPLES = 512, INPUTS = 8, WIDEST = 50 };

/* ---- the renderer: a struct for what it must remember, and a table of functions */

typedef struct Bars {
    double first_loss; /* of the first epoch: the full width */
    double goal;       /* of the validation loss */
    double speed;      /* samples in a second */
    bool reached;
} Bars;

static kn_status bars_start(void *self, const kn_run_info *info)
{
    (void)self;
    printf("%s: %lld params on %s, %lld epochs at most\n", info->name, (long long)info->params, info->device,
           (long long)info->epochs);
    return KN_OK;
}

/* Called for each number of each step, and with epoch_end for the value of a whole epoch. */
static void bars_metric(void *self, const kn_metric_event *event)
{
    Bars *bars = self;
    if (!event->epoch_end || event->split != KN_SPLIT_VALID || strcmp(event->metric, "loss") != 0) return;
    if (bars->first_loss == 0) bars->first_loss = event->value;
    int width = (int)(event->value / bars->first_loss * WIDEST);
    if (width > WIDEST) width = WIDEST;
    printf("epoch %2lld %-*.*s %s  (%.0f samples/s)\n", (long long)event->epoch, WIDEST, width,
           "==================================================", event->text, bars->speed);
    bars->reached = event->value < bars->goal;
}

/* Called after each batch. */
static void bars_progress(void *self, const kn_progress_event *event)
{
    Bars *bars = self;
    if (event->split == KN_SPLIT_TRAIN) bars->speed = event->items_per_second;
}

static void bars_message(void *self, kn_run_split split, const char *text)
{
    (void)self, (void)split;
    printf("note: %s\n", text);
}

/* Asked after each batch whether the run should go on. */
static kn_renderer_answer bars_poll(void *self)
{
    return ((Bars *)self)->reached ? KN_RENDERER_STOP : KN_RENDERER_GO_ON;
}

static void bars_finish(void *self, kn_run_end end, const char *summary)
{
    static const char *const ends[] = {"all epochs done", "stopped early", "stopped: the goal is reached",
                                       "failed"};
    (void)self, (void)summary;
    printf("%s\n", ends[end]);
}

static const kn_renderer_type bars_type = {.name = "bars",
                                           .start = bars_start,
                                           .metric = bars_metric,
                                           .progress = bars_progress,
                                           .message = bars_message,
                                           .poll = bars_poll,
                                           .finish = bars_finish,
                                           .close = free};

/* NULL with kn_last_error(); it belongs to the learner that it is added to. */
static kn_renderer bars_make(double goal)
{
    Bars *bars = calloc(1, sizeof *bars);
    if (!bars) return NULL;
    bars->goal = goal;
    return kn_renderer_make(&bars_type, bars);
}

/* ---- something to watch: y = sin(sum of x), learned by a small network */

typedef struct Net {
    kn_nn_linear in, out;
} Net;
static const kn_module_type Net_type = {
    "Net", sizeof(Net),
    (const kn_field[]){KN_MODULE(Net, in, kn_nn_linear), KN_MODULE(Net, out, kn_nn_linear), {0}}};

static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    const Net *net = context;
    kn_tensor h = kn_tanh(kn_nn_linear_forward(&net->in, batch->fields[0]));
    output->scores = kn_keep(kn_squeeze(kn_nn_linear_forward(&net->out, h), 1));
    output->targets = batch->fields[1];
    output->loss = kn_mse_loss(output->scores, output->targets, KN_REDUCTION_MEAN);
    return KN_OK;
}

static kn_loader make_loader(bool training)
{
    kn_tensor x = kn_keep(kn_random_uniform(KN_SHAPE(SAMPLES, INPUTS), -0.5, 0.5, KN_F32));
    kn_tensor y = kn_sin(kn_sum(x, KN_AXES(1), false));
    kn_dataset data = kn_dataset_tensors((kn_tensor[]){x, y}, 2);
    kn_loader loader = kn_loader_make(data, &(kn_loader_args){.batch_size = 32, .shuffle = training});
    kn_dataset_free(data);
    return loader;
}

int main(int argc, char **argv)
{
    int64_t epochs = 40, seed = 1;
    double goal = 0.005;
    const Option options[] = {{"--epochs", "passes over the data at most", .integer = &epochs},
                              {"--goal", "validation loss to stop at", .real = &goal},
                              {"--seed", "of everything random", .integer = &seed},
                              {0}};
    if (!options_read(argc, argv, options) || !example_begin("autodiff(cpu)", seed)) return EXIT_FAILURE;

    Net net = {0};
    kn_scope scope = kn_scope_begin();
    kn_loader train = make_loader(true), valid = make_loader(false);
    kn_scope_end(scope, KN_NONE);
    kn_optim optim = kn_optim_adam(NULL);
    bool good = kn_nn_linear_init(&net.in, INPUTS, 32, NULL) == KN_OK &&
                kn_nn_linear_init(&net.out, 32, 1, NULL) == KN_OK;
    kn_learner learner = kn_learner_make(&(kn_learner_args){.model = KN_MODULE_OF(Net, &net),
                                                            .optim = optim,
                                                            .lr = 0.01,
                                                            .train = train,
                                                            .valid = valid,
                                                            .train_step = step,
                                                            .valid_step = step,
                                                            .context = &net,
                                                            .epochs = epochs,
                                                            .name = "sine"});
    good = good && learner && kn_learner_add_renderer(learner, bars_make(goal)) == KN_OK &&
           kn_learner_fit(learner) == KN_OK;
    kn_learner_free(learner);
    kn_optim_free(optim);
    kn_loader_free(train);
    kn_loader_free(valid);
    kn_module_drop(KN_MODULE_OF(Net, &net));
    return example_end(good);
}
