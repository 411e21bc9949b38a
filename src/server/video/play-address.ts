import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** How long a signed address plays. */
const LIFE_MS = 10 * 60_000;

/**
 * Short-lived addresses for playing a video in a browser, which cannot send a header: an HMAC-SHA256 over task and expiry
 * under a key derived from MASTER_KEY (RFC 5869). Good for GET of this one task, and for nothing else.
 */
export class PlayAddresses {
  readonly #key: Buffer;
  constructor(masterKey: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', masterKey, '', 'reelgate play address', 32));
  }

  /** A path of this service. */
  make(taskId: string, nowMs: number): string {
    // Rounded up, so that a page that asks twice in a minute gets the same address and the browser keeps its copy.
    const expires = Math.ceil((nowMs + LIFE_MS) / 60_000) * 60_000;
    return `/play/${encodeURIComponent(taskId)}?expires=${expires}&signature=${this.#sign(taskId, expires)}`;
  }

  permits(taskId: string, expires: number, signature: string, nowMs: number): boolean {
    const expected = Buffer.from(this.#sign(taskId, expires));
    const given = Buffer.from(signature);
    return (
      expires > nowMs &&
      expires <= nowMs + LIFE_MS + 60_000 &&
      given.length === expected.length &&
      timingSafeEqual(given, expected)
    );
  }

  #sign(taskId: string, expires: number): string {
    return createHmac('sha256', this.#key).update(`GET\n${taskId}\n${expires}`).digest('base64url');
  }
}
