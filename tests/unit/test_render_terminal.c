/* The dashboard and the plain lines on a real (pseudo) terminal: what appears, what keys do, that the terminal is as before
   however the run ends, and which renderer is chosen where. */
#define _GNU_SOURCE
#include "support/check.h"
#include "train/render_play.h"
#include <errno.h>
#include <kn/train/renderer.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

typedef enum ending { ENDS, EXITS, CRASHES, CLOSES } ending;

typedef struct stage {
    const char *term, *lang, *renderer; /* renderer: value of KN_RENDERER, NULL: none */
    int columns, rows, epochs, batches;
    unsigned pause_us;
    ending ending;
    const char *const *keys; /* sent one by one when the first picture is there, the last one NULL */
    int resize;              /* columns to change to on the way */
    bool stay;
} stage;

static char screen[1 << 22];
static size_t screen_length;
static int exit_status;
static bool restored;

static void pause_for(unsigned us)
{
    struct timespec t = {us / 1000000, (long)(us % 1000000) * 1000};
    nanosleep(&t, NULL);
}

/* The child: plays a run on its terminal. Exit status 3: no renderer. */
static void play_child(const stage *s)
{
    setenv("TERM", s->term, 1);
    setenv("LC_ALL", s->lang, 1);
    unsetenv("NO_COLOR");
    unsetenv("KN_RENDERER");
    if (s->renderer) setenv("KN_RENDERER", s->renderer, 1);
    kn_renderer r = s->stay ? kn_renderer_dashboard(&(kn_dashboard_args){.stay = true}) : kn_renderer_auto();
    if (!r) {
        printf("error: %s\n", kn_last_error());
        exit(3);
    }
    printf("name=%s\n", play_inside(r)->type->name);
    fflush(stdout);
    play p = {.epochs = s->epochs,
              .batches = s->batches,
              .batch = 4,
              .first_epoch = 1,
              .pause_us = s->pause_us,
              .wait = pause_for};
    kn_run_info info = {.name = "mnist", .epochs = 1, .metrics = play_metrics};
    info.catch_interrupts = s->ending == CRASHES;
    bool deaf = s->ending == EXITS, keeps = s->ending == CRASHES; /* what is looked at below */
    if (keeps) signal(SIGTERM, SIG_IGN);
    if (s->ending != ENDS && play_inside(r)->type->start(play_inside(r)->self, &info) != KN_OK) exit(3);
    static const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGTSTP, SIGWINCH};
    for (size_t i = 0; i < sizeof all / sizeof *all && deaf; i++) {
        struct sigaction now;
        if (sigaction(all[i], NULL, &now) != 0 || now.sa_handler != SIG_DFL) exit(8);
    }
    struct sigaction kept;
    if (keeps && (sigaction(SIGTERM, NULL, &kept) != 0 || kept.sa_handler != SIG_IGN)) exit(8);
    if (s->ending == EXITS) exit(5);
    if (s->ending == CRASHES) raise(SIGSEGV);
    kn_run_end end = s->ending == ENDS ? play_run(&r, 1, &p) : KN_RUN_FINISHED;
    kn_renderer_free(r);
    exit(end == KN_RUN_INTERRUPTED ? 4 : end == KN_RUN_FAILED ? 3 : 0);
}

static void read_some(int master)
{
    struct pollfd fd = {master, POLLIN, 0};
    pause_for(20000);
    if (poll(&fd, 1, 0) <= 0 || screen_length + 65536 >= sizeof screen) return;
    ssize_t n = read(master, screen + screen_length, 65536);
    if (n > 0) screen_length += (size_t)n;
    screen[screen_length] = 0;
}

static bool seen(const char *word) { return strstr(screen, word) != NULL; }

