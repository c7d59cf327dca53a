/* Host arrays of conformance cases: made from seeds as tests/conform/conform_values.py makes them, rounded to a dtype,
   packed into memory in any layout. */
#ifndef KILN_CONFORM_VALUES_H
#define KILN_CONFORM_VALUES_H

#include <kn.h>

enum {
    KILN_NAN = 1,
    KILN_INF = 2,
    KILN_ZEROS = 4,
    KILN_TIES = 8,
    KILN_DISTINCT = 16,
    KILN_EXTREME = 32,
    KILN_DOMINANT = 64,
    KILN_SYMMETRIC = 128
};

/* Elements in row-major order: `real` for floats, `integer` for the rest (u64 as its bits, bool as 0 or 1). */
typedef struct kiln_array {
    kn_dtype dtype;
    kn_shape shape;
    int64_t count;
    double *real;
    int64_t *integer;
} kiln_array;

/* Memory or the end of the program: this is a test. */
void *kiln_allocate(size_t bytes);

kiln_array kiln_array_new(kn_dtype dtype, kn_shape shape);
void kiln_array_free(kiln_array *a);
int64_t kiln_shape_count(const kn_shape *shape);
bool kiln_shape_equal(const kn_shape *a, const kn_shape *b);

uint64_t kiln_mix(uint64_t z);
/* Values of the range [low, high] from a seed. */
void kiln_array_make(kiln_array *a, uint64_t seed, double low, double high, uint32_t flags);

/* value as the nearest one of a float dtype. */
double kiln_round(double value, kn_dtype dtype);
/* Writes element i of a into memory of its dtype. */
void kiln_store(const kiln_array *a, int64_t i, void *place);

/* Layouts that operands can lie in. */
typedef enum kiln_layout {
    KILN_CONTIGUOUS,
    KILN_TRANSPOSED, /* axes stored in reverse order */
    KILN_SLICED,     /* every second element of a larger block, with an offset */
    KILN_BROADCAST,  /* stride 0 along an axis, or axes of size 1 */
    KILN_SCALAR,
    KILN_EMPTY,
    KILN_LARGE,
    KILN_LAYOUT_COUNT,
    KILN_PACKED =
        KILN_LAYOUT_COUNT, /* heads of four axes side by side in rows that hold more, as projections give them */
    KILN_CHANNELS_LAST     /* axis 1 innermost, of three to five axes; a view on every device */
} kiln_layout;
/* Whether KILN_CHANNELS_LAST is another layout than a contiguous one for the shape. */
bool kiln_has_channels(const kn_shape *shape);
extern const char *const kiln_layout_names[KILN_LAYOUT_COUNT];

/* A tensor with the values of a on the current device, lying in a layout; KILN_BROADCAST lies with stride 0 along the
   axes whose bit is set in `stretched` (their values must be equal). A temporary. */
kn_tensor kiln_tensor(const kiln_array *a, kiln_layout layout, unsigned stretched);

/* The elements of a tensor; false with kn_last_error() when it cannot be read. */
bool kiln_array_read(kiln_array *a, kn_tensor t);

#endif
