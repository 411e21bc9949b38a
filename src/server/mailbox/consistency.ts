import { LRUCache } from 'lru-cache';
import type { Clock } from '../platform/clock.ts';
import { SingleFlight } from '../platform/single-flight.ts';
import type { MailBackend, PresentedPassword, Verdict } from './backend.ts';

/** The caller waits no longer than this for the mail server's opinion. */
export const CHECK_TIMEOUT_MS = 3_000;
/** A refusal costs the mail server its failure delay, so it is remembered longer than an acceptance. */
const KEEP_MS: Readonly<Record<Exclude<Verdict, 'unknown'>, number>> = { accepted: 5_000, refused: 15_000 };

/** Whether the mail server still takes an application password. */
export class Consistency {
  readonly #backend: MailBackend;
  readonly #clock: Clock;
  readonly #flights = new SingleFlight<Verdict>();
  readonly #known = new LRUCache<string, { readonly verdict: Verdict; readonly until: number }>({ max: 10_000 });

  constructor(backend: MailBackend, clock: Clock) {
    this.#backend = backend;
    this.#clock = clock;
  }

  /**
   * `accepted` when every protocol is, `refused` when any is, else `unknown`. All who ask about the same password share one
   * question.
   */
  async ask(address: string, password: PresentedPassword): Promise<Verdict> {
    const known = this.#known.get(password.ref);
    if (known !== undefined && known.until > this.#clock.now()) return known.verdict;
    return this.#flights.do(password.ref, async () => {
      const verdict = await this.#ask(address, password);
      if (verdict !== 'unknown')
        this.#known.set(password.ref, { verdict, until: this.#clock.now() + KEEP_MS[verdict] });
      return verdict;
    });
  }

  async #ask(address: string, password: PresentedPassword): Promise<Verdict> {
    const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
    const late = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
    // A backend that does not heed the signal must not keep the caller either.
    const answers = await Promise.race([this.#backend.check(address, password, signal), late]);
    const verdicts = password.protocols.map((protocol) => answers?.get(protocol) ?? 'unknown');
    if (verdicts.includes('refused')) return 'refused';
    return verdicts.every((verdict) => verdict === 'accepted') ? 'accepted' : 'unknown';
  }
}
