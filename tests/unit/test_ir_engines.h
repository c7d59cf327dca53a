/* What compiles and runs texts in the tests of the kernel language: the host's C compilers, OpenCL and CUDA, each found
   at run time. A text has entries named k0, k1, ... that take the arrays a and b, the array y of 64-bit results, the
   number of elements and which of the entry's functions is meant. */
#ifndef TEST_IR_ENGINES_H
#define TEST_IR_ENGINES_H

#include "ir/ir.h"
#include "support/nvrtc.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct engine {
    const char *name;
    int dialect;
    const char *entry; /* how an entry begins, with its number and the type of a and b */
    const char *index; /* what makes i the element's number and leaves where there is none */
    bool (*build)(const char *text, size_t length);
    bool (*run)(int entry, const void *a, const void *b, uint64_t *y, int64_t n, size_t size, int which);
} engine;

#define FAIL(...) (printf(__VA_ARGS__), printf("\n"), false)

/* ---- C, by the compiler c_compiler */
static const char *c_compiler;
static void *c_library;

static bool c_build(const char *text, size_t length)
{
    const char *base = getenv("TMPDIR");
    char folder[200], source[256], object[256], command[1000];
    snprintf(folder, sizeof folder, "%s/kiln_ir_XXXXXX", base && strlen(base) < 150 ? base : "/tmp");
    if (!mkdtemp(folder)) return FAIL("no folder for a C text");
    snprintf(source, sizeof source, "%s/text.c", folder);
    snprintf(object, sizeof object, "%s/text.so", folder);
    FILE *file = fopen(source, "w");
    bool good = file && fwrite(text, 1, length, file) == length;
    if (file) good = fclose(file) == 0 && good;
    snprintf(command, sizeof command,
             "%s -std=c11 -O2 -w -ffp-contract=off -fwrapv -fno-math-errno -fno-trapping-math -shared -fPIC "
             "%s -o %s",
             c_compiler, source, object);
    good = good && system(command) == 0;
    c_library = good ? dlopen(object, RTLD_NOW) : NULL;
    unlink(source);
    unlink(object);
    rmdir(folder);
    return c_library ? true : FAIL("%s does not compile the text", c_compiler);
}

static bool c_run(int entry, const void *a, const void *b, uint64_t *y, int64_t n, size_t size, int which)
{
    char name[16];
    snprintf(name, sizeof name, "k%d", entry);
    void (*call)(const void *, const void *, uint64_t *, int64_t, int);
    void *symbol = dlsym(c_library, name);
    if (!symbol) return FAIL("no entry %s", name);
    (void)size;
    memcpy(&call, &symbol, sizeof call);
    call(a, b, y, n, which);
    return true;
}

/* A library of the system's; none under MemorySanitizer, which knows nothing of what such a library writes. */
static void *open_library(const char *name)
{
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
    return NULL;
#endif
#endif
    return dlopen(name, RTLD_NOW);
}

/* A function of a library that was opened. */
static void *symbol_of(void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    if (!symbol) printf("no function %s\n", name);
    return symbol;
}
#define LOAD(library, table, name) ((*(void **)&(table).name = symbol_of(library, #name)) != NULL)

/* ---- OpenCL: the first device of the first platform that has one */
typedef struct opencl_functions {
    int (*clGetPlatformIDs)(unsigned, void **, unsigned *);
    int (*clGetDeviceIDs)(void *, uint64_t, unsigned, void **, unsigned *);
    int (*clGetDeviceInfo)(void *, unsigned, size_t, void *, size_t *);
    void *(*clCreateContext)(const intptr_t *, unsigned, void *const *, void *, void *, int *);
    void *(*clCreateCommandQueue)(void *, void *, uint64_t, int *);
    void *(*clCreateProgramWithSource)(void *, unsigned, const char **, const size_t *, int *);
    int (*clBuildProgram)(void *, unsigned, void *const *, const char *, void *, void *);
    int (*clGetProgramBuildInfo)(void *, void *, unsigned, size_t, void *, size_t *);
    void *(*clCreateKernel)(void *, const char *, int *);
    void *(*clCreateBuffer)(void *, uint64_t, size_t, void *, int *);
    int (*clSetKernelArg)(void *, unsigned, size_t, const void *);
    int (*clEnqueueNDRangeKernel)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *,
                                  unsigned, void *, void *);
    int (*clEnqueueReadBuffer)(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *);
    int (*clReleaseMemObject)(void *);
    int (*clReleaseKernel)(void *);
} opencl_functions;
static opencl_functions cl;
static void *cl_device, *cl_context, *cl_queue, *cl_program;
enum { CL_DEVICE_NAME = 0x102B, CL_DEVICE_SINGLE_FP_CONFIG = 0x101B, CL_PROGRAM_BUILD_LOG = 0x1183 };

