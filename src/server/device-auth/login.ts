import type { LoginOutcome, Logins } from '../accounts/logins.ts';
import type { Codes } from './codes.ts';
import { LOGIN_PURPOSE } from './device-auth.ts';
import type { DeviceLimits } from './limits.ts';

interface Visit {
  readonly address: string;
  readonly session: string | undefined;
  readonly headers: { readonly 'user-agent'?: string | undefined };
}

/**
 * Logs in for a pending code and claims it. The code stands where a captcha would, but anybody can make codes, so the
 * password spends the same budgets as everywhere, and five wrong ones close the code to logins.
 *
 * @throws what `Codes.pending`, `Logins.logIn` and `Codes.claim` throw
 */
export async function logInForCode(
  { codes, limits, logins }: { codes: Codes; limits: DeviceLimits; logins: Pick<Logins, 'logIn'> },
  login: { readonly user_code: string; readonly username: string; readonly password: string },
  { address, session, headers }: Visit,
): Promise<LoginOutcome> {
  const { user_code: subject } = await codes.pending(login.user_code, address);
  await limits.spendLogin(subject);
  const outcome = await logins.logIn({
    username: login.username,
    password: login.password,
    from: { address, userAgent: headers['user-agent'] ?? '' },
    oldSession: session,
    purpose: { name: LOGIN_PURPOSE, subject },
  });
  await limits.loginSucceeded(subject);
  return outcome;
}
