import type { Command } from 'commander';
import { parsePositiveInteger } from './argument-parsers.ts';

/** Options of a command that waits for a video. */
export interface WaitOptions {
  readonly out?: string;
  readonly timeout: number;
  readonly every?: number;
  readonly force?: boolean;
}

/** Adds them. */
export const addWaitOptions = (command: Command): Command =>
  command
    .option('-o, --out <file>', 'save the finished video here')
    .option('--timeout <seconds>', 'longest wait', parsePositiveInteger, 900)
    .option('--every <seconds>', 'between two polls; default: as the service advises, 10 to 30', parsePositiveInteger)
    .option('-f, --force', 'replace the file if it exists');
