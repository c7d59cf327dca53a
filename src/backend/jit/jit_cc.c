/* Running the system's compiler: a process group of its own in a private folder, asked after whenever the function is wanted.
   What still runs when the program ends is killed then, and its folder removed. */
#define _GNU_SOURCE
#include "backend/jit/jit_cc.h"
#include "backend/jit/jit_folder.h"
#include "core/error.h"
#include "core/life.h"
#include "core/platform.h"
#include "support/disk_cache.h"
#include "support/file.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <kn/tensor.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Bit-equal to the library's own kernels: no contraction, and wrapping integers. */
static const char *const flags[] = {"-std=gnu11",
                                    "-O3",
                                    "-march=native",
                                    "-fPIC",
                                    "-shared",
                                    "-w",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-trapping-math",
                                    "-fwrapv",
                                    "-fno-strict-aliasing"};
enum { FLAGS = sizeof flags / sizeof *flags, ARGUMENTS = FLAGS + 6 };
static const uint64_t poll_nanoseconds = 2000000;

struct kni_jit {
    char *entry;
    kni_jit_folder folder;
    pid_t compiler; /* 0 when none runs; it leads a process group */
    pid_t owner;    /* the process that started it: a forked child leaves it alone */
    uint64_t asked; /* when the compiler was last asked after */
    kni_jit *next;  /* in the list of those that a compiler works for */
    kni_buffer key;
    void *library;
    kni_jit_fn function;
    bool failed;
};

bool kni_jit_wanted(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *text = kni_environment("KN_JIT");
    if (!text || !*text || !strcmp(text, "off")) return false;
    if (!strcmp(text, "cc") || !strcmp(text, "cc:wait")) return true;
    if (!atomic_flag_test_and_set(&told))
        kni_log(KN_LOG_WARNING, "KN_JIT=%s is none of cc, cc:wait and off; groups stay interpreted", text);
    return false;
}

bool kni_jit_waits(void)
{
    const char *text = kni_environment("KN_JIT");
    return text && !strcmp(text, "cc:wait");
}

static const char *compiler_name(void)
{
    const char *name = kni_environment("KN_CC");
    return name && *name ? name : "cc";
}

/* One line for the process: a program that runs without the compiler is slower, not wrong. */
static void tell(const char *what, const char *detail)
{
    static _Atomic bool told;
    if (!atomic_exchange(&told, true))
        kni_log(KN_LOG_WARNING, "KN_JIT=cc: %s%s; groups stay interpreted", what, detail);
}

static char *joined(const char *folder, const char *name) { return kni_path_join(folder, name); }

/* The loader knows libraries by their paths, and numbers of files are used again: each load spells its path differently, by
   the bits of its own number. */
static void spell_path(char *path, size_t room, int file)
{
    static _Atomic uint32_t loads;
    enum { BITS = 32 };
    char between[2 * BITS + 1] = "";
    uint32_t number = atomic_fetch_add(&loads, 1);
    size_t n = 0;
    for (int i = 0; i < BITS; i++) {
        between[n++] = '/';
        if (number >> i & 1) between[n++] = '.';
    }
    snprintf(path, room, "/proc/self/fd%.*s/%d", (int)n, between, file);
}

