/* KN_DEVICE_POOL=off: a device's memory is taken in the sizes asked for and given back at once, so that a checker of
   memory sees what is read or written past the end. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include "support/paper_device.h"
#include <stdlib.h>

int main(void)
{
    char text[300];
    setenv("KN_DEVICE_POOL", "off", 1);
    paper_do = (paper_orders){.room = 1 << 20, .records = true, .fault = -1};
    paper_register();
    kn_device device = kn_device_open("paper");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    int64_t before = paper_now.used, blocks = paper_now.blocks;
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(75), KN_F32));
    CHECK(paper_now.used - before == 300 && paper_now.blocks - blocks == 1);
    kn_tensor y = kn_keep(kn_exp(x));
    CHECK(paper_now.used - before == 600);
    kn_drop(x);
    CHECK(paper_now.used - before == 300);
    kn_drop(y);
    CHECK(paper_now.used == before && paper_now.blocks == blocks);
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_device_report(device, "counters", text, sizeof text) && strstr(text, " launches"));
    CHECK(kn_device_report(device, "memory", text, sizeof text) && strstr(text, " 0 kept for later"));
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
