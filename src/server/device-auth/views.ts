import { Check } from 'typebox/value';
import { SPEND_PERIODS } from '../../contract/amounts.ts';
import { NAME_LENGTH_MAX } from '../../contract/device-auth.ts';
import type { SignInProvider } from '../../contract/identity-providers.ts';
import type { Locale } from '../../contract/messages/format-message.ts';
import type { OauthScope } from '../../contract/oauth.ts';
import { defined } from '../../contract/objects.ts';
import { Assertion } from '../../contract/passkey-credentials.ts';
import { AppError } from '../platform/app-error.ts';
import { html, languageLinks, type Markup, standalonePage } from '../platform/html.ts';
import { tryParse } from '../platform/json.ts';
import type { Texts } from './texts.ts';

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
  /** Credential id of the passkey that was just used and that the service does not know. */
  readonly unknown?: string;
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
  unknown,
}: PasskeyForm): Markup => html`<form${id === undefined ? undefined : html` id="${id}"`} method="post" action="${action}" hidden data-passkeys="${JSON.stringify(offered)}" data-failed="${failed}"${unknown === undefined ? undefined : html` data-unknown="${unknown}"`}>
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
  // The browser then no longer offers the passkey. Not all browsers can do this.
  const credentialId = form.dataset.unknown;
  if (credentialId && PublicKeyCredential.signalUnknownCredential)
    PublicKeyCredential.signalUnknownCredential({ rpId: location.hostname, credentialId }).catch(() => {});
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
  const value = tryParse(text);
  if (!Check(Assertion, value)) throw new AppError('wrong_passkey');
  return value;
}

/** An error shown at its field. */
interface FieldError {
  readonly error?: string;
}

const errorParagraph = ({ error }: FieldError): Markup | undefined =>
  error === undefined ? undefined : html`<p class="error" id="error" role="alert">${error}</p>`;
function describedBy({ error }: FieldError, hint = ''): Markup {
  if (error !== undefined) return html`aria-invalid="true" aria-describedby="error ${hint}"`;
  return hint === '' ? html`` : html`aria-describedby="${hint}"`;
}

/** The page that asks for the code. */
export function enterCodeView(view: PageContext, wrong: FieldError = {}): string {
  const { texts, locale } = view;
  return layout(
    view,
    texts.enterTitle,
    html`<h1>${texts.enterTitle}</h1>
<p>${texts.enterLead}</p>
<form method="get" action="/authorize">
${errorParagraph(wrong)}
<label for="code">${texts.codeLabel}</label>
<input class="code" id="code" name="code" required maxlength="64" autocomplete="off" autocapitalize="characters" spellcheck="false" ${describedBy(wrong, 'hint')}>
<p class="note hint" id="hint">${texts.codeHint}</p>
<input type="hidden" name="lang" value="${locale}">
<button>${texts.continue}</button>
</form>`,
  );
}

const shownCode = ({ code }: PageContext): Markup | undefined =>
  code === '' ? undefined : html`<output class="code">${code}</output>`;

/** A failed login. */
interface WrongLogin extends FieldError {
  readonly username?: string;
  /** Credential id of a passkey that the service does not know. */
  readonly unknownPasskey?: string;
}

/** The login page. */
export function loginView(view: PageContext, wrong: WrongLogin = {}): string {
  const { texts } = view;
  return layout(
    view,
    texts.loginTitle,
    html`<h1>${texts.loginTitle}</h1>
