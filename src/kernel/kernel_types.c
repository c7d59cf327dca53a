/* The types of a user's kernel: what T is, what its operands may be, and what its results are. */
#include "kernel/user_kernel.h"
#include "ops/infer.h"
#include <string.h>

/* The buffer of operand or result i: `in` buffers are followed by the `inout` ones, which are both. */
static int buffer_of_operand(int i) { return i; }
static int buffer_of_result(const kni_user_kernel *k, int i) { return k->kernel.n_in + i; }

int kni_kernel_element(const kni_user_kernel *k, const int *in_dtypes, const int *out_dtypes)
{
    for (int i = 0; i < k->n_operands; i++)
        if (k->letters[buffer_of_operand(i)] == 'T' && in_dtypes[i]) return in_dtypes[i];
    for (int i = 0; i < k->n_results; i++)
        if (k->letters[buffer_of_result(k, i)] == 'T' && out_dtypes[i]) return out_dtypes[i];
    return 0;
}

int kni_kernel_default_dtype(const kni_user_kernel *k, int result, int element)
{
    int buffer = buffer_of_result(k, result);
    switch (k->letters[buffer]) {
    case 'T':
        return element ? element : k->source.element;
    case 'i':
        return KN_I64;
    case 'r':
        return KN_F32;
    default:
        return k->signature.buffers[buffer].dtype;
    }
}

/* Whether a buffer can hold elements of the dtype; else what is wanted. */
static const char *misfit(const kni_user_kernel *k, int buffer, int dtype, int element)
{
    switch (k->letters[buffer]) {
    case 'T':
        return dtype == element ? NULL : kni_dtypes[element].name;
    case 'i':
        return kni_is_float(dtype) ? "an integer type or bool" : NULL;
    case 'r':
        return kni_is_float(dtype) ? NULL : "a float type";
    default:
        return dtype == k->signature.buffers[buffer].dtype
                   ? NULL
                   : kni_dtypes[k->signature.buffers[buffer].dtype].name;
    }
}

static kn_status check_buffer(kni_infer *c, const kni_user_kernel *k, int buffer, int dtype, int element)
{
    const char *wanted = misfit(k, buffer, dtype, element);
    if (!wanted) return KN_OK;
    const char *name = k->signature.buffers[buffer].name, *given = kni_dtypes[dtype].name;
    /* T is what the first buffer of T is. */
    int first = 0;
    while (k->letters[buffer] == 'T' && k->letters[first] != 'T') first++;
    if (k->letters[buffer] == 'T')
        return kni_infer_fail(c, KN_ERROR_DTYPE,
                              "buffer '%s' takes %s, since buffer '%s' makes T that; %s was given", name,
                              wanted, k->signature.buffers[first].name, given);
    return kni_infer_fail(c, KN_ERROR_DTYPE, "buffer '%s' takes %s, %s was given", name, wanted, given);
}

static kn_status give_shape(kni_infer *c, const kni_kernel_attributes *a, int i)
{
    const kni_user_kernel *k = kni_kernel_of_row(c->row);
    int inout = k->source.n_inout;
    kni_type *y = c->out[i];
    int dtype = y->dtype;
    if (i < inout || !a->shaped) {
        const kni_type *like = i < inout ? c->in[k->kernel.n_in + i] : c->n_in ? c->in[0] : NULL;
        if (!like)
            return kni_infer_fail(c, KN_ERROR_SHAPE, "there are no operands: give the shapes of the results");
        *y = *like;
        y->dtype = (uint8_t)dtype;
        y->weak = 0;
        return KN_OK;
    }
    const kn_shape *shape = &a->shapes[i - inout];
    if (shape->rank < 0 || shape->rank > KN_MAX_RANK)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the shape of result %d has rank %d", i, shape->rank);
    y->rank = (uint8_t)shape->rank;
    for (int d = 0; d < shape->rank; d++) y->dims[d] = shape->dims[d] < 0 ? KNI_DIM_BAD : shape->dims[d];
    return KN_OK;
}

