import { invalidRequest } from '../platform/app-error.ts';
import type { Channel } from './channel-directory-types.ts';

const LARGEST = 1_000_000;

/** Option `max_concurrent_tasks` of a channel: the most unfinished tasks of each of its credentials; undefined: any number. */
export function maxConcurrentTasks({ max_concurrent_tasks: value }: Channel['options']): number | undefined {
  return isBound(value) ? value : undefined;
}

/** @throws AppError `invalid_request` */
export function assertMaxConcurrentTasks({ max_concurrent_tasks: value }: Channel['options']): void {
  if (value !== undefined && !isBound(value))
    throw invalidRequest(
      'options.max_concurrent_tasks must be a whole number from 1 to 1000000.',
      'options.max_concurrent_tasks',
    );
}

const isBound = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= LARGEST;
