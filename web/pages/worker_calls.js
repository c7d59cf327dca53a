// The worker's side of page.js's Remote: runs the named function and sends its result or its failure.

export function answerCalls(functions) {
  globalThis.onmessage = async ({ data: { call, name, argument } }) => {
    try {
      postMessage({ call, result: await functions[name](argument) });
    } catch (error) {
      // A trap inside the module (no memory for its stack, say) leaves it in no state to go on.
      postMessage({ call, error: error?.message ?? String(error), broken: error instanceof WebAssembly.RuntimeError });
    }
  };
}
