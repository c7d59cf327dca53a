/* What KN_JIT=cc leaves behind when a program ends: no folder and no compiler, however it ends. Each program is a child, with
   a compiler that would never come to an end. */
#define _GNU_SOURCE
#include "support/check.h"
#include "support/file.h"
#include <dirent.h>
#include <fcntl.h>
#include <kn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[] = "jit_end_XXXXXX";
static char compiler[64], pids[64];

/* Folders of compilers in `base`. */
static int folders(void)
{
    kni_folder names;
    int n = 0;
    if (kni_folder_read(&names, base)) return -1;
    for (int64_t i = 0; i < names.count; i++) n += !strncmp(names.names[i], "kiln-cc-", 8);
    kni_folder_free(&names);
    return n;
}

/* A process that has ended and waits for its parent to ask does not count: it may have been given to one that never does. */
static bool runs(long pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file) return kill((pid_t)pid, 0) == 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    const char *name_end = n ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] && name_end[2] != 'Z';
}

static bool started(long pid) { return pid > 0; }
static bool killed(long pid) { return kill((pid_t)pid, SIGKILL) == 0; }

/* How many of the processes that compilers noted the function says yes to. */
static int count_compilers(bool (*holds)(long pid))
{
    kni_buffer text = {0};
    int n = 0;
    if (kni_file_exists(pids) && kni_file_read(pids, 0, &text) == KN_OK) {
        char *end = text.data;
        for (char *at = text.data; at && *at; at = *end ? end + 1 : end) {
            long pid = strtol(at, &end, 10);
            if (end == at) break;
            n += holds(pid);
        }
    }
    kni_buffer_free(&text);
    return n;
}

static int compilers_alive(void) { return count_compilers(runs); }
static int compilers_started(void) { return count_compilers(started); }

/* A killed process takes a moment to end. */
static bool nothing_left(void)
{
    for (int i = 0; i < 1000 && compilers_alive(); i++) usleep(10000);
    return folders() == 0 && compilers_alive() == 0;
}

/* Groups until the compiler runs. */
static void compile_something(void)
{
    kn_device d = kn_device_open("fusion(cpu)");
    kn_device_use(d);
    for (int i = 0; i < 2000 && compilers_started() < 2; i++) {
        kn_tensor x = kn_own(kn_full(KN_SHAPE(10000), 1.5, KN_F32));
        kn_tensor y = kn_own(kn_mul(kn_exp(kn_add(x, x)), x));
        (void)kn_sync(d);
        kn_drop(x);
        kn_drop(y);
        usleep(10000);
    }
}

static void leaves_main(void) { exit(0); }
static void shuts_down(void)
{
    (void)kn_shutdown();
    _exit(nothing_left() ? 0 : 1);
}
static void is_killed(void) { raise(SIGKILL); }
/* A child of the program that ends first takes nothing from its parent. */
static void forks_first(void)
{
    pid_t child = fork();
    if (child == 0) exit(0);
    int status = 1;
    waitpid(child, &status, 0);
    bool good = status == 0 && folders() == 1 && compilers_alive() == 2;
    exit(good ? 0 : 1);
}

static int program(void (*end)(void))
{
    (void)unlink(pids);
    pid_t child = fork();
    if (child == 0) {
        compile_something();
        if (compilers_started() != 2 || folders() != 1) _exit(2);
        end();
        _exit(3);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
    char here[200], script[700], path[300];
    if (!CHECK(mkdtemp(base) != NULL && getcwd(here, sizeof here) != NULL)) return check_report();
    snprintf(path, sizeof path, "%s/%s", here, base);
    snprintf(compiler, sizeof compiler, "%s/cc.sh", base);
    snprintf(pids, sizeof pids, "%s/pids", base);
    /* A compiler with a process of its own, as real ones have; both note their numbers. */
    snprintf(script, sizeof script,
             "#!/bin/sh\necho $$ >>%s/pids\nsleep 1000 &\necho $! >>%s/pids\ntouch $TMPDIR/left\nwait\n",
             path, path);
    CHECK(kni_file_write(compiler, script, strlen(script)) == KN_OK && chmod(compiler, 0700) == 0);
    char name[400];
    snprintf(name, sizeof name, "%s/cc.sh", path);
    setenv("TMPDIR", path, 1);
    setenv("KN_CC", name, 1);
    setenv("KN_CACHE", "off", 1);
    setenv("KN_JIT", "cc", 1);

    CHECK(program(leaves_main) == 0);
    CHECK(nothing_left());
    CHECK(program(shuts_down) == 0);
    CHECK(nothing_left());
    CHECK(program(forks_first) == 0);
    CHECK(nothing_left());

    /* After a crash the next program removes the folder, and nothing that it did not mark. */
    CHECK(program(is_killed) == -1);
    (void)count_compilers(killed);
    CHECK(folders() == 1);
    snprintf(name, sizeof name, "%s/kiln-cc-mine", base);
    CHECK(mkdir(name, 0700) == 0);
    (void)unlink(pids);
    pid_t child = fork();
    if (child == 0) {
        compile_something();
        exit(folders() == 2 ? 0 : 1); /* its own, and the user's */
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(folders() == 1 && kni_file_is_folder(name));
    CHECK(kni_path_remove(base) == KN_OK);
    return check_report();
}
