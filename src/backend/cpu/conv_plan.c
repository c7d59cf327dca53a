/* The geometry of convolutions as products with shifted planes, and the copy of the source into those planes. */
#include "backend/cpu/conv_plan.h"
#include "backend/cpu/isa.h"
#include "backend/host/host.h"
#include <string.h>

static const kni_conv_kernels *const f32_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_conv_f32);
static const kni_conv_kernels *const f64_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_conv_f64);

const kni_conv_kernels *kni_conv_kernels_for(int dtype)
{
    if (kni_dtypes[dtype].kind != KNI_KIND_FLOAT) return NULL;
    return (dtype == KN_F64 ? f64_kernels : f32_kernels)[kni_cpu_tier()];
}

kni_conv_tensor kni_conv_tensor_of(kni_tensor *x)
{
    kni_conv_tensor t = {.data = kni_pointer(x),
                         .dtype = x->type.dtype,
                         .bytes = (int)kni_element_bytes(x),
                         .batch = x->strides[0],
                         .channel = x->strides[1]};
    int64_t last = 0;
    for (int i = 0; i < x->type.rank; i++)
        if (x->strides[i] > 0) last += (x->type.dims[i] - 1) * x->strides[i];
    t.end = t.data + (last + 1) * t.bytes;
    int n = x->type.rank - 2;
    for (int i = 0; i < n; i++) t.sizes[KNI_CONV_AXES - n + i] = x->strides[2 + i];
    return t;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

void kni_conv_section(const kni_conv_plan *plan, int axis, int64_t section, int64_t *first, int64_t *count,
                      int64_t *start, int64_t *step)
{
    const kni_conv_axis *a = &plan->axes[axis];
    *step = plan->transposed ? a->stride : 1;
    *start = plan->transposed ? section - a->padding : 0;
    *first = floor_divide(-*start + *step - 1, *step);
    *count = floor_divide(a->target - 1 - *start, *step) - *first + 1;
    if (*count < 0) *count = 0;
}

static void start_axis(kni_conv_plan *plan, int axis)
{
    kni_conv_axis *a = &plan->axes[axis];
    a->period = a->stride / common_divisor(a->dilation, a->stride);
    a->planes = plan->transposed ? 1 : a->taps < a->period ? a->taps : a->period;
    a->reach = (a->taps - 1) * a->dilation / a->stride;
    a->first = plan->transposed ? floor_divide(a->padding, a->stride) : 0;
    a->count =
        plan->transposed ? floor_divide(a->target - 1 + a->padding, a->stride) + 1 - a->first : a->target;
}

void kni_conv_plan_start(kni_conv_plan *plan, const kni_conv_attributes *attributes, const kni_type *x,
                         const kni_type *w, const kni_type *y, bool transposed)
{
    int n = x->rank - 2;
    plan->transposed = transposed;
    plan->turned = false;
    plan->compute = x->dtype == KN_F64 ? KN_F64 : KN_F32;
    plan->kernels = kni_conv_kernels_for(x->dtype);
    plan->batch = x->dims[0];
    plan->groups = attributes->groups;
    plan->channels = x->dims[1] / plan->groups;
    plan->outs = y->dims[1] / plan->groups;
    plan->planes = 1;
    for (int i = 0; i < KNI_CONV_AXES; i++) {
        int from = i - (KNI_CONV_AXES - n);
        plan->axes[i] = (kni_conv_axis){.taps = 1, .stride = 1, .dilation = 1, .source = 1, .target = 1};
        if (from >= 0)
            plan->axes[i] = (kni_conv_axis){.taps = w->dims[2 + from],
                                            .stride = attributes->stride.dims[from],
                                            .dilation = attributes->dilation.dims[from],
                                            .padding = attributes->padding.dims[from],
                                            .source = x->dims[2 + from],
                                            .target = y->dims[2 + from]};
        start_axis(plan, i);
        plan->planes *= plan->axes[i].planes;
    }
}

int64_t kni_conv_tap_plane(const kni_conv_plan *plan, int axis, int64_t t)
{
    return plan->transposed ? 0 : t % plan->axes[axis].period;
}

int64_t kni_conv_tap_shift(const kni_conv_plan *plan, int axis, int64_t t)
{
    const kni_conv_axis *a = &plan->axes[axis];
    int64_t shift = t * a->dilation / a->stride;
    return plan->transposed ? a->reach - shift : shift;
}

int64_t kni_conv_planes_size(const kni_conv_plan *plan, const kni_conv_part *part, int64_t channels)
{
    int64_t size = channels * plan->planes;
    for (int i = 0; i < KNI_CONV_AXES; i++) size *= kni_conv_plane_axis(plan, part, i);
    return size;
}

/* Source element u * step + start is element u of a plane. */
typedef struct {
    int64_t start, step, size, source;
} plane_axis;

static plane_axis axis_of(const kni_conv_plan *plan, const kni_conv_part *part, int axis, int64_t plane)
{
    const kni_conv_axis *a = &plan->axes[axis];
    plane_axis p = {.step = plan->transposed ? 1 : a->stride, .source = a->source};
    p.size = kni_conv_plane_axis(plan, part, axis);
    p.start = plan->transposed ? part->first[axis] - a->reach
                               : part->first[axis] * a->stride + plane * a->dilation % a->stride - a->padding;
    return p;
}

/* Elements low .. high - 1 of a plane along the axis lie in the source. */
static void inside(const plane_axis *p, int64_t *low, int64_t *high)
{
    *low = p->start >= 0 ? 0 : (-p->start + p->step - 1) / p->step;
    *high = p->start >= p->source ? 0 : (p->source - p->start + p->step - 1) / p->step;
    if (*low > p->size) *low = p->size;
    if (*high > p->size) *high = p->size;
    if (*high < *low) *high = *low;
}

/* Rows of a plane that the source has something of, where they must be converted. */
static void convert_rows(const kni_conv_plan *plan, const kni_conv_rows *f, const kni_conv_tensor *x)
{
    const int64_t bytes = plan->kernels->size;
    const char *from = f->from;
    char *to = f->to;
    for (int64_t r = 0; r < f->rows; r++, to += f->row * bytes, from += f->from_row * x->bytes) {
        memset(to, 0, (size_t)(f->row * bytes));
        kni_convert(to + f->low * bytes, plan->compute, 1, from, x->dtype, f->step, f->n);
    }
}

static kni_conv_plane plane_of(const kni_conv_plan *plan, const kni_conv_part *part, const kni_conv_tensor *x,
                               int64_t plane)
{
    const int64_t last = plane % plan->axes[2].planes, rest = plane / plan->axes[2].planes;
    const plane_axis p[KNI_CONV_AXES] = {axis_of(plan, part, 0, rest / plan->axes[1].planes),
                                         axis_of(plan, part, 1, rest % plan->axes[1].planes),
                                         axis_of(plan, part, 2, last)};
    kni_conv_plane f = {.from_step = p[0].step * x->sizes[0]};
    int64_t low[KNI_CONV_AXES], high[KNI_CONV_AXES];
    for (int i = 0; i < KNI_CONV_AXES; i++) {
        inside(&p[i], &low[i], &high[i]);
        f.from += (p[i].start + low[i] * p[i].step) * x->sizes[i];
        if (i == 2) break;
        f.before[i] = low[i];
        f.filled[i] = high[i] - low[i];
        f.size[i] = p[i].size;
    }
    f.rows = (kni_conv_rows){.from_end = x->end,
                             .rows = high[2] > low[2] ? f.filled[1] : 0,
                             .row = p[2].size,
                             .low = low[2],
                             .n = high[2] - low[2],
                             .step = p[2].step * x->sizes[2],
                             .from_row = p[1].step * x->sizes[1]};
    return f;
}

/* from: of the channel; to_end: of all planes. */
static void fill_plane(const kni_conv_plan *plan, const kni_conv_plane *f, const kni_conv_tensor *x,
                       const char *from, char *to, const char *to_end)
{
    const int64_t row = f->rows.row * plan->kernels->size, slab = f->size[1] * row;
    kni_conv_rows rows = f->rows;
    rows.to_end = to_end;
    from += f->from * x->bytes;
    for (int64_t u = 0; u < f->size[0]; u++, to += slab) {
        const int64_t at = u - f->before[0];
        if (at < 0 || at >= f->filled[0] || rows.rows == 0) {
            memset(to, 0, (size_t)slab);
            continue;
        }
        const int64_t before = f->before[1] * row, filled = rows.rows * row;
        if (before) memset(to, 0, (size_t)before);
        rows.to = to + before;
        rows.from = from + at * f->from_step * x->bytes;
        if (x->dtype == plan->compute)
            plan->kernels->fill(&rows);
        else
            convert_rows(plan, &rows, x);
        if (slab > before + filled) memset(to + before + filled, 0, (size_t)(slab - before - filled));
    }
}

void kni_conv_filler_start(kni_conv_filler *f, const kni_conv_plan *plan, const kni_conv_part *part,
                           const kni_conv_tensor *x)
{
    f->part = *part;
    f->plane_bytes = kni_conv_planes_size(plan, part, 1) / plan->planes * plan->kernels->size;
    f->keeps = plan->planes <= KNI_CONV_KEPT_PLANES;
    for (int64_t i = 0; f->keeps && i < plan->planes; i++) f->planes[i] = plane_of(plan, part, x, i);
}

/* Channel by channel in ascending order, as the kernels ask for. */
void kni_conv_fill_planes(const kni_conv_filler *f, const kni_conv_plan *plan, const kni_conv_tensor *x,
                          int64_t n, int64_t first, int64_t channels, void *planes)
{
    kni_conv_plane one;
    char *to = planes;
    const char *end = to + channels * plan->planes * f->plane_bytes;
    for (int64_t c = 0; c < channels; c++) {
        const char *from = x->data + (n * x->batch + (first + c) * x->channel) * x->bytes;
        for (int64_t i = 0; i < plan->planes; i++, to += f->plane_bytes) {
            if (!f->keeps) one = plane_of(plan, &f->part, x, i);
            fill_plane(plan, f->keeps ? &f->planes[i] : &one, x, from, to, end);
        }
    }
}
