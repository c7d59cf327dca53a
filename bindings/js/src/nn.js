// Layers and losses, enough to train: params have PyTorch's names and layouts, as the library's own layers.

import { Param } from './tensor.js';

/** Names its params and modules by the fields that hold them. */
export class Module {
  *named(prefix = '') {
    for (const [field, value] of Object.entries(this)) {
      const items = Array.isArray(value) ? value.map((item, i) => [`${field}.${i}`, item]) : [[field, value]];
      for (const [name, item] of items) {
        if (item instanceof Param) yield [prefix + name, item];
        else if (item instanceof Module) yield* item.named(`${prefix}${name}.`);
      }
    }
  }

  params() { return Array.from(this.named(), ([, param]) => param); }
  /** The params by their names: what save() of the library writes. */
  state() { return Object.fromEntries(this.named()); }

  /** Takes the params from tensors by their names, of any float dtype. Shapes must agree, and none may be missing. */
  load(tensors) {
    const entries = [...this.named()];
    for (const [name, param] of entries) {
      const tensor = Object.hasOwn(tensors, name) ? tensors[name] : undefined;
      if (!tensor) throw new Error(`the file has no tensor '${name}'; it has ${Object.keys(tensors).join(', ') || 'none'}`);
      if (tensor.shape.join() !== param.shape.join())
        throw new Error(`'${name}' has the shape [${tensor.shape}] in the file, [${param.shape}] in the model`);
    }
    for (const [name, param] of entries) param.kiln.scope(() => param.set(tensors[name].cast(param.dtype)));
  }

  dispose() {
    for (const param of this.params()) param.dispose();
  }
}

// Uniform between -bound and bound, as PyTorch's layers begin.
function uniform(kn, shape, bound) {
  return kn.param(kn.scope(() => kn.random(shape, -bound, bound)));
}

export class Linear extends Module {
  constructor(kn, inputs, outputs) {
    super();
    this.weight = uniform(kn, [outputs, inputs], 1 / Math.sqrt(inputs));
    this.bias = uniform(kn, [outputs], 1 / Math.sqrt(inputs));
  }

  forward(x) { return x.kiln.linear(x, this.weight, this.bias); }
}

export class Conv2d extends Module {
  #options;

  constructor(kn, inputs, outputs, size, { stride = 1, padding = 0 } = {}) {
    super();
    const bound = 1 / Math.sqrt(inputs * size * size);
    this.weight = uniform(kn, [outputs, inputs, size, size], bound);
    this.bias = uniform(kn, [outputs], bound);
    this.#options = { stride: [stride, stride], padding: [padding, padding], paddingEnd: [padding, padding], dilation: [1, 1], groups: 1 };
  }

  forward(x) { return x.kiln.conv(x, this.weight, this.bias, this.#options); }
}

/** The largest of each window of the last two axes. */
export function maxPool2d(x, size) {
  const [values, places] = x.kiln.maxPool(x, {
    axes: 2, window: [size, size], stride: [size, size], padding: [0, 0], paddingEnd: [0, 0], dilation: [1, 1],
  });
  places.dispose();
  return values;
}

/** The mean cross entropy of scores [n, classes] and whole-number labels [n]. */
export function crossEntropy(scores, labels) {
  const kn = scores.kiln;
  return kn.scope(() => {
    const [losses, , shares] = kn.crossEntropy(scores, labels, undefined, { ignoreIndex: -100 });
    return kn.div(kn.sum(losses), kn.sum(shares));
  });
}
