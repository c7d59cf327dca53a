/* Samples become a batch: stacked along a new first axis, or padded along their own first axis with masks or lengths. */
#include "data/data_internal.h"
#include <stdlib.h>
#include <string.h>

static void shape_text(kn_shape shape, kni_buffer *out)
{
    kni_buffer_text(out, "[");
    for (int32_t i = 0; i < shape.rank; i++)
        kni_buffer_format(out, i ? ", %lld" : "%lld", (long long)shape.dims[i]);
    kni_buffer_text(out, "]");
}

static kn_status differ(int32_t field, int64_t sample, kn_tensor a, kn_tensor b, const char *hint)
{
    kni_buffer text = {0};
    kni_buffer_format(&text, "kn_loader: field %d of sample %lld of the batch is %s ", (int)field,
                      (long long)sample, kn_dtype_name(kn_dtype_of(b)));
    shape_text(kn_shape_of_tensor(b), &text);
    kni_buffer_format(&text, ", that of sample 0 is %s ", kn_dtype_name(kn_dtype_of(a)));
    shape_text(kn_shape_of_tensor(a), &text);
    kni_buffer_text(&text, hint);
    kn_status status = kni_failure(KN_ERROR_SHAPE, "%s", kni_buffer_string(&text));
    kni_buffer_free(&text);
    return status;
}

/* Equal dtypes and shapes but for the first `free_axes` axes. */
static bool fits(kn_tensor a, kn_tensor b, int32_t free_axes)
{
    if (kn_dtype_of(a) != kn_dtype_of(b) || kn_rank(a) != kn_rank(b)) return false;
    for (int32_t i = free_axes; i < kn_rank(a); i++)
        if (kn_size(a, i) != kn_size(b, i)) return false;
    return true;
}

static kn_status check_fields(const kn_sample *samples, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (samples[i].n != samples[0].n)
            return kni_failure(KN_ERROR_SHAPE,
                               "kn_loader: sample %lld of the batch has %d fields, sample 0 has %d",
                               (long long)i, (int)samples[i].n, (int)samples[0].n);
    return KN_OK;
}

/* bytes = n * each, refused past what memory can be. */
static bool batch_bytes(int64_t n, int64_t each, size_t *bytes)
{
    return each >= 0 && !__builtin_mul_overflow((size_t)n, (size_t)each, bytes) && *bytes <= PTRDIFF_MAX;
}

static kn_status stack_field(const kn_sample *samples, int64_t n, int32_t f, kn_sample *batch)
{
    kn_tensor first = samples[0].fields[f];
    kn_shape shape = kn_shape_of_tensor(first);
    if (shape.rank >= KN_MAX_RANK)
        return kni_failure(KN_ERROR_SHAPE, "kn_loader: field %d has %d axes, one too many to stack", (int)f,
                           (int)shape.rank);
    for (int64_t i = 1; i < n; i++)
        if (!fits(first, samples[i].fields[f], 0))
            return differ(f, i, first, samples[i].fields[f],
                          "; pad them (KN_COLLATE_PAD_MASK) or map them to one shape");
    int64_t each = kn_dtype_bytes(kn_dtype_of(first), kn_count(first));
    size_t bytes;
    char *data = batch_bytes(n, each, &bytes) ? malloc(bytes ? bytes : 1) : NULL;
    if (!data) return kni_failure_memory("kn_loader");
    kn_status status = KN_OK;
    for (int64_t i = 0; i < n && status == KN_OK; i++)
        status = kn_read(samples[i].fields[f], data + i * each, (size_t)each);
    memmove(shape.dims + 1, shape.dims, (size_t)shape.rank * sizeof *shape.dims);
    shape.dims[0] = n;
    shape.rank++;
    if (status == KN_OK) status = kn_sample_add(batch, kn_from(data, kn_dtype_of(first), shape));
    free(data);
    return status;
}

kn_status kni_collate_stack(const kn_sample *samples, int64_t n, kn_sample *batch)
{
    kn_status status = check_fields(samples, n);
    for (int32_t f = 0; f < samples[0].n && status == KN_OK; f++) status = stack_field(samples, n, f, batch);
    return status;
}

/* ---- padding */

/* `bytes` of memory full of the pad value in dtype. */
static kn_status fill_memory(char *data, size_t bytes, kn_dtype dtype, double value)
{
    size_t each = (size_t)kn_dtype_bytes(dtype, 1);
    char element[16] = {0};
    if (value != 0) {
        kn_status status = kn_read(kn_scalar(value, dtype), element, each);
        if (status != KN_OK) return status;
    }
    memset(data, 0, bytes);
    if (value != 0)
        for (size_t i = 0; i + each <= bytes; i += each) memcpy(data + i, element, each);
    return KN_OK;
}

