import type { DeviceStatus } from '../../contract/device-auth.ts';
import type { Locale } from '../../contract/messages/format-message.ts';
import type { Account, AccountAccess } from '../accounts/account-store.ts';
import type { SessionService } from '../accounts/sessions.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { ClientService } from './clients.ts';
import type { DeviceCodeRow } from './code-store.ts';
import { type ApprovalSecondStepCheck, type Approver, DEVICES_PAGE, type DeviceCodeService } from './codes.ts';
import {
  consentView,
  loginView,
  outcomeView,
  type PageContext,
  type RequestingClient,
  secondStepView,
} from './views.ts';

/** Steps named in the page's URL: the second factor is outstanding, or the last form was a report or a rename. */
export const PAGE_STEPS = { secondStep: 'code', reported: 'reported', named: 'named' } as const;

/** The account logged in on the page. */
interface Viewer extends Approver {
  readonly account: Account;
}

/** The parts of a request that decide which page is shown. */
interface PageRequest {
  readonly clientIp: string;
  /** Value of the session cookie. */
  readonly session: string | undefined;
}

interface PageChooserDependencies {
  readonly codes: DeviceCodeService;
  readonly clients: ClientService;
  readonly approvalCheck: ApprovalSecondStepCheck;
  readonly sessions: Pick<SessionService, 'find'>;
  readonly access: Pick<AccountAccess, 'findEnabled'>;
  readonly clock: Clock;
}

/** Chooses the page for a code by the code's state and the viewer. */
export class PageChooser {
  readonly #dependencies: PageChooserDependencies;

  constructor(dependencies: PageChooserDependencies) {
    this.#dependencies = dependencies;
  }

  async findViewer({ session }: PageRequest): Promise<Viewer | undefined> {
    const { sessions, access } = this.#dependencies;
    const row = session === undefined ? undefined : await sessions.find(session);
    const account = row && (await access.findEnabled(row.user_id));
    if (row === undefined || account === undefined) return undefined;
    const caller = { kind: 'session', userId: account.id, role: account.role, sessionId: row.id } as const;
    return { account, caller, loggedInAt: row.created_at };
  }

  /**
   * @param step from the page's URL
   * @param error to show at the form's field
   * @throws user_code_invalid, rate_limit_exceeded
   */
  async render(context: PageContext, request: PageRequest, step?: string, error?: string): Promise<string> {
    const { status, code } = await this.#dependencies.codes.lookUp(context.code, request.clientIp);
    if (status === 'invalid' || code === undefined) throw new AppError('user_code_invalid');
    const viewer = await this.findViewer(request);
    if (status !== 'pending') return this.#renderOutcome(context, status, code, viewer, step);
    if (viewer === undefined) return step === PAGE_STEPS.secondStep ? secondStepView(context) : loginView(context);
    if (code.claimed_by !== null && code.claimed_by !== viewer.account.id) return outcomeView(context, 'done');
    return this.#renderConsent(context, request, code, viewer, error);
  }

  async #renderConsent(
    context: PageContext,
    { clientIp }: PageRequest,
    code: DeviceCodeRow,
    viewer: Viewer,
    error: string | undefined,
  ): Promise<string> {
    const { approvalCheck, clock } = this.#dependencies;
    const { username, display_name: displayName } = viewer.account;
    const details = {
      account: displayName === username ? username : `${displayName} (${username})`,
      ...(await this.#toRequestingClient(code)),
      address: code.address,
      userAgent: code.user_agent,
      requestedAt: formatRequestTime(code.created_at, clock.now(), context.locale),
      fromOtherNetwork: approvalCheck.isFromOtherNetwork(code, clientIp),
      needsSecondStep: await approvalCheck.needsSecondStep(code, viewer, clientIp),
    };
    return consentView(context, details, { error });
  }

  /** Renders the outcome. Details are shown only to the account that decided. */
  async #renderOutcome(
    context: PageContext,
    status: Exclude<DeviceStatus, 'pending' | 'invalid'>,
    code: DeviceCodeRow,
    viewer: Viewer | undefined,
    step: string | undefined,
  ): Promise<string> {
    const isDecider = viewer !== undefined && viewer.account.id === code.user_id;
    if (isDecider && (status === 'approved' || status === 'used')) {
      const client = await this.#toRequestingClient(code);
      return outcomeView(context, status, {
        device: { ...client, link: DEVICES_PAGE, named: step === PAGE_STEPS.named },
      });
    }
    if (isDecider && status === 'denied') {
      return step === PAGE_STEPS.reported
        ? outcomeView(context, 'reported')
        : outcomeView(context, status, { mayReport: true });
    }
    return outcomeView(context, status === 'approved' ? 'done' : status);
  }

  async #toRequestingClient(code: DeviceCodeRow): Promise<RequestingClient> {
    const client = await this.#dependencies.clients.find(code.client_id);
    return { client: client?.name ?? code.client_id, claimedName: code.client_name };
  }
}

const MINUTE_MS = 60_000;

/**
 * `2 minutes ago (21 Nov 2026, 12:00 UTC)`: in UTC, because a page without scripts cannot know the reader's time zone.
 */
export function formatRequestTime(at: number, now: number, locale: Locale): string {
  const minutes = Math.max(0, Math.floor((now - at) / MINUTE_MS));
  const ago = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' }).format(-minutes, 'minute');
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }).format(at);
  return `${ago} (${date} UTC)`;
}
