import assert from 'node:assert/strict';
import { it } from 'node:test';
import { PRESETS, toDraft, toProvider } from './provider-draft.ts';

const TENANT = '11111111-2222-3333-4444-555555555555';

it('keeps every field of a stored provider, those without an input included', () => {
  const base = { id: 'a', title: 'A', client_id: 'c' };
  for (const provider of [
    { ...base, issuer: 'https://id.example' },
    {
      ...base,
      issuer: 'https://accounts.google.com',
      allowed_domains: ['example.com'],
      auto_create: true,
      plan: 'pro',
    },
    { ...base, issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`, claims: { email: 'upn' } },
    { ...base, issuer: 'https://github.com', scopes: ['read:user'], admins: { claim: 'login', values: ['ada'] } },
  ])
    assert.deepEqual(toProvider(toDraft(provider)), provider);
});

it('derives the issuer of Microsoft from the tenant', () => {
  const draft = { ...PRESETS.microsoft, tenant: TENANT, clientId: 'c', clientSecret: 's' };
  assert.deepEqual(toProvider(draft), {
    id: 'microsoft',
    title: 'Microsoft',
    issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`,
    client_id: 'c',
    client_secret: 's',
  });
});
