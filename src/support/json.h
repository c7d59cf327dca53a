/* JSON: a reader that treats its text as hostile (depth, size and numbers are bounded; errors have line and column) and a
   writer. Values live in one arena that is freed at once. */
#ifndef KNI_SUPPORT_JSON_H
#define KNI_SUPPORT_JSON_H

#include "support/buffer.h"
#include <kn/base.h>

typedef enum kni_json_kind {
    KNI_JSON_NULL,
    KNI_JSON_BOOL,
    KNI_JSON_NUMBER,
    KNI_JSON_TEXT,
    KNI_JSON_ARRAY,
    KNI_JSON_OBJECT
} kni_json_kind;

typedef struct kni_json {
    kni_json_kind kind;
    int32_t line, column; /* where the value begins */
    bool truth;
    bool whole; /* the number is an integer that fits in `integer` */
    int64_t integer;
    double number;
    const char *text;       /* TEXT: UTF-8 with a final 0 (it may hold zeros itself) */
    size_t length;          /* TEXT: bytes */
    const char *key;        /* the name of a member of an object */
    struct kni_json *first; /* members of an ARRAY or OBJECT */
    struct kni_json *next;
    int64_t count;
} kni_json;

typedef struct kni_json_document *kni_json_document;

/* NULL with kn_last_error() "NAME:line:column: what is wrong". name: the file, for messages. */
kni_json_document kni_json_parse(const char *text, size_t length, const char *name);
const kni_json *kni_json_root(kni_json_document document);
void kni_json_free(kni_json_document document);
/* The member called key, or NULL. */
const kni_json *kni_json_member(const kni_json *object, const char *key);

/* Whether a text is UTF-8, as a name or a text of a document is. */
bool kni_json_is_text(const char *text, size_t length);
/* Appends a text with bytes that are not UTF-8 as U+FFFD. */
void kni_json_clean(kni_buffer *out, const char *text, size_t length);
/* Appends a quoted and escaped text. Bytes that are not UTF-8 become U+FFFD. */
void kni_json_write_text(kni_buffer *out, const char *text, size_t length);
/* The shortest decimal text that reads back as the same double; null for what is not finite. */
void kni_json_write_number(kni_buffer *out, double value);

#endif
