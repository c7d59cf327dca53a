/* Start-up of the bare-metal image: vector table, memory set-up, floating-point unit, then main. A fault ends
   the run with status 99 instead of hanging. */
#include "../smoke_output.h"
#include "semihosting.h"

#define COPROCESSOR_ACCESS ((volatile uint32_t *)0xE000ED88)
#define ENABLE_FPU (0xFu << 20)

extern uint32_t image_data_load[], image_data_start[], image_data_end[];
extern uint32_t image_bss_start[], image_bss_end[], image_stack_top[];

int main(void);
void reset_handler(void);

static void fault_handler(void)
{
    smoke_write("fault\n");
    semihosting_exit(99);
}

void reset_handler(void)
{
    *COPROCESSOR_ACCESS |= ENABLE_FPU;
    __asm__ volatile("dsb\n isb");
    memcpy(image_data_start, image_data_load, (size_t)((char *)image_data_end - (char *)image_data_start));
    memset(image_bss_start, 0, (size_t)((char *)image_bss_end - (char *)image_bss_start));
    semihosting_exit(main());
}

typedef union vector {
    void (*handler)(void);
    const void *stack;
} vector;

__attribute__((section(".vectors"), used)) static const vector vectors[16] = {
    {.stack = image_stack_top},
    {.handler = reset_handler},
    {.handler = fault_handler},
    {.handler = fault_handler},
    {.handler = fault_handler},
    {.handler = fault_handler},
    {.handler = fault_handler},
    {.handler = 0},
    {.handler = 0},
    {.handler = 0},
    {.handler = 0},
    {.handler = fault_handler},
    {.handler = fault_handler},
    {.handler = 0},
    {.handler = fault_handler},
    {.handler = fault_handler},
};
