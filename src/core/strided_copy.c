/* Strided copies: collapse the axes, then walk all but the innermost with a counter. */
#include "core/strided_copy.h"
#include "core/dtype.h"

/* True when the axis kept last (at `inner`) continues in axis `outer` in every layout. */
static bool mergeable(int outer, int inner, const int64_t *dims, int n, int64_t (*strides)[KN_MAX_RANK])
{
    for (int k = 0; k < n; k++)
        if (strides[k][outer] != strides[k][inner] * dims[inner]) return false;
    return true;
}

static void move_axis(int to, int from, int64_t *dims, int n, int64_t (*strides)[KN_MAX_RANK])
{
    dims[to] = dims[from];
    for (int k = 0; k < n; k++) strides[k][to] = strides[k][from];
}

int kni_collapse(int rank, int64_t *dims, int n, int64_t (*strides)[KN_MAX_RANK])
{
    int top = rank; /* axes top .. rank - 1 are done */
    for (int a = rank - 1; a >= 0; a--) {
        if (dims[a] == 1) continue;
        if (top < rank && mergeable(a, top, dims, n, strides)) {
            dims[top] *= dims[a];
            continue;
        }
        move_axis(--top, a, dims, n, strides);
    }
    if (top == rank) {
        dims[0] = 1;
        for (int k = 0; k < n; k++) strides[k][0] = 1;
        return 1;
    }
    for (int a = top; a < rank; a++) move_axis(a - top, a, dims, n, strides);
    return rank - top;
}

void kni_copy_strided(void *to, int to_dtype, const int64_t *to_strides, const void *from, int from_dtype,
                      const int64_t *from_strides, int rank, const int64_t *dims)
{
    int64_t d[KN_MAX_RANK], strides[2][KN_MAX_RANK], index[KN_MAX_RANK] = {0};
    if (kni_count_dims(rank, dims) == 0) return;
    for (int i = 0; i < rank; i++) {
        d[i] = dims[i];
        strides[0][i] = to_strides[i];
        strides[1][i] = from_strides[i];
    }
    rank = kni_collapse(rank, d, 2, strides);
    int64_t to_bytes = kni_bytes_of(to_dtype), from_bytes = kni_bytes_of(from_dtype);
    char *y = to;
    const char *x = from;
    for (;;) {
        kni_convert(y, to_dtype, strides[0][rank - 1], x, from_dtype, strides[1][rank - 1], d[rank - 1]);
        int a = rank - 2;
        for (; a >= 0; a--) {
            y += strides[0][a] * to_bytes;
            x += strides[1][a] * from_bytes;
            if (++index[a] < d[a]) break;
            y -= strides[0][a] * to_bytes * d[a];
            x -= strides[1][a] * from_bytes * d[a];
            index[a] = 0;
        }
        if (a < 0) return;
    }
}
