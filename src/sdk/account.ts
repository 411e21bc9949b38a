import * as lines from '../contract/accounts.ts';
import { endDevice, listDevices, nameDevice } from '../contract/device-auth.ts';
import type { PartOf } from '../contract/endpoint.ts';
import * as tokenLines from '../contract/tokens.ts';
import { allPages } from './pages.ts';
import type { CallOptions, Transport } from './transport.ts';

export type Self = PartOf<typeof lines.getSelf, 'answer'>['data'];
export type Device = PartOf<typeof listDevices, 'answer'>['data'][number];
export type ApiToken = PartOf<typeof tokenLines.listTokens, 'answer'>['data'][number];
export type NewToken = PartOf<typeof tokenLines.makeToken, 'body'>;

/** The account of the credential. Tokens need a session or a user access token; the rest a device's access_token too. */
export class Account {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async self(options: CallOptions = {}): Promise<Self> {
    return (await this.#transport.call(lines.getSelf, {}, options)).data;
  }

  async rename(displayName: string): Promise<void> {
    await this.#transport.call(lines.putSelf, { body: { display_name: displayName } });
  }

  /** Where the account is signed in by device authorization, newest first. */
  devices(): Promise<Device[]> {
    return allPages((query) => this.#transport.call(listDevices, { query }));
  }

  /** Calls a device by a name; needs a session or a user access token. */
  async nameDevice(id: number, name: string): Promise<void> {
    await this.#transport.call(nameDevice, { params: { id: String(id) }, body: { name } });
  }

  /** Ends a device's sign-in; its tokens stop at once. */
  async endDevice(id: number): Promise<void> {
    await this.#transport.call(endDevice, { params: { id: String(id) } });
  }

  tokens(options: CallOptions = {}): Promise<ApiToken[]> {
    return allPages((query) => this.#transport.call(tokenLines.listTokens, { query }, options));
  }

  /** Makes an `sk-` token; the key is answered this once. */
  async makeToken(token: NewToken, options: CallOptions = {}): Promise<{ readonly id: number; readonly key: string }> {
    return (await this.#transport.call(tokenLines.makeToken, { body: token }, options)).data;
  }

  async revokeToken(id: number, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(tokenLines.revokeToken, { params: { id: String(id) } }, options);
  }
}
