/* Smoke output and program end on bare metal, through the Arm semihosting calls that qemu answers. */
#include "semihosting.h"

#include "../smoke_output.h"

#define SYS_WRITE0 0x04
#define SYS_EXIT_EXTENDED 0x20
#define STOPPED_APPLICATION_EXIT 0x20026

static int semihosting_call(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void smoke_write(const char *text) { semihosting_call(SYS_WRITE0, text); }

void semihosting_exit(int status)
{
    const int32_t block[2] = {STOPPED_APPLICATION_EXIT, status};
    semihosting_call(SYS_EXIT_EXTENDED, block);
    for (;;) {}
}
