import { type Credentials as Presented, type Purpose, type Reelgate, ReelgateError } from '../sdk/index.ts';
import type { Credentials, SignIn } from './credentials.ts';
import { UsageError } from './failures.ts';
import { isEnding, renewSignIn } from './refresh.ts';

/** What a request was proved with. */
export type Proof = 'REELGATE_API_KEY' | 'REELGATE_ACCESS_TOKEN' | 'sign-in';

/**
 * Who is calling, for one service address: the environment before the sign-in. Renews the sign-in's tokens before they end,
 * and when the service says that they have.
 */
export class Caller {
  readonly #baseUrl: string;
  readonly #credentials: Credentials;
  /** The sign-in whose access_token was sent last. */
  #used: SignIn | undefined;
  /** What was presented last: it is what a refusal is about. */
  proof: Proof | undefined;

  constructor(baseUrl: string, credentials: Credentials) {
    this.#baseUrl = baseUrl;
    this.#credentials = credentials;
  }

  async present(purpose: Purpose, reelgate: Reelgate): Promise<Presented> {
    if (purpose === 'none') return {};
    const { REELGATE_API_KEY, REELGATE_ACCESS_TOKEN } = process.env;
    if (purpose === 'model' && REELGATE_API_KEY) {
      this.proof = 'REELGATE_API_KEY';
      return { apiKey: REELGATE_API_KEY };
    }
    if (purpose === 'account' && REELGATE_ACCESS_TOKEN) {
      this.proof = 'REELGATE_ACCESS_TOKEN';
      return { accessToken: REELGATE_ACCESS_TOKEN, userId: ownerOfToken() };
    }
    this.proof = 'sign-in';
    this.#used = await this.#credentials.read(this.#baseUrl);
    if (this.#used === undefined) throw notSignedIn(this.#baseUrl, purpose);
    // Model calls too, so that who makes videos only is not signed out after 90 days. A failure shows where it matters.
    if (isEnding(this.#used, Date.now()))
      this.#used = (await this.#renewed(this.#used, reelgate).catch(() => undefined)) ?? this.#used;
    const { llmToken: apiKey, accessToken, userId, userHeader } = this.#used;
    return { apiKey, accessToken, userId, userHeader };
  }

  /** Whether the next attempt has a newer access_token. */
  async renew(reelgate: Reelgate): Promise<boolean> {
    if (this.proof !== 'sign-in' || this.#used === undefined) return false;
    return (await this.#renewed(this.#used, reelgate)) !== undefined;
  }

  #renewed(old: SignIn, reelgate: Reelgate): Promise<SignIn | undefined> {
    return renewSignIn(this.#credentials, reelgate.deviceAuth, old);
  }
}

function ownerOfToken(): number {
  const id = process.env.REELGATE_USER_ID ?? '';
  if (!/^[1-9]\d{0,14}$/.test(id))
    throw new UsageError('REELGATE_ACCESS_TOKEN needs REELGATE_USER_ID beside it, the number of its account.');
  return Number(id);
}

function notSignedIn(baseUrl: string, purpose: Purpose): ReelgateError {
  const keyHelpsNot = purpose === 'account' && process.env.REELGATE_API_KEY;
  const why = keyHelpsNot ? ' REELGATE_API_KEY opens videos and models, not the account.' : '';
  return new ReelgateError(`You are not signed in to ${baseUrl}.${why}`, { code: 'unauthorized', status: 401 });
}
