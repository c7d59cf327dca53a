// One running copy of the library: its memory, its exports, texts and lists that go in and out, and its threads.

import { wasiImports } from './wasi.js';
import { startThreads } from './threads.js';
import { Gpu, webgpuImports } from './webgpu.js';

const STACK_OF_A_THREAD = 1 << 18;
const PAGE = 1 << 16;

/** What the library refuses. `code` is its status: 'ARGUMENT', 'SHAPE', 'MEMORY' ... */
export class KilnError extends Error {
  constructor(message, code = 'ARGUMENT') {
    super(message);
    this.name = 'KilnError';
    this.code = code;
  }
}

const CODES = ['OK', 'ARGUMENT', 'SHAPE', 'DTYPE', 'HANDLE', 'MEMORY', 'DEVICE', 'INDEX', 'UNSUPPORTED', 'GRADIENT', 'INTERNAL',
  'IO', 'NUMERIC'];

export const isNode = typeof process !== 'undefined' && Boolean(process.versions?.node);

async function bytesOf(source) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
  const url = new URL(source, import.meta.url);
  if (isNode && url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises');
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new KilnError(`${url.pathname} could not be loaded: ${response.status} ${response.statusText}`, 'IO');
  return response.arrayBuffer();
}

/** Whether threads can share memory here: in node always, in pages with the headers COOP and COEP. */
export function canShareMemory() {
  return typeof SharedArrayBuffer !== 'undefined' && (isNode || globalThis.crossOriginIsolated === true);
}

let sleeps;

/** Whether this thread may wait: that of a page may not; workers and node may. */
export function maySleep() {
  try {
    sleeps ??= Boolean(Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0));
  } catch {
    sleeps = false;
  }
  return sleeps;
}

export class Runtime {
  static async load({ wasm, threads = 1, memory: limit = 2 ** 31, environment = {}, log = console.warn, gpu = !isNode }) {
    const module = await WebAssembly.compile(await bytesOf(wasm));
    const wanted = WebAssembly.Module.imports(module);
    const takesGpu = wanted.some((entry) => entry.module === 'webgpu');
    const shared = wanted.some((entry) => entry.module === 'env' && entry.name === 'memory');
    const runtime = new Runtime();
    runtime.memory = shared ? new WebAssembly.Memory({ initial: 512, maximum: limit / PAGE, shared: true }) : null;
    runtime.gpu = takesGpu && gpu ? await Gpu.start() : null;
    runtime.imports = {
      env: { memory: runtime.memory },
      wasi_snapshot_preview1: wasiImports(module, runtime, environment, log),
      webgpu: takesGpu ? webgpuImports(runtime, runtime.gpu) : {},
    };
    const instance = await WebAssembly.instantiate(module, runtime.imports);
    runtime.exports = instance.exports;
    runtime.memory ??= instance.exports.memory;
    runtime.exports._initialize();
    runtime.scratchSize = 1 << 16;
    runtime.scratchBase = runtime.exports.kjs_allocate(runtime.scratchSize);
    if (!runtime.scratchBase) throw new KilnError('there is no memory for the library', 'MEMORY');
    runtime.scratchTop = runtime.scratchBase;
    if (shared && maySleep()) runtime.exports.kni_allow_sleep();
    runtime.workers = shared && threads > 1 ? await startThreads(runtime, module, threads - 1, STACK_OF_A_THREAD) : [];
    return runtime;
  }

  // Memory may have grown since the last call, which makes older views useless.
  view(Type) {
    const views = (this.views ??= new Map());
    let view = views.get(Type);
    if (!view || view.buffer !== this.memory.buffer) views.set(Type, (view = new Type(this.memory.buffer)));
    return view;
  }

  get bytes() { return this.view(Uint8Array); }
  get words() { return this.view(Int32Array); }
  get longs() { return this.view(BigInt64Array); }
  get reals() { return this.view(Float64Array); }

  /** Runs body(take), where take(bytes) gives memory, at a multiple of 8, that ends with the body. */
  scratch(body) {
    const top = this.scratchTop;
    const blocks = [];
    const take = (size) => {
      const at = (this.scratchTop + 7) & ~7;
      if (at + size <= this.scratchBase + this.scratchSize) {
        this.scratchTop = at + size;
        return at;
      }
      const block = this.allocate(size);
      blocks.push(block);
      return block;
    };
    try {
      return body(take);
    } finally {
      this.scratchTop = top;
      for (const block of blocks) this.exports.kjs_free(block);
    }
  }

  allocate(size) {
    const at = this.exports.kjs_allocate(size) >>> 0;
    if (!at) throw new KilnError(`there is no memory for ${size} bytes`, 'MEMORY');
    return at;
  }

  /** Copies bytes into memory of the library's; free it with exports.kjs_free. */
  give(data) {
    const bytes = data instanceof ArrayBuffer || (typeof SharedArrayBuffer !== 'undefined' && data instanceof SharedArrayBuffer)
      ? new Uint8Array(data)
      : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    const at = this.allocate(Math.max(bytes.length, 1));
    this.bytes.set(bytes, at);
    return at;
  }

  writeText(take, text) {
    const bytes = new TextEncoder().encode(`${text}\0`);
    const at = take(bytes.length);
    this.bytes.set(bytes, at);
    return at;
  }

  text(at) {
    if (!at) return null;
    const bytes = this.bytes;
    let end = at;
    while (bytes[end]) end++;
    return new TextDecoder().decode(bytes.slice(at, end));
  }

  /** The text of a function that is called as snprintf is: call(buffer, bytes) returns the length. */
  longText(call) {
    const length = Number(call(0, 0));
    if (length < 0) throw this.error();
    return this.scratch((take) => {
      const at = take(length + 1);
      call(at, length + 1);
      return this.text(at);
    });
  }

  error(code) {
    const text = this.text(this.exports.kn_last_error()) || 'the library told no reason';
    return new KilnError(text, CODES[code] ?? 'ARGUMENT');
  }

  /** Throws what the status says. */
  check(status) {
    if (status !== 0) throw this.error(status);
  }

  end() {
    for (const worker of this.workers) worker.terminate();
    this.workers = [];
    this.gpu?.end();
    this.exports = null;
  }
}
