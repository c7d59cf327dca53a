/* ONNX models and users' kernels, with flat arguments. */
#include <kn.h>
#include <kn/kernels.h>
#include <kn/onnx.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name)))

kn_onnx kjs_onnx_load(const void *data, size_t bytes);
EXPORT(kjs_onnx_load) kn_onnx kjs_onnx_load(const void *data, size_t bytes)
{
    return kn_onnx_load_memory(data, bytes, NULL);
}

/* numbers: kind, dtype, rank, has a default. sizes and names: KN_MAX_RANK each. texts: name, type, shape. */
int32_t kjs_onnx_port(kn_onnx model, bool output, int32_t i, int32_t *numbers, int64_t *sizes,
                      const char **names, const char **texts);
EXPORT(kjs_onnx_port)
int32_t kjs_onnx_port(kn_onnx model, bool output, int32_t i, int32_t *numbers, int64_t *sizes,
                      const char **names, const char **texts)
{
    kn_onnx_port port = {0};
    kn_status s = output ? kn_onnx_output(model, i, &port) : kn_onnx_input(model, i, &port);
    if (s) return s;
    numbers[0] = port.kind;
    numbers[1] = port.dtype;
    numbers[2] = port.rank;
    numbers[3] = port.has_default;
    memcpy(sizes, port.sizes, sizeof port.sizes);
    memcpy(names, port.names, sizeof port.names);
    texts[0] = port.name;
    texts[1] = port.type;
    texts[2] = port.shape;
    return s;
}

kn_kernel *kjs_kernel(const char *source);
EXPORT(kjs_kernel) kn_kernel *kjs_kernel(const char *source)
{
    return kn_kernel_compile(source, &(kn_kernel_options){.file = "kernel"});
}

/* numbers: role, type letter, dtype, count. The name, or NULL past the last one. */
const char *kjs_kernel_parameter(kn_kernel *kernel, int32_t i, int32_t *numbers);
EXPORT(kjs_kernel_parameter) const char *kjs_kernel_parameter(kn_kernel *kernel, int32_t i, int32_t *numbers)
{
    kn_kernel_parameter_info info;
    if (!kn_kernel_parameter(kernel, i, &info)) return NULL;
    numbers[0] = (int32_t)info.role;
    numbers[1] = info.type;
    numbers[2] = info.dtype;
    numbers[3] = info.count;
    return info.name;
}

int32_t kjs_kernel_text(kn_kernel *kernel, const char *target, char *buffer, size_t bytes);
EXPORT(kjs_kernel_text)
int32_t kjs_kernel_text(kn_kernel *kernel, const char *target, char *buffer, size_t bytes)
{
    return (int32_t)kn_kernel_text(kernel, target, buffer, bytes);
}

/* reals and wholes: of each number. shapes: n_out, or NULL; temps: NULL without. checked: in the interpreter that finds mistakes. */
int32_t kjs_kernel_run(kn_kernel *kernel, bool checked, const kn_tensor *in, int32_t n_in, int64_t items,
                       const kn_kernel_number *numbers, int32_t n_numbers, const kn_shape *shapes,
                       const int64_t *temps, kn_tensor *out, int32_t n_out);
EXPORT(kjs_kernel_run)
int32_t kjs_kernel_run(kn_kernel *kernel, bool checked, const kn_tensor *in, int32_t n_in, int64_t items,
                       const kn_kernel_number *numbers, int32_t n_numbers, const kn_shape *shapes,
                       const int64_t *temps, kn_tensor *out, int32_t n_out)
{
    kn_kernel_run_args args = {
        .items = items, .numbers = numbers, .n_numbers = n_numbers, .shapes = shapes, .temps = temps};
    return (checked ? kn_kernel_debug : kn_kernel_run)(kernel, in, n_in, &args, out, n_out);
}
