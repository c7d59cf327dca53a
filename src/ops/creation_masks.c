/* Functions made of ranges and comparisons: diagonals, triangles, one-hot rows and grids of indices. */
#include "ops/creation_rows.h"
#include "ops/movement_rows.h"

/* column - row >= offset (or ==), as a bool matrix of rows x columns. */
static kn_tensor compare_diagonals(int64_t rows, int64_t columns, int64_t offset,
                                   kn_tensor (*compare)(kn_tensor, kn_tensor))
{
    /* A matrix that no memory holds is refused before its rows and columns are numbered, which would take long. */
    int64_t n = kni_count_dims(2, (const int64_t[]){rows, columns});
    void *room = n >= INT64_C(1) << 32 ? kni_allocate((size_t)n) : NULL;
    kni_free(room, (size_t)n);
    if (n < 0 || (n >= INT64_C(1) << 32 && !room)) {
        kni_fail(KN_ERROR_MEMORY, "no memory for a mask of %D rows and %D columns", rows, columns);
        return kni_poison_latest();
    }
    kn_tensor down = kn_reshape(kn_arange(0, (double)rows, 1, KN_I64), KN_SHAPE(rows, 1));
    kn_tensor right = kn_arange(0, (double)columns, 1, KN_I64);
    return compare(right, kn_add_scalar(down, (double)offset));
}

kn_tensor kn_eye(int64_t rows, int64_t columns, kn_dtype dtype)
{
    kni_call call = kni_call_begin("eye");
    if (rows < 0 || columns < 0)
        return kni_call_fail(call, KN_ERROR_SHAPE, "a matrix of %D rows and %D columns", rows, columns);
    int64_t n = rows < columns ? rows : columns;
    kn_tensor zeros = kn_zeros(KN_SHAPE(rows, columns), dtype);
    if (n == 0 || !kn_ok(zeros)) return kni_call_end(call, zeros);
    kn_range diagonal = {0, (n - 1) * (columns + 1) + 1, columns + 1};
    kn_tensor flat = kn_reshape(zeros, KN_SHAPE(rows * columns));
    flat = kn_slice_assign(flat, &diagonal, 1, kn_ones(KN_SHAPE(n), dtype));
    return kni_call_end(call, kn_reshape(flat, KN_SHAPE(rows, columns)));
}

/* offset is cut to where it no longer changes anything, so that sums with it cannot overflow. */
static int64_t cut_offset(int64_t offset, int64_t rows, int64_t columns)
{
    return offset > columns ? columns : offset < -rows ? -rows : offset;
}

static kn_tensor triangle(const char *name, kn_tensor x, int64_t offset,
                          kn_tensor (*compare)(kn_tensor, kn_tensor))
{
    kni_call call = kni_call_begin(name);
    const kni_type *t = kni_type_of(x);
    if (t && t->rank < 2)
        return kni_call_fail(call, KN_ERROR_SHAPE, "%S has no matrix in its last two axes", t);
    x = kn_keep(x);
    kni_context before = kni_route_to(x);
    int64_t rows = t ? t->dims[t->rank - 2] : 0, columns = t ? t->dims[t->rank - 1] : 0;
    kn_tensor mask = compare_diagonals(rows, columns, cut_offset(offset, rows, columns), compare);
    kni_route_back(before);
    return kni_call_end(call, kn_where(mask, x, kni_number_like(x, 0)));
}

kn_tensor kn_triu(kn_tensor x, int64_t offset) { return triangle("triu", x, offset, kn_greater_equal); }

kn_tensor kn_tril(kn_tensor x, int64_t offset) { return triangle("tril", x, offset, kn_less_equal); }

/* A bool mask of any shape whose last two axes are the matrix. */
static kn_tensor mask_as(const char *name, kn_shape shape, int64_t offset,
                         kn_tensor (*compare)(kn_tensor, kn_tensor))
{
    kni_call call = kni_call_begin(name);
    if (shape.rank < 2 || shape.rank > KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_SHAPE, "rank %d is outside 2 to %d", shape.rank, KN_MAX_RANK);
    int64_t rows = shape.dims[shape.rank - 2], columns = shape.dims[shape.rank - 1];
    if (rows < 0 || columns < 0) return kni_call_fail(call, KN_ERROR_SHAPE, "%N has a negative size", &shape);
    kn_tensor mask = compare_diagonals(rows, columns, cut_offset(offset, rows, columns), compare);
    return kni_call_end(call, kn_expand(mask, shape));
}

kn_tensor kn_upper_mask(kn_shape shape, int64_t offset)
{
    return mask_as("upper_mask", shape, offset, kn_greater_equal);
}

kn_tensor kn_lower_mask(kn_shape shape, int64_t offset)
{
    return mask_as("lower_mask", shape, offset, kn_less_equal);
}

kn_tensor kn_diagonal_mask(kn_shape shape, int64_t offset)
{
    return mask_as("diagonal_mask", shape, offset, kn_equal);
}

/* How many elements of a matrix lie on or below the diagonal `offset`, which is between -rows and columns. */
static int64_t count_lower(int64_t rows, int64_t columns, int64_t offset)
{
    int64_t first = offset < 0 ? -offset : 0; /* the first row with one */
    int64_t full = columns - offset - 1;      /* from this row on all columns are in */
    if (full < first) full = first;
    if (full > rows) full = rows;
    if (first > rows) first = rows;
    int64_t growing = full - first, start = first + offset + 1;
    return growing * start + growing * (growing - 1) / 2 + (rows - full) * columns;
}

