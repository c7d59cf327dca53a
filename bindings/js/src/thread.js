// A thread of the library: joins its team and stays.

async function begin({ module, memory, stack, locals }, tell) {
  const nothing = () => 52;
  const none = new Proxy({}, { get: () => nothing });
  const imports = { env: { memory }, wasi_snapshot_preview1: none, webgpu: none };
  const { exports } = await WebAssembly.instantiate(module, imports);
  exports.__stack_pointer.value = stack;
  exports.__wasm_init_tls(locals);
  tell();
  exports.kni_team_member(); // does not return
}

if (typeof process !== 'undefined' && process.versions?.node) {
  const { parentPort } = await import('node:worker_threads');
  parentPort.once('message', (message) => begin(message, () => parentPort.postMessage('ready')));
} else {
  globalThis.onmessage = ({ data }) => begin(data, () => globalThis.postMessage('ready'));
}
