import type { FastifyReply } from 'fastify';
import type { DeviceStatus } from '../../contract/device-auth.ts';
import * as endpoints from '../../contract/device-pages.ts';
import type { ErrorCode } from '../../contract/error-codes.ts';
import { LOCALES, type Locale } from '../../contract/messages/format-message.ts';
import { defined } from '../../contract/objects.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import type { Account, AccountAccess } from '../accounts/account-store.ts';
import type { Memberships } from '../accounts/memberships.ts';
import type { Accounts } from '../accounts/module.ts';
import type { PasskeyService } from '../accounts/passkeys.ts';
import type { SecondFactors, SecondStepProof } from '../accounts/second-factors.ts';
import type { SessionService } from '../accounts/sessions.ts';
import type { TwoFactorService } from '../accounts/two-factor.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import { SCRIPTED_PAGE_HEADERS, STANDALONE_PAGE_HEADERS } from '../platform/html.ts';
import { showErrorsAsPage } from '../platform/http/error-responses.ts';
import type { LoginCookies } from '../platform/http/login-cookies.ts';
import {
  type RequestContext,
  type RouteRegistry,
  toLoginClient,
  toRequestOrigin,
} from '../platform/http/route-registry.ts';
import { createSigner, randomToken, type Signer } from '../platform/tokens.ts';
import type { ClientService } from './clients.ts';
import type { DeviceCodeRow } from './code-store.ts';
import {
  type ApprovalSecondStepCheck,
  type Approver,
  DEVICES_PAGE,
  type DeviceCodeService,
  formatUserCode,
  LOGIN_PURPOSE,
  logInForDevice,
  parseUserCode,
} from './codes.ts';
import type { DeviceAuth } from './module.ts';
import { APP_TEXTS, TEXTS } from './texts.ts';
import {
  consentView,
  enterCodeView,
  failureView,
  loginView,
  outcomeView,
  ownPath,
  PASSKEY_SCRIPT,
  type PageContext,
  parsePasskeyField,
  type RequestingClient,
  secondFactorView,
  secondStepView,
} from './views.ts';

export interface PageRouteDependencies {
  readonly deviceAuth: Pick<DeviceAuth, 'approvalCheck' | 'clients' | 'codes' | 'devices' | 'rateLimits'>;
  readonly accounts: Pick<Accounts, 'access' | 'logins' | 'passkeys' | 'secondFactors' | 'sessions' | 'twoFactors'>;
  readonly cookies: LoginCookies;
  readonly clock: Clock;
  readonly masterKey: Buffer;
  /** Whether cookies are limited to https. */
  readonly secure: boolean;
  readonly site: Live<PageSettings>;
  /** Settings with effects that a client applies once it is approved. */
  readonly findManagedSettings: FindManagedSettings;
}

/** The settings of a client that its user must know before approving it, such as those that run programs. */
type FindManagedSettings = (clientId: string) => Promise<readonly string[]>;

/** Settings of the site that the pages show. */
type PageSettings = Pick<SiteSettings, 'siteName' | 'oidcProviders' | 'passwordSignIn'>;

/** Binds forms to the browser they were shown to; does not authenticate a user. */
const BROWSER_COOKIE = 'authorize_form';
const MAX_BROWSER_COOKIE_LENGTH = 100;

/** One request for a page, with the context its page is rendered with. */
export interface PageVisit {
  readonly request: RequestContext;
  readonly reply: FastifyReply;
  readonly context: PageContext;
  readonly locale: Locale;
}

/** Pages to show instead of the plain failure page, given the text of the error. */
type PagesByError = Partial<Record<ErrorCode, (message: string) => string | Promise<string>>>;

/**
 * Registers the pages on which a user approves a device. They load nothing from other hosts and work without scripts,
 * except for passkeys.
 */
