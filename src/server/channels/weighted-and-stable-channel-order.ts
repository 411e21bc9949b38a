import { hash } from 'node:crypto';

/** A channel's place in the queue. */
export interface Weighted {
  readonly priority: number;
  readonly weight: number;
}

/**
 * Orders by priority, the largest first, and within one priority at random so that each comes first in proportion to its
 * weight (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). Weight 0 comes last.
 *
 * @param random in [0, 1); what says the same of a channel each time gives the same order each time
 */
export function weightedOrder<T extends Weighted>(channels: readonly T[], random: (channel: T) => number): T[] {
  if (channels.length < 2) return [...channels];
  return channels
    .map((channel) => ({ channel, order: -Math.log(1 - random(channel)) / channel.weight }))
    .sort((a, b) => b.channel.priority - a.channel.priority || compare(a.order, b.order))
    .map(({ channel }) => channel);
}

/**
 * A random number that depends only on key and channel, for calls that should use the same channel each time: weighted rendezvous hashing
 * (Thaler and Ravishankar, 1998), so that all processes agree without messages, and an added or removed channel moves only its own calls.
 */
export function stableRandomFor(key: string, id: number | string): number {
  return hash('sha256', `${id}:${key}`, 'buffer').readUInt32BE() / 2 ** 32;
}

/** Weight 0 makes infinity, or 0/0 where the random number was 0. */
const compare = (a: number, b: number): number => (a === b ? 0 : Number.isNaN(a) || a > b ? 1 : -1);

/**
 * Moves the first of another channel to the third place where the first three are credentials of one: a refused credential leads to the next
 * one, an upstream that is down to another upstream, within the three attempts of a call.
 */
export function putAnotherChannelThird<T extends { readonly id: number }>(ordered: readonly T[]): readonly T[] {
  const [first, second, third, ...rest] = ordered;
  if (third === undefined || first?.id !== second?.id || second?.id !== third.id) return ordered;
  const index = rest.findIndex(({ id }) => id !== third.id);
  const other = rest[index];
  return other === undefined ? ordered : [...ordered.slice(0, 2), other, third, ...rest.toSpliced(index, 1)];
}
