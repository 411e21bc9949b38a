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

/** Anti-forgery values of the pages' forms: a site that makes a browser post to us cannot know one. */
export interface FormGuard {
  issue(action: string, binding: FormBinding, now: number): string;
  check(value: string, action: string, binding: FormBinding, now: number): boolean;
}

export function makeFormGuard(masterKey: Buffer): FormGuard {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', 'reelgate authorization forms', 32));
  const sign = (end: string, action: string, { browser, session = '', code }: FormBinding): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([end, action, browser, session, code]))
      .digest('base64url');
  return {
    issue(action, binding, now) {
      const end = String(now + VALID_MS);
      return `${end}.${sign(end, action, binding)}`;
    },
    check(value, action, binding, now) {
      const [end = '', signature = ''] = value.split('.');
      return isSameSecret(signature, sign(end, action, binding)) && Number(end) > now;
    },
  };
}
