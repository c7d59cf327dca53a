/* Packed right sides as forms of storages. */
#include "backend/cpu/gemm_lasting.h"
#include "backend/cpu/gemm_problem.h"
#include "core/made_forms.h"

bool kni_gemm_keeps_b(kni_tensor *x, int64_t rows)
{
    enum { MANY_ROWS = 512 };
    return rows < MANY_ROWS ? kni_form_used(x->storage) : kni_form_lasts(x->storage);
}

bool kni_gemm_lasting_b(kni_gemm_packed *packed, kni_tensor *x, const void *b, kni_gemm_type type, int64_t k,
                        int64_t n, int64_t b_row, int64_t b_col)
{
    static const char kind;
    const kni_gemm_type compute = type == KNI_GEMM_F64 ? KNI_GEMM_F64 : KNI_GEMM_F32;
    const kni_gemm_kernels *kernels = kni_gemm_kernels_for(compute);
    kni_storage *s = x->storage;
    if (!s || !kernels || k == 0 || n == 0) return false;
    const kni_form_key key = {
        &kind, {(const char *)b - (const char *)s->data, type, k, n, b_row, b_col, kernels->tile_columns}};
    const size_t bytes = (size_t)(k * kni_gemm_padded_columns(kernels, n) * kernels->size);
    const void *found = kni_form_find(s, &key);
    void *made = found ? NULL : kni_form_new(s, &key, bytes);
    if (!found && !made) return false;
    *packed = (kni_gemm_packed){.data = found ? (void *)(uintptr_t)found : made,
                                .bytes = bytes,
                                .k = k,
                                .n = n,
                                .type = compute,
                                .strip = kernels->tile_columns};
    if (found) return true;
    const bool good = kni_gemm_repack_b(packed, b, type, b_row, b_col);
    packed->data = (void *)(uintptr_t)kni_form_keep(s, made);
    return good;
}
