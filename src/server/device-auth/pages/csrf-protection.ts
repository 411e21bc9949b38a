import { HOUR_MS } from '../../../contract/time-units.ts';
import { createSigner, type Signer } from '../../platform/tokens.ts';

const VALID_MS = HOUR_MS;

/** What a form is bound to: this browser, this login in it, this code. */
export interface FormBinding {
  /** Value of the page's own cookie. */
  readonly browser: string;
  /** Value of the session cookie; logging in or out makes the forms of other tabs stale. */
  readonly session: string | undefined;
  readonly code: string;
}

/** Anti-forgery values of the pages' forms: a site that makes a browser post to this service cannot know one. */
export class CsrfProtection {
  readonly #signer: Signer;

  constructor(masterKey: Buffer) {
    this.#signer = createSigner(masterKey, 'authorization forms');
  }

  /** @param now Unix milliseconds */
  issue(action: string, binding: FormBinding, now: number): string {
    const end = String(now + VALID_MS);
    return `${end}.${this.#signer.sign(textOf(end, action, binding))}`;
  }

  check(value: string, action: string, binding: FormBinding, now: number): boolean {
    const [end = '', signature = ''] = value.split('.');
    return this.#signer.verify(textOf(end, action, binding), signature) && Number(end) > now;
  }
}

const textOf = (end: string, action: string, { browser, session = '', code }: FormBinding): string =>
  JSON.stringify([end, action, browser, session, code]);
