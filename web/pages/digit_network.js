// The network of `make demo`: two convolutions, each halved by a max pool, then two linear layers.

const MEAN = 0.1307;
const DEVIATION = 0.3081;
const CONV = { stride: [1, 1], padding: [0, 0], paddingEnd: [0, 0], dilation: [1, 1], groups: 1 };
const POOL = { axes: 2, window: [2, 2], stride: [2, 2], padding: [0, 0], paddingEnd: [0, 0], dilation: [1, 1] };

export class DigitNetwork {
  /** weights: the tensors of the file, of any float dtype. */
  constructor(kn, weights) {
    this.kn = kn;
    this.weights = Object.fromEntries(Object.entries(weights).map(([name, tensor]) => [name, kn.cast(tensor, { dtype: 'f32' })]));
    for (const tensor of Object.values(weights)) tensor.dispose();
  }

  #layer(x, name) {
    const { kn, weights } = this;
    const [weight, bias] = [weights[`${name}.weight`], weights[`${name}.bias`]];
    return name.startsWith('conv') ? kn.relu(kn.maxPool(kn.conv(x, weight, bias, CONV), POOL)[0]) : kn.linear(x, weight, bias);
  }

  /** The chance of each digit for an image of 28 by 28 numbers from 0 to 1. */
  async chances(image) {
    const { kn } = this;
    const result = kn.scope(() => {
      let x = kn.div(kn.sub(kn.tensor(image, [1, 1, 28, 28]), MEAN), DEVIATION);
      x = this.#layer(this.#layer(x, 'conv1'), 'conv2');
      x = kn.relu(this.#layer(x.reshape(1, 512), 'fc1'));
      return kn.softmax(this.#layer(x, 'fc2'), { axis: 1 });
    });
    try {
      return await result.data();
    } finally {
      result.dispose();
    }
  }
}
