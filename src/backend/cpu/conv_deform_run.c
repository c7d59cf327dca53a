/* The gradient of deformable sampling on the CPU is its reference kernel on all threads; without an entry the row
   would be lowered, which is for gradients of gradients. */
#include "backend/host/host.h"
#include "ops/native.h"

static kn_status run_deform_sample_grad(const kn_record *r) { return kni_host_reference(r, true); }

const kni_native kni_cpu_deform_sample_grad = {.run = run_deform_sample_grad};
