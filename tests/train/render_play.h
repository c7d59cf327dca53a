/* A training run that never was: losses that fall with noise, an accuracy that rises. Renderers are shown and tested with it. */
#ifndef RENDER_PLAY_H
#define RENDER_PLAY_H

#include "train/renderer_object.h"
#include <math.h>
#include <stdio.h>

typedef struct play {
    int epochs, batches, batch, first_epoch; /* first_epoch: 1, or where a run goes on */
    unsigned pause_us;                       /* for each batch */
    void (*wait)(unsigned us);
    const char *folder;
} play;

static const char *const play_metrics[] = {"loss", "accuracy", "lr", "gradient norm", NULL};
static const bool play_higher[] = {false, true, false, false};
static const char *const play_model =
    "LeNet\n  conv1   conv2d 1 -> 6, 5x5      156\n  conv2   conv2d 6 -> 16, 5x5   2,416\n  fc1     linear "
    "256 -> 120  "
    "30,840\n  fc2     linear 120 -> 84   10,164\n  head    linear 84 -> 10       850\n  44,426 parameters";

static inline double play_noise(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (1 << 24) - 0.5;
}

/* The object behind a handle. */
static inline kni_renderer *play_inside(kn_renderer renderer)
{
    kni_object_use use = kni_object_enter(renderer, &kni_kind_renderer, "play");
    kni_renderer *object = use.object;
    kni_object_leave(&use);
    return object;
}

static inline void play_value(kn_renderer r, int index, kn_run_split split, bool end, int64_t step, int epoch,
                              double v, double mean)
{
    char text[32];
    if (index == 1)
        snprintf(text, sizeof text, "%.2f %%", mean * 100);
    else
        snprintf(text, sizeof text, "%.4g", mean);
    kn_metric_event e = {play_metrics[index], index, split, end, step, epoch, v, mean, text};
    if (play_inside(r)->type->metric) play_inside(r)->type->metric(play_inside(r)->self, &e);
}

static inline double play_train(double t, int metric, double noise)
{
    switch (metric) {
    case 0:
        return 2.3 * exp(-t * 1.1) + 0.08 + noise * (0.05 + 0.5 * exp(-t));
    case 1:
        return 0.985 - 0.88 * exp(-t * 1.3) + noise * 0.06 * exp(-t * 0.3);
    case 2:
        return 0.003 * 0.5 * (1 + cos(3.14159265 * t / 12));
    default:
        return 1.4 * exp(-t * 0.4) + 0.3 + noise * 0.4;
    }
}

/* Runs it; returns how it ended. */
static inline kn_run_end play_run(kn_renderer *renderers, int count, const play *p)
{
    kn_run_end end = KN_RUN_FINISHED;
    unsigned seed = 7;
    int64_t step = (int64_t)(p->first_epoch - 1) * p->batches;
    kn_run_info info = {.name = "mnist",
                        .folder = p->folder,
                        .device = "cpu (8 threads)",
                        .model = play_model,
                        .epochs = p->epochs,
                        .params = 44426,
                        .step = step,
                        .metrics = play_metrics,
                        .higher_is_better = play_higher};
    for (int i = 0; i < count; i++)
        if (play_inside(renderers[i])->type->start &&
            play_inside(renderers[i])->type->start(play_inside(renderers[i])->self, &info) != KN_OK)
            return KN_RUN_FAILED;
    double seconds = 0;
    for (int epoch = p->first_epoch; epoch <= p->epochs && end == KN_RUN_FINISHED; epoch++) {
        double sums[4] = {0};
        for (int b = 1; b <= p->batches + p->batches / 5 && end == KN_RUN_FINISHED; b++) {
            bool valid = b > p->batches;
            int done = valid ? b - p->batches : b, total = valid ? p->batches / 5 : p->batches;
            double t = (epoch - 1 + (valid ? 1.0 : (double)b / p->batches)) * 12 / p->epochs;
            if (!valid) step++;
            for (int i = 0; i < count; i++) {
                for (int m = 0; m < (valid ? 2 : 4); m++) {
                    double v = valid ? play_train(t, m, 0) * (m ? 0.99 : 1.06) + (m ? 0 : 0.004 * t)
                                     : play_train(t, m, play_noise(&seed));
                    if (i == 0) sums[m] = done == 1 ? v : sums[m] + v;
                    play_value(renderers[i], m, valid ? KN_SPLIT_VALID : KN_SPLIT_TRAIN, false, step, epoch,
                               v, sums[m] / done);
                    if (done == total)
                        play_value(renderers[i], m, valid ? KN_SPLIT_VALID : KN_SPLIT_TRAIN, true, step,
                                   epoch, sums[m] / done, sums[m] / done);
                }
                double speed = 1e6 / (p->pause_us ? p->pause_us : 1) * p->batch;
                double left = ((double)(p->epochs - epoch) * p->batches + (valid ? 0 : p->batches - b)) *
                              1.2 * p->pause_us * 1e-6;
                kn_progress_event e = {valid ? KN_SPLIT_VALID : KN_SPLIT_TRAIN,
                                       epoch,
                                       p->epochs,
                                       (int64_t)done * p->batch,
                                       (int64_t)total * p->batch,
                                       done,
                                       total,
                                       step,
                                       seconds,
                                       left,
                                       speed,
                                       play_train(t, 2, 0)};
                if (play_inside(renderers[i])->type->progress)
                    play_inside(renderers[i])->type->progress(play_inside(renderers[i])->self, &e);
                kn_renderer_answer answer =
                    play_inside(renderers[i])->type->poll
                        ? play_inside(renderers[i])->type->poll(play_inside(renderers[i])->self)
                        : KN_RENDERER_GO_ON;
                if (answer != KN_RENDERER_GO_ON) end = KN_RUN_INTERRUPTED;
            }
            if (p->wait) p->wait(p->pause_us);
            seconds += p->pause_us * 1e-6;
        }
        char text[96];
        snprintf(text, sizeof text, "saved checkpoint/epoch-%d.safetensors%s", epoch,
                 epoch % 2 ? " (best loss)" : "");
        for (int i = 0; i < count; i++)
            if (play_inside(renderers[i])->type->message)
                play_inside(renderers[i])
                    ->type->message(play_inside(renderers[i])->self, KN_SPLIT_VALID, text);
    }
    for (int i = 0; i < count; i++)
        if (play_inside(renderers[i])->type->finish)
            play_inside(renderers[i])->type->finish(play_inside(renderers[i])->self, end, "");
    return end;
}

#endif
