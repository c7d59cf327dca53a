/* Training: the learner, metrics, renderers and logs. */
#ifndef KN_TRAIN_H
#define KN_TRAIN_H

#include <kn/train/learner.h>
#include <kn/train/metric.h>
#include <kn/train/renderer.h>

#endif
