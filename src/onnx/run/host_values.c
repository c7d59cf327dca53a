/* Strings, sequences, optionals and maps of a conversion. */
#include "core/objects.h"
#include "onnx/run/conversion.h"
#include <stdlib.h>
#include <string.h>

kni_datum kni_strings(kni_conversion *c, const kni_onnx_text *texts, const kni_extent *extents, int32_t rank)
{
    int64_t sizes[KN_MAX_RANK];
    kni_datum x;
    if (rank < 0 || rank > KN_MAX_RANK)
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "strings with %d axes; %d are supported", rank,
                         KN_MAX_RANK);
    for (int32_t a = 0; a < rank && !c->status; a++)
        sizes[a] = kni_extent_number(c, extents[a], "the shape of strings");
    kni_held *held = c->status ? NULL : kni_held_strings(texts, sizes, rank);
    if (!held && !c->status) kni_convert_fail(c, KN_ERROR_MEMORY, "%s", kni_failure_taken());
    kni_entry *e = kni_entry_new(c, KNI_IS_STRINGS, &x);
    if (!e) return kni_held_leave(held), KNI_ABSENT;
    e->strings = held;
    e->texts = held->strings;
    e->rank = rank;
    for (int32_t a = 0; a < rank; a++) e->extents[a] = KNI_EXTENT(sizes[a]);
    return x;
}

/* An entry that holds other ones. */
static kni_datum list_of(kni_conversion *c, kni_datum_kind kind, const kni_datum *items, int64_t n)
{
    kni_datum x;
    kni_entry *e = kni_entry_new(c, kind, &x);
    if (!e) return KNI_ABSENT;
    e->items = n >= 0 && n < PTRDIFF_MAX / 16 ? malloc(((size_t)n + 1) * sizeof *items) : NULL;
    if (!e->items) {
        kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for %lld values", (long long)n);
        return KNI_ABSENT;
    }
    if (n) memcpy(e->items, items, (size_t)n * sizeof *items);
    e->n_items = n;
    e->depth = 1;
    for (int64_t i = 0; i < n; i++) {
        const kni_entry *item = kni_entry_of(c, items[i]);
        kni_entry_use(c, items[i]);
        if (item && item->depth >= e->depth) e->depth = item->depth + 1;
    }
    if (e->depth > KNI_DEEPEST_LIST)
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "more than %d lists in lists", (int)KNI_DEEPEST_LIST);
    return x;
}

/* The entry of a kind; NULL with the node failed. */
static const kni_entry *entry_of_kind(kni_conversion *c, kni_datum x, kni_datum_kind kind, const char *word)
{
    const kni_entry *e = kni_entry_of(c, x);
    if (c->status) return NULL;
    if (e && e->kind == kind) return e;
    kni_convert_fail(c, KN_ERROR_DTYPE, "%s is needed", word);
    return NULL;
}

kni_datum kni_sequence(kni_conversion *c, const kni_datum *items, int64_t n)
{
    return list_of(c, KNI_IS_SEQUENCE, items, n);
}

int64_t kni_sequence_count(kni_conversion *c, kni_datum sequence)
{
    const kni_entry *e = entry_of_kind(c, sequence, KNI_IS_SEQUENCE, "a sequence");
    return e ? e->n_items : 0;
}

kni_datum kni_sequence_at(kni_conversion *c, kni_datum sequence, int64_t place)
{
    const kni_entry *e = entry_of_kind(c, sequence, KNI_IS_SEQUENCE, "a sequence");
    if (!e) return KNI_ABSENT;
    if (place >= -e->n_items && place < e->n_items) return e->items[place < 0 ? place + e->n_items : place];
    kni_convert_fail(c, KN_ERROR_INDEX, "place %lld of a sequence of %lld", (long long)place,
                     (long long)e->n_items);
    return KNI_ABSENT;
}

kni_datum kni_optional(kni_conversion *c, kni_datum x)
{
    return list_of(c, KNI_IS_OPTIONAL, &x, kni_is_given(x) ? 1 : 0);
}

kni_datum kni_optional_value(kni_conversion *c, kni_datum optional)
{
    const kni_entry *e = kni_entry_of(c, optional);
    if (!e || e->kind != KNI_IS_OPTIONAL) return optional;
    return e->n_items ? e->items[0] : KNI_ABSENT;
}

kni_datum kni_map(kni_conversion *c, kni_datum keys, kni_datum values)
{
    return list_of(c, KNI_IS_MAP, (kni_datum[]){keys, values}, 2);
}

kni_datum kni_map_keys(kni_conversion *c, kni_datum map)
{
    const kni_entry *e = entry_of_kind(c, map, KNI_IS_MAP, "a map");
    return e ? e->items[0] : KNI_ABSENT;
}

kni_datum kni_map_values(kni_conversion *c, kni_datum map)
{
    const kni_entry *e = entry_of_kind(c, map, KNI_IS_MAP, "a map");
    return e ? e->items[1] : KNI_ABSENT;
}
