/* Neural networks: modules, initializers, layers, losses. Includes every header of kn/nn. */
#ifndef KN_NN_H
#define KN_NN_H

#include <kn/nn/activations.h>
#include <kn/nn/attention_layers.h>
#include <kn/nn/convolution.h>
#include <kn/nn/image.h>
#include <kn/nn/init.h>
#include <kn/nn/linear.h>
#include <kn/nn/losses.h>
#include <kn/nn/module.h>
#include <kn/nn/noise.h>
#include <kn/nn/normalization.h>
#include <kn/nn/pool.h>
#include <kn/nn/positional.h>
#include <kn/nn/recurrent.h>
#include <kn/nn/sampler.h>
#include <kn/nn/transducer.h>
#include <kn/nn/transformer.h>

#ifndef KN_NO_SITES
#include <kn/nn/nn_sites.h>
#endif

#endif
