/* What all examples share, so that each can be about one thing: options from a table, errors on standard error at the moment
   they happen, and a device that differentiates. A program of yours needs none of it. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <kn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One option of the command line. Exactly one of the pointers is set; what it points to holds the default. */
typedef struct Option {
    const char *name, *help;
    const char **text;
    int64_t *integer;
    double *real;
    bool *flag;
} Option;

static inline bool option_set(const Option *option, const char *value)
{
    char *end = NULL;
    if (option->text) return *option->text = value, true;
    if (option->integer) *option->integer = strtoll(value, &end, 10);
    if (option->real) *option->real = strtod(value, &end);
    return end != value && *end == 0;
}

static inline void option_usage(const char *program, const Option *options)
{
    fprintf(stderr, "usage: %s [options]\n", program);
    for (const Option *o = options; o->name; o++) {
        fprintf(stderr, "  %-14s %s", o->name, o->help);
        if (o->text && *o->text) fprintf(stderr, " (%s)", *o->text);
        if (o->integer) fprintf(stderr, " (%lld)", (long long)*o->integer);
        if (o->real) fprintf(stderr, " (%g)", *o->real);
        fprintf(stderr, "\n");
    }
}

/* Reads the command line; the table ends with {0}. False, with a text on standard error, where it makes no sense. */
static inline bool options_read(int argc, char **argv, const Option *options)
{
    for (int i = 1; i < argc; i++) {
        const Option *o = options;
        while (o->name && strcmp(o->name, argv[i]) != 0) o++;
        bool good = o->name != NULL;
        if (good && o->flag)
            *o->flag = true;
        else if (good)
            good = ++i < argc && option_set(o, argv[i]);
        if (!good) return option_usage(argv[0], options), false;
    }
    return true;
}

static inline void example_log(void *context, kn_log_level level, const char *text)
{
    (void)context;
    if (level == KN_LOG_ERROR) fprintf(stderr, "%s\n", text);
}

/* Errors are printed from now on, the device ("autodiff(cpu)" ...) is used, and its random numbers start from the seed. */
static inline bool example_begin(const char *device_name, int64_t seed)
{
    kn_log_set(example_log, NULL);
    kn_device device = kn_device_open(device_name);
    if (!device) return false;
    kn_device_use(device);
    kn_seed(device, (uint64_t)seed);
    return true;
}

/* Opens the device, with a tape around it unless it has one. */
static inline kn_device example_open_taped(const char *name)
{
    char spec[300];
    bool has_tape = !strncmp(name, "autodiff(", 9);
    snprintf(spec, sizeof spec, has_tape ? "%s" : "autodiff(%s)", name);
    return kn_device_open(spec);
}

/* The exit status of a program; says so when tensors were left behind. */
static inline int example_end(bool good)
{
    int64_t left = kn_shutdown();
    if (left) fprintf(stderr, "%lld tensors were not freed\n", (long long)left);
    return good && !left ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
