/* What the files of the CUDA driver share: the open device behind a kni_driver. */
#ifndef KNI_CUDA_DRIVER_H
#define KNI_CUDA_DRIVER_H

#include "backend/cuda/cuda_api.h"
#include "backend/gpu/driver.h"

enum {
    KNI_CUDA_UPLOAD_BYTES = 2 << 20, /* of a slot */
    KNI_CUDA_UPLOAD_SLOTS = 16,
    KNI_CUDA_DOWNLOAD_BYTES = 4 << 20,
    KNI_CUDA_DOWNLOAD_SLOTS = 2,
    KNI_CUDA_PENDING = 256,
    KNI_CUDA_WORKSPACE = 32 << 20,
    KNI_CUDA_WORKSPACES = 4,
    KNI_CUDA_ARGUMENTS = KNI_IR_MAX_BINDINGS + 2
};

/* A piece of pinned memory, and the event after the last copy that used it. */
typedef struct kni_cuda_slot {
    char *memory;
    void *event;
    bool busy;
    uint64_t turn; /* when it was last given away */
} kni_cuda_slot;

typedef struct kni_cuda_products kni_cuda_products; /* cuda_product.c */

typedef struct kni_cuda {
    kni_driver driver;
    char name[24];
    const kni_cuda_driver_api *api;
    int device, major, minor;
    uint32_t shared_most; /* of a workgroup that asks for it */
    void *context, *stream;
    uint64_t forks; /* of the process when it was opened */
    bool lost;
    bool recording;
    kni_recording *noted; /* while recording: what it has so far */
    int64_t
        recordings; /* that there are, with the one that is made: their graphs hold functions, plans and memory */
    /* of products that may run at once, one after the other; the one that the latest product took */
    void *workspaces[KNI_CUDA_WORKSPACES], *workspace;
    int next_workspace;
    uint64_t written[2]; /* by the launch that follows */
    bool written_known;
    bool vendor; /* the vendor's libraries may be used; KN_VENDOR=off when it was opened: not */
    char lost_text[200];
    kni_cuda_slot upload[KNI_CUDA_UPLOAD_SLOTS], download[KNI_CUDA_DOWNLOAD_SLOTS];
    int upload_slot;
    size_t upload_used;
    uint64_t turns;
    /* Memory that was freed while recording: freeing waits for the device, which a recording stream must not. */
    void *pending[KNI_CUDA_PENDING];
    int n_pending;
    /* Memory for what a call needs for itself. Older pieces stay, because recordings may hold their addresses. */
    void *scratch, *older_scratch[40];
    size_t scratch_bytes, older_bytes[40];
    int n_older_scratch;
    struct kni_cuda_profile *profile; /* cuda_profile.c; NULL: nobody asks */
    kni_cuda_products *products;
    struct kni_hopper_kernels *kernels; /* cuda_hopper.c */
    struct kni_dnn *dnn;                /* cuda_cudnn_plans.c */
} kni_cuda;

struct kni_module {
    char name[48];
    void *module, *function;
    uint32_t threads_most;
    uint32_t shared_static, shared_dynamic; /* bytes; dynamic: what it may ask for so far */
};

/* Opens the device of a number; NULL after a failure. Closed by the driver's close. */
kni_driver *kni_cuda_driver_open(int32_t number);

/* ---- for the files of the driver */
static inline kni_cuda *kni_cuda_of(kni_driver *d) { return (kni_cuda *)d->self; }
static inline kni_cuda_address kni_cuda_at(const void *memory, size_t offset)
{
    return (kni_cuda_address)(uintptr_t)memory + offset;
}

/* Whether the process is the one that opened it. */
bool kni_cuda_ours(const kni_cuda *c);
/* Whether a recording may hold a function of a module, a plan of a library or scratch memory: none of it may go then. */
static inline bool kni_cuda_is_held(const kni_cuda *c) { return c->recordings > 0; }
/* Before each call: the context is made current; a lost device and a forked process are failures. */
kn_status kni_cuda_enter(kni_cuda *c);
/* The same for what cannot be recorded. */
kn_status kni_cuda_enter_outside(kni_cuda *c, const char *doing);
/* A result as a status with the failure told; results that end the context mark the device as lost. */
kn_status kni_cuda_result(kni_cuda *c, int result, const char *doing);
/* Only marks the device as lost where the result says so. */
void kni_cuda_note(kni_cuda *c, int result, const char *doing);

