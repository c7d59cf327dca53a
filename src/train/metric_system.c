/* Metrics of the machine: use and memory of processor and GPU, temperature. What the system does not tell is NaN. */
#define _POSIX_C_SOURCE 200809L
#include "support/clock.h"
#include "support/file.h"
#include "support/library.h"
#include "train/metric_ratio.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_LIMIT = 1 << 20, ZONES = 64 };
static const double sample_seconds = 0.2;

static double not_known(void) { return (double)__builtin_nan(""); }

/* ---- the processor */

/* The first line of /proc/stat: "cpu  user nice system idle iowait ...", in ticks since the start. */
static bool read_ticks(double *idle, double *all)
{
    kni_buffer text = {0};
    bool found = false;
    if (kni_file_exists("/proc/stat") && kni_file_read("/proc/stat", FILE_LIMIT, &text) == KN_OK &&
        !strncmp(kni_buffer_string(&text), "cpu ", 4)) {
        char *at = text.data + 4;
        *idle = *all = 0;
        for (int i = 0; i < 8; i++) {
            double ticks = (double)strtoll(at, &at, 10);
            *all += ticks;
            if (i == 3 || i == 4) *idle += ticks;
        }
        found = *all > 0;
    }
    kni_buffer_free(&text);
    return found;
}

/* sample: idle and all ticks and the value of the latest look. The share of busy ticks since then; the first look only begins. */
static double cpu_use(kni_ratio *r)
{
    double idle, all;
    if (!read_ticks(&idle, &all)) return not_known();
    double ticks = r->sample[1] > 0 ? all - r->sample[1] : 0;
    if (r->sample[1] <= 0) r->sample[2] = not_known();
    if (ticks > 0) r->sample[2] = 1 - (idle - r->sample[0]) / ticks;
    r->sample[0] = idle;
    r->sample[1] = all;
    return r->sample[2];
}

static double cpu_memory(kni_ratio *r)
{
    (void)r;
    kni_buffer text = {0};
    double pages = not_known();
    if (kni_file_exists("/proc/self/statm") &&
        kni_file_read("/proc/self/statm", FILE_LIMIT, &text) == KN_OK) {
        const char *space = strchr(kni_buffer_string(&text), ' ');
        if (space) pages = (double)strtoll(space, NULL, 10);
    }
    kni_buffer_free(&text);
    return pages * (double)sysconf(_SC_PAGESIZE) / (1024.0 * 1024 * 1024);
}

static double cpu_temperature(kni_ratio *r)
{
    (void)r;
    double hottest = not_known();
    for (int zone = 0; zone < ZONES; zone++) {
        char path[64];
        kni_buffer text = {0};
        snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", zone);
        if (!kni_file_exists(path)) break;
        if (kni_file_read(path, FILE_LIMIT, &text) == KN_OK && text.length > 0) {
            double degrees = (double)strtoll(kni_buffer_string(&text), NULL, 10) / 1000;
            if (!(hottest >= degrees)) hottest = degrees;
        }
        kni_buffer_free(&text);
    }
    return hottest;
}

/* ---- NVIDIA's management library */

typedef struct gpu_rates {
    unsigned gpu, memory;
} gpu_rates;
typedef struct gpu_memory_info {
    unsigned long long total, free, used;
} gpu_memory_info;

static int (*nvml_init)(void);
static int (*nvml_handle)(unsigned index, void **device);
static int (*nvml_rates)(void *device, gpu_rates *rates);
static int (*nvml_memory)(void *device, gpu_memory_info *info);

static const kni_library_symbol nvml_symbols[] = {{"nvmlInit_v2", (void **)&nvml_init},
                                                  {"nvmlDeviceGetHandleByIndex_v2", (void **)&nvml_handle},
                                                  {"nvmlDeviceGetUtilizationRates", (void **)&nvml_rates},
                                                  {"nvmlDeviceGetMemoryInfo", (void **)&nvml_memory},
                                                  {0}};
