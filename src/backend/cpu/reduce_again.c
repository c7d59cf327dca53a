/* Products of floats that came out infinite, NaN or 0 are taken once more, one element after the other and in f64: the
   lanes and blocks of the fast way may overflow or vanish by themselves, and 0 times infinity is NaN. */
#include "backend/cpu/reduce_plan.h"
#include "backend/host/host.h"

/* The axes of x that a walk goes along, the last one fastest. */
typedef struct walk {
    int rank;
    int64_t sizes[KN_MAX_RANK], strides[KN_MAX_RANK], count;
} walk;

static walk walk_of(const kni_tensor *x, uint32_t mask)
{
    walk w = {.count = 1};
    for (int i = 0; i < x->type.rank; i++) {
        if (!(mask >> i & 1)) continue;
        w.sizes[w.rank] = x->type.dims[i];
        w.strides[w.rank++] = x->strides[i];
        w.count *= x->type.dims[i];
    }
    return w;
}

static int64_t offset_of(const walk *w, int64_t i)
{
    int64_t offset = 0;
    for (int a = w->rank - 1; a >= 0; a--) {
        offset += i % w->sizes[a] * w->strides[a];
        i /= w->sizes[a];
    }
    return offset;
}

static double element_at(kni_tensor *x, int64_t offset)
{
    double value;
    kni_convert(&value, KN_F64, 1, (char *)kni_pointer(x) + offset * (int64_t)kni_element_bytes(x),
                x->type.dtype, 1, 1);
    return value;
}

/* 0 where all elements are finite and one of them is 0. A result that is 0 already needs no look at the others, since
   an infinity among them would have made it NaN. */
static double product_of(kni_tensor *x, int64_t base, const walk *line, bool is_zero)
{
    double product = 1;
    bool zero = false, finite = true;
    for (int64_t k = 0; k < line->count && !(is_zero && zero); k++) {
        double v = element_at(x, base + offset_of(line, k));
        zero |= v == 0;
        finite &= v - v == 0;
        product *= v;
    }
    return zero && finite ? 0 : product;
}

void kni_prod_again(kni_tensor *x, kni_tensor *y, uint32_t reduced)
{
    walk line = walk_of(x, reduced), lines = walk_of(x, ~reduced);
    int64_t bytes = (int64_t)kni_element_bytes(y);
    char *results = y->storage->data;
    for (int64_t i = 0; i < lines.count && line.count; i++) {
        double value;
        kni_convert(&value, KN_F64, 1, results + i * bytes, y->type.dtype, 1, 1);
        if (value - value == 0 && value != 0) continue;
        value = product_of(x, offset_of(&lines, i), &line, value == 0);
        kni_convert(results + i * bytes, y->type.dtype, 1, &value, KN_F64, 1, 1);
    }
}
