/* TensorBoard's event files. A record is its length, a check of the length, the bytes and a check of them (CRC-32C, masked); the
   bytes are an Event in the wire format of protocol buffers. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "core/objects.h"
#include "support/checksum.h"
#include "support/failure.h"
#include "support/file.h"
#include "train/log_file.h"
#include "train/render_format.h"
#include "train/render_record.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct tensorboard {
    char *folder;
    kni_log_file log; /* of the run that is on */
    int64_t step;     /* optimiser steps, which all curves are drawn over */
    kni_buffer event, inner, value;
} tensorboard;

/* ---- records */

/* The check is masked so that a file of records can be a record itself. */
static uint32_t masked_crc(const void *data, size_t bytes)
{
    uint32_t crc = kni_crc32c(0, data, bytes);
    return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

static void put_little_endian(kni_buffer *out, uint64_t value, int bytes)
{
    unsigned char text[8];
    for (int i = 0; i < bytes; i++) text[i] = (unsigned char)(value >> (8 * i));
    kni_buffer_append(out, text, (size_t)bytes);
}

static void put_record(kni_buffer *out, const kni_buffer *event)
{
    size_t start = out->length;
    put_little_endian(out, event->length, 8);
    if (out->failed || event->failed) return;
    put_little_endian(out, masked_crc(out->data + start, 8), 4);
    kni_buffer_append(out, event->data, event->length);
    put_little_endian(out, masked_crc(event->data, event->length), 4);
}

/* ---- protocol buffers: fields are a number with a kind, then the value */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(kni_buffer *out, uint64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (unsigned char)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        value >>= 7;
    } while (value);
    kni_buffer_append(out, bytes, n);
}

static void put_key(kni_buffer *out, int field, int kind) { put_varint(out, (uint64_t)(field << 3 | kind)); }

static void put_bytes(kni_buffer *out, int field, const void *data, size_t bytes)
{
    put_key(out, field, BYTES);
    put_varint(out, bytes);
    kni_buffer_append(out, data, bytes);
}

static void put_double(kni_buffer *out, int field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(out, field, FIXED64);
    put_little_endian(out, bits, 8);
}

static void put_float(kni_buffer *out, int field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_key(out, field, FIXED32);
    put_little_endian(out, bits, 4);
}

/* Event: 1 wall_time, 2 step, 3 file_version, 5 summary, 7 session_log. */
static void begin_event(tensorboard *t, int64_t step)
{
    kni_buffer_clear(&t->event);
    put_double(&t->event, 1, kni_wall_clock());
    if (step > 0) {
        put_key(&t->event, 2, VARINT);
        put_varint(&t->event, (uint64_t)step);
    }
}

static void end_event(tensorboard *t, bool at_once)
{
    put_record(&t->log.text, &t->event);
    if (t->event.failed) t->log.text.failed = true;
    kni_log_flush(&t->log, at_once);
}

static void put_scalar(tensorboard *t, const char *metric, const char *tag, double value, int64_t step,
                       bool at_once)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%s", metric, tag);
    kni_buffer_clear(&t->value);
    kni_buffer_clear(&t->inner);
    /* Summary.Value: 1 tag, 2 simple_value; Summary: 1 value. */
    put_bytes(&t->value, 1, name, strlen(name));
    put_float(&t->value, 2, (float)value);
    put_bytes(&t->inner, 1, t->value.data, t->value.length);
    begin_event(t, step);
    put_bytes(&t->event, 5, t->inner.data, t->inner.length);
    if (t->value.failed || t->inner.failed) t->event.failed = true;
    end_event(t, at_once);
}

/* ---- the renderer */

static kn_status open_events(tensorboard *t)
{
    static _Atomic unsigned serial;
    char host[64] = "localhost", name[160];
#ifndef __wasi__
    gethostname(host, sizeof host - 1);
#endif
    snprintf(name, sizeof name, "events.out.tfevents.%lld.%s.%ld.%u", (long long)kni_wall_clock(), host,
             (long)getpid(), atomic_fetch_add(&serial, 1u));
    char *path = kni_path_join(t->folder, name);
    if (!path) return kni_failure_memory("kn_logger_tensorboard");
    kni_log_close(&t->log);
    kn_status status = kni_log_open(&t->log, path, "kn_logger_tensorboard");
    free(path);
    return status;
}

static kn_status tensorboard_start(void *self, const kn_run_info *info)
{
    tensorboard *t = self;
    kn_status status = open_events(t);
    if (status) return status;
    t->step = info->step;
    begin_event(t, 0);
    put_bytes(&t->event, 3, "brain.Event:2", 13);
    end_event(t, info->evaluates);
    if (info->evaluates)
        return KN_OK; /* of older weights, maybe: nothing that came later is to be forgotten */
    /* A session's start tells TensorBoard to forget what an interrupted run logged from this step on. SessionLog: 1 status. */
    begin_event(t, info->step + 1);
    put_bytes(&t->event, 7, "\x08\x01", 2);
    end_event(t, true);
    return KN_OK;
}

static void tensorboard_metric(void *self, const kn_metric_event *event)
{
    tensorboard *t = self;
    bool train = event->split == KN_SPLIT_TRAIN;
    if (train && event->step > t->step) t->step = event->step;
    if (event->index < 0 || !event->metric || (!train && !event->epoch_end)) return;
    const char *tag = train && event->epoch_end ? "train_epoch" : kni_record_split_name(event->split);
    put_scalar(t, event->metric, tag, event->value, train ? event->step : t->step, event->epoch_end);
}

static void tensorboard_progress(void *self, const kn_progress_event *event)
{
    tensorboard *t = self;
    if (event->step > t->step) t->step = event->step;
}

static void tensorboard_finish(void *self, kn_run_end end, const char *summary)
{
    tensorboard *t = self;
    (void)end;
    (void)summary;
    kni_log_flush(&t->log, true);
}

static void tensorboard_flush(void *self)
{
    tensorboard *t = self;
    kni_log_flush(&t->log, true);
}

static void tensorboard_close(void *self)
{
    tensorboard *t = self;
    kni_log_close(&t->log);
    kni_buffer_free(&t->event);
    kni_buffer_free(&t->inner);
    kni_buffer_free(&t->value);
    free(t->folder);
    free(t);
}

static const kn_renderer_type tensorboard_type = {.name = "tensorboard",
                                                  .start = tensorboard_start,
                                                  .metric = tensorboard_metric,
                                                  .progress = tensorboard_progress,
                                                  .finish = tensorboard_finish,
                                                  .close = tensorboard_close,
                                                  .flush = tensorboard_flush};

kn_renderer kn_logger_tensorboard(const char *folder)
{
    KNI_NAMED;
    if (!folder || !*folder) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_logger_tensorboard: the folder is empty");
        return NULL;
    }
    if (!kni_file_is_folder(folder) && kni_folder_make(folder) != KN_OK) return NULL;
    if (access(folder, W_OK) != 0) {
        kni_failure(KN_ERROR_IO, "kn_logger_tensorboard: cannot write into the folder '%s'", folder);
        return NULL;
    }
    tensorboard *t = calloc(1, sizeof *t);
    char *copy = strdup(folder);
    if (!t || !copy) {
        free(t);
        free(copy);
        kni_failure_memory("kn_logger_tensorboard");
        return NULL;
    }
    t->folder = copy;
    t->log.descriptor = -1;
    return kn_renderer_make(&tensorboard_type, t);
}
