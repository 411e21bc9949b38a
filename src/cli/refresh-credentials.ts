import { ReelgateError } from '../sdk/errors.ts';
import type { DeviceAuth } from '../sdk/index.ts';
import type { CredentialStore, StoredCredentials } from './credential-store.ts';

/** An access_token is refreshed this long before it expires, so that none expires during a request. */
const MARGIN_MS = 5 * 60_000;

export const expiresSoon = (signIn: StoredCredentials, now: number): boolean =>
  signIn.accessExpiresAt - now < MARGIN_MS;

/**
 * Returns newer tokens than those given: another process's, else new ones from the service. Concurrent processes run this
 * one after the other, so one refreshes and the others find its result; the new pair is stored before it is used.
 *
 * @returns undefined when the sign-in has ended or was removed
 */
export function refreshCredentials(
  credentials: CredentialStore,
  deviceAuth: DeviceAuth,
  old: StoredCredentials,
): Promise<StoredCredentials | undefined> {
  return credentials.runExclusive(async () => {
    const latest = await credentials.read(old.baseUrl);
    if (latest === undefined || latest.accessToken !== old.accessToken) return latest;
    try {
      const pair = await deviceAuth.refresh(latest.refreshToken);
      const renewed: StoredCredentials = {
        ...latest,
        accessToken: pair.access_token,
        refreshToken: pair.refresh_token,
        accessExpiresAt: Date.now() + pair.expires_in * 1000,
      };
      await credentials.write(renewed);
      return renewed;
    } catch (error) {
      if (error instanceof ReelgateError && error.code === 'invalid_grant') return undefined;
      throw error;
    }
  });
}
