/* The learner: it owns the training loop, metrics, checkpoints, logs and what the user sees of them. */
#ifndef KN_TRAIN_H
#define KN_TRAIN_H

#include <kn/data.h>
#include <kn/optim.h>
#include <kn/train/metric.h>
#include <kn/train/renderer.h>

#endif
