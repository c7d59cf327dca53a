/* Inputs made up alike on both sides: a linear congruential generator of 64 bits whose upper half is used, begun anew for each input.
   torch_models.py has the same in NumPy. */
#include "bench_models.h"
#include <stdlib.h>

static uint32_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 32);
}

static void fill(const bench_input *input, void *data, int64_t n, int64_t row, uint64_t state)
{
    for (int64_t k = 0; k < n; k++) {
        /* A row of padding takes one number, whatever its length. */
        if (input->fill == BENCH_PADDING) {
            int64_t seen = row - draw(&state) % (row / 2 + 1);
            for (int64_t j = 0; j < row; j++) ((bool *)data)[k + j] = j < seen;
            k += row - 1;
            continue;
        }
        uint32_t bits = draw(&state);
        if (input->fill == BENCH_INDICES) ((int64_t *)data)[k] = bits % input->below;
        if (input->fill == BENCH_REALS) ((float *)data)[k] = (float)(bits >> 8) / 8388608.0f - 1.0f;
        if (input->fill == BENCH_TRUTHS) ((float *)data)[k] = (float)(bits >> 31);
    }
}

kn_tensor bench_input_make(const bench_input *input, int64_t batch, int i)
{
    static const kn_dtype dtypes[] = {
        [BENCH_REALS] = KN_F32, [BENCH_INDICES] = KN_I64, [BENCH_TRUTHS] = KN_F32, [BENCH_PADDING] = KN_BOOL};
    kn_shape shape = {0};
    int64_t n = 1;
    for (int axis = 0; axis < BENCH_AXES && input->sizes[axis]; axis++) {
        int64_t size = input->sizes[axis] < 0 ? batch : input->sizes[axis];
        shape.dims[shape.rank++] = size;
        n *= size;
    }
    void *data = malloc((size_t)n * sizeof(int64_t));
    if (!data) return kn_poison(KN_ERROR_MEMORY, "no memory for a model's input");
    fill(input, data, n, shape.dims[shape.rank - 1], 12345 + (uint64_t)i);
    kn_tensor made = kn_own(kn_from(data, dtypes[input->fill], shape));
    free(data);
    return made;
}
