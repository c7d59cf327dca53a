// The networks that the page trains: those of examples/mnist, with the same names of params.

import { nn } from './kiln/src/kiln.js';

class Cnn extends nn.Module {
  constructor(kn) {
    super();
    this.conv1 = new nn.Conv2d(kn, 1, 16, 5);
    this.conv2 = new nn.Conv2d(kn, 16, 32, 5);
    this.fc1 = new nn.Linear(kn, 512, 128);
    this.fc2 = new nn.Linear(kn, 128, 10);
  }

  forward(x) {
    const kn = x.kiln;
    x = kn.relu(nn.maxPool2d(this.conv1.forward(x), 2));
    x = kn.relu(nn.maxPool2d(this.conv2.forward(x), 2));
    return this.fc2.forward(kn.relu(this.fc1.forward(x.reshape(x.shape[0], 512))));
  }
}

class Mlp extends nn.Module {
  constructor(kn) {
    super();
    this.fc1 = new nn.Linear(kn, 784, 256);
    this.fc2 = new nn.Linear(kn, 256, 10);
  }

  forward(x) {
    return this.fc2.forward(x.kiln.relu(this.fc1.forward(x.reshape(x.shape[0], 784))));
  }
}

export const MODELS = { cnn: Cnn, mlp: Mlp };

/** The kind of network whose weights these are; null for none of ours. */
export function modelOf(tensors) {
  return Object.keys(tensors).includes('conv1.weight') ? 'cnn' : Object.keys(tensors).includes('fc1.weight') ? 'mlp' : null;
}
