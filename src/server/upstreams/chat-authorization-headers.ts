import type { ChatVendor } from '../../contract/channels.ts';
import { isAzure, type UpstreamAddress } from './endpoint-url.ts';

/** The version of the API that an upstream is asked for where the caller names none (docs.claude.com/en/api/versioning). */
const ANTHROPIC_VERSION = '2023-06-01';

type Headers = Readonly<Record<string, string>>;

/** How each kind of chat upstream is told who calls: https://platform.openai.com/docs/api-reference/authentication and its kin. */
const AUTHORIZATION: Readonly<Record<ChatVendor, (key: string) => Headers>> = {
  openai: (key) => ({ authorization: `Bearer ${key}` }),
  gemini: (key) => ({ 'x-goog-api-key': key }),
  anthropic: (key) => ({ 'x-api-key': key, 'anthropic-version': ANTHROPIC_VERSION }),
};

/** Headers that carry a channel's key. @param vendor of the channel; one without a chat protocol of its own takes OpenAI's */
export function chatAuthorizationHeaders(vendor: string, key: string, address: UpstreamAddress): Headers {
  if (vendor === 'openai' && isAzure(address)) return { 'api-key': key };
  const authorize = Object.hasOwn(AUTHORIZATION, vendor) ? AUTHORIZATION[vendor as ChatVendor] : AUTHORIZATION.openai;
  return authorize(key);
}
