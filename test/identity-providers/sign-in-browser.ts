import assert from 'node:assert/strict';
import type { JWTPayload } from 'jose';
import { TestUser } from '../accounts/test-user-client.ts';
import type { TestService } from '../test-service.ts';
import type { Deviation, FakeProvider } from './fake-provider.ts';

/** Response to a browser; redirects are not followed. */
export interface PageResponse {
  readonly status: number;
  readonly location: string;
  readonly html: string;
}

/** A browser with a cookie jar that visits the service and identity providers. */
export class SignInBrowser {
  readonly #service: TestService;
  readonly #address: string;
  /** Sends API requests with the same cookies, as the console does. */
  readonly user: TestUser;

  constructor(service: TestService, address = '127.0.0.1', user = new TestUser(service.app.http.fastify, address)) {
    this.#service = service;
    this.#address = address;
    this.user = user;
  }

  async visit(url: string, form?: Readonly<Record<string, string>>): Promise<PageResponse> {
    const { cookies } = this.user;
    const response = await this.#service.app.http.fastify.inject({
      method: form === undefined ? 'GET' : 'POST',
      url,
      remoteAddress: this.#address,
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form !== undefined && { payload: new URLSearchParams(form).toString() }),
    });
    for (const line of [response.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return { status: response.statusCode, location: String(response.headers.location ?? ''), html: response.body };
  }

  /** The provider's URL the browser is sent to. */
  async start(id: string, returnTo?: string): Promise<string> {
    const query = returnTo === undefined ? '' : `?${new URLSearchParams({ return_to: returnTo })}`;
    const { status, location, html } = await this.visit(`/auth/${id}/start${query}`);
    assert.equal(status, 303, html);
    return location;
  }

  /** Signs in at a provider as a person and returns from it. */
  async signIn(
    provider: FakeProvider,
    id: string,
    person: JWTPayload,
    options: Deviation & { readonly returnTo?: string } = {},
  ): Promise<PageResponse> {
    const query = provider.authorize(await this.start(id, options.returnTo), person, options);
    return this.visit(`/auth/${id}/callback?${query}`);
  }

  /** The account of the session cookie; undefined without one. */
  async account(): Promise<{ readonly id: number; readonly username: string; readonly role: string } | undefined> {
    const { body } = await this.user.send('GET', '/api/user/session');
    const account = body.data as { id: number; username: string; role: string } | undefined;
    if (account !== undefined) this.user.id = account.id;
    return account;
  }
}
