/* A state: named tensors and short texts. Modules, optimisers, schedules, loaders and learners put themselves into one and
   come back from one; kn/store.h writes it to a file. Names are unique; "model/fc1.weight" is a usual one. */
#ifndef KN_STATE_H
#define KN_STATE_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_state_object *kn_state;

/* An empty state; NULL with kn_last_error(). */
KN_API kn_state kn_state_make(void);
KN_API void kn_state_free(kn_state state);
/* Puts a value under "prefix" + "name" (either may be ""); the state owns it (a temporary is taken, others aliased), so later
   updates of a param do not change it. Replaces what was there. */
KN_API kn_status kn_state_put(kn_state state, const char *prefix, const char *name, kn_tensor value);
/* The tensor, borrowed, or KN_NONE. */
KN_API kn_tensor kn_state_get(kn_state state, const char *prefix, const char *name);
KN_API kn_status kn_state_put_int(kn_state state, const char *prefix, const char *name, int64_t value);
KN_API kn_status kn_state_put_real(kn_state state, const char *prefix, const char *name, double value);
/* False, and *value untouched, when there is none. Numbers are stored as i64 and f64 tensors of rank 0. */
KN_API bool kn_state_get_int(kn_state state, const char *prefix, const char *name, int64_t *value);
KN_API bool kn_state_get_real(kn_state state, const char *prefix, const char *name, double *value);
KN_API kn_status kn_state_put_text(kn_state state, const char *name, const char *text);
/* NULL when there is none. */
KN_API const char *kn_state_get_text(kn_state state, const char *name);
/* In the order in which they were put. */
KN_API int64_t kn_state_count(kn_state state);
KN_API const char *kn_state_name(kn_state state, int64_t index, kn_tensor *value);
KN_API int64_t kn_state_text_count(kn_state state);
KN_API const char *kn_state_text_name(kn_state state, int64_t index, const char **text);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/state_sites.h>
#endif

#endif