<p>${texts.loginLead}</p>
${shownCode(view)}
${
  view.isPasswordForRootOnly === true
    ? html`${providerButtons(view)}<details class="more"${wrong.error === undefined ? undefined : html` open`}><summary>${texts.rootOnly}</summary>${passwordForm(view, wrong)}</details>`
    : html`${passwordForm(view, wrong)}${providerButtons(view)}`
}
${view.hasPasskeys ? passkeyLoginForm(view, wrong) : undefined}`,
  );
}

const passkeyLoginForm = (view: PageContext, { unknownPasskey: unknown }: WrongLogin): Markup =>
  passkeyForm({
    ...defined({ unknown }),
    action: '/authorize/passkey',
    fields: hiddenFields(view, 'passkey'),
    label: view.texts.passkey,
    failed: view.texts.passkeyFailed,
  });

const passwordForm = (
  view: PageContext,
  wrong: WrongLogin,
): Markup => html`<form method="post" action="/authorize/login">
${hiddenFields(view, 'login')}
${errorParagraph(wrong)}
<label for="username">${view.texts.username}</label>
<input id="username" name="username" required maxlength="254" autocomplete="username" autocapitalize="none" spellcheck="false" value="${wrong.username ?? ''}" ${describedBy(wrong)}>
<label for="password">${view.texts.password}</label>
<input id="password" name="password" type="password" required maxlength="128" autocomplete="current-password" ${describedBy(wrong)}>
<button>${view.texts.logIn}</button>
</form>`;

/** Buttons of the identity providers, from which the browser returns to this code. */
const providerButtons = (view: PageContext): Markup | undefined => {
  const { providers = [], texts } = view;
  if (providers.length === 0) return undefined;
  const returnTo = new URLSearchParams({ return_to: ownPath(view) });
  return html`${providers.map(
    ({ id, title }) =>
      html`<a class="button plain" href="/auth/${id}/start?${String(returnTo)}">${texts.logInWith.replace('{title}', () => title)}</a>`,
  )}`;
};

/** The page that asks for the second step. */
export function secondStepView(view: PageContext, wrong: FieldError = {}): string {
  const { texts } = view;
  return layout(
    view,
    texts.otpTitle,
    html`<h1>${texts.otpTitle}</h1>
${shownCode(view)}
<form method="post" action="/authorize/second-step">
${hiddenFields(view, 'second-step')}
${errorParagraph(wrong)}
<label for="otp">${texts.otp}</label>
<input class="code" id="otp" name="otp" required maxlength="64" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" ${describedBy(wrong, 'hint')}>
<p class="note hint" id="hint">${texts.otpLead}</p>
<button>${texts.verify}</button>
</form>
${
  view.hasPasskeys
    ? passkeyForm({
        action: '/authorize/second-step',
        fields: hiddenFields(view, 'second-step'),
        label: texts.passkey,
        failed: texts.passkeyFailed,
      })
    : undefined
}
<p class="note"><a href="${ownPath(view)}">${texts.restart}</a></p>`,
  );
}

/** The client that requests the sign-in. */
export interface RequestingClient {
  /** Registered name of the client. */
  readonly client: string;
  /** The name the client sent: untrusted text. */
  readonly claimedName: string;
}

function requestingClientMarkup({ texts }: PageContext, { client, claimedName }: RequestingClient): Markup {
  const claimed =
    claimedName === '' || claimedName === client
      ? undefined
      : html`<p class="claimed">${texts.calls} &ldquo;<bdi>${claimedName}</bdi>&rdquo; (${texts.unverified})</p>`;
  return html`<p class="asker">${client}</p>
${claimed}`;
}

/** The details shown to the user before the decision. */
interface ConsentDetails extends RequestingClient {
  readonly account: string;
  readonly address: string;
  readonly userAgent: string;
  readonly requestedAt: string;
  readonly fromOtherNetwork: boolean;
  /** The second step that approval requires again. */
  readonly secondStep?: RepeatedSecondStep | undefined;
  /** Organizations the sign-in may act for instead of the account. */
  readonly organizations: readonly OrganizationChoice[];
  /** Whether the program may only call models. */
  readonly isGrant: boolean;
  /** Managed settings that the program will apply, of those that can run programs. */
  readonly managedSettings: readonly string[];
}

/** The ways in which a viewer can repeat the second step. */
interface RepeatedSecondStep {
  /** By a TOTP or backup code. */
  readonly hasCode: boolean;
  readonly passkeys: readonly { readonly id: string; readonly transports: readonly string[] }[];
}

/** An organization of the viewer. */
interface OrganizationChoice {
  readonly slug: string;
  readonly name: string;
}

/** The field is outside its form, so that both buttons get the same style. */
const APPROVE_FORM = 'approve';

/** The page on which the user allows or denies the sign-in. */
export function consentView(view: PageContext, consent: ConsentDetails, wrong: FieldError = {}): string {
  const { texts } = view;
  return layout(
    view,
    texts.consentTitle,
    html`<div class="account"><span>${texts.signedInAs} <strong>${consent.account}</strong></span>
