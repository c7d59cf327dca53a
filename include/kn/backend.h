/* The interface for people who write a backend: a leaf, which runs records, or a decorator around other backends.
   Append-only. Every struct starts with its size, so that both sides may be compiled with headers of different age: Kiln reads
   an outside struct up to the smaller of the two sizes, and what lies past it counts as 0. docs/adding-a-backend.md is the guide,
   examples/backend_out_of_tree a whole leaf. */
#ifndef KN_BACKEND_H
#define KN_BACKEND_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KN_BACKEND_ABI 2

struct kn_op;

enum { KN_PHASE_FORWARD = 0, KN_PHASE_BACKWARD = 1, KN_PHASE_UPDATE = 2 };
enum { KN_RECORD_DROP = 1 /* operand 0 dies and nothing is computed; row and attributes are NULL */ };
#define KN_NO_ID UINT32_MAX /* in the place of an optional operand that is absent */

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

/* ---- groups: several records that one kernel can run */

typedef enum kn_group_kind {
    KN_GROUP_SINGLE,    /* one record, as it is */
    KN_GROUP_POINTWISE, /* elementwise records over one shape, operands broadcast into it */
    KN_GROUP_REDUCTION, /* elementwise work, reductions over the same axes, elementwise work on their results */
    KN_GROUP_LINES,     /* softmax- and norm-shaped: several passes over a line */
    KN_GROUP_PRODUCT,   /* a matrix product or convolution first, elementwise work on its result after */
    KN_GROUP_MANY,      /* independent records of one op over many tensors: an optimiser's step */
    KN_GROUP_KINDS
} kn_group_kind;

typedef struct kn_group {
    uint32_t size;
    uint8_t kind; /* kn_group_kind */
    int32_t n_records, n_inputs, n_outputs;
    const kn_record *const *records; /* in order; ids are tensors that live through the call */
    const uint32_t *inputs;          /* ids read from outside, each once, in the order of first use */
    const uint32_t *outputs;         /* ids that must be written; results not named here exist inside only */
    uint64_t key; /* equal for groups that differ in sizes and scalars only; 0: not known */
    void **cache; /* where the leaf keeps what it made for this group of the plan; NULL in eager use */
    void (**release)(void *cached); /* set by the leaf together with *cache */
} kn_group;

/* What a plan is about to run, again and again: the same groups and records in the same order with the same ids and sizes.
   Addresses of inputs, scalars and dynamic attributes may differ from run to run. */
typedef struct kn_plan_run {
    uint32_t size;
    int32_t n_inputs, n_results, n_steps;
    int32_t step;            /* the one that runs now */
    int64_t runs;            /* how often the plan ran before */
    const uint32_t *inputs;  /* ids from outside, each once, in the order of first use; scalars too */
    const uint32_t *results; /* ids whose memory lives on after the plan */
    /* What runs, in order; a single record is a group too. Records are those of the queue that runs. */
    const kn_group *const *steps;
    const uint64_t *depends; /* for each result a row of bits by input: what it is computed from; NULL: all */
    void **cache;            /* where the leaf keeps what it made for the plan */
    void (**release)(void *cached);
} kn_plan_run;

enum {
    KN_TAKES_VIEWS = 1,     /* records that are views of results of the group */
    KN_TAKES_CREATION = 2,  /* full, iota, linspace, random and dropout in pointwise groups */
    KN_TAKES_ANY_AXES = 4,  /* lines along any axes; else only along the last ones */
    KN_TAKES_WHOLE = 8,     /* lines that are the whole tensor */
    KN_TAKES_LOSSES = 16,   /* cross entropy and its gradient among the lines */
    KN_TAKES_COLUMNS = 32,  /* sums over all lines, at each place, beside what the lines themselves have */
    KN_TAKES_CASTS = 64,    /* casts in KN_GROUP_MANY */
    KN_TAKES_REPEATS = 128, /* records of an earlier group again, where that saves memory traffic */
    /* After a product, records that map each channel by numbers of its own (batch norm in evaluation); `follows` is asked
       about them as well. */
    KN_TAKES_CHANNELS = 256,
    KN_TAKES_SEVERAL =
        512, /* records with results for each element and for each line (batch norm in training) */
    KN_TAKES_MAPS = 1024, /* maps of channels among elementwise records */
    /* in KN_GROUP_MANY also short elementwise records of one formula, one chain of them for each tensor, with one result each */
    KN_TAKES_SMALL = 2048
};

