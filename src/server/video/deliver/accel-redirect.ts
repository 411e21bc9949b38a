import { createClientIpResolver, createIpCheck } from '../../platform/client-ip.ts';
import type { RequestContext } from '../../platform/http/request-context.ts';

/** nginx's internal location of the stored files, in deploy/nginx.conf. */
const LOCATION = '/stored-videos/';
/** nginx finds these for itself, from the file and the request. */
const OF_NGINX = new Set(['content-length', 'content-range', 'accept-ranges']);
const peerOf = createClientIpResolver([]);

/**
 * Leaves the sending of a stored file to the nginx that passed on the request (`X-Accel-Redirect`), once the service has
 * checked who asks. What nginx has begun to send does not end with the credential that permitted it.
 */
export class AccelRedirect {
  readonly #isProxy: (ip: string) => boolean;

  /** @param proxies IP addresses and CIDR ranges of nginx; none: the service sends all files itself */
  constructor(proxies: readonly string[]) {
    this.#isProxy = createIpCheck(proxies);
  }

  /**
   * Whether the sender of this request knows the header. A program beside nginx may have its address: it sends no
   * X-Forwarded-For. Conditions that the service leaves aside and nginx would not are answered by the service.
   */
  accepts({ headers, socket }: Pick<RequestContext, 'headers' | 'socket'>): boolean {
    return (
      headers['x-forwarded-for'] !== undefined &&
      headers['if-match'] === undefined &&
      headers['if-unmodified-since'] === undefined &&
      this.#isProxy(peerOf({ headers, socket }))
    );
  }
}

/** @param path of the file below nginx's location @param headers of the response if the service sent the file itself */
export function toAccelHeaders(path: string, headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !OF_NGINX.has(name));
  // With a length of 0 nginx keeps the connection to the service open.
  return { ...Object.fromEntries(kept), 'x-accel-redirect': LOCATION + path, 'content-length': '0' };
}
