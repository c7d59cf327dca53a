/* Predicts prices of houses from a CSV file: numbers, a column of words, values that must be scaled before a network can
   learn from them. */
#include "common/example.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/train.h>

enum { NUMBERS = 4, MOST_DISTRICTS = 16, DISTRICT = 4, SHOWN = 6 };

typedef struct Net {
    kn_nn_embedding district; /* each district gets a vector of its own */
    kn_nn_linear in, out;
    /* Means and deviations of the training data: saved with the model, never trained. */
    kn_param mean, deviation, price_mean, price_deviation;
} Net;
static const kn_module_type Net_type = {"Net", sizeof(Net),
                                        (const kn_field[]){KN_MODULE(Net, district, kn_nn_embedding),
                                                           KN_MODULE(Net, in, kn_nn_linear),
                                                           KN_MODULE(Net, out, kn_nn_linear),
                                                           KN_BUFFER(Net, mean),
                                                           KN_BUFFER(Net, deviation),
                                                           KN_BUFFER(Net, price_mean),
                                                           KN_BUFFER(Net, price_deviation),
                                                           {0}}};

/* Mean and standard deviation of one field over a whole data set, for each column of it. */
static kn_status measure(kn_dataset data, int32_t field, kn_param *mean, kn_param *deviation)
{
    int64_t n = kn_dataset_length(data);
    int64_t *all = calloc((size_t)n, sizeof *all);
    kn_sample rows = {0};
    for (int64_t i = 0; all && i < n; i++) all[i] = i;
    kn_status s = all ? kn_dataset_get_many(data, all, n, NULL, &rows) : KN_ERROR_MEMORY;
    free(all);
    if (s) return s;
    *mean = kn_param_make(kn_mean(rows.fields[field], KN_AXES(0), false));
    *deviation = kn_param_make(kn_std(rows.fields[field], KN_AXES(0), false, NULL));
    kn_param_freeze(mean, true);
    kn_param_freeze(deviation, true);
    kn_sample_drop(&rows);
    return kn_ok(kn_value(*mean)) && kn_ok(kn_value(*deviation)) ? KN_OK : KN_ERROR_ARGUMENT;
}

static kn_status net_init(Net *net, kn_dataset train)
{
    kn_status s = kn_nn_embedding_init(&net->district, MOST_DISTRICTS, 4, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&net->in, NUMBERS + 4, 64, NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&net->out, 64, 1, NULL);
    if (s == KN_OK) s = measure(train, 0, &net->mean, &net->deviation);
    if (s == KN_OK) s = measure(train, 2, &net->price_mean, &net->price_deviation);
    return s;
}

/* numbers [batch, 4], districts [batch] -> scaled prices [batch]. */
static kn_tensor net_forward(const Net *net, kn_tensor numbers, kn_tensor districts)
{
    kn_tensor x = kn_div(kn_sub(numbers, kn_value(net->mean)), kn_value(net->deviation));
    x = kn_concat((kn_tensor[]){x, kn_nn_embedding_forward(&net->district, districts)}, 2, 1);
    x = kn_silu(kn_nn_linear_forward(&net->in, x));
    return kn_squeeze(kn_nn_linear_forward(&net->out, x), 1);
}

static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    const Net *net = context;
    kn_tensor prices = kn_sub(batch->fields[2], kn_value(net->price_mean));
    output->targets = kn_keep(kn_div(prices, kn_value(net->price_deviation)));
    output->scores = kn_keep(net_forward(net, batch->fields[0], batch->fields[1]));
    output->loss = kn_mse_loss(output->scores, output->targets, KN_REDUCTION_MEAN);
    return KN_OK;
}

/* The first four columns become one vector, the district a number, the price a number. */
static kn_dataset read_houses(const char *path)
{
    const kn_column columns[] = {{.name = "area", .kind = KN_COLUMN_REAL},
                                 {.name = "rooms", .kind = KN_COLUMN_REAL, .join = true},
                                 {.name = "age", .kind = KN_COLUMN_REAL, .join = true},
                                 {.name = "distance", .kind = KN_COLUMN_REAL, .join = true},
                                 {.name = "district", .kind = KN_COLUMN_CATEGORY},
                                 {.name = "price", .kind = KN_COLUMN_REAL}};
    return kn_dataset_csv(path, &(kn_table_args){.columns = columns, .n_columns = 6});
}

