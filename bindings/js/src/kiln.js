// Kiln in JavaScript: `const kn = await kiln()` loads the library, its methods make tensors and run ops on them.

import { Ops } from './ops.js';
import { DTYPES, NAMES, Param, Tensor, dtypeOf } from './tensor.js';
import { KilnError, Runtime, canShareMemory, isNode } from './runtime.js';
import { Gradients, Sgd, Adam } from './training.js';
import { loadTensors, saveTensors } from './safetensors.js';
import { OnnxModel } from './onnx.js';
import { Kernel } from './kernel.js';
import * as nn from './nn.js';

export { KilnError, Tensor, Param, OnnxModel, Kernel, Gradients, nn, canShareMemory };

const ATTRIBUTE_BYTES = 96; // of a kn_attribute_value: name, integer, real, list
const READING_BYTES = 64; // of a kn_reading
const MAX_RANK = 8;
const MAX_OPERANDS = 4096;

function chooseThreads(threads) {
  if (!canShareMemory()) return 1;
  if (threads === undefined || threads === 'auto') return Math.max(1, Math.min(isNode ? 4 : navigator.hardwareConcurrency || 1, 16));
  if (!Number.isInteger(threads) || threads < 1 || threads > 64) throw new KilnError(`threads is a number from 1 to 64, not ${threads}`);
  return threads;
}

/** Loads the library. options: threads (a number, or 'auto'), device ('autodiff(cpu)'), build ('full' or 'small'), wasm (a URL of your
    own or bytes), gpu (false: WebGPU is left alone), seed, log. */
export async function kiln(options = {}) {
  const threads = options.build === 'small' ? 1 : chooseThreads(options.threads);
  const file = options.build === 'small' ? 'kiln-small.wasm' : threads > 1 ? 'kiln-threads.wasm' : 'kiln.wasm';
  const wasm = options.wasm ?? new URL(`../wasm/${file}`, import.meta.url);
  const runtime = await Runtime.load({ ...options, wasm, threads });
  const kn = new Kiln(runtime);
  try {
    kn.use(options.device ?? (options.build === 'small' ? 'cpu' : 'autodiff(cpu)'));
    if (options.seed !== undefined) kn.seed(options.seed);
  } catch (error) {
    kn.end();
    throw error;
  }
  return kn;
}

export class Kiln extends Ops {
  constructor(runtime) {
    super();
    this.runtime = runtime;
    this.scopes = [];
    this.devices = new Map();
    this.names = new Map(); // texts of ops and attributes, which the library has kept
  }

  get version() { return this.runtime.text(this.runtime.exports.kn_version()); }
  get threads() { return this.runtime.workers.length + 1; }
  get bytes() { return this.runtime.memory.buffer.byteLength; }
  /** What the device 'webgpu:0' is, and null where the browser gives none; webgpuMissing says why. */
  get webgpu() { return this.runtime.gpu?.about?.description ?? null; }
  get webgpuMissing() { return this.webgpu ? null : this.runtime.gpu?.missing ?? 'the library was loaded without it'; }

  /** Ends the library and its threads; nothing of it can be used afterwards. */
  end() {
    this.runtime.end();
  }

  // ---- devices

  /** New tensors are made on this device: 'cpu', 'autodiff(cpu)', 'autodiff(fusion(cpu))' ... */
  use(name) {
    const { exports } = this.runtime;
    let device = this.devices.get(name);
    if (!device) {
      device = exports.kn_device_open
        ? this.runtime.scratch((take) => exports.kn_device_open(this.runtime.writeText(take, name)))
        : name === 'cpu' ? exports.kn_device_cpu() : 0;
      if (!device && !exports.kn_device_open) throw new KilnError(`the small build has the device 'cpu' alone, not '${name}'`, 'DEVICE');
      if (!device) throw this.runtime.error();
      this.devices.set(name, device);
    }
    exports.kn_device_use(device);
    this.device = name;
  }

