/* The list of forms of a storage: it only grows until the storage ends, so readers need no lock. */
#include "core/made_forms.h"
#include "core/lasting.h"
#include "core/table.h"
#include <string.h>

#ifndef KN_FREESTANDING

enum { VALID, ENDED, REMADE };

struct kni_made_form {
    kni_made_form *next;
    size_t bytes; /* of all of it */
    _Atomic uint32_t state;
    uint32_t written; /* how often the storage had been written when it was begun */
    bool counted;     /* among the bytes that are bounded */
    kni_form_key key;
};

enum { HEAD = (sizeof(struct kni_made_form) + 63) / 64 * 64 };
/* Of what is not lasting: all of them, and those of one storage, in bytes, multiples of its bytes, and number. */
#define MOST_BYTES (sizeof(void *) > 4 ? INT64_C(1) << 31 : INT64_C(1) << 26)
enum { MOST_TIMES = 16, SMALL_FORMS = 4096, MOST_FORMS = 16 };

static _Atomic int64_t bytes_kept, forms_made;

static bool is_lasting(const kni_storage *s) { return (kni_storage_flags(s) & KNI_STORAGE_LASTING) != 0; }

/* The storage at which forms of s are kept; NULL: none are. */
static kni_storage *keeper(const kni_storage *s)
{
    const uint32_t never =
        KNI_STORAGE_PENDING | KNI_STORAGE_FAILED | KNI_STORAGE_DEVICE | KNI_STORAGE_EXPORTED;
    kni_storage *owner = s ? kni_storage_owner((kni_storage *)(uintptr_t)s) : NULL;
    uint32_t flags = owner ? kni_storage_flags(owner) : never;
    if (flags & KNI_STORAGE_LASTING) return owner;
    return flags & (never | KNI_STORAGE_WRAPPED) ? NULL : owner;
}

void kni_lasting(kn_tensor t)
{
    kni_tensor *x = kni_peek(t);
    kni_storage *s = x ? x->storage : NULL;
    if (!s || kni_storage_flags(s) & (KNI_STORAGE_PENDING | KNI_STORAGE_FAILED | KNI_STORAGE_DEVICE)) return;
    atomic_fetch_or(&s->flags, KNI_STORAGE_READ_ONLY);
    atomic_fetch_or(&kni_storage_owner(s)->flags, KNI_STORAGE_LASTING | KNI_STORAGE_READ_ONLY);
}

bool kni_form_lasts(const kni_storage *s)
{
    const kni_storage *owner = keeper(s);
    return owner && (is_lasting(owner) || (kni_storage_flags(owner) & KNI_STORAGE_USES) == KNI_STORAGE_USES);
}

bool kni_form_used(kni_storage *s)
{
    kni_storage *owner = keeper(s);
    if (!owner || is_lasting(owner)) return owner != NULL;
    uint32_t flags = kni_storage_flags(owner);
    while ((flags & KNI_STORAGE_USES) != KNI_STORAGE_USES)
        if (atomic_compare_exchange_weak(&owner->flags, &flags, flags + KNI_STORAGE_USED))
            return ((flags + KNI_STORAGE_USED) & KNI_STORAGE_USES) == KNI_STORAGE_USES;
    return true;
}

static kni_made_form *find(kni_made_form *form, const kni_form_key *key)
{
    while (form && memcmp(&form->key, key, sizeof *key)) form = form->next;
    return form;
}

static bool is_valid(const kni_made_form *form)
{
    return atomic_load_explicit(&form->state, memory_order_acquire) == VALID;
}

const void *kni_form_find(const kni_storage *s, const kni_form_key *key)
{
    if (!kni_form_lasts(s)) return NULL;
    kni_made_form *form = find(atomic_load_explicit(&keeper(s)->forms, memory_order_acquire), key);
    return form && is_valid(form) ? (const char *)form + HEAD : NULL;
}