static bool opencl_load(void *library)
{
    return LOAD(library, cl, clGetPlatformIDs) && LOAD(library, cl, clGetDeviceIDs) &&
           LOAD(library, cl, clGetDeviceInfo) && LOAD(library, cl, clCreateContext) &&
           LOAD(library, cl, clCreateCommandQueue) && LOAD(library, cl, clCreateProgramWithSource) &&
           LOAD(library, cl, clBuildProgram) && LOAD(library, cl, clGetProgramBuildInfo) &&
           LOAD(library, cl, clCreateKernel) && LOAD(library, cl, clCreateBuffer) &&
           LOAD(library, cl, clSetKernelArg) && LOAD(library, cl, clEnqueueNDRangeKernel) &&
           LOAD(library, cl, clEnqueueReadBuffer) && LOAD(library, cl, clReleaseMemObject) &&
           LOAD(library, cl, clReleaseKernel);
}

static bool opencl_open(void)
{
    void *library = open_library("libOpenCL.so.1"), *platforms[8] = {NULL};
    unsigned n = 0, devices = 0;
    char name[128] = "";
    if (!library || !opencl_load(library)) return false;
    if (cl.clGetPlatformIDs(8, platforms, &n) != 0) return false;
    for (unsigned i = 0; i < n && i < 8 && !devices; i++)
        if (cl.clGetDeviceIDs(platforms[i], 0xFFFFFFFF, 1, &cl_device, &devices) != 0) devices = 0;
    if (!devices) return false;
    cl.clGetDeviceInfo(cl_device, CL_DEVICE_NAME, sizeof name, name, NULL);
    printf("OpenCL: %s\n", name);
    cl_context = cl.clCreateContext(NULL, 1, &cl_device, NULL, NULL, NULL);
    cl_queue = cl_context ? cl.clCreateCommandQueue(cl_context, cl_device, 0, NULL) : NULL;
    return cl_queue != NULL;
}

