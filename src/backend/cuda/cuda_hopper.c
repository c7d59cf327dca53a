/* What Kiln's own tensor-core kernels share on the host's side: their texts, maps for the copy engine, and the list of
   those that have been compiled. */
#include "backend/cuda/cuda_hopper.h"
#include "core/allocator.h"
#include "core/error.h"
#include <string.h>

enum { KEY_BYTES = 24 };

typedef struct kept_kernel {
    char entry[24];
    unsigned char key[KEY_BYTES];
    kni_module *module;
} kept_kernel;

/* None goes before the device does: recordings hold their functions, and there are only so many keys. */
struct kni_hopper_kernels {
    uint32_t count, room;
    kept_kernel *list;
};

void kni_hopper_add(kni_buffer *text, const char *const *pieces)
{
    for (; *pieces; pieces++) kni_buffer_text(text, *pieces);
}

void kni_hopper_add_product(kni_buffer *text, const kni_hopper_product *p)
{
    const char *type = kn_dtype_name(p->dtype);
    int sums = p->columns / 2, a = sums, b = a + (p->registers ? 4 : 1), keep = b + 1;
    kni_buffer_format(text, "static inline void %s(float (&s)[%d], %s, u64 b, int keep)\n{\n", p->name, sums,
                      p->registers ? "const u32 (&a)[4]" : "u64 a");
    kni_buffer_format(text,
                      "    asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %%%d, 0;\\n\"\n"
                      "        \"wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {\"\n        \"",
                      keep, p->columns, type, type);
    for (int i = 0; i < sums; i++) kni_buffer_format(text, "%s%%%d", i ? ", " : "", i);
    if (p->registers)
        kni_buffer_format(text, "}, {%%%d, %%%d, %%%d, %%%d}, %%%d, p, 1, 1, %d;\\n}\"\n        : ", a, a + 1,
                          a + 2, a + 3, b, p->transpose_b);
    else
        kni_buffer_format(text, "}, %%%d, %%%d, p, 1, 1, %d, %d;\\n}\"\n        : ", a, b, p->transpose_a,
                          p->transpose_b);
    for (int i = 0; i < sums; i++) kni_buffer_format(text, "%s\"+f\"(s[%d])", i ? ", " : "", i);
    kni_buffer_text(text, p->registers ? "\n        : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])"
                                       : "\n        : \"l\"(a)");
    kni_buffer_text(text, ", \"l\"(b), \"r\"(keep));\n}\n");
}

bool kni_hopper_map(kni_cuda *c, const kni_hopper_view *v, kni_tensor_map *map)
{
    const int64_t longest = (int64_t)1 << 31, farthest = (int64_t)1 << 38;
    uint64_t dims[4] = {(uint64_t)v->columns, (uint64_t)v->rows, 1, 1},
             strides[3] = {(uint64_t)v->row_step * 2};
    const uint32_t box[4] = {64, v->box, 1, 1}, steps[4] = {1, 1, 1, 1};
    if (v->address % 16 || v->row_step % 8 || v->row_step < 1 || v->row_step >= farthest ||
        v->columns >= longest || v->rows >= longest)
        return false;
    for (int i = 0; i < 2; i++) {
        bool repeats = v->outer[i] <= 1 || v->outer_step[i] == 0;
        int64_t step = repeats ? v->row_step : v->outer_step[i];
        if (step % 8 || step < 1 || step >= farthest || v->outer[i] >= longest) return false;
        if (!repeats) dims[2 + i] = (uint64_t)v->outer[i];
        strides[1 + i] = (uint64_t)step * 2;
    }
    return !c->api->tensor_map(map, kni_is_brain(v->dtype) ? KNI_CU_MAP_BF16 : KNI_CU_MAP_F16, 4,
                               (void *)(uintptr_t)v->address, dims, strides, box, steps, 0,
                               KNI_CU_SWIZZLE_128, KNI_CU_PROMOTE_256, 0);
}

static kni_module *compile(kni_cuda *c, const void *key, const char *entry, kni_hopper_write write)
{
    kni_buffer text = {0};
    kni_module *module = NULL;
    if (write(&text, key) || text.failed)
        kni_fail(KN_ERROR_MEMORY, "%s: no memory for the text of the kernel %s", c->runtime.name, entry);
    else
        module = kni_runtime_compile(&c->runtime.driver, text.data, text.length, entry);
    kni_buffer_free(&text);
    return module;
}

/* The list, with room for one more; NULL without memory. */
static struct kni_hopper_kernels *kernels_of(kni_cuda *c)
{
    struct kni_hopper_kernels *k = c->kernels;
    if (!k) {
        k = kni_allocate(sizeof *k);
        if (!k) return NULL;
        *k = (struct kni_hopper_kernels){0, 0, NULL};
        c->kernels = k;
    }
    kept_kernel *list = kni_grow(k->list, &k->room, k->count + 1, sizeof *list);
    if (list) k->list = list;
    return list ? k : NULL;
}

kni_module *kni_hopper_kernel(kni_cuda *c, const void *key, size_t key_bytes, const char *entry,
                              kni_hopper_write write)
{
    unsigned char full[KEY_BYTES] = {0};
    struct kni_hopper_kernels *k = c->kernels;
    memcpy(full, key, key_bytes);
    for (size_t i = 0; k && i < k->count; i++)
        if (!strcmp(k->list[i].entry, entry) && !memcmp(k->list[i].key, full, sizeof full))
            return k->list[i].module;
    k = kernels_of(c);
    if (!k) {
        kni_fail(KN_ERROR_MEMORY, "%s: no memory for the kernel %s", c->runtime.name, entry);
        return NULL;
    }
    kni_module *module = compile(c, key, entry, write);
    if (!module) return NULL;
    kept_kernel *kept = &k->list[k->count++];
    memset(kept, 0, sizeof *kept);
    memcpy(kept->entry, entry, strlen(entry) + 1);
    memcpy(kept->key, full, sizeof full);
    kept->module = module;
    return module;
}

void kni_hopper_free(kni_cuda *c)
{
    struct kni_hopper_kernels *k = c->kernels;
    if (!k) return;
    for (size_t i = 0; i < k->count; i++) kni_runtime_unload(&c->runtime.driver, k->list[i].module);
    if (k->list) kni_free(k->list, k->room * sizeof *k->list);
    kni_free(k, sizeof *k);
    c->kernels = NULL;
}
