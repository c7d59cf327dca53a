/* Compiled kernels of a device, found by their whole key, and launching them. */
#include "backend/gpu/gpu_recording.h"
#include "core/text.h"
#include <string.h>

uint64_t kni_gpu_hash(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ n, word = 0;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, p, n);
    h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 32;
}

/* The place of a key in the open table: its own, or the free one where it belongs. */
static uint32_t place_of(kni_gpu_kernel *const *table, uint32_t room, uint64_t hash, const void *key,
                         uint32_t bytes)
{
    uint32_t i = (uint32_t)hash & (room - 1);
    for (; table[i]; i = (i + 1) & (room - 1))
        if (table[i]->hash == hash && table[i]->key_bytes == bytes && !memcmp(table[i]->key, key, bytes))
            break;
    return i;
}

kni_gpu_kernel *kni_gpu_find(kni_gpu *g, const void *key, uint32_t key_bytes)
{
    if (!g->kernel_room) return NULL;
    return g->kernels[place_of(g->kernels, g->kernel_room, kni_gpu_hash(key, key_bytes), key, key_bytes)];
}

static bool grow(kni_gpu *g)
{
    if (g->n_kernels * 2 < g->kernel_room) return true;
    uint32_t room = g->kernel_room ? g->kernel_room * 2 : 256;
    kni_gpu_kernel **table = kni_allocate(room * sizeof *table);
    if (!table) return false;
    memset(table, 0, room * sizeof *table);
    for (uint32_t i = 0; i < g->kernel_room; i++) {
        kni_gpu_kernel *k = g->kernels[i];
        if (k) table[place_of(table, room, k->hash, k->key, k->key_bytes)] = k;
    }
    if (g->kernels) kni_free(g->kernels, g->kernel_room * sizeof *table);
    g->kernels = table;
    g->kernel_room = room;
    return true;
}

static size_t kernel_bytes(uint32_t key_bytes) { return sizeof(kni_gpu_kernel) + key_bytes; }

static void free_kernel(kni_gpu *g, kni_gpu_kernel *k)
{
    if (k->module) g->driver->unload(g->driver, k->module);
    if (k->params) kni_free(k->params, k->n_params * sizeof *k->params);
    kni_free(k, kernel_bytes(k->key_bytes));
}

static kni_module *compile(kni_gpu *g, kni_ir *ir)
{
    kni_ir_text text = {NULL, 0, 0, false};
    kni_module *m = NULL;
    kn_status s = kni_ir_legalise(ir, &g->driver->caps);
    if (s == KN_OK) s = kni_ir_emit(ir, &g->driver->caps, &text);
    if (s == KN_OK) {
        kni_gpu_dump(g, ir->name, text.data, text.length);
        m = g->driver->compile(g->driver, text.data, text.length, ir->name);
        g->compiles++;
    }
    kni_ir_text_free(&text);
    return m;
}

uint32_t kni_gpu_reads_back(const kni_ir *ir)
{
    uint32_t mask = 0;
    for (kni_ir_id i = 1; i < ir->n_nodes; i++) {
        const kni_ir_node *n = kni_ir_at(ir, i);
        if (n->code == KNI_IR_LOAD && n->index < ir->n_buffers && n->index < 32 &&
            (ir->bindings[n->index].access & KNI_IR_WRITE))
            mask |= 1u << n->index;
    }
    return mask;
}

