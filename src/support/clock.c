/* The clocks of the system, in seconds. */
#define _POSIX_C_SOURCE 200809L
#include "support/clock.h"
#include <time.h>

static double seconds_of(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double kni_wall_clock(void) { return seconds_of(CLOCK_REALTIME); }
double kni_monotonic_clock(void) { return seconds_of(CLOCK_MONOTONIC); }
