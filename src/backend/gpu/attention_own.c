/* Attention by kernels of the driver's own, which take masks, biases and dropout: which records they take, and what they need beside
   the operands. */
#include "backend/gpu/attention_device.h"
#include "backend/gpu/gpu_recording.h"
#include "core/reproducible.h"
#include "ir/builder.h"
#include <stddef.h>
#include <string.h>

const char *kni_gpu_attention_unowned(const kni_gpu *g, const kni_gpu_attention *a)
{
    bool sums;
    if (!g->driver->own_attention) return "the driver has no kernels of its own for it";
    if (!kni_is_half(a->p.dtype)) return "the driver's own kernels take 16 bits alone";
    if (a->attributes->softcap > 0) return "the driver's own kernels have no soft cap";
    if (a->attributes->dropout > 0 &&
        (a->p.keys % 4 || kni_attention_threshold(a->attributes) > (int64_t)UINT32_MAX))
        return "the driver's own kernels drop keys by fours";
    if (a->wants_bias && !kni_gpu_attention_shows(a, &sums))
        return "the slopes of the bias are summed over queries or keys, or are too many";
    /* They add up dq in no fixed order. */
    if (a->gradient && kni_reproducible()) return "results must be reproducible";
    return NULL;
}

/* ---- the key of dropout */

static kni_ir *build_draws(void)
{
    kni_ir_builder b = kni_ir_begin("attend_draws", 0);
    const uint32_t y = kni_ir_buffer(&b, "y", KN_U32, KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    const uint32_t key = kni_ir_param_add(&b, "key", KN_I64, 0),
                   counter = kni_ir_param_add(&b, "counter", KN_I64, 0);
    for (int i = 0; i < 2; i++) {
        kni_ir_id word = kni_ir_philox(&b, kni_ir_param_value(&b, key), kni_ir_param_value(&b, counter),
                                       kni_ir_whole(&b, KN_I64, i));
        kni_ir_store(&b, y, kni_ir_whole(&b, KN_I64, i), kni_ir_cast(&b, word, KN_U32));
    }
    kni_ir *ir = kni_ir_finish(&b);
    if (!ir || kni_ir_simplify(ir) == KN_OK) return ir;
    kni_ir_free(ir);
    return NULL;
}

/* A launch of its own, since replays give other numbers to launches of kernels of this backend alone. */
static kn_status make_draws(kni_gpu *g, kni_gpu_attention *a)
{
    static const char name[] = "attend_draws";
    enum { KEY = 2, COUNTER, PARAMS }; /* behind the number of items and the offset */
    kni_gpu_kernel *k = kni_gpu_find(g, name, sizeof name);
    if (!k) k = kni_gpu_add(g, name, sizeof name, build_draws());
    if (!k) return kni_latest_code();
    if (!a->draws) a->draws = kni_gpu_take(g, 2 * sizeof(uint32_t));
    if (!a->draws) return kni_latest_code();
    const int64_t params[PARAMS] = {1, 0, a->attributes->key, a->attributes->counter};
    const kni_sched_source sources[2] = {{.kind = KNI_SOURCE_WHOLE,
                                          .dtype = KN_I64,
                                          .index = offsetof(kni_attention_attributes, key),
                                          .at = KEY * sizeof(int64_t)},
                                         {.kind = KNI_SOURCE_WHOLE,
                                          .dtype = KN_I64,
                                          .index = offsetof(kni_attention_attributes, counter),
                                          .at = COUNTER * sizeof(int64_t)}};
    const kni_launch_shape shape = kni_gpu_item_shape(g, k, 1);
    kn_status s = kni_gpu_launch(g, k, &shape, &a->draws, 1, -1, params);
    if (!s && g->recording) kni_gpu_recording_numbers(g, sources, 2);
    return s;
}

/* ---- both passes */

static kn_status begin(kni_gpu *g, kni_gpu_attention *a)
{
    kni_attention *p = &a->p;
    p->own = true;
    if (a->masked) p->mask = a->mask;
    memcpy(p->mask_steps, a->mask_steps, sizeof p->mask_steps);
    if (a->attributes->dropout <= 0) return KN_OK;
    kn_status s = make_draws(g, a);
    if (s) return s;
    p->draws = (kni_place){a->draws->memory, 0};
    p->threshold = (uint32_t)kni_attention_threshold(a->attributes);
    p->kept = (float)kni_attention_kept(a->attributes);
    return KN_OK;
}

/* The next way is asked without what this one was. */
static void end(kni_gpu_attention *a)
{
    const kni_place nothing = {NULL, 0};
    a->p.own = false;
    a->p.mask = a->p.draws = a->p.slopes = nothing;
}

kn_status kni_gpu_attend_own(kni_gpu *g, kni_gpu_attention *a, kni_gpu_block *out, int64_t out_offset,
                             kni_gpu_block *rows)
{
    kn_status s = begin(g, a);
    a->p.out = (kni_place){out->memory, out_offset};
    a->p.lse = (kni_place){rows ? rows->memory : NULL, 0};
    if (!s) s = kni_gpu_checked(g, g->driver->attention(g->driver, &a->p));
    if (!s) g->launches++;
    end(a);
    return s;
}

kn_status kni_gpu_attend_own_grad(kni_gpu *g, kni_gpu_attention *a)
{
    const kni_attention *p = &a->p;
    kni_gpu_block *slopes = NULL;
    kn_status s = begin(g, a);
    if (!s && a->wants_bias) {
        slopes = kni_gpu_take(g, (size_t)(p->batch * p->heads * p->queries * p->keys) * sizeof(float));
        if (!slopes) s = kni_latest_code();
    }
    if (slopes) a->p.slopes = (kni_place){slopes->memory, 0};
    if (!s) s = kni_gpu_checked(g, g->driver->attention_grad(g->driver, &a->p));
    if (!s) g->launches++;
    if (!s && slopes) s = kni_gpu_attention_sum_slopes(g, a, slopes);
    if (slopes) kni_gpu_give(slopes);
    end(a);
    return s;
}
