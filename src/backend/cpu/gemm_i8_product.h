/* A product of bytes while it runs: what the parts of gemm_i8*.c share. */
#ifndef KNI_BACKEND_CPU_GEMM_I8_PRODUCT_H
#define KNI_BACKEND_CPU_GEMM_I8_PRODUCT_H

#include "backend/cpu/gemm_i8.h"
#include "backend/cpu/gemm_i8_kernels.h"

/* Tasks take so many strips side by side. */
enum { KNI_GEMM_I8_STRIPS = 2 };

typedef struct kni_gemm_i8_product {
    const kni_gemm_i8_args *g;
    const kni_gemm_i8_kernels *kernels;
    int64_t quads, panel_bytes, strip_bytes, height; /* height: rows of a panel that are used */
    int64_t first, panels;                           /* of the part of A that is packed */
    const char *packed;                              /* [a_count][panels] */
    const int32_t *row_sums;                         /* [a_count][panels][tile_rows] */
    int32_t *row_zeros;                              /* the same */
    char *room;                                      /* what `packed` and `row_sums` are written to */
    int32_t *sums_room;
    uint8_t *ordered; /* [a_count][m][k], signed: for products with columns in order */
    char *strips;     /* KNI_GEMM_I8_STRIPS for each thread */
    int64_t tasks_across, panels_of_task, tasks_down;
    bool has_row_zeros;
    bool reads_rows, reads_columns; /* B is not packed: few rows of A, rows or columns of B in order */
} kni_gemm_i8_product;

/* Bias, scale and shift of the columns of a strip, for all of it, and where these columns go. */
typedef struct kni_gemm_i8_target {
    int64_t batch, first, columns;
    int32_t bias[KNI_GEMM_I8_MAX_COLUMNS];
    float scale[KNI_GEMM_I8_MAX_COLUMNS], shift[KNI_GEMM_I8_MAX_COLUMNS];
    int32_t zeros[KNI_GEMM_I8_MAX_COLUMNS], terms[KNI_GEMM_I8_MAX_COLUMNS];
    bool has_zeros; /* of columns */
    kni_gemm_i8_segment segments[KNI_GEMM_I8_MAX_COLUMNS];
    int n_segments;
} kni_gemm_i8_target;

/* Sizes of panels and strips. */
void kni_gemm_i8_start(kni_gemm_i8_product *p, const kni_gemm_i8_args *g);

/* column_sums: of the columns as unsigned bytes; not read where no row has a zero point. */
void kni_gemm_i8_start_target(const kni_gemm_i8_product *p, int64_t batch, int64_t first,
                              const int32_t *column_sums, kni_gemm_i8_target *t);
/* Sums of rows `row` .. of a strip, in their place. at: of the first of these rows in row_sums and row_zeros. */
void kni_gemm_i8_write(const kni_gemm_i8_product *p, const kni_gemm_i8_target *t, int64_t row, int64_t at,
                       int rows, const int32_t *sums);

/* Packs rows of A as panel number `panel` of a matrix of A. */
void kni_gemm_i8_pack_rows(const kni_gemm_i8_product *p, int64_t matrix, int64_t panel, char *to,
                           int32_t *sums);
/* Packs KNI_GEMM_I8_STRIPS strips from column `first` on, or as many as there are. */
void kni_gemm_i8_pack(const kni_gemm_i8_product *p, int64_t batch, int64_t first, char *strips);

#endif
