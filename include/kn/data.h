/* Data sets, transforms of them, and a loader that makes batches on several threads. A data set is a sequence of samples; a
   sample is a few tensors. What is random depends on (seed, epoch, index) alone, so batches are the same for any number of
   workers. */
#ifndef KN_DATA_H
#define KN_DATA_H

#include <kn/data/augment.h>
#include <kn/data/dataset.h>
#include <kn/data/loader.h>
#include <kn/data/source.h>
#include <kn/data/transform.h>

#endif
