/* The folder of checkpoints: names, listing, leftovers, what is removed and what is moved aside. */
#include "support/failure.h"
#include "support/file.h"
#include "train/learner_object.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLD_FOLDERS = 10000 };

char *kni_learner_path(kn_learner l, int64_t step)
{
    char name[64];
    snprintf(name, sizeof name, "step-%08lld.safetensors", (long long)step);
    return kni_path_join(l->checkpoints, name);
}

/* The step in a file's name, or -1. */
static int64_t step_of(const char *name)
{
    char *end;
    if (strncmp(name, "step-", 5) != 0 || name[5] < '0' || name[5] > '9') return -1;
    errno = 0;
    long long step = strtoll(name + 5, &end, 10);
    return errno == 0 && !strcmp(end, ".safetensors") ? step : -1;
}

static int rising(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

kn_status kni_learner_list(kn_learner l, kni_step_list *list)
{
    kni_folder folder = {0};
    *list = (kni_step_list){0};
    if (!kni_file_is_folder(l->checkpoints)) return KN_OK;
    kn_status status = kni_folder_read(&folder, l->checkpoints);
    if (!status && !(list->steps = calloc((size_t)folder.count + 1, sizeof *list->steps)))
        status = kni_failure_memory("reading the folder of checkpoints");
    for (int64_t i = 0; i < folder.count && !status; i++) {
        int64_t step = step_of(folder.names[i]);
        if (step >= 0) list->steps[list->count++] = step;
    }
    if (list->count) qsort(list->steps, (size_t)list->count, sizeof *list->steps, rising);
    kni_folder_free(&folder);
    return status;
}

/* ".step-00000123.safetensors.tmp": what a killed writer leaves. */
void kni_learner_remove_leftovers(kn_learner l)
{
    kni_folder folder = {0};
    if (!kni_file_is_folder(l->checkpoints) || kni_folder_read(&folder, l->checkpoints) != KN_OK) return;
    for (int64_t i = 0; i < folder.count; i++) {
        const char *name = folder.names[i];
        if (strncmp(name, ".step-", 6) != 0 || !strstr(name, ".safetensors.tmp")) continue;
        char *path = kni_path_join(l->checkpoints, name);
        if (path) remove(path);
        free(path);
    }
    kni_folder_free(&folder);
}

static void remove_step(kn_learner l, int64_t step)
{
    char *path = kni_learner_path(l, step);
    if (path && remove(path) != 0 && errno != ENOENT)
        kni_learner_message(l, KN_SPLIT_TRAIN, "cannot remove the checkpoint %s: %s", path, strerror(errno));
    free(path);
}

/* Called when the checkpoint of the present step is complete. Those beyond it are of a way that the run has left: a resume
   must not find them. */
void kni_learner_prune(kn_learner l)
{
    kni_step_list list;
    if (kni_learner_list(l, &list) == KN_OK) {
        int64_t newer = 0; /* checkpoints kept so far, from the present one back */
        for (int64_t i = list.count - 1; i >= 0; i--) {
            int64_t step = list.steps[i];
            if (step > l->at.step) {
                remove_step(l, step);
                continue;
            }
            bool kept = l->policy.keep_last < 0 || newer < l->policy.keep_last;
            newer++;
            if (!kept && step != l->at.best_step) remove_step(l, step);
        }
    }
    free(list.steps);
}

static kn_status move_aside(kn_learner l)
{
    size_t room = strlen(l->checkpoints) + 16;
    char *aside = malloc(room);
    if (!aside) return kni_failure_memory("kn_learner_fit");
    kn_status status = KN_OK;
    int number = 1;
    do snprintf(aside, room, "%s.%d", l->checkpoints, number);
    while (kni_file_exists(aside) && number++ < OLD_FOLDERS);
    if (rename(l->checkpoints, aside) != 0)
        status = kni_failure(KN_ERROR_IO, "cannot move '%s' aside: %s", l->checkpoints, strerror(errno));
    else
        kni_learner_message(l, KN_SPLIT_TRAIN, "the checkpoints of an earlier run are now in %s", aside);
    free(aside);
    return status;
}

kn_status kni_learner_prepare_folder(kn_learner l)
{
    kni_learner_remove_leftovers(l);
    kni_step_list list;
    kn_status status = kni_learner_list(l, &list);
    bool fresh = !l->resumed && l->saved_batches < 0;
    if (!status && list.count && fresh) status = move_aside(l);
    free(list.steps);
    return status ? status : kni_folder_make(l->checkpoints);
}
