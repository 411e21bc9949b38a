import type { SampleValues } from './code-sample-values-type.ts';

const toBase64 = (value: unknown): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value))));

/**
 * Cherry Studio's link for a provider: base64 of JSON, in which it reads `_` as `+` and `-` as `/`. It adds `/v1` itself.
 * Source: CherryHQ/cherry-studio, src/main/services/urlschema/handle-providers.ts.
 */
export function toCherryStudioLink({ origin, apiKey, siteName }: SampleValues): string {
  const data = toBase64({ id: 'reelgate', name: siteName, type: 'openai', baseUrl: origin, apiKey });
  return `cherrystudio://providers/api-keys?v=1&data=${encodeURIComponent(data.replaceAll('+', '_').replaceAll('/', '-'))}`;
}

/** Chatbox's link for a provider. Source: docs.chatboxai.app, "Provider configuration", deep link format. */
export function toChatboxLink({ origin, apiKey, model, siteName }: SampleValues): string {
  const config = toBase64({
    id: 'reelgate',
    name: siteName,
    type: 'openai',
    settings: { apiHost: origin, apiPath: '/v1/chat/completions', apiKey, models: [{ modelId: model, type: 'chat' }] },
  });
  return `chatbox://provider/import?config=${encodeURIComponent(config)}`;
}
