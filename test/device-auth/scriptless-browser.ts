import { PASSWORD } from '../accounts/test-user-client.ts';
import type { DeviceAuthFixture } from './device-auth-fixture.ts';

const decode = (text: string): string => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));

/** A browser without scripts: follows redirects, keeps cookies, submits forms. */
export class ScriptlessBrowser {
  readonly #service: DeviceAuthFixture;
  readonly address: string;
  readonly cookies = new Map<string, string>();
  status = 0;
  html = '';
  headers: Record<string, unknown> = {};
  /** The address on another host that a redirect or a page led to. */
  leftTo: URL | undefined;

  constructor(service: DeviceAuthFixture, address = '127.0.0.1') {
    this.#service = service;
    this.address = address;
  }

  async go(
    method: 'GET' | 'POST',
    url: string,
    form?: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<void> {
    const answer = await this.#service.app.http.fastify.inject({
      method,
      url,
      remoteAddress: this.address,
      headers: {
        cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(form === undefined ? {} : { payload: new URLSearchParams(form).toString() }),
    });
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    this.status = answer.statusCode;
    this.html = answer.body;
    this.headers = answer.headers;
    const location = String(answer.headers.location);
    if (this.status === 303 && location.startsWith('/')) await this.go('GET', location);
    else if (this.status === 303) this.leftTo = new URL(location);
    const [, refresh] = /<meta http-equiv="refresh" content="0; url=([^"]+)">/.exec(this.html) ?? [];
    if (refresh !== undefined) this.leftTo = new URL(decode(refresh));
  }

  /** The current hidden fields of the form that posts to an action. */
  fields(action: string): Record<string, string> {
    const form = this.#form(action);
    const pairs = [...form.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)];
    return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, decode(value)]));
  }

  submit(action: string, values: Record<string, string> = {}, headers?: Record<string, string>): Promise<void> {
    const [, url = `/authorize/${action}`] = /action="([^"]+)"/.exec(this.#form(action)) ?? [];
    return this.go('POST', url, { ...this.fields(action), ...values }, headers);
  }

  #form(action: string): string {
    return this.html.split('<form ').find((part) => part.includes(`/authorize/${action}"`)) ?? '';
  }

  async logIn(username: string, password = PASSWORD): Promise<void> {
    await this.submit('login', { username, password });
  }
}
