// ONNX models: what they take and give, and running them.

import { KilnError } from './runtime.js';
import { NAMES, Tensor } from './tensor.js';

const KINDS = ['nothing', 'tensor', 'strings', 'sequence', 'optional', 'map'];
const MAX_RANK = 8;

export class OnnxModel {
  constructor(kiln, bytes) {
    const { runtime } = kiln;
    this.kiln = kiln;
    this.data = runtime.give(bytes); // the model's weights lie there
    this.handle = runtime.exports.kjs_onnx_load(this.data, bytes.byteLength);
    if (!this.handle) {
      const error = runtime.error();
      runtime.exports.kjs_free(this.data);
      throw error;
    }
    this.inputs = this.#ports(0, runtime.exports.kn_onnx_inputs(this.handle));
    this.outputs = this.#ports(1, runtime.exports.kn_onnx_outputs(this.handle));
  }

  #ports(output, count) {
    return Array.from({ length: count }, (_, i) => this.#port(output, i));
  }

  #port(output, i) {
    const { runtime } = this.kiln;
    return runtime.scratch((take) => {
      const [numbers, sizes, names, texts] = [take(16), take(8 * MAX_RANK), take(4 * MAX_RANK), take(12)];
      runtime.check(runtime.exports.kjs_onnx_port(this.handle, output, i, numbers, sizes, names, texts));
      const [kind, dtype, rank, hasDefault] = runtime.words.subarray(numbers / 4, numbers / 4 + 4);
      const text = (at) => runtime.text(runtime.words[at / 4] >>> 0);
      const shape = rank < 0 ? null : Array.from({ length: rank }, (_, axis) => {
        const size = Number(runtime.longs[sizes / 8 + axis]);
        return size >= 0 ? size : text(names + 4 * axis) ?? '?';
      });
      return { name: text(texts), kind: KINDS[kind] ?? 'other', dtype: NAMES[dtype] ?? null, shape, type: text(texts + 4),
        shapeText: text(texts + 8), hasDefault: Boolean(hasDefault) };
    });
  }

  /** What is in the model, as text. */
  inspect() {
    const { runtime } = this.kiln;
    return runtime.longText((at, bytes) => runtime.exports.kn_onnx_inspect(this.handle, at, bytes));
  }

  /** Runs it. inputs: tensors by their names, or in order; the answer is an object of tensors by the outputs' names. */
  run(inputs) {
    const { runtime } = this.kiln;
    const list = Array.isArray(inputs) ? inputs : this.#inOrder(inputs);
    return runtime.scratch((take) => {
      const into = take(8 * Math.max(list.length, 1));
      const out = take(8 * this.outputs.length);
      list.forEach((tensor, i) => { runtime.longs[into / 8 + i] = tensor ? tensor.handle : 0n; });
      runtime.check(runtime.exports.kn_onnx_run(this.handle, into, list.length, out, this.outputs.length));
      const handles = Array.from(runtime.longs.subarray(out / 8, out / 8 + this.outputs.length));
      return Object.fromEntries(handles.map((handle, i) => [this.outputs[i].name, handle === 0n ? null : this.kiln.adopt(handle)]));
    });
  }

  #inOrder(inputs) {
    for (const name of Object.keys(inputs))
      if (!this.inputs.some((port) => port.name === name))
        throw new KilnError(`the model has no input '${name}'; it has ${this.inputs.map((port) => port.name).join(', ')}`);
    return this.inputs.map((port) => {
      const tensor = inputs[port.name];
      if (tensor && !(tensor instanceof Tensor)) throw new KilnError(`the input '${port.name}' is no tensor`);
      if (!tensor && !port.hasDefault && port.kind !== 'optional') throw new KilnError(`the input '${port.name}' is missing`);
      return tensor;
    });
  }

  dispose() {
    const { exports } = this.kiln.runtime;
    if (!this.handle || !exports) return;
    exports.kn_onnx_free(this.handle);
    exports.kjs_free(this.data);
    this.handle = 0;
  }
}
