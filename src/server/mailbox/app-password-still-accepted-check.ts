import { LRUCache } from 'lru-cache';
import { upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { SingleFlight } from '../platform/concurrency.ts';
import type { CheckResult, MailBackend, PresentedPassword } from './mail-backend.ts';

/** The longest a caller waits for the mail server. */
export const CHECK_TIMEOUT_MS = 3_000;
/** A refusal costs the mail server its failure delay, so it is remembered longer than an acceptance. */
const CACHE_MS: Readonly<Record<Exclude<CheckResult, 'unknown'>, number>> = { accepted: 5_000, refused: 15_000 };

/** Whether the mail server still accepts an application password. */
export class AppPasswordStillAcceptedCheck {
  readonly #backend: MailBackend;
  readonly #clock: Clock;
  readonly #running = new SingleFlight<CheckResult>();
  readonly #cache = new LRUCache<string, { readonly result: CheckResult; readonly until: number }>(upToEntries(10_000));

  constructor(backend: MailBackend, clock: Clock) {
    this.#backend = backend;
    this.#clock = clock;
  }

  /**
   * `accepted` when every protocol accepts the password, `refused` when any refuses it, else `unknown`. Concurrent checks of
   * one password share one request to the mail server.
   * @param address e-mail address of the mailbox
   */
  async check(address: string, password: PresentedPassword): Promise<CheckResult> {
    const cached = this.#cache.get(password.ref);
    if (cached !== undefined && cached.until > this.#clock.now()) return cached.result;
    return this.#running.run(password.ref, async () => {
      const result = await this.#checkNow(address, password);
      if (result !== 'unknown') this.#cache.set(password.ref, { result, until: this.#clock.now() + CACHE_MS[result] });
      return result;
    });
  }

  async #checkNow(address: string, password: PresentedPassword): Promise<CheckResult> {
    const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const timeout = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
    // A backend that ignores the signal must not keep the caller waiting either.
    const byProtocol = await Promise.race([this.#backend.check(address, password, signal), timeout]);
    const results = password.protocols.map((protocol) => byProtocol?.get(protocol) ?? 'unknown');
    if (results.includes('refused')) return 'refused';
    return results.every((result) => result === 'accepted') ? 'accepted' : 'unknown';
  }
}
