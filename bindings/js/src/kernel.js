// Kernels of the user's own.

import { KilnError } from './runtime.js';
import { NAMES, Tensor } from './tensor.js';

const ROLES = ['in', 'inout', 'out', 'temp', 'number'];
const MAX_RANK = 8;
const SHAPE_BYTES = 72;

export class Kernel {
  constructor(kiln, source) {
    const { runtime } = kiln;
    this.kiln = kiln;
    this.handle = runtime.scratch((take) => runtime.exports.kjs_kernel(runtime.writeText(take, source)));
    if (!this.handle) throw runtime.error();
    this.parameters = [...this.#parameters()];
  }

  *#parameters() {
    const { runtime } = this.kiln;
    for (let i = 0; ; i++) {
      const info = runtime.scratch((take) => {
        const numbers = take(16);
        const name = runtime.text(runtime.exports.kjs_kernel_parameter(this.handle, i, numbers));
        const [role, type, dtype, count] = runtime.words.subarray(numbers / 4, numbers / 4 + 4);
        return name === null ? null : { name, role: ROLES[role], type: String.fromCharCode(type), dtype: NAMES[dtype] ?? null, count };
      });
      if (!info) return;
      yield info;
    }
  }

  /** The source that a target gets; kiln.kernelTargets() names them, 'ir' is Kiln's own form. */
  text(target) {
    const { runtime } = this.kiln;
    return runtime.scratch((take) => {
      const name = runtime.writeText(take, target);
      return runtime.longText((at, bytes) => runtime.exports.kjs_kernel_text(this.handle, name, at, bytes));
    });
  }

  /** Runs it. operands: tensors of the `in`, then the `inout` buffers. options: items, numbers (by name, or a list), shapes (of the
      `out` buffers), temps (elements of the `temp` buffers), checked (in the interpreter that finds mistakes). */
  run(operands, { items = 0, numbers = {}, shapes, temps, checked = false } = {}) {
    const { runtime } = this.kiln;
    const of = (role) => this.parameters.filter((p) => p.role === role);
    const outs = of('out').length;
    const results = of('inout').length + outs;
    const values = this.#numbers(numbers);
    return runtime.scratch((take) => {
      const into = take(8 * Math.max(operands.length, 1));
      operands.forEach((tensor, i) => {
        if (!(tensor instanceof Tensor)) throw new KilnError(`operand ${i} is no tensor`);
        runtime.longs[into / 8 + i] = tensor.handle;
      });
      const cells = take(16 * Math.max(values.length, 1));
      values.forEach((value, i) => {
        runtime.reals[cells / 8 + 2 * i] = Number(value);
        runtime.longs[cells / 8 + 2 * i + 1] = BigInt(Math.trunc(Number(value)));
      });
      const out = take(8 * Math.max(results, 1));
      const status = runtime.exports.kjs_kernel_run(this.handle, checked, into, operands.length, BigInt(items), cells, values.length,
        shapes ? this.#shapes(take, shapes, outs) : 0, temps ? this.#longs(take, temps) : 0, out, results);
      const handles = Array.from(runtime.longs.subarray(out / 8, out / 8 + results));
      runtime.check(status);
      return handles.map((handle) => this.kiln.adopt(handle));
    });
  }

  #numbers(given) {
    const declared = this.parameters.filter((p) => p.role === 'number');
    if (Array.isArray(given)) return given;
    return declared.flatMap(({ name, count }) => {
      if (given[name] === undefined) throw new KilnError(`the number '${name}' is missing`);
      const values = count ? given[name] : [given[name]];
      if (count && values.length !== count) throw new KilnError(`'${name}' is an array of ${count} numbers`);
      return values;
    });
  }

  #longs(take, list) {
    const at = take(8 * Math.max(list.length, 1));
    this.kiln.runtime.longs.set(list.map(BigInt), at / 8);
    return at;
  }

  #shapes(take, shapes, count) {
    const { runtime } = this.kiln;
    if (shapes.length !== count) throw new KilnError(`${shapes.length} shapes were given for ${count} results`);
    const at = take(SHAPE_BYTES * Math.max(count, 1));
    shapes.forEach((shape, i) => {
      if (shape.length > MAX_RANK) throw new KilnError(`a shape has at most ${MAX_RANK} axes`, 'SHAPE');
      runtime.words[(at + SHAPE_BYTES * i) / 4] = shape.length;
      runtime.longs.set(shape.map(BigInt), (at + SHAPE_BYTES * i) / 8 + 1);
    });
    return at;
  }

  dispose() {
    const { exports } = this.kiln.runtime;
    if (this.handle && exports) exports.kn_kernel_free(this.handle);
    this.handle = 0;
  }
}
