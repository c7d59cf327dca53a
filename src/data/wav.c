/* WAV files: integer samples of 8 to 32 bits and floats, as f32 [channels, frames]. */
#include "data/data_internal.h"
#include <stdlib.h>
#include <string.h>

typedef struct format {
    uint32_t code, channels, rate, block, bits;
    bool known;
} format;

static uint32_t little(const uint8_t *p, int n)
{
    uint32_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint32_t)p[i] << 8 * i;
    return v;
}

static float read_u8(const uint8_t *p) { return ((float)p[0] - 128) / 128; }
static float read_i16(const uint8_t *p) { return (float)(int16_t)little(p, 2) / 32768; }
static float read_i24(const uint8_t *p) { return (float)((int32_t)(little(p, 3) << 8) >> 8) / 8388608; }
static float read_i32(const uint8_t *p) { return (float)((double)(int32_t)little(p, 4) / 2147483648.0); }
static float read_f32(const uint8_t *p)
{
    uint32_t bits = little(p, 4);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
static float read_f64(const uint8_t *p)
{
    uint64_t bits = (uint64_t)little(p + 4, 4) << 32 | little(p, 4);
    double v;
    memcpy(&v, &bits, sizeof v);
    return (float)v;
}

enum { PCM = 1, IEEE_FLOAT = 3, EXTENSIBLE = 0xfffe };

static const struct {
    uint32_t code, bits;
    float (*read)(const uint8_t *p);
} encodings[] = {{PCM, 8, read_u8},   {PCM, 16, read_i16},        {PCM, 24, read_i24},
                 {PCM, 32, read_i32}, {IEEE_FLOAT, 32, read_f32}, {IEEE_FLOAT, 64, read_f64}};

static kn_status fail(const char *name, const char *what)
{
    return kni_failure(KN_ERROR_ARGUMENT, "%s: %s", name, what);
}

static kn_status read_format(const uint8_t *p, uint32_t bytes, const char *name, format *f)
{
    if (bytes < 16) return fail(name, "the format chunk is too short");
    f->code = little(p, 2);
    f->channels = little(p + 2, 2);
    f->rate = little(p + 4, 4);
    f->block = little(p + 12, 2);
    f->bits = little(p + 14, 2);
    if (f->code == EXTENSIBLE && bytes >= 26) f->code = little(p + 24, 2);
    if (!f->channels || f->block != f->channels * (f->bits / 8) || f->bits % 8)
        return fail(name, "the format chunk contradicts itself (channels, bits and block size)");
    if (f->channels > 256) return fail(name, "more than 256 channels");
    f->known = true;
    return KN_OK;
}

/* Walks the chunks up to the data. */
static kn_status find_data(const uint8_t *p, size_t bytes, const char *name, format *f, const uint8_t **data,
                           size_t *data_bytes)
{
    if (bytes < 12 || memcmp(p, "RIFF", 4) || memcmp(p + 8, "WAVE", 4))
        return fail(name, "no WAV file: it must begin with RIFF....WAVE");
    for (size_t at = 12; bytes - at >= 8;) {
        const uint8_t *chunk = p + at;
        uint32_t size = little(chunk + 4, 4);
        size_t left = bytes - at - 8;
        bool is_data = !memcmp(chunk, "data", 4);
        /* Programs that write into a pipe leave the size of the data open. */
        if (is_data && size == UINT32_MAX) size = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX - 1;
        if (size > left)
            return kni_failure(KN_ERROR_ARGUMENT, "%s: truncated: a chunk has %u bytes, but %llu are left",
                               name, (unsigned)size, (unsigned long long)left);
        if (!memcmp(chunk, "fmt ", 4)) {
            kn_status status = read_format(chunk + 8, size, name, f);
            if (status != KN_OK) return status;
        }
        if (is_data) {
            *data = chunk + 8;
            *data_bytes = size;
            return f->known ? KN_OK : fail(name, "the data comes before the format");
        }
        size_t step = 8 + (size_t)size + (size & 1);
        if (step > bytes - at) break;
        at += step;
    }
    return fail(name, "no data chunk (truncated?)");
}

static kn_status decode(const uint8_t *p, size_t bytes, const char *name, int64_t *rate, kn_tensor *out)
{
    format f = {0};
    const uint8_t *data = NULL;
    size_t size = 0, e = 0, n = sizeof encodings / sizeof *encodings;
    kn_status status = find_data(p, bytes, name, &f, &data, &size);
    if (status != KN_OK) return status;
    while (e < n && (encodings[e].code != f.code || encodings[e].bits != f.bits)) e++;
    if (e == n)
        return kni_failure(KN_ERROR_UNSUPPORTED, "%s: encoding %u with %u bits is not supported", name,
                           (unsigned)f.code, (unsigned)f.bits);
    if (size % f.block) return fail(name, "truncated within a frame");
    size_t frames = size / f.block, width = f.bits / 8;
    /* 8-bit samples grow four times; that is all a file can ask for. */
    float *values = malloc((frames * f.channels + 1) * sizeof *values);
    if (!values) return kni_failure_memory("kn_wav_read");
    for (size_t c = 0; c < f.channels; c++)
        for (size_t i = 0; i < frames; i++)
            values[c * frames + i] = encodings[e].read(data + i * f.block + c * width);
    *out = kn_from(values, KN_F32, KN_SHAPE((int64_t)f.channels, (int64_t)frames));
    free(values);
    if (rate) *rate = f.rate;
    return KN_OK;
}

kn_tensor kn_wav_decode(const void *data, size_t bytes, const char *name, int64_t *rate)
{
    KNI_NAMED;
    kn_tensor t = KN_NONE;
    kni_failure_held held;
    kni_failure_hold(&held);
    kn_status status = bytes ? kni_given(data, __func__, "data") : KN_OK;
    if (status == KN_OK) status = decode(data, bytes, name ? name : "memory", rate, &t);
    return kni_failure_release(&held, status, t);
}

kn_tensor kn_wav_read(const char *path, int64_t *rate)
{
    KNI_NAMED;
    kni_buffer file = {0};
    kni_failure_held held;
    kni_failure_hold(&held);
    kn_status status = kni_given(path, __func__, "path");
    if (status == KN_OK) status = kni_file_read(path, 0, &file);
    kn_tensor t = kni_failure_release(&held, status, KN_NONE);
    if (status == KN_OK) t = kn_wav_decode(file.data ? file.data : "", file.length, path, rate);
    kni_buffer_free(&file);
    return t;
}