/* What a leaf takes as a group. The leaf assigns the fields it knows; all are 0 before. */
typedef struct kn_limits {
    uint32_t size;
    uint32_t kinds;                               /* bit by kn_group_kind */
    int32_t max_records, max_inputs, max_outputs; /* of one group */
    uint32_t takes;                               /* KN_TAKES_ bits */
    int64_t waiting_bytes; /* of results that may wait in a queue; what is less than 8 GiB counts as that */
    /* What so many records wait for is worth beginning while the caller records more, since the device works beside the host; 0: never. */
    int32_t early_records;
} kn_limits;

/* Whether a record may follow a product in its group. */
typedef enum kn_follow {
    KN_FOLLOW_NO,
    KN_FOLLOW_ONLY, /* yes, if nobody else needs what it reads of the group */
    KN_FOLLOW_LAST, /* the same, unless another group can absorb it for free */
    KN_FOLLOW_YES
} kn_follow;
enum { KN_FOLLOW_RECORDS = 8 }; /* of a product's group, itself included */

/* ---- texts and watching */

/* A text that a backend writes: it ends within `bytes`, and `length` is what it would have without that bound. */
typedef struct kn_report {
    uint32_t size;
    char *buffer; /* NULL: only the length is asked for */
    size_t bytes, length;
} kn_report;

/* Something that ran and has ended: one of the three is set. */
typedef struct kn_watch_event {
    uint32_t size;
    const kn_record *record;
    const kn_group *group;
    const kn_plan_run *plan; /* all of it at once, where the leaf takes plans */
    const char *site;        /* the user's line that made the first record, NULL: not known */
    uint64_t begin, nanoseconds;
} kn_watch_event;

typedef struct kn_watcher {
    uint32_t size;
    void *self;
    /* Called in the thread that ran it, right after. It must not call the device. */
    void (*ran)(void *self, const kn_watch_event *event);
} kn_watcher;

/* ---- the backend */

/* What a backend is to its stack. The tape and the queue of a stack are the first in the inner chain that have the trait. */
enum {
    KN_TRAIT_TAPES = 1,    /* notes what gradients need */
    KN_TRAIT_QUEUES = 2,   /* runs records later */
    KN_TRAIT_HOST = 4,     /* a leaf whose tensors lie in host memory */
    KN_TRAIT_STATELESS = 8 /* a decorator that keeps nothing between two records */
};

/* Results that a leaf makes best with the channels (axis 1) innermost in memory: those of a convolution, of the dtypes whose bits
   (1 << dtype) are set, where they have so many channels. */
typedef struct kn_want {
    uint16_t op; /* kn_backend_op_number; KN_WANT_ANY: every op of which a leaf may want it */
    uint16_t least_channels;
    uint32_t dtypes;
} kn_want;
#define KN_WANT_ANY UINT16_MAX

typedef struct kn_backend kn_backend;
struct kn_backend {
    uint32_t size, abi; /* sizeof(kn_backend) and KN_BACKEND_ABI as the backend was compiled */
    const char *name;
    uint32_t traits;  /* KN_TRAIT_ bits */
    bool wants_drops; /* execute also gets a record with KN_RECORD_DROP when a tensor of this stack dies */
    kn_backend *inner[2]; /* of a decorator */
    void *self;
    kn_device device; /* set by Kiln: the device made of this backend */
    /* Runs n records in order. Failures tell their text through kn_backend_fail and poison outputs. A leaf that
       returns KN_ERROR_UNSUPPORTED and tells no text has no kernel for this record, as if `supports` had said no. */
    kn_status (*execute)(kn_backend *backend, const kn_record *const *records, int32_t n);

    /* A struct that ends before this line is refused. All below is optional. Kiln asks a backend for its own entries alone: one
       that a decorator does not have is not looked for in its inner backend, but for `report` and `watch`, which are asked of
       the first in the inner chain that answers. */