export function addPageRoutes(
  routes: RouteRegistry,
  dependencies: PageRouteDependencies,
  visits: PageVisits,
  chooser: PageChooser,
): void {
  routes.add(endpoints.authorizePage, async ({ query, request, reply }) => {
    const visit = visits.open(request, reply, query.code ?? '', query.lang);
    if (query.code === undefined) return sendPage(visit, 200, enterCodeView(visit.context));
    const work = async () => sendPage(visit, 200, await chooser.render(visit.context, request, query.step));
    return respond(visit, work, { user_code_invalid: (error) => enterCodeView(visit.context, { error }) });
  });
  addLoginForms(routes, dependencies, visits);
  addPasskeyLogin(routes, dependencies, visits);
  addDecisionForms(routes, dependencies, visits, chooser);
}

function addLoginForms(
  routes: RouteRegistry,
  { deviceAuth, accounts, cookies }: PageRouteDependencies,
  visits: PageVisits,
): void {
  routes.add(endpoints.authorizeLogin, async ({ body, request, reply }) => {
    const visit = visits.open(request, reply, body.code, body.lang, body.request);
    const again = (error: string) => loginView(visit.context, { error, username: body.username });
    const work = async () => {
      visits.assertOwnForm(visit, 'login', body.form);
      const { username, password } = body;
      const client = toLoginClient(request, cookies.knownDeviceOf(reply));
      const login = { user_code: body.code, username, password };
      const outcome =
        visit.context.request === undefined
          ? await logInForDevice({ ...deviceAuth, logins: accounts.logins }, login, client)
          : await accounts.logins.logIn({ username, password, client });
      if (outcome.step === 'second') {
        cookies.setPending(reply, outcome.pending);
        return redirectToPage(visit, PAGE_STEPS.secondStep);
      }
      cookies.setLogin(reply, outcome);
      return redirectToPage(visit);
    };
    return respond(visit, work, {
      wrong_login: again,
      password_sign_in_off: again,
      account_disabled: again,
      form_expired: again,
    });
  });

  routes.add(endpoints.authorizeSecondStep, async ({ body, request, reply }) => {
    const visit = visits.open(request, reply, body.code, body.lang, body.request);
    const work = async () => {
      visits.assertOwnForm(visit, 'second-step', body.form);
      const client = toLoginClient(request, cookies.knownDeviceOf(reply));
      const step = { pending: cookies.pendingOf(reply), ...toProof(body), client };
      const outcome = await accounts.logins.completeSecondStep(step);
      cookies.clearPending(reply);
      cookies.setLogin(reply, outcome);
      return redirectToPage(visit);
    };
    return respond(visit, work, {
      wrong_code: (error) => secondStepView(visit.context, { error }),
      wrong_passkey: (error) => secondStepView(visit.context, { error }),
      passkey_expired: (error) => secondStepView(visit.context, { error }),
      form_expired: (error) => secondStepView(visit.context, { error }),
      login_expired: (error) => loginView(visit.context, { error }),
    });
  });

  routes.add(endpoints.authorizeSwitch, async ({ body, request, reply }) => {
    const visit = visits.open(request, reply, body.code, body.lang, body.request);
    return respond(visit, async () => {
      visits.assertOwnForm(visit, 'switch', body.form);
      const row = request.session === undefined ? undefined : await accounts.sessions.find(request.session);
      if (row !== undefined) {
        await deviceAuth.codes.release(body.code, row.user_id);
        await accounts.sessions.end(row.user_id, row.id);
      }
      cookies.clearSession(reply);
      return redirectToPage(visit);
    });
  });
}

