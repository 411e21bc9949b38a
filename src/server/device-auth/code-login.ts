import type { LoginOutcome, LoginService } from '../accounts/login-service.ts';
import type { LoginClient } from '../platform/http/request-context.ts';
import type { DeviceCodeService } from './codes.ts';
import type { DeviceRateLimits } from './rate-limits.ts';

/** Purpose of a login for a device code; its subject is the code. */
export const LOGIN_PURPOSE = 'device';

interface DeviceCodeLoginDependencies {
  readonly codes: DeviceCodeService;
  readonly rateLimits: DeviceRateLimits;
  readonly logins: Pick<LoginService, 'logIn'>;
}

interface DeviceCodeLogin {
  readonly user_code: string;
  /** User name or e-mail. */
  readonly username: string;
  readonly password: string;
}

/**
 * Logs in for a pending code and claims it. The code replaces a captcha, but anyone can request codes, so the password
 * counts against the same limits as every login, and five wrong ones close the code to logins.
 *
 * @throws the errors of `DeviceCodeService.findPending`, `LoginService.logIn` and `DeviceCodeService.claim`
 */
export async function logInForDeviceCode(
  { codes, rateLimits, logins }: DeviceCodeLoginDependencies,
  { user_code, username, password }: DeviceCodeLogin,
  client: LoginClient,
): Promise<LoginOutcome> {
  const { user_code: subject } = await codes.findPending(user_code, client.address);
  await rateLimits.consumeLoginAttempt(subject);
  const outcome = await logins.logIn({ username, password, client, purpose: { name: LOGIN_PURPOSE, subject } });
  await rateLimits.refundLoginAttempt(subject);
  return outcome;
}
