import { createHash } from 'node:crypto';

/**
 * Random choices that depend only on a seed and a name, so that the order of concurrent requests does not affect them.
 */
export class SeededRandom {
  readonly #seed: number;
  constructor(seed: number) {
    this.#seed = seed;
  }

  /** A number from 0 up to, but excluding, 1. */
  next(name: string): number {
    return createHash('sha256').update(`${this.#seed} ${name}`).digest().readUInt32BE(0) / 2 ** 32;
  }

  /** One of `choices`. */
  pick<T>(name: string, choices: readonly T[]): T {
    return choices[Math.floor(this.next(`${name} pick`) * choices.length)] as T;
  }
}
