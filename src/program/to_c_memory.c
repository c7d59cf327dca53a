/* The static memory of a program in C. Blocks have the size of the largest sizes and live from the first step that needs them to the
   last; those of loops' surroundings that a loop reads live until its end. */
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include "program/to_c.h"
#include <string.h>

enum { ALIGNMENT = 16 };
/* What a program in C may take: every address fits 32 bits. */
static const int64_t arena_limit = INT32_MAX;

kn_status kni_c_limit(const kni_c *c, const kni_type *t, int32_t value, int64_t *count)
{
    char room[80];
    *count = 1;
    for (int a = 0; a < t->rank; a++)
        if (kni_dim_high(t->dims[a]) == INT64_MAX ||
            __builtin_mul_overflow(*count, kni_dim_high(t->dims[a]), count) || *count > arena_limit)
            return kni_fail(
                KN_ERROR_UNSUPPORTED,
                "kn_program_to_c: %s, %T%S, has no bound or one above 2 GiB: bound its sizes with "
                "kn_builder_size",
                kni_c_value_name(c, value, room, sizeof room), (int)t->dtype, t);
    return KN_OK;
}

int32_t kni_c_take(kni_c *c, int64_t bytes)
{
    if (!kni_program_room((void **)&c->blocks, &c->block_room, c->n_blocks + 1, sizeof *c->blocks)) {
        kni_c_no_memory();
        return -1;
    }
    c->blocks[c->n_blocks] =
        (kni_c_block){.bytes = bytes > 0 ? bytes : 1, .from = c->step, .to = c->step, .area = c->area};
    return c->n_blocks++;
}

void kni_c_touch(kni_c *c, int32_t block)
{
    if (block < 0) return;
    kni_c_block *b = &c->blocks[block];
    if (b->to < c->step) b->to = c->step;
    for (int32_t i = 0; i < c->n_loops; i++) {
        if (c->loops[i] <= b->from) continue;
        if (!b->held || b->held > i + 1) b->held = i + 1;
        return;
    }
}

static kn_status place(kni_c *c, int32_t value, int32_t block, const char *address)
{
    c->places[value] = (kni_c_place){kni_c_keep(c, address), block, false};
    return c->places[value].address ? KN_OK : kni_c_no_memory();
}

kn_status kni_c_make(kni_c *c, int32_t value)
{
    char name[24];
    kni_text text = {name, sizeof name, 0};
    int64_t count;
    const kni_type *t = &c->p->values[value].type;
    kn_status s = kni_c_limit(c, t, value, &count);
    if (s) return s;
    int32_t block = kni_c_take(c, count * kni_bytes_of(t->dtype));
    if (block < 0) return KN_ERROR_MEMORY;
    kni_text_format(&text, "M%d", block);
    return place(c, value, block, name);
}

kn_status kni_c_alias(kni_c *c, int32_t value, int32_t of, const char *offset)
{
    kni_ir_text t = {0};
    const char *base = kni_c_address(c, of);
    kni_ir_text_add(&t, offset ? "(%s + %s)" : "%s", base, offset);
    kn_status s = t.failed ? kni_c_no_memory() : place(c, value, c->places[of].block, t.data);
    kni_ir_text_free(&t);
    return s;
}

const char *kni_c_address(kni_c *c, int32_t value)
{
    kni_c_touch(c, c->places[value].block);
    c->places[value].read = true;
    return c->places[value].address ? c->places[value].address : "0";
}

void kni_c_begin_loop(kni_c *c)
{
    c->step++;
    c->loops[c->n_loops++] = c->step;
}

void kni_c_end_loop(kni_c *c)
{
    for (int32_t i = 0; i < c->n_blocks; i++) {
        kni_c_block *b = &c->blocks[i];
        if (b->held < c->n_loops || b->area != c->area) continue;
        b->to = c->step;
        b->held = 0;
    }
    c->n_loops--;
    c->step++;
}

static bool meet(const kni_c_block *a, const kni_c_block *b)
{
    return a->area != b->area || (a->from <= b->to && b->from <= a->to);
}

/* The lowest place where nothing lies that is needed at the same time; blocks before `n` are placed. */
static int64_t find_offset(const kni_c *c, const int32_t *order, int32_t n)
{
    const kni_c_block *b = &c->blocks[order[n]];
    int64_t offset = 0;
    for (int32_t i = 0; i < n; i++) {
        const kni_c_block *other = &c->blocks[order[i]];
        if (!meet(b, other) || other->offset >= offset + b->bytes || other->offset + other->bytes <= offset)
            continue;
        offset = (other->offset + other->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        i = -1; /* it may now lie on one that was passed */
    }
    return offset;
}

kn_status kni_c_plan(kni_c *c)
{
    size_t bytes = (size_t)(c->n_blocks ? c->n_blocks : 1) * sizeof(int32_t);
    int32_t *order = kni_allocate(bytes);
    if (!order) return kni_c_no_memory();
    c->arena = ALIGNMENT;
    /* The largest first: small ones fill the gaps. */
    for (int32_t i = 0; i < c->n_blocks; i++) {
        int32_t at = i;
        for (; at > 0 && c->blocks[order[at - 1]].bytes < c->blocks[i].bytes; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int32_t i = 0; i < c->n_blocks; i++) {
        kni_c_block *b = &c->blocks[order[i]];
        b->offset = find_offset(c, order, i);
        if (b->offset + b->bytes > c->arena) c->arena = b->offset + b->bytes;
    }
    kni_free(order, bytes);
    if (c->arena > arena_limit)
        return kni_fail(KN_ERROR_UNSUPPORTED,
                        "kn_program_to_c: the values need %D bytes at their largest sizes, more than 2 GiB: "
                        "lower the bounds",
                        c->arena);
    return KN_OK;
}