  /** The names that use() understands. */
  deviceNames() {
    const names = [];
    if (!this.runtime.exports.kn_device_enumerate) return ['cpu'];
    this.runtime.scratch((take) => {
      const at = take(64);
      for (let i = 0; this.runtime.exports.kn_device_enumerate(i, at, 64); i++) names.push(this.runtime.text(at));
    });
    return names;
  }

  /** Random numbers of the current device begin anew. */
  seed(seed) {
    this.runtime.exports.kn_seed(this.devices.get(this.device), BigInt.asUintN(64, BigInt(seed)));
  }

  // ---- tensors

  /** A tensor of numbers, nested arrays, or a typed array with a shape. */
  tensor(data, shape, dtype) {
    if (typeof shape === 'string') [shape, dtype] = [undefined, shape];
    const isFlat = ArrayBuffer.isView(data);
    const sizes = shape ?? (isFlat ? [data.length] : shapeOf(data));
    const numbers = isFlat ? data : flatten(data, sizes);
    const from = isFlat ? dtypeOf(data) : dtype && !DTYPES[dtype]?.cast && DTYPES[dtype] ? dtype : 'f32';
    if (dtype !== undefined && !DTYPES[dtype]) throw new KilnError(`there is no dtype '${dtype}'; there are ${Object.keys(DTYPES).join(', ')}`, 'DTYPE');
    const elements = isFlat ? data : toArray(DTYPES[from].array, numbers);
    const count = sizes.reduce((product, n) => product * n, 1);
    if (sizes.length > MAX_RANK || sizes.some((n) => !Number.isInteger(n) || n < 0) || count !== elements.length)
      throw new KilnError(`${elements.length} elements do not fill the shape [${sizes.join(', ')}]`, 'SHAPE');
    const made = this.#make(elements, DTYPES[from].code, sizes);
    if (dtype === undefined || dtype === from) return made;
    const cast = this.cast(made, { dtype });
    made.dispose();
    return cast;
  }

