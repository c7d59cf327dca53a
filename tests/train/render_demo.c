/* Plays a made-up training run to the renderers, to look at them: render_demo [dashboard|plain|auto] [FOLDER]
   [EPOCHS] [BATCHES] [MICROSECONDS]. With a folder the logs and the report are written there. */
#define _DEFAULT_SOURCE
#include "render_play.h"
#include <kn.h>
#include <kn/train/renderer.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void pause_for(unsigned us) { usleep(us); }

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "auto", *folder = argc > 2 ? argv[2] : "";
    play p = {.epochs = argc > 3 ? atoi(argv[3]) : 12,
              .batches = argc > 4 ? atoi(argv[4]) : 200,
              .pause_us = argc > 5 ? (unsigned)atoi(argv[5]) : 2000,
              .batch = 64,
              .first_epoch = argc > 6 ? atoi(argv[6]) : 1,
              .wait = pause_for,
              .folder = *folder ? folder : NULL};
    kn_renderer renderers[5] = {strcmp(kind, "dashboard") == 0 ? kn_renderer_dashboard(&(kn_dashboard_args){
                                                                     .stay = getenv("STAY") != NULL})
                                : strcmp(kind, "plain") == 0   ? kn_renderer_plain()
                                                               : kn_renderer_auto()};
    int count = 1;
    if (*folder) {
        char path[512];
        snprintf(path, sizeof path, "%s/metrics.csv", folder);
        renderers[count++] = kn_logger_csv(path);
        snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
        renderers[count++] = kn_logger_json_lines(path);
        renderers[count++] = kn_logger_tensorboard(folder);
        snprintf(path, sizeof path, "%s/report.html", folder);
        renderers[count++] = kn_report_html(path);
    }
    for (int i = 0; i < count; i++)
        if (!renderers[i]) {
            fprintf(stderr, "%s\n", kn_last_error());
            return 1;
        }
    kn_run_end end = play_run(renderers, count, &p);
    if (end == KN_RUN_FAILED) fprintf(stderr, "%s\n", kn_last_error());
    for (int i = 0; i < count; i++) kn_renderer_free(renderers[i]);
    return end == KN_RUN_FAILED;
}
