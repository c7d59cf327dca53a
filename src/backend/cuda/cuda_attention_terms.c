/* What our attention for Hopper adds, hides and drops: the holes and the numbers of skeleton/attention_terms.cu. */
#include "backend/cuda/cuda_hopper.h"
#include "backend/cuda/generated/cuda_skeletons.h"
#include <string.h>

static bool even(const kni_place *at, const int64_t *steps, int64_t keys, size_t element)
{
    const kni_runtime_address first = kni_runtime_at(at->memory, (size_t)at->offset * element);
    if (steps[3] != 1 || keys % 2 || first % (2 * element)) return false;
    return steps[0] % 2 == 0 && steps[1] % 2 == 0 && steps[2] % 2 == 0;
}

kni_hopper_holes kni_hopper_holes_of(const kni_attention *p)
{
    kni_hopper_holes h = {.mask = p->mask.memory != NULL,
                          .bias = p->bias.memory != NULL,
                          .drops = p->draws.memory != NULL,
                          .slopes = p->slopes.memory != NULL};
    h.mask_rows = h.mask && p->mask_steps[2] != 0;
    h.mask_pair = h.mask && even(&p->mask, p->mask_steps, p->keys, 1);
    h.bias_pair = h.bias && even(&p->bias, p->bias_steps, p->keys, 2);
    return h;
}

void kni_hopper_add_terms(kni_buffer *text, const kni_hopper_holes *h)
{
    kni_buffer_format(text,
                      "enum { MASK = %d, MASK_ROWS = %d, MASK_PAIR = %d, BIAS = %d, BIAS_PAIR = %d, DROPS = "
                      "%d, SLOPES = %d };\n",
                      h->mask, h->mask_rows, h->mask_pair, h->bias, h->bias_pair, h->drops, h->slopes);
    kni_hopper_add(text, kni_cuda_skeleton_attention_terms);
}

static kni_runtime_address address_of(const kni_place *at, size_t element)
{
    return at->memory ? kni_runtime_at(at->memory, (size_t)at->offset * element) : 0;
}

kni_hopper_terms kni_hopper_terms_of(const kni_attention *p)
{
    kni_hopper_terms t = {.mask = address_of(&p->mask, 1),
                          .bias = address_of(&p->bias, 2),
                          .draws = address_of(&p->draws, 8),
                          .slopes = address_of(&p->slopes, 4),
                          .threshold = p->threshold,
                          .kept = p->kept};
    memcpy(t.mask_steps, p->mask_steps, sizeof t.mask_steps);
    memcpy(t.bias_steps, p->bias_steps, sizeof t.bias_steps);
    return t;
}