/* Whether there is room for another form of the storage, which is then counted. */
static bool takes_room(const kni_storage *owner, const kni_made_form *form, size_t bytes)
{
    const size_t times = SIZE_MAX / 2 / MOST_TIMES;
    const size_t most = MOST_TIMES * (owner->bytes < times ? owner->bytes : times) + SMALL_FORMS;
    size_t all = 0;
    int forms = 0;
    for (; form; form = form->next, forms++) all += form->bytes;
    if (forms == MOST_FORMS || all > most || bytes > most - all) return false;
    if (atomic_fetch_add(&bytes_kept, (int64_t)bytes) + (int64_t)bytes <= MOST_BYTES) return true;
    atomic_fetch_sub(&bytes_kept, (int64_t)bytes);
    return false;
}

void *kni_form_new(kni_storage *s, const kni_form_key *key, size_t bytes)
{
    if (!kni_form_lasts(s) || bytes > SIZE_MAX / 2) return NULL;
    kni_storage *owner = keeper(s);
    kni_made_form *first = atomic_load_explicit(&owner->forms, memory_order_acquire),
                  *form = find(first, key);
    const uint32_t written = kni_storage_flags(owner) / KNI_STORAGE_WRITTEN;
    uint32_t ended = ENDED;
    if (form) { /* of other bytes: whoever comes first makes it again, the rest do without */
        if (!atomic_compare_exchange_strong(&form->state, &ended, REMADE)) return NULL;
        form->written = written;
        return (char *)form + HEAD;
    }
    bool counted = !is_lasting(owner);
    if (counted && !takes_room(owner, first, bytes + HEAD)) return NULL;
    form = kni_allocate(bytes + HEAD);
    if (!form) {
        if (counted) atomic_fetch_sub(&bytes_kept, (int64_t)(bytes + HEAD));
        return NULL;
    }
    form->next = NULL;
    form->bytes = bytes + HEAD;
    form->written = written;
    form->counted = counted;
    form->key = *key;
    atomic_init(&form->state, VALID);
    return (char *)form + HEAD;
}

static void free_form(kni_made_form *form)
{
    if (form->counted) atomic_fetch_sub(&bytes_kept, (int64_t)form->bytes);
    kni_free(form, form->bytes);
}

const void *kni_form_keep(kni_storage *s, void *data)
{
    kni_made_form *form = (kni_made_form *)((char *)data - HEAD);
    kni_storage *owner = kni_storage_owner(s);
    atomic_fetch_add_explicit(&forms_made, 1, memory_order_relaxed);
    const bool late = form->written != kni_storage_flags(owner) / KNI_STORAGE_WRITTEN;
    if (atomic_load_explicit(&form->state, memory_order_relaxed) == REMADE) {
        atomic_store_explicit(&form->state, late ? ENDED : VALID, memory_order_release);
        return data;
    }
    if (late) atomic_store_explicit(&form->state, ENDED, memory_order_relaxed);
    kni_made_form *first = atomic_load(&owner->forms);
    do {
        kni_made_form *other = find(first, &form->key);
        if (other && is_valid(other)) {
            free_form(form);
            return (char *)other + HEAD;
        }
        form->next = first;
    } while (!atomic_compare_exchange_weak(&owner->forms, &first, form));
    return data;
}

void kni_forms_end(kni_storage *s)
{
    kni_made_form *form = atomic_load_explicit(&s->forms, memory_order_acquire);
    for (; form; form = form->next) atomic_store_explicit(&form->state, ENDED, memory_order_release);
}

kni_form_counts kni_form_counted(void)
{
    return (kni_form_counts){atomic_load(&bytes_kept), atomic_load(&forms_made)};
}

void kni_forms_free(kni_storage *s)
{
    if (kni_storage_flags(s) & KNI_STORAGE_PROMISE) return;
    kni_made_form *form = atomic_load(&s->forms);
    while (form) {
        kni_made_form *next = form->next;
        free_form(form);
        form = next;
    }
    atomic_store(&s->forms, NULL);
}

#endif