<form class="quiet" method="post" action="/authorize/switch">${hiddenFields(view, 'switch')}<button>${texts.notYou}</button></form></div>
<h1>${texts.consentTitle}</h1>
${shownCode(view)}
<p>${texts.sameCode}</p>
<h2>${texts.asks}</h2>
${requestingClientMarkup(view, consent)}
<dl>
<dt>${texts.from}</dt><dd>${consent.address}</dd>
<dt>${texts.when}</dt><dd>${consent.requestedAt}</dd>
${consent.userAgent === '' ? undefined : html`<dt>${texts.program}</dt><dd><bdi>${consent.userAgent}</bdi></dd>`}
</dl>
${consent.fromOtherNetwork ? html`<p class="warning">${texts.elsewhere}</p>` : undefined}
<h2>${texts.mayTitle}</h2>
<ul>${(consent.isGrant ? texts.mayCall : texts.may).map((each) => html`<li>${each}</li>`)}</ul>
<h2>${texts.mayNotTitle}</h2>
<p>${consent.isGrant ? texts.mayNotSee : texts.mayNot}</p>
${consent.managedSettings.length === 0 ? undefined : managedSettingsMarkup(view, consent.managedSettings)}
<p class="warning">${texts.warning}</p>
${contextField(view, consent.organizations)}
${consent.secondStep && secondStepFields(view, consent.secondStep, wrong, consent.organizations)}
<div class="choice">
<form method="post" action="/authorize/deny">${hiddenFields(view, 'deny')}<button>${texts.deny}</button></form>
${approval(view, consent.secondStep)}
</div>`,
  );
}

const managedSettingsMarkup = (
  { texts }: PageContext,
  keys: readonly string[],
): Markup => html`<h2>${texts.settingsTitle}</h2>
<p class="warning">${texts.settings}</p>
<ul>${keys.map((each) => html`<li><code>${each}</code></li>`)}</ul>`;

const secondStepFields = (
  view: PageContext,
  { hasCode, passkeys }: RepeatedSecondStep,
  wrong: FieldError,
  organizations: readonly OrganizationChoice[] = [],
): Markup => html`<h2>${view.texts.againTitle}</h2>
${errorParagraph(wrong)}
${hasCode ? codeField(view, wrong) : html`<p>${view.texts.passkeyOnly}</p>`}
${hasCode && passkeys.length > 0 ? passkeyApproval(view, { offered: passkeys, action: DEVICE_ACTION }, organizations) : undefined}`;

const DEVICE_ACTION = '/authorize/approve';

/** The form that approves: by a click, or by a passkey where that is the only second step. */
const approval = (view: PageContext, secondStep: RepeatedSecondStep | undefined, action = DEVICE_ACTION): Markup =>
  secondStep?.hasCode === false
    ? passkeyApproval(view, { offered: secondStep.passkeys, action, id: APPROVE_FORM, isSecondary: false })
    : html`<form method="post" action="${action}" id="${APPROVE_FORM}">${hiddenFields(view, 'approve')}<button>${view.texts.allow}</button></form>`;

/** Chooses what the sign-in acts for; empty without organizations. Inside its form it needs no reference to one. */
const contextField = (
  { texts }: PageContext,
  organizations: readonly OrganizationChoice[],
  isInForm = false,
): Markup | undefined =>
  organizations.length === 0
    ? undefined
    : html`<label>${texts.actsFor}
