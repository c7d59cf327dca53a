/* Max pooling of bytes on the CPU, as they are: the largest of the rows of a window, then of neighbours in these. */
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/pool_bytes.h"
#include "backend/host/host.h"
#include "core/allocator.h"
#include "core/thread_pool.h"
#include "ops/pooling.h"
#include <string.h>

typedef struct job {
    kni_pool_plan plan;
    const uint8_t *x;
    uint8_t *y, *rows; /* rows: two for each thread */
    uint8_t flip;      /* makes bytes unsigned */
    int64_t width, x_plane, y_plane;
} job;

static void largest(uint8_t *restrict to, const uint8_t *restrict from, int64_t n, uint8_t flip)
{
    if (flip)
        for (int64_t i = 0; i < n; i++) {
            const uint8_t v = from[i] ^ 0x80;
            to[i] = v > to[i] ? v : to[i];
        }
    else
        for (int64_t i = 0; i < n; i++) to[i] = from[i] > to[i] ? from[i] : to[i];
}

/* The largest of the window's rows for line `line` of the result, between paddings of zeros. */
static void join_rows(const job *j, const uint8_t *plane, int64_t line, uint8_t *row)
{
    const kni_pool_plan *p = &j->plan;
    const int64_t first[2] = {line / p->sy[1] * p->stride[0] - p->padding[0],
                              line % p->sy[1] * p->stride[1] - p->padding[1]};
    memset(row, 0, (size_t)j->width);
    for (int64_t k0 = 0; k0 < p->window[0]; k0++)
        for (int64_t k1 = 0; k1 < p->window[1]; k1++) {
            const int64_t a = first[0] + k0 * p->dilation[0], b = first[1] + k1 * p->dilation[1];
            if (a < 0 || a >= p->sx[0] || b < 0 || b >= p->sx[1]) continue;
            largest(row + p->padding[2], plane + (a * p->sx[1] + b) * p->sx[2], p->sx[2], j->flip);
        }
}

static void pool_plane(void *argument, int64_t task, int worker)
{
    const job *j = argument;
    const kni_pool_plan *p = &j->plan;
    const uint8_t *plane = j->x + task * j->x_plane;
    uint8_t *y = j->y + task * j->y_plane, *row = j->rows + worker * 2 * j->width, *most = row + j->width;
    const int64_t count = (p->sy[2] - 1) * p->stride[2] + 1, step = p->stride[2];
    for (int64_t line = 0; line < p->sy[0] * p->sy[1]; line++, y += p->sy[2]) {
        join_rows(j, plane, line, row);
        memcpy(most, row, (size_t)count);
        for (int64_t k = 1; k < p->window[2]; k++) largest(most, row + k * p->dilation[2], count, 0);
        if (step == 2)
            for (int64_t o = 0; o < p->sy[2]; o++) y[o] = most[o * 2] ^ j->flip;
        else
            for (int64_t o = 0; o < p->sy[2]; o++) y[o] = most[o * step] ^ j->flip;
    }
}

kn_status kni_pool_bytes(const kn_record *r, const kni_pool_plan *plan, int64_t planes)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    job j = {.plan = *plan, .flip = x->type.dtype == KN_I8 ? 0x80 : 0};
    const int64_t reach = (plan->window[2] - 1) * plan->dilation[2] + 1,
                  read = (plan->sy[2] - 1) * plan->stride[2] + reach;
    kni_borrowed from;
    kn_status s = kni_host_allocate(y);
    if (s || kni_count(&y->type) == 0) return s;
    j.width = plan->padding[2] + plan->sx[2];
    if (j.width < read) j.width = read;
    j.x_plane = plan->sx[0] * plan->sx[1] * plan->sx[2];
    j.y_plane = plan->sy[0] * plan->sy[1] * plan->sy[2];
    const size_t bytes = (size_t)(kni_threads() * 2 * j.width);
    j.rows = kni_allocate(bytes);
    if (!j.rows || !kni_host_borrow(x, x->type.dtype, &from)) {
        if (j.rows) kni_free(j.rows, bytes);
        return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    }
    j.x = from.data;
    j.y = y->storage->data;
    kni_norm_share(planes * j.y_plane * (plan->window[0] * plan->window[1] + plan->window[2]) / 16, planes,
                   pool_plane, &j);
    kni_host_unborrow(&from);
    kni_free(j.rows, bytes);
    return KN_OK;
}
