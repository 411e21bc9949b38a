import assert from 'node:assert/strict';
import { sendJson } from './call-model-api.ts';

export const ROOT_LOGIN = { username: 'root', password: 'root-password-1' };

/**
 * An administrator's (or another account's) client for a running service over real HTTP, as an operator's script uses
 * it.
 */
export class AdminClient {
  readonly baseUrl: string;
  #cookie = '';
  #id = 0;

  constructor(baseUrl: string) {
    this.baseUrl = baseUrl;
  }

  async signIn(login: { readonly username: string; readonly password: string } = ROOT_LOGIN): Promise<this> {
    const response = await fetch(`${this.baseUrl}/api/user/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(login),
    });
    const { data } = (await response.json()) as { data: { id: number } };
    this.#id = data.id;
    this.#cookie = (response.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
    return this;
  }

  get id(): number {
    return this.#id;
  }

  get headers(): Record<string, string> {
    return { cookie: this.#cookie, 'service-api-user': String(this.#id) };
  }

  /** Calls a management endpoint and returns its `data`; a failed call fails the test. */
  async requestData<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.request<T>(method, path, body);
    assert.equal(answer.success, true, `${method} ${path}: ${JSON.stringify(answer)}`);
    return answer.data;
  }

  async request<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ success: boolean; message?: string; data: T; total?: number }> {
    const { text } = await sendJson(`${this.baseUrl}${path}`, method, body, this.headers);
    return JSON.parse(text) as { success: boolean; data: T };
  }

  grantQuota(quota: number, userId: number = this.#id): Promise<unknown> {
    return this.requestData('PUT', `/api/admin/users/${userId}`, { quota_delta: quota, note: 'test' });
  }

  async makeToken(fields: object = {}): Promise<string> {
    return (await this.requestData<{ key: string }>('POST', '/api/tokens', { name: 'test', ...fields })).key;
  }

  async quota(): Promise<{ quota: number; used_quota: number; request_count: number }> {
    return this.requestData('GET', '/api/user/self');
  }

  async addChannel(channel: {
    vendor: string;
    base_url: string;
    credentials: object;
    models: readonly string[];
    priority?: number;
    weight?: number;
    name?: string;
    options?: object;
    max_concurrent_tasks?: number | null;
  }): Promise<number> {
    const made = await this.requestData<{ id: number }>('POST', '/api/admin/channels', {
      name: channel.vendor,
      options: { private: true },
      ...channel,
    });
    return made.id;
  }
}