/* Loads a library from its bytes, without leaving a file behind. */
static bool load(kni_jit *jit, const char *data, size_t bytes)
{
    char path[128];
    int file = memfd_create("kiln-kernel", MFD_CLOEXEC);
    if (file < 0) return false;
    size_t done = 0;
    while (done < bytes) {
        ssize_t n = write(file, data + done, bytes - done);
        if (n <= 0) break;
        done += (size_t)n;
    }
    spell_path(path, sizeof path, file);
    if (done == bytes) jit->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    close(file);
    void *symbol = jit->library ? dlsym(jit->library, jit->entry) : NULL;
    memcpy(&jit->function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool make_key(kni_jit *jit, const char *text)
{
    kni_buffer_format(&jit->key, "%s\n%s\n", compiler_name(), jit->entry);
    for (int i = 0; i < FLAGS; i++) kni_buffer_format(&jit->key, "%s ", flags[i]);
    /* The machine decides what -march=native means. */
    kni_buffer cpu = {0};
    if (kni_file_exists("/proc/cpuinfo") && kni_file_read("/proc/cpuinfo", 1 << 24, &cpu) == KN_OK) {
        const char *line = strstr(kni_buffer_string(&cpu), "\nflags");
        const char *end = line ? strchr(line + 1, '\n') : NULL;
        if (line && end) kni_buffer_append(&jit->key, line, (size_t)(end - line));
    }
    kni_buffer_free(&cpu);
    kni_buffer_text(&jit->key, text);
    return !jit->key.failed;
}

/* The environment with the compiler's temporary files in its folder; NULL without memory. */
static char **environment_in(const char *folder, char **temporary)
{
    size_t n = 0, kept = 0;
    while (environ && environ[n]) n++;
    char **list = malloc((n + 2) * sizeof *list);
    kni_buffer text = {0};
    kni_buffer_format(&text, "TMPDIR=%s", folder);
    *temporary = text.failed ? NULL : text.data;
    if (!list || text.failed) {
        free(list);
        kni_buffer_free(&text);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "TMPDIR=", 7)) list[kept++] = environ[i];
    list[kept++] = *temporary;
    list[kept] = NULL;
    return list;
}

static int spawn_group(kni_jit *jit, char **arguments, const char *log)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t group;
    char *temporary = NULL, **environment = environment_in(jit->folder.path, &temporary);
    if (!environment) return ENOMEM;
    int code = posix_spawn_file_actions_init(&actions);
    int attributes = code ? code : posix_spawnattr_init(&group);
    if (!attributes) {
        code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        if (!code)
            code = posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (!code) code = posix_spawn_file_actions_adddup2(&actions, 1, 2);
        if (!code) code = posix_spawnattr_setflags(&group, POSIX_SPAWN_SETPGROUP);
        if (!code) code = posix_spawnattr_setpgroup(&group, 0);
        pid_t started; /* of no meaning where it fails */
        if (!code) code = posix_spawnp(&started, compiler_name(), &actions, &group, arguments, environment);
        if (!code) jit->compiler = started;
        posix_spawnattr_destroy(&group);
        posix_spawn_file_actions_destroy(&actions);
    }
    free(environment);
    free(temporary);
    return attributes ? attributes : code;
}

static kn_status spawn(kni_jit *jit, const char *source, const char *library, const char *log)
{
    char *arguments[ARGUMENTS];
    int n = 0;
    arguments[n++] = (char *)compiler_name();
    for (int i = 0; i < FLAGS; i++) arguments[n++] = (char *)flags[i];
    arguments[n++] = (char *)"-o";
    arguments[n++] = (char *)library;
    arguments[n++] = (char *)source;
    arguments[n] = NULL;
    int code = spawn_group(jit, arguments, log);
    if (code) tell("no compiler could be started, set KN_CC: ", strerror(code));
    return code ? KN_ERROR_UNSUPPORTED : KN_OK;
}

/* ---- compilers under way, for the end of the program */

static kni_mutex working_lock = KNI_MUTEX_INIT;
static kni_jit *working;
static bool program_ends;

/* Under the lock. */
static void unlist(const kni_jit *jit)
{
    kni_jit **at = &working;
    while (*at && *at != jit) at = &(*at)->next;
    if (*at) *at = jit->next;
}

/* Ends the compiler with all that it started; under the lock, so that nobody has reaped it meanwhile. */
static void kill_compiler(kni_jit *jit)
{
    unlist(jit);
    if (jit->compiler > 0 && jit->owner == getpid()) {
        kill(-jit->compiler, SIGKILL);
        while (waitpid(jit->compiler, NULL, 0) < 0 && errno == EINTR) {}
    }
    jit->compiler = 0;
}

/* The program ends, perhaps beside threads that still compute: no compiler and no folder outlives it. */
static void end_all(void)
{
    kni_lock(&working_lock);
    program_ends = true;
    while (working) {
        kni_jit *jit = working;
        kill_compiler(jit);
        if (jit->owner == getpid()) (void)kni_path_remove(jit->folder.path);
    }
    kni_unlock(&working_lock);
}

/* The parent's compilers are none of the child's. */
static void forked(void)
{
    kni_renew(&working_lock);
    working = NULL;
}

/* Starts the compiler and lists it, in one step for a program that ends meanwhile. */
static bool begin_work(kni_jit *jit, const char *source, const char *library, const char *log)
{
    static bool watches;
    static kni_life_hook hook = {.forked = forked};
    kni_life_watch(&hook);
    kni_lock(&working_lock);
    if (!watches) watches = atexit(end_all) == 0;
    bool good = !program_ends && spawn(jit, source, library, log) == KN_OK;
    if (good) {
        jit->next = working;
        working = jit;
    }
    kni_unlock(&working_lock);
    return good;
}

