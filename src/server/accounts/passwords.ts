import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { AppError } from '../platform/app-error.ts';
import { Semaphore } from '../platform/concurrency.ts';

/** Cost of one argon2id hash. */
export interface PasswordCost {
  /** KiB. */
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
}

/** OWASP's first recommendation for argon2id: 19 MiB and two passes. */
export const PASSWORD_COST: PasswordCost = { memory: 19_456, passes: 2, parallelism: 1 };
/** Upper limit for computing a stored hash: this service never writes one that costs more. */
const MAX_ACCEPTED_COST: PasswordCost = { memory: 65_536, passes: 6, parallelism: 4 };
const TAG_BYTES = 32;
/** libuv's pool runs four jobs at a time; one thread stays free, because every commit waits for a flush on it. */
const PERMITS = Math.min(availableParallelism(), 3);
const MAX_QUEUE_LENGTH = 64;
/** Far longer than a full queue takes. */
const MAX_WAIT_MS = 60_000;
const RETRY_SECONDS = 2;

interface PasswordHash {
  readonly cost: PasswordCost;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** Hashes under a permit its holder already has, without acquiring another. */
export type PermittedHasher = Pick<PasswordHasher, 'hash' | 'verify'>;

/**
 * Runs argon2id off the event loop, one hash per core at a time (at most three). Every method throws `unavailable` if
 * the queue is full.
 */
export class PasswordHasher {
  readonly #permits = new Semaphore(PERMITS, MAX_QUEUE_LENGTH);
  /** Compared against for unknown accounts, so that the response time does not reveal whether an account exists. */
  readonly #dummyHash: PasswordHash;
  readonly #permitted: PermittedHasher = {
    hash: (password) => this.#hashNow(password),
    verify: (password, stored, hidesKind) => this.#verifyNow(password, stored, hidesKind),
  };
  readonly #cost: PasswordCost;

  /** @param cost of new hashes; tests lower it, because hashing would otherwise dominate their run time */
  constructor(cost: PasswordCost = PASSWORD_COST) {
    this.#cost = cost;
    this.#dummyHash = { cost, salt: randomBytes(16), tag: randomBytes(TAG_BYTES) };
  }

  /** Returns the PHC string of a new password. */
  hash(password: string): Promise<string> {
    return this.withPermit((hasher) => hasher.hash(password));
  }

  /**
   * Takes the same time without a stored hash, and returns false.
   *
   * @param hidesKind also takes the same time for an imported hash; for services with imported accounts, since it
   *   costs several times as much
   */
  verify(password: string, stored: string | undefined, hidesKind = false): Promise<boolean> {
    return this.withPermit((hasher) => hasher.verify(password, stored, hidesKind));
  }

  /**
   * Runs work that hashes while holding one permit. Attempts that the work counts before hashing are therefore limited
   * to one per permit at a time. A client that disconnects does not release the permit early.
   */
  async withPermit<R>(work: (hasher: PermittedHasher) => Promise<R>): Promise<R> {
    const release = await this.#permits.acquire(MAX_WAIT_MS);
    if (release === undefined) throw new AppError('unavailable', { retryAfterSeconds: RETRY_SECONDS });
    try {
      return await work(this.#permitted);
    } finally {
      release();
    }
  }

  /** Whether a hash was computed at a cost other than the current one. */
  needsRehash(stored: string): boolean {
    const cost = parsePhc(stored)?.cost;
    const { memory, passes, parallelism } = this.#cost;
    return cost?.memory !== memory || cost.passes !== passes || cost.parallelism !== parallelism;
  }

  async #hashNow(password: string): Promise<string> {
    const salt = randomBytes(16);
    const cost = this.#cost;
    return formatPhc({ cost, salt, tag: await deriveTag(password, salt, cost, TAG_BYTES) });
  }

  async #verifyNow(password: string, stored: string | undefined, hidesKind = false): Promise<boolean> {
    const isImported = stored !== undefined && BCRYPT.test(stored);
    if (isImported && !hidesKind) return verifyBcrypt(password, stored);
    const known = isImported || stored === undefined ? undefined : parsePhc(stored);
    const isOwn = await this.#verifyArgon2(password, known);
    if (!hidesKind) return isOwn;
    const isFormer = await verifyBcrypt(password, isImported ? stored : BCRYPT_DUMMY);
    return isImported ? isFormer : isOwn;
  }

  async #verifyArgon2(password: string, known: PasswordHash | undefined): Promise<boolean> {
    const { cost, salt, tag } = known ?? this.#dummyHash;
    const isSame = timingSafeEqual(await deriveTag(password, salt, cost, tag.length), tag);
    return isSame && known !== undefined;
  }
}

