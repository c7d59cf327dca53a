/* Devices: opened by a string such as "cpu", "ref", "autodiff(cpu)" or "check(cpu,ref)". */
#ifndef KN_DEVICE_H
#define KN_DEVICE_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a device or stack of decorators, NULL with kn_last_error() when the text names none. Opening the
   same leaf twice gives stacks whose tensors mix. Close each once with kn_device_close. A kn_device is a handle, not an
   address: one that was closed, or is older than kn_shutdown() or fork(), is an error wherever it is given. */
KN_API kn_device kn_device_open(const char *spec);
/* The CPU, and autodiff over a device, without the parser of device strings: what small programs link. */
KN_API kn_device kn_device_cpu(void);
KN_API kn_device kn_device_autodiff(kn_device inner);
/* Tensors of a closed stack stay readable, and kn_to moves them; ops on them, and closing it again, are errors for ever.
   A leaf such as "cpu" is closed with its last opener, not while it is the default; its tensors go on as part of it. */
KN_API void kn_device_close(kn_device device);
/* The calling thread's device for new tensors. NULL: the default, which KN_DEVICE names, else "cpu"; the
   thread falls back to it, with one warning in the log, after it closed its current device. A statically linked program that
   does not itself call kn_device_open ignores KN_DEVICE, with a line to the log. An argument that is no open device changes
   nothing and sets kn_last_error(), here and in every function that takes a device. */
KN_API void kn_device_use(kn_device device);
KN_API kn_device kn_device_current(void);
/* The text the device was opened with. */
KN_API const char *kn_device_name(kn_device device);
/* Moves (or, on the same leaf, re-labels) a tensor. Takes temporaries. */
KN_API kn_tensor kn_to(kn_tensor t, kn_device device);
/* Sets the key of the device's random numbers and rewinds its counter. */
KN_API void kn_seed(kn_device device, uint64_t seed);
/* Waits until all submitted work is done and reports the first error it had. */
KN_API kn_status kn_sync(kn_device device);
/* Hands queued work to the device without waiting. */
KN_API kn_status kn_submit(kn_device device);
/* Writes the n-th name that kn_device_open understands; false past the end. */
KN_API bool kn_device_enumerate(int32_t n, char *name, size_t bytes);
/* The n-th device of this machine that compiles kernels at run time, as "opencl:0  its name"; false past the end. */
KN_API bool kn_device_describe(int32_t n, char *text, size_t bytes);
/* What a decorator of the stack has to say, as text; returns the length of it all. kind NULL: its summary
   (trace, profile, check); "chrome-trace": profile's events as JSON for a trace viewer; "counters": how many kernels a
   device that compiles them has launched and compiled. */
KN_API size_t kn_device_report(kn_device device, const char *kind, char *buffer, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
