/* The numbers of nn_values.h by name, as tensors and as what a result must be. */
#ifndef NN_VALUE_H
#define NN_VALUE_H

#include "support/check.h"
#include "train/nn_values.h"
#include <kn/nn.h>

static inline const struct nn_value *nn_find(const char *name)
{
    for (size_t i = 0; i < sizeof nn_values / sizeof *nn_values; i++)
        if (strcmp(nn_values[i].name, name) == 0) return &nn_values[i];
    printf("nn_values.h has no '%s'\n", name);
    return NULL;
}

static inline kn_tensor nn_tensor(const char *name)
{
    const struct nn_value *v = nn_find(name);
    return v ? kn_from(v->values, KN_F32, v->shape) : KN_NONE;
}

static inline bool nn_set(kn_param *param, const char *name)
{
    return CHECK(kn_param_set(param, nn_tensor(name)) == KN_OK);
}

/* The tensor has the shape and the elements of the value called name. */
static inline bool nn_check(kn_tensor y, const char *name, double tolerance, const char *file, int line)
{
    const struct nn_value *v = nn_find(name);
    double want[256];
    kn_shape shape = kn_shape_of_tensor(y);
    int n = 1;
    if (!v) return check_that(false, name, file, line);
    bool same = shape.rank == v->shape.rank;
    for (int i = 0; i < v->shape.rank; i++) {
        n *= (int)v->shape.dims[i];
        same = same && shape.dims[i] == v->shape.dims[i];
    }
    if (kn_ok(y) && !check_that(same, name, file, line)) return false;
    for (int i = 0; i < n && i < 256; i++) want[i] = (double)v->values[i];
    bool good = check_values(y, want, n, tolerance, file, line);
    if (!good) printf("  in %s\n", name);
    return good;
}
#define NN_CHECK(tensor, name) nn_check((tensor), (name), 2e-6, __FILE__, __LINE__)

#endif
