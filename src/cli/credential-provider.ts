import { ReelgateError } from '../sdk/errors.ts';
import type { CredentialPurpose, Credentials, Reelgate } from '../sdk/index.ts';
import type { CredentialStore, StoredCredentials } from './credentials.ts';
import { UsageError } from './errors.ts';

/** Origin of a request's credential. */
export type CredentialSource = 'REELGATE_API_KEY' | 'REELGATE_ACCESS_TOKEN' | 'sign-in';

/** A service, and what requests to it act for. */
interface SignedInService {
  readonly baseUrl: string;
  /** Key of the stored sign-in. */
  readonly signInKey: string;
  readonly organization: string | undefined;
}

/**
 * Provides credentials for requests to one service, from the environment or else from the stored sign-in. Refreshes the
 * sign-in's tokens shortly before they expire, and when the service rejects them.
 */
export class CredentialProvider {
  readonly #service: SignedInService;
  readonly #store: CredentialStore;
  /** The sign-in whose access_token was sent last. */
  #lastStored: StoredCredentials | undefined;
  /** The source used last, for advice about authentication errors. */
  lastSource: CredentialSource | undefined;

  constructor(service: SignedInService, store: CredentialStore) {
    this.#service = service;
    this.#store = store;
  }

  async getCredentials(purpose: CredentialPurpose, reelgate: Reelgate): Promise<Credentials> {
    if (purpose === 'none') return {};
    const { REELGATE_API_KEY, REELGATE_ACCESS_TOKEN } = process.env;
    if (purpose === 'model' && REELGATE_API_KEY) {
      this.lastSource = 'REELGATE_API_KEY';
      return { apiKey: REELGATE_API_KEY };
    }
    if (purpose === 'account' && REELGATE_ACCESS_TOKEN) {
      this.lastSource = 'REELGATE_ACCESS_TOKEN';
      return { accessToken: REELGATE_ACCESS_TOKEN, userId: readTokenOwnerId() };
    }
    this.lastSource = 'sign-in';
    this.#lastStored = await this.#store.read(this.#service.signInKey);
    if (this.#lastStored === undefined) {
      // An unreachable service is reported first, because signing in would fail too.
      await this.#assertReachable(reelgate);
      throw notSignedInError(this.#service, purpose);
    }
    // Model calls refresh too, since otherwise a user who only generates videos would be signed out after 90 days.
    // Errors are ignored: if the token has really expired, the request itself fails.
    if (expiresSoon(this.#lastStored))
      this.#lastStored = (await this.#refresh(this.#lastStored, reelgate).catch(() => undefined)) ?? this.#lastStored;
    const { llmToken: apiKey, accessToken, userId, userHeader } = this.#lastStored;
    return { apiKey, accessToken, userId, userHeader };
  }

  /** Refreshes after a 401. @returns whether a newer access_token is available for a retry */
  async refresh(reelgate: Reelgate): Promise<boolean> {
    if (this.lastSource !== 'sign-in' || this.#lastStored === undefined) return false;
    return (await this.#refresh(this.#lastStored, reelgate)) !== undefined;
  }

  /** @throws ReelgateError `network` or `not_json` */
  async #assertReachable(reelgate: Reelgate): Promise<void> {
    const { getStatus } = await import('../contract/service.ts');
    await reelgate.transport.call(getStatus, {});
  }

  /**
   * Returns newer tokens than the given ones, from another process or else from the service. Concurrent processes run
   * this sequentially, so that one refreshes and the others find its result; the new pair is stored before use.
   *
   * @returns undefined when the sign-in has ended or was removed
   */
  #refresh(old: StoredCredentials, { deviceAuth }: Reelgate): Promise<StoredCredentials | undefined> {
    const { signInKey } = this.#service;
    return this.#store.runExclusive(async () => {
      const latest = await this.#store.read(signInKey);
      if (latest === undefined || latest.accessToken !== old.accessToken) return latest;
      try {
        const pair = await deviceAuth.refresh(latest.refreshToken);
        const renewed: StoredCredentials = {
          ...latest,
          accessToken: pair.access_token,
          refreshToken: pair.refresh_token,
          accessExpiresAt: Date.now() + pair.expires_in * 1000,
        };
        await this.#store.write(signInKey, renewed);
        return renewed;
      } catch (error) {
        if (error instanceof ReelgateError && error.code === 'invalid_grant') return undefined;
        throw error;
      }
    });
  }
}

function readTokenOwnerId(): number {
  const id = process.env.REELGATE_USER_ID ?? '';
  if (!/^[1-9]\d{0,14}$/.test(id))
    throw new UsageError('REELGATE_ACCESS_TOKEN needs REELGATE_USER_ID too, the id of its account.');
  return Number(id);
}

/** The error of a command that needs a sign-in, for the account or the organization it acts for. */
export function notSignedInError(
  { baseUrl, organization }: SignedInService,
  purpose: CredentialPurpose,
): ReelgateError {
  if (organization !== undefined)
    return new ReelgateError(
      `You are not signed in for ${organization}. Run "reelgate login --org ${organization}" and choose it when you confirm.`,
      { code: 'unauthorized', status: 401 },
    );
  const onlyApiKey = purpose === 'account' && process.env.REELGATE_API_KEY;
  const message = onlyApiKey
    ? `You are not signed in to ${baseUrl}. REELGATE_API_KEY works for videos and models, not for the account.`
    : `You are not signed in to ${baseUrl}.`;
  return new ReelgateError(message, { code: 'unauthorized', status: 401 });
}

/**
 * Whether requests use an API key, which only sees its own videos; a sign-in or user access token sees those of the
 * whole account.
 */
export const usesApiKey = (): boolean => Boolean(process.env.REELGATE_API_KEY) && !process.env.REELGATE_ACCESS_TOKEN;

/**
 * Whether account requests have a credential: a sign-in or a user access token. None is in a folder that cannot be read,
 * such as the home of another user.
 */
export const hasAccount = async ({
  signInKey,
  credentialStore,
}: {
  readonly signInKey: string;
  readonly credentialStore: CredentialStore;
}): Promise<boolean> =>
  Boolean(process.env.REELGATE_ACCESS_TOKEN) || (await credentialStore.has(signInKey).catch(() => false));

/** An access_token is refreshed this many milliseconds before it expires, so that none expires during a request. */
const MARGIN_MS = 5 * 60_000;

const expiresSoon = (signIn: StoredCredentials): boolean => signIn.accessExpiresAt - Date.now() < MARGIN_MS;
