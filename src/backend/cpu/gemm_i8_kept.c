/* Sides of integer products that never change, such as the weights of a loaded model: packed once, as forms of their storages. */
#include "backend/cpu/gemm_i8_product.h"
#include "backend/cpu/gemm_problem.h"
#include "core/made_forms.h"

/* A form in the making, or one that was found. */
typedef struct form_job {
    kni_gemm_i8_product product;
    int64_t panels; /* of a matrix of A */
    char *data;
    int32_t *sums;
} form_job;

static bool find(form_job *j, kni_tensor *x, const kni_form_key *key, int64_t bytes, int64_t n_sums,
                 kni_gemm_i8_form *form)
{
    const char *found = kni_form_find(x->storage, key);
    if (!found) {
        j->data = kni_form_new(x->storage, key, (size_t)bytes + (size_t)n_sums * sizeof *j->sums);
        if (!j->data) return true;
        j->sums = (int32_t *)(j->data + bytes);
        return false;
    }
    *form = (kni_gemm_i8_form){found, (const int32_t *)(found + bytes)};
    return true;
}

static void keep(form_job *j, kni_tensor *x, int64_t bytes, kni_gemm_i8_form *form)
{
    const char *kept = kni_form_keep(x->storage, j->data);
    *form = (kni_gemm_i8_form){kept, (const int32_t *)(kept + bytes)};
}

static void pack_rows(void *arg, int64_t task, int worker)
{
    const form_job *j = arg;
    const kni_gemm_i8_product *p = &j->product;
    (void)worker;
    kni_gemm_i8_pack_rows(p, task / j->panels, task % j->panels, j->data + task * p->panel_bytes,
                          j->sums + task * p->kernels->tile_rows);
}

void kni_gemm_i8_keep_a(kni_gemm_i8_args *g, kni_tensor *x)
{
    static const char kind;
    form_job j;
    if (!x->storage || g->m <= 0 || g->k <= 0) return;
    kni_gemm_i8_start(&j.product, g);
    const kni_gemm_i8_product *p = &j.product;
    j.panels = kni_gemm_ceil(g->m, p->height);
    const int64_t panels = g->a_count * j.panels, bytes = (panels * p->panel_bytes + 63) / 64 * 64;
    const kni_form_key key = {&kind,
                              {(const char *)g->a - (const char *)x->storage->data, g->m, g->k, g->a_count,
                               g->a_row, g->a_col, g->a_batch, g->a_unsigned, p->kernels->tile_rows,
                               p->kernels->width}};
    if (find(&j, x, &key, bytes, panels * p->kernels->tile_rows, &g->kept_a)) return;
    kni_gemm_run(8.0 * (double)panels * (double)p->panel_bytes, panels, pack_rows, &j);
    keep(&j, x, bytes, &g->kept_a);
}

static void pack_columns(void *arg, int64_t task, int worker)
{
    const form_job *j = arg;
    const kni_gemm_i8_product *p = &j->product;
    const int64_t width = p->kernels->tile_columns;
    (void)worker;
    kni_gemm_i8_pack(p, 0, task * KNI_GEMM_I8_STRIPS * width,
                     j->data + task * KNI_GEMM_I8_STRIPS * p->strip_bytes);
    for (int64_t s = task * KNI_GEMM_I8_STRIPS; s < (task + 1) * KNI_GEMM_I8_STRIPS; s++)
        if (s * width < p->g->n)
            p->kernels->column_sums(j->data + s * p->strip_bytes, p->quads, j->sums + s * width);
}

void kni_gemm_i8_keep_b(kni_gemm_i8_args *g, kni_tensor *x)
{
    static const char kind;
    form_job j;
    if (!x->storage || g->n <= 0 || g->k <= 0 || g->b_offsets) return;
    kni_gemm_i8_start(&j.product, g);
    const kni_gemm_i8_product *p = &j.product;
    const int64_t strips = p->tasks_across * KNI_GEMM_I8_STRIPS, bytes = strips * p->strip_bytes;
    const kni_form_key key = {&kind,
                              {(const char *)g->b - (const char *)x->storage->data, g->k, g->n, g->b_row,
                               g->b_col, g->b_unsigned, p->kernels->tile_columns, p->kernels->width}};
    if (find(&j, x, &key, bytes, strips * p->kernels->tile_columns, &g->kept_b)) return;
    kni_gemm_run(8.0 * (double)bytes, p->tasks_across, pack_columns, &j);
    keep(&j, x, bytes, &g->kept_b);
}
