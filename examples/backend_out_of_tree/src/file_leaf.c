/* A leaf outside Kiln's tree, built against the installed headers alone: a device called "file" whose memory is a temporary file.
   kiln --plugin file_leaf.so conform --device file */
#include "file_leaf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kn_status write_value(kn_backend *b, uint32_t id, const void *data)
{
    kn_tensor_info y = {.size = sizeof y};
    (void)b;
    kn_status s = leaf_allocate(id);
    if (s == KN_OK) s = kn_backend_tensor(id, &y);
    if (s) return s;
    if (data) return leaf_store(id, data);
    void *zeros = calloc((size_t)kn_dtype_bytes(y.dtype, y.count) + 1, 1);
    s = zeros ? leaf_store(id, zeros) : kn_backend_fail(KN_ERROR_MEMORY, "file: no host memory for zeros");
    free(zeros);
    return s;
}

static kn_status read_value(kn_backend *b, uint32_t id, void *buffer)
{
    kn_tensor_info x = {.size = sizeof x};
    (void)b;
    void *elements = leaf_load(id, &x);
    if (!elements) return KN_ERROR_DEVICE;
    memcpy(buffer, elements, (size_t)kn_dtype_bytes(x.dtype, x.count));
    free(elements);
    return KN_OK;
}

/* ---- reads that are begun now and done when somebody waits for them */

typedef struct ticket {
    uint32_t id;
    void *buffer;
} ticket;

static kn_status read_begin(kn_backend *b, uint32_t id, void *buffer, uint64_t *given)
{
    ticket *t = malloc(sizeof *t);
    (void)b;
    if (!t) return kn_backend_fail(KN_ERROR_MEMORY, "file: no host memory to begin a read");
    *t = (ticket){id, buffer};
    *given = (uint64_t)(uintptr_t)t;
    counts.tickets++;
    return KN_OK;
}

static kn_status read_ready(kn_backend *b, uint64_t given, bool wait, bool *ready)
{
    ticket *t = (ticket *)(uintptr_t)given;
    *ready = wait;
    if (!wait) return KN_OK;
    kn_status s = read_value(b, t->id, t->buffer);
    free(t);
    return s;
}

static kn_status report(kn_backend *b, const char *kind, kn_report *to)
{
    (void)b;
    if (strcmp(kind, "report")) return KN_ERROR_UNSUPPORTED;
    int n = snprintf(to->buffer, to->buffer ? to->bytes : 0,
                     "file: %ld records, %ld of them views, %ld groups of %ld records, %ld by attributes, "
                     "%ld results in the "
                     "memory of an operand, %ld reads begun\n",
                     counts.records, counts.views, counts.groups, counts.grouped, counts.attributes,
                     counts.reused, counts.tickets);
    to->length = n > 0 ? (size_t)n : 0;
    return KN_OK;
}

static kn_backend *open_file(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    static kn_backend leaf = {.size = sizeof(kn_backend),
                              .abi = KN_BACKEND_ABI,
                              .name = "file",
                              .execute = leaf_execute,
                              .supports = leaf_supports,
                              .write = write_value,
                              .read = read_value,
                              .read_begin = read_begin,
                              .read_ready = read_ready,
                              .report = report,
                              .limits = leaf_limits,
                              .run_group = leaf_run_group};
    (void)argument, (void)inner;
    if (n_inner) {
        (void)kn_backend_fail(KN_ERROR_DEVICE, "file: it is a leaf and takes no devices in brackets");
        return NULL;
    }
    return &leaf;
}

/* What the kiln command calls after it has loaded the library; a program of yours may call kn_backend_register itself. */
kn_status kn_plugin(void);
kn_status kn_plugin(void) { return kn_backend_register("file", open_file); }
