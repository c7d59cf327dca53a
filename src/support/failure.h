/* How the parts above the tensors report failures: the text goes to kn_last_error(), the status is the result. */
#ifndef KNI_SUPPORT_FAILURE_H
#define KNI_SUPPORT_FAILURE_H

#include "support/damage.h"
#include <kn/base.h>

/* The longest text of a failure, with its zero. */
enum { KNI_FAILURE_TEXT = 600 };

/* Formats the text as printf does and returns code. Control characters but for ends of lines, and bytes that are not UTF-8, become \x1b and so on, because names
   in files may have them. */
kn_status kni_failure(kn_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* KN_ERROR_MEMORY with the name of the function that ran out. */
kn_status kni_failure_memory(const char *function);
/* The error of a poisoned tensor as a status with its text, KN_OK for a good one. */
kn_status kni_failure_of(kn_tensor t);
/* The same of a tensor that was to be stored, which is dropped where it failed: also one that has elements to come, and will not. */
kn_status kni_failure_dropped(kn_tensor t);
/* A poisoned tensor with that text. */
kn_tensor kni_poisoned(kn_status code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Between these two, failures of this thread are not told: the poisoned tensor, which has the text of the latest one, is what
   tells of them, once. Pairs may be nested. */
typedef struct kni_failure_held {
    char text[KNI_FAILURE_TEXT];
    kn_status status; /* of the latest one */
    struct kni_failure_held *outer;
} kni_failure_held;
void kni_failure_hold(kni_failure_held *held);
/* The poisoned tensor where status is a failure, else t (also to tell of what was held in other words). */
kn_tensor kni_failure_release(kni_failure_held *held, kn_status status, kn_tensor t);

/* The latest failure before a function of the caller's ran. */
typedef struct kni_failure_mark {
    uint64_t number;
} kni_failure_mark;
kni_failure_mark kni_failure_mark_now(void);
/* The status that such a function returned; where it told no reason, a text that says so by its name. */
kn_status kni_failure_since(kni_failure_mark before, kn_status status, const char *function);

/* A number for a message: NaN is one word, whatever its sign. */
enum { KNI_NUMBER_TEXT = 32 };
const char *kni_number_text(char *text, double value);
#define KNI_NUMBER(value) kni_number_text((char[KNI_NUMBER_TEXT]){0}, (value))

#endif
