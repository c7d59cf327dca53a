/* The interface for people who write a backend or a decorator. Versioned and append-only: a backend says
   the size it was compiled with, and fields past it count as NULL. */
#ifndef KN_BACKEND_H
#define KN_BACKEND_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KN_BACKEND_ABI 1

struct kn_op;

enum { KN_PHASE_FORWARD = 0, KN_PHASE_BACKWARD = 1, KN_PHASE_UPDATE = 2 };
enum { KN_RECORD_DROP = 1 /* operand 0 dies and nothing is computed; row and attributes are NULL */ };

/* One op to run: plain data. Operands are ids of the session's table, never pointers. */
typedef struct kn_record {
    uint32_t bytes; /* of the whole record */
    uint16_t op;    /* number of the row, append-only */
    uint8_t phase, queue;
    uint16_t n_out, n_in;
    uint16_t flags, attribute_bytes;
    uint64_t last_use;       /* bit i: input i (i < 64) dies with this record */
    uint64_t sequence;       /* of the call in its thread */
    const struct kn_op *row; /* of this process; not part of the wire format */
    const void *attributes;  /* struct described by the row's schema, inside the record */
    uint32_t ids[1];         /* outputs, then inputs; as many as there are */
} kn_record;

typedef enum kn_support {
    KN_SUPPORT_NO = 0,
    KN_SUPPORT_NATIVE = 1,
    KN_SUPPORT_LOWERED = 2,
    KN_SUPPORT_REFERENCE = 3
} kn_support;

typedef struct kn_backend kn_backend;
struct kn_backend {
    uint32_t size, abi;
    const char *name;
    kn_backend *inner[2]; /* of a decorator */
    void *self;
    kn_device device; /* set by Kiln: the device made of this backend */
    bool wants_drops; /* execute also gets a record with KN_RECORD_DROP when a tensor of this stack dies */
    /* Runs n records in order. Failures tell their text through kn_backend_fail and poison outputs. A leaf that
       returns KN_ERROR_UNSUPPORTED and tells no text has no kernel for this record, as if `supports` had said no. */
    kn_status (*execute)(kn_backend *backend, const kn_record *const *records, int32_t n);
    /* How a row would run for a dtype; why (may be NULL) receives a short reason. NULL: it takes all. A leaf that
       answers KN_SUPPORT_NO never gets such a record: it is lowered, or falls back to the CPU with one log line
       for each op and device, through read and write. The dtype asked for is that of the first operand, of the
       first result where there is none. */
    kn_support (*supports)(kn_backend *backend, const struct kn_op *row, kn_dtype dtype, const char **why);
    /* Makes memory for tensor id and copies contiguous elements in. NULL data: zeros. */
    kn_status (*write)(kn_backend *backend, uint32_t id, const void *data);
    /* Copies the contiguous elements of tensor id out. */
    kn_status (*read)(kn_backend *backend, uint32_t id, void *buffer);
    kn_status (*sync)(kn_backend *backend);
    /* Named requests: "report" fills a text; unknown ones answer KN_ERROR_UNSUPPORTED. */
    kn_status (*control)(kn_backend *backend, const char *request, void *argument);
    void (*close)(kn_backend *backend);
};

/* What a backend can know of a tensor by its id. */
typedef struct kn_tensor_info {
    kn_dtype dtype;
    kn_shape shape;
    int64_t strides[KN_MAX_RANK];
    void *data; /* first element in host memory, NULL before it has storage */
} kn_tensor_info;
KN_API kn_status kn_backend_tensor(uint32_t id, kn_tensor_info *info);
/* Gives an output contiguous host memory. */
KN_API kn_status kn_backend_allocate(uint32_t id);
KN_API kn_status kn_backend_fail(kn_status code, const char *text);

/* The number of a row, as in a record and in kn/op_info.h: how `supports` knows which op it is asked about. */
KN_API int32_t kn_backend_op_number(const struct kn_op *row);

/* Registers a way to open a device: open(argument list inside the brackets, inner devices). */
typedef kn_backend *(*kn_backend_open_fn)(const char *argument, kn_backend *const *inner, int32_t n_inner);
KN_API kn_status kn_backend_register(const char *name, kn_backend_open_fn open);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/backend_sites.h>
#endif

#endif