/* Some rows of the held-out part with the network's answers. */
static bool show(const Net *net, kn_dataset houses, kn_dataset held_out)
{
    const int64_t rows[SHOWN] = {0, 1, 2, 3, 4, 5};
    float numbers[SHOWN][NUMBERS], real[SHOWN], guessed[SHOWN];
    int64_t districts[SHOWN];
    kn_sample batch = {0};
    if (kn_dataset_get_many(held_out, rows, SHOWN, NULL, &batch)) return false;
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_tensor prices = net_forward(net, batch.fields[0], batch.fields[1]);
    prices = kn_add(kn_mul(prices, kn_value(net->price_deviation)), kn_value(net->price_mean));
    bool good = kn_read(prices, guessed, sizeof guessed) == KN_OK &&
                kn_read(batch.fields[0], numbers, sizeof numbers) == KN_OK &&
                kn_read(batch.fields[1], districts, sizeof districts) == KN_OK &&
                kn_read(batch.fields[2], real, sizeof real) == KN_OK;
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    kn_sample_drop(&batch);
    for (int i = 0; i < SHOWN && good; i++)
        printf("%6.1f m2, %g rooms, %3g years, %4.1f km, %-9s  price %5.1f, guessed %5.1f\n",
               (double)numbers[i][0], (double)numbers[i][1], (double)numbers[i][2], (double)numbers[i][3],
               kn_table_category(houses, DISTRICT, districts[i]), (double)real[i], (double)guessed[i]);
    return good;
}

int main(int argc, char **argv)
{
    const char *path = "examples/csv_regression/houses.csv";
    int64_t epochs = 60, seed = 1;
    const Option options[] = {{"--data", "the CSV file", .text = &path},
                              {"--epochs", "passes over the data", .integer = &epochs},
                              {"--seed", "of everything random", .integer = &seed},
                              {0}};
    if (!options_read(argc, argv, options) || !example_begin("autodiff(cpu)", seed)) return EXIT_FAILURE;

    Net net = {0};
    kn_dataset houses = read_houses(path), mixed = kn_dataset_shuffle(houses, 5), parts[2] = {NULL, NULL};
    bool good = mixed && kn_dataset_split(mixed, (const double[]){0.8, 0.2}, 2, parts) == KN_OK &&
                net_init(&net, parts[0]) == KN_OK;
    kn_loader_args loading = {.batch_size = 32, .shuffle = true, .seed = (uint64_t)seed};
    kn_loader train = good ? kn_loader_make(parts[0], &loading) : NULL;
    kn_loader valid = good ? kn_loader_make(parts[1], &(kn_loader_args){.batch_size = 128}) : NULL;
    kn_optim optim = kn_optim_adamw(NULL);
    kn_schedule schedule = kn_schedule_cosine(0.01, 1e-4, epochs * 15, false);
    kn_learner learner = kn_learner_make(&(kn_learner_args){.model = KN_MODULE_OF(Net, &net),
                                                            .optim = optim,
                                                            .schedule = schedule,
                                                            .train = train,
                                                            .valid = valid,
                                                            .train_step = step,
                                                            .valid_step = step,
                                                            .context = &net,
                                                            .epochs = epochs,
                                                            .name = "houses"});
    good = good && learner && kn_learner_add_renderer(learner, kn_renderer_auto()) == KN_OK &&
           kn_learner_fit(learner) == KN_OK && show(&net, houses, parts[1]);
    /* Prices were scaled to variance 1: what is left of it is what the network does not explain. */
    if (good)
        printf("explained variance %.1f %%\n", 100 * (1 - kn_learner_value(learner, KN_SPLIT_VALID, "loss")));

    kn_learner_free(learner);
    kn_schedule_free(schedule);
    kn_optim_free(optim);
    kn_loader_free(train);
    kn_loader_free(valid);
    for (int i = 0; i < 2; i++) kn_dataset_free(parts[i]);
    kn_dataset_free(mixed);
    kn_dataset_free(houses);
    kn_module_drop(KN_MODULE_OF(Net, &net));
    return example_end(good);
}
