import { DAY_MS } from '../../../contract/time-units.ts';
import { toIpLimitKey } from '../../platform/client-ip.ts';
import type { Clock } from '../../platform/clock.ts';
import type { LoginClient } from '../../platform/http/request-context.ts';
import { hashToken, randomToken } from '../../platform/tokens.ts';
import type { Trx } from '../../tables.ts';
import { CREDENTIAL_PREFIX } from '../credential-prefixes.ts';
import type { GuessSource } from './guess-limit.ts';
import type { KnownSourceStore } from './known-source-store.ts';
import type { SessionStore } from './session-store.ts';

const REMEMBERED_MS = 90 * DAY_MS;
const MAX_COOKIE_LENGTH = 100;
/** No account has this id. */
const NO_ACCOUNT = 0;

export interface KnownSourceDependencies {
  readonly store: KnownSourceStore;
  readonly sessions: SessionStore;
  readonly clock: Clock;
}

/** The devices (by a cookie) and networks each account has logged in from. They authenticate nobody, but have separate limits. */
export class KnownSources {
  readonly #store: KnownSourceStore;
  readonly #sessions: SessionStore;
  readonly #clock: Clock;

  constructor({ store, sessions, clock }: KnownSourceDependencies) {
    this.#store = store;
    this.#sessions = sessions;
    this.#clock = clock;
  }

  /** The source whose limits a guess at this account counts against. An undefined id: there is no such account. */
  async identify(userId: number | undefined, client: LoginClient): Promise<GuessSource> {
    const network = toIpLimitKey(client.address);
    const now = this.#clock.now();
    const session =
      client.session === undefined ? undefined : await this.#sessions.findByHash(hashToken(client.session), now);
    if (session !== undefined && session.user_id === userId)
      return { network: undefined, knownSourceKey: `session:${session.id}` };
    const device = toDeviceSource(client.knownDevice);
    const sources = [`network:${network}`, device].filter((source) => source !== undefined);
    // The same queries without an account, so that it takes as long as with one.
    const known = await this.#store.findKnown(userId ?? NO_ACCOUNT, sources, now - REMEMBERED_MS);
    if (device !== undefined && known.has(device)) return { network: undefined, knownSourceKey: device };
    return { network, knownSourceKey: sources.find((source) => known.has(source)) };
  }

  /** Remembers where a login succeeded and returns the value of the device's cookie. */
  async remember(trx: Trx, userId: number, { knownDevice, address }: LoginClient): Promise<string> {
    const cookie =
      toDeviceSource(knownDevice) === undefined ? randomToken(CREDENTIAL_PREFIX.knownDevice, 43) : knownDevice;
    const sources = [toDeviceSource(cookie), `network:${toIpLimitKey(address)}`].filter(
      (source) => source !== undefined,
    );
    await this.#store.remember(trx, userId, sources, this.#clock.now());
    return cookie ?? '';
  }

  async deleteExpired(): Promise<void> {
    await this.#store.deleteUnusedSince(this.#clock.now() - REMEMBERED_MS);
  }
}

const toDeviceSource = (cookie: string | undefined): string | undefined =>
  cookie?.startsWith(CREDENTIAL_PREFIX.knownDevice) && cookie.length < MAX_COOKIE_LENGTH
    ? `device:${hashToken(cookie)}`
    : undefined;
