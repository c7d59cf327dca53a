/* What the files of driver_check share. */
#ifndef DRIVER_CHECK_H
#define DRIVER_CHECK_H

#include "backend/cuda/cuda_driver.h"
#include <kn/tensor.h>

#define CHECK(condition) check_note((condition) != 0, #condition, __FILE__, __LINE__)
bool check_note(bool good, const char *what, const char *file, int line);
double check_seconds(void);
double check_random(uint64_t *state);
extern int check_failures, check_count;

void check_products(void);
void time_products(void);
void check_attention(void);
void time_attention(void);

#endif
