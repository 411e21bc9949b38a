import { createHash } from 'node:crypto';

/** Chances that follow from a seed and a name alone, so that what befalls one thing does not hang on the order of all others. */
export class SeededRandom {
  readonly #seed: number;
  constructor(seed: number) {
    this.#seed = seed;
  }

  /** A number from 0 to below 1. */
  next(name: string): number {
    return createHash('sha256').update(`${this.#seed} ${name}`).digest().readUInt32BE(0) / 2 ** 32;
  }

  /** One of `choices`. */
  pick<T>(name: string, choices: readonly T[]): T {
    return choices[Math.floor(this.next(`${name} pick`) * choices.length)] as T;
  }
}