  #make(elements, code, sizes) {
    const { runtime } = this;
    const data = runtime.give(elements);
    try {
      return runtime.scratch((take) => {
        const dims = take(8 * MAX_RANK);
        runtime.longs.set(sizes.map(BigInt), dims / 8);
        return this.adopt(runtime.exports.kjs_from(data, code, sizes.length, dims));
      });
    } finally {
      runtime.exports.kjs_free(data);
    }
  }

  zeros(shape, dtype = 'f32') { return this.full({ shape, dtype, value: 0 }); }
  ones(shape, dtype = 'f32') { return this.full({ shape, dtype, value: 1, whole: 1 }); }

  /** Numbers between low and high, drawn by the device. */
  random(shape, low = 0, high = 1, dtype = 'f32') { return this.randomUniform({ shape, dtype, low, high, top: high }); }

  /** A value that trains, in place of the tensor, which is disposed of. */
  param(tensor) {
    const handle = this.#own(this.runtime.exports.kn_param_make(this.runtime.exports.kn_alias(tensor.handle)), false);
    const param = new Param(this, handle);
    tensor.dispose();
    return param; // of no scope: its module disposes of it
  }

  // Gives a temporary of the library to JavaScript, in the scope that is open.
  adopt(handle) {
    const tensor = new Tensor(this, this.#own(handle, true));
    this.scopes.at(-1)?.push(tensor);
    return tensor;
  }

  #own(handle, own) {
    const bits = BigInt.asUintN(64, handle);
    if (bits === 0n || bits >> 63n) throw this.runtime.error(this.runtime.exports.kn_error_code(handle));
    return own ? this.runtime.exports.kn_own(handle) : handle;
  }

  /** What body makes is disposed of at its end, but for what it returns: a tensor, or an array or object of tensors. An async body
      keeps its scope open until it ends, so no other scope may begin meanwhile. */
  scope(body) {
    const made = [];
    this.scopes.push(made);
    const end = (result) => {
      const index = this.scopes.indexOf(made);
      if (index >= 0) this.scopes.splice(index, 1);
      const kept = new Set(tensorsIn(result));
      for (const tensor of made) if (!kept.has(tensor)) tensor.dispose();
      for (const tensor of kept) if (made.includes(tensor)) this.scopes.at(-1)?.push(tensor);
      return result;
    };
    let result;
    try {
      result = body();
    } catch (error) {
      end();
      throw error;
    }
    if (typeof result?.then !== 'function') return end(result);
    return result.then(end, (error) => {
      end();
      throw error;
    });
  }

  // The one place that reads: asynchronous, because devices of a page cannot be waited for.
  async read(tensor) {
    const { runtime } = this;
    const { cast, array: Type } = DTYPES[tensor.dtype] ?? {};
    if (!Type) throw new KilnError(`elements of the dtype of ${tensor} cannot be read; cast it first`, 'DTYPE');
    if (cast) {
      const wide = this.cast(tensor, { dtype: cast });
      try {
        return await this.read(wide);
      } finally {
        wide.dispose();
      }
    }
    const bytes = Number(runtime.exports.kjs_bytes(tensor.handle));
    const reading = runtime.allocate(READING_BYTES + bytes);
    const at = reading + READING_BYTES;
    try {
      runtime.check(runtime.exports.kjs_read(tensor.handle, at, bytes, reading));
      for (let ready; (ready = runtime.exports.kjs_read_ready(reading)) !== 1;) {
        if (ready < 0) throw runtime.error(-ready);
        await new Promise((resolve) => setTimeout(resolve)); // the device's turn
      }
      return new Type(runtime.bytes.slice(at, at + bytes).buffer, 0, bytes / Type.BYTES_PER_ELEMENT);
    } finally {
      runtime.exports?.kjs_free(reading); // the library may have ended meanwhile
    }
  }

  // ---- ops

  #name(text) {
    let at = this.names.get(text);
    if (!at) {
      at = this.runtime.give(new TextEncoder().encode(`${text}\0`));
      this.names.set(text, at);
    }
    return at;
  }

  // Numbers are tensors of rank 0 of the dtype that the first tensor has; the library takes them.
  #operand(value, like) {
    if (value === undefined || value === null) return 0n;
    if (value instanceof Tensor) return value.handle;
    if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'boolean')
      throw new KilnError(`an operand is a tensor or a number, not ${value}`);
    const dtype = like && (typeof value !== 'number' || Number.isInteger(value) || /f/.test(like.dtype)) ? like.dtype : 'f32';
    return typeof value === 'bigint'
      ? this.runtime.exports.kn_scalar_int(value, DTYPES[dtype].code)
      : this.runtime.exports.kn_scalar(Number(value), DTYPES[dtype].code);
  }

  #writeAttributes(take, schema, values) {
    const { runtime } = this;
    const given = Object.entries(values ?? {}).filter(([, value]) => value !== undefined);
    const list = take(ATTRIBUTE_BYTES * (given.length + 1));
    runtime.bytes.fill(0, list, list + ATTRIBUTE_BYTES * (given.length + 1));
    given.forEach(([key, value], i) => {
      const word = schema?.[key];
      if (!word) throw new KilnError(`there is no attribute '${key}'; there is ${Object.keys(schema ?? {}).join(', ') || 'none'}`);
      const at = list + ATTRIBUTE_BYTES * i;
      runtime.words[at / 4] = this.#name(word.slice(1));
      if (word[0] === 'r') runtime.reals[at / 8 + 2] = Number(value);
      else if (word[0] === 'l') {
        const items = Array.from(value);
        if (items.length > MAX_RANK) throw new KilnError(`the list '${key}' has ${items.length} numbers; at most ${MAX_RANK}`);
        runtime.words[at / 4 + 6] = items.length;
        runtime.longs.set(items.map(BigInt), at / 8 + 4);
      } else runtime.longs[at / 8 + 1] = word[0] === 'd' ? BigInt(codeOf(value)) : BigInt(value);
    });
    return list;
  }

  /** Runs a row of the op table; the generated methods call it. */
  call(op, results, operands, schema, attributes) {
    const { runtime } = this;
    if (operands.length > MAX_OPERANDS) throw new KilnError(`${op} was given ${operands.length} operands; at most ${MAX_OPERANDS}`);
    while (operands.length && operands.at(-1) === undefined) operands.pop();
    const like = operands.find((value) => value instanceof Tensor);
    return runtime.scratch((take) => {
      const list = this.#writeAttributes(take, schema, attributes);
      const name = this.#name(op);
      const into = take(8 * Math.max(operands.length, 1));
      const out = take(8 * results);
      operands.forEach((value, i) => {
        const handle = this.#operand(value, like);
        runtime.longs[into / 8 + i] = handle;
      });
      const status = runtime.exports.kn_call(name, into, operands.length, list, out, results);
      const handles = Array.from(runtime.longs.subarray(out / 8, out / 8 + results));
      runtime.check(status);
      const tensors = handles.map((handle) => this.adopt(handle));
      return results === 1 ? tensors[0] : tensors;
    });
  }

  // ---- training

  /** Gradients of all params that a loss of one element depends on; dispose of them. */
  backward(loss) {
    const grads = this.runtime.exports.kjs_backward(loss.handle);
    if (!grads) throw this.runtime.error();
    return new Gradients(this, grads);
  }

  /** Runs body without recording for gradients. */
  noGrad(body) {
    this.runtime.exports.kn_no_grad_begin?.();
    try {
      return body();
    } finally {
      this.runtime.exports.kn_no_grad_end?.();
    }
  }

  sgd(params, options) { return new Sgd(this, params, options); }
  adam(params, options) { return new Adam(this, params, options); }
  adamw(params, options) { return new Adam(this, params, { weightDecay: 0.01, decoupled: true, ...options }); }

  // ---- files, models, kernels

  /** The tensors of a file of weights (safetensors, PyTorch, .npz) as an object by their names. */
  load(bytes) { return loadTensors(this, bytes); }
  /** The bytes of a safetensors file. */
  save(tensors) { return saveTensors(this, tensors); }
  /** An ONNX model of its bytes. */
  onnx(bytes) { return new OnnxModel(this, bytes); }
  /** A kernel of your own, in the kernel language (docs/kernel-language.md). */
  kernel(source) { return new Kernel(this, source); }
  /** The languages that a kernel can be printed in. */
  kernelTargets() {
    const names = [];
    for (let i = 0, at; (at = this.runtime.exports.kn_kernel_target(i)); i++) names.push(this.runtime.text(at));
    return names;
  }
}

