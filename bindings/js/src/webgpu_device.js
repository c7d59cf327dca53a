// The worker that owns a WebGPU device and does what webgpu.js sends it, in order.

const BOX_HEAD = 8;
const THERE = 1;
const FAILED = 2;
const TROUBLE_ERROR = 1;
const TROUBLE_LOST = 2;
// What is asked of the adapter beyond the least of the standard.
const WANTED = ['maxStorageBuffersPerShaderStage', 'maxComputeWorkgroupStorageSize', 'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX', 'maxComputeWorkgroupsPerDimension', 'maxUniformBufferBindingSize', 'maxStorageBufferBindingSize',
  'maxBufferSize', 'minUniformBufferOffsetAlignment'];

let device = null;
let encoder = null;
let pass = null;
let trouble = null; // a box: what went wrong and was not told yet
const objects = new Map(); // buffers and pipelines by their numbers
let doomed = []; // buffers that go with the next submission

function fill(box, state, bytes) {
  const room = box.buffer.byteLength - BOX_HEAD;
  const part = bytes.subarray(0, room);
  new Uint8Array(box.buffer, BOX_HEAD).set(part);
  box[1] = part.length;
  Atomics.store(box, 0, state);
  Atomics.notify(box, 0);
}

const tell = (box, state, text) => fill(box, state, new TextEncoder().encode(text));

function note(state, text) {
  if (Atomics.load(trouble, 0) === 0) tell(trouble, state, text);
  else Atomics.or(trouble, 0, state);
}

async function openDevice() {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw new Error('the browser has no adapter for WebGPU');
  const requiredLimits = Object.fromEntries(WANTED.map((name) => [name, adapter.limits[name]]));
  const made = await adapter.requestDevice({ requiredLimits });
  made.onuncapturederror = ({ error }) => note(TROUBLE_ERROR, error.message);
  made.lost.then(({ reason, message }) => {
    if (reason !== 'destroyed') note(TROUBLE_LOST, `the device is lost: ${message || reason}`);
  });
  device = made;
  pass = null;
  encoder = null;
  doomed = [];
  Atomics.store(trouble, 0, 0);
  const { vendor, architecture, description } = adapter.info ?? {};
  const name = description || [vendor, architecture].filter(Boolean).join(' ') || 'a GPU';
  return { description: `${name} (WebGPU of the browser)`, limits: Object.fromEntries(WANTED.map((limit) => [limit, made.limits[limit]])) };
}

function endPass() {
  pass?.end();
  pass = null;
}

function recorder() {
  encoder ??= device.createCommandEncoder();
  return encoder;
}

function submit() {
  endPass();
  if (encoder) device.queue.submit([encoder.finish()]);
  encoder = null;
  for (const buffer of doomed) buffer.destroy();
  doomed = [];
}

function makePipeline({ code, entry, access, width }) {
  const module = device.createShaderModule({ code, label: entry });
  const entries = Array.from(access, (kind, binding) => ({
    binding, visibility: GPUShaderStage.COMPUTE, buffer: { type: kind === 'r' ? 'read-only-storage' : 'storage' },
  }));
  entries.push({ binding: access.length, visibility: GPUShaderStage.COMPUTE, buffer: { type: 'uniform', hasDynamicOffset: true } });
  const group = device.createBindGroupLayout({ entries });
  const layout = device.createPipelineLayout({ bindGroupLayouts: [group] });
  const constants = width ? { width } : {};
  return { group, pipeline: device.createComputePipeline({ label: entry, layout, compute: { module, entryPoint: entry, constants } }) };
}

const commands = {
  begin(box) {
    trouble = box;
    openDevice().then((about) => postMessage({ about }), (error) => postMessage({ missing: error.message }));
  },
  open(box) {
    openDevice().then((about) => tell(box, THERE, JSON.stringify(about)), (error) => tell(box, FAILED, error.message));
  },
  close() {
    pass = null;
    encoder = null;
    doomed = [];
    objects.clear();
    device?.destroy();
    device = null;
  },
  buffer(id, size, numbers) {
    const usage = GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST | (numbers ? GPUBufferUsage.UNIFORM : GPUBufferUsage.STORAGE);
    objects.set(id, device.createBuffer({ size, usage }));
  },
  free(id) {
    const object = objects.get(id);
    objects.delete(id);
    if (object instanceof GPUBuffer) doomed.push(object);
  },
  write: (to, offset, data) => device.queue.writeBuffer(objects.get(to), offset, data),
  copy(from, fromOffset, to, toOffset, bytes) {
    endPass();
    recorder().copyBufferToBuffer(objects.get(from), fromOffset, objects.get(to), toOffset, bytes);
  },
  clear(id, offset, bytes) {
    endPass();
    recorder().clearBuffer(objects.get(id), offset, bytes);
  },
  // A refusal is told once: to whoever waits for it, else with the next reading.
  pipeline(id, text, waits, box) {
    let told;
    device.pushErrorScope('internal');
    device.pushErrorScope('validation');
    try {
      objects.set(id, makePipeline(text));
    } finally {
      told = Promise.all([device.popErrorScope(), device.popErrorScope()]);
    }
    told.then(([validation, internal]) => {
      const error = validation ?? internal;
      if (error && !waits) note(TROUBLE_ERROR, error.message);
      tell(box, error ? FAILED : THERE, error?.message ?? '');
    }, (error) => tell(box, FAILED, error.message));
  },
  dispatch(id, buffers, numbers, offset, size, groups) {
    const { group, pipeline } = objects.get(id);
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer: objects.get(buffer) } }));
    entries.push({ binding: buffers.length, resource: { buffer: objects.get(numbers), size } });
    pass ??= recorder().beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout: group, entries }), [offset]);
    pass.dispatchWorkgroups(...groups);
  },
  submit,
  done(box) {
    submit();
    device.queue.onSubmittedWorkDone().then(() => tell(box, THERE, ''), (error) => tell(box, FAILED, error.message));
  },
  read(from, offset, bytes, box) {
    const buffer = device.createBuffer({ size: bytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    endPass();
    recorder().copyBufferToBuffer(objects.get(from), offset, buffer, 0, bytes);
    submit();
    buffer.mapAsync(GPUMapMode.READ).then(() => {
      fill(box, THERE, new Uint8Array(buffer.getMappedRange()));
      buffer.destroy();
    }).catch((error) => {
      note(TROUBLE_ERROR, `reading failed: ${error.message}`);
      fill(box, FAILED, new Uint8Array());
    });
  },
};

globalThis.onmessage = ({ data }) => {
  for (const [name, ...operands] of data) {
    try {
      commands[name](...operands);
    } catch (error) {
      // Whoever waits for the answer must not wait for ever, and hears of it alone.
      const box = operands.at(-1);
      if (box instanceof Int32Array && name !== 'write') tell(box, FAILED, error.message);
      if (!(name === 'pipeline' && operands[2])) note(TROUBLE_ERROR, error.message);
    }
  }
};
