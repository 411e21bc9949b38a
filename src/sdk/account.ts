import * as endpoints from '../contract/accounts.ts';
import { listLogins, requestPasswordReset } from '../contract/accounts.ts';
import * as tokenEndpoints from '../contract/api-tokens.ts';
import { endDevice, listDevices, renameDevice } from '../contract/device-auth.ts';
import type { EndpointPart } from '../contract/endpoint.ts';
import { deleteIdentity, listIdentities } from '../contract/identity-providers.ts';
import type { ModelKind } from '../contract/model-kinds.ts';
import { listUsableModels } from '../contract/models.ts';
import { getStorage, listGenerationTimes } from '../contract/own-videos.ts';
import { getOwnVideo, listOwnVideos } from '../contract/video.ts';
import { type CallOptions, type CursorResult, fetchAllPages, type PageResult, type Transport } from './transport.ts';

/** The account: name, role, and balance in quota. */
export type AccountInfo = EndpointPart<typeof endpoints.getSelf, 'response'>['data'];
/** A device signed in to the account. */
export type Device = EndpointPart<typeof listDevices, 'response'>['data'][number];
/** E-mail address of the account and its confirmation state. */
export type EmailInfo = EndpointPart<typeof endpoints.getEmail, 'response'>['data'];
/** An identity at an identity provider that signs in to the account. */
export type IdentityInfo = EndpointPart<typeof listIdentities, 'response'>['data'][number];
/** A successful or failed login to the account. */
export type LoginAttempt = EndpointPart<typeof listLogins, 'response'>['data'][number];
/** An API key of the account, without its secret. */
export type ApiToken = EndpointPart<typeof tokenEndpoints.listTokens, 'response'>['data'][number];
/** A newly created API key. */
export interface CreatedToken {
  /** Id of the API key. */
  readonly id: number;
  /** The secret, `sk-…`; returned only here. */
  readonly key: string;
}

/** Name and limits of a new API key. */
export type CreateTokenRequest = EndpointPart<typeof tokenEndpoints.createToken, 'body'>;
/** The new secret of a rotated API token. */
export type RotatedToken = EndpointPart<typeof tokenEndpoints.rotateToken, 'response'>['data'];
/** Changes of an API token. */
export type UpdateTokenRequest = EndpointPart<typeof tokenEndpoints.updateToken, 'body'>;

/** A video in the account's list. */
export type OwnVideo = EndpointPart<typeof listOwnVideos, 'response'>['data'][number];
/** Typical generation time of a model's videos, in seconds. */
export type VideoDuration = EndpointPart<typeof listGenerationTimes, 'response'>['data'][number];
/** A model the account can call, with its capabilities and price. */
export type UsableModel = EndpointPart<typeof listUsableModels, 'response'>['data'][number];
/** A video with its prompt, cost and parameters. */
export type OwnVideoDetail = EndpointPart<typeof getOwnVideo, 'response'>['data'];

/** Storage used by the account's videos. */
export type StorageInfo = EndpointPart<typeof getStorage, 'response'>['data'];

/** Output of a model. */
export type ModelKindName = ModelKind;

/** A page of a numbered list. */
export interface PageQuery {
  /** Page number, starting at 1; default 1. */
  readonly page?: number;
  /** Rows per page, at most 50; default 20. */
  readonly pageSize?: number;
}

/** Page and collection of the list of videos. */
export interface OwnVideoQuery extends PageQuery {
  /** Only the videos of this collection. */
  readonly collection?: number;
}

/** Filters and cursor of the login list. */
export interface LoginQuery {
  /** Lists failed attempts only. */
  readonly failed?: true;
  /** `next` of the previous page. */
  readonly after?: string;
}

/**
 * The account the credentials belong to. Managing API tokens needs a session or a user access token; every other method
 * also works with a device's access_token.
 */