<select name="organization"${isInForm ? undefined : html` form="${APPROVE_FORM}"`}><option value="">${texts.ownAccount}</option>${organizations.map(
        ({ slug, name }) => html`<option value="${slug}">${name} (${slug})</option>`,
      )}</select></label>`;

/** @param organizations offered inside the form, which has no id to refer to */
const passkeyApproval = (
  view: PageContext,
  form: Pick<PasskeyForm, 'id' | 'action' | 'offered' | 'isSecondary'>,
  organizations: readonly OrganizationChoice[] = [],
): Markup =>
  passkeyForm({
    ...form,
    fields: html`${hiddenFields(view, 'approve')}${contextField(view, organizations, true)}`,
    label: view.texts.allowWithPasskey,
    failed: view.texts.passkeyFailed,
  });

const codeField = ({ texts }: PageContext, wrong: FieldError): Markup => html`<label for="otp">${texts.otp}</label>
<input class="code" id="otp" name="otp" form="${APPROVE_FORM}" required maxlength="64" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" ${describedBy(wrong, 'hint')}>
<p class="note hint" id="hint">${texts.again}</p>`;

/** What an application requests, and what the person typed last. */
interface GrantDetails {
  readonly account: string;
  /** Name of the application. */
  readonly client: string;
  /** Where the name was not set by an administrator, who says so. */
  readonly publisher: string | undefined;
  /** Host that the browser returns to, or the program on this computer. */
  readonly redirectHost: string | undefined;
  readonly scopes: readonly OauthScope[];
  /** Unit of the spend limit, such as CNY. */
  readonly unit: string;
  /** The second step that approval requires again. */
  readonly secondStep: RepeatedSecondStep | undefined;
  readonly organizations: readonly OrganizationChoice[];
  readonly typed: GrantFields;
}

/** The fields of the form with the limits of a grant, as typed. */
export interface GrantFields {
  readonly expires_in_days?: string | undefined;
  readonly spend_limit_amount?: string | undefined;
  readonly spend_limit_period?: string | undefined;
}

/** An error at a field of the form. */
export interface GrantError extends FieldError {
  readonly field?: keyof GrantFields | 'secondStep' | undefined;
}

/** The page on which the user lets an application in, within limits. */
export function grantView(view: PageContext, grant: GrantDetails, wrong: GrantError = {}): string {
  const { texts } = view;
  const { redirectHost, publisher, secondStep } = grant;
  return layout(
    view,
    texts.grantTitle,
    html`<div class="account"><span>${texts.signedInAs} <strong>${grant.account}</strong></span>
<form class="quiet" method="post" action="/authorize/switch">${hiddenFields(view, 'switch')}<button>${texts.notYou}</button></form></div>
<h1>${texts.grantTitle}</h1>
<p class="asker"><bdi>${grant.client}</bdi></p>
<dl>
${publisher === undefined ? undefined : html`<dt>${texts.publisher}</dt><dd>${publisher} (${texts.unverified})</dd>`}
<dt>${texts.returnsTo}</dt><dd>${redirectHost === undefined ? texts.thisComputer : html`<strong>${redirectHost}</strong>`}</dd>
</dl>
<h2>${texts.mayTitle}</h2>
<ul>${grant.scopes.flatMap((scope) => texts[`scope_${scope}`]).map((each) => html`<li>${each}</li>`)}</ul>
<p class="warning">${texts.grantWarning}</p>
${contextField(view, grant.organizations)}
${limitFields(view, grant, wrong)}
${secondStep && secondStepFields(view, secondStep, wrong.field === 'secondStep' ? wrong : {})}
<div class="choice">
<form method="post" action="/oauth/authorize/deny">${hiddenFields(view, 'deny')}<button>${texts.deny}</button></form>
${approval(view, secondStep, '/oauth/authorize/approve')}
</div>`,
  );
}

/** The page after the decision, which leads back to the application. */
export function returnView(view: PageContext, url: string): string {
  const { texts } = view;
  return layout(
    view,
    texts.returnTitle,
    html`<h1>${texts.returnTitle}</h1>