/** Log in with a passkey: a form that the page's script fills in. */
function addPasskeyLogin(
  routes: RouteRegistry,
  { deviceAuth, accounts, cookies }: PageRouteDependencies,
  visits: PageVisits,
): void {
  routes.add(endpoints.authorizePasskeyScript, async ({ reply }) =>
    reply
      .header('cache-control', 'no-cache')
      .header('x-content-type-options', 'nosniff')
      .type('text/javascript; charset=utf-8')
      .send(PASSKEY_SCRIPT),
  );

  routes.add(endpoints.authorizePasskey, async ({ body, request, reply }) => {
    const visit = visits.open(request, reply, body.code, body.lang, body.request);
    const again = (error: string) => loginView(visit.context, { error });
    let used: string | undefined;
    const work = async () => {
      visits.assertOwnForm(visit, 'passkey', body.form);
      const credential = parsePasskeyField(body.passkey);
      used = credential.id;
      const isForCode = visit.context.request === undefined;
      const pending = isForCode ? await deviceAuth.codes.findPending(body.code, request.clientIp) : undefined;
      const outcome = await accounts.logins.logInWithPasskey(
        defined({
          credential,
          client: toLoginClient(request, cookies.knownDeviceOf(reply)),
          purpose: pending && { name: LOGIN_PURPOSE, subject: pending.user_code },
        }),
      );
      cookies.setLogin(reply, outcome);
      return redirectToPage(visit);
    };
    return respond(visit, work, {
      wrong_passkey: (error) => loginView(visit.context, defined({ error, unknownPasskey: used })),
      passkey_expired: again,
      account_disabled: again,
      form_expired: again,
    });
  });
}

/** The second step in a form: a code, or the use of a passkey as JSON. */
export const toProof = ({ otp, passkey }: { readonly otp?: string; readonly passkey?: string }): SecondStepProof => ({
  code: otp,
  credential: passkey === undefined || passkey === '' ? undefined : parsePasskeyField(passkey),
});

function addDecisionForms(
  routes: RouteRegistry,
  { deviceAuth }: PageRouteDependencies,
  visits: PageVisits,
  chooser: PageChooser,
): void {
  const { codes, devices } = deviceAuth;

  routes.add(endpoints.authorizeApprove, async ({ body, request, reply }) => {
    const visit = visits.open(request, reply, body.code, body.lang);
    const again = (error: string) => chooser.render(visit.context, request, undefined, error);
    const work = async () => {
      visits.assertOwnForm(visit, 'approve', body.form);
      const viewer = await chooser.findViewer(request);
      if (viewer !== undefined) {
        const approver = { ...viewer, organization: body.organization };
        await codes.approve(body.code, approver, toRequestOrigin(request), toProof(body));
      }
      return redirectToPage(visit);
    };
    return respond(visit, work, {
      wrong_code: again,
      wrong_passkey: again,
      passkey_expired: again,
      second_step_required: again,
      second_factor_required: again,
    });
  });

  routes.add(endpoints.authorizeName, async ({ body, request, reply }) => {
    const visit = visits.open(request, reply, body.code, body.lang);
    return respond(visit, async () => {
      visits.assertOwnForm(visit, 'name', body.form);
      const viewer = await chooser.findViewer(request);
      const { code } = await codes.lookUp(body.code, request.clientIp);
      if (viewer === undefined || code === undefined) return redirectToPage(visit);
      await devices.rename(viewer.account.id, code.id, body.name, toRequestOrigin(request));
      return redirectToPage(visit, PAGE_STEPS.named);
    });
  });

  const decisions = {
    deny: { endpoint: endpoints.authorizeDeny, step: undefined },
    report: { endpoint: endpoints.authorizeReport, step: PAGE_STEPS.reported },
  } as const;
  for (const action of ['deny', 'report'] as const) {
    const { endpoint, step } = decisions[action];
    routes.add(endpoint, async ({ body, request, reply }) => {
      const visit = visits.open(request, reply, body.code, body.lang);
      return respond(visit, async () => {
        visits.assertOwnForm(visit, action, body.form);
        const viewer = await chooser.findViewer(request);
        if (viewer !== undefined) await codes[action](body.code, viewer.account.id, toRequestOrigin(request));
        return redirectToPage(visit, step);
      });
    });
  }
}

