// Gradients and optimisers. States are cells in the library's memory that hold owned tensors, which the library replaces.

export class Gradients {
  constructor(kiln, handle) {
    this.kiln = kiln;
    this.handle = handle;
  }

  /** The gradient of a param as a tensor of its own; null where the loss does not depend on it. */
  get(param) {
    const { exports } = this.kiln.runtime;
    const gradient = exports.kn_grads_get(this.handle, param.handle);
    return gradient === 0n ? null : this.kiln.adopt(exports.kn_alias(gradient));
  }

  dispose() {
    if (this.handle && this.kiln.runtime.exports) this.kiln.runtime.exports.kn_grads_free(this.handle);
    this.handle = 0;
  }
}

class Optimiser {
  constructor(kiln, params, cells) {
    this.kiln = kiln;
    this.params = [...params];
    this.steps = 0;
    this.cells = cells;
    const { runtime } = kiln;
    this.states = this.params.map((param) => {
      const at = runtime.allocate(8 * Math.max(cells, 1));
      for (let i = 0; i < cells; i++) {
        const zeros = kiln.scope(() => runtime.exports.kn_own(runtime.exports.kn_alias(kiln.zeros([...param.shape], param.dtype).handle)));
        runtime.longs[at / 8 + i] = zeros;
      }
      return at;
    });
  }

  /** One update of all params that have a gradient. */
  step(gradients) {
    const { runtime } = this.kiln;
    this.steps++;
    runtime.scratch((take) => {
      const numbers = take(64);
      runtime.reals.set(this.numbers(), numbers / 8);
      this.params.forEach((param, i) => {
        const gradient = runtime.exports.kn_grads_get(gradients.handle, param.handle);
        if (gradient !== 0n) runtime.check(this.update(param.handle, gradient, this.states[i], numbers));
      });
    });
  }

  dispose() {
    const { runtime } = this.kiln;
    for (const at of this.states) {
      for (let i = 0; i < this.cells; i++) runtime.exports.kn_drop(runtime.longs[at / 8 + i]);
      runtime.exports.kjs_free(at);
    }
    this.states = [];
    this.params = [];
  }
}

/** options: lr, momentum, dampening, weightDecay, nesterov. */
export class Sgd extends Optimiser {
  constructor(kiln, params, { lr = 0.01, momentum = 0, dampening = 0, weightDecay = 0, nesterov = false } = {}) {
    super(kiln, params, momentum ? 1 : 0);
    Object.assign(this, { lr, momentum, dampening, weightDecay, nesterov });
  }

  numbers() {
    return [this.lr, this.momentum, this.dampening, this.weightDecay, Number(this.nesterov), Number(this.steps === 1)];
  }

  update(param, gradient, state, numbers) {
    return this.kiln.runtime.exports.kjs_sgd(param, gradient, this.cells ? state : 0, numbers);
  }
}

/** options: lr, beta1, beta2, eps, weightDecay, decoupled. */
export class Adam extends Optimiser {
  constructor(kiln, params, { lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weightDecay = 0, decoupled = false } = {}) {
    super(kiln, params, 2);
    Object.assign(this, { lr, beta1, beta2, eps, weightDecay, decoupled });
  }

  numbers() {
    return [this.lr, this.beta1, this.beta2, this.eps, this.weightDecay, Number(this.decoupled), this.steps];
  }

  update(param, gradient, state, numbers) {
    return this.kiln.runtime.exports.kjs_adam(param, gradient, state, numbers);
  }
}
