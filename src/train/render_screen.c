/* Shows a canvas with ncurses and reads its keys. The locale is changed for the drawing thread alone and only while a function
   of this file runs; the program's own is never touched. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include "train/render_screen.h"
#include "support/failure.h"
#include "support/library.h"
#include "train/render_format.h"
#include "train/render_guard.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if !defined(__wasi__) && __has_include(<curses.h>)
#include <curses.h>
#include <fcntl.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <term.h>

/* The functions of the library that are used, by their own names behind "curses.". */
static struct {
    __typeof__(&newterm) newterm;
    __typeof__(&delscreen) delscreen;
    __typeof__(&set_term) set_term;
    __typeof__(&endwin) endwin;
    __typeof__(&newwin) newwin;
    __typeof__(&delwin) delwin;
    __typeof__(&cbreak) cbreak;
    __typeof__(&noecho) noecho;
    __typeof__(&nonl) nonl;
    __typeof__(&curs_set) curs_set;
    __typeof__(&keypad) keypad;
    __typeof__(&set_escdelay) set_escdelay;
    __typeof__(&wtimeout) wtimeout;
    __typeof__(&wgetch) wgetch;
    __typeof__(&wmove) wmove;
    __typeof__(&waddnwstr) waddnwstr;
    __typeof__(&wattrset) wattrset;
    __typeof__(&werase) werase;
    __typeof__(&wrefresh) wrefresh;
    __typeof__(&wresize) wresize;
    __typeof__(&resizeterm) resizeterm;
    __typeof__(&is_term_resized) is_term_resized;
    __typeof__(&clearok) clearok;
    __typeof__(&getmaxx) getmaxx;
    __typeof__(&getmaxy) getmaxy;
    __typeof__(&has_colors) has_colors;
    __typeof__(&start_color) start_color;
    __typeof__(&use_default_colors) use_default_colors;
    __typeof__(&init_pair) init_pair;
    __typeof__(&tigetstr) tigetstr;
    __typeof__(&tigetnum) tigetnum;
    __typeof__(&setupterm) setupterm;
    __typeof__(&set_curterm) set_curterm;
    __typeof__(&del_curterm) del_curterm;
} curses;

#define SYMBOL(name)                                                                                         \
    {                                                                                                        \
#name, (void **)&curses.name                                                                         \
    }
static const kni_library_symbol curses_symbols[] = {SYMBOL(newterm),
                                                    SYMBOL(delscreen),
                                                    SYMBOL(set_term),
                                                    SYMBOL(endwin),
                                                    SYMBOL(newwin),
                                                    SYMBOL(delwin),
                                                    SYMBOL(cbreak),
                                                    SYMBOL(noecho),
                                                    SYMBOL(nonl),
                                                    SYMBOL(curs_set),
                                                    SYMBOL(keypad),
                                                    SYMBOL(set_escdelay),
                                                    SYMBOL(wtimeout),
                                                    SYMBOL(wgetch),
                                                    SYMBOL(wmove),
                                                    SYMBOL(waddnwstr),
                                                    SYMBOL(wattrset),
                                                    SYMBOL(werase),
                                                    SYMBOL(wrefresh),
                                                    SYMBOL(wresize),
                                                    SYMBOL(resizeterm),
                                                    SYMBOL(is_term_resized),
                                                    SYMBOL(clearok),
                                                    SYMBOL(getmaxx),
                                                    SYMBOL(getmaxy),
                                                    SYMBOL(has_colors),
                                                    SYMBOL(start_color),
                                                    SYMBOL(use_default_colors),
                                                    SYMBOL(init_pair),
                                                    SYMBOL(tigetstr),
                                                    SYMBOL(tigetnum),
                                                    SYMBOL(setupterm),
                                                    SYMBOL(set_curterm),
                                                    SYMBOL(del_curterm),
                                                    {0}};
static kni_library curses_library = {KNI_LIBRARY_NCURSES, "the dashboard", curses_symbols, 0};

