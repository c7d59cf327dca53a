/* Gives the terminal back when the process ends while the dashboard holds it: by exit and, where it is told to, by a signal or a crash. */
#ifndef KNI_TRAIN_RENDER_GUARD_H
#define KNI_TRAIN_RENDER_GUARD_H

#include <kn/base.h>

/* Remembers the state of the terminal behind the descriptor and the handlers of signals; signals: puts in handlers where there are
   none that give the terminal back. One at a time: KN_ERROR_ARGUMENT where a
   guard is on already. */
kn_status kni_guard_begin(int descriptor, bool signals);
/* After the terminal was opened: ncurses has put in handlers of its own, which nobody has asked for. */
void kni_guard_handlers_back(void);
/* What the terminal is sent to leave the dashboard, besides its old modes. */
void kni_guard_leave_text(const char *text);
/* The terminal's modes and the handlers of signals are as before. */
void kni_guard_end(void);

/* A line for the user from any part of the library: on the dashboard while there is one, else on standard error. */
void kni_notice(const char *text);
/* Who shows notices meanwhile; NULL: standard error. */
void kni_notice_to(void (*show)(void *self, const char *text), void *self);
/* Writes all of it to a descriptor; what cannot be written is lost. */
void kni_write_all(int descriptor, const char *text, size_t bytes);

#endif