kn_status kni_kernel_infer(kni_infer *c)
{
    const kni_user_kernel *k = kni_kernel_of_row(c->row);
    const kni_kernel_attributes *a = c->attributes;
    int in[KNI_KERNEL_OPERANDS], out[KNI_KERNEL_OPERANDS], inout = k->source.n_inout;
    for (int i = 0; i < c->n_in; i++) in[i] = c->in[i]->dtype;
    for (int i = 0; i < c->n_out; i++)
        out[i] = i < inout ? in[k->kernel.n_in + i] : (int)a->dtypes[i - inout];
    int element = kni_kernel_element(k, in, out);
    if (!element) element = k->source.element;
    for (int i = 0; i < c->n_in; i++) {
        kn_status s = check_buffer(c, k, buffer_of_operand(i), in[i], element);
        if (s) return s;
    }
    for (int i = 0; i < c->n_out; i++) {
        int dtype = out[i] ? out[i] : kni_kernel_default_dtype(k, i, element);
        if (!kni_dtype_usable(dtype))
            return kni_infer_fail(c, KN_ERROR_DTYPE, "result %d has no dtype of tensors", i);
        kn_status s = check_buffer(c, k, buffer_of_result(k, i), dtype, element);
        c->out[i]->dtype = (uint8_t)dtype;
        if (s == KN_OK) s = give_shape(c, a, i);
        if (s) return s;
    }
    return KN_OK;
}

/* ---- the launch */

static int64_t items_of(const kni_user_kernel *k, const kni_kernel_attributes *a, const kni_type *first)
{
    if (a->items) return a->items;
    int64_t count = kni_count(first), group = k->source.workgroup;
    return group ? (count + group - 1) / group : count;
}

kn_status kni_kernel_launch(kni_launch *l)
{
    const kni_user_kernel *k = kni_kernel_of_row(l->row);
    const kni_kernel_attributes *a = l->attributes;
    const kn_kernel_number *numbers = kni_kernel_numbers((void *)l->attributes);
    l->kernel = &k->kernel;
    l->items = items_of(k, a, l->out[0]);
    for (int i = 0; i < k->signature.n_numbers; i++) {
        int n = k->signature.numbers[i].count ? (int)k->signature.numbers[i].count : 1;
        bool real = kni_is_float(k->signature.numbers[i].dtype);
        for (int j = 0; j < n; j++, numbers++)
            if (real)
                kni_launch_real(l, numbers->real);
            else
                kni_launch_int(l, numbers->whole);
    }
    l->n_temps = k->kernel.n_temp;
    for (int i = 0; i < l->n_temps; i++) l->temps[i] = a->temps[i];
    return KN_OK;
}

bool kni_kernel_fill(const kni_user_kernel *k, const char *function, const kn_kernel_run_args *args,
                     void *attributes)
{
    kni_kernel_attributes *a = attributes;
    int wanted = k->n_ints + k->n_reals, given = args ? args->n_numbers : 0;
    if (given != wanted || (wanted && !args->numbers)) {
        kni_fail(KN_ERROR_ARGUMENT, "%s: kernel '%s' declares %d numbers, %d were given", function, k->name,
                 (int32_t)wanted, (int32_t)given);
        return false;
    }
    if (args && args->items < 0) {
        kni_fail(KN_ERROR_ARGUMENT, "%s: kernel '%s': %D items", function, k->name, args->items);
        return false;
    }
    if (k->kernel.n_temp && !(args && args->temps)) {
        kni_fail(KN_ERROR_ARGUMENT, "%s: kernel '%s' has temp buffers: say how many elements each has",
                 function, k->name);
        return false;
    }
    if (!args) return true;
    a->items = args->items;
    for (int i = 0; i < k->kernel.n_temp; i++) {
        a->temps[i] = args->temps[i];
        if (a->temps[i] >= 0) continue;
        kni_fail(KN_ERROR_ARGUMENT, "%s: kernel '%s': a temp buffer of %D elements", function, k->name,
                 a->temps[i]);
        return false;
    }
    int outs = k->n_results - k->source.n_inout;
    for (int i = 0; i < outs && args->dtypes; i++) a->dtypes[i] = args->dtypes[i];
    for (int i = 0; i < outs && args->shapes; i++) a->shapes[i] = args->shapes[i];
    a->shaped = args->shapes != NULL;
    if (wanted) memcpy(kni_kernel_numbers(a), args->numbers, (size_t)wanted * sizeof *args->numbers);
    return true;
}
