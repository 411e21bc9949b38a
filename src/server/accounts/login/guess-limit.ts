import type { AccountCaller } from '../../platform/http/request-context.ts';
import type { AttemptLimit } from '../rate-limits.ts';

/**
 * Where a guess comes from. A source the account has logged in from before has a limit of its own, so that attackers who use
 * up the account's limit do not lock out its owner at a known source (OWASP, "Slow Down Online Guessing Attacks with Device
 * Cookies").
 */
export interface GuessSource {
  /** IP, or /64 of IPv6; undefined where the request has a valid credential: others on the same network do not have it. */
  readonly network: string | undefined;
  /** Identifies a source known to the account; undefined: the source is unknown. */
  readonly knownSourceKey: string | undefined;
}

/** For a caller who is logged in and proves the password or the second step again. */
export const toGuessSource = (caller: AccountCaller): GuessSource => ({
  network: undefined,
  knownSourceKey: caller.kind === 'session' ? `session:${caller.sessionId}` : caller.kind,
});

export interface GuessLimitRules {
  readonly byAccount: AttemptLimit;
  readonly byKnownSource: AttemptLimit;
  readonly byNetwork?: AttemptLimit;
  /** A correct guess also resets the wrong ones before it, except those of the network. Otherwise only this guess is given back. */
  readonly resetsWrongGuesses: boolean;
}

/** The limits that one kind of guess counts against, chosen by its source. */
export class GuessLimit {
  readonly #rules: GuessLimitRules;

  constructor(rules: GuessLimitRules) {
    this.#rules = rules;
  }

  /** @throws rate_limit_exceeded */
  async assertNotExhausted(account: string, source: GuessSource, isRandomSecret = false): Promise<void> {
    for (const [limit, key] of this.#applicable(account, source, isRandomSecret)) await limit.assertNotExhausted(key);
  }

  /** Counts a guess before it is checked. @throws rate_limit_exceeded */
  async consume(account: string, source: GuessSource, isRandomSecret = false): Promise<void> {
    for (const [limit, key] of this.#applicable(account, source, isRandomSecret)) await limit.consume(key);
  }

  /** To be called when the guess was right. */
  async succeed(account: string, source: GuessSource, isRandomSecret = false): Promise<void> {
    for (const [limit, key] of this.#applicable(account, source, isRandomSecret)) {
      if (this.#rules.resetsWrongGuesses && limit !== this.#rules.byNetwork) await limit.reset(key);
      else await limit.refund(key);
    }
  }

  /** @param isRandomSecret the secret is random and long: guesses need no limit by account, which others could use up */
  #applicable(
    account: string,
    { network, knownSourceKey }: GuessSource,
    isRandomSecret: boolean,
  ): [AttemptLimit, string][] {
    const { byAccount, byKnownSource, byNetwork } = this.#rules;
    const applicable: [AttemptLimit, string][] = [];
    if (byNetwork !== undefined && network !== undefined) applicable.push([byNetwork, network]);
    if (knownSourceKey !== undefined) applicable.push([byKnownSource, `${account}:${knownSourceKey}`]);
    else if (!isRandomSecret) applicable.push([byAccount, account]);
    return applicable;
  }
}