static kn_tensor triangle_indices(const char *name, int64_t rows, int64_t columns, int64_t offset, bool lower)
{
    kni_call call = kni_call_begin(name);
    if (rows < 0 || columns < 0)
        return kni_call_fail(call, KN_ERROR_SHAPE, "[%D, %D] has a negative size", rows, columns);
    kn_tensor mask = lower ? kn_lower_mask(KN_SHAPE(rows, columns), offset)
                           : kn_upper_mask(KN_SHAPE(rows, columns), offset);
    if (!kn_ok(mask)) return kni_call_end(call, mask);
    int64_t cut = cut_offset(lower ? offset : offset - (offset > INT64_MIN), rows, columns);
    int64_t count = count_lower(rows, columns, cut);
    if (!lower) count = rows * columns - count;
    return kni_call_end(call, kn_t(kn_nonzero_bounded(mask, count).indices));
}

kn_tensor kn_tril_indices(int64_t rows, int64_t columns, int64_t offset)
{
    return triangle_indices("tril_indices", rows, columns, offset, true);
}

kn_tensor kn_triu_indices(int64_t rows, int64_t columns, int64_t offset)
{
    return triangle_indices("triu_indices", rows, columns, offset, false);
}

/* ---- one-hot rows */

kn_tensor kn_one_hot(kn_tensor indices, int64_t classes, kn_dtype dtype)
{
    kni_call call = kni_call_begin("one_hot");
    const kni_type *t = kni_type_of(indices);
    if (t && t->rank == KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_SHAPE, "%S has no room for another axis", t);
    if (classes < 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%D classes: there must be 0 or more", classes);
    kn_shape shape = t ? kni_shape_from_type(t) : (kn_shape){0, {0}};
    shape.dims[shape.rank++] = classes;
    indices = kn_keep(indices);
    kni_context before = kni_route_to(indices);
    kn_tensor zeros = kn_zeros(shape, dtype), one = kn_ones(KN_SCALAR_SHAPE, dtype);
    kni_route_back(before);
    return kni_call_end(call, kn_scatter(zeros, -1, kn_unsqueeze(indices, -1), one, KN_UPDATE_ASSIGN));
}

kn_tensor kn_one_hot_fill(kn_tensor indices, int64_t classes, const kn_one_hot_fill_args *args)
{
    static const kn_one_hot_fill_args plain = KN_ONE_HOT_FILL_ARGS_DEFAULTS;
    if (!args) args = &plain;
    kni_call call = kni_call_begin("one_hot_fill");
    const kni_type *t = kni_type_of(indices);
    kn_dtype dtype = args->dtype ? args->dtype : KN_F32;
    int32_t rank = t ? t->rank + 1 : 1;
    int64_t asked = kn_int_or(args->axis, -1);
    int32_t axis = asked < INT32_MIN ? INT32_MIN : asked > INT32_MAX ? INT32_MAX : (int32_t)asked;
    if (rank > KN_MAX_RANK) return kni_call_fail(call, KN_ERROR_SHAPE, "%S has no room for another axis", t);
    if (classes < 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%D classes: there must be 0 or more", classes);
    if (!kni_check_axis("one_hot_fill", &axis, rank)) return kni_call_end(call, kni_poison_latest());
    kn_shape line = {rank, {1, 1, 1, 1, 1, 1, 1, 1}};
    line.dims[axis] = classes;
    indices = kn_keep(kn_cast(indices, KN_I64));
    kni_context before = kni_route_to(indices);
    kn_tensor all = kn_reshape(kn_arange(0, (double)classes, 1, KN_I64), line);
    kn_tensor on = kn_full(KN_SCALAR_SHAPE, args->on, dtype),
              off = kn_full(KN_SCALAR_SHAPE, args->off, dtype);
    kni_route_back(before);
    kn_tensor wrapped =
        kn_where(kn_less_scalar(indices, 0), kn_add_scalar(indices, (double)classes), indices);
    return kni_call_end(call, kn_where(kn_equal(kn_unsqueeze(wrapped, axis), all), on, off));
}

/* ---- ranges of another kind */

kn_tensor kn_logspace(double start, double stop, int64_t n, double base, kn_dtype dtype)
{
    kni_call call = kni_call_begin("logspace");
    kn_tensor powers = kn_rpow_scalar(kn_linspace(start, stop, n, KN_F64), base);
    return kni_call_end(call, dtype == KN_F64 ? powers : kn_cast(powers, dtype));
}

kn_tensor kn_cartesian_grid(kn_shape shape)
{
    kni_call call = kni_call_begin("cartesian_grid");
    kn_tensor lines[KN_MAX_RANK];
    if (shape.rank < 1 || shape.rank >= KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_SHAPE, "rank %d is outside 1 to %d", shape.rank, KN_MAX_RANK - 1);
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0) return kni_call_fail(call, KN_ERROR_SHAPE, "%N has a negative size", &shape);
        lines[i] = kn_arange(0, (double)shape.dims[i], 1, KN_I64);
    }
    return kni_call_end(call, kn_meshgrid_stack(lines, shape.rank, NULL, -1));
}
