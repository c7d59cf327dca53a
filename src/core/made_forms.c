/* The list of forms of a lasting storage: it only grows until the storage ends, so readers need no lock. */
#include "core/made_forms.h"
#include "core/lasting.h"
#include "core/table.h"
#include <string.h>

#ifndef KN_FREESTANDING

struct kni_made_form {
    kni_made_form *next;
    size_t bytes; /* of all of it */
    kni_form_key key;
};

enum { HEAD = (sizeof(struct kni_made_form) + 63) / 64 * 64 };

void kni_lasting(kn_tensor t)
{
    kni_tensor *x = kni_peek(t);
    kni_storage *s = x ? x->storage : NULL;
    if (!s || kni_storage_flags(s) &
                  (KNI_STORAGE_PENDING | KNI_STORAGE_FAILED | KNI_STORAGE_DEVICE | KNI_STORAGE_LASTING))
        return;
    atomic_init(&s->forms, NULL);
    atomic_fetch_or(&s->flags, KNI_STORAGE_LASTING | KNI_STORAGE_READ_ONLY);
}

bool kni_form_lasts(const kni_storage *s) { return s && (kni_storage_flags(s) & KNI_STORAGE_LASTING) != 0; }

static kni_made_form *find(kni_made_form *form, const kni_form_key *key)
{
    while (form && memcmp(&form->key, key, sizeof *key)) form = form->next;
    return form;
}

const void *kni_form_find(const kni_storage *s, const kni_form_key *key)
{
    kni_made_form *form =
        kni_form_lasts(s) ? find(atomic_load_explicit(&s->forms, memory_order_acquire), key) : NULL;
    return form ? (const char *)form + HEAD : NULL;
}

void *kni_form_new(const kni_storage *s, const kni_form_key *key, size_t bytes)
{
    if (!kni_form_lasts(s) || bytes > SIZE_MAX / 2) return NULL;
    kni_made_form *form = kni_allocate(bytes + HEAD);
    if (!form) return NULL;
    *form = (kni_made_form){NULL, bytes + HEAD, *key};
    return (char *)form + HEAD;
}

const void *kni_form_keep(kni_storage *s, void *data)
{
    kni_made_form *form = (kni_made_form *)((char *)data - HEAD), *first = atomic_load(&s->forms);
    do {
        kni_made_form *other = find(first, &form->key);
        if (other) {
            kni_free(form, form->bytes);
            return (char *)other + HEAD;
        }
        form->next = first;
    } while (!atomic_compare_exchange_weak(&s->forms, &first, form));
    return data;
}

void kni_forms_free(kni_storage *s)
{
    kni_made_form *form = kni_form_lasts(s) ? atomic_load(&s->forms) : NULL;
    while (form) {
        kni_made_form *next = form->next;
        kni_free(form, form->bytes);
        form = next;
    }
}

#endif