/** Opens page visits, and checks that a form was shown by this service to this browser. */
export class PageVisits {
  readonly #guard: CsrfProtection;
  readonly #clock: Clock;
  readonly #secure: boolean;
  readonly #hasPasskeys: boolean;
  readonly #site: Live<PageSettings>;

  constructor({ masterKey, clock, secure, site, accounts }: PageRouteDependencies) {
    this.#site = site;
    this.#hasPasskeys = accounts.passkeys.isOn;
    this.#guard = new CsrfProtection(masterKey);
    this.#clock = clock;
    this.#secure = secure;
  }

  /**
   * @param lang the language in the page's URL or form, if any
   * @param authorizationRequest on the pages for one, its query
   */
  open(
    request: RequestContext,
    reply: FastifyReply,
    typed: string,
    lang: string | undefined,
    authorizationRequest?: string,
  ): PageVisit {
    const locale = LOCALES.find((each) => each === lang) ?? request.locale;
    const parsed = parseUserCode(typed);
    const code = parsed === undefined ? '' : formatUserCode(parsed);
    const ownQuery = authorizationRequest === undefined ? undefined : toOwnQuery(authorizationRequest);
    const subject = ownQuery ?? code;
    let browser: string | undefined;
    const formValue = (action: string): string => {
      browser ??= this.#readBrowserId(reply);
      return this.#guard.issue(action, { browser, session: request.session, subject }, this.#clock.now());
    };
    const { siteName, oidcProviders: providers, passwordSignIn } = this.#site.current();
    const isPasswordForRootOnly = !passwordSignIn;
    return {
      request,
      reply,
      locale,
      context: {
        locale,
        siteName,
        providers,
        isPasswordForRootOnly,
        hasPasskeys: this.#hasPasskeys,
        texts: ownQuery === undefined ? TEXTS[locale] : APP_TEXTS[locale],
        code,
        request: ownQuery,
        formValue,
      },
    };
  }

  /** Rejects a post that another site made this browser send. @throws form_expired */
  assertOwnForm({ request, reply, context }: PageVisit, action: string, value: string): void {
    const browser = reply.request.cookies[BROWSER_COOKIE];
    const subject = context.request ?? context.code;
    const binding = { browser: browser ?? '', session: request.session, subject };
    if (browser === undefined || !this.#guard.check(value, action, binding, this.#clock.now()))
      throw new AppError('form_expired');
  }

  #readBrowserId(reply: FastifyReply): string {
    const known = reply.request.cookies[BROWSER_COOKIE];
    if (known !== undefined && known.length < MAX_BROWSER_COOKIE_LENGTH) return known;
    const fresh = randomToken('rgf_', 32);
    reply.setCookie(BROWSER_COOKIE, fresh, {
      httpOnly: true,
      sameSite: 'lax',
      path: '/',
      secure: this.#secure,
    });
    return fresh;
  }
}

/** The parameters of an authorization request, in one spelling and without those of the page itself. */
function toOwnQuery(request: string): string {
  const parameters = new URLSearchParams(request);
  for (const name of ['lang', 'step']) parameters.delete(name);
  return parameters.toString();
}

export const sendPage = (
  { reply, context }: PageVisit,
  status: number,
  page: string,
  headers = context.hasPasskeys ? SCRIPTED_PAGE_HEADERS : STANDALONE_PAGE_HEADERS,
): FastifyReply => reply.status(status).headers(headers).send(page);

/**
 * Redirects with 303, so that the browser fetches the next page and never repeats the post (RFC 9110 section 15.4.4).
 */
export const redirectToPage = ({ reply, context }: PageVisit, step?: string): FastifyReply =>
  reply.headers(STANDALONE_PAGE_HEADERS).redirect(ownPath(context, step), 303);

