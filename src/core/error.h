/* Errors: a fixed pool of records, so that running out of memory can be reported too. */
#ifndef KNI_ERROR_H
#define KNI_ERROR_H

#include "core/objects.h"
#include "core/past.h"
#include "core/thread_state.h"
#include <kn/base.h>
#include <stdarg.h>

/* Fills a record and makes it the thread's latest failure; returns code. The format is kni_text_format's. */
kn_status kni_fail(kn_status code, const char *format, ...) KNI_COLD;
/* The same with "kn_<name>: " before the text, where name is the outermost public call. */
kn_status kni_fail_op(kn_status code, const char *op_name, const char *format, ...) KNI_COLD;
kn_status kni_fail_op_list(kn_status code, const char *op_name, const char *format,
                           va_list arguments) KNI_COLD;

/* Puts "kn_<name>: " before the thread's latest failure, which has just been told by something that did not know the
   op it worked for; nothing when the text names a function already. */
void kni_error_named(const char *name) KNI_COLD;

/* The same by the whole name of a public function; nothing for any other name. */
void kni_error_named_by(const char *function) KNI_COLD;

/* Puts more behind the text of the thread's latest failure, which has just been told and has no line yet. */
void kni_error_continued(const char *format, ...) KNI_COLD;

/* Makes what a poisoned handle carries the thread's latest failure again, under the name; returns its code. */
kn_status kni_fail_again(kn_tensor poison, const char *name) KNI_COLD;

/* The same for what a public function was given: "<what> carries an error: ...". The format is of <what>. */
enum { KNI_CARRIER_TEXT = 64 };
kn_status kni_fail_carried(kn_tensor poison, const char *name, const char *format, ...) KNI_COLD;

/* A poisoned handle that carries the thread's latest failure. */
kn_tensor kni_poison_latest(void) KNI_COLD;

static inline bool kni_is_poisoned(kn_tensor t) { return (t.bits >> 63) != 0; }

/* Attaches the site to the pending error and hands it to the log callback. */
void kni_error_site(kni_thread *t, const char *site) KNI_COLD;
/* Logs a pending error that no site came for. */
void kni_error_flush(kni_thread *t) KNI_COLD;
/* What was told last is tried in another way: nobody need hear of it. */
void kni_error_forget(kni_thread *t) KNI_COLD;
void kni_log(int level, const char *format, ...);

#endif
