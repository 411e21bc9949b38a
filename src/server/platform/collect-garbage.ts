import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

interface CollectOptions {
  readonly type: 'major' | 'minor';
  readonly execution: 'sync';
  readonly flavor?: 'last-resort';
}

let collector: ((options: CollectOptions) => void) | undefined;

function collect(options: CollectOptions): void {
  if (collector === undefined) {
    setFlagsFromString('--expose-gc');
    collector = runInNewContext('gc') as (options: CollectOptions) => void;
  }
  collector(options);
}

/**
 * Gives back what starting up left behind (sources, compiled schemas, half-grown heaps): some 40 MB that an idle process
 * would otherwise keep for hours. Takes a few dozen milliseconds, so it is done once, before there is work.
 */
export function compactMemory(): void {
  // Hidden classes without instances are collected too. That of an entry of process.nextTick must be kept: the code that makes
  // them would not be optimized for it again, and every tick would cost six times as much from then on.
  process.nextTick(() => {});
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/**
 * Collects what was made lately, in a few milliseconds: buffers and texts of many megabytes that are no longer used. The
 * engine counts them by the few bytes their handles have, and would let hundreds of megabytes pile up.
 */
export function collectYoungGarbage(): void {
  collect({ type: 'minor', execution: 'sync' });
}
