import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Locale } from '../../contract/messages/format-message.ts';
import { TEXTS } from './texts.ts';
import { consentView, enterCodeView, failureView, loginView, outcomeView, pagePath, secondStepView } from './views.ts';

const viewIn = (locale: Locale, code = 'BCDF-GHJK') => ({
  locale,
  siteName: 'Reelgate',
  texts: TEXTS[locale],
  code,
  formValue: (action: string) => `value-of-${action}`,
});
const EN = viewIn('en');

const CONSENT = {
  account: 'ada',
  client: 'Reelgate CLI',
  claimedName: '',
  address: '203.0.113.9',
  userAgent: '',
  requestedAt: 'just now',
  fromOtherNetwork: false,
  secondStep: undefined,
  isGrant: false,
  managedSettings: [],
  organizations: [],
};
const CLAIM = TEXTS.en.calls;

describe('the pages of device authorization', () => {
  it('link to themselves with their code, language and step', () => {
    assert.equal(pagePath('BCDF-GHJK', 'en'), '/authorize?code=BCDF-GHJK&lang=en');
    assert.equal(pagePath('', 'zh-CN'), '/authorize?lang=zh-CN');
    assert.equal(pagePath('BCDF-GHJK', 'en', 'named'), '/authorize?code=BCDF-GHJK&lang=en&step=named');
  });

  it('link to the other language, but not to their own', () => {
    for (const [locale, other, name] of [
      ['en', 'zh-CN', '简体中文'],
      ['zh-CN', 'en', 'English'],
    ] as const) {
      const page = enterCodeView(viewIn(locale, ''));
      assert.match(page, new RegExp(`<html lang="${locale}">`));
      assert.deepEqual(page.match(/hreflang="[^"]+" lang="[^"]+">[^<]+/g), [
        `hreflang="${other}" lang="${other}">${name}`,
      ]);
    }
  });

  it('carry the CSRF value, the code and the language in each form', () => {
    const page = consentView(EN, CONSENT);
    for (const action of ['approve', 'deny', 'switch'])
      assert.ok(
        page.includes(
          `<input type="hidden" name="form" value="value-of-${action}"><input type="hidden" name="code" value="BCDF-GHJK"><input type="hidden" name="lang" value="en">`,
        ),
        action,
      );
  });

  it('link a field to its error and its hint', () => {
    const failed = { error: 'No & no' };
    const alert = '<p class="error" id="error" role="alert">No &#38; no</p>';
    for (const view of [enterCodeView, secondStepView]) {
      const [plain, wrong] = [view(EN), view(EN, failed)];
      assert.match(plain, /aria-describedby="hint"/);
      assert.doesNotMatch(plain, /aria-invalid|id="error"/);
      assert.match(wrong, /aria-invalid="true" aria-describedby="error hint"/);
      assert.ok(wrong.includes(alert));
    }
    assert.doesNotMatch(loginView(EN), /aria-describedby|id="error"/);
    const wrong = loginView(EN, { ...failed, username: 'ada"' });
    assert.match(wrong, /aria-invalid="true" aria-describedby="error "/);
    assert.ok(wrong.includes(alert) && wrong.includes('value="ada&#34;"'));
    assert.match(loginView(EN), /name="username"[^>]* value=""/);
    assert.ok(failureView(EN, 'No & no').includes('<p class="error" role="alert">No &#38; no</p>'));
  });

  it("T15: show a client's self-reported name as unverified if it differs from the registered one", () => {
    for (const claimedName of ['', CONSENT.client])
      assert.ok(!consentView(EN, { ...CONSENT, claimedName }).includes(CLAIM), claimedName);
    const page = consentView(EN, { ...CONSENT, claimedName: '<b>Bank</b>' });
    assert.ok(page.includes(`${CLAIM} &ldquo;<bdi>&#60;b&#62;Bank&#60;/b&#62;</bdi>&rdquo; (not verified)`));
  });

  it('T03: show the program and any warnings', () => {
    const page = consentView(EN, CONSENT);
    assert.ok(!page.includes(`<dt>${TEXTS.en.program}</dt>`));
    assert.ok(!page.includes(TEXTS.en.elsewhere) && !page.includes('name="otp"'));
    const more = consentView(EN, {
      ...CONSENT,
      userAgent: 'curl/8',
      fromOtherNetwork: true,
      secondStep: { hasCode: true, passkeys: [] },
    });
    assert.ok(more.includes(`<dt>${TEXTS.en.program}</dt><dd><bdi>curl/8</bdi></dd>`));
    assert.ok(more.includes(`<p class="warning">${TEXTS.en.elsewhere}</p>`));
    assert.match(more, /id="otp" name="otp" form="approve"/);
  });

  it('show only the actions possible after a decision', () => {
    const device = { client: 'Reelgate CLI', claimedName: 'Kitchen', link: '/account/devices', named: false };
    const has = (page: string) => ({
      isGood: page.includes('<h1 class="good">'),
      names: page.includes('action="/authorize/name"'),
      wasNamed: page.includes(TEXTS.en.named),
      reports: page.includes('action="/authorize/report"'),
      startsAnew: page.includes('href="/authorize?lang=en"'),
    });
    const none = { isGood: false, names: false, wasNamed: false, reports: false, startsAnew: false };
    assert.deepEqual(has(outcomeView(EN, 'approved', { device })), { ...none, isGood: true, names: true });
    assert.deepEqual(has(outcomeView(EN, 'used', { device: { ...device, named: true } })), {
      ...none,
      names: true,
      wasNamed: true,
    });
    assert.deepEqual(has(outcomeView(EN, 'denied', { mayReport: true })), { ...none, reports: true });
    for (const outcome of ['denied', 'reported', 'done', 'used'] as const)
      assert.deepEqual(has(outcomeView(EN, outcome)), none, outcome);
    assert.deepEqual(has(outcomeView(EN, 'expired')), { ...none, startsAnew: true });
  });
});
