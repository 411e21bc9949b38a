import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { AppError } from '../platform/errors.ts';

/** Cost of one hash: OWASP's first choice for argon2id, 19 MiB and two passes. */
interface Cost {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

const COST: Cost = { memory: 19_456, passes: 2, parallelism: 1 };
/** A stored hash that asks for more than this is not computed: the row was not written by us. */
const CEILING: Cost = { memory: 65_536, passes: 6, parallelism: 4 };
const TAG_BYTES = 32;
/** libuv runs four such jobs at a time; more would only keep file and name look-ups waiting. */
const PERMITS = Math.min(availableParallelism(), 4);
const LONGEST_QUEUE = 64;
const RETRY_SECONDS = 2;

/** argon2id, off the event loop, as many at a time as there are cores; a full queue answers `unavailable`. */
export interface Passwords {
  /** PHC string of a new password. */
  hash(password: string): Promise<string>;
  /** Without a stored hash it takes the same time and answers false. */
  verify(password: string, stored: string | undefined): Promise<boolean>;
  /**
   * Runs work that hashes while holding one of the permits. What such work books before it hashes is therefore booked
   * at most once per permit at a time. `hash` and `verify` inside it ask for no further permit.
   */
  withPermit<R>(work: (held: HeldPasswords) => Promise<R>): Promise<R>;
  /** Whether a hash was made at another cost than today's. */
  isStale(stored: string): boolean;
}

export type HeldPasswords = Pick<Passwords, 'hash' | 'verify'>;

export function makePasswords(): Passwords {
  const gate = makeGate(PERMITS, LONGEST_QUEUE);
  // Compared against for people who do not exist, so that they take as long as those who do.
  const nobody = { cost: COST, salt: randomBytes(16), tag: randomBytes(TAG_BYTES) };
  const held: HeldPasswords = {
    async hash(password) {
      const salt = randomBytes(16);
      return toPhc({ cost: COST, salt, tag: await derive(password, salt, COST, TAG_BYTES) });
    },
    async verify(password, stored) {
      const known = stored === undefined ? undefined : fromPhc(stored);
      const { cost, salt, tag } = known ?? nobody;
      const same = timingSafeEqual(await derive(password, salt, cost, tag.length), tag);
      return same && known !== undefined;
    },
  };
  return {
    hash: (password) => gate(() => held.hash(password)),
    verify: (password, stored) => gate(() => held.verify(password, stored)),
    withPermit: (work) => gate(() => work(held)),
    isStale: (stored) => {
      const cost = fromPhc(stored)?.cost;
      return cost?.memory !== COST.memory || cost.passes !== COST.passes || cost.parallelism !== COST.parallelism;
    },
  };
}

/** The permit belongs to the work, not to who asked: a client that goes away frees nothing early. */
function makeGate(permits: number, longestQueue: number) {
  let free = permits;
  const waiting: (() => void)[] = [];
  return async <R>(work: () => Promise<R>): Promise<R> => {
    if (free > 0) free -= 1;
    else if (waiting.length >= longestQueue) throw new AppError('unavailable', { retryAfterSeconds: RETRY_SECONDS });
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

interface Hashed {
  readonly cost: Cost;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

function derive(password: string, nonce: Buffer, cost: Cost, tagLength: number): Promise<Buffer> {
  // The same characters typed on two systems must be the same bytes (NIST SP 800-63B section 5.1.1.2).
  const message = password.normalize('NFKC');
  return new Promise((resolve, reject) => {
    argon2('argon2id', { message, nonce, tagLength, ...cost }, (error, tag) =>
      error === null ? resolve(tag) : reject(error),
    );
  });
}

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

const toPhc = ({ cost, salt, tag }: Hashed): string =>
  `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${unpadded(salt)}$${unpadded(tag)}`;

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

function fromPhc(text: string): Hashed | undefined {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(text) ?? [];
  if (salt === undefined || tag === undefined) return undefined;
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const tooDear =
    cost.memory > CEILING.memory || cost.passes > CEILING.passes || cost.parallelism > CEILING.parallelism;
  return tooDear ? undefined : { cost, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') };
}
