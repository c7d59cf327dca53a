/* Launching the kernels of this backend that are written in the kernel language. */
#include "backend/gpu/gpu_text.h"
#include "ir/parse.h"
#include <string.h>

enum { NAMES = 64 };

static kni_gpu_kernel *find(kni_gpu *g, const kni_gpu_text *text, const kni_gpu_call *call)
{
    unsigned char key[2 + KNI_GPU_TEXT_BUFFERS + NAMES] = {'w', (unsigned char)call->element};
    size_t n = 2 + KNI_GPU_TEXT_BUFFERS, name = strlen(text->name), kernel = strlen(call->kernel);
    if (name + kernel >= NAMES) {
        (void)kni_fail(KN_ERROR_INTERNAL, "the name of the kernel %s is too long", call->kernel);
        return NULL;
    }
    memcpy(key + 2, call->storage, KNI_GPU_TEXT_BUFFERS);
    memcpy(key + n, text->name, name);
    memcpy(key + n + name + 1, call->kernel, kernel);
    n += name + 1 + kernel;
    kni_gpu_kernel *found = kni_gpu_find(g, key, (uint32_t)n);
    if (found) return found;
    kni_ir_parse_options options = {text->name, call->kernel, call->element, KN_F32, call->storage, 0};
    kni_ir *ir = kni_ir_parse(text->text, text->bytes, &options);
    if (ir && kni_ir_simplify(ir)) {
        kni_ir_free(ir);
        ir = NULL;
    }
    return kni_gpu_add(g, key, (uint32_t)n, ir);
}

kn_status kni_gpu_find_text(kni_gpu *g, const kni_gpu_text *text, const kni_gpu_call *call)
{
    return find(g, text, call) ? KN_OK : kni_latest_code();
}

kn_status kni_gpu_launch_text(kni_gpu *g, const kni_gpu_text *text, const kn_record *r, int *cell,
                              const kni_gpu_call *call)
{
    int64_t params[1 + KNI_GPU_TEXT_BUFFERS + KNI_GPU_TEXT_NUMBERS] = {call->size};
    kni_gpu_kernel *k = find(g, text, call);
    if (!k) return kni_latest_code();
    if (k->reports && *cell < 0) {
        *cell = kni_gpu_take_cell(g, r);
        if (*cell < 0) return kni_latest_code();
    }
    size_t n = (size_t)call->n_buffers;
    memcpy(params + 1, call->offsets, n * sizeof *params);
    memcpy(params + 1 + n, call->numbers, (size_t)call->n_numbers * sizeof *params);
    kni_launch_shape shape = kni_gpu_item_shape(g, k, call->size);
    if (k->workgroup) shape = (kni_launch_shape){{(uint32_t)call->size, 1, 1}, k->workgroup, 0};
    return kni_gpu_launch(g, k, &shape, call->blocks, (uint32_t)n, *cell, params);
}

kn_status kni_gpu_dense(kni_gpu *g, kni_tensor *x, kni_gpu_block **block, int64_t *offset,
                        kni_gpu_block **made)
{
    if (kni_gpu_contiguous(x)) {
        *offset = x->storage ? x->offset : 0;
        return kni_gpu_operand(g, x, block, made);
    }
    kn_status s = kni_gpu_gather(g, x, made);
    *offset = 0;
    *block = *made;
    return s;
}