/* Memory of the driver's own, counted; NULL where there is none, even after others gave back what they keep. */
void *kni_cuda_own(kni_cuda *c, size_t bytes);
void kni_cuda_disown(kni_cuda *c, void *memory, size_t bytes);
/* Memory that is used until the call's last kernel ends; at least 1 byte. NULL without a text where there is none. */
void *kni_cuda_scratch(kni_cuda *c, size_t bytes);

kn_status kni_cuda_upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes);
kn_status kni_cuda_download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes);
void kni_cuda_staging_free(kni_cuda *c);

kni_module *kni_cuda_compile(kni_driver *d, const char *text, size_t bytes, const char *entry);
void kni_cuda_unload(kni_driver *d, kni_module *m);
/* Any arguments, as the entry takes them. */
kn_status kni_cuda_launch_arguments(kni_cuda *c, kni_module *m, const kni_launch_shape *shape,
                                    void **arguments);
kn_status kni_cuda_launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                          uint32_t n_buffers, const void *params, uint32_t param_bytes);

kn_status kni_cuda_record_begin(kni_driver *d);
kni_recording *kni_cuda_record_end(kni_driver *d);
kn_status kni_cuda_replay(kni_driver *d, kni_recording *r);
kn_status kni_cuda_record_params(kni_driver *d, kni_recording *r, uint32_t launch, const void *params,
                                 uint32_t param_bytes);
void kni_cuda_record_free(kni_driver *d, kni_recording *r);
/* A launch was captured, or one of nothing asked for. */
void kni_cuda_record_launch(kni_cuda *c, const kni_module *m, const kni_launch_shape *shape,
                            void *const *buffers, uint32_t n_buffers, uint32_t param_bytes);
/* Around a piece of work, while recording: which memory it reads and writes. */
void kni_cuda_record_before(kni_cuda *c);
void kni_cuda_record_after(kni_cuda *c, void *const *reads, int n_reads, void *const *writes, int n_writes);
/* At the end of the device: nothing is recorded any more. */
void kni_cuda_record_close(kni_cuda *c);
void kni_cuda_record_writes(kni_driver *d, const uint64_t *written);

/* What the pieces of work of a recording read and write (cuda_spread.c): all that were put on the stream between the two
   calls are one. What is not named depends on all before it, and all after it on that. */
typedef struct kni_cuda_spread kni_cuda_spread;
kni_cuda_spread *kni_cuda_spread_new(void);
void kni_cuda_spread_begin(kni_cuda *c, kni_cuda_spread *s);
void kni_cuda_spread_end(kni_cuda *c, kni_cuda_spread *s, void *const *reads, int n_reads,
                         void *const *writes, int n_writes);
/* Gives the graph the edges that follow from it in place of its single line; leaves it where that fails. */
void kni_cuda_spread_edges(kni_cuda *c, kni_cuda_spread *s, void *graph);
void kni_cuda_spread_free(kni_cuda_spread *s);
/* The node that the stream's next work would wait for, NULL: none or several. */
void *kni_cuda_latest_node(kni_cuda *c);
/* The driver's products while recording. */
kn_status kni_cuda_record_product(kni_driver *d, const kni_product *p);
/* A workspace that no product beside it uses, while recording; else the usual one. */
void *kni_cuda_record_workspace(kni_cuda *c, void *usual);

/* Around each piece of work; the second only where the first says so. */
void kni_cuda_profile_open(kni_cuda *c);
bool kni_cuda_profile_begin(kni_cuda *c);
void kni_cuda_profile_end(kni_cuda *c, const char *kernel);
size_t kni_cuda_profile_report(kni_driver *d, char *text, size_t bytes);
void kni_cuda_profile_free(kni_cuda *c);

kn_status kni_cuda_product(kni_driver *d, const kni_product *p);
kn_status kni_cuda_attention(kni_driver *d, const kni_attention *p);
kn_status kni_cuda_attention_grad(kni_driver *d, const kni_attention *p);
kn_status kni_cuda_convolution(kni_driver *d, const kni_convolution *p);
/* KN_ERROR_UNSUPPORTED without a text where cuDNN has none. */
kn_status kni_dnn_attention(kni_cuda *c, const kni_attention *p, bool gradient);
void kni_dnn_free(kni_cuda *c);
void kni_cuda_products_free(kni_cuda *c);

#endif
