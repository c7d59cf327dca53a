/* What backends make of the bytes of a storage and find again, such as packed weights: a list at the storage that owns the memory, which
   ends with it. Forms are kept of what is lasting, and of what was used for the third time since it was written. */
#ifndef KNI_MADE_FORMS_H
#define KNI_MADE_FORMS_H

#include "core/storage.h"

enum { KNI_FORM_WORDS = 20 };

/* What tells forms of one storage apart; unused words are 0. */
typedef struct kni_form_key {
    const void *kind; /* an address of whoever makes it */
    int64_t words[KNI_FORM_WORDS];
} kni_form_key;

#ifdef KN_FREESTANDING
/* Small programs keep nothing. */
static inline bool kni_form_used(kni_storage *s) { return (void)s, false; }
static inline void kni_forms_end(kni_storage *s) { (void)s; }
static inline const void *kni_form_find(const kni_storage *s, const kni_form_key *key)
{
    return (void)s, (void)key, NULL;
}
static inline void *kni_form_new(kni_storage *s, const kni_form_key *key, size_t bytes)
{
    return (void)s, (void)key, (void)bytes, NULL;
}
static inline const void *kni_form_keep(kni_storage *s, void *form) { return (void)s, form; }
static inline void kni_forms_free(kni_storage *s) { (void)s; }
static inline bool kni_form_lasts(const kni_storage *s) { return (void)s, false; }
#else
/* Counts a use of the bytes by an op that can keep a form of them; true: forms are kept from now on. s may be NULL. */
bool kni_form_used(kni_storage *s);
/* Whether forms of it are kept. */
bool kni_form_lasts(const kni_storage *s);
/* NULL: there is none of these bytes yet, or none is kept. */
const void *kni_form_find(const kni_storage *s, const kni_form_key *key);
/* Memory for a form, 64-byte aligned; NULL where none is kept, too many are, or without memory, which is no failure. It is filled and
   then kept. */
void *kni_form_new(kni_storage *s, const kni_form_key *key, size_t bytes);
/* What is kept: the form, or the equal one that another thread kept in the meantime. */
const void *kni_form_keep(kni_storage *s, void *form);
/* Before an owner's bytes change. Memory stays for the next forms with the same keys: a thread that reads a weight while another one
   updates it may get wrong numbers, and never reads freed memory. */
void kni_forms_end(kni_storage *s);
/* Of how many bytes forms are kept now that are no lasting storage's, and how many were ever made, of lasting ones too. */
typedef struct kni_form_counts {
    int64_t bytes, made;
} kni_form_counts;
kni_form_counts kni_form_counted(void);
/* For storages that end. */
void kni_forms_free(kni_storage *s);
#endif

#endif
