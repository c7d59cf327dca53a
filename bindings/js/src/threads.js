// Threads are workers with the same module over the same memory. They are made before the library needs them, since a worker begins only
// when its maker has nothing to do.

import { isNode, KilnError } from './runtime.js';

async function makeWorker(url) {
  if (!isNode) {
    const worker = new Worker(url, { type: 'module' });
    return {
      send: (message) => worker.postMessage(message),
      ready: new Promise((resolve, reject) => {
        worker.onmessage = resolve;
        worker.onerror = (event) => reject(new KilnError(`a thread did not start: ${event.message ?? url}`, 'DEVICE'));
      }),
      terminate: () => worker.terminate(),
    };
  }
  const { Worker: NodeWorker } = await import('node:worker_threads');
  const worker = new NodeWorker(url);
  const ready = new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  return {
    send: (message) => worker.postMessage(message),
    ready: ready.then(() => worker.unref()), // a program may end while they wait
    terminate: () => worker.terminate(),
  };
}

/** Starts so many threads and waits until the library counts them. */
export async function startThreads(runtime, module, count, stackBytes) {
  const { exports } = runtime;
  const url = new URL('./thread.js', import.meta.url);
  const workers = [];
  try {
    for (let i = 0; i < count; i++) {
      const worker = await makeWorker(url);
      workers.push(worker);
      const stack = runtime.allocate(stackBytes);
      const locals = runtime.allocate(exports.__tls_size.value + exports.__tls_align.value);
      worker.send({ module, memory: runtime.memory, stack: stack + stackBytes, locals: alignUp(locals, exports.__tls_align.value) });
    }
    await Promise.all(workers.map((worker) => worker.ready));
    while (exports.kni_team_members() < count) await new Promise((resolve) => setTimeout(resolve, 1));
  } catch (error) {
    for (const worker of workers) worker.terminate();
    throw error;
  }
  return workers;
}

function alignUp(at, alignment) {
  return Math.ceil(at / alignment) * alignment;
}
