/* kill -9 at random moments of a run that saves at each step: every start finds the newest complete checkpoint, no file is ever
   half there, the log has all steps that it covers, and the weights at the end are those of a run that nobody killed, bit for bit.
   Usage: test_train_kill [kills, 20 unless told] [seed] */
#define _DEFAULT_SOURCE
#include "test_train_run.h"
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { KILL_EPOCHS = 6, RESUMED_NOTHING = -1 };

/* ---- the run that is killed: a process of its own */

/* Says where it begins on standard output, and leaves its weights in folder/final. */
static int child(const char *folder)
{
    Run run;
    kn_device device = kn_device_open("autodiff(cpu)");
    kn_device_use(device);
    if (!run_make(&run, folder, KILL_EPOCHS, NULL)) return 2;
    bool resumed = false;
    char log[600];
    snprintf(log, sizeof log, "%s/log.csv", folder);
    if (kn_learner_add_renderer(run.learner, kn_logger_csv(log)) ||
        kn_learner_set_checkpoints(run.learner, &(kn_checkpoint_policy){.every_steps = 1}) ||
        kn_learner_resume(run.learner, &resumed)) {
        fprintf(stderr, "%s\n", kn_last_error());
        return 3;
    }
    printf("%lld\n", resumed ? (long long)kn_learner_step_count(run.learner) : (long long)RESUMED_NOTHING);
    fflush(stdout);
    if (kn_learner_fit(run.learner)) {
        fprintf(stderr, "%s\n", kn_last_error());
        return 4;
    }
    Weights w = run_weights(&run);
    char path[600];
    snprintf(path, sizeof path, "%s/final", folder);
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(&w, sizeof w, 1, f) == 1 && fclose(f) == 0;
    run_free(&run);
    return good ? 0 : 5;
}

/* ---- the parent */

static uint64_t random_state;
static double uniform(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

static void sleep_for(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

/* The newest step in the folder, and whether every file with the name of a checkpoint can be read whole. */
static int64_t look_at(const char *folder, bool *whole)
{
    char path[600];
    int64_t newest = RESUMED_NOTHING;
    snprintf(path, sizeof path, "%s/checkpoint", folder);
    DIR *d = opendir(path);
    *whole = true;
    for (struct dirent *e; d && (e = readdir(d));) {
        long long step;
        if (sscanf(e->d_name, "step-%lld.safetensors", &step) != 1) continue;
        snprintf(path, sizeof path, "%s/checkpoint/%s", folder, e->d_name);
        kn_state state = kn_state_make();
        bool good = kn_state_read(state, path) == KN_OK && kn_state_get_text(state, "learner/format");
        if (!good) printf("%s: %s\n", path, kn_last_error());
        *whole = *whole && good;
        kn_state_free(state);
        if (step > newest) newest = step;
    }
    if (d) closedir(d);
    return newest;
}

/* The latest step of training that the log has. */
static int64_t logged(const char *folder)
{
    char path[600], line[200];
    long long step, latest = RESUMED_NOTHING;
    snprintf(path, sizeof path, "%s/log.csv", folder);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%*f,%lld,%*d,train,", &step) == 1 && step > latest) latest = step;
    if (f) fclose(f);
    return latest;
}

typedef struct Started {
    pid_t pid;
    FILE *out;
} Started;

static Started start(const char *program, const char *folder)
{
    int ends[2];
    Started s = {-1, NULL};
    if (!CHECK(pipe(ends) == 0)) return s;
    fflush(stdout);
    s.pid = fork();
    if (s.pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execl(program, program, "--child", folder, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    s.out = fdopen(ends[0], "r");
    return s;
}

/* Waits for its end; true when it ended by itself, which must be well. *from: where it began, -2 when it did not say. */
static bool await(Started s, int64_t *from)
{
    long long step = -2;
    int status = 0;
    if (fscanf(s.out, "%lld", &step) != 1) step = -2;
    fclose(s.out);
    CHECK(waitpid(s.pid, &status, 0) == s.pid);
    *from = step;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return false;
    if (WEXITSTATUS(status)) printf("the run ended with %d\n", WEXITSTATUS(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return true;
}

static Weights final_weights(const char *folder)
{
    Weights w;
    char path[600];
    memset(&w, 0, sizeof w);
    snprintf(path, sizeof path, "%s/final", folder);
    FILE *f = fopen(path, "rb");
    CHECK(f && fread(&w, sizeof w, 1, f) == 1);
    if (f) fclose(f);
    return w;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs once without a kill; returns its weights and how long it took. */
static Weights reference(const char *program, double *seconds)
{
    const char *folder = fresh_folder();
    int64_t from;
    double began = now();
    CHECK(await(start(program, folder), &from) && from == RESUMED_NOTHING);
    *seconds = now() - began;
    Weights w = final_weights(folder);
    remove_folder(folder);
    return w;
}

typedef struct Counts {
    int kills, resumes, finished;
} Counts;

/* Kills a run again and again until it finishes or enough kills are done; then lets it finish. */
static void torment(const char *program, int kills, double longest, const Weights *want, Counts *counts)
{
    const char *folder = fresh_folder();
    for (bool done = false; !done;) {
        bool whole;
        int64_t newest = look_at(folder, &whole), from;
        CHECK(whole);
        if (!CHECK(logged(folder) >= newest)) printf("the log ends before step %lld\n", (long long)newest);
        Started s = start(program, folder);
        if (counts->kills < kills) {
            sleep_for(uniform() * longest);
            kill(s.pid, SIGKILL);
        }
        done = await(s, &from);
        counts->kills += !done;
        if (from == -2) continue; /* killed before it looked for a checkpoint */
        if (from != newest) printf("began at %lld, there was %lld\n", (long long)from, (long long)newest);
        CHECK(from == newest);
        counts->resumes += newest != RESUMED_NOTHING;
    }
    Weights w = final_weights(folder);
    CHECK(weights_equal(&w, want));
    counts->finished++;
    remove_folder(folder);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "--child")) return child(argv[2]);
    int kills = argc > 1 ? atoi(argv[1]) : 20;
    random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    double seconds;
    Counts counts = {0};
    Weights want = reference(argv[0], &seconds);
    /* A start and a good part of a run, so that some kills hit the start and most the middle of it. */
    while (counts.kills < kills) torment(argv[0], kills, seconds * 0.6, &want, &counts);
    CHECK(counts.resumes > kills / 4);
    printf("%d kills, %d resumes, %d runs finished, one takes %.2f s\n", counts.kills, counts.resumes,
           counts.finished, seconds);
    return check_report();
}
