/* Cotangents of parts of a value, kept until all of it have come: slices that lie beside each other are laid side by side in
   one write, and rows that an embedding took are added to what else the table has got, where each would else be put into
   zeros of the whole size and added. */
#include "ops/indexing_rows.h"
#include "ops/pieces.h"
#include "wrap/tape.h"
#include <string.h>

struct kni_cotangent_part {
    kni_cotangent_part *next;
    kn_tensor dy;
    kn_tensor indices; /* of the rows of a table; KN_NONE: it is a slice */
    uint32_t output;   /* of the node whose part it is */
    kni_piece piece;
    kni_type whole;
};

/* Rows of halves are added up in f32, which a sum that is kept in a half does not do. */
static bool piece_of(const kni_node *node, kni_piece *piece)
{
    const kni_type *whole = &node->in_types[0];
    if (!node->row || !kni_piece_of(node->row, whole, &node->out_types[0], node->attributes, piece))
        return false;
    bool wide = whole->dtype == KN_F32 || whole->dtype == KN_F64;
    return !piece->rows || (wide && node->saved_in[1] != KNI_NO_SLOT);
}

bool kni_part_of_rows(const kni_node *node)
{
    kni_piece piece;
    return piece_of(node, &piece) && piece.rows;
}

bool kni_part_fits(const kni_node *node)
{
    kni_piece piece;
    return piece_of(node, &piece);
}

bool kni_part_add(kni_cotangent_part **list, const kni_node *node, kn_tensor dy, kn_tensor indices)
{
    kni_cotangent_part *p = kni_allocate(sizeof *p);
    if (!p) return false;
    *p =
        (kni_cotangent_part){.indices = indices, .output = node->input_output[0], .whole = node->in_types[0]};
    piece_of(node, &p->piece);
    p->dy = kn_keep(kn_alias(dy));
    /* In the order in which they came. */
    while (*list) list = &(*list)->next;
    *list = p;
    return true;
}

static void free_part(kni_cotangent_part *p)
{
    if (kn_ok(p->dy)) kn_drop(p->dy);
    if (p->indices.bits && kn_ok(p->indices)) kn_drop(p->indices);
    kni_free(p, sizeof *p);
}

void kni_parts_free(kni_cotangent_part **list)
{
    while (*list) {
        kni_cotangent_part *p = *list;
        *list = p->next;
        free_part(p);
    }
}

/* The part that begins where `at` is, among those of the same output and axis. */
static const kni_cotangent_part *begins(const kni_cotangent_part *list, const kni_cotangent_part *like,
                                        int64_t at)
{
    for (; list; list = list->next)
        if (list->output == like->output && list->piece.start == at && !list->indices.bits) return list;
    return NULL;
}

enum { MOST_SIDE = 64 };

/* Fills in the parts of the first one's value in their order when they are all of it, each element once; answers how many
   there are, 0 where they are not. */
static int side_by_side(const kni_cotangent_part *list, kn_tensor *sides)
{
    int n = 0, all = 0;
    int64_t at = 0;
    for (const kni_cotangent_part *p = list; p; p = p->next) {
        if (p->output != list->output || p->indices.bits) continue;
        if (p->piece.axis != list->piece.axis || p->piece.axis < 0) return 0;
        all++;
    }
    const kni_cotangent_part *p;
    for (; n < MOST_SIDE && (p = begins(list, list, at)); at += p->piece.size) sides[n++] = p->dy;
    return n == all && at == list->whole.dims[list->piece.axis] ? n : 0;
}

static kn_tensor put_into_zeros(const kni_cotangent_part *p)
{
    return p->piece.axis < 0 ? kn_alias(p->dy) : kni_put_slice(&p->piece, &p->whole, p->dy);
}

/* Takes the slices of one output out of the list. */
static void remove_slices(kni_cotangent_part **list, uint32_t output)
{
    while (*list) {
        kni_cotangent_part *p = *list;
        if (p->output != output || p->indices.bits) {
            list = &p->next;
            continue;
        }
        *list = p->next;
        free_part(p);
    }
}

/* The sum with the rows added to it. */
static kn_tensor add_rows(const kni_cotangent_part *p, kn_tensor sum)
{
    if (!sum.bits) return kni_put_rows(&p->whole, p->dy, p->indices);
    kn_tensor rows = kn_reshape(p->dy, KN_SHAPE(-1, p->whole.dims[1]));
    kn_tensor at = kn_reshape(p->indices, KN_SHAPE(-1));
    return kni_select_assign(sum, at, rows, (kni_update_attributes){0, false, KN_UPDATE_ADD});
}

static kn_tensor join_slices(const kni_cotangent_part *list)
{
    kn_tensor sides[MOST_SIDE], sum = KN_NONE;
    int n = side_by_side(list, sides);
    if (n > 1) return kn_concat(sides, n, list->piece.axis);
    for (const kni_cotangent_part *p = list; p; p = p->next)
        if (p->output == list->output && !p->indices.bits)
            sum = sum.bits ? kn_add(sum, put_into_zeros(p)) : put_into_zeros(p);
    return sum;
}

kn_tensor kni_parts_take(kni_cotangent_part **list, const kn_tensor *sums, uint32_t *output, bool *replaces)
{
    kni_cotangent_part **first = list;
    while (*first && (*first)->indices.bits) first = &(*first)->next;
    *replaces = !*first;
    if (*replaces) first = list;
    *output = (*first)->output;
    kn_scope scope = kn_scope_begin();
    kn_tensor sum = *replaces ? add_rows(*first, sums[*output]) : join_slices(*first);
    sum = kn_scope_end(scope, sum);
    if (*replaces) {
        kni_cotangent_part *p = *list;
        *list = p->next;
        free_part(p);
    } else {
        remove_slices(list, *output);
    }
    return sum;
}
