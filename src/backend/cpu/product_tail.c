/* Tails over ranges of results. */
#include "backend/cpu/product_tail.h"
#include "backend/cpu/conv_plan.h"
#include "backend/cpu/group_strips.h"
#include "core/thread_pool.h"

enum { BLOCK = 1 << 14, PARALLEL_MIN = 1 << 15 };

static void finish_range(const kni_product_tail *t, int64_t begin, int64_t end)
{
    const kni_conv_kernels *kernels = kni_conv_kernels_for(KN_F32);
    if (!t->finish.mean) {
        kernels->finish(t->made + begin, end - begin, &t->finish);
        return;
    }
    while (begin < end) {
        const int64_t line = begin / t->plane, left = (line + 1) * t->plane - begin,
                      n = left < end - begin ? left : end - begin;
        const kni_finish f = kni_finish_from(t->finish, (long)(line % t->channels));
        kernels->finish(t->made + begin, n, &f);
        begin += n;
    }
}

static void run(const kni_product_tail *t, int64_t begin, int64_t end)
{
    if (kni_finishes(&t->finish)) finish_range(t, begin, end);
    if (t->program) kni_strip_run(t->program, t->memory, begin, end);
}

static int64_t block_of(const kni_product_tail *t)
{
    return t->program ? kni_strip_block(t->program) : BLOCK;
}

static void run_block(void *argument, int64_t task, int worker)
{
    const kni_product_tail *t = argument;
    const int64_t block = block_of(t), begin = task * block, left = t->count - begin;
    (void)worker;
    run(t, begin, begin + (left < block ? left : block));
}

static void run_whole(const kni_product_tail *t)
{
    if (t->count < PARALLEL_MIN)
        run(t, 0, t->count);
    else
        kni_parallel_for((t->count + block_of(t) - 1) / block_of(t), run_block, (void *)(uintptr_t)t);
}

void kni_product_tail_start(kni_product_tail *t)
{
    t->run = run;
    t->whole = run_whole;
    t->has_ranges = true;
    for (int32_t i = 0; t->program && i < t->program->n_once; i++)
        if (t->program->once[i].kind == KNI_STRIP_PERIOD) t->has_ranges = false;
}
