import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Preloaded into a server (`node --import`): on SIGUSR2 it writes the longest delay of its event loop since the last time, in ms, to `EVENT_LOOP_DELAY_FILE`. */
const file = process.env.EVENT_LOOP_DELAY_FILE;
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

process.on('SIGUSR2', () => {
  if (file !== undefined) writeFileSync(file, String(delay.max / 1e6));
  delay.reset();
});