struct kni_screen {
    FILE *in, *out;
    SCREEN *terminal;
    WINDOW *window;
    locale_t locale;
    bool utf8, colours;
    attr_t looks[KNI_STYLE_COUNT];
};

kn_status kni_screen_possible(void)
{
    if (kni_terminal_descriptor() < 0)
        return kni_failure(KN_ERROR_UNSUPPORTED,
                           "the dashboard needs a terminal; neither standard output nor "
                           "standard error is one (use kn_renderer_plain)");
    if (!kni_terminal_is_smart())
        return kni_failure(KN_ERROR_UNSUPPORTED,
                           "the dashboard needs a terminal that can move its cursor; TERM is '%s'",
                           getenv("TERM") ? getenv("TERM") : "");
    kn_status status = kni_library_open(&curses_library);
    if (status) return status;
    int found = 0;
    bool known = curses.setupterm(NULL, kni_terminal_descriptor(), &found) == OK;
    TERMINAL *description = curses.set_curterm(NULL);
    if (description) curses.del_curterm(description);
    if (known) return KN_OK;
    return kni_failure(KN_ERROR_UNSUPPORTED,
                       "the dashboard cannot use the terminal '%s': the system has no description of it",
                       getenv("TERM"));
}

/* ---- styles */

/* Colours of terminals with 256 of them and with 8; -1 is the terminal's own. */
typedef struct look {
    short many, few, behind_many, behind_few;
    attr_t attributes;
} look;

static const look looks[KNI_STYLE_COUNT] = {
    [KNI_STYLE_NORMAL] = {-1, -1, -1, -1, A_NORMAL},
    [KNI_STYLE_DIM] = {245, -1, -1, -1, A_NORMAL},
    [KNI_STYLE_BOLD] = {-1, -1, -1, -1, A_BOLD},
    [KNI_STYLE_FRAME] = {240, -1, -1, -1, A_NORMAL},
    [KNI_STYLE_HEADING] = {180, COLOR_YELLOW, -1, -1, A_BOLD},
    [KNI_STYLE_TITLE] = {231, COLOR_WHITE, 166, COLOR_RED, A_BOLD},
    [KNI_STYLE_TAB] = {232, COLOR_BLACK, 215, COLOR_YELLOW, A_BOLD},
    [KNI_STYLE_TRAIN] = {75, COLOR_CYAN, -1, -1, A_NORMAL},
    [KNI_STYLE_VALID] = {214, COLOR_YELLOW, -1, -1, A_NORMAL},
    [KNI_STYLE_TEST] = {141, COLOR_MAGENTA, -1, -1, A_NORMAL},
    [KNI_STYLE_GRID] = {237, -1, -1, -1, A_NORMAL},
    [KNI_STYLE_BAR] = {208, COLOR_YELLOW, -1, -1, A_BOLD},
    [KNI_STYLE_BAR_REST] = {238, -1, -1, -1, A_NORMAL},
    [KNI_STYLE_KEY] = {215, COLOR_YELLOW, -1, -1, A_BOLD},
    [KNI_STYLE_WARNING] = {203, COLOR_RED, -1, -1, A_BOLD},
};

static void choose_looks(kni_screen *screen)
{
    const char *plain = getenv("NO_COLOR");
    screen->colours = !(plain && *plain) && curses.has_colors() && curses.start_color() == OK &&
                      curses.use_default_colors() == OK;
    int colours = screen->colours ? curses.tigetnum((char *)(uintptr_t) "colors") : 0;
    for (int i = 0; i < KNI_STYLE_COUNT; i++) {
        const look *l = &looks[i];
        screen->looks[i] = l->attributes;
        short front = colours >= 256 ? l->many : l->few,
              behind = colours >= 256 ? l->behind_many : l->behind_few;
        if (colours >= 8 && curses.init_pair((short)(i + 1), front, behind) == OK) {
            screen->looks[i] |= (attr_t)(i + 1) << 8; /* COLOR_PAIR, which is a function here */
            if (colours < 256 && (i == KNI_STYLE_DIM || i == KNI_STYLE_FRAME || i == KNI_STYLE_GRID ||
                                  i == KNI_STYLE_BAR_REST))
                screen->looks[i] |= A_DIM;
        } else if (i == KNI_STYLE_TITLE || i == KNI_STYLE_TAB)
            screen->looks[i] |= A_REVERSE;
    }
}

