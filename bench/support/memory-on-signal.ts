import { getHeapSpaceStatistics } from 'node:v8';

/**
 * Preloaded into a server (`node --expose-gc --import`): on SIGUSR2 runs a full garbage collection and writes the
 * memory still in use, in MB.
 */
const MB = 1_048_576;

process.on('SIGUSR2', () => {
  globalThis.gc?.();
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const spaces = getHeapSpaceStatistics();
  const young = spaces.find(({ space_name }) => space_name === 'new_space')?.physical_space_size ?? 0;
  const compiled = spaces.filter(({ space_name }) => /^(code|trusted)_/.test(space_name));
  const code = compiled.reduce((sum, { space_used_size }) => sum + space_used_size, 0);
  const bytes = { rss, heap: heapUsed, committed: heapTotal, young, external, code };
  const megabytes = Object.fromEntries(Object.entries(bytes).map(([what, size]) => [what, size / MB]));
  process.stderr.write(`memory ${JSON.stringify(megabytes)}\n`);
});
