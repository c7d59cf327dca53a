/* What the tape saves depends on every attribute of an op that a gradient may look at: its numbers, and each entry of its lists. */
#include "ops/custom_rows.h"
#include "ops/op.h"
#include "support/check.h"
#include <kn/autodiff.h>

/* y = x * x where an attribute is not 0, else y = x: only the gradient of the first reads x. */
typedef struct squares_attributes {
    int64_t whole;
    double real;
    kn_ints list;
} squares_attributes;

static const kn_attribute schema[] = {KNI_ATTR(squares_attributes, whole, KNI_ATTR_INT, KNI_STATIC),
                                      KNI_ATTR(squares_attributes, real, KNI_ATTR_REAL, KNI_STATIC),
                                      KNI_ATTR(squares_attributes, list, KNI_ATTR_INTS, KNI_STATIC),
                                      {0}};

static bool squares(const void *attributes)
{
    const squares_attributes *a = attributes;
    bool any = a->whole || a->real != 0;
    for (int i = 0; i < a->list.rank; i++) any |= a->list.dims[i] != 0;
    return any;
}

static kn_status infer(kni_infer *c)
{
    *c->out[0] = *c->in[0];
    return KN_OK;
}

static kn_status lower(kni_lowering *l)
{
    l->out[0] = squares(l->attributes) ? kn_mul(l->in[0], l->in[0]) : kn_mul_scalar(l->in[0], 1);
    return KN_OK;
}

static kn_status gradient(kni_vjp *v)
{
    kn_tensor dy = v->dy[0];
    if (squares(v->attributes)) dy = kn_mul(dy, kn_mul_scalar(kni_vjp_in(v, 0), 2));
    kni_vjp_set(v, 0, dy);
    return KN_OK;
}

static kn_op row = {.name = "test_squares",
                    .doc = "x * x where an attribute is not 0, else x",
                    .min_in = 1,
                    .max_in = 1,
                    .n_out = 1,
                    .kind = KNI_SYSTEM,
                    .dtypes = KNI_ALL,
                    .schema = schema,
                    .attribute_bytes = sizeof(squares_attributes),
                    .infer = infer,
                    .lower = lower,
                    .custom_gradient = gradient};

static void gradient_is_right(const squares_attributes *a, const char *what)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_require_grad(kn_from((float[]){3, 5}, KN_F32, KN_SHAPE(2))), g = KN_NONE;
    kn_tensor y = kn_keep(kn_sum(kni_apply(&row, &x, 1, a), KN_AXES_ALL, false));
    bool good = CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &g) == KN_OK);
    if (good) good = squares(a) ? CHECK_VALUES(g, 0, 6, 10) : CHECK_VALUES(g, 0, 1, 1);
    if (!good) printf("  %s: %s\n", what, kn_last_error());
    kn_scope_end(s, KN_NONE);
}

int main(void)
{
    enum { ENTRIES = 4 };
    squares_attributes none = {.list = {.rank = ENTRIES}};
    CHECK(kni_custom_add("test", &row, &none) == KN_OK);
    kn_device_use(kn_device_open("autodiff(cpu)"));
    gradient_is_right(&none, "no attribute"); /* what its gradient reads is known from here on */
    squares_attributes a = none;
    a.whole = 1;
    gradient_is_right(&a, "a whole number");
    a = none;
    a.real = 0.5;
    gradient_is_right(&a, "a real number");
    for (int i = 0; i < ENTRIES; i++) {
        a = none;
        a.list.dims[i] = 1;
        gradient_is_right(&a, "an entry of a list");
    }
    a = none;
    a.list.dims[a.list.rank++] = 1;
    gradient_is_right(&a, "a longer list");
    gradient_is_right(&none, "no attribute again");
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
