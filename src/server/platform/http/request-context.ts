import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Role } from '../../../contract/account-fields.ts';
import type { Policy } from '../../../contract/endpoint.ts';
import type { Locale } from '../../../contract/messages/format-message.ts';
import { type BodyImages, NO_IMAGES } from '../json-scanner.ts';
import type { KeyLimits } from '../limits/key-limiter.ts';
import type { Log } from '../log.ts';
import type { UploadedFile } from './body.ts';

interface ClientFacts {
  /** The client's IP address; proxies in TRUST_PROXY are skipped. */
  readonly clientIp: string;
  readonly locale: Locale;
  readonly log: Log;
}

/**
 * What a handler may know of the request beyond its checked parts.
 *
 * A class, because an object literal with getters has a shape of its own each time it is made, and such a shape keeps its
 * request from being collected until a full garbage collection.
 */
export class RequestContext {
  readonly #request: FastifyRequest;
  readonly id: string;
  readonly clientIp: string;
  readonly locale: Locale;
  readonly log: Log;
  readonly headers: FastifyRequest['headers'];
  /** Value of the cookie `session`. */
  readonly session: string | undefined;

  constructor(request: FastifyRequest, { clientIp, locale, log }: ClientFacts) {
    this.#request = request;
    this.id = request.id;
    this.clientIp = clientIp;
    this.locale = locale;
    this.log = log;
    this.headers = request.headers;
    this.session = request.cookies.session;
  }

  /** File parts of a multipart body. */
  get files(): readonly UploadedFile[] {
    return this.#request.uploads ?? [];
  }

  /** Large images in the `imageFields` of a JSON body. Released once the handler has returned. */
  get bodyImages(): BodyImages {
    return this.#request.rawBody?.images ?? NO_IMAGES;
  }

  /** The body as it came, where a rule needs the very bytes (idempotency). Gone once the handler has returned. */
  get rawBody(): Buffer | undefined {
    return this.#request.rawBody?.bytes;
  }

  /** The same for a handler that goes on using the bytes after it has returned. */
  takeRawBody(): Buffer | undefined {
    const { rawBody } = this.#request;
    this.#request.rawBody = undefined;
    return rawBody?.bytes;
  }

  /** Whether OpenAI's own client sent it. */
  get isOpenAiSdk(): boolean {
    return isOpenAiSdk(this.headers);
  }

  /** Headers for the response of a handler that returns its body. */
  setResponseHeaders(headers: Readonly<Record<string, string>>): void {
    this.#request.responseHeaders = { ...this.#request.responseHeaders, ...headers };
  }

  /** Of the client, or of the proxy in front of it. */
  get socket(): Socket {
    return this.#request.raw.socket;
  }

  /** Aborted when the client disconnects before the response is complete. */
  get disconnected(): AbortSignal {
    return disconnectSignalOf(this.#request.raw.socket);
  }
}

/** The clients that Stainless generates for OpenAI name their language. */
export const isOpenAiSdk = (headers: FastifyRequest['headers']): boolean => headers['x-stainless-lang'] !== undefined;

/** One signal per connection: a listener per request would pile up on those that are kept alive. */
const gone = new WeakMap<Socket, AbortSignal>();

function disconnectSignalOf(socket: Socket): AbortSignal {
  const known = gone.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  socket.once('close', () => controller.abort());
  if (socket.destroyed) controller.abort();
  gone.set(socket, controller.signal);
  return controller.signal;
}

/** A person, by a management credential. Device access tokens carry the authorization they came from. */
export type AccountCaller =
  | {
      readonly kind: 'session';
      readonly userId: number;
      readonly role: Role;
      readonly sessionId: number;
      /** The session's end has just been moved: the cookie's should move with it. */
      readonly renewed?: boolean;
    }
  | { readonly kind: 'user-token'; readonly userId: number; readonly role: Role; readonly tokenHash: string }
  | { readonly kind: 'device'; readonly userId: number; readonly role: Role; readonly authorizationId: number };

/** A program, by an `sk-` token or the llm_token of a device sign-in: both are rows of `tokens`. */
export interface ModelCaller {
  readonly kind: 'model';
  readonly userId: number;
  readonly tokenId: number;
  /** Models this token names; empty = all. */
  readonly models: readonly string[];
  /** Undefined where it has none. */
  readonly limits?: KeyLimits;
}

export type Caller = AccountCaller | ModelCaller;

/** The type of caller that a handler gets, by the policy of its endpoint. */
export type CallerOf<P extends Policy> = P extends 'public' | 'self'
  ? undefined
  : P extends 'model'
    ? ModelCaller
    : AccountCaller;

/** What of a request proves who sent it. */
export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  /** Value of the cookie `session`. */
  readonly session: string | undefined;
  readonly clientIp: string;
}

/**
 * Turns credentials into a caller allowed by the policy, or throws `unauthorized`, `invalid_api_key`, `forbidden` or
 * `account_disabled`. Given to the HTTP layer by app.ts; implemented by accounts.
 */
export interface Authenticator {
  account(policy: 'account' | 'owner' | 'admin' | 'root', credentials: Credentials): Promise<AccountCaller>;
  model(credentials: Credentials): Promise<ModelCaller>;
}

/** Where a request came from, as the audit log keeps it. */
export interface RequestOrigin {
  /** IP of the client. */
  readonly address: string;
  readonly requestId: string;
}

/** Who requested a change and from where. Spread it into an audit entry. */
export interface Actor extends RequestOrigin {
  /** Id of the account that acts. */
  readonly actorId: number;
}

export const toRequestOrigin = ({ clientIp, id }: RequestContext): RequestOrigin => ({
  address: clientIp,
  requestId: id,
});

export const toActor = (caller: AccountCaller, request: RequestContext): Actor => ({
  actorId: caller.userId,
  ...toRequestOrigin(request),
});

/** What a browser or program brings to a login beside the password. */
export interface LoginClient {
  /** IP. */
  readonly address: string;
  readonly userAgent: string;
  /** Value of the session cookie that came along. */
  readonly session?: string;
  /** Value of the cookie that marks a device on which a user has logged in. */
  readonly knownDevice?: string;
}

export const toLoginClient = (
  { clientIp, headers, session }: RequestContext,
  knownDevice: string | undefined,
): LoginClient => ({ address: clientIp, userAgent: headers['user-agent'] ?? '', session, knownDevice });
