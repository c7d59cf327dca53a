/* Groups inside the library: the public structs of kn/backend.h under the names that the schedules use, and the rule of writing
   in place. */
#ifndef KNI_GROUP_H
#define KNI_GROUP_H

#include <kn/backend.h>

typedef kn_group kni_group;
typedef kn_plan_run kni_plan_run;
typedef kn_limits kni_group_limits;
typedef kn_follow kni_tail_answer;
enum {
    KNI_GROUP_SINGLE = KN_GROUP_SINGLE,
    KNI_GROUP_POINTWISE = KN_GROUP_POINTWISE,
    KNI_GROUP_REDUCTION = KN_GROUP_REDUCTION,
    KNI_GROUP_ROWS = KN_GROUP_LINES,
    KNI_GROUP_PRODUCT = KN_GROUP_PRODUCT,
    KNI_GROUP_MANY = KN_GROUP_MANY,
    KNI_GROUP_KINDS = KN_GROUP_KINDS
};
enum {
    KNI_TAKES_VIEWS = KN_TAKES_VIEWS,
    KNI_TAKES_CREATION = KN_TAKES_CREATION,
    KNI_TAKES_ANY_AXES = KN_TAKES_ANY_AXES,
    KNI_TAKES_WHOLE = KN_TAKES_WHOLE,
    KNI_TAKES_LOSSES = KN_TAKES_LOSSES,
    KNI_TAKES_COLUMNS = KN_TAKES_COLUMNS,
    KNI_TAKES_CASTS = KN_TAKES_CASTS,
    KNI_TAKES_REPEATS = KN_TAKES_REPEATS,
    KNI_TAKES_CHANNELS = KN_TAKES_CHANNELS,
    KNI_TAKES_SEVERAL = KN_TAKES_SEVERAL,
    KNI_TAKES_MAPS = KN_TAKES_MAPS,
    KNI_TAKES_SMALL = KN_TAKES_SMALL
};
/* Whether KN_FUSION_LOG asks for what is fused and why not. */
bool kni_plan_log_wanted(void);

#define KNI_TAIL_NO KN_FOLLOW_NO
#define KNI_TAIL_ONLY KN_FOLLOW_ONLY
#define KNI_TAIL_LAST KN_FOLLOW_LAST
#define KNI_TAIL_YES KN_FOLLOW_YES
enum { KNI_TAIL_RECORDS = KN_FOLLOW_RECORDS };

/* Whether result y of the group may be written into the memory of its input `id`: the rule of kni_may_overwrite. It holds
   for the records of KNI_GROUP_MANY, which run in any order, only if no other one reads the input; the leaf's schedule says
   whether records of another kind read the element for the last time before they write it. */
struct kni_tensor;
bool kni_group_may_overwrite(const kni_group *g, uint32_t id, const struct kni_tensor *y);
/* Parts of it: no other input lies in the storage of `id`; one record alone reads `id`. */
bool kni_group_sees_once(const kni_group *g, uint32_t id);
bool kni_group_has_one_reader(const kni_group *g, uint32_t id);

#endif
