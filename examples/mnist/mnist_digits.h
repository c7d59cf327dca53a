/* Digits in the terminal: what a saved network sees in some test images. */
#ifndef MNIST_DIGITS_H
#define MNIST_DIGITS_H

#include "mnist_model.h"

/* Loads the model from a file, as a program that only uses it would, and draws six test images with its answers. */
bool show_digits(const char *path, const MnistModel *model, const char *data);

#endif