<p>${texts.returnText}</p>
<a class="button" href="${url}">${texts.returnLink}</a>`,
    html`<meta http-equiv="refresh" content="0; url=${url}">
`,
  );
}

/** Limits that the person may set. The fields are outside their form, so that both buttons get the same style. */
function limitFields({ texts }: PageContext, { typed, unit, scopes }: GrantDetails, wrong: GrantError): Markup {
  const at = (field: GrantError['field']): FieldError => (wrong.field === field ? wrong : {});
  const { expires_in_days: days = '', spend_limit_amount: amount = '', spend_limit_period: period } = typed;
  const spend = html`${errorParagraph(at('spend_limit_amount'))}
<label for="amount">${texts.spendLimit.replace('{{unit}}', () => unit)}</label>
<input id="amount" name="spend_limit_amount" form="${APPROVE_FORM}" inputmode="decimal" maxlength="20" autocomplete="off" value="${amount}" ${describedBy(at('spend_limit_amount'), 'amount-hint')}>
<p class="note hint" id="amount-hint">${texts.spendHint}</p>
<label for="period">${texts.spendPeriod}</label>
<select id="period" name="spend_limit_period" form="${APPROVE_FORM}">${SPEND_PERIODS.map(
    (each) =>
      html`<option value="${each}"${each === (period ?? 'month') ? html` selected` : undefined}>${texts[`period_${each}`]}</option>`,
  )}</select>`;
  return html`<h2>${texts.limits}</h2>
${scopes.some((scope) => scope !== 'account') ? spend : undefined}
${errorParagraph(at('expires_in_days'))}
<label for="days">${texts.expiresInDays}</label>
<input id="days" name="expires_in_days" form="${APPROVE_FORM}" inputmode="numeric" maxlength="3" autocomplete="off" value="${days}" ${describedBy(at('expires_in_days'), 'days-hint')}>
<p class="note hint" id="days-hint">${texts.expiresHint}</p>`;
}

/** The outcome, or why there is nothing to decide. */
type Outcome = 'approved' | 'denied' | 'reported' | 'used' | 'done' | 'expired';

/** Additional details for the account that decided. */
interface OutcomeDetails {
  /** The approved device, and a link to the list of devices. */
  readonly device?: RequestingClient & { readonly link: string; readonly named: boolean };
  /** Whether the denied request may be reported. */
  readonly mayReport?: boolean;
}

/** The page that shows the outcome of a code. */
export function outcomeView(
  view: PageContext,
  outcome: Outcome,
  { device, mayReport = false }: OutcomeDetails = {},
): string {
  const { texts } = view;
  const heading = texts[`${outcome}Title`];
  return layout(
    view,
    heading,
    html`<h1${outcome === 'approved' ? html` class="good"` : undefined}>${heading}</h1>
${device && html`<p class="asker">${device.client}</p>`}
<p>${texts[`${outcome}Text`]}</p>
${device && renameForm(view, device)}
${device && html`<p><a href="${device.link}">${texts.seeDevices}</a></p>`}
${mayReport ? reportForm(view) : undefined}
${outcome === 'expired' ? html`<p><a href="${pagePath('', view.locale)}">${texts.otherCode}</a></p>` : undefined}`,
  );
}

/** Optional, and below the outcome: the sign-in is complete without a name. */
const renameForm = (
  view: PageContext,
  { client, claimedName, named }: RequestingClient & { readonly named: boolean },
): Markup => {
  const { texts } = view;
  return html`<form method="post" action="/authorize/name">
