import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, it } from 'node:test';
import { SignInBrowser } from '../../../test/identity-providers/sign-in-browser.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';
import { openOutbound } from '../platform/outbound/client.ts';
import type { BufferedResponse, ConfiguredRequest, OutboundClient } from '../platform/outbound/outbound.ts';

const SETTINGS = [
  {
    id: 'github',
    title: 'GitHub',
    issuer: 'https://github.com',
    client_id: 'Iv1.example',
    client_secret: 'github-secret',
    auto_create: true,
    allowed_domains: ['example.com'],
  },
  {
    id: 'anyone',
    title: 'GitHub',
    issuer: 'https://github.com',
    client_id: 'Iv1.another',
    client_secret: 'github-secret',
    auto_create: true,
  },
];

/** Answers of GitHub's token endpoint and API; it checks client, PKCE and bearer token. */
class GitHubSimulator {
  readonly requests: string[] = [];
  challenge = '';
  user: Readonly<Record<string, unknown>> = { id: 583231, login: 'octocat', name: 'The Octocat' };
  emails: readonly Readonly<Record<string, unknown>>[] = [];
  /** Whether client and person have given access to the addresses. */
  showsEmails = true;

  answer({ url, headers = {}, body }: ConfiguredRequest): BufferedResponse {
    this.requests.push(url);
    const respond = (json: unknown, status = 200): BufferedResponse => ({
      status,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      text: JSON.stringify(json),
      json,
    });
    if (url === 'https://github.com/login/oauth/access_token') {
      const form = new URLSearchParams(body as string);
      if (form.get('client_secret') !== 'github-secret') return respond({ error: 'incorrect_client_credentials' });
      const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
      if (form.get('code') !== 'good' || challenge !== this.challenge)
        return respond({ error: 'bad_verification_code' });
      return respond({ access_token: 'gho_token', token_type: 'bearer', scope: 'read:user,user:email' });
    }
    if (headers.authorization !== 'Bearer gho_token') return respond({ message: 'Bad credentials' }, 401);
    if (url === 'https://api.github.com/user') return respond(this.user);
    if (!this.showsEmails) return respond({ message: 'Resource not accessible by integration' }, 403);
    return url === 'https://api.github.com/user/emails' ? respond(this.emails) : respond({}, 404);
  }
}

let service: TestService;
const github = new GitHubSimulator();
before(async () => {
  const real = openOutbound();
  const outbound: OutboundClient = {
    request: (request) => real.request(request),
    requestUntrusted: (request) => real.requestUntrusted(request),
    postUntrusted: (request) => real.postUntrusted(request),
    requestJson: async (request) => github.answer(request),
    stream: (request, handler) => real.stream(request, handler),
    close: (graceMs) => real.close(graceMs),
  };
  service = await startTestService('sqlite::memory:', { OIDC_PROVIDERS: JSON.stringify(SETTINGS) }, { outbound });
});
after(() => service.stop());

/** @param iss of GitHub's redirect, which it sends since April 2026 */
async function signIn(code = 'good', provider = 'github', iss = 'https://github.com/login/oauth') {
  const browser = new SignInBrowser(service);
  const url = new URL(await browser.start(provider));
  assert.equal(`${url.origin}${url.pathname}`, 'https://github.com/login/oauth/authorize');
  assert.equal(url.searchParams.get('scope'), 'read:user user:email');
  github.challenge = url.searchParams.get('code_challenge') ?? '';
  const query = new URLSearchParams({ code, state: url.searchParams.get('state') ?? '', ...(iss !== '' && { iss }) });
  return { browser, page: await browser.visit(`/auth/${provider}/callback?${query}`) };
}

it('signs in with GitHub by its numeric id and its verified primary e-mail', async () => {
  github.emails = [
    { email: 'old@other.example', primary: false, verified: true },
    { email: 'Octocat@Example.com', primary: true, verified: true },
  ];
  const { browser, page } = await signIn();
  assert.equal(page.status, 303, page.html);
  const account = await browser.account();
  assert.equal(account?.username, 'octocat');
  assert.equal((await browser.user.ok('GET', '/api/user/self')).email, 'octocat@example.com');
  const [identity] = await browser.user.ok<{ issuer: string; sub: string }[]>('GET', '/api/user/identities');
  assert.deepEqual([identity?.issuer, identity?.sub], ['https://github.com', '583231']);
  // A renamed account keeps its id.
  github.user = { ...github.user, login: 'renamed' };
  const again = await signIn();
  assert.equal((await again.browser.account())?.id, account?.id);
  const withoutIssuer = await signIn('good', 'github', '');
  assert.equal((await withoutIssuer.browser.account())?.id, account?.id);
  assert.equal((await signIn('good', 'github', 'https://evil.example')).page.status, 400);
});

it('takes no e-mail of GitHub that is unverified or not the primary one', async () => {
  for (const emails of [
    [{ email: 'a@example.com', primary: true, verified: false }],
    [{ email: 'a@example.com', primary: false, verified: true }],
    [],
  ]) {
    github.emails = emails;
    assert.equal((await signIn()).page.status, 403);
  }
});

it('signs in with GitHub without an e-mail if its addresses may not be read', async () => {
  github.showsEmails = false;
  const { browser, page } = await signIn('good', 'anyone');
  assert.equal(page.status, 303, page.html);
  assert.ok(await browser.account());
  const [identity] = await browser.user.ok<{ email: string }[]>('GET', '/api/user/identities');
  assert.equal(identity?.email, '');
  assert.equal((await signIn()).page.status, 403, 'of no allowed domain');
  github.showsEmails = true;
});

it('refuses a code that GitHub refuses, and a person without an id', async () => {
  assert.equal((await signIn('bad')).page.status, 400);
  github.user = { login: 'octocat' };
  assert.equal((await signIn()).page.status, 400);
});

it('tells root whether GitHub accepts client id and secret', async () => {
  const test = (client_secret?: string) =>
    service.root.ok<{ checks: unknown[]; redirect_uri: string }>('POST', '/api/admin/identity-providers/test', {
      provider: { ...SETTINGS[0], client_secret },
    });
  const right = await test();
  assert.deepEqual(right.checks, [
    { name: 'discovery', ok: true, detail: '' },
    { name: 'client', ok: true, detail: '' },
  ]);
  assert.match(right.redirect_uri, /\/auth\/github\/callback$/);
  const [, wrong] = (await test('another')).checks as { ok: boolean; detail: string }[];
  assert.equal(wrong?.ok, false);
  assert.match(wrong?.detail ?? '', /incorrect_client_credentials/);
});
