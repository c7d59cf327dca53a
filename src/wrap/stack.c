/* Which stacks make sense: rules over traits, asked of each decorator when it is put around its inner backends. */
#include "core/error.h"
#include "wrap/wrap.h"

/* The first of the tree below `b`, itself included, that has the trait; NULL: none. */
static const kn_backend *find(const kn_backend *b, uint32_t trait)
{
    if (!b || b->traits & trait) return b;
    const kn_backend *found = find(b->inner[0], trait);
    return found ? found : find(b->inner[1], trait);
}

static const kn_backend *below(const kn_backend *b, uint32_t trait)
{
    const kn_backend *found = find(b->inner[0], trait);
    return found ? found : find(b->inner[1], trait);
}

static bool refuse(const char *function, const kn_backend *top, const kn_backend *inner, const char *why)
{
    kni_fail(KN_ERROR_DEVICE, "%s: %s stands around %s: %s", function, top->name, inner->name, why);
    return false;
}

static const kn_backend *leaf_of(const kn_backend *b)
{
    while (b->inner[0]) b = b->inner[0];
    return b;
}

/* Whether two stacks can work on the memory of one tensor. */
static bool share_memory(const kn_backend *a, const kn_backend *b)
{
    a = leaf_of(a);
    b = leaf_of(b);
    return a == b || a->traits & b->traits & KN_TRAIT_HOST;
}

bool kni_stack_makes_sense(const kn_backend *top, const char *function)
{
    const kn_backend *tape = below(top, KN_TRAIT_TAPES), *queue = below(top, KN_TRAIT_QUEUES);
    const kn_backend *second = find(top->inner[1], KN_TRAIT_TAPES);
    if (top->traits & KN_TRAIT_TAPES && tape)
        return refuse(function, top, tape, "one tape is enough, leave the outer one out");
    if (top->traits & KN_TRAIT_QUEUES && queue)
        return refuse(function, top, queue, "one queue is enough, leave the outer one out");
    if (top->traits & KN_TRAIT_QUEUES && tape)
        return refuse(function, top, tape,
                      "a tape must see records when they are called; write autodiff(fusion(...)) instead");
    if (second)
        return refuse(function, top, second,
                      "gradients flow through its first device alone; write autodiff(check(...)) instead");
    if (top->inner[1] && !share_memory(top->inner[0], top->inner[1]))
        return refuse(function, top, leaf_of(top->inner[1]),
                      "its two devices do not see each other's memory, and both get the same operands");
    return true;
}
