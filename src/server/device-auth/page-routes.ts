import type { FastifyReply } from 'fastify';
import * as lines from '../../contract/authorize.ts';
import { ERRORS, type ErrorCode } from '../../contract/errors.ts';
import { LOCALES, type Locale, toText } from '../../contract/messages/messages.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { Account } from '../accounts/store.ts';
import { addressKey } from '../platform/address.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError, isAppError } from '../platform/errors.ts';
import { pageHeaders } from '../platform/html.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { SessionCookies } from '../platform/http/session-cookie.ts';
import { randomToken } from '../platform/secrets.ts';
import type { CodeRow } from './code-store.ts';
import type { DeviceAuth } from './device-auth.ts';
import { originOf } from './json-routes.ts';
import { logInForCode } from './login.ts';
import { DEVICES_PAGE } from './notices.ts';
import { makeFormGuard } from './pages/form-guard.ts';
import { pagePath, type View } from './pages/layout.ts';
import { STYLE } from './pages/style.ts';
import { TEXTS } from './pages/texts.ts';
import { toAskedText } from './pages/time-text.ts';
import { consentView, enterCodeView, failureView, loginView, outcomeView, secondStepView } from './pages/views.ts';
import { readUserCode, showUserCode } from './user-code.ts';

export interface PageParts {
  readonly deviceAuth: Pick<DeviceAuth, 'codes' | 'limits' | 'clients' | 'nameDevice'>;
  readonly accounts: Pick<Accounts, 'logins' | 'sessions' | 'standing' | 'twoFactors'>;
  readonly cookies: SessionCookies;
  readonly clock: Clock;
  readonly masterKey: Buffer;
  /** Cookies only over https. */
  readonly secure: boolean;
}

/** Binds forms to the browser that was shown them; proves nothing else. */
const BROWSER_COOKIE = 'authorize_form';
const HEADERS = pageHeaders(STYLE);
/** The step of a login that waits for its second factor, in the address of the page. */
const SECOND_STEP = 'code';
const REPORTED = 'reported';
const NAMED = 'named';
/** A login older than this has to show its second step again before it lets a device in; sooner for one from elsewhere. */
const FRESH_MS = 12 * 60 * 60_000;
const FRESH_ELSEWHERE_MS = 10 * 60_000;

/** Who is logged in, and since when (Unix milliseconds). */
type Viewer = Account & { readonly loggedInAt: number };

interface Visit {
  readonly request: RequestContext;
  readonly reply: FastifyReply;
  readonly view: View;
  readonly locale: Locale;
}