export class Account {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The account's profile and balance. @throws ReelgateError `unauthorized` without valid credentials */
  async self(options: CallOptions = {}): Promise<AccountInfo> {
    return (await this.#transport.call(endpoints.getSelf, {}, options)).data;
  }

  /** Changes the display name. @throws ReelgateError `invalid_request` if the name is too long */
  async rename(displayName: string): Promise<void> {
    await this.#transport.call(endpoints.putSelf, { body: { display_name: displayName } });
  }

  /** The account's e-mail address, and whether it can be used to log in. @throws ReelgateError `unauthorized` */
  async email(): Promise<EmailInfo> {
    return (await this.#transport.call(endpoints.getEmail, {})).data;
  }

  /**
   * Resends the confirmation link; needs a session or a user access token.
   *
   * @throws ReelgateError `refused` (mail_off)
   */
  async resendEmailConfirmation(): Promise<void> {
    await this.#transport.call(endpoints.resendConfirmation, {});
  }

  /**
   * Sends a password reset link to a confirmed e-mail address. Needs no credentials, and also succeeds for unknown
   * addresses.
   *
   * @throws ReelgateError `refused` (mail_off), `rate_limit_exceeded`
   */
  async requestPasswordReset(email: string): Promise<void> {
    await this.#transport.call(requestPasswordReset, { body: { email } });
  }

  /**
   * One page of successful and failed logins, newest first; needs a session or a user access token.
   *
   * @throws ReelgateError `unauthorized`
   */
  async logins(query: LoginQuery = {}): Promise<CursorResult<LoginAttempt>> {
    const { failed, after } = query;
    return this.#transport.call(listLogins, { query: { failed: failed && ('true' as const), after } });
  }

  /** Storage used by the stored copies of the account's videos. @throws ReelgateError `unauthorized` */
  async storage(): Promise<StorageInfo> {
    return (await this.#transport.call(getStorage, {})).data;
  }

  /** Device sign-ins of the account, newest first. @throws ReelgateError `unauthorized` */
  devices(): Promise<Device[]> {
    return fetchAllPages((query) => this.#transport.call(listDevices, { query }));
  }

  /** Renames a device; needs a session or a user access token. @throws ReelgateError `refused` (not_exist) */
  async renameDevice(id: number, name: string): Promise<void> {
    await this.#transport.call(renameDevice, { params: { id: String(id) }, body: { name } });
  }

  /** Ends a device's sign-in and revokes its tokens immediately. @throws ReelgateError `refused` (not_exist) */
  async endDevice(id: number): Promise<void> {
    await this.#transport.call(endDevice, { params: { id: String(id) } });
  }

  /**
   * Identities that sign in to the account; needs a session or a user access token.
   *
   * @throws ReelgateError `forbidden`
   */
  async identities(): Promise<IdentityInfo[]> {
    return (await this.#transport.call(listIdentities, {})).data;
  }

  /** Unlinks an identity. @throws ReelgateError `last_way_in`, `refused` (not_exist) */
  async removeIdentity(id: number): Promise<void> {
    await this.#transport.call(deleteIdentity, { params: { id: String(id) } });
  }

  /**
   * One page of the account's videos, newest first, regardless of the token that started them.
   *
   * @throws ReelgateError `unauthorized`
   */
  async videos({ page = 1, pageSize = 20, collection }: OwnVideoQuery = {}): Promise<PageResult<OwnVideo>> {
    const query = { page: String(page), page_size: String(pageSize), collection: collection?.toString() };
    return this.#transport.call(listOwnVideos, { query });
  }

  /** One video of the account with its prompt, cost and parameters. @throws ReelgateError `refused` (task_not_exist) */
  async video(id: string): Promise<OwnVideoDetail> {
    return (await this.#transport.call(getOwnVideo, { params: { task_id: id } })).data;
  }

  /** Models the account can call now, with capabilities and prices. @throws ReelgateError `unauthorized` */
  async models(kind?: ModelKindName): Promise<UsableModel[]> {
    return (await this.#transport.call(listUsableModels, { query: { kind } })).data;
  }

  /**
   * Typical generation times by model, measured from finished videos; models with too few of them are omitted.
   *
   * @throws ReelgateError `unauthorized`
   */
  async videoDurations(options: CallOptions = {}): Promise<VideoDuration[]> {
    return (await this.#transport.call(listGenerationTimes, {}, options)).data;
  }

  /** All API tokens of the account, without their keys. @throws ReelgateError `unauthorized` */
  tokens(options: CallOptions = {}): Promise<ApiToken[]> {
    return fetchAllPages((query) => this.#transport.call(tokenEndpoints.listTokens, { query }, options));
  }

  /** One API token, without its key. @throws ReelgateError `refused` (not_exist) if the account has no such token */
  async token(id: number, options: CallOptions = {}): Promise<ApiToken> {
    return (await this.#transport.call(tokenEndpoints.getToken, { params: { id: String(id) } }, options)).data;
  }

  /** Creates an `sk-` token. The key is returned only here. @throws ReelgateError `invalid_request` */
  async createToken(token: CreateTokenRequest, options: CallOptions = {}): Promise<CreatedToken> {
    return (await this.#transport.call(tokenEndpoints.createToken, { body: token }, options)).data;
  }

  /**
   * Changes an API token; only the given fields change.
   *
   * @throws ReelgateError `refused` (not_exist), `invalid_request`
   */
  async updateToken(id: number, changes: UpdateTokenRequest, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(tokenEndpoints.updateToken, { params: { id: String(id) }, body: changes }, options);
  }

  /**
   * Gives an API key a new secret, which is returned only here; id, limits and usage stay.
   *
   * @param overlapSeconds how long the old secret still works, at most seven days; default: a day
   * @throws ReelgateError `refused` (not_exist)
   */
  async rotateToken(id: number, overlapSeconds?: number, options: CallOptions = {}): Promise<RotatedToken> {
    const body = overlapSeconds === undefined ? {} : { overlap_seconds: overlapSeconds };
    return (await this.#transport.call(tokenEndpoints.rotateToken, { params: { id: String(id) }, body }, options)).data;
  }

  /** Ends the old secrets of a rotated API key now. @throws ReelgateError `refused` (not_exist) if none still works */
  async endTokenRotation(id: number, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(tokenEndpoints.endTokenRotation, { params: { id: String(id) } }, options);
  }

  /** Revokes an API key; the service rejects it immediately. @throws ReelgateError `refused` (not_exist) */
  async revokeToken(id: number, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(tokenEndpoints.revokeToken, { params: { id: String(id) } }, options);
  }
}
