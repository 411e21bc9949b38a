import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { AccountCaller } from '../platform/http/request-context.ts';
import type { AccountStore } from './account-store.ts';
import type { LoginService } from './login-service.ts';
import type { CredentialRecheck } from './management-tokens.ts';
import type { SignInMethods } from './sign-in-methods.ts';
import type { TwoFactorService } from './two-factor.ts';

/** A sign-in this recent needs no other proof where the account has neither a second step nor a password. */
const FRESH_MS = 10 * 60_000;

/** The proof sent with a change to how an account is signed in to. */
export interface OwnerProof {
  readonly password?: string | undefined;
  /** TOTP or backup code. */
  readonly code?: string | undefined;
}

interface OwnerConfirmationDependencies {
  readonly accounts: AccountStore;
  readonly twoFactors: TwoFactorService;
  readonly logins: LoginService;
  readonly credentials: CredentialRecheck;
  readonly signInMethods: SignInMethods;
  readonly clock: Clock;
}

/** Proves that the owner, not a found session, changes how the account is signed in to. */
export class OwnerConfirmation {
  readonly #dependencies: OwnerConfirmationDependencies;

  constructor(dependencies: OwnerConfirmationDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Requires a code if two-step verification is on, else the password, else a sign-in of the last ten minutes.
   *
   * @throws second_step_required, password_required, sign_in_again, wrong_code, wrong_password, rate_limit_exceeded
   */
  async assertOwner(caller: AccountCaller, { password, code }: OwnerProof): Promise<void> {
    const { accounts, twoFactors, logins, signInMethods } = this.#dependencies;
    const account = await accounts.find(caller.userId);
    if (account === undefined) throw new AppError('unauthorized');
    if (await twoFactors.isEnabled(account.id)) {
      if (code === undefined) throw new AppError('second_step_required');
      return twoFactors.confirm(caller, code);
    }
    if (await signInMethods.hasPassword(account)) {
      if (password === undefined) throw new AppError('password_required');
      return logins.withConfirmedPassword(caller, password, async () => {});
    }
    await this.#assertFreshSignIn(caller);
  }

  async #assertFreshSignIn(caller: AccountCaller): Promise<void> {
    const { credentials, clock } = this.#dependencies;
    const createdAt = caller.kind === 'device' ? undefined : await credentials.findCreatedAt(caller);
    if (createdAt === undefined || clock.now() - createdAt > FRESH_MS) throw new AppError('sign_in_again');
  }
}
