/** Preloaded into a server (`node --expose-gc --import`): on SIGUSR2 it collects all garbage and writes what memory is left in use, in MB. */
const MB = 1_048_576;

process.on('SIGUSR2', () => {
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.stderr.write(`memory ${JSON.stringify({ rss: rss / MB, heap: heapUsed / MB, external: external / MB })}\n`);
});
