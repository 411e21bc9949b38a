import { HOUR_MS } from '../../contract/time-units.ts';
import type { TwoFactorService } from '../accounts/two-factor.ts';
import { AppError } from '../platform/app-error.ts';
import { toIpLimitKey } from '../platform/client-ip.ts';
import type { Clock } from '../platform/clock.ts';
import type { AccountCaller } from '../platform/http/request-context.ts';
import type { DeviceCodeRow } from './device-code-store.ts';

/** A login older than this has to show its second step again before it lets a device sign in. */
const LOGIN_FRESH_MS = 12 * HOUR_MS;
/** The same where the request and the user come from different networks, as in a phishing attack. */
const LOGIN_FRESH_OTHER_NETWORK_MS = 10 * 60_000;

/** Who decides about a code, and when they logged in (Unix milliseconds). */
export interface Approver {
  readonly caller: AccountCaller;
  readonly loggedInAt: number;
}

export interface ApprovalCheckDependencies {
  readonly twoFactors: Pick<TwoFactorService, 'isEnabled' | 'confirm'>;
  readonly clock: Clock;
}

type CodeOrigin = Pick<DeviceCodeRow, 'address'>;

/** An old cookie or token alone lets no device sign in where the account has a second step. One rule for every way to approve. */
export class ApprovalSecondStepCheck {
  readonly #dependencies: ApprovalCheckDependencies;

  constructor(dependencies: ApprovalCheckDependencies) {
    this.#dependencies = dependencies;
  }

  isFromOtherNetwork(code: CodeOrigin, clientIp: string): boolean {
    return toIpLimitKey(code.address) !== toIpLimitKey(clientIp);
  }

  async needsSecondStep(code: CodeOrigin, { caller, loggedInAt }: Approver, clientIp: string): Promise<boolean> {
    const { twoFactors, clock } = this.#dependencies;
    const freshMs = this.isFromOtherNetwork(code, clientIp) ? LOGIN_FRESH_OTHER_NETWORK_MS : LOGIN_FRESH_MS;
    return clock.now() - loggedInAt > freshMs && (await twoFactors.isEnabled(caller.userId));
  }

  /** @throws second_step_required without a code, wrong_code, rate_limit_exceeded */
  async assertSecondStep(
    code: CodeOrigin,
    approver: Approver,
    clientIp: string,
    otp: string | undefined,
  ): Promise<void> {
    if (!(await this.needsSecondStep(code, approver, clientIp))) return;
    if (otp === undefined) throw new AppError('second_step_required');
    await this.#dependencies.twoFactors.confirm(approver.caller, otp);
  }
}
