/* Strides and dilations of args structs, with one entry for each spatial axis: a 0 behind the first is as the first. Paddings are
   not such lists, as 0 is one of theirs. */
#ifndef KNI_CORE_AXIS_ENTRY_H
#define KNI_CORE_AXIS_ENTRY_H

#include <stdint.h>

/* Entry i as it was given; 0 where neither it nor the first is. */
static inline int64_t kni_axis_entry(const int64_t *list, int i) { return list[i] ? list[i] : list[0]; }

#endif
