import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Role } from '../../../contract/account-fields.ts';
import type { Endpoint, ModelPolicy, Policy } from '../../../contract/endpoint.ts';
import type { Locale } from '../../../contract/messages/format-message.ts';
import type { OrganizationRole } from '../../../contract/organization-roles.ts';
import { type BodyImages, NO_IMAGES } from '../json.ts';
import type { KeyLimits } from '../limits/rate-limits.ts';
import type { Log } from '../log.ts';
import { type IncomingFile, readUpload, type UploadedFile } from './body.ts';

interface ClientFacts {
  /** The client's IP address; proxies in TRUST_PROXY are skipped. */
  readonly clientIp: string;
  readonly locale: Locale;
  readonly log: Log;
}

/**
 * The facts about a request that a handler may use beyond its validated parts. A class, because each object literal
 * with getters has its own shape, and such a shape keeps its request in memory until a full garbage collection.
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

  /** Reads the body of an endpoint that accepts an `upload`; see {@link readUpload}. */
  readUpload<T>(receive: (file: IncomingFile) => Promise<T>): ReturnType<typeof readUpload<T>> {
    return readUpload(this.#request, receive);
  }

  /** Large images in the `imageFields` of a JSON body. Released once the handler has returned. */
  get bodyImages(): BodyImages {
    return this.#request.rawBody?.images ?? NO_IMAGES;
  }

  /** The unparsed body, for rules that need the exact bytes (idempotency). Released once the handler has returned. */
  get rawBody(): Buffer | undefined {
    return this.#request.rawBody?.bytes;
  }

  /** Takes over the unparsed body, for a handler that uses the bytes after it has returned. */
  takeRawBody(): Buffer | undefined {
    const { rawBody } = this.#request;
    this.#request.rawBody = undefined;
    return rawBody?.bytes;
  }

  /** Whether the request came from OpenAI's own client. */
  get isOpenAiSdk(): boolean {
    return isOpenAiSdk(this.headers);
  }

  /** Adds headers to the response of a handler that returns its body. */
  setResponseHeaders(headers: Readonly<Record<string, string>>): void {
    this.#request.responseHeaders = { ...this.#request.responseHeaders, ...headers };
  }

  /** The socket of the client, or of the proxy in front of it. */
  get socket(): Socket {
    return this.#request.raw.socket;
  }

  /** Aborted when the client disconnects before the response is complete. */
  get disconnected(): AbortSignal {
    return disconnectSignalOf(this.#request.raw.socket);
  }
}

/** The clients that Stainless generates for OpenAI send their language in a header. */
export const isOpenAiSdk = (headers: FastifyRequest['headers']): boolean => headers['x-stainless-lang'] !== undefined;

/** One signal per connection, because listeners per request would accumulate on kept-alive connections. */
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

/** A member acting for an organization. */
export interface Membership {
  /** Id of the person. */
  readonly userId: number;
  readonly role: OrganizationRole;
  readonly slug: string;
  /** Whether the member sees the prompts of other members. */
  readonly seesPrompts: boolean;
  /** Role of the person's own account. */
  readonly accountRole: Role;
}

/**
 * A person with a management credential. Device access tokens carry the authorization they were issued for. Acting for
 * an organization, `userId` is the organization's, `role` is `user`, and `member` is the person.
 */
export type AccountCaller = AccountCredential & { readonly member?: Membership };

/** Id of the calling person. */
export const actorIdOf = ({ userId, member }: AccountCaller): number => member?.userId ?? userId;

type AccountCredential =
  | {
      readonly kind: 'session';
      readonly userId: number;
      readonly role: Role;
      readonly sessionId: number;
      /** The session was just extended, and its cookie should be too. */
      readonly renewed?: boolean;
    }
  | { readonly kind: 'user-token'; readonly userId: number; readonly role: Role; readonly tokenHash: string }
  | {
      readonly kind: 'device';
      readonly userId: number;
      readonly role: Role;
      readonly authorizationId: number;
      /** An OAuth grant, whose owner chose its scopes, instead of a device sign-in. */
      readonly isGrant?: boolean;
    };

/** A program with an `sk-` token, or of a device sign-in or OAuth grant: each has a row of `tokens`. */
export interface ModelCaller {
  readonly kind: 'model';
  readonly userId: number;
  /** The member who created the token of an organization. */
  readonly actorId?: number;
  readonly tokenId: number;
  /** Models this token permits; empty: all. */
  readonly models: readonly string[];
  /** Undefined when the token has no limits. */
  readonly limits?: KeyLimits;
}

/** The authenticated sender of a request. */
export type Caller = AccountCaller | ModelCaller;

/** An account or organization, and the member who acts for an organization. */
export interface Owner {
  readonly userId: number;
  readonly actorId?: number;
}

/** The owner a caller acts for. */
export function ownerOf(caller: Caller): Owner {
  const { userId } = caller;
  const actorId = caller.kind === 'model' ? caller.actorId : caller.member?.userId;
  return actorId === undefined ? { userId } : { userId, actorId };
}

/** The owner of the data a caller reads; `actorId`: the only member whose prompts it may see. A key sees its author's. */
export const promptReaderOf = (caller: Caller): Owner =>
  caller.kind !== 'model' && caller.member?.seesPrompts === true ? { userId: caller.userId } : ownerOf(caller);

/** The only member whose objects a caller may end; undefined: all of the owner's. A key ends its author's. */
export const limitedAuthorOf = (caller: Caller): number | undefined =>
  caller.kind === 'model' ? caller.actorId : caller.member?.role === 'member' ? caller.member.userId : undefined;

/** The type of caller a handler receives, by the policy of its endpoint. */
export type CallerOf<P extends Policy> = P extends 'public' | 'self'
  ? undefined
  : P extends ModelPolicy
    ? ModelCaller
    : AccountCaller;

/** The parts of a request that authenticate its sender. */
export interface Credentials {
  readonly headers: IncomingHttpHeaders;
  /** Value of the cookie `session`. */
  readonly session: string | undefined;
  readonly clientIp: string;
}

/** Policies of people. */
export type AccountPolicy = 'account' | 'owner' | 'admin' | 'root';

/**
 * Resolves credentials to a caller permitted by the policy, or throws `unauthorized`, `invalid_api_key`, `forbidden` or
 * `account_disabled`, `second_factor_required`. Implemented by accounts and passed to the HTTP layer by app.ts.
 */
export interface Authenticator {
  account(
    policy: AccountPolicy,
    credentials: Credentials,
    rules?: Pick<Endpoint, 'withoutSecondFactor' | 'organization'>,
  ): Promise<AccountCaller>;
  /** @param policy default `model` */
  model(credentials: Credentials, policy?: ModelPolicy): Promise<ModelCaller>;
}

/** The origin of a request, as recorded in the audit log. */
export interface RequestOrigin {
  /** IP address of the client. */
  readonly address: string;
  readonly requestId: string;
}

/** The author and origin of a change. Spread it into an audit entry. */
export interface Actor extends RequestOrigin {
  /** Id of the acting account. */
  readonly actorId: number;
  /** Id of the account or organization acted for. */
  readonly ownerId?: number;
}

/** The author of a change to something an account or organization owns. */
export type OwnerActor = Actor & { readonly ownerId: number };

/** The origin of a request for the audit log. */
export const toRequestOrigin = ({ clientIp, id }: RequestContext): RequestOrigin => ({
  address: clientIp,
  requestId: id,
});

/** The author of a change for the audit log. */
export const toActor = (caller: AccountCaller, request: RequestContext): OwnerActor => ({
  actorId: actorIdOf(caller),
  ownerId: caller.userId,
  ...toRequestOrigin(request),
});

/** Client data of a login, apart from the password. */
export interface LoginClient {
  /** IP address. */
  readonly address: string;
  readonly userAgent: string;
  /** Value of the session cookie sent with the login. */
  readonly session?: string;
  /** Value of the cookie that marks a device on which a user has logged in. */
  readonly knownDevice?: string;
}

/** Client data of a login request. */
export const toLoginClient = (
  { clientIp, headers, session }: RequestContext,
  knownDevice: string | undefined,
): LoginClient => ({ address: clientIp, userAgent: headers['user-agent'] ?? '', session, knownDevice });