static kn_status pad_field(const kn_sample *samples, int64_t n, int32_t f, double pad, kn_sample *batch,
                           int64_t *longest)
{
    kn_tensor first = samples[0].fields[f];
    kn_shape shape = kn_shape_of_tensor(first);
    *longest = 0;
    for (int64_t i = 0; i < n; i++) {
        kn_tensor t = samples[i].fields[f];
        if (!fits(first, t, 1) || shape.rank >= KN_MAX_RANK)
            return differ(f, i, first, t, "; only their first axis can be padded");
        if (kn_size(t, 0) > *longest) *longest = kn_size(t, 0);
    }
    int64_t row = 1; /* elements behind the first axis */
    for (int32_t i = 1; i < shape.rank; i++) row *= shape.dims[i];
    int64_t elements = 0;
    bool small = !__builtin_mul_overflow(row, *longest, &elements);
    kn_dtype dtype = kn_dtype_of(first);
    int64_t each = small ? kn_dtype_bytes(dtype, elements) : -1;
    size_t bytes;
    char *data = batch_bytes(n, each, &bytes) ? malloc(bytes ? bytes : 1) : NULL;
    if (!data) return kni_failure_memory("kn_loader");
    kn_status status = fill_memory(data, bytes, dtype, pad);
    for (int64_t i = 0; i < n && status == KN_OK; i++) {
        kn_tensor t = samples[i].fields[f];
        status = kn_read(t, data + i * each, (size_t)kn_dtype_bytes(dtype, kn_count(t)));
    }
    memmove(shape.dims + 1, shape.dims, (size_t)shape.rank * sizeof *shape.dims);
    shape.dims[0] = n;
    shape.dims[1] = *longest;
    shape.rank++;
    if (status == KN_OK) status = kn_sample_add(batch, kn_from(data, dtype, shape));
    free(data);
    return status;
}

static kn_status add_lengths(const kn_sample *samples, int64_t n, int32_t f, kn_sample *batch)
{
    int64_t *lengths = malloc((size_t)n * sizeof *lengths);
    if (!lengths) return kni_failure_memory("kn_loader");
    for (int64_t i = 0; i < n; i++) lengths[i] = kn_size(samples[i].fields[f], 0);
    kn_status status = kn_sample_add(batch, kn_from(lengths, KN_I64, KN_SHAPE(n)));
    free(lengths);
    return status;
}

static kn_status add_mask(const kn_sample *samples, int64_t n, int32_t f, int64_t longest, kn_sample *batch)
{
    size_t bytes;
    char *mask = batch_bytes(n, longest, &bytes) ? calloc(bytes ? bytes : 1, 1) : NULL;
    if (!mask) return kni_failure_memory("kn_loader");
    for (int64_t i = 0; i < n; i++) memset(mask + i * longest, 1, (size_t)kn_size(samples[i].fields[f], 0));
    kn_status status = kn_sample_add(batch, kn_from(mask, KN_BOOL, KN_SHAPE(n, longest)));
    free(mask);
    return status;
}

kn_status kni_collate_pad(const kn_sample *samples, int64_t n, const kn_loader_args *args, kn_sample *batch)
{
    int64_t longest[KN_SAMPLE_FIELDS];
    kn_status status = check_fields(samples, n);
    uint32_t padded = 0;
    for (int32_t f = 0; f < samples[0].n && status == KN_OK; f++) {
        bool wanted = args->pad_fields ? args->pad_fields >> f & 1 : kn_rank(samples[0].fields[f]) > 0;
        if (wanted && kn_rank(samples[0].fields[f]) < 1)
            return kni_failure(KN_ERROR_SHAPE, "kn_loader: field %d has no axis to pad", (int)f);
        if (wanted) padded |= 1u << f;
        status = wanted ? pad_field(samples, n, f, args->pad_value, batch, &longest[f])
                        : stack_field(samples, n, f, batch);
    }
    for (int32_t f = 0; f < samples[0].n && status == KN_OK; f++) {
        if (!(padded >> f & 1)) continue;
        status = args->collate == KN_COLLATE_PAD_MASK ? add_mask(samples, n, f, longest[f], batch)
                                                      : add_lengths(samples, n, f, batch);
    }
    return status;
}
