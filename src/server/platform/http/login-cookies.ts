import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DAY_SECONDS } from '../../../contract/time-units.ts';
import { CREDENTIAL_PREFIX } from '../tokens.ts';

/** Attributes of login cookies. Cookie values are opaque; the server stores their meaning. */
const ATTRIBUTES = { httpOnly: true, sameSite: 'lax', path: '/' } as const;
const PENDING_LOGIN_COOKIE = 'pending_login';
const KNOWN_DEVICE_COOKIE = 'known_device';
const KNOWN_DEVICE_SECONDS = 365 * DAY_SECONDS;

const OWN_SESSION = new RegExp(`(?:^|;) *session=(${CREDENTIAL_PREFIX.session}[A-Za-z0-9]+) *(?:;|$)`);

/**
 * Value of the cookie `session`. A service on a parent domain may set a cookie of the same name. Browsers send both, the
 * older one first, so reading the first would lock people out until they delete the other.
 */
export function sessionCookieOf({ cookies, headers }: Pick<FastifyRequest, 'cookies' | 'headers'>): string | undefined {
  const { session } = cookies;
  if (session === undefined || session.startsWith(CREDENTIAL_PREFIX.session)) return session;
  return OWN_SESSION.exec(headers.cookie ?? '')?.[1] ?? session;
}

/** Sets and clears the login cookies, with `Secure` when the service is reached by https. */
export interface LoginCookies {
  /** @param session value of the cookie `session` */
  setSession(reply: FastifyReply, session: string): void;
  clearSession(reply: FastifyReply): void;
  /**
   * Sets the cookies of a successful login: its session, and the cookie that marks a known device, which outlives the
   * session.
   */
  setLogin(reply: FastifyReply, login: { readonly session: string; readonly knownDevice: string }): void;
  /** Value of the cookie that marks a known device. */
  knownDeviceOf(reply: FastifyReply): string | undefined;
  /** Sets the cookie of a login that awaits its second factor; cleared when that login is completed or abandoned. */
  setPending(reply: FastifyReply, pending: string): void;
  clearPending(reply: FastifyReply): void;
  /** Value of the pending login's cookie. */
  pendingOf(reply: FastifyReply): string | undefined;
}

/** Creates the cookie helpers for a service. */
export function createLoginCookies(options: {
  readonly secure: boolean;
  readonly sessionSeconds: number;
  readonly pendingSeconds: number;
}): LoginCookies {
  const attributes = { ...ATTRIBUTES, secure: options.secure };
  const setSession = (reply: FastifyReply, session: string): void =>
    void reply.setCookie('session', session, { ...attributes, maxAge: options.sessionSeconds });
  return {
    setSession,
    setLogin(reply, { session, knownDevice }) {
      setSession(reply, session);
      reply.setCookie(KNOWN_DEVICE_COOKIE, knownDevice, { ...attributes, maxAge: KNOWN_DEVICE_SECONDS });
    },
    knownDeviceOf: (reply) => reply.request.cookies[KNOWN_DEVICE_COOKIE],
    clearSession: (reply) => void reply.clearCookie('session', attributes),
    setPending: (reply, pending) =>
      void reply.setCookie(PENDING_LOGIN_COOKIE, pending, { ...attributes, maxAge: options.pendingSeconds }),
    clearPending: (reply) => void reply.clearCookie(PENDING_LOGIN_COOKIE, attributes),
    pendingOf: (reply) => reply.request.cookies[PENDING_LOGIN_COOKIE],
  };
}

/**
 * Extends the cookie when a request has extended its session. A handler that sets the cookie itself takes precedence.
 */
export function renewSessionCookies(fastify: FastifyInstance, cookies: LoginCookies): void {
  fastify.addHook('onSend', async (request, reply) => {
    const { caller, headers } = request;
    if (caller?.kind !== 'session' || caller.renewed !== true || headers.authorization !== undefined) return;
    const session = sessionCookieOf(request);
    if (session !== undefined && reply.getHeader('set-cookie') === undefined) cookies.setSession(reply, session);
  });
}
