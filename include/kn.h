/* Kiln: tensors and deep learning in C. Includes tensors, their ops, devices and gradients; layers, optimisers, data, training and
   files of weights are in kn/nn.h, kn/optim.h, kn/data.h, kn/train.h and kn/store.h. */
#ifndef KN_H
#define KN_H

#include <kn/base.h>

#include <kn/activation.h>
#include <kn/autocast.h>
#include <kn/autodiff.h>
#include <kn/call.h>
#include <kn/contraction.h>
#include <kn/creation.h>
#include <kn/custom_op.h>
#include <kn/device.h>
#include <kn/elementwise.h>
#include <kn/functional.h>
#include <kn/indexing.h>
#include <kn/kernels.h>
#include <kn/linalg.h>
#include <kn/quantize.h>
#include <kn/reduce.h>
#include <kn/shape.h>
#include <kn/signal.h>
#include <kn/sort.h>
#include <kn/spatial.h>
#include <kn/tensor.h>
#include <kn/update.h>

#ifndef KN_NO_SITES
#include <kn/sites.h>
#endif

#endif
