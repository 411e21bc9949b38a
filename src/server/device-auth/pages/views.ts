import { NAME_LENGTH_MAX } from '../../../contract/device-auth.ts';
import { html, type Markup } from '../../platform/html.ts';
import { hidden, layout, pagePath, type View } from './layout.ts';

/** A failure beside the field it is about. */
interface Wrong {
  readonly error?: string | undefined;
}

const errorLine = ({ error }: Wrong): Markup | undefined =>
  error === undefined ? undefined : html`<p class="error" id="error" role="alert">${error}</p>`;
const describedBy = ({ error }: Wrong, hint = ''): Markup =>
  error === undefined
    ? hint === ''
      ? html``
      : html`aria-describedby="${hint}"`
    : html`aria-invalid="true" aria-describedby="error ${hint}"`;

export function enterCodeView(view: View, wrong: Wrong = {}): string {
  const { texts, locale } = view;
  return layout(
    view,
    texts.enterTitle,
    html`<h1>${texts.enterTitle}</h1>
<p>${texts.enterLead}</p>
<form method="get" action="/authorize">
${errorLine(wrong)}
<label for="code">${texts.codeLabel}</label>
<input class="code" id="code" name="code" required maxlength="64" autocomplete="off" autocapitalize="characters" spellcheck="false" ${describedBy(wrong, 'hint')}>
<p class="note hint" id="hint">${texts.codeHint}</p>
<input type="hidden" name="lang" value="${locale}">
<button>${texts.continue}</button>
</form>`,
  );
}

const shownCode = ({ code }: View): Markup => html`<output class="code">${code}</output>`;

export function loginView(view: View, wrong: Wrong & { readonly username?: string } = {}): string {
  const { texts } = view;
  return layout(
    view,
    texts.loginTitle,
    html`<h1>${texts.loginTitle}</h1>
<p>${texts.loginLead}</p>
${shownCode(view)}
<form method="post" action="/authorize/login">
${hidden(view, 'login')}
${errorLine(wrong)}
<label for="username">${texts.username}</label>
<input id="username" name="username" required maxlength="254" autocomplete="username" autocapitalize="none" spellcheck="false" value="${wrong.username ?? ''}" ${describedBy(wrong)}>
<label for="password">${texts.password}</label>
<input id="password" name="password" type="password" required maxlength="128" autocomplete="current-password" ${describedBy(wrong)}>
<button>${texts.logIn}</button>
</form>`,
  );
}

export function secondStepView(view: View, wrong: Wrong = {}): string {
  const { texts } = view;
  return layout(
    view,
    texts.otpTitle,
    html`<h1>${texts.otpTitle}</h1>
${shownCode(view)}
<form method="post" action="/authorize/second-step">
${hidden(view, 'second-step')}
${errorLine(wrong)}
<label for="otp">${texts.otp}</label>
<input class="code" id="otp" name="otp" required maxlength="64" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" ${describedBy(wrong, 'hint')}>
<p class="note hint" id="hint">${texts.otpLead}</p>
<button>${texts.verify}</button>
</form>
<p class="note"><a href="${pagePath(view.code, view.locale)}">${texts.restart}</a></p>`,
  );
}

/** Who asks. */
export interface Asker {
  /** Registered name of the client. */
  readonly client: string;
  /** What it called itself: a stranger's words. */
  readonly claimedName: string;
}

function asker({ texts }: View, { client, claimedName }: Asker): Markup {
  const claimed =
    claimedName === '' || claimedName === client
      ? undefined
      : html`<p class="claimed">${texts.calls} “<bdi>${claimedName}</bdi>” (${texts.unverified})</p>`;
  return html`<p class="asker">${client}</p>
${claimed}`;
}

/** What the person is shown to decide by. */
export interface Consent extends Asker {
  readonly account: string;
  readonly address: string;
  readonly program: string;
  readonly asked: string;
  readonly elsewhere: boolean;
  /** Whoever allows it has to show the second step again. */
  readonly again: boolean;
}

/** The field stands outside its form, so that both buttons stay alike. */
const APPROVE_FORM = 'approve';