    /* How a row would run for a dtype; why (may be NULL) receives a short reason. NULL: it takes all. A leaf that
       answers KN_SUPPORT_NO never gets such a record: it is lowered, or falls back to the CPU with one log line
       for each op and device, through read and write. The dtype asked for is that of the first operand, of the
       first result where there is none. */
    kn_support (*supports)(kn_backend *backend, const struct kn_op *row, kn_dtype dtype, const char **why);
    /* Makes memory for tensor id and copies contiguous elements in. NULL data: zeros. A leaf in host memory need not have it. */
    kn_status (*write)(kn_backend *backend, uint32_t id, const void *data);
    /* Copies the contiguous elements of tensor id out. */
    kn_status (*read)(kn_backend *backend, uint32_t id, void *buffer);
    /* Of a leaf: begins to copy them and gives a ticket; the buffer is filled by the time that read_ready has said so, and the tensor
       lives until then. read_ready waits where it is asked to, and the ticket ends when it has set *ready or failed. Both or
       none. kn_read_many begins all its copies before it waits for the first. */
    kn_status (*read_begin)(kn_backend *backend, uint32_t id, void *buffer, uint64_t *ticket);
    kn_status (*read_ready)(kn_backend *backend, uint64_t ticket, bool wait, bool *ready);
    kn_status (*sync)(kn_backend *backend);
    void (*close)(kn_backend *backend);
    /* Writes the text of a kind ("report", or the backend's own); KN_ERROR_UNSUPPORTED without a text: it has none. */
    kn_status (*report)(kn_backend *backend, const char *kind, kn_report *report);

    /* Which groups it takes, asked when a queue is put around it; NULL, or without run_group: none. */
    kn_status (*limits)(kn_backend *backend, kn_limits *limits);
    /* Runs a group. Outputs come without storage; the leaf gives it to them, contiguous, or that of an input that dies
       (kn_backend_group_reuse). KN_ERROR_UNSUPPORTED without a text: it cannot, and gets the records one by one. */
    kn_status (*run_group)(kn_backend *backend, const kn_group *group);
    /* `next` is elementwise, or such a map of channels, and would follow the n records of a group, the product first. It sees their results whole and in
       order, and its own have as many elements. Tensors may have no memory yet. NULL: nothing follows a product. */
    kn_follow (*follows)(kn_backend *backend, const kn_record *const *records, int32_t n,
                         const kn_record *next);
    /* Around the groups and single records of a plan. A failure to begin is ignored; one to end poisons what the plan made. */
    kn_status (*plan_begin)(kn_backend *backend, const kn_plan_run *plan);
    kn_status (*plan_end)(kn_backend *backend, const kn_plan_run *plan);
    /* Before all that: runs the whole plan at once. KN_OK where the results have storage and nothing else is to be done, any
       other answer where nothing was done. */
    kn_status (*plan_replay)(kn_backend *backend, const kn_plan_run *plan);

    /* Of a queue: runs all that waits. What fails poisons its results. */
    kn_status (*submit)(kn_backend *backend);
    /* Tells the watcher of all that runs, until it is called again with on = false. The struct stays the caller's. */
    kn_status (*watch)(kn_backend *backend, const kn_watcher *watcher, bool on);
    /* Gives back memory that it keeps for later. */
    void (*trim)(kn_backend *backend);
    /* Of a decorator: forgets what it noted, since no open device has it any more. One that is neither stateless nor can do
       this is not used again when its stack is opened anew. */
    void (*reset)(kn_backend *backend);

    /* Of a leaf: what it wants with channels last. Ops that keep an order follow their operands then, so that any result of ranks
       3 to 5 may be promised so: kn_backend_tensor tells its strides, kn_backend_allocate, adopt and reuse keep to them, and the
       leaf writes by them. Without wants all results are row-major. */
    const kn_want *wants;
    int32_t n_wants;
};

/* Registers a way to open a device: open(argument list inside the brackets, inner devices). */
typedef kn_backend *(*kn_backend_open_fn)(const char *argument, kn_backend *const *inner, int32_t n_inner);
KN_API kn_status kn_backend_register(const char *name, kn_backend_open_fn open);
/* A shared library that the kiln command loads (kiln --plugin FILE ...) has `kn_status kn_plugin(void)`, which registers its backends. */