/* Runs the child on a pseudo terminal and gathers what it writes. */
static void run(const stage *s)
{
    struct winsize size = {.ws_col = (unsigned short)s->columns, .ws_row = (unsigned short)s->rows};
    struct termios before, after;
    int master, slave, status = 0;
    screen_length = 0;
    screen[0] = 0;
    if (!CHECK(openpty(&master, &slave, NULL, NULL, &size) == 0)) return;
    tcgetattr(slave, &before);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(master);
        if (login_tty(slave) != 0) _exit(9);
        play_child(s);
    }
    const char *const *key = s->keys;
    int rounds = 0;
    bool ended = false;
    time_t limit = time(NULL) + 60;
    for (int quiet = 0; quiet < 3 && time(NULL) < limit;) {
        size_t had = screen_length;
        read_some(master);
        /* About ten rounds of 20 ms let the dashboard draw between two keys. */
        if (seen("train") && ++rounds % 10 == 0) {
            if (key && *key && write(master, *key, strlen(*key)) < 0) break;
            if (key && *key) key++;
            if (s->resize) {
                size.ws_col = (unsigned short)s->resize;
                ioctl(master, TIOCSWINSZ, &size);
            }
        }
        if (!ended) ended = waitpid(child, &status, WNOHANG) == child;
        quiet = ended && screen_length == had ? quiet + 1 : 0;
    }
    if (!ended) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    CHECK(ended);
    tcgetattr(slave, &after);
    restored = before.c_iflag == after.c_iflag && before.c_oflag == after.c_oflag &&
               before.c_cflag == after.c_cflag && before.c_lflag == after.c_lflag &&
               memcmp(before.c_cc, after.c_cc, sizeof before.c_cc) == 0;
    exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    close(slave);
    close(master);
}

/* How often a braille character is on the way to the terminal. */
static int braille_count(void)
{
    int count = 0;
    for (size_t i = 0; i + 2 < screen_length; i++)
        count += (unsigned char)screen[i] == 0xE2 && (unsigned char)screen[i + 1] >= 0xA0 &&
                 (unsigned char)screen[i + 1] <= 0xA3;
    return count;
}

static const stage plain_stage = {.term = "xterm-256color",
                                  .lang = "C.UTF-8",
                                  .columns = 100,
                                  .rows = 30,
                                  .epochs = 3,
                                  .batches = 40,
                                  .pause_us = 2000};
/* The text that leaves the alternate screen of xterm. */
#define LEAVE "\033[?1049l"

/* The build or the machine may have no ncurses; then the choice falls on the plain lines, which is tested all the same. */
static bool dashboard_exists;

static void whole_run(void)
{
    stage s = plain_stage;
    run(&s);
    dashboard_exists = seen("name=dashboard");
    if (!dashboard_exists) {
        CHECK(seen("name=plain"));
        check_skip("no ncurses");
        return;
    }
    CHECK(exit_status == 0 && restored);
    CHECK(braille_count() > 50 && seen("accuracy") && seen("gradient norm") && seen("╭─"));
    const char *left = strstr(screen, LEAVE);
    CHECK(left && strstr(left, "finished after epoch 3 of 3, step 120") && strstr(left, "accuracy") &&
          strstr(left, "▁"));
    CHECK(left && !strstr(left, "╭")); /* only the summary is on the normal screen */
}

static void keys(void)
{
    stage s = plain_stage;
    s.epochs = 2000;
    s.keys = (const char *const[]){"h", "x", "\033OC", "\t", "s", "l", "q", " ", "y", NULL};
    run(&s);
    /* The terminal gets only what changes, so words are looked for one by one. */
    CHECK(exit_status == 4 && restored && seen("interrupted after epoch"));
    CHECK(seen("logarithmic") && seen("recent") && seen("smooth") && seen("saving"));
    s.keys = (const char *const[]){"q", "n", "q", "k", NULL};
    run(&s);
    CHECK(exit_status == 4 && restored && seen("interrupted after epoch"));
    s = plain_stage;
    s.epochs = 1;
    s.batches = 10;
    s.stay = true;
    s.keys = (const char *const[]){"f", "f", "\033OC", "q", NULL};
    run(&s);
    CHECK(exit_status == 0 && restored && seen("ended:") && seen("finished after epoch 1 of 1"));
}

static bool has_own_handler(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL);
}

