/* What backends make of lasting storages and find again: a list at each storage, which ends with it. */
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
/* Nothing is lasting where no model is loaded. */
static inline const void *kni_form_find(const kni_storage *s, const kni_form_key *key)
{
    return (void)s, (void)key, NULL;
}
static inline void *kni_form_new(const kni_storage *s, const kni_form_key *key, size_t bytes)
{
    return (void)s, (void)key, (void)bytes, NULL;
}
static inline const void *kni_form_keep(kni_storage *s, void *form) { return (void)s, form; }
static inline void kni_forms_free(kni_storage *s) { (void)s; }
static inline bool kni_form_lasts(const kni_storage *s) { return (void)s, false; }
#else
/* Whether forms of it are kept. */
bool kni_form_lasts(const kni_storage *s);
/* NULL: none was kept yet, or the storage is not lasting. */
const void *kni_form_find(const kni_storage *s, const kni_form_key *key);
/* Memory for a form, 64-byte aligned; NULL where the storage is not lasting or without memory, which is no failure. It is filled and then
   kept. */
void *kni_form_new(const kni_storage *s, const kni_form_key *key, size_t bytes);
/* What is kept: the form, or the equal one that another thread kept in the meantime. */
const void *kni_form_keep(kni_storage *s, void *form);
/* For storages that end. */
void kni_forms_free(kni_storage *s);
#endif

#endif