static kni_gpu_kernel *new_kernel(const void *key, uint32_t key_bytes, const kni_ir *ir)
{
    kni_gpu_kernel *k = kni_allocate(kernel_bytes(key_bytes));
    if (!k) return NULL;
    memset(k, 0, sizeof *k);
    k->hash = kni_gpu_hash(key, key_bytes);
    k->key_bytes = key_bytes;
    memcpy(k->key, key, key_bytes);
    k->n_params = ir->n_params;
    k->n_buffers = ir->n_buffers;
    k->param_bytes = ir->param_bytes;
    k->workgroup = ir->workgroup;
    k->reports = ir->reports;
    k->reads_back = kni_gpu_reads_back(ir);
    for (uint32_t i = 0; i < ir->n_buffers && i < 128; i++)
        if (ir->bindings[i].access & KNI_IR_WRITE) k->written[i / 64] |= UINT64_C(1) << i % 64;
    if (ir->reports && ir->n_buffers < 128)
        k->written[ir->n_buffers / 64] |= UINT64_C(1) << ir->n_buffers % 64;
    if (!ir->n_params) return k;
    k->params = kni_allocate(ir->n_params * sizeof *k->params);
    if (k->params) {
        memcpy(k->params, ir->params, ir->n_params * sizeof *k->params);
        return k;
    }
    kni_free(k, kernel_bytes(key_bytes));
    return NULL;
}

kni_gpu_kernel *kni_gpu_add(kni_gpu *g, const void *key, uint32_t key_bytes, kni_ir *ir)
{
    return kni_gpu_add_unless(g, key, key_bytes, ir, 0);
}

kni_gpu_kernel *kni_gpu_add_unless(kni_gpu *g, const void *key, uint32_t key_bytes, kni_ir *ir,
                                   uint32_t narrow)
{
    if (!ir) return NULL;
    kni_gpu_kernel *k = grow(g) ? new_kernel(key, key_bytes, ir) : NULL;
    if (!k) {
        (void)kni_fail(KN_ERROR_MEMORY, "no memory for a kernel");
    } else if (!(k->reads_back & narrow)) {
        k->module = compile(g, ir);
        if (!k->module) {
            free_kernel(g, k);
            k = NULL;
        }
    }
    kni_ir_free(ir);
    if (!k) return NULL;
    g->kernels[place_of(g->kernels, g->kernel_room, k->hash, key, key_bytes)] = k;
    g->n_kernels++;
    return k;
}

void kni_gpu_free_kernels(kni_gpu *g)
{
    for (uint32_t i = 0; i < g->kernel_room; i++)
        if (g->kernels[i]) free_kernel(g, g->kernels[i]);
    if (g->kernels) kni_free(g->kernels, g->kernel_room * sizeof *g->kernels);
    g->kernels = NULL;
    g->kernel_room = g->n_kernels = 0;
}

kn_status kni_gpu_launch(kni_gpu *g, const kni_gpu_kernel *k, const kni_launch_shape *shape,
                         kni_gpu_block *const *blocks, uint32_t n_blocks, int cell, const void *params)
{
    void *memory[KNI_GPU_OPERANDS + 1];
    uint32_t n = n_blocks;
    if (n_blocks > KNI_GPU_OPERANDS || n_blocks != k->n_buffers)
        return kni_fail(KN_ERROR_INTERNAL, "a kernel of %u buffers was given %u", k->n_buffers, n_blocks);
    for (uint32_t i = 0; i < n_blocks; i++) memory[i] = blocks[i]->memory;
    if (k->reports) memory[n++] = g->cells[cell].memory;
    g->launches++;
    if (g->recording) {
        kni_gpu_recording_launch(g, k, shape, params);
        if (g->driver->record_writes) g->driver->record_writes(g->driver, k->written);
    }
    return kni_gpu_checked(g,
                           g->driver->launch(g->driver, k->module, shape, memory, n, params, k->param_bytes));
}

kni_launch_shape kni_gpu_item_shape(const kni_gpu *g, const kni_gpu_kernel *k, int64_t items)
{
    /* Few items are often heavy ones: they are spread over the processors. Two sizes only, since some devices compile
       a kernel for each. */
    uint32_t most = g->driver->caps.max_workgroup, workgroup = items >= 4096 ? 128 : 32;
    if (k->workgroup) workgroup = k->workgroup;
    if (workgroup > most && !k->workgroup) workgroup = most;
    int64_t groups = items / workgroup + (items % workgroup != 0);
    if (groups > INT32_MAX) groups = INT32_MAX;
    return (kni_launch_shape){{(uint32_t)groups, 1, 1}, workgroup, 0};
}
