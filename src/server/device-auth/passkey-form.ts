import { Check } from 'typebox/value';
import { Assertion } from '../../contract/passkey-credentials.ts';
import { AppError } from '../platform/app-error.ts';
import { html, type Markup } from '../platform/html.ts';

/** A credential the browser should offer. */
interface OfferedPasskey {
  readonly id: string;
  readonly transports: readonly string[];
}

/** A form that posts the use of a passkey. */
export interface PasskeyForm {
  /** For fields outside the form. */
  readonly id?: string;
  /** Path it posts to. */
  readonly action: string;
  /** Hidden fields. */
  readonly fields: Markup;
  readonly label: string;
  /** Shown if the browser reports that no passkey was used. */
  readonly failed: string;
  /** Whether the page has a more prominent button. */
  readonly isSecondary?: boolean;
  /** Passkeys of the account; empty: any passkey of this host. */
  readonly offered?: readonly OfferedPasskey[];
}

/** A button that uses a passkey. It appears only where the page's script runs and the browser has passkeys. */
export const passkeyForm = ({
  id,
  action,
  fields,
  label,
  failed,
  isSecondary = true,
  offered = [],
}: PasskeyForm): Markup => html`<form${id === undefined ? undefined : html` id="${id}"`} method="post" action="${action}" hidden data-passkeys="${JSON.stringify(offered)}" data-failed="${failed}">
${fields}<input type="hidden" name="passkey">
<p class="error" role="alert" hidden></p>
<button${isSecondary ? html` class="plain"` : undefined}>${label}</button>
</form>`;

/** Loads the script of the passkey buttons. */
export const PASSKEY_SCRIPT_TAG: Markup = html`<script src="/authorize/passkey.js" defer></script>
`;

/** Script of the passkey buttons, for browsers with the JSON methods of WebAuthn level 3. */
export const PASSKEY_SCRIPT = `'use strict';
const supported = window.PublicKeyCredential && PublicKeyCredential.parseRequestOptionsFromJSON;
for (const form of supported ? document.querySelectorAll('form[data-passkeys]') : []) {
  const problem = form.querySelector('[role=alert]');
  form.hidden = false;
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    problem.hidden = true;
    const button = form.querySelector('button');
    button.disabled = true;
    try {
      const response = await fetch('/api/user/login/passkey/options', { method: 'POST' });
      const { data } = await response.json();
      const offered = JSON.parse(form.dataset.passkeys);
      data.allowCredentials = offered.map((each) => ({ ...each, type: 'public-key' }));
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(data);
      const credential = await navigator.credentials.get({ publicKey });
      form.elements.passkey.value = JSON.stringify(credential.toJSON());
      form.submit();
    } catch {
      problem.textContent = form.dataset.failed;
      problem.hidden = false;
    } finally {
      button.disabled = false;
    }
  });
}
`;

/** Reads the field that the script fills in. @throws wrong_passkey */
export function parsePasskeyField(text: string): Assertion {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AppError('wrong_passkey');
  }
  if (!Check(Assertion, value)) throw new AppError('wrong_passkey');
  return value;
}
