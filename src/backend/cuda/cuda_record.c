/* Products of the vendor's libraries while a sequence is recorded: what they read and write, and workspaces that products
   beside each other do not share. */
#include "backend/cuda/cuda_driver.h"

void *kni_cuda_record_workspace(kni_cuda *c, void *usual, bool shared)
{
    c->workspace = usual;
    if (KNI_LIKELY(!c->runtime.recording) || !usual) return usual;
    void **own = &c->workspaces[shared ? 0 : c->next_workspace];
    if (!shared) c->next_workspace = (c->next_workspace + 1) % KNI_CUDA_WORKSPACES;
    if (!*own) {
        *own = c->runtime.driver.allocate(&c->runtime.driver, KNI_CUDA_WORKSPACE);
        if (*own) c->runtime.driver.own_bytes += KNI_CUDA_WORKSPACE;
    }
    if (*own) c->workspace = *own;
    return c->workspace;
}

/* Every place of a product must be named below: what is not known to be read or written is run too early. */
enum { PRODUCT_BYTES = 232 };
_Static_assert(sizeof(kni_product) == PRODUCT_BYTES, "say below what else a product reads and writes");

kn_status kni_cuda_record_product(kni_driver *d, const kni_product *p)
{
    kni_cuda *c = kni_cuda_of(d);
    if (KNI_LIKELY(!c->runtime.recording)) return kni_cuda_product(d, p);
    c->workspace = NULL;
    kni_runtime_record_before(&c->runtime);
    kn_status status = kni_cuda_product(d, p);
    void *reads[] = {p->a.memory, p->b.memory, p->c.memory, p->bias.memory, p->aux.memory};
    void *writes[] = {p->d.memory, c->workspace};
    if (!status) kni_runtime_record_after(&c->runtime, reads, KNI_COUNT(reads), writes, KNI_COUNT(writes));
    return status;
}