static void endings(void)
{
    stage s = plain_stage;
    static const struct {
        ending ending;
        int status;
    } rows[] = {{EXITS, 5}, {CRASHES, 128 + SIGSEGV}, {CLOSES, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        s.ending = rows[i].ending;
        run(&s);
        /* A sanitizer has a handler and an exit of its own for a crash, and no handler is replaced. */
        CHECK((restored && seen(LEAVE)) || (rows[i].ending == CRASHES && has_own_handler(SIGSEGV)));
        CHECK(exit_status == rows[i].status || (rows[i].ending == CRASHES && exit_status != 0));
    }
}

static void terminals(void)
{
    static const stage rows[] = {
        {.term = "xterm", .lang = "C.UTF-8", .columns = 20, .rows = 5},
        {.term = "xterm-256color", .lang = "C.UTF-8", .columns = 1, .rows = 1},
        {.term = "vt100", .lang = "C", .columns = 80, .rows = 24}, /* no colour, no UTF-8 */
        {.term = "xterm", .lang = "C.UTF-8", .columns = 200, .rows = 60, .resize = 30},
        {.term = "xterm",
         .lang = "xx_XX.UTF-8",
         .columns = 80,
         .rows = 24}, /* a locale that is not installed */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stage s = rows[i];
        s.epochs = 2;
        s.batches = 40;
        s.pause_us = 3000;
        run(&s);
        CHECK(exit_status == 0 && restored && seen("finished after epoch 2 of 2"));
        if (i == 2) CHECK(braille_count() == 0 && seen("+-") && seen("loss") && !seen("\xE2"));
        if (i == 4) CHECK(braille_count() > 20);
    }
}

static void choices(void)
{
    stage s = plain_stage;
    s.epochs = 2;
    s.term = "dumb";
    run(&s);
    CHECK(seen("name=plain") && exit_status == 0 && restored);
    CHECK(seen("\repoch 1/2 train ") && seen("epoch 2/2  train loss") && seen("finished after epoch 2 of 2"));
    CHECK(!strchr(screen, '\033')); /* a dumb terminal gets no escape sequences */
    s.term = "no-such-terminal-at-all";
    s.renderer = "dashboard";
    run(&s);
    CHECK(exit_status == 3 && restored && (seen("no description of it") || !dashboard_exists));
    s.renderer = NULL;
    run(&s);
    CHECK(exit_status == 0 && seen("name=plain"));
    s.renderer = "dashboard";
    s.term = "dumb";
    run(&s);
    CHECK(exit_status == 3 && (seen("TERM is 'dumb'") || !dashboard_exists));
    s.renderer = "none";
    run(&s);
    CHECK(seen("name=none") && exit_status == 0 && !seen("epoch"));
    s.renderer = "plain";
    s.term = "xterm";
    s.batches = 60; /* long enough for the bar to be drawn in the middle of an epoch on any machine */
    s.pause_us = 5000;
    run(&s);
    CHECK(seen("name=plain") && seen("\033[K") && seen("━"));
    s.renderer = "fancy";
    run(&s);
    CHECK(exit_status == 3 && seen("KN_RENDERER is 'fancy'; it may be auto, dashboard, plain or none"));
}

/* Away from terminals: one line for each epoch on standard error, and no dashboard. */
static void pipes(void)
{
    int ends[2];
    if (!CHECK(pipe(ends) == 0)) return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        setenv("LC_ALL", "C", 1);
        if (kn_renderer_dashboard(NULL)) _exit(7);
        play_child(&(stage){.term = "xterm", .lang = "C", .epochs = 2, .batches = 10});
    }
    close(ends[1]);
    screen_length = 0;
    for (ssize_t n; (n = read(ends[0], screen + screen_length, 4096)) > 0;) screen_length += (size_t)n;
    screen[screen_length] = 0;
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(seen("name=plain\nmnist: 2 epochs, 44.4k params, cpu (8 threads)\nepoch 1/2  train loss "));
    CHECK(seen(" | valid loss ") &&
          seen("\nsaved checkpoint/epoch-1.safetensors (best loss)\nepoch 2/2  train loss "));
    CHECK(!strchr(screen, '\r') && !strchr(screen, '\033') && !seen("\xE2"));
    close(ends[0]);
}

int main(void)
{
    if (UNDER_MEMORY_SANITIZER) {
        check_skip("MemorySanitizer: ncurses");
        pipes();
        return check_report();
    }
    whole_run();
    if (dashboard_exists) {
        keys();
        endings();
        terminals();
    }
    choices();
    pipes();
    return check_report();
}