static bool opencl_build(const char *text, size_t length)
{
    static char log[20000];
    uint64_t config = 0;
    cl.clGetDeviceInfo(cl_device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
    bool rounded = (config >> 7 & 1) != 0;
    if (!rounded) printf("OpenCL: this device cannot promise rounded divisions and roots in f32\n");
    cl_program = cl.clCreateProgramWithSource(cl_context, 1, &text, &length, NULL);
    const char *options = rounded ? "-cl-fp32-correctly-rounded-divide-sqrt" : "";
    if (cl_program && cl.clBuildProgram(cl_program, 1, &cl_device, options, NULL, NULL) == 0) return true;
    cl.clGetProgramBuildInfo(cl_program, cl_device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    return FAIL("OpenCL does not compile the text: %s", log);
}

static bool opencl_run(int entry, const void *a, const void *b, uint64_t *y, int64_t n, size_t size,
                       int which)
{
    char name[16];
    snprintf(name, sizeof name, "k%d", entry);
    size_t bytes = (size_t)n * size, out_bytes = (size_t)n * 8, items = (size_t)n;
    void *kernel = cl.clCreateKernel(cl_program, name, NULL);
    /* Copies of the arrays, read only (1 << 5 | 1 << 2), and a buffer to write (1 << 1). */
    void *x = cl.clCreateBuffer(cl_context, 36, bytes, (void *)(uintptr_t)a, NULL);
    void *z = cl.clCreateBuffer(cl_context, 36, bytes, (void *)(uintptr_t)b, NULL);
    void *out = cl.clCreateBuffer(cl_context, 2, out_bytes, NULL, NULL);
    bool good = kernel && x && z && out && cl.clSetKernelArg(kernel, 0, sizeof x, &x) == 0 &&
                cl.clSetKernelArg(kernel, 1, sizeof z, &z) == 0 &&
                cl.clSetKernelArg(kernel, 2, sizeof out, &out) == 0 &&
                cl.clSetKernelArg(kernel, 3, sizeof n, &n) == 0 &&
                cl.clSetKernelArg(kernel, 4, sizeof which, &which) == 0 &&
                cl.clEnqueueNDRangeKernel(cl_queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL) == 0 &&
                cl.clEnqueueReadBuffer(cl_queue, out, 1, 0, out_bytes, y, 0, NULL, NULL) == 0;
    void *buffers[] = {x, z, out};
    for (int i = 0; i < 3; i++)
        if (buffers[i]) cl.clReleaseMemObject(buffers[i]);
    if (kernel) cl.clReleaseKernel(kernel);
    return good ? true : FAIL("OpenCL does not run %s", name);
}

/* ---- CUDA: NVRTC compiles; the driver, where there is one, runs */
typedef struct nvrtc_functions {
    int (*nvrtcCreateProgram)(void **, const char *, const char *, int, const char *const *,
                              const char *const *);
    int (*nvrtcCompileProgram)(void *, int, const char *const *);
    int (*nvrtcGetProgramLogSize)(void *, size_t *);
    int (*nvrtcGetProgramLog)(void *, char *);
    int (*nvrtcGetCUBINSize)(void *, size_t *);
    int (*nvrtcGetCUBIN)(void *, char *);
} nvrtc_functions;
typedef struct cuda_functions {
    int (*cuInit)(unsigned);
    int (*cuDeviceGet)(int *, int);
    int (*cuDeviceGetAttribute)(int *, int, int);
    int (*cuDevicePrimaryCtxRetain)(void **, int);
    int (*cuCtxSetCurrent)(void *);
    int (*cuModuleLoadData)(void **, const void *);
    int (*cuModuleGetFunction)(void **, void *, const char *);
    int (*cuMemAlloc_v2)(uint64_t *, size_t);
    int (*cuMemFree_v2)(uint64_t);
    int (*cuMemcpyHtoD_v2)(uint64_t, const void *, size_t);
    int (*cuMemcpyDtoH_v2)(void *, uint64_t, size_t);
    int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          void *, void **, void **);
} cuda_functions;
static nvrtc_functions rtc;
static cuda_functions cu;
static void *cu_module;
static bool cu_there;
static int cu_major = 9, cu_minor = 0;

static bool cuda_load_driver(void *library)
{
    int device = 0;
    void *context = NULL;
    return LOAD(library, cu, cuInit) && LOAD(library, cu, cuDeviceGet) &&
           LOAD(library, cu, cuDeviceGetAttribute) && LOAD(library, cu, cuDevicePrimaryCtxRetain) &&
           LOAD(library, cu, cuCtxSetCurrent) && LOAD(library, cu, cuModuleLoadData) &&
           LOAD(library, cu, cuModuleGetFunction) && LOAD(library, cu, cuMemAlloc_v2) &&
           LOAD(library, cu, cuMemFree_v2) && LOAD(library, cu, cuMemcpyHtoD_v2) &&
           LOAD(library, cu, cuMemcpyDtoH_v2) && LOAD(library, cu, cuLaunchKernel) && cu.cuInit(0) == 0 &&
           cu.cuDeviceGet(&device, 0) == 0 && cu.cuDeviceGetAttribute(&cu_major, 75, device) == 0 &&
           cu.cuDeviceGetAttribute(&cu_minor, 76, device) == 0 &&
           cu.cuDevicePrimaryCtxRetain(&context, device) == 0 && cu.cuCtxSetCurrent(context) == 0;
}

static bool cuda_open(void)
{
    static char path[2200];
    void *compiler = nvrtc_open(path, sizeof path), *driver = compiler ? open_library("libcuda.so.1") : NULL;
    if (!compiler) return false;
    printf("NVRTC: %s\n", path);
    cu_there = driver && cuda_load_driver(driver);
    return LOAD(compiler, rtc, nvrtcCreateProgram) && LOAD(compiler, rtc, nvrtcCompileProgram) &&
           LOAD(compiler, rtc, nvrtcGetProgramLogSize) && LOAD(compiler, rtc, nvrtcGetProgramLog) &&
           LOAD(compiler, rtc, nvrtcGetCUBINSize) && LOAD(compiler, rtc, nvrtcGetCUBIN);
}

static bool cuda_build(const char *text, size_t length)
{
    char target[40], *log = NULL, *image = NULL;
    void *program = NULL;
    size_t size = 0;
    (void)length;
    snprintf(target, sizeof target, "--gpu-architecture=sm_%d%d", cu_major, cu_minor);
    const char *options[] = {target, "--fmad=false"};
    if (rtc.nvrtcCreateProgram(&program, text, "test_ir.cu", 0, NULL, NULL) != 0)
        return FAIL("no NVRTC program");
    if (rtc.nvrtcCompileProgram(program, 2, options) != 0) {
        if (rtc.nvrtcGetProgramLogSize(program, &size) == 0 && (log = malloc(size + 1)) != NULL)
            rtc.nvrtcGetProgramLog(program, log);
        return FAIL("NVRTC does not compile the text: %.4000s", log ? log : "");
    }
    if (!cu_there) return true;
    bool good = rtc.nvrtcGetCUBINSize(program, &size) == 0 && (image = malloc(size)) != NULL &&
                rtc.nvrtcGetCUBIN(program, image) == 0 && cu.cuModuleLoadData(&cu_module, image) == 0;
    free(image);
    return good ? true : FAIL("CUDA does not load the text");
}

static bool cuda_run(int entry, const void *a, const void *b, uint64_t *y, int64_t n, size_t size, int which)
{
    char name[16];
    snprintf(name, sizeof name, "k%d", entry);
    void *function = NULL;
    uint64_t x = 0, z = 0, out = 0;
    size_t bytes = (size_t)n * size;
    void *arguments[] = {&x, &z, &out, &n, &which};
    bool good = cu.cuModuleGetFunction(&function, cu_module, name) == 0 && cu.cuMemAlloc_v2(&x, bytes) == 0 &&
                cu.cuMemAlloc_v2(&z, bytes) == 0 && cu.cuMemAlloc_v2(&out, (size_t)n * 8) == 0 &&
                cu.cuMemcpyHtoD_v2(x, a, bytes) == 0 && cu.cuMemcpyHtoD_v2(z, b, bytes) == 0 &&
                cu.cuLaunchKernel(function, (unsigned)((n + 127) / 128), 1, 1, 128, 1, 1, 0, NULL, arguments,
                                  NULL) == 0 &&
                cu.cuMemcpyDtoH_v2(y, out, (size_t)n * 8) == 0;
    cu.cuMemFree_v2(x);
    cu.cuMemFree_v2(z);
    cu.cuMemFree_v2(out);
    return good ? true : FAIL("CUDA does not run %s", name);
}

static const engine c_engine = {
    "C",
    KNI_IR_C,
    "void k%d(const %s *pa, const %s *pb, uint64_t *py, int64_t n, int which)\n{\n",
    "    for (int64_t i = 0; i < n; i++) {\n",
    c_build,
    c_run};
static const engine opencl_engine = {"OpenCL",
                                     KNI_IR_OPENCL,
                                     "__kernel void k%d(__global const %s *pa, __global const %s *pb, "
                                     "__global ulong *py, long n, int which)\n{\n",
                                     "    long i = get_global_id(0);\n    if (i < n) {\n",
                                     opencl_build,
                                     opencl_run};
static const engine cuda_engine = {
    "CUDA",
    KNI_IR_CUDA,
    "extern \"C\" __global__ void k%d(const %s *pa, const %s *pb, uint64_t *py, long long n, int which)\n{\n",
    "    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n    if (i < n) {\n",
    cuda_build,
    cuda_run};

#endif
