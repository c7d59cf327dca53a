/* What a schedule is made of: a kind (a row of a table), numbers, parts, and the number of steps taken. */
#ifndef KNI_SCHEDULE_OBJECT_H
#define KNI_SCHEDULE_OBJECT_H

#include "core/objects.h"
#include <kn/optim.h>

enum { KNI_SCHEDULE_NUMBERS = 6 };

typedef struct kni_schedule kni_schedule;

typedef struct kni_schedule_kind {
    const char *name;
    /* The rate at step t (counted from 0), or a function of the parts. */
    double (*rate)(const kni_schedule *s, int64_t t);
    /* Moves the parts on; NULL: all of them. */
    void (*advance)(kni_schedule *s);
} kni_schedule_kind;

struct kni_schedule {
    const kni_schedule_kind *kind;
    int64_t step;
    double numbers[KNI_SCHEDULE_NUMBERS];
    int64_t length, choice;
    kni_schedule **parts;
    kn_schedule *handles; /* of the parts, which belong to this one */
    int64_t *milestones;
    int32_t n_parts;
    double (*custom)(void *context, int64_t step);
    void *context;
    struct {
        double lr, best;
        int64_t bad, cooling;
    } plateau;
};

/* A schedule without parts; NULL with kn_last_error(). function is also what kni_schedule_handle names. */
kni_schedule *kni_schedule_make(const kni_schedule_kind *kind, const char *function);
/* Its handle; NULL for NULL. */
kn_schedule kni_schedule_handle(kni_schedule *schedule, const char *function);

#endif