/* ---- opening and closing */

static FILE *stream_of(int descriptor, const char *mode)
{
    int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    FILE *file = copy < 0 ? NULL : fdopen(copy, mode);
    if (!file && copy >= 0) close(copy);
    return file;
}

static FILE *keyboard(void)
{
    if (isatty(STDIN_FILENO)) return stream_of(STDIN_FILENO, "r");
    int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC);
    FILE *file = terminal < 0 ? NULL : fdopen(terminal, "r");
    if (!file && terminal >= 0) close(terminal);
    return file;
}

/* The user's locale; where that is not installed but was to be UTF-8, the one that every system has. */
static locale_t terminal_locale(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!locale && kni_terminal_utf8()) locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    return locale;
}

static void remember_leaving(void)
{
    static const char *const names[] = {"sgr0", "cnorm", "rmcup", "rmkx"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text = curses.tigetstr((char *)(uintptr_t)names[i]);
        if (text && text != (char *)-1) kni_guard_leave_text(text);
    }
}

static bool open_terminal(kni_screen *screen)
{
    screen->out = stream_of(kni_terminal_descriptor(), "w");
    screen->in = keyboard();
    if (!screen->out || !screen->in) return false;
    screen->terminal = curses.newterm(NULL, screen->out, screen->in);
    if (!screen->terminal) return false;
    screen->window = curses.newwin(0, 0, 0, 0);
    return screen->window != NULL;
}

kni_screen *kni_screen_open(bool signals)
{
    if (kni_screen_possible() != KN_OK) return NULL;
    kni_screen *screen = calloc(1, sizeof *screen);
    if (!screen) {
        kni_failure_memory("kn_renderer_dashboard");
        return NULL;
    }
    if (kni_guard_begin(kni_terminal_descriptor(), signals) != KN_OK) {
        free(screen);
        return NULL;
    }
    screen->locale = terminal_locale();
    screen->utf8 = screen->locale && kni_terminal_utf8();
    locale_t before = screen->locale ? uselocale(screen->locale) : (locale_t)0;
    bool good = open_terminal(screen);
    kni_guard_handlers_back();
    if (good) {
        remember_leaving();
        curses.cbreak();
        curses.noecho();
        curses.nonl();
        curses.curs_set(0);
        curses.set_escdelay(25);
        curses.keypad(screen->window, true);
        choose_looks(screen);
    }
    if (before) uselocale(before);
    if (good) return screen;
    kni_screen_close(screen);
    kni_failure(KN_ERROR_UNSUPPORTED,
                "the dashboard cannot use the terminal '%s': it does not open, or it has no keyboard",
                getenv("TERM"));
    return NULL;
}

void kni_screen_close(kni_screen *screen)
{
    if (!screen) return;
    if (screen->window) {
        curses.endwin();
        curses.delwin(screen->window);
    }
    if (screen->terminal) {
        curses.delscreen(screen->terminal);
    }
    kni_guard_end();
    if (screen->out) fclose(screen->out);
    if (screen->in) fclose(screen->in);
    if (screen->locale) freelocale(screen->locale);
    free(screen);
}

/* ---- drawing and keys */

