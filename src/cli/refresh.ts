import { type DeviceAuth, ReelgateError } from '../sdk/index.ts';
import type { Credentials, SignIn } from './credentials.ts';

/** An access_token is renewed this long before it ends, so that none ends under way. */
const MARGIN_MS = 5 * 60_000;

export const isEnding = (signIn: SignIn, now: number): boolean => signIn.accessExpiresAt - now < MARGIN_MS;

/**
 * A newer pair than the one given: another process's, else a fresh one from the service. Processes that come together do
 * this one after the other, so one refreshes and the rest find its result; the new pair is stored before anybody uses it.
 * Undefined: there is no newer one to be had, and the sign-in is over or was removed.
 */
export function renewSignIn(
  credentials: Credentials,
  deviceAuth: DeviceAuth,
  old: SignIn,
): Promise<SignIn | undefined> {
  return credentials.exclusively(async () => {
    const latest = await credentials.read(old.baseUrl);
    if (latest === undefined || latest.accessToken !== old.accessToken) return latest;
    try {
      const pair = await deviceAuth.refresh(latest.refreshToken);
      const renewed: SignIn = {
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
