/* Where public calls end, so that a call without a line never takes the line of a later one. A composite counts a serial for each
   op that it is made of and has its line at the last; a single op has it at its own. */
#ifndef KNI_CALL_SITE_H
#define KNI_CALL_SITE_H

#include "core/thread_state.h"

/* The op that the thread is in the middle of, not counting those that a lowering makes: twice its serial, and 1 where a composite
   calls it. 0: none. One word, since every op writes it. */
typedef uint64_t kni_op_now;
extern KNI_THREAD_LOCAL kni_op_now kni_this_op;
static inline uint64_t kni_op_serial(kni_op_now op) { return op >> 1; }
static inline bool kni_op_in_composite(kni_op_now op) { return op & 1; }

/* A public call that may run no op counts itself, so that its line is not that of the call before it. */
static inline void kni_call_counts(kni_thread *t)
{
    if (!t->context.call_name && !t->depth_of_calls) t->serial++;
}

/* Gives the serials of calls inside an op back. The lines that were noted for them are forgotten: the next calls have others. */
void kni_serial_back(kni_thread *t, uint64_t serial);

/* A composite ends: its line can only come now. */
void kni_call_ended(kni_thread *t);

/* The line of the public call that has the op, NULL where none was noted or it is not known any more. *open: a composite whose end
   was not met, which may be in progress. */
const char *kni_call_site(uint64_t serial, bool composite, bool *open);

/* Tells the latest failure without a line; a call that meets it later gives it none either. */
void kni_error_lineless(kni_thread *t);

#endif
