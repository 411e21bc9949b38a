import { outranks, type Role } from '../../contract/account-fields.ts';
import type { Assertion } from '../../contract/passkey-credentials.ts';
import { AppError } from '../platform/app-error.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import type { AccountCaller } from '../platform/http/route-registry.ts';
import type { Executor, Tables } from '../tables.ts';
import type { PasskeyService } from './passkeys.ts';
import type { TwoFactorService } from './two-factor.ts';
import type { WaysIn } from './ways-in.ts';

/** A second step: a TOTP or backup code, or the use of a passkey. */
export interface SecondStepProof {
  readonly code?: string | undefined;
  readonly credential?: Assertion | undefined;
}

interface SecondFactorsDependencies {
  readonly database: Database<Tables>;
  readonly settings: Live<Pick<SiteSettings, 'requireSecondFactor'>>;
  readonly twoFactors: TwoFactorService;
  readonly passkeys: PasskeyService;
  readonly waysIn: WaysIn;
}

/** The second factors of an account, TOTP and passkeys alike, and the rule that some accounts must have one. */
export class SecondFactors {
  readonly #dependencies: SecondFactorsDependencies;

  constructor(dependencies: SecondFactorsDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether `REQUIRE_SECOND_FACTOR` applies to accounts of this role. */
  isRequiredOf(role: Role): boolean {
    const { requireSecondFactor: rule } = this.#dependencies.settings.current();
    return rule === 'all' || (rule === 'admins' && outranks(role, 'user'));
  }

  /** Whether the account has a second factor of any kind. */
  async isEnabled(userId: number, db: Executor = this.#dependencies.database.kysely): Promise<boolean> {
    const { twoFactors } = this.#dependencies;
    return (await twoFactors.isEnabled(userId, db)) || this.hasPasskey(userId, db);
  }

  /** Whether the account has a passkey for the present host. */
  hasPasskey(userId: number, db: Executor = this.#dependencies.database.kysely): Promise<boolean> {
    return this.#dependencies.waysIn.hasPasskey(userId, db);
  }

  /** Whether the account lacks a second factor that it must have. */
  async isMissing(userId: number, role: Role): Promise<boolean> {
    return this.isRequiredOf(role) && !(await this.isEnabled(userId));
  }

  /** @throws second_factor_required */
  async assertNotMissing(userId: number, role: Role): Promise<void> {
    if (await this.isMissing(userId, role)) throw new AppError('second_factor_required');
  }

  /**
   * Whether a login by password or identity needs a second step: with two-step verification always, with a passkey only
   * if a second factor is required.
   */
  async mustFollow(userId: number, role: Role, db: Executor): Promise<boolean> {
    if (await this.#dependencies.twoFactors.isEnabled(userId, db)) return true;
    return this.isRequiredOf(role) && this.hasPasskey(userId, db);
  }

  /**
   * Repeats the second step of a logged-in caller.
   *
   * @throws second_step_required if nothing is given, wrong_code, wrong_passkey, passkey_expired, rate_limit_exceeded
   */
  async confirm(caller: AccountCaller, { code, credential }: SecondStepProof): Promise<void> {
    const { twoFactors, passkeys } = this.#dependencies;
    if (credential !== undefined) return passkeys.confirm(caller, credential);
    if (code === undefined) throw new AppError('second_step_required');
    return twoFactors.confirm(caller, code);
  }
}
