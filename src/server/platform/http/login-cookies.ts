import type { FastifyInstance, FastifyReply } from 'fastify';
import { DAY_SECONDS } from '../../../contract/time-units.ts';

/** Cookies of a login. Their values are opaque; what they mean is kept on the server. */
const ATTRIBUTES = { httpOnly: true, sameSite: 'lax', path: '/' } as const;
const PENDING_LOGIN_COOKIE = 'pending_login';
const KNOWN_DEVICE_COOKIE = 'known_device';
const KNOWN_DEVICE_SECONDS = 365 * DAY_SECONDS;

/** Writes and clears the login's cookies; `Secure` where the service is reached by https. */
export interface LoginCookies {
  /** @param session value of the cookie `session` */
  setSession(reply: FastifyReply, session: string): void;
  clearSession(reply: FastifyReply): void;
  /** A login succeeded: its session, and the cookie that identifies a device that has logged in, which outlives the session. */
  setLogin(reply: FastifyReply, login: { readonly session: string; readonly knownDevice: string }): void;
  /** Value of the mark. */
  knownDeviceOf(reply: FastifyReply): string | undefined;
  /** A login that waits for its second step; finished or given up, it is cleared. */
  setPending(reply: FastifyReply, pending: string): void;
  clearPending(reply: FastifyReply): void;
  /** Value of the pending login's cookie. */
  pendingOf(reply: FastifyReply): string | undefined;
}

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

/** Moves the cookie's end along where a request has moved its session's. A handler that writes the cookie itself wins. */
export function renewSessionCookies(fastify: FastifyInstance, cookies: LoginCookies): void {
  fastify.addHook('onSend', async (request, reply) => {
    const { caller, headers } = request;
    if (caller?.kind !== 'session' || caller.renewed !== true || headers.authorization !== undefined) return;
    const { session } = request.cookies;
    if (session !== undefined && reply.getHeader('set-cookie') === undefined) cookies.setSession(reply, session);
  });
}