KN_API kn_status kn_backend_fail(kn_status code, const char *text);

/* ---- tensors by id */

typedef struct kn_tensor_info {
    uint32_t size; /* set by the caller to sizeof(kn_tensor_info) */
    kn_dtype dtype;
    kn_shape shape;
    int64_t strides[KN_MAX_RANK]; /* in elements */
    void *data;     /* first element in host memory; NULL before it has storage, and in memory of a device */
    int64_t offset; /* of the first element in its memory, in elements */
    int64_t count;  /* how many elements there are */
} kn_tensor_info;
KN_API kn_status kn_backend_tensor(uint32_t id, kn_tensor_info *info);
/* Gives an output contiguous host memory. */
KN_API kn_status kn_backend_allocate(uint32_t id);
/* Gives an output contiguous memory of the backend's own. release(memory) is called once, from any thread, when the last tensor lets
   go of it; not where adopt fails. */
KN_API kn_status kn_backend_adopt(uint32_t id, void *memory, size_t bytes, void (*release)(void *memory));
/* What was adopted for the tensor, of which it may be a view: see `offset` and `strides`. NULL: it lies in host memory or nowhere. */
KN_API kn_status kn_backend_memory(uint32_t id, void **memory);
/* Gives output `id` the memory of operand `input`, which dies; false where that would change what somebody still reads. The backend
   must read each element of the operand before it writes that of the result. */
KN_API bool kn_backend_reuse(const kn_record *record, int32_t input, uint32_t id);
/* The same in a group; `input` is one of the group's. */
KN_API bool kn_backend_group_reuse(const kn_group *group, uint32_t input, uint32_t output);
/* Makes the result of a movement op (reshape, transpose, slice ...) a view of its operand's memory. KN_ERROR_UNSUPPORTED without a
   text: it is no such op, or its elements must be copied. */
KN_API kn_status kn_backend_view(const kn_record *record);

/* ---- ops */

/* The number of a row, as in a record and in kn/op_info.h: how `supports` knows which op it is asked about. */
KN_API int32_t kn_backend_op_number(const struct kn_op *row);
KN_API const char *kn_backend_op_name(const struct kn_op *row);

/* An attribute by its name, as kn_op_attribute lists them. Failures name the attributes there are. */
KN_API kn_status kn_backend_attribute_int(const kn_record *record, const char *name, int64_t *value);
KN_API kn_status kn_backend_attribute_real(const kn_record *record, const char *name, double *value);
KN_API kn_status kn_backend_attribute_list(const kn_record *record, const char *name, kn_ints *value);

/* The formula of an elementwise op as steps over a stack of values. */
typedef enum kn_body_kind {
    KN_BODY_INPUT,    /* pushes operand `index` */
    KN_BODY_PARAM,    /* pushes scalar `index` of kn_backend_body_params */
    KN_BODY_CONSTANT, /* pushes `value` */
    KN_BODY_STORE,    /* pops local `index` */
    KN_BODY_LOCAL,    /* pushes it */
    KN_BODY_WORD      /* pops `arity` values, the last one first, and pushes what `word` makes of them */
} kn_body_kind;
typedef struct kn_body_step {
    uint32_t size;
    kn_body_kind kind;
    int32_t index, arity;
    const char *
        word; /* "add", "exp", "lt", "select" (condition, then, else) ...: docs/adding-a-backend.md lists them */
    double value;
} kn_body_step;
/* Writes at most `room` steps of `size` bytes each and answers how many there are; the last one leaves the result on the stack. 0: the
   op has no such formula. */
KN_API int32_t kn_backend_body(const struct kn_op *row, kn_body_step *steps, size_t size, int32_t room);
/* The scalars of the record's formula; false where it has none by that number. */
KN_API bool kn_backend_body_param(const kn_record *record, int32_t index, double *value);
/* The dtype that an elementwise record is computed in: operands are converted to it, and its value to the result's. */
KN_API kn_dtype kn_backend_body_dtype(const kn_record *record);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/backend_sites.h>
#endif

#endif
