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
    int64_t quads, panel_bytes, strip_bytes, raw_bytes;
    int64_t first, rows, panels;   /* of the part of A that is packed */
    char *packed;                  /* [a_count][panels] */
    int32_t *row_sums, *row_zeros; /* [a_count][panels][tile_rows] */
    uint8_t *ordered;              /* [a_count][m][k], signed: for products with columns in order */
    char *strips;                  /* KNI_GEMM_I8_STRIPS and the bytes they are filled from for each thread */
    int64_t tasks_across, panels_of_task, tasks_down;
    bool has_zeros, has_row_zeros;
    bool reads_rows, reads_columns; /* B is not packed: few rows of A, rows or columns of B in order */
} kni_gemm_i8_product;

/* Bias, scale and shift of the columns of a strip, for all of it. */
typedef struct kni_gemm_i8_columns {
    int32_t bias[KNI_GEMM_I8_MAX_COLUMNS];
    float scale[KNI_GEMM_I8_MAX_COLUMNS], shift[KNI_GEMM_I8_MAX_COLUMNS];
} kni_gemm_i8_columns;

/* Columns of a strip that follow each other in C. */
typedef struct kni_gemm_i8_segment {
    int at, count;
    int64_t to;
} kni_gemm_i8_segment;

/* A strip of the result. */
typedef struct kni_gemm_i8_target {
    int64_t batch, first, columns;
    kni_gemm_i8_columns scaling;
    kni_gemm_i8_segment segments[KNI_GEMM_I8_MAX_COLUMNS];
    int n_segments;
} kni_gemm_i8_target;

void kni_gemm_i8_start_target(const kni_gemm_i8_product *p, int64_t batch, int64_t first,
                              kni_gemm_i8_target *t);
/* The sums of a row of a strip, in their place. */
void kni_gemm_i8_write(const kni_gemm_i8_product *p, const kni_gemm_i8_target *t, int64_t row,
                       const int32_t *sums);

/* Packs KNI_GEMM_I8_STRIPS strips from column `first` on, or as many as there are. */
void kni_gemm_i8_pack(const kni_gemm_i8_product *p, int64_t batch, int64_t first, char *strips);

#endif
