/* The backend of devices that compile kernels, on OpenCL where there is one: opening, memory, writing and reading,
   messages. Without a device only the messages are looked at. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "support/check.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static kn_device gpu;

static void names(void)
{
    CHECK(!kn_device_open("opencl:63"));
    CHECK(strstr(kn_last_error(), "opencl:63"));
    CHECK(!kn_device_open("opencl:first"));
    CHECK(strstr(kn_last_error(), "opencl:0"));
    CHECK(!kn_device_open("opencl(cpu)"));
    char text[200];
    CHECK(!kn_device_describe(-1, text, sizeof text) && !text[0]);
    CHECK(!kn_device_describe(1000, text, sizeof text));
}

static void moves_data(void)
{
    float in[24], back[24] = {0};
    for (int i = 0; i < 24; i++) in[i] = (float)i / 3;
    kn_scope scope = kn_scope_begin();
    kn_device_use(gpu);
    kn_tensor x = kn_keep(kn_from(in, KN_F32, KN_SHAPE(2, 3, 4)));
    CHECK(kn_read(x, back, sizeof back) == KN_OK);
    CHECK(!memcmp(in, back, sizeof in));
    kn_tensor half = kn_from(in, KN_U8, KN_SHAPE(0, 5));
    CHECK(kn_read(half, back, 0) == KN_OK);
    CHECK(kn_item(kn_scalar(2.5, KN_F32)) == 2.5);
    /* Through the CPU and back. */
    kn_tensor there = kn_to(kn_to(x, kn_device_cpu()), gpu);
    CHECK(kn_read(there, back, sizeof back) == KN_OK);
    CHECK(!memcmp(in, back, sizeof in));
    CHECK(!kn_to_dlpack(x));
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_sync(gpu) == KN_OK);
}

static int releases;
static void count_release(void *context)
{
    (void)context;
    releases++;
}

static void wraps_by_copy(void)
{
    int32_t in[6] = {1, 2, 3, 4, 5, 6}, back[6], turned[6] = {1, 4, 2, 5, 3, 6};
    int64_t strides[2] = {1, 3};
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_wrap(in, KN_I32, KN_SHAPE(3, 2), strides, count_release, NULL));
    CHECK(releases == 1);
    CHECK(kn_read(x, back, sizeof back) == KN_OK);
    CHECK(!memcmp(back, turned, sizeof back));
    kn_scope_end(scope, KN_NONE);
}

static void gives_memory_back(void)
{
    char text[300];
    for (int turn = 0; turn < 50; turn++) {
        kn_scope scope = kn_scope_begin();
        float v[100] = {0};
        for (int i = 0; i < 20; i++) (void)kn_from(v, KN_F32, KN_SHAPE(100));
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(kn_device_report(gpu, "memory", text, sizeof text) > 0);
    CHECK(strstr(text, " 0 bytes in use in 0 blocks"));
}

/* A child may not use what its parent opened. */
static void refuses_a_forked_child(void)
{
    float v = 1;
    pid_t child = fork();
    if (child == 0) {
        kn_tensor x = kn_from(&v, KN_F32, KN_SHAPE(1));
        _exit(!kn_ok(x) && strstr(kn_last_error(), "fork") ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    names();
    gpu = kn_device_open("opencl:0");
    if (!gpu) {
        printf("no OpenCL device: %s\n", kn_last_error());
        return check_report();
    }
    CHECK(kn_device_open("opencl") == gpu);
    kn_device_use(gpu);
    moves_data();
    wraps_by_copy();
    gives_memory_back();
    refuses_a_forked_child();
    return check_report();
}