function codeOf(dtype) {
  if (!DTYPES[dtype]) throw new KilnError(`there is no dtype '${dtype}'; there are ${Object.keys(DTYPES).join(', ')}`, 'DTYPE');
  return DTYPES[dtype].code;
}

function* tensorsIn(value) {
  if (value instanceof Tensor) yield value;
  else if (Array.isArray(value)) for (const item of value) yield* tensorsIn(item);
  else if (value && Object.getPrototypeOf(value) === Object.prototype) for (const item of Object.values(value)) yield* tensorsIn(item);
}

function shapeOf(data) {
  const shape = [];
  for (let level = data; Array.isArray(level); level = level[0]) shape.push(level.length);
  return shape;
}

function flatten(data, shape) {
  const flat = [];
  const walk = (level, axis) => {
    if (!Array.isArray(level)) {
      if (axis !== shape.length) throw new KilnError('nested arrays differ in their lengths', 'SHAPE');
      flat.push(level);
      return;
    }
    if (level.length !== shape[axis]) throw new KilnError('nested arrays differ in their lengths', 'SHAPE');
    for (const item of level) walk(item, axis + 1);
  };
  if (Array.isArray(data) && shape.length && !shapeOf(data).slice(1).length) return data;
  walk(data, 0);
  return flat;
}

function toArray(Type, numbers) {
  return Type === BigInt64Array || Type === BigUint64Array ? Type.from(numbers, BigInt) : Type.from(numbers, Number);
}

export { NAMES as dtypeNames };