${hiddenFields(view, 'name')}
<label for="name">${texts.name}</label>
<input id="name" name="name" maxlength="${NAME_LENGTH_MAX}" autocomplete="off" value="${claimedName}" placeholder="${client}" aria-describedby="hint">
<p class="note hint" id="hint">${texts.nameHint}</p>
<button class="plain">${texts.saveName}</button>
${named ? html`<p class="good" role="status">${texts.named}</p>` : undefined}
</form>`;
};

const reportForm = (view: PageContext): Markup => html`<p>${view.texts.reportLead}</p>
<form method="post" action="/authorize/report">${hiddenFields(view, 'report')}<button>${view.texts.report}</button></form>`;

/** The page that sends a viewer without a required second factor to the console to set one up. */
export function secondFactorView(view: PageContext): string {
  const { texts } = view;
  const back = encodeURIComponent(ownPath(view));
  return layout(
    view,
    texts.factorTitle,
    html`<h1>${texts.factorTitle}</h1>
${shownCode(view)}
<p>${texts.factorText}</p>
<p><a class="button" href="/sign-in/second-factor?back=${back}">${texts.factorLink}</a></p>`,
  );
}

/** The page for an error that belongs to no field. */
export function failureView(view: PageContext, message: string): string {
  const { texts } = view;
  return layout(
    view,
    texts.failedTitle,
    html`<h1>${texts.failedTitle}</h1>
<p class="error" role="alert">${message}</p>
<p><a href="${ownPath(view)}">${texts.restart}</a></p>`,
  );
}

/** The values every page is rendered with. */
export interface PageContext {
  readonly locale: Locale;
  readonly siteName: string;
  readonly texts: Texts;
  /** The code in its displayed form; empty if there is none. */
  readonly code: string;
  /** Whether browsers can use passkeys for this service, with the page's script. */
  readonly hasPasskeys?: boolean;
  /** The query of an authorization request, on the pages for one. */
  readonly request?: string | undefined;
  /** Identity providers that sign in as well. */
  readonly providers?: readonly SignInProvider[];
  /** `PASSWORD_SIGN_IN=0`: the form serves root alone. */
  readonly isPasswordForRootOnly?: boolean;
  /** CSRF value for the form that posts to this action. */
  formValue(action: string): string;
}

/** Path of the page in its context, for what it decides. */
export const ownPath = ({ code, request, locale }: PageContext, step?: string): string =>
  request === undefined ? pagePath(code, locale, step) : requestPath(request, locale, step);

/** Path of the page for an authorization request, with the language. */
function requestPath(request: string, locale: Locale, step?: string): string {
  const rest = new URLSearchParams({ lang: locale, ...defined({ step }) });
  return `/oauth/authorize?${request}&${rest}`;
}

/** Path of the page, including the code and the language. */
export function pagePath(code: string, locale: Locale, step?: string): string {
  const query = new URLSearchParams({
    ...defined({ code: code === '' ? undefined : code }),
    lang: locale,
    ...defined({ step }),
  });
  return `/authorize?${query}`;
}

/** A complete page around one section. */
function layout(view: PageContext, heading: string, section: Markup, head?: Markup): string {
  const { locale, siteName, hasPasskeys, texts } = view;
  const nav = languageLinks(locale, texts.language, (each) => ownPath({ ...view, locale: each }));
  return standalonePage({
    locale,
    siteName,
    title: heading,
    head: html`${hasPasskeys ? PASSKEY_SCRIPT_TAG : undefined}${head}`,
    nav,
    main: html`<section>${section}</section>`,
    footer: texts.footer,
  });
}

/** The hidden fields of a form that posts to `/authorize/<action>`. */
function hiddenFields(view: PageContext, action: string): Markup {
  return html`<input type="hidden" name="form" value="${view.formValue(action)}"><input type="hidden" name="code" value="${view.code}"><input type="hidden" name="lang" value="${view.locale}">${view.request === undefined ? undefined : html`<input type="hidden" name="request" value="${view.request}">`}`;
}
