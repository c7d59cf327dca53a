/* Compiling emitted C: in the background, at once, from the cache, and every way in which it cannot be. */
#define _DEFAULT_SOURCE
#include "backend/jit/jit_cc.h"
#include "support/check.h"
#include "support/file.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char cache[] = "jit_cache_XXXXXX";
static const char text[] =
    "#include <stdint.h>\n"
    "void twice(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)\n"
    "{\n    float *x = buffers[0];\n    const float *by = params;\n    (void)fault;\n"
    "    for (int64_t i = begin; i < end; i++) x[i] *= *by;\n}\n";

static int messages;
static char message[300];
static void hear(void *context, kn_log_level level, const char *line)
{
    (void)context;
    (void)level;
    messages++;
    snprintf(message, sizeof message, "%s", line);
}

static void run(kni_jit_fn function)
{
    float x[100], by = 3;
    void *buffers[] = {x};
    for (int i = 0; i < 100; i++) x[i] = (float)i;
    function(buffers, NULL, &by, 10, 90);
    for (int i = 0; i < 100; i++) CHECK(x[i] == (float)i * (i >= 10 && i < 90 ? 3 : 1));
}

static int entries(void)
{
    kni_folder names;
    char entries_folder[64];
    snprintf(entries_folder, sizeof entries_folder, "%s/kiln-kernels", cache);
    if (kni_folder_read(&names, entries_folder)) return -1;
    int n = (int)names.count;
    kni_folder_free(&names);
    return n;
}

static void in_the_background(void)
{
    setenv("KN_JIT", "cc", 1);
    CHECK(kni_jit_wanted());
    kni_jit *jit = kni_jit_start(text, "twice");
    if (!CHECK(jit != NULL)) return;
    for (int i = 0; i < 3000 && !kni_jit_ready(jit) && !kni_jit_failed(jit); i++) usleep(10000);
    kni_jit_fn function = kni_jit_ready(jit);
    if (CHECK(function != NULL && !kni_jit_failed(jit))) run(function);
    kni_jit_free(jit);
    CHECK(entries() == 1);
}

static void from_the_cache(void)
{
    setenv("KN_CC", "/nowhere/cc", 1); /* another compiler is another key: it has to be started */
    kni_jit *none = kni_jit_start(text, "twice");
    CHECK(none == NULL && messages == 1 && strstr(message, "KN_CC"));
    unsetenv("KN_CC");
    kni_jit *jit = kni_jit_start(text, "twice");
    if (CHECK(jit != NULL && kni_jit_ready(jit) != NULL)) run(kni_jit_ready(jit));
    kni_jit_free(jit);
}

enum { MANY = 5 };

/* Libraries that are loaded at once are as many. */
static void side_by_side(void)
{
    static const char half[] =
        "#include <stdint.h>\n"
        "void twice(void *const *b, int64_t *f, const void *p, int64_t begin, int64_t end)\n"
        "{\n    float *x = b[0];\n    for (int64_t i = begin; i < end; i++) x[i] /= 2;\n}\n";
    setenv("KN_JIT", "cc:wait", 1);
    kni_jit *one = kni_jit_start(text, "twice"), *other = kni_jit_start(half, "twice");
    if (CHECK(one && other && kni_jit_ready(one) && kni_jit_ready(other))) {
        float x = 8;
        void *buffers[] = {&x};
        run(kni_jit_ready(one));
        kni_jit_ready(other)(buffers, NULL, NULL, 0, 1);
        CHECK(x == 4 && kni_jit_ready(one) != kni_jit_ready(other));
    }
    kni_jit_free(one);
    kni_jit_free(other);
    /* However many: the files they are loaded from have the same few numbers. */
    kni_jit *all[MANY];
    for (int i = 0; i < MANY; i++) {
        char scale[300];
        snprintf(scale, sizeof scale,
                 "#include <stdint.h>\n"
                 "void twice(void *const *b, int64_t *f, const void *p, int64_t begin, int64_t end)\n"
                 "{ *(float *)b[0] *= %d; }\n",
                 i + 2);
        all[i] = kni_jit_start(scale, "twice");
        CHECK(all[i] && kni_jit_ready(all[i]));
    }
    for (int i = 0; i < MANY; i++) {
        float x = 1;
        void *buffers[] = {&x};
        if (all[i] && kni_jit_ready(all[i])) kni_jit_ready(all[i])(buffers, NULL, NULL, 0, 1);
        CHECK(x == (float)(i + 2));
        kni_jit_free(all[i]);
    }
}

static void at_once_and_wrong(void)
{
    setenv("KN_JIT", "cc:wait", 1);
    kni_jit *jit = kni_jit_start("int twice(void) { return", "twice");
    CHECK(jit && kni_jit_failed(jit) && !kni_jit_ready(jit));
    kni_jit_free(jit);
    jit = kni_jit_start("int other(void) { return 1; }", "twice"); /* the entry is not there */
    CHECK(jit && kni_jit_failed(jit));
    kni_jit_free(jit);
    CHECK(entries() == 2 + MANY && messages == 1);
    kni_jit *unfinished;
    setenv("KN_JIT", "cc", 1);
    unfinished = kni_jit_start("int twice(void) { return 2; }", "twice");
    CHECK(unfinished != NULL);
    kni_jit_free(unfinished); /* ends the compiler */
    setenv("TMPDIR", "/nowhere", 1);
    CHECK(kni_jit_start("int twice(void) { return 3; }", "twice") == NULL);
    unsetenv("TMPDIR");
    setenv("KN_JIT", "ccx", 1);
    CHECK(!kni_jit_wanted());
}

/* Whether a process of its own, with the variable set, tells the words: a process tells only its first trouble. */
static bool tells(const char *variable, const char *value, const char *words)
{
    pid_t child = fork();
    if (child == 0) {
        setenv("KN_JIT", "cc:wait", 1);
        setenv(variable, value, 1);
        kni_jit_free(kni_jit_start("int twice(void) { return 4; }", "twice"));
        _exit(messages == 1 && strstr(message, words) ? 0 : 1);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void tells_why(void)
{
    CHECK(tells("TMPDIR", "/nowhere", "no folder for it could be made in /nowhere"));
    CHECK(tells("KN_CC", "echo", "the compiler failed: -")); /* echo says the options and makes no file */
}

int main(void)
{
    if (!CHECK(mkdtemp(cache) != NULL)) return check_report();
    setenv("KN_CACHE_DIR", cache, 1);
    kn_log_set(hear, NULL);
    tells_why();
    in_the_background();
    from_the_cache();
    side_by_side();
    at_once_and_wrong();
    CHECK(kni_path_remove(cache) == KN_OK);
    return check_report();
}
