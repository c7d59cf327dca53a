/* Plans by key. */
#include "graph/plan.h"
#include <string.h>

static kni_plan **bucket_of(kni_plan_cache *c, uint64_t hash)
{
    return &c->buckets[hash >> 20 & (KNI_PLAN_BUCKETS - 1)];
}

static void unlink_plan(kni_plan_cache *c, kni_plan *p)
{
    if (p->newer)
        p->newer->older = p->older;
    else
        c->newest = p->older;
    if (p->older)
        p->older->newer = p->newer;
    else
        c->oldest = p->newer;
    p->newer = p->older = NULL;
}

static void link_newest(kni_plan_cache *c, kni_plan *p)
{
    p->older = c->newest;
    p->newer = NULL;
    if (c->newest)
        c->newest->newer = p;
    else
        c->oldest = p;
    c->newest = p;
}

kni_plan *kni_plan_find(kni_plan_cache *c, const kni_queue *q)
{
    for (kni_plan *p = *bucket_of(c, q->hash); p; p = p->same_bucket) {
        if (p->hash != q->hash || p->n_key != q->n_key ||
            memcmp(p->key, q->key, (size_t)q->n_key * sizeof *p->key) != 0)
            continue;
        if (p != c->newest) {
            unlink_plan(c, p);
            link_newest(c, p);
        }
        return p;
    }
    return NULL;
}

void kni_plan_forget(kni_plan_cache *c, kni_plan *p)
{
    kni_plan **at = bucket_of(c, p->hash);
    while (*at != p) at = &(*at)->same_bucket;
    *at = p->same_bucket;
    unlink_plan(c, p);
    c->n--;
    kni_plan_free(p);
}

void kni_plan_keep(kni_plan_cache *c, kni_plan *p)
{
    while (c->n >= KNI_PLANS_KEPT) kni_plan_forget(c, c->oldest);
    kni_plan **at = bucket_of(c, p->hash);
    p->same_bucket = *at;
    *at = p;
    link_newest(c, p);
    c->n++;
}

void kni_plan_cache_free(kni_plan_cache *c)
{
    while (c->oldest) kni_plan_forget(c, c->oldest);
}
