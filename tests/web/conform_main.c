/* kiln conform as a module of its own for pages (test_conform.mjs): without processes and without a C compiler. */
#include "conform_run.h"
#include "kiln.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int kiln_usage_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    return 2;
}

bool kiln_option(char **arguments, int i, const char *name) { return !strcmp(arguments[i], name); }

bool kiln_option_value(int count, char **arguments, int *i, const char *name, const char **value, bool *bad)
{
    if (strcmp(arguments[*i], name) != 0) return false;
    *bad = *i + 1 == count;
    if (!*bad) *value = arguments[++*i];
    return true;
}

/* There is one process, which runs every op and times none. */
bool kiln_claim(const kiln_run *run, const char *op, uint64_t hash)
{
    (void)run, (void)op, (void)hash;
    return true;
}

void kiln_claim_took(const kiln_run *run, uint64_t hash, double seconds)
{
    (void)run, (void)hash, (void)seconds;
}

double kiln_conform_now(void) { return 0; }

bool kiln_conform_jobs(kiln_run *run, bool (*one)(kiln_run *run))
{
    run->parts = 0;
    return one(run);
}

void kiln_run_as_c(const kiln_check *k) { kiln_result(k, "a page has no C compiler"); }

int main(int count, char **arguments)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    return kiln_command_conform(count - 1, arguments + 1);
}