static kni_library nvml = {KNI_LIBRARY_NVML, "metrics of the GPU", nvml_symbols, 0};

/* integers[0] is 1 where the library was there when the metric was made. */
static bool gpu_device(const kni_ratio *r, void **device)
{
    return r->integers[0] == 1 && nvml_init() == 0 && nvml_handle(0, device) == 0;
}

static double gpu_use(kni_ratio *r)
{
    void *device;
    gpu_rates rates = {0};
    if (!gpu_device(r, &device) || nvml_rates(device, &rates) != 0) return not_known();
    return (double)rates.gpu / 100;
}

static double gpu_memory(kni_ratio *r)
{
    void *device;
    gpu_memory_info info = {0};
    if (!gpu_device(r, &device) || nvml_memory(device, &info) != 0) return not_known();
    return (double)info.used / (1024.0 * 1024 * 1024);
}

/* ---- the metrics */

typedef double (*sensor_fn)(kni_ratio *r);

/* The system is asked a few times a second at most; between, the step repeats the value. */
static kn_status measure_sensor(kni_ratio *r, sensor_fn sensor, double *numerator, double *denominator)
{
    double time = kni_monotonic_clock();
    if (r->integers[1] == 0 || time - (double)r->integers[1] / 1e6 >= sample_seconds) {
        r->integers[1] = (int64_t)(time * 1e6) + 1;
        r->real = sensor(r);
    }
    *numerator = r->real;
    *denominator = 1;
    return KN_OK;
}

#define SENSOR(function)                                                                                     \
    static kn_status measure_##function(kni_ratio *r, const kn_step_output *output,                          \
                                        const kn_metric_context *context, double *numerator,                 \
                                        double *denominator)                                                 \
    {                                                                                                        \
        (void)output;                                                                                        \
        (void)context;                                                                                       \
        return measure_sensor(r, function, numerator, denominator);                                          \
    }
SENSOR(cpu_use)
SENSOR(cpu_memory)
SENSOR(cpu_temperature)
SENSOR(gpu_use)
SENSOR(gpu_memory)

static const kni_ratio_kind cpu_use_kind = {
    .name = "cpu_use", .text = KNI_RATIO_PERCENT, .may_be_unknown = true, .measure = measure_cpu_use};
static const kni_ratio_kind cpu_memory_kind = {
    .name = "cpu_memory", .unit = "GiB", .may_be_unknown = true, .measure = measure_cpu_memory};
static const kni_ratio_kind cpu_temperature_kind = {
    .name = "cpu_temperature", .unit = "C", .may_be_unknown = true, .measure = measure_cpu_temperature};
static const kni_ratio_kind gpu_use_kind = {
    .name = "gpu_use", .text = KNI_RATIO_PERCENT, .may_be_unknown = true, .measure = measure_gpu_use};
static const kni_ratio_kind gpu_memory_kind = {
    .name = "gpu_memory", .unit = "GiB", .may_be_unknown = true, .measure = measure_gpu_memory};

kn_metric kn_metric_cpu_use(void) { return kni_ratio_make(&cpu_use_kind, NULL, 0, 0, 0); }
kn_metric kn_metric_cpu_memory(void) { return kni_ratio_make(&cpu_memory_kind, NULL, 0, 0, 0); }
kn_metric kn_metric_cpu_temperature(void) { return kni_ratio_make(&cpu_temperature_kind, NULL, 0, 0, 0); }

static kn_metric gpu_metric(const kni_ratio_kind *kind)
{
    return kni_ratio_make(kind, NULL, 0, kni_library_open(&nvml) == KN_OK, 0);
}

kn_metric kn_metric_gpu_use(void) { return gpu_metric(&gpu_use_kind); }
kn_metric kn_metric_gpu_memory(void) { return gpu_metric(&gpu_memory_kind); }