/** Renders a failure on a page the user can continue from: the form again if the error belongs to a field. */
export function respond(
  visit: PageVisit,
  work: () => Promise<FastifyReply>,
  pagesByError: PagesByError = {},
): Promise<FastifyReply> {
  return showErrorsAsPage(visit.reply, visit.locale, work, async ({ code, status, message }) =>
    sendPage(visit, status, (await pagesByError[code]?.(message)) ?? failureView(visit.context, message)),
  );
}

const VALID_MS = HOUR_MS;

/** The values a form is bound to: this browser, its login, and what the page decides. */
interface FormBinding {
  /** Value of the page's own cookie. */
  readonly browser: string;
  /** Value of the session cookie; logging in or out makes the forms of other tabs stale. */
  readonly session: string | undefined;
  /** What the page decides: a code, or the query of an authorization request. */
  readonly subject: string;
}

/** CSRF values of the pages' forms, which a site that makes a browser post to this service cannot know. */
export class CsrfProtection {
  readonly #signer: Signer;

  constructor(masterKey: Buffer) {
    this.#signer = createSigner(masterKey, 'authorization forms');
  }

  /** @param now Unix milliseconds */
  issue(action: string, binding: FormBinding, now: number): string {
    const end = String(now + VALID_MS);
    return `${end}.${this.#signer.sign(textOf(end, action, binding))}`;
  }

  check(value: string, action: string, binding: FormBinding, now: number): boolean {
    const [end = '', signature = ''] = value.split('.');
    return this.#signer.verify(textOf(end, action, binding), signature) && Number(end) > now;
  }
}

const textOf = (end: string, action: string, { browser, session = '', subject }: FormBinding): string =>
  JSON.stringify([end, action, browser, session, subject]);

/** Steps named in the page's URL: the second factor is outstanding, or the last form was a report or a rename. */
export const PAGE_STEPS = { secondStep: 'code', reported: 'reported', named: 'named' } as const;

/** The account logged in on the page. */
export interface Viewer extends Approver {
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
  readonly memberships: Pick<Memberships, 'listOf'>;
  readonly approvalCheck: ApprovalSecondStepCheck;
  readonly sessions: Pick<SessionService, 'find'>;
  readonly access: Pick<AccountAccess, 'findEnabled'>;
  readonly passkeys: Pick<PasskeyService, 'list'>;
  readonly secondFactors: Pick<SecondFactors, 'isMissing'>;
  readonly twoFactors: Pick<TwoFactorService, 'isEnabled'>;
  readonly clock: Clock;
  readonly findManagedSettings: FindManagedSettings;
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
    const { id } = viewer.account;
    if (code.claimed_by !== null && code.claimed_by !== id) return outcomeView(context, 'done');
    if (await this.lacksFactor(viewer)) return secondFactorView(context);
    if (!(await this.#dependencies.codes.bind(code, id))) return outcomeView(context, 'done');
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
      secondStep: (await approvalCheck.needsSecondStep(code, viewer, clientIp))
        ? await this.findSecondStep(viewer.account.id)
        : undefined,
      isGrant: code.scopes !== null,
      organizations: await this.#dependencies.memberships.listOf(viewer.account.id),
      managedSettings: await this.#dependencies.findManagedSettings(code.client_id),
    };
    return consentView(context, details, { error });
  }

  /** Whether the viewer must set up a second factor before any decision. */
  lacksFactor({ account }: Viewer): Promise<boolean> {
    return this.#dependencies.secondFactors.isMissing(account.id, account.role);
  }

  /** The ways in which an account can repeat its second step. */
  async findSecondStep(userId: number) {
    const { twoFactors, passkeys } = this.#dependencies;
    const usable = (await passkeys.list(userId)).filter((passkey) => passkey.isUsable);
    return {
      hasCode: await twoFactors.isEnabled(userId),
      passkeys: usable.map(({ credential_id: id, transports }) => ({
        id,
        transports: JSON.parse(transports) as string[],
      })),
    };
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
  return locale === 'zh-CN' ? `${ago}（${date} UTC）` : `${ago} (${date} UTC)`;
}
