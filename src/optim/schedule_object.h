/* What a schedule is made of: a kind (a row of a table), numbers, parts, and the number of steps taken. */
#ifndef KNI_SCHEDULE_OBJECT_H
#define KNI_SCHEDULE_OBJECT_H

#include <kn/optim.h>

enum { KNI_SCHEDULE_NUMBERS = 6 };

typedef struct kni_schedule_kind {
    const char *name;
    /* The rate at step t (counted from 0), or a function of the parts. */
    double (*rate)(const struct kn_schedule_object *s, int64_t t);
    /* Moves the parts on; NULL: all of them. */
    void (*advance)(struct kn_schedule_object *s);
} kni_schedule_kind;

struct kn_schedule_object {
    const kni_schedule_kind *kind;
    int64_t step;
    double numbers[KNI_SCHEDULE_NUMBERS];
    int64_t length, choice;
    kn_schedule *parts;
    int64_t *milestones;
    int32_t n_parts;
    double (*custom)(void *context, int64_t step);
    void *context;
    struct {
        double lr, best;
        int64_t bad, cooling;
    } plateau;
};

/* A schedule without parts; NULL with kn_last_error(). */
kn_schedule kni_schedule_make(const kni_schedule_kind *kind, const char *function);

#endif
