import { createHmac, hkdfSync } from 'node:crypto';
import { isSameSecret } from '../../platform/secrets.ts';

const VALID_MS = 60 * 60_000;

/** What a form is bound to: this browser, this login in it, this code. */
export interface FormBinding {
  /** Value of the page's own cookie. */
  readonly browser: string;
  /** Value of the session cookie; logging in or out makes the forms of other tabs stale. */
  readonly session: string | undefined;
  readonly code: string;
}

/** Anti-forgery values of the pages' forms: a site that makes a browser post to this service cannot know one. */
export class FormGuard {
  readonly #key: Buffer;

  constructor(masterKey: Buffer) {
    this.#key = Buffer.from(hkdfSync('sha256', masterKey, '', 'reelgate authorization forms', 32));
  }

  /** @param now Unix milliseconds */
  issue(action: string, binding: FormBinding, now: number): string {
    const end = String(now + VALID_MS);
    return `${end}.${this.#sign(end, action, binding)}`;
  }

  check(value: string, action: string, binding: FormBinding, now: number): boolean {
    const [end = '', signature = ''] = value.split('.');
    return isSameSecret(signature, this.#sign(end, action, binding)) && Number(end) > now;
  }

  #sign(end: string, action: string, { browser, session = '', code }: FormBinding): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([end, action, browser, session, code]))
      .digest('base64url');
  }
}
