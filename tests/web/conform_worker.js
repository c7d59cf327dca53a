// kiln conform in a worker of a page: gets the module, the data and the arguments, tells each line.

import { Runtime } from '/kiln/src/runtime.js';
import { wasiImports } from '/kiln/src/wasi.js';
import { Gpu, webgpuImports } from '/kiln/src/webgpu.js';
import { memoryFiles } from '/tests/memory_files.mjs';

async function bytesAt(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

globalThis.onmessage = async ({ data: { names, options, environment } }) => {
  try {
    const files = new Map();
    for (const name of names) files.set(name, await bytesAt(`/repository/${name}`));
    const module = await WebAssembly.compile(await bytesAt('/conform.wasm'));
    const runtime = new Runtime();
    const gpu = await Gpu.start();
    const wasi = wasiImports(module, runtime, environment, (line) => postMessage({ line }));
    const ours = memoryFiles(files, () => runtime.memory, ['kiln', ...options]);
    for (const [name, call] of Object.entries(ours)) if (name in wasi) wasi[name] = call;
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi, webgpu: webgpuImports(runtime, gpu) });
    runtime.memory = instance.exports.memory;
    let status = 0;
    try {
      instance.exports._start();
    } catch (error) {
      const code = /status (\d+)/.exec(error.message);
      if (!code) throw error;
      status = Number(code[1]);
    }
    gpu.end();
    postMessage({ status });
  } catch (error) {
    postMessage({ failed: `${error.message} ${error.stack}` });
  }
};
