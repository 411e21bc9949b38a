import type { FastifyReply } from 'fastify';
import * as endpoints from '../../contract/identity-providers.ts';
import type { Locale } from '../../contract/messages/format-message.ts';
import { done, ok } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { Accounts } from '../accounts/module.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Live } from '../platform/config.ts';
import { html, STANDALONE_PAGE_HEADERS, standalonePage } from '../platform/html.ts';
import { showErrorsAsPage } from '../platform/http/error-responses.ts';
import type { LoginCookies } from '../platform/http/login-cookies.ts';
import {
  type RequestContext,
  type RouteRegistry,
  toLoginClient,
  toRequestOrigin,
} from '../platform/http/route-registry.ts';
import { randomToken } from '../platform/tokens.ts';
import type { IdentityBrowser, IdentityOutcome } from './identity-sign-in.ts';
import type { IdentityProviders } from './module.ts';

interface IdentityRouteDependencies {
  readonly identityProviders: IdentityProviders;
  readonly accounts: Pick<Accounts, 'access' | 'presence' | 'sessions'>;
  readonly cookies: LoginCookies;
  /** Prefix of every link. */
  readonly baseUrl: string;
  readonly site: Live<{ readonly siteName: string }>;
}

/** Binds `state` to the browser that was sent to the provider; does not authenticate a user. */
const BROWSER_COOKIE = 'identity_browser';
const MAX_COOKIE_LENGTH = 100;
const SIGN_IN_PAGE = '/sign-in';
/** Pages that ask for the second step themselves. */
const PAGES_WITH_STEP = ['/authorize', '/oauth/authorize', SIGN_IN_PAGE];
const SECURITY_PAGE = '/account/security';
/** The console then finds the account by the cookie. */
const AFTER_SIGN_IN = `${SIGN_IN_PAGE}?signed_in=true`;

/** Registers signing in at identity providers, the identities of an account, and the check of a provider. */
export function addIdentityRoutes(routes: RouteRegistry, dependencies: IdentityRouteDependencies): void {
  addSignInRoutes(routes, dependencies);
  addOwnIdentityRoutes(routes, dependencies);
  addSessionRoute(routes, dependencies);
  const { client } = dependencies.identityProviders;
  routes.add(endpoints.testIdentityProvider, async ({ body }) => {
    const provider = dependencies.identityProviders.toProvider(body.provider);
    const checks = [...(await client.check(provider))];
    const prefix = `${dependencies.baseUrl}/auth/${provider.id}`;
    return ok({ redirect_uri: `${prefix}/callback`, backchannel_logout_uri: `${prefix}/backchannel-logout`, checks });
  });
}

function addSignInRoutes(routes: RouteRegistry, dependencies: IdentityRouteDependencies): void {
  const { identityProviders, cookies, baseUrl } = dependencies;
  const { signIns, rateLimits } = identityProviders;
  const browsers = new Browsers(cookies, baseUrl.startsWith('https:'));

  routes.add(endpoints.startIdentitySignIn, async ({ params, query, request, reply }) => {
    const provider = signIns.findProvider(params.provider);
    const returnTo = query.return_to === undefined ? AFTER_SIGN_IN : assertOwnPath(query.return_to, baseUrl);
    await rateLimits.consumeStart(request.clientIp);
    return redirect(reply, await signIns.start(provider, browsers.identify(request, reply), returnTo));
  });

  routes.add(endpoints.identityCallback, async ({ params, query, request, reply }) => {
    const provider = signIns.findProvider(params.provider);
    let returnTo = SIGN_IN_PAGE;
    const work = () =>
      rateLimits.countReturn(request.clientIp, async () => {
        const cookie = browsers.cookieOf(reply);
        const pending = await signIns.take(provider, cookie, query.state);
        returnTo = pending.return_to;
        const browser = browsers.identify(request, reply);
        const given = new URLSearchParams(Object.entries(query));
        const outcome = await signIns.complete(provider, pending, given, browser, toRequestOrigin(request));
        return redirect(reply, finish(reply, cookies, outcome, returnTo));
      });
    return showErrorsAsPage(reply, request.locale, work, ({ status, message }) =>
      reply
        .status(status)
        .headers(STANDALONE_PAGE_HEADERS)
        .send(failurePage(request.locale, dependencies.site.current().siteName, provider.title, message, returnTo)),
    );
  });

  routes.add(endpoints.backChannelLogout, async ({ params, body, request }) => {
    const provider = signIns.findProvider(params.provider);
    const { logout_token: token } = body;
    if (token === undefined) throw invalidRequest('logout_token is required', 'logout_token');
    await rateLimits.countLogout(request.clientIp, () => signIns.logOut(provider, token));
    return {};
  });
}

