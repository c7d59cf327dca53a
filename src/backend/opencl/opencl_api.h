/* The functions and numbers of OpenCL that the driver uses. No header of it is needed to build: the library is opened
   when the first device is asked for. */
#ifndef KNI_OPENCL_API_H
#define KNI_OPENCL_API_H

#include <kn/base.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cl_platform *cl_platform_id;
typedef struct cl_device *cl_device_id;
typedef struct cl_context_object *cl_context;
typedef struct cl_queue_object *cl_queue;
typedef struct cl_memory_object *cl_mem;
typedef struct cl_program_object *cl_program;
typedef struct cl_kernel_object *cl_kernel;
typedef struct cl_event_object *cl_event;

enum {
    CL_OK = 0,
    CL_NO_DEVICE = -1,
    CL_NO_MEMORY_OBJECT = -4,
    CL_NO_RESOURCES = -5,
    CL_NO_HOST_MEMORY = -6,
    CL_BUILD_FAILED = -11
};
enum {
    CL_PLATFORM_NAME = 0x0902,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_GROUP = 0x1004,
    CL_DEVICE_MAX_ITEMS = 0x1005,
    CL_DEVICE_MAX_ALLOCATION = 0x1010,
    CL_DEVICE_MAX_PARAMETER = 0x1017,
    CL_DEVICE_SINGLE_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_BYTES = 0x101F,
    CL_DEVICE_LOCAL_BYTES = 0x1023,
    CL_DEVICE_AVAILABLE = 0x1027,
    CL_DEVICE_COMPILER = 0x1028,
    CL_DEVICE_NAME = 0x102B,
    CL_DEVICE_VENDOR = 0x102C,
    CL_DEVICE_DRIVER = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_DOUBLE_CONFIG = 0x1032,
    CL_DEVICE_LANGUAGE = 0x103D
};
enum { CL_TYPE_CPU = 2, CL_TYPE_GPU = 4, CL_TYPE_ALL = -1 };
enum { CL_ROUNDED_DIVIDE_SQRT = 0x80 };
enum { CL_MEM_READ_WRITE = 1 };
enum { CL_PROGRAM_DEVICES = 0x1163, CL_PROGRAM_BINARY_SIZES = 0x1165, CL_PROGRAM_BINARIES_OF = 0x1166 };
enum { CL_BUILD_LOG = 0x1183 };
enum { CL_KERNEL_GROUP_SIZE = 0x11B0 };

/* Filled when the library is opened. */
typedef struct kni_opencl_api {
    int32_t (*get_platforms)(uint32_t room, cl_platform_id *platforms, uint32_t *count);
    int32_t (*platform_info)(cl_platform_id p, uint32_t what, size_t room, void *value, size_t *bytes);
    int32_t (*get_devices)(cl_platform_id p, uint64_t type, uint32_t room, cl_device_id *devices,
                           uint32_t *count);
    int32_t (*device_info)(cl_device_id d, uint32_t what, size_t room, void *value, size_t *bytes);
    cl_context (*create_context)(const intptr_t *properties, uint32_t n, const cl_device_id *devices,
                                 void (*notify)(const char *, const void *, size_t, void *), void *user,
                                 int32_t *status);
    int32_t (*release_context)(cl_context c);
    cl_queue (*create_queue)(cl_context c, cl_device_id d, uint64_t properties, int32_t *status);
    int32_t (*release_queue)(cl_queue q);
    cl_mem (*create_buffer)(cl_context c, uint64_t flags, size_t bytes, void *host, int32_t *status);
    int32_t (*release_buffer)(cl_mem m);
    int32_t (*write_buffer)(cl_queue q, cl_mem m, uint32_t wait, size_t offset, size_t bytes,
                            const void *from, uint32_t n, const cl_event *after, cl_event *event);
    int32_t (*read_buffer)(cl_queue q, cl_mem m, uint32_t wait, size_t offset, size_t bytes, void *to,
                           uint32_t n, const cl_event *after, cl_event *event);
    int32_t (*copy_buffer)(cl_queue q, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                           size_t bytes, uint32_t n, const cl_event *after, cl_event *event);
    int32_t (*fill_buffer)(cl_queue q, cl_mem m, const void *pattern, size_t pattern_bytes, size_t offset,
                           size_t bytes, uint32_t n, const cl_event *after, cl_event *event);
    cl_program (*create_from_text)(cl_context c, uint32_t n, const char **texts, const size_t *lengths,
                                   int32_t *status);
    cl_program (*create_from_binary)(cl_context c, uint32_t n, const cl_device_id *devices,
                                     const size_t *lengths, const unsigned char **binaries, int32_t *each,
                                     int32_t *status);
    int32_t (*build)(cl_program p, uint32_t n, const cl_device_id *devices, const char *options,
                     void (*notify)(cl_program, void *), void *user);
    int32_t (*build_info)(cl_program p, cl_device_id d, uint32_t what, size_t room, void *value,
                          size_t *bytes);
    int32_t (*program_info)(cl_program p, uint32_t what, size_t room, void *value, size_t *bytes);
    int32_t (*release_program)(cl_program p);
    cl_kernel (*create_kernel)(cl_program p, const char *name, int32_t *status);
    int32_t (*kernel_group_info)(cl_kernel k, cl_device_id d, uint32_t what, size_t room, void *value,
                                 size_t *bytes);
    int32_t (*set_argument)(cl_kernel k, uint32_t number, size_t bytes, const void *value);
    int32_t (*release_kernel)(cl_kernel k);
    int32_t (*run_kernel)(cl_queue q, cl_kernel k, uint32_t axes, const size_t *offset, const size_t *global,
                          const size_t *local, uint32_t n, const cl_event *after, cl_event *event);
    int32_t (*finish)(cl_queue q);
    int32_t (*flush)(cl_queue q);
} kni_opencl_api;

/* The library's functions; NULL with `why` set (one line that says what to do) when there is no library. */
const kni_opencl_api *kni_opencl_load(const char **why);
/* Device n over all platforms in their order; false past the last. `total` (may be NULL): how many there are. */
bool kni_opencl_device(const kni_opencl_api *api, int32_t n, cl_platform_id *platform, cl_device_id *device,
                       int32_t *total);
/* The name of a status: "CL_OUT_OF_RESOURCES"; "an unknown status" for others. */
const char *kni_opencl_status(int32_t status);

#endif
