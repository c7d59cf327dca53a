/* How a convolution or a transposed one becomes a product with shifted planes. Along each axis the results lie on
   a grid of q: tap t adds source element u of a plane, where u = q + shift(t). A convolution has one plane for each
   phase of its stride and one section of results; a transposed one has one plane and a section of results for each
   phase. Internal to conv_*.c. */
#ifndef KNI_BACKEND_CPU_CONV_PLAN_H
#define KNI_BACKEND_CPU_CONV_PLAN_H

#include "backend/cpu/conv_kernels.h"
#include "core/table.h"
#include "ops/conv.h"

enum { KNI_CONV_AXES = 3 };

typedef struct {
    int64_t taps, stride, dilation, padding;
    int64_t source, target; /* sizes */
    int64_t period;         /* taps t and t + period have the same phase */
    int64_t planes;         /* phases of the source that taps read: 1 when transposed */
    int64_t first, count;   /* the grid of q */
    int64_t reach;          /* the largest shift */
} kni_conv_axis;

typedef struct {
    bool transposed;
    const kni_conv_kernels *kernels;
    int compute;            /* dtype */
    int64_t batch, groups;  /* groups of equal size */
    int64_t channels, outs; /* of one group: what is summed over and what results */
    kni_conv_axis axes[KNI_CONV_AXES];
    int64_t planes; /* of one channel */
    bool turned;    /* vectors run along output channels (conv_turned.h) */
} kni_conv_plan;

/* The elements of a tensor [batch, channels, sizes...] with its sizes as three axes. */
typedef struct {
    char *data;
    const char *end; /* of its last element */
    int dtype, bytes;
    int64_t batch, channel, sizes[KNI_CONV_AXES]; /* strides */
} kni_conv_tensor;

/* A part of the grid: q in first .. first + count - 1 along each axis. */
typedef struct {
    int64_t first[KNI_CONV_AXES], count[KNI_CONV_AXES];
} kni_conv_part;

/* The kernels for results of dtype, NULL when it is no float. */
const kni_conv_kernels *kni_conv_kernels_for(int dtype);
kni_conv_tensor kni_conv_tensor_of(kni_tensor *x);
/* x [batch, channels, sizes], w [.., .., taps], y as in the row; for a weight gradient w is the result. */
void kni_conv_plan_start(kni_conv_plan *plan, const kni_conv_attributes *a, const kni_type *x,
                         const kni_type *w, const kni_type *y, bool transposed);

/* The plane that tap t reads, and how far it is shifted there. */
int64_t kni_conv_tap_plane(const kni_conv_plan *plan, int axis, int64_t t);
int64_t kni_conv_tap_shift(const kni_conv_plan *plan, int axis, int64_t t);
/* The grid of a section; the result for q lies at q * step + start. */
void kni_conv_section(const kni_conv_plan *plan, int axis, int64_t section, int64_t *first, int64_t *count,
                      int64_t *start, int64_t *step);

/* Elements of the planes of `channels` channels for a part of the grid. */
int64_t kni_conv_planes_size(const kni_conv_plan *plan, const kni_conv_part *part, int64_t channels);
static inline int64_t kni_conv_plane_axis(const kni_conv_plan *plan, const kni_conv_part *part, int axis)
{
    return part->count[axis] + plan->axes[axis].reach;
}
/* One of a channel's planes: where its axes and their parts inside of the source lie. All but the addresses is the same for all channels. */
typedef struct {
    int64_t before[2], filled[2], size[2]; /* along the first two axes: zeros, what is filled, all */
    int64_t from,
        from_step; /* elements of x: of the first that is filled, and from one to the next along the first axis */
    kni_conv_rows rows;
} kni_conv_plane;

/* How the planes of any channel are filled for one part of the grid. */
enum { KNI_CONV_KEPT_PLANES = 9 };
typedef struct {
    kni_conv_part part;
    int64_t plane_bytes;
    bool keeps; /* they are few enough to be kept here */
    kni_conv_plane planes[KNI_CONV_KEPT_PLANES];
} kni_conv_filler;

void kni_conv_filler_start(kni_conv_filler *filler, const kni_conv_plan *plan, const kni_conv_part *part,
                           const kni_conv_tensor *x);
/* Copies channels first .. first + channels - 1 of image n into planes, zero outside of the source. */
void kni_conv_fill_planes(const kni_conv_filler *filler, const kni_conv_plan *plan, const kni_conv_tensor *x,
                          int64_t n, int64_t first, int64_t channels, void *planes);

#endif
