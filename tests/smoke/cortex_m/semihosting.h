/* Ends the emulated machine with an exit status. */
#ifndef KN_SMOKE_SEMIHOSTING_H
#define KN_SMOKE_SEMIHOSTING_H

void semihosting_exit(int status) __attribute__((noreturn));

#endif
