/* Disks that fail while checkpoints are written and read: the order of the system's calls, which of their failures lead to what,
   and that none of them costs a checkpoint. This program defines the calls itself and passes them on. */
#define _GNU_SOURCE
#include "test_train_run.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* ---- the calls */

/* What fails: the calls of this name with a path that ends so, by this error. */
static struct {
    const char *call, *ending;
    int error;
} fault;

/* What was called: o a file for writing, s sync of a file with all its bytes, r rename, S sync of a folder, u unlink. */
static char calls[64];
static size_t call_count;
static bool recording;

static void note(char c)
{
    if (recording && call_count + 1 < sizeof calls) calls[call_count++] = c;
}

static bool fails(const char *call, const char *path)
{
    if (!fault.call || strcmp(fault.call, call)) return false;
    size_t n = strlen(fault.ending), length = path ? strlen(path) : 0;
    if (length < n || strcmp(path + length - n, fault.ending)) return false;
    errno = fault.error;
    return true;
}

static const char *path_of(int fd)
{
    static char path[500];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = 0;
    return path;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if (fails("open", path)) return -1;
    if (flags & O_CREAT) note('o');
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int fsync(int fd)
{
    struct stat info;
    if (fails("fsync", path_of(fd))) return -1;
    if (fstat(fd, &info) == 0) note(S_ISDIR(info.st_mode) ? 'S' : info.st_size > 1000 ? 's' : '?');
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    if (fails("rename", from)) return -1;
    note('r');
    return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

int unlink(const char *path)
{
    note('u');
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

int remove(const char *path)
{
    note('u');
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

ssize_t pread(int fd, void *out, size_t bytes, off_t offset)
{
    if (fails("pread", path_of(fd))) return -1;
    return (ssize_t)syscall(SYS_pread64, fd, out, bytes, offset);
}

/* ---- writing */

static int files_in(const char *folder, const char *inside, const char *ending)
{
    char path[600];
    int count = 0;
    snprintf(path, sizeof path, "%s/%s", folder, inside);
    DIR *stream = opendir(path);
    for (struct dirent *e; stream && (e = readdir(stream));) {
        size_t n = strlen(ending), length = strlen(e->d_name);
        count += e->d_name[0] != '.' && length >= n && !strcmp(e->d_name + length - n, ending);
    }
    if (stream) closedir(stream);
    return count;
}

/* A checkpoint is whole on the disk before it has its name, and its name is on the disk before an older one goes. */
static void order_of_calls(void)
{
    const char *folder = fresh_folder();
    Run run;
    if (!run_make(&run, folder, 2, NULL)) return;
    CHECK_OK(
        kn_learner_set_checkpoints(run.learner, &(kn_checkpoint_policy){.keep_last = 1, .best_metric = ""}));
    recording = true;
    call_count = 0;
    CHECK_OK(kn_learner_fit(run.learner));
    recording = false;
    calls[call_count] = 0;
    /* The report of the run follows. */
    if (!CHECK(!strncmp(calls, "osrSosrSu", 9))) printf("  %s\n", calls);
    run_free(&run);
    remove_folder(folder);
}

static void failures_of_writing(void)
{
    static const struct {
        const char *call, *ending;
        int error;
    } faults[] = {{"fsync", ".tmp", EIO},
                  {"rename", ".tmp", ENOSPC},
                  {"open", ".tmp", EMFILE},
                  {"fsync", "checkpoint", EIO}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *folder = fresh_folder();
        Run run;
        if (!run_make(&run, folder, 1, NULL)) return;
        CHECK_OK(kn_learner_set_checkpoints(run.learner, &(kn_checkpoint_policy){.keep_last = 1}));
        CHECK_OK(kn_learner_fit(run.learner));
        fault.call = faults[i].call;
        fault.ending = faults[i].ending;
        fault.error = faults[i].error;
        CHECK_ERROR(kn_learner_save(run.learner), strerror(faults[i].error));
        fault.call = NULL;
        CHECK(files_in(folder, "checkpoint", ".safetensors") == 1);
        run_free(&run);
        if (!run_make(&run, folder, 1, NULL)) return;
        bool resumed = false;
        CHECK_OK(kn_learner_resume(run.learner, &resumed));
        CHECK(resumed && kn_learner_step_count(run.learner) == 12);
        run_free(&run);
        remove_folder(folder);
    }
}

/* ---- reading */

static void three_checkpoints(const char *folder)
{
    Run run;
    if (!run_make(&run, folder, 3, NULL)) return;
    CHECK_OK(kn_learner_set_checkpoints(run.learner, &(kn_checkpoint_policy){.keep_last = -1}));
    CHECK_OK(kn_learner_fit(run.learner));
    run_free(&run);
    CHECK(files_in(folder, "checkpoint", ".safetensors") == 3);
}

/* The newest checkpoint cannot be read now: nothing is resumed, nothing is touched, and the next time all is well. */
static void transient_failures(void)
{
    static const struct {
        const char *call, *ending;
        int error;
    } faults[] = {{"open", "36.safetensors", EACCES}, {"open", "36.safetensors", EMFILE},
                  {"open", "36.safetensors", ENOENT}, {"pread", "36.safetensors", EIO},
                  {"open", "36.safetensors", ENOMEM}, {"pread", "36.safetensors", ESTALE}};
    const char *folder = fresh_folder();
    three_checkpoints(folder);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        Run run;
        bool resumed = true;
        if (!run_make(&run, folder, 4, NULL)) return;
        fault.call = faults[i].call;
        fault.ending = faults[i].ending;
        fault.error = faults[i].error;
        CHECK_ERROR(kn_learner_resume(run.learner, &resumed), strerror(faults[i].error));
        CHECK_ERROR(kn_learner_load_best(run.learner), strerror(faults[i].error));
        fault.call = NULL;
        CHECK(!resumed && files_in(folder, "checkpoint", ".safetensors") == 3);
        CHECK_OK(kn_learner_resume(run.learner, &resumed));
        CHECK(resumed && kn_learner_step_count(run.learner) == 36);
        run_free(&run);
    }
    /* So is memory that is not there. */
    Run run;
    if (!run_make(&run, folder, 4, NULL)) return;
    kn_memory_limit(kn_memory_stats().bytes_now + 200);
    CHECK(kn_learner_resume(run.learner, NULL) == KN_ERROR_MEMORY);
    kn_memory_limit(0);
    CHECK(files_in(folder, "checkpoint", ".safetensors") == 3);
    CHECK_OK(kn_learner_resume(run.learner, NULL));
    CHECK(kn_learner_step_count(run.learner) == 36);
    run_free(&run);
    remove_folder(folder);
}

/* A flipped bit is damage: the file is kept under another name, and the one before is taken. Where it cannot be renamed nothing
   is resumed, since a run from an older step would remove it. */
static void damage_is_set_aside(void)
{
    const char *folder = fresh_folder();
    char path[600];
    Run run;
    bool resumed;
    three_checkpoints(folder);
    snprintf(path, sizeof path, "%s/checkpoint/step-00000036.safetensors", folder);
    FILE *file = fopen(path, "r+b");
    CHECK(file && fseek(file, -3, SEEK_END) == 0);
    int c = fgetc(file);
    CHECK(fseek(file, -3, SEEK_END) == 0 && fputc(c ^ 4, file) != EOF && fclose(file) == 0);
    if (!run_make(&run, folder, 4, NULL)) return;
    fault.call = "rename";
    fault.ending = "36.safetensors";
    fault.error = EACCES;
    CHECK_ERROR(kn_learner_resume(run.learner, &resumed), "cannot rename the damaged checkpoint");
    fault.call = NULL;
    CHECK(!resumed && files_in(folder, "checkpoint", ".safetensors") == 3);
    CHECK_OK(kn_learner_resume(run.learner, &resumed));
    CHECK(resumed && kn_learner_step_count(run.learner) == 24);
    CHECK_OK(kn_learner_fit(run.learner));
    CHECK(files_in(folder, "checkpoint", ".safetensors.damaged") == 1);
    run_free(&run);
    remove_folder(folder);
}

/* ---- runs that are begun anew */

static void old_runs_go(void)
{
    const char *folder = fresh_folder();
    char path[600];
    for (int i = 0; i < 7; i++) {
        Run run;
        if (!run_make(&run, folder, 1, NULL)) return;
        if (i == 6)
            CHECK_OK(kn_learner_set_checkpoints(run.learner, &(kn_checkpoint_policy){.keep_runs = 1}));
        CHECK_OK(kn_learner_fit(run.learner));
        run_free(&run);
        /* Before the limit is met, somebody puts a file of their own into the oldest. */
        if (i == 2) {
            snprintf(path, sizeof path, "%s/checkpoint.1/notes.txt", folder);
            FILE *f = fopen(path, "w");
            CHECK(f && fclose(f) == 0);
        }
        if (i == 5) { /* runs 1 to 5 were moved aside, the newest three are kept */
            CHECK(files_in(folder, "checkpoint.3", "") == 1 && files_in(folder, "checkpoint.5", "") == 1);
            CHECK(files_in(folder, "checkpoint.1", ".safetensors") == 0);
            snprintf(path, sizeof path, "%s/checkpoint.2", folder);
            CHECK(access(path, F_OK) != 0);
        }
    }
    CHECK(files_in(folder, "checkpoint.6", "") == 1 && files_in(folder, "checkpoint.5", "") == 0);
    CHECK(files_in(folder, "checkpoint", ".safetensors") == 1);
    CHECK(files_in(folder, "checkpoint.1", "notes.txt") == 1);
    remove_folder(folder);
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    void (*const tests[])(void) = {order_of_calls, failures_of_writing, transient_failures,
                                   damage_is_set_aside, old_runs_go};
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        kn_scope scope = kn_scope_begin();
        tests[i]();
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(kn_memory_stats().tensors_now == 0);
    return check_report();
}
