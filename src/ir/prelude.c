/* Prints what emitted kernels call: the dialect's basics, then the items of ir/generated/math_text.c that are asked for
   with all they need. The items are the same text in every dialect; what differs is
   said in its table. */
#include "ir/prelude.h"
#include "core/error.h"
#include "ir/emitter.h"
#include "ir/prelude_table.h"
#include <string.h>

static const kni_dialect_function *find(const kni_dialect_function *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(list[i].name, name)) return &list[i];
    return NULL;
}

static const kni_dialect_function *find_near(int dialect, const char *name)
{
    const kni_dialect *d = kni_dialect_of(dialect);
    return find(d->near, d->n_near, name);
}

bool kni_ir_prelude_near(const char *function, int dialect) { return find_near(dialect, function) != NULL; }

/* The instruction for an item, NULL where there is none. */
static const kni_dialect_function *find_instruction(int dialect, const char *name)
{
    const kni_dialect *d = kni_dialect_of(dialect);
    return find(d->instructions, d->n_instructions, name);
}

int kni_ir_item_find(const char *name)
{
    int low = 0, high = kni_ir_item_count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(name, kni_ir_items[kni_ir_items_by_name[middle]].name);
        if (order == 0) return kni_ir_items_by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}

/* The basics hold the bit casts, which are no items. */
static bool is_basic(const char *name)
{
    static const char *const casts[] = {"kni_bits_f32", "kni_from_bits_f32", "kni_bits_f64",
                                        "kni_from_bits_f64"};
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++)
        if (!strcmp(name, casts[i])) return true;
    return false;
}

/* Marks what the marked items need; needs stand before their items, so one walk down sees all. */
static void mark_needs(bool *wanted, int dialect)
{
    for (int i = kni_ir_item_count - 1; i >= 0; i--) {
        const kni_ir_item *item = &kni_ir_items[i];
        const kni_dialect_function *f = wanted[i] ? find_instruction(dialect, item->name) : NULL;
        if (!wanted[i] || (f && !f->condition)) continue;
        for (int k = 0; k < item->n_needs; k++) wanted[kni_ir_item_needs[item->first_need + k]] = true;
    }
}

static void print_item(kni_ir_text *text, int dialect, const kni_ir_item *item)
{
    const kni_dialect_function *f = find_instruction(dialect, item->name);
    if (!f)
        kni_ir_text_add(text, "%s", item->text);
    else if (!f->condition)
        kni_ir_text_add(text, "%s", f->text);
    else
        kni_ir_text_add(text, "#if %s\n%s#else\n%s#endif\n", f->condition, f->text, item->text);
}

kn_status kni_ir_prelude(kni_ir_text *text, int dialect, const char *const *functions, int n)
{
    bool wanted[KNI_IR_MAX_ITEMS] = {false};
    const kni_dialect *d = kni_dialect_of(dialect);
    if (!d || !d->basics)
        return kni_fail(KN_ERROR_ARGUMENT, "there is no dialect %d of the kernel language", dialect);
    for (int i = 0; i < n; i++) {
        int item = kni_ir_item_find(functions[i]);
        if (item < 0 && !find_near(dialect, functions[i]) && !is_basic(functions[i]))
            return kni_fail(KN_ERROR_ARGUMENT, "kernels know no function %s", functions[i]);
        if (item >= 0) wanted[item] = true;
    }
    mark_needs(wanted, dialect);
    kni_ir_text_add(text, "%s", d->basics);
    for (int i = 0; i < d->n_near; i++) {
        bool named = false;
        for (int k = 0; k < n; k++) named |= !strcmp(functions[k], d->near[i].name);
        if (named) kni_ir_text_add(text, "%s", d->near[i].text);
    }
    for (int i = 0; i < kni_ir_item_count; i++)
        if (wanted[i]) print_item(text, dialect, &kni_ir_items[i]);
    return text->failed ? kni_fail(KN_ERROR_MEMORY, "no memory for the text of a kernel") : KN_OK;
}

bool kni_ir_prelude_has(const char *function)
{
    return is_basic(function) || kni_ir_item_find(function) >= 0;
}

bool kni_ir_prelude_uses_f64(const char *function, int dialect)
{
    bool wanted[KNI_IR_MAX_ITEMS] = {false};
    int item = kni_ir_item_find(function);
    if (item < 0) return is_basic(function) && strstr(function, "f64") != NULL;
    wanted[item] = true;
    mark_needs(wanted, dialect);
    for (int i = 0; i < kni_ir_item_count; i++) {
        const char *name = kni_ir_items[i].name;
        const kni_dialect_function *f = wanted[i] ? find_instruction(dialect, name) : NULL;
        bool replaced = f && !f->condition;
        if (wanted[i] && (replaced ? strstr(name, "f64") != NULL : kni_ir_items[i].f64)) return true;
    }
    return false;
}