export function consentView(view: View, consent: Consent, wrong: Wrong = {}): string {
  const { texts } = view;
  return layout(
    view,
    texts.consentTitle,
    html`<div class="account"><span>${texts.signedInAs} <strong>${consent.account}</strong></span>
<form class="quiet" method="post" action="/authorize/switch">${hidden(view, 'switch')}<button>${texts.notYou}</button></form></div>
<h1>${texts.consentTitle}</h1>
${shownCode(view)}
<p>${texts.sameCode}</p>
<h2>${texts.asks}</h2>
${asker(view, consent)}
<dl>
<dt>${texts.from}</dt><dd>${consent.address}</dd>
<dt>${texts.when}</dt><dd>${consent.asked}</dd>
${consent.program === '' ? undefined : html`<dt>${texts.program}</dt><dd><bdi>${consent.program}</bdi></dd>`}
</dl>
${consent.elsewhere ? html`<p class="warning">${texts.elsewhere}</p>` : undefined}
<h2>${texts.mayTitle}</h2>
<ul>${texts.may.map((each) => html`<li>${each}</li>`)}</ul>
<h2>${texts.mayNotTitle}</h2>
<p>${texts.mayNot}</p>
<p class="warning">${texts.warning}</p>
${consent.again ? againField(view, wrong) : undefined}
<div class="choice">
<form method="post" action="/authorize/deny">${hidden(view, 'deny')}<button>${texts.deny}</button></form>
<form method="post" action="/authorize/approve" id="${APPROVE_FORM}">${hidden(view, 'approve')}<button>${texts.allow}</button></form>
</div>`,
  );
}

const againField = ({ texts }: View, wrong: Wrong): Markup => html`<h2>${texts.againTitle}</h2>
${errorLine(wrong)}
<label for="otp">${texts.otp}</label>
<input class="code" id="otp" name="otp" form="${APPROVE_FORM}" required maxlength="64" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" ${describedBy(wrong, 'hint')}>
<p class="note hint" id="hint">${texts.again}</p>`;

/** How it ended, or why there is nothing to decide. */
export type Outcome = 'approved' | 'denied' | 'reported' | 'used' | 'done' | 'expired';

/** What whoever decided is shown beside the outcome. */
export interface Decided {
  /** The device that was let in, and where devices are listed. */
  readonly device?: Asker & { readonly link: string; readonly named: boolean };
  /** The denied request may be reported. */
  readonly mayReport?: boolean;
}

export function outcomeView(view: View, outcome: Outcome, { device, mayReport = false }: Decided = {}): string {
  const { texts } = view;
  const heading = texts[`${outcome}Title`];
  return layout(
    view,
    heading,
    html`<h1${outcome === 'approved' ? html` class="good"` : undefined}>${heading}</h1>
${device && html`<p class="asker">${device.client}</p>`}
<p>${texts[`${outcome}Text`]}</p>
${device && nameForm(view, device)}
${device && html`<p><a href="${device.link}">${texts.seeDevices}</a></p>`}
${mayReport ? reportForm(view) : undefined}
${outcome === 'expired' ? html`<p><a href="${pagePath('', view.locale)}">${texts.otherCode}</a></p>` : undefined}`,
  );
}

/** Optional, and after the news: nobody has to name anything to be let go. */
const nameForm = (view: View, { client, claimedName, named }: Asker & { readonly named: boolean }): Markup => {
  const { texts } = view;
  return html`<form method="post" action="/authorize/name">
${hidden(view, 'name')}
<label for="name">${texts.name}</label>
<input id="name" name="name" maxlength="${NAME_LENGTH_MAX}" autocomplete="off" value="${claimedName}" placeholder="${client}" aria-describedby="hint">
<p class="note hint" id="hint">${texts.nameHint}</p>
<button class="plain">${texts.saveName}</button>
${named ? html`<p class="good" role="status">${texts.named}</p>` : undefined}
</form>`;
};

const reportForm = (view: View): Markup => html`<p>${view.texts.reportLead}</p>
<form method="post" action="/authorize/report">${hidden(view, 'report')}<button>${view.texts.report}</button></form>`;

export function failureView(view: View, message: string): string {
  const { texts } = view;
  return layout(
    view,
    texts.failedTitle,
    html`<h1>${texts.failedTitle}</h1>
<p class="error" role="alert">${message}</p>
<p><a href="${pagePath(view.code, view.locale)}">${texts.restart}</a></p>`,
  );
}
