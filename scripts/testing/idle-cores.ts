import { cpus } from 'node:os';

/** Returns a function that tells how many cores of the machine were idle on average since its previous call. */
export function idleCores(): () => number {
  let before = sumTimes();
  return () => {
    const now = sumTimes();
    const [idle, all] = [now.idle - before.idle, now.all - before.all];
    before = now;
    return all === 0 ? 0 : (idle / all) * cpus().length;
  };
}

function sumTimes(): { readonly idle: number; readonly all: number } {
  let [idle, all] = [0, 0];
  for (const { times } of cpus()) {
    idle += times.idle;
    all += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return { idle, all };
}
