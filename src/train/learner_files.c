/* The folder of checkpoints: names, listing, leftovers, what is removed and what is moved aside. */
#define _POSIX_C_SOURCE 200809L
#include "support/failure.h"
#include "support/file.h"
#include "train/learner_object.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OLD_NAMES = 1000 };

char *kni_learner_path(kni_learner *l, int64_t step)
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

/* The numbers that names in a folder have; none where there is no folder. Any other failure is one: a folder that cannot be read
   now may be full of checkpoints. */
static kn_status list_numbers(const char *path, int64_t (*number)(const char *name), kni_step_list *list)
{
    kni_folder folder = {0};
    struct stat info;
    *list = (kni_step_list){0};
    if (stat(path, &info) != 0 && errno == ENOENT) return KN_OK;
    kn_status status = kni_folder_read(&folder, path);
    if (!status && !(list->steps = calloc((size_t)folder.count + 1, sizeof *list->steps)))
        status = kni_failure_memory("reading the folder of checkpoints");
    for (int64_t i = 0; i < folder.count && !status; i++) {
        int64_t found = number(folder.names[i]);
        if (found >= 0) list->steps[list->count++] = found;
    }
    if (list->count) qsort(list->steps, (size_t)list->count, sizeof *list->steps, rising);
    kni_folder_free(&folder);
    return status;
}

kn_status kni_learner_list(kni_learner *l, kni_step_list *list)
{
    return list_numbers(l->checkpoints, step_of, list);
}

/* ".step-00000123.safetensors.tmp": what a killed writer leaves. */
static bool is_leftover(const char *name)
{
    return !strncmp(name, ".step-", 6) && strstr(name, ".safetensors.tmp");
}

void kni_learner_remove_leftovers(kni_learner *l)
{
    kni_folder folder = {0};
    if (!kni_file_is_folder(l->checkpoints) || kni_folder_read(&folder, l->checkpoints) != KN_OK) return;
    for (int64_t i = 0; i < folder.count; i++) {
        const char *name = folder.names[i];
        if (!is_leftover(name)) continue;
        char *path = kni_path_join(l->checkpoints, name);
        if (path) remove(path);
        free(path);
    }
    kni_folder_free(&folder);
}

static void remove_step(kni_learner *l, int64_t step)
{
    char *path = kni_learner_path(l, step);
    if (path && remove(path) != 0 && errno != ENOENT)
        kni_learner_message(l, KN_SPLIT_TRAIN, "cannot remove the checkpoint %s: %s", path, strerror(errno));
    free(path);
}

/* Called when the checkpoint of the present step is complete. Those beyond it are of a way that the run has left: a resume
   must not find them. */
void kni_learner_prune(kni_learner *l)
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

/* ---- a damaged checkpoint: it is kept under a name that no resume looks at */

kn_status kni_learner_set_aside(kni_learner *l, const char *path)
{
    size_t room = strlen(path) + 32;
    char *aside = malloc(room);
    if (!aside) return kni_failure_memory("kn_learner_resume");
    snprintf(aside, room, "%s.damaged", path);
    for (int i = 1; kni_file_exists(aside) && i < OLD_NAMES; i++)
        snprintf(aside, room, "%s.damaged.%d", path, i);
    kn_status status = KN_OK;
    if (rename(path, aside) != 0)
        status =
            kni_failure(KN_ERROR_IO, "cannot rename the damaged checkpoint '%s': %s", path, strerror(errno));
    else
        kni_learner_message(l, KN_SPLIT_TRAIN, "the damaged checkpoint is now %s", aside);
    free(aside);
    return status;
}

/* ---- earlier runs: checkpoint.1, checkpoint.2 ..., the newest has the largest number */

static int64_t run_of(const char *name)
{
    char *end;
    size_t length = strlen(KNI_CHECKPOINTS ".");
    if (strncmp(name, KNI_CHECKPOINTS ".", length) != 0 || name[length] < '1' || name[length] > '9')
        return -1;
    errno = 0;
    long long run = strtoll(name + length, &end, 10);
    return errno == 0 && !*end ? run : -1;
}

static char *run_path(kni_learner *l, int64_t run)
{
    size_t room = strlen(l->checkpoints) + 24;
    char *path = malloc(room);
    if (path) snprintf(path, room, "%s.%lld", l->checkpoints, (long long)run);
    return path;
}

/* Of the files in it, only those that a learner made; the folder goes when nothing else is left. */
static void remove_run(const char *path)
{
    kni_folder folder = {0};
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode) || kni_folder_read(&folder, path) != KN_OK) return;
    for (int64_t i = 0; i < folder.count; i++) {
        const char *name = folder.names[i];
        char *inside = kni_path_join(path, name), *damaged = strstr(folder.names[i], ".damaged");
        if (damaged) *damaged = 0;
        if (inside && (step_of(name) >= 0 || is_leftover(name))) unlink(inside);
        free(inside);
    }
    rmdir(path);
    kni_folder_free(&folder);
}

static void forget_old_runs(kni_learner *l)
{
    kni_step_list list;
    kn_status status = list_numbers(l->folder, run_of, &list);
    for (int64_t i = 0; !status && l->policy.keep_runs >= 0 && i < list.count - l->policy.keep_runs; i++) {
        char *path = run_path(l, list.steps[i]);
        if (path) remove_run(path);
        free(path);
    }
    free(list.steps);
}

static kn_status move_aside(kni_learner *l)
{
    kni_step_list list;
    kn_status status = list_numbers(l->folder, run_of, &list);
    char *aside = status ? NULL : run_path(l, list.count ? list.steps[list.count - 1] + 1 : 1);
    free(list.steps);
    if (!aside) return status ? status : kni_failure_memory("kn_learner_fit");
    if (rename(l->checkpoints, aside) != 0)
        status = kni_failure(KN_ERROR_IO, "cannot move '%s' aside: %s", l->checkpoints, strerror(errno));
    else
        kni_learner_message(l, KN_SPLIT_TRAIN, "the checkpoints of an earlier run are now in %s", aside);
    free(aside);
    if (!status) forget_old_runs(l);
    return status;
}

kn_status kni_learner_prepare_folder(kni_learner *l)
{
    kni_learner_remove_leftovers(l);
    kni_step_list list;
    kn_status status = kni_learner_list(l, &list);
    bool fresh = !l->resumed && l->saved_batches < 0;
    if (!status && list.count && fresh) status = move_aside(l);
    free(list.steps);
    return status ? status : kni_folder_make(l->checkpoints);
}
