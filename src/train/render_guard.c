/* The guard of the terminal. Where it is told to, signals that end the process restore it and are then raised again without a
   handler, so that the process ends as it would have; handlers of others are never replaced. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "train/render_guard.h"
#include "support/failure.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef __wasi__
#include <termios.h>
#endif

static struct {
    void (*show)(void *self, const char *text);
    void *self;
} notices;

void kni_write_all(int descriptor, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t done = write(descriptor, text, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return;
        text += done;
        bytes -= (size_t)done;
    }
}

void kni_notice_to(void (*show)(void *self, const char *text), void *self)
{
    notices.show = show;
    notices.self = self;
}

void kni_notice(const char *text)
{
    if (notices.show) {
        notices.show(notices.self, text);
        return;
    }
    kni_write_all(STDERR_FILENO, text, strlen(text));
    kni_write_all(STDERR_FILENO, "\n", 1);
}

#ifdef __wasi__
kn_status kni_guard_begin(int descriptor, bool signals)
{
    (void)descriptor;
    (void)signals;
    return kni_failure(KN_ERROR_UNSUPPORTED, "the dashboard needs a terminal, which this system has not");
}
void kni_guard_leave_text(const char *text) { (void)text; }
void kni_guard_handlers_back(void) {}
void kni_guard_end(void) {}
#else

/* Those that end a process and those that ncurses takes for itself. */
static const int guarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static const int borrowed[] = {SIGWINCH, SIGTSTP, SIGINT, SIGTERM};
enum { GUARDED = sizeof guarded / sizeof *guarded, BORROWED = sizeof borrowed / sizeof *borrowed };

static struct {
    _Atomic int active;
    bool exit_known;
    int descriptor;
    pid_t process; /* a child made by fork must not touch the terminal */
    struct termios modes;
    char leave[128];
    struct sigaction old[GUARDED], old_borrowed[BORROWED];
    bool taken[GUARDED];
} guard;

/* Only what a signal handler may call. */
static void restore_terminal(void)
{
    if (!atomic_exchange(&guard.active, 0) || getpid() != guard.process) return;
    kni_write_all(guard.descriptor, guard.leave, strlen(guard.leave));
    tcsetattr(guard.descriptor, TCSANOW, &guard.modes);
}

static void on_signal(int number)
{
    int kept = errno;
    restore_terminal();
    for (int i = 0; i < GUARDED; i++)
        if (guarded[i] == number) sigaction(number, &guard.old[i], NULL);
    /* A fault happens again on return; a signal that was sent has to be sent again. */
    raise(number);
    errno = kept;
}

/* A handler of the program stays, and so does a signal that it ignores. */
static bool is_ours_to_take(const struct sigaction *old)
{
    return !(old->sa_flags & SA_SIGINFO) && old->sa_handler == SIG_DFL;
}

kn_status kni_guard_begin(int descriptor, bool signals)
{
    if (guard.active) return kni_failure(KN_ERROR_ARGUMENT, "another dashboard holds the terminal");
    if (tcgetattr(descriptor, &guard.modes) != 0)
        return kni_failure(KN_ERROR_UNSUPPORTED, "the dashboard needs a terminal: %s", strerror(errno));
    if (!guard.exit_known && atexit(restore_terminal) == 0) guard.exit_known = true;
    guard.descriptor = descriptor;
    guard.process = getpid();
    guard.leave[0] = 0;
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < GUARDED; i++) {
        guard.taken[i] = signals && sigaction(guarded[i], NULL, &guard.old[i]) == 0 &&
                         is_ours_to_take(&guard.old[i]) && sigaction(guarded[i], &action, NULL) == 0;
    }
    for (int i = 0; i < BORROWED; i++) sigaction(borrowed[i], NULL, &guard.old_borrowed[i]);
    guard.active = 1;
    return KN_OK;
}

void kni_guard_handlers_back(void)
{
    for (int i = 0; i < BORROWED; i++) sigaction(borrowed[i], &guard.old_borrowed[i], NULL);
}

void kni_guard_leave_text(const char *text)
{
    size_t length = strlen(text), room = sizeof guard.leave - strlen(guard.leave) - 1;
    if (length <= room) memcpy(guard.leave + strlen(guard.leave), text, length + 1);
}

void kni_guard_end(void)
{
    if (atomic_exchange(&guard.active, 0)) tcsetattr(guard.descriptor, TCSADRAIN, &guard.modes);
    for (int i = 0; i < GUARDED; i++) {
        struct sigaction now;
        /* Who has put in a handler since then keeps it. */
        if (guard.taken[i] && sigaction(guarded[i], NULL, &now) == 0 && now.sa_handler == on_signal)
            sigaction(guarded[i], &guard.old[i], NULL);
        guard.taken[i] = false;
    }
}
#endif
