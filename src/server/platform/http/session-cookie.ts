import type { FastifyInstance, FastifyReply } from 'fastify';

/** Cookies of a login. Their values are opaque; what they mean is kept on the server. */
const ATTRIBUTES = { httpOnly: true, sameSite: 'lax', path: '/' } as const;
const PENDING = 'pending_login';

/** Writes and clears the login's cookies; `Secure` where the service is reached by https. */
export interface SessionCookies {
  /** @param session value of the cookie `session` */
  setSession(reply: FastifyReply, session: string): void;
  clearSession(reply: FastifyReply): void;
  /** The half login between password and second step; finished or given up, it is cleared. */
  setPending(reply: FastifyReply, pending: string): void;
  clearPending(reply: FastifyReply): void;
  /** Value of the half login's cookie. */
  pendingOf(reply: FastifyReply): string | undefined;
}

export function makeSessionCookies(options: {
  readonly secure: boolean;
  readonly sessionSeconds: number;
  readonly pendingSeconds: number;
}): SessionCookies {
  const attributes = { ...ATTRIBUTES, secure: options.secure };
  return {
    setSession: (reply, session) =>
      void reply.setCookie('session', session, { ...attributes, maxAge: options.sessionSeconds }),
    clearSession: (reply) => void reply.clearCookie('session', attributes),
    setPending: (reply, pending) =>
      void reply.setCookie(PENDING, pending, { ...attributes, maxAge: options.pendingSeconds }),
    clearPending: (reply) => void reply.clearCookie(PENDING, attributes),
    pendingOf: (reply) => reply.request.cookies[PENDING],
  };
}

/** Moves the cookie's end along where a request has moved its session's. A handler that writes the cookie itself wins. */
export function renewSessionCookies(fastify: FastifyInstance, cookies: SessionCookies): void {
  fastify.addHook('onSend', async (request, reply) => {
    const { caller, headers } = request;
    if (caller?.kind !== 'session' || caller.renewed !== true || headers.authorization !== undefined) return;
    const { session } = request.cookies;
    if (session !== undefined && reply.getHeader('set-cookie') === undefined) cookies.setSession(reply, session);
  });
}