static bool start_compiler(kni_jit *jit, const char *text)
{
    kni_jit_folder_make(&jit->folder);
    jit->owner = getpid();
    if (!jit->folder.path) {
        tell("no folder for it could be made in ", kni_jit_folder_base());
        return false;
    }
    char *source = joined(jit->folder.path, "kernel.c"), *library = joined(jit->folder.path, "kernel.so"),
         *log = joined(jit->folder.path, "log");
    bool good = source && library && log && kni_file_write(source, text, strlen(text)) == KN_OK &&
                begin_work(jit, source, library, log);
    free(source);
    free(library);
    free(log);
    return good;
}

/* What the compiler said first. */
static void tell_log(const kni_jit *jit)
{
    kni_buffer text = {0};
    char *log = joined(jit->folder.path, "log");
    if (log && kni_file_exists(log)) (void)kni_file_read(log, 1 << 20, &text);
    char line[200] = "";
    for (size_t i = 0; i < text.length && i + 1 < sizeof line && text.data[i] != '\n'; i++)
        line[i] = text.data[i];
    tell("the compiler failed: ", line);
    free(log);
    kni_buffer_free(&text);
}

static void finish(kni_jit *jit, bool good)
{
    kni_buffer bytes = {0};
    char *library = joined(jit->folder.path, "kernel.so");
    good = good && library && kni_file_exists(library) && kni_file_read(library, 1 << 28, &bytes) == KN_OK;
    if (!good)
        tell_log(jit);
    else if (load(jit, bytes.data, bytes.length))
        kni_disk_cache_put("cc", jit->key.data, jit->key.length, bytes.data, bytes.length);
    jit->failed = !jit->function;
    free(library);
    kni_buffer_free(&bytes);
    kni_buffer_free(&jit->key);
    kni_jit_folder_remove(&jit->folder);
}

static void ask(kni_jit *jit, bool wait)
{
    int status = 0;
    if (jit->owner !=
        getpid()) { /* the parent's compiler: this process starts none of its own for the text */
        kni_jit_folder_leave(&jit->folder);
        jit->compiler = 0;
        jit->failed = true;
        return;
    }
    siginfo_t ended;
    while (wait && waitid(P_PID, (id_t)jit->compiler, &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {}
    kni_lock(&working_lock);
    pid_t done = jit->compiler > 0 ? waitpid(jit->compiler, &status, WNOHANG) : -1;
    bool runs = done == 0 || (done < 0 && errno == EINTR);
    if (!runs) {
        unlist(jit);
        jit->compiler = 0; /* its number may be another process's from now on */
    }
    kni_unlock(&working_lock);
    if (runs) return;
    /* A program that ignores its children's ends leaves no status: the file then says whether it went well. */
    finish(jit, done < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

kni_jit *kni_jit_start(const char *text, const char *entry)
{
    kni_jit *jit = calloc(1, sizeof *jit);
    kni_buffer cached = {0};
    if (!jit) return NULL;
    jit->entry = strdup(entry);
    if (!jit->entry || !make_key(jit, text)) {
        kni_jit_free(jit);
        return NULL;
    }
    bool found = kni_disk_cache_get("cc", jit->key.data, jit->key.length, &cached) &&
                 load(jit, cached.data, cached.length);
    kni_buffer_free(&cached);
    if (!found && !start_compiler(jit, text)) {
        kni_jit_free(jit);
        return NULL;
    }
    if (!found && kni_jit_waits()) ask(jit, true);
    return jit;
}

kni_jit_fn kni_jit_ready(kni_jit *jit)
{
    if (KNI_LIKELY(jit->function != NULL) || jit->failed) return jit->function;
    uint64_t now = kni_nanoseconds();
    if (now - jit->asked < poll_nanoseconds) return NULL;
    jit->asked = now;
    ask(jit, false);
    return jit->function;
}

bool kni_jit_failed(const kni_jit *jit) { return jit->failed; }

void kni_jit_free(kni_jit *jit)
{
    if (!jit) return;
    kni_lock(&working_lock);
    kill_compiler(jit);
    kni_unlock(&working_lock);
    if (jit->owner == getpid())
        kni_jit_folder_remove(&jit->folder);
    else
        kni_jit_folder_leave(&jit->folder);
    if (jit->library) dlclose(jit->library);
    kni_buffer_free(&jit->key);
    free(jit->entry);
    free(jit);
}
