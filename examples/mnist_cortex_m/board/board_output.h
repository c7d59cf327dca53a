/* Where the board's text goes: tests/smoke/cortex_m hands it to the debugger, as qemu shows it. A board of yours would write it to a serial
   port. */
#ifndef BOARD_OUTPUT_H
#define BOARD_OUTPUT_H

/* A text that ends in 0. */
void smoke_write(const char *text);

#endif