/** Hashes imported from another program; each is replaced at its owner's next login. */
const BCRYPT = /^\$2[aby]\$(?:0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/;
/** The hash of no password, at the cost of the programs that hashes are imported from. */
const BCRYPT_DUMMY = `$2a$10$${'.'.repeat(53)}`;
/** bcrypt ignores bytes beyond 72; the programs the hashes come from rejected longer passwords. */
const MAX_BCRYPT_BYTES = 72;

/** How long an idle thread is kept for the next comparison. */
const IDLE_MS = 10_000;

/** Makes one comparison at a time; an error ends the thread. */
const THREAD_PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
import(workerData).then(({ compareSync }) =>
  parentPort.on('message', (args) => parentPort.postMessage(compareSync(...args))));`;

/**
 * Compares passwords with bcrypt hashes on threads: Node has no bcrypt of its own, and the package's would hold up the
 * event loop for up to 100 ms at a time. Each concurrent comparison has a thread, so callers limit their number.
 */
export class BcryptThreads {
  readonly #idle: Worker[] = [];

  async compare(password: string, stored: string): Promise<boolean> {
    const thread = this.#idle.pop() ?? startThread();
    thread.ref();
    thread.postMessage([password, stored]);
    const [isSame] = await once(thread, 'message');
    this.#rest(thread);
    return isSame;
  }

  #rest(thread: Worker): void {
    thread.unref();
    this.#idle.push(thread);
    setTimeout(() => {
      const place = this.#idle.indexOf(thread);
      if (place === -1) return;
      this.#idle.splice(place, 1);
      void thread.terminate();
    }, IDLE_MS).unref();
  }
}

const startThread = (): Worker =>
  new Worker(THREAD_PROGRAM, { eval: true, workerData: import.meta.resolve('bcryptjs'), execArgv: [] });

const bcrypt = new BcryptThreads();

/** Compares the bytes as typed, because the other program did not normalize passwords. */
const verifyBcrypt = async (password: string, stored: string): Promise<boolean> =>
  (await bcrypt.compare(password, stored)) && Buffer.byteLength(password) <= MAX_BCRYPT_BYTES;

function deriveTag(password: string, nonce: Buffer, cost: PasswordCost, tagLength: number): Promise<Buffer> {
  // The same characters typed on two systems must produce the same bytes (NIST SP 800-63B section 5.1.1.2).
  const message = password.normalize('NFKC');
  return new Promise((resolve, reject) => {
    argon2('argon2id', { message, nonce, tagLength, ...cost }, (error, tag) =>
      error === null ? resolve(tag) : reject(error),
    );
  });
}

const toUnpaddedBase64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');

const formatPhc = ({ cost, salt, tag }: PasswordHash): string =>
  `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${toUnpaddedBase64(salt)}$${toUnpaddedBase64(tag)}`;

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

function parsePhc(text: string): PasswordHash | undefined {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(text) ?? [];
  if (salt === undefined || tag === undefined) return undefined;
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  const isTooExpensive =
    cost.memory > MAX_ACCEPTED_COST.memory ||
    cost.passes > MAX_ACCEPTED_COST.passes ||
    cost.parallelism > MAX_ACCEPTED_COST.parallelism;
  return isTooExpensive ? undefined : { cost, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') };
}

/** Shorter passwords are rejected before this check. */
const MIN_LENGTH = 8;

let commonPasswords: Promise<ReadonlySet<string>> | undefined;

/**
 * Loads passwords from public breaches. Loaded when the first password is set, because unpacking them takes longer than
 * the rest of the start-up.
 */
async function loadCommonPasswords(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  const passwords = dictionary['passwords-common'].map((password) => password.toLowerCase());
  return new Set(passwords.filter(({ length }) => length >= MIN_LENGTH));
}

/** Whether a password is a text of at most four characters repeated, or a run such as 12345678 or hgfedcba. */
function isPattern(password: string): boolean {
  if (/^(.{1,4}?)\1+.{0,3}$/su.test(password) && new Set(password).size <= 4) return true;
  const points = Array.from(password, (character) => character.codePointAt(0) ?? 0);
  const steps = new Set(points.slice(1).map((point, index) => point - (points[index] ?? 0)));
  return steps.size === 1 && (steps.has(1) || steps.has(-1));
}

/**
 * Rejects the passwords attackers try first: those of public breaches (NIST SP 800-63B section 5.1.1.2), repetitions
 * and runs of characters, and the account's own name.
 *
 * @throws password_too_common
 */
export async function assertUncommonPassword(password: string, username: string): Promise<void> {
  commonPasswords ??= loadCommonPasswords();
  const plain = password.normalize('NFKC').toLowerCase();
  if (plain === username.toLowerCase() || isPattern(plain) || (await commonPasswords).has(plain))
    throw new AppError('password_too_common', { param: 'password' });
}