function addOwnIdentityRoutes(
  routes: RouteRegistry,
  { identityProviders, accounts, cookies, baseUrl }: IdentityRouteDependencies,
): void {
  const { signIns, rateLimits } = identityProviders;
  const browsers = new Browsers(cookies, baseUrl.startsWith('https:'));

  routes.add(endpoints.listIdentities, async ({ caller }) =>
    ok(
      (await signIns.list(caller.userId)).map((row) => ({
        id: row.id,
        provider: row.provider,
        issuer: row.issuer,
        sub: row.sub,
        email: row.email ?? '',
        last_used_time: row.last_used_at === null ? null : toSeconds(row.last_used_at),
      })),
    ),
  );

  routes.add(endpoints.startIdentityLink, async ({ caller, params, body, request, reply }) => {
    const provider = signIns.findProvider(params.provider);
    await accounts.presence.assertPresent(caller, body);
    await rateLimits.consumeStart(request.clientIp);
    const browser = browsers.identify(request, reply);
    return ok({ url: await signIns.startLink(provider, browser, caller, SECURITY_PAGE) });
  });

  routes.add(endpoints.deleteIdentity, async ({ caller, params, request }) => {
    await signIns.remove(caller, Number(params.id), request.session, toRequestOrigin(request));
    return done();
  });
}

/** The console stores the id of the account in the browser, which a redirect cannot. */
function addSessionRoute(routes: RouteRegistry, { accounts }: IdentityRouteDependencies): void {
  routes.add(endpoints.getSession, async ({ request }) => {
    const row = request.session === undefined ? undefined : await accounts.sessions.find(request.session);
    const account = row && (await accounts.access.findEnabled(row.user_id));
    if (account === undefined) throw new AppError('unauthorized');
    const { id, username, display_name, role } = account;
    return ok({ id, username, display_name, role });
  });
}

/** The browsers that are sent to a provider, each recognized by its cookie. */
class Browsers {
  readonly #cookies: LoginCookies;
  readonly #secure: boolean;

  constructor(cookies: LoginCookies, secure: boolean) {
    this.#cookies = cookies;
    this.#secure = secure;
  }

  cookieOf(reply: FastifyReply): string | undefined {
    const known = reply.request.cookies[BROWSER_COOKIE];
    return known !== undefined && known.length < MAX_COOKIE_LENGTH ? known : undefined;
  }

  identify(request: RequestContext, reply: FastifyReply): IdentityBrowser {
    const client = toLoginClient(request, this.#cookies.knownDeviceOf(reply));
    const known = this.cookieOf(reply);
    if (known !== undefined) return { cookie: known, client };
    const cookie = randomToken('rgib_', 43);
    // Lax, because the provider sends the browser back from another site.
    const attributes = { httpOnly: true, sameSite: 'lax', path: '/', secure: this.#secure } as const;
    reply.setCookie(BROWSER_COOKIE, cookie, attributes);
    return { cookie, client };
  }
}

/** Sets the cookies of a finished sign-in and returns the path to continue at. */
function finish(reply: FastifyReply, cookies: LoginCookies, outcome: IdentityOutcome, returnTo: string): string {
  if (outcome.step === 'linked') return returnTo;
  if (outcome.step === 'done') {
    cookies.clearPending(reply);
    cookies.setLogin(reply, outcome);
    return returnTo;
  }
  cookies.setPending(reply, outcome.pending);
  const { pathname, searchParams } = new URL(returnTo, 'http://localhost');
  const isPageWithStep = PAGES_WITH_STEP.includes(pathname);
  const query = isPageWithStep ? searchParams : new URLSearchParams({ back: returnTo });
  query.set('step', 'code');
  return `${isPageWithStep ? pathname : SIGN_IN_PAGE}?${query}`;
}

/** 303, so that the browser never repeats the request (RFC 9110 section 15.4.4); URLs here contain codes. */
const redirect = (reply: FastifyReply, url: string): FastifyReply =>
  reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }).redirect(url, 303);

/**
 * Rejects everything but a path of a page of this service, so that no link leads from here to another site.
 *
 * @throws invalid_request
 */
function assertOwnPath(path: string, baseUrl: string): string {
  const url = /^\/[\x21-\x7e]*$/.test(path) && !path.includes('\\') ? URL.parse(path, baseUrl) : null;
  // Resolved, because `/.//host` becomes `//host`, which a browser takes for another site.
  if (url === null || url.origin !== new URL(baseUrl).origin || /^\/(?:\/|(?:auth|api)(?:\/|$))/.test(url.pathname))
    throw invalidRequest('return_to must be a path of this service', 'return_to');
  return `${url.pathname}${url.search}${url.hash}`;
}

const TEXTS: Readonly<Record<Locale, { readonly title: string; readonly again: string }>> = {
  en: { title: 'Sign-in failed', again: 'Start over' },
  'zh-CN': { title: '登录未成功', again: '重新开始' },
};

function failurePage(locale: Locale, siteName: string, provider: string, message: string, returnTo: string): string {
  const { title, again } = TEXTS[locale];
  return standalonePage({
    locale,
    siteName,
    title,
    main: html`<section><h1>${title}</h1>
<p>${provider}</p>
<p class="error" role="alert">${message}</p>
<p><a href="${returnTo === AFTER_SIGN_IN ? SIGN_IN_PAGE : returnTo}">${again}</a></p></section>`,
  });
}