/** The pages on which a person lets a device in. They work without scripts and ask nobody else for anything. */
export function addPageRoutes(routes: Routes, parts: PageParts): void {
  const { deviceAuth, accounts, cookies, clock } = parts;
  const { codes, clients } = deviceAuth;
  const guard = makeFormGuard(parts.masterKey);

  const browserOf = (reply: FastifyReply): string => {
    const known = reply.request.cookies[BROWSER_COOKIE];
    if (known !== undefined && known.length < 100) return known;
    const fresh = randomToken('rgf_', 32);
    reply.setCookie(BROWSER_COOKIE, fresh, {
      httpOnly: true,
      sameSite: 'lax',
      path: '/authorize',
      secure: parts.secure,
    });
    return fresh;
  };

  const visitOf = (
    { request, reply }: { request: RequestContext; reply: FastifyReply },
    typed: string,
    lang?: string,
  ): Visit => {
    const locale = LOCALES.find((each) => each === lang) ?? request.locale;
    const known = readUserCode(typed);
    const code = known === undefined ? '' : showUserCode(known);
    let browser: string | undefined;
    const formValue = (action: string): string => {
      browser ??= browserOf(reply);
      return guard.issue(action, { browser, session: request.session, code }, clock.now());
    };
    return { request, reply, locale, view: { locale, texts: TEXTS[locale], code, formValue } };
  };

  const viewerOf = async ({ session }: RequestContext): Promise<Viewer | undefined> => {
    const row = session === undefined ? undefined : await accounts.sessions.find(session);
    const account = row && (await accounts.standing.find(row.user_id));
    return row && account && { ...account, loggedInAt: row.created_at };
  };

  const isElsewhere = (code: CodeRow, { address }: RequestContext): boolean =>
    addressKey(code.address) !== addressKey(address);

  /** A cookie alone lets no device in where the account has a second step and showed it long ago. */
  const mustShowAgain = async (code: CodeRow, viewer: Viewer, request: RequestContext): Promise<boolean> => {
    const fresh = isElsewhere(code, request) ? FRESH_ELSEWHERE_MS : FRESH_MS;
    return clock.now() - viewer.loggedInAt > fresh && (await accounts.twoFactors.isOnFor(viewer.id));
  };

  /** Stops a post another site made this browser send. */
  const assertOwnForm = ({ request, reply, view }: Visit, action: string, value: string): void => {
    const browser = reply.request.cookies[BROWSER_COOKIE];
    const binding = { browser: browser ?? '', session: request.session, code: view.code };
    if (browser === undefined || !guard.check(value, action, binding, clock.now())) throw new AppError('form_expired');
  };

  const askerOf = async (code: CodeRow) => ({
    client: (await clients.find(code.client_id))?.name ?? code.client_id,
    claimedName: code.client_name,
  });

  const consent = async (visit: Visit, code: CodeRow, viewer: Viewer, error?: string): Promise<string> => {
    const { request } = visit;
    const shown = {
      account:
        viewer.display_name === viewer.username ? viewer.username : `${viewer.display_name} (${viewer.username})`,
      ...(await askerOf(code)),
      address: code.address,
      program: code.user_agent,
      asked: toAskedText(code.created_at, clock.now(), visit.locale),
      elsewhere: isElsewhere(code, request),
      again: await mustShowAgain(code, viewer, request),
    };
    return consentView(visit.view, shown, { error });
  };

  const shown = async (visit: Visit, step: string | undefined, error?: string): Promise<string> => {
    const { view, request } = visit;
    const { status, code } = await codes.look(view.code, request.address);
    if (status === 'invalid' || code === undefined) throw new AppError('user_code_invalid');
    const viewer = await viewerOf(request);
    if (status === 'pending') {
      if (viewer === undefined) return step === SECOND_STEP ? secondStepView(view) : loginView(view);
      if (code.claimed_by !== null && code.claimed_by !== viewer.id) return outcomeView(view, 'done');
      return consent(visit, code, viewer, error);
    }
    if ((status === 'approved' || status === 'used') && viewer?.id === code.user_id) {
      const device = { ...(await askerOf(code)), link: DEVICES_PAGE, named: step === NAMED };
      return outcomeView(view, status, { device });
    }
    if (status === 'denied' && viewer?.id === code.user_id) {
      return step === REPORTED ? outcomeView(view, REPORTED) : outcomeView(view, status, { mayReport: true });
    }
    return outcomeView(view, status === 'approved' ? 'done' : status);
  };

  routes.add(lines.authorizePage, async ({ query, request, reply }) => {
    const visit = visitOf({ request, reply }, query.code ?? '', query.lang);
    if (query.code === undefined) return send(visit, 200, enterCodeView(visit.view));
    return answer(visit, async () => send(visit, 200, await shown(visit, query.step)), {
      user_code_invalid: (error) => enterCodeView(visit.view, { error }),
    });
  });

  routes.add(lines.authorizeLogin, async ({ body, request, reply }) => {
    const visit = visitOf({ request, reply }, body.code, body.lang);
    const again = (error: string) => loginView(visit.view, { error, username: body.username });
    const work = async () => {
      assertOwnForm(visit, 'login', body.form);
      const login = { user_code: body.code, username: body.username, password: body.password };
      const outcome = await logInForCode({ ...deviceAuth, logins: accounts.logins }, login, request);
      if (outcome.step === 'second') {
        cookies.setPending(reply, outcome.pending);
        return back(visit, SECOND_STEP);
      }
      cookies.setSession(reply, outcome.session);
      return back(visit);
    };
    return answer(visit, work, { wrong_login: again, account_disabled: again, form_expired: again });
  });

  routes.add(lines.authorizeSecondStep, async ({ body, request, reply }) => {
    const visit = visitOf({ request, reply }, body.code, body.lang);
    const work = async () => {
      assertOwnForm(visit, 'second-step', body.form);
      const outcome = await accounts.logins.finish({
        pending: cookies.pendingOf(reply),
        code: body.otp,
        from: { address: request.address, userAgent: request.headers['user-agent'] ?? '' },
        oldSession: request.session,
      });
      cookies.clearPending(reply);
      cookies.setSession(reply, outcome.session);
      return back(visit);
    };
    return answer(visit, work, {
      wrong_code: (error) => secondStepView(visit.view, { error }),
      form_expired: (error) => secondStepView(visit.view, { error }),
      login_expired: (error) => loginView(visit.view, { error }),
    });
  });

  routes.add(lines.authorizeSwitch, async ({ body, request, reply }) => {
    const visit = visitOf({ request, reply }, body.code, body.lang);
    return answer(visit, async () => {
      assertOwnForm(visit, 'switch', body.form);
      const row = request.session === undefined ? undefined : await accounts.sessions.find(request.session);
      if (row !== undefined) await accounts.sessions.end(row.user_id, row.id);
      cookies.clearSession(reply);
      return back(visit);
    });
  });

  routes.add(lines.authorizeApprove, async ({ body, request, reply }) => {
    const visit = visitOf({ request, reply }, body.code, body.lang);
    const work = async () => {
      assertOwnForm(visit, 'approve', body.form);
      const viewer = await viewerOf(request);
      if (viewer === undefined) return back(visit);
      const code = await codes.pending(body.code, request.address);
      if (await mustShowAgain(code, viewer, request)) await accounts.twoFactors.confirm(viewer.id, body.otp ?? '');
      await codes.approve(body.code, viewer.id, originOf(request));
      return back(visit);
    };
    return answer(visit, work, { wrong_code: (error) => shown(visit, undefined, error) });
  });

  routes.add(lines.authorizeName, async ({ body, request, reply }) => {
    const visit = visitOf({ request, reply }, body.code, body.lang);
    return answer(visit, async () => {
      assertOwnForm(visit, 'name', body.form);
      const viewer = await viewerOf(request);
      const { code } = await codes.look(body.code, request.address);
      if (viewer === undefined || code === undefined) return back(visit);
      await deviceAuth.nameDevice(viewer.id, code.id, body.name, originOf(request));
      return back(visit, NAMED);
    });
  });

  const others = { deny: [lines.authorizeDeny], report: [lines.authorizeReport, REPORTED] } as const;
  for (const action of ['deny', 'report'] as const) {
    const [line, step] = others[action];
    routes.add(line, async ({ body, request, reply }) => {
      const visit = visitOf({ request, reply }, body.code, body.lang);
      return answer(visit, async () => {
        assertOwnForm(visit, action, body.form);
        const viewer = await viewerOf(request);
        if (viewer !== undefined) await codes[action](body.code, viewer.id, originOf(request));
        return back(visit, step);
      });
    });
  }
}

const send = ({ reply }: Visit, status: number, page: string): FastifyReply =>
  reply.status(status).headers(HEADERS).send(page);

/** 303, so that the browser fetches what is next and never repeats the post (RFC 9110 section 15.4.4). */
const back = ({ reply, view }: Visit, step?: string): FastifyReply =>
  reply.headers(HEADERS).redirect(pagePath(view.code, view.locale, step), 303);

/** Shows a failure on a page that lets the person go on: the form once more where the failure belongs to a field. */
async function answer(
  visit: Visit,
  work: () => Promise<FastifyReply>,
  again: Partial<Record<ErrorCode, (message: string) => string | Promise<string>>> = {},
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (!isAppError(error)) throw error;
    const { params, retryAfterSeconds } = error.options;
    const message = toText(error.code, visit.locale, params);
    if (retryAfterSeconds !== undefined) visit.reply.header('retry-after', String(Math.ceil(retryAfterSeconds)));
    const page = (await again[error.code]?.(message)) ?? failureView(visit.view, message);
    return send(visit, ERRORS[error.code].status, page);
  }
}
