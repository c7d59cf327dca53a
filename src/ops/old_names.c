/* Old names of functions, which do what they always did; docs/migration.md says what they are called now. */
#include "ops/movement_rows.h"
#include <kn/creation.h>
#include <kn/functional.h>
#include <kn/indexing.h>
#include <kn/shape.h>
#include <kn/spatial.h>

/* The call lends the old name to errors inside. A semicolon stands behind it, by which the formatter knows its end. */
#define OLD(name, parameters, call)                                                                          \
    kn_tensor kn_##name parameters                                                                           \
    {                                                                                                        \
        kni_call old = kni_call_begin(#name);                                                                \
        return kni_call_end(old, call);                                                                      \
    }                                                                                                        \
    kn_tensor kn_##name parameters

OLD(take, (kn_tensor x, kn_tensor indices, int32_t axis), kn_index_take(x, axis, indices));
OLD(take_along, (kn_tensor x, kn_tensor index, int32_t axis), kn_gather_along(x, axis, index));
OLD(select_assign, (kn_tensor x, int32_t axis, kn_tensor indices, kn_tensor values, kn_update update),
    kn_index_assign(x, axis, indices, values, update));
OLD(unfold, (kn_tensor x, int32_t axis, int64_t size, int64_t step), kn_unfold_axis(x, axis, size, step));
OLD(unfold4d, (kn_tensor x, kn_ints window, const kn_unfold_args *args), kn_unfold_patches(x, window, args));
OLD(fold4d, (kn_tensor columns, kn_ints size, kn_ints window, const kn_unfold_args *args),
    kn_fold_patches(columns, size, window, args));
OLD(cross_entropy_with_logits, (kn_tensor logits, kn_tensor probabilities),
    kn_cross_entropy_probabilities(logits, probabilities));
OLD(triu_mask, (kn_shape shape, int64_t offset), kn_logical_not(kn_upper_mask(shape, offset)));
OLD(tril_mask, (kn_shape shape, int64_t offset), kn_logical_not(kn_lower_mask(shape, offset)));
OLD(diag_mask, (kn_shape shape, int64_t offset), kn_logical_not(kn_diagonal_mask(shape, offset)));
