/* What can be known of the terminal without ncurses: whether there is one, its width, whether it shows UTF-8. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "train/render_screen.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifndef __wasi__
#include <sys/ioctl.h>
#include <termios.h>
#endif

int kni_terminal_descriptor(void)
{
    return isatty(STDOUT_FILENO) ? STDOUT_FILENO : isatty(STDERR_FILENO) ? STDERR_FILENO : -1;
}

/* The variables in the order in which the C library looks at them. */
bool kni_terminal_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (!value || !*value) continue;
        return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "utf-8") ||
               strstr(value, "UTF8");
    }
    return false;
}

int kni_terminal_columns(int descriptor)
{
#ifndef __wasi__
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
#else
    (void)descriptor;
#endif
    return 80;
}

bool kni_terminal_is_smart(void)
{
    const char *term = getenv("TERM");
    return term && *term && strcmp(term, "dumb") != 0 && strcmp(term, "unknown") != 0;
}
