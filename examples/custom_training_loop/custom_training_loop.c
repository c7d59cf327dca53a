/* A training loop without the learner: the forward pass, the loss, the gradients and the optimiser's step are all written
   out. It fits a small network to two interleaved spirals and draws what it learned. */
#include "common/example.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/optim.h>

enum { POINTS = 400, HIDDEN = 32, COLUMNS = 64, ROWS = 28 };

typedef struct Net {
    kn_nn_linear in, middle, out;
} Net;
static const kn_module_type Net_type = {"Net", sizeof(Net),
                                        (const kn_field[]){KN_MODULE(Net, in, kn_nn_linear),
                                                           KN_MODULE(Net, middle, kn_nn_linear),
                                                           KN_MODULE(Net, out, kn_nn_linear),
                                                           {0}}};

static kn_status net_init(Net *net)
{
    kn_status s = kn_nn_linear_init(&net->in, 2, HIDDEN, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&net->middle, HIDDEN, HIDDEN, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&net->out, HIDDEN, 2, NULL);
    return s;
}

static kn_tensor net_forward(const Net *net, kn_tensor x)
{
    x = kn_tanh(kn_nn_linear_forward(&net->in, kn_mul_scalar(x, 3)));
    x = kn_tanh(kn_nn_linear_forward(&net->middle, x));
    return kn_nn_linear_forward(&net->out, x);
}

/* Half of the points on each arm, with a little noise; arm 0 is labelled 0. Kiln computes them itself. */
static kn_dataset make_spirals(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor radius = kn_keep(kn_linspace(0.08, 1, POINTS / 2, KN_F32));
    kn_tensor angle = kn_keep(kn_mul_scalar(radius, 9.5));
    kn_tensor x = kn_mul(radius, kn_cos(angle)), y = kn_mul(radius, kn_sin(angle));
    kn_tensor arm = kn_keep(kn_stack((kn_tensor[]){x, y}, 2, 1));
    kn_tensor both = kn_concat((kn_tensor[]){arm, kn_neg(arm)}, 2, 0);
    kn_tensor points = kn_add(both, kn_random_normal(KN_SHAPE(POINTS, 2), 0, 0.012, KN_F32));
    kn_tensor labels = kn_concat(
        (kn_tensor[]){kn_zeros(KN_SHAPE(POINTS / 2), KN_I64), kn_ones(KN_SHAPE(POINTS / 2), KN_I64)}, 2, 0);
    kn_dataset spirals = kn_dataset_tensors((kn_tensor[]){points, labels}, 2);
    kn_scope_end(scope, KN_NONE);
    return spirals;
}

/* One step on one batch. The scope frees every tensor that is made on the way. */
static kn_status train_step(Net *net, kn_optim optim, double lr, const kn_sample *batch, double *loss_value)
{
    kn_scope scope = kn_scope_begin();
    kn_grads grads = NULL;
    kn_tensor loss = kn_keep(kn_cross_entropy(net_forward(net, batch->fields[0]), batch->fields[1], NULL));
    kn_status s = kn_backward(loss, &grads);
    if (s == KN_OK) s = kn_optim_step(optim, lr, KN_MODULE_OF(Net, net), grads);
    if (s == KN_OK) *loss_value = kn_item(loss);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

/* One pass over the data; *loss becomes the mean over its batches. */
static kn_status train_epoch(Net *net, kn_optim optim, kn_schedule schedule, kn_loader loader, int64_t epoch,
                             double *loss)
{
    kn_sample batch = {0};
    double sum = 0;
    kn_status s = kn_loader_epoch(loader, epoch);
    while (s == KN_OK && (s = kn_loader_next(loader, &batch)) == KN_OK && batch.n) {
        double value = 0;
        s = train_step(net, optim, kn_schedule_next(schedule), &batch, &value);
        sum += value;
        kn_sample_drop(&batch);
    }
    *loss = sum / (double)kn_loader_length(loader);
    return s;
}

/* The part of all points that the network gets right; no tape is recorded meanwhile. */
static double accuracy(const Net *net, kn_dataset data)
{
    int64_t all[POINTS];
    for (int64_t i = 0; i < POINTS; i++) all[i] = i;
    kn_sample batch = {0};
    if (kn_dataset_get_many(data, all, POINTS, NULL, &batch)) return 0;
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_tensor answers = kn_argmax(net_forward(net, batch.fields[0]), 1, false);
    double part = kn_item(kn_mean(kn_cast(kn_equal(answers, batch.fields[1]), KN_F32), KN_AXES_ALL, false));
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    kn_sample_drop(&batch);
    return part;
}

/* Where the network says "arm 1", as dots. */
static bool draw(const Net *net)
{
    static float grid[ROWS * COLUMNS][2];
    static int64_t answers[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        grid[i][0] = (float)(i % COLUMNS) / (COLUMNS - 1) * 2.4f - 1.2f;
        grid[i][1] = 1.2f - (float)(i / COLUMNS) / (ROWS - 1) * 2.4f;
    }
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_tensor scores = net_forward(net, kn_from(grid, KN_F32, KN_SHAPE(ROWS * COLUMNS, 2)));
    kn_status s = kn_read(kn_argmax(scores, 1, false), answers, sizeof answers);
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    for (int i = 0; i < ROWS * COLUMNS && s == KN_OK; i++)
        printf("%c%s", answers[i] ? '#' : '.', (i + 1) % COLUMNS ? "" : "\n");
    return s == KN_OK;
}

int main(int argc, char **argv)
{
    int64_t epochs = 150, seed = 7;
    const Option options[] = {{"--epochs", "passes over the data", .integer = &epochs},
                              {"--seed", "of everything random", .integer = &seed},
                              {0}};
    if (!options_read(argc, argv, options) || !example_begin("autodiff(cpu)", seed)) return EXIT_FAILURE;

    Net net = {0};
    kn_dataset spirals = make_spirals();
    kn_loader loader = kn_loader_make(
        spirals, &(kn_loader_args){.batch_size = 100, .shuffle = true, .seed = (uint64_t)seed});
    kn_optim optim = kn_optim_adam(NULL);
    kn_schedule schedule = kn_schedule_cosine(0.02, 0.0005, epochs * POINTS / 100, false);
    bool good = loader && optim && schedule && net_init(&net) == KN_OK;
    for (int64_t epoch = 0; epoch < epochs && good; epoch++) {
        double loss = 0;
        good = train_epoch(&net, optim, schedule, loader, epoch, &loss) == KN_OK;
        if (good && (epoch % 25 == 24 || epoch + 1 == epochs))
            printf("epoch %3lld   loss %.4f   accuracy %5.1f %%\n", (long long)(epoch + 1), loss,
                   100 * accuracy(&net, spirals));
    }
    good = good && draw(&net);

    kn_schedule_free(schedule);
    kn_optim_free(optim);
    kn_loader_free(loader);
    kn_dataset_free(spirals);
    kn_module_drop(KN_MODULE_OF(Net, &net));
    return example_end(good);
}
