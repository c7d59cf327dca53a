/* The clocks of the system, in seconds. */
#ifndef KNI_SUPPORT_CLOCK_H
#define KNI_SUPPORT_CLOCK_H

/* Seconds since 1970, and of a clock that never goes back. */
double kni_wall_clock(void);
double kni_monotonic_clock(void);

#endif
