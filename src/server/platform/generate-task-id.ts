import { randomText } from './generate-and-hash-tokens.ts';

const BASE62_DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const TIME_LENGTH = 7;

/**
 * A public task id: `task_` and 32 letters and digits, the last 25 of them random (148 bits), not to be guessed or counted.
 * The first seven rise with time, so that new rows of every index by it are stored on the same few index pages: wholly random ones cost a
 * page of the disk each, which was a quarter of the price of a submit.
 */
export function newTaskId(now = Date.now()): string {
  let time = '';
  for (let rest = now; time.length < TIME_LENGTH; rest = Math.floor(rest / BASE62_DIGITS.length))
    time = `${BASE62_DIGITS[rest % BASE62_DIGITS.length]}${time}`;
  return `task_${time}${randomText(32 - TIME_LENGTH)}`;
}
