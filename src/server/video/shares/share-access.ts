import { HOUR_MS } from '../../../contract/time-units.ts';
import type { PasswordHasher } from '../../accounts/login/password-hasher.ts';
import { toIpLimitKey } from '../../platform/client-ip.ts';
import type { Clock } from '../../platform/clock.ts';
import { assertWithinLimit, type RateLimiter, type RateLimits } from '../../platform/limits/rate-limits.ts';
import type { Log } from '../../platform/log.ts';
import { RevocationWatch } from '../../platform/revocation-watch.ts';
import { createSigner, hashToken, type Signer } from '../../platform/tokens.ts';
import type { Task, TaskStore } from '../task-store.ts';
import type { ShareRow, ShareStore } from './share-store.ts';

export interface ShareAccessDependencies {
  readonly store: TaskStore;
  readonly shares: ShareStore;
  readonly passwords: Pick<PasswordHasher, 'verify'>;
  readonly rateLimits: RateLimits;
  readonly masterKey: Buffer;
  readonly clock: Clock;
  readonly log: Log;
}

/** A link that works, with its video. */
export interface SharedVideo {
  readonly share: ShareRow;
  readonly task: Task;
}

/** How long a browser that has given the password need not give it again. */
export const UNLOCKED_MS = 12 * HOUR_MS;
/**
 * Wrong passwords by the viewer's network, never by all networks together: strangers who have the link could use up a common
 * count and keep its viewers out.
 */
const GUESSES_PER_NETWORK = { points: 10, durationSeconds: 900 } as const;
/** A /48 has 65,536 networks of its own. An IPv4 address counts here too. */
const GUESSES_PER_SITE = { points: 40, durationSeconds: 900 } as const;
/** Right passwords have a budget of their own, since each costs a hash. */
const UNLOCKS_PER_NETWORK = { points: 60, durationSeconds: 900 } as const;

/** What people who have a link may do. Every call asks the database, so that a link that has ended opens nothing on any process. */
export class ShareAccess {
  readonly #dependencies: ShareAccessDependencies;
  readonly #guessesByNetwork: RateLimiter;
  readonly #guessesBySite: RateLimiter;
  readonly #unlocksByNetwork: RateLimiter;
  readonly #signer: Signer;
  readonly #watch: RevocationWatch<number>;

  constructor(dependencies: ShareAccessDependencies) {
    this.#dependencies = dependencies;
    const { rateLimits, masterKey, shares, clock, log } = dependencies;
    this.#guessesByNetwork = rateLimits.define({ name: 'share-passwords-network', ...GUESSES_PER_NETWORK });
    this.#guessesBySite = rateLimits.define({ name: 'share-passwords-site', ...GUESSES_PER_SITE });
    this.#unlocksByNetwork = rateLimits.define({ name: 'share-unlocks-network', ...UNLOCKS_PER_NETWORK });
    this.#signer = createSigner(masterKey, 'share access');
    this.#watch = new RevocationWatch({
      keyOf: String,
      findLive: async (ids) => new Set([...(await shares.findLiveIds(ids, clock.now()))].map(String)),
      log,
    });
  }

  /** @returns undefined for a token that never was, and for one whose link has ended */
  async find(token: string): Promise<SharedVideo | undefined> {
    const { shares, store, clock } = this.#dependencies;
    const share = await shares.findLive(hashToken(token), clock.now());
    const task = share && (await store.findById(share.task_id));
    return share && task && { share, task };
  }

  /** Whether the video may be shown. @param proof what `unlock` gave this browser */
  isOpen(share: ShareRow, proof: string | undefined): boolean {
    if (share.password_hash === null) return true;
    const [end = '', signature = ''] = (proof ?? '').split('.');
    return this.#signer.verify(proofText(share, end), signature) && Number(end) > this.#dependencies.clock.now();
  }

  /** @returns a proof for `isOpen`; undefined: the password is wrong @throws rate_limit_exceeded, unavailable */
  async unlock(share: ShareRow, password: string, clientIp: string): Promise<string | undefined> {
    const { passwords, clock } = this.#dependencies;
    const network = `${share.id} ${toIpLimitKey(clientIp)}`;
    const site = `${share.id} ${toIpLimitKey(clientIp, 48)}`;
    assertWithinLimit(await this.#unlocksByNetwork.peek(network));
    assertWithinLimit(await this.#guessesByNetwork.consume(network));
    assertWithinLimit(await this.#guessesBySite.consume(site));
    if (!(await passwords.verify(password, share.password_hash ?? undefined))) return undefined;
    await Promise.all([this.#guessesByNetwork.refund(network), this.#guessesBySite.refund(site)]);
    assertWithinLimit(await this.#unlocksByNetwork.consume(network));
    const end = String(clock.now() + UNLOCKED_MS);
    return `${end}.${this.#signer.sign(proofText(share, end))}`;
  }

  /** Calls `onEnd` once when the link ends. @returns ends the registration */
  watch({ id }: ShareRow, onEnd: () => void): () => void {
    return this.#watch.watch(id, onEnd);
  }
}

/** Bound to the password, so that the proof of one link opens no other. */
const proofText = ({ id, password_hash }: ShareRow, end: string): string => JSON.stringify([end, id, password_hash]);
