import { invalidRequest } from '../platform/app-error.ts';
import { assertPublicUrl } from '../platform/outbound/guard.ts';

export interface WebhookUrlRules {
  readonly allowHttp: boolean;
  /** `host:port` pairs of the operator's own network that may receive webhooks. */
  readonly privateHosts: readonly string[];
}

/** Refuses an address nothing would be delivered to. Names are resolved, and their IPs checked, at each delivery. */
export type UrlCheck = (url: string, param: string) => void;

const DEFAULT_PORT: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/** Whether the operator listed the host of a URL as one of his own network. */
export function isListedHost(url: URL, privateHosts: WebhookUrlRules['privateHosts']): boolean {
  return privateHosts.includes(`${url.hostname}:${url.port || DEFAULT_PORT[url.protocol]}`);
}

/** @returns a check that throws invalid_request */
export const createUrlCheck =
  ({ allowHttp, privateHosts }: WebhookUrlRules): UrlCheck =>
  (text, param) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) throw invalidRequest(`${param} is no URL.`, param);
    if (url.username !== '' || url.password !== '') throw invalidRequest(`${param} must not hold credentials.`, param);
    if (isListedHost(url, privateHosts)) return;
    if (url.protocol === 'http:' && !allowHttp) throw invalidRequest(`${param} must start with https://.`, param);
    const port = Number(url.port);
    if (port !== 0 && port < 1024 && port !== 80 && port !== 443)
      throw invalidRequest(`${param} names a port that is not allowed.`, param);
    assertPublicUrl(param, text);
  };
