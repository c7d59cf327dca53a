/* Old names of functions, which do what they always did; docs/migration.md says what they are called now. */
#include "ops/movement_rows.h"
#include <kn/creation.h>
#include <kn/functional.h>
#include <kn/indexing.h>
#include <kn/shape.h>
#include <kn/spatial.h>

/* The call lends the old name to errors inside. */
#define OLD(name, call)                                                                                      \
    {                                                                                                        \
        kni_call old = kni_call_begin(name);                                                                 \
        return kni_call_end(old, call);                                                                      \
    }

kn_tensor kn_take(kn_tensor x, kn_tensor indices, int32_t axis) OLD("take", kn_index_take(x, axis, indices))

    kn_tensor kn_take_along(kn_tensor x, kn_tensor index, int32_t axis)
        OLD("take_along", kn_gather_along(x, axis, index))

            kn_tensor
    kn_select_assign(kn_tensor x, int32_t axis, kn_tensor indices, kn_tensor values, kn_update update)
        OLD("select_assign", kn_index_assign(x, axis, indices, values, update))

            kn_tensor kn_unfold(kn_tensor x, int32_t axis, int64_t size, int64_t step)
                OLD("unfold", kn_unfold_axis(x, axis, size, step))

                    kn_tensor kn_unfold4d(kn_tensor x, kn_ints window, const kn_unfold_args *args)
                        OLD("unfold4d", kn_unfold_patches(x, window, args))

                            kn_tensor
    kn_fold4d(kn_tensor columns, kn_ints size, kn_ints window, const kn_unfold_args *args)
        OLD("fold4d", kn_fold_patches(columns, size, window, args))

            kn_tensor kn_cross_entropy_with_logits(kn_tensor logits, kn_tensor probabilities)
                OLD("cross_entropy_with_logits", kn_cross_entropy_probabilities(logits, probabilities))

                    kn_tensor kn_triu_mask(kn_shape shape, int64_t offset)
                        OLD("triu_mask", kn_logical_not(kn_upper_mask(shape, offset)))

                            kn_tensor kn_tril_mask(kn_shape shape, int64_t offset)
                                OLD("tril_mask", kn_logical_not(kn_lower_mask(shape, offset)))

                                    kn_tensor kn_diag_mask(kn_shape shape, int64_t offset)
                                        OLD("diag_mask", kn_logical_not(kn_diagonal_mask(shape, offset)))
