/* Smoke output on targets that have a C library with files. */
#include "../smoke_output.h"

#include <stdio.h>

void smoke_write(const char *text) { fputs(text, stdout); }
