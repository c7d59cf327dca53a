/* The terminal behind the dashboard: ncurses, opened at run time. */
#ifndef KNI_TRAIN_RENDER_SCREEN_H
#define KNI_TRAIN_RENDER_SCREEN_H

#include "train/render_canvas.h"
#include <kn/base.h>

typedef struct kni_screen kni_screen;

/* Keys above the characters. */
enum {
    KNI_KEY_NONE = -1,
    KNI_KEY_LEFT = 0x10000,
    KNI_KEY_RIGHT,
    KNI_KEY_UP,
    KNI_KEY_DOWN,
    KNI_KEY_PAGE_UP,
    KNI_KEY_PAGE_DOWN,
    KNI_KEY_RESIZE,
    KNI_KEY_OTHER
};

/* KN_OK where a dashboard could be shown here: a terminal that moves its cursor, and ncurses. */
kn_status kni_screen_possible(void);
/* The same without a failure. */
bool kni_screen_is_possible(void);
/* NULL with kn_last_error(). signals: the terminal comes back also when one ends the process. */
kni_screen *kni_screen_open(bool signals);
/* Gives the terminal back as it was. */
void kni_screen_close(kni_screen *screen);
void kni_screen_size(kni_screen *screen, int *width, int *height);
bool kni_screen_utf8(const kni_screen *screen);
void kni_screen_paint(kni_screen *screen, const kni_canvas *canvas);
/* The next key, KNI_KEY_NONE where none was pressed within the milliseconds. */
int kni_screen_key(kni_screen *screen, int milliseconds);

/* A descriptor of the terminal to draw on (standard output, else standard error), -1 where neither is one. */
int kni_terminal_descriptor(void);
/* Whether the locale of the environment is UTF-8. */
bool kni_terminal_utf8(void);
int kni_terminal_columns(int descriptor); /* 80 where unknown */
/* Whether TERM names a terminal that understands escape sequences. */
bool kni_terminal_is_smart(void);

#endif