/* The terminal is asked for its size, as nobody catches the signal that tells of a change. */
static void follow_size(kni_screen *screen)
{
    struct winsize size;
    if (ioctl(fileno(screen->out), TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return;
    if (size.ws_col == curses.getmaxx(screen->window) && size.ws_row == curses.getmaxy(screen->window))
        return;
    if (curses.is_term_resized(size.ws_row, size.ws_col)) curses.resizeterm(size.ws_row, size.ws_col);
    curses.wresize(screen->window, size.ws_row, size.ws_col);
    curses.clearok(screen->window, true);
}

void kni_screen_size(kni_screen *screen, int *width, int *height)
{
    follow_size(screen);
    *width = curses.getmaxx(screen->window);
    *height = curses.getmaxy(screen->window);
}

bool kni_screen_utf8(const kni_screen *screen) { return screen->utf8; }

void kni_screen_paint(kni_screen *screen, const kni_canvas *canvas)
{
    locale_t before = screen->locale ? uselocale(screen->locale) : (locale_t)0;
    curses.werase(screen->window);
    for (int y = 0; y < canvas->height; y++) {
        const kni_cell *row = canvas->cells + (int64_t)y * canvas->width;
        for (int x = 0; x < canvas->width;) {
            wchar_t run[64]; /* a stretch of one style */
            int start = x, length = 0;
            uint8_t style = row[x].style;
            for (; x < canvas->width && row[x].style == style && length < 64; x++)
                if (row[x].character) run[length++] = (wchar_t)row[x].character;
            curses.wmove(screen->window, y, start);
            curses.wattrset(screen->window, (int)screen->looks[style < KNI_STYLE_COUNT ? style : 0]);
            curses.waddnwstr(screen->window, run, length);
        }
    }
    curses.wrefresh(screen->window);
    if (before) uselocale(before);
}

int kni_screen_key(kni_screen *screen, int milliseconds)
{
    static const struct {
        int from, to;
    } keys[] = {{KEY_LEFT, KNI_KEY_LEFT},
                {KEY_RIGHT, KNI_KEY_RIGHT},
                {KEY_UP, KNI_KEY_UP},
                {KEY_DOWN, KNI_KEY_DOWN},
                {KEY_PPAGE, KNI_KEY_PAGE_UP},
                {KEY_NPAGE, KNI_KEY_PAGE_DOWN},
                {KEY_RESIZE, KNI_KEY_RESIZE},
                {KEY_BTAB, '\t'},
                {KEY_ENTER, '\r'}};
    locale_t before = screen->locale ? uselocale(screen->locale) : (locale_t)0;
    curses.wtimeout(screen->window, milliseconds);
    int key = curses.wgetch(screen->window);
    /* ^L asks for a fresh picture, which a resize does as well. */
    if (key == KEY_RESIZE || key == '\f') curses.clearok(screen->window, true);
    if (before) uselocale(before);
    if (key == ERR) return KNI_KEY_NONE;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].from == key) return keys[i].to;
    return key < 256 ? key : KNI_KEY_OTHER;
}

#else
kn_status kni_screen_possible(void)
{
    return kni_failure(KN_ERROR_UNSUPPORTED,
                       "this build has no dashboard: curses.h was not there (Debian: apt "
                       "install libncurses-dev)");
}
kni_screen *kni_screen_open(bool signals)
{
    (void)signals;
    kni_screen_possible();
    return NULL;
}
void kni_screen_close(kni_screen *screen) { (void)screen; }
void kni_screen_size(kni_screen *screen, int *width, int *height)
{
    (void)screen;
    *width = *height = 0;
}
bool kni_screen_utf8(const kni_screen *screen)
{
    (void)screen;
    return false;
}
void kni_screen_paint(kni_screen *screen, const kni_canvas *canvas)
{
    (void)screen;
    (void)canvas;
}
int kni_screen_key(kni_screen *screen, int milliseconds)
{
    (void)screen;
    (void)milliseconds;
    return KNI_KEY_NONE;
}
#endif

bool kni_screen_is_possible(void)
{
    kni_failure_held held;
    kni_failure_hold(&held);
    bool possible = kni_screen_possible() == KN_OK;
    kni_failure_release(&held, KN_OK, KN_NONE);
    return possible;
}
