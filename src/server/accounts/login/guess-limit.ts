import type { AccountCaller } from '../../platform/http/caller.ts';
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
  readonly knownAs: string | undefined;
}

/** For a caller who is logged in and proves the password or the second step again. */
export const toGuessSource = (caller: AccountCaller): GuessSource => ({
  network: undefined,
  knownAs: caller.kind === 'session' ? `session:${caller.sessionId}` : caller.kind,
});

export interface GuessLimitRules {
  readonly byAccount: AttemptLimit;
  readonly byKnownSource: AttemptLimit;
  readonly byNetwork?: AttemptLimit;
  /** A correct guess also resets the wrong ones before it, except those of the network. Otherwise it only is not counted itself. */
  readonly forgivesMisses: boolean;
}

/** The limits that one kind of guess counts against, chosen by its source. */
export class GuessLimit {
  readonly #rules: GuessLimitRules;

  constructor(rules: GuessLimitRules) {
    this.#rules = rules;
  }

  /** @throws rate_limit_exceeded */
  async assertNotExhausted(account: string, source: GuessSource, unguessable = false): Promise<void> {
    for (const [limit, key] of this.#applicable(account, source, unguessable)) await limit.assertNotExhausted(key);
  }

  /** Counts a guess before it is checked. @throws rate_limit_exceeded */
  async consume(account: string, source: GuessSource, unguessable = false): Promise<void> {
    for (const [limit, key] of this.#applicable(account, source, unguessable)) await limit.consume(key);
  }

  /** The guess was right. */
  async succeed(account: string, source: GuessSource, unguessable = false): Promise<void> {
    for (const [limit, key] of this.#applicable(account, source, unguessable)) {
      if (this.#rules.forgivesMisses && limit !== this.#rules.byNetwork) await limit.reset(key);
      else await limit.refund(key);
    }
  }

  /** @param unguessable the secret is random and long: guesses need no limit by account, which others could use up */
  #applicable(account: string, { network, knownAs }: GuessSource, unguessable: boolean): [AttemptLimit, string][] {
    const { byAccount, byKnownSource, byNetwork } = this.#rules;
    const applicable: [AttemptLimit, string][] = [];
    if (byNetwork !== undefined && network !== undefined) applicable.push([byNetwork, network]);
    if (knownAs !== undefined) applicable.push([byKnownSource, `${account}:${knownAs}`]);
    else if (!unguessable) applicable.push([byAccount, account]);
    return applicable;
  }
}
