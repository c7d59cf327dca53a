/* Handles of objects where the slots just fill their memory: kn_shutdown and fork look at every slot and at none behind. */
#define _DEFAULT_SOURCE
#include "core/objects.h"
#include "support/check.h"
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 64 }; /* the first block of slots, as in core/objects.c */

static int destroyed[SLOTS];
static void destroy(void *object) { ++*(int *)object; }
static const kni_object_kind kind = {"kn_thing", "thing", "freed", destroy};
static void *handles[SLOTS];

static int ended(void)
{
    int n = 0;
    for (int i = 0; i < SLOTS; i++) {
        kni_object_use use = kni_object_enter(handles[i], &kind, __func__);
        n += use.object == NULL;
        kni_object_leave(&use);
    }
    return n;
}

static int destroyed_once(void)
{
    int n = 0;
    for (int i = 0; i < SLOTS; i++) n += destroyed[i] == 1;
    return n;
}

/* In a forked child every handle has ended, the first and the last too, and nothing was destroyed. */
static void forks(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) _exit(ended() == SLOTS && destroyed_once() == 0 ? 0 : 1);
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(ended() == 0);
}

static void shuts_down(void)
{
    CHECK(kn_shutdown() == KN_OK);
    CHECK(destroyed_once() == SLOTS && ended() == SLOTS);
}

int main(void)
{
    kn_log_set(NULL, NULL);
    for (int i = 0; i < SLOTS; i++) handles[i] = kni_object_make(&kind, &destroyed[i], __func__);
    forks();
    shuts_down();
    return check_report();
}
