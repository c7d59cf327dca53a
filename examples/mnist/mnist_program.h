/* The trained network as a program in a file, for `kiln run`. */
#ifndef MNIST_PROGRAM_H
#define MNIST_PROGRAM_H

#include "mnist_model.h"
#include <kn/data.h>

/* Saves the network as a program of a batch of images, and the images and labels of the loader beside it: FOLDER/program.safetensors,
   FOLDER/images.npy and FOLDER/labels.npy. */
bool save_program(const MnistModel *model, MnistNet *net, kn_loader test, const char *folder);

#endif
