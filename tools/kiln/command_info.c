/* kiln info: what this build is and what it finds on this machine. */
#define KN_NO_SITES 1 /* the line of a failure would be the tool's own */
#include "kiln.h"
#include <inttypes.h>
#include <kn.h>
#include <kn/op_info.h>
#include <kn/system.h>
#include <stdio.h>

static const char *compiler(void)
{
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown compiler";
#endif
}

static void print_tiers(void)
{
    kn_cpu_tier_info tier;
    printf("instruction sets:");
    for (int i = 0; kn_cpu_tier_at(i, &tier); i++) {
        if (!tier.built && !tier.in_use) continue;
        printf(" %s%s", tier.name,
               tier.in_use      ? " (in use)"
               : tier.available ? ""
                                : " (not on this machine)");
    }
    printf("\n");
}

static void print_devices(void)
{
    char name[64], text[256];
    printf("devices:");
    for (int i = 0; kn_device_enumerate(i, name, sizeof name); i++) printf(" %s", name);
    printf("\n");
    for (int i = 0; kn_device_describe(i, text, sizeof text); i++) printf("  %s\n", text);
    kn_device device = kn_device_current();
    printf("default device: %s\n", device ? kn_device_name(device) : kn_last_error());
}

static void print_libraries(void)
{
    kn_library_info l;
    printf("libraries: none needed; those that are opened where they are found:\n");
    for (int i = 0; kn_library_at(i, &l); i++)
        printf("  %-12s %-38s %s (%s)\n", l.name, l.purpose, l.file ? "found" : "not found",
               l.file ? l.file : l.package);
}

int kiln_command_info(int count, char **arguments)
{
    if (count > 0) return kiln_usage_error("info takes no argument '%s'", arguments[0]);
    printf("kiln %s, built with %s\n", kn_version(), compiler());
    print_devices();
    print_tiers();
    printf("threads: %d\n", kn_get_threads());
    int ops = 0;
    kn_op_info op;
    for (int i = 0; i < kn_op_count(); i++) ops += kn_op_at(i, &op);
    printf("ops: %d\n", ops);
    print_libraries();
    return 0;
}
